/* A bench whose tests need different engines. */
#include "measure/bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/num.h"

static size_t needed(const sl_model *m, sl_engine_options o, size_t n_ctx, size_t n_seqs)
{
    sl_err err = { 0 };
    sl_memory memory;
    o.n_ctx = n_ctx;
    o.n_seqs = n_seqs;
    assert_int_equal(sl_engine_estimate(m, &o, &memory, &err), SL_OK);
    return memory.needed;
}

/* A long context and many sequences each fit, both together do not: whatever their order, every test runs. */
static void test_long_and_wide(void **state)
{
    (void)state;
    char path[512];
    sl_err err = { 0 };
    sl_model *model = NULL;
    sl_bench *b = NULL;
    sl_bench_result r;
    bool fresh = false;
    const sl_bench_test deep = { SL_BENCH_GENERATE, 4, 508, 1 }, wide = { SL_BENCH_GENERATE, 4, 0, 32 },
                        both = { SL_BENCH_GENERATE, 4, 508, 32 };
    snprintf(path, sizeof path, "%s/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf", getenv("TEST_DATA"));
    assert_int_equal(sl_model_open(&model, path, &err), SL_OK);
    sl_engine_options o = { .n_threads = 1, .n_ubatch = 32 };
    o.memory_max = SL_MAX(needed(model, o, 512, 1), needed(model, o, 64, 32)) + 4096;
    assert_true(needed(model, o, 512, 32) > o.memory_max);
    assert_int_equal(sl_bench_create(&b, model, &o, &err), SL_OK);
    sl_bench_fill_random(b);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(sl_bench_run(b, &deep, 0.0, &r, &err), SL_OK);
        assert_int_equal(r.tokens, 4);
        assert_int_equal(sl_bench_run(b, &both, 0.0, &r, &err), SL_ENOMEM);
        assert_int_equal(sl_bench_run(b, &wide, 0.0, &r, &err), SL_OK);
        assert_int_equal(r.tokens, 4 * 32);
    }
    sl_bench_destroy(b);

    o.memory_max = 0; /* with room for both, tests that take turns share an engine */
    assert_int_equal(sl_bench_create(&b, model, &o, &err), SL_OK);
    assert_int_equal(sl_bench_run(b, &deep, 0.0, &r, &err), SL_OK);
    assert_int_equal(sl_bench_run(b, &wide, 0.0, &r, &err), SL_OK);
    assert_int_equal(sl_bench_prepare(b, &deep, &fresh, &err), SL_OK);
    assert_false(fresh);
    sl_bench_destroy(b);
    sl_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_long_and_wide) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
