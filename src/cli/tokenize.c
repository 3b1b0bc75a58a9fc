/* tokenize.c - `sluice tokenize`: text on stdin to ids, or back. */
#include <string.h>
#include "base/num.h"
#include "cli/session.h"
#include "cli/signals.h"

typedef struct sl_tokenizing {
    const sl_args *args;
    const sl_text *tokens;
    unsigned flags;
    sl_ids ids;
    sl_str text;
} sl_tokenizing;

static sl_exit text_to_ids(sl_tokenizing *z, const char *text, size_t len)
{
    sl_err err = { 0 };
    z->ids.n = 0;
    if (sl_text_tokenize(z->tokens, text, len, z->flags, &z->ids, &err))
        return sl_cli_failed("%s", err.msg);
    sl_cli_write_ids(&z->ids);
    return SL_EXIT_OK;
}

/* z->text becomes the text of z->ids. */
static sl_exit ids_to_text(sl_tokenizing *z)
{
    sl_err err = { 0 };
    sl_str_clear(&z->text);
    if (sl_text_detokenize(z->tokens, z->ids.data, z->ids.n, !z->args->no_special, &z->text, &err))
        return sl_cli_failed("%s", err.msg);
    return SL_EXIT_OK;
}

/* One JSON string for each id, and one for what is left at the end. */
static sl_exit stream(sl_tokenizing *z)
{
    sl_err err = { 0 };
    sl_detokenizer *d = NULL;
    sl_exit code = SL_EXIT_OK;
    sl_status rc = sl_detokenizer_create(&d, z->tokens, !z->args->no_special, &err);
    for (size_t i = 0; i <= z->ids.n && !rc && !code; i++) {
        sl_str_clear(&z->text);
        rc = i < z->ids.n ? sl_detokenizer_feed(d, z->ids.data[i], &z->text, &err)
                          : sl_detokenizer_flush(d, &z->text, &err);
        if (!rc)
            code = sl_cli_print_json(sl_cli_json_text(z->text.data, z->text.len));
    }
    sl_detokenizer_destroy(d);
    return rc ? sl_cli_failed("%s", err.msg) : code;
}

static sl_exit take_ids(sl_tokenizing *z, const sl_session *s, const char *text, size_t len, const char *what)
{
    sl_err err = { 0 };
    z->ids.n = 0;
    if (sl_cli_read_ids(text, len, &z->ids, &err))
        return sl_cli_failed("%s: %s", what, err.msg);
    return sl_session_check_ids(s, &z->ids, what) ? SL_EXIT_FAILED : SL_EXIT_OK;
}

/* ---- JSON lines ------------------------------------------------------------------- */

static sl_exit text_line(sl_tokenizing *z, const char *line, size_t len, const char *what)
{
    json_error_t error;
    json_t *value = json_loadb(line, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!json_is_string(value)) {
        json_decref(value);
        return sl_cli_failed("%s: a JSON string expected%s%s", what, value ? "" : ": ", value ? "" : error.text);
    }
    const sl_exit code = text_to_ids(z, json_string_value(value), json_string_length(value));
    json_decref(value);
    return code;
}

static sl_exit ids_line(sl_tokenizing *z, const sl_session *s, const char *line, size_t len, const char *what)
{
    sl_exit code = take_ids(z, s, line, len, what);
    if (!code)
        code = ids_to_text(z);
    return code ? code : sl_cli_print_json(sl_cli_json_text(z->text.data, z->text.len));
}

static sl_exit each_line(sl_tokenizing *z, const sl_session *s, const sl_str *input)
{
    size_t number = 0;
    for (size_t at = 0; at < input->len;) {
        const char *line = input->data + at, *end = memchr(line, '\n', input->len - at);
        const size_t len = end ? (size_t)(end - line) : input->len - at;
        char what[48];
        snprintf(what, sizeof what, "line %zu", ++number);
        const sl_exit code = z->args->detokenize ? ids_line(z, s, line, len, what) : text_line(z, line, len, what);
        if (code || !sl_cli_flush())
            return code;
        if (sl_cli_interrupted())
            return SL_EXIT_INTERRUPTED;
        at += len + 1;
    }
    return SL_EXIT_OK;
}

static sl_exit convert(sl_tokenizing *z, const sl_session *s, const sl_str *input)
{
    if (z->args->jsonl)
        return each_line(z, s, input);
    if (!z->args->detokenize)
        return text_to_ids(z, input->data, input->len);
    sl_exit code = take_ids(z, s, input->data, input->len, "input");
    if (!code && z->args->stream)
        return stream(z);
    if (!code)
        code = ids_to_text(z);
    if (!code)
        sl_cli_write(z->text.data, z->text.len);
    return code;
}

static sl_exit run(const sl_args *args)
{
    sl_err err = { 0 };
    sl_session s = { 0 };
    sl_str input = { 0 };
    sl_tokenizing z = { .args = args,
                        .flags = (args->no_special ? 0 : SL_TEXT_ADD_SPECIAL) |
                                 (args->no_parse_special ? 0 : SL_TEXT_PARSE_SPECIAL) };
    if (args->stream && (!args->detokenize || args->jsonl))
        return sl_cli_usage("--stream goes with --detokenize, without --jsonl");
    if (args->ids && args->detokenize)
        return sl_cli_usage("--ids and --detokenize exclude each other");
    sl_exit code = sl_session_open_text(&s, args);
    if (!code && !(z.tokens = sl_session_text(&s)))
        code = SL_EXIT_FAILED;
    sl_cli_interrupt_catch();
    if (!code && sl_cli_read_file(args->file ? args->file : "-", &input, &err))
        code = sl_cli_failed("%s", err.msg);
    if (!code)
        code = convert(&z, &s, &input);
    sl_str_fini(&input);
    sl_str_fini(&z.text);
    sl_ids_fini(&z.ids);
    return sl_session_end(&s, args, code);
}

static const sl_opt own[] = {
    { "ids", NULL, NULL, "text in, one JSON array of ids out (the default)", SL_OPT_FLAG, SL_ARG(ids), 0, 0, NULL },
    { "detokenize", NULL, NULL, "ids in (JSON array, or by comma or white space), text out as it is", SL_OPT_FLAG,
      SL_ARG(detokenize), 0, 0, NULL },
    { "jsonl", NULL, NULL,
      "JSON lines: a string per line in, an array per line out; with --detokenize the other way "
      "round",
      SL_OPT_FLAG, SL_ARG(jsonl), 0, 0, NULL },
    { "stream", NULL, NULL,
      "with --detokenize: a JSON string for each id, never half a character, and one for what is "
      "left at the end",
      SL_OPT_FLAG, SL_ARG(stream), 0, 0, NULL },
    { "no-special", NULL, NULL, "add no BOS or EOS; with --detokenize: leave control tokens out", SL_OPT_FLAG,
      SL_ARG(no_special), 0, 0, NULL },
    { "no-parse-special", NULL, NULL,
      "control tokens written in the text are plain text (default: they are recognised)", SL_OPT_FLAG,
      SL_ARG(no_parse_special), 0, 0, NULL },
    { "file", "f", "FILE", "read FILE instead of stdin", SL_OPT_TEXT, SL_ARG(file), 0, 0, NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Options", own }, { "Tokenizer", sl_opts_text }, { "Common", sl_opts_common }, { 0 }
};

const sl_command sl_cmd_tokenize = {
    .name = "tokenize",
    .usage = "sluice tokenize MODEL [OPTIONS] < TEXT",
    .summary = "text on stdin to token ids, or back",
    .text = "All of stdin is one text, its last newline included.\n"
            "\n"
            "  printf 'Hello world' | sluice tokenize smollm2             [19556, 905]\n"
            "  echo '[19556, 905]' | sluice tokenize smollm2 --detokenize Hello world\n",
    .groups = groups,
    .run = run,
};
