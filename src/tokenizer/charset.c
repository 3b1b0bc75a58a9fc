/* charset.c - sets of characters as sorted ranges. */
#include "tokenizer/charset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

void sl_charset_fini(sl_charset *s)
{
    sl_mem_free(s->range);
    *s = (sl_charset){ 0 };
}

void sl_charset_clear(sl_charset *s)
{
    s->n = 0;
    s->loose = false;
}

static bool reserve(sl_charset *s, size_t more)
{
    size_t want = 0, bytes = 0;
    if (!sl_add_ok(s->n, more, &want) || !sl_mul_ok(want, 2 * sizeof *s->range, &bytes))
        s->failed = true;
    if (s->failed || want <= s->cap)
        return !s->failed;
    const size_t cap = SL_MAX((size_t)8, s->cap ? 2 * want : want);
    void *grown = sl_mem_grow(s->range, s->cap * sizeof *s->range, cap * sizeof *s->range);
    if (!grown) {
        s->failed = true;
        return false;
    }
    s->range = grown;
    s->cap = cap;
    return true;
}

void sl_charset_add(sl_charset *s, uint32_t first, uint32_t last)
{
    assert(first <= last && last < SL_UNICODE_END);
    if (!reserve(s, 1))
        return;
    s->loose |= s->n > 0 && first <= s->range[s->n - 1].last;
    if (s->n > 0 && s->range[s->n - 1].last + 1 == first)
        s->range[s->n - 1].last = last;
    else
        s->range[s->n++] = (sl_unicode_range){ first, last };
}

void sl_charset_add_set(sl_charset *s, const sl_charset *other)
{
    s->failed |= other->failed;
    if (other->n == 0 || !reserve(s, other->n))
        return;
    s->loose |= s->n > 0 || other->loose;
    memcpy(s->range + s->n, other->range, other->n * sizeof *s->range);
    s->n += other->n;
}

static int by_first(const void *a, const void *b)
{
    const sl_unicode_range *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

void sl_charset_settle(sl_charset *s)
{
    if (!s->loose || s->failed)
        return;
    qsort(s->range, s->n, sizeof *s->range, by_first);
    size_t n = 1;
    for (size_t i = 1; i < s->n; i++) {
        sl_unicode_range *last = &s->range[n - 1];
        if (s->range[i].first <= last->last + 1)
            last->last = SL_MAX(last->last, s->range[i].last);
        else
            s->range[n++] = s->range[i];
    }
    s->n = n;
    s->loose = false;
}

void sl_charset_negate(sl_charset *s)
{
    assert(!s->loose || s->failed);
    if (!reserve(s, 1))
        return;
    uint32_t from = 0; /* start of the gap before range i */
    size_t n = 0;
    const size_t n_before = s->n;
    for (size_t i = 0; i < n_before; i++) {
        const sl_unicode_range r = s->range[i];
        if (r.first > from)
            s->range[n++] = (sl_unicode_range){ from, r.first - 1 };
        from = r.last + 1;
    }
    if (from < SL_UNICODE_END)
        s->range[n++] = (sl_unicode_range){ from, SL_UNICODE_END - 1 };
    s->n = n;
}

void sl_charset_intersect(sl_charset *s, const sl_charset *other)
{
    assert(!s->loose && !other->loose);
    sl_charset both = { .failed = s->failed || other->failed };
    for (size_t i = 0, k = 0; i < s->n && k < other->n;) {
        const uint32_t first = SL_MAX(s->range[i].first, other->range[k].first);
        const uint32_t last = SL_MIN(s->range[i].last, other->range[k].last);
        if (first <= last)
            sl_charset_add(&both, first, last);
        if (s->range[i].last < other->range[k].last)
            i++;
        else
            k++;
    }
    sl_charset_fini(s);
    *s = both;
}

bool sl_charset_has(const sl_charset *s, uint32_t c)
{
    size_t low = 0, high = s->n; /* the first range that ends at c or later */
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (s->range[mid].last < c)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n && s->range[low].first <= c;
}

bool sl_charset_equal(const sl_charset *a, const sl_charset *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->range, b->range, a->n * sizeof *a->range) == 0);
}

bool sl_charset_covers(const sl_charset *a, const sl_charset *b)
{
    size_t i = 0;
    for (size_t k = 0; k < b->n; k++) {
        while (i < a->n && a->range[i].last < b->range[k].first)
            i++;
        if (i == a->n || a->range[i].first > b->range[k].first || a->range[i].last < b->range[k].last)
            return false;
    }
    return true;
}
