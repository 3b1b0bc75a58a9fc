/* render.c - `sluice render`: what a chat template makes of messages. */
#include "chat/prompt.h"
#include <string.h>
#include "cli/session.h"

static json_t *read_json(const char *path, sl_exit *code)
{
    sl_err err = { 0 };
    sl_str text = { 0 };
    json_error_t error;
    json_t *value = NULL;
    if (sl_cli_read_file(path, &text, &err))
        *code = sl_cli_failed("%s", err.msg);
    else if (!(value =
                   json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error)))
        *code = sl_cli_failed("%s:%d:%d: %s", path, error.line, error.column, error.text);
    sl_str_fini(&text);
    return value;
}

/* Template errors name "line L, column C: "; shown as editors read it. */
static sl_exit template_failed(const char *name, const sl_err *err)
{
    size_t line = 0, column = 0;
    int used = 0;
    if (sscanf(err->msg, "line %zu, column %zu: %n", &line, &column, &used) == 2 && used)
        return sl_cli_failed("%s:%zu:%zu: %s", name, line, column, err->msg + used);
    return sl_cli_failed("%s: %s", name, err->msg);
}

static sl_exit render_file(const sl_args *args)
{
    sl_err err = { 0 };
    sl_str source = { 0 }, out = { 0 };
    sl_template *t = NULL;
    sl_exit code = SL_EXIT_OK;
    json_t *context = read_json(args->context, &code);
    if (!code && sl_cli_read_file(args->template, &source, &err))
        code = sl_cli_failed("%s", err.msg);
    if (!code && (sl_template_create(&t, source.data ? source.data : "", source.len, &err) ||
                  sl_template_render(t, context, &out, &err)))
        code = template_failed(args->template, &err);
    if (!code)
        sl_cli_write(out.data, out.len);
    sl_template_destroy(t);
    json_decref(context);
    sl_str_fini(&source);
    sl_str_fini(&out);
    return code;
}

static sl_exit print_ids(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request)
{
    sl_err err = { 0 };
    sl_ids ids = { 0 };
    sl_exit code = SL_EXIT_OK;
    if (sl_prompt_ids(t, tokenizer, request, &ids, &err))
        code = template_failed("chat template", &err);
    else
        sl_cli_write_ids(&ids);
    sl_ids_fini(&ids);
    return code;
}

static sl_exit print_text(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request)
{
    sl_err err = { 0 };
    sl_str out = { 0 };
    sl_exit code = SL_EXIT_OK;
    if (sl_prompt_text(t, tokenizer, request, &out, &err))
        code = template_failed("chat template", &err);
    else
        sl_cli_write(out.data, out.len);
    sl_str_fini(&out);
    return code;
}

static bool has_tools(const json_t *request)
{
    return json_array_size(json_object_get(request, "tools")) > 0;
}

static sl_exit render_request(const sl_args *args)
{
    sl_err err = { 0 };
    sl_session s = { 0 };
    sl_template *t = NULL;
    const sl_tokenizer *tokenizer = NULL;
    sl_exit code = SL_EXIT_OK;
    json_t *request = read_json(args->request, &code);
    if (!code)
        code = sl_session_open_text(&s, args);
    if (!code && !(tokenizer = sl_session_tokenizer(&s)))
        code = SL_EXIT_FAILED;
    const char *source = code ? NULL : sl_session_chat_template(&s, has_tools(request));
    if (!code && !source)
        code = sl_cli_failed("%s: the model has no chat template", args->model);
    if (!code && sl_template_create(&t, source, strlen(source), &err))
        code = template_failed("chat template", &err);
    if (!code)
        code = args->ids ? print_ids(t, tokenizer, request) : print_text(t, tokenizer, request);
    sl_template_destroy(t);
    json_decref(request);
    return sl_session_end(&s, args, code);
}

static sl_exit run(const sl_args *args)
{
    if (args->request && args->model && !args->template && !args->context)
        return render_request(args);
    if (args->template && args->context && !args->model && !args->request && !args->ids)
        return render_file(args);
    return sl_cli_usage("render takes MODEL --request FILE [--ids], or --template FILE --context FILE");
}

static const sl_opt own[] = {
    { "request", NULL, "FILE",
      "JSON: messages, tools, add_generation_prompt (default true), chat_template_kwargs; - for "
      "stdin",
      SL_OPT_TEXT, SL_ARG(request), 0, 0, NULL },
    { "ids", NULL, NULL, "print token ids: control tokens are those of the template, never of the messages",
      SL_OPT_FLAG, SL_ARG(ids), 0, 0, NULL },
    { "template", NULL, "FILE", "a Jinja template to render without a model", SL_OPT_TEXT, SL_ARG(template), 0, 0,
      NULL },
    { "context", NULL, "FILE", "JSON object of the template's variables", SL_OPT_TEXT, SL_ARG(context), 0, 0, NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Options", own }, { "Tokenizer", sl_opts_text }, { "Common", sl_opts_common }, { 0 }
};

const sl_command sl_cmd_render = {
    .name = "render",
    .usage = "sluice render MODEL --request FILE [--ids]   or   sluice render --template FILE --context FILE",
    .summary = "what the chat template makes of messages",
    .text =
        "Prints exactly the rendered bytes. Errors name line and column.\n"
        "\n"
        "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | sluice render smollm2 --request -\n",
    .groups = groups,
    .model_optional = true,
    .run = run,
};
