/* message.c - parts of replies and whole ones as JSON, in the form of OpenAI's interface. */
#include <jansson.h>
#include "text/append_in.h"
#include "text/parser_in.h"

static json_t *text_of(sl_bytes s)
{
    return json_stringn(s.data ? s.data : "", s.len);
}

static json_t *string_of(const sl_str *s)
{
    return text_of((sl_bytes){ s->data, s->len });
}

static int append(const char *bytes, size_t n, void *out)
{
    sl_str_append(out, bytes, n);
    return 0;
}

/* Takes the reference; NULL: no memory. */
static sl_status write_json(json_t *value, sl_str *out, sl_err *err)
{
    const sl_str before = *out;
    if (!value || json_dump_callback(value, append, out, 0))
        out->failed = true;
    json_decref(value);
    return sl_appended(out, &before, err);
}

static json_t *delta(const sl_part *part)
{
    if (part->kind == SL_PART_CALL)
        return json_pack("{s:[{s:I, s:o, s:s, s:{s:o, s:s}}]}", "tool_calls", "index", (json_int_t)part->call, "id",
                         text_of(part->id), "type", "function", "function", "name", text_of(part->name), "arguments",
                         "");
    if (part->kind == SL_PART_ARGUMENTS)
        return json_pack("{s:[{s:I, s:{s:o}}]}", "tool_calls", "index", (json_int_t)part->call, "function", "arguments",
                         text_of(part->text));
    return json_pack("{s:o}", part->kind == SL_PART_CONTENT ? "content" : "reasoning_content", text_of(part->text));
}

sl_status sl_part_write(const sl_part *part, sl_str *out, sl_err *err)
{
    return write_json(delta(part), out, err);
}

/* No content beside reasoning or calls is null. */
static json_t *message(const sl_reply_whole *w)
{
    json_t *calls = json_array();
    for (size_t i = 0; i < w->n_calls; i++)
        if (json_array_append_new(calls, json_pack("{s:o, s:s, s:{s:o, s:o}}", "id", string_of(&w->calls[i].id), "type",
                                                   "function", "function", "name", string_of(&w->calls[i].name),
                                                   "arguments", string_of(&w->calls[i].arguments)))) {
            json_decref(calls);
            return NULL;
        }
    const bool no_content = !w->content.len && (w->n_calls || w->reasoning.len);
    return json_pack("{s:s, s:o, s:o, s:o}", "role", "assistant", "content",
                     no_content ? json_null() : string_of(&w->content), "reasoning_content",
                     w->reasoning.len ? string_of(&w->reasoning) : json_null(), "tool_calls", calls);
}

sl_status sl_parser_message(const sl_parser *p, sl_str *out, sl_err *err)
{
    if (!p->keep)
        return sl_fail(err, SL_EINVAL, "this parser keeps nothing (sl_parser_options.keep)");
    if (p->whole.failed)
        return sl_fail(err, SL_ENOMEM, "no memory for the reply");
    return write_json(message(&p->whole), out, err);
}
