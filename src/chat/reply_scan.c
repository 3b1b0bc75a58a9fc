/* reply_scan.c - JSON, byte by byte (RFC 8259, but control characters in strings pass). */
#include <string.h>

#include "chat/reply_in.h"

enum {
    SCAN_VALUE, /* the start of a value; 0 so that a zeroed scan begins here */
    SCAN_FIRST_VALUE,
    SCAN_FIRST_KEY,
    SCAN_KEY,
    SCAN_COLON,
    SCAN_NEXT, /* a comma or the end */
    SCAN_STRING,
    SCAN_ESCAPE,
    SCAN_HEX,
    SCAN_WORD,
    /* numbers, by what may come next */
    SCAN_MINUS,
    SCAN_ZERO,
    SCAN_DIGITS,
    SCAN_POINT,
    SCAN_FRACTION,
    SCAN_E,
    SCAN_E_SIGN,
    SCAN_E_DIGITS,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool sl_scan_in_string(const sl_scan *s)
{
    return s->state == SCAN_STRING || s->state == SCAN_ESCAPE || s->state == SCAN_HEX;
}

static bool in_object(const sl_scan *s)
{
    const size_t d = s->depth - 1;
    return s->depth > 0 && (s->object[d / 64] >> d % 64 & 1u);
}

static sl_scan_result value_ended(sl_scan *s)
{
    s->state = SCAN_NEXT;
    return s->depth == 0 ? SL_SCAN_END : SL_SCAN_MORE;
}

static sl_scan_result open_level(sl_scan *s, bool object)
{
    const size_t d = s->depth;
    if (d == SL_SCAN_DEPTH)
        return SL_SCAN_BAD;
    s->object[d / 64] = (s->object[d / 64] & ~((uint64_t)1 << d % 64)) | (uint64_t)object << d % 64;
    s->depth++;
    s->state = object ? SCAN_FIRST_KEY : SCAN_FIRST_VALUE;
    return SL_SCAN_MORE;
}

static sl_scan_result close_level(sl_scan *s, char c)
{
    if (in_object(s) != (c == '}'))
        return SL_SCAN_BAD;
    s->depth--;
    return value_ended(s);
}

static sl_scan_result begin_value(sl_scan *s, char c)
{
    s->key = false;
    s->count = 0;
    switch (c) {
    case '{':
    case '[':
        return open_level(s, c == '{');
    case '"':
        s->state = SCAN_STRING;
        return SL_SCAN_MORE;
    case 't':
    case 'f':
    case 'n':
        s->word = c == 't' ? "true" : c == 'f' ? "false" : "null";
        s->count = 1;
        s->state = SCAN_WORD;
        return SL_SCAN_MORE;
    case '-':
        s->state = SCAN_MINUS;
        return SL_SCAN_MORE;
    default:
        s->state = c == '0' ? SCAN_ZERO : SCAN_DIGITS;
        return is_digit(c) ? SL_SCAN_MORE : SL_SCAN_BAD;
    }
}

static sl_scan_result string_byte(sl_scan *s, char c)
{
    if (s->state == SCAN_ESCAPE) {
        s->state = c == 'u' ? SCAN_HEX : SCAN_STRING;
        s->count = 0;
        return c != '\0' && strchr("\"\\/bfnrtu", c) ? SL_SCAN_MORE : SL_SCAN_BAD;
    }
    if (s->state == SCAN_HEX) {
        if (++s->count == 4)
            s->state = SCAN_STRING;
        return hex_value(c) >= 0 ? SL_SCAN_MORE : SL_SCAN_BAD;
    }
    if (c == '\\')
        s->state = SCAN_ESCAPE;
    if (c != '"')
        return SL_SCAN_MORE;
    if (!s->key)
        return value_ended(s);
    s->state = SCAN_COLON;
    return SL_SCAN_MORE;
}

/* A digit is needed: the state after it. */
static sl_scan_result need_digit(sl_scan *s, char c, uint8_t next)
{
    s->state = next;
    return is_digit(c) ? SL_SCAN_MORE : SL_SCAN_BAD;
}

static sl_scan_result number_byte(sl_scan *s, char c)
{
    const bool e = c == 'e' || c == 'E';
    switch (s->state) {
    case SCAN_MINUS:
        return need_digit(s, c, c == '0' ? SCAN_ZERO : SCAN_DIGITS);
    case SCAN_POINT:
        return need_digit(s, c, SCAN_FRACTION);
    case SCAN_E_SIGN:
        return need_digit(s, c, SCAN_E_DIGITS);
    case SCAN_E:
        s->state = SCAN_E_SIGN;
        return c == '+' || c == '-' ? SL_SCAN_MORE : need_digit(s, c, SCAN_E_DIGITS);
    default:
        break;
    }
    if (is_digit(c) && s->state != SCAN_ZERO)
        return SL_SCAN_MORE;
    if ((c == '.' && s->state < SCAN_POINT) || (e && s->state < SCAN_E)) {
        s->state = e ? SCAN_E : SCAN_POINT;
        return SL_SCAN_MORE;
    }
    if (value_ended(s) == SL_SCAN_END)
        return SL_SCAN_BEFORE;
    return sl_scan_byte(s, c);
}

static sl_scan_result between(sl_scan *s, char c)
{
    switch (s->state) {
    case SCAN_FIRST_VALUE:
        return c == ']' ? close_level(s, c) : begin_value(s, c);
    case SCAN_FIRST_KEY:
    case SCAN_KEY:
        if (c == '}' && s->state == SCAN_FIRST_KEY)
            return close_level(s, c);
        s->state = SCAN_STRING;
        s->key = true;
        return c == '"' ? SL_SCAN_MORE : SL_SCAN_BAD;
    case SCAN_COLON:
        s->state = SCAN_VALUE;
        return c == ':' ? SL_SCAN_MORE : SL_SCAN_BAD;
    case SCAN_NEXT:
        if (c != ',')
            return c == '}' || c == ']' ? close_level(s, c) : SL_SCAN_BAD;
        s->state = in_object(s) ? SCAN_KEY : SCAN_VALUE;
        return SL_SCAN_MORE;
    default:
        return begin_value(s, c);
    }
}

sl_scan_result sl_scan_byte(sl_scan *s, char c)
{
    if (sl_scan_in_string(s))
        return string_byte(s, c);
    if (s->state == SCAN_WORD) {
        if (c != s->word[s->count])
            return SL_SCAN_BAD;
        return s->word[++s->count] ? SL_SCAN_MORE : value_ended(s);
    }
    if (s->state >= SCAN_MINUS)
        return number_byte(s, c);
    return is_space(c) ? SL_SCAN_MORE : between(s, c);
}

/* ---- strings ------------------------------------------------------------------------- */

enum { PLAIN, BACKSLASH, HEX_1, HEX_2, HEX_3, HEX_4 };

static void put_code(uint32_t c, sl_str *out)
{
    char b[4];
    size_t n = 0;
    if (c < 0x80) {
        b[n++] = (char)c;
    } else if (c < 0x800) {
        b[n++] = (char)(0xc0 | c >> 6);
        b[n++] = (char)(0x80 | (c & 0x3f));
    } else {
        if (c < 0x10000) {
            b[n++] = (char)(0xe0 | c >> 12);
        } else {
            b[n++] = (char)(0xf0 | c >> 18);
            b[n++] = (char)(0x80 | (c >> 12 & 0x3f));
        }
        b[n++] = (char)(0x80 | (c >> 6 & 0x3f));
        b[n++] = (char)(0x80 | (c & 0x3f));
    }
    sl_str_append(out, b, n);
}

/* A first half of a pair that nothing followed. */
static void drop_high(sl_unescape *u, sl_str *out)
{
    if (u->high)
        put_code(0xfffd, out);
    u->high = 0;
}

static void take_code(sl_unescape *u, sl_str *out)
{
    const uint32_t c = u->code;
    if (u->high && c >= 0xdc00 && c < 0xe000) {
        put_code(0x10000 + ((u->high - 0xd800) << 10) + (c - 0xdc00), out);
        u->high = 0;
        return;
    }
    drop_high(u, out);
    if (c >= 0xd800 && c < 0xdc00)
        u->high = c;
    else
        put_code(c >= 0xdc00 && c < 0xe000 ? 0xfffd : c, out);
}

void sl_unescape_byte(sl_unescape *u, char c, sl_str *out)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const int v = hex_value(c);
    if (u->state >= HEX_1 && v < 0) { /* cut short: no code, and c is a byte as any other */
        drop_high(u, out);
        put_code(0xfffd, out);
        u->state = PLAIN;
    }
    if (u->state >= HEX_1) {
        u->code = u->code << 4 | (uint32_t)v;
        if (u->state == HEX_4)
            take_code(u, out);
        u->state = u->state == HEX_4 ? PLAIN : (uint8_t)(u->state + 1);
        return;
    }
    if (u->state == PLAIN && c == '\\') {
        u->state = BACKSLASH;
        return;
    }
    if (u->state == BACKSLASH && c == 'u') {
        u->state = HEX_1;
        u->code = 0;
        return;
    }
    drop_high(u, out);
    const char *at = u->state == BACKSLASH && c ? strchr(letters, c) : NULL;
    u->state = PLAIN;
    sl_str_append(out, at ? &meant[at - letters] : &c, 1);
}

void sl_unescape_end(sl_unescape *u, sl_str *out)
{
    drop_high(u, out);
    if (u->state >= HEX_1)
        put_code(0xfffd, out);
    *u = (sl_unescape){ 0 };
}
