/* rope.h - rotary position embedding: the frequencies, with the scalings that checkpoints name. */
#ifndef SL_MODULE_ROPE_H
#define SL_MODULE_ROPE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum sl_rope_scaling { SL_ROPE_NONE, SL_ROPE_LINEAR, SL_ROPE_YARN, SL_ROPE_LLAMA3 } sl_rope_scaling;

typedef struct sl_rope {
    size_t dim;  /* rotated part of a head, even */
    double base; /* theta */
    sl_rope_scaling scaling;
    double factor;               /* > 0: of all scalings */
    double n_ctx_original;       /* yarn, llama3: context of the first training */
    double beta_fast, beta_slow; /* yarn: rotations over that context */
    bool unrounded;              /* yarn: its ramp need not begin and end at a pair */
    double attn_factor;          /* yarn: multiplies cosine and sine besides the usual factor */
    double score_scale;          /* yarn with latent attention: multiplies the scores */
    double low_freq, high_freq;  /* llama3: rotations over that context, low < high */
    const float *divisor;        /* [dim / 2] of the frequencies (GGUF's form of llama3), or NULL */
} sl_rope;

/* inv_freq [dim / 2]; the return value multiplies cosine and sine. Source: Su et al. 2021,
 * arXiv 2104.09864; YaRN: Peng et al. 2023, arXiv 2309.00071, section 3; as computed by
 * Transformers (modeling_rope_utils.py), which also has the one of Llama 3.1. */
float sl_rope_frequencies(const sl_rope *r, float *inv_freq);

#endif
