#include "quant/interleave.h"

#include <string.h>
#include "base/num.h"

#define WORD 4

/* Where words begin in a block. */
static size_t words_from(sl_format f)
{
    const size_t over = sl_format_size_of(f).bytes % WORD;
    return f == SL_FORMAT_Q6_K ? 0 : over;
}

/* The piece at byte `at` of a block: up to the words, a word, or what is behind the last of them. */
static size_t piece(size_t at, size_t from, size_t bytes)
{
    return at < from ? from : SL_MIN((size_t)WORD, bytes - at);
}

void sl_interleave(void *dst, const void *src, sl_format f, size_t row_bytes)
{
    const size_t bytes = sl_format_size_of(f).bytes, from = words_from(f);
    for (size_t block = 0; block < row_bytes; block += bytes)
        for (size_t at = 0, n; at < bytes; at += n) {
            n = piece(at, from, bytes);
            char *to = (char *)dst + SL_INTERLEAVED_ROWS * (block + at);
            for (size_t j = 0; j < SL_INTERLEAVED_ROWS; j++)
                memcpy(to + n * j, (const char *)src + j * row_bytes + block + at, n);
        }
}

void sl_interleaved_block(void *block, const sl_tensor *t, size_t r, size_t b)
{
    const sl_format f = sl_format_apart(t->format);
    const size_t bytes = sl_format_size_of(f).bytes, from = words_from(f), row = r % SL_INTERLEAVED_ROWS;
    const char *rows = (const char *)t->data + (r - row) * t->row_bytes + SL_INTERLEAVED_ROWS * b * bytes;
    for (size_t at = 0, n; at < bytes; at += n) {
        n = piece(at, from, bytes);
        memcpy((char *)block + at, rows + SL_INTERLEAVED_ROWS * at + n * row, n);
    }
}
