/* Philox 2x64-10: the first value is Random123's published vector, the others come from a program in
 * another language that reproduces all three of Random123's vectors. */
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void test_vectors(void **state)
{
    (void)state;
    assert_true(sl_rng_u64(0, 0) == 0xca00a0459843d731u);
    assert_true(sl_rng_u64(42, 7) == 0xe3a5934149a28d51u);
    assert_true(sl_rng_u64(0xdeadbeefcafef00du, UINT64_C(1) << 40) == 0x1b185cb98a563978u);
    assert_true(sl_rng_u64(UINT64_MAX, UINT64_MAX) == 0xc4b6e253b2042f02u);
}

static void test_uniform(void **state)
{
    (void)state;
    enum { N = 100000, BINS = 16 };
    size_t count[BINS] = { 0 };
    double sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        const double u = sl_rng_uniform(1, i);
        assert_true(u >= 0.0 && u < 1.0);
        sum += u;
        count[(size_t)(u * BINS)]++;
    }
    assert_true(sum / N > 0.495 && sum / N < 0.505); /* 5 standard errors */
    for (size_t i = 0; i < BINS; i++)
        assert_in_range(count[i], N / BINS - 400, N / BINS + 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_vectors), cmocka_unit_test(test_uniform) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
