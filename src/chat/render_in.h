/* render_in.h - one rendering: its memory, its limits, its position for error messages. */
#ifndef SL_CHAT_RENDER_IN_H
#define SL_CHAT_RENDER_IN_H

#include "chat/ast_in.h"
#include "chat/scope_in.h"
#include "chat/value_in.h"

/* What a rendering may take. Real templates with a thousand messages stay far below. */
#define SL_JJ_MAX_STEPS  50000000u           /* nodes evaluated, items walked, bytes / 16 copied */
#define SL_JJ_MAX_DEPTH  1500u               /* nested evaluations; bounds the C stack */
#define SL_JJ_MAX_BYTES  ((size_t)256 << 20) /* memory of values */
#define SL_JJ_MAX_OUTPUT ((size_t)64 << 20)  /* bytes of text */

/* Return the status of a call that failed. All memory belongs to the arena: nothing to release. */
#define SL_JJ_TRY(call)                                                                                                \
    do {                                                                                                               \
        const sl_status status_ = (call);                                                                              \
        if (status_ != SL_OK)                                                                                          \
            return status_;                                                                                            \
    } while (0)

typedef struct sl_jj_buf { /* text under construction */
    char *data;
    size_t n, cap;
} sl_jj_buf;

typedef struct sl_jj_env sl_jj_env;
struct sl_jj_env { /* a scope at run time */
    sl_jj_env *parent;
    const sl_jj_scope *scope;
    sl_jj_value *slots;
};

typedef enum sl_jj_flow { SL_JJ_FLOW_ON, SL_JJ_FLOW_BREAK, SL_JJ_FLOW_CONTINUE } sl_jj_flow;

/* Concatenation leaves room behind long strings, so that a template that collects its text in a
 * variable takes linear time: these are the places that may still grow. */
typedef struct sl_jj_growth {
    char *end, *limit;
} sl_jj_growth;
#define SL_JJ_GROWTHS 8u

struct sl_jj_render {
    const sl_template *t;
    sl_err *err;
    sl_arena arena;
    size_t bytes;   /* taken from the arena */
    uint64_t steps; /* taken so far */
    unsigned depth;
    uint32_t at; /* offset of the node that is evaluated */
    sl_jj_flow flow;
    bool folding; /* a constant is computed as Jinja's compiler would: see expr.c */
    sl_jj_dict *context;
    sl_jj_buf *out; /* where output goes: the page, or a macro's buffer */
    sl_jj_growth growth[SL_JJ_GROWTHS];
    unsigned next_growth;
    json_t *parsed; /* by from_json: values borrow its strings */
    int64_t clock;  /* of strftime_now, in seconds, if pinned */
    bool clock_pinned;
};

sl_status sl_jj_fail(sl_jj_render *r, sl_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* What an operation on an undefined value says. */
sl_status sl_jj_fail_undefined(sl_jj_render *r, sl_jj_value v);

/* n * size bytes of zero from the rendering's arena, into *(void **)out. */
sl_status sl_jj_alloc(sl_jj_render *r, size_t n, size_t size, void *out);
sl_status sl_jj_charge(sl_jj_render *r, size_t bytes); /* memory that is not the arena's */
sl_status sl_jj_step(sl_jj_render *r, size_t n);       /* count n steps */
sl_status sl_jj_enter(sl_jj_render *r);                /* one level deeper; sl_jj_leave after success */
static inline void sl_jj_leave(sl_jj_render *r)
{
    r->depth--;
}

sl_status sl_jj_buf_add(sl_jj_render *r, sl_jj_buf *b, const char *s, size_t n);
sl_status sl_jj_buf_puts(sl_jj_render *r, sl_jj_buf *b, const char *text);
static inline sl_jj_value sl_jj_buf_value(const sl_jj_buf *b)
{
    return sl_jj_str(b->data ? b->data : "", b->n);
}
sl_status sl_jj_str_copy(sl_jj_render *r, const char *s, size_t n, sl_jj_value *out);
sl_status sl_jj_str_concat(sl_jj_render *r, sl_jj_value a, sl_jj_value b, sl_jj_value *out);

/* text.c: str(v), repr(v), and json.dumps. */
sl_status sl_jj_print(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v);
sl_status sl_jj_repr(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v);
sl_status sl_jj_to_str(sl_jj_render *r, sl_jj_value v, sl_jj_value *out); /* a string stays itself, Markup too */
size_t sl_jj_float_text(char buf[32], double f);                          /* Python's repr; bytes written */
typedef struct sl_jj_json_style {
    bool ascii, sort, has_indent;
    sl_jj_value indent, item_sep, key_sep; /* strings */
} sl_jj_json_style;
sl_status sl_jj_json(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v, const sl_jj_json_style *style);
sl_status sl_jj_escape(sl_jj_render *r, sl_jj_value v, sl_jj_value *out); /* to Markup */

/* ops.c */
sl_status sl_jj_binary(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value b, sl_jj_value *out);
sl_status sl_jj_unary(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value *out);
sl_status sl_jj_compare(sl_jj_render *r, sl_jj_op op, sl_jj_value a, sl_jj_value b, bool *out);
sl_status sl_jj_contains(sl_jj_render *r, sl_jj_value seq, sl_jj_value v, bool *out);
sl_status sl_jj_length(sl_jj_render *r, sl_jj_value v, size_t *out);
/* fmt % args */
sl_status sl_jj_percent(sl_jj_render *r, sl_jj_value fmt, sl_jj_value args, sl_jj_value *out);

/* access.c: v.name, v[key], v[a:b:c] (each bound may be none). */
sl_status sl_jj_attr(sl_jj_render *r, sl_jj_value v, sl_jj_value name, sl_jj_value *out);
sl_status sl_jj_item(sl_jj_render *r, sl_jj_value v, sl_jj_value key, sl_jj_value *out);
bool sl_jj_sliceable(sl_jj_value v, const sl_jj_value bound[3]);
sl_status sl_jj_slice(sl_jj_render *r, sl_jj_value v, const sl_jj_value bound[3], sl_jj_value *out);

/* eval.c, expr.c */
sl_status sl_jj_exec(sl_jj_render *r, sl_jj_env *env, const sl_jj_body *body);
/* An expression that is printed: where it is a constant, it may be one that no template could hold. */
sl_status sl_jj_eval_printed(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out);
sl_status sl_jj_eval(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value *out);
sl_status sl_jj_env_new(sl_jj_render *r, sl_jj_env *parent, const sl_jj_scope *scope, sl_jj_env **out);
sl_status sl_jj_env_enter(sl_jj_render *r, sl_jj_env *env); /* fill the slots by their rules */
sl_status sl_jj_assign(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *target, sl_jj_value v);
sl_status sl_jj_filter_chain(sl_jj_render *r, sl_jj_env *env, const sl_jj_node *n, sl_jj_value v, sl_jj_value *out);
sl_status sl_jj_loop_recurse(sl_jj_render *r, sl_jj_loop *loop, sl_jj_value items, sl_jj_value *out);

/* context.c: the caller's JSON. */
sl_status sl_jj_from_json(sl_jj_render *r, const json_t *json, sl_jj_value *out);

#endif
