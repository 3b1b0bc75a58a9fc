/* test_rope.c - frequencies of the scalings against numbers worked out in Python (float64) from the
 * formulas of Transformers' modeling_rope_utils.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "base/num.h"
#include "module/rope.h"

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * fabs(want)))
        fail_msg("%.9g is not %.9g", got, want);
}

static void plain_linear_and_divided(void **state)
{
    (void)state;
    float f[8];
    const float divisor[8] = { 1, 1, 1, 1, 2, 4, 8, 8 };
    sl_rope r = { .dim = 16, .base = 10000.0, .factor = 4.0 };
    near((double)sl_rope_frequencies(&r, f), 1.0);
    for (size_t i = 0; i < 8; i++)
        near((double)f[i], pow(10000.0, -(double)i / 8));
    r.scaling = SL_ROPE_LINEAR;
    near((double)sl_rope_frequencies(&r, f), 1.0);
    for (size_t i = 0; i < 8; i++)
        near((double)f[i], pow(10000.0, -(double)i / 8) / 4);
    r.scaling = SL_ROPE_NONE;
    r.divisor = divisor;
    sl_rope_frequencies(&r, f);
    for (size_t i = 0; i < 8; i++)
        near((double)f[i], pow(10000.0, -(double)i / 8) / (double)divisor[i]);
}

static void yarn(void **state)
{
    (void)state;
    static const struct {
        size_t dim;
        double base, factor, context, fast, slow, scale;
        double f[6]; /* of pairs 0, 1, n/4, n/2, 3n/4, n - 1 */
    } cases[] = {
        { 16,
          1e4,
          4,
          2048,
          32,
          1,
          1.138629436111989,
          { 1, 0.31622776601683794, 0.1, 0.00625, 0.00025, 7.905694150420948e-05 } },
        { 64,
          1e6,
          8,
          32768,
          32,
          1,
          1.2079441541679836,
          { 1, 0.6493816315762113, 0.03162277660168379, 0.0005138888888888888, 3.952847075210474e-06,
            1.924908157574365e-07 } },
        { 8, 1e4, 40, 4096, 1, 1, 1.3688879454113936, { 1, 0.1, 0.1, 0.01, 2.5e-05, 2.5e-05 } }, /* a step (Kimi) */
    };
    for (size_t c = 0; c < SL_COUNT(cases); c++) {
        float f[32];
        const size_t n = cases[c].dim / 2, at[6] = { 0, 1, n / 4, n / 2, n * 3 / 4, n - 1 };
        const sl_rope r = { .dim = cases[c].dim,
                            .base = cases[c].base,
                            .scaling = SL_ROPE_YARN,
                            .factor = cases[c].factor,
                            .n_ctx_original = cases[c].context,
                            .beta_fast = cases[c].fast,
                            .beta_slow = cases[c].slow,
                            .attn_factor = 1.0 };
        near((double)sl_rope_frequencies(&r, f), cases[c].scale);
        for (size_t i = 0; i < 6; i++)
            near((double)f[at[i]], cases[c].f[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(plain_linear_and_divided), cmocka_unit_test(yarn) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
