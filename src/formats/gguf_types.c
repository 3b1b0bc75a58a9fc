/* gguf_types.c - GGUF's types of settings and GGML's types of tensors, by number. */
#include "formats/gguf.h"

#include <assert.h>
#include "base/num.h"

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
 * refused by name. */
static const char *const ggml_types[] = {
    [0] = "F32",         [1] = "F16",         [2] = "Q4_0",        [3] = "Q4_1",      [4] = "Q4_2",     [5] = "Q4_3",
    [6] = "Q5_0",        [7] = "Q5_1",        [8] = "Q8_0",        [9] = "Q8_1",      [10] = "Q2_K",    [11] = "Q3_K",
    [12] = "Q4_K",       [13] = "Q5_K",       [14] = "Q6_K",       [15] = "Q8_K",     [16] = "IQ2_XXS", [17] = "IQ2_XS",
    [18] = "IQ3_XXS",    [19] = "IQ1_S",      [20] = "IQ4_NL",     [21] = "IQ3_S",    [22] = "IQ2_S",   [23] = "IQ4_XS",
    [24] = "I8",         [25] = "I16",        [26] = "I32",        [27] = "I64",      [28] = "F64",     [29] = "IQ1_M",
    [30] = "BF16",       [31] = "Q4_0_4_4",   [32] = "Q4_0_4_8",   [33] = "Q4_0_8_8", [34] = "TQ1_0",   [35] = "TQ2_0",
    [36] = "IQ4_NL_4_4", [37] = "IQ4_NL_4_8", [38] = "IQ4_NL_8_8", [39] = "MXFP4",    [40] = "NVFP4",   [41] = "Q1_0",
};

const char *sl_ggml_type_name(uint32_t ggml_type)
{
    return ggml_type < SL_COUNT(ggml_types) ? ggml_types[ggml_type] : NULL;
}

bool sl_ggml_type_format(uint32_t ggml_type, sl_format *out)
{
    static const struct {
        uint32_t ggml_type;
        sl_format format;
    } supported[] = {
        { 0, SL_FORMAT_F32 },  { 1, SL_FORMAT_F16 },  { 30, SL_FORMAT_BF16 },
        { 8, SL_FORMAT_Q8_0 }, { 2, SL_FORMAT_Q4_0 }, { 3, SL_FORMAT_Q4_1 },
    };
    for (size_t i = 0; i < SL_COUNT(supported); i++)
        if (supported[i].ggml_type == ggml_type) {
            *out = supported[i].format;
            return true;
        }
    return false;
}
