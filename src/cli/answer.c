#include "cli/answer.h"

#include <unistd.h>

void sl_answer_init(sl_answer *a, const sl_tokenizer *t, sl_stop *stop, bool silent)
{
    *a = (sl_answer){ .silent = silent, .stop = stop, .met = -1 };
    sl_detok_init(&a->detok, t, false);
}

void sl_answer_fini(sl_answer *a)
{
    sl_str_fini(&a->piece);
    sl_str_fini(&a->shown);
    sl_str_fini(&a->text);
    sl_ids_fini(&a->ids);
}

/* Show what stop strings let pass. */
static void show(sl_answer *a)
{
    sl_str_append(&a->text, a->shown.data, a->shown.len);
    if (!a->silent && a->shown.len) {
        sl_cli_write(a->shown.data, a->shown.len);
        sl_cli_flush();
    }
    sl_str_clear(&a->shown);
}

static bool take_token(sl_answer *a, int32_t token)
{
    a->last = sl_cli_now();
    if (!a->ids.n)
        a->first = a->last;
    const sl_status rc = sl_ids_push(&a->ids, token, NULL);
    sl_str_clear(&a->piece);
    sl_detok_next(&a->detok, token, &a->piece);
    a->met = sl_stop_feed(a->stop, a->piece.data, a->piece.len, &a->shown);
    show(a);
    a->interrupted = sl_cli_interrupted();
    return !rc && !a->piece.failed && !a->text.failed && a->met < 0 && !a->interrupted && sl_cli_flush();
}

static bool on_event(void *user, const sl_event *event)
{
    sl_answer *a = user;
    if (event->kind == SL_EVENT_TOKEN)
        return take_token(a, event->token);
    if (event->kind == SL_EVENT_END) {
        a->finish = event->finish;
        a->ended = true;
    }
    return true;
}

/* Half a character and what might have become a stop string. */
static void flush(sl_answer *a)
{
    if (a->met >= 0)
        return;
    sl_str_clear(&a->piece);
    sl_detok_flush(&a->detok, &a->piece);
    a->met = sl_stop_feed(a->stop, a->piece.data, a->piece.len, &a->shown);
    if (a->met < 0)
        sl_stop_flush(a->stop, &a->shown);
    show(a);
}

static void restart(sl_answer *a, const sl_request *r, double asked)
{
    sl_detok_init(&a->detok, a->detok.tokenizer, false);
    sl_stop_reset(a->stop);
    sl_str_clear(&a->text);
    a->ids.n = 0;
    a->met = -1;
    a->n_prompt = r->n_prompt;
    a->ended = a->interrupted = a->context_full = false;
    a->asked = asked;
    a->submitted = sl_cli_now();
}

sl_exit sl_answer_run(sl_answer *a, sl_session *s, const sl_request *request, double asked)
{
    sl_err err = { 0 };
    sl_request_id id = 0;
    sl_request r = *request;
    sl_engine_info info;
    restart(a, request, asked);
    r.on_event = on_event;
    r.user = a;
    if (sl_engine_submit(s->engine, &r, &id, &err))
        return sl_cli_failed("%s", err.msg);
    while (!a->ended) {
        if (sl_engine_step(s->engine, &err))
            return sl_cli_failed("%s", err.msg);
        if (sl_cli_interrupted() && !a->ended) {
            a->interrupted = true;
            sl_engine_cancel(s->engine, id);
        }
    }
    flush(a);
    if (a->piece.failed || a->shown.failed || a->text.failed)
        return sl_cli_failed("no memory for the answer's text");
    sl_engine_describe(s->engine, &info);
    a->context_full = a->finish == SL_FINISH_LENGTH && a->ids.n < r.n_predict;
    return SL_EXIT_OK;
}

/* ---- times ------------------------------------------------------------------------ */

double sl_answer_ttft(const sl_answer *a)
{
    return a->ids.n ? a->first - a->asked : 0.0;
}

double sl_answer_prompt_rate(const sl_answer *a)
{
    return a->ids.n && a->first > a->submitted ? (double)a->n_prompt / (a->first - a->submitted) : 0.0;
}

double sl_answer_rate(const sl_answer *a)
{
    return a->ids.n > 1 && a->last > a->first ? (double)(a->ids.n - 1) / (a->last - a->first) : 0.0;
}

void sl_answer_tell(const sl_answer *a)
{
    const bool colour = isatty(STDERR_FILENO);
    if (colour)
        fputs("\033[2m", stderr);
    fprintf(stderr,
            "first token after %.0f ms | prompt %zu tokens, %.1f tokens/s | generated %zu tokens, %.1f tokens/s%s\n",
            1e3 * sl_answer_ttft(a), a->n_prompt, sl_answer_prompt_rate(a), a->ids.n, sl_answer_rate(a),
            a->interrupted ? " | interrupted" : "");
    if (colour)
        fputs("\033[0m", stderr);
}
