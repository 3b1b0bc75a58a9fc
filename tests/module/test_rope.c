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

/* Far positions, where a last bit of a frequency shows: the reference's f32 arithmetic, its powers rounded
 * correctly, worked out with numpy (bug report B136: its settings, Kimi-K2's step and DeepSeek-V3's). */
static void yarn_at_far_positions(void **state)
{
    (void)state;
    static const float at[3] = { 4095, 4096, 100000 };
    static const size_t pair[6] = { 0, 1, 9, 14, 18, 31 };
    static const struct {
        double base, factor, fast, slow, cosine[3][6];
    } cases[] = {
        { 50000,
          64,
          32,
          1,
          { { -0.0659759966, 0.0794859567, -0.981119272, 0.846241739, -0.102429359, 0.99999839 },
            { 0.803990613, 0.712254334, -0.971715264, 0.848612299, -0.10283585, 0.999998389 },
            { -0.999360807, -0.99522811, -0.143339987, 0.887588694, -0.999714398, 0.999039967 } } },
        { 50000,
          64,
          1,
          1,
          { { -0.0659759966, 0.0794859567, 0.874623786, -0.115453714, -0.9937442, 0.99999839 },
            { 0.803990613, 0.712254334, 0.850521229, -0.106715286, -0.993995647, 0.999998389 },
            { -0.999360807, -0.99522811, 0.99708904, 0.976484598, 0.338279252, 0.999039967 } } },
        { 10000,
          40,
          32,
          1,
          { { -0.0659759966, -0.0900463594, 0.700702247, 0.759079713, -0.977268231, 0.999906814 },
            { 0.803990613, 0.612983735, 0.752179266, 0.750917918, -0.977742713, 0.999906768 },
            { -0.999360807, 0.923086512, -0.999189761, 0.748523642, 0.307580015, 0.944941564 } } },
    };
    for (size_t c = 0; c < SL_COUNT(cases); c++) {
        float f[32];
        const sl_rope r = { .dim = 64,
                            .base = cases[c].base,
                            .scaling = SL_ROPE_YARN,
                            .factor = cases[c].factor,
                            .n_ctx_original = 4096,
                            .beta_fast = cases[c].fast,
                            .beta_slow = cases[c].slow,
                            .attn_factor = 1.0 };
        sl_rope_frequencies(&r, f);
        for (size_t p = 0; p < 3; p++)
            for (size_t i = 0; i < 6; i++) {
                const float angle = at[p] * f[pair[i]];
                if (!(fabs(cos((double)angle) - cases[c].cosine[p][i]) <= 1e-5))
                    fail_msg("case %zu, position %g, pair %zu: cosine %.7f, should be %.7f", c, (double)at[p], pair[i],
                             cos((double)angle), cases[c].cosine[p][i]);
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(plain_linear_and_divided), cmocka_unit_test(yarn),
                                        cmocka_unit_test(yarn_at_far_positions) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
