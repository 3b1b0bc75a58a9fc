/* test_sampler.c - which tokens can be drawn, how often, from which logits; log-probabilities. The edges are those that
 * users of other engines reported: top_p 0 and 1, top_k beyond the vocabulary, masked and NaN logits, penalties. */
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
#include "module/sampler.h"
#include "module/select.h"

#define V     8
#define DRAWS 20000

static const float logits[V] = { 1.0f, 3.0f, 2.0f, 3.0f, 0.0f, -1.0f, -INFINITY, -50.0f };

static sl_sampler *sampler; /* of V tokens */

static int32_t pick(const sl_sampling *s, const float *x, uint64_t position)
{
    return sl_sampler_pick(sampler, s, x, &(sl_said){ 0 }, position);
}

static void count(const sl_sampling *s, const float *x, size_t n, size_t *hits)
{
    memset(hits, 0, n * sizeof *hits);
    for (uint64_t i = 0; i < DRAWS; i++)
        hits[pick(s, x, i)]++;
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
    const sl_sampling a = { .temperature = 2, .top_p = 1, .seed = 11 },
                      b = { .temperature = 2, .top_p = 1, .seed = 12 };
    size_t same = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        const int32_t t = pick(&a, logits, i);
        pick(&b, logits, 999 - i);
        assert_int_equal(pick(&a, logits, i), t);
        same += pick(&b, logits, i) == t;
    }
    assert_true(same < 700);
}

static void nothing_finite_or_everything_equal(void **state)
{
    (void)state;
    const float masked[V] = { -INFINITY, -INFINITY, -INFINITY, 5.0f, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    const float none[V] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    const float nan_first[V] = { NAN, 1.0f, 2.0f, NAN, 0.0f, 0.0f, 0.0f, NAN };
    const sl_sampling s = { .temperature = 1, .top_p = 0.9f, .min_p = 0.05f, .top_k = 4, .seed = 3 },
                      greedy = { .top_p = 1 };
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(pick(&s, masked, i), 3);
        assert_in_range(pick(&s, none, i), 0, V - 1);
        const int32_t t = pick(&s, nan_first, i);
        assert_true(t != 0 && t != 3 && t != 7);
    }
    assert_int_equal(pick(&greedy, masked, 0), 3);
    assert_int_equal(pick(&greedy, nan_first, 0), 2);
    assert_int_equal(pick(&greedy, logits, 0), 1);
}

/* The first of the largest, at every length about those of a vector and of a stretch, and any place. */
static void argmax_of_any_length(void **state)
{
    (void)state;
    static float x[2100];
    for (size_t n = 1; n <= SL_COUNT(x); n += n < 67 || n % 1024 < 3 || n % 1024 > 1003 ? 1 : 17)
        for (size_t at = 0; at < n; at += n < 67 ? 1 : 31) {
            for (size_t i = 0; i < n; i++)
                x[i] = i == at || i == n - 1 ? -1.0f : i % 3 ? -2.0f : NAN;
            assert_int_equal(sl_argmax(x, n), at);
        }
}

/* What says as much as is expected stays, which need not be the likeliest token. */
static void typical_keeps_what_is_expected(void **state)
{
    (void)state;
    static const double p[V] = { 0.6, 0.1, 0.1, 0.1, 0.1, 0, 0, 0 };
    float x[V];
    size_t hits[V];
    double entropy = 0.0;
    for (size_t i = 0; i < V; i++) {
        x[i] = (float)log(p[i]);
        entropy -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    }
    assert_true(fabs(-log(0.1) - entropy) > fabs(-log(0.6) - entropy)); /* 0.6 is the more typical one */
    sl_sampling s = { .temperature = 1, .top_p = 1, .typical_p = 0.5f };
    count(&s, x, V, hits);
    assert_int_equal(hits[0], DRAWS);
    static const double q[V] = { 0.5, 0.25, 0.0625, 0.0625, 0.03125, 0.03125, 0.03125, 0.03125 };
    for (size_t i = 0; i < V; i++) /* entropy 2 bits: the second is expected exactly, the first one bit off */
        x[i] = (float)log(q[i]);
    s.typical_p = 0.2f;
    count(&s, x, V, hits);
    assert_int_equal(hits[1], DRAWS); /* though the first is likelier */
    s.typical_p = 0.7f;               /* both: 0.75 */
    count(&s, x, V, hits);
    assert_int_equal(hits[0] + hits[1], DRAWS);
    assert_true(hits[0] > DRAWS / 2);
    s.typical_p = 0.8f; /* the two of four bits are two bits off; the lower id comes first */
    count(&s, x, V, hits);
    assert_true(hits[2] && !hits[3] && !hits[4]);
    s.top_p = 0; /* of what is left the likeliest */
    s.typical_p = 0.2f;
    count(&s, x, V, hits);
    assert_int_equal(hits[1], DRAWS);
    s.temperature = 0; /* greedy is greedy */
    assert_int_equal(pick(&s, x, 0), 0);
    s = (sl_sampling){ .temperature = 1, .top_p = 1, .typical_p = 1 };
    assert_int_equal(allowed(&s, x, V), V);
}

/* The filters by their definitions, on sorted double probabilities. */
typedef struct wanted {
    double p;
    size_t id;
} wanted;

static int by_p(const void *a, const void *b)
{
    const wanted *x = a, *y = b;
    return x->p != y->p ? (x->p < y->p) - (x->p > y->p) : (x->id > y->id) - (x->id < y->id);
}

static size_t cut(wanted *w, size_t n, const sl_sampling *s)
{
    double sum = 0.0, mass = 0.0;
    size_t kept = 0;
    n = s->top_k && s->top_k < n ? s->top_k : n;
    for (size_t i = 0; i < n; i++)
        sum += w[i].p;
    while (kept < n && (kept == 0 || mass < (double)s->top_p * sum || s->top_p >= 1.0f))
        mass += w[kept++].p;
    while (kept > 1 && w[kept - 1].p < (double)s->min_p * w[0].p)
        kept--;
    return kept;
}

/* A large vocabulary, with ties: who can be drawn is who should be. */
static void filters_equal_their_definition(void **state)
{
    (void)state;
    enum { N = 5003 };
    static float x[N];
    static wanted w[N];
    sl_sampler *large = NULL;
    assert_int_equal(sl_sampler_create(&large, N, NULL), SL_OK);
    for (uint64_t round = 0; round < 40; round++) {
        const sl_sampling s = { .temperature = 50, /* so that all that is left has its chance */
                                .top_k = round % 3 ? (uint32_t)(1 + sl_rng_u64(round, 1) % 40) : 0,
                                .top_p = round % 2 ? 1.0f : (float)sl_rng_uniform(round, 2) * 0.3f,
                                .min_p = round % 5 ? 0.0f : 0.3f,
                                .seed = round };
        const bool masked = round % 8 == 7; /* all but a few, by NaN and -inf */
        for (size_t i = 0; i < N; i++) {
            x[i] = (float)(sl_rng_u64(round + 1000, i) % 64) / 8.0f;
            if (masked && i % 500 != 3)
                x[i] = i % 2 ? NAN : -INFINITY;
            w[i] = (wanted){ masked && i % 500 != 3 ? 0.0 : exp((double)x[i]), i };
        }
        qsort(w, N, sizeof *w, by_p);
        size_t kept = cut(w, N, &s);
        while (w[kept - 1].p <= 0.0)
            kept--;
        bool may[N] = { false }, did[N] = { false };
        for (size_t i = 0; i < kept; i++)
            may[w[i].id] = true;
        for (uint64_t i = 0; i < SL_MIN(20 * kept + 100, 1000); i++) {
            const int32_t t = sl_sampler_pick(large, &s, x, &(sl_said){ 0 }, i);
            if (!may[t])
                fail_msg("round %d: token %d of logit %g among %zu", (int)round, t, (double)x[t], kept);
            did[t] = true;
        }
        size_t seen = 0;
        for (size_t i = 0; i < N; i++)
            seen += did[i];
        if (kept <= 40)
            assert_true(seen * 100 >= kept * 95);
    }
    sl_sampler_destroy(large);
}

/* Selection against a sort: any target, any ties, both signs of zero. */
static void selecting(void **state)
{
    (void)state;
    sl_candidate c[100], kept[100];
    for (uint64_t round = 0; round < 500; round++) {
        const size_t n = 1 + sl_rng_u64(round, 0) % SL_COUNT(c);
        double total = 0.0;
        wanted w[100];
        for (size_t i = 0; i < n; i++) {
            const float x = round % 2 ? (float)(int)(sl_rng_u64(round, i + 1) % 9) - 4.0f
                                      : (float)(sl_rng_uniform(round, i + 1) - 0.5) * 1e-3f;
            c[i] =
                (sl_candidate){ x, 0.25f * (float)(1 + sl_rng_u64(round, i + 200) % 4), sl_select_key(x), (int32_t)i };
            total += (double)c[i].p;
            w[i] = (wanted){ (double)x, i };
        }
        memcpy(kept, c, sizeof kept);
        qsort(w, n, sizeof *w, by_p);
        const double target = sl_rng_uniform(round, 999) * 1.1 * total;
        size_t want = 0;
        for (double mass = 0.0; want < n && (!want || mass < target); want++)
            mass += (double)c[w[want].id].p;
        assert_int_equal(sl_select(kept, n, target), want);
        for (size_t i = 0, from = 0; i < want; i++) { /* all of those, in the order of ids */
            bool found = false;
            for (size_t j = 0; j < want && !found; j++)
                found = (int32_t)w[j].id == kept[i].token;
            assert_true(found && kept[i].token >= (int32_t)from);
            from = (size_t)kept[i].token + 1;
        }
    }
    assert_int_equal(sl_select_key(-0.0f), sl_select_key(0.0f));
    assert_true(sl_select_key(-INFINITY) < sl_select_key(-1.0f) && sl_select_key(-1.0f) < sl_select_key(-0.5f));
    assert_true(sl_select_key(0.0f) < sl_select_key(1e-40f) && sl_select_key(3.0f) < sl_select_key(INFINITY));
}

/* What greedy picks tells the logits apart: raise a rival until it wins. Returns logit of `token` as the sampler sees
 * it. */
static double seen_logit(sl_sampling s, const float *logits_in, const sl_said *said, int32_t token)
{
    float x[V];
    double low = -20.0, high = 20.0;
    const int32_t rival = 7;
    s.temperature = 0;
    for (size_t i = 0; i < V; i++)
        x[i] = -1000.0f;
    x[token] = logits_in[token];
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;
        x[rival] = (float)middle;
        *(sl_sampler_pick(sampler, &s, x, said, 0) == rival ? &high : &low) = middle;
    }
    return high;
}

static void penalties(void **state)
{
    (void)state;
    static const float x[V] = { 2.0f, -2.0f, 1.0f, 3.0f, 0.0f, 0.0f, 0.0f, 0.0f };
    /* Prompt 0 0 0 0 0 1 1 1 4; answer 2 3 3 2 3. */
    static const int32_t token[] = { 0, 0, 0, 0, 0, 1, 1, 1, 4, 2, 3, 3, 2, 3 };
    const sl_said said = { token, 14, 9 }, prompt = { token, 9, 9 };
    const sl_sampling repeat = { .top_p = 1, .repeat_penalty = 1.2f },
                      counted = { .top_p = 1, .presence_penalty = 0.5f, .frequency_penalty = 0.25f };
    /* Once, however often; by the sign; of the prompt too. */
    assert_true(fabs(seen_logit(repeat, x, &said, 0) - 2.0 / 1.2) < 1e-5);
    assert_true(fabs(seen_logit(repeat, x, &said, 1) - -2.0 * 1.2) < 1e-5);
    assert_true(fabs(seen_logit(repeat, x, &said, 3) - 3.0 / 1.2) < 1e-5);
    assert_true(fabs(seen_logit(repeat, x, &said, 5) - 0.0) < 1e-5);
    /* Only what was generated. */
    for (int32_t t = 0; t < 6; t++)
        assert_true(fabs(seen_logit(counted, x, &prompt, t) - (double)x[t]) < 1e-5);
    assert_true(fabs(seen_logit(counted, x, &said, 0) - 2.0) < 1e-5);
    assert_true(fabs(seen_logit(counted, x, &said, 2) - (1.0 - 0.5 - 2 * 0.25)) < 1e-5);
    assert_true(fabs(seen_logit(counted, x, &said, 3) - (3.0 - 0.5 - 3 * 0.25)) < 1e-5);
    /* All three, repetition first; negative ones reward. */
    sl_sampling all = { .top_p = 1, .repeat_penalty = 2, .presence_penalty = -2, .frequency_penalty = 1 };
    assert_true(fabs(seen_logit(all, x, &said, 3) - (1.5 + 2 - 3)) < 1e-5);
    /* The window: the last two hold 2 and 3 once, the last six one token of the prompt. */
    all = counted;
    all.repeat_last_n = 2;
    assert_true(fabs(seen_logit(all, x, &said, 3) - (3.0 - 0.5 - 0.25)) < 1e-5);
    all = repeat;
    all.repeat_last_n = 6;
    assert_true(fabs(seen_logit(all, x, &said, 1) - -2.0) < 1e-5);
    all.repeat_last_n = 7;
    assert_true(fabs(seen_logit(all, x, &said, 1) - -2.4) < 1e-5);
    all.repeat_last_n = SIZE_MAX;
    assert_true(fabs(seen_logit(all, x, &said, 0) - 2.0 / 1.2) < 1e-5);
    /* Bias comes first. */
    all = repeat;
    const int32_t biased[] = { 1, 1 };
    const float value[] = { 3.0f, 1.0f };
    all.bias_token = biased;
    all.bias = value;
    all.n_bias = 2;
    assert_true(fabs(seen_logit(all, x, &said, 1) - 2.0 / 1.2) < 1e-5);
    /* The extremes are numbers still. */
    all = (sl_sampling){ .temperature = 1, .top_p = 0.9f, .repeat_penalty = 1e-38f };
    assert_in_range(sl_sampler_pick(sampler, &all, x, &said, 0), 0, V - 1);
    all.repeat_penalty = 3e38f;
    assert_in_range(sl_sampler_pick(sampler, &all, x, &said, 0), 0, V - 1);
}

/* Greedy and drawn, masked and not, one after another in one room: each as if it were alone. */
static void nothing_is_left_behind(void **state)
{
    (void)state;
    static const float masked[V] = { -INFINITY, 0.0f, -INFINITY, -INFINITY, 1.0f, NAN, -INFINITY, 0.5f };
    static const int32_t token[] = { 3, 4, 4, 1 };
    const sl_said said = { token, 4, 1 };
    const sl_sampling greedy = { .top_p = 1,
                                 .frequency_penalty = 0.25f,
                                 .bias_token = token,
                                 .bias = logits,
                                 .n_bias = 2 },
                      drawn = { .temperature = 1.5f, .top_p = 0.95f, .min_p = 0.01f, .typical_p = 0.9f, .seed = 4 };
    int32_t top[3];
    float lp[3];
    for (uint64_t i = 0; i < 200; i++) {
        sl_sampler *fresh = NULL;
        assert_int_equal(sl_sampler_create(&fresh, V, NULL), SL_OK);
        const sl_sampling *s = i % 2 ? &greedy : &drawn;
        const float *x = i % 3 ? masked : logits;
        const int32_t want = sl_sampler_pick(fresh, s, x, &said, i);
        assert_int_equal(sl_sampler_pick(sampler, s, x, &said, i), want);
        assert_true(x[want] > -INFINITY);
        const float p = sl_sampler_logprobs(fresh, x, want, 3, top, lp);
        assert_true(p == sl_sampler_logprobs(sampler, x, want, 0, NULL, NULL));
        sl_sampler_destroy(fresh);
    }
}

static void log_probabilities(void **state)
{
    (void)state;
    enum { N = 5000, TOP = 20 };
    static float x[N];
    sl_sampler *large = NULL;
    int32_t top[TOP];
    float lp[TOP];
    double sum = 0.0;
    assert_int_equal(sl_sampler_create(&large, N, NULL), SL_OK);
    for (size_t i = 0; i < N; i++) {
        x[i] = (float)(12.0 * sl_rng_uniform(5, i));
        x[i] = i % 7 ? x[i] : (float)(int)x[i]; /* ties */
        sum += exp((double)x[i]);
    }
    x[17] = -INFINITY;
    sum -= exp((double)(float)(12.0 * sl_rng_uniform(5, 17)));
    for (int32_t t = 0; t < N; t += 13)
        if (t != 17)
            assert_true(fabs((double)sl_sampler_logprobs(large, x, t, 0, NULL, NULL) - ((double)x[t] - log(sum))) <
                        2e-6);
    sl_sampler_logprobs(large, x, 0, TOP, top, lp);
    for (size_t i = 0; i < TOP; i++) {
        size_t above = 0; /* tokens that come before this one */
        for (int32_t t = 0; t < N; t++)
            above += x[t] > x[top[i]] || (x[t] == x[top[i]] && t < top[i]);
        assert_int_equal(above, i);
        assert_true(fabs((double)lp[i] - ((double)x[top[i]] - log(sum))) < 2e-6);
    }
    assert_true(sl_sampler_logprobs(large, x, 17, 0, NULL, NULL) == SL_LOGPROB_LEAST);
    sl_sampler_destroy(large);
}

/* Whatever the logits, log-probabilities are numbers that JSON can say. */
static void log_probabilities_are_finite(void **state)
{
    (void)state;
    static const float rows[][V] = {
        { 0, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY },
        { -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY },
        { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN },
        { NAN, 1, 2, 3, 4, 5, 6, INFINITY },
        { 3e38f, -3e38f, 0, 0, 0, 0, 0, NAN },
        { 20000, 0, 0, 0, 0, 0, 0, -20000 },
    };
    for (size_t r = 0; r < SL_COUNT(rows); r++)
        for (int32_t t = 0; t < V; t++) {
            int32_t top[V];
            float lp[V];
            const float own = sl_sampler_logprobs(sampler, rows[r], t, V, top, lp);
            assert_true(own >= SL_LOGPROB_LEAST && own <= 0.0f);
            for (size_t i = 0; i < V; i++) {
                assert_true(lp[i] >= SL_LOGPROB_LEAST && lp[i] <= 0.0f);
                assert_true(i == 0 || lp[i] <= lp[i - 1]);
            }
        }
    assert_true(sl_sampler_logprobs(sampler, rows[0], 0, 0, NULL, NULL) == 0.0f);
    assert_true(sl_sampler_logprobs(sampler, rows[3], 7, 0, NULL, NULL) == 0.0f);
}

static void ranges(void **state)
{
    (void)state;
    static const int32_t id[] = { 2, V, -1 };
    static const float value[] = { 1.0f, NAN };
#define P1 .top_p = 1
    static const struct {
        sl_sampling s;
        const char *word;
    } bad[] = {
        { { P1, .temperature = -0.1f }, "temperature" },
        { { P1, .temperature = NAN }, "temperature" },
        { { P1, .temperature = 101 }, "temperature" },
        { { .top_p = 1.01f }, "top_p" },
        { { .top_p = -0.1f }, "top_p" },
        { { P1, .min_p = NAN }, "min_p" },
        { { P1, .min_p = 1.5f }, "min_p" },
        { { P1, .typical_p = 1.5f }, "typical_p" },
        { { P1, .typical_p = -0.5f }, "typical_p" },
        { { P1, .repeat_penalty = -1 }, "repeat_penalty" },
        { { P1, .repeat_penalty = INFINITY }, "repeat_penalty" },
        { { P1, .repeat_penalty = NAN }, "repeat_penalty" },
        { { P1, .presence_penalty = 2.5f }, "presence_penalty" },
        { { P1, .presence_penalty = -INFINITY }, "presence_penalty" },
        { { P1, .frequency_penalty = -2.5f }, "frequency_penalty" },
        { { P1, .frequency_penalty = NAN }, "frequency_penalty" },
        { { P1, .bias_token = id + 1, .bias = value, .n_bias = 1 }, "logit bias" },
        { { P1, .bias_token = id + 2, .bias = value, .n_bias = 1 }, "logit bias" },
        { { P1, .bias_token = id, .bias = value + 1, .n_bias = 1 }, "logit bias" },
    };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        sl_err err = { 0 };
        assert_int_equal(sl_sampling_check(&bad[i].s, V, &err), SL_EINVAL);
        if (!strstr(err.msg, bad[i].word))
            fail_msg("\"%s\" does not name %s", err.msg, bad[i].word);
    }
    assert_int_equal(sl_sampling_check(&(sl_sampling){ .temperature = 100,
                                                       .top_p = 0,
                                                       .min_p = 1,
                                                       .typical_p = 1,
                                                       .repeat_penalty = 1e-9f,
                                                       .presence_penalty = -2,
                                                       .frequency_penalty = 2,
                                                       .repeat_last_n = SIZE_MAX },
                                       V, NULL),
                     SL_OK);
}

int main(void)
{
    if (sl_sampler_create(&sampler, V, NULL))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_are_the_softmax),
        cmocka_unit_test(filters_keep_the_best),
        cmocka_unit_test(filters_equal_their_definition),
        cmocka_unit_test(selecting),
        cmocka_unit_test(typical_keeps_what_is_expected),
        cmocka_unit_test(penalties),
        cmocka_unit_test(draws_are_counted),
        cmocka_unit_test(nothing_finite_or_everything_equal),
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(log_probabilities),
        cmocka_unit_test(log_probabilities_are_finite),
        cmocka_unit_test(ranges),
        cmocka_unit_test(argmax_of_any_length),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_sampler_destroy(sampler);
    return failed;
}
