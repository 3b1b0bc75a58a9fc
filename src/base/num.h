/* num.h - small arithmetic that every layer needs: checked sizes, rounding,
 * little-endian loads, and the 16-bit float formats, one number at a time. */
#ifndef SL_BASE_NUM_H
#define SL_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SL_MIN(a, b)    ((a) < (b) ? (a) : (b))
#define SL_MAX(a, b)    ((a) > (b) ? (a) : (b))
#define SL_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* False on overflow; *out is written only when the result fits. */
static inline bool sl_add_ok(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_add_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}
static inline bool sl_mul_ok(size_t a, size_t b, size_t *out)
{
    size_t r;
    if (__builtin_mul_overflow(a, b, &r))
        return false;
    *out = r;
    return true;
}

static inline size_t sl_div_up(size_t n, size_t d)
{
    return n / d + (n % d != 0);
}
static inline size_t sl_round_up(size_t n, size_t multiple)
{
    return sl_div_up(n, multiple) * multiple;
}

static inline uint16_t sl_load_le16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint32_t sl_load_le32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline uint64_t sl_load_le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline float sl_f32_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}
static inline uint32_t sl_f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float sl_f32_from_bf16(uint16_t h)
{
    return sl_f32_from_bits((uint32_t)h << 16);
}
/* Round to nearest, ties to even; a NaN stays a (quiet) NaN. */
static inline uint16_t sl_bf16_from_f32(float f)
{
    uint32_t u = sl_f32_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

static inline float sl_f32_from_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t exp = h >> 10 & 0x1fu, man = h & 0x3ffu;
    if (exp == 0) { /* zero and subnormals: man * 2^-24, exact in f32 */
        const float v = (float)man * 0x1p-24f;
        return sl_f32_from_bits(sl_f32_bits(v) | sign);
    }
    if (exp == 31)
        return sl_f32_from_bits(sign | 0x7f800000u | man << 13);
    return sl_f32_from_bits(sign | (exp + 112) << 23 | man << 13);
}
/* Round to nearest, ties to even, as the F16C instructions do. */
static inline uint16_t sl_f16_from_f32(float f)
{
    const uint32_t u = sl_f32_bits(f), sign = u >> 16 & 0x8000u, a = u & 0x7fffffffu;
    if (a >= 0x47800000u) /* 65536 and more, infinity, NaN */
        return (uint16_t)(sign | (a > 0x7f800000u ? 0x7e00u | (a >> 13 & 0x3ffu) : 0x7c00u));
    if (a < 0x38800000u) { /* below 2^-14: the sum with 0.5 rounds to a multiple of 2^-24 */
        const float r = sl_f32_from_bits(a) + 0.5f;
        return (uint16_t)(sign | (sl_f32_bits(r) - 0x3f000000u));
    }
    return (uint16_t)(sign | (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13);
}

#endif
