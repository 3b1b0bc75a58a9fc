/* pretok_lines.c - for pretok_differential.py: the steps of a pre-tokenizer and texts in, pieces out.
 *
 *   pretok_lines <LINES
 *
 * A line is a JSON object {"steps": [...]}, answered by null or the error, or a string, answered
 * by the array of its pieces or by {"error": ...}. A step: {"kind": "split", "pattern", "regex",
 * "rust", "behavior", "invert"}, or another kind with "text", "prepend" or "length". */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tokenizer/pretok.h"
#include "tokenizer/utf8.h"

static size_t find(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "what is \"%s\"?\n", name);
    exit(2);
}

static sl_bytes text_of(json_t *step, const char *key)
{
    json_t *s = json_object_get(step, key);
    return (sl_bytes){ s ? json_string_value(s) : "", json_string_length(s) };
}

static const char *name_of(json_t *step, const char *key, const char *otherwise)
{
    json_t *s = json_object_get(step, key);
    return s ? json_string_value(s) : otherwise;
}

static sl_status make(sl_pretok **out, json_t *list, sl_err *err)
{
    static const char *const kinds[] = { "split", "prefix_space", "byte_level", "metaspace", "chunks" };
    static const char *const behaviors[] = { "removed", "isolated", "merged_with_previous", "merged_with_next",
                                             "contiguous" };
    static const char *const prepends[] = { "never", "first", "always" };
    sl_pretok_step steps[64] = { 0 };
    sl_vocab v = { .pretoks = steps, .n_pretoks = SL_MIN(json_array_size(list), SL_COUNT(steps)) };
    for (size_t i = 0; i < v.n_pretoks; i++) {
        json_t *s = json_array_get(list, i);
        steps[i] = (sl_pretok_step){
            .kind = (sl_pretok_kind)find(kinds, SL_COUNT(kinds), name_of(s, "kind", "split")),
            .pattern = text_of(s, "pattern"),
            .regex = json_is_true(json_object_get(s, "regex")),
            .rust = json_is_true(json_object_get(s, "rust")),
            .behavior = (sl_split_behavior)find(behaviors, SL_COUNT(behaviors), name_of(s, "behavior", "isolated")),
            .invert = json_is_true(json_object_get(s, "invert")),
            .text = text_of(s, "text"),
            .prepend = (sl_prepend)find(prepends, SL_COUNT(prepends), name_of(s, "prepend", "never")),
            .length = (size_t)json_integer_value(json_object_get(s, "length")),
        };
    }
    return sl_pretok_create(out, &v, err);
}

/* As a string where it is UTF-8, else (behind BYTE_LEVEL) as an array of its bytes. */
static sl_status add_piece(void *arg, const char *piece, size_t len, sl_err *err)
{
    (void)err;
    json_t *text = json_stringn(piece, len);
    if (!text) {
        text = json_array();
        for (size_t i = 0; i < len; i++)
            json_array_append_new(text, json_integer((unsigned char)piece[i]));
    }
    json_array_append_new(arg, text);
    return SL_OK;
}

static json_t *error_of(const sl_err *err)
{
    return json_pack("{s:s, s:s}", "error", err->msg, "code", sl_status_name(err->code));
}

int main(void)
{
    sl_pretok *p = NULL;
    sl_pretok_work work = { 0 };
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, stdin) > 0) {
        json_t *in = json_loads(line, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL), *out = NULL;
        sl_err err = { 0 };
        if (json_is_object(in)) {
            sl_pretok_destroy(p);
            const char *name = name_of(in, "name", NULL);
            const sl_status rc = name ? sl_pretok_create(&p, &(sl_vocab){ .pre = name }, &err)
                                      : make(&p, json_object_get(in, "steps"), &err);
            out = rc == SL_OK ? json_null() : error_of(&err);
        } else if (p && json_is_string(in)) {
            const char *text = json_string_value(in);
            const size_t len = json_string_length(in);
            size_t n_chars = 0;
            sl_utf8_valid(text, len, &n_chars);
            out = json_array();
            if (sl_pretok_split(p, &work, text, len, n_chars, true, add_piece, out, &err) != SL_OK) {
                json_decref(out);
                out = error_of(&err);
            }
        }
        if (!out) /* a text, but its steps were refused */
            out = json_null();
        json_dumpf(out, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
        putchar('\n');
        json_decref(out);
        json_decref(in);
    }
    free(line);
    sl_pretok_work_fini(&work);
    sl_pretok_destroy(p);
    return 0;
}
