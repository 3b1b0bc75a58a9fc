/* reply_call.c - a tool call from its opening tag on: kept until it is certain, then given out. */
#include <stdio.h>
#include <string.h>

#include "chat/reply_in.h"

void sl_call_fini(sl_call *c)
{
    sl_str *all[] = { &c->raw, &c->name, &c->id, &c->header, &c->pipe.space, &c->doubt_space };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sl_str_fini(all[i]);
}

/* Ready for the next call; buffers keep their memory. */
static void clear(sl_call *c)
{
    sl_str *all[] = { &c->raw, &c->name, &c->id, &c->header, &c->pipe.space, &c->doubt_space };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sl_str_clear(all[i]);
    *c = (sl_call){ .format = c->format,
                    .tools = c->tools,
                    .token = c->token,
                    .raw = c->raw,
                    .name = c->name,
                    .id = c->id,
                    .header = c->header,
                    .pipe.space = c->pipe.space,
                    .doubt_space = c->doubt_space };
}

void sl_call_keep(sl_reply *r, const char *s, size_t n)
{
    sl_str_append(&r->call.raw, s, n);
    r->failed |= r->call.raw.failed;
}

void sl_call_start(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    clear(c);
    c->format = tag->format == SL_TOOLS_HERMES    ? &sl_call_hermes
                : tag->format == SL_TOOLS_HARMONY ? &sl_call_harmony
                                                  : &sl_call_section;
    c->tools = tag->format;
    c->token = !r->text_tag;
    c->format->begin(r, tag);
}

void sl_call_leave(sl_reply *r)
{
    r->ends_due |= r->call.tools;
    r->call.format = NULL;
    clear(&r->call);
}

void sl_call_give_back(sl_reply *r)
{
    sl_call *c = &r->call;
    c->format = NULL;
    sl_reply_text(r, c->raw.data ? c->raw.data : "", c->raw.len);
    clear(c);
}

/* ---- the call's parts ---------------------------------------------------------------- */

/* splitmix64 (Steele, Lea and Flood 2014): the n-th number of a seed, all different for different n. */
static uint64_t nth_number(uint64_t seed, size_t n)
{
    uint64_t x = seed + ((uint64_t)n + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void sl_call_commit(sl_reply *r)
{
    sl_call *c = &r->call;
    sl_reply_call_began(r);
    sl_reply_flush(r);
    if (c->id.len == 0)
        sl_str_printf(&c->id, "call_%016llx", (unsigned long long)nth_number(r->o.seed, r->n_calls));
    r->failed |= c->id.failed || c->name.failed;
    if (!r->failed) {
        const sl_reply_event e = { .kind = SL_REPLY_CALL,
                                   .call = r->n_calls,
                                   .id = { c->id.data, c->id.len },
                                   .name = { c->name.data, c->name.len } };
        r->o.on_event(r->o.user, &e);
    }
    r->n_calls++;
    c->committed = true;
    sl_str_clear(&c->raw);
}

#define NOTHING "null"

enum { PIPE_START, PIPE_NULL, PIPE_QUOTE, PIPE_VERBATIM, PIPE_DECODE, PIPE_DECODE_ESCAPE, PIPE_DONE };

static void pipe_out(sl_reply *r, const char *s, size_t n)
{
    sl_pipe *p = &r->call.pipe;
    if (n == 0)
        return;
    sl_reply_give(r, SL_REPLY_ARGUMENTS, p->space.data, p->space.len);
    sl_reply_give(r, SL_REPLY_ARGUMENTS, s, n);
    sl_str_clear(&p->space);
    p->any = true;
}

static void pipe_verbatim(sl_reply *r, char c)
{
    sl_pipe *p = &r->call.pipe;
    const bool waits = sl_reply_is_space(c) || (r->call.fenced && c == '`') || (r->call.embraced && c == '}');
    if (!waits)
        pipe_out(r, &c, 1);
    else if (p->any)
        sl_str_append(&p->space, &c, 1);
    r->failed |= p->space.failed;
}

/* An object that the model wrote as a string: what the string says. */
static void pipe_decode(sl_reply *r, char c)
{
    sl_pipe *p = &r->call.pipe;
    if (p->state == PIPE_DECODE && c == '"') {
        sl_unescape_end(&p->unescape, &r->delta);
        p->state = PIPE_DONE;
        return;
    }
    p->state = p->state == PIPE_DECODE && c == '\\' ? PIPE_DECODE_ESCAPE : PIPE_DECODE;
    const size_t before = r->delta.len;
    sl_unescape_byte(&p->unescape, c, &r->delta);
    p->any |= r->delta.len > before;
}

static void give_kept(sl_reply *r)
{
    sl_pipe *p = &r->call.pipe;
    sl_reply_give(r, SL_REPLY_ARGUMENTS, p->space.data, p->space.len);
    sl_str_clear(&p->space);
    p->any = true;
}

/* null, which is kept until it is certain, and then no argument. */
static void pipe_null(sl_reply *r, char c)
{
    sl_pipe *p = &r->call.pipe;
    if (p->space.len < strlen(NOTHING) && c == NOTHING[p->space.len]) {
        sl_str_append(&p->space, &c, 1);
        r->failed |= p->space.failed;
        return;
    }
    if (p->space.len == strlen(NOTHING) && sl_reply_is_space(c))
        return;
    p->state = PIPE_VERBATIM;
    give_kept(r);
    pipe_verbatim(r, c);
}

void sl_call_argument(sl_reply *r, char c)
{
    sl_pipe *p = &r->call.pipe;
    switch (p->state) {
    case PIPE_START:
        if (sl_reply_is_space(c))
            return;
        p->state = c == '"' ? PIPE_QUOTE : c == *NOTHING ? PIPE_NULL : PIPE_VERBATIM;
        if (p->state == PIPE_NULL)
            pipe_null(r, c);
        if (p->state == PIPE_VERBATIM)
            pipe_verbatim(r, c);
        return;
    case PIPE_NULL:
        pipe_null(r, c);
        return;
    case PIPE_QUOTE:
        if (c == '"') { /* an empty string is no argument */
            p->state = PIPE_DONE;
            return;
        }
        if (c == '{') {
            sl_reply_give(r, SL_REPLY_ARGUMENTS, "", 0);
            p->state = PIPE_DECODE;
            pipe_decode(r, c);
            return;
        }
        p->state = PIPE_VERBATIM;
        pipe_out(r, "\"", 1);
        pipe_verbatim(r, c);
        return;
    case PIPE_VERBATIM:
        pipe_verbatim(r, c);
        return;
    case PIPE_DONE:
        return;
    default:
        pipe_decode(r, c);
    }
}

/* Of the braces that wait behind broken arguments the last one is the object's around them. */
static void inner_braces(sl_reply *r, bool whole)
{
    const sl_str *s = &r->call.pipe.space;
    size_t n = s->len;
    for (bool seen = !whole; n && (sl_reply_is_space(s->data[n - 1]) || !seen); n--)
        seen |= s->data[n - 1] == '}';
    sl_reply_give(r, SL_REPLY_ARGUMENTS, s->data, n);
}

void sl_call_arguments_end(sl_reply *r, bool whole)
{
    sl_pipe *p = &r->call.pipe;
    if (r->call.embraced)
        inner_braces(r, whole);
    if (p->state == PIPE_QUOTE)
        pipe_out(r, "\"", 1);
    if (p->state == PIPE_NULL && p->space.len < strlen(NOTHING))
        give_kept(r);
    sl_str_clear(&p->space);
    if (p->state == PIPE_DECODE || p->state == PIPE_DECODE_ESCAPE)
        sl_unescape_end(&p->unescape, &r->delta);
    if (!p->any && whole)
        pipe_out(r, "{}", 2);
    p->state = PIPE_DONE;
}

/* ---- bytes and tags, end tags inside strings settled -------------------------------------- */

/* Text in which no tags are looked for. */
static void feed(sl_reply *r, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        while (r->call.format && !r->call.format->byte(r, s[i]))
            ;
        if (!r->call.format) {
            sl_reply_text(r, s + i, n - i);
            return;
        }
    }
}

/* The white space after the end tag in doubt; to be handed back by keep_space. */
static sl_str take_space(sl_call *c)
{
    const sl_str space = c->doubt_space;
    c->doubt_space = (sl_str){ 0 };
    c->doubt = NULL;
    return space;
}

static void keep_space(sl_call *c, sl_str space)
{
    sl_str_clear(&space);
    c->doubt_space = space;
}

/* The end tag in doubt was text, of the string around it. */
static void doubt_is_text(sl_reply *r)
{
    const sl_tag *tag = r->call.doubt;
    const sl_str space = take_space(&r->call);
    feed(r, tag->text, tag->len);
    feed(r, space.data, space.len);
    keep_space(&r->call, space);
}

bool sl_call_byte(sl_reply *r, char b)
{
    sl_call *c = &r->call;
    if (c->doubt && sl_reply_is_space(b)) {
        sl_str_append(&c->doubt_space, &b, 1);
        r->failed |= c->doubt_space.failed;
        return true;
    }
    if (c->doubt)
        doubt_is_text(r);
    return c->format && c->format->byte(r, b);
}

/* The end tag in doubt was one: the string, and the call, were cut off. */
static void doubt_is_tag(sl_reply *r)
{
    const sl_tag *tag = r->call.doubt;
    const sl_str space = take_space(&r->call);
    r->call.format->tag(r, tag);
    feed(r, space.data, space.len);
    keep_space(&r->call, space);
}

/* A token with a tag's name inside a JSON string is text of the string: programs about tool calls
 * are written through tool calls. But a string that was never closed hides the call's end tag:
 * that one is believed when another tag, or the end of the reply, follows it. */
static bool tag_in_string(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    const bool own = tag->format == c->tools;
    if (c->doubt && own && tag->role != SL_TAG_CALL_END && tag->role != SL_TAG_ARG) {
        doubt_is_tag(r);
        return false;
    }
    if (c->doubt)
        doubt_is_text(r);
    if (!c->format || !c->format->in_string(r))
        return false;
    if (own && tag->role == SL_TAG_CALL_END) {
        c->doubt = tag;
        return true;
    }
    feed(r, tag->text, tag->len);
    return true;
}

bool sl_call_tag(sl_reply *r, const sl_tag *tag, bool token)
{
    sl_call *c = &r->call;
    if (token && c->format->in_string(r) && tag_in_string(r, tag))
        return true;
    while (c->format)
        if (c->format->tag(r, tag))
            return true;
    return false;
}

void sl_call_end(sl_reply *r)
{
    if (r->call.doubt)
        doubt_is_tag(r);
    if (r->call.format)
        r->call.format->end(r);
}
