/* tensor.h - the number formats by name, and a matrix as it lies in memory. */
#ifndef SL_BASE_TENSOR_H
#define SL_BASE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

/* name, elements in a block, bytes of a block. What the bits mean is in quant/. The last ones have scales that are a
 * tensor of their own (sl_scales): INT4 and INT8 in groups that whole 32 columns share, with zero points (ZP), one
 * scale for a token's inputs (TOKEN); ANY has groups of any kind, or columns that are assigned to them one by one.
 * MXFP4_SPLIT: as MXFP4, with neighbours in a byte. T: floats whose columns lie one after another, not rows.
 * Of F8_E4M3, 128, UE8M0 and TOKEN say how inputs are rounded to such floats, if they are: with a scale for each 128
 * columns, with one that is a power of two, or with one for all columns.
 * R8: 8 rows between each other, as kernels want them (quant/interleave.h); no file has these. */
#define SL_FORMAT_LIST(X)                                                                                              \
    X(F32, 1, 4)                                                                                                       \
    X(F16, 1, 2)                                                                                                       \
    X(BF16, 1, 2)                                                                                                      \
    X(Q8_0, 32, 34)                                                                                                    \
    X(Q4_0, 32, 18)                                                                                                    \
    X(Q4_1, 32, 20)                                                                                                    \
    X(Q5_0, 32, 22)                                                                                                    \
    X(Q5_1, 32, 24)                                                                                                    \
    X(Q2_K, 256, 84)                                                                                                   \
    X(Q3_K, 256, 110)                                                                                                  \
    X(Q4_K, 256, 144)                                                                                                  \
    X(Q5_K, 256, 176)                                                                                                  \
    X(Q6_K, 256, 210)                                                                                                  \
    X(IQ4_NL, 32, 18)                                                                                                  \
    X(IQ4_XS, 256, 136)                                                                                                \
    X(TQ1_0, 256, 54)                                                                                                  \
    X(TQ2_0, 256, 66)                                                                                                  \
    X(MXFP4, 32, 17)                                                                                                   \
    X(NVFP4, 64, 36)                                                                                                   \
    X(INT4, 32, 16)                                                                                                    \
    X(INT4_ZP, 32, 16)                                                                                                 \
    X(INT4_ANY, 8, 4)                                                                                                  \
    X(INT8, 32, 32)                                                                                                    \
    X(INT8_TOKEN, 32, 32)                                                                                              \
    X(INT8_ANY, 1, 1)                                                                                                  \
    X(MXFP4_SPLIT, 32, 16)                                                                                             \
    X(F32_T, 1, 4)                                                                                                     \
    X(F16_T, 1, 2)                                                                                                     \
    X(BF16_T, 1, 2)                                                                                                    \
    X(GPTQ4, 32, 16)                                                                                                   \
    X(GPTQ4_ANY, 8, 4)                                                                                                 \
    X(GPTQ8, 32, 32)                                                                                                   \
    X(GPTQ8_ANY, 4, 4)                                                                                                 \
    X(AWQ4, 32, 16)                                                                                                    \
    X(F8_E4M3, 1, 1)                                                                                                   \
    X(F8_E4M3_128, 1, 1)                                                                                               \
    X(F8_E4M3_UE8M0, 1, 1)                                                                                             \
    X(F8_E4M3_TOKEN, 1, 1)                                                                                             \
    X(Q8_0_R8, 32, 34)                                                                                                 \
    X(Q4_0_R8, 32, 18)                                                                                                 \
    X(Q4_1_R8, 32, 20)                                                                                                 \
    X(Q5_0_R8, 32, 22)                                                                                                 \
    X(Q5_1_R8, 32, 24)                                                                                                 \
    X(Q4_K_R8, 256, 144)                                                                                               \
    X(Q5_K_R8, 256, 176)                                                                                               \
    X(Q6_K_R8, 256, 210)                                                                                               \
    X(IQ4_NL_R8, 32, 18)                                                                                               \
    X(IQ4_XS_R8, 256, 136)

#define SL_E4M3_GROUP 128 /* columns that F8_E4M3_128 and UE8M0 round with one scale */

typedef enum sl_format {
#define SL_FORMAT_ENUM(name, block, bytes) SL_FORMAT_##name,
    SL_FORMAT_LIST(SL_FORMAT_ENUM)
#undef SL_FORMAT_ENUM
        SL_FORMAT_COUNT
} sl_format;

static inline const char *sl_format_name(sl_format format) /* "Q4_0" */
{
    static const char *const name[SL_FORMAT_COUNT] = {
#define SL_FORMAT_NAME(name, block, bytes) [SL_FORMAT_##name] = #name,
        SL_FORMAT_LIST(SL_FORMAT_NAME)
#undef SL_FORMAT_NAME
    };
    return name[format];
}

typedef enum sl_scale_type { SL_SCALE_F32, SL_SCALE_F16, SL_SCALE_BF16, SL_SCALE_E8M0 } sl_scale_type;

/* Scales (and zero points) that are tensors beside the numbers, read where they lie. Column c of a row belongs to group
 * g = group_of[c], or c / group; the scale of stored row r is at scale + r / rows * row_bytes + g * col_bytes. Strides
 * of 0: all share one. Zero points are packed along the rows, 32 / bits in a word: that at zero + r / (32 / bits) *
 * zero_row_bytes + g * zero_col_bytes. */
typedef struct sl_scales {
    const void *scale; /* NULL: the format keeps its scales in its blocks, or has none */
    sl_scale_type type;
    size_t row_bytes, col_bytes;
    size_t rows, group;   /* rows, columns that share a scale; not 0 */
    const void *group_of; /* [cols] s32; NULL: groups of neighbours */
    const void *zero;     /* u32 words; NULL: `offset` is every zero */
    size_t zero_row_bytes, zero_col_bytes;
    unsigned offset;    /* without zero points what is taken from a stored number, with them what is added to those */
    size_t first, skip; /* of a matrix that was cut out: the stored row that is its row 0; those between two of its */
} sl_scales;

/* A matrix [rows][cols] as stored, rows one after another, `row_bytes` apart.
 * Borrowed memory: valid as long as the file it lies in is open. A vector is one row.
 * Formats that pack rows or columns together have row_bytes 0: what lies where is theirs to say, by `col_bytes` from
 * columns to columns, and scales.first counts for the numbers too. In the formats T, numbers of a row are col_bytes
 * apart, and row_bytes is from one number of a column to the next. */
typedef struct sl_tensor {
    const void *data; /* NULL: no tensor (an optional one that the file lacks) */
    sl_format format;
    size_t rows, cols;
    size_t row_bytes;
    size_t col_bytes;
    sl_scales scales;
} sl_tensor;

typedef struct sl_format_size {
    size_t block, bytes; /* elements of a block, bytes of one */
} sl_format_size;

static inline sl_format_size sl_format_size_of(sl_format format)
{
    static const sl_format_size of[SL_FORMAT_COUNT] = {
#define SL_FORMAT_SIZES(name, block, bytes) [SL_FORMAT_##name] = { block, bytes },
        SL_FORMAT_LIST(SL_FORMAT_SIZES)
#undef SL_FORMAT_SIZES
    };
    return of[format];
}

/* Bytes that one row takes on the average, scales and zero points included: what reading it costs. */
static inline size_t sl_tensor_row_cost(const sl_tensor *t)
{
    static const size_t scale_bytes[] = { 4, 2, 2, 1 };
    const sl_scales *s = &t->scales;
    if (t->format == SL_FORMAT_COUNT)
        return t->row_bytes;
    const sl_format_size of = sl_format_size_of(t->format);
    const size_t bytes = (t->cols + of.block - 1) / of.block * of.bytes;
    if (!s->scale || !s->row_bytes)
        return bytes;
    const size_t groups = s->col_bytes ? (t->cols + s->group - 1) / s->group : 1;
    const size_t zeros = s->zero ? groups * of.bytes / of.block : 0; /* as wide as the numbers */
    return bytes + groups * scale_bytes[s->type] / s->rows + zeros;
}

/* Bytes from the first number of a matrix to the end of its last one, what lies between its rows or columns included,
 * scales not; 0 where that is the format's to say. */
static inline size_t sl_tensor_extent(const sl_tensor *t)
{
    if (t->format == SL_FORMAT_COUNT || !t->row_bytes || !t->rows || !t->cols)
        return 0;
    const sl_format_size of = sl_format_size_of(t->format);
    const size_t row =
        t->col_bytes ? (t->cols - 1) * t->col_bytes + of.bytes : (t->cols + of.block - 1) / of.block * of.bytes;
    return (t->rows - 1) * t->row_bytes + row;
}

/* The stored row that is row r, as scales count them. */
static inline size_t sl_scales_row(const sl_scales *s, size_t r)
{
    return s->first + r * (s->skip + 1);
}

/* Rows r0 .. r1 alone. */
static inline sl_tensor sl_tensor_rows(const sl_tensor *t, size_t r0, size_t r1)
{
    sl_tensor cut = *t;
    cut.rows = r1 - r0;
    cut.data = (const char *)t->data + r0 * t->row_bytes;
    cut.scales.first = sl_scales_row(&t->scales, r0);
    return cut;
}

/* Of each n rows the one at `at`. */
static inline sl_tensor sl_tensor_every(const sl_tensor *t, size_t at, size_t n)
{
    sl_tensor cut = *t;
    cut.rows = t->rows / n;
    cut.data = (const char *)t->data + at * t->row_bytes;
    cut.row_bytes = t->row_bytes * n;
    cut.scales.first = sl_scales_row(&t->scales, at);
    cut.scales.skip = (t->scales.skip + 1) * n - 1;
    return cut;
}

#endif
