/* specials.c - a sorted list that is narrowed byte by byte, behind a filter on the first byte. */
#include "tokenizer/specials.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

#define STARTS_USER    1
#define STARTS_CONTROL 2

static bool is_special(const sl_lexicon *x, size_t id)
{
    const sl_token_kind kind = sl_lexicon_kind(x, id);
    return (kind == SL_TOKEN_CONTROL || kind == SL_TOKEN_UNKNOWN || kind == SL_TOKEN_USER) &&
           sl_lexicon_bytes(x, id).len > 0;
}

static int by_bytes(const void *left, const void *right, void *lexicon)
{
    const int32_t l = *(const int32_t *)left, r = *(const int32_t *)right;
    const sl_bytes a = sl_lexicon_bytes(lexicon, (size_t)l), b = sl_lexicon_bytes(lexicon, (size_t)r);
    const int order = memcmp(a.data, b.data, SL_MIN(a.len, b.len));
    if (order != 0)
        return order;
    return a.len != b.len ? (a.len < b.len ? -1 : 1) : (l > r) - (l < r);
}

sl_status sl_specials_init(sl_specials *s, const sl_lexicon *x, sl_err *err)
{
    *s = (sl_specials){ .lexicon = x };
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        n += is_special(x, i);
    s->id = sl_mem_zalloc(n, sizeof *s->id);
    if (!s->id)
        return sl_fail(err, SL_ENOMEM, "%zu special tokens", n);
    for (size_t i = 0; i < x->n; i++) {
        if (!is_special(x, i))
            continue;
        s->id[s->n++] = (int32_t)i;
        s->starts[(unsigned char)sl_lexicon_bytes(x, i).data[0]] |=
            sl_lexicon_kind(x, i) == SL_TOKEN_USER ? STARTS_USER : STARTS_CONTROL;
    }
    qsort_r(s->id, s->n, sizeof *s->id, by_bytes, (void *)x);
    return SL_OK;
}

void sl_specials_fini(sl_specials *s)
{
    sl_mem_free(s->id);
    *s = (sl_specials){ 0 };
}

/* In list [lo, hi), all longer than k bytes: the first whose byte k is c or above. */
static size_t lower(const sl_specials *s, size_t lo, size_t hi, size_t k, unsigned c)
{
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if ((unsigned char)sl_lexicon_bytes(s->lexicon, (size_t)s->id[mid]).data[k] < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The longest special token that is the start of text; -1: none. */
static int32_t longest(const sl_specials *s, const char *text, size_t len, bool control)
{
    int32_t best = -1;
    size_t lo = 0, hi = s->n; /* those that begin with text[0..k) */
    for (size_t k = 0; k < len; k++) {
        const unsigned c = (unsigned char)text[k];
        lo = lower(s, lo, hi, k, c);
        hi = lower(s, lo, hi, k, c + 1);
        bool whole = false;
        for (; lo < hi && sl_lexicon_bytes(s->lexicon, (size_t)s->id[lo]).len == k + 1; lo++) {
            if (!whole && (control || sl_lexicon_kind(s->lexicon, (size_t)s->id[lo]) == SL_TOKEN_USER)) {
                best = s->id[lo];
                whole = true; /* of equal ones the lowest id */
            }
        }
        if (lo == hi)
            break;
    }
    return best;
}

size_t sl_specials_next(const sl_specials *s, const char *text, size_t len, size_t from, bool control, int32_t *id)
{
    const unsigned wanted = control ? STARTS_USER | STARTS_CONTROL : STARTS_USER;
    for (size_t i = from; i < len; i++) {
        if (!(s->starts[(unsigned char)text[i]] & wanted))
            continue;
        *id = longest(s, text + i, len - i, control);
        if (*id >= 0)
            return i;
    }
    *id = -1;
    return len;
}

/* Does a control token begin with text[0..len), or text with it? */
static bool may_be_control(const sl_specials *s, const char *text, size_t len)
{
    size_t lo = 0, hi = s->n; /* those that begin with text[0..k) */
    for (size_t k = 0; k < len && lo < hi; k++) {
        const unsigned c = (unsigned char)text[k];
        lo = lower(s, lo, hi, k, c);
        hi = lower(s, lo, hi, k, c + 1);
        for (; lo < hi && sl_lexicon_bytes(s->lexicon, (size_t)s->id[lo]).len == k + 1; lo++)
            if (sl_lexicon_kind(s->lexicon, (size_t)s->id[lo]) != SL_TOKEN_USER)
                return true;
    }
    for (; lo < hi; lo++) /* longer than the text */
        if (sl_lexicon_kind(s->lexicon, (size_t)s->id[lo]) != SL_TOKEN_USER)
            return true;
    return false;
}

size_t sl_specials_next_control(const sl_specials *s, const char *text, size_t len, size_t from)
{
    for (size_t i = from; i < len; i++)
        if ((s->starts[(unsigned char)text[i]] & STARTS_CONTROL) && may_be_control(s, text + i, len - i))
            return i;
    return len;
}
