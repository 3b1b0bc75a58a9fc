/* render_main.c - renders for tests/chat/differential.py: reads lines of JSON with `template` and
 * `context`, writes one line each with `text`, or `error` and `code`. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "chat/template.h"

static json_t *answer(const json_t *line)
{
    const json_t *source = json_object_get(line, "template");
    sl_template *t = NULL;
    sl_str text = { 0 };
    sl_err err = { 0 };
    sl_status rc = sl_template_create(&t, json_string_value(source), json_string_length(source), &err);
    if (!rc)
        rc = sl_template_render(t, json_object_get(line, "context"), &text, &err);
    json_t *out = rc ? json_pack("{s:s, s:s}", "error", err.msg, "code", sl_status_name(rc))
                     : json_pack("{s:s%}", "text", text.data ? text.data : "", text.len);
    sl_str_fini(&text);
    sl_template_destroy(t);
    return out;
}

int main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = 0;
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
    return 0;
}
