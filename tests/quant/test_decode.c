/* test_decode.c - the reference decoders against values that gguf-py computed, bit for bit but for the
 * sign of a zero (a scale of 0 times a negative number), and the arithmetic of rows. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"
#include "quant/quant.h"
#include "support/npy.h"

#define BLOCKS_MAX 4096

/* The bytes are moved to an odd address and to the very end of a heap block, so that a decoder that
 * wants alignment or reads past its blocks fails under the sanitizers. */
static void check_against_npy(sl_format format)
{
    const sl_quant *q = sl_quant_get(format);
    char path[512];
    unsigned char raw[BLOCKS_MAX];
    npy want;
    snprintf(path, sizeof path, "%s/blocks/%s.f32.npy", TEST_DATA, sl_format_name(q->format));
    assert_true(npy_load(&want, path));
    assert_non_null(want.f32);
    assert_true(want.count >= 4 * q->block);

    snprintf(path, sizeof path, "%s/blocks/%s.bin", TEST_DATA, sl_format_name(q->format));
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n_raw = fread(raw, 1, sizeof raw, f);
    fclose(f);
    size_t row_bytes = 0;
    assert_true(sl_quant_row_bytes(format, want.count, &row_bytes));
    assert_int_equal(n_raw, row_bytes);

    unsigned char *odd = malloc(n_raw + 1);
    float *got = malloc(want.count * sizeof *got);
    assert_non_null(odd);
    assert_non_null(got);
    memcpy(odd + 1, raw, n_raw);
    sl_quant_widen(got, format, odd + 1, want.count);
    for (size_t i = 0; i < want.count; i++)
        if (sl_f32_bits(got[i]) != sl_f32_bits(want.f32[i]) && (got[i] != 0.0f || want.f32[i] != 0.0f))
            fail_msg("%s: element %zu is %a, should be %a", sl_format_name(q->format), i, (double)got[i],
                     (double)want.f32[i]);
    free(got);
    free(odd);
    npy_free(&want);
}

/* All formats of which there are blocks; F32, F16 and what has scales beside it have tests of their own. */
static void blocks_of_files(void **state)
{
    (void)state;
    for (int f = 0; f < SL_FORMAT_COUNT; f++)
        if (f != SL_FORMAT_F32 && f != SL_FORMAT_F16 && f < SL_FORMAT_INT4)
            check_against_npy((sl_format)f);
}

/* Groups say the same as rows, in numbers that 8-bit products can take. */
static void groups_are_the_row(void **state)
{
    (void)state;
    for (int f = 0; f < SL_FORMAT_COUNT; f++) {
        const sl_quant *q = sl_quant_get((sl_format)f);
        if (!q->group || f >= SL_FORMAT_INT4)
            continue;
        unsigned char raw[4 * 256];
        float row[2 * SL_SUPER];
        const size_t n = q->block * 2;
        for (size_t i = 0; i < 2 * q->block_bytes; i++)
            raw[i] = (unsigned char)(i * 37 + 11) & 0x7b; /* no exponent of a half float is 31 */
        const sl_tensor t = { .data = raw, .format = (sl_format)f, .rows = 1, .cols = n };
        q->decode(row, &t, 0, 0, n);
        for (size_t g = 0; g < n / SL_GROUP; g++) {
            sl_quant_group x;
            q->group(&x, &t, 0, g);
            for (size_t i = 0; i < SL_GROUP; i++) {
                assert_true(abs(x.q[i]) <= 4096);
                assert_true(row[g * SL_GROUP + i] == x.d * (float)x.q[i] + x.m);
            }
            assert_true(q->minima || x.m == 0.0f);
        }
    }
}

static void f32_is_kept(void **state)
{
    (void)state;
    const float in[3] = { 1.5f, -0.0f, 0x1p-149f };
    unsigned char odd[1 + sizeof in];
    float out[3];
    memcpy(odd + 1, in, sizeof in);
    sl_quant_widen(out, SL_FORMAT_F32, odd + 1, 3);
    assert_memory_equal(in, out, sizeof in);
}

/* Every half float, against ldexp. */
static void f16_all_values(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        const unsigned char raw[2] = { (unsigned char)(h & 255), (unsigned char)(h >> 8) };
        const int exponent = (int)(h >> 10 & 31), mantissa = (int)(h & 1023);
        float got;
        sl_quant_widen(&got, SL_FORMAT_F16, raw, 1);
        assert_int_equal(signbit(got) != 0, h >> 15);
        if (exponent == 31) {
            assert_true(mantissa ? isnan(got) : isinf(got));
            continue;
        }
        const double want = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
        assert_true(fabs((double)got) == want);
    }
}

/* The corners of the block formulas, written out: nibble order, offset, sign. */
static void blocks_by_hand(void **state)
{
    (void)state;
    const uint16_t half = 0x3800, two = 0x4000; /* 0.5, 2 */
    float out[SL_GROUP];

    sl_block_q8_0 b8 = { .d = half, .q = { -128, 127, 0, 1 } };
    sl_quant_widen(out, SL_FORMAT_Q8_0, &b8, SL_GROUP);
    assert_true(out[0] == -64.0f && out[1] == 63.5f && out[2] == 0.0f && out[3] == 0.5f);

    sl_block_q4_0 b40 = { .d = two, .q = { 0xf0, 0x08 } };
    sl_quant_widen(out, SL_FORMAT_Q4_0, &b40, SL_GROUP);
    assert_true(out[0] == -16.0f && out[16] == 14.0f && out[1] == 0.0f && out[17] == -16.0f);

    sl_block_q4_1 b41 = { .d = two, .m = half, .q = { 0xf0, 0x08 } };
    sl_quant_widen(out, SL_FORMAT_Q4_1, &b41, SL_GROUP);
    assert_true(out[0] == 0.5f && out[16] == 30.5f && out[1] == 16.5f && out[17] == 0.5f);
}

/* Neighbours in a byte, the first one low; scales elsewhere, of every second row. */
static void mxfp4_split_by_hand(void **state)
{
    (void)state;
    uint8_t blocks[4][2][16] = { 0 }, scales[4][2] = { { 127, 128 }, { 0, 255 }, { 1, 126 }, { 254, 127 } };
    float out[2 * SL_GROUP];
    size_t row = 9, col = 9;
    blocks[2][1][0] = 0x72; /* 1, then 6 */
    blocks[2][1][15] = 0xf9;
    blocks[2][0][0] = 0x02;
    blocks[1][0][0] = 0x42;
    const sl_tensor all = { .data = blocks,
                            .format = SL_FORMAT_MXFP4_SPLIT,
                            .rows = 4,
                            .cols = 2 * SL_GROUP,
                            .row_bytes = sizeof blocks[0],
                            .scales = { scales, SL_SCALE_E8M0, .row_bytes = 2, .col_bytes = 1, .rows = 1,
                                        .group = 32 } };
    const sl_tensor even = sl_tensor_every(&all, 0, 2), odd = sl_tensor_every(&all, 1, 2);
    assert_ptr_equal((const uint8_t *)odd.data + sl_tensor_extent(&odd), &blocks[4]);
    assert_int_equal(sl_tensor_extent(&even), sizeof blocks - sizeof blocks[0]);
    sl_quant_get(all.format)->decode(out, &even, 1, 0, 64);
    assert_true(out[0] == 0x1p-126f && out[1] == 0.0f);
    assert_true(out[32] == 0.5f && out[33] == 3.0f && out[34] == 0.0f);
    assert_true(out[62] == -0.25f && out[63] == -3.0f);
    sl_quant_get(all.format)->decode(out, &odd, 0, 0, 32);
    assert_true(out[0] == 0x1p-127f && out[1] == 0x1p-126f);
    assert_true(sl_quant_check(&even, 0, 2, &row, &col));
    assert_false(sl_quant_check(&odd, 0, 2, &row, &col));
    assert_true(row == 0 && col == 32);
}

/* [3 columns][2 rows of each of two matrices], the second one. */
static void columns_by_hand(void **state)
{
    (void)state;
    const float stored[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } };
    float out[3];
    const sl_tensor t = { .data = &stored[0][1],
                          .format = SL_FORMAT_F32_T,
                          .rows = 2,
                          .cols = 3,
                          .row_bytes = 2 * sizeof(float),
                          .col_bytes = 4 * sizeof(float) };
    sl_quant_get(t.format)->decode(out, &t, 0, 0, 3);
    assert_true(out[0] == 2 && out[1] == 6 && out[2] == 10);
    sl_quant_get(t.format)->decode(out, &t, 1, 1, 3);
    assert_true(out[0] == 8 && out[1] == 12);
    assert_int_equal(sl_tensor_row_cost(&t), 3 * sizeof(float));
    assert_ptr_equal((const char *)t.data + sl_tensor_extent(&t), &stored[3]); /* no further than the tensor */
}

static void list_is_complete(void **state)
{
    (void)state;
    for (int f = 0; f < SL_FORMAT_COUNT; f++) {
        const sl_quant *q = sl_quant_get((sl_format)f);
        assert_int_equal(q->format, f);
        assert_non_null(q->decode);
        assert_true(SL_GROUP % q->block == 0 || q->block % SL_GROUP == 0);
        assert_true(q->block <= SL_SUPER);
    }
    assert_string_equal(sl_format_name(SL_FORMAT_Q4_K), "Q4_K");
    assert_string_equal(sl_format_name(SL_FORMAT_MXFP4), "MXFP4");
}

/* A scale that is no number is found in whichever block it stands, and so is a float. */
static void broken_scales(void **state)
{
    (void)state;
    static const struct {
        sl_format format;
        size_t at; /* of the scale in the block */
        unsigned char bytes[2];
        size_t n_bytes;
    } cases[] = {
        { SL_FORMAT_F16, 0, { 0x00, 0x7c }, 2 },    { SL_FORMAT_BF16, 0, { 0xc0, 0x7f }, 2 },
        { SL_FORMAT_Q8_0, 0, { 0x00, 0xfc }, 2 },   { SL_FORMAT_Q4_0, 0, { 0x01, 0x7c }, 2 },
        { SL_FORMAT_Q4_1, 2, { 0x00, 0x7c }, 2 },   { SL_FORMAT_Q5_0, 0, { 0x00, 0x7e }, 2 },
        { SL_FORMAT_Q5_1, 2, { 0x00, 0x7e }, 2 },   { SL_FORMAT_Q2_K, 80, { 0x00, 0x7c }, 2 },
        { SL_FORMAT_Q2_K, 82, { 0x00, 0x7c }, 2 },  { SL_FORMAT_Q3_K, 108, { 0x00, 0x7c }, 2 },
        { SL_FORMAT_Q4_K, 0, { 0x00, 0x7c }, 2 },   { SL_FORMAT_Q4_K, 2, { 0x00, 0x7c }, 2 },
        { SL_FORMAT_Q5_K, 2, { 0x00, 0xfe }, 2 },   { SL_FORMAT_Q6_K, 208, { 0x00, 0x7c }, 2 },
        { SL_FORMAT_IQ4_NL, 0, { 0x00, 0x7c }, 2 }, { SL_FORMAT_IQ4_XS, 0, { 0x00, 0x7c }, 2 },
        { SL_FORMAT_TQ1_0, 52, { 0x00, 0x7c }, 2 }, { SL_FORMAT_TQ2_0, 64, { 0x00, 0x7c }, 2 },
        { SL_FORMAT_MXFP4, 0, { 0xff }, 1 },        { SL_FORMAT_NVFP4, 3, { 0x7f }, 1 },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        const sl_quant *q = sl_quant_get(cases[i].format);
        const size_t n = 3 * q->block;
        unsigned char raw[3 * 256] = { 0 };
        size_t row = 98, bad = 99;
        const sl_tensor t = { .data = raw, .format = q->format, .rows = 1, .cols = n, .row_bytes = sizeof raw };
        assert_true(sl_quant_check(&t, 0, 1, &row, &bad));
        assert_true(row == 98 && bad == 99);
        memcpy(raw + 2 * q->block_bytes + cases[i].at, cases[i].bytes, cases[i].n_bytes);
        if (sl_quant_check(&t, 0, 1, &row, &bad))
            fail_msg("%s: a broken scale passes", sl_format_name(q->format));
        assert_true(row == 0 && bad == 2 * q->block);
    }
    float many[600] = { 0 };
    const sl_tensor rows = {
        .data = many, .format = SL_FORMAT_F32, .rows = 2, .cols = 300, .row_bytes = 300 * sizeof(float)
    };
    size_t row = 0, bad = 0;
    many[599] = NAN;
    assert_false(sl_quant_check(&rows, 0, 2, &row, &bad));
    assert_true(row == 1 && bad == 299);
    assert_true(sl_quant_check(&rows, 0, 1, &row, &bad));
}

static void row_bytes(void **state)
{
    (void)state;
    size_t bytes = 7;
    assert_true(sl_quant_row_bytes(SL_FORMAT_Q4_0, 576, &bytes));
    assert_int_equal(bytes, 576 / 32 * 18);
    assert_true(sl_quant_row_bytes(SL_FORMAT_BF16, 0, &bytes));
    assert_int_equal(bytes, 0);
    bytes = 7;
    assert_false(sl_quant_row_bytes(SL_FORMAT_Q8_0, 33, &bytes));
    assert_false(sl_quant_row_bytes(SL_FORMAT_F32, SIZE_MAX / 4 + 1, &bytes));
    assert_false(sl_quant_row_bytes(SL_FORMAT_Q8_0, SIZE_MAX - 31, &bytes)); /* 34 bytes for 32 weights */
    assert_int_equal(bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_files), cmocka_unit_test(groups_are_the_row), cmocka_unit_test(f32_is_kept),
        cmocka_unit_test(f16_all_values),  cmocka_unit_test(blocks_by_hand),     cmocka_unit_test(mxfp4_split_by_hand),
        cmocka_unit_test(columns_by_hand), cmocka_unit_test(list_is_complete),   cmocka_unit_test(broken_scales),
        cmocka_unit_test(row_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
