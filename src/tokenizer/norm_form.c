/* norm_form.c - NFC, NFD, NFKC and NFKD (Unicode Standard Annex 15), characters from utf8proc.
 *
 * Only the single steps come from there: its own sorting of marks is quadratic. Characters that
 * the reference does not know yet (chars.h) stay as they are and part what is around them. */
#include <string.h>
#include <utf8proc.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/chars.h"
#include "tokenizer/normalize_in.h"
#include "tokenizer/utf8.h"

#define CLASSES        256
#define EXPANDS        18 /* code points that one becomes, at most: U+FDFA */
#define SORTED_BY_HAND 32

static bool make_room(sl_norm_work *w, size_t n)
{
    if (n <= w->n_points)
        return true;
    const size_t grown = SL_MAX(n, 2 * w->n_points);
    int32_t *points = sl_mem_grow(w->points, w->n_points * sizeof *points, grown * sizeof *points);
    if (!points)
        return false;
    w->points = points;
    w->n_points = grown;
    return true;
}

static unsigned class_of(int32_t c)
{
    return (unsigned)utf8proc_get_property(c)->combining_class;
}

/* Marks of a run in the order of their classes, equal ones as they come. False: no memory. */
static bool sort_marks(int32_t *run, size_t n)
{
    if (n <= SORTED_BY_HAND) {
        for (size_t i = 1; i < n; i++) {
            const int32_t c = run[i];
            const unsigned k = class_of(c);
            size_t at = i;
            for (; at > 0 && class_of(run[at - 1]) > k; at--)
                run[at] = run[at - 1];
            run[at] = c;
        }
        return true;
    }
    size_t first[CLASSES + 1] = { 0 };
    int32_t *copy = sl_mem_alloc(n * sizeof *copy);
    if (!copy)
        return false;
    memcpy(copy, run, n * sizeof *copy);
    for (size_t i = 0; i < n; i++)
        first[class_of(copy[i]) + 1]++;
    for (size_t k = 1; k <= CLASSES; k++)
        first[k] += first[k - 1];
    for (size_t i = 0; i < n; i++)
        run[first[class_of(copy[i])]++] = copy[i];
    sl_mem_free(copy);
    return true;
}

static bool order(int32_t *points, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t end = i;
        while (end < n && class_of(points[end]) > 0)
            end++;
        if (end - i > 1 && !sort_marks(points + i, end - i))
            return false;
        i = end + 1;
    }
    return true;
}

static void append(const int32_t *points, size_t n, sl_str *out)
{
    utf8proc_uint8_t room[512];
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        used += (size_t)utf8proc_encode_char(points[i], room + used);
        if (used > sizeof room - 4 || i + 1 == n) {
            sl_str_append(out, (const char *)room, used);
            used = 0;
        }
    }
}

/* A stretch in which all is known. */
static bool convert(sl_norm_kind form, sl_norm_work *w, sl_bytes in, sl_str *out)
{
    const bool compat = form == SL_NORM_NFKC || form == SL_NORM_NFKD;
    const bool compose = form == SL_NORM_NFC || form == SL_NORM_NFKC;
    size_t n = 0;
    int class_before = 0;
    for (size_t at = 0; at < in.len;) {
        unsigned bytes = 1;
        const uint32_t c = sl_utf8_decode(in.data + at, &bytes);
        if (!make_room(w, n + EXPANDS))
            return false;
        const utf8proc_option_t how = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0);
        n += (size_t)utf8proc_decompose_char((utf8proc_int32_t)c, w->points + n, EXPANDS, how, &class_before);
        at += bytes;
    }
    if (!order(w->points, n))
        return false;
    if (compose && n > 0)
        n = (size_t)utf8proc_normalize_utf32(w->points, (utf8proc_ssize_t)n, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    append(w->points, n, out);
    return true;
}

/* The ASCII at the start; the last one only where nothing follows that could join it. */
static size_t plain_start(sl_bytes in)
{
    size_t n = 0;
    while (n < in.len && (unsigned char)in.data[n] < 0x80)
        n++;
    return n < in.len && n > 0 ? n - 1 : n;
}

sl_status sl_norm_form(sl_norm_kind form, sl_norm_work *w, sl_bytes in, sl_str *out, sl_err *err)
{
    for (size_t at = 0; at < in.len;) {
        const size_t plain = plain_start((sl_bytes){ in.data + at, in.len - at });
        sl_str_append(out, in.data + at, plain);
        at += plain;
        size_t end = at;
        unsigned bytes = 1;
        while (end < in.len && (end == at || (unsigned char)in.data[end] >= 0x80)) {
            if (sl_char_is_newer(sl_utf8_decode(in.data + end, &bytes)))
                break;
            end += bytes;
        }
        if (end > at && !convert(form, w, (sl_bytes){ in.data + at, end - at }, out))
            return sl_fail(err, SL_ENOMEM, "no memory for normalising %zu bytes of text", in.len);
        at = end;
        if (at < in.len && (unsigned char)in.data[at] >= 0x80) { /* a character that is not known */
            sl_str_append(out, in.data + at, sl_utf8_length((unsigned char)in.data[at]));
            at += sl_utf8_length((unsigned char)in.data[at]);
        }
    }
    return SL_OK;
}
