/* test_faults.c - numbers that are none, in one of several running requests (bug report B154 and its kind): that one
 * ends and says why, the others say bit for bit what they say alone, and so does who gets its pages next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "support/hf_build.h"
#include "support/runner.h"

#define WIDTH 64 /* of the fixtures */
#define BAD   5  /* the token whose row of the embedding is broken */

static unsigned char *read_file(const char *folder, const char *name, size_t *n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    unsigned char *bytes = calloc(*n + 1, 1);
    assert_non_null(bytes);
    rewind(f);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

/* A fixture of F32 with `value` in that row. */
static void break_model(hf_build *b, const char *folder, float value)
{
    size_t n = 0, begin = 0;
    uint64_t len = 0;
    unsigned char *config = read_file(folder, "config.json", &n);
    hf_begin(b);
    hf_text(b, "config.json", (const char *)config);
    unsigned char *file = read_file(folder, "model.safetensors", &n);
    memcpy(&len, file, sizeof len);
    const char *at = strstr((const char *)file + 8, "\"model.embed_tokens.weight\"");
    at = at ? strstr(at, "\"data_offsets\":[") : NULL;
    assert_true(at && sscanf(at, "\"data_offsets\":[%zu", &begin) == 1);
    for (size_t i = 0; i < WIDTH; i++)
        memcpy(file + 8 + len + begin + (BAD * WIDTH + i) * sizeof value, &value, sizeof value);
    hf_write(b, "model.safetensors", file, n);
    free(config);
    free(file);
}

static void assert_same(const run_result *want, const run_result *got)
{
    assert_true(got->ended && got->finish == SL_FINISH_LENGTH && got->n_rows == want->n_rows);
    assert_memory_equal(got->tokens, want->tokens, want->n_tokens * sizeof *want->tokens);
    assert_memory_equal(got->logits, want->logits, want->n_rows * want->n_vocab * sizeof(float));
}

static void beside_others(const sl_model *m, const sl_engine_options *options)
{
    static const int32_t healthy[3][4] = { { 1, 2, 3, 4 }, { 9, 8, 7, 6 }, { 11, 12, 13, 14 } },
                         broken[3] = { 1, 2, BAD };
    run_result want[3] = { 0 }, got[3] = { 0 }, bad = { 0 };
    sl_engine_options o = *options;
    sl_engine *e = NULL;
    sl_engine_stats stats;
    sl_err err = { 0 };
    for (size_t i = 0; i < 3; i++)
        run_alone(m, &o, healthy[i], 4, 6, &want[i]);
    o.n_seqs = 3;
    if (sl_engine_create(&e, m, &o, &err))
        fail_msg("%s", err.msg);
    run_submit(e, healthy[0], 4, 6, &got[0]);
    run_submit(e, broken, 3, 6, &bad);
    run_submit(e, healthy[1], 4, 6, &got[1]);
    run_all(e);
    assert_true(bad.ended && bad.finish == SL_FINISH_FAULT && bad.n_tokens == 0);
    run_submit(e, healthy[2], 4, 6, &got[2]); /* in the pages that the broken one left */
    run_all(e);
    for (size_t i = 0; i < 3; i++) {
        assert_same(&want[i], &got[i]);
        run_result_free(&want[i]);
        run_result_free(&got[i]);
    }
    sl_engine_get_stats(e, &stats);
    assert_int_equal(stats.faults, 1);
    assert_string_equal(sl_finish_name(bad.finish), "fault");
    run_result_free(&bad);
    sl_engine_destroy(e);
}

static void only_the_broken_one_ends(void **state)
{
    (void)state;
    static const char *const models[] = { TEST_DATA "/hf/llama_gqa/f32", TEST_DATA "/hf/gpt_oss/f32" };
    static const float values[] = { NAN, INFINITY };
    static const sl_engine_options options[] = {
        { .n_threads = 1 },
        { .n_threads = 2, .kv_type = "int8" },
        { .n_threads = 2, .act = "f32", .kv_type = "f32", .fusion = "none", .attn = "plain" },
        { .n_threads = 1, .n_ubatch = 2, .mode = "eager", .kv_type = "bf16" },
    };
    for (size_t i = 0; i < SL_COUNT(models) * SL_COUNT(values); i++) {
        hf_build b;
        sl_model *m = NULL;
        sl_err err = { 0 };
        break_model(&b, models[i / 2], values[i % 2]);
        if (sl_model_open(&m, b.dir, &err))
            fail_msg("%s", err.msg);
        for (size_t o = 0; o < SL_COUNT(options); o++) {
            sl_engine_options own = options[o];
            own.n_ctx = 64;
            own.kv_page = 16;
            own.n_outputs = 16;
            beside_others(m, &own);
        }
        sl_model_close(m);
        hf_end(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(only_the_broken_one_ends) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
