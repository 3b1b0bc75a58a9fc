/* test_golden.c - logits and greedy tokens of tiny models against PyTorch, for every switch: each
 * pair of their values, or every combination (setup `full`). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/num.h"
#include "executor/golden.h"
#include "support/default_model.h"
#include "support/full.h"
#include "support/runner.h"

static const char *const fixtures[] = {
    "llama-small-F32",     "llama-small-F16",     "llama-small-BF16",    "llama-small-Q8_0",    "llama-small-Q4_0",
    "llama-small-Q4_1",    "qwen3-small-F32",     "qwen3-small-F16",     "qwen3-small-BF16",    "qwen3-small-Q8_0",
    "qwen3-small-Q4_0",    "qwen3-small-Q4_1",    "llama-small-Q5_0",    "llama-small-Q5_1",    "qwen3-small-Q5_0",
    "qwen3-small-Q5_1",    "llama-k256-Q4_K",     "llama-k256-Q5_K",     "llama-k256-Q6_K",     "qwen3-k256-Q4_K",
    "qwen3-k256-Q6_K",     "llama-k256-Q4_K_M",   "qwen3moe-small-F32",  "qwen3moe-small-F16",  "qwen3moe-small-BF16",
    "qwen3moe-small-Q8_0", "qwen3moe-small-Q4_0", "qwen3moe-small-Q4_1", "qwen3moe-small-Q5_0", "qwen3moe-small-Q5_1",
    "qwen3moe-k256-Q4_K",  "qwen3moe-k256-Q6_K",
};

typedef struct fixture {
    char dir[512];
    sl_model *model;
    golden golden;
} fixture;

/* test_golden DIR MODEL [rounded]: only that one; its golden has a run with rounded inputs. */
static const char *only_dir, *only_model;
static bool own_rounding;

static void fixture_open(fixture *f, const char *name)
{
    char path[640];
    sl_err err = { 0 };
    if (only_dir) {
        snprintf(f->dir, sizeof f->dir, "%s", only_dir);
        snprintf(path, sizeof path, "%s", only_model);
    } else {
        snprintf(f->dir, sizeof f->dir, "%s/gguf/%s", TEST_DATA, name);
        snprintf(path, sizeof path, "%s/%s.gguf", f->dir, name);
    }
    if (sl_model_open(&f->model, path, &err))
        fail_msg("%s", err.msg);
    golden_load(&f->golden, f->dir);
}

static void fixture_close(fixture *f)
{
    sl_model_close(f->model);
    golden_free(&f->golden);
}

static float largest_difference(const golden_prompt *want, const float *logits, const run_result *got, size_t row)
{
    const size_t n = want->logits.dims[1];
    float worst = 0.0f;
    assert_int_equal(got->n_vocab, n);
    for (size_t i = row * n; i < (row + 1) * n; i++) {
        const float d = fabsf(got->logits[i] - logits[i]);
        if (!(d <= worst)) /* a NaN stays */
            worst = d;
    }
    return worst;
}

typedef struct bound {
    float tolerance; /* of a logit, relative to the largest */
    bool greedy;     /* tokens are the same */
    bool flips;      /* rounding may make another choice of experts: a position in four may be farther off */
} bound;

/* All prompts of a fixture, together in one engine. */
static void compare(const fixture *f, const sl_engine_options *options, bound b, const char *what)
{
    sl_engine_options o = *options;
    run_result got[GOLDEN_PROMPTS_MAX] = { 0 };
    sl_engine *e = NULL;
    sl_err err = { 0 };
    size_t rows = 0, far = 0;
    o.n_seqs = f->golden.n;
    o.n_ctx = 192;
    o.n_outputs = 192;
    if (sl_engine_create(&e, f->model, &o, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < f->golden.n; i++)
        run_submit(e, f->golden.prompt[i].ids, f->golden.prompt[i].n_ids, f->golden.prompt[i].n_greedy, &got[i]);
    run_all(e);
    for (size_t i = 0; i < f->golden.n; i++) {
        const golden_prompt *want = &f->golden.prompt[i];
        for (size_t r = 0; r < want->n_ids; r++, rows++) {
            const float d = largest_difference(want, want->logits.f32, &got[i], r),
                        allowed = b.tolerance * want->max_abs_logit;
            far += !(d < allowed);
            if (!(d < allowed) && !(b.flips && d < want->max_abs_logit))
                fail_msg("%s %s, %s: logits of row %zu differ by %g, allowed %g", f->dir, want->name, what, r,
                         (double)d, (double)allowed);
        }
        assert_int_equal(got[i].n_tokens, want->n_greedy);
        for (size_t t = 0; b.greedy && t < want->n_greedy; t++)
            if (got[i].tokens[t] != want->greedy[t])
                fail_msg("%s %s, %s: greedy token %zu is %d, not %d", f->dir, want->name, what, t, got[i].tokens[t],
                         want->greedy[t]);
        run_result_free(&got[i]);
    }
    if (far > rows / 4)
        fail_msg("%s, %s: %zu of %zu rows differ by more than rounding", f->dir, what, far, rows);
    sl_engine_destroy(e);
}

/* ---- switches that must not change the answer ---------------------------------- */

enum { FUSION, MODE, ATTN, MLA, LAYOUT, UBATCH, THREADS, N_SWITCHES };
enum { COMBINATIONS = 4 * 2 * 2 * 3 }; /* of fusion, mode, attention and tokens in a step */

static const uint8_t n_values[N_SWITCHES] = { 4, 2, 2, 3, 2, 3, 2 };

/* Whatever two switches are set to, a row has both (pairs_are_covered). */
static const uint8_t pairs[][N_SWITCHES] = {
    { 0, 0, 1, 1, 1, 0, 0 }, { 1, 0, 1, 2, 1, 0, 1 }, { 2, 0, 1, 0, 1, 0, 1 }, { 3, 1, 0, 0, 0, 0, 0 },
    { 0, 0, 0, 2, 1, 1, 1 }, { 1, 0, 1, 0, 1, 1, 0 }, { 2, 1, 1, 2, 0, 1, 0 }, { 3, 0, 1, 1, 0, 1, 0 },
    { 0, 1, 0, 0, 0, 2, 0 }, { 1, 1, 0, 1, 0, 2, 0 }, { 2, 0, 0, 1, 0, 2, 1 }, { 3, 1, 1, 2, 1, 2, 1 },
};

static void pairs_are_covered(void **state)
{
    (void)state;
    for (size_t a = 0; a < N_SWITCHES; a++)
        for (size_t b = 0; b < a; b++)
            for (size_t want = 0; want < (size_t)n_values[a] * n_values[b]; want++) {
                size_t found = 0;
                for (size_t i = 0; i < SL_COUNT(pairs); i++)
                    found += (size_t)pairs[i][a] * n_values[b] + pairs[i][b] == want;
                if (!found)
                    fail_msg("switches %zu and %zu: no row has the pair %zu", a, b, want);
            }
}

static void exact_with(const fixture *f, const uint8_t row[N_SWITCHES])
{
    static const char *const fusion[] = { "all", "none", "norm", "attn,ffn" }, *const mode[] = { "graph", "eager" };
    static const char *const attn[] = { "flash", "plain" }, *const mla[] = { "auto", "absorbed", "expanded" };
    static const char *const layout[] = { "grouped", "token" };
    static const size_t ubatch[] = { 512, 7, 1 };
    const sl_engine_options o = { .act = "f32",
                                  .kv_type = "f32",
                                  .kv_page = 16,
                                  .fusion = fusion[row[FUSION]],
                                  .mode = mode[row[MODE]],
                                  .attn = attn[row[ATTN]],
                                  .mla = mla[row[MLA]],
                                  .kv_layout = layout[row[LAYOUT]],
                                  .n_ubatch = ubatch[row[UBATCH]],
                                  .n_threads = 1 + (size_t)row[THREADS] };
    const char *cpu = getenv("SLUICE_CPU");
    char what[128];
    snprintf(what, sizeof what, "%s %s fusion=%s %s %s %s -ub %zu -t %zu", cpu ? cpu : "best kernels", o.mode, o.fusion,
             o.attn, o.mla, o.kv_layout, o.n_ubatch, o.n_threads);
    compare(f, &o, (bound){ 2e-4f, true, false }, what);
}

/* On the kernels that the environment leaves. */
static void exact(void **state)
{
    (void)state;
    for (size_t n = 0; n < (only_dir ? 1 : SL_COUNT(fixtures)); n++) {
        fixture f = { 0 };
        fixture_open(&f, fixtures[n]);
        for (size_t i = 0; i < SL_COUNT(pairs); i++)
            exact_with(&f, pairs[i]);
        for (size_t i = 0; test_full() && i < COMBINATIONS; i++) {
            const uint8_t row[N_SWITCHES] = {
                [FUSION] = i % 4,  [MODE] = i / 4 % 2,    [ATTN] = i / 8 % 2,     [UBATCH] = i / 16 % 3,
                [MLA] = i / 2 % 3, [LAYOUT] = i % 5 == 0, [THREADS] = i % 11 == 0
            };
            exact_with(&f, row);
        }
        fixture_close(&f);
    }
}

/* The defaults, and each KV type: within the rounding that they bring. */
static void rounded(void **state)
{
    static const struct {
        const char *act, *kv;
        float tolerance;
        const char *layout;
    } cases[] = {
        { "f32", "f16", 5e-3f, "grouped" },  { "f32", "f16", 5e-3f, "token" },    { "f32", "bf16", 4e-2f, "grouped" },
        { "f32", "bf16", 4e-2f, "token" },   { "f32", "int8", 4e-2f, "grouped" }, { "f32", "int8", 4e-2f, "token" },
        { "auto", "f16", 8e-2f, "grouped" }, { "int8", "f32", 8e-2f, "grouped" },
    };
    (void)state;
    for (size_t n = 0; n < (only_dir ? 1 : SL_COUNT(fixtures)); n++) {
        fixture f = { 0 };
        fixture_open(&f, fixtures[n]);
        sl_model_info info;
        sl_model_describe(f.model, &info);
        const bool flips = info.n_experts > 0;
        for (size_t i = 0; i < SL_COUNT(cases); i++) {
            if (own_rounding && strcmp(cases[i].act, "int8") == 0)
                continue; /* has a run of its own to be compared with */
            /* One scale for a latent and its rotated part is coarse. */
            const float coarse = info.latent_rank && strcmp(cases[i].kv, "int8") == 0 ? 3.0f : 1.0f;
            compare(&f,
                    &(sl_engine_options){ .act = cases[i].act,
                                          .kv_type = cases[i].kv,
                                          .kv_layout = cases[i].layout,
                                          .n_threads = 1,
                                          .mla = i % 2 ? "expanded" : NULL },
                    (bound){ coarse * cases[i].tolerance, false, flips }, cases[i].kv);
        }
        fixture_close(&f);
    }
}

/* One prompt's run with rounded inputs, and not the one without. Returns how many rows are farther from it than `near`
 * times its largest logit. */
static size_t far_from_rounded(const fixture *f, const golden_prompt *want, const sl_engine_options *o, float near,
                               const char *what)
{
    run_result got = { 0 };
    sl_engine *e = NULL;
    sl_err err = { 0 };
    size_t far = 0;
    assert_non_null(want->logits_actq.f32);
    if (sl_engine_create(&e, f->model, o, &err))
        fail_msg("%s", err.msg);
    run_submit(e, want->ids, want->n_ids, want->n_greedy, &got);
    run_all(e);
    double from_rounded = 0.0, from_exact = 0.0;
    for (size_t r = 0; r < want->n_ids; r++) {
        const float d = largest_difference(want, want->logits_actq.f32, &got, r);
        far += !(d < near * want->max_abs_logit);
        from_rounded += (double)d;
        from_exact += (double)largest_difference(want, want->logits.f32, &got, r);
    }
    if (!(from_rounded < from_exact / 2.0))
        fail_msg("%s %s, %s: %g from the rounded run, %g from the exact one", f->dir, want->name, what, from_rounded,
                 from_exact);
    const bool clear = want->greedy_actq_min_margin > 2e-3f * want->max_abs_logit;
    if (!far && clear && memcmp(got.tokens, want->greedy_actq, want->n_greedy * sizeof *got.tokens) != 0)
        fail_msg("%s %s, %s: greedy tokens are not those of the rounded run", f->dir, want->name, what);
    run_result_free(&got);
    sl_engine_destroy(e);
    return far;
}

/* A checkpoint that says how inputs are rounded: what --act int8 computes, on the kernels that the environment leaves.
 * Another order of sums flips a rounding here
 * and there, which may make another choice of experts, for the token and all that see it. */
static void rounded_as_stored(void **state)
{
    static const char *const mla[] = { "absorbed", "expanded" };
    static const char *const fusion[] = { "all", "none", "attn,ffn" };
    fixture f = { 0 };
    sl_model_info info;
    (void)state;
    if (!only_dir || !own_rounding)
        return;
    fixture_open(&f, NULL);
    sl_model_describe(f.model, &info);
    for (size_t i = 0; i < 2 * 3; i++) {
        const sl_engine_options o = { .act = "int8",
                                      .kv_type = "f32",
                                      .mla = mla[i % 2],
                                      .fusion = fusion[i / 2],
                                      .n_seqs = 1,
                                      .n_ctx = 192,
                                      .n_outputs = 192,
                                      .n_ubatch = i % 3 ? 512 : 3 };
        char what[96];
        size_t rows = 0, far = 0;
        snprintf(what, sizeof what, "%s fusion=%s -ub %zu", o.mla, o.fusion, o.n_ubatch);
        for (size_t p = 0; p < f.golden.n; p++) {
            far += far_from_rounded(&f, &f.golden.prompt[p], &o, info.n_experts ? 2e-2f : 3e-2f, what);
            rows += f.golden.prompt[p].n_ids;
        }
        if (far > (info.n_experts ? rows / 3 : 0))
            fail_msg("%s, %s: %zu of %zu rows differ from the rounded run", f.dir, what, far, rows);
    }
    fixture_close(&f);
}

static bool has_floats(const sl_model *m)
{
    sl_model_info info;
    bool found = false;
    sl_model_describe(m, &info);
    for (size_t i = 0; i < info.n_tensors; i++) {
        sl_tensor_info t;
        sl_model_tensor(m, i, &t);
        found = found || strcmp(t.format, "F8_E4M3_128") == 0;
    }
    return found;
}

/* Rounding to 8-bit floats saves no time, so that by default nothing is rounded to them. */
static void floats_by_default(void **state)
{
    fixture f = { 0 };
    (void)state;
    if (!only_dir || !own_rounding)
        return;
    fixture_open(&f, NULL);
    if (has_floats(f.model)) {
        const golden_prompt *p = &f.golden.prompt[f.golden.n - 1];
        run_result exact_run = { 0 }, default_run = { 0 };
        sl_engine_options o = { .act = "f32", .n_ctx = 192, .n_ubatch = 192, .n_outputs = 192 };
        run_alone(f.model, &o, p->ids, p->n_ids, 1, &exact_run);
        o.act = NULL;
        run_alone(f.model, &o, p->ids, p->n_ids, 1, &default_run);
        assert_memory_equal(exact_run.logits, default_run.logits, p->n_ids * exact_run.n_vocab * sizeof(float));
        run_result_free(&exact_run);
        run_result_free(&default_run);
    }
    fixture_close(&f);
}

int main(int argc, char **argv)
{
    struct stat file = { 0 };
    if (argc >= 3) {
        only_dir = argv[1];
        only_model = argv[2];
        own_rounding = argc > 3;
        if (stat(only_model, &file) == 0 && file.st_size == 0) {
            printf("SKIPPED: %s could not be made (python3-numpy is missing)\n", only_model);
            return EXIT_SKIPPED;
        }
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(pairs_are_covered), cmocka_unit_test(exact),
                                        cmocka_unit_test(rounded), cmocka_unit_test(rounded_as_stored),
                                        cmocka_unit_test(floats_by_default) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
