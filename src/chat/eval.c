/* eval.c - statements. */
#include "chat/builtin_in.h"
#include "chat/render_in.h"

#define TRY SL_JJ_TRY

sl_status sl_jj_env_new(sl_jj_render *r, sl_jj_env *parent, const sl_jj_scope *scope, sl_jj_env **out)
{
    TRY(sl_jj_alloc(r, 1, sizeof **out, out));
    (*out)->parent = parent;
    (*out)->scope = scope;
    return sl_jj_alloc(r, scope->n, sizeof *(*out)->slots, &(*out)->slots);
}

static sl_status from_context(sl_jj_render *r, sl_jj_value name, sl_jj_value *out)
{
    const sl_jj_value *found = NULL;
    TRY(sl_jj_dict_get(r, r->context, name, &found));
    if (found && !(r->clock_pinned && sl_jj_str_is(name, "strftime_now"))) {
        *out = *found;
        return SL_OK;
    }
    const sl_jj_func *f = sl_jj_global_find(name.u.s, name.len);
    *out = f ? (sl_jj_value){ .kind = SL_JJ_FUNC, .u.func = f } : (sl_jj_value){ .kind = SL_JJ_MISSING };
    return SL_OK;
}

sl_status sl_jj_env_enter(sl_jj_render *r, sl_jj_env *env)
{
    TRY(sl_jj_step(r, env->scope->n));
    for (size_t i = 0; i < env->scope->n; i++) {
        const sl_jj_slot *slot = &env->scope->slots[i];
        env->slots[i] = (sl_jj_value){ .kind = SL_JJ_MISSING };
        if (!slot->used)
            continue;
        if (slot->load == SL_JJ_LOAD_CONTEXT)
            TRY(from_context(r, slot->name, &env->slots[i]));
        if (slot->load != SL_JJ_LOAD_OUTER)
            continue;
        const sl_jj_env *outer = env;
        for (uint32_t up = slot->up; up > 0; up--)
            outer = outer->parent;
        env->slots[i] = outer->slots[slot->slot];
    }
    return SL_OK;
}

static sl_jj_value *slot_at(sl_jj_env *env, const sl_jj_node *name)
{
    for (uint32_t up = name->up; up > 0; up--)
        env = env->parent;
    return &env->slots[name->slot];
}

static sl_status assign_attr(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *target, sl_jj_value v)
{
    const sl_jj_value ns = *slot_at(env, target);
    r->at = target->at;
    if (ns.kind != SL_JJ_NAMESPACE)
        return sl_jj_fail(r, SL_EFORMAT, "cannot assign an attribute of what is no namespace");
    TRY(sl_jj_namespace_check(r, target->a->value));
    return sl_jj_dict_set(r, ns.u.dict, target->a->value, v);
}

sl_status sl_jj_assign(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *target, sl_jj_value v)
{
    sl_jj_seq *items = NULL;
    if (target->type == SL_JJ_NAME) {
        *slot_at(env, target) = v;
        return SL_OK;
    }
    if (target->type == SL_JJ_NSREF)
        return assign_attr(r, env, target, v);
    r->at = target->at;
    TRY(sl_jj_collect(r, v, &items));
    if (items->n != target->list.n)
        return sl_jj_fail(r, SL_EFORMAT, "%zu values for %zu names", items->n, target->list.n);
    for (size_t i = 0; i < items->n; i++)
        TRY(sl_jj_assign(r, env, target->list.node[i], items->items[i]));
    return SL_OK;
}

/* Python checks all namespaces of a target before it evaluates the value. */
static sl_status check_namespaces(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *target)
{
    for (size_t i = 0; i < target->list.n; i++)
        TRY(check_namespaces(r, env, target->list.node[i]));
    if (target->type == SL_JJ_NSREF && slot_at(env, target)->kind != SL_JJ_NAMESPACE) {
        r->at = target->at;
        return sl_jj_fail(r, SL_EFORMAT, "cannot assign an attribute of what is no namespace");
    }
    return SL_OK;
}

/* Run a body with its output in a buffer. */
static sl_status capture(sl_jj_render *r, sl_jj_env *env, const sl_jj_body *body, sl_jj_value *out)
{
    sl_jj_buf text = { 0 }, *outer = r->out;
    r->out = &text;
    const sl_status rc = sl_jj_exec(r, env, body);
    r->out = outer;
    *out = sl_jj_buf_value(&text);
    return rc;
}

static sl_status inner_env(sl_jj_render *r, sl_jj_env *env, const sl_jj_scope *scope, sl_jj_env **out)
{
    TRY(sl_jj_env_new(r, env, scope, out));
    return sl_jj_env_enter(r, *out);
}

static sl_status exec_output(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    for (size_t i = 0; i < n->list.n; i++) {
        sl_jj_value v = { 0 };
        TRY(sl_jj_eval_printed(r, env, n->list.node[i], &v));
        r->at = n->list.node[i]->at;
        TRY(sl_jj_print(r, r->out, v));
    }
    return SL_OK;
}

static sl_status exec_if(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    for (size_t i = 0; i < n->list.n; i++) {
        const sl_jj_node *branch = n->list.node[i];
        sl_jj_value test = { 0 };
        TRY(sl_jj_eval(r, env, branch->a, &test));
        if (sl_jj_truth(test))
            return sl_jj_exec(r, env, &branch->body);
    }
    return sl_jj_exec(r, env, &n->body2);
}

/* The `if` of a loop: a generator, since its outcome may change while the loop runs. */
static sl_status next_filtered(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done)
{
    for (;;) {
        sl_jj_value test = { 0 };
        TRY(sl_jj_iter_next(r, it->source, out, done));
        if (*done)
            return SL_OK;
        TRY(sl_jj_env_enter(r, it->env));
        TRY(sl_jj_assign(r, it->env, it->node->d, *out));
        TRY(sl_jj_eval(r, it->env, it->node->c, &test));
        if (sl_jj_truth(test))
            return SL_OK;
    }
}

static sl_status loop_next(sl_jj_render *r, sl_jj_loop *loop, bool *done)
{
    sl_jj_value v = loop->after;
    *done = false;
    if (v.kind == SL_JJ_MISSING)
        TRY(sl_jj_iter_next(r, loop->iter, &v, done));
    loop->after = (sl_jj_value){ .kind = SL_JJ_MISSING };
    if (*done)
        return SL_OK;
    loop->index0++;
    loop->before = loop->current;
    loop->current = v;
    return SL_OK;
}

/* The next item without a step forward; MISSING when there is none. */
static sl_status loop_peek(sl_jj_render *r, sl_jj_loop *loop, sl_jj_value *out)
{
    bool done = false;
    if (loop->after.kind == SL_JJ_MISSING) {
        TRY(sl_jj_iter_next(r, loop->iter, &loop->after, &done));
        if (done)
            loop->after = (sl_jj_value){ .kind = SL_JJ_MISSING };
    }
    *out = loop->after;
    return SL_OK;
}

/* An iterator has no length: its rest is collected to find out. */
static sl_status loop_length(sl_jj_render *r, sl_jj_loop *loop)
{
    size_t n = 0;
    sl_jj_seq *rest = NULL;
    if (loop->length >= 0)
        return SL_OK;
    if (loop->items.kind != SL_JJ_ITER) {
        TRY(sl_jj_length(r, loop->items, &n));
        loop->length = (int64_t)n;
        return SL_OK;
    }
    TRY(sl_jj_collect(r, sl_jj_iter_value(loop->iter), &rest));
    TRY(sl_jj_iter_open(r, sl_jj_seq_value(SL_JJ_LIST, rest), &loop->iter));
    loop->length = (int64_t)rest->n + loop->index0 + 1 + (loop->after.kind != SL_JJ_MISSING);
    return SL_OK;
}

static sl_status loop_neighbour(sl_jj_render *r, sl_jj_loop *loop, bool next, sl_jj_value *out)
{
    if (next)
        TRY(loop_peek(r, loop, out));
    else
        *out = loop->index0 == 0 ? (sl_jj_value){ .kind = SL_JJ_MISSING } : loop->before;
    if (out->kind == SL_JJ_MISSING)
        *out = sl_jj_undefined_hint(next ? "there is no next item" : "there is no previous item");
    return SL_OK;
}

sl_status sl_jj_loop_attr(sl_jj_render *r, sl_jj_loop *loop, sl_jj_value name, sl_jj_value *out)
{
    *out = (sl_jj_value){ .kind = SL_JJ_MISSING };
    if (sl_jj_str_is(name, "index")) {
        *out = sl_jj_int(loop->index0 + 1);
    } else if (sl_jj_str_is(name, "index0")) {
        *out = sl_jj_int(loop->index0);
    } else if (sl_jj_str_is(name, "first")) {
        *out = sl_jj_bool(loop->index0 == 0);
    } else if (sl_jj_str_is(name, "last")) {
        TRY(loop_peek(r, loop, out));
        *out = sl_jj_bool(out->kind == SL_JJ_MISSING);
    } else if (sl_jj_str_is(name, "length") || sl_jj_str_is(name, "revindex") || sl_jj_str_is(name, "revindex0")) {
        TRY(loop_length(r, loop));
        *out = sl_jj_int(loop->length - (sl_jj_str_is(name, "length")     ? 0
                                         : sl_jj_str_is(name, "revindex") ? loop->index0
                                                                          : loop->index0 + 1));
    } else if (sl_jj_str_is(name, "previtem") || sl_jj_str_is(name, "nextitem")) {
        return loop_neighbour(r, loop, sl_jj_str_is(name, "nextitem"), out);
    } else if (sl_jj_str_is(name, "depth0")) {
        *out = sl_jj_int(loop->depth0);
    } else if (sl_jj_str_is(name, "depth")) {
        *out = sl_jj_int(loop->depth0 + 1);
    }
    return SL_OK;
}

static sl_status loop_open(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value items, int64_t depth0,
                           sl_jj_loop **out)
{
    sl_jj_iter *it = NULL;
    r->at = n->b->at;
    TRY(sl_jj_iter_open(r, items, &it));
    if (n->c) {
        sl_jj_iter *filtered = NULL;
        TRY(sl_jj_iter_new(r, next_filtered, items, &filtered));
        filtered->source = it;
        filtered->node = n;
        TRY(sl_jj_env_new(r, env, n->scope3, &filtered->env));
        it = filtered;
        items = sl_jj_iter_value(it);
    }
    TRY(sl_jj_alloc(r, 1, sizeof **out, out));
    **out =
        (sl_jj_loop){ .node = n, .env = env, .items = items, .iter = it, .index0 = -1, .length = -1, .depth0 = depth0 };
    return SL_OK;
}

static sl_status run_for(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value items, int64_t depth0)
{
    sl_jj_loop *loop = NULL;
    sl_jj_env *inner = NULL;
    bool completed = false, done = false;
    TRY(loop_open(r, env, n, items, depth0, &loop));
    TRY(sl_jj_env_new(r, env, n->scope, &inner));
    for (;;) {
        TRY(loop_next(r, loop, &done));
        if (done)
            break;
        TRY(sl_jj_env_enter(r, inner));
        if (n->scope->loop != SL_JJ_NO_SLOT)
            inner->slots[n->scope->loop] = (sl_jj_value){ .kind = SL_JJ_LOOP, .u.loop = loop };
        TRY(sl_jj_assign(r, inner, n->a, loop->current));
        TRY(sl_jj_exec(r, inner, &n->body));
        /* Jinja's else runs when no round came to its end, `continue` and `break` included. */
        completed |= r->flow == SL_JJ_FLOW_ON;
        done = r->flow == SL_JJ_FLOW_BREAK;
        r->flow = SL_JJ_FLOW_ON;
        if (done)
            break;
    }
    if (completed || n->body2.n == 0)
        return SL_OK;
    TRY(inner_env(r, env, n->scope2, &inner));
    return sl_jj_exec(r, inner, &n->body2);
}

static sl_status exec_for(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    sl_jj_value items = { 0 };
    TRY(sl_jj_eval(r, env, n->b, &items));
    return run_for(r, env, n, items, 0);
}

sl_status sl_jj_loop_recurse(sl_jj_render *r, sl_jj_loop *loop, sl_jj_value items, sl_jj_value *out)
{
    sl_jj_buf text = { 0 }, *outer = r->out;
    r->out = &text;
    const sl_status rc = run_for(r, loop->env, loop->node, items, loop->depth0 + 1);
    r->out = outer;
    *out = sl_jj_buf_value(&text);
    return rc;
}

static sl_status macro_value(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_macro *m = NULL;
    TRY(sl_jj_alloc(r, 1, sizeof *m, &m));
    *m = (sl_jj_macro){ n, env };
    *out = (sl_jj_value){ .kind = SL_JJ_MACRO, .u.macro = m };
    return SL_OK;
}

/* The call with one more keyword argument, `caller`. */
/* The result of a block: Jinja does not make text of it. */
static sl_status put_result(sl_jj_render *r, const char *what, sl_jj_value v)
{
    TRY(sl_jj_want_str(r, what, v));
    return sl_jj_print(r, r->out, v);
}

static sl_status exec_call_block(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    sl_jj_value callee = { 0 }, caller = { 0 }, result = { 0 };
    sl_jj_call call = { 0 };
    sl_jj_pair *kw = NULL;
    TRY(macro_value(r, env, n, &caller));
    TRY(sl_jj_eval(r, env, n->a->a, &callee));
    TRY(sl_jj_eval_args(r, env, n->a->args, &call));
    TRY(sl_jj_alloc(r, call.n_kw + 1, sizeof *kw, &kw));
    for (size_t i = 0; i < call.n_kw; i++) {
        kw[i] = call.kw[i];
        if (sl_jj_str_is(kw[i].key, "caller"))
            return sl_jj_fail(r, SL_EFORMAT, "a call block gives the argument 'caller' itself");
    }
    kw[call.n_kw] = (sl_jj_pair){ sl_jj_text("caller"), caller };
    call.kw = kw;
    call.n_kw++;
    r->at = n->a->at;
    TRY(sl_jj_call_value(r, callee, &call, &result));
    return put_result(r, "a call block", result);
}

/* {% generation %} marks what a model wrote, for training; it renders as its content. */
static sl_status exec_generation(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    const sl_jj_call none = { 0 };
    sl_jj_value self = { 0 }, result = { 0 };
    TRY(macro_value(r, env, n, &self));
    TRY(sl_jj_call_value(r, self, &none, &result));
    return sl_jj_print(r, r->out, result);
}

static sl_status exec_set_block(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    sl_jj_env *inner = NULL;
    sl_jj_value v = { 0 };
    TRY(inner_env(r, env, n->scope, &inner));
    TRY(capture(r, inner, &n->body, &v));
    if (r->flow != SL_JJ_FLOW_ON)
        return SL_OK;
    TRY(check_namespaces(r, env, n->a));
    if (n->b)
        TRY(sl_jj_filter_chain(r, inner, n->b, v, &v));
    return sl_jj_assign(r, env, n->a, v);
}

static sl_status exec_filter_block(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    sl_jj_env *inner = NULL;
    sl_jj_value v = { 0 };
    TRY(inner_env(r, env, n->scope, &inner));
    TRY(capture(r, inner, &n->body, &v));
    if (r->flow != SL_JJ_FLOW_ON)
        return SL_OK;
    TRY(sl_jj_filter_chain(r, inner, n->a, v, &v));
    return put_result(r, "a filter block", v);
}

static sl_status exec_with(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    sl_jj_env *inner = NULL;
    TRY(inner_env(r, env, n->scope, &inner));
    for (size_t i = 0; i < n->list.n; i++) {
        sl_jj_value v = { 0 };
        TRY(sl_jj_eval(r, env, n->list2.node[i], &v));
        TRY(sl_jj_assign(r, inner, n->list.node[i], v));
    }
    return sl_jj_exec(r, inner, &n->body);
}

static sl_status exec_set(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    sl_jj_value v = { 0 };
    TRY(check_namespaces(r, env, n->a));
    TRY(sl_jj_eval(r, env, n->b, &v));
    return sl_jj_assign(r, env, n->a, v);
}

static sl_status exec_node(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n)
{
    switch ((sl_jj_type)n->type) {
    case SL_JJ_OUTPUT:
        return exec_output(r, env, n);
    case SL_JJ_IF:
        return exec_if(r, env, n);
    case SL_JJ_FOR:
        return exec_for(r, env, n);
    case SL_JJ_SET:
        return exec_set(r, env, n);
    case SL_JJ_SET_BLOCK:
        return exec_set_block(r, env, n);
    case SL_JJ_MACRO_DEF:
        return macro_value(r, env, n, slot_at(env, n));
    case SL_JJ_CALL_BLOCK:
        return exec_call_block(r, env, n);
    case SL_JJ_GENERATION:
        return exec_generation(r, env, n);
    case SL_JJ_FILTER_BLOCK:
        return exec_filter_block(r, env, n);
    case SL_JJ_WITH:
        return exec_with(r, env, n);
    default:
        r->flow = n->type == SL_JJ_BREAK ? SL_JJ_FLOW_BREAK : SL_JJ_FLOW_CONTINUE;
        return SL_OK;
    }
}

sl_status sl_jj_exec(sl_jj_render *r, sl_jj_env *env, const sl_jj_body *body)
{
    TRY(sl_jj_enter(r));
    for (size_t i = 0; r->flow == SL_JJ_FLOW_ON && i < body->n; i++) {
        TRY(sl_jj_step(r, 1));
        r->at = body->node[i]->at;
        TRY(exec_node(r, env, body->node[i]));
    }
    sl_jj_leave(r);
    return SL_OK;
}
