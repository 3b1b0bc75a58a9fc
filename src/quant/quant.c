/* quant.c - the list of number formats. */
#include "quant/quant.h"

#include <assert.h>
#include "base/num.h"
#include "quant/formats_in.h"

static const sl_quant formats[SL_FORMAT_COUNT] = {
#define QUANT(id, elements, bytes)                                                                                     \
    [SL_FORMAT_##id] = {                                                                                               \
        .format = SL_FORMAT_##id, .block = (elements), .block_bytes = (bytes), .decode_row = sl_decode_row_##id        \
    },
    SL_FORMAT_LIST(QUANT)
#undef QUANT
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
