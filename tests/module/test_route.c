/* test_route.c - the choice of experts: what users of such routers met (bug reports B139 to B145 and their kind), and a
 * plain meaning written from the reference's description, over many random routers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "base/rng.h"
#include "module/route.h"

#define E_MAX 64

typedef struct routed {
    int32_t ids[E_MAX];
    float weights[E_MAX];
} routed;

/* Exactly as much scratch as is asked for: ASan sees a word more. */
static routed route(const sl_router *r, const float *logits)
{
    routed out = { 0 };
    void *scratch = malloc(sl_route_scratch(r));
    int32_t *ids = malloc(r->K * sizeof *ids);
    float *weights = malloc(r->K * sizeof *weights);
    assert_non_null(scratch);
    assert_non_null(ids);
    assert_non_null(weights);
    sl_route(r, logits, ids, weights, scratch);
    memcpy(out.ids, ids, r->K * sizeof *ids);
    memcpy(out.weights, weights, r->K * sizeof *weights);
    free(scratch);
    free(ids);
    free(weights);
    return out;
}

static void near(float got, double want)
{
    if (!(fabs((double)got - want) <= 1e-6 + 1e-5 * fabs(want)))
        fail_msg("%.9g is not %.9g", (double)got, want);
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* B139 */
static void a_correction_picks_and_never_weighs(void **state)
{
    (void)state;
    const float logits[8] = { 0.1f, 2.0f, -1.0f, 1.5f, 0.3f, -2.0f, 0.0f, 0.2f };
    float correction[8] = { 0 };
    sl_router r = { .E = 8, .K = 2, .score = SL_SCORE_SIGMOID, .scale = 1.0f };
    routed plain = route(&r, logits);
    assert_int_equal(plain.ids[0], 1);
    assert_int_equal(plain.ids[1], 3);
    correction[5] = 5.0f;
    r.correction = correction;
    routed moved = route(&r, logits);
    assert_int_equal(moved.ids[0], 5);
    assert_int_equal(moved.ids[1], 1);
    near(moved.weights[0], sigmoid(-2.0));
    near(moved.weights[1], sigmoid(2.0));
    r.renorm = true;
    moved = route(&r, logits);
    near(moved.weights[0], sigmoid(-2.0) / (sigmoid(-2.0) + sigmoid(2.0)));
}

/* B140: one very good expert does not make a group; what is masked does not win over negative scores. */
static void groups_are_worth_their_two_best(void **state)
{
    (void)state;
    float logits[16], correction[16];
    for (size_t e = 0; e < 16; e++) {
        logits[e] = (float)(e / 4); /* the higher groups are better */
        correction[e] = -2.0f;
    }
    logits[0] = 20.0f; /* 1 + 0.5 in group 0, against twice 0.73, 0.88, 0.95 */
    const sl_router r = { .E = 16,
                          .K = 6,
                          .score = SL_SCORE_SIGMOID,
                          .correction = correction,
                          .n_groups = 4,
                          .n_groups_kept = 2,
                          .n_group_best = 2,
                          .scale = 1.0f };
    routed got = route(&r, logits);
    const int32_t want[6] = { 12, 13, 14, 15, 8, 9 };
    for (size_t s = 0; s < 6; s++)
        assert_int_equal(got.ids[s], want[s]);
    /* with the best score alone it would have been group 0 */
    sl_router best = r;
    best.n_group_best = 1;
    assert_int_equal(route(&best, logits).ids[0], 0);
}

/* B142 */
static void zero_scores_give_finite_weights(void **state)
{
    (void)state;
    static const sl_score kinds[] = { SL_SCORE_SOFTMAX, SL_SCORE_SIGMOID, SL_SCORE_PICKED };
    static const float values[] = { -1000.0f, 1000.0f, 0.0f, -INFINITY, INFINITY, NAN, -3.4e38f, 3.4e38f };
    for (size_t k = 0; k < SL_COUNT(kinds); k++)
        for (size_t v = 0; v < SL_COUNT(values); v++)
            for (size_t one = 0; one < 2; one++)
                for (size_t eps = 0; eps < 2; eps++) {
                    float logits[8];
                    for (size_t e = 0; e < 8; e++)
                        logits[e] = one && e != 3 ? 0.5f : values[v];
                    const sl_router r = { .E = 8,
                                          .K = 4,
                                          .score = kinds[k],
                                          .renorm = true,
                                          .renorm_eps = eps ? 1e-20f : 0.0f,
                                          .scale = 2.5f };
                    const routed got = route(&r, logits);
                    for (size_t s = 0; s < 4; s++) {
                        if (!(got.weights[s] >= 0.0f && got.weights[s] <= 2.5f))
                            fail_msg("kind %zu, logits %g: weight %g", k, (double)values[v], (double)got.weights[s]);
                        for (size_t o = 0; o < s; o++)
                            assert_true(got.ids[s] != got.ids[o]);
                    }
                    if (one && isnan(values[v])) /* a NaN is picked last */
                        for (size_t s = 0; s < 4; s++)
                            assert_true(got.ids[s] != 3);
                }
}

/* B143 */
static void scaling_and_renormalising_are_two_things(void **state)
{
    (void)state;
    const float logits[4] = { 1.0f, 0.5f, -0.5f, -1.0f };
    const double a = sigmoid(1.0), b = sigmoid(0.5);
    for (size_t i = 0; i < 4; i++) {
        const bool renorm = i & 1;
        const float scale = i & 2 ? 2.5f : 1.0f;
        const sl_router r = {
            .E = 4, .K = 2, .score = SL_SCORE_SIGMOID, .renorm = renorm, .renorm_eps = 1e-20f, .scale = scale
        };
        const routed got = route(&r, logits);
        near(got.weights[0], (double)scale * a / (renorm ? a + b : 1.0));
        near(got.weights[1], (double)scale * b / (renorm ? a + b : 1.0));
    }
}

static void ties_go_to_the_lower_number(void **state)
{
    (void)state;
    static const sl_score kinds[] = { SL_SCORE_SOFTMAX, SL_SCORE_SIGMOID, SL_SCORE_PICKED };
    for (size_t k = 0; k < SL_COUNT(kinds); k++)
        for (size_t groups = 1; groups <= 4; groups *= 2) {
            float logits[16];
            for (size_t e = 0; e < 16; e++)
                logits[e] = e == 9 ? 1.0f : e >= 4 ? 0.25f : -1.0f;
            sl_router r = { .E = 16, .K = 4, .score = kinds[k], .scale = 1.0f };
            r.n_groups = groups;
            r.n_groups_kept = (groups + 1) / 2;
            r.n_group_best = 2;
            const routed got = route(&r, logits);
            /* of two groups the second is better; of four it is the third and, level with the last, the second */
            const int32_t from = groups == 2 ? 8 : 4,
                          want[4] = { 9, from, from + 1 + (from == 8), from + 2 + (from == 8) };
            for (size_t s = 0; s < 4; s++)
                assert_int_equal(got.ids[s], want[s]);
        }
}

static void one_expert_and_all_experts(void **state)
{
    (void)state;
    const float logits[5] = { 0.5f, 3.0f, -2.0f, 3.0f, 1.0f };
    sl_router r = { .E = 1, .K = 1, .score = SL_SCORE_SOFTMAX, .renorm = true, .scale = 1.0f };
    routed got = route(&r, logits);
    assert_int_equal(got.ids[0], 0);
    near(got.weights[0], 1.0);
    r.E = r.K = 5;
    got = route(&r, logits);
    const int32_t want[5] = { 1, 3, 4, 0, 2 };
    float sum = 0.0f;
    for (size_t s = 0; s < 5; s++) {
        assert_int_equal(got.ids[s], want[s]);
        sum += got.weights[s];
    }
    near(sum, 1.0);
}

/* The reference's steps in double, with a full sort. The scores are far enough apart that rounding picks no other. */
static void reference(const sl_router *r, const float *logits, routed *out)
{
    double score[E_MAX], choice[E_MAX], worth[E_MAX], sum = 0.0;
    bool kept[E_MAX] = { 0 }, used[E_MAX] = { 0 };
    for (size_t e = 0; e < r->E; e++)
        sum += exp((double)logits[e]);
    for (size_t e = 0; e < r->E; e++) {
        const double x = (double)logits[e];
        score[e] = r->score == SL_SCORE_SOFTMAX ? exp(x) / sum : r->score == SL_SCORE_SIGMOID ? sigmoid(x) : x;
        choice[e] = score[e] + (r->correction ? (double)r->correction[e] : 0.0);
    }
    const size_t size = r->E / r->n_groups;
    for (size_t g = 0; g < r->n_groups; g++) {
        bool taken[E_MAX] = { 0 };
        worth[g] = 0.0;
        for (size_t n = 0; n < r->n_group_best && n < size; n++) {
            size_t best = SIZE_MAX;
            for (size_t e = g * size; e < (g + 1) * size; e++)
                if (!taken[e] && (best == SIZE_MAX || choice[e] > choice[best]))
                    best = e;
            taken[best] = true;
            worth[g] += choice[best];
        }
    }
    for (size_t n = 0; n < r->n_groups_kept; n++) {
        size_t best = SIZE_MAX;
        for (size_t g = 0; g < r->n_groups; g++)
            if (!kept[g] && (best == SIZE_MAX || worth[g] > worth[best]))
                best = g;
        kept[best] = true;
    }
    double total = 0.0, weights[E_MAX];
    for (size_t s = 0; s < r->K; s++) {
        size_t best = SIZE_MAX;
        for (size_t e = 0; e < r->E; e++)
            if (!used[e] && kept[e / size] && (best == SIZE_MAX || choice[e] > choice[best]))
                best = e;
        used[best] = true;
        out->ids[s] = (int32_t)best;
        weights[s] = r->score == SL_SCORE_PICKED ? exp(score[best]) : score[best];
        total += weights[s];
    }
    for (size_t s = 0; s < r->K; s++) {
        if (r->renorm || r->score == SL_SCORE_PICKED)
            weights[s] /= total;
        out->weights[s] = (float)(weights[s] * (double)r->scale);
    }
}

static void many_routers(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        uint64_t draw = 0;
        static const size_t groups[] = { 1, 1, 2, 4, 8 };
        float logits[E_MAX], correction[E_MAX];
        sl_router r = { .score = (sl_score)(sl_rng_u64(seed, draw++) % 3), .scale = 1.0f, .n_group_best = 2 };
        r.n_groups = groups[sl_rng_u64(seed, draw++) % 5];
        r.E = r.n_groups * (1 + sl_rng_u64(seed, draw++) % (E_MAX / r.n_groups));
        r.n_groups_kept = 1 + sl_rng_u64(seed, draw++) % r.n_groups;
        r.K = 1 + sl_rng_u64(seed, draw++) % (r.n_groups_kept * (r.E / r.n_groups));
        r.renorm = sl_rng_u64(seed, draw++) % 2;
        r.scale = sl_rng_u64(seed, draw++) % 2 ? 2.5f : 1.0f;
        r.n_group_best = 1 + sl_rng_u64(seed, draw++) % 2;
        /* Distinct steps of an eighth in random order, for logits and for a correction that may outweigh them. */
        for (size_t e = 0; e < r.E; e++)
            logits[e] = (float)e / 8.0f - 2.0f;
        for (size_t e = r.E; e-- > 1;) {
            const size_t o = sl_rng_u64(seed, draw++) % (e + 1);
            const float x = logits[e];
            logits[e] = logits[o];
            logits[o] = x;
        }
        for (size_t e = 0; e < r.E; e++)
            correction[e] = (float)(sl_rng_u64(seed, draw++) % 1000003) / 500000.0f - 1.5f;
        if (sl_rng_u64(seed, draw++) % 2)
            r.correction = correction;
        routed want = { 0 }, got = route(&r, logits);
        reference(&r, logits, &want);
        for (size_t s = 0; s < r.K; s++) {
            if (got.ids[s] != want.ids[s])
                fail_msg("seed %zu: pick %zu of %zu is %d, should be %d", (size_t)seed, s, r.K, got.ids[s],
                         want.ids[s]);
            near(got.weights[s], (double)want.weights[s]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correction_picks_and_never_weighs),
        cmocka_unit_test(groups_are_worth_their_two_best),
        cmocka_unit_test(zero_scores_give_finite_weights),
        cmocka_unit_test(ties_go_to_the_lower_number),
        cmocka_unit_test(scaling_and_renormalising_are_two_things),
        cmocka_unit_test(one_expert_and_all_experts),
        cmocka_unit_test(many_routers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
