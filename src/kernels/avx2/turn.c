/* turn.c - rows of 8-bit activations to lanes: transposed in registers. */
#include <assert.h>

#include "kernels/avx2/linear_in.h"

/* The group at `q` of rows a, a + 1, a + 4 and a + 5, ld bytes apart. */
SL_ALWAYS_INLINE void turn_half(sl_lanes *out, const int8_t *q, size_t ld, size_t a)
{
    __m256i v[4];
    UNROLL
    for (size_t i = 0; i < 4; i++)
        v[i] = load_i(q + (a + i / 2 * 4 + i % 2) * ld);
    const __m256i even0 = _mm256_unpacklo_epi64(v[0], v[1]), odd0 = _mm256_unpackhi_epi64(v[0], v[1]);
    const __m256i even1 = _mm256_unpacklo_epi64(v[2], v[3]), odd1 = _mm256_unpackhi_epi64(v[2], v[3]);
    const size_t half = a / 2;
    store_i(out->q[0][half], _mm256_permute2x128_si256(even0, even1, 0x20));
    store_i(out->q[1][half], _mm256_permute2x128_si256(odd0, odd1, 0x20));
    store_i(out->q[2][half], _mm256_permute2x128_si256(even0, even1, 0x31));
    store_i(out->q[3][half], _mm256_permute2x128_si256(odd0, odd1, 0x31));
}

/* A word of each of n <= 8 groups, for each row, which are `ld` bytes apart: those of a group go side by side, of the
 * first one to `out`. */
SL_ALWAYS_INLINE void turn_words(void *out, const void *in, size_t ld, size_t n)
{
    const __m256i mask = lanes8(n);
    __m256 v[SL_LANES];
    UNROLL
    for (size_t t = 0; t < SL_LANES; t++)
        v[t] = _mm256_maskload_ps((const float *)(const void *)((const char *)in + t * ld), mask);
    transpose8(v);
    for (size_t i = 0; i < n; i++)
        _mm256_storeu_ps((float *)(void *)((char *)out + i * sizeof(sl_lanes)), v[i]);
}

void sl_turn_avx2(sl_lanes *lanes, const sl_act *act, size_t t0)
{
    const size_t at = t0 * act->G, ld = act->G * sizeof(float);
    assert(t0 + SL_LANES <= act->T);
    for (size_t g = 0; g < act->G; g++) {
        const int8_t *q = act->q8 + (at + g) * SL_GROUP;
        turn_half(&lanes[g], q, act->G * SL_GROUP, 0);
        turn_half(&lanes[g], q, act->G * SL_GROUP, 2);
    }
    for (size_t g = 0; g < act->G; g += 8) {
        const size_t n = SL_MIN((size_t)8, act->G - g);
        turn_words(lanes[g].eight, act->eight + 2 * (at + g), ld, n);
        turn_words(lanes[g].d, act->d + at + g, ld, n);
        turn_words(lanes[g].dsum, act->dsum + at + g, ld, n);
    }
}
