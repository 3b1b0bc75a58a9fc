#include "support/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

void run_result_free(run_result *r)
{
    free(r->logits);
    free(r->tokens);
    free(r->first);
    *r = (run_result){ 0 };
}

static void add_row(run_result *r, const float *logits, size_t n_vocab)
{
    if (r->n_rows == r->cap_rows) {
        r->cap_rows = r->cap_rows ? 2 * r->cap_rows : 16;
        r->logits = realloc(r->logits, r->cap_rows * n_vocab * sizeof *r->logits);
        assert_non_null(r->logits);
    }
    r->n_vocab = n_vocab;
    memcpy(r->logits + r->n_rows++ * n_vocab, logits, n_vocab * sizeof *logits);
}

bool run_collect(void *user, const sl_event *event)
{
    run_result *r = user;
    if (event->kind == SL_EVENT_END) {
        assert_false(r->ended);
        r->ended = true;
        r->finish = event->finish;
        return true;
    }
    if (event->kind == SL_EVENT_LOGITS) {
        assert_int_equal(event->position, r->n_rows);
        add_row(r, event->logits, event->n_vocab);
        return true;
    }
    if (r->n_tokens) {
        add_row(r, event->logits, event->n_vocab);
    } else {
        r->first = malloc(event->n_vocab * sizeof *r->first);
        assert_non_null(r->first);
        memcpy(r->first, event->logits, event->n_vocab * sizeof *r->first);
    }
    if (r->n_tokens == r->cap_tokens) {
        r->cap_tokens = r->cap_tokens ? 2 * r->cap_tokens : 16;
        r->tokens = realloc(r->tokens, r->cap_tokens * sizeof *r->tokens);
        assert_non_null(r->tokens);
    }
    r->tokens[r->n_tokens++] = event->token;
    return r->n_tokens != r->stop_after;
}

void run_submit(sl_engine *e, const int32_t *prompt, size_t n, size_t n_predict, run_result *r)
{
    sl_err err = { 0 };
    const sl_request request = { .prompt = prompt,
                                 .n_prompt = n,
                                 .n_predict = n_predict,
                                 .ignore_eos = true,
                                 .prompt_logits = true,
                                 .top_p = 1.0f,
                                 .on_event = run_collect,
                                 .user = r };
    if (sl_engine_submit(e, &request, NULL, &err))
        fail_msg("submit: %s", err.msg);
}

void run_all(sl_engine *e)
{
    sl_err err = { 0 };
    while (sl_engine_busy(e))
        if (sl_engine_step(e, &err))
            fail_msg("step: %s", err.msg);
}

void run_alone(const sl_model *m, const sl_engine_options *o, const int32_t *prompt, size_t n, size_t n_predict,
               run_result *r)
{
    sl_err err = { 0 };
    sl_engine *e = NULL;
    if (sl_engine_create(&e, m, o, &err))
        fail_msg("engine: %s", err.msg);
    run_submit(e, prompt, n, n_predict, r);
    run_all(e);
    assert_true(r->ended);
    sl_engine_destroy(e);
}
