#include "cases.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void check_ids(const sl_tokenizer *t, const char *where, size_t line, json_t *text, json_t *want)
{
    sl_ids ids = { 0 };
    sl_err err = { 0 };
    if (sl_tokenize(t, json_string_value(text), json_string_length(text), SL_TOK_PARSE_SPECIAL, &ids, &err) != SL_OK)
        fail_msg("%s:%zu: %s", where, line, err.msg);
    if (ids.n != json_array_size(want))
        fail_msg("%s:%zu: %zu ids, want %zu", where, line, ids.n, json_array_size(want));
    for (size_t i = 0; i < ids.n; i++)
        if (ids.data[i] != json_integer_value(json_array_get(want, i)))
            fail_msg("%s:%zu: id %zu is %d, want %d", where, line, i, (int)ids.data[i],
                     (int)json_integer_value(json_array_get(want, i)));
    sl_ids_fini(&ids);
}

static void check_text(const sl_tokenizer *t, const char *where, size_t line, json_t *ids, json_t *want)
{
    sl_detok d;
    sl_str out = { 0 };
    sl_detok_init(&d, t, true);
    for (size_t i = 0; i < json_array_size(ids); i++)
        sl_detok_next(&d, (int32_t)json_integer_value(json_array_get(ids, i)), &out);
    sl_detok_flush(&d, &out);
    if (out.len != json_string_length(want) || (out.len && memcmp(out.data, json_string_value(want), out.len) != 0))
        fail_msg("%s:%zu: the ids give another text", where, line);
    sl_str_fini(&out);
}

size_t cases_run(const sl_tokenizer *t, const char *path, bool skip_changed)
{
    FILE *f = fopen(path, "r");
    if (!f)
        fail_msg("%s cannot be opened", path);
    char *text = NULL;
    size_t cap = 0, line = 0, run = 0;
    while (getline(&text, &cap, f) > 0) {
        json_error_t e;
        json_t *c = json_loads(text, JSON_ALLOW_NUL, &e);
        line++;
        if (!c)
            fail_msg("%s:%zu: %s", path, line, e.text);
        json_t *decoded = json_object_get(c, "decoded");
        if (!skip_changed || !decoded) {
            check_ids(t, path, line, json_object_get(c, "text"), json_object_get(c, "ids"));
            check_text(t, path, line, json_object_get(c, "ids"), decoded ? decoded : json_object_get(c, "text"));
            run++;
        }
        json_decref(c);
    }
    free(text);
    fclose(f);
    return run;
}
