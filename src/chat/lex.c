/* lex.c - template text -> tokens.
 * Source: the rules of the Jinja documentation, "Whitespace Control" and "Expressions"; behaviour
 * compared with Jinja2 3.1 by tests/chat/differential.py. */
#include "chat/lex_in.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/utf8_in.h"

#define MAX_NESTING 256 /* open brackets inside one tag */

typedef struct lexer {
    sl_template *t;
    sl_jj_tokens *out;
    sl_err *err;
    size_t pos;
    bool line_start; /* what came before ended with a newline, or nothing came before */
} lexer;

static sl_status push(lexer *x, sl_jj_token token)
{
    sl_jj_tokens *o = x->out;
    if (o->n == o->cap) {
        const size_t cap = o->cap ? 2 * o->cap : 256;
        sl_jj_token *grown = sl_mem_grow(o->at, o->n * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return sl_fail(x->err, SL_ENOMEM, "template: no memory for %zu tokens", cap);
        o->at = grown;
        o->cap = cap;
    }
    o->at[o->n++] = token;
    return SL_OK;
}

static sl_status push_tag(lexer *x, sl_jj_token_type type, size_t at)
{
    return push(x, (sl_jj_token){ .type = (uint8_t)type, .at = (uint32_t)at, .end = (uint32_t)x->pos });
}

static size_t skip_space(const lexer *x, size_t pos)
{
    while (pos < x->t->len) {
        size_t w = 0;
        if (!sl_jj_is_space(sl_jj_utf8_get(x->t->source + pos, &w)))
            break;
        pos += w;
    }
    return pos;
}

static bool looking_at(const lexer *x, size_t pos, const char *text)
{
    const size_t n = strlen(text);
    return x->t->len - pos >= n && memcmp(x->t->source + pos, text, n) == 0;
}

/* The text from..to in front of a tag that says `sign`; `block`: a tag that lstrip_blocks is for. */
static sl_status push_data(lexer *x, size_t from, size_t to, char sign, bool block)
{
    const char *s = x->t->source;
    size_t end = to;
    if (sign == '-') {
        while (end > from) {
            const size_t w = sl_jj_utf8_last(s + from, end - from);
            size_t width = 0;
            if (!sl_jj_is_space(sl_jj_utf8_get(s + end - w, &width)))
                break;
            end -= w;
        }
    } else if (sign != '+' && block) {
        size_t line = to;
        while (line > from && s[line - 1] != '\n')
            line--;
        if ((line > from || x->line_start) && skip_space(x, line) >= to)
            end = line;
    }
    if (end == from)
        return SL_OK;
    return push(x, (sl_jj_token){ .type = SL_JJ_T_DATA,
                                  .at = (uint32_t)from,
                                  .end = (uint32_t)end,
                                  .value = sl_jj_str(s + from, end - from) });
}

/* If the end of a block or comment tag is here (`close` is "%}" or "#}"), move behind it. */
static bool take_block_end(lexer *x, size_t pos, const char *close)
{
    const char *s = x->t->source;
    const char sign = pos < x->t->len ? s[pos] : '\0';
    if ((sign == '-' || sign == '+') && looking_at(x, pos + 1, close)) {
        x->pos = sign == '-' ? skip_space(x, pos + 3) : pos + 3;
    } else if (looking_at(x, pos, close)) {
        x->pos = pos + 2;
        if (x->pos < x->t->len && s[x->pos] == '\n')
            x->pos++;
    } else {
        return false;
    }
    x->line_start = s[x->pos - 1] == '\n';
    return true;
}

static sl_status lex_comment(lexer *x, size_t begin)
{
    for (size_t p = x->pos; p < x->t->len; p++)
        if ((x->t->source[p] == '#' || x->t->source[p] == '-' || x->t->source[p] == '+') && take_block_end(x, p, "#}"))
            return SL_OK;
    if (x->pos == x->t->len) /* Jinja looks for the end of a comment only where something follows */
        return SL_OK;
    return sl_jj_fail_at(x->t, begin, x->err, SL_EFORMAT, "missing end of comment tag");
}

/* Behind `{%` or `{%-`: is this `raw %}`? The end of the tag, or 0. */
static size_t raw_begin(const lexer *x, size_t pos)
{
    pos = skip_space(x, pos);
    if (!looking_at(x, pos, "raw"))
        return 0;
    pos = skip_space(x, pos + 3);
    if (looking_at(x, pos, "-%}"))
        return skip_space(x, pos + 3);
    return looking_at(x, pos, "%}") ? pos + 2 : 0;
}

static sl_status lex_raw(lexer *x, size_t begin)
{
    const char *s = x->t->source;
    const size_t from = x->pos;
    x->line_start = s[from - 1] == '\n';
    for (size_t p = from; p + 1 < x->t->len; p++) {
        if (s[p] != '{' || s[p + 1] != '%')
            continue;
        size_t q = p + 2;
        const char sign = q < x->t->len && (s[q] == '-' || s[q] == '+') ? s[q] : '\0';
        q = skip_space(x, q + (sign != '\0'));
        if (!looking_at(x, q, "endraw"))
            continue;
        const bool line_start = x->line_start;
        if (!take_block_end(x, skip_space(x, q + 6), "%}"))
            continue;
        const bool after = x->line_start;
        x->line_start = line_start;
        const sl_status rc = push_data(x, from, p, sign, true);
        x->line_start = after;
        return rc;
    }
    if (from == x->t->len) /* as for a comment */
        return SL_OK;
    return sl_jj_fail_at(x->t, begin, x->err, SL_EFORMAT, "missing end of raw directive");
}

static bool is_digit_of(char c, int base)
{
    const int d = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : 99;
    return d < base;
}

/* (_?digit)*, from pos on. */
static size_t scan_digits(const lexer *x, size_t pos, int base)
{
    const char *s = x->t->source;
    for (;;) {
        const size_t p = pos + (pos < x->t->len && s[pos] == '_');
        if (p >= x->t->len || !is_digit_of(s[p], base))
            return pos;
        pos = p + 1;
    }
}

/* The end of a float that begins at pos, or 0. */
static size_t scan_float(const lexer *x, size_t pos)
{
    const char *s = x->t->source;
    const size_t len = x->t->len;
    if (pos > 0 && s[pos - 1] == '.')
        return 0;
    pos = scan_digits(x, pos + 1, 10);
    size_t end = 0;
    if (pos + 1 < len && s[pos] == '.' && is_digit_of(s[pos + 1], 10))
        end = pos = scan_digits(x, pos + 2, 10);
    if (pos < len && (s[pos] == 'e' || s[pos] == 'E')) {
        size_t p = pos + 1;
        p += p < len && (s[p] == '+' || s[p] == '-');
        if (p < len && is_digit_of(s[p], 10))
            end = scan_digits(x, p + 1, 10);
    }
    return end;
}

static size_t scan_integer(const lexer *x, size_t pos)
{
    const char *s = x->t->source;
    if (s[pos] != '0')
        return scan_digits(x, pos + 1, 10);
    const char c = pos + 1 < x->t->len ? s[pos + 1] | 0x20 : '\0';
    const int base = c == 'b' ? 2 : c == 'o' ? 8 : c == 'x' ? 16 : 0;
    if (base) {
        const size_t end = scan_digits(x, pos + 2, base);
        if (end > pos + 2)
            return end;
    }
    return scan_digits(x, pos + 1, 1);
}

static sl_status lex_number(lexer *x)
{
    const size_t at = x->pos, float_end = scan_float(x, at);
    sl_jj_token token = { .type = SL_JJ_T_CONST, .at = (uint32_t)at };
    x->pos = float_end ? float_end : scan_integer(x, at);
    token.end = (uint32_t)x->pos;
    if (float_end) {
        double f = 0;
        (void)sl_jj_parse_float(x->t->source + at, x->pos - at, &f);
        token.value = sl_jj_float(f);
    } else {
        int64_t i = 0;
        bool overflow = false;
        (void)sl_jj_parse_int(x->t->source + at, x->pos - at, 0, &i, &overflow);
        if (overflow)
            return sl_jj_fail_at(x->t, at, x->err, SL_EUNSUPPORTED, "an integer beyond 64 bits");
        token.value = sl_jj_int(i);
    }
    return push(x, token);
}

/* \xhh, \uhhhh, \Uhhhhhhhh at s[0..], which is behind the backslash; false if digits lack. */
static bool hex_escape(const char *s, size_t n, size_t *used, uint32_t *out)
{
    const size_t digits = s[0] == 'x' ? 2 : s[0] == 'u' ? 4 : 8;
    uint32_t c = 0;
    if (n < 1 + digits)
        return false;
    for (size_t i = 1; i <= digits; i++) {
        if (!is_digit_of(s[i], 16))
            return false;
        c = c << 4 | (uint32_t)(s[i] <= '9' ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
    }
    *used = 1 + digits;
    *out = c;
    return true;
}

/* One escape of Python's strings, behind its backslash. Appends to *o. */
static sl_status unescape_one(lexer *x, const char *s, size_t n, size_t *used, char **o)
{
    static const char plain[] = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";
    const size_t at = (size_t)(s - x->t->source);
    uint32_t c = 0;
    *used = 1;
    for (size_t i = 0; i + 1 < sizeof plain; i += 2)
        if (s[0] == plain[i]) {
            *(*o)++ = plain[i + 1];
            return SL_OK;
        }
    if (s[0] == '\n')
        return SL_OK;
    if (s[0] == 'N')
        return sl_jj_fail_at(x->t, at, x->err, SL_EUNSUPPORTED, "\\N{...} in a string");
    if (is_digit_of(s[0], 8)) {
        size_t i = 0;
        while (i < 3 && i < n && is_digit_of(s[i], 8))
            c = c << 3 | (uint32_t)(s[i++] - '0');
        *used = i;
    } else if (s[0] == 'x' || s[0] == 'u' || s[0] == 'U') {
        if (!hex_escape(s, n, used, &c) || c > 0x10ffff)
            return sl_jj_fail_at(x->t, at, x->err, SL_EFORMAT, "a \\%c escape that is no character", s[0]);
        if (c >= 0xd800 && c < 0xe000)
            return sl_jj_fail_at(x->t, at, x->err, SL_EUNSUPPORTED, "a surrogate in a string");
    } else { /* an escape that Python does not know stays as it is */
        *(*o)++ = '\\';
        *used = 0;
        return SL_OK;
    }
    *o += sl_jj_utf8_put(*o, c);
    return SL_OK;
}

static sl_status lex_string(lexer *x)
{
    const char *s = x->t->source;
    const size_t at = x->pos;
    size_t end = at + 1;
    while (end < x->t->len && s[end] != s[at])
        end += s[end] == '\\' ? 2 : 1;
    if (end >= x->t->len)
        return sl_jj_fail_at(x->t, at, x->err, SL_EFORMAT, "a string without an end");
    char *text = NULL, *o = NULL;
    const sl_status rc = sl_jj_template_alloc(x->t, end - at, 1, &text, x->err);
    if (rc)
        return rc;
    o = text;
    for (size_t p = at + 1; p < end;) {
        if (s[p] != '\\') {
            *o++ = s[p++];
            continue;
        }
        size_t used = 0;
        const sl_status bad = unescape_one(x, s + p + 1, end - p - 1, &used, &o);
        if (bad)
            return bad;
        p += 1 + used;
    }
    x->pos = end + 1;
    return push(x, (sl_jj_token){ .type = SL_JJ_T_CONST,
                                  .at = (uint32_t)at,
                                  .end = (uint32_t)x->pos,
                                  .value = sl_jj_str(text, (size_t)(o - text)) });
}

static sl_status lex_name(lexer *x)
{
    const size_t at = x->pos;
    size_t w = 0;
    while (x->pos < x->t->len && sl_jj_is_word(sl_jj_utf8_get(x->t->source + x->pos, &w)))
        x->pos += w;
    return push(x, (sl_jj_token){ .type = SL_JJ_T_NAME,
                                  .at = (uint32_t)at,
                                  .end = (uint32_t)x->pos,
                                  .value = sl_jj_str(x->t->source + at, x->pos - at) });
}

/* Brackets that are open inside the tag: an end tag counts only when there are none. */
typedef struct brackets {
    size_t n;
    char want[MAX_NESTING];
} brackets;

static sl_status lex_operator(lexer *x, brackets *open)
{
    static const char two[][3] = { "//", "**", "==", "!=", ">=", "<=" };
    const size_t at = x->pos;
    const char c = x->t->source[at];
    uint16_t op = 0;
    for (size_t i = 0; i < SL_COUNT(two); i++)
        if (looking_at(x, at, two[i]))
            op = SL_JJ_OP2(two[i][0], two[i][1]);
    if (!op && (!c || !strchr("+-*/%~[](){}><=.:|,;", c)))
        return sl_jj_fail_at(x->t, at, x->err, SL_EFORMAT, "unexpected character");
    if (c == '(' || c == '[' || c == '{') {
        if (open->n == MAX_NESTING)
            return sl_jj_fail_at(x->t, at, x->err, SL_EFORMAT, "more than %d open brackets", MAX_NESTING);
        open->want[open->n++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (open->n == 0)
            return sl_jj_fail_at(x->t, at, x->err, SL_EFORMAT, "unexpected '%c'", c);
        if (open->want[--open->n] != c)
            return sl_jj_fail_at(x->t, at, x->err, SL_EFORMAT, "unexpected '%c', expected '%c'", c,
                                 open->want[open->n]);
    }
    x->pos += op ? 2 : 1;
    return push(x, (sl_jj_token){
                       .type = SL_JJ_T_OP, .op = op ? op : (uint16_t)c, .at = (uint32_t)at, .end = (uint32_t)x->pos });
}

/* If the end of this tag is here, move behind it. */
static bool take_tag_end(lexer *x, bool block)
{
    if (block)
        return take_block_end(x, x->pos, "%}");
    if (looking_at(x, x->pos, "-}}"))
        x->pos = skip_space(x, x->pos + 3);
    else if (looking_at(x, x->pos, "}}"))
        x->pos += 2;
    else
        return false;
    x->line_start = x->t->source[x->pos - 1] == '\n';
    return true;
}

/* The inside of a tag that began at `begin`, up to and including its end. */
static sl_status lex_tag(lexer *x, bool block, size_t begin)
{
    brackets open = { 0 };
    for (;;) {
        const size_t at = x->pos;
        if (at >= x->t->len)
            return sl_jj_fail_at(x->t, begin, x->err, SL_EFORMAT, "a tag without an end");
        if (open.n == 0 && take_tag_end(x, block))
            return push_tag(x, block ? SL_JJ_T_BLOCK_END : SL_JJ_T_VAR_END, at);
        size_t w = 0;
        const char c = x->t->source[at];
        const uint32_t cp = sl_jj_utf8_get(x->t->source + at, &w);
        sl_status rc = SL_OK;
        if (sl_jj_is_space(cp))
            x->pos += w;
        else if (c >= '0' && c <= '9')
            rc = lex_number(x);
        else if (c == '\'' || c == '"')
            rc = lex_string(x);
        else if (sl_jj_is_word(cp) && !sl_jj_is_numeric(cp))
            rc = lex_name(x);
        else
            rc = lex_operator(x, &open);
        if (rc)
            return rc;
    }
}

/* Text up to the next tag, and that tag. */
static sl_status lex_root(lexer *x)
{
    const char *s = x->t->source;
    const size_t from = x->pos;
    size_t at = from;
    while (at + 1 < x->t->len && !(s[at] == '{' && (s[at + 1] == '%' || s[at + 1] == '{' || s[at + 1] == '#')))
        at++;
    if (at + 1 >= x->t->len) {
        x->pos = x->t->len;
        return push_data(x, from, x->t->len, '+', false);
    }
    const char kind = s[at + 1];
    const char sign = at + 2 < x->t->len && (s[at + 2] == '-' || s[at + 2] == '+') ? s[at + 2] : '\0';
    const sl_status rc = push_data(x, from, at, sign, kind != '{');
    if (rc)
        return rc;
    x->pos = at + 2 + (sign != '\0');
    x->line_start = false;
    if (kind == '#')
        return lex_comment(x, at);
    const size_t raw = kind == '%' ? raw_begin(x, x->pos) : 0;
    if (raw) {
        x->pos = raw;
        return lex_raw(x, at);
    }
    const sl_status bad = push_tag(x, kind == '%' ? SL_JJ_T_BLOCK_BEGIN : SL_JJ_T_VAR_BEGIN, at);
    return bad ? bad : lex_tag(x, kind == '%', at);
}

sl_status sl_jj_lex(sl_template *t, sl_jj_tokens *out, sl_err *err)
{
    lexer x = { .t = t, .out = out, .err = err, .line_start = true };
    while (x.pos < t->len) {
        const sl_status rc = lex_root(&x);
        if (rc)
            return rc;
    }
    x.pos = t->len;
    return push_tag(&x, SL_JJ_T_EOF, t->len);
}
