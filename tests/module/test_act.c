/* test_act.c - inputs of products in the forms that weights ask for: rounding to 8-bit floats against NumPy with
 * ml_dtypes (tests/data/e4m3), and rows, parts and copies of all forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/mem.h"
#include "base/num.h"
#include "module/act.h"
#include "support/npy.h"

static void load(npy *a, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/e4m3/%s.npy", TEST_DATA, name);
    assert_true(npy_load(a, path));
    assert_true(a->f32 && a->n_dims == 2);
}

/* An act with memory of its own, exactly as much as is asked for. */
static sl_act make(size_t T, size_t K, unsigned needs, bool own_f32)
{
    sl_act act;
    const size_t bytes = sl_act_cut(&act, NULL, T, K, needs, own_f32);
    unsigned char *base = aligned_alloc(SL_MEM_ALIGN, bytes);
    assert_non_null(base);
    assert_int_equal(sl_act_cut(&act, base, T, K, needs, own_f32), bytes);
    return act;
}

static void as_numpy_rounds(void **state)
{
    static const struct {
        const char *want;
        unsigned needs;
    } cases[] = { { "groups", SL_NEED_E4M3 },
                  { "powers", SL_NEED_E4M3_POWER },
                  { "tokens", SL_NEED_E4M3_TOKEN },
                  { "groups", SL_NEED_E4M3 | SL_NEED_E4M3_POWER },
                  { "powers", SL_NEED_E4M3_POWER | SL_NEED_E4M3_TOKEN } };
    npy rows;
    (void)state;
    load(&rows, "rows");
    const size_t T = rows.dims[0], K = rows.dims[1];
    for (size_t i = 0; i < SL_COUNT(cases); i++)
        for (int isa = SL_ISA_SCALAR; isa <= SL_MIN((int)sl_cpu_isa(), SL_ISA_AVX2); isa++) {
            npy want;
            sl_kernels k;
            sl_kernels_init(&k, (sl_isa)isa);
            load(&want, cases[i].want);
            assert_int_equal(want.count, rows.count);
            sl_act act = make(T, K, cases[i].needs, false);
            assert_true(sl_act_by_rows(&act));
            act.f32 = rows.f32;
            sl_act_fill(&k, &act, 0, T);
            for (size_t at = 0; at < want.count; at++)
                if (sl_f32_bits(act.rounded[at]) != sl_f32_bits(want.f32[at]))
                    fail_msg("%s, isa %d: row %zu column %zu: %.9g becomes %.9g, not %.9g", cases[i].want, isa, at / K,
                             at % K, (double)rows.f32[at], (double)act.rounded[at], (double)want.f32[at]);
            free(act.rounded);
            npy_free(&want);
        }
    npy_free(&rows);
}

/* A fault shows: in the group where it is, and nowhere else. */
static void what_is_not_finite(void **state)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    (void)state;
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        for (int isa = SL_ISA_SCALAR; isa <= SL_MIN((int)sl_cpu_isa(), SL_ISA_AVX2); isa++) {
            float x[300];
            sl_kernels k;
            sl_kernels_init(&k, (sl_isa)isa);
            for (size_t at = 0; at < 300; at++)
                x[at] = (float)at;
            x[131] = bad[i];
            sl_act act = make(1, 300, SL_NEED_E4M3, false);
            act.f32 = x;
            sl_act_fill(&k, &act, 0, 1);
            for (size_t at = 0; at < 300; at++)
                assert_int_equal(isnan(act.rounded[at]) != 0, at / 128 == 1);
            free(act.rounded);
        }
}

/* Row by row, from rows elsewhere, is the same as all at once; and a copied row is the row. */
static void rows_alone(void **state)
{
    enum { T = 5, K = 200 };
    const unsigned needs = SL_NEED_F32 | SL_NEED_Q8 | SL_NEED_Q16 | SL_NEED_E4M3;
    float x[T * K];
    sl_kernels k;
    (void)state;
    sl_kernels_init(&k, sl_cpu_isa());
    for (size_t i = 0; i < T * K; i++)
        x[i] = sinf((float)i) * (float)(1 + i % 7);
    sl_act all = make(T, K, needs, true), one = make(T, K, needs, true), copy = make(T, K, needs, true);
    memcpy((float *)all.f32, x, sizeof x);
    memcpy((float *)one.f32, x, sizeof x);
    sl_act_fill(&k, &all, 0, T);
    for (size_t t = 0; t < T; t++) {
        const sl_act row = sl_act_row(&one, t, x + t * K);
        sl_act_fill(&k, &row, 0, 1);
        sl_act_copy_row(&copy, T - 1 - t, &one, t);
    }
    assert_memory_equal(one.rounded, all.rounded, sizeof x);
    assert_memory_equal(one.q8, all.q8, T * all.G * 32);
    assert_null(sl_act_part(&one, 1, 32, 64, x).rounded);
    for (size_t t = 0; t < T; t++) {
        assert_memory_equal(copy.rounded + (T - 1 - t) * K, all.rounded + t * K, K * sizeof *x);
        assert_memory_equal(copy.f32 + (T - 1 - t) * K, x + t * K, K * sizeof *x);
        assert_memory_equal(copy.q16 + (T - 1 - t) * all.G * 32, all.q16 + t * all.G * 32, all.G * 32 * 2);
    }
    free((float *)all.f32);
    free((float *)one.f32);
    free((float *)copy.f32);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(as_numpy_rounds), cmocka_unit_test(what_is_not_finite),
                                        cmocka_unit_test(rows_alone) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
