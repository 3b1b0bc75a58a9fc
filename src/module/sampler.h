/* sampler.h - from logits to one token, and to log-probabilities.
 *
 * In this order, llama.cpp's: bias, penalties, top-k, typical, top-p, min-p, temperature, one draw. Each step sees the
 * probabilities of what the steps before it left, summed to 1. What is drawn depends on the logits, the settings, the
 * tokens said before, the seed and the position, on nothing else.
 */
#ifndef SL_MODULE_SAMPLER_H
#define SL_MODULE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

typedef struct sl_sampling {
    float temperature; /* 0: the most likely token after bias and penalties; nothing else matters then */
    uint32_t top_k;    /* keep so many; 0, or more than there are: off */
    float typical_p;   /* 0 or 1: off */
    float top_p;       /* 1: off; 0: the most likely token */
    float min_p;       /* 0: off */
    float
        repeat_penalty; /* of tokens in the window, prompt included: once for each, by the logit's sign; 0 or 1: off */
    float presence_penalty, frequency_penalty; /* of generated tokens in the window: once, and for each time */
    size_t repeat_last_n;                      /* the window: the last so many tokens of prompt and answer; 0: all */
    uint64_t seed;
    const int32_t *bias_token; /* [n_bias] added first of all; a token may stand there twice */
    const float *bias;
    size_t n_bias;
} sl_sampling;

/* Prompt and answer so far. */
typedef struct sl_said {
    const int32_t *token; /* [n] */
    size_t n, n_prompt;   /* n_prompt <= n; the rest was generated */
} sl_said;

/* SL_EINVAL names the field that is out of its range: temperature 0..100; typical_p, top_p and min_p 0..1;
 * repeat_penalty >= 0; presence_penalty and frequency_penalty -2..2; all of them finite, biases too. A bias of a token
 * outside n_vocab. */
sl_status sl_sampling_check(const sl_sampling *s, size_t n_vocab, sl_err *err);

/* The most likely token; the lower id on a tie. A NaN is never chosen unless all are. */
int32_t sl_argmax(const float *logits, size_t n);

/* Room to work in, for one thread at a time; holds nothing from one call to the next. */
typedef struct sl_sampler sl_sampler;
sl_status sl_sampler_create(sl_sampler **out, size_t n_vocab, sl_err *err); /* SL_ENOMEM */
void sl_sampler_destroy(sl_sampler *s);                                     /* accepts NULL */
size_t sl_sampler_bytes(size_t n_vocab);

/* Pick the token that follows `said` and will stand at `position`. Logits [n_vocab] may be anything: NaN counts as
 * -inf; where +inf is, only that is drawn; where nothing is finite, any token. Ties keep the lower id. No heap call;
 * time grows with the vocabulary and the window, not with what is kept. */
int32_t sl_sampler_pick(sl_sampler *s, const sl_sampling *how, const float *logits, const sl_said *said,
                        uint64_t position);

/* Whether a pick says anything: some logit is a number above -inf. */
bool sl_sampler_can_pick(const float *logits, size_t n_vocab);

#define SL_LOGPROB_LEAST (-9999.0f) /* in place of -inf, which JSON cannot say; as vLLM and OpenAI do */

/* log p(token) of the plain softmax over the logits, and the n_top likeliest tokens, best first (lower ids first on a
 * tie) with theirs: top [n_top], top_logprob [n_top], n_top <= n_vocab. All are within SL_LOGPROB_LEAST..0. */
float sl_sampler_logprobs(sl_sampler *s, const float *logits, int32_t token, size_t n_top, int32_t *top,
                          float *top_logprob);

#endif
