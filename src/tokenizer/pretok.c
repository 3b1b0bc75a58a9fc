/* pretok.c - the steps of a pre-tokenizer, run over class bytes (regex.h). */
#include "tokenizer/pretok.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/utf8.h"

typedef struct step {
    sl_pretok_kind kind;
    size_t pattern; /* SPLIT: of the regex */
    sl_split_behavior behavior;
    bool invert;
    sl_prepend prepend;
    size_t length;
    const char *text; /* METASPACE */
    size_t text_len;
} step;

struct sl_pretok {
    sl_regex *regex; /* all patterns of all steps */
    bool whole_pieces;
    size_t n_steps;
    step steps[SL_PRETOK_MAX_STEPS];
    uint8_t byte_class[256]; /* behind BYTE_LEVEL: of a byte's character in GPT-2's alphabet */
    sl_arena arena;
};

/* --- life -------------------------------------------------------------------------------- */

/* GPT-2's alphabet (openai/gpt-2 src/encoder.py): bytes that print stand for themselves, the
 * others for U+0100 and up. */
static void fill_byte_classes(sl_pretok *p)
{
    uint32_t next = 0x100;
    for (unsigned b = 0; b < 256; b++) {
        const bool prints = (b >= '!' && b <= '~') || (b >= 0xa1 && b != 0xad);
        p->byte_class[b] = sl_regex_class(p->regex, prints ? b : next++);
    }
}

static sl_status check_order(const sl_pretok_step *steps, size_t n, sl_err *err)
{
    size_t n_changes = 0;
    bool bytes = false;
    if (n > SL_PRETOK_MAX_STEPS)
        return sl_fail(err, SL_EUNSUPPORTED, "pre-tokenizer: %zu steps, more than %d", n, SL_PRETOK_MAX_STEPS);
    for (size_t i = 0; i < n; i++) {
        const sl_pretok_kind kind = steps[i].kind;
        if (kind == SL_PRETOK_CHUNKS && steps[i].length == 0)
            return sl_fail(err, SL_EFORMAT, "pre-tokenizer: step %zu: pieces of 0 characters", i + 1);
        if (kind == SL_PRETOK_SPLIT || kind == SL_PRETOK_CHUNKS)
            continue;
        if (bytes)
            return sl_fail(err, SL_EUNSUPPORTED, "pre-tokenizer: step %zu changes characters behind ByteLevel", i + 1);
        bytes = kind == SL_PRETOK_BYTE_LEVEL;
        if (++n_changes > SL_PRETOK_MAX_CHANGES)
            return sl_fail(err, SL_EUNSUPPORTED, "pre-tokenizer: more than %d steps change characters",
                           SL_PRETOK_MAX_CHANGES);
    }
    return SL_OK;
}

static sl_status copy_steps(sl_pretok *p, const sl_pretok_step *steps, size_t n, sl_regex_pattern *patterns,
                            size_t *n_patterns, sl_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const sl_pretok_step *from = &steps[i];
        step *to = &p->steps[p->n_steps++];
        *to = (step){ .kind = from->kind,
                      .behavior = from->behavior,
                      .invert = from->invert,
                      .prepend = from->prepend,
                      .length = from->length,
                      .text_len = from->text.len };
        if (from->kind == SL_PRETOK_SPLIT) {
            to->pattern = (*n_patterns)++;
            patterns[to->pattern] = (sl_regex_pattern){ from->pattern, !from->regex, from->rust };
        }
        size_t n_chars = 0;
        if (sl_utf8_valid(from->text.data, from->text.len, &n_chars) != from->text.len)
            return sl_fail(err, SL_EFORMAT, "pre-tokenizer: step %zu: a text that is no UTF-8", i + 1);
        to->text = sl_arena_memdup(&p->arena, from->text.data, from->text.len);
        if (!to->text)
            return sl_fail(err, SL_ENOMEM, "no memory for the pre-tokenizer's steps");
    }
    /* The pieces of a last BYTE_LEVEL are bytes anyway. */
    while (p->n_steps > 0 && p->steps[p->n_steps - 1].kind == SL_PRETOK_BYTE_LEVEL)
        p->n_steps--;
    return SL_OK;
}

sl_status sl_pretok_create(sl_pretok **out, const sl_vocab *v, sl_err *err)
{
    *out = NULL;
    sl_regex_pattern patterns[SL_PRETOK_MAX_STEPS];
    size_t n_patterns = 0;
    const sl_pretok_known *known = v->pre ? sl_pretok_find(v->pre) : NULL;
    if (v->pre && !known)
        return sl_pretok_unknown(v->pre, err);
    const sl_pretok_step *steps = known ? known->steps : v->pretoks;
    const size_t n_steps = known ? known->n_steps : v->n_pretoks;
    sl_status rc = check_order(steps, n_steps, err);
    if (rc != SL_OK)
        return rc;
    sl_pretok *p = sl_mem_zalloc(1, sizeof *p);
    if (!p)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes for the pre-tokenizer", sizeof *p);
    sl_arena_init(&p->arena, 1024);
    p->whole_pieces = v->whole_pieces || (known && known->whole_pieces);
    rc = copy_steps(p, steps, n_steps, patterns, &n_patterns, err);
    if (rc == SL_OK) {
        rc = sl_regex_create(&p->regex, patterns, n_patterns, err);
        if (rc != SL_OK)
            sl_fail_in(err, rc, "pre-tokenizer");
    }
    if (rc != SL_OK) {
        sl_pretok_destroy(p);
        return rc;
    }
    fill_byte_classes(p);
    *out = p;
    return SL_OK;
}

void sl_pretok_destroy(sl_pretok *p)
{
    if (!p)
        return;
    sl_regex_destroy(p->regex);
    sl_arena_fini(&p->arena);
    sl_mem_free(p);
}

bool sl_pretok_whole_pieces(const sl_pretok *p)
{
    return p->whole_pieces;
}

/* --- cutting ----------------------------------------------------------------------------- */

void sl_pretok_work_fini(sl_pretok_work *w)
{
    sl_regex_work_fini(&w->regex);
    for (size_t i = 0; i < SL_COUNT(w->text); i++) {
        sl_mem_free(w->classes[i].data);
        sl_mem_free(w->text[i].data);
    }
    *w = (sl_pretok_work){ 0 };
}

/* What all steps share. */
typedef struct splitting {
    const sl_pretok *p;
    sl_pretok_work *w;
    bool first; /* the text at hand is the beginning of everything */
    sl_piece_fn *fn;
    void *arg;
    sl_err *err;
} splitting;

/* A text between two steps that change characters. Places are counted in class bytes; pieces come
 * in order, so the place in the text goes along. */
typedef struct level {
    const splitting *s;
    size_t number;       /* how many changes made it */
    const char *classes; /* what patterns see */
    const char *text;
    bool same;          /* a class byte for each byte of the text: ASCII, or BYTE_LEVEL */
    bool bytes;         /* BYTE_LEVEL */
    size_t at, byte_at; /* one place in both measures */
} level;

static sl_status no_room(const splitting *s, size_t bytes)
{
    return sl_fail(s->err, SL_ENOMEM, "no memory for %zu bytes to cut a text", bytes);
}

static char *reserve(struct sl_pretok_buffer *b, size_t bytes)
{
    if (b->bytes < bytes) {
        sl_mem_free(b->data);
        b->data = sl_mem_alloc(bytes);
        b->bytes = b->data ? bytes : 0;
    }
    return b->data;
}

static size_t byte_of(level *l, size_t place)
{
    assert(place >= l->at);
    if (l->same)
        return place;
    for (; l->at < place; l->at++)
        l->byte_at += sl_utf8_length((unsigned char)l->text[l->byte_at]);
    return l->byte_at;
}

static sl_status cut(level *l, size_t number, size_t from, size_t to);

/* Make the class bytes of a level's text and run the steps from `number` on. */
static sl_status run_level(const splitting *s, size_t number, level l, size_t len, size_t n_chars)
{
    l.s = s;
    l.same = l.bytes || n_chars == len;
    l.classes = l.text;
    if (l.bytes || n_chars != len) {
        char *classes = reserve(&s->w->classes[l.number], n_chars);
        if (!classes)
            return no_room(s, n_chars);
        if (l.bytes)
            for (size_t i = 0; i < len; i++)
                classes[i] = (char)s->p->byte_class[(unsigned char)l.text[i]];
        else
            sl_regex_classes(s->p->regex, l.text, len, classes);
        l.classes = classes;
    }
    return cut(&l, number, 0, n_chars);
}

/* A piece with its characters changed, as step `number` says, goes to the steps behind that. */
static sl_status change(level *l, size_t number, const char *piece, size_t len, bool first)
{
    const splitting *s = l->s;
    const step *st = &s->p->steps[number];
    level next = { .number = l->number + 1, .text = piece };
    splitting inner = *s;
    inner.first = first;
    if (st->kind == SL_PRETOK_BYTE_LEVEL) {
        next.bytes = true;
        return run_level(&inner, number + 1, next, len, len);
    }
    const bool metaspace = st->kind == SL_PRETOK_METASPACE;
    const char *with = metaspace ? st->text : " ";
    const size_t with_len = metaspace ? st->text_len : 1;
    size_t n_spaces = 0, bytes = 0;
    for (size_t i = 0; metaspace && i < len; i++)
        n_spaces += piece[i] == ' ';
    if (!sl_mul_ok(n_spaces + 1, with_len, &bytes) || !sl_add_ok(bytes, len, &bytes))
        return no_room(s, SIZE_MAX);
    char *out = reserve(&s->w->text[next.number], bytes);
    if (!out)
        return no_room(s, bytes);
    /* A replaced space at the beginning is the mark already. */
    const bool begins = (len >= with_len && memcmp(piece, with, with_len) == 0) || (metaspace && piece[0] == ' ');
    const bool wanted = !metaspace || st->prepend == SL_PREPEND_ALWAYS || (st->prepend == SL_PREPEND_FIRST && first);
    size_t n = 0;
    if (wanted && !begins) {
        memcpy(out, with, with_len);
        n = with_len;
    }
    for (size_t i = 0; i < len; i++) {
        if (metaspace && piece[i] == ' ') {
            memcpy(out + n, with, with_len);
            n += with_len;
        } else {
            out[n++] = piece[i];
        }
    }
    size_t n_chars = 0;
    sl_utf8_valid(out, n, &n_chars);
    next.text = out;
    return n > 0 ? run_level(&inner, number + 1, next, n, n_chars) : SL_OK;
}

static sl_status cut_chunks(level *l, size_t number, size_t from, size_t to)
{
    const size_t length = l->s->p->steps[number].length;
    sl_status rc = SL_OK;
    for (size_t at = from; at < to && rc == SL_OK; at += SL_MIN(length, to - at))
        rc = cut(l, number + 1, at, at + SL_MIN(length, to - at));
    return rc;
}

/* Parts of a piece, matches and what is between them, joined as the step's behavior says: one
 * part is held back until it is clear what becomes of it. */
typedef struct parts {
    level *l;
    size_t number; /* of the step behind */
    sl_split_behavior behavior;
    bool held, held_match;
    size_t from, to; /* of the held part */
} parts;

static sl_status parts_flush(parts *p)
{
    const bool removed = p->behavior == SL_SPLIT_REMOVED && p->held_match;
    const bool held = p->held && !removed && p->to > p->from;
    p->held = false;
    return held ? cut(p->l, p->number, p->from, p->to) : SL_OK;
}

/* Parts come without a gap. */
static sl_status parts_add(parts *p, size_t from, size_t to, bool match)
{
    bool joins = false;
    if (p->behavior == SL_SPLIT_CONTIGUOUS)
        joins = match == p->held_match;
    else if (p->behavior == SL_SPLIT_MERGED_WITH_PREVIOUS)
        joins = match && !p->held_match;
    else if (p->behavior == SL_SPLIT_MERGED_WITH_NEXT)
        joins = !match && p->held_match;
    if (p->held && joins) {
        p->to = to;
        p->held_match = match;
        return SL_OK;
    }
    const sl_status rc = parts_flush(p);
    p->held = true;
    p->held_match = match;
    p->from = from;
    p->to = to;
    return rc;
}

/* The matches of a pattern in a piece, in the order and with the rule for empty ones of
 * sl_regex_scan, each with what is before it. */
static sl_status cut_split(level *l, size_t number, size_t from, size_t to)
{
    const splitting *s = l->s;
    const step *st = &s->p->steps[number];
    const char *classes = l->classes + from;
    const size_t n = to - from;
    parts p = { .l = l, .number = number + 1, .behavior = st->behavior };
    sl_status rc = SL_OK;
    size_t last = SIZE_MAX, done = 0;
    for (size_t at = 0; at <= n && rc == SL_OK;) {
        bool found = false;
        size_t first = 0, end = 0;
        rc = sl_regex_find(s->p->regex, st->pattern, &s->w->regex, classes, n, at, &found, &first, &end, s->err);
        if (rc != SL_OK || !found)
            break;
        if (first == end && end == last) {
            at = end + 1;
            continue;
        }
        if (first > done)
            rc = parts_add(&p, from + done, from + first, st->invert);
        if (rc == SL_OK)
            rc = parts_add(&p, from + first, from + end, !st->invert);
        at = last = done = end;
    }
    if (rc == SL_OK && done < n)
        rc = parts_add(&p, from + done, to, st->invert);
    return rc == SL_OK ? parts_flush(&p) : rc;
}

/* Run the steps from `number` on over one piece, which none of them sees beyond. */
static sl_status cut(level *l, size_t number, size_t from, size_t to)
{
    const splitting *s = l->s;
    if (number < s->p->n_steps && s->p->steps[number].kind == SL_PRETOK_SPLIT)
        return cut_split(l, number, from, to);
    if (number < s->p->n_steps && s->p->steps[number].kind == SL_PRETOK_CHUNKS)
        return cut_chunks(l, number, from, to);
    const size_t begin = byte_of(l, from), len = byte_of(l, to) - begin;
    if (number == s->p->n_steps)
        return s->fn(s->arg, l->text + begin, len, s->err);
    return change(l, number, l->text + begin, len, s->first && begin == 0);
}

sl_status sl_pretok_split(const sl_pretok *p, sl_pretok_work *w, const char *text, size_t len, size_t n_chars,
                          bool first, sl_piece_fn *fn, void *arg, sl_err *err)
{
    const splitting s = { p, w, first, fn, arg, err };
    sl_regex_work_begin(&w->regex, n_chars);
    return len > 0 ? run_level(&s, 0, (level){ .text = text }, len, n_chars) : SL_OK;
}
