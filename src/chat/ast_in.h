/* ast_in.h - the parsed template. All of it lies in the arena of its sl_template and is read-only
 * once scopes are resolved (scope.c), so that renderings may run side by side. */
#ifndef SL_CHAT_AST_IN_H
#define SL_CHAT_AST_IN_H

#include "base/mem.h"
#include "chat/template.h"
#include "chat/value_in.h"

typedef enum sl_jj_type {
    /* expressions */
    SL_JJ_CONST,    /* value */
    SL_JJ_NAME,     /* value = name; up, slot once resolved */
    SL_JJ_NSREF,    /* target `value.attr`: a = const with the attribute's name */
    SL_JJ_TUPLE_OF, /* list */
    SL_JJ_LIST_OF,  /* list */
    SL_JJ_DICT_OF,  /* list: key, value, key, value ... */
    SL_JJ_COND,     /* a if b else c (c may be NULL) */
    SL_JJ_AND,      /* a, b */
    SL_JJ_OR,       /* a, b */
    SL_JJ_NOT,      /* a */
    SL_JJ_COMPARE,  /* a, then list of SL_JJ_OPERAND */
    SL_JJ_OPERAND,  /* op, a */
    SL_JJ_BINARY,   /* a op b */
    SL_JJ_UNARY,    /* op a */
    SL_JJ_CONCAT,   /* list */
    SL_JJ_ATTR,     /* a.value */
    SL_JJ_ITEM,     /* a[b] */
    SL_JJ_SLICE,    /* a[list of 3, each may be NULL] */
    SL_JJ_CALL,     /* a(args) */
    SL_JJ_FILTER,   /* a | def(args); a is NULL at the head of a filter block */
    SL_JJ_TEST,     /* a is def(args) */
    /* statements */
    SL_JJ_OUTPUT,       /* list of expressions */
    SL_JJ_IF,           /* list of SL_JJ_BRANCH, body2 = else */
    SL_JJ_BRANCH,       /* a = test, body */
    SL_JJ_FOR,          /* a = target, b = iterable, c = filter, d = the target again, for the filter */
    SL_JJ_MACRO_DEF,    /* value = name, list = argument names, list2 = defaults of the last ones */
    SL_JJ_CALL_BLOCK,   /* as a macro definition; a = the call */
    SL_JJ_GENERATION,   /* as a call block, without arguments and call */
    SL_JJ_FILTER_BLOCK, /* a = the filters, innermost without operand */
    SL_JJ_SET,          /* a = target, b = value */
    SL_JJ_SET_BLOCK,    /* a = target, b = filters or NULL */
    SL_JJ_WITH,         /* list = targets, list2 = values */
    SL_JJ_BREAK,
    SL_JJ_CONTINUE,
    SL_JJ_TEMPLATE
} sl_jj_type;

/* Operators. A comparison's are the tests of the same name, too. */
typedef enum sl_jj_op {
    SL_JJ_ADD,
    SL_JJ_SUB,
    SL_JJ_MUL,
    SL_JJ_DIV,
    SL_JJ_FLOORDIV,
    SL_JJ_MOD,
    SL_JJ_POW,
    SL_JJ_NEG,
    SL_JJ_POS,
    SL_JJ_EQ,
    SL_JJ_NE,
    SL_JJ_LT,
    SL_JJ_LE,
    SL_JJ_GT,
    SL_JJ_GE,
    SL_JJ_IN,
    SL_JJ_NOT_IN
} sl_jj_op;

typedef struct sl_jj_node sl_jj_node;
typedef struct sl_jj_scope sl_jj_scope;

typedef struct sl_jj_body {
    sl_jj_node **node;
    size_t n;
} sl_jj_body;

typedef struct sl_jj_args {
    sl_jj_body pos;
    sl_jj_body kw; /* values; their names, in the same order: */
    sl_jj_value *kw_name;
    sl_jj_node *dyn_pos; /* *expr */
    sl_jj_node *dyn_kw;  /* **expr */
} sl_jj_args;

struct sl_jj_node {
    uint8_t type;                                   /* sl_jj_type */
    uint8_t op;                                     /* sl_jj_op */
    bool recursive;                                 /* FOR */
    bool wants_caller, wants_kwargs, wants_varargs; /* MACRO_DEF, CALL_BLOCK */
    bool varies;                                    /* holds a name or a call */
    bool folds;                                     /* holds a slice that does not vary: see fold in expr.c */
    uint32_t at;                                    /* byte offset in the source */
    uint32_t height;                                /* of the tree below */
    uint32_t up, slot;                              /* NAME, NSREF, MACRO_DEF: where the variable is; see scope_in.h */
    sl_jj_value value;
    sl_jj_node *a, *b, *c, *d;
    sl_jj_body list, list2;
    sl_jj_body body, body2;
    sl_jj_args *args;
    const void *def;     /* FILTER, TEST: sl_jj_filter or sl_jj_test */
    sl_jj_scope *scope;  /* of the body: TEMPLATE, FOR, MACRO_DEF, CALL_BLOCK, ... */
    sl_jj_scope *scope2; /* FOR: of the else branch */
    sl_jj_scope *scope3; /* FOR: of the filter */
};

struct sl_template {
    sl_arena arena;
    const char *source; /* newlines made one kind, the last one dropped, as Jinja does */
    size_t len;
    sl_jj_node *root;
};

/* Memory of the template; SL_ENOMEM through err. */
sl_status sl_jj_template_alloc(sl_template *t, size_t n, size_t size, void *out, sl_err *err);
/* "line L, column C: ..." for an offset in the source; columns count characters. */
sl_status sl_jj_fail_at(const sl_template *t, size_t at, sl_err *err, sl_status code, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Source -> tree; sets t->root. */
sl_status sl_jj_parse(sl_template *t, sl_err *err);
/* Give every name its place: sets up, slot and the scopes. */
sl_status sl_jj_resolve(sl_template *t, sl_err *err);

#endif
