/* interleave.h - 8 rows of blocks between each other, so that what kernels need of 8 rows at once is one piece: no
 * registers are spent on turning it.
 *
 * A block is cut into words of 4 bytes, and what is left over: its first 2 bytes, but the last 2 of Q6_K. The piece at
 * byte b of a row, s bytes long, lies for row j of the 8 at byte 8 b + s j of all their bytes:
 *
 *   Q4_0     d d d d d d d d | q0..3 q0..3 q0..3 q0..3 q0..3 q0..3 q0..3 q0..3 | q4..7 q4..7 …
 *   row      0 1 2 3 4 5 6 7 |   0     1     2     3     4     5     6     7   |   0     1   …
 *
 * Eight rows take the bytes that they took, and begin where they began. */
#ifndef SL_QUANT_INTERLEAVE_H
#define SL_QUANT_INTERLEAVE_H

#include <stdbool.h>
#include "base/tensor.h"

#define SL_INTERLEAVED_ROWS 8

/* Formats that have such a form. */
#define SL_INTERLEAVED_LIST(X) X(Q8_0) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q4_K) X(Q5_K) X(Q6_K) X(IQ4_NL) X(IQ4_XS)

/* The format of the rows as files have them; any other format is its own. */
static inline sl_format sl_format_apart(sl_format f)
{
    switch (f) {
#define APART(name)                                                                                                    \
    case SL_FORMAT_##name##_R8:                                                                                        \
        return SL_FORMAT_##name;
        SL_INTERLEAVED_LIST(APART)
#undef APART
    default:
        return f;
    }
}

static inline bool sl_format_is_interleaved(sl_format f)
{
    return sl_format_apart(f) != f;
}

/* Its other form; SL_FORMAT_COUNT: it has none. */
static inline sl_format sl_format_interleaved(sl_format f)
{
    switch (f) {
#define INTERLEAVED(name)                                                                                              \
    case SL_FORMAT_##name:                                                                                             \
        return SL_FORMAT_##name##_R8;
        SL_INTERLEAVED_LIST(INTERLEAVED)
#undef INTERLEAVED
    default:
        return SL_FORMAT_COUNT;
    }
}

/* dst = the 8 rows of row_bytes each, whole blocks of a format that has this form, at src, between each other. */
void sl_interleave(void *dst, const void *src, sl_format f, size_t row_bytes);
/* Block b of row r of an interleaved matrix, as files have it. block: as many bytes as it takes. */
void sl_interleaved_block(void *block, const sl_tensor *t, size_t r, size_t b);

#endif
