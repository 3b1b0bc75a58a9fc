/* test_heap.c - the step takes nothing from the heap, and the engine holds little of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "support/default_model.h"
#include "support/heapcount.h"
#include "tokenizer/tokenizer.h"
#include "sluice/sluice.h"

#define TINY    TEST_DATA "/gguf/qwen3-small-Q8_0/qwen3-small-Q8_0.gguf"
#define LATENTS TEST_DATA "/hf/deepseek_v3/bf16-sharded2"
#define EXPERTS TEST_DATA "/gguf/qwen3moe-small-Q4_0/qwen3moe-small-Q4_0.gguf"

static bool count_tokens(void *user, const sl_event *event)
{
    *(size_t *)user += event->kind == SL_EVENT_TOKEN;
    return true;
}

#define N_REQUESTS 4

/* Greedy and drawn, weights asked for ahead, two of them forked from others, with all that sampling can do: everything
 * takes part. */
static void thousand_steps_without_the_heap(void **state)
{
    sl_model *m = NULL;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    size_t n_tokens = 0;
    const int32_t prompt[] = { 1, 2, 3, 4 };
    const float bias = -1.0f;
    sl_request_id id = 0;
    assert_int_equal(sl_model_open(&m, *state, &err), SL_OK);
    if (sl_engine_create(
            &e, m, &(sl_engine_options){ .n_threads = 2, .n_seqs = N_REQUESTS, .n_ctx = 2048, .prefetch = "on" }, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < N_REQUESTS; i++) {
        const sl_request r = { .prompt = prompt,
                               .n_prompt = 4,
                               .n_predict = SL_PREDICT_UNTIL_END,
                               .ignore_eos = true,
                               .temperature = i ? 0.8f : 0.0f,
                               .top_k = i == 3 ? 0 : 40,
                               .typical_p = i == 3 ? 0.9f : 1.0f,
                               .top_p = 0.9f,
                               .min_p = 0.01f,
                               .repeat_penalty = 1.1f,
                               .frequency_penalty = 0.1f,
                               .bias_token = prompt,
                               .bias = &bias,
                               .n_bias = 1,
                               .logprobs = true,
                               .top_logprobs = 5,
                               .on_event = count_tokens,
                               .user = &n_tokens };
        assert_int_equal(i < 2 ? sl_engine_submit(e, &r, &id, &err) : sl_engine_fork(e, id, &r, NULL, &err), SL_OK);
    }
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    heapcount_restart();
    n_tokens = 0;
    for (size_t i = 0; i < 1000; i++)
        if (sl_engine_step(e, &err) != SL_OK)
            fail_msg("%s", err.msg);
    const heapcount h = heapcount_get();
    assert_int_equal(n_tokens, N_REQUESTS * 1000);
    assert_int_equal(h.calls, 0);
    assert_int_equal(h.frees, 0);
    sl_engine_destroy(e);
    sl_model_close(m);
}

/* KV and workspace are mapped, not on the heap. */
static void little_steady_heap(void **state)
{
    (void)state;
    char path[1024];
    sl_model *m = NULL;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    sl_model_info info;
    const int32_t prompt[] = { 1, 2, 3, 4 };
    size_t n_tokens = 0;
    if (!default_model(path, sizeof path))
        skip();
    const size_t before = heapcount_get().live_bytes;
    assert_int_equal(sl_model_open(&m, path, &err), SL_OK);
    sl_model_describe(m, &info);
    assert_int_equal(sl_engine_create(&e, m, &(sl_engine_options){ .n_ctx = 2048 }, &err), SL_OK);
    const sl_request r = {
        .prompt = prompt, .n_prompt = 4, .n_predict = 8, .top_p = 1, .on_event = count_tokens, .user = &n_tokens
    };
    assert_int_equal(sl_engine_submit(e, &r, NULL, &err), SL_OK);
    while (sl_engine_busy(e))
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    const size_t held = heapcount_get().live_bytes - before;
    print_message("SmolLM2: %zu bytes of heap held\n", held);
    assert_true(held < ((size_t)40 << 20) + 100 * (info.n_vocab + 48900));
    sl_engine_destroy(e);
    sl_model_close(m);
    assert_true(heapcount_get().live_bytes <= before + 65536);
}

int main(void)
{
    if (!heapcount_works()) {
        printf("SKIPPED: this build brings its own malloc\n");
        return EXIT_SKIPPED;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(thousand_steps_without_the_heap, TINY),
                                        cmocka_unit_test_prestate(thousand_steps_without_the_heap, EXPERTS),
                                        cmocka_unit_test_prestate(thousand_steps_without_the_heap, LATENTS),
                                        cmocka_unit_test(little_steady_heap) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
