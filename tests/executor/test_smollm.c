/* test_smollm.c - a real model, SmolLM2-135M-Instruct, against Transformers: log-probabilities,
 * greedy text and perplexity, on the exact path and with the defaults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/default_model.h"
#include "support/npy.h"
#include "support/runner.h"

#define DIR TEST_DATA "/smollm2/"

static sl_model *model;
static json_t *manifest;

static size_t read_ids(const json_t *list, int32_t **out)
{
    const size_t n = json_array_size(list);
    *out = malloc(n * sizeof **out);
    assert_non_null(*out);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return n;
}

/* log of the sum of exponentials, in double. */
static double log_sum(const float *logits, size_t n)
{
    double max = (double)logits[0], sum = 0.0;
    for (size_t i = 1; i < n; i++)
        max = fmax(max, (double)logits[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - max);
    return max + log(sum);
}

static int32_t best(const float *logits, size_t n)
{
    size_t b = 0;
    for (size_t i = 1; i < n; i++)
        if (logits[i] > logits[b])
            b = i;
    return (int32_t)b;
}

typedef struct agreement {
    double worst;            /* largest |log-probability difference| */
    size_t positions, equal; /* of the most likely token */
    size_t clear_wrong;      /* another token although the oracle's margin is above 1e-3 */
} agreement;

static void compare_top20(const char *name, const run_result *got, agreement *a)
{
    char path[512];
    npy ids = { 0 }, logprobs = { 0 };
    snprintf(path, sizeof path, DIR "%s.top20_ids.npy", name);
    assert_true(npy_load(&ids, path));
    snprintf(path, sizeof path, DIR "%s.top20_logprobs.npy", name);
    assert_true(npy_load(&logprobs, path));
    for (size_t p = 0; p < ids.dims[0]; p++) {
        const float *row = got->logits + p * got->n_vocab;
        const double norm = log_sum(row, got->n_vocab);
        for (size_t i = 0; i < 20; i++)
            a->worst = fmax(a->worst, fabs((double)row[ids.i32[p * 20 + i]] - norm - (double)logprobs.f32[p * 20 + i]));
        const bool same = best(row, got->n_vocab) == ids.i32[p * 20];
        a->positions++;
        a->equal += same;
        a->clear_wrong += !same && logprobs.f32[p * 20] - logprobs.f32[p * 20 + 1] > 1e-3f;
    }
    npy_free(&ids);
    npy_free(&logprobs);
}

/* Greedy tokens, up to a step that the reference itself decides by less than 1e-3. */
static void compare_greedy(const json_t *prompt, const run_result *got)
{
    int32_t *greedy = NULL;
    const size_t n = read_ids(json_object_get(prompt, "greedy"), &greedy);
    const json_t *margins = json_object_get(prompt, "greedy_margins");
    assert_int_equal(n, 64);
    for (size_t t = 0; t < n; t++) {
        if (json_number_value(json_array_get(margins, t)) < 1e-3)
            break;
        if (got->tokens[t] != greedy[t])
            fail_msg("%s: greedy token %zu is %d, not %d", json_string_value(json_object_get(prompt, "name")), t,
                     got->tokens[t], greedy[t]);
    }
    free(greedy);
}

static agreement all_prompts(const sl_engine_options *o, bool greedy)
{
    agreement a = { 0 };
    size_t i = 0;
    const json_t *prompt = NULL;
    json_array_foreach(json_object_get(manifest, "prompts"), i, prompt)
    {
        int32_t *ids = NULL;
        run_result got = { 0 };
        const size_t n = read_ids(json_object_get(prompt, "ids"), &ids);
        run_alone(model, o, ids, n, 64, &got);
        compare_top20(json_string_value(json_object_get(prompt, "name")), &got, &a);
        if (greedy)
            compare_greedy(prompt, &got);
        run_result_free(&got);
        free(ids);
    }
    return a;
}

typedef struct scorer {
    const int32_t *ids;
    size_t n;
    double nll;
} scorer;

static bool score(void *user, const sl_event *event)
{
    scorer *s = user;
    if (event->kind == SL_EVENT_LOGITS && event->position + 1 < s->n)
        s->nll += log_sum(event->logits, event->n_vocab) - (double)event->logits[s->ids[event->position + 1]];
    return true;
}

static double perplexity(const sl_engine_options *options)
{
    sl_engine_options o = *options;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    int32_t *ids = NULL;
    scorer s = { .n = read_ids(json_object_get(json_object_get(manifest, "perplexity"), "ids"), &ids) };
    s.ids = ids;
    o.n_ctx = 2048;
    o.n_outputs = 128;
    if (sl_engine_create(&e, model, &o, &err))
        fail_msg("%s", err.msg);
    const sl_request r = {
        .prompt = ids, .n_prompt = s.n, .prompt_logits = true, .top_p = 1.0f, .on_event = score, .user = &s
    };
    if (sl_engine_submit(e, &r, NULL, &err))
        fail_msg("%s", err.msg);
    run_all(e);
    sl_engine_destroy(e);
    free(ids);
    return exp(s.nll / (double)(s.n - 1));
}

static double reference_perplexity(void)
{
    return json_number_value(json_object_get(json_object_get(manifest, "perplexity"), "ppl"));
}

static void exact_path(void **state)
{
    (void)state;
    const sl_engine_options o = { .act = "f32", .kv_type = "f32", .n_ctx = 256, .n_outputs = 128 };
    const agreement a = all_prompts(&o, true);
    print_message("exact: worst log-probability difference %.2e, top-1 %zu of %zu\n", a.worst, a.equal, a.positions);
    assert_true(a.worst < 2e-3);
    assert_int_equal(a.clear_wrong, 0);
    const double ppl = perplexity(&o);
    print_message("exact: perplexity %.5f, reference %.5f\n", ppl, reference_perplexity());
    assert_true(fabs(ppl / reference_perplexity() - 1.0) < 1e-3);
}

static void defaults(void **state)
{
    (void)state;
    const sl_engine_options o = { .n_ctx = 256, .n_outputs = 128 };
    const agreement a = all_prompts(&o, false);
    print_message("defaults: worst log-probability difference %.2e, top-1 %zu of %zu\n", a.worst, a.equal, a.positions);
    assert_true((double)a.equal >= 0.96 * (double)a.positions);
    const double ppl = perplexity(&o);
    print_message("defaults: perplexity %.5f, reference %.5f\n", ppl, reference_perplexity());
    assert_true(fabs(ppl / reference_perplexity() - 1.0) < 1e-2);
}

int main(void)
{
    char path[1024];
    sl_err err = { 0 };
    json_error_t error;
    if (!default_model(path, sizeof path))
        return EXIT_SKIPPED;
    manifest = json_load_file(DIR "manifest.json", 0, &error);
    if (!manifest || sl_model_open(&model, path, &err)) {
        fprintf(stderr, "%s%s\n", manifest ? "" : error.text, err.msg);
        return 1;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(exact_path), cmocka_unit_test(defaults) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_model_close(model);
    json_decref(manifest);
    return failed;
}
