/* test_fit.c - the context that fits, and what is refused before it is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/runner.h"

#define TINY TEST_DATA "/gguf/llama-small-F16/llama-small-F16.gguf"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

#define MIB ((size_t)1 << 20)

static sl_model *model; /* says that it was trained with 2^20 positions */

static sl_memory estimate(const sl_engine_options *o)
{
    sl_memory n = { 0 };
    sl_err err = { 0 };
    if (sl_engine_estimate(model, o, &n, &err))
        fail_msg("%s", err.msg);
    return n;
}

static size_t total(const sl_memory *n)
{
    return n->weights + n->kv + n->workspace + n->rest;
}

static void context_follows_memory(void **state)
{
    (void)state;
    size_t before = 0;
    for (size_t max = 16 * MIB; max <= 1024 * MIB; max *= 2) {
        const sl_memory n = estimate(&(sl_engine_options){ .memory_max = max });
        assert_true(n.fits && (n.n_ctx > before || n.n_ctx == (size_t)1 << 20) && n.n_ctx <= (size_t)1 << 20);
        assert_true(total(&n) <= max - max / 16 && n.needed == total(&n));
        assert_int_equal(n.available, max);
        assert_string_equal(n.available_by, "--memory");
        /* A few more positions would not have left the sixteenth free. */
        const sl_memory more = estimate(&(sl_engine_options){ .memory_max = max, .n_ctx = n.n_ctx + 1088 });
        assert_true(n.n_ctx == (size_t)1 << 20 || total(&more) > max - max / 16 - MIB / 2);
        before = n.n_ctx;
    }
}

static void more_sequences_get_shorter_ones(void **state)
{
    (void)state;
    const sl_memory one = estimate(&(sl_engine_options){ .memory_max = 64 * MIB });
    const sl_memory four = estimate(&(sl_engine_options){ .memory_max = 64 * MIB, .n_seqs = 4 });
    const sl_memory wide = estimate(&(sl_engine_options){ .memory_max = 64 * MIB, .kv_type = "f32" });
    assert_in_range(four.n_ctx, one.n_ctx / 5, one.n_ctx / 4 + 1024);
    /* About half: what attention keeps of a long context besides is as large for both. */
    assert_in_range(wide.n_ctx, one.n_ctx / 3, one.n_ctx / 20 * 11);
    const sl_memory pages = estimate(&(sl_engine_options){ .memory_max = 64 * MIB, .kv_page = 4096 });
    assert_true(pages.n_ctx % 1024 == 0 && pages.fits);
}

static void an_engine_has_the_context_that_was_told(void **state)
{
    (void)state;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    sl_engine_info info;
    const sl_engine_options o = { .memory_max = 40 * MIB };
    const sl_memory n = estimate(&o);
    assert_int_equal(sl_engine_create(&e, model, &o, &err), SL_OK);
    sl_engine_describe(e, &info);
    assert_int_equal(info.n_ctx, n.n_ctx);
    assert_int_equal(info.memory.kv, n.kv);
    sl_engine_destroy(e);
}

static size_t mapped_bytes(void)
{
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%zu", &pages), 1);
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void what_does_not_fit_is_refused_with_numbers(void **state)
{
    (void)state;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    const size_t before = mapped_bytes();
    sl_engine_options o = { .memory_max = 64 * MIB, .n_ctx = (size_t)1 << 20 };
    const sl_memory n = estimate(&o);
    assert_false(n.fits);
    assert_int_equal(sl_engine_create(&e, model, &o, &err), SL_ENOMEM);
    assert_null(e);
    assert_true(SANITIZED || mapped_bytes() < before + 4 * MIB);
    for (size_t i = 0; i < 5; i++) {
        static const char *const words[] = { "1048576 positions", "KV cache", "--memory is 64.0 MiB", "--ctx-size ",
                                             " would fit" };
        if (!strstr(err.msg, words[i]))
            fail_msg("\"%s\" is not in: %s", words[i], err.msg);
    }
    /* What is named as fitting does fit, and one page more does not. */
    o.n_ctx = strtoul(strstr(err.msg, "--ctx-size ") + strlen("--ctx-size "), NULL, 10);
    assert_true(estimate(&o).fits);
    assert_int_equal(sl_engine_create(&e, model, &o, &err), SL_OK);
    sl_engine_destroy(e);
    o.n_ctx += 1088;
    assert_false(estimate(&o).fits);
}

static void too_little_for_anything(void **state)
{
    (void)state;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    for (size_t n_ctx = 0; n_ctx < 2; n_ctx++) {
        const sl_engine_options o = { .memory_max = 1, .n_ctx = n_ctx };
        assert_false(estimate(&o).fits);
        assert_int_equal(sl_engine_create(&e, model, &o, &err), SL_ENOMEM);
        assert_non_null(strstr(err.msg, "no context is small enough"));
    }
}

/* The largest of everything: a number too large for any memory, not one that wrapped around. */
static void nothing_wraps(void **state)
{
    (void)state;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    const sl_engine_options cases[] = {
        { .n_ctx = (size_t)1 << 24, .n_seqs = 4096, .kv_type = "f32", .n_threads = 1024 },
        { .n_ctx = (size_t)1 << 24, .n_seqs = 4096, .attn = "plain", .n_ubatch = 1 << 16, .fusion = "none" },
        { .n_seqs = 4096, .n_ubatch = 1 << 16, .memory_max = SIZE_MAX },
    };
    for (size_t i = 0; i < 2; i++) {
        const sl_status rc = sl_engine_create(&e, model, &cases[i], &err);
        assert_true((rc == SL_ENOMEM || rc == SL_EINVAL) && !e && err.msg[0]);
    }
    const sl_memory n = estimate(&cases[2]);
    assert_true(n.fits && n.n_ctx >= 64);
}

static void address_space_counts(void **state)
{
    (void)state;
    if (SANITIZED) {
        puts("SKIPPED: a sanitizer maps more than any limit");
        skip();
    }
    const size_t mapped = mapped_bytes();
    const pid_t child = fork();
    if (child == 0) {
        sl_engine *e = NULL;
        sl_err err = { 0 };
        sl_memory n = { 0 };
        const struct rlimit limit = { mapped + 256 * MIB, mapped + 256 * MIB };
        setrlimit(RLIMIT_AS, &limit);
        int bad = sl_engine_estimate(model, &(sl_engine_options){ .n_threads = 2 }, &n, &err) || !n.fits ||
                  !strstr(n.available_by, "ulimit -v") || n.n_ctx >= (size_t)1 << 20;
        bad |= 2 * !!sl_engine_create(&e, model, &(sl_engine_options){ .n_threads = 2 }, &err);
        sl_engine_destroy(e);
        bad |= 4 * (sl_engine_create(&e, model, &(sl_engine_options){ .n_ctx = (size_t)1 << 20, .n_threads = 2 },
                                     &err) != SL_ENOMEM);
        bad |= 8 * !strstr(err.msg, "ulimit -v");
        _exit(bad);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    static const char *const overrides[] = { "llama.context_length=int:1048576" };
    const sl_model_options o = { .text = { .overrides = overrides, .n_overrides = 1 } };
    sl_err err = { 0 };
    if (sl_model_open_with(&model, TINY, &o, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_follows_memory),
        cmocka_unit_test(more_sequences_get_shorter_ones),
        cmocka_unit_test(an_engine_has_the_context_that_was_told),
        cmocka_unit_test(what_does_not_fit_is_refused_with_numbers),
        cmocka_unit_test(too_little_for_anything),
        cmocka_unit_test(nothing_wraps),
        cmocka_unit_test(address_space_counts),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_model_close(model);
    return failed;
}
