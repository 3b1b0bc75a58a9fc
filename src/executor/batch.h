/* batch.h - the tokens of one step, gathered from running requests. */
#ifndef SL_EXECUTOR_BATCH_H
#define SL_EXECUTOR_BATCH_H

#include "module/run.h"

/* Arrays are made once, for the largest step. */
typedef struct sl_batch {
    size_t cap_tokens, cap_outputs;
    sl_step step;
    int32_t *token;
    uint32_t *pos, *seq, *output;
    uint32_t *output_seq; /* [outputs] which sequence asked */
    sl_query_block *block;
    size_t cap_block_tokens, min_blocks; /* how queries are grouped */
} sl_batch;

/* table [sequences][table_ld] is borrowed. SL_ENOMEM. */
sl_status sl_batch_init(sl_batch *b, const sl_limits *limits, const sl_heads *heads, const uint32_t *table,
                        size_t table_ld, sl_err *err);
void sl_batch_fini(sl_batch *b);

void sl_batch_clear(sl_batch *b);
static inline size_t sl_batch_room(const sl_batch *b)
{
    return b->cap_tokens - b->step.n;
}
static inline size_t sl_batch_output_room(const sl_batch *b)
{
    return b->cap_outputs - b->step.n_outputs;
}
/* Append n tokens of sequence `seq` that stand at pos, pos + 1, …; the last n_outputs of them want logits. */
void sl_batch_add(sl_batch *b, uint32_t seq, const int32_t *token, size_t n, size_t pos, size_t n_outputs);
/* Group the tokens into query blocks; then b->step can run. */
void sl_batch_finish(sl_batch *b);

#endif
