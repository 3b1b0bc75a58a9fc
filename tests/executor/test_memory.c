/* test_memory.c - what an engine says that it will take is what it takes, and not before it needs it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "sluice/sluice.h"
#include "support/default_model.h"

#define N ((size_t)2048)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static char path[1024];

/* A line of /proc/self/status, in bytes. */
static size_t status_bytes(const char *key)
{
    char line[256];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            assert_int_equal(sscanf(line + strlen(key), ": %zu kB", &kib), 1);
    fclose(f);
    return kib * 1024;
}

static void pages_are_not_touched_before_use(void **state)
{
    (void)state;
    sl_model *m = NULL;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    sl_engine_info info;
    assert_int_equal(sl_model_open(&m, path, &err), SL_OK);
    const size_t before = status_bytes("VmRSS");
    assert_int_equal(sl_engine_create(&e, m, &(sl_engine_options){ .n_ctx = 8192, .n_seqs = 4 }, &err), SL_OK);
    sl_engine_describe(e, &info);
    assert_true(info.memory.kv > (size_t)500 << 20);
    assert_true(status_bytes("VmRSS") < before + ((size_t)8 << 20));
    sl_engine_destroy(e);
    sl_model_close(m);
}

static void prediction_holds(void **state)
{
    (void)state;
    static int32_t prompt[N];
    sl_model *m = NULL;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    sl_memory said = { 0 };
    const sl_engine_options options = { .n_ctx = N };
    for (size_t i = 0; i < N; i++)
        prompt[i] = (int32_t)(i * 7919 % 49152);
    assert_int_equal(sl_model_open(&m, path, &err), SL_OK);
    assert_int_equal(sl_engine_estimate(m, &options, &said, &err), SL_OK);
    assert_int_equal(sl_engine_create(&e, m, &options, &err), SL_OK);
    const sl_request r = { .prompt = prompt, .n_prompt = N, .n_predict = 1, .top_p = 1 };
    assert_int_equal(sl_engine_submit(e, &r, NULL, &err), SL_OK);
    while (sl_engine_busy(e))
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    const double total = (double)(said.weights + said.kv + said.workspace + said.rest),
                 peak = (double)status_bytes("VmHWM");
    print_message("weights %zu, kv %zu, workspace %zu, rest %zu: %.1f MiB; peak %.1f MiB\n", said.weights, said.kv,
                  said.workspace, said.rest, total / 0x1p20, peak / 0x1p20);
    const double allowed = 0.05 * total > 16 * 0x1p20 ? 0.05 * total : 16 * 0x1p20;
    assert_true(peak - total < allowed && total - peak < allowed);
    sl_engine_destroy(e);
    sl_model_close(m);
}

int main(void)
{
#if SANITIZED
    printf("SKIPPED: a sanitizer's memory is not the engine's\n");
    return EXIT_SKIPPED;
#endif
    if (!default_model(path, sizeof path))
        return EXIT_SKIPPED;
    const struct CMUnitTest tests[] = { cmocka_unit_test(pages_are_not_touched_before_use),
                                        cmocka_unit_test(prediction_holds) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
