/* test_sampler.c - which tokens can be drawn, how often, and the edges that reports name (B77, B79, B80, B83). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "base/num.h"
#include "module/sampler.h"

#define V     8
#define DRAWS 20000

static const float logits[V] = { 1.0f, 3.0f, 2.0f, 3.0f, 0.0f, -1.0f, -INFINITY, -50.0f };

static void count(const sl_sampling *s, const float *x, size_t n, size_t *hits)
{
    sl_candidate room[V];
    memset(hits, 0, n * sizeof *hits);
    for (uint64_t i = 0; i < DRAWS; i++)
        hits[sl_sample(s, x, n, i, room)]++;
}

static void frequencies_are_the_softmax(void **state)
{
    (void)state;
    for (float temperature = 0.5f; temperature <= 2.0f; temperature *= 2.0f) {
        size_t hits[V];
        double sum = 0.0;
        count(&(sl_sampling){ .temperature = temperature, .top_p = 1, .seed = 7 }, logits, V, hits);
        for (size_t i = 0; i < V; i++)
            sum += exp((double)(logits[i] / temperature));
        for (size_t i = 0; i < V; i++) {
            const double p = exp((double)(logits[i] / temperature)) / sum;
            assert_true(fabs((double)hits[i] / DRAWS - p) < 5.0 * sqrt(p * (1 - p) / DRAWS) + 1e-9);
        }
    }
}

static size_t allowed(const sl_sampling *s, const float *x, size_t n)
{
    size_t hits[V], kinds = 0;
    count(s, x, n, hits);
    for (size_t i = 0; i < n; i++)
        kinds += hits[i] > 0;
    return kinds;
}

static void filters_keep_the_best(void **state)
{
    (void)state;
    size_t hits[V];
    const sl_sampling hot = { .temperature = 5, .top_p = 1, .seed = 1 };
    sl_sampling s = hot;
    s.top_k = 3; /* 1, 3 and 2 */
    count(&s, logits, V, hits);
    assert_true(hits[1] && hits[2] && hits[3] && hits[1] + hits[2] + hits[3] == DRAWS);
    s.top_k = 1;
    count(&s, logits, V, hits);
    assert_int_equal(hits[1], DRAWS); /* the lower id of two equal ones */
    s.top_k = 2147483647;             /* the same as off */
    assert_int_equal(allowed(&s, logits, V), allowed(&hot, logits, V));
    s = hot;
    s.top_p = 0.0f; /* the most likely token, never "off" */
    count(&s, logits, V, hits);
    assert_int_equal(hits[1], DRAWS);
    s.top_p = 0.5f; /* 0.405 + 0.405 */
    assert_int_equal(allowed(&s, logits, V), 2);
    s = hot;
    s.min_p = 0.3f; /* exp(-1) of the best passes, exp(-2) does not */
    assert_int_equal(allowed(&s, logits, V), 3);
    s.min_p = 1.0f;
    assert_int_equal(allowed(&s, logits, V), 2);
}

/* A draw depends on seed and position alone. */
static void draws_are_counted(void **state)
{
    (void)state;
    sl_candidate room[V];
    const sl_sampling a = { .temperature = 2, .top_p = 1, .seed = 11 },
                      b = { .temperature = 2, .top_p = 1, .seed = 12 };
    size_t same = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const int32_t t = sl_sample(&a, logits, V, i, room);
        sl_sample(&b, logits, V, 999 - i, room);
        assert_int_equal(sl_sample(&a, logits, V, i, room), t);
        same += sl_sample(&b, logits, V, i, room) == t;
    }
    assert_true(same < 700);
}

static void nothing_finite_or_everything_equal(void **state)
{
    (void)state;
    sl_candidate room[V];
    const float masked[V] = { -INFINITY, -INFINITY, -INFINITY, 5.0f, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    const float none[V] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    const float nan_first[V] = { NAN, 1.0f, 2.0f, NAN, 0.0f, 0.0f, 0.0f, NAN };
    const sl_sampling s = { .temperature = 1, .top_p = 0.9f, .min_p = 0.05f, .top_k = 4, .seed = 3 },
                      greedy = { .top_p = 1 };
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(sl_sample(&s, masked, V, i, room), 3);
        assert_in_range(sl_sample(&s, none, V, i, room), 0, V - 1);
        const int32_t t = sl_sample(&s, nan_first, V, i, room);
        assert_true(t != 0 && t != 3 && t != 7);
    }
    assert_int_equal(sl_sample(&greedy, masked, V, 0, room), 3);
    assert_int_equal(sl_sample(&greedy, nan_first, V, 0, room), 2);
    assert_int_equal(sl_sample(&greedy, logits, V, 0, room), 1);
}

/* The first of the largest, at every length and place. */
static void argmax_of_any_length(void **state)
{
    (void)state;
    float x[67];
    for (size_t n = 1; n <= SL_COUNT(x); n++)
        for (size_t at = 0; at < n; at++) {
            for (size_t i = 0; i < n; i++)
                x[i] = i == at || i == n - 1 ? -1.0f : i % 3 ? -2.0f : NAN;
            assert_int_equal(sl_argmax(x, n), at);
        }
}

static void ranges(void **state)
{
    (void)state;
    static const sl_sampling bad[] = { { .temperature = -0.1f, .top_p = 1 },
                                       { .temperature = NAN, .top_p = 1 },
                                       { .temperature = 101, .top_p = 1 },
                                       { .top_p = 1.01f },
                                       { .top_p = -0.1f },
                                       { .top_p = 1, .min_p = NAN },
                                       { .top_p = 1, .min_p = 1.5f } };
    static const char *const word[] = {
        "temperature", "temperature", "temperature", "top_p", "top_p", "min_p", "min_p"
    };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        sl_err err = { 0 };
        assert_int_equal(sl_sampling_check(&bad[i], &err), SL_EINVAL);
        assert_non_null(strstr(err.msg, word[i]));
    }
    assert_int_equal(sl_sampling_check(&(sl_sampling){ .temperature = 100, .top_p = 0, .min_p = 1 }, NULL), SL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_are_the_softmax),
        cmocka_unit_test(filters_keep_the_best),
        cmocka_unit_test(draws_are_counted),
        cmocka_unit_test(nothing_finite_or_everything_equal),
        cmocka_unit_test(ranges),
        cmocka_unit_test(argmax_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
