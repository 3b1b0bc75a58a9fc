/* reply_section.c - calls that have a tag of their own between header and arguments:
 *
 *   SECTION  CALL header ARG arguments CALL_END  CALL ... CALL_END  SECTION_END
 *
 * What the header says is the business of reply_deepseek.c and reply_kimi.c. The section's own
 * tags may be missing. A call is certain, and given out, when its name is known. */
#include <string.h>

#include "chat/reply_in.h"

#define HEADER_MAX ((size_t)1024)

enum {
    BETWEEN, /* in a section, between calls */
    HEADER,
    NAME, /* DeepSeek V3: "function" was only a type, unless arguments follow */
    LINE, /* the name, to the end of the line */
    /* the call was given out */
    FENCE,      /* perhaps ```json */
    FENCE_LINE, /* the rest of that line */
    ARGUMENTS,  /* not begun, or in them */
    BROKEN,     /* no JSON: everything up to the end tag is argument */
    AFTER,      /* arguments are whole */
};

static bool in_string(const sl_reply *r)
{
    return r->call.state == ARGUMENTS && sl_scan_in_string(&r->call.scan);
}

/* What was collected, without the white space around it. */
static sl_bytes collected(const sl_call *c)
{
    const char *s = c->header.data ? c->header.data : "";
    size_t n = c->header.len;
    while (n && sl_reply_is_space(*s)) {
        s++;
        n--;
    }
    while (n && sl_reply_is_space(s[n - 1]))
        n--;
    return (sl_bytes){ s, n };
}

static void commit(sl_reply *r, uint8_t state)
{
    sl_call_commit(r);
    r->ends_due |= r->call.tools;
    r->call.state = state;
}

/* What was collected is the name, if it is anything. */
static bool commit_line(sl_reply *r)
{
    sl_call *c = &r->call;
    const sl_bytes line = collected(c);
    sl_str_clear(&c->name);
    sl_str_append(&c->name, line.data, line.len);
    if (line.len)
        commit(r, FENCE);
    return line.len > 0;
}

/* No call: back to text. */
static bool fails(sl_reply *r)
{
    sl_call_give_back(r);
    return false;
}

static void call_ended(sl_reply *r, bool whole)
{
    sl_call_arguments_end(r, whole);
    r->call.verbatim = false;
    r->call.state = BETWEEN;
}

static void begin_header(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    sl_call_keep(r, tag->text, tag->len);
    sl_str_clear(&c->header);
    sl_str_clear(&c->name);
    sl_str_clear(&c->id);
    sl_str_clear(&c->pipe.space);
    c->pipe = (sl_pipe){ .space = c->pipe.space };
    c->scan = (sl_scan){ 0 };
    c->fenced = false;
    c->state = HEADER;
}

static void begin(sl_reply *r, const sl_tag *tag)
{
    if (tag->role == SL_TAG_CALL)
        begin_header(r, tag);
    else
        sl_call_keep(r, tag->text, tag->len);
}

/* ---- bytes --------------------------------------------------------------------------- */

static bool collect(sl_reply *r, char b)
{
    sl_call *c = &r->call;
    if (c->header.len == HEADER_MAX)
        return fails(r);
    sl_call_keep(r, &b, 1);
    sl_str_append(&c->header, &b, 1);
    r->failed |= c->header.failed;
    return true;
}

static bool name_byte(sl_reply *r, char b)
{
    sl_call *c = &r->call;
    if (sl_reply_is_space(b)) {
        sl_call_keep(r, &b, 1);
        return true;
    }
    if (b == '{') {
        commit(r, ARGUMENTS); /* a function that is called so */
    } else {
        sl_str_clear(&c->header);
        c->state = LINE;
    }
    return false;
}

static bool line_byte(sl_reply *r, char b)
{
    return b == '\n' ? commit_line(r) || fails(r) : collect(r, b);
}

static bool fence_byte(sl_call *c, char b)
{
    if (c->state == FENCE_LINE) {
        c->state = b == '\n' || b == '{' ? ARGUMENTS : FENCE_LINE;
        return b != '{';
    }
    if (sl_reply_is_space(b))
        return true;
    c->fenced = b == '`';
    c->state = c->fenced ? FENCE_LINE : ARGUMENTS;
    return c->fenced;
}

static bool argument_byte(sl_reply *r, char b)
{
    sl_call *c = &r->call;
    const sl_scan_result result = sl_scan_byte(&c->scan, b);
    c->verbatim = result == SL_SCAN_MORE;
    if (result == SL_SCAN_BAD || result == SL_SCAN_BEFORE) {
        c->state = result == SL_SCAN_BAD ? BROKEN : AFTER;
        return false;
    }
    sl_call_argument(r, b);
    if (result == SL_SCAN_END)
        c->state = AFTER;
    return true;
}

static bool byte(sl_reply *r, char b)
{
    sl_call *c = &r->call;
    switch (c->state) {
    case BETWEEN:
        if (!sl_reply_is_space(b))
            return fails(r);
        sl_call_keep(r, &b, 1);
        return true;
    case HEADER:
        return collect(r, b);
    case NAME:
        return name_byte(r, b);
    case LINE:
        return line_byte(r, b);
    case FENCE:
    case FENCE_LINE:
        return fence_byte(c, b);
    case ARGUMENTS:
        return argument_byte(r, b);
    case BROKEN:
        sl_call_argument(r, b);
        return true;
    default:
        if (sl_reply_is_space(b) || (c->fenced && b == '`') || b == '}') /* one too many */
            return true;
        call_ended(r, true);
        return fails(r);
    }
}

/* ---- tags ---------------------------------------------------------------------------------- */

static bool argument_tag(sl_reply *r, const sl_tag *tag)
{
    r->call.state = BROKEN;
    r->call.verbatim = false;
    for (size_t i = 0; i < tag->len; i++)
        sl_call_argument(r, tag->text[i]);
    return true;
}

static bool header_ends(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    const sl_bytes header = collected(c);
    const sl_header kind = c->tools == SL_TOOLS_KIMI ? sl_kimi_header(c, header) : sl_deepseek_header(c, header);
    if (kind == SL_HEADER_BAD)
        return fails(r);
    if (kind == SL_HEADER_NAMED) {
        commit(r, ARGUMENTS);
    } else {
        sl_call_keep(r, tag->text, tag->len);
        c->state = NAME;
    }
    return true;
}

static bool section_ends(sl_reply *r)
{
    sl_call *c = &r->call;
    /* A section of tokens without a call says nothing, and nobody wants to see it. */
    if (!(r->ends_due & c->tools) && !c->token)
        return fails(r);
    const uint8_t tools = c->tools;
    sl_call_leave(r);
    r->ends_due &= (uint8_t)~tools;
    return true;
}

/* A tag of this format where no call is open. */
static bool between_tag(sl_reply *r, const sl_tag *tag)
{
    switch (tag->role) {
    case SL_TAG_CALL:
        begin_header(r, tag);
        return true;
    case SL_TAG_SECTION_END:
        return section_ends(r);
    default:
        return fails(r);
    }
}

static bool tag(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    const bool own = tag->format == c->tools;
    if (c->state == LINE && own && tag->role != SL_TAG_ARG)
        commit_line(r);
    if (c->state == HEADER && own && tag->role == SL_TAG_ARG)
        return header_ends(r, tag);
    if (c->state > BETWEEN && c->state < FENCE)
        return fails(r);
    if (c->state != BETWEEN && c->state != AFTER && (!own || tag->role == SL_TAG_ARG))
        return argument_tag(r, tag);
    if (c->state != BETWEEN) {
        call_ended(r, true);
        if (own && tag->role == SL_TAG_CALL_END)
            return true;
    }
    return own ? between_tag(r, tag) : fails(r);
}

static void end(sl_reply *r)
{
    if (r->call.state < FENCE) {
        fails(r);
        return;
    }
    call_ended(r, r->call.state == AFTER);
    sl_call_leave(r);
}

const sl_call_format sl_call_section = { .begin = begin, .byte = byte, .tag = tag, .end = end, .in_string = in_string };
