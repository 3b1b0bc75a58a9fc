/* test_interleave.c - 8 rows between each other: where each byte goes, and that every block comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"
#include "quant/interleave.h"

enum { ROWS = SL_INTERLEAVED_ROWS, BLOCKS = 3, BLOCK_MAX = 210 };

static void number_bytes(uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 167 + i / 251);
}

/* By the formula of interleave.h, spelt out: 2 bytes before the words, or behind them, or none. */
static size_t place_of(size_t row, size_t block, size_t at, size_t bytes, size_t before)
{
    const size_t words = (bytes - before) / 4 * 4;
    if (at < before)
        return ROWS * block * bytes + before * row + at;
    if (at < before + words)
        return ROWS * (block * bytes + before + (at - before) / 4 * 4) + 4 * row + (at - before) % 4;
    return ROWS * (block * bytes + before + words) + (bytes - before - words) * row + (at - before - words);
}

static void bytes_are_where_they_belong(void **state)
{
    (void)state;
    static const struct {
        sl_format format;
        size_t before;
    } cases[] = {
        { SL_FORMAT_Q8_0, 2 },   { SL_FORMAT_Q4_0, 2 },   { SL_FORMAT_Q4_1, 0 }, { SL_FORMAT_Q5_0, 2 },
        { SL_FORMAT_Q5_1, 0 },   { SL_FORMAT_Q4_K, 0 },   { SL_FORMAT_Q5_K, 0 }, { SL_FORMAT_Q6_K, 0 },
        { SL_FORMAT_IQ4_NL, 2 }, { SL_FORMAT_IQ4_XS, 0 },
    };
    size_t n_formats = 0;
    for (int f = 0; f < SL_FORMAT_COUNT; f++)
        n_formats += sl_format_interleaved((sl_format)f) != SL_FORMAT_COUNT;
    assert_int_equal(n_formats, SL_COUNT(cases));
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        const size_t bytes = sl_format_size_of(cases[i].format).bytes, row_bytes = BLOCKS * bytes;
        uint8_t apart[ROWS * BLOCKS * BLOCK_MAX], mixed[sizeof apart + 1];
        number_bytes(apart, sizeof apart);
        memset(mixed, 0xee, sizeof mixed);
        sl_interleave(mixed, apart, cases[i].format, row_bytes);
        for (size_t r = 0; r < ROWS; r++)
            for (size_t b = 0; b < row_bytes; b++)
                if (mixed[place_of(r, b / bytes, b % bytes, bytes, cases[i].before)] != apart[r * row_bytes + b])
                    fail_msg("%s: byte %zu of row %zu", sl_format_name(cases[i].format), b, r);
        assert_int_equal(mixed[ROWS * row_bytes], 0xee);
    }
}

/* Any row of a matrix of 16, at an odd address. */
static void blocks_come_back(void **state)
{
    (void)state;
    for (int f = 0; f < SL_FORMAT_COUNT; f++) {
        const sl_format other = sl_format_interleaved((sl_format)f);
        if (other == SL_FORMAT_COUNT)
            continue;
        assert_int_equal(sl_format_apart(other), f);
        assert_int_equal(sl_format_size_of(other).bytes, sl_format_size_of((sl_format)f).bytes);
        const size_t bytes = sl_format_size_of((sl_format)f).bytes, row_bytes = BLOCKS * bytes;
        uint8_t apart[2 * ROWS * BLOCKS * BLOCK_MAX], mixed[1 + sizeof apart];
        number_bytes(apart, sizeof apart);
        for (size_t r = 0; r < 2 * ROWS; r += ROWS)
            sl_interleave(mixed + 1 + r * row_bytes, apart + r * row_bytes, (sl_format)f, row_bytes);
        const sl_tensor t = { .data = mixed + 1,
                              .format = other,
                              .rows = 2 * ROWS,
                              .cols = BLOCKS * sl_format_size_of(other).block,
                              .row_bytes = row_bytes };
        for (size_t r = 0; r < t.rows; r++)
            for (size_t b = 0; b < BLOCKS; b++) {
                uint8_t block[BLOCK_MAX];
                sl_interleaved_block(block, &t, r, b);
                assert_memory_equal(block, apart + r * row_bytes + b * bytes, bytes);
            }
    }
}

/* Formats of which there is no such form are their own, and have none. */
static void others_have_none(void **state)
{
    (void)state;
    assert_int_equal(sl_format_interleaved(SL_FORMAT_BF16), SL_FORMAT_COUNT);
    assert_int_equal(sl_format_interleaved(SL_FORMAT_INT4), SL_FORMAT_COUNT);
    assert_int_equal(sl_format_interleaved(SL_FORMAT_Q4_0_R8), SL_FORMAT_COUNT);
    assert_int_equal(sl_format_apart(SL_FORMAT_GPTQ4), SL_FORMAT_GPTQ4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_where_they_belong),
        cmocka_unit_test(blocks_come_back),
        cmocka_unit_test(others_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
