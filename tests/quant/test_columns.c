/* test_columns.c - GPTQ, AWQ and FP8: matrices that this test packs as their publishers do, decoded again. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>
#include "base/num.h"
#include "base/rng.h"
#include "quant/quant.h"

enum { R = 40, K = 96, WORDS = R * K / 4 };

/* What is to come out: w = scale * (q - zero). */
typedef struct matrix {
    unsigned q[R][K], zero[K][R]; /* zero by group */
    float scale[K][R];
    size_t group, n_groups;
} matrix;

/* Stored, in words and halves. */
typedef struct stored {
    uint32_t q[WORDS], zero[K * R / 4];
    uint16_t scale[K * R];
    int32_t group_of[K];
} stored;

static unsigned draw(size_t *n, unsigned below)
{
    return (unsigned)(sl_rng_u64(99, (*n)++) % below);
}

static void make(matrix *m, size_t group, unsigned bits)
{
    size_t n = 0;
    *m = (matrix){ .group = group, .n_groups = sl_div_up(K, group) };
    for (size_t r = 0; r < R; r++)
        for (size_t k = 0; k < K; k++)
            m->q[r][k] = draw(&n, 1u << bits);
    for (size_t g = 0; g < m->n_groups; g++)
        for (size_t r = 0; r < R; r++) {
            m->zero[g][r] = 1 + draw(&n, (1u << bits) - 1);
            m->scale[g][r] = sl_f32_from_f16(sl_f16_from_f32((float)(1 + draw(&n, 1000)) / 4096.0f));
        }
}

static void put(uint32_t *word, size_t at, unsigned v)
{
    *word |= v << at;
}

static sl_tensor tensor(sl_format format, const stored *s, const matrix *m, unsigned bits)
{
    const size_t in_word = 32 / bits;
    const bool awq = format == SL_FORMAT_AWQ4;
    return (sl_tensor){ .data = s->q,
                        .format = format,
                        .rows = R,
                        .cols = K,
                        .col_bytes = (awq ? R / in_word : R) * 4,
                        .scales = { .scale = s->scale,
                                    .type = SL_SCALE_F16,
                                    .row_bytes = 2,
                                    .col_bytes = 2 * R,
                                    .rows = 1,
                                    .group = m->group,
                                    .zero = s->zero,
                                    .zero_row_bytes = 4,
                                    .zero_col_bytes = R / in_word * 4 } };
}

static void put_scales(stored *s, const matrix *m)
{
    for (size_t g = 0; g < m->n_groups; g++)
        for (size_t r = 0; r < R; r++)
            s->scale[g * R + r] = sl_f16_from_f32(m->scale[g][r]);
}

/* AutoGPTQ: word r of the columns' row holds columns one after another; zeros likewise, less `minus`. */
static sl_tensor pack_gptq(sl_format format, stored *s, const matrix *m, unsigned bits, unsigned minus)
{
    const size_t in_word = 32 / bits;
    *s = (stored){ 0 };
    for (size_t k = 0; k < K; k++)
        for (size_t r = 0; r < R; r++)
            put(&s->q[k / in_word * R + r], k % in_word * bits, m->q[r][k]);
    for (size_t g = 0; g < m->n_groups; g++)
        for (size_t r = 0; r < R; r++)
            put(&s->zero[g * (R / in_word) + r / in_word], r % in_word * bits, m->zero[g][r] - minus);
    put_scales(s, m);
    sl_tensor t = tensor(format, s, m, bits);
    t.scales.offset = minus;
    return t;
}

/* AutoAWQ: nibble j of a word is row order[j] of its 8. */
static sl_tensor pack_awq(stored *s, const matrix *m)
{
    static const size_t order[8] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    *s = (stored){ 0 };
    for (size_t c = 0; c < R / 8; c++)
        for (size_t j = 0; j < 8; j++) {
            for (size_t k = 0; k < K; k++)
                put(&s->q[k * (R / 8) + c], 4 * j, m->q[8 * c + order[j]][k]);
            for (size_t g = 0; g < m->n_groups; g++)
                put(&s->zero[g * (R / 8) + c], 4 * j, m->zero[g][8 * c + order[j]]);
        }
    put_scales(s, m);
    return tensor(SL_FORMAT_AWQ4, s, m, 4);
}

static float value(const matrix *m, const stored *s, const sl_tensor *t, size_t r, size_t k)
{
    const size_t g = t->scales.group_of ? (size_t)s->group_of[k] : k / m->group;
    return m->scale[g][r] * (float)((int)m->q[r][k] - (int)m->zero[g][r]);
}

/* Rows r0 on, whole and from a column in the middle. */
static void check_rows(const sl_tensor *whole, const matrix *m, const stored *s, size_t r0)
{
    const sl_quant *q = sl_quant_get(whole->format);
    const sl_tensor t = sl_tensor_rows(whole, r0, R);
    assert_int_equal(t.rows, R - r0);
    for (size_t r = 0; r < t.rows; r++) {
        float got[K], late[K];
        q->decode(got, &t, r, 0, K);
        q->decode(late, &t, r, 32, K);
        for (size_t k = 0; k < K; k++)
            if (got[k] != value(m, s, whole, r0 + r, k))
                fail_msg("%s: row %zu, column %zu is %a, should be %a", sl_format_name(t.format), r0 + r, k,
                         (double)got[k], (double)value(m, s, whole, r0 + r, k));
        assert_memory_equal(late, got + 32, (K - 32) * sizeof *got);
        for (size_t g = 0; q->group && g < K / SL_GROUP; g++) {
            sl_quant_group x;
            q->group(&x, &t, r, g);
            for (size_t i = 0; i < SL_GROUP; i++)
                assert_true(x.d * (float)x.q[i] + x.m == got[g * SL_GROUP + i]);
            assert_true(q->minima || x.m == 0.0f);
        }
    }
}

static matrix m;
static stored s;

static void gptq(void **state)
{
    (void)state;
    for (size_t group = 32; group <= K; group += 32)
        for (unsigned minus = 0; minus < 2; minus++)
            for (unsigned bits = 4; bits <= 8; bits += 4) {
                make(&m, group, bits);
                const sl_tensor t = pack_gptq(bits == 4 ? SL_FORMAT_GPTQ4 : SL_FORMAT_GPTQ8, &s, &m, bits, minus);
                check_rows(&t, &m, &s, 0);
                check_rows(&t, &m, &s, 8);
                check_rows(&t, &m, &s, 13);
            }
}

/* Columns whose groups are assigned one by one. */
static void gptq_order(void **state)
{
    (void)state;
    for (unsigned bits = 4; bits <= 8; bits += 4) {
        make(&m, 16, bits);
        sl_tensor t = pack_gptq(bits == 4 ? SL_FORMAT_GPTQ4_ANY : SL_FORMAT_GPTQ8_ANY, &s, &m, bits, 1);
        for (size_t k = 0; k < K; k++)
            s.group_of[k] = (int32_t)(k * 5 % m.n_groups);
        t.scales.group_of = s.group_of;
        check_rows(&t, &m, &s, 0);
        check_rows(&t, &m, &s, 3);
    }
}

static void awq(void **state)
{
    (void)state;
    for (size_t group = 32; group <= K; group += 32) {
        make(&m, group, 4);
        const sl_tensor t = pack_awq(&s, &m);
        check_rows(&t, &m, &s, 0);
        check_rows(&t, &m, &s, 16);
        check_rows(&t, &m, &s, 13);
    }
}

static sl_tensor fp8(const uint8_t *data, const float *scale)
{
    return (sl_tensor){ .data = data,
                        .format = SL_FORMAT_F8_E4M3,
                        .rows = 1,
                        .cols = 256,
                        .row_bytes = 256,
                        .scales = { .scale = scale, .type = SL_SCALE_F32, .rows = 1, .group = SIZE_MAX } };
}

/* Every number, against ldexp. */
static void fp8_all_values(void **state)
{
    (void)state;
    const float scale = 0.75f;
    uint8_t data[256];
    float got[256];
    for (size_t i = 0; i < 256; i++)
        data[i] = (uint8_t)i;
    const sl_tensor t = fp8(data, &scale);
    sl_quant_get(SL_FORMAT_F8_E4M3)->decode(got, &t, 0, 0, 256);
    for (int i = 0; i < 256; i++) {
        const int exponent = i >> 3 & 15, mantissa = i & 7;
        const double size = exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9);
        if ((i & 127) == 127)
            assert_true(isnan(got[i]));
        else
            assert_true(got[i] == 0.75f * (float)(i & 128 ? -size : size));
        assert_int_equal(signbit(got[i]) != 0, i >> 7);
    }
}

/* Blocks of rows and columns, the last ones partial; a cut keeps to the blocks of the whole. */
static void fp8_blocks(void **state)
{
    (void)state;
    enum { ROWS = 5, COLS = 7 };
    uint8_t data[ROWS * COLS];
    memset(data, 0x38, sizeof data); /* 1 */
    const float scale[3][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } };
    sl_tensor t = fp8(data, scale[0]);
    t.rows = ROWS, t.cols = t.row_bytes = COLS;
    t.scales.rows = 2, t.scales.group = 3, t.scales.row_bytes = sizeof scale[0], t.scales.col_bytes = sizeof(float);
    for (size_t r0 = 0; r0 < ROWS; r0++) {
        const sl_tensor cut = sl_tensor_rows(&t, r0, ROWS);
        for (size_t r = 0; r < cut.rows; r++) {
            float got[COLS];
            sl_quant_get(SL_FORMAT_F8_E4M3)->decode(got, &cut, r, 0, COLS);
            for (size_t k = 0; k < COLS; k++)
                assert_true(got[k] == scale[(r0 + r) / 2][k / 3]);
        }
    }
}

/* A code that is no number, or a scale that is none, is found where it stands. */
static void broken(void **state)
{
    (void)state;
    size_t row = 0, col = 0;
    uint8_t data[256] = { 0 };
    float scale = 1;
    const sl_tensor t = fp8(data, &scale);
    assert_true(sl_quant_check(&t, 0, 1, &row, &col));
    data[201] = 0xff;
    assert_false(sl_quant_check(&t, 0, 1, &row, &col));
    assert_true(row == 0 && col == 201);
    data[201] = 0;
    scale = INFINITY;
    assert_false(sl_quant_check(&t, 0, 1, &row, &col));

    make(&m, 32, 4);
    const sl_tensor packed[] = { pack_awq(&s, &m), pack_gptq(SL_FORMAT_GPTQ4, &s, &m, 4, 1) };
    for (size_t i = 0; i < SL_COUNT(packed); i++) {
        put_scales(&s, &m);
        assert_true(sl_quant_check(&packed[i], 0, R, &row, &col));
        s.scale[2 * R + 17] = 0x7c00;
        assert_false(sl_quant_check(&packed[i], 0, R, &row, &col));
        assert_true(row == 17 && col == 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gptq),           cmocka_unit_test(gptq_order), cmocka_unit_test(awq),
        cmocka_unit_test(fp8_all_values), cmocka_unit_test(fp8_blocks), cmocka_unit_test(broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
