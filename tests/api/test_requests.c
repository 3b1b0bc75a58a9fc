/* test_requests.c - sluice.h: events by callback and by polling, how requests end, what callbacks may not do, no
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sluice/sluice.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fault.h"

#define TINY TEST_DATA "/gguf/llama-small-F16/llama-small-F16.gguf"
#define MANY 64

static sl_model *model;
static const int32_t prompt[] = { 1, 2, 3 };

typedef struct seen {
    sl_engine *engine;
    int32_t token[MANY];
    float logprob[MANY], best[MANY];
    size_t n_tokens, n_logits;
    sl_finish finish;
    int32_t end_token;
    bool ended;
    size_t stop_after;
} seen;

static bool take(void *user, const sl_event *event)
{
    seen *s = user;
    assert_ptr_equal(event->user, user);
    assert_false(s->ended);
    if (event->kind == SL_EVENT_LOGITS) {
        s->n_logits++;
    } else if (event->kind == SL_EVENT_TOKEN) {
        s->logprob[s->n_tokens] = event->logprob;
        s->best[s->n_tokens] = event->n_top ? event->top_logprob[0] : 0.0f;
        s->token[s->n_tokens++] = event->token;
        return s->n_tokens != s->stop_after;
    } else {
        s->ended = true;
        s->finish = event->finish;
        s->end_token = event->token;
    }
    return true;
}

static sl_engine *make(const sl_engine_options *o)
{
    sl_engine *e = NULL;
    sl_err err = { 0 };
    if (sl_engine_create(&e, model, o, &err))
        fail_msg("%s", err.msg);
    return e;
}

static sl_request request(seen *s, size_t n_predict)
{
    return (sl_request){
        .prompt = prompt, .n_prompt = 3, .n_predict = n_predict, .ignore_eos = true, .on_event = take, .user = s
    };
}

static void poll_all(sl_engine *e)
{
    sl_event event;
    while (sl_engine_poll(e, &event))
        take(event.user, &event);
}

static void run(sl_engine *e)
{
    sl_err err = { 0 };
    while (sl_engine_busy(e)) {
        if (sl_engine_step(e, &err))
            fail_msg("%s", err.msg);
        poll_all(e);
    }
}

/* Two that are polled beside one with a callback: all three hear the same. */
static void polling_hears_what_callbacks_hear(void **state)
{
    (void)state;
    seen s[3] = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 3, .n_outputs = 5 });
    for (size_t i = 0; i < 3; i++) {
        sl_request r = request(&s[i], 10);
        r.logprobs = r.prompt_logits = true;
        r.top_logprobs = 3;
        r.poll = i > 0;
        r.on_event = i ? NULL : take;
        assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    }
    run(e);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s[i].n_tokens, 10);
        assert_int_equal(s[i].n_logits, 3);
        assert_true(s[i].ended && s[i].finish == SL_FINISH_LENGTH);
        assert_memory_equal(s[i].token, s[0].token, sizeof s[0].token);
        assert_memory_equal(s[i].logprob, s[0].logprob, sizeof s[0].logprob);
        assert_memory_equal(s[i].best, s[0].best, sizeof s[0].best);
    }
    sl_engine_destroy(e);
}

/* No step while events wait, none of which is lost. */
static void events_wait_to_be_polled(void **state)
{
    (void)state;
    seen s = { 0 };
    sl_event event;
    sl_request_id id = 0, later = 0;
    sl_err err = { 0 };
    sl_engine *e = make(&(sl_engine_options){ 0 });
    sl_request r = request(&s, 4);
    r.poll = true;
    assert_int_equal(sl_engine_submit(e, &r, NULL, &err), SL_EINVAL); /* and a callback */
    r.on_event = NULL;
    assert_false(sl_engine_poll(e, &event));
    assert_int_equal(sl_engine_submit(e, &r, &id, &err), SL_OK);
    assert_int_equal(sl_engine_submit(e, &r, &later, &err), SL_OK);
    assert_int_equal(sl_engine_step(e, &err), SL_OK);
    assert_int_equal(sl_engine_step(e, &err), SL_EFULL);
    assert_true(sl_engine_poll(e, &event));
    assert_true(event.kind == SL_EVENT_TOKEN && event.request == id);
    assert_false(sl_engine_poll(e, &event));
    assert_true(sl_engine_cancel(e, later)); /* waits: its end can be polled at once */
    assert_int_equal(sl_engine_step(e, &err), SL_EFULL);
    assert_true(sl_engine_poll(e, &event));
    assert_true(event.kind == SL_EVENT_END && event.request == later && event.finish == SL_FINISH_CANCEL);
    assert_true(sl_engine_cancel(e, id)); /* runs: at the next step */
    assert_false(sl_engine_poll(e, &event));
    assert_int_equal(sl_engine_step(e, &err), SL_OK);
    assert_true(sl_engine_poll(e, &event));
    assert_true(event.kind == SL_EVENT_END && event.request == id && event.finish == SL_FINISH_CANCEL);
    assert_false(sl_engine_busy(e));
    /* Destroyed with events, and an end, that nobody read. */
    assert_int_equal(sl_engine_submit(e, &r, &id, &err), SL_OK);
    assert_int_equal(sl_engine_submit(e, &r, &later, &err), SL_OK);
    assert_int_equal(sl_engine_step(e, &err), SL_OK);
    assert_true(sl_engine_cancel(e, later));
    sl_engine_destroy(e);
}

static void ends_are_told_apart(void **state)
{
    (void)state;
    seen length = { 0 }, full = { 0 }, callback = { .stop_after = 2 }, stopped = { 0 };
    const sl_text *t = sl_model_text(model);
    sl_engine *e = make(&(sl_engine_options){ .n_ctx = 8 });
    sl_request r = request(&length, 2);
    assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    r = request(&full, SL_PREDICT_UNTIL_END);
    assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    r = request(&callback, 5);
    assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    /* The end of answers is forced by a bias. */
    const int32_t eos = sl_text_eos(t);
    const float much = 1000.0f;
    assert_true(eos >= 0);
    r = request(&stopped, 5);
    r.ignore_eos = false;
    r.bias_token = &eos;
    r.bias = &much;
    r.n_bias = 1;
    assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    run(e);
    assert_true(length.finish == SL_FINISH_LENGTH && length.n_tokens == 2 && length.end_token == -1);
    assert_true(full.finish == SL_FINISH_CONTEXT && full.n_tokens == 6);
    assert_true(callback.finish == SL_FINISH_CALLBACK && callback.n_tokens == 2);
    assert_true(stopped.finish == SL_FINISH_STOP && stopped.n_tokens == 0 && stopped.end_token == eos);
    assert_string_equal(sl_finish_name(SL_FINISH_CONTEXT), "context");
    sl_engine_destroy(e);
}

/* ---- inside a callback -------------------------------------------------------------- */

static bool step_inside(void *user, const sl_event *event)
{
    seen *s = user;
    sl_err err = { 0 };
    assert_int_equal(sl_engine_step(s->engine, &err), SL_EINVAL);
    assert_non_null(strstr(err.msg, "callback"));
    return take(user, event);
}

static void steps_in_callbacks_are_refused(void **state)
{
    (void)state;
    seen s = { 0 }, waiting = { 0 };
    sl_request_id id = 0;
    s.engine = waiting.engine = make(&(sl_engine_options){ 0 });
    sl_request r = request(&s, 3);
    r.on_event = step_inside;
    assert_int_equal(sl_engine_submit(s.engine, &r, NULL, NULL), SL_OK);
    r.user = &waiting;
    assert_int_equal(sl_engine_submit(s.engine, &r, &id, NULL), SL_OK);
    assert_true(sl_engine_cancel(s.engine, id)); /* calls back, too */
    assert_true(waiting.ended);
    run(s.engine);
    assert_true(s.ended && s.n_tokens == 3);
    sl_engine_destroy(s.engine);
}

static bool destroy_inside(void *user, const sl_event *event)
{
    (void)event;
    sl_engine_destroy(((seen *)user)->engine);
    return true;
}

static void destroying_in_callbacks_ends_the_program(void **state)
{
    (void)state;
    int status = 0, out[2];
    char said[128] = "";
    assert_int_equal(pipe(out), 0);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(out[1], STDERR_FILENO);
        seen s = { 0 };
        s.engine = make(&(sl_engine_options){ .n_threads = 1 });
        sl_request r = request(&s, 3);
        r.on_event = destroy_inside;
        sl_engine_submit(s.engine, &r, NULL, NULL);
        sl_engine_step(s.engine, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_true(read(out[0], said, sizeof said - 1) > 0);
    assert_non_null(strstr(said, "sl_engine_destroy: called from a callback"));
    close(out[0]);
    close(out[1]);
}

/* ---- no memory ---------------------------------------------------------------------- */

static void openers_fail_cleanly(void **state)
{
    (void)state;
    sl_status rc = SL_ENOMEM;
    long n = 0;
    for (; rc; n++) {
        sl_model *m = NULL;
        sl_err err = { 0 };
        fault_after(n);
        rc = sl_model_open(&m, TINY, &err);
        fault_after(-1);
        assert_true(rc ? rc == SL_ENOMEM && !m && err.msg[0] : m != NULL);
        sl_model_close(m);
    }
    assert_true(n > 10);
    rc = SL_ENOMEM;
    for (n = 0; rc; n++) {
        sl_engine *e = NULL;
        sl_memory memory = { 0 };
        sl_err err = { 0 };
        fault_after(n);
        rc = sl_engine_estimate(model, &(sl_engine_options){ 0 }, &memory, &err);
        if (!rc)
            rc = sl_engine_create(&e, model, &(sl_engine_options){ .n_threads = 2, .trace_spans = 16 }, &err);
        fault_after(-1);
        assert_true(rc ? rc == SL_ENOMEM && !e && err.msg[0] : e != NULL);
        sl_engine_destroy(e);
    }
    assert_true(n > 10);
}

/* Whatever fails in submit, fork, step and cancel, the engine answers the next request as ever. */
static void an_engine_survives(void **state)
{
    (void)state;
    static const char *const modes[] = { "graph", "eager" };
    seen want = { 0 };
    sl_engine *e = make(&(sl_engine_options){ 0 });
    sl_request r = request(&want, 5);
    assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
    run(e);
    sl_engine_destroy(e);
    for (size_t mode = 0; mode < 2; mode++) {
        sl_status rc = SL_ENOMEM;
        e = make(&(sl_engine_options){ .mode = modes[mode], .n_seqs = 2 });
        for (long n = 0; rc; n++) {
            seen s[2] = { 0 }, next = { 0 };
            sl_request_id id = 0;
            r = request(&s[0], 5);
            fault_after(n);
            rc = sl_engine_submit(e, &r, &id, NULL);
            r = request(&s[1], 5);
            r.poll = true;
            r.on_event = NULL;
            if (!rc)
                rc = sl_engine_fork(e, id, &r, NULL, NULL);
            for (int i = 0; i < 3 && !rc; i++) {
                rc = sl_engine_step(e, NULL);
                poll_all(e);
            }
            fault_after(-1);
            if (rc)
                assert_int_equal(rc, SL_ENOMEM);
            r = request(&next, 5);
            assert_int_equal(sl_engine_submit(e, &r, NULL, NULL), SL_OK);
            run(e);
            assert_memory_equal(next.token, want.token, sizeof want.token);
            for (size_t i = 0; i < 2; i++)
                if (s[i].ended)
                    assert_memory_equal(s[i].token, want.token, sizeof want.token);
            assert_true(rc || (s[0].ended && s[1].ended));
        }
        sl_engine_destroy(e);
    }
}

int main(void)
{
    sl_err err = { 0 };
    if (sl_model_open(&model, TINY, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polling_hears_what_callbacks_hear),
        cmocka_unit_test(events_wait_to_be_polled),
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(steps_in_callbacks_are_refused),
        cmocka_unit_test(destroying_in_callbacks_ends_the_program),
        cmocka_unit_test(openers_fail_cleanly),
        cmocka_unit_test(an_engine_survives),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_model_close(model);
    return failed;
}
