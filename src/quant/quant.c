/* quant.c - the list of number formats, and what all of them share. */
#include "quant/quant.h"

#include <assert.h>
#include <math.h>
#include "base/num.h"
#include "quant/formats_in.h"

enum {
#define SIZES(id, elements, bytes) BLOCK_##id = (elements), BYTES_##id = (bytes),
    SL_FORMAT_LIST(SIZES)
#undef SIZES
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

#define DECODE(id, mins)                                                                                               \
    static void decode_row_##id(float *out, const void *src, size_t n)                                                 \
    {                                                                                                                  \
        decode_groups(out, src, n, sl_group_##id, mins);                                                               \
    }
SL_GROUPED_LIST(DECODE)
#undef DECODE

#define COMMON(id) .format = SL_FORMAT_##id, .block = BLOCK_##id, .block_bytes = BYTES_##id

static const sl_quant formats[SL_FORMAT_COUNT] = {
#define UNGROUPED(id) [SL_FORMAT_##id] = { COMMON(id), .decode_row = sl_decode_row_##id },
#define GROUPED(id, mins)                                                                                              \
    [SL_FORMAT_##id] = { COMMON(id), .decode_row = decode_row_##id, .group = sl_group_##id, .minima = (mins) },
    SL_UNGROUPED_LIST(UNGROUPED) SL_GROUPED_LIST(GROUPED)
#undef UNGROUPED
#undef GROUPED
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

/* ---- checking -------------------------------------------------------------------- */

/* What no value of the block shows. */
static bool scale_ok(sl_format format, const void *block)
{
    switch (format) {
    case SL_FORMAT_MXFP4:
        return sl_scale_ok_MXFP4(block);
    case SL_FORMAT_NVFP4:
        return sl_scale_ok_NVFP4(block);
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

bool sl_quant_check(sl_format format, const void *src, size_t n, size_t *bad)
{
    const sl_quant *q = sl_quant_get(format);
    const uint8_t *p = src;
    assert(n % q->block == 0);
    const size_t step = q->block > 1 ? q->block : SL_SUPER; /* floats: many at once */
    for (size_t at = 0; at < n; at += step) {
        const size_t len = SL_MIN(step, n - at);
        float values[SL_SUPER];
        q->decode_row(values, p + at / q->block * q->block_bytes, len);
        if (!all_finite(values, len) || !scale_ok(format, p + at / q->block * q->block_bytes)) {
            *bad = at;
            for (size_t i = 0; q->block == 1 && isfinite(values[i]); i++)
                *bad = at + i + 1;
            return false;
        }
    }
    return true;
}
