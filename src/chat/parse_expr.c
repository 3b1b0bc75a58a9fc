/* parse_expr.c - expressions, by recursive descent in Jinja's order of binding. */
#include "chat/parse_in.h"

#include "base/num.h"
#include "chat/builtin_in.h"

#define TRY          SL_JJ_TRY
#define MAX_KEYWORDS 1000u /* of a call; each is compared with all in front of it */

static sl_status parse_cond(sl_jj_parser *p, sl_jj_node **out);
static sl_status parse_unary(sl_jj_parser *p, bool with_filter, sl_jj_node **out);

static sl_status make(sl_jj_parser *p, sl_jj_type type, size_t at, sl_jj_node *a, sl_jj_node *b, sl_jj_node **out)
{
    sl_jj_node *n = NULL;
    TRY(sl_jj_node_new(p, type, at, &n));
    n->a = a;
    n->b = b;
    *out = n;
    return sl_jj_node_done(p, n);
}

static sl_status make_const(sl_jj_parser *p, size_t at, sl_jj_value v, sl_jj_node **out)
{
    TRY(sl_jj_node_new(p, SL_JJ_CONST, at, out));
    (*out)->value = v;
    return SL_OK;
}

/* item (, item)* ,? up to the closing bracket, which is taken. Pairs: item : item. */
static sl_status parse_items(sl_jj_parser *p, char close, bool pairs, sl_jj_body *out)
{
    sl_jj_list list = { 0 };
    sl_status rc = SL_OK;
    sl_jj_node *n = NULL;
    while (!rc && !sl_jj_is_op(sl_jj_peek(p), (uint16_t)close)) {
        if (list.n > 0 && (rc = sl_jj_expect_op(p, ',')) == SL_OK && sl_jj_is_op(sl_jj_peek(p), (uint16_t)close))
            break;
        if (rc || (rc = sl_jj_parse_expr(p, &n)) || (rc = sl_jj_list_push(p, &list, n)))
            break;
        if (pairs &&
            ((rc = sl_jj_expect_op(p, ':')) || (rc = sl_jj_parse_expr(p, &n)) || (rc = sl_jj_list_push(p, &list, n))))
            break;
    }
    if (!rc)
        rc = sl_jj_expect_op(p, (uint16_t)close);
    if (!rc)
        rc = sl_jj_list_take(p, &list, out);
    sl_jj_list_fini(&list);
    return rc;
}

static sl_status parse_name(sl_jj_parser *p, bool namespaces, sl_jj_node **out)
{
    static const struct {
        const char *name;
        sl_jj_kind kind;
        bool b;
    } words[] = { { "true", SL_JJ_BOOL, true },   { "True", SL_JJ_BOOL, true },  { "false", SL_JJ_BOOL, false },
                  { "False", SL_JJ_BOOL, false }, { "none", SL_JJ_NONE, false }, { "None", SL_JJ_NONE, false } };
    const sl_jj_token *t = sl_jj_peek(p);
    sl_jj_next(p);
    for (size_t i = 0; i < SL_COUNT(words); i++)
        if (sl_jj_is_name(t, words[i].name))
            return make_const(p, t->at, words[i].kind == SL_JJ_NONE ? sl_jj_none() : sl_jj_bool(words[i].b), out);
    const bool ns = namespaces && sl_jj_skip_op(p, '.');
    TRY(sl_jj_node_new(p, ns ? SL_JJ_NSREF : SL_JJ_NAME, t->at, out));
    (*out)->value = t->value;
    if (!ns)
        return SL_OK;
    sl_jj_value attr = { 0 };
    TRY(sl_jj_expect_name(p, &attr));
    return make_const(p, t->at, attr, &(*out)->a);
}

/* 'a' 'b' is one string. */
static sl_status parse_literal(sl_jj_parser *p, sl_jj_node **out)
{
    const sl_jj_token *t = sl_jj_peek(p);
    size_t last = p->pos, bytes = t->value.len;
    sl_jj_next(p);
    if (t->value.kind == SL_JJ_STR)
        while (sl_jj_peek(p)->type == SL_JJ_T_CONST && sl_jj_peek(p)->value.kind == SL_JJ_STR) {
            bytes += sl_jj_peek(p)->value.len;
            last = p->pos;
            sl_jj_next(p);
        }
    if (&p->tokens.at[last] == t)
        return make_const(p, t->at, t->value, out);
    char *text = NULL;
    TRY(sl_jj_template_alloc(p->t, bytes + 1, 1, &text, p->err));
    size_t n = 0;
    for (const sl_jj_token *s = t; s <= &p->tokens.at[last]; s++) {
        memcpy(text + n, s->value.u.s, s->value.len);
        n += s->value.len;
    }
    return make_const(p, t->at, sl_jj_str(text, n), out);
}

static sl_status parse_primary(sl_jj_parser *p, bool namespaces, sl_jj_node **out)
{
    const sl_jj_token *t = sl_jj_peek(p);
    if (t->type == SL_JJ_T_NAME)
        return parse_name(p, namespaces, out);
    if (t->type == SL_JJ_T_CONST)
        return parse_literal(p, out);
    if (sl_jj_is_op(t, '(')) {
        sl_jj_next(p);
        TRY(sl_jj_parse_tuple(p, true, true, out));
        return sl_jj_expect_op(p, ')');
    }
    if (!sl_jj_is_op(t, '[') && !sl_jj_is_op(t, '{'))
        return sl_jj_unexpected(p, "an expression");
    const bool dict = sl_jj_is_op(t, '{');
    sl_jj_next(p);
    TRY(sl_jj_node_new(p, dict ? SL_JJ_DICT_OF : SL_JJ_LIST_OF, t->at, out));
    TRY(parse_items(p, dict ? '}' : ']', dict, &(*out)->list));
    return sl_jj_node_done(p, *out);
}

/* Jinja means `in` and `recursive` to end a tuple with a comma at its end, too, but they do not. */
static bool at_tuple_end(sl_jj_parser *p)
{
    const sl_jj_token *t = sl_jj_peek(p);
    return t->type == SL_JJ_T_VAR_END || t->type == SL_JJ_T_BLOCK_END || sl_jj_is_op(t, ')');
}

typedef enum element { ELEMENT_FULL, ELEMENT_NO_COND, ELEMENT_TARGET, ELEMENT_NS_TARGET } element;

static sl_status parse_or(sl_jj_parser *p, sl_jj_node **out);

static sl_status parse_element(sl_jj_parser *p, element what, sl_jj_node **out)
{
    switch (what) {
    case ELEMENT_FULL:
        return parse_cond(p, out);
    case ELEMENT_NO_COND:
        return parse_or(p, out);
    default:
        return parse_primary(p, what == ELEMENT_NS_TARGET, out);
    }
}

static sl_status parse_elements(sl_jj_parser *p, element what, bool parens, sl_jj_node **out)
{
    const size_t at = sl_jj_peek(p)->at;
    sl_jj_list list = { 0 };
    sl_status rc = SL_OK;
    bool tuple = false;
    for (;;) {
        sl_jj_node *n = NULL;
        if (list.n > 0 && (rc = sl_jj_expect_op(p, ',')))
            goto out;
        if (at_tuple_end(p))
            break;
        if ((rc = parse_element(p, what, &n)) || (rc = sl_jj_list_push(p, &list, n)))
            goto out;
        if (!sl_jj_is_op(sl_jj_peek(p), ','))
            break;
        tuple = true;
    }
    if (!tuple && list.n > 0) {
        *out = list.at[0];
        goto out;
    }
    if (!tuple && !parens) {
        rc = sl_jj_unexpected(p, "an expression");
        goto out;
    }
    if ((rc = sl_jj_node_new(p, SL_JJ_TUPLE_OF, at, out)) || (rc = sl_jj_list_take(p, &list, &(*out)->list)))
        goto out;
    rc = sl_jj_node_done(p, *out);
out:
    sl_jj_list_fini(&list);
    return rc;
}

sl_status sl_jj_parse_tuple(sl_jj_parser *p, bool with_cond, bool parens, sl_jj_node **out)
{
    TRY(sl_jj_parse_enter(p));
    TRY(parse_elements(p, with_cond ? ELEMENT_FULL : ELEMENT_NO_COND, parens, out));
    p->depth--;
    return SL_OK;
}

static sl_status check_target(sl_jj_parser *p, const sl_jj_node *n)
{
    if (n->type == SL_JJ_TUPLE_OF) {
        for (size_t i = 0; i < n->list.n; i++)
            TRY(check_target(p, n->list.node[i]));
        return SL_OK;
    }
    if (n->type == SL_JJ_NSREF || n->type == SL_JJ_NAME)
        return SL_OK;
    return sl_jj_fail_at(p->t, n->at, p->err, SL_EFORMAT, "cannot assign to this");
}

sl_status sl_jj_parse_target(sl_jj_parser *p, bool namespaces, sl_jj_node **out)
{
    TRY(parse_elements(p, namespaces ? ELEMENT_NS_TARGET : ELEMENT_TARGET, false, out));
    return check_target(p, *out);
}

/* start:stop:step, or an expression: then *slice stays false and part[0] is it. */
static sl_status parse_subscript_part(sl_jj_parser *p, sl_jj_node *part[3], bool *slice)
{
    for (size_t n = 0;;) {
        const sl_jj_token *t = sl_jj_peek(p);
        if (n > 0 && (sl_jj_is_op(t, ']') || sl_jj_is_op(t, ',')))
            return SL_OK;
        if (sl_jj_skip_op(p, ':')) {
            *slice = true;
            if (++n > 2)
                return sl_jj_unexpected(p, "']'");
        } else if (part[n]) {
            return *slice ? sl_jj_unexpected(p, "']'") : SL_OK;
        } else {
            TRY(sl_jj_parse_expr(p, &part[n]));
            if (!sl_jj_is_op(sl_jj_peek(p), ':'))
                return SL_OK;
        }
    }
}

/* a[...]: an index, a slice, or several indices, which are a tuple. */
static sl_status parse_subscript_into(sl_jj_parser *p, sl_jj_node *v, sl_jj_list *list, sl_jj_node **out)
{
    const size_t at = sl_jj_peek(p)->at;
    sl_jj_node *part[3] = { 0 };
    bool slice = false;
    sl_jj_next(p);
    while (!sl_jj_is_op(sl_jj_peek(p), ']')) {
        if (list->n > 0)
            TRY(sl_jj_expect_op(p, ','));
        const sl_jj_token *t = sl_jj_peek(p);
        memset(part, 0, sizeof part);
        TRY(parse_subscript_part(p, part, &slice));
        if (slice && (list->n > 0 || !sl_jj_is_op(sl_jj_peek(p), ']')))
            return sl_jj_fail_at(p->t, t->at, p->err, SL_EFORMAT, "a slice beside other subscripts");
        TRY(sl_jj_list_push(p, list, part[0]));
    }
    sl_jj_next(p);
    if (slice) {
        TRY(sl_jj_node_new(p, SL_JJ_SLICE, at, out));
        (*out)->a = v;
        (*out)->b = part[0];
        (*out)->c = part[1];
        (*out)->d = part[2];
        return sl_jj_node_done(p, *out);
    }
    if (list->n != 1) { /* nothing is an empty tuple */
        TRY(sl_jj_node_new(p, SL_JJ_TUPLE_OF, at, &part[0]));
        TRY(sl_jj_list_take(p, list, &part[0]->list));
        TRY(sl_jj_node_done(p, part[0]));
    }
    return make(p, SL_JJ_ITEM, at, v, part[0], out);
}

static sl_status parse_subscript(sl_jj_parser *p, sl_jj_node *v, sl_jj_node **out)
{
    sl_jj_list list = { 0 };
    const sl_status rc = parse_subscript_into(p, v, &list, out);
    sl_jj_list_fini(&list);
    return rc;
}

static sl_status parse_attr(sl_jj_parser *p, sl_jj_node *v, sl_jj_node **out)
{
    const size_t at = sl_jj_peek(p)->at;
    sl_jj_next(p);
    const sl_jj_token *t = sl_jj_peek(p);
    sl_jj_next(p);
    if (t->type == SL_JJ_T_NAME) {
        TRY(make(p, SL_JJ_ATTR, at, v, NULL, out));
        (*out)->value = t->value;
        return SL_OK;
    }
    sl_jj_node *index = NULL;
    if (t->type != SL_JJ_T_CONST || t->value.kind != SL_JJ_INT)
        return sl_jj_fail_at(p->t, t->at, p->err, SL_EFORMAT, "expected a name or a number after '.'");
    TRY(make_const(p, t->at, t->value, &index));
    return make(p, SL_JJ_ITEM, at, v, index, out);
}

typedef struct arg_lists {
    sl_jj_list pos, kw;
    sl_jj_list kw_name; /* const nodes */
} arg_lists;

static sl_status parse_arg(sl_jj_parser *p, sl_jj_args *args, arg_lists *l, size_t at)
{
    sl_jj_node *n = NULL;
    bool ok = true;
    if (sl_jj_skip_op(p, '*')) {
        ok = !args->dyn_pos && !args->dyn_kw;
        TRY(sl_jj_parse_expr(p, &args->dyn_pos));
    } else if (sl_jj_skip_op(p, SL_JJ_OP2('*', '*'))) {
        ok = !args->dyn_kw;
        TRY(sl_jj_parse_expr(p, &args->dyn_kw));
    } else if (sl_jj_peek(p)->type == SL_JJ_T_NAME && sl_jj_is_op(sl_jj_peek2(p), '=')) {
        ok = !args->dyn_kw;
        if (l->kw.n >= MAX_KEYWORDS)
            return sl_jj_fail_at(p->t, at, p->err, SL_EUNSUPPORTED, "more than %u keyword arguments", MAX_KEYWORDS);
        TRY(make_const(p, sl_jj_peek(p)->at, sl_jj_peek(p)->value, &n));
        TRY(sl_jj_list_push(p, &l->kw_name, n));
        for (size_t i = 0; i + 1 < l->kw_name.n; i++)
            ok &= l->kw_name.at[i]->value.len != n->value.len ||
                  memcmp(l->kw_name.at[i]->value.u.s, n->value.u.s, n->value.len) != 0;
        sl_jj_next(p);
        sl_jj_next(p);
        TRY(sl_jj_parse_expr(p, &n));
        TRY(sl_jj_list_push(p, &l->kw, n));
    } else {
        ok = !args->dyn_pos && !args->dyn_kw && l->kw.n == 0;
        TRY(sl_jj_parse_expr(p, &n));
        TRY(sl_jj_list_push(p, &l->pos, n));
    }
    return ok ? SL_OK : sl_jj_fail_at(p->t, at, p->err, SL_EFORMAT, "invalid order of arguments, or one given twice");
}

/* (a, b=c, *d, **e) */
static sl_status parse_args(sl_jj_parser *p, sl_jj_args **out)
{
    const size_t at = sl_jj_peek(p)->at;
    arg_lists l = { 0 };
    sl_jj_args *args = NULL;
    sl_status rc = sl_jj_template_alloc(p->t, 1, sizeof *args, &args, p->err);
    if (!rc)
        rc = sl_jj_expect_op(p, '(');
    for (bool first = true; !rc && !sl_jj_is_op(sl_jj_peek(p), ')'); first = false) {
        if (!first && ((rc = sl_jj_expect_op(p, ',')) || sl_jj_is_op(sl_jj_peek(p), ')')))
            break;
        rc = parse_arg(p, args, &l, at);
    }
    if (!rc)
        rc = sl_jj_expect_op(p, ')');
    if (!rc)
        rc = sl_jj_list_take(p, &l.pos, &args->pos);
    if (!rc)
        rc = sl_jj_list_take(p, &l.kw, &args->kw);
    if (!rc)
        rc = sl_jj_template_alloc(p->t, l.kw_name.n + 1, sizeof *args->kw_name, &args->kw_name, p->err);
    for (size_t i = 0; !rc && i < l.kw_name.n; i++)
        args->kw_name[i] = l.kw_name.at[i]->value;
    sl_jj_list_fini(&l.pos);
    sl_jj_list_fini(&l.kw);
    sl_jj_list_fini(&l.kw_name);
    *out = args;
    return rc;
}

static sl_status parse_call(sl_jj_parser *p, sl_jj_node *v, sl_jj_node **out)
{
    sl_jj_node *n = NULL;
    TRY(sl_jj_node_new(p, SL_JJ_CALL, sl_jj_peek(p)->at, &n));
    n->a = v;
    TRY(parse_args(p, &n->args));
    *out = n;
    return sl_jj_node_done(p, n);
}

static sl_status parse_postfix(sl_jj_parser *p, sl_jj_node *v, sl_jj_node **out)
{
    for (;;) {
        const sl_jj_token *t = sl_jj_peek(p);
        if (sl_jj_is_op(t, '.'))
            TRY(parse_attr(p, v, &v));
        else if (sl_jj_is_op(t, '['))
            TRY(parse_subscript(p, v, &v));
        else if (sl_jj_is_op(t, '('))
            TRY(parse_call(p, v, &v));
        else
            break;
    }
    *out = v;
    return SL_OK;
}

/* A name that the tables know; dotted names belong to extensions that we have none of. */
static sl_status find_def(sl_jj_parser *p, const char *what, const sl_jj_builtin *(*find)(const char *, size_t),
                          sl_jj_node *n)
{
    const size_t at = sl_jj_peek(p)->at;
    sl_jj_value name = { 0 };
    TRY(sl_jj_expect_name(p, &name));
    const sl_jj_builtin *def = sl_jj_is_op(sl_jj_peek(p), '.') ? NULL : find(name.u.s, name.len);
    if (!def)
        return sl_jj_fail_at(p->t, at, p->err, SL_EFORMAT, "no %s named '%.*s'", what, (int)name.len, name.u.s);
    if (!def->fn && !def->raw)
        return sl_jj_fail_at(p->t, at, p->err, SL_EUNSUPPORTED, "the %s '%s' is not supported", what, def->name);
    n->def = def;
    n->value = name;
    return SL_OK;
}

sl_status sl_jj_parse_filters(sl_jj_parser *p, sl_jj_node *v, bool head, sl_jj_node **out)
{
    while (head || sl_jj_is_op(sl_jj_peek(p), '|')) {
        if (!head)
            sl_jj_next(p);
        head = false;
        sl_jj_node *n = NULL;
        TRY(sl_jj_node_new(p, SL_JJ_FILTER, sl_jj_peek(p)->at, &n));
        n->a = v;
        TRY(find_def(p, "filter", sl_jj_filter_find, n));
        if (sl_jj_is_op(sl_jj_peek(p), '('))
            TRY(parse_args(p, &n->args));
        TRY(sl_jj_node_done(p, n));
        v = n;
    }
    *out = v;
    return SL_OK;
}

/* The one argument that a test takes without parentheses: x is divisibleby 3 */
static sl_status parse_test_arg(sl_jj_parser *p, sl_jj_node *test)
{
    const sl_jj_token *t = sl_jj_peek(p);
    if (sl_jj_is_op(t, '('))
        return parse_args(p, &test->args);
    const bool starts =
        t->type == SL_JJ_T_NAME || t->type == SL_JJ_T_CONST || sl_jj_is_op(t, '[') || sl_jj_is_op(t, '{');
    if (!starts || sl_jj_is_name(t, "else") || sl_jj_is_name(t, "or") || sl_jj_is_name(t, "and"))
        return SL_OK;
    if (sl_jj_is_name(t, "is"))
        return sl_jj_fail_at(p->t, t->at, p->err, SL_EFORMAT, "tests cannot be chained with 'is'");
    sl_jj_node *arg = NULL;
    sl_jj_list list = { 0 };
    TRY(sl_jj_template_alloc(p->t, 1, sizeof *test->args, &test->args, p->err));
    TRY(parse_primary(p, false, &arg));
    TRY(parse_postfix(p, arg, &arg));
    sl_status rc = sl_jj_list_push(p, &list, arg);
    if (!rc)
        rc = sl_jj_list_take(p, &list, &test->args->pos);
    sl_jj_list_fini(&list);
    return rc;
}

static sl_status parse_test(sl_jj_parser *p, sl_jj_node *v, sl_jj_node **out)
{
    const size_t at = sl_jj_peek(p)->at;
    sl_jj_next(p);
    const bool negated = sl_jj_skip_name(p, "not");
    sl_jj_node *n = NULL;
    TRY(sl_jj_node_new(p, SL_JJ_TEST, at, &n));
    n->a = v;
    TRY(find_def(p, "test", sl_jj_test_find, n));
    TRY(parse_test_arg(p, n));
    TRY(sl_jj_node_done(p, n));
    *out = n;
    return negated ? make(p, SL_JJ_NOT, at, n, NULL, out) : SL_OK;
}

static sl_status parse_filter_expr(sl_jj_parser *p, sl_jj_node *v, sl_jj_node **out)
{
    for (;;) {
        const sl_jj_token *t = sl_jj_peek(p);
        if (sl_jj_is_op(t, '|'))
            TRY(sl_jj_parse_filters(p, v, false, &v));
        else if (sl_jj_is_name(t, "is"))
            TRY(parse_test(p, v, &v));
        else if (sl_jj_is_op(t, '('))
            TRY(parse_call(p, v, &v));
        else
            break;
    }
    *out = v;
    return SL_OK;
}

static sl_status parse_unary(sl_jj_parser *p, bool with_filter, sl_jj_node **out)
{
    const sl_jj_token *t = sl_jj_peek(p);
    sl_jj_node *n = NULL;
    if (sl_jj_is_op(t, '-') || sl_jj_is_op(t, '+')) {
        TRY(sl_jj_parse_enter(p));
        sl_jj_next(p);
        TRY(parse_unary(p, false, &n));
        TRY(make(p, SL_JJ_UNARY, t->at, n, NULL, &n));
        n->op = sl_jj_is_op(t, '-') ? SL_JJ_NEG : SL_JJ_POS;
        p->depth--;
    } else {
        TRY(parse_primary(p, false, &n));
    }
    TRY(parse_postfix(p, n, &n));
    if (with_filter)
        TRY(parse_filter_expr(p, n, &n));
    *out = n;
    return SL_OK;
}

static sl_status parse_pow(sl_jj_parser *p, sl_jj_node **out)
{
    TRY(parse_unary(p, true, out));
    while (sl_jj_is_op(sl_jj_peek(p), SL_JJ_OP2('*', '*'))) {
        const size_t at = sl_jj_peek(p)->at;
        sl_jj_node *right = NULL;
        sl_jj_next(p);
        TRY(parse_unary(p, true, &right));
        TRY(make(p, SL_JJ_BINARY, at, *out, right, out));
        (*out)->op = SL_JJ_POW;
    }
    return SL_OK;
}

typedef struct level { /* operators that bind equally */
    struct {
        uint16_t token;
        sl_jj_op op;
    } ops[4];
    size_t n;
} level;

static bool find_op(const level *l, const sl_jj_token *t, sl_jj_op *op)
{
    for (size_t i = 0; i < l->n; i++)
        if (sl_jj_is_op(t, l->ops[i].token)) {
            *op = l->ops[i].op;
            return true;
        }
    return false;
}

static sl_status parse_math2(sl_jj_parser *p, sl_jj_node **out)
{
    static const level muls = {
        { { '*', SL_JJ_MUL }, { '/', SL_JJ_DIV }, { SL_JJ_OP2('/', '/'), SL_JJ_FLOORDIV }, { '%', SL_JJ_MOD } }, 4
    };
    sl_jj_op op = SL_JJ_MUL;
    TRY(parse_pow(p, out));
    while (find_op(&muls, sl_jj_peek(p), &op)) {
        const size_t at = sl_jj_peek(p)->at;
        sl_jj_node *right = NULL;
        sl_jj_next(p);
        TRY(parse_pow(p, &right));
        TRY(make(p, SL_JJ_BINARY, at, *out, right, out));
        (*out)->op = (uint8_t)op;
    }
    return SL_OK;
}

static sl_status parse_concat(sl_jj_parser *p, sl_jj_node **out)
{
    sl_jj_node *n = NULL;
    TRY(parse_math2(p, out));
    if (!sl_jj_is_op(sl_jj_peek(p), '~'))
        return SL_OK;
    const size_t at = sl_jj_peek(p)->at;
    sl_jj_list list = { 0 };
    sl_status rc = sl_jj_list_push(p, &list, *out);
    while (!rc && sl_jj_skip_op(p, '~'))
        if ((rc = parse_math2(p, &n)) == SL_OK)
            rc = sl_jj_list_push(p, &list, n);
    if (!rc)
        rc = sl_jj_node_new(p, SL_JJ_CONCAT, at, out);
    if (!rc)
        rc = sl_jj_list_take(p, &list, &(*out)->list);
    sl_jj_list_fini(&list);
    return rc ? rc : sl_jj_node_done(p, *out);
}

static sl_status parse_math1(sl_jj_parser *p, sl_jj_node **out)
{
    static const level adds = { { { '+', SL_JJ_ADD }, { '-', SL_JJ_SUB } }, 2 };
    sl_jj_op op = SL_JJ_ADD;
    TRY(parse_concat(p, out));
    while (find_op(&adds, sl_jj_peek(p), &op)) {
        const size_t at = sl_jj_peek(p)->at;
        sl_jj_node *right = NULL;
        sl_jj_next(p);
        TRY(parse_concat(p, &right));
        TRY(make(p, SL_JJ_BINARY, at, *out, right, out));
        (*out)->op = (uint8_t)op;
    }
    return SL_OK;
}

/* If a comparison operator is here, take it. */
static bool take_compare(sl_jj_parser *p, sl_jj_op *op)
{
    static const level orders = {
        { { '<', SL_JJ_LT }, { '>', SL_JJ_GT }, { SL_JJ_OP2('<', '='), SL_JJ_LE }, { SL_JJ_OP2('>', '='), SL_JJ_GE } },
        4
    };
    static const level equals = { { { SL_JJ_OP2('=', '='), SL_JJ_EQ }, { SL_JJ_OP2('!', '='), SL_JJ_NE } }, 2 };
    const sl_jj_token *t = sl_jj_peek(p);
    if (find_op(&orders, t, op) || find_op(&equals, t, op)) {
        sl_jj_next(p);
        return true;
    }
    if (sl_jj_skip_name(p, "in")) {
        *op = SL_JJ_IN;
        return true;
    }
    if (sl_jj_is_name(t, "not") && sl_jj_is_name(sl_jj_peek2(p), "in")) {
        sl_jj_next(p);
        sl_jj_next(p);
        *op = SL_JJ_NOT_IN;
        return true;
    }
    return false;
}

static sl_status parse_compare(sl_jj_parser *p, sl_jj_node **out)
{
    sl_jj_list list = { 0 };
    sl_jj_node *first = NULL;
    sl_jj_op op = SL_JJ_EQ;
    TRY(parse_math1(p, &first));
    size_t at = sl_jj_peek(p)->at;
    const size_t compare_at = at;
    sl_status rc = SL_OK;
    while (!rc && take_compare(p, &op)) {
        sl_jj_node *right = NULL, *operand = NULL;
        if ((rc = parse_math1(p, &right)) || (rc = make(p, SL_JJ_OPERAND, at, right, NULL, &operand)))
            break;
        operand->op = (uint8_t)op;
        rc = sl_jj_list_push(p, &list, operand);
        at = sl_jj_peek(p)->at;
    }
    *out = first;
    if (!rc && list.n > 0) {
        rc = sl_jj_node_new(p, SL_JJ_COMPARE, compare_at, out);
        if (!rc)
            rc = sl_jj_list_take(p, &list, &(*out)->list);
        if (!rc) {
            (*out)->a = first;
            rc = sl_jj_node_done(p, *out);
        }
    }
    sl_jj_list_fini(&list);
    return rc;
}

static sl_status parse_not(sl_jj_parser *p, sl_jj_node **out)
{
    const size_t at = sl_jj_peek(p)->at;
    if (!sl_jj_skip_name(p, "not"))
        return parse_compare(p, out);
    TRY(sl_jj_parse_enter(p));
    TRY(parse_not(p, out));
    p->depth--;
    return make(p, SL_JJ_NOT, at, *out, NULL, out);
}

static sl_status parse_and(sl_jj_parser *p, sl_jj_node **out)
{
    TRY(parse_not(p, out));
    for (;;) {
        const size_t at = sl_jj_peek(p)->at;
        sl_jj_node *right = NULL;
        if (!sl_jj_skip_name(p, "and"))
            return SL_OK;
        TRY(parse_not(p, &right));
        TRY(make(p, SL_JJ_AND, at, *out, right, out));
    }
}

static sl_status parse_or(sl_jj_parser *p, sl_jj_node **out)
{
    TRY(parse_and(p, out));
    for (;;) {
        const size_t at = sl_jj_peek(p)->at;
        sl_jj_node *right = NULL;
        if (!sl_jj_skip_name(p, "or"))
            return SL_OK;
        TRY(parse_and(p, &right));
        TRY(make(p, SL_JJ_OR, at, *out, right, out));
    }
}

static sl_status parse_cond(sl_jj_parser *p, sl_jj_node **out)
{
    TRY(sl_jj_parse_enter(p));
    TRY(parse_or(p, out));
    for (;;) {
        const size_t at = sl_jj_peek(p)->at;
        sl_jj_node *test = NULL, *other = NULL;
        if (!sl_jj_skip_name(p, "if"))
            break;
        TRY(parse_or(p, &test));
        if (sl_jj_skip_name(p, "else"))
            TRY(parse_cond(p, &other));
        sl_jj_node *n = NULL;
        TRY(sl_jj_node_new(p, SL_JJ_COND, at, &n));
        n->a = *out;
        n->b = test;
        n->c = other;
        TRY(sl_jj_node_done(p, n));
        *out = n;
    }
    p->depth--;
    return SL_OK;
}

sl_status sl_jj_parse_expr(sl_jj_parser *p, sl_jj_node **out)
{
    return parse_cond(p, out);
}
