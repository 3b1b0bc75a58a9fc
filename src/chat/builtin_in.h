/* builtin_in.h - calls, and the tables of filters, tests, methods and global functions. */
#ifndef SL_CHAT_BUILTIN_IN_H
#define SL_CHAT_BUILTIN_IN_H

#include "chat/render_in.h"

typedef struct sl_jj_call { /* evaluated arguments */
    const sl_jj_value *pos;
    size_t n_pos;
    const sl_jj_pair *kw; /* names and values, no name twice */
    size_t n_kw;
} sl_jj_call;

/* Parameters of a builtin: names by comma; those before a "/" take no keyword. */
typedef struct sl_jj_params {
    const char *names;
    uint8_t required; /* the first that many must be given */
} sl_jj_params;
#define SL_JJ_MAX_PARAMS 6u

/* Sort a call's arguments into arg[0..SL_JJ_MAX_PARAMS), MISSING where not given. `what` names
 * the callee in messages. */
sl_status sl_jj_bind(sl_jj_render *r, const char *what, sl_jj_params params, const sl_jj_call *call, sl_jj_value *arg);
/* An integer argument; `fallback` when it was not given. */
sl_status sl_jj_arg_int(sl_jj_render *r, sl_jj_value v, int64_t fallback, int64_t *out);
sl_status sl_jj_want_str(sl_jj_render *r, const char *what, sl_jj_value v); /* error unless a string */

typedef sl_status sl_jj_builtin_fn(sl_jj_render *r, sl_jj_value self, const sl_jj_value *arg, sl_jj_value *out);
typedef sl_status sl_jj_raw_fn(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out);

/* One row: `fn` has named parameters, `raw` takes the call as it is; neither: the name exists in
 * Jinja or Python, but not here. */
typedef struct sl_jj_builtin {
    const char *name;
    sl_jj_builtin_fn *fn;
    sl_jj_params params;
    sl_jj_raw_fn *raw;
} sl_jj_builtin;
sl_status sl_jj_builtin_call(sl_jj_render *r, const char *what, const sl_jj_builtin *b, sl_jj_value self,
                             const sl_jj_call *call, sl_jj_value *out);

/* NULL when there is none of that name. */
const sl_jj_builtin *sl_jj_filter_find(const char *name, size_t len);
const sl_jj_builtin *sl_jj_text_filter_find(const char *name, size_t len); /* parts of the above */
const sl_jj_builtin *sl_jj_seq_filter_find(const char *name, size_t len);
const sl_jj_builtin *sl_jj_number_filter_find(const char *name, size_t len);
const sl_jj_builtin *sl_jj_test_find(const char *name, size_t len);
const sl_jj_builtin *sl_jj_str_method_find(const char *name, size_t len);
const sl_jj_builtin *sl_jj_method_find(sl_jj_value self, const char *name, size_t len);
const sl_jj_builtin *sl_jj_table_find(const sl_jj_builtin *table, size_t n, const char *name, size_t len);

struct sl_jj_bound { /* a method and its object */
    sl_jj_value self;
    const sl_jj_builtin *method;
};
struct sl_jj_func {
    sl_jj_builtin builtin;
};
sl_jj_builtin_fn sl_jj_dict_fromkeys;
sl_status sl_jj_namespace_check(sl_jj_render *r, sl_jj_value name); /* no _ in front, as in Transformers */
const sl_jj_func *sl_jj_global_find(const char *name, size_t len);

struct sl_jj_macro {
    const sl_jj_node *node; /* MACRO_DEF, CALL_BLOCK or GENERATION */
    sl_jj_env *env;         /* where it was defined */
};

struct sl_jj_loop {
    const sl_jj_node *node;
    sl_jj_env *env; /* around the loop */
    sl_jj_value items;
    sl_jj_iter *iter;
    sl_jj_value after, current, before, changed; /* MISSING: none */
    int64_t index0, length, depth0;              /* length -1: not known yet */
};
sl_status sl_jj_loop_attr(sl_jj_render *r, sl_jj_loop *loop, sl_jj_value name, sl_jj_value *out);

/* call.c */
sl_status sl_jj_eval_args(sl_jj_render *r, sl_jj_env *env, const sl_jj_args *args, sl_jj_call *out);
sl_status sl_jj_call_value(sl_jj_render *r, sl_jj_value callee, const sl_jj_call *call, sl_jj_value *out);
sl_status sl_jj_call_filter(sl_jj_render *r, const sl_jj_builtin *f, sl_jj_value v, const sl_jj_call *call,
                            sl_jj_value *out);
sl_status sl_jj_call_test(sl_jj_render *r, const sl_jj_builtin *t, sl_jj_value v, const sl_jj_call *call, bool *out);

/* iter.c: walking. Python's TypeError where a value cannot be walked. */
typedef sl_status sl_jj_next_fn(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done);
struct sl_jj_iter {
    sl_jj_next_fn *next;
    sl_jj_value from; /* what is walked */
    size_t pos, end;
    int64_t step;
    sl_jj_iter *source; /* what a filter pulls from; opened at the first pull */
    bool started;
    /* map, select, reject, selectattr, rejectattr, unique */
    sl_jj_call call;
    sl_jj_value path, fallback;
    const sl_jj_builtin *builtin;
    bool negate, by_attr;
    sl_jj_dict *seen;
    /* filter of a for loop */
    const sl_jj_node *node;
    sl_jj_env *env;
};
bool sl_jj_iterable(sl_jj_value v);
sl_status sl_jj_iter_open(sl_jj_render *r, sl_jj_value v, sl_jj_iter **out);
sl_status sl_jj_iter_next(sl_jj_render *r, sl_jj_iter *it, sl_jj_value *out, bool *done);
sl_status sl_jj_iter_new(sl_jj_render *r, sl_jj_next_fn *next, sl_jj_value from, sl_jj_iter **out);
sl_status sl_jj_iter_reversed(sl_jj_render *r, sl_jj_value v, sl_jj_iter **out); /* NULL: Python's reversed() refuses */
sl_status sl_jj_collect(sl_jj_render *r, sl_jj_value v, sl_jj_seq **out);        /* list(v): a new one */
static inline sl_jj_value sl_jj_iter_value(sl_jj_iter *it)
{
    return (sl_jj_value){ .kind = SL_JJ_ITER, .u.iter = it };
}
sl_jj_value sl_jj_range_item(const sl_jj_range *range, size_t i);
sl_status sl_jj_range_new(sl_jj_render *r, int64_t start, int64_t stop, int64_t step, sl_jj_value *out);
sl_status sl_jj_view_item(sl_jj_render *r, sl_jj_value view, size_t i, sl_jj_value *out);

/* "a.b.0": getitem after getitem. `fallback` (unless MISSING) stands in for what is undefined. */
sl_status sl_jj_attr_path(sl_jj_render *r, sl_jj_value v, sl_jj_value path, sl_jj_value fallback, sl_jj_value *out);

/* Shared by filters and methods of strings. */
sl_status sl_jj_str_strip(sl_jj_render *r, sl_jj_value s, sl_jj_value chars, int sides, sl_jj_value *out);
enum { SL_JJ_LEFT = 1, SL_JJ_RIGHT = 2, SL_JJ_BOTH = 3 };
sl_status sl_jj_str_replace(sl_jj_render *r, sl_jj_value s, sl_jj_value from, sl_jj_value to, int64_t count,
                            sl_jj_value *out);
sl_status sl_jj_str_pad(sl_jj_render *r, sl_jj_value s, int64_t width, sl_jj_value fill, int sides, sl_jj_value *out);
sl_status sl_jj_str_lines(sl_jj_render *r, sl_jj_value s, bool keep_ends, sl_jj_seq **out);
sl_status sl_jj_str_join(sl_jj_render *r, sl_jj_value sep, sl_jj_value items, bool convert, sl_jj_value *out);
sl_jj_builtin_fn sl_jj_wordwrap; /* the filter, of filters_wrap.c */
/* str.format; format_map has the fields' values in a mapping. */
sl_status sl_jj_str_format_map(sl_jj_render *r, sl_jj_value self, const sl_jj_value *arg, sl_jj_value *out);
sl_status sl_jj_str_format(sl_jj_render *r, sl_jj_value self, const sl_jj_call *call, sl_jj_value *out);

/* number.c: int() and float() of Python on text. False: not a number. *overflow: an integer beyond 64 bits. */
bool sl_jj_parse_int(const char *s, size_t n, int base, int64_t *out, bool *overflow);
bool sl_jj_parse_float(const char *s, size_t n, double *out);

#endif
