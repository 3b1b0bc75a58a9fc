/* messages.c - what people send as messages, and what templates expect them to be.
 *
 * As in Transformers: members that are null are absent, and reasoning is found under
 * reasoning_content and thinking. What Transformers leaves to its callers is done as servers do
 * it: arguments of calls that came as JSON text become objects, and contents that came as lists of
 * parts become texts, unless the template wants them as they are. */
#include "chat/messages_in.h"

#include <assert.h>
#include <string.h>
#include "base/num.h"

/* Stands in requests that only ask how a template shows something. */
#define NEEDLE    "sluice-asks-how-this-looks"
#define MAX_ROLES 6u /* with lists of parts; further ones get texts */

/* ---- checks ------------------------------------------------------------------------ */

static sl_status check_parts(const json_t *content, size_t message, sl_err *err)
{
    size_t i;
    json_t *part;
    json_array_foreach(content, i, part)
    {
        const char *type = json_string_value(json_object_get(part, "type"));
        if (!type)
            return sl_fail(err, SL_EINVAL, "messages[%zu].content[%zu]: an object with \"type\" expected", message, i);
        if (strcmp(type, "text") != 0)
            return sl_fail(err, SL_EINVAL, "messages[%zu].content[%zu]: parts of type '%.100s' are not supported",
                           message, i, type);
        if (!json_is_string(json_object_get(part, "text")))
            return sl_fail(err, SL_EINVAL, "messages[%zu].content[%zu].text: a string expected", message, i);
    }
    return SL_OK;
}

static sl_status check_message(const json_t *message, size_t i, sl_err *err)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    if (!json_is_object(message))
        return sl_fail(err, SL_EINVAL, "messages[%zu]: an object expected", i);
    if (calls && !json_is_array(calls) && !json_is_null(calls))
        return sl_fail(err, SL_EINVAL, "messages[%zu].tool_calls: an array expected", i);
    return check_parts(json_object_get(message, "content"), i, err);
}

sl_status sl_messages_check(const json_t *request, sl_err *err)
{
    const json_t *messages = json_object_get(request, "messages"), *tools = json_object_get(request, "tools");
    const json_t *add = json_object_get(request, "add_generation_prompt");
    const json_t *kwargs = json_object_get(request, "chat_template_kwargs");
    size_t i;
    json_t *message;
    if (!json_is_object(request))
        return sl_fail(err, SL_EINVAL, "an object with \"messages\" expected");
    if (!json_is_array(messages))
        return sl_fail(err, SL_EINVAL, "messages: an array expected");
    if (tools && !json_is_array(tools) && !json_is_null(tools))
        return sl_fail(err, SL_EINVAL, "tools: an array expected");
    if (add && !json_is_boolean(add) && !json_is_null(add))
        return sl_fail(err, SL_EINVAL, "add_generation_prompt: true or false expected");
    if (kwargs && !json_is_object(kwargs) && !json_is_null(kwargs))
        return sl_fail(err, SL_EINVAL, "chat_template_kwargs: an object expected");
    json_array_foreach(messages, i, message)
    {
        const sl_status rc = check_message(message, i, err);
        if (rc)
            return rc;
    }
    return SL_OK;
}

/* ---- forms ------------------------------------------------------------------------- */

typedef enum args_form { ARGS_TEXT, ARGS_OBJECT, ARGS_ASK } args_form;

typedef struct form {
    args_form args;
    const char *kept[MAX_ROLES]; /* roles whose lists of parts stay lists; borrowed */
    size_t n_kept;
    const char *asked; /* the role whose lists are replaced by one of the needle; NULL: none */
    bool fill;         /* an assistant's absent content becomes "" */
} form;

static bool is_kept(const form *f, const char *role)
{
    for (size_t i = 0; role && i < f->n_kept; i++)
        if (strcmp(f->kept[i], role) == 0)
            return true;
    return false;
}

static const char *role_of(const json_t *message)
{
    return json_string_value(json_object_get(message, "role"));
}

/* The texts of the parts as lines; NULL: no memory. */
static json_t *joined(const json_t *parts)
{
    sl_str text = { 0 };
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        const json_t *value = json_object_get(part, "text");
        if (i > 0)
            sl_str_puts(&text, "\n");
        sl_str_append(&text, json_string_value(value), json_string_length(value));
    }
    json_t *out = text.failed ? NULL : json_stringn(text.data ? text.data : "", text.len);
    sl_str_fini(&text);
    return out;
}

static json_t *content_in_form(const form *f, const char *role, json_t *content)
{
    if (!json_is_array(content))
        return json_incref(content);
    if (f->asked && role && strcmp(f->asked, role) == 0)
        return json_pack("[{s:s, s:s}]", "type", "text", "text", NEEDLE);
    return is_kept(f, role) ? json_incref(content) : joined(content);
}

/* What arguments that came as text mean: an object, or NULL if they are none. Nothing is no argument. */
static json_t *parsed_arguments(const json_t *arguments)
{
    const char *text = json_string_value(arguments);
    const size_t len = json_string_length(arguments);
    if (text && strspn(text, " \t\r\n") == len)
        return json_object();
    json_t *value = text ? json_loadb(text, len, JSON_ALLOW_NUL, NULL) : NULL;
    if (json_is_object(value))
        return value;
    json_decref(value);
    return NULL;
}

/* A call, or the function in it, with its arguments in that form; NULL: no memory. */
static json_t *call_in_form(const form *f, json_t *call)
{
    json_t *function = json_object_get(call, "function"), *arguments = json_object_get(call, "arguments");
    if (!json_is_object(function) && !json_is_string(arguments))
        return json_incref(call);
    json_t *copy = json_copy(call), *value = NULL;
    if (json_is_object(function)) {
        value = call_in_form(f, function);
        if (copy && json_object_set_new(copy, "function", value) == 0)
            return copy;
    } else {
        value = f->args == ARGS_TEXT ? NULL : parsed_arguments(arguments);
        if (value && f->args == ARGS_ASK) {
            json_decref(value);
            value = json_pack("{s:s}", NEEDLE, NEEDLE);
        }
        if (copy && (!value || json_object_set_new(copy, "arguments", value) == 0))
            return copy;
    }
    json_decref(copy);
    return NULL;
}

static json_t *calls_in_form(const form *f, const json_t *calls)
{
    json_t *copy = json_array(), *call;
    size_t i;
    json_array_foreach(calls, i, call) if (json_array_append_new(copy, call_in_form(f, call)))
    {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

static json_t *reasoning_of(const json_t *message)
{
    static const char *const names[] = { "reasoning_content", "thinking", "reasoning" };
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        json_t *value = json_object_get(message, names[i]);
        if (value && !json_is_null(value))
            return value;
    }
    return NULL;
}

/* NULL: no memory. The order of the members is that of Transformers: a template may print them all. */
static json_t *message_in_form(const form *f, const json_t *message)
{
    const char *key, *role = role_of(message);
    json_t *value, *copy = json_object(), *reasoning = reasoning_of(message);
    bool ok = copy && (!reasoning || json_object_set(copy, "thinking", reasoning) == 0);
    json_object_foreach((json_t *)message, key, value)
    {
        if (!ok || json_is_null(value))
            continue;
        json_t *item = strcmp(key, "content") == 0                              ? content_in_form(f, role, value)
                       : strcmp(key, "tool_calls") == 0 && json_is_array(value) ? calls_in_form(f, value)
                                                                                : json_incref(value);
        ok = json_object_set_new(copy, key, item) == 0;
    }
    if (ok && reasoning)
        ok = json_object_set(copy, "reasoning_content", reasoning) == 0;
    if (ok && f->fill && role && strcmp(role, "assistant") == 0 && !json_object_get(copy, "content"))
        ok = json_object_set_new(copy, "content", json_string("")) == 0;
    if (ok)
        return copy;
    json_decref(copy);
    return NULL;
}

static sl_status request_in_form(const form *f, const json_t *request, json_t **out, sl_err *err)
{
    json_t *messages = json_array(), *copy = json_copy((json_t *)request), *message;
    size_t i;
    bool ok = messages && copy;
    json_array_foreach(json_object_get(request, "messages"), i, message) if (ok) ok =
        json_array_append_new(messages, message_in_form(f, message)) == 0;
    *out = copy;
    if (ok && json_object_set(copy, "messages", messages) == 0) {
        json_decref(messages);
        return SL_OK;
    }
    json_decref(messages);
    json_decref(copy);
    *out = NULL;
    return sl_fail(err, SL_ENOMEM, "no memory for the messages");
}

/* ---- rendering --------------------------------------------------------------------- */

static json_t *token_text(const sl_tokenizer *t, int32_t id)
{
    const sl_bytes bytes = sl_token_written(t, id);
    return json_stringn_nocheck(bytes.data, bytes.len);
}

/* As in Transformers, a template sees the special tokens that the model names and no others. */
static int add_tokens(json_t *context, const sl_tokenizer *t)
{
    const struct {
        const char *name;
        int32_t id;
    } tokens[] = { { "bos_token", sl_tokenizer_bos(t) },
                   { "eos_token", sl_tokenizer_eos(t) },
                   { "unk_token", sl_tokenizer_unk(t) },
                   { "pad_token", sl_tokenizer_pad(t) } };
    for (size_t i = 0; i < SL_COUNT(tokens); i++)
        if (tokens[i].id >= 0 && json_object_set_new(context, tokens[i].name, token_text(t, tokens[i].id)))
            return -1;
    return 0;
}

/* What the template sees; NULL: no memory. */
static json_t *context_of(const sl_tokenizer *tokenizer, const json_t *request)
{
    const json_t *add = json_object_get(request, "add_generation_prompt");
    json_t *tools = json_object_get(request, "tools"), *kwargs = json_object_get(request, "chat_template_kwargs");
    json_t *context =
        json_pack("{s:O, s:o, s:n, s:b}", "messages", json_object_get(request, "messages"), "tools",
                  tools ? json_incref(tools) : json_null(), "documents", "add_generation_prompt", !json_is_false(add));
    if (context &&
        (add_tokens(context, tokenizer) || (json_is_object(kwargs) && json_object_update(context, kwargs)))) {
        json_decref(context);
        return NULL;
    }
    return context;
}

/* The first call of a message whose arguments are text but no object of JSON; -1: none. */
static int find_malformed(const json_t *message)
{
    size_t i;
    json_t *call;
    json_array_foreach(json_object_get(message, "tool_calls"), i, call)
    {
        const json_t *function = json_object_get(call, "function");
        const json_t *arguments = json_object_get(json_is_object(function) ? function : call, "arguments");
        json_t *value = json_is_string(arguments) ? parsed_arguments(arguments) : NULL;
        json_decref(value);
        if (json_is_string(arguments) && !value)
            return (int)i;
    }
    return -1;
}

/* Malformed arguments go through as text. Where the template cannot take that, they are to blame. */
static sl_status blame_arguments(const json_t *messages, sl_status rc, sl_err *err)
{
    size_t i;
    json_t *message;
    json_array_foreach(messages, i, message)
    {
        const int call = find_malformed(message);
        if (call >= 0)
            return sl_fail_in(err, SL_EINVAL, "messages[%zu].tool_calls[%d]: the arguments are no JSON object", i,
                              call);
    }
    return rc;
}

sl_status sl_messages_render(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *prepared, sl_str *out,
                             sl_err *err)
{
    json_t *context = context_of(tokenizer, prepared);
    sl_status rc = context ? sl_template_render(t, context, out, err)
                           : sl_fail(err, SL_ENOMEM, "no memory for the template's variables");
    json_decref(context);
    return rc == SL_EFORMAT ? blame_arguments(json_object_get(prepared, "messages"), rc, err) : rc;
}

/* ---- asking the template ------------------------------------------------------------ */

typedef enum shown { NOT_SHOWN, SHOWN, AS_PYTHON, AS_JSON } shown;

/* How the needle appears in what the template makes of that form. */
static sl_status ask(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, const form *f,
                     bool *rendered, shown *how, sl_err *err)
{
    static const char python[][16] = { "{'", "'text': '" }, json[] = "\"text\": \"";
    json_t *prepared = NULL;
    sl_str text = { 0 };
    sl_err ignored = { 0 };
    *rendered = false;
    *how = NOT_SHOWN;
    sl_status rc = request_in_form(f, request, &prepared, err);
    if (rc)
        return rc;
    rc = sl_messages_render(t, tokenizer, prepared, &text, &ignored);
    json_decref(prepared);
    *rendered = rc == SL_OK;
    const char *at = rc || !text.len ? NULL : memmem(text.data, text.len, NEEDLE, strlen(NEEDLE));
    if (at) {
        const size_t before = (size_t)(at - text.data);
        *how = SHOWN;
        for (size_t i = 0; i < SL_COUNT(python); i++) {
            const size_t n = strlen(python[i]);
            if (before >= n && memcmp(at - n, python[i], n) == 0)
                *how = AS_PYTHON;
        }
        if (before >= sizeof json - 1 && memcmp(at - (sizeof json - 1), json, sizeof json - 1) == 0)
            *how = AS_JSON;
    }
    sl_str_fini(&text);
    return rc == SL_ENOMEM ? sl_fail(err, rc, "%s", ignored.msg) : SL_OK;
}

/* Which of the three questions a request raises. */
typedef struct questions {
    bool arguments, content;
    const char *role[MAX_ROLES]; /* with lists of parts */
    size_t n_roles;
} questions;

static void question_role(questions *q, const char *role)
{
    for (size_t i = 0; role && i < q->n_roles; i++)
        if (strcmp(q->role[i], role) == 0)
            return;
    if (role && q->n_roles < MAX_ROLES)
        q->role[q->n_roles++] = role;
}

static questions questions_of(const json_t *request)
{
    questions q = { 0 };
    size_t i, k;
    json_t *message, *call;
    json_array_foreach(json_object_get(request, "messages"), i, message)
    {
        const json_t *content = json_object_get(message, "content");
        const char *role = role_of(message);
        if (json_is_array(content))
            question_role(&q, role);
        q.content |= role && strcmp(role, "assistant") == 0 && (!content || json_is_null(content));
        json_array_foreach(json_object_get(message, "tool_calls"), k, call)
        {
            const json_t *function = json_object_get(call, "function");
            q.arguments |= json_is_string(json_object_get(json_is_object(function) ? function : call, "arguments"));
        }
    }
    return q;
}

/* Objects, unless the template fails on them or prints them as Python would, and takes texts. */
static sl_status ask_for_arguments(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, form *f,
                                   sl_err *err)
{
    bool rendered = false;
    shown how = NOT_SHOWN;
    f->args = ARGS_ASK;
    sl_status rc = ask(t, tokenizer, request, f, &rendered, &how, err);
    f->args = ARGS_OBJECT;
    if (rc || (rendered && how != AS_PYTHON))
        return rc;
    f->args = ARGS_TEXT;
    rc = ask(t, tokenizer, request, f, &rendered, &how, err);
    if (!rc && !rendered)
        f->args = ARGS_OBJECT;
    return rc;
}

sl_status sl_messages_prepare(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request,
                              json_t **prepared, sl_err *err)
{
    const questions q = questions_of(request);
    form f = { .args = ARGS_OBJECT };
    bool rendered = true;
    shown how = NOT_SHOWN;
    sl_status rc = SL_OK;
    *prepared = NULL;
    f.fill = q.content; /* so that nothing else fails for it while other things are asked */
    if (q.arguments)
        rc = ask_for_arguments(t, tokenizer, request, &f, err);
    for (size_t i = 0; !rc && i < q.n_roles; i++) {
        f.asked = q.role[i];
        rc = ask(t, tokenizer, request, &f, &rendered, &how, err);
        if (rendered && how == SHOWN)
            f.kept[f.n_kept++] = q.role[i];
        f.asked = NULL;
    }
    f.fill = false;
    if (!rc && q.content) {
        rc = ask(t, tokenizer, request, &f, &rendered, &how, err);
        f.fill = !rendered;
        if (!rc && f.fill)
            rc = ask(t, tokenizer, request, &f, &rendered, &how, err);
        f.fill &= rendered; /* no better: the error is that of what was sent */
    }
    return rc ? rc : request_in_form(&f, request, prepared, err);
}
