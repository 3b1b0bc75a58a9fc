/* chat.c - a conversation on a terminal: reading messages, answering them, leaving. */
#include "cli/chat.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/num.h"
#include "cli/chat_complete.h"
#include "cli/chat_in.h"
#include "cli/chat_text.h"
#include "cli/screen.h"
#include "cli/signals.h"

#define BLOCK    "\"\"\""
#define ROOM_LOW 32 /* positions for an answer, below which it is said before */

/* ---- reading a message -------------------------------------------------------------------- */

static bool has_newline(const sl_str *s)
{
    return s->len && memchr(s->data, '\n', s->len);
}

static bool ends_with(const sl_str *s, const char *end)
{
    const size_t n = strlen(end);
    return s->len >= n && memcmp(s->data + s->len - n, end, n) == 0;
}

/* The lines up to the one that ends with """, as they are; a line on which only quotes stand is none of them. */
static sl_line_end read_block(sl_talk *t, sl_str *line)
{
    bool begun = line->len > 3, closed = line->len >= 6 && ends_with(line, BLOCK);
    sl_str_append(&t->typed, line->data + 3, line->len - 3);
    while (!closed) {
        const sl_line_end end = sl_line_read(t->line, "... ", NULL, line);
        if (end != SL_LINE_TEXT)
            return end;
        if (begun)
            sl_str_puts(&t->typed, "\n");
        sl_str_append(&t->typed, line->data, line->len);
        begun = true;
        closed = ends_with(line, BLOCK);
    }
    if (t->typed.failed)
        return SL_LINE_FAILED;
    t->typed.len -= 3;
    if (line->len == 3 && t->typed.len)
        t->typed.len--;
    t->typed.data[t->typed.len] = '\0';
    return SL_LINE_TEXT;
}

/* t->typed: lines that end with \, and the one behind them. Several lines that the editor gave are whole. */
static sl_line_end read_lines(sl_talk *t, sl_str *line)
{
    sl_line_end end = SL_LINE_TEXT;
    sl_str_append(&t->typed, line->data, line->len);
    while (end == SL_LINE_TEXT && !has_newline(line) && ends_with(line, "\\")) {
        t->typed.data[t->typed.len - 1] = '\n';
        end = sl_line_read(t->line, "... ", NULL, line);
        sl_str_append(&t->typed, line->data, line->len);
    }
    return t->typed.failed ? SL_LINE_FAILED : end;
}

/* What the user writes, to t->typed; remembered as that which would be typed to say it again. *as_it_is: nothing in it
 * has a meaning. */
static sl_line_end read_typed(sl_talk *t, bool *as_it_is)
{
    sl_str line = { 0 };
    sl_str_clear(&t->typed);
    sl_line_end end = sl_line_read(t->line, "> ", t->next.data, &line);
    sl_str_clear(&t->next);
    *as_it_is = end == SL_LINE_TEXT && !has_newline(&line) && line.len >= 3 && memcmp(line.data, BLOCK, 3) == 0;
    const bool was_one = *as_it_is && line.len >= 6 && ends_with(&line, BLOCK);
    if (was_one)
        sl_line_remember(t->line, line.data);
    if (end == SL_LINE_TEXT)
        end = *as_it_is ? read_block(t, &line) : read_lines(t, &line);
    else
        sl_str_append(&t->typed, line.data, line.len);
    if (end == SL_LINE_TEXT && t->typed.len && !was_one) {
        sl_str again = { 0 };
        sl_str_append(&again, t->typed.data, t->typed.len);
        if (*as_it_is)
            sl_chat_quote(&again, true);
        if (again.data)
            sl_line_remember(t->line, again.data);
        sl_str_fini(&again);
    }
    sl_str_fini(&line);
    return end;
}

bool sl_chat_confirmed(sl_talk *t, const char *question)
{
    sl_str answer = { 0 };
    const bool yes = sl_line_read(t->line, question, NULL, &answer) == SL_LINE_TEXT && answer.len &&
                     (answer.data[0] == 'y' || answer.data[0] == 'Y');
    sl_str_fini(&answer);
    return yes;
}

/* ---- answering ------------------------------------------------------------------------------- */

size_t sl_chat_context(const sl_talk *t)
{
    sl_engine_info info;
    sl_engine_describe(t->ask.session.engine, &info);
    return info.n_ctx;
}

bool sl_chat_last(const sl_talk *t, const char *role, size_t *i)
{
    for (*i = json_array_size(t->ask.messages); (*i)--;) {
        const char *of = json_string_value(json_object_get(json_array_get(t->ask.messages, *i), "role"));
        if (of && strcmp(of, role) == 0)
            return true;
    }
    return false;
}

/* Whether the conversation can be answered; says why not, or that little room is left. */
static bool fits(sl_talk *t)
{
    sl_err err = { 0 };
    const size_t n_ctx = sl_chat_context(t);
    if (sl_ask_conversation(&t->ask, &err)) {
        sl_cli_failed("not sent: chat template: %s", err.msg);
        return false;
    }
    const size_t n = t->ask.prompt.n;
    if (n > n_ctx) {
        sl_cli_failed(
            "not sent: with this message the chat has %zu tokens, the context holds %zu. Say it shorter, take "
            "something back (/undo), begin a new conversation (/reset), or start again with a larger -c",
            n, n_ctx);
        return false;
    }
    if (n_ctx - n < ROOM_LOW && !t->ask.args.quiet)
        fprintf(stderr, "the context has room for %zu more tokens: the answer will be cut there\n", n_ctx - n);
    return true;
}

static void tell_soon_full(sl_talk *t)
{
    const size_t n_ctx = sl_chat_context(t);
    if (t->told_full || t->n_in_context < n_ctx - n_ctx / 8 || t->ask.answer->context_full || t->ask.args.quiet)
        return;
    t->told_full = true;
    fprintf(stderr,
            "the context is nearly full: %zu of %zu positions. /reset begins a new conversation, /undo takes back; a "
            "larger -c makes room\n",
            t->n_in_context, n_ctx);
}

static sl_exit add_answer(sl_talk *t)
{
    const sl_answer *a = t->ask.answer;
    json_t *message =
        json_pack("{s:s, s:o}", "role", "assistant", "content", sl_cli_json_text(a->text.data, a->text.len));
    if ((a->reasoning.len &&
         json_object_set_new(message, "reasoning_content", sl_cli_json_text(a->reasoning.data, a->reasoning.len))) ||
        json_array_append(t->ask.messages, message)) {
        json_decref(message);
        return sl_cli_failed("no memory for the conversation");
    }
    json_decref(message);
    t->n_answers++;
    t->n_generated += a->ids.n;
    t->n_read += a->n_prompt - a->n_kept;
    t->n_kept += a->n_kept;
    t->n_in_context = a->n_prompt + a->ids.n;
    return SL_EXIT_OK;
}

bool sl_chat_answer(sl_talk *t, sl_exit *code)
{
    const double asked = sl_cli_now();
    if (!fits(t))
        return false;
    sl_cli_interrupt_clear();
    *code = sl_ask_run(&t->ask, asked);
    if (*code)
        return false;
    if (!t->ask.answer->ids.n && t->ask.answer->interrupted) {
        if (!t->ask.args.quiet)
            sl_screen_note("stopped before the answer began: as if it had not been asked");
        return false;
    }
    *code = add_answer(t);
    tell_soon_full(t);
    return !*code;
}

/* What was typed becomes a message and is answered; or stands there again, to be changed. */
static sl_exit say(sl_talk *t, bool as_it_is)
{
    sl_err err = { 0 };
    sl_str message = { 0 };
    sl_exit code = SL_EXIT_OK;
    bool answered = false;
    if (as_it_is)
        sl_str_append(&message, t->typed.data, t->typed.len);
    if (!as_it_is && sl_chat_message(t->typed.data, t->typed.len, &message, &err))
        sl_cli_failed("not sent: %s (@@ is an @ that names no file)", err.msg);
    else if (!(code = sl_ask_add(&t->ask, "user", message.data, message.len))) {
        answered = sl_chat_answer(t, &code);
        if (!answered)
            json_array_remove(t->ask.messages, json_array_size(t->ask.messages) - 1);
    }
    if (!answered && !t->ask.answer->interrupted) {
        sl_str_append(&t->next, t->typed.data, t->typed.len);
        if (as_it_is)
            sl_chat_quote(&t->next, true);
    }
    sl_str_fini(&message);
    return code;
}

/* ---- the chat ----------------------------------------------------------------------------------- */

static sl_exit press(sl_talk *t)
{
    t->n_presses = t->typed.len ? 1 : t->n_presses + 1;
    if (t->n_presses > 1)
        return SL_EXIT_INTERRUPTED;
    if (!t->typed.len && !t->ask.args.quiet)
        sl_screen_note("Ctrl-C again, or Ctrl-D, leaves the chat");
    return SL_EXIT_OK;
}

static sl_exit converse(sl_talk *t)
{
    sl_exit code = SL_EXIT_OK;
    bool as_it_is = false;
    while (!code && !t->leaves && sl_cli_flush()) {
        const sl_line_end end = read_typed(t, &as_it_is);
        if (end == SL_LINE_END)
            break;
        if (end == SL_LINE_FAILED)
            return sl_cli_failed("no memory for a line");
        if (end == SL_LINE_CANCEL) {
            code = press(t);
            continue;
        }
        t->n_presses = 0;
        t->ask.answer->interrupted = false;
        if (!as_it_is && sl_chat_is_command(t->typed.data ? t->typed.data : ""))
            code = sl_chat_command(t, t->typed.data);
        else if (t->typed.len && strspn(t->typed.data, " \t\n") < t->typed.len)
            code = say(t, as_it_is);
    }
    return code;
}

/* $XDG_STATE_HOME/sluice/history (XDG base directory specification); empty: nowhere. */
static void history_file(sl_str *out)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state == '/')
        sl_str_printf(out, "%s/sluice/history", state);
    else if (home && *home == '/')
        sl_str_printf(out, "%s/.local/state/sluice/history", home);
}

static sl_exit open_line(sl_talk *t, const sl_str *history)
{
    const int screen = isatty(STDERR_FILENO) ? STDERR_FILENO : isatty(STDOUT_FILENO) ? STDOUT_FILENO : STDIN_FILENO;
    if (!sl_signals_begin(screen))
        return sl_cli_failed("no pipe for signals");
    t->line = sl_line_create(&(sl_line_options){
        .history = history->len && !history->failed ? history->data : NULL,
        .complete = sl_chat_complete,
        .pasted = sl_chat_quote,
    });
    if (!t->line)
        return sl_cli_failed("no memory for a line");
    if (!t->ask.args.quiet)
        sl_screen_note("Ctrl-C ends an answer, Ctrl-D the chat; /help tells more.");
    return SL_EXIT_OK;
}

sl_exit sl_chat_on_terminal(const sl_args *args)
{
    sl_talk t = { 0 };
    sl_str history = { 0 };
    sl_exit code = sl_ask_open(&t.ask, args, true);
    history_file(&history);
    if (!code)
        code = open_line(&t, &history);
    if (!code)
        code = converse(&t);
    sl_line_destroy(t.line);
    code = sl_ask_close(&t.ask, code);
    sl_str_fini(&t.typed);
    sl_str_fini(&t.next);
    sl_str_fini(&history);
    sl_signals_end();
    return code;
}
