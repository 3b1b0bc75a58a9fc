/* test_engine.c - requests: what is refused, how they end, what they leave behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "support/runner.h"

#define TINY TEST_DATA "/gguf/llama-small-F16/llama-small-F16.gguf"

static sl_model *model;

static sl_engine *make(const sl_engine_options *o)
{
    sl_engine *e = NULL;
    sl_err err = { 0 };
    if (sl_engine_create(&e, model, o, &err))
        fail_msg("%s", err.msg);
    return e;
}

static size_t pages_used(const sl_engine *e)
{
    sl_engine_stats s;
    sl_engine_get_stats(e, &s);
    return s.kv_pages_used;
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    static const struct {
        sl_engine_options o;
        const char *word;
    } cases[] = {
        { { .act = "bf16" }, "--act" },
        { { .kv_type = "q8_0" }, "--kv-type" },
        { { .mode = "lazy" }, "--mode" },
        { { .fusion = "norm,,ffn" }, "--fusion" },
        { { .fusion = "everything" }, "--fusion" },
        { { .attn = "" }, "--attn" },
        { { .kv_page = 24 }, "--kv-page" },
        { { .n_threads = 100000 }, "--threads" },
        { { .n_ctx = SIZE_MAX }, "--ctx-size" },
        { { .n_ubatch = SIZE_MAX / 2 }, "--ubatch-size" },
        { { .n_seqs = 1 << 30 }, "--parallel" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_engine *e = NULL;
        sl_err err = { 0 };
        assert_int_equal(sl_engine_create(&e, model, &cases[i].o, &err), SL_EINVAL);
        assert_null(e);
        if (!strstr(err.msg, cases[i].word))
            fail_msg("\"%s\" does not name %s", err.msg, cases[i].word);
    }
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    static const int32_t ok[] = { 1, 2 }, big[] = { 1, 288 }, negative[] = { -1 };
    static int32_t many[80];
    static const float nan_bias[] = { NAN };
    static const sl_request cases[] = {
        { .prompt = ok, .n_prompt = 0, .top_p = 1 },
        { .prompt = big, .n_prompt = 2, .top_p = 1 },
        { .prompt = negative, .n_prompt = 1, .top_p = 1 },
        { .prompt = many, .n_prompt = 65, .top_p = 1 },
        { .prompt = ok, .n_prompt = 2, .top_p = 1.5f },
        { .prompt = ok, .n_prompt = 2, .top_p = NAN },
        { .prompt = ok, .n_prompt = 2, .top_p = 1, .temperature = -1 },
        { .prompt = ok, .n_prompt = 2, .top_p = 1, .temperature = INFINITY },
        { .prompt = ok, .n_prompt = 2, .top_p = 1, .min_p = 2 },
        { .prompt = ok, .n_prompt = 2, .top_p = 1, .bias_token = big + 1, .bias = &cases[0].top_p, .n_bias = 1 },
        { .prompt = ok, .n_prompt = 2, .top_p = 1, .bias_token = ok, .bias = nan_bias, .n_bias = 1 },
    };
    sl_engine *e = make(&(sl_engine_options){ .n_ctx = 64 });
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_err err = { 0 };
        assert_int_equal(sl_engine_submit(e, &cases[i], NULL, &err), SL_EINVAL);
        assert_true(err.msg[0]);
        assert_false(sl_engine_busy(e));
    }
    sl_engine_destroy(e);
}

static void full_context_ends_a_request(void **state)
{
    (void)state;
    int32_t prompt[64] = { 3 };
    for (size_t n = 60; n <= 64; n++) {
        run_result r = { 0 };
        sl_engine *e = make(&(sl_engine_options){ .n_ctx = 64, .n_outputs = 64 });
        run_submit(e, prompt, n, SL_PREDICT_UNTIL_END, &r);
        run_all(e);
        assert_int_equal(r.finish, SL_FINISH_CONTEXT);
        assert_int_equal(r.n_tokens, 64 - n + 1); /* the last one needs no place */
        assert_int_equal(pages_used(e), 0);
        run_result_free(&r);
        sl_engine_destroy(e);
    }
}

static void callbacks_can_stop_and_prompts_be_only_read(void **state)
{
    (void)state;
    const int32_t prompt[] = { 1, 2, 3, 4, 5 };
    run_result stopped = { .stop_after = 3 }, read = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 2, .n_outputs = 3 });
    run_submit(e, prompt, 5, 100, &stopped);
    run_submit(e, prompt, 5, 0, &read);
    run_all(e);
    assert_int_equal(stopped.finish, SL_FINISH_CALLBACK);
    assert_int_equal(stopped.n_tokens, 3);
    assert_int_equal(read.n_tokens, 0);
    assert_int_equal(read.n_rows, 5);
    assert_int_equal(pages_used(e), 0);
    run_result_free(&stopped);
    run_result_free(&read);
    sl_engine_destroy(e);
}

static void cancelling(void **state)
{
    (void)state;
    const int32_t prompt[] = { 1, 2, 3 };
    run_result r[3] = { 0 };
    sl_err err = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 1 });
    for (size_t i = 0; i < 3; i++) /* ids 1, 2, 3 */
        run_submit(e, prompt, 3, 50, &r[i]);
    for (int i = 0; i < 6; i++)
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    assert_true(sl_engine_cancel(e, 3)); /* waits: at once */
    assert_true(r[2].ended && r[2].finish == SL_FINISH_CANCEL);
    assert_true(sl_engine_cancel(e, 1)); /* runs: at the next step */
    assert_false(r[0].ended);
    assert_int_equal(sl_engine_step(e, &err), SL_OK);
    assert_true(r[0].ended && r[0].finish == SL_FINISH_CANCEL);
    assert_false(sl_engine_cancel(e, 1));
    assert_false(sl_engine_cancel(e, 99));
    run_all(e);
    assert_int_equal(r[1].n_tokens, 50);
    for (size_t i = 0; i < 3; i++)
        run_result_free(&r[i]);
    assert_int_equal(pages_used(e), 0);
    run_submit(e, prompt, 3, 50, &r[0]); /* destroyed while one runs and one waits */
    run_submit(e, prompt, 3, 50, &r[1]);
    assert_int_equal(sl_engine_step(e, &err), SL_OK);
    sl_engine_destroy(e);
    for (size_t i = 0; i < 3; i++)
        run_result_free(&r[i]);
}

typedef struct chain {
    sl_engine *engine;
    size_t left, ended;
} chain;

static bool submit_next(void *user, const sl_event *event)
{
    chain *c = user;
    const int32_t prompt[] = { 9, 8 };
    if (event->kind == SL_EVENT_END) {
        c->ended++;
        if (c->left) {
            c->left--;
            const sl_request r = {
                .prompt = prompt, .n_prompt = 2, .n_predict = 3, .top_p = 1, .on_event = submit_next, .user = c
            };
            assert_int_equal(sl_engine_submit(c->engine, &r, NULL, NULL), SL_OK);
        }
    }
    return true;
}

static void callbacks_can_submit(void **state)
{
    (void)state;
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 2 });
    chain c = { e, 10, 0 };
    submit_next(&c, &(sl_event){ .kind = SL_EVENT_END });
    run_all(e);
    assert_int_equal(c.ended, 11);
    assert_int_equal(pages_used(e), 0);
    sl_engine_destroy(e);
}

/* -100 bans the greedy token, +100 forces another one (reports B82). */
static void bias(void **state)
{
    (void)state;
    const int32_t prompt[] = { 4, 4, 4 };
    run_result plain = { 0 }, banned = { 0 }, forced = { 0 };
    run_alone(model, &(sl_engine_options){ .n_outputs = 8 }, prompt, 3, 1, &plain);
    const float minus = -100.0f, plus = 100.0f;
    const int32_t other = (plain.tokens[0] + 1) % 288;
    sl_engine *e = make(&(sl_engine_options){ .n_outputs = 8, .n_seqs = 2 });
    sl_request r = { .prompt = prompt,
                     .n_prompt = 3,
                     .n_predict = 1,
                     .top_p = 1,
                     .prompt_logits = true,
                     .ignore_eos = true,
                     .on_event = run_collect,
                     .n_bias = 1 };
    r.bias_token = plain.tokens;
    r.bias = &minus;
    r.user = &banned;
    assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    r.bias_token = &other;
    r.bias = &plus;
    r.user = &forced;
    assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    run_all(e);
    assert_int_not_equal(banned.tokens[0], plain.tokens[0]);
    assert_int_equal(forced.tokens[0], other);
    /* What is reported is without the bias, with the prompt's positions and with the token. */
    assert_memory_equal(banned.logits, plain.logits, 3 * 288 * sizeof(float));
    assert_memory_equal(banned.first, plain.first, 288 * sizeof(float));
    sl_engine_destroy(e);
    run_result_free(&plain);
    run_result_free(&banned);
    run_result_free(&forced);
}

/* Every allocation of opening, making, submitting and stepping fails once; the error is that
 * call's, and nothing is lost. */
static void each_allocation_fails(void **state)
{
    (void)state;
    const int32_t prompt[] = { 1, 2, 3 };
    run_result want = { 0 };
    run_alone(model, &(sl_engine_options){ 0 }, prompt, 3, 2, &want);
    for (long n = 0;; n++) {
        sl_model *m = NULL;
        sl_engine *e = NULL;
        sl_err err = { 0 };
        run_result r = { 0 };
        sl_mem_fail_after(n);
        sl_status rc = sl_model_open(&m, TINY, &err);
        if (!rc)
            rc = sl_engine_create(&e, m, &(sl_engine_options){ .mode = "eager", .n_threads = 2, .trace_spans = 64 },
                                  &err);
        const sl_request request = { .prompt = prompt,
                                     .n_prompt = 3,
                                     .n_predict = 2,
                                     .top_p = 1,
                                     .ignore_eos = true,
                                     .on_event = run_collect,
                                     .user = &r };
        if (!rc)
            rc = sl_engine_submit(e, &request, NULL, &err);
        for (int i = 0; i < 3 && !rc; i++)
            rc = sl_engine_step(e, &err);
        sl_mem_fail_after(-1);
        if (rc)
            assert_int_equal(rc, SL_ENOMEM);
        if (e && sl_engine_busy(e)) { /* a step that failed can be tried again */
            run_all(e);
            assert_memory_equal(r.tokens, want.tokens, 2 * sizeof *want.tokens);
        }
        sl_engine_destroy(e);
        sl_model_close(m);
        run_result_free(&r);
        if (!rc) {
            assert_true(n > 10);
            run_result_free(&want);
            return;
        }
    }
}

/* One request decodes for ever in steps of one token; another's prompt is read all the same. */
static void prompts_are_not_kept_out(void **state)
{
    (void)state;
    const int32_t prompt[] = { 1, 2, 3, 4 };
    run_result endless = { 0 }, late = { 0 };
    sl_err err = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 2, .n_ubatch = 1 });
    run_submit(e, prompt, 4, SL_PREDICT_UNTIL_END, &endless);
    for (int i = 0; i < 10; i++)
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    run_submit(e, prompt, 4, 3, &late);
    for (int i = 0; i < 40 && !late.ended; i++)
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    assert_true(late.ended && late.n_tokens == 3 && !endless.ended);
    sl_engine_destroy(e);
    run_result_free(&endless);
    run_result_free(&late);
}

/* The context is as long as asked, whatever the page. */
static void context_is_what_was_asked(void **state)
{
    (void)state;
    const int32_t prompt[] = { 1, 2, 3, 4 };
    run_result r = { 0 };
    sl_engine_info info;
    sl_engine *e = make(&(sl_engine_options){ .n_ctx = 10, .n_outputs = 8 });
    sl_engine_describe(e, &info);
    assert_int_equal(info.n_ctx, 10);
    assert_string_equal(info.act, "f32"); /* an F16 model, whatever the default */
    run_submit(e, prompt, 4, SL_PREDICT_UNTIL_END, &r);
    run_all(e);
    assert_int_equal(r.n_tokens, 7);
    run_result_free(&r);
    sl_engine_destroy(e);
}

int main(void)
{
    sl_err err = { 0 };
    if (sl_model_open(&model, TINY, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(full_context_ends_a_request),
        cmocka_unit_test(callbacks_can_stop_and_prompts_be_only_read),
        cmocka_unit_test(cancelling),
        cmocka_unit_test(callbacks_can_submit),
        cmocka_unit_test(bias),
        cmocka_unit_test(prompts_are_not_kept_out),
        cmocka_unit_test(context_is_what_was_asked),
        cmocka_unit_test(each_allocation_fails),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_model_close(model);
    return failed;
}
