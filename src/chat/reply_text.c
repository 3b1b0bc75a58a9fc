/* reply_text.c - reasoning and content: where one ends and the other begins, and white space. */
#include <string.h>

#include "base/num.h"
#include "chat/reply_in.h"

bool sl_reply_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- events --------------------------------------------------------------------------- */

void sl_reply_flush(sl_reply *r)
{
    r->failed |= r->delta.failed;
    if (r->delta.len && !r->failed) { /* once something is missing, nothing more comes */
        const sl_reply_event e = { .kind = r->kind,
                                   .call = r->n_calls ? r->n_calls - 1 : 0,
                                   .text = { r->delta.data, r->delta.len } };
        r->o.on_event(r->o.user, &e);
    }
    sl_str_clear(&r->delta);
}

void sl_reply_give(sl_reply *r, sl_reply_kind kind, const char *s, size_t n)
{
    if (kind != r->kind)
        sl_reply_flush(r);
    r->kind = kind;
    sl_str_append(&r->delta, s, n);
}

/* ---- a channel -------------------------------------------------------------------------- */

static void give_space(sl_reply *r, sl_channel *ch, sl_reply_kind kind)
{
    if (ch->started || !ch->trim)
        sl_reply_give(r, kind, ch->space.data, ch->space.len);
    r->failed |= ch->space.failed;
    sl_str_clear(&ch->space);
}

static void put(sl_reply *r, sl_channel *ch, sl_reply_kind kind, const char *s, size_t n)
{
    size_t end = n;
    while (end && sl_reply_is_space(s[end - 1]))
        end--;
    if (end) {
        size_t begin = 0;
        while (sl_reply_is_space(s[begin]))
            begin++;
        sl_str_append(&ch->space, s, begin);
        give_space(r, ch, kind);
        sl_reply_give(r, kind, s + begin, end - begin);
        ch->started = true;
        ch->cut = false;
    }
    sl_str_append(&ch->space, s + end, n - end);
}

/* ---- Markdown's code ----------------------------------------------------------------------- */

#define TICKS_MAX 255u

/* After the ticks so far: inside a span of code, inside a fenced block (of how many ticks)? */
static void code_now(const sl_reply *r, bool *span, unsigned *fence)
{
    const bool marks = r->ticks >= 3 && r->ticks_at_line_start;
    *span = r->in_span;
    *fence = r->fence;
    if (r->ticks == 0)
        return;
    if (r->fence && r->fence_line) /* ``` and more of them in one line are a span */
        *fence = r->tick == '`' && r->fence_tick == '`' ? 0 : r->fence;
    else if (r->fence)
        *fence = marks && r->tick == r->fence_tick && r->ticks >= r->fence ? 0 : r->fence;
    else if (marks)
        *fence = r->ticks;
    else if (r->tick == '`')
        *span = !r->in_span;
}

static void ticks_ended(sl_reply *r)
{
    const bool was_fence = r->fence > 0;
    code_now(r, &r->in_span, &r->fence);
    if (r->fence && !was_fence) {
        r->fence_tick = r->tick;
        r->fence_line = true;
    }
    r->ticks = 0;
}

/* What may stand before a block of code in its line: it may be in a list, or cited. */
static bool is_before_fence(char c)
{
    return c == ' ' || c == '\t' || c == '>' || c == '-' || c == '*' || c == '+' || c == '.' || (c >= '0' && c <= '9');
}

static void look_for_code(sl_reply *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool goes_on = r->ticks && s[i] == r->tick;
        if (r->ticks && !goes_on)
            ticks_ended(r);
        if (goes_on || s[i] == '`' || (s[i] == '~' && r->at_line_start)) {
            r->ticks_at_line_start = goes_on ? r->ticks_at_line_start : r->at_line_start;
            r->ticks += r->ticks < TICKS_MAX;
            r->tick = s[i];
            r->at_line_start = false;
            continue;
        }
        if (s[i] == '\n')
            r->in_span = r->fence_line = false; /* spans of several lines are rarer than a lone backtick */
        r->at_line_start = s[i] == '\n' || (r->at_line_start && is_before_fence(s[i]));
    }
}

/* Letters where code is shown; a token only right behind the backtick, since a call may follow any
 * text, and only Hermes' tags, which people write about: the others are words of no language. */
static bool quoted(const sl_reply *r, const sl_tag *tag)
{
    bool span = false;
    unsigned fence = 0;
    code_now(r, &span, &fence);
    if (tag->role == SL_TAG_THINK_END) /* a block that was never closed must not hide the answer */
        return r->text_tag && span;
    if (r->text_tag)
        return span || fence > 0;
    return span && r->ticks && tag->format == SL_TOOLS_HERMES;
}

static void code_reset(sl_reply *r)
{
    r->ticks = 0;
    r->in_span = r->fence_line = false;
    r->fence = 0;
    r->at_line_start = true;
}

/* ---- sections ----------------------------------------------------------------------------------- */

void sl_reply_text(sl_reply *r, const char *s, size_t n)
{
    look_for_code(r, s, n);
    for (size_t i = 0; i < n && r->fresh; i++)
        r->fresh = sl_reply_is_space(s[i]);
    if (r->reasoning && !r->o.inline_reasoning)
        put(r, &r->thought, SL_REPLY_REASONING, s, n);
    else
        put(r, &r->content, SL_REPLY_CONTENT, s, n);
}

static void letters(sl_reply *r, const sl_tag *tag)
{
    sl_reply_text(r, tag->text, tag->len);
}

static void begin_reasoning(sl_reply *r)
{
    r->reasoning = true;
    code_reset(r);
    if (!r->o.inline_reasoning) {
        r->content.cut = true;
        r->content.trim = true;
        if (r->thought.started)
            sl_str_puts(&r->thought.space, "\n"); /* between two reasonings */
    }
    r->fresh = true;
}

static void leave_reasoning(sl_reply *r)
{
    r->reasoning = false;
    r->fresh = true;
    sl_str_clear(&r->thought.space);
    code_reset(r);
}

void sl_reply_call_began(sl_reply *r)
{
    if (r->reasoning)
        leave_reasoning(r);
    r->content.trim = true;
    r->content.cut = true;
    r->fresh = true;
    code_reset(r);
}

static void think_tag(sl_reply *r, const sl_tag *tag)
{
    if (tag->role == SL_TAG_THINK && !r->reasoning && r->fresh) {
        begin_reasoning(r);
        if (r->o.inline_reasoning)
            letters(r, tag);
        r->fresh = true;
    } else if (tag->role == SL_TAG_THINK && r->reasoning && r->fresh && !r->o.inline_reasoning) {
        /* The prompt had it already. */
    } else if (tag->role == SL_TAG_THINK_END && r->reasoning && !quoted(r, tag)) {
        if (r->o.inline_reasoning)
            letters(r, tag);
        else
            r->content.trim = true;
        leave_reasoning(r);
    } else {
        letters(r, tag);
    }
}

void sl_reply_message(sl_reply *r, bool reasoning)
{
    if (r->reasoning)
        leave_reasoning(r);
    if (reasoning)
        begin_reasoning(r);
    else if (r->content.started && !r->o.inline_reasoning)
        sl_str_puts(&r->content.space, "\n\n"); /* between two contents */
    r->content.trim |= !r->o.inline_reasoning;
    r->fresh = true;
}

static void harmony_tag(sl_reply *r, const sl_tag *tag)
{
    if (tag->role == SL_TAG_START || tag->role == SL_TAG_CHANNEL) {
        sl_call_start(r, tag);
    } else if (tag->role == SL_TAG_CALL_END) {
        if (r->o.inline_reasoning)
            letters(r, tag);
        if (r->reasoning)
            leave_reasoning(r);
        r->fresh = true;
    } else {
        letters(r, tag);
    }
}

/* A tag outside of calls. */
static void outer_tag(sl_reply *r, const sl_tag *tag)
{
    const bool begins = tag->role == SL_TAG_SECTION || tag->role == SL_TAG_CALL;
    const bool ends = tag->role == SL_TAG_CALL_END || tag->role == SL_TAG_SECTION_END;
    if (!tag->format)
        think_tag(r, tag);
    else if (tag->format == SL_TOOLS_HARMONY)
        harmony_tag(r, tag);
    else if (!(tag->format & r->o.tools))
        letters(r, tag);
    else if (ends && !r->reasoning && (r->ends_due & tag->format))
        r->ends_due &= tag->role == SL_TAG_SECTION_END || tag->format == SL_TOOLS_HERMES ? ~tag->format : ~0;
    else if (!begins || (r->reasoning && (r->text_tag || tag->role != SL_TAG_SECTION)) || quoted(r, tag))
        letters(r, tag);
    else
        sl_call_start(r, tag);
}

/* ---- what comes in ---------------------------------------------------------------------------- */

static void any_tag(sl_reply *r, const sl_tag *tag, bool token)
{
    r->text_tag = !token;
    if (!r->call.format || !sl_call_tag(r, tag, token))
        outer_tag(r, tag);
}

static void plain_byte(sl_reply *r, char c)
{
    while (r->call.format)
        if (sl_call_byte(r, c))
            return;
    sl_reply_text(r, &c, 1);
}

/* The tag that r->tags.held is the beginning of, perhaps whole; NULL: none. */
static const sl_tag *held_tag(const sl_tags *g)
{
    for (size_t i = 0; i < g->n_texts; i++)
        if (g->n_held <= g->text[i]->len && memcmp(g->text[i]->text, g->held, g->n_held) == 0)
            return g->text[i];
    return NULL;
}

/* A byte that may belong to a tag spelled in letters. */
static void match_byte(sl_reply *r, char c)
{
    sl_tags *g = &r->tags;
    g->held[g->n_held++] = c;
    while (g->n_held) {
        const sl_tag *tag = held_tag(g);
        if (tag && tag->len > g->n_held)
            return;
        if (tag) {
            g->n_held = 0;
            any_tag(r, tag, false);
            return;
        }
        const char first = g->held[0];
        memmove(g->held, g->held + 1, --g->n_held);
        plain_byte(r, first);
    }
}

static void release_held(sl_reply *r)
{
    sl_tags *g = &r->tags;
    for (size_t i = 0; i < g->n_held; i++)
        plain_byte(r, g->held[i]);
    g->n_held = 0;
}

/* How much of s is surely text of the section: all tags begin with '<'. */
static size_t surely_text(const sl_reply *r, const char *s, size_t n)
{
    if (r->call.format || r->tags.n_held)
        return 0;
    const char *at = r->tags.n_texts ? memchr(s, '<', n) : NULL;
    return at ? (size_t)(at - s) : n;
}

void sl_reply_bytes(sl_reply *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const size_t plain = surely_text(r, s + i, n - i);
        if (plain) {
            sl_reply_text(r, s + i, plain);
            i += plain;
        } else {
            const bool verbatim = r->call.format && r->call.verbatim && !r->tags.n_held;
            if (!verbatim || !sl_call_byte(r, s[i]))
                match_byte(r, s[i]);
            i++;
        }
    }
}

void sl_reply_tag(sl_reply *r, const sl_tag *tag)
{
    release_held(r);
    any_tag(r, tag, true);
}

void sl_reply_finish(sl_reply *r)
{
    release_held(r);
    if (r->call.format)
        sl_call_end(r);
    if (!r->content.cut)
        give_space(r, &r->content, SL_REPLY_CONTENT);
    sl_reply_flush(r);
}
