/* reply.c - ids to text and tags, through stop strings; the parser's life. */
#include "chat/reply.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/reply_in.h"

/* ---- life ----------------------------------------------------------------------------- */

sl_status sl_reply_create(sl_reply **out, const sl_reply_options *o, sl_err *err)
{
    *out = NULL;
    sl_reply *r = sl_mem_zalloc(1, sizeof *r);
    if (!r)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes for a reply", sizeof *r);
    r->o = *o;
    r->met = -1;
    r->fresh = r->at_line_start = r->thought.trim = true;
    r->reasoning = o->opening.len > 0;
    r->content.cut = r->content.trim = r->reasoning && !o->inline_reasoning;
    sl_str_append(&r->opening, o->opening.data, o->opening.len);
    sl_detok_init(&r->detok, o->tokenizer, false);
    sl_tags_init(&r->tags, o->tokenizer, o->tools);
    if (r->tags.harmony && !r->reasoning)
        sl_harmony_start(r);
    if (r->opening.failed) {
        sl_reply_destroy(r);
        return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes of a prompt", o->opening.len);
    }
    *out = r;
    return SL_OK;
}

void sl_reply_destroy(sl_reply *r)
{
    if (!r)
        return;
    sl_str *all[] = { &r->opening, &r->piece, &r->passed, &r->content.space, &r->thought.space, &r->delta };
    for (size_t i = 0; i < SL_COUNT(all); i++)
        sl_str_fini(all[i]);
    sl_call_fini(&r->call);
    sl_mem_free(r->marks);
    sl_mem_free(r);
}

int sl_reply_stop_met(const sl_reply *r)
{
    return r->met;
}

size_t sl_reply_n_calls(const sl_reply *r)
{
    return r->n_calls;
}

/* ---- through stop strings ------------------------------------------------------------- */

/* What stop strings let pass: text, and the letters of tags, which become tags again. A stop
 * string that cuts through a tag leaves nothing of it. */
static void pass(sl_reply *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const struct sl_mark *m = r->first_mark < r->n_marks ? &r->marks[r->first_mark] : NULL;
        if (m && m->at == r->n_out) {
            const size_t take = SL_MIN(m->tag->len - r->in_mark, n - i);
            r->in_mark += take;
            i += take;
            if (r->in_mark < m->tag->len)
                return;
            r->n_out += r->in_mark;
            r->in_mark = 0;
            r->first_mark++;
            sl_reply_tag(r, m->tag);
        } else {
            const size_t take = m ? SL_MIN(m->at - r->n_out, n - i) : n - i;
            r->n_out += take;
            sl_reply_bytes(r, s + i, take);
            i += take;
        }
    }
    if (r->first_mark == r->n_marks)
        r->first_mark = r->n_marks = 0;
}

static void through_stop(sl_reply *r, const char *s, size_t n)
{
    if (r->met >= 0)
        return;
    sl_str_clear(&r->passed);
    r->met = sl_stop_feed(r->o.stop, s, n, &r->passed);
    r->n_in += n;
    r->failed |= r->passed.failed;
    pass(r, r->passed.data, r->passed.len);
}

static bool mark(sl_reply *r, const sl_tag *tag)
{
    if (r->n_marks == r->cap_marks) {
        const size_t cap = r->cap_marks ? 2 * r->cap_marks : 8;
        struct sl_mark *m = sl_mem_grow(r->marks, r->cap_marks * sizeof *m, cap * sizeof *m);
        if (!m)
            return false;
        r->marks = m;
        r->cap_marks = cap;
    }
    r->marks[r->n_marks++] = (struct sl_mark){ r->n_in, tag };
    return true;
}

static void take_text(sl_reply *r, const sl_str *text)
{
    r->failed |= text->failed;
    if (!text->len)
        return;
    if (r->o.stop)
        through_stop(r, text->data, text->len);
    else
        sl_reply_bytes(r, text->data, text->len);
}

static void take_tag(sl_reply *r, const sl_tag *tag)
{
    if (!r->o.stop)
        sl_reply_tag(r, tag);
    else if (!mark(r, tag))
        r->failed = true;
    else
        through_stop(r, tag->text, tag->len);
}

/* ---- what comes in -------------------------------------------------------------------- */

static void begin(sl_reply *r)
{
    if (!r->begun && r->o.inline_reasoning && r->opening.len)
        sl_reply_text(r, r->opening.data, r->opening.len);
    r->fresh |= !r->begun;
    r->begun = true;
}

static sl_status outcome(sl_reply *r, sl_err *err)
{
    return r->failed ? sl_fail(err, SL_ENOMEM, "no memory for a reply") : SL_OK;
}

void sl_reply_prompt(sl_reply *r, const int32_t *ids, size_t n)
{
    sl_detok_init_after(&r->detok, r->o.tokenizer, false, ids, n);
}

sl_status sl_reply_feed(sl_reply *r, int32_t id, sl_err *err)
{
    if (r->failed || r->ended || r->met >= 0)
        return outcome(r, err);
    const sl_tag *tag = sl_tags_of_token(&r->tags, id);
    begin(r);
    sl_str_clear(&r->piece);
    if (tag) {
        sl_detok_flush(&r->detok, &r->piece); /* half a character before a tag */
        take_text(r, &r->piece);
        sl_str_clear(&r->piece);
        sl_detok_next(&r->detok, id, &r->piece); /* it knows what comes first; the letters are the tag's own */
        take_tag(r, tag);
    } else if (!sl_tokenizer_ends(r->o.tokenizer, id)) {
        sl_detok_next(&r->detok, id, &r->piece);
        take_text(r, &r->piece);
    }
    sl_reply_flush(r);
    return outcome(r, err);
}

sl_status sl_reply_end(sl_reply *r, sl_err *err)
{
    if (r->failed || r->ended)
        return outcome(r, err);
    begin(r);
    sl_str_clear(&r->piece);
    sl_detok_flush(&r->detok, &r->piece);
    if (r->met < 0)
        take_text(r, &r->piece);
    if (r->o.stop && r->met < 0) {
        sl_str_clear(&r->passed);
        sl_stop_flush(r->o.stop, &r->passed);
        r->failed |= r->passed.failed;
        pass(r, r->passed.data, r->passed.len);
    }
    sl_reply_finish(r);
    r->ended = true;
    return outcome(r, err);
}

/* ---- a whole reply -------------------------------------------------------------------- */

static sl_reply_call *add_call(sl_reply_whole *w)
{
    if (w->n_calls == w->cap_calls) {
        const size_t cap = w->cap_calls ? 2 * w->cap_calls : 4;
        sl_reply_call *calls = sl_mem_grow(w->calls, w->cap_calls * sizeof *calls, cap * sizeof *calls);
        if (!calls)
            return NULL;
        w->calls = calls;
        w->cap_calls = cap;
    }
    w->calls[w->n_calls] = (sl_reply_call){ 0 };
    return &w->calls[w->n_calls++];
}

static bool append(sl_str *to, sl_bytes text)
{
    sl_str_append(to, text.data, text.len);
    return !to->failed;
}

void sl_reply_collect(void *user, const sl_reply_event *e)
{
    sl_reply_whole *w = user;
    sl_reply_call *call = NULL;
    bool good = !w->failed;
    switch (good ? e->kind : SL_REPLY_CONTENT) {
    case SL_REPLY_REASONING:
        good = append(&w->reasoning, e->text);
        break;
    case SL_REPLY_CONTENT:
        good = good && append(&w->content, e->text);
        break;
    case SL_REPLY_CALL:
        call = add_call(w);
        good = call && append(&call->id, e->id) && append(&call->name, e->name);
        break;
    case SL_REPLY_ARGUMENTS:
        good = e->call < w->n_calls && append(&w->calls[e->call].arguments, e->text);
        break;
    }
    w->failed |= !good;
}

void sl_reply_whole_fini(sl_reply_whole *w)
{
    for (size_t i = 0; i < w->n_calls; i++) {
        sl_str_fini(&w->calls[i].id);
        sl_str_fini(&w->calls[i].name);
        sl_str_fini(&w->calls[i].arguments);
    }
    sl_mem_free(w->calls);
    sl_str_fini(&w->reasoning);
    sl_str_fini(&w->content);
    *w = (sl_reply_whole){ 0 };
}
