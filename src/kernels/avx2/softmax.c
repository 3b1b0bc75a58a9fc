/* softmax.c - the exponentials of one chunk of scores, and joining chunks. */
#include "kernels/avx2/avx2_in.h"

#include <math.h>

/* exp8 for x <= 0 and NaN, with less to do: 2^n needs neither an upper end nor two factors, since what is below 2^-126
 * beside a largest weight of 1 counts as 0. */
static inline __m256 exp8_of_negative(__m256 x)
{
    const __m256 least = _mm256_set1_ps(-0x1.5d589ep+6f);     /* the least x with e^x >= 2^-126 */
    const __m256 whole = _mm256_set1_ps(0x1.8p+23f + 127.0f); /* adding it rounds, and leaves 127 + n in the low bits */
    const __m256 c = _mm256_max_ps(least, x);
    const __m256 sum = _mm256_fmadd_ps(c, _mm256_set1_ps(0x1.715476p+0f), whole);
    const __m256 p = exp8_rest(c, _mm256_sub_ps(sum, whole));
    const __m256 power = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(sum), 23));
    return _mm256_and_ps(_mm256_mul_ps(p, power), _mm256_cmp_ps(x, least, _CMP_NLT_UQ));
}

static inline float hmax8(__m256 v)
{
    __m128 a = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    a = _mm_max_ps(a, _mm_movehl_ps(a, a));
    return _mm_cvtss_f32(_mm_max_ss(a, _mm_movehdup_ps(a)));
}

/* Lanes past the end count as -infinity: no maximum, and exp gives exactly 0 for them. */
static inline __m256 load_tail(const float *s, __m256i m)
{
    return _mm256_blendv_ps(_mm256_set1_ps(-INFINITY), _mm256_maskload_ps(s, m), _mm256_castsi256_ps(m));
}

/* Element j goes to lane j % 8 of the sum. */
void sl_attn_softmax_avx2(float *s, size_t n, float *max, float *sum)
{
    const size_t whole = n & ~(size_t)7;
    const __m256i tail = lanes8(n - whole);
    /* max returns its second operand when one is NaN: a NaN is passed over, as by the twin */
    __m256 top = _mm256_set1_ps(-INFINITY);
    for (size_t j = 0; j < whole; j += 8)
        top = _mm256_max_ps(_mm256_loadu_ps(s + j), top);
    if (whole < n)
        top = _mm256_max_ps(load_tail(s + whole, tail), top);
    const float m = hmax8(top);
    const __m256 shift = _mm256_set1_ps(m);

    __m256 l = _mm256_setzero_ps();
    for (size_t j = 0; j < whole; j += 8) {
        const __m256 e = exp8_of_negative(_mm256_sub_ps(_mm256_loadu_ps(s + j), shift));
        _mm256_storeu_ps(s + j, e);
        l = _mm256_add_ps(l, e);
    }
    if (whole < n) {
        const __m256 e = exp8_of_negative(_mm256_sub_ps(load_tail(s + whole, tail), shift));
        _mm256_maskstore_ps(s + whole, tail, e);
        l = _mm256_add_ps(l, e);
    }
    *max = m;
    *sum = hsum8(l);
}

void sl_attn_fold_avx2(float *m, float *l, float *a, float m2, float l2, const float *a2, size_t C)
{
    const float top = *m > m2 ? *m : m2;
    /* both weights by one exp: lanes 0 and 1 */
    const __m256 e = exp8_of_negative(_mm256_setr_ps(*m - top, m2 - top, 0, 0, 0, 0, 0, 0));
    const float w = _mm256_cvtss_f32(e), w2 = _mm256_cvtss_f32(_mm256_permute_ps(e, 1));
    *m = top;
    *l = *l * w + l2 * w2;
    const __m256 s = _mm256_set1_ps(w), s2 = _mm256_set1_ps(w2);
    size_t c = 0;
    for (; c + 8 <= C; c += 8) {
        const __m256 add = _mm256_mul_ps(_mm256_loadu_ps(a2 + c), s2);
        _mm256_storeu_ps(a + c, _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(a + c), s), add));
    }
    for (; c < C; c++)
        a[c] = a[c] * w + a2[c] * w2;
}
