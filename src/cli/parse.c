/* parse.c - `sluice parse`: what content, reasoning and tool calls a reply holds. */
#include <string.h>
#include "cli/session.h"

typedef struct sl_parsing {
    const sl_args *args;
    sl_session session;
    const sl_text *text;
    sl_ids ids, prompt;
    sl_chat *chat; /* NULL: the model has no template that can be read */
    sl_parser *parser;
    sl_str line;
    bool failed; /* with --stream: a part could not be printed */
} sl_parsing;

static void print_part(void *user, const sl_part *part)
{
    sl_parsing *p = user;
    sl_str_clear(&p->line);
    p->failed |= sl_part_write(part, &p->line, NULL) != SL_OK;
    sl_str_puts(&p->line, "\n");
    sl_cli_write(p->line.data, p->line.len);
    p->failed |= p->line.failed || !sl_cli_flush();
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

/* ---- the command ------------------------------------------------------------------ */

/* FNV-1a: another reply, other ids of calls. */
static uint64_t hash(const sl_ids *ids)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < ids->n; i++)
        h = (h ^ (uint32_t)ids->data[i]) * 0x100000001b3u;
    return h;
}

static sl_thinking thinking_of(const sl_args *args)
{
    if (args->thinking && strcmp(args->thinking, "open") == 0)
        return SL_THINKING_OPEN;
    return args->thinking && strcmp(args->thinking, "closed") == 0 ? SL_THINKING_CLOSED : SL_THINKING_AUTO;
}

static sl_exit prepare(sl_parsing *p)
{
    sl_err err = { 0 };
    const sl_args *a = p->args;
    /* A template that cannot be read says nothing about replies, and is no reason to fail. */
    if (sl_chat_create(&p->chat, p->text, NULL, &err) == SL_ENOMEM)
        return sl_cli_failed("%s", err.msg);
    const sl_parser_options o = { .chat = p->chat,
                                  .tools = a->tool_parser,
                                  .inline_reasoning = a->reasoning_format && strcmp(a->reasoning_format, "none") == 0,
                                  .thinking = thinking_of(a),
                                  .prompt = p->prompt.data,
                                  .n_prompt = p->prompt.n,
                                  .reply = p->ids.data,
                                  .n_reply = p->ids.n,
                                  .stop = a->stop.data,
                                  .n_stop = a->stop.n,
                                  .seed = hash(&p->ids),
                                  .keep = !a->stream,
                                  .on_part = a->stream ? print_part : NULL,
                                  .user = p };
    if (sl_parser_create(&p->parser, p->text, &o, &err))
        return err.code == SL_EINVAL ? sl_cli_usage("--stop: %s", err.msg) : sl_cli_failed("%s", err.msg);
    return SL_EXIT_OK;
}

static sl_exit parse(sl_parsing *p)
{
    sl_err err = { 0 };
    sl_status rc = SL_OK;
    for (size_t i = 0; i < p->ids.n && !rc && !p->failed; i++)
        rc = sl_parser_feed(p->parser, p->ids.data[i], &err);
    if (!rc && !p->failed)
        rc = sl_parser_end(p->parser, &err);
    if (!rc && !p->args->stream && !(rc = sl_parser_message(p->parser, &p->line, &err))) {
        sl_str_puts(&p->line, "\n");
        sl_cli_write(p->line.data, p->line.len);
    }
    if (rc || p->line.failed)
        return sl_cli_failed("%s", rc ? err.msg : "no memory for the reply");
    return p->failed || !sl_cli_flush() ? SL_EXIT_FAILED : SL_EXIT_OK;
}

static sl_exit run(const sl_args *args)
{
    sl_parsing p = { .args = args };
    if (args->tokens.n != 1)
        return sl_cli_usage("parse takes the reply's ids: --tokens IDS|FILE");
    sl_exit code = sl_session_open_text(&p.session, args);
    if (!code && !(p.text = sl_session_text(&p.session)))
        code = SL_EXIT_FAILED;
    if (!code)
        code = read_ids(&p, args->tokens.data[0], "--tokens", &p.ids);
    if (!code && args->prompt_tokens)
        code = read_ids(&p, args->prompt_tokens, "--prompt-tokens", &p.prompt);
    if (!code)
        code = prepare(&p);
    if (!code)
        code = parse(&p);
    sl_parser_destroy(p.parser);
    sl_chat_destroy(p.chat);
    sl_str_fini(&p.line);
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
