/* chat.c - the public sl_chat: a model's templates, read once and asked about its replies; requests come as JSON text.
 */
#include <jansson.h>
#include <string.h>
#include "base/mem.h"
#include "chat/prompt.h"
#include "chat/reply.h"
#include "text/append_in.h"
#include "text/chat_in.h"
#include "text/text.h"

const char *sl_chat_source_for_tools(const sl_text *t)
{
    const char *source = sl_text_chat_template(t, "tool_use");
    return source ? source : sl_text_chat_template(t, NULL);
}

/* ---- life ------------------------------------------------------------------------- */

static sl_status read_templates(sl_chat *c, const sl_text *t, sl_err *err)
{
    const char *plain = sl_text_chat_template(t, NULL), *tools = sl_text_chat_template(t, "tool_use");
    if (!plain && !tools)
        return sl_fail(err, SL_ENOTFOUND, "there is no chat template");
    c->formats = sl_reply_tools(c->tokenizer, sl_chat_source_for_tools(t));
    const sl_status rc = plain ? sl_template_create(&c->plain, plain, strlen(plain), err) : SL_OK;
    if (rc || !tools)
        return rc;
    if (sl_template_create(&c->tools, tools, strlen(tools), &c->no_tools) == SL_ENOMEM)
        return sl_fail(err, SL_ENOMEM, "%s", c->no_tools.msg);
    return SL_OK;
}

static sl_status read_source(sl_chat *c, const char *source, size_t len, sl_err *err)
{
    char *text = sl_mem_strndup(source, len); /* terminated */
    if (!text)
        return sl_fail(err, SL_ENOMEM, "no memory for a template of %zu bytes", len);
    if (c->tokenizer)
        c->formats = sl_reply_tools(c->tokenizer, text);
    sl_mem_free(text);
    return sl_template_create(&c->plain, source, len, err);
}

static sl_status set_up(sl_chat *c, const sl_text *t, const sl_chat_options *o, sl_err *err)
{
    sl_err why = { 0 };
    if (t && !(c->tokenizer = sl_text_tokenizer(t, &why)))
        return sl_fail(err, why.code, "%s", why.msg);
    if (!t && !o->source)
        return sl_fail(err, SL_EINVAL, "a chat is made of a text or a template, neither was given");
    sl_status rc = o->source ? read_source(c, o->source, o->n_source, err) : read_templates(c, t, err);
    const sl_template *asked = c->plain ? c->plain : c->tools;
    if (!rc && t && asked)
        rc = sl_probe_opening(asked, c->tokenizer, &c->opening, err);
    if (!rc && t && asked)
        rc = sl_probe_turn_end(asked, c->tokenizer, &c->turn_end, err);
    return rc;
}

sl_status sl_chat_create(sl_chat **out, const sl_text *t, const sl_chat_options *given, sl_err *err)
{
    static const sl_chat_options none = { 0 };
    *out = NULL;
    sl_chat *c = sl_mem_zalloc(1, sizeof *c);
    if (!c)
        return sl_fail(err, SL_ENOMEM, "no memory for a chat");
    c->turn_end.id = -1;
    const sl_status rc = set_up(c, t, given ? given : &none, err);
    if (rc) {
        sl_chat_destroy(c);
        return rc;
    }
    *out = c;
    return SL_OK;
}

void sl_chat_destroy(sl_chat *c)
{
    if (!c)
        return;
    sl_template_destroy(c->plain);
    sl_template_destroy(c->tools);
    sl_str_fini(&c->opening);
    sl_turn_end_fini(&c->turn_end);
    sl_mem_free(c);
}

/* ---- requests --------------------------------------------------------------------- */

/* `what` is put in front of the place where it is no JSON. */
static sl_status read_json(json_t **out, const char *what, const char *text, size_t len, sl_err *err)
{
    json_error_t error;
    *out = json_loadb(text ? text : "", len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (*out)
        return SL_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return sl_fail(err, SL_ENOMEM, "no memory for the %s", what);
    return sl_fail(err, SL_EINVAL, "%s: line %d, column %d: %s", what, error.line, error.column, error.text);
}

static sl_status template_for(const sl_chat *c, const json_t *request, const sl_template **out, sl_err *err)
{
    const bool has_tools = json_array_size(json_object_get(request, "tools")) > 0;
    if (!c->tokenizer)
        return sl_fail(err, SL_EINVAL, "this chat was made without a text: it has no tokenizer");
    if (has_tools && c->no_tools.code)
        return sl_fail(err, c->no_tools.code, "%s", c->no_tools.msg);
    *out = has_tools && c->tools ? c->tools : c->plain;
    return *out ? SL_OK : sl_fail(err, SL_ENOTFOUND, "there is no chat template for requests without tools");
}

static sl_status read_request(const sl_chat *c, const char *text, size_t len, json_t **request, const sl_template **t,
                              sl_err *err)
{
    const sl_status rc = read_json(request, "request", text, len, err);
    return rc ? rc : template_for(c, *request, t, err);
}

sl_status sl_chat_render(const sl_chat *c, const char *request, size_t len, sl_str *out, sl_err *err)
{
    json_t *json = NULL;
    const sl_template *t = NULL;
    const sl_str before = *out;
    sl_status rc = read_request(c, request, len, &json, &t, err);
    if (!rc)
        rc = sl_prompt_text(t, c->tokenizer, json, out, err);
    if (rc)
        sl_append_undo(out, &before);
    json_decref(json);
    return rc;
}

sl_status sl_chat_tokenize(const sl_chat *c, const char *request, size_t len, sl_ids *out, sl_err *err)
{
    json_t *json = NULL;
    const sl_template *t = NULL;
    sl_status rc = read_request(c, request, len, &json, &t, err);
    if (!rc)
        rc = sl_prompt_ids(t, c->tokenizer, json, out, err);
    json_decref(json);
    return rc;
}

sl_status sl_chat_expand(const sl_chat *c, const char *context, size_t len, sl_str *out, sl_err *err)
{
    json_t *json = NULL;
    const sl_str before = *out;
    sl_status rc = c->plain ? SL_OK : sl_fail(err, SL_ENOTFOUND, "there is a chat template for tools only");
    if (!rc)
        rc = read_json(&json, "context", context, len, err);
    if (!rc)
        rc = sl_template_render(c->plain, json, out, err);
    if (rc)
        sl_append_undo(out, &before);
    json_decref(json);
    return rc;
}
