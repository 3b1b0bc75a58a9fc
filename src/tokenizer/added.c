/* added.c - a trie behind a filter on the first two bytes. */
#include "tokenizer/added.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/chars.h"
#include "tokenizer/utf8.h"

static void set_pair(sl_added *a, unsigned first, unsigned second)
{
    const unsigned pair = first << 8 | second;
    a->pairs[pair / 64] |= (uint64_t)1 << pair % 64;
}

static bool has_pair(const sl_added *a, const char *s)
{
    const unsigned pair = (unsigned)(unsigned char)s[0] << 8 | (unsigned char)s[1];
    return a->pairs[pair / 64] >> pair % 64 & 1;
}

sl_status sl_added_init(sl_added *a, const sl_added_token *token, const uint32_t *which, const sl_bytes *text, size_t n,
                        sl_err *err)
{
    *a = (sl_added){ .n = n };
    const sl_status rc = sl_trie_init(&a->trie, text, n, err);
    if (rc != SL_OK)
        return rc;
    a->token = sl_mem_alloc(n * sizeof *a->token);
    if (!a->token) {
        sl_added_fini(a);
        return sl_fail(err, SL_ENOMEM, "no memory for %zu added tokens", n);
    }
    for (size_t i = 0; i < n; i++) {
        a->token[i] = token[which[i]];
        for (unsigned second = 0; text[i].len == 1 && second < 256; second++)
            set_pair(a, (unsigned char)text[i].data[0], second);
        if (text[i].len > 1)
            set_pair(a, (unsigned char)text[i].data[0], (unsigned char)text[i].data[1]);
    }
    return SL_OK;
}

void sl_added_fini(sl_added *a)
{
    sl_mem_free(a->token);
    sl_trie_fini(&a->trie);
    *a = (sl_added){ 0 };
}

size_t sl_added_find(const sl_added *a, const char *text, size_t len, size_t from, int32_t *at, size_t *n)
{
    *at = -1;
    *n = 0;
    for (size_t i = from; a->trie.n > 0 && i < len; i++) {
        if (i + 1 < len && !has_pair(a, text + i))
            continue;
        *at = sl_trie_longest(&a->trie, text + i, len - i, n);
        if (*at >= 0)
            return i;
    }
    return len;
}

size_t sl_added_find_start(const sl_added *a, const char *text, size_t len, size_t from)
{
    for (size_t i = from; a->trie.n > 0 && i < len; i++) {
        const char two[2] = { sl_added_lower(text[i]), i + 1 < len ? sl_added_lower(text[i + 1]) : '\0' };
        if (i + 1 < len && !has_pair(a, two))
            continue;
        uint32_t node = 0;
        for (size_t k = i; k < len; k++) {
            node = sl_trie_step(&a->trie, node, (unsigned char)sl_added_lower(text[k]));
            if (node == 0)
                break;
            if (a->trie.node[node].value >= 0)
                return i;
        }
        if (node != 0) /* the text ends inside a token */
            return i;
    }
    return len;
}

/* --- flags ------------------------------------------------------------------------------- */

/* The character that ends before text + at, or begins there; bytes that are no UTF-8 count as
 * a character that is neither a letter nor white space. */
static uint32_t char_before(const char *text, size_t at, size_t *start)
{
    size_t i = at - 1, n_chars = 0;
    while (i > 0 && at - i < 4 && ((unsigned char)text[i] & 0xc0) == 0x80)
        i--;
    if (sl_utf8_valid(text + i, at - i, &n_chars) == at - i && n_chars == 1) {
        unsigned n = 0;
        *start = i;
        return sl_utf8_decode(text + i, &n);
    }
    *start = at - 1;
    return SL_NO_CHAR;
}

static uint32_t char_at(const char *text, size_t at, size_t len, size_t *end)
{
    const unsigned n = sl_utf8_length((unsigned char)text[at]);
    size_t n_chars = 0;
    if (n > 0 && n <= len - at && sl_utf8_valid(text + at, n, &n_chars) == n) {
        unsigned same = 0;
        *end = at + n;
        return sl_utf8_decode(text + at, &same);
    }
    *end = at + 1;
    return SL_NO_CHAR;
}

static bool stands_alone(const char *text, size_t len, size_t start, size_t end)
{
    size_t edge = 0;
    return (start == 0 || !sl_char_is_word(char_before(text, start, &edge))) &&
           (end == len || !sl_char_is_word(char_at(text, end, len, &edge)));
}

static size_t without_space_before(const char *text, size_t start, size_t least)
{
    for (size_t edge = 0; start > least && sl_char_is_space(char_before(text, start, &edge)) && edge >= least;)
        start = edge;
    return start;
}

static size_t with_space_behind(const char *text, size_t len, size_t end)
{
    for (size_t edge = 0; end < len && sl_char_is_space(char_at(text, end, len, &edge));)
        end = edge;
    return end;
}

bool sl_added_looks_control(sl_bytes text)
{
    static const char *const begin[] = { "<|", "<\uff5c" }, *const end[] = { "|>", "\uff5c>" };
    for (size_t i = 0; i < SL_COUNT(begin); i++) {
        const size_t n = strlen(begin[i]);
        if (text.len > n && (memcmp(text.data, begin[i], n) == 0 || memcmp(text.data + text.len - n, end[i], n) == 0))
            return true;
    }
    return false;
}

bool sl_places_between(const size_t *place, size_t n, size_t after, size_t before)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        if (place[mid] <= after)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < n && place[lo] < before;
}

bool sl_added_next(sl_added_walk *w, sl_added_match *m)
{
    while (w->at < w->len) {
        int32_t at = -1;
        size_t n = 0;
        const size_t start = sl_added_find(w->set, w->text, w->len, w->at, &at, &n);
        w->at = start + n;
        if (at < 0)
            break;
        const sl_added_token *t = &w->set->token[at];
        const bool hidden = t->special && !w->special;
        if (!hidden && sl_places_between(w->apart, w->n_apart, w->base + start, w->base + start + n)) {
            w->at = start + 1; /* another may begin inside it */
            continue;
        }
        if (w->no_control && sl_added_looks_control((sl_bytes){ w->text + start, n }))
            continue;
        if (hidden || (t->single_word && !stands_alone(w->text, w->len, start, start + n)))
            continue;
        *m = (sl_added_match){ t->id, start, start + n };
        if (t->rstrip)
            m->end = with_space_behind(w->text, w->len, m->end);
        if (t->lstrip)
            m->start = SL_MAX(without_space_before(w->text, start, SL_MIN(w->taken, start)), w->taken);
        if (m->start >= m->end) /* white space that the last one has taken */
            continue;
        w->taken = m->end;
        return true;
    }
    w->at = w->len;
    return false;
}
