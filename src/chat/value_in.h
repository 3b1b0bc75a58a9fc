/* value_in.h - what a template computes with: Python's values, as far as templates can see them.
 *
 * A value is 16 bytes and is passed by value; all that it points to lives in the arena of the
 * rendering (or, for strings, in the template or the caller's JSON) and never changes, but for
 * iterators, namespaces, loops, cyclers and joiners. Nothing is freed before the rendering ends.
 * Strings are valid UTF-8, not terminated. */
#ifndef SL_CHAT_VALUE_IN_H
#define SL_CHAT_VALUE_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

typedef enum sl_jj_kind {
    SL_JJ_MISSING, /* a variable that nothing was stored in, an argument that was not given */
    SL_JJ_UNDEFINED,
    SL_JJ_NONE,
    SL_JJ_BOOL,
    SL_JJ_INT,
    SL_JJ_FLOAT,
    SL_JJ_STR,
    SL_JJ_LIST,
    SL_JJ_TUPLE,
    SL_JJ_DICT,
    SL_JJ_VIEW, /* dict.keys(), .values(), .items() */
    SL_JJ_RANGE,
    SL_JJ_ITER, /* what map, select and the like return: can be walked once */
    SL_JJ_NAMESPACE,
    SL_JJ_MACRO,
    SL_JJ_METHOD, /* bound to its object */
    SL_JJ_FUNC,   /* a global function */
    SL_JJ_LOOP,
    SL_JJ_CYCLER,
    SL_JJ_JOINER,
    SL_JJ_KIND_COUNT
} sl_jj_kind;

/* How an undefined value came about: decides its error message. */
enum { SL_JJ_NO_NAME, SL_JJ_NO_ATTR, SL_JJ_NO_ELEMENT, SL_JJ_UNSAFE, SL_JJ_HINT };
enum { SL_JJ_KEYS, SL_JJ_VALUES, SL_JJ_ITEMS };

typedef struct sl_jj_render sl_jj_render;
typedef struct sl_jj_seq sl_jj_seq;
typedef struct sl_jj_dict sl_jj_dict;
typedef struct sl_jj_range sl_jj_range;
typedef struct sl_jj_iter sl_jj_iter;
typedef struct sl_jj_macro sl_jj_macro;
typedef struct sl_jj_bound sl_jj_bound;
typedef struct sl_jj_func sl_jj_func;
typedef struct sl_jj_loop sl_jj_loop;
typedef struct sl_jj_cycler sl_jj_cycler;

typedef struct sl_jj_value {
    uint8_t kind; /* sl_jj_kind */
    uint8_t flag; /* STR: 1 = Markup. UNDEFINED: how. VIEW: which. TUPLE: 1 = of groupby. */
    uint16_t aux; /* UNDEFINED: kind of the object that lacks it */
    uint32_t len; /* STR: bytes. UNDEFINED: bytes of the name or hint */
    union {
        bool b;
        int64_t i;
        double f;
        const char *s;
        sl_jj_seq *seq;
        sl_jj_dict *dict; /* DICT, VIEW, NAMESPACE */
        sl_jj_range *range;
        sl_jj_iter *iter;
        sl_jj_macro *macro;
        sl_jj_bound *bound;
        const sl_jj_func *func;
        sl_jj_loop *loop;
        sl_jj_cycler *cycler; /* CYCLER, JOINER */
        const void *ptr;
    } u;
} sl_jj_value;

struct sl_jj_seq {
    sl_jj_value *items;
    size_t n, cap;
};

typedef struct sl_jj_pair {
    sl_jj_value key, value;
} sl_jj_pair;

struct sl_jj_dict { /* in the order of insertion */
    sl_jj_pair *pairs;
    size_t n, cap;
    uint32_t *index; /* number of the pair + 1, 0 = free; NULL while the dict is small */
    size_t n_index;  /* a power of two */
};

struct sl_jj_range {
    int64_t start, stop, step;
    size_t n;
};

struct sl_jj_cycler {
    sl_jj_seq items;
    size_t pos;
};

static inline sl_jj_value sl_jj_none(void)
{
    return (sl_jj_value){ .kind = SL_JJ_NONE };
}
static inline sl_jj_value sl_jj_bool(bool b)
{
    return (sl_jj_value){ .kind = SL_JJ_BOOL, .u.b = b };
}
static inline sl_jj_value sl_jj_int(int64_t i)
{
    return (sl_jj_value){ .kind = SL_JJ_INT, .u.i = i };
}
static inline sl_jj_value sl_jj_float(double f)
{
    return (sl_jj_value){ .kind = SL_JJ_FLOAT, .u.f = f };
}
static inline sl_jj_value sl_jj_str(const char *s, size_t n)
{
    return (sl_jj_value){ .kind = SL_JJ_STR, .len = (uint32_t)n, .u.s = s };
}
static inline sl_jj_value sl_jj_text(const char *s)
{
    return sl_jj_str(s, strlen(s));
}
static inline sl_jj_value sl_jj_seq_value(sl_jj_kind kind, sl_jj_seq *seq)
{
    return (sl_jj_value){ .kind = (uint8_t)kind, .u.seq = seq };
}
static inline sl_jj_value sl_jj_dict_value(sl_jj_dict *d)
{
    return (sl_jj_value){ .kind = SL_JJ_DICT, .u.dict = d };
}
static inline sl_jj_value sl_jj_undefined(const char *name, size_t n)
{
    return (sl_jj_value){ .kind = SL_JJ_UNDEFINED, .flag = SL_JJ_NO_NAME, .len = (uint32_t)n, .u.s = name };
}
static inline sl_jj_value sl_jj_undefined_hint(const char *hint)
{
    return (sl_jj_value){ .kind = SL_JJ_UNDEFINED, .flag = SL_JJ_HINT, .len = (uint32_t)strlen(hint), .u.s = hint };
}

static inline bool sl_jj_is_number(sl_jj_value v)
{
    return v.kind == SL_JJ_BOOL || v.kind == SL_JJ_INT || v.kind == SL_JJ_FLOAT;
}
static inline bool sl_jj_is_integral(sl_jj_value v) /* where Python takes an index */
{
    return v.kind == SL_JJ_BOOL || v.kind == SL_JJ_INT;
}
static inline int64_t sl_jj_integral(sl_jj_value v)
{
    return v.kind == SL_JJ_BOOL ? v.u.b : v.u.i;
}
static inline bool sl_jj_str_is(sl_jj_value v, const char *text)
{
    return v.kind == SL_JJ_STR && v.len == strlen(text) && memcmp(v.u.s, text, v.len) == 0;
}

const char *sl_jj_type_name(sl_jj_value v); /* Python's: "str", "dict", "NoneType" */
bool sl_jj_truth(sl_jj_value v);
bool sl_jj_hashable(sl_jj_value v);

/* a == b, and the sign of a - b. Errors: too deep; for the order also types that have none. */
sl_status sl_jj_equal(sl_jj_render *r, sl_jj_value a, sl_jj_value b, bool *out);
sl_status sl_jj_order(sl_jj_render *r, sl_jj_value a, sl_jj_value b, int *out);

/* Lists under construction: not yet seen by the template. */
sl_status sl_jj_seq_new(sl_jj_render *r, size_t cap, sl_jj_seq **out);
sl_status sl_jj_seq_push(sl_jj_render *r, sl_jj_seq *s, sl_jj_value v);

sl_status sl_jj_dict_new(sl_jj_render *r, size_t cap, sl_jj_dict **out);
sl_status sl_jj_dict_set(sl_jj_render *r, sl_jj_dict *d, sl_jj_value key, sl_jj_value value);
/* *out is NULL when there is no such key. The key must be hashable. */
sl_status sl_jj_dict_get(sl_jj_render *r, const sl_jj_dict *d, sl_jj_value key, const sl_jj_value **out);

#endif
