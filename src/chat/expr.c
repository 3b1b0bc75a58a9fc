/* expr.c - the value of an expression. */
#include <assert.h>

#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"

#define TRY SL_JJ_TRY

static sl_status eval_name(sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    for (uint32_t up = n->up; up > 0; up--)
        env = env->parent;
    *out = env->slots[n->slot];
    if (out->kind == SL_JJ_MISSING)
        *out = sl_jj_undefined(n->value.u.s, n->value.len);
    return SL_OK;
}

static sl_status eval_seq(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    TRY(sl_jj_seq_new(r, n->list.n, &s));
    for (size_t i = 0; i < n->list.n; i++) {
        sl_jj_value v = { 0 };
        TRY(sl_jj_eval(r, env, n->list.node[i], &v));
        TRY(sl_jj_seq_push(r, s, v));
    }
    *out = sl_jj_seq_value(n->type == SL_JJ_LIST_OF ? SL_JJ_LIST : SL_JJ_TUPLE, s);
    return SL_OK;
}

static sl_status eval_dict(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_dict *d = NULL;
    TRY(sl_jj_dict_new(r, n->list.n / 2, &d));
    for (size_t i = 0; i < n->list.n; i += 2) {
        sl_jj_value key = { 0 }, value = { 0 };
        TRY(sl_jj_eval(r, env, n->list.node[i], &key));
        TRY(sl_jj_eval(r, env, n->list.node[i + 1], &value));
        r->at = n->list.node[i]->at;
        TRY(sl_jj_dict_set(r, d, key, value));
    }
    *out = sl_jj_dict_value(d);
    return SL_OK;
}

/* While folding: something that is known at run time only. */
static sl_status not_constant(sl_jj_render *r)
{
    return sl_jj_fail(r, SL_EFORMAT, "not a constant");
}

static sl_status eval_cond(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value test = { 0 };
    TRY(sl_jj_eval(r, env, n->b, &test));
    if (sl_jj_truth(test))
        return sl_jj_eval(r, env, n->a, out);
    if (n->c)
        return sl_jj_eval(r, env, n->c, out);
    if (r->folding)
        return not_constant(r);
    *out = sl_jj_undefined_hint("an inline if evaluated to false and has no else");
    return SL_OK;
}

static sl_status eval_logic(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    TRY(sl_jj_eval(r, env, n->a, out));
    if (n->type == SL_JJ_NOT) {
        *out = sl_jj_bool(!sl_jj_truth(*out));
        return SL_OK;
    }
    return sl_jj_truth(*out) == (n->type == SL_JJ_AND) ? sl_jj_eval(r, env, n->b, out) : SL_OK;
}

static sl_status eval_compare(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value left = { 0 };
    bool holds = true;
    TRY(sl_jj_eval(r, env, n->a, &left));
    for (size_t i = 0; holds && i < n->list.n; i++) {
        const sl_jj_node *operand = n->list.node[i];
        sl_jj_value right = { 0 };
        TRY(sl_jj_eval(r, env, operand->a, &right));
        r->at = operand->at;
        TRY(sl_jj_compare(r, (sl_jj_op)operand->op, left, right, &holds));
        left = right;
    }
    *out = sl_jj_bool(holds);
    return SL_OK;
}

static sl_status eval_binary(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value a = { 0 }, b = { 0 };
    TRY(sl_jj_eval(r, env, n->a, &a));
    TRY(sl_jj_eval(r, env, n->b, &b));
    r->at = n->at;
    return sl_jj_binary(r, (sl_jj_op)n->op, a, b, out);
}

static sl_status eval_concat(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value text = sl_jj_text("");
    for (size_t i = 0; i < n->list.n; i++) {
        sl_jj_value v = { 0 };
        TRY(sl_jj_eval(r, env, n->list.node[i], &v));
        r->at = n->list.node[i]->at;
        TRY(sl_jj_to_str(r, v, &v));
        TRY(sl_jj_str_concat(r, text, v, &text));
    }
    text.flag = 0;
    *out = text;
    return SL_OK;
}

static sl_status eval_item(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value v = { 0 }, key = { 0 };
    TRY(sl_jj_eval(r, env, n->a, &v));
    TRY(sl_jj_eval(r, env, n->b, &key));
    r->at = n->at;
    return sl_jj_item(r, v, key, out);
}

static sl_status eval_slice(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    const sl_jj_node *const parts[3] = { n->b, n->c, n->d };
    sl_jj_value v = { 0 }, bound[3] = { sl_jj_none(), sl_jj_none(), sl_jj_none() };
    TRY(sl_jj_eval(r, env, n->a, &v));
    for (size_t i = 0; i < 3; i++)
        if (parts[i])
            TRY(sl_jj_eval(r, env, parts[i], &bound[i]));
    r->at = n->at;
    if (r->folding && v.kind != SL_JJ_UNDEFINED && !sl_jj_sliceable(v, bound)) {
        *out = sl_jj_undefined_hint("a constant that has no such slice");
        return SL_OK;
    }
    return sl_jj_slice(r, v, bound, out);
}

static sl_status eval_call(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value callee = { 0 };
    sl_jj_call call = { 0 };
    TRY(sl_jj_eval(r, env, n->a, &callee));
    TRY(sl_jj_eval_args(r, env, n->args, &call));
    r->at = n->at;
    return sl_jj_call_value(r, callee, &call, out);
}

/* Filters that Jinja gives the variables of the template. */
static bool wants_context(sl_jj_value filter)
{
    static const char *const names[] = { "map", "select", "reject", "selectattr", "rejectattr" };
    for (size_t i = 0; i < SL_COUNT(names); i++)
        if (sl_jj_str_is(filter, names[i]))
            return true;
    return false;
}

static sl_status apply_filter(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value v, sl_jj_value *out)
{
    sl_jj_call call = { 0 };
    if (r->folding && wants_context(n->value))
        return not_constant(r);
    TRY(sl_jj_eval_args(r, env, n->args, &call));
    r->at = n->at;
    return sl_jj_call_filter(r, n->def, v, &call, out);
}

static sl_status eval_test(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value v = { 0 };
    sl_jj_call call = { 0 };
    bool holds = false;
    TRY(sl_jj_eval(r, env, n->a, &v));
    TRY(sl_jj_eval_args(r, env, n->args, &call));
    r->at = n->at;
    TRY(sl_jj_call_test(r, n->def, v, &call, &holds));
    *out = sl_jj_bool(holds);
    return SL_OK;
}

sl_status sl_jj_filter_chain(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value v, sl_jj_value *out)
{
    if (n->a) {
        TRY(sl_jj_enter(r));
        TRY(sl_jj_filter_chain(r, env, n->a, v, &v));
        sl_jj_leave(r);
    }
    return apply_filter(r, env, n, v, out);
}

static sl_status eval_filter(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    sl_jj_value v = { 0 };
    TRY(sl_jj_eval(r, env, n->a, &v));
    return apply_filter(r, env, n, v, out);
}

static sl_status eval_node(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    switch ((sl_jj_type)n->type) {
    case SL_JJ_TUPLE_OF:
    case SL_JJ_LIST_OF:
        return eval_seq(r, env, n, out);
    case SL_JJ_DICT_OF:
        return eval_dict(r, env, n, out);
    case SL_JJ_COND:
        return eval_cond(r, env, n, out);
    case SL_JJ_AND:
    case SL_JJ_OR:
    case SL_JJ_NOT:
        return eval_logic(r, env, n, out);
    case SL_JJ_COMPARE:
        return eval_compare(r, env, n, out);
    case SL_JJ_BINARY:
        return eval_binary(r, env, n, out);
    case SL_JJ_UNARY:
        TRY(sl_jj_eval(r, env, n->a, out));
        r->at = n->at;
        return sl_jj_unary(r, (sl_jj_op)n->op, *out, out);
    case SL_JJ_CONCAT:
        return eval_concat(r, env, n, out);
    case SL_JJ_ATTR:
        TRY(sl_jj_eval(r, env, n->a, out));
        r->at = n->at;
        return sl_jj_attr(r, *out, n->value, out);
    case SL_JJ_ITEM:
        return eval_item(r, env, n, out);
    case SL_JJ_SLICE:
        return eval_slice(r, env, n, out);
    case SL_JJ_CALL:
        return eval_call(r, env, n, out);
    case SL_JJ_FILTER:
        return eval_filter(r, env, n, out);
    default:
        assert(n->type == SL_JJ_TEST);
        return eval_test(r, env, n, out);
    }
}

static sl_status eval_plain(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    r->at = n->at;
    TRY(sl_jj_enter(r));
    TRY(eval_node(r, env, n, out));
    sl_jj_leave(r);
    return SL_OK;
}

/* Is there source text for the value? Only then Jinja's compiler puts it in place of an expression. */
static bool has_source(sl_jj_value v)
{
    if (v.kind == SL_JJ_DICT)
        for (size_t i = 0; i < v.u.dict->n; i++)
            if (!has_source(v.u.dict->pairs[i].key) || !has_source(v.u.dict->pairs[i].value))
                return false;
    if (v.kind == SL_JJ_LIST || v.kind == SL_JJ_TUPLE)
        for (size_t i = 0; i < v.u.seq->n; i++)
            if (!has_source(v.u.seq->items[i]))
                return false;
    return v.kind == SL_JJ_NONE || sl_jj_is_number(v) || v.kind == SL_JJ_STR || v.kind == SL_JJ_DICT ||
           v.kind == SL_JJ_LIST || v.kind == SL_JJ_RANGE || (v.kind == SL_JJ_TUPLE && !v.flag);
}

/* Jinja's compiler computes constants, and there a slice of what has none is undefined, where it
 * fails in a template that runs. Only expressions with such a slice are told apart. *done: *out is
 * that constant; else the expression has to run. */
static sl_status fold(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, bool printed, bool *done, sl_jj_value *out)
{
    const unsigned depth = r->depth;
    sl_err *err = r->err, ignored = { 0 };
    r->folding = true;
    r->err = &ignored;
    sl_status rc = eval_plain(r, env, n, out);
    r->folding = false;
    r->err = err;
    r->depth = depth;
    *done = rc == SL_OK && (printed || has_source(*out));
    return rc == SL_ENOMEM ? sl_fail(err, rc, "%s", ignored.msg) : SL_OK;
}

sl_status sl_jj_eval(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    bool done = false;
    TRY(sl_jj_step(r, 1));
    if (n->type == SL_JJ_CONST) {
        *out = n->value;
        return SL_OK;
    }
    if (r->folding && (n->type == SL_JJ_NAME || n->type == SL_JJ_CALL))
        return not_constant(r);
    if (n->type == SL_JJ_NAME)
        return eval_name(env, n, out);
    if (n->folds && !r->folding)
        TRY(fold(r, env, n, false, &done, out));
    return done ? SL_OK : eval_plain(r, env, n, out);
}

sl_status sl_jj_eval_printed(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out)
{
    bool done = false;
    if (n->folds)
        TRY(fold(r, env, n, true, &done, out));
    return done ? SL_OK : sl_jj_eval(r, env, n, out);
}
