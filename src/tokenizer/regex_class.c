/* regex_class.c - reading what stands for one character: escapes and [classes]. */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tokenizer/regex_in.h"
#include "tokenizer/unicode.h"

#define MAX_NAME 64 /* of a property, with its prefix */

/* --- escapes ----------------------------------------------------------------------------- */

static int digit_value(uint32_t c)
{
    if (c >= '0' && c <= '9')
        return (int)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (int)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (int)(c - 'A') + 10 : -1;
}

/* Up to `most` digits of base 8 or 16; how many there were. */
static size_t read_number(sl_regex_reader *r, int base, size_t most, uint32_t *value)
{
    size_t n = 0;
    *value = 0;
    while (n < most && sl_regex_more(r)) {
        const int digit = digit_value(r->c[r->at]);
        if (digit < 0 || digit >= base)
            break;
        *value = *value * (uint32_t)base + (uint32_t)digit;
        r->at++;
        n++;
    }
    return n;
}

static sl_regex_escape good_char(sl_regex_reader *r, size_t at, uint32_t c)
{
    if (c >= SL_UNICODE_END || (c >= 0xd800 && c < 0xe000)) {
        sl_regex_refuse(r, SL_EFORMAT, at, "a number that is no character");
        return SL_RE_ESC_ERROR;
    }
    return SL_RE_ESC_CHAR;
}

/* \xHH \x{H..} \uHHHH, and Rust's \u{H..} \UHHHHHHHH; r->at is behind the letter. */
static sl_regex_escape read_hex(sl_regex_reader *r, uint32_t letter, uint32_t *c)
{
    const size_t at = r->at - 2;
    if (sl_regex_is(r, 0, '{') && (letter == 'x' || r->rust)) {
        r->at++;
        if (read_number(r, 16, 8, c) > 0 && sl_regex_is(r, 0, '}')) {
            r->at++;
            return good_char(r, at, *c);
        }
    } else {
        const size_t want = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
        if (read_number(r, 16, want, c) == want) {
            if (letter == 'x' && *c >= 0x80 && !r->rust) {
                sl_regex_refuse(r, SL_EUNSUPPORTED, at, "\\xHH for a part of a character");
                return SL_RE_ESC_ERROR;
            }
            return good_char(r, at, *c);
        }
    }
    sl_regex_refuse(r, SL_EUNSUPPORTED, at, "a hexadecimal escape of this form");
    return SL_RE_ESC_ERROR;
}

static const char *skip_prefix(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* Of a named set, which is settled. Rust ignores case before it negates, so (?i)\P{Lu} is no letter. */
static void complement(const sl_regex_reader *r, sl_regex_options options, sl_charset *set)
{
    if (options.fold && r->rust)
        sl_unicode_fold(set);
    sl_charset_negate(set);
}

/* p{L} P{L} p{^L}, and Rust's pL; r->at is behind the p. */
static sl_regex_escape read_property(sl_regex_reader *r, sl_regex_options options, uint32_t letter, bool inside,
                                     sl_charset *set)
{
    const size_t at = r->at - 2;
    char name[MAX_NAME] = { 0 };
    size_t n = 0;
    bool negated = letter == 'P';
    if (sl_regex_is(r, 0, '{')) {
        r->at++;
        if (sl_regex_is(r, 0, '^')) {
            negated = !negated;
            r->at++;
        }
        for (; sl_regex_more(r) && r->c[r->at] != '}' && r->c[r->at] < 0x80 && n + 1 < sizeof name; r->at++)
            name[n++] = (char)r->c[r->at];
        if (!sl_regex_is(r, 0, '}'))
            n = 0;
        r->at++;
    } else if (r->rust && sl_regex_more(r) && r->c[r->at] < 0x80) {
        name[n++] = (char)r->c[r->at++];
    }
    const char *plain = name;
    static const char *const prefixes[] = { "Script=", "sc=", "General_Category=", "gc=" };
    for (size_t i = 0; r->rust && i < SL_COUNT(prefixes) && plain == name; i++)
        if (skip_prefix(name, prefixes[i]))
            plain = skip_prefix(name, prefixes[i]);
    const bool lone_word = !inside && !r->rust && strcasecmp(name, "word") == 0;
    if (lone_word) {
        sl_regex_word_set(r, inside, set);
    } else if (n == 0 || !sl_unicode_property(set, plain, strlen(plain))) {
        char what[MAX_NAME + 32];
        snprintf(what, sizeof what, "\\%c{%s}, a property", (char)letter, name);
        sl_regex_refuse(r, SL_EUNSUPPORTED, at, what);
        return SL_RE_ESC_ERROR;
    }
    sl_charset_settle(set);
    if (negated)
        complement(r, options, set);
    return SL_RE_ESC_SET;
}

void sl_regex_word_set(const sl_regex_reader *r, bool inside, sl_charset *set)
{
    if (r->rust) {
        sl_unicode_property(set, "rust_word", 9);
    } else {
        sl_unicode_property(set, "word", 4);
        if (!inside) { /* the engine's table for Latin 1 takes superscripts and fractions for letters */
            sl_charset_add(set, 0xb2, 0xb3);
            sl_charset_add(set, 0xb9, 0xb9);
            sl_charset_add(set, 0xbc, 0xbe);
        }
    }
    sl_charset_settle(set);
}

/* \d \s \w \h and their complements. */
static sl_regex_escape read_shorthand(const sl_regex_reader *r, uint32_t letter, bool inside, sl_charset *set)
{
    const uint32_t lower = letter | 0x20;
    if (lower == 'w')
        sl_regex_word_set(r, inside, set);
    else if (lower == 's')
        sl_unicode_property(set, "space", 5);
    else if (lower == 'd')
        sl_unicode_property(set, "Nd", 2);
    else
        sl_unicode_property(set, "xdigit", 6);
    sl_charset_settle(set);
    if (letter != lower)
        sl_charset_negate(set);
    return SL_RE_ESC_SET;
}

sl_regex_escape sl_regex_read_escape(sl_regex_reader *r, sl_regex_options options, bool inside, uint32_t *c,
                                     sl_charset *set)
{
    static const char controls[][2] = { { 'n', '\n' }, { 't', '\t' }, { 'r', '\r' }, { 'f', '\f' },
                                        { 'v', '\v' }, { 'a', '\a' }, { 'e', 0x1b } };
    if (!sl_regex_more(r)) {
        sl_regex_refuse(r, SL_EFORMAT, r->at - 1, "a backslash at the end");
        return SL_RE_ESC_ERROR;
    }
    const uint32_t letter = r->c[r->at++];
    for (size_t i = 0; i < SL_COUNT(controls); i++)
        if (letter == (unsigned char)controls[i][0]) {
            *c = (unsigned char)controls[i][1];
            return SL_RE_ESC_CHAR;
        }
    switch (letter) {
    case 'd':
    case 'D':
    case 's':
    case 'S':
    case 'w':
    case 'W':
    case 'h':
    case 'H':
        return read_shorthand(r, letter, inside, set);
    case 'p':
    case 'P':
        return read_property(r, options, letter, inside, set);
    case 'x':
    case 'u':
        return read_hex(r, letter, c);
    case 'U':
        if (r->rust)
            return read_hex(r, letter, c);
        break;
    case '0':
        if (r->rust)
            break;
        read_number(r, 8, 2, c);
        return SL_RE_ESC_CHAR;
    case 'c':
        if (r->rust || !sl_regex_more(r) || r->c[r->at] >= 0x80 || r->c[r->at] == '\\')
            break;
        *c = r->c[r->at++] & 0x1f;
        return SL_RE_ESC_CHAR;
    case 'b':
        if (!inside || r->rust)
            break;
        *c = '\b';
        return SL_RE_ESC_CHAR;
    default:
        break;
    }
    const bool plain = letter >= 0x80 || !((letter | 0x20) >= 'a' && (letter | 0x20) <= 'z');
    if (plain && !(letter >= '0' && letter <= '9')) {
        *c = letter;
        return SL_RE_ESC_CHAR;
    }
    r->at--;
    return SL_RE_ESC_NONE;
}

/* --- classes ----------------------------------------------------------------------------- */

/* [:name:] or [:^name:], r->at being at its [. */
static bool read_posix(sl_regex_reader *r, sl_regex_options options, sl_charset *out)
{
    const size_t at = r->at;
    char name[MAX_NAME];
    size_t n = 0;
    sl_charset set = { 0 };
    r->at += 2;
    const bool negated = sl_regex_is(r, 0, '^');
    r->at += negated;
    for (; sl_regex_more(r) && r->c[r->at] >= 'a' && r->c[r->at] <= 'z' && n < sizeof name; r->at++)
        name[n++] = (char)r->c[r->at];
    if (!sl_regex_is(r, 0, ':') || !sl_regex_is(r, 1, ']') || !sl_unicode_posix(&set, name, n))
        return sl_regex_refuse(r, SL_EUNSUPPORTED, at, "[: in a class that begins no POSIX bracket");
    r->at += 2;
    sl_charset_settle(&set);
    if (r->rust) { /* about ASCII alone there */
        sl_charset ascii = { 0 };
        sl_charset_add(&ascii, 0, 0x7f);
        sl_charset_intersect(&set, &ascii);
        sl_charset_fini(&ascii);
    }
    if (negated)
        complement(r, options, &set);
    sl_charset_add_set(out, &set);
    sl_charset_fini(&set);
    return true;
}

/* One character of a class, escaped or not. False: an error, or not a single character. */
static bool read_range_end(sl_regex_reader *r, sl_regex_options options, uint32_t *c)
{
    const size_t at = r->at;
    sl_charset unused = { 0 };
    sl_regex_escape kind = SL_RE_ESC_CHAR;
    if (r->c[r->at] == '\\') {
        r->at++;
        kind = sl_regex_read_escape(r, options, true, c, &unused);
    } else if (r->c[r->at] == '[' || r->c[r->at] == '-' || (r->c[r->at] == '&' && sl_regex_is(r, 1, '&'))) {
        kind = SL_RE_ESC_NONE;
    } else {
        *c = r->c[r->at++];
    }
    sl_charset_fini(&unused);
    if (kind != SL_RE_ESC_CHAR)
        sl_regex_refuse(r, SL_EUNSUPPORTED, at, "a range in a class that ends in no single character");
    return kind == SL_RE_ESC_CHAR;
}

/* A character, a range or a set; `first`: nothing is before it. */
static bool read_item(sl_regex_reader *r, sl_regex_options options, bool first, sl_charset *out)
{
    const size_t at = r->at;
    uint32_t low = 0, high = 0;
    if (r->c[r->at] == '\\') {
        sl_charset set = { 0 };
        r->at++;
        const sl_regex_escape kind = sl_regex_read_escape(r, options, true, &low, &set);
        if (kind == SL_RE_ESC_SET)
            sl_charset_add_set(out, &set);
        sl_charset_fini(&set);
        if (kind == SL_RE_ESC_NONE)
            return sl_regex_refuse(r, SL_EUNSUPPORTED, at, "an escape that no class knows");
        if (kind != SL_RE_ESC_CHAR)
            return kind == SL_RE_ESC_SET;
    } else {
        low = r->c[r->at++];
        const bool last = sl_regex_is(r, 0, ']') || (sl_regex_is(r, 0, '&') && sl_regex_is(r, 1, '&'));
        if (low == '-' && !last && (!first || sl_regex_is(r, 0, '-')))
            return sl_regex_refuse(r, SL_EUNSUPPORTED, at, "- in the middle of a class, without a backslash");
        if (r->rust && low == '~' && sl_regex_is(r, 0, '~'))
            return sl_regex_refuse(r, SL_EUNSUPPORTED, at, "a difference of classes");
    }
    high = low;
    if (sl_regex_is(r, 0, '-') && r->at + 1 < r->n && r->c[r->at + 1] != ']') {
        r->at++;
        if (!read_range_end(r, options, &high))
            return false;
    }
    if (high < low)
        return sl_regex_refuse(r, SL_EFORMAT, at, "a range in a class that ends before it begins");
    sl_charset_add(out, low, high);
    return true;
}

/* The operands of && up to the closing ]; `out` is their intersection. */
static bool read_operands(sl_regex_reader *r, sl_regex_options options, size_t begin, sl_charset *out)
{
    sl_charset operand = { 0 };
    bool first = true, joined = false, good = true, closed = false;
    while (good && !closed) {
        if (!sl_regex_more(r)) {
            good = sl_regex_refuse(r, SL_EFORMAT, begin, "a class without an end");
            break;
        }
        closed = r->c[r->at] == ']' && (!first || joined);
        if (closed || (r->c[r->at] == '&' && sl_regex_is(r, 1, '&'))) {
            r->at += closed ? 1 : 2;
            sl_charset_settle(&operand);
            if (options.fold && r->rust)
                sl_unicode_fold(&operand);
            if (joined)
                sl_charset_intersect(out, &operand);
            else
                sl_charset_add_set(out, &operand);
            sl_charset_clear(&operand);
            joined = first = true;
        } else if (r->c[r->at] == '[') {
            good = sl_regex_is(r, 1, ':') ? read_posix(r, options, &operand)
                                          : (r->at++, sl_regex_read_class(r, options, false, &operand));
            first = false;
        } else {
            good = read_item(r, options, first, &operand);
            first = false;
        }
    }
    out->failed |= operand.failed;
    sl_charset_fini(&operand);
    return good;
}

bool sl_regex_read_class(sl_regex_reader *r, sl_regex_options options, bool outermost, sl_charset *out)
{
    const size_t begin = r->at - 1;
    sl_charset set = { 0 };
    if (++r->depth > SL_REGEX_MAX_DEPTH)
        return sl_regex_refuse(r, SL_EUNSUPPORTED, begin, "so deep a nest");
    const bool negated = sl_regex_is(r, 0, '^');
    r->at += negated;
    bool good = read_operands(r, options, begin, &set);
    if (good) {
        /* Oniguruma folds the finished class, inside its negation; Rust has folded each operand. */
        if (options.fold && !r->rust && outermost)
            sl_unicode_fold(&set);
        if (negated)
            sl_charset_negate(&set);
        sl_charset_add_set(out, &set);
        if (outermost)
            sl_charset_settle(out);
        for (size_t i = 0; options.fold && !r->rust && outermost && !negated && i < sl_unicode_n_folds && good; i++)
            if (sl_charset_has(&set, sl_unicode_folds[i][0]))
                good = sl_regex_refuse(r, SL_EUNSUPPORTED, begin,
                                       "a class that ignores case and has a character that is like several");
    }
    sl_charset_fini(&set);
    r->depth--;
    return good;
}
