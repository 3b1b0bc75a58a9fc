/* sampler.h - from logits to one token. */
#ifndef SL_MODULE_SAMPLER_H
#define SL_MODULE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

typedef struct sl_sampling {
    float temperature; /* 0: the most likely token */
    uint32_t top_k;    /* 0: off */
    float top_p;       /* 1: off */
    float min_p;       /* 0: off */
    uint64_t seed;
} sl_sampling;

/* One entry of a logit bias list. */
typedef struct sl_logit_bias {
    int32_t token;
    float bias;
} sl_logit_bias;

/* A candidate, and room for them: [n_vocab], the caller's. */
typedef struct sl_candidate {
    float logit, p;
    int32_t token;
} sl_candidate;

/* SL_EINVAL names the field that is out of its range: temperature 0..100, top_p and min_p
 * 0..1, all finite. top_p = 0 keeps the most likely token. */
sl_status sl_sampling_check(const sl_sampling *s, sl_err *err);

/* The most likely token; the lower id on a tie. A NaN is never chosen unless all are. */
int32_t sl_argmax(const float *logits, size_t n);

/* Pick the token that follows position `position`. The order is llama.cpp's: top-k, top-p,
 * min-p on the plain probabilities, then temperature and one draw that depends on (seed,
 * position) alone. Ties keep the lower id first. Changes nothing but `room` [n]. */
int32_t sl_sample(const sl_sampling *s, const float *logits, size_t n, uint64_t position, sl_candidate *room);

#endif
