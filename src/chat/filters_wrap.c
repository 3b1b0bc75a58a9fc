/* filters_wrap.c - the wordwrap filter: lines of at most so many characters.
 * Source: Python's textwrap (Library Reference, "Text wrapping and filling"), whose rules for where a
 * word may break are kept: behind a hyphen between letters, and around dashes of two and more. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

typedef struct wrapper {
    size_t width;
    bool break_words, at_hyphens, in_long_words; /* the last two: where hyphens count */
    const uint32_t *c;                           /* the line, n characters */
    size_t n;
    size_t *end; /* of each chunk, what no line break cuts */
    size_t n_chunks;
} wrapper;

static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static bool is_letter(const wrapper *x, size_t i)
{
    return i < x->n && sl_jj_is_word(x->c[i]) && !sl_jj_is_decimal(x->c[i]);
}
static bool in_word(const wrapper *x, size_t i) /* or punctuation that belongs to one */
{
    const uint32_t c = i < x->n ? x->c[i] : ' ';
    return sl_jj_is_word(c) || (c < 0x80 && c && strchr("!\"'&.,?", (int)c));
}

/* A dash of two or more hyphens between words begins at i: where it ends, else 0. */
static size_t dash_end(const wrapper *x, size_t i)
{
    size_t end = i;
    if (i == 0 || !in_word(x, i - 1))
        return 0;
    while (end < x->n && x->c[end] == '-')
        end++;
    return end >= i + 2 && end < x->n && sl_jj_is_word(x->c[end]) ? end : 0;
}

/* May the word break behind the hyphen at i? */
static bool hyphenated(const wrapper *x, size_t i)
{
    const bool letters = i >= 2 && is_letter(x, i - 2) && is_letter(x, i - 1);
    const bool initial = i >= 3 && is_letter(x, i - 3) && x->c[i - 2] == '-' && in_word(x, i - 1);
    const size_t next = i + 2 < x->n && x->c[i + 2] == '-' ? i + 3 : i + 2;
    return (letters || initial) && is_letter(x, i + 1) && is_letter(x, next);
}

static size_t chunk_end(const wrapper *x, size_t i)
{
    size_t end = i;
    if (is_blank(x->c[i])) {
        while (end < x->n && is_blank(x->c[end]))
            end++;
        return end;
    }
    if (x->at_hyphens && (end = dash_end(x, i)) != 0)
        return end;
    for (end = i + 1; end < x->n && !is_blank(x->c[end]); end++) {
        if (x->at_hyphens && x->c[end] == '-' && hyphenated(x, end))
            return end + 1;
        if (x->at_hyphens && x->c[end] == '-' && dash_end(x, end))
            return end;
    }
    return end;
}

static bool all_space(const wrapper *x, size_t from, size_t to)
{
    while (from < to && sl_jj_is_space(x->c[from]))
        from++;
    return from == to;
}

/* How much of a chunk that fits on no line goes onto this one, where `room` is left. */
static size_t part_of_long(const wrapper *x, size_t from, size_t to, size_t room)
{
    if (!x->in_long_words || to - from <= room)
        return room;
    size_t at = room;
    while (at > 0 && x->c[from + at - 1] != '-')
        at--;
    size_t first = from;
    while (at > 0 && first < from + at - 1 && x->c[first] == '-')
        first++;
    return at > 1 && first < from + at - 1 ? at : room;
}

typedef struct place { /* in the text: the chunk, and the next character in it */
    size_t chunk, at;
} place;

/* Take a line's characters from *from up to *to (both out). Nothing, when only space was left. */
static void take_line(const wrapper *x, place *p, bool first, size_t *from, size_t *to)
{
    if (!first && all_space(x, p->at, x->end[p->chunk]))
        p->at = x->end[p->chunk++];
    size_t last = p->at; /* where the last chunk of the line begins */
    *from = p->at;
    for (; p->chunk < x->n_chunks && x->end[p->chunk] - *from <= x->width; p->chunk++) {
        last = p->at;
        p->at = x->end[p->chunk];
    }
    if (p->chunk < x->n_chunks && x->end[p->chunk] - p->at > x->width) {
        if (x->break_words) {
            last = p->at;
            p->at += part_of_long(x, last, x->end[p->chunk], x->width - (last - *from));
        } else if (p->at == *from) {
            last = p->at;
            p->at = x->end[p->chunk++];
        }
    }
    *to = all_space(x, last, p->at) ? last : p->at;
}

static sl_status put_chars(sl_jj_render *r, sl_jj_buf *b, const uint32_t *c, size_t n)
{
    char text[4];
    for (size_t i = 0; i < n; i++)
        TRY(sl_jj_buf_add(r, b, text, sl_jj_utf8_put(text, c[i])));
    return SL_OK;
}

/* One line of the source. */
static sl_status wrap_line(sl_jj_render *r, wrapper *x, sl_jj_value line, sl_jj_value separator, sl_jj_buf *b)
{
    uint32_t *c = NULL;
    place p = { 0 };
    bool first = true;
    TRY(sl_jj_step(r, line.len));
    TRY(sl_jj_alloc(r, line.len + 1, sizeof *c, &c));
    TRY(sl_jj_alloc(r, line.len + 1, sizeof *x->end, &x->end));
    x->c = c;
    x->n = x->n_chunks = 0;
    for (size_t i = 0, w = 0; i < line.len; i += w)
        c[x->n++] = sl_jj_utf8_get(line.u.s + i, &w);
    for (size_t i = 0; i < x->n; x->n_chunks++)
        i = x->end[x->n_chunks] = chunk_end(x, i);
    while (p.chunk < x->n_chunks) {
        size_t from = 0, to = 0;
        take_line(x, &p, first, &from, &to);
        if (from == to)
            continue;
        if (!first)
            TRY(sl_jj_buf_add(r, b, separator.u.s, separator.len));
        TRY(put_chars(r, b, c + from, to - from));
        first = false;
    }
    return SL_OK;
}

sl_status sl_jj_wordwrap(sl_jj_render *r, sl_jj_value v, const sl_jj_value *arg, sl_jj_value *out)
{
    int64_t width = 79;
    sl_jj_seq *lines = NULL;
    sl_jj_buf b = { 0 };
    const bool given = arg[2].kind != SL_JJ_MISSING && arg[2].kind != SL_JJ_NONE;
    const sl_jj_value separator = given ? arg[2] : sl_jj_text("\n");
    TRY(sl_jj_arg_int(r, arg[0], 79, &width));
    if (v.kind == SL_JJ_UNDEFINED)
        return sl_jj_fail_undefined(r, v);
    TRY(sl_jj_want_str(r, "wordwrap", v));
    TRY(sl_jj_want_str(r, "wordwrap", separator));
    TRY(sl_jj_str_lines(r, v, false, &lines));
    if (width <= 0 && lines->n > 0)
        return sl_jj_fail(r, SL_EFORMAT, "wordwrap: the width must be above 0");
    wrapper x = { .width = (size_t)width,
                  .break_words = arg[1].kind == SL_JJ_MISSING || sl_jj_truth(arg[1]),
                  .at_hyphens = arg[3].kind == SL_JJ_MISSING || (arg[3].kind == SL_JJ_BOOL && arg[3].u.b),
                  .in_long_words = arg[3].kind == SL_JJ_MISSING || sl_jj_truth(arg[3]) };
    for (size_t i = 0; i < lines->n; i++) {
        if (i > 0)
            TRY(sl_jj_buf_add(r, &b, separator.u.s, separator.len));
        TRY(wrap_line(r, &x, lines->items[i], separator, &b));
    }
    *out = sl_jj_buf_value(&b);
    return SL_OK;
}
