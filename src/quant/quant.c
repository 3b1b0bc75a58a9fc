/* quant.c - the list of number formats, and what all of them share. */
#include "quant/quant.h"

#include <assert.h>
#include <math.h>
#include "base/num.h"
#include "quant/formats_in.h"
#include "quant/interleave.h"

enum {
#define SIZES(id, elements, bytes) BLOCK_##id = (elements), BYTES_##id = (bytes),
    SL_FORMAT_LIST(SIZES)
#undef SIZES
#define MINIMA(id, mins) MINIMA_##id = (mins),
        SL_GROUPED_LIST(MINIMA)
#undef MINIMA
            BLOCK_BYTES_MAX = BYTES_Q6_K, /* of those that may be interleaved */
};

static void decode_groups(float *out, const void *src, size_t n, void (*group)(sl_quant_group *, const void *, size_t),
                          bool minima)
{
    for (size_t g = 0; g < n / SL_GROUP; g++, out += SL_GROUP) {
        sl_quant_group x;
        group(&x, src, g);
        for (size_t i = 0; i < SL_GROUP; i++) {
            const float v = x.d * (float)x.q[i];
            out[i] = minima ? v + x.m : v; /* without: + 0 would take the sign of a zero */
        }
    }
}

static const void *blocks_at(const sl_tensor *t, size_t r, size_t k, size_t block, size_t bytes)
{
    return (const uint8_t *)t->data + r * t->row_bytes + k / block * bytes;
}
#define BLOCKS_AT(id, k) blocks_at(t, r, k, BLOCK_##id, BYTES_##id)

/* Of formats whose blocks hold all. */
#define GROUPED(id, mins)                                                                                              \
    static void decode_##id(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)                            \
    {                                                                                                                  \
        decode_groups(out, BLOCKS_AT(id, k0), k1 - k0, sl_group_##id, mins);                                           \
    }                                                                                                                  \
    static void group_##id(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)                                \
    {                                                                                                                  \
        sl_group_##id(out, BLOCKS_AT(id, 0), g);                                                                       \
    }
#define UNGROUPED(id)                                                                                                  \
    static void decode_##id(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)                            \
    {                                                                                                                  \
        sl_decode_row_##id(out, BLOCKS_AT(id, k0), k1 - k0);                                                           \
    }
SL_GROUPED_LIST(GROUPED)
SL_UNGROUPED_LIST(UNGROUPED)
#undef GROUPED
#undef UNGROUPED

/* Of interleaved formats: by their blocks, one at a time. */
typedef struct one_block {
    uint8_t bytes[BLOCK_BYTES_MAX];
    sl_tensor t;
} one_block;

static const sl_quant *take_block(one_block *one, const sl_tensor *t, size_t r, size_t b)
{
    const sl_quant *q = sl_quant_get(sl_format_apart(t->format));
    assert(q->block_bytes <= sizeof one->bytes);
    sl_interleaved_block(one->bytes, t, r, b);
    one->t = (sl_tensor){ .data = one->bytes, .format = q->format, .rows = 1, .cols = q->block };
    return q;
}

static void decode_interleaved(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1)
{
    const size_t block = sl_format_size_of(t->format).block;
    for (size_t k = k0; k < k1; k += block) {
        one_block one;
        const sl_quant *q = take_block(&one, t, r, k / block);
        q->decode(out + (k - k0), &one.t, 0, 0, block);
    }
}

static void group_interleaved(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g)
{
    const size_t in_block = sl_format_size_of(t->format).block / SL_GROUP;
    one_block one;
    const sl_quant *q = take_block(&one, t, r, g / in_block);
    q->group(out, &one.t, 0, g % in_block);
}

#define COMMON(id) .format = SL_FORMAT_##id, .block = BLOCK_##id, .block_bytes = BYTES_##id

static const sl_quant formats[SL_FORMAT_COUNT] = {
#define UNGROUPED(id) [SL_FORMAT_##id] = { COMMON(id), .decode = decode_##id },
#define GROUPED(id, mins)                                                                                              \
    [SL_FORMAT_##id] = { COMMON(id), .decode = decode_##id, .group = group_##id, .minima = (mins) },
#define SCALED(id, as_group, mins)                                                                                     \
    [SL_FORMAT_##id] = { COMMON(id), .decode = sl_decode_##id, .group = (as_group), .minima = (mins) },
#define INTERLEAVED(id)                                                                                                \
    [SL_FORMAT_##id##                                                                                                  \
        _R8] = { COMMON(id##_R8), .decode = decode_interleaved, .group = group_interleaved, .minima = MINIMA_##id },
    SL_UNGROUPED_LIST(UNGROUPED) SL_GROUPED_LIST(GROUPED) SL_SCALED_LIST(SCALED) SL_INTERLEAVED_LIST(INTERLEAVED)
#undef UNGROUPED
#undef GROUPED
#undef SCALED
#undef INTERLEAVED
};

const sl_quant *sl_quant_get(sl_format format)
{
    assert((unsigned)format < SL_FORMAT_COUNT);
    return &formats[format];
}

bool sl_quant_row_bytes(sl_format format, size_t n, size_t *out)
{
    const sl_quant *q = sl_quant_get(format);
    return n % q->block == 0 && sl_mul_ok(n / q->block, q->block_bytes, out);
}

void sl_quant_widen(float *out, sl_format format, const void *src, size_t n)
{
    const sl_tensor t = { .data = src, .format = format, .rows = 1, .cols = n };
    sl_quant_get(format)->decode(out, &t, 0, 0, n);
}

/* ---- checking -------------------------------------------------------------------- */

/* What no value of the block shows. */
static bool scale_ok(const sl_quant *q, const sl_tensor *t, size_t r, size_t k)
{
    switch (t->format) {
    case SL_FORMAT_MXFP4:
        return sl_scale_ok_MXFP4(blocks_at(t, r, k, q->block, q->block_bytes));
    case SL_FORMAT_NVFP4:
        return sl_scale_ok_NVFP4(blocks_at(t, r, k, q->block, q->block_bytes));
    case SL_FORMAT_MXFP4_SPLIT:
        return sl_scale_ok_MXFP4_SPLIT(t, r, k);
    default:
        return true;
    }
}

static bool all_finite(const float *v, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok = ok && isfinite(v[i]);
    return ok;
}

static bool row_ok(const sl_quant *q, const sl_tensor *t, size_t r, size_t *col)
{
    const size_t step = SL_MAX(q->block, (size_t)SL_GROUP); /* of small blocks many at once */
    for (size_t at = 0; at < t->cols; at += step) {
        const size_t n = SL_MIN(step, t->cols - at);
        float values[SL_SUPER];
        q->decode(values, t, r, at, at + n);
        if (!all_finite(values, n) || !scale_ok(q, t, r, at)) {
            *col = at;
            for (size_t i = 0; q->block == 1 && isfinite(values[i]); i++)
                *col = at + i + 1;
            return false;
        }
    }
    return true;
}

bool sl_quant_check(const sl_tensor *t, size_t r0, size_t r1, size_t *row, size_t *col)
{
    const sl_quant *q = sl_quant_get(t->format);
    for (size_t r = r0; r < r1; r++)
        if (!row_ok(q, t, r, col)) {
            *row = r;
            return false;
        }
    return true;
}
