/* softmax.c - the exponentials of one chunk of scores, and joining chunks.
 * Source: Dao 2023, arXiv 2307.08691, section 3.1 (online softmax). */
#include "kernels/scalar/scalar_in.h"

#include <math.h>

void sl_attn_softmax_scalar(float *s, size_t n, float *max, float *sum)
{
    float m = s[0], l = 0.0f;
    for (size_t j = 1; j < n; j++)
        m = s[j] > m ? s[j] : m;
    for (size_t j = 0; j < n; j++) {
        s[j] = expf(s[j] - m);
        l += s[j];
    }
    *max = m;
    *sum = l;
}

void sl_attn_fold_scalar(float *m, float *l, float *a, float m2, float l2, const float *a2, size_t C)
{
    const float top = *m > m2 ? *m : m2;
    const float w = expf(*m - top), w2 = expf(m2 - top);
    *m = top;
    *l = *l * w + l2 * w2;
    for (size_t c = 0; c < C; c++)
        a[c] = a[c] * w + a2[c] * w2;
}
