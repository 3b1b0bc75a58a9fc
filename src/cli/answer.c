#include "cli/answer.h"

#include <unistd.h>
#include "base/num.h"

#define DIM   "\033[2m"
#define PLAIN "\033[0m"

sl_exit sl_answer_init(sl_answer *a, const sl_args *args, const sl_text *t, const sl_chat *chat, bool silent)
{
    *a = (sl_answer){
        .silent = silent, .dim = !silent && isatty(STDOUT_FILENO), .args = args, .source = t, .chat = chat
    };
    for (size_t i = 0; i < args->stop.n; i++)
        if (!args->stop.data[i][0])
            return sl_cli_usage("--stop: an empty text would end every answer");
    return SL_EXIT_OK;
}

void sl_answer_fini(sl_answer *a)
{
    sl_parser_destroy(a->parser);
    json_decref(a->logprobs);
    sl_str_fini(&a->text);
    sl_ids_fini(&a->ids);
    *a = (sl_answer){ 0 };
}

/* ---- showing ---------------------------------------------------------------------- */

static void show_reasoning(sl_answer *a, sl_bytes text)
{
    sl_cli_write(DIM, sizeof DIM - 1);
    sl_cli_write(text.data, text.len);
    sl_cli_write(PLAIN, sizeof PLAIN - 1);
    a->reasoning_shown = true;
}

static void show(void *user, const sl_part *e)
{
    sl_answer *a = user;
    if (e->kind == SL_PART_REASONING) {
        show_reasoning(a, e->text);
        return;
    }
    if (!a->silent) {
        if (a->reasoning_shown)
            sl_cli_write("\n\n", 2);
        sl_cli_write(e->text.data, e->text.len);
    }
    a->reasoning_shown = false;
    sl_str_append(&a->text, e->text.data, e->text.len);
}

/* ---- running ---------------------------------------------------------------------- */

static bool take_token(sl_answer *a, const sl_event *event)
{
    const double now = sl_cli_now();
    a->failed |= sl_parser_feed(a->parser, event->token, NULL) != SL_OK;
    const sl_parser_state state = sl_parser_get_state(a->parser);
    if (state == SL_PARSER_TURN_END) /* not part of the answer */
        return false;
    a->last = now;
    if (!a->ids.n)
        a->first = now;
    a->failed |= sl_ids_push(&a->ids, event->token, NULL) ||
                 (a->logprobs_wanted && json_array_append_new(a->logprobs, sl_answer_logprob_json(a->source, event)));
    a->interrupted = sl_cli_interrupted();
    return !a->failed && !a->text.failed && state == SL_PARSER_OPEN && !a->interrupted && sl_cli_flush();
}

static bool on_event(void *user, const sl_event *event)
{
    sl_answer *a = user;
    if (event->kind == SL_EVENT_TOKEN)
        return take_token(a, event);
    if (event->kind == SL_EVENT_END) {
        a->finish = event->finish;
        a->ended = true;
    }
    return true;
}

static sl_exit restart(sl_answer *a, const sl_request *r, uint64_t seed, double asked)
{
    sl_err err = { 0 };
    const sl_parser_options o = { .chat = a->chat,
                                  .tools = "none", /* calls are shown as they stand */
                                  .inline_reasoning = !a->dim,
                                  .ignore_turn_end = a->args->ignore_eos,
                                  /* A prompt that is only continued has shown what it began. */
                                  .thinking = a->chat ? SL_THINKING_AUTO : SL_THINKING_CLOSED,
                                  .prompt = r->prompt,
                                  .n_prompt = r->n_prompt,
                                  .stop = a->args->stop.data,
                                  .n_stop = a->args->stop.n,
                                  .on_part = show,
                                  .user = a };
    sl_parser_destroy(a->parser);
    sl_str_clear(&a->text);
    a->ids.n = 0;
    a->seed = seed;
    a->logprobs_wanted = r->logprobs;
    json_decref(a->logprobs);
    a->logprobs = r->logprobs ? json_array() : NULL;
    a->n_prompt = r->n_prompt;
    a->ended = a->interrupted = a->context_full = a->reasoning_shown = false;
    if (sl_parser_create(&a->parser, a->source, &o, &err))
        return sl_cli_failed("%s", err.msg);
    a->asked = asked;
    a->submitted = sl_cli_now();
    return SL_EXIT_OK;
}

/* The first is submitted, the others are forked from it before it reads a token. */
static sl_exit submit(sl_answer *a, size_t n, sl_session *s, const sl_request *request)
{
    sl_err err = { 0 };
    for (size_t k = 0; k < n; k++) {
        sl_request r = *request;
        r.seed = a[k].seed;
        r.on_event = on_event;
        r.user = &a[k];
        if (k ? sl_engine_fork(s->engine, a[0].id, &r, &a[k].id, &err)
              : sl_engine_submit(s->engine, &r, &a[0].id, &err))
            return sl_cli_failed("%s", err.msg);
    }
    return SL_EXIT_OK;
}

static void interrupt(sl_answer *a, size_t n, sl_engine *e)
{
    for (size_t k = 0; k < n; k++)
        if (!a[k].ended) {
            a[k].interrupted = true;
            sl_engine_cancel(e, a[k].id);
        }
}

static sl_exit finish(sl_answer *a)
{
    a->failed |= sl_parser_end(a->parser, NULL) != SL_OK;
    if (a->failed || a->text.failed)
        return sl_cli_failed("no memory for the answer's text");
    a->context_full = a->finish == SL_FINISH_CONTEXT;
    return SL_EXIT_OK;
}

sl_exit sl_answers_run(sl_answer *a, size_t n, sl_session *s, const sl_request *request, double asked)
{
    sl_err err = { 0 };
    sl_exit code = SL_EXIT_OK;
    for (size_t k = 0; k < n && !code; k++)
        code = restart(&a[k], request, request->seed + k, asked);
    if (!code)
        code = submit(a, n, s, request);
    while (!code && sl_engine_busy(s->engine)) {
        if (sl_engine_step(s->engine, &err))
            code = sl_cli_failed("%s", err.msg);
        else if (sl_cli_interrupted())
            interrupt(a, n, s->engine);
    }
    for (size_t k = 0; k < n && !code; k++)
        code = finish(&a[k]);
    return code;
}

/* ---- times ------------------------------------------------------------------------ */

size_t sl_answers_tokens(const sl_answer *a, size_t n)
{
    size_t sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += a[k].ids.n;
    return sum;
}

/* The moment of the first token of all, and of the last; false when there is none. */
static bool span(const sl_answer *a, size_t n, double *first, double *last)
{
    bool any = false;
    for (size_t k = 0; k < n; k++) {
        if (!a[k].ids.n)
            continue;
        *first = any ? SL_MIN(*first, a[k].first) : a[k].first;
        *last = any ? SL_MAX(*last, a[k].last) : a[k].last;
        any = true;
    }
    return any;
}

double sl_answers_ttft(const sl_answer *a, size_t n)
{
    double first = 0.0, last = 0.0;
    return span(a, n, &first, &last) ? first - a->asked : 0.0;
}

double sl_answers_prompt_rate(const sl_answer *a, size_t n)
{
    double first = 0.0, last = 0.0;
    return span(a, n, &first, &last) && first > a->submitted ? (double)a->n_prompt / (first - a->submitted) : 0.0;
}

double sl_answers_rate(const sl_answer *a, size_t n)
{
    double first = 0.0, last = 0.0;
    return span(a, n, &first, &last) && last > first ? (double)(sl_answers_tokens(a, n) - 1) / (last - first) : 0.0;
}

void sl_answers_tell(const sl_answer *a, size_t n)
{
    const bool colour = isatty(STDERR_FILENO);
    bool interrupted = false;
    for (size_t k = 0; k < n; k++)
        interrupted |= a[k].interrupted;
    if (colour)
        fputs(DIM, stderr);
    fprintf(stderr,
            "first token after %.0f ms | prompt %zu token%s, %.1f tokens/s | generated %zu token%s, %.1f tokens/s%s\n",
            1e3 * sl_answers_ttft(a, n), a->n_prompt, sl_cli_s(a->n_prompt), sl_answers_prompt_rate(a, n),
            sl_answers_tokens(a, n), sl_cli_s(sl_answers_tokens(a, n)), sl_answers_rate(a, n),
            interrupted ? " | interrupted" : "");
    if (colour)
        fputs(PLAIN, stderr);
}
