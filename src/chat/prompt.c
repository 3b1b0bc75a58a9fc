#include "chat/prompt.h"

#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "chat/messages_in.h"

sl_status sl_prompt_text(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, sl_str *out,
                         sl_err *err)
{
    json_t *prepared = NULL;
    sl_status rc = sl_messages_check(request, err);
    if (!rc)
        rc = sl_messages_prepare(t, tokenizer, request, &prepared, err);
    if (!rc)
        rc = sl_messages_render(t, tokenizer, prepared, out, err);
    json_decref(prepared);
    return rc;
}

/* ---- marks ----------------------------------------------------------------------- */

#define MARK_LEN    3
#define MARKS       32 /* U+FDD0 to U+FDEF: noncharacters, for use inside one program */
#define ALL_MARKS   ((uint32_t)0xffffffff)
#define SPACES      " \t\n\v\f\r"
#define MARK_FIRST  "\xef\xb7\x90"
#define ESCAPED_LEN 6 /* "\\ufdd0": what Python's repr and JSON in ASCII make of a mark */

typedef struct mark {
    char text[MARK_LEN], escaped[ESCAPED_LEN + 1];
} mark;

static mark make_mark(unsigned i)
{
    mark m = { MARK_FIRST, "" };
    m.text[2] = (char)((unsigned char)m.text[2] + i);
    snprintf(m.escaped, sizeof m.escaped, "\\ufd%02x", 0xd0 + i);
    return m;
}

/* The first mark, in either form, and its length; NULL: none. */
static const char *find_mark(const char *text, size_t len, const mark *m, size_t *n)
{
    const char *plain = memmem(text, len, m->text, MARK_LEN);
    const char *escaped = memmem(text, plain ? (size_t)(plain - text) : len, m->escaped, ESCAPED_LEN);
    *n = escaped ? ESCAPED_LEN : MARK_LEN;
    return escaped ? escaped : plain;
}

static void marks_in_text(const char *text, size_t len, uint32_t *used)
{
    static const char hex[] = "0123456789abcdef";
    for (size_t at = 0; at < len; at++) {
        unsigned i = MARKS;
        if (len - at >= MARK_LEN && memcmp(text + at, MARK_FIRST, MARK_LEN - 1) == 0)
            i = (unsigned)(unsigned char)text[at + 2] - (unsigned char)MARK_FIRST[2];
        if (len - at >= ESCAPED_LEN && memcmp(text + at, "\\ufd", 4) == 0 &&
            (text[at + 4] == 'd' || text[at + 4] == 'e')) {
            const char *digit = memchr(hex, text[at + 5], 16);
            i = digit ? (unsigned)(digit - hex) + (text[at + 4] == 'e' ? 16u : 0u) : MARKS;
        }
        if (i < MARKS)
            *used |= (uint32_t)1 << i;
    }
}

/* Marks that some string of `value` holds. */
static void marks_in(const json_t *value, uint32_t *used)
{
    size_t i;
    const char *key;
    json_t *item;
    if (json_is_string(value))
        marks_in_text(json_string_value(value), json_string_length(value), used);
    json_array_foreach(value, i, item) marks_in(item, used);
    json_object_foreach((json_t *)value, key, item)
    {
        marks_in_text(key, strlen(key), used);
        marks_in(item, used);
    }
}

/* The text with a mark behind the first byte of each control token, and of what would become one
 * if the right text followed (perhaps after the template trimmed the end). */
static json_t *marked_text(const sl_tokenizer *t, const char *text, size_t len, const mark *m)
{
    sl_str out = { 0 };
    size_t end = len;
    while (end && strchr(SPACES, text[end - 1]))
        end--;
    for (size_t at = 0; at < len;) {
        size_t next = sl_tokenizer_next_control(t, text, len, at);
        const size_t trimmed = at < end ? sl_tokenizer_next_control(t, text, end, at) : end;
        if (trimmed < end)
            next = SL_MIN(next, trimmed);
        /* Never inside a character: control tokens begin with whole ones. */
        size_t after = SL_MIN(next + 1, len);
        while (after < len && ((unsigned char)text[after] & 0xc0) == 0x80)
            after++;
        sl_str_append(&out, text + at, after - at);
        if (next < len)
            sl_str_append(&out, m->text, MARK_LEN);
        at = after;
    }
    json_t *value = out.failed ? NULL : json_stringn(out.data ? out.data : "", out.len);
    sl_str_fini(&out);
    return value;
}

static json_t *marked(const sl_tokenizer *t, const json_t *value, const mark *m);

static json_t *marked_object(const sl_tokenizer *t, const json_t *value, const mark *m)
{
    const char *key;
    json_t *item, *copy = json_object();
    json_object_foreach((json_t *)value, key, item)
    {
        json_t *name = marked_text(t, key, strlen(key), m);
        const bool failed = !name || json_object_set_new(copy, json_string_value(name), marked(t, item, m));
        json_decref(name);
        if (failed) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

/* A copy of `value` with all strings marked, names of members included; NULL: no memory. */
static json_t *marked(const sl_tokenizer *t, const json_t *value, const mark *m)
{
    size_t i;
    json_t *item, *copy;
    if (json_is_string(value))
        return marked_text(t, json_string_value(value), json_string_length(value), m);
    if (json_is_object(value))
        return marked_object(t, value, m);
    if (!json_is_array(value))
        return json_incref((json_t *)value);
    copy = json_array();
    json_array_foreach(value, i, item) if (json_array_append_new(copy, marked(t, item, m)))
    {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* The text without its marks; *apart (ended by the caller) becomes where they stood. */
static sl_status take_marks_out(const sl_str *text, const mark *m, sl_str *out, size_t **apart, size_t *n, sl_err *err)
{
    size_t cap = 0;
    for (size_t from = 0; from < text->len;) {
        size_t skip = 0;
        const char *at = find_mark(text->data + from, text->len - from, m, &skip);
        const size_t end = at ? (size_t)(at - text->data) : text->len;
        sl_str_append(out, text->data + from, end - from);
        from = end + (at ? skip : 0);
        if (at && *n == cap) {
            size_t *grown = sl_mem_grow(*apart, cap * sizeof *grown, (cap ? 2 * cap : 64) * sizeof *grown);
            if (!grown)
                return sl_fail(err, SL_ENOMEM, "no memory for the prompt");
            *apart = grown;
            cap = cap ? 2 * cap : 64;
        }
        if (at)
            (*apart)[(*n)++] = out->len;
    }
    return out->failed ? sl_fail(err, SL_ENOMEM, "no memory for the prompt") : SL_OK;
}

static sl_status tokenize_marked(const sl_tokenizer *t, const sl_str *text, const mark *m, sl_ids *out, sl_err *err)
{
    sl_str plain = { 0 };
    size_t *apart = NULL, n = 0;
    sl_status rc = take_marks_out(text, m, &plain, &apart, &n, err);
    if (!rc && plain.len)
        rc = sl_tokenize_apart(t, plain.data, plain.len, apart, n, SL_TOK_PARSE_SPECIAL, out, err);
    sl_mem_free(apart);
    sl_str_fini(&plain);
    return rc;
}

/* Where the tokenizer puts a token in front of every text and the template wrote none, it comes here. */
static sl_status begin_once(const sl_tokenizer *t, sl_ids *ids, size_t from, sl_err *err)
{
    const int32_t first = sl_tokenizer_first(t);
    for (size_t i = from; i < ids->n; i++)
        if (ids->data[i] == first)
            return SL_OK;
    const sl_status rc = first >= 0 ? sl_ids_push(ids, first, err) : SL_OK;
    if (first >= 0 && !rc) {
        memmove(ids->data + from + 1, ids->data + from, (ids->n - 1 - from) * sizeof *ids->data);
        ids->data[from] = first;
    }
    return rc;
}

sl_status sl_prompt_ids(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, sl_ids *out,
                        sl_err *err)
{
    sl_str text = { 0 };
    mark m = { 0 };
    uint32_t used = 0;
    json_t *prepared = NULL, *safe = NULL;
    const size_t before = out->n;
    sl_status rc = sl_messages_check(request, err);
    if (!rc)
        rc = sl_messages_prepare(t, tokenizer, request, &prepared, err);
    if (rc)
        return rc;
    marks_in(prepared, &used);
    if (used == ALL_MARKS)
        rc = sl_fail(err, SL_EINVAL, "the request holds every noncharacter from U+FDD0 to U+FDEF");
    if (!rc) {
        m = make_mark((unsigned)__builtin_ctz(~used));
        safe = marked(tokenizer, prepared, &m);
        rc = safe ? sl_messages_render(t, tokenizer, safe, &text, err)
                  : sl_fail(err, SL_ENOMEM, "no memory for the prompt");
    }
    if (!rc)
        rc = tokenize_marked(tokenizer, &text, &m, out, err);
    if (!rc)
        rc = begin_once(tokenizer, out, before, err);
    if (rc)
        out->n = before;
    sl_str_fini(&text);
    json_decref(safe);
    json_decref(prepared);
    return rc;
}
