/* rope.h - rotary position embedding: the frequencies, with the scalings that checkpoints name. */
#ifndef SL_MODULE_ROPE_H
#define SL_MODULE_ROPE_H

#include <stddef.h>

typedef enum sl_rope_scaling { SL_ROPE_NONE, SL_ROPE_LINEAR, SL_ROPE_YARN } sl_rope_scaling;

typedef struct sl_rope {
    size_t dim;  /* rotated part of a head, even */
    double base; /* theta */
    sl_rope_scaling scaling;
    double factor;               /* > 0: linear and yarn */
    double n_ctx_original;       /* yarn: context of the first training */
    double beta_fast, beta_slow; /* yarn: rotations over that context */
    double attn_factor;          /* yarn: multiplies cosine and sine besides the usual factor */
    const float *divisor;        /* [dim / 2] of the frequencies (Llama 3), or NULL */
} sl_rope;

/* inv_freq [dim / 2]; the return value multiplies cosine and sine. Source: Su et al. 2021,
 * arXiv 2104.09864; YaRN: Peng et al. 2023, arXiv 2309.00071, section 3; as computed by
 * Transformers (modeling_rope_utils.py). */
float sl_rope_frequencies(const sl_rope *r, float *inv_freq);

#endif
