/* engine.h - steps without requests, for measuring: given tokens at given places, nothing sampled. */
#ifndef SL_EXECUTOR_ENGINE_H
#define SL_EXECUTOR_ENGINE_H

#include "sluice/sluice.h"

typedef struct sl_feed {
    size_t seq;           /* below the engine's n_seqs; each at most once in a step */
    const int32_t *token; /* [n] inside the vocabulary */
    size_t n;
    bool logits; /* of the last of them */
} sl_feed;

/* One step in which each sequence grows by its tokens. No request may wait or run, none may have been kept, and before
 * the next one all sequences are rewound to 0. SL_EINVAL: more tokens than a step, or more
 * positions than a sequence holds; SL_ENOMEM (eager mode). */
sl_status sl_engine_feed(sl_engine *e, const sl_feed *feed, size_t n_feeds, sl_err *err);

/* Forget what a sequence holds from position n_pos on. */
void sl_engine_rewind(sl_engine *e, size_t seq, size_t n_pos);

#endif
