#include "chat/probe.h"

#include <string.h>

#include "chat/prompt.h"
#include "chat/reply_in.h"

/* Words that no template writes by itself. */
#define ANSWER   "sluice-asks-what-follows-this"
#define QUESTION "sluice-asks-what-precedes-this"
#define MAX_END  ((size_t)64) /* a longer text between turns is no mark */

static bool told(sl_status rc)
{
    return rc == SL_OK || rc == SL_ENOMEM;
}

sl_status sl_probe_opening(const sl_template *t, const sl_tokenizer *tokenizer, sl_str *out, sl_err *err)
{
    sl_ids ids = { 0 };
    json_t *request = json_pack("{s:[{s:s, s:s}]}", "messages", "role", "user", "content", "Hello");
    sl_status rc = request ? sl_prompt_ids(t, tokenizer, request, &ids, err)
                           : sl_fail(err, SL_ENOMEM, "no memory to ask a template");
    if (!rc)
        rc = sl_reply_opening_ids(tokenizer, ids.data, ids.n, out, err);
    sl_ids_fini(&ids);
    json_decref(request);
    return told(rc) ? rc : SL_OK;
}

static sl_status render(const sl_template *t, const sl_tokenizer *tokenizer, bool question, sl_str *out, sl_err *err)
{
    json_t *request = json_pack("{s:b, s:[{s:s, s:s}, {s:s, s:s}]}", "add_generation_prompt", 0, "messages", "role",
                                "user", "content", "Hello", "role", "assistant", "content", ANSWER);
    json_t *more = question ? json_pack("{s:s, s:s}", "role", "user", "content", QUESTION) : NULL;
    sl_status rc = SL_OK;
    sl_str_clear(out);
    if (!request || (question && json_array_append_new(json_object_get(request, "messages"), more)))
        rc = sl_fail(err, SL_ENOMEM, "no memory to ask a template");
    else
        rc = sl_prompt_text(t, tokenizer, request, out, err);
    json_decref(request);
    if (!told(rc))
        sl_str_clear(out); /* it does not want that conversation */
    return told(rc) ? rc : SL_OK;
}

static sl_bytes trim_end(const char *s, size_t n)
{
    while (n && sl_reply_is_space(s[n - 1]))
        n--;
    return (sl_bytes){ s, n };
}

/* What follows the answer, up to the question if that is there. */
static sl_bytes after_answer(const sl_str *text)
{
    const char *at = NULL, *end = NULL;
    for (const char *p = text->data; p && (p = strstr(p, ANSWER)); p++)
        at = p + strlen(ANSWER);
    if (!at)
        return (sl_bytes){ "", 0 };
    end = strstr(at, QUESTION);
    return trim_end(at, end ? (size_t)(end - at) : strlen(at));
}

static size_t spaces(sl_bytes s)
{
    size_t n = 0;
    while (n < s.len && sl_reply_is_space(s.data[n]))
        n++;
    return n;
}

/* A token at its start (after white space). */
static int32_t first_token(const sl_tokenizer *t, sl_bytes s)
{
    int32_t id = -1;
    const size_t n = spaces(s);
    return n < s.len && sl_tokenizer_next_special(t, s.data, s.len, n, &id) == n ? id : -1;
}

/* gpt-oss ends each message of a reply so, not only the last. */
static bool ends_message_only(const sl_tokenizer *t, int32_t id)
{
    static const char end[] = "<|end|>";
    return sl_tags_harmony(t) && id == sl_tags_special(t, end, sizeof end - 1);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The end of a turn: its first line, which must look like a mark; the start of another: its first
 * line with the line break before it, since a name alone may stand in any text. */
static sl_bytes stop_text(sl_bytes s, bool next_turn)
{
    const size_t n = spaces(s);
    if (n == s.len)
        return (sl_bytes){ "", 0 };
    const char *line = s.data + n, *end = memchr(line, '\n', s.len - n);
    const sl_bytes first = trim_end(line, end ? (size_t)(end - line) : s.len - n);
    const bool own_line = n && memchr(s.data, '\n', n);
    if (first.len < 2 || first.len > MAX_END || (next_turn ? !own_line : is_letter(*line)))
        return (sl_bytes){ "", 0 };
    return next_turn ? (sl_bytes){ line - 1, first.len + 1 } : first;
}

sl_status sl_probe_turn_end(const sl_template *t, const sl_tokenizer *tokenizer, sl_turn_end *out, sl_err *err)
{
    sl_str text = { 0 };
    *out = (sl_turn_end){ .id = -1 };
    bool next_turn = false;
    sl_status rc = render(t, tokenizer, false, &text, err);
    sl_bytes after = after_answer(&text);
    if (!rc && after.len == 0) {
        next_turn = true;
        rc = render(t, tokenizer, true, &text, err);
        after = after_answer(&text);
    }
    if (!rc) {
        const int32_t id = first_token(tokenizer, after);
        const sl_bytes mark = id < 0 ? stop_text(after, next_turn) : (sl_bytes){ "", 0 };
        out->id = id >= 0 && !sl_tokenizer_ends(tokenizer, id) && !ends_message_only(tokenizer, id) ? id : -1;
        sl_str_append(&out->text, mark.data, mark.len);
        if (out->text.failed)
            rc = sl_fail(err, SL_ENOMEM, "no memory to ask a template");
    }
    sl_str_fini(&text);
    return rc;
}

void sl_turn_end_fini(sl_turn_end *e)
{
    sl_str_fini(&e->text);
    e->id = -1;
}
