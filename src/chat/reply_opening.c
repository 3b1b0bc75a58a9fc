/* reply_opening.c - whether the prompt has begun the reasoning already. */
#include <string.h>

#include "base/num.h"
#include "chat/reply_in.h"

#define OPEN      "<think>"
#define CLOSE     "</think>"
#define OPEN_LEN  (sizeof OPEN - 1)
#define CLOSE_LEN (sizeof CLOSE - 1)
#define TAIL      ((size_t)16) /* ids: a tag in letters and some white space */
#define QUOTES    "`'\""

sl_bytes sl_reply_opening(const char *prompt, size_t len)
{
    size_t end = len;
    while (end && sl_reply_is_space(prompt[end - 1]))
        end--;
    if (end < OPEN_LEN || memcmp(prompt + end - OPEN_LEN, OPEN, OPEN_LEN) != 0)
        return (sl_bytes){ "", 0 };
    return (sl_bytes){ prompt + end - OPEN_LEN, len - (end - OPEN_LEN) };
}

static bool is_blank(sl_bytes s)
{
    size_t i = 0;
    while (i < s.len && sl_reply_is_space(s.data[i]))
        i++;
    return i == s.len;
}

sl_status sl_reply_opening_ids(const sl_tokenizer *t, const int32_t *ids, size_t n, sl_str *out, sl_err *err)
{
    const int32_t open = sl_tags_special(t, OPEN, OPEN_LEN);
    sl_str text = { 0 };
    size_t last = n;
    while (last && is_blank(sl_token_bytes(t, ids[last - 1], true)))
        last--;
    if (open >= 0 && (!last || ids[last - 1] != open))
        return SL_OK;
    for (size_t i = last - SL_MIN(last, TAIL); i < n; i++) {
        const sl_bytes bytes = sl_token_bytes(t, ids[i], true);
        sl_str_append(&text, bytes.data, bytes.len);
    }
    const sl_bytes opening = sl_reply_opening(text.data ? text.data : "", text.len);
    sl_str_append(out, opening.data, opening.len);
    const bool failed = text.failed || out->failed;
    sl_str_fini(&text);
    return failed ? sl_fail(err, SL_ENOMEM, "no memory for the end of a prompt") : SL_OK;
}

static bool is_quote(char c)
{
    return c == '`' || c == '\'' || c == '"';
}

/* ids[i] stands between two quotation marks. */
static bool is_quoted(const sl_tokenizer *t, const int32_t *ids, size_t n, size_t i)
{
    const sl_bytes before = i > 0 ? sl_token_bytes(t, ids[i - 1], true) : (sl_bytes){ "", 0 };
    const sl_bytes behind = i + 1 < n ? sl_token_bytes(t, ids[i + 1], true) : (sl_bytes){ "", 0 };
    return before.len && behind.len && is_quote(before.data[before.len - 1]) && is_quote(behind.data[0]);
}

/* In letters: on a line's edge, since people also write about the tag. */
static bool closes_in_letters(const sl_str *text)
{
    const char *at = text->data ? strstr(text->data, CLOSE) : NULL;
    const char *open = at ? strstr(text->data, OPEN) : NULL;
    if (!at || (open && open < at))
        return false;
    return (at > text->data && at[-1] == '\n') || at[CLOSE_LEN] == '\n';
}

static bool letters_close(const sl_tokenizer *t, const int32_t *ids, size_t n)
{
    sl_str text = { 0 };
    sl_detok d;
    sl_detok_init(&d, t, true);
    for (size_t i = 0; i < n; i++)
        sl_detok_next(&d, ids[i], &text);
    const bool closes = !text.failed && closes_in_letters(&text);
    sl_str_fini(&text);
    return closes;
}

bool sl_reply_closes_only(const sl_tokenizer *t, const int32_t *ids, size_t n)
{
    const int32_t open = sl_tags_special(t, OPEN, OPEN_LEN), close = sl_tags_special(t, CLOSE, CLOSE_LEN);
    if (close < 0)
        return letters_close(t, ids, n);
    for (size_t i = 0; i < n && (open < 0 || ids[i] != open); i++)
        if (ids[i] == close && !is_quoted(t, ids, n, i))
            return true;
    return false;
}
