/* parse_in.h - what the two halves of the parser (statements, expressions) share. */
#ifndef SL_CHAT_PARSE_IN_H
#define SL_CHAT_PARSE_IN_H

#include "chat/lex_in.h"

typedef struct sl_jj_parser {
    sl_template *t;
    sl_jj_tokens tokens;
    size_t pos;
    unsigned depth;      /* nested expressions and statements */
    unsigned loop_depth; /* loops that a `break` here may leave */
    sl_err *err;
} sl_jj_parser;

/* Nested constructs, and height of a tree (a long chain of + is a high tree): both bound recursion. */
#define SL_JJ_MAX_NESTING 250u
#define SL_JJ_MAX_HEIGHT  400u

typedef struct sl_jj_list { /* nodes under construction, on the heap; sl_jj_list_take moves them to the template */
    sl_jj_node **at;
    size_t n, cap;
} sl_jj_list;
sl_status sl_jj_list_push(sl_jj_parser *p, sl_jj_list *l, sl_jj_node *n);
sl_status sl_jj_list_take(sl_jj_parser *p, sl_jj_list *l, sl_jj_body *out);
void sl_jj_list_fini(sl_jj_list *l);

static inline const sl_jj_token *sl_jj_peek(const sl_jj_parser *p)
{
    return &p->tokens.at[p->pos];
}
static inline const sl_jj_token *sl_jj_peek2(const sl_jj_parser *p)
{
    return &p->tokens.at[p->pos + (p->pos + 1 < p->tokens.n)];
}
static inline void sl_jj_next(sl_jj_parser *p)
{
    if (p->pos + 1 < p->tokens.n)
        p->pos++;
}
static inline bool sl_jj_is_op(const sl_jj_token *t, uint16_t op)
{
    return t->type == SL_JJ_T_OP && t->op == op;
}
static inline bool sl_jj_is_name(const sl_jj_token *t, const char *name)
{
    return t->type == SL_JJ_T_NAME && sl_jj_str_is(t->value, name);
}
bool sl_jj_skip_op(sl_jj_parser *p, uint16_t op);
bool sl_jj_skip_name(sl_jj_parser *p, const char *name);
sl_status sl_jj_expect_op(sl_jj_parser *p, uint16_t op);
sl_status sl_jj_expect_name(sl_jj_parser *p, sl_jj_value *name);
/* "expected ..., found ..." at the current token. */
sl_status sl_jj_unexpected(sl_jj_parser *p, const char *expected);

sl_status sl_jj_node_new(sl_jj_parser *p, sl_jj_type type, size_t at, sl_jj_node **out);
/* Count the height once the children are in place. */
sl_status sl_jj_node_done(sl_jj_parser *p, sl_jj_node *n);
sl_status sl_jj_parse_enter(sl_jj_parser *p);

/* One expression, or several with commas: a tuple. */
sl_status sl_jj_parse_tuple(sl_jj_parser *p, bool with_cond, bool parens, sl_jj_node **out);
sl_status sl_jj_parse_expr(sl_jj_parser *p, sl_jj_node **out);
/* What `for` and `set` store to; `namespaces`: `ns.x` is a target, too. */
sl_status sl_jj_parse_target(sl_jj_parser *p, bool namespaces, sl_jj_node **out);
/* |f|g; v is the operand or NULL. `head`: the first name has no bar in front. */
sl_status sl_jj_parse_filters(sl_jj_parser *p, sl_jj_node *v, bool head, sl_jj_node **out);

#endif
