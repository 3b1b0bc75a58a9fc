#include "cli/answer.h"

#include <string.h>
#include <unistd.h>
#include "base/num.h"
#include "cli/screen.h"
#include "cli/signals.h"

#define NOTE_EACH_S 0.1 /* how often the line about thinking is written anew */

sl_thinking_shown sl_thinking_by_name(const char *name)
{
    return strcmp(name, "hide") == 0   ? SL_THINKING_HIDDEN
           : strcmp(name, "fold") == 0 ? SL_THINKING_FOLDED
                                       : SL_THINKING_SHOWN;
}

static sl_thinking_shown thinking_of(const sl_args *args, sl_answer_look look)
{
    const sl_thinking_shown asked = args->thinking ? sl_thinking_by_name(args->thinking) : SL_THINKING_SHOWN;
    if (asked == SL_THINKING_FOLDED && look == SL_ANSWER_SILENT)
        return SL_THINKING_HIDDEN;
    if (asked != SL_THINKING_SHOWN || look == SL_ANSWER_IN_CHAT)
        return asked;
    return look == SL_ANSWER_ALONE && sl_screen_has_colours(STDOUT_FILENO) ? SL_THINKING_SHOWN : SL_THINKING_INLINE;
}

sl_exit sl_answer_init(sl_answer *a, const sl_args *args, const sl_text *t, const sl_chat *chat, sl_answer_look look)
{
    *a = (sl_answer){ .look = look,
                      .thinking = thinking_of(args, look),
                      .colours = sl_screen_has_colours(STDOUT_FILENO),
                      .on_terminal = isatty(STDOUT_FILENO),
                      .args = args,
                      .source = t,
                      .chat = chat };
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
    sl_str_fini(&a->reasoning);
    sl_ids_fini(&a->ids);
    *a = (sl_answer){ 0 };
}

/* ---- showing ---------------------------------------------------------------------- */

static void write_shown(sl_answer *a, sl_bytes text)
{
    sl_str safe = { 0 };
    if (!a->on_terminal) {
        sl_cli_write(text.data, text.len);
        return;
    }
    sl_screen_safe(text.data, text.len, &safe);
    sl_cli_write(safe.data, safe.len);
    a->failed |= safe.failed;
    sl_str_fini(&safe);
}

static void show_reasoning(sl_answer *a, sl_bytes text)
{
    if (a->colours)
        sl_cli_write(SL_DIM, sizeof SL_DIM - 1);
    else if (!a->thinks)
        sl_cli_write("[thinking] ", 11);
    write_shown(a, text);
    if (a->colours)
        sl_cli_write(SL_PLAIN, sizeof SL_PLAIN - 1);
}

/* A line that counts while the model thinks. */
static void note_thinking(sl_answer *a)
{
    const double now = sl_cli_now();
    if (!sl_cli_progress_wanted(a->args->quiet) || now - a->noted < NOTE_EACH_S)
        return;
    a->noted = now;
    sl_cli_progress("thinking: %zu token%s, %.1f s", a->ids.n, sl_cli_s(a->ids.n), now - a->first);
}

static void take_reasoning(sl_answer *a, sl_bytes text)
{
    if (a->thinking == SL_THINKING_SHOWN && a->look != SL_ANSWER_SILENT)
        show_reasoning(a, text);
    else if (a->thinking == SL_THINKING_FOLDED)
        note_thinking(a);
    a->thinks = true;
    sl_str_append(&a->reasoning, text.data, text.len);
}

/* Behind the reasoning, if there was one. */
static void end_thinking(sl_answer *a)
{
    if (!a->thinks)
        return;
    a->thinks = false;
    a->n_thought = a->ids.n;
    a->thought_s = sl_cli_now() - (a->ids.n ? a->first : a->submitted);
    if (a->thinking == SL_THINKING_SHOWN && a->look != SL_ANSWER_SILENT)
        sl_cli_write("\n\n", 2);
    if (a->thinking != SL_THINKING_FOLDED)
        return;
    sl_cli_progress_end();
    if (!a->args->quiet)
        sl_screen_note("thought: %zu token%s, %.1f s", a->n_thought, sl_cli_s(a->n_thought), a->thought_s);
}

static void show(void *user, const sl_part *e)
{
    sl_answer *a = user;
    if (e->kind == SL_PART_REASONING) {
        take_reasoning(a, e->text);
        return;
    }
    end_thinking(a);
    if (a->look != SL_ANSWER_SILENT)
        write_shown(a, e->text);
    sl_str_append(&a->text, e->text.data, e->text.len);
}

/* ---- running ---------------------------------------------------------------------- */

static bool take_token(sl_answer *a, const sl_event *event)
{
    const double now = sl_cli_now();
    if (!a->ids.n) { /* the reasoning's time counts from here */
        sl_cli_progress_end();
        a->first = now;
    }
    a->failed |= sl_parser_feed(a->parser, event->token, NULL) != SL_OK;
    const sl_parser_state state = sl_parser_get_state(a->parser);
    if (state == SL_PARSER_TURN_END) /* not part of the answer */
        return false;
    a->last = now;
    a->failed |= sl_ids_push(&a->ids, event->token, NULL) ||
                 (a->logprobs_wanted && json_array_append_new(a->logprobs, sl_answer_logprob_json(a->source, event)));
    const bool written = sl_cli_flush(); /* may end by the interruption itself */
    a->interrupted = sl_cli_interrupted();
    return !a->failed && !a->text.failed && state == SL_PARSER_OPEN && !a->interrupted && written;
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
                                  .inline_reasoning = a->thinking == SL_THINKING_INLINE,
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
    sl_str_clear(&a->reasoning);
    a->ids.n = a->n_thought = a->n_kept = 0;
    a->thought_s = a->noted = 0.0;
    a->seed = seed;
    a->logprobs_wanted = r->logprobs;
    json_decref(a->logprobs);
    a->logprobs = r->logprobs ? json_array() : NULL;
    a->n_prompt = r->n_prompt;
    a->ended = a->interrupted = a->context_full = a->thinks = a->failed = false;
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
    if (!a->text.len) /* nothing came behind it */
        end_thinking(a);
    if (a->failed || a->text.failed || a->reasoning.failed)
        return sl_cli_failed("no memory for the answer's text");
    if (a->finish == SL_FINISH_FAULT)
        return sl_cli_failed("the answer ends after %zu token%s: no logit is a number, so nothing can be picked "
                             "(--check-tensors tells whether the file is broken)",
                             a->ids.n, sl_cli_s(a->ids.n));
    a->context_full = a->finish == SL_FINISH_CONTEXT;
    return SL_EXIT_OK;
}

/* While a long prompt is read, on a line of its own. */
static void note_prompt(const sl_answer *a, const sl_engine *e, uint64_t read_before)
{
    sl_engine_stats stats;
    sl_engine_get_stats(e, &stats);
    if (!a->ids.n && !a->ended && stats.prompt_tokens > read_before && sl_cli_progress_wanted(a->args->quiet))
        sl_cli_progress("reading: %zu of %zu tokens", (size_t)(stats.prompt_tokens - read_before),
                        a->n_prompt - a->n_kept);
}

static sl_exit run_to_end(sl_answer *a, size_t n, sl_engine *e)
{
    sl_err err = { 0 };
    sl_engine_stats before, now;
    sl_engine_get_stats(e, &before);
    while (sl_engine_busy(e)) {
        if (sl_engine_step(e, &err))
            return sl_cli_failed("%s", err.msg);
        if (sl_cli_interrupted())
            interrupt(a, n, e);
        sl_engine_get_stats(e, &now);
        a->n_kept = (size_t)(now.kept_tokens - before.kept_tokens);
        note_prompt(a, e, before.prompt_tokens);
    }
    sl_cli_progress_end();
    return SL_EXIT_OK;
}

sl_exit sl_answers_run(sl_answer *a, size_t n, sl_session *s, const sl_request *request, double asked)
{
    sl_exit code = SL_EXIT_OK;
    for (size_t k = 0; k < n && !code; k++)
        code = restart(&a[k], request, request->seed + k, asked);
    if (!code)
        code = submit(a, n, s, request);
    if (!code)
        code = run_to_end(a, n, s->engine);
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
    const bool known = span(a, n, &first, &last) && first > a->submitted;
    return known ? (double)(a->n_prompt - a->n_kept) / (first - a->submitted) : 0.0;
}

double sl_answers_rate(const sl_answer *a, size_t n)
{
    double first = 0.0, last = 0.0;
    return span(a, n, &first, &last) && last > first ? (double)(sl_answers_tokens(a, n) - 1) / (last - first) : 0.0;
}

typedef enum part { PART_FIRST, PART_PROMPT, PART_SAID, PART_CONTEXT, PART_INTERRUPTED, N_PARTS } part;

/* Those that fit, the ones that say most before others. */
static void tell_parts(const sl_str *text, size_t columns)
{
    static const part rank[N_PARTS] = { PART_INTERRUPTED, PART_SAID, PART_CONTEXT, PART_FIRST, PART_PROMPT };
    bool shown[N_PARTS] = { false };
    sl_str line = { 0 };
    size_t wide = 0;
    for (size_t i = 0; i < N_PARTS; i++) {
        const size_t len = text[rank[i]].len + (wide ? 3 : 0); /* all of it ASCII */
        shown[rank[i]] = text[rank[i]].len && (wide + len <= columns || !wide);
        wide += shown[rank[i]] ? len : 0;
    }
    for (size_t i = 0; i < N_PARTS; i++)
        if (shown[i])
            sl_str_printf(&line, "%s%s", line.len ? " | " : "", text[i].data);
    if (line.len)
        sl_screen_note("%s", line.data);
    sl_str_fini(&line);
}

void sl_answers_tell(const sl_answer *a, size_t n, const sl_session *s)
{
    sl_str text[N_PARTS] = { 0 };
    sl_engine_info info;
    const size_t said = sl_answers_tokens(a, n);
    bool interrupted = false;
    for (size_t k = 0; k < n; k++)
        interrupted |= a[k].interrupted;
    sl_engine_describe(s->engine, &info);
    sl_str_printf(&text[PART_FIRST], "first token after %.0f ms", 1e3 * sl_answers_ttft(a, n));
    sl_str_printf(&text[PART_PROMPT], "prompt %zu token%s", a->n_prompt, sl_cli_s(a->n_prompt));
    if (a->n_kept)
        sl_str_printf(&text[PART_PROMPT], " (%zu new)", a->n_prompt - a->n_kept);
    sl_str_printf(&text[PART_PROMPT], ", %.1f tokens/s", sl_answers_prompt_rate(a, n));
    sl_str_printf(&text[PART_SAID], "generated %zu token%s, %.1f tokens/s", said, sl_cli_s(said),
                  sl_answers_rate(a, n));
    if (n == 1 && !(interrupted && !said)) /* else some of the prompt may not have been read */
        sl_str_printf(&text[PART_CONTEXT], "context %zu of %zu", a->n_prompt + said, info.n_ctx);
    if (interrupted)
        sl_str_puts(&text[PART_INTERRUPTED], "interrupted");
    tell_parts(text, isatty(STDERR_FILENO) ? sl_screen_columns(STDERR_FILENO) : SIZE_MAX);
    for (size_t i = 0; i < N_PARTS; i++)
        sl_str_fini(&text[i]);
}
