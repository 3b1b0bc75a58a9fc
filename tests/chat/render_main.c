/* render_main.c - renders for the tests in Python: reads lines of JSON with `template` and either
 * `context`, the template's variables, or `request`, a conversation for chat/prompt.h. Writes one
 * line each: `text`, or `error` and `code`. The tokenizer of a request is the toy one; that its ids
 * are those of its text is checked here. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chat/prompt.h"
#include "tokenizer/toy.h"

static sl_tokenizer *tokenizer;

/* Control tokens in messages become letters in the ids alone: then they differ from the text's. */
static bool has_control_text(const json_t *request)
{
    char *text = json_dumps(json_object_get(request, "messages"), JSON_ENSURE_ASCII);
    const bool has = !text || strstr(text, "<|im_") || strstr(text, "<s>") || strstr(text, "</s>");
    free(text);
    return has;
}

static sl_status check_ids(const sl_template *t, const json_t *request, const sl_str *text, sl_err *err)
{
    sl_ids of_request = { 0 }, of_text = { 0 };
    sl_status rc = sl_prompt_ids(t, tokenizer, request, &of_request, err);
    if (!rc && !has_control_text(request)) {
        rc = sl_tokenize(tokenizer, text->data ? text->data : "", text->len, SL_TOK_PARSE_SPECIAL, &of_text, err);
        if (!rc && (of_request.n != of_text.n ||
                    (of_text.n && memcmp(of_request.data, of_text.data, of_text.n * sizeof *of_text.data) != 0)))
            rc = sl_fail(err, SL_EIO, "the ids of the request are not those of its text");
    }
    sl_ids_fini(&of_request);
    sl_ids_fini(&of_text);
    return rc;
}

static json_t *answer(const json_t *line)
{
    const json_t *source = json_object_get(line, "template"), *request = json_object_get(line, "request");
    sl_template *t = NULL;
    sl_str text = { 0 };
    sl_err err = { 0 };
    sl_status rc = sl_template_create(&t, json_string_value(source), json_string_length(source), &err);
    if (!rc && !request)
        rc = sl_template_render(t, json_object_get(line, "context"), &text, &err);
    if (!rc && request)
        rc = sl_prompt_text(t, tokenizer, request, &text, &err);
    if (!rc && request)
        rc = check_ids(t, request, &text, &err);
    json_t *out = rc ? json_pack("{s:s, s:s}", "error", err.msg, "code", sl_status_name(rc))
                     : json_pack("{s:s%}", "text", text.data ? text.data : "", text.len);
    sl_str_fini(&text);
    sl_template_destroy(t);
    return out;
}

int main(void)
{
    static toy y;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = 0;
    toy_fill(&y, "gpt-2");
    if (sl_tokenizer_create(&tokenizer, &y.v, NULL))
        return 1;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        json_t *in = json_loadb(line, (size_t)n, JSON_ALLOW_NUL, NULL);
        json_t *out = in ? answer(in) : json_pack("{s:s}", "error", "the test's line is no JSON");
        char *text = json_dumps(out, JSON_COMPACT);
        puts(text ? text : "{\"error\":\"not UTF-8\"}");
        free(text);
        json_decref(out);
        json_decref(in);
    }
    free(line);
    sl_tokenizer_destroy(tokenizer);
    return 0;
}
