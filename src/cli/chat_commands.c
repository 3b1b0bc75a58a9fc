/* chat_commands.c - /words of the chat. */
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "cli/chat_in.h"
#include "cli/screen.h"

typedef struct command {
    const char *name, *argument, *help;
    sl_chat_takes takes;
    sl_exit (*run)(sl_talk *t, const char *argument); /* "": none */
} command;

static sl_exit help(sl_talk *t, const char *argument);

/* ---- the conversation ---------------------------------------------------------------------- */

static sl_exit reset(sl_talk *t, const char *argument)
{
    (void)argument;
    const char *role = json_string_value(json_object_get(json_array_get(t->ask.messages, 0), "role"));
    const size_t keep = role && strcmp(role, "system") == 0;
    while (json_array_size(t->ask.messages) > keep)
        json_array_remove(t->ask.messages, json_array_size(t->ask.messages) - 1);
    t->told_full = false;
    t->n_in_context = 0;
    sl_screen_note("a new conversation%s", keep ? " with the same system message" : "");
    return SL_EXIT_OK;
}

static sl_exit set_system(sl_talk *t, const char *argument)
{
    const json_t *first = json_array_get(t->ask.messages, 0);
    const char *role = json_string_value(json_object_get(first, "role"));
    const bool had = role && strcmp(role, "system") == 0;
    if (!*argument) {
        const char *now = had ? json_string_value(json_object_get(first, "content")) : NULL;
        sl_str safe = { 0 };
        sl_screen_safe(now ? now : "", now ? strlen(now) : 0, &safe);
        fprintf(stderr, now ? "system message: %s\n" : "no system message%s\n", safe.data ? safe.data : "");
        sl_str_fini(&safe);
        return SL_EXIT_OK;
    }
    if (had)
        json_array_remove(t->ask.messages, 0);
    if (strcmp(argument, "\"\"") == 0) {
        sl_screen_note("no system message from now on");
        return SL_EXIT_OK;
    }
    json_t *message =
        json_pack("{s:s, s:o}", "role", "system", "content", sl_cli_json_text(argument, strlen(argument)));
    if (json_array_insert_new(t->ask.messages, 0, message))
        return sl_cli_failed("no memory for the conversation");
    sl_screen_note("system message set, from now on");
    return SL_EXIT_OK;
}

/* Takes back all from message i on. Returns what was there before, or NULL without memory. */
static json_t *cut(sl_talk *t, size_t i)
{
    json_t *before = json_copy(t->ask.messages);
    while (before && json_array_size(t->ask.messages) > i)
        json_array_remove(t->ask.messages, json_array_size(t->ask.messages) - 1);
    return before;
}

static sl_exit undo(sl_talk *t, const char *argument)
{
    (void)argument;
    size_t i = 0;
    if (!sl_chat_last(t, "user", &i)) {
        sl_screen_note("nothing to take back");
        return SL_EXIT_OK;
    }
    json_decref(cut(t, i));
    t->told_full = false;
    sl_screen_note("taken back: the last message and its answer");
    return SL_EXIT_OK;
}

static sl_exit regenerate(sl_talk *t, const char *argument)
{
    (void)argument;
    size_t i = 0;
    sl_exit code = SL_EXIT_OK;
    if (!sl_chat_last(t, "user", &i)) {
        sl_screen_note("nothing to answer again");
        return SL_EXIT_OK;
    }
    json_t *before = cut(t, i + 1);
    if (!before)
        return sl_cli_failed("no memory for the conversation");
    t->ask.seed++; /* else it would say the same */
    if (sl_chat_answer(t, &code)) {
        json_decref(before);
    } else {
        json_decref(t->ask.messages);
        t->ask.messages = before;
    }
    return code;
}

static sl_exit save(sl_talk *t, const char *argument)
{
    sl_chat_save(t, argument);
    return SL_EXIT_OK;
}

static sl_exit load(sl_talk *t, const char *argument)
{
    sl_chat_load(t, argument);
    return SL_EXIT_OK;
}

/* ---- the rest --------------------------------------------------------------------------------- */

static sl_exit set_thinking(sl_talk *t, const char *argument)
{
    static const char *const names[] = { "show", "fold", "hide" };
    for (size_t i = 0; i < SL_COUNT(names); i++)
        if (strcmp(argument, names[i]) == 0) {
            t->ask.answer->thinking = sl_thinking_by_name(argument);
            sl_screen_note("thinking: %s", argument);
            return SL_EXIT_OK;
        }
    sl_cli_failed("/thinking: one of show, fold and hide expected");
    return SL_EXIT_OK;
}

static sl_exit stats(sl_talk *t, const char *argument)
{
    (void)argument;
    sl_model_info model;
    sl_engine_info engine;
    sl_engine_stats s;
    const sl_answer *a = t->ask.answer;
    sl_model_describe(t->ask.session.model, &model);
    sl_engine_describe(t->ask.session.engine, &engine);
    sl_engine_get_stats(t->ask.session.engine, &s);
    sl_screen_note("model: %s, loaded in %.2f s", model.name, t->ask.session.load_s);
    sl_screen_note("engine: %s, %zu thread%s, KV %s, steps of %zu tokens", engine.isa, engine.n_threads,
                   sl_cli_s(engine.n_threads), engine.kv_type, engine.n_ubatch);
    sl_screen_note("context: %zu of %zu positions, KV pages %zu of %zu", t->n_in_context, engine.n_ctx, s.kv_pages_used,
                   s.kv_pages);
    sl_screen_note("messages: %zu, answers: %zu, seed %llu", json_array_size(t->ask.messages), t->n_answers,
                   (unsigned long long)t->ask.seed);
    sl_screen_note("tokens: %zu generated, %zu read, %zu known already", t->n_generated, t->n_read, t->n_kept);
    if (!t->n_answers)
        return SL_EXIT_OK;
    sl_screen_note("last answer: %zu token%s at %.1f/s, first after %.0f ms", a->ids.n, sl_cli_s(a->ids.n),
                   sl_answers_rate(a, 1), 1e3 * sl_answers_ttft(a, 1));
    if (a->n_thought)
        sl_screen_note("             %zu of them thinking, %.1f s", a->n_thought, a->thought_s);
    return SL_EXIT_OK;
}

static sl_exit quit(sl_talk *t, const char *argument)
{
    (void)argument;
    t->leaves = true;
    return SL_EXIT_OK;
}

/* ---- the table ---------------------------------------------------------------------------------- */

static const command commands[] = {
    { "/help", "", "this text", SL_CHAT_TAKES_TEXT, help },
    { "/reset", "", "begin a new conversation; the system message stays", SL_CHAT_TAKES_TEXT, reset },
    { "/system", "TEXT", "set the system message; \"\" removes it, nothing shows it", SL_CHAT_TAKES_TEXT, set_system },
    { "/regen", "", "answer the last message again, with another seed", SL_CHAT_TAKES_TEXT, regenerate },
    { "/undo", "", "take back the last message and its answer", SL_CHAT_TAKES_TEXT, undo },
    { "/save", "FILE", "write the conversation as `sluice render --request` reads it", SL_CHAT_TAKES_PATH, save },
    { "/load", "FILE", "go on with a conversation from a file", SL_CHAT_TAKES_PATH, load },
    { "/thinking", "WORD", "show, fold (a line with its length) or hide the reasoning", SL_CHAT_TAKES_THINKING,
      set_thinking },
    { "/stats", "", "model, context, tokens and times", SL_CHAT_TAKES_TEXT, stats },
    { "/quit", "", "leave", SL_CHAT_TAKES_TEXT, quit },
};
_Static_assert(SL_COUNT(commands) <= SL_CHAT_COMMANDS_MAX, "names go into arrays of that size");

static sl_exit help(sl_talk *t, const char *argument)
{
    (void)t;
    (void)argument;
    fflush(stdout);
    for (size_t i = 0; i < SL_COUNT(commands); i++) {
        char left[32];
        snprintf(left, sizeof left, "%s %s", commands[i].name, commands[i].argument);
        fprintf(stderr, "  %-16s %s\n", left, commands[i].help);
    }
    fputs("  @FILE            in a message: with the file's text; @\"A FILE\" for spaces\n"
          "  // and @@        a / or @ that means itself\n"
          "  \\ at the end     the message goes on in the next line\n"
          "  \"\"\" ... \"\"\"      several lines, in which nothing has a meaning\n"
          "Tab completes commands and paths, arrow up brings back. Ctrl-C ends an answer\n"
          "or clears the line; twice, or Ctrl-D on an empty line, leaves.\n",
          stderr);
    return SL_EXIT_OK;
}

/* The row that text[0..n) names; NULL: none. */
static const command *find(const char *text, size_t n)
{
    for (size_t i = 0; i < SL_COUNT(commands); i++)
        if (strlen(commands[i].name) == n && memcmp(commands[i].name, text, n) == 0)
            return &commands[i];
    return NULL;
}

void sl_chat_command_names(const char **names)
{
    for (size_t i = 0; i < SL_COUNT(commands); i++)
        names[i] = commands[i].name;
    names[SL_COUNT(commands)] = NULL;
}

sl_chat_takes sl_chat_command_takes(const char *text, size_t n)
{
    const command *c = find(text, n);
    return c ? c->takes : SL_CHAT_TAKES_TEXT;
}

bool sl_chat_is_command(const char *text)
{
    return text[0] == '/' && text[1] != '/' && (find(text, strcspn(text, " \t\n")) || !strchr(text, '\n'));
}

static void unknown(const char *text, size_t n)
{
    const char *near = NULL;
    char word[32];
    sl_str safe = { 0 };
    snprintf(word, sizeof word, "%.*s", (int)SL_MIN(n, sizeof word - 1), text);
    for (size_t i = 0; i < SL_COUNT(commands) && !near; i++)
        if (sl_edit_distance(word, commands[i].name) <= 2 && n > 2)
            near = commands[i].name;
    sl_screen_safe(word, strlen(word), &safe);
    sl_cli_failed("no command %s%s%s%s: not sent; /help lists the commands, // begins a message with /",
                  safe.data ? safe.data : "", near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    sl_str_fini(&safe);
}

sl_exit sl_chat_command(sl_talk *t, const char *text)
{
    const size_t n = strcspn(text, " \t\n");
    const command *c = find(text, n);
    const char *begin = text + n + strspn(text + n, " \t\n");
    size_t len = strlen(begin);
    while (len && strchr(" \t\n", begin[len - 1]))
        len--;
    if (!c) {
        unknown(text, n);
        return SL_EXIT_OK;
    }
    if (len && !*c->argument) {
        sl_cli_failed("%s takes nothing behind it", c->name);
        return SL_EXIT_OK;
    }
    if (!len && c->takes != SL_CHAT_TAKES_TEXT) {
        sl_cli_failed("%s needs a %s", c->name, c->argument);
        return SL_EXIT_OK;
    }
    sl_str argument = { 0 };
    sl_str_append(&argument, begin, len);
    const sl_exit code =
        argument.failed ? sl_cli_failed("no memory for the command") : c->run(t, argument.data ? argument.data : "");
    sl_str_fini(&argument);
    return code;
}
