/* reply_hermes.c - <tool_call>\n{"name": "f", "arguments": {...}}\n</tool_call>
 *
 * Hermes function calling (NousResearch), Qwen2.5 and Qwen3. Members may come in any order;
 * "parameters" is taken for "arguments". The call is certain, and given out, when its name and
 * the first byte of its arguments are there. */
#include <string.h>

#include "chat/reply_in.h"

enum {
    OPENED, /* the tag, then white space */
    AFTER,  /* an object was whole: its end tag, or another object */
    FIRST_KEY,
    KEY,
    IN_KEY,
    COLON,
    VALUE, /* not begun, or in it */
    NEXT,
    BROKEN, /* certain, but no JSON any more: everything up to the end tag is argument */
};

enum { FIELD_OTHER, FIELD_NAME, FIELD_ARGUMENTS, FIELD_ID };

static bool in_string(const sl_reply *r)
{
    const sl_call *c = &r->call;
    return c->state == IN_KEY || (c->state == VALUE && sl_scan_in_string(&c->scan));
}

static void commit(sl_reply *r)
{
    sl_call *c = &r->call;
    sl_str raw = c->raw; /* holds arguments that came before the name */
    c->raw = (sl_str){ 0 };
    sl_call_commit(r);
    for (size_t i = 0; i < c->args_len; i++)
        sl_call_argument(r, raw.data[c->args_from + i]);
    sl_str_clear(&raw);
    c->raw = raw;
}

/* The call is over: given out if it can be, else text. */
static void close_call(sl_reply *r, bool whole)
{
    sl_call *c = &r->call;
    if (!c->committed && !c->name_known) {
        sl_call_give_back(r);
        return;
    }
    if (!c->committed)
        commit(r);
    sl_call_arguments_end(r, whole);
    sl_call_leave(r);
}

/* Several objects may stand in one pair of tags. */
static void object_ended(sl_reply *r)
{
    sl_call *c = &r->call;
    const sl_call_format *format = c->format;
    const uint8_t tools = c->tools;
    close_call(r, true);
    if (r->ends_due & tools) {
        c->format = format;
        c->tools = tools;
        c->state = AFTER;
    }
}

/* What is here is no JSON. */
static bool broken(sl_reply *r)
{
    sl_call *c = &r->call;
    c->verbatim = false;
    if (!c->committed)
        sl_call_give_back(r);
    else if (c->args_done)
        sl_call_leave(r);
    else
        c->state = BROKEN;
    c->embraced = c->state == BROKEN;
    return false;
}

static void begin_value(sl_call *c)
{
    static const struct {
        const char *key;
        uint8_t field;
    } fields[] = {
        { "name", FIELD_NAME }, { "arguments", FIELD_ARGUMENTS }, { "parameters", FIELD_ARGUMENTS }, { "id", FIELD_ID }
    };
    const sl_str *key = &c->header;
    c->field = FIELD_OTHER;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (key->len == strlen(fields[i].key) && memcmp(key->data, fields[i].key, key->len) == 0)
            c->field = fields[i].field;
    if (c->committed || (c->field == FIELD_ARGUMENTS && c->args_known) || (c->field == FIELD_NAME && c->name_known))
        c->field = FIELD_OTHER;
    if (c->field == FIELD_NAME)
        sl_str_clear(&c->name);
    if (c->field == FIELD_ID)
        sl_str_clear(&c->id);
    c->scan = (sl_scan){ 0 };
    c->unescape = (sl_unescape){ 0 };
    c->state = VALUE;
}

static void value_ended(sl_reply *r)
{
    sl_call *c = &r->call;
    c->state = NEXT;
    if (c->field == FIELD_ARGUMENTS) {
        c->args_done = true;
        if (c->committed)
            sl_call_arguments_end(r, true);
    }
    if (c->field == FIELD_NAME) {
        sl_unescape_end(&c->unescape, &c->name);
        c->name_known = c->name.len > 0;
        if (c->name_known && c->args_known)
            commit(r);
    }
    if (c->field == FIELD_ID)
        sl_unescape_end(&c->unescape, &c->id);
}

/* A byte inside a value that has begun. */
static void take_value(sl_reply *r, char b, bool inside)
{
    sl_call *c = &r->call;
    if (c->field == FIELD_ARGUMENTS && c->committed) {
        sl_call_argument(r, b);
    } else if (c->field == FIELD_ARGUMENTS && c->args_known) {
        c->args_len = c->raw.len - c->args_from;
    } else if (inside && (c->field == FIELD_NAME || c->field == FIELD_ID)) {
        sl_str *to = c->field == FIELD_NAME ? &c->name : &c->id;
        sl_unescape_byte(&c->unescape, b, to);
        r->failed |= to->failed;
    }
}

static bool value_byte(sl_reply *r, char b)
{
    sl_call *c = &r->call;
    const bool first = c->scan.state == 0 && c->scan.depth == 0 && !sl_reply_is_space(b);
    const bool was_string = sl_scan_in_string(&c->scan);
    if (first && (c->field == FIELD_NAME || c->field == FIELD_ID) && b != '"') {
        if (c->field == FIELD_NAME)
            return broken(r);
        c->field = FIELD_OTHER;
    }
    const sl_scan_result result = sl_scan_byte(&c->scan, b);
    if (result == SL_SCAN_BAD)
        return broken(r);
    if (result == SL_SCAN_BEFORE) {
        value_ended(r);
        return false;
    }
    if (first && c->field == FIELD_ARGUMENTS) {
        c->args_known = true;
        c->args_from = c->raw.len;
        if (c->name_known)
            commit(r);
    }
    if (!c->committed)
        sl_call_keep(r, &b, 1);
    take_value(r, b, was_string && sl_scan_in_string(&c->scan));
    if (result == SL_SCAN_END)
        value_ended(r);
    return true;
}

/* Between values of the object; false: not what may stand here. */
static bool outside_byte(sl_call *c, char b, bool *closed)
{
    *closed = false;
    switch (c->state) {
    case AFTER:
        if (b == '}') /* one too many, as models have it: goes with the end tag */
            return true;
        /* fall through */
    case OPENED:
        c->state = FIRST_KEY;
        c->verbatim = true;
        return b == '{';
    case FIRST_KEY:
    case KEY:
        *closed = b == '}' && c->state == FIRST_KEY;
        if (*closed)
            return true;
        sl_str_clear(&c->header);
        c->scan = (sl_scan){ 0 };
        c->state = IN_KEY;
        return b == '"';
    case COLON:
        begin_value(c);
        return b == ':';
    default:
        c->state = KEY;
        *closed = b == '}';
        return *closed || b == ',';
    }
}

/* Keys are compared as written: nobody escapes "name". */
static void key_byte(sl_call *c, char b)
{
    if (b == '"' && c->scan.count == 0)
        c->state = COLON;
    else
        sl_str_append(&c->header, &b, 1);
    c->scan.count = b == '\\' && c->scan.count == 0;
}

static bool byte(sl_reply *r, char b)
{
    sl_call *c = &r->call;
    bool closed = false;
    if (c->state == VALUE)
        return value_byte(r, b);
    if (c->state == BROKEN) {
        sl_call_argument(r, b);
        return true;
    }
    if (c->state == IN_KEY)
        key_byte(c, b);
    else if (!sl_reply_is_space(b) && !outside_byte(c, b, &closed))
        return broken(r);
    if (!c->committed)
        sl_call_keep(r, &b, 1);
    if (closed)
        object_ended(r);
    return true;
}

static bool tag(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    const bool ends = tag->format == SL_TOOLS_HERMES && tag->role == SL_TAG_CALL_END;
    if (c->state == BROKEN && tag->format != SL_TOOLS_HERMES) {
        for (size_t i = 0; i < tag->len; i++)
            sl_call_argument(r, tag->text[i]);
        return true;
    }
    if (ends && c->state == AFTER) {
        sl_call_leave(r);
        r->ends_due &= (uint8_t)~SL_TOOLS_HERMES;
        return true;
    }
    const bool whole = c->state != VALUE && c->state != BROKEN; /* a missing brace at most */
    if (ends && !c->committed && !c->name_known)
        sl_call_keep(r, tag->text, tag->len);
    close_call(r, whole || c->state == BROKEN);
    if (ends)
        r->ends_due &= (uint8_t)~SL_TOOLS_HERMES;
    return ends;
}

static void end(sl_reply *r)
{
    close_call(r, false);
}

static void begin(sl_reply *r, const sl_tag *tag)
{
    sl_call_keep(r, tag->text, tag->len);
}

const sl_call_format sl_call_hermes = { .begin = begin, .byte = byte, .tag = tag, .end = end, .in_string = in_string };
