/* test_bitwise.c MODEL|FOLDER - the promise of docs/numerics.md: a request's logits are the same bits
 * whatever the threads, chunks, pages, mode and company, and whether it read its prompt or was
 * forked from one that did. One test for all switches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/num.h"
#include "base/rng.h"
#include "support/default_model.h"
#include "support/runner.h"

#define N_PREDICT 6

static const char *path;

/* Longer than a chunk of attention; ids are noise. */
static void fill_prompt(int32_t *ids, size_t n, uint64_t seed, size_t n_vocab)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(sl_rng_u64(seed, i) % n_vocab);
}

static void assert_same(const run_result *want, const run_result *got, const char *what)
{
    assert_int_equal(got->n_rows, want->n_rows);
    assert_int_equal(got->n_tokens, want->n_tokens);
    for (size_t r = 0; r < want->n_rows; r++)
        if (memcmp(want->logits + r * want->n_vocab, got->logits + r * want->n_vocab, want->n_vocab * sizeof(float)) !=
            0)
            fail_msg("%s: row %zu of %zu has other bits", what, r, want->n_rows);
    assert_memory_equal(want->tokens, got->tokens, want->n_tokens * sizeof *want->tokens);
}

/* The request between seven others that come at other times, have other lengths and end earlier or later. */
static void run_in_company(const sl_model *m, const sl_engine_options *options, const int32_t *prompt, size_t n,
                           size_t n_vocab, run_result *got)
{
    static const size_t length[7] = { 1, 40, 5, 133, 2, 17, 64 }, predict[7] = { 9, 3, 20, 1, 5, 2, 8 };
    sl_engine_options o = *options;
    run_result other[7] = { 0 };
    int32_t ids[7][133];
    sl_engine *e = NULL;
    sl_err err = { 0 };
    o.n_seqs = 8;
    o.n_outputs = o.n_ubatch;
    if (sl_engine_create(&e, m, &o, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < 7; i++) {
        fill_prompt(ids[i], length[i], 100 + i, n_vocab);
        run_submit(e, ids[i], length[i], predict[i], &other[i]);
        if (i == 3)
            run_submit(e, prompt, n, N_PREDICT, got);
        if (i % 2)
            assert_int_equal(sl_engine_step(e, &err), SL_OK);
    }
    run_all(e);
    for (size_t i = 0; i < 7; i++) {
        assert_true(other[i].ended && other[i].n_tokens == predict[i]);
        run_result_free(&other[i]);
    }
    sl_engine_destroy(e);
}

/* Forked at once and while the first one speaks: rows behind the prompt are those of `want`. */
static void assert_same_when_forked(const sl_model *m, const sl_engine_options *options, const int32_t *prompt,
                                    size_t n, const run_result *want)
{
    sl_engine_options o = *options;
    run_result first = { 0 }, fork[2] = { 0 };
    sl_engine *e = NULL;
    sl_err err = { 0 };
    o.n_seqs = 3;
    o.kv_page = 16;
    if (sl_engine_create(&e, m, &o, &err))
        fail_msg("%s", err.msg);
    sl_request r = { .prompt = prompt,
                     .n_prompt = n,
                     .n_predict = N_PREDICT,
                     .ignore_eos = true,
                     .top_p = 1.0f,
                     .on_event = run_collect,
                     .user = &first };
    sl_request_id id = 0;
    assert_int_equal(sl_engine_submit(e, &r, &id, &err), SL_OK);
    r.user = &fork[0];
    assert_int_equal(sl_engine_fork(e, id, &r, NULL, &err), SL_OK);
    while (first.n_tokens < 2)
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    r.user = &fork[1];
    r.n_predict = N_PREDICT - 2;
    assert_int_equal(sl_engine_fork(e, id, &r, NULL, &err), SL_OK);
    run_all(e);
    const size_t row = want->n_vocab * sizeof(float);
    for (size_t i = 0; i < 2; i++) {
        const size_t skip = 2 * i;
        assert_int_equal(fork[i].n_tokens, N_PREDICT - skip);
        assert_memory_equal(fork[i].tokens, want->tokens + skip, fork[i].n_tokens * sizeof *want->tokens);
        assert_memory_equal(fork[i].first, want->logits + (n - 1 + skip) * want->n_vocab, row);
        assert_memory_equal(fork[i].logits, want->logits + (n + skip) * want->n_vocab, fork[i].n_rows * row);
        run_result_free(&fork[i]);
    }
    run_result_free(&first);
    sl_engine_destroy(e);
}

/* A conversation: first some tokens, then all of it, of which the engine has kept what it read and said. */
static void assert_same_when_kept(const sl_model *m, const sl_engine_options *options, const int32_t *prompt, size_t n,
                                  const run_result *want)
{
    sl_engine_options o = *options;
    run_result first = { 0 }, then = { 0 };
    sl_engine *e = NULL;
    sl_engine_stats stats;
    sl_err err = { 0 };
    o.kv_page = 16;
    o.prefix_cache = true;
    if (sl_engine_create(&e, m, &o, &err))
        fail_msg("%s", err.msg);
    sl_request r = { .prompt = prompt, .n_prompt = n, .top_p = 1.0f, .on_event = run_collect, .user = &first };
    r.n_predict = 2;
    r.ignore_eos = true;
    assert_int_equal(sl_engine_submit(e, &r, NULL, &err), SL_OK);
    run_all(e);
    r.user = &then;
    r.n_predict = N_PREDICT;
    assert_int_equal(sl_engine_submit(e, &r, NULL, &err), SL_OK);
    run_all(e);
    sl_engine_get_stats(e, &stats);
    assert_int_equal(stats.kept_tokens, n - 1);
    const size_t row = want->n_vocab * sizeof(float);
    assert_int_equal(then.n_tokens, N_PREDICT);
    assert_memory_equal(then.tokens, want->tokens, then.n_tokens * sizeof *want->tokens);
    assert_memory_equal(then.first, want->logits + (n - 1) * want->n_vocab, row);
    assert_memory_equal(then.logits, want->logits + n * want->n_vocab, then.n_rows * row);
    run_result_free(&first);
    run_result_free(&then);
    sl_engine_destroy(e);
}

static void same_bits(const char *act, const char *kv_type, const char *kv_layout)
{
    static const sl_engine_options variants[] = {
        { .n_threads = 2, .n_ubatch = 512 },
        { .n_threads = 3, .n_ubatch = 64 },
        { .n_threads = 7, .n_ubatch = 512, .prefetch = "off" },
        { .n_threads = 16, .n_ubatch = 90 },
        { .n_threads = 17, .n_ubatch = 512 }, /* more than heads, and than tiles of small operations */
        { .n_threads = 61, .n_ubatch = 96 },
        { .n_threads = 1, .n_ubatch = 7 },
        { .n_threads = 2, .n_ubatch = 8 }, /* steps whose tokens are lanes (kernels.h) */
        { .n_threads = 2, .n_ubatch = 101, .mode = "eager" },
        { .n_threads = 3, .n_ubatch = 48, .prefetch = "on" },
        { .n_threads = 2, .n_ubatch = 3, .prefetch = "on", .mode = "eager" },
        { .n_threads = 1, .n_ubatch = 512, .kv_page = 16 },
        { .n_threads = 1, .n_ubatch = 150, .kv_page = 48 },
        { .n_threads = 2, .n_ubatch = 1, .kv_page = 256 },
        /* from here on in company; with so many threads the chunks of all sequences are shared out */
        { .n_threads = 2, .n_ubatch = 48 },
        { .n_threads = 17, .n_ubatch = 48 },
    };
    const size_t n_alone = SL_COUNT(variants) - 2;
    sl_model *m = NULL;
    sl_err err = { 0 };
    sl_model_info info;
    if (sl_model_open(&m, path, &err))
        fail_msg("%s", err.msg);
    sl_model_describe(m, &info);
    const size_t n = info.n_layers > 8 ? 70 : 290; /* a real model takes its time */
    int32_t prompt[290];
    fill_prompt(prompt, n, 1, info.n_vocab);

    run_result want = { 0 };
    const sl_engine_options plain = { .n_threads = 1,
                                      .n_ubatch = 512,
                                      .n_outputs = 512,
                                      .n_ctx = 512,
                                      .act = act,
                                      .kv_type = kv_type,
                                      .kv_layout = kv_layout };
    run_alone(m, &plain, prompt, n, N_PREDICT, &want);
    for (size_t i = 0; i < SL_COUNT(variants); i++) {
        char what[256];
        run_result got = { 0 };
        sl_engine_options o = variants[i];
        o.n_ctx = 512;
        o.n_outputs = o.n_ubatch;
        o.act = act;
        o.kv_type = kv_type;
        o.kv_layout = kv_layout;
        snprintf(what, sizeof what, "%s act=%s kv=%s -t %zu -ub %zu page %zu %s%s", path, act, kv_type, o.n_threads,
                 o.n_ubatch, o.kv_page, o.mode ? o.mode : "", i < n_alone ? "" : "among seven others");
        if (i < n_alone)
            run_alone(m, &o, prompt, n, N_PREDICT, &got);
        else
            run_in_company(m, &o, prompt, n, info.n_vocab, &got);
        assert_same(&want, &got, what);
        run_result_free(&got);
    }
    assert_same_when_forked(m, &plain, prompt, n, &want);
    assert_same_when_kept(m, &plain, prompt, n, &want);
    run_result_free(&want);
    sl_model_close(m);
}

static void default_types(void **state)
{
    (void)state;
    same_bits("int8", "f16", "grouped");
}

static void exact_types(void **state)
{
    (void)state;
    same_bits("f32", "f32", "grouped");
}

static void bf16_pages(void **state)
{
    (void)state;
    same_bits("int8", "bf16", "grouped");
}

static void int8_pages(void **state)
{
    (void)state;
    same_bits("int8", "int8", "grouped");
}

static void token_layout(void **state)
{
    (void)state;
    same_bits("int8", "f16", "token");
}

int main(int argc, char **argv)
{
    static char cached[1024];
    struct stat file = { 0 };
    if (argc != 2) {
        fprintf(stderr, "usage: test_bitwise MODEL.gguf|--default-model\n");
        return 2;
    }
    path = argv[1];
    if (strcmp(path, "--default-model") == 0) {
        if (!default_model(cached, sizeof cached))
            return EXIT_SKIPPED;
        path = cached;
    } else if (stat(path, &file) == 0 && file.st_size == 0) {
        printf("SKIPPED: %s could not be made (python3-numpy is missing)\n", path);
        return EXIT_SKIPPED;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(default_types), cmocka_unit_test(exact_types),
                                        cmocka_unit_test(bf16_pages), cmocka_unit_test(int8_pages),
                                        cmocka_unit_test(token_layout) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
