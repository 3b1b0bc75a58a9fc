/* parse.c - `sluice parse`: what content, reasoning and tool calls a reply holds. */
#include <string.h>
#include "chat/probe.h"
#include "chat/reply.h"
#include "cli/answer.h"

typedef struct sl_parsing {
    const sl_args *args;
    sl_session session;
    const sl_tokenizer *tokenizer;
    sl_ids ids, prompt;
    sl_str opening;
    sl_turn_end turn_end;
    sl_stop *stop;
    sl_reply_whole whole;
    sl_exit printed; /* with --stream */
} sl_parsing;

/* ---- output ----------------------------------------------------------------------- */

static json_t *text_of(sl_bytes s)
{
    return sl_cli_json_text(s.data ? s.data : "", s.len);
}

static sl_bytes bytes_of(const sl_str *s)
{
    return (sl_bytes){ s->data, s->len };
}

static json_t *call_begin(const sl_reply_event *e)
{
    return json_pack("{s:[{s:I, s:o, s:s, s:{s:o, s:s}}]}", "tool_calls", "index", (json_int_t)e->call, "id",
                     text_of(e->id), "type", "function", "function", "name", text_of(e->name), "arguments", "");
}

static void print_event(void *user, const sl_reply_event *e)
{
    sl_parsing *p = user;
    json_t *delta = NULL;
    if (e->kind == SL_REPLY_CALL)
        delta = call_begin(e);
    else if (e->kind == SL_REPLY_ARGUMENTS)
        delta = json_pack("{s:[{s:I, s:{s:o}}]}", "tool_calls", "index", (json_int_t)e->call, "function", "arguments",
                          text_of(e->text));
    else
        delta = json_pack("{s:o}", e->kind == SL_REPLY_CONTENT ? "content" : "reasoning_content", text_of(e->text));
    if (!p->printed)
        p->printed = sl_cli_print_json(delta);
    else
        json_decref(delta);
}

/* As in the OpenAI API: no content beside reasoning or calls is null. */
static json_t *message(const sl_reply_whole *w)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < w->n_calls; i++)
        json_array_append_new(calls,
                              json_pack("{s:o, s:s, s:{s:o, s:o}}", "id", text_of(bytes_of(&w->calls[i].id)), "type",
                                        "function", "function", "name", text_of(bytes_of(&w->calls[i].name)),
                                        "arguments", text_of(bytes_of(&w->calls[i].arguments))));
    const bool no_content = !w->content.len && (w->n_calls || w->reasoning.len);
    return json_pack("{s:s, s:o, s:o, s:o}", "role", "assistant", "content",
                     no_content ? json_null() : text_of(bytes_of(&w->content)), "reasoning_content",
                     w->reasoning.len ? text_of(bytes_of(&w->reasoning)) : json_null(), "tool_calls", calls);
}

/* ---- input ------------------------------------------------------------------------ */

static sl_exit read_ids(sl_parsing *p, const char *given, const char *option, sl_ids *out)
{
    sl_err err = { 0 };
    sl_str text = { 0 };
    sl_exit code = SL_EXIT_OK;
    const bool ids = sl_cli_is_ids(given) && strcmp(given, "-") != 0;
    if (!ids && sl_cli_read_file(given, &text, &err))
        code = sl_cli_failed("%s", err.msg);
    if (!code && sl_cli_read_ids(ids ? given : text.data, ids ? strlen(given) : text.len, out, &err))
        code = ids ? sl_cli_usage("%s: %s", option, err.msg) : sl_cli_failed("%s: %s", given, err.msg);
    if (!code)
        code = sl_session_check_ids(&p->session, out, option);
    sl_str_fini(&text);
    return code;
}

static bool is_inline(const sl_args *args)
{
    return args->reasoning_format && strcmp(args->reasoning_format, "none") == 0;
}

/* What is known of the prompt: its end, or that of the template's prompts; else the reply itself
 * tells, when it ends a reasoning that it never began. */
static sl_exit find_opening(sl_parsing *p, const sl_template *t)
{
    sl_err err = { 0 };
    sl_status rc = SL_OK;
    const char *thinking = p->args->thinking ? p->args->thinking : "auto";
    if (strcmp(thinking, "open") == 0)
        sl_str_puts(&p->opening, "<think>");
    else if (strcmp(thinking, "closed") == 0)
        return SL_EXIT_OK;
    else if (p->args->prompt_tokens)
        rc = sl_reply_opening_ids(p->tokenizer, p->prompt.data, p->prompt.n, &p->opening, &err);
    else if (t)
        rc = sl_probe_opening(t, p->tokenizer, &p->opening, &err);
    if (!rc && !p->opening.len && !p->args->prompt_tokens && !is_inline(p->args) &&
        sl_reply_closes_only(p->tokenizer, p->ids.data, p->ids.n))
        sl_str_puts(&p->opening, "<think>");
    if (rc || p->opening.failed)
        return sl_cli_failed("%s", rc ? err.msg : "no memory for the prompt's end");
    return SL_EXIT_OK;
}

static sl_exit prepare_stops(sl_parsing *p, const sl_template *t)
{
    sl_err err = { 0 };
    if (t && sl_probe_turn_end(t, p->tokenizer, &p->turn_end, &err))
        return sl_cli_failed("%s", err.msg);
    return sl_answer_stops(&p->args->stop, &p->turn_end, &p->stop);
}

/* A template that this engine cannot read says nothing about replies, and is no reason to fail. */
static sl_exit ask_template(sl_parsing *p)
{
    sl_template *t = NULL;
    const char *source = sl_session_chat_template(&p->session, false);
    if (source)
        sl_template_create(&t, source, strlen(source), NULL);
    sl_exit code = find_opening(p, t);
    if (!code)
        code = prepare_stops(p, t);
    sl_template_destroy(t);
    return code;
}

/* ---- the command ------------------------------------------------------------------ */

/* FNV-1a: another reply, other ids of calls. */
static uint64_t hash(const sl_ids *ids)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < ids->n; i++)
        h = (h ^ (uint32_t)ids->data[i]) * 0x100000001b3u;
    return h;
}

static sl_reply_options options_of(sl_parsing *p)
{
    const char *tools = p->args->tool_parser;
    const bool automatic = !tools || strcmp(tools, "auto") == 0;
    return (sl_reply_options){
        .tokenizer = p->tokenizer,
        .tools = automatic ? sl_reply_tools(p->tokenizer, sl_session_chat_template(&p->session, true))
                           : (unsigned)sl_reply_tools_named(tools),
        .inline_reasoning = is_inline(p->args),
        .opening = bytes_of(&p->opening),
        .stop = p->stop,
        .seed = hash(&p->ids),
        .on_event = p->args->stream ? print_event : sl_reply_collect,
        .user = p->args->stream ? (void *)p : (void *)&p->whole,
    };
}

static sl_exit parse(sl_parsing *p)
{
    sl_err err = { 0 };
    sl_reply *r = NULL;
    const sl_reply_options o = options_of(p);
    sl_status rc = sl_reply_create(&r, &o, &err);
    if (!rc)
        sl_reply_prompt(r, p->prompt.data, p->prompt.n);
    for (size_t i = 0; i < p->ids.n && !rc && !p->printed; i++) {
        if (p->ids.data[i] == p->turn_end.id)
            break;
        rc = sl_reply_feed(r, p->ids.data[i], &err);
    }
    if (!rc)
        rc = sl_reply_end(r, &err);
    sl_reply_destroy(r);
    if (rc || p->whole.failed)
        return sl_cli_failed("%s", rc ? err.msg : "no memory for the reply");
    return p->args->stream ? p->printed : sl_cli_print_json(message(&p->whole));
}

static sl_exit run(const sl_args *args)
{
    sl_parsing p = { .args = args, .turn_end.id = -1 };
    if (args->tokens.n != 1)
        return sl_cli_usage("parse takes the reply's ids: --tokens IDS|FILE");
    sl_exit code = sl_session_open_text(&p.session, args);
    if (!code && !(p.tokenizer = sl_session_tokenizer(&p.session)))
        code = SL_EXIT_FAILED;
    if (!code)
        code = read_ids(&p, args->tokens.data[0], "--tokens", &p.ids);
    if (!code && args->prompt_tokens)
        code = read_ids(&p, args->prompt_tokens, "--prompt-tokens", &p.prompt);
    if (!code)
        code = ask_template(&p);
    if (!code)
        code = parse(&p);
    sl_reply_whole_fini(&p.whole);
    sl_turn_end_fini(&p.turn_end);
    sl_stop_destroy(p.stop);
    sl_str_fini(&p.opening);
    sl_ids_fini(&p.ids);
    sl_ids_fini(&p.prompt);
    return sl_session_end(&p.session, args, code);
}

static const sl_opt own[] = {
    { "tokens", NULL, "IDS|FILE", "the reply: ids by comma or white space, or a file of them (- for stdin)",
      SL_OPT_LIST, SL_ARG(tokens), 0, 0, NULL },
    { "reasoning-format|reasoning-parser", NULL, "FORMAT",
      "auto or deepseek (default): reasoning apart from the content; none: inside it, tags included", SL_OPT_WORD,
      SL_ARG(reasoning_format), 0, 0, "auto|deepseek|none" },
    { "tool-call-parser|tool-format", NULL, "FORMAT",
      "hermes (also Qwen's), deepseek, kimi, harmony (gpt-oss); auto (default): what vocabulary and template know; "
      "none: calls stay text",
      SL_OPT_WORD, SL_ARG(tool_parser), 0, 0,
      "auto|none|hermes|qwen|deepseek|deepseek_v3|deepseek_v31|kimi|kimi_k2|harmony|gpt-oss|openai" },
    { "prompt-tokens", NULL, "IDS|FILE",
      "the prompt, or its end: tells whether it began the reasoning, and may end in half a character", SL_OPT_TEXT,
      SL_ARG(prompt_tokens), 0, 0, NULL },
    { "thinking", NULL, "STATE",
      "whether the prompt began the reasoning: open, closed, or auto (default: by --prompt-tokens, else by the chat "
      "template, else by the reply)",
      SL_OPT_WORD, SL_ARG(thinking), 0, 0, "auto|open|closed" },
    { "stop", NULL, "TEXT", "the reply ends before TEXT; may be repeated", SL_OPT_LIST, SL_ARG(stop), 0, 0, NULL },
    { "stream", NULL, NULL, "a JSON object for each piece, as it would be streamed", SL_OPT_FLAG, SL_ARG(stream), 0, 0,
      NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Options", own }, { "Tokenizer", sl_opts_text }, { "Common", sl_opts_common }, { 0 }
};

const sl_command sl_cmd_parse = {
    .name = "parse",
    .usage = "sluice parse MODEL --tokens IDS|FILE [OPTIONS]",
    .summary = "what content, reasoning and tool calls a reply holds",
    .text = "Prints the message that a server would answer with: content, reasoning_content and tool_calls.\n"
            "A tag such as <think> counts where its token stands; the same letters in other tokens are text.\n"
            "\n"
            "  sluice parse smollm2 --tokens \"19556, 905\"\n",
    .groups = groups,
    .run = run,
};
