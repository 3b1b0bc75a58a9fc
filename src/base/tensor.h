/* tensor.h - the number formats by name, and a matrix as it lies in memory. No arithmetic. */
#ifndef SL_BASE_TENSOR_H
#define SL_BASE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

/* name, elements in a block, bytes of a block. What the bits mean is in quant/. */
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
    X(NVFP4, 64, 36)

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

/* A matrix [rows][cols] as stored, rows one after another, `row_bytes` apart.
 * Borrowed memory: valid as long as the file it lies in is open. A vector is one row. */
typedef struct sl_tensor {
    const void *data; /* NULL: no tensor (an optional one that the file lacks) */
    sl_format format;
    size_t rows, cols;
    size_t row_bytes;
} sl_tensor;

#endif
