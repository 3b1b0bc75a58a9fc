/* call.c - calls: arguments, macros, and everything else that can be called. */
#include <stdio.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"

#define TRY SL_JJ_TRY

const sl_jj_builtin *sl_jj_table_find(const sl_jj_builtin *table, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return &table[i];
    return NULL;
}

const sl_jj_builtin *sl_jj_filter_find(const char *name, size_t len)
{
    const sl_jj_builtin *f = sl_jj_text_filter_find(name, len);
    if (!f)
        f = sl_jj_seq_filter_find(name, len);
    return f ? f : sl_jj_number_filter_find(name, len);
}

static bool name_is(sl_jj_value key, const char *name, size_t len)
{
    return key.len == len && memcmp(key.u.s, name, len) == 0;
}

/* The number of a parameter by its name; SL_JJ_MAX_PARAMS if it has none or takes no keyword. */
static size_t find_param(const char *names, sl_jj_value key)
{
    const bool positional_only = strchr(names, '/') != NULL;
    size_t i = 0;
    for (const char *p = names; *p; i++) {
        const char *end = strchr(p, ',');
        const size_t len = end ? (size_t)(end - p) : strlen(p);
        if (!positional_only && name_is(key, p, len))
            return i;
        p += len + (end != NULL);
    }
    return SL_JJ_MAX_PARAMS;
}

static size_t count_params(const char *names)
{
    size_t n = *names ? 1 : 0;
    for (; *names; names++)
        n += *names == ',' && names[1] != '/';
    return n;
}

sl_status sl_jj_bind(sl_jj_render *r, const char *what, sl_jj_params params, const sl_jj_call *call, sl_jj_value *arg)
{
    const size_t n = count_params(params.names);
    for (size_t i = 0; i < SL_JJ_MAX_PARAMS; i++)
        arg[i] = (sl_jj_value){ .kind = SL_JJ_MISSING };
    if (call->n_pos > n)
        return sl_jj_fail(r, SL_EFORMAT, "%s takes at most %zu arguments, %zu given", what, n, call->n_pos);
    for (size_t i = 0; i < call->n_pos; i++)
        arg[i] = call->pos[i];
    for (size_t i = 0; i < call->n_kw; i++) {
        const sl_jj_value key = call->kw[i].key;
        const size_t at = find_param(params.names, key);
        if (at >= n)
            return sl_jj_fail(r, SL_EFORMAT, "%s takes no keyword argument '%.*s'", what, (int)key.len, key.u.s);
        if (arg[at].kind != SL_JJ_MISSING)
            return sl_jj_fail(r, SL_EFORMAT, "%s: two values for argument '%.*s'", what, (int)key.len, key.u.s);
        arg[at] = call->kw[i].value;
    }
    for (size_t i = 0; i < params.required; i++)
        if (arg[i].kind == SL_JJ_MISSING)
            return sl_jj_fail(r, SL_EFORMAT, "%s: argument %zu is missing", what, i + 1);
    return SL_OK;
}

sl_status sl_jj_arg_int(sl_jj_render *r, sl_jj_value v, int64_t fallback, int64_t *out)
{
    *out = fallback;
    if (v.kind == SL_JJ_MISSING)
        return SL_OK;
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    if (!sl_jj_is_integral(v))
        return sl_jj_fail(r, SL_EFORMAT, "an integer is required, not '%s'", sl_jj_type_name(v));
    *out = sl_jj_integral(v);
    return SL_OK;
}

sl_status sl_jj_want_str(sl_jj_render *r, const char *what, sl_jj_value v)
{
    if (v.kind == SL_JJ_STR)
        return SL_OK;
    return sl_jj_fail(r, SL_EFORMAT, "%s wants a string, not '%s'", what, sl_jj_type_name(v));
}

sl_status sl_jj_builtin_call(sl_jj_render *r, const char *what, const sl_jj_builtin *b, sl_jj_value self,
                             const sl_jj_call *call, sl_jj_value *out)
{
    sl_jj_value arg[SL_JJ_MAX_PARAMS];
    if (b->raw)
        return b->raw(r, self, call, out);
    if (!b->fn)
        return sl_jj_fail(r, SL_EUNSUPPORTED, "%s is not supported", what);
    TRY(sl_jj_bind(r, what, b->params, call, arg));
    return b->fn(r, self, arg, out);
}

sl_status sl_jj_call_filter(sl_jj_render *r, const sl_jj_builtin *f, sl_jj_value v, const sl_jj_call *call,
                            sl_jj_value *out)
{
    char what[64] = "";
    snprintf(what, sizeof what, "filter '%s'", f->name);
    TRY(sl_jj_step(r, 1));
    TRY(sl_jj_enter(r));
    TRY(sl_jj_builtin_call(r, what, f, v, call, out));
    sl_jj_leave(r);
    return SL_OK;
}

sl_status sl_jj_call_test(sl_jj_render *r, const sl_jj_builtin *t, sl_jj_value v, const sl_jj_call *call, bool *out)
{
    sl_jj_value result = { 0 };
    TRY(sl_jj_call_filter(r, t, v, call, &result));
    *out = sl_jj_truth(result);
    return SL_OK;
}

static sl_status add_kw(sl_jj_render *r, sl_jj_pair *kw, size_t *n, sl_jj_value key, sl_jj_value value)
{
    for (size_t i = 0; i < *n; i++)
        if (name_is(kw[i].key, key.u.s, key.len))
            return sl_jj_fail(r, SL_EFORMAT, "two values for keyword argument '%.*s'", (int)key.len, key.u.s);
    kw[(*n)++] = (sl_jj_pair){ key, value };
    return sl_jj_step(r, *n);
}

static sl_status eval_kw(sl_jj_render *r, sl_jj_env *env, const sl_jj_args *args, sl_jj_call *out)
{
    sl_jj_value dyn = { 0 };
    sl_jj_pair *kw = NULL;
    size_t cap = args->kw.n, n = 0;
    if (args->dyn_kw) {
        TRY(sl_jj_eval(r, env, args->dyn_kw, &dyn));
        if (dyn.kind != SL_JJ_DICT)
            return sl_jj_fail(r, SL_EFORMAT, "argument after ** must be a mapping, not '%s'", sl_jj_type_name(dyn));
        cap += dyn.u.dict->n;
    }
    TRY(sl_jj_alloc(r, cap, sizeof *kw, &kw));
    for (size_t i = 0; i < args->kw.n; i++) {
        sl_jj_value v = { 0 };
        TRY(sl_jj_eval(r, env, args->kw.node[i], &v));
        TRY(add_kw(r, kw, &n, args->kw_name[i], v));
    }
    for (size_t i = 0; args->dyn_kw && i < dyn.u.dict->n; i++) {
        const sl_jj_pair *p = &dyn.u.dict->pairs[i];
        if (p->key.kind != SL_JJ_STR)
            return sl_jj_fail(r, SL_EFORMAT, "keywords must be strings");
        TRY(add_kw(r, kw, &n, p->key, p->value));
    }
    out->kw = kw;
    out->n_kw = n;
    return SL_OK;
}

sl_status sl_jj_eval_args(sl_jj_render *r, sl_jj_env *env, const sl_jj_args *args, sl_jj_call *out)
{
    sl_jj_seq *pos = NULL;
    sl_jj_value dyn = { 0 };
    *out = (sl_jj_call){ 0 };
    if (!args)
        return SL_OK;
    TRY(sl_jj_seq_new(r, args->pos.n, &pos));
    for (size_t i = 0; i < args->pos.n; i++) {
        sl_jj_value v = { 0 };
        TRY(sl_jj_eval(r, env, args->pos.node[i], &v));
        TRY(sl_jj_seq_push(r, pos, v));
    }
    if (args->dyn_pos) {
        sl_jj_seq *more = NULL;
        TRY(sl_jj_eval(r, env, args->dyn_pos, &dyn));
        TRY(sl_jj_collect(r, dyn, &more));
        for (size_t i = 0; i < more->n; i++)
            TRY(sl_jj_seq_push(r, pos, more->items[i]));
    }
    if (args->kw.n > 0 || args->dyn_kw)
        TRY(eval_kw(r, env, args, out));
    out->pos = pos->items;
    out->n_pos = pos->n;
    return SL_OK;
}

/* A macro's call as it is sorted out. */
typedef struct macro_call {
    const sl_jj_node *node;
    sl_jj_env *env;
    const sl_jj_call *call;
    bool *taken; /* keyword arguments that went to a parameter */
    bool found_caller;
} macro_call;

static bool take_kw(macro_call *m, sl_jj_value name, sl_jj_value *out)
{
    for (size_t i = 0; i < m->call->n_kw; i++)
        if (!m->taken[i] && name_is(m->call->kw[i].key, name.u.s, name.len)) {
            m->taken[i] = true;
            *out = m->call->kw[i].value;
            return true;
        }
    return false;
}

static sl_status macro_args(sl_jj_render *r, macro_call *m)
{
    const sl_jj_body *names = &m->node->list, *defaults = &m->node->list2;
    const sl_jj_call *call = m->call;
    sl_jj_value *slots = m->env->slots;
    for (size_t i = 0; i < names->n; i++) {
        const sl_jj_value name = names->node[i]->value;
        sl_jj_value *slot = &slots[names->node[i]->slot];
        const bool is_caller = sl_jj_str_is(name, "caller");
        m->found_caller |= is_caller;
        if (i < call->n_pos)
            *slot = call->pos[i];
        else
            (void)take_kw(m, name, slot);
    }
    for (size_t i = 0; i < names->n; i++) { /* in order: a default may use the arguments before it */
        sl_jj_value *slot = &slots[names->node[i]->slot];
        if (slot->kind != SL_JJ_MISSING)
            continue;
        if (i + defaults->n >= names->n)
            TRY(sl_jj_eval(r, m->env, defaults->node[i + defaults->n - names->n], slot));
        else
            *slot = sl_jj_undefined_hint("a parameter of the macro was not provided");
    }
    return SL_OK;
}

static sl_status macro_kwargs(sl_jj_render *r, macro_call *m)
{
    sl_jj_dict *rest = NULL;
    TRY(sl_jj_dict_new(r, 0, &rest));
    for (size_t i = 0; i < m->call->n_kw; i++) {
        const sl_jj_pair *p = &m->call->kw[i];
        if (m->taken[i])
            continue;
        if (!m->node->wants_kwargs)
            return sl_jj_fail(r, SL_EFORMAT, "the macro takes no keyword argument '%.*s'", (int)p->key.len, p->key.u.s);
        TRY(sl_jj_dict_set(r, rest, p->key, p->value));
    }
    if (m->node->scope->kwargs != SL_JJ_NO_SLOT)
        m->env->slots[m->node->scope->kwargs] = sl_jj_dict_value(rest);
    return SL_OK;
}

static sl_status macro_varargs(sl_jj_render *r, macro_call *m)
{
    const size_t n = m->node->list.n;
    sl_jj_seq *rest = NULL;
    if (m->call->n_pos > n && !m->node->wants_varargs)
        return sl_jj_fail(r, SL_EFORMAT, "the macro takes not more than %zu arguments", n);
    if (m->node->scope->varargs == SL_JJ_NO_SLOT)
        return SL_OK;
    TRY(sl_jj_seq_new(r, 0, &rest));
    for (size_t i = n; i < m->call->n_pos; i++)
        TRY(sl_jj_seq_push(r, rest, m->call->pos[i]));
    m->env->slots[m->node->scope->varargs] = sl_jj_seq_value(SL_JJ_TUPLE, rest);
    return SL_OK;
}

static sl_status macro_run(sl_jj_render *r, macro_call *m, sl_jj_value *out)
{
    const sl_jj_scope *scope = m->node->scope;
    if (scope->caller != SL_JJ_NO_SLOT) {
        sl_jj_value caller = sl_jj_undefined_hint("No caller defined");
        (void)take_kw(m, sl_jj_text("caller"), &caller);
        m->env->slots[scope->caller] = caller.kind == SL_JJ_NONE ? sl_jj_undefined_hint("No caller defined") : caller;
    }
    TRY(macro_args(r, m));
    TRY(macro_kwargs(r, m));
    TRY(macro_varargs(r, m));
    sl_jj_buf text = { 0 }, *outer = r->out;
    r->out = &text;
    const sl_status rc = sl_jj_exec(r, m->env, &m->node->body);
    r->out = outer;
    *out = sl_jj_buf_value(&text);
    return rc;
}

static sl_status call_macro(sl_jj_render *r, const sl_jj_macro *macro, const sl_jj_call *call, sl_jj_value *out)
{
    macro_call m = { .node = macro->node, .call = call };
    TRY(sl_jj_alloc(r, call->n_kw, sizeof *m.taken, &m.taken));
    TRY(sl_jj_env_new(r, macro->env, macro->node->scope, &m.env));
    TRY(sl_jj_env_enter(r, m.env));
    return macro_run(r, &m, out);
}

static sl_status call_joiner(sl_jj_render *r, sl_jj_cycler *joiner, const sl_jj_call *call, sl_jj_value *out)
{
    if (call->n_pos > 0 || call->n_kw > 0)
        return sl_jj_fail(r, SL_EFORMAT, "a joiner takes no arguments");
    *out = joiner->pos ? joiner->items.items[0] : sl_jj_text("");
    joiner->pos = 1;
    return SL_OK;
}

static sl_status call_loop(sl_jj_render *r, sl_jj_loop *loop, const sl_jj_call *call, sl_jj_value *out)
{
    sl_jj_value arg[SL_JJ_MAX_PARAMS];
    TRY(sl_jj_bind(r, "loop", (sl_jj_params){ "iterable", 1 }, call, arg));
    if (!loop->node->recursive)
        return sl_jj_fail(r, SL_EFORMAT, "the loop must have the 'recursive' marker to be called");
    return sl_jj_loop_recurse(r, loop, arg[0], out);
}

static sl_status call_builtin(sl_jj_render *r, const char *kind, const sl_jj_builtin *b, sl_jj_value self,
                              const sl_jj_call *call, sl_jj_value *out)
{
    char what[80] = "";
    snprintf(what, sizeof what, "%s%s%s()", kind, *kind ? "." : "", b->name);
    return sl_jj_builtin_call(r, what, b, self, call, out);
}

/* A method of Markup returns Markup; str_methods.c sees to most of it by keeping the flag. */
sl_status sl_jj_call_value(sl_jj_render *r, sl_jj_value callee, const sl_jj_call *call, sl_jj_value *out)
{
    sl_status rc = SL_OK;
    TRY(sl_jj_step(r, 1));
    TRY(sl_jj_enter(r));
    switch ((sl_jj_kind)callee.kind) {
    case SL_JJ_MACRO:
        rc = call_macro(r, callee.u.macro, call, out);
        break;
    case SL_JJ_METHOD: {
        const sl_jj_bound *b = callee.u.bound;
        rc = call_builtin(r, sl_jj_type_name(b->self), b->method, b->self, call, out);
        break;
    }
    case SL_JJ_FUNC:
        rc = call_builtin(r, "", &callee.u.func->builtin, sl_jj_none(), call, out);
        break;
    case SL_JJ_LOOP:
        rc = call_loop(r, callee.u.loop, call, out);
        break;
    case SL_JJ_JOINER:
        rc = call_joiner(r, callee.u.cycler, call, out);
        break;
    case SL_JJ_UNDEFINED:
        rc = sl_jj_fail_undefined(r, callee);
        break;
    default:
        rc = sl_jj_fail(r, SL_EFORMAT, "'%s' object is not callable", sl_jj_type_name(callee));
    }
    sl_jj_leave(r);
    return rc;
}
