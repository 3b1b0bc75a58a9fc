/* rows_in.h - one stored row of any format of blocks: 32 weights as whole numbers with a scale and a minimum, which are
 * those of the reference in quant/. For f32 panels (rows_f32.c).
 *
 * Where a function takes a format, it is a constant: it is inlined once for each. */
#ifndef SL_KERNELS_AVX2_ROWS_IN_H
#define SL_KERNELS_AVX2_ROWS_IN_H

#include "kernels/avx2/linear_in.h"

/* Bytes of a super-block of 256 columns; 0: the format has none. */
SL_ALWAYS_INLINE size_t super_bytes(sl_format f)
{
    switch (f) {
    case SL_FORMAT_Q4_K:
        return sizeof(sl_block_q4_k);
    case SL_FORMAT_Q5_K:
        return sizeof(sl_block_q5_k);
    case SL_FORMAT_Q6_K:
        return sizeof(sl_block_q6_k);
    case SL_FORMAT_IQ4_XS:
        return sizeof(sl_block_iq4_xs);
    default:
        return 0;
    }
}

/* Bytes of 32 columns; of super-blocks an eighth, rounded down. */
SL_ALWAYS_INLINE size_t group_bytes(sl_format f)
{
    if (super_bytes(f))
        return super_bytes(f) / (SL_SUPER / SL_GROUP);
    switch (f) {
    case SL_FORMAT_F32:
        return SL_GROUP * sizeof(float);
    case SL_FORMAT_Q8_0:
        return sizeof(sl_block_q8_0);
    case SL_FORMAT_Q4_0:
        return sizeof(sl_block_q4_0);
    case SL_FORMAT_Q4_1:
        return sizeof(sl_block_q4_1);
    case SL_FORMAT_Q5_0:
        return sizeof(sl_block_q5_0);
    case SL_FORMAT_Q5_1:
        return sizeof(sl_block_q5_1);
    case SL_FORMAT_IQ4_NL:
        return sizeof(sl_block_iq4_nl);
    case SL_FORMAT_MXFP4:
        return sizeof(sl_block_mxfp4);
    default:
        return SL_GROUP * sizeof(uint16_t);
    }
}

SL_ALWAYS_INLINE bool has_minima(sl_format f)
{
    return f == SL_FORMAT_Q4_1 || f == SL_FORMAT_Q5_1 || f == SL_FORMAT_Q4_K || f == SL_FORMAT_Q5_K;
}

/* 32 weights: d * (s * q) + m, where m counts only in formats with minima and the small scales s, one for each half,
 * only in Q6_K; s * q is a whole number, exact in f32. */
typedef struct whole {
    __m256i q; /* signed bytes */
    __m256 d, m, s[2];
} whole;

SL_ALWAYS_INLINE __m256 half_at(const uint8_t *p)
{
    return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(sl_load_le16(p))));
}

SL_ALWAYS_INLINE __m128i load_16(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* The 32 nibbles of 16 bytes as bytes: low ones, then high ones. */
SL_ALWAYS_INLINE __m256i nibbles(const uint8_t *p)
{
    const __m128i v = load_16(p);
    return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(v, 4), v), _mm256_set1_epi8(15));
}

/* 16 in byte i where bit i of the word at p is set. */
SL_ALWAYS_INLINE __m256i fifth_bits(const uint8_t *p)
{
    const __m256i spread = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32((int)sl_load_le32(p)), spread);
    const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    return _mm256_and_si256(set, _mm256_set1_epi8(16));
}

/* Scale and minimum of group j < 8 of a super-block of Q4_K or Q5_K at p, as in quant/q4_k.c. */
SL_ALWAYS_INLINE void set_k_scales(whole *w, const uint8_t *p, size_t j)
{
    const uint8_t *packed = p + offsetof(sl_block_q4_k, scale);
    const unsigned low = packed[j % 4], mid = packed[j % 4 + 4], high = packed[j % 4 + 8];
    const unsigned scale = j < 4 ? low & 63 : (high & 15) | (low >> 6) << 4;
    const unsigned minimum = j < 4 ? mid & 63 : high >> 4 | (mid >> 6) << 4;
    w->d = _mm256_mul_ps(half_at(p), _mm256_set1_ps((float)(int)scale));
    w->m = _mm256_mul_ps(half_at(p + offsetof(sl_block_q4_k, dmin)), _mm256_set1_ps(-(float)(int)minimum));
}

/* Group j of a super-block at p. */
SL_ALWAYS_INLINE void load_k(whole *w, const uint8_t *p, size_t j, bool five)
{
    const uint8_t *q = p + (five ? offsetof(sl_block_q5_k, q) : offsetof(sl_block_q4_k, q)) + j / 2 * 32;
    __m256i b = _mm256_and_si256(_mm256_srl_epi16(load_i(q), _mm_cvtsi32_si128(j % 2 ? 4 : 0)), _mm256_set1_epi8(15));
    if (five) {
        const __m256i bits = _mm256_srl_epi16(load_i(p + offsetof(sl_block_q5_k, high)), _mm_cvtsi32_si128((int)j));
        b = _mm256_or_si256(b, _mm256_slli_epi16(_mm256_and_si256(bits, _mm256_set1_epi8(1)), 4));
    }
    w->q = b;
    set_k_scales(w, p, j);
}

SL_ALWAYS_INLINE void load_6(whole *w, const uint8_t *p, size_t j)
{
    const size_t half = j / 4, of = j % 4;
    const uint8_t *low = p + offsetof(sl_block_q6_k, low) + half * 64 + of % 2 * 32;
    const __m256i l =
        _mm256_and_si256(_mm256_srl_epi16(load_i(low), _mm_cvtsi32_si128(of / 2 ? 4 : 0)), _mm256_set1_epi8(15));
    const __m256i bits =
        _mm256_srl_epi16(load_i(p + offsetof(sl_block_q6_k, high) + half * 32), _mm_cvtsi32_si128((int)(2 * of)));
    const __m256i h = _mm256_slli_epi16(_mm256_and_si256(bits, _mm256_set1_epi8(3)), 4);
    const int8_t *scale = (const int8_t *)p + offsetof(sl_block_q6_k, scale) + 2 * j;
    w->q = _mm256_sub_epi8(_mm256_or_si256(l, h), _mm256_set1_epi8(32));
    w->s[0] = _mm256_set1_ps(scale[0]);
    w->s[1] = _mm256_set1_ps(scale[1]);
    w->d = half_at(p + offsetof(sl_block_q6_k, d));
}

/* Nibbles at q that choose among the bytes of a table. */
SL_ALWAYS_INLINE void choose(whole *w, const uint8_t *q, sl_format f)
{
    w->q = _mm256_shuffle_epi8(table_of(f), nibbles(q));
}

/* 2^(e - 128); the lowest two are subnormal. */
SL_ALWAYS_INLINE float power_of(uint8_t e)
{
    return sl_f32_from_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}

SL_ALWAYS_INLINE void load_iq4_xs(whole *w, const uint8_t *p, size_t j)
{
    const unsigned high = sl_load_le16(p + offsetof(sl_block_iq4_xs, scale_high)) >> 2 * j & 3;
    const unsigned low = p[offsetof(sl_block_iq4_xs, scale_low) + j / 2] >> 4 * (j % 2) & 15;
    choose(w, p + offsetof(sl_block_iq4_xs, q) + j * (SL_GROUP / 2), SL_FORMAT_IQ4_XS);
    w->d = _mm256_mul_ps(half_at(p), _mm256_set1_ps((float)((int)(low | high << 4) - 32)));
}

/* Group g of a row. */
SL_ALWAYS_INLINE whole load_whole(const uint8_t *row, size_t g, sl_format f)
{
    const uint8_t *p = row + g * group_bytes(f), *super = row + g / 8 * super_bytes(f);
    whole w = { 0 };
    switch (f) {
    case SL_FORMAT_Q8_0:
        w.q = load_i(p + offsetof(sl_block_q8_0, q));
        break;
    case SL_FORMAT_Q4_0:
        w.q = _mm256_sub_epi8(nibbles(p + offsetof(sl_block_q4_0, q)), _mm256_set1_epi8(8));
        break;
    case SL_FORMAT_Q4_1:
        w.q = nibbles(p + offsetof(sl_block_q4_1, q));
        break;
    case SL_FORMAT_Q5_0:
        w.q = _mm256_or_si256(nibbles(p + offsetof(sl_block_q5_0, q)), fifth_bits(p + offsetof(sl_block_q5_0, high)));
        w.q = _mm256_sub_epi8(w.q, _mm256_set1_epi8(16));
        break;
    case SL_FORMAT_Q5_1:
        w.q = _mm256_or_si256(nibbles(p + offsetof(sl_block_q5_1, q)), fifth_bits(p + offsetof(sl_block_q5_1, high)));
        break;
    case SL_FORMAT_Q4_K:
        load_k(&w, super, g % 8, false);
        return w;
    case SL_FORMAT_Q5_K:
        load_k(&w, super, g % 8, true);
        return w;
    case SL_FORMAT_Q6_K:
        load_6(&w, super, g % 8);
        return w;
    case SL_FORMAT_IQ4_XS:
        load_iq4_xs(&w, super, g % 8);
        return w;
    case SL_FORMAT_MXFP4:
        choose(&w, p + offsetof(sl_block_mxfp4, q), f);
        w.d = _mm256_set1_ps(power_of(p[0]));
        return w;
    default:
        choose(&w, p + offsetof(sl_block_iq4_nl, q), f);
        break;
    }
    w.d = half_at(p);
    if (has_minima(f))
        w.m = half_at(p + offsetof(sl_block_q4_1, m));
    return w;
}

#endif
