/* gguf_types.c - GGUF's types of settings and GGML's types of tensors, by number. */
#include "formats/gguf.h"

#include <assert.h>
#include "base/num.h"
#include "quant/quant.h"

static const struct {
    const char *name;
    size_t bytes;
} value_types[SL_GGUF_TYPE_COUNT] = {
#define ROW(id, text, n) [SL_GGUF_##id] = { text, n },
    SL_GGUF_TYPE_LIST(ROW)
#undef ROW
};

const char *sl_gguf_type_name(sl_gguf_type type)
{
    assert(type < SL_GGUF_TYPE_COUNT);
    return value_types[type].name;
}

size_t sl_gguf_type_bytes(sl_gguf_type type)
{
    assert(type < SL_GGUF_TYPE_COUNT);
    return value_types[type].bytes;
}

bool sl_gguf_type_is_int(sl_gguf_type type)
{
    switch (type) {
    case SL_GGUF_U8:
    case SL_GGUF_I8:
    case SL_GGUF_U16:
    case SL_GGUF_I16:
    case SL_GGUF_U32:
    case SL_GGUF_I32:
    case SL_GGUF_U64:
    case SL_GGUF_I64:
        return true;
    default:
        return false;
    }
}

/* An integer as a signed number; u64 is the one type that does not fit and is not asked for. */
static int64_t load_signed(sl_gguf_type type, const uint8_t *p)
{
    switch (type) {
    case SL_GGUF_U8:
        return *p;
    case SL_GGUF_I8:
        return (int8_t)*p;
    case SL_GGUF_U16:
        return sl_load_le16(p);
    case SL_GGUF_I16:
        return (int16_t)sl_load_le16(p);
    case SL_GGUF_U32:
        return sl_load_le32(p);
    case SL_GGUF_I32:
        return (int32_t)sl_load_le32(p);
    default:
        assert(type == SL_GGUF_I64);
        return (int64_t)sl_load_le64(p);
    }
}

bool sl_gguf_load_u64(sl_gguf_type type, const uint8_t *p, uint64_t *out)
{
    assert(sl_gguf_type_is_int(type));
    if (type == SL_GGUF_U64) {
        *out = sl_load_le64(p);
        return true;
    }
    const int64_t v = load_signed(type, p);
    if (v < 0)
        return false;
    *out = (uint64_t)v;
    return true;
}

bool sl_gguf_load_f64(sl_gguf_type type, const uint8_t *p, double *out)
{
    const uint64_t bits = type == SL_GGUF_F64 || type == SL_GGUF_U64 ? sl_load_le64(p) : 0;
    switch (type) {
    case SL_GGUF_F32:
        *out = (double)sl_f32_from_bits(sl_load_le32(p));
        return true;
    case SL_GGUF_F64:
        memcpy(out, &bits, sizeof *out);
        return true;
    case SL_GGUF_U64:
        *out = (double)bits;
        return true;
    default:
        if (!sl_gguf_type_is_int(type))
            return false;
        *out = (double)load_signed(type, p);
        return true;
    }
}

/* The numbers of ggml.h; those that have left GGML keep their old names, so that an old file is
 * refused by name. Sizes of blocks tell where the next tensor may begin. */
static const struct {
    const char *name;
    uint16_t block, bytes;
    sl_format format;
} ggml_types[] = {
#define RUNS(id)                                                                                                       \
    {                                                                                                                  \
#id, 0, 0, SL_FORMAT_##id                                                                                      \
    } /* sizes are those of the format */
#define KNOWN(name, block, bytes)                                                                                      \
    {                                                                                                                  \
        name, block, bytes, SL_FORMAT_COUNT                                                                            \
    }
    [0] = RUNS(F32),
    [1] = RUNS(F16),
    [2] = RUNS(Q4_0),
    [3] = RUNS(Q4_1),
    [4] = KNOWN("Q4_2", 16, 10),
    [5] = KNOWN("Q4_3", 16, 12),
    [6] = RUNS(Q5_0),
    [7] = RUNS(Q5_1),
    [8] = RUNS(Q8_0),
    [9] = KNOWN("Q8_1", 32, 36),
    [10] = RUNS(Q2_K),
    [11] = RUNS(Q3_K),
    [12] = RUNS(Q4_K),
    [13] = RUNS(Q5_K),
    [14] = RUNS(Q6_K),
    [15] = KNOWN("Q8_K", 256, 292),
    [16] = KNOWN("IQ2_XXS", 256, 66),
    [17] = KNOWN("IQ2_XS", 256, 74),
    [18] = KNOWN("IQ3_XXS", 256, 98),
    [19] = KNOWN("IQ1_S", 256, 50),
    [20] = RUNS(IQ4_NL),
    [21] = KNOWN("IQ3_S", 256, 110),
    [22] = KNOWN("IQ2_S", 256, 82),
    [23] = RUNS(IQ4_XS),
    [24] = KNOWN("I8", 1, 1),
    [25] = KNOWN("I16", 1, 2),
    [26] = KNOWN("I32", 1, 4),
    [27] = KNOWN("I64", 1, 8),
    [28] = KNOWN("F64", 1, 8),
    [29] = KNOWN("IQ1_M", 256, 56),
    [30] = RUNS(BF16),
    [31] = KNOWN("Q4_0_4_4", 32, 18),
    [32] = KNOWN("Q4_0_4_8", 32, 18),
    [33] = KNOWN("Q4_0_8_8", 32, 18),
    [34] = RUNS(TQ1_0),
    [35] = RUNS(TQ2_0),
    [36] = KNOWN("IQ4_NL_4_4", 32, 18),
    [37] = KNOWN("IQ4_NL_4_8", 32, 18),
    [38] = KNOWN("IQ4_NL_8_8", 32, 18),
    [39] = RUNS(MXFP4),
    [40] = RUNS(NVFP4),
    [41] = KNOWN("Q1_0", 128, 18),
#undef RUNS
#undef KNOWN
};

bool sl_ggml_type_get(uint32_t ggml_type, sl_ggml_type *out)
{
    if (ggml_type >= SL_COUNT(ggml_types))
        return false;
    *out = (sl_ggml_type){ .name = ggml_types[ggml_type].name,
                           .block = ggml_types[ggml_type].block,
                           .bytes = ggml_types[ggml_type].bytes,
                           .format = ggml_types[ggml_type].format };
    if (out->format < SL_FORMAT_COUNT) {
        out->block = sl_quant_get(out->format)->block;
        out->bytes = sl_quant_get(out->format)->block_bytes;
    }
    return true;
}
