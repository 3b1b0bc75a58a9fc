/* engine.h - steps without requests, for measuring: given tokens at given places, nothing sampled. */
#ifndef SL_EXECUTOR_ENGINE_H
#define SL_EXECUTOR_ENGINE_H

#include "sluice/sluice.h"
#include "trace/trace.h"

typedef struct sl_feed {
    size_t seq;           /* below the engine's n_seqs; each at most once in a step */
    const int32_t *token; /* [n] inside the vocabulary */
    size_t n;
    bool logits;                /* of the last of them */
    const sl_request *sampling; /* with logits: draw a token as this request would, and forget it; NULL: nothing */
} sl_feed;

/* One step in which each sequence grows by its tokens. No request may wait or run, none may have been kept, and before
 * the next one all sequences are rewound to 0. SL_EINVAL: more tokens than a step, or more
 * positions than a sequence holds; SL_ENOMEM (eager mode). */
sl_status sl_engine_feed(sl_engine *e, const sl_feed *feed, size_t n_feeds, sl_err *err);

/* Forget what a sequence holds from position n_pos on. */
void sl_engine_rewind(sl_engine *e, size_t seq, size_t n_pos);

/* Let a sequence that holds nothing hold n positions of random keys and values, which costs no step. */
void sl_engine_fill(sl_engine *e, size_t seq, size_t n, uint64_t seed);

const sl_trace *sl_engine_trace(const sl_engine *e); /* NULL: the engine was made without */

/* An operation of the plan, i below sl_engine_op_count; the spans of a trace have its name. */
typedef struct sl_engine_op {
    const char *name;
    int32_t layer;
    bool vanishes;      /* a part of another operation when all is fused */
    bool reads_kv;      /* its bytes are keys and values */
    const char *format; /* of the weights that it multiplies by; NULL: none */
    uint64_t weight_bytes, n_weights;
    bool int8; /* multiplied as whole numbers */
    bool slow; /* the kernels in use have no fast way to read the format */
} sl_engine_op;
size_t sl_engine_op_count(const sl_engine *e);
void sl_engine_describe_op(const sl_engine *e, size_t i, sl_engine_op *out);

/* Operations of a step, barriers between them, and how many are matrix products (which have a barrier inside in steps
 * of many tokens): of this engine's plan, or of one that is like it but fused, or of graph mode. SL_ENOMEM. */
typedef struct sl_engine_size {
    size_t ops, barriers, products;
} sl_engine_size;
sl_status sl_engine_plan_size(const sl_engine *e, bool fused, bool graph, sl_engine_size *out, sl_err *err);

#endif
