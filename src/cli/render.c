/* render.c - `sluice render`: what a chat template makes of messages. */
#include <string.h>
#include "cli/session.h"
#include "cli/signals.h"

/* "WHATline L, column C: text" becomes "NAME:L:C: text", as editors read it. */
static bool place_shown(const sl_err *err, const char *what, const char *name)
{
    size_t line = 0, column = 0;
    int used = 0;
    const size_t skip = strlen(what);
    if (strncmp(err->msg, what, skip) != 0 ||
        sscanf(err->msg + skip, "line %zu, column %zu: %n", &line, &column, &used) != 2 || !used)
        return false;
    sl_cli_failed("%s:%zu:%zu: %s", name, line, column, err->msg + skip + used);
    return true;
}

/* `input` is the file of JSON, which errors call `what`; `name` is the template's. */
static sl_exit render_failed(const sl_err *err, const char *what, const char *input, const char *name)
{
    if (!place_shown(err, what, input) && !place_shown(err, "", name))
        sl_cli_failed("%s: %s", name, err->msg);
    return SL_EXIT_FAILED;
}

static sl_exit render_file(const sl_args *args)
{
    sl_err err = { 0 };
    sl_str source = { 0 }, context = { 0 }, out = { 0 };
    sl_chat *chat = NULL;
    sl_exit code = SL_EXIT_OK;
    if (sl_cli_read_file(args->context, &context, &err) || sl_cli_read_file(args->template, &source, &err))
        code = sl_cli_failed("%s", err.msg);
    const sl_chat_options o = { .source = source.data ? source.data : "", .n_source = source.len };
    if (!code && (sl_chat_create(&chat, NULL, &o, &err) || sl_chat_expand(chat, context.data, context.len, &out, &err)))
        code = render_failed(&err, "context: ", args->context, args->template);
    if (!code)
        sl_cli_write(out.data, out.len);
    sl_chat_destroy(chat);
    sl_str_fini(&context);
    sl_str_fini(&source);
    sl_str_fini(&out);
    return code;
}

static sl_status print_prompt(const sl_chat *chat, const sl_str *request, bool as_ids, sl_err *err)
{
    sl_ids ids = { 0 };
    sl_str out = { 0 };
    const sl_status rc = as_ids ? sl_chat_tokenize(chat, request->data, request->len, &ids, err)
                                : sl_chat_render(chat, request->data, request->len, &out, err);
    if (!rc && as_ids)
        sl_cli_write_ids(&ids);
    else if (!rc)
        sl_cli_write(out.data, out.len);
    sl_ids_fini(&ids);
    sl_str_fini(&out);
    return rc;
}

static sl_exit render_request(const sl_args *args)
{
    sl_err err = { 0 };
    sl_session s = { 0 };
    sl_str request = { 0 };
    sl_chat *chat = NULL;
    const sl_text *text = NULL;
    sl_exit code = SL_EXIT_OK;
    if (sl_cli_read_file(args->request, &request, &err))
        code = sl_cli_failed("%s", err.msg);
    if (!code)
        code = sl_session_open_text(&s, args);
    if (!code && !(text = sl_session_text(&s)))
        code = SL_EXIT_FAILED;
    if (!code && sl_chat_create(&chat, text, NULL, &err))
        code = err.code == SL_ENOTFOUND ? sl_cli_failed("%s: the model has no chat template", args->model)
                                        : render_failed(&err, "request: ", args->request, "chat template");
    if (!code && print_prompt(chat, &request, args->ids, &err))
        code = render_failed(&err, "request: ", args->request, "chat template");
    sl_chat_destroy(chat);
    sl_str_fini(&request);
    return sl_session_end(&s, args, code);
}

static sl_exit run(const sl_args *args)
{
    sl_cli_interrupt_catch();
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
