/* attention_in.h - what the files of attention share: rows of queries, and the work on one stretch of positions. */
#ifndef SL_MODULE_ATTENTION_IN_H
#define SL_MODULE_ATTENTION_IN_H

#include "module/attention.h"

/* A block of queries with one KV head. */
typedef struct sl_query {
    const sl_query_block *block;
    const sl_heads *heads;
    size_t layer, head; /* KV head */
    size_t G, R;        /* query heads on it; rows = tokens * G, row = token * G + head */
} sl_query;

/* Scratch of one thread: R = rows of a block, L = positions computed at once. */
typedef struct sl_attn_scratch {
    sl_attn_query q;
    float *chunk, *acc; /* [R][C] of the chunk, and of all so far */
    float *s;           /* [R][lds] */
    size_t lds;
    float *m, *l, *m2, *l2; /* [R] of all so far, and of the chunk */
    uint32_t *seen;         /* [R] positions of the chunk that a row sees */
    uint32_t *n;            /* [R] positions of the page */
} sl_attn_scratch;

/* Positions that are computed as one unit: plain attention keeps a score row in full. */
size_t sl_attn_unit(const sl_env *env);
/* base NULL: only the bytes, which are returned. */
size_t sl_attn_cut_scratch(sl_attn_scratch *p, unsigned char *base, const sl_env *env, const sl_heads *h);
/* R query rows in every form that a type of keys may want; base as above. */
size_t sl_attn_cut_query(sl_attn_query *q, unsigned char *base, size_t R, size_t C);
/* The form for int8 keys, of R rows of x. */
void sl_attn_quantize_queries(const sl_kernels *k, const sl_attn_query *q, size_t R, size_t C);
sl_query sl_attn_query_of(const sl_op *op, const sl_query_block *block, size_t head);
/* Rows of a step's queries, scaled, in the form that keys want. value [T][H][C]. */
void sl_attn_load_queries(const sl_query *q, sl_lane *lane, const float *value, const sl_attn_query *dst);

/* Positions pos .. end of what a block of queries reads, in one go. */
typedef struct sl_stretch {
    sl_query q;
    size_t pos, end;
} sl_stretch;

/* Scores, softmax and weighted values of positions j0 .. j0+len for the rows that see some, *r0 .. *r1: s->chunk,
 * s->m2, s->l2. The queries are loaded. after: what this thread reads then, or NULL. */
void sl_attn_compute_unit(const sl_query *q, sl_lane *lane, size_t j0, size_t len, const sl_stretch *after,
                          sl_attn_scratch *s, size_t *r0, size_t *r1);
/* Ask for what is read first of a stretch, as much as is asked for while other pages are read. */
void sl_attn_fetch(const sl_lane *lane, const sl_stretch *first);

#endif
