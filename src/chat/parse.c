/* parse.c - statements, and what both halves of the parser stand on. */
#include "chat/parse_in.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"

#define TRY SL_JJ_TRY

sl_status sl_jj_list_push(sl_jj_parser *p, sl_jj_list *l, sl_jj_node *n)
{
    if (l->n == l->cap) {
        const size_t cap = l->cap ? 2 * l->cap : 8;
        sl_jj_node **grown = sl_mem_grow(l->at, l->n * sizeof(*grown), cap * sizeof(*grown));
        if (!grown)
            return sl_fail(p->err, SL_ENOMEM, "template: no memory for %zu nodes", cap);
        l->at = grown;
        l->cap = cap;
    }
    l->at[l->n++] = n;
    return SL_OK;
}

sl_status sl_jj_list_take(sl_jj_parser *p, sl_jj_list *l, sl_jj_body *out)
{
    sl_jj_node **copy = NULL;
    TRY(sl_jj_template_alloc(p->t, l->n + 1, sizeof(*copy), &copy, p->err));
    for (size_t i = 0; i < l->n; i++)
        copy[i] = l->at[i];
    out->node = copy;
    out->n = l->n;
    return SL_OK;
}

void sl_jj_list_fini(sl_jj_list *l)
{
    sl_mem_free(l->at);
    *l = (sl_jj_list){ 0 };
}

bool sl_jj_skip_op(sl_jj_parser *p, uint16_t op)
{
    if (!sl_jj_is_op(sl_jj_peek(p), op))
        return false;
    sl_jj_next(p);
    return true;
}

bool sl_jj_skip_name(sl_jj_parser *p, const char *name)
{
    if (!sl_jj_is_name(sl_jj_peek(p), name))
        return false;
    sl_jj_next(p);
    return true;
}

sl_status sl_jj_unexpected(sl_jj_parser *p, const char *expected)
{
    const sl_jj_token *t = sl_jj_peek(p);
    const size_t n = SL_MIN((size_t)(t->end - t->at), (size_t)40);
    if (t->type == SL_JJ_T_EOF)
        return sl_jj_fail_at(p->t, t->at, p->err, SL_EFORMAT, "expected %s, found the end of the template", expected);
    return sl_jj_fail_at(p->t, t->at, p->err, SL_EFORMAT, "expected %s, found '%.*s'", expected, (int)n,
                         p->t->source + t->at);
}

sl_status sl_jj_expect_op(sl_jj_parser *p, uint16_t op)
{
    char text[8] = "";
    if (sl_jj_skip_op(p, op))
        return SL_OK;
    if (op >> 8)
        snprintf(text, sizeof text, "'%c%c'", op >> 8, op & 0xff);
    else
        snprintf(text, sizeof text, "'%c'", op);
    return sl_jj_unexpected(p, text);
}

sl_status sl_jj_expect_name(sl_jj_parser *p, sl_jj_value *name)
{
    if (sl_jj_peek(p)->type != SL_JJ_T_NAME)
        return sl_jj_unexpected(p, "a name");
    *name = sl_jj_peek(p)->value;
    sl_jj_next(p);
    return SL_OK;
}

/* A name that something may be stored under. */
static sl_status expect_free_name(sl_jj_parser *p, sl_jj_value *name)
{
    static const char *const words[] = { "true", "True", "false", "False", "none", "None" };
    for (size_t i = 0; i < SL_COUNT(words); i++)
        if (sl_jj_is_name(sl_jj_peek(p), words[i]))
            return sl_jj_unexpected(p, "a name that is not a constant");
    return sl_jj_expect_name(p, name);
}

static sl_status expect_block_end(sl_jj_parser *p)
{
    if (sl_jj_peek(p)->type != SL_JJ_T_BLOCK_END)
        return sl_jj_unexpected(p, "'%}'");
    sl_jj_next(p);
    return SL_OK;
}

sl_status sl_jj_node_new(sl_jj_parser *p, sl_jj_type type, size_t at, sl_jj_node **out)
{
    TRY(sl_jj_template_alloc(p->t, 1, sizeof **out, out, p->err));
    (*out)->type = (uint8_t)type;
    (*out)->at = (uint32_t)at;
    (*out)->height = 1;
    (*out)->varies = type == SL_JJ_NAME || type == SL_JJ_CALL || type >= SL_JJ_OUTPUT;
    return SL_OK;
}

/* What a node inherits from one below it. */
static void absorb(sl_jj_node *n, const sl_jj_node *kid)
{
    if (!kid)
        return;
    n->height = SL_MAX(n->height, kid->height + 1);
    n->varies |= kid->varies;
    n->folds |= kid->folds;
}

static void absorb_all(sl_jj_node *n, const sl_jj_body *b)
{
    for (size_t i = 0; i < b->n; i++)
        absorb(n, b->node[i]);
}

sl_status sl_jj_node_done(sl_jj_parser *p, sl_jj_node *n)
{
    const sl_jj_node *kids[] = { n->a, n->b, n->c, n->d };
    for (size_t i = 0; i < SL_COUNT(kids); i++)
        absorb(n, kids[i]);
    absorb_all(n, &n->list);
    absorb_all(n, &n->list2);
    absorb_all(n, &n->body);
    absorb_all(n, &n->body2);
    if (n->args) {
        absorb_all(n, &n->args->pos);
        absorb_all(n, &n->args->kw);
        absorb(n, n->args->dyn_pos);
        absorb(n, n->args->dyn_kw);
    }
    n->folds |= n->type == SL_JJ_SLICE && !n->varies;
    if (n->height > SL_JJ_MAX_HEIGHT)
        return sl_jj_fail_at(p->t, n->at, p->err, SL_EUNSUPPORTED, "more than %u operations one inside the other",
                             SL_JJ_MAX_HEIGHT);
    return SL_OK;
}

sl_status sl_jj_parse_enter(sl_jj_parser *p)
{
    if (p->depth >= SL_JJ_MAX_NESTING)
        return sl_jj_fail_at(p->t, sl_jj_peek(p)->at, p->err, SL_EUNSUPPORTED, "nested more than %u deep",
                             SL_JJ_MAX_NESTING);
    p->depth++;
    return SL_OK;
}

static sl_status parse_until(sl_jj_parser *p, const char *const *ends, const char *tag, size_t tag_at, sl_jj_body *out);

/* The rest of the opening tag, then statements up to one of the tags in `ends` (a list closed by
 * NULL), whose name is the current token afterwards. */
static sl_status parse_body(sl_jj_parser *p, const char *const *ends, const char *tag, size_t tag_at, sl_jj_body *out)
{
    sl_jj_skip_op(p, ':');
    TRY(expect_block_end(p));
    TRY(sl_jj_parse_enter(p));
    TRY(parse_until(p, ends, tag, tag_at, out));
    p->depth--;
    return SL_OK;
}

static sl_status parse_simple_body(sl_jj_parser *p, const char *end, const char *tag, size_t tag_at, sl_jj_body *out)
{
    const char *const ends[] = { end, NULL };
    TRY(parse_body(p, ends, tag, tag_at, out));
    sl_jj_next(p);
    return SL_OK;
}

static sl_status parse_set(sl_jj_parser *p, sl_jj_node *n)
{
    TRY(sl_jj_parse_target(p, true, &n->a));
    if (sl_jj_skip_op(p, '='))
        return sl_jj_parse_tuple(p, true, false, &n->b);
    n->type = SL_JJ_SET_BLOCK;
    TRY(sl_jj_parse_filters(p, NULL, false, &n->b));
    return parse_simple_body(p, "endset", "set", n->at, &n->body);
}

static sl_status clone_target(sl_jj_parser *p, const sl_jj_node *n, sl_jj_node **out)
{
    TRY(sl_jj_node_new(p, (sl_jj_type)n->type, n->at, out));
    **out = *n;
    if (n->type != SL_JJ_TUPLE_OF)
        return SL_OK;
    TRY(sl_jj_template_alloc(p->t, n->list.n + 1, sizeof(sl_jj_node *), &(*out)->list.node, p->err));
    for (size_t i = 0; i < n->list.n; i++)
        TRY(clone_target(p, n->list.node[i], &(*out)->list.node[i]));
    return SL_OK;
}

static sl_status parse_for(sl_jj_parser *p, sl_jj_node *n)
{
    static const char *const ends[] = { "endfor", "else", NULL };
    TRY(sl_jj_parse_target(p, false, &n->a));
    if (!sl_jj_skip_name(p, "in"))
        return sl_jj_unexpected(p, "'in'");
    TRY(sl_jj_parse_tuple(p, false, false, &n->b));
    if (sl_jj_skip_name(p, "if")) {
        TRY(sl_jj_parse_expr(p, &n->c));
        TRY(clone_target(p, n->a, &n->d));
    }
    n->recursive = sl_jj_skip_name(p, "recursive");
    p->loop_depth++;
    TRY(parse_body(p, ends, "for", n->at, &n->body));
    p->loop_depth--;
    const bool has_else = sl_jj_is_name(sl_jj_peek(p), "else");
    sl_jj_next(p);
    /* In a recursive loop the else branch is inside the loop's function: no outer loop to leave. */
    const unsigned outer = p->loop_depth;
    if (n->recursive)
        p->loop_depth = 0;
    if (has_else)
        TRY(parse_simple_body(p, "endfor", "for", n->at, &n->body2));
    p->loop_depth = outer;
    return SL_OK;
}

static sl_status parse_branches(sl_jj_parser *p, sl_jj_node *n, sl_jj_list *branches)
{
    static const char *const ends[] = { "elif", "else", "endif", NULL };
    for (;;) {
        sl_jj_node *branch = NULL;
        TRY(sl_jj_node_new(p, SL_JJ_BRANCH, sl_jj_peek(p)->at, &branch));
        TRY(sl_jj_parse_tuple(p, false, false, &branch->a));
        TRY(parse_body(p, ends, "if", n->at, &branch->body));
        TRY(sl_jj_node_done(p, branch));
        TRY(sl_jj_list_push(p, branches, branch));
        if (sl_jj_skip_name(p, "elif"))
            continue;
        const bool has_else = sl_jj_is_name(sl_jj_peek(p), "else");
        sl_jj_next(p);
        return has_else ? parse_simple_body(p, "endif", "if", n->at, &n->body2) : SL_OK;
    }
}

static sl_status parse_if(sl_jj_parser *p, sl_jj_node *n)
{
    sl_jj_list branches = { 0 };
    sl_status rc = parse_branches(p, n, &branches);
    if (!rc)
        rc = sl_jj_list_take(p, &branches, &n->list);
    sl_jj_list_fini(&branches);
    return rc;
}

/* (a, b=default) */
static sl_status parse_signature_into(sl_jj_parser *p, sl_jj_list *names, sl_jj_list *defaults)
{
    TRY(sl_jj_expect_op(p, '('));
    while (!sl_jj_is_op(sl_jj_peek(p), ')')) {
        sl_jj_node *name = NULL, *value = NULL;
        if (names->n > 0)
            TRY(sl_jj_expect_op(p, ','));
        TRY(sl_jj_node_new(p, SL_JJ_NAME, sl_jj_peek(p)->at, &name));
        TRY(expect_free_name(p, &name->value));
        for (size_t i = 0; i < names->n; i++)
            if (names->at[i]->value.len == name->value.len &&
                memcmp(names->at[i]->value.u.s, name->value.u.s, name->value.len) == 0)
                return sl_jj_fail_at(p->t, name->at, p->err, SL_EFORMAT, "two arguments of one name");
        if (sl_jj_skip_op(p, '=')) {
            TRY(sl_jj_parse_expr(p, &value));
            TRY(sl_jj_list_push(p, defaults, value));
        } else if (defaults->n > 0) {
            return sl_jj_fail_at(p->t, name->at, p->err, SL_EFORMAT, "an argument without a default follows one with");
        }
        TRY(sl_jj_list_push(p, names, name));
    }
    return sl_jj_expect_op(p, ')');
}

static sl_status parse_signature(sl_jj_parser *p, sl_jj_node *n)
{
    sl_jj_list names = { 0 }, defaults = { 0 };
    sl_status rc = parse_signature_into(p, &names, &defaults);
    if (!rc)
        rc = sl_jj_list_take(p, &names, &n->list);
    if (!rc)
        rc = sl_jj_list_take(p, &defaults, &n->list2);
    sl_jj_list_fini(&names);
    sl_jj_list_fini(&defaults);
    return rc;
}

/* A body that becomes a function of its own: no loop around it can be left from inside. */
static sl_status parse_function_body(sl_jj_parser *p, const char *end, const char *tag, sl_jj_node *n)
{
    const unsigned outer = p->loop_depth;
    p->loop_depth = 0;
    TRY(parse_simple_body(p, end, tag, n->at, &n->body));
    p->loop_depth = outer;
    return SL_OK;
}

static sl_status parse_macro(sl_jj_parser *p, sl_jj_node *n)
{
    TRY(expect_free_name(p, &n->value));
    TRY(parse_signature(p, n));
    return parse_function_body(p, "endmacro", "macro", n);
}

static sl_status parse_call_block(sl_jj_parser *p, sl_jj_node *n)
{
    if (sl_jj_is_op(sl_jj_peek(p), '('))
        TRY(parse_signature(p, n));
    TRY(sl_jj_parse_expr(p, &n->a));
    if (n->a->type != SL_JJ_CALL)
        return sl_jj_fail_at(p->t, n->a->at, p->err, SL_EFORMAT, "expected a call");
    return parse_function_body(p, "endcall", "call", n);
}

static sl_status parse_generation(sl_jj_parser *p, sl_jj_node *n)
{
    return parse_function_body(p, "endgeneration", "generation", n);
}

static sl_status parse_filter_block(sl_jj_parser *p, sl_jj_node *n)
{
    TRY(sl_jj_parse_filters(p, NULL, true, &n->a));
    return parse_simple_body(p, "endfilter", "filter", n->at, &n->body);
}

static sl_status parse_with_targets(sl_jj_parser *p, sl_jj_list *targets, sl_jj_list *values)
{
    while (sl_jj_peek(p)->type != SL_JJ_T_BLOCK_END) {
        sl_jj_node *target = NULL, *value = NULL;
        if (targets->n > 0)
            TRY(sl_jj_expect_op(p, ','));
        TRY(sl_jj_parse_target(p, false, &target));
        TRY(sl_jj_expect_op(p, '='));
        TRY(sl_jj_parse_expr(p, &value));
        TRY(sl_jj_list_push(p, targets, target));
        TRY(sl_jj_list_push(p, values, value));
    }
    return SL_OK;
}

static sl_status parse_with(sl_jj_parser *p, sl_jj_node *n)
{
    sl_jj_list targets = { 0 }, values = { 0 };
    sl_status rc = parse_with_targets(p, &targets, &values);
    if (!rc)
        rc = sl_jj_list_take(p, &targets, &n->list);
    if (!rc)
        rc = sl_jj_list_take(p, &values, &n->list2);
    sl_jj_list_fini(&targets);
    sl_jj_list_fini(&values);
    return rc ? rc : parse_simple_body(p, "endwith", "with", n->at, &n->body);
}

static sl_status parse_print_into(sl_jj_parser *p, sl_jj_list *list)
{
    while (sl_jj_peek(p)->type != SL_JJ_T_BLOCK_END) {
        sl_jj_node *n = NULL;
        if (list->n > 0)
            TRY(sl_jj_expect_op(p, ','));
        TRY(sl_jj_parse_expr(p, &n));
        TRY(sl_jj_list_push(p, list, n));
    }
    return SL_OK;
}

static sl_status parse_print(sl_jj_parser *p, sl_jj_node *n)
{
    sl_jj_list list = { 0 };
    sl_status rc = parse_print_into(p, &list);
    if (!rc)
        rc = sl_jj_list_take(p, &list, &n->list);
    sl_jj_list_fini(&list);
    return rc;
}

static sl_status parse_leave(sl_jj_parser *p, sl_jj_node *n)
{
    if (p->loop_depth == 0)
        return sl_jj_fail_at(p->t, n->at, p->err, SL_EFORMAT, "'%s' outside of a loop",
                             n->type == SL_JJ_BREAK ? "break" : "continue");
    return SL_OK;
}

static const struct {
    const char *name;
    sl_jj_type type;
    sl_status (*parse)(sl_jj_parser *p, sl_jj_node *n); /* NULL: Jinja has the tag, we do not */
} tags[] = {
    { "if", SL_JJ_IF, parse_if },
    { "for", SL_JJ_FOR, parse_for },
    { "set", SL_JJ_SET, parse_set },
    { "macro", SL_JJ_MACRO_DEF, parse_macro },
    { "call", SL_JJ_CALL_BLOCK, parse_call_block },
    { "generation", SL_JJ_GENERATION, parse_generation },
    { "filter", SL_JJ_FILTER_BLOCK, parse_filter_block },
    { "with", SL_JJ_WITH, parse_with },
    { "print", SL_JJ_OUTPUT, parse_print },
    { "break", SL_JJ_BREAK, parse_leave },
    { "continue", SL_JJ_CONTINUE, parse_leave },
    { "block", SL_JJ_OUTPUT, NULL },
    { "extends", SL_JJ_OUTPUT, NULL },
    { "include", SL_JJ_OUTPUT, NULL },
    { "import", SL_JJ_OUTPUT, NULL },
    { "from", SL_JJ_OUTPUT, NULL },
    { "autoescape", SL_JJ_OUTPUT, NULL },
};

static sl_status parse_statement(sl_jj_parser *p, const char *tag, size_t tag_at, sl_jj_node **out)
{
    const sl_jj_token *t = sl_jj_peek(p);
    if (t->type != SL_JJ_T_NAME)
        return sl_jj_unexpected(p, "the name of a tag");
    for (size_t i = 0; i < SL_COUNT(tags); i++) {
        if (!sl_jj_is_name(t, tags[i].name))
            continue;
        if (!tags[i].parse)
            return sl_jj_fail_at(p->t, t->at, p->err, SL_EUNSUPPORTED, "the tag '%s' is not supported", tags[i].name);
        TRY(sl_jj_node_new(p, tags[i].type, t->at, out));
        sl_jj_next(p);
        TRY(tags[i].parse(p, *out));
        return sl_jj_node_done(p, *out);
    }
    if (!tag)
        return sl_jj_fail_at(p->t, t->at, p->err, SL_EFORMAT, "unknown tag '%.*s'", (int)t->value.len, t->value.u.s);
    char where[64] = ""; /* the line of the tag that is still open helps more than a list of tags */
    size_t line = 1;
    for (size_t i = 0; i < tag_at; i++)
        line += p->t->source[i] == '\n';
    snprintf(where, sizeof where, "'%s' of line %zu", tag, line);
    return sl_jj_fail_at(p->t, t->at, p->err, SL_EFORMAT, "unknown tag '%.*s' (inside %s)", (int)t->value.len,
                         t->value.u.s, where);
}

static bool is_one_of(const sl_jj_token *t, const char *const *names)
{
    for (; names && *names; names++)
        if (sl_jj_is_name(t, *names))
            return true;
    return false;
}

/* Text and {{ }} up to the next block tag: one output node. */
static sl_status parse_output(sl_jj_parser *p, sl_jj_list *list)
{
    for (;;) {
        const sl_jj_token *t = sl_jj_peek(p);
        sl_jj_node *n = NULL;
        if (t->type == SL_JJ_T_DATA) {
            TRY(sl_jj_node_new(p, SL_JJ_CONST, t->at, &n));
            n->value = t->value;
            sl_jj_next(p);
        } else if (t->type == SL_JJ_T_VAR_BEGIN) {
            sl_jj_next(p);
            TRY(sl_jj_parse_tuple(p, true, false, &n));
            if (sl_jj_peek(p)->type != SL_JJ_T_VAR_END)
                return sl_jj_unexpected(p, "'}}'");
            sl_jj_next(p);
        } else {
            return SL_OK;
        }
        TRY(sl_jj_list_push(p, list, n));
    }
}

static sl_status parse_output_node(sl_jj_parser *p, sl_jj_node **out)
{
    sl_jj_list list = { 0 };
    sl_status rc = sl_jj_node_new(p, SL_JJ_OUTPUT, sl_jj_peek(p)->at, out);
    if (!rc)
        rc = parse_output(p, &list);
    if (!rc)
        rc = sl_jj_list_take(p, &list, &(*out)->list);
    if (!rc)
        rc = sl_jj_node_done(p, *out);
    sl_jj_list_fini(&list);
    return rc;
}

static sl_status parse_nodes(sl_jj_parser *p, const char *const *ends, const char *tag, size_t tag_at, sl_jj_list *list)
{
    for (;;) {
        const sl_jj_token *t = sl_jj_peek(p);
        sl_jj_node *n = NULL;
        if (t->type == SL_JJ_T_EOF) {
            if (!tag)
                return SL_OK;
            return sl_jj_fail_at(p->t, tag_at, p->err, SL_EFORMAT, "'%s' without its end", tag);
        }
        if (t->type != SL_JJ_T_BLOCK_BEGIN) {
            TRY(parse_output_node(p, &n));
        } else {
            sl_jj_next(p);
            if (is_one_of(sl_jj_peek(p), ends))
                return SL_OK;
            TRY(parse_statement(p, tag, tag_at, &n));
            TRY(expect_block_end(p));
        }
        TRY(sl_jj_list_push(p, list, n));
    }
}

static sl_status parse_until(sl_jj_parser *p, const char *const *ends, const char *tag, size_t tag_at, sl_jj_body *out)
{
    sl_jj_list list = { 0 };
    sl_status rc = parse_nodes(p, ends, tag, tag_at, &list);
    if (!rc)
        rc = sl_jj_list_take(p, &list, out);
    sl_jj_list_fini(&list);
    return rc;
}

sl_status sl_jj_parse(sl_template *t, sl_err *err)
{
    sl_jj_parser p = { .t = t, .err = err };
    sl_status rc = sl_jj_lex(t, &p.tokens, err);
    if (!rc)
        rc = sl_jj_node_new(&p, SL_JJ_TEMPLATE, 0, &t->root);
    if (!rc)
        rc = parse_until(&p, NULL, NULL, 0, &t->root->body);
    sl_mem_free(p.tokens.at);
    return rc;
}
