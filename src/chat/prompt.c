#include "chat/prompt.h"

#include <string.h>
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

#define MARK_LEN   3
#define MARKS      32 /* U+FDD0 to U+FDEF: noncharacters, for use inside one program */
#define ALL_MARKS  ((uint32_t)0xffffffff)
#define SPACES     " \t\n\v\f\r"
#define MARK_FIRST "\xef\xb7\x90"

static void make_mark(unsigned i, char mark[MARK_LEN])
{
    memcpy(mark, MARK_FIRST, MARK_LEN);
    mark[2] = (char)((unsigned char)mark[2] + i);
}

static void marks_in_text(const char *text, size_t len, uint32_t *used)
{
    for (size_t i = 0; i + MARK_LEN <= len; i++) {
        const unsigned last = (unsigned char)text[i + 2] - (unsigned)(unsigned char)MARK_FIRST[2];
        if (memcmp(text + i, MARK_FIRST, 2) == 0 && last < MARKS)
            *used |= (uint32_t)1 << last;
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
static json_t *marked_text(const sl_tokenizer *t, const char *text, size_t len, const char *mark)
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
            sl_str_append(&out, mark, MARK_LEN);
        at = after;
    }
    json_t *value = out.failed ? NULL : json_stringn(out.data ? out.data : "", out.len);
    sl_str_fini(&out);
    return value;
}

static json_t *marked(const sl_tokenizer *t, const json_t *value, const char *mark);

static json_t *marked_object(const sl_tokenizer *t, const json_t *value, const char *mark)
{
    const char *key;
    json_t *item, *copy = json_object();
    json_object_foreach((json_t *)value, key, item)
    {
        json_t *name = marked_text(t, key, strlen(key), mark);
        const bool failed = !name || json_object_set_new(copy, json_string_value(name), marked(t, item, mark));
        json_decref(name);
        if (failed) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

/* A copy of `value` with all strings marked, names of members included; NULL: no memory. */
static json_t *marked(const sl_tokenizer *t, const json_t *value, const char *mark)
{
    size_t i;
    json_t *item, *copy;
    if (json_is_string(value))
        return marked_text(t, json_string_value(value), json_string_length(value), mark);
    if (json_is_object(value))
        return marked_object(t, value, mark);
    if (!json_is_array(value))
        return json_incref((json_t *)value);
    copy = json_array();
    json_array_foreach(value, i, item) if (json_array_append_new(copy, marked(t, item, mark)))
    {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

/* Append text[0..len) without its marks as plain text's ids. */
static sl_status add_plain(const sl_tokenizer *t, const char *text, size_t len, const char *mark, sl_str *room,
                           sl_ids *out, sl_err *err)
{
    sl_str_clear(room);
    while (len) {
        const char *at = memmem(text, len, mark, MARK_LEN);
        const size_t n = at ? (size_t)(at - text) : len;
        sl_str_append(room, text, n);
        text += n + (at ? MARK_LEN : 0);
        len -= n + (at ? MARK_LEN : 0);
    }
    if (room->failed)
        return sl_fail(err, SL_ENOMEM, "no memory for the prompt");
    return room->len ? sl_tokenize(t, room->data, room->len, 0, out, err) : SL_OK;
}

static sl_status tokenize_marked(const sl_tokenizer *t, const sl_str *text, const char *mark, sl_ids *out, sl_err *err)
{
    sl_str room = { 0 };
    sl_status rc = SL_OK;
    for (size_t at = 0; at < text->len && !rc;) {
        int32_t id = -1;
        const size_t next = sl_tokenizer_next_special(t, text->data, text->len, at, &id);
        rc = add_plain(t, text->data + at, next - at, mark, &room, out, err);
        at = next;
        if (!rc && id >= 0) {
            rc = sl_ids_push(out, id, err);
            at += sl_token_written(t, id).len;
        }
    }
    sl_str_fini(&room);
    return rc;
}

sl_status sl_prompt_ids(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, sl_ids *out,
                        sl_err *err)
{
    sl_str text = { 0 };
    char mark[MARK_LEN];
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
        make_mark((unsigned)__builtin_ctz(~used), mark);
        safe = marked(tokenizer, prepared, mark);
        rc = safe ? sl_messages_render(t, tokenizer, safe, &text, err)
                  : sl_fail(err, SL_ENOMEM, "no memory for the prompt");
    }
    if (!rc)
        rc = tokenize_marked(tokenizer, &text, mark, out, err);
    if (rc)
        out->n = before;
    sl_str_fini(&text);
    json_decref(safe);
    json_decref(prepared);
    return rc;
}
