/* test_regex.c - what patterns match. Expectations come from the `tokenizers` library 0.23.3
 * (Oniguruma, Unicode 16), those of Rust's dialect from PyPI tiktoken 0.14 (fancy-regex). At random
 * and over all code points: pretok_differential.py, tiktoken_differential.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "tokenizer/regex.h"
#include "tokenizer/unicode.h"

static size_t count(const char *name)
{
    sl_charset s = { 0 };
    size_t n = 0;
    assert_true(sl_unicode_property(&s, name, strlen(name)));
    sl_charset_settle(&s);
    for (size_t i = 0; i < s.n; i++) {
        assert_true(s.range[i].first <= s.range[i].last && s.range[i].last < SL_UNICODE_END);
        assert_true(i == 0 || s.range[i].first > s.range[i - 1].last + 1);
        n += s.range[i].last - s.range[i].first + 1;
        /* The table of categories puts surrogates with what is before them. */
        if (s.range[i].first <= 0xd800 && s.range[i].last >= 0xdfff)
            n -= 0x800;
    }
    sl_charset_fini(&s);
    return n;
}

/* As counted in the reference engine. */
static void properties_have_their_members(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t n;
    } want[] = {
        { "L", 141028 },       { "N", 1911 },
        { "P", 855 },          { "Punct", 855 },
        { "Space", 25 },       { "rust_numeric", 1924 },
        { "Han", 99030 },      { "Hani", 99030 },
        { "S", 8514 },         { "Alphabetic", 142759 },
        { "Alnum", 143519 },   { "Graph", 292447 },
        { "Blank", 18 },       { "Upper", 1978 },
        { "Lower", 2569 },     { "Decimal_Number", 760 },
        { "ASCII", 128 },      { "Common", 9053 },
        { "White Space", 25 }, { "Any", 0x110000 - 0x800 },
    };
    for (size_t i = 0; i < SL_COUNT(want); i++)
        if (count(want[i].name) != want[i].n)
            fail_msg("\\p{%s} has %zu members, not %zu", want[i].name, count(want[i].name), want[i].n);
}

static sl_status create(sl_regex **r, const char *pattern, bool rust, sl_err *err)
{
    return sl_regex_create(r, &(sl_regex_pattern){ { pattern, strlen(pattern) }, false, rust }, 1, err);
}

static void put_piece(sl_str *s, const char *piece, size_t len)
{
    sl_str_append(s, piece, len);
    sl_str_puts(s, len ? "/" : "");
}

/* `all`: the matches and what is between them, each with a slash behind it, empty ones left out;
 * `between`: without the matches. */
static void expect_in(bool rust, const char *pattern, const char *text, const char *all, const char *between)
{
    sl_regex *r = NULL;
    sl_regex_work w = { 0 };
    sl_regex_scan scan;
    sl_str every = { 0 }, rest = { 0 };
    sl_err err = { 0 };
    const size_t len = strlen(text);
    size_t at = 0, first = 0, end = 0;
    if (create(&r, pattern, rust, &err) != SL_OK)
        fail_msg("%s: %s", pattern, err.msg);
    assert_int_equal(sl_regex_scan_begin(&scan, r, 0, &w, text, len, &err), SL_OK);
    for (bool found = true; found;) {
        assert_int_equal(sl_regex_scan_next(&scan, &found, &first, &end, &err), SL_OK);
        const size_t stop = found ? first : len;
        put_piece(&every, text + at, stop - at);
        put_piece(&rest, text + at, stop - at);
        if (found)
            put_piece(&every, text + first, end - first);
        at = end;
    }
    if (strcmp(every.len ? every.data : "", all) != 0 || strcmp(rest.len ? rest.data : "", between) != 0)
        fail_msg("%s on %s: %s and %s, not %s and %s", pattern, text, every.data, rest.data, all, between);
    sl_str_fini(&every);
    sl_str_fini(&rest);
    sl_regex_work_fini(&w);
    sl_regex_destroy(r);
}

static void expect(const char *pattern, const char *text, const char *all, const char *between)
{
    expect_in(false, pattern, text, all, between);
}

static void literals_and_escapes(void **state)
{
    (void)state;
    expect("a\\.b", "xa.ba-b", "x/a.b/a-b/", "x/a-b/");
    expect("\\x41\\x{4e2d}\\u00e9", "A\u4e2d\u00e9A", "A\u4e2d\u00e9/A/", "A/");
    expect("\\t|\\n|\\r|\\f|\\v|\\a|\\e", "a\tb\013c\033d", "a/\t/b/\013/c/\033/d/", "a/b/c/d/");
    expect("\\x{1f642}", "a*b\U0001f642", "a*b/\U0001f642/", "a*b/");
    expect("\\cA", "a\001", "a/\001/", "a/");
    expect("a{", "xa{", "x/a{/", "x/");
    expect("]|}", "a]b}", "a/]/b/}/", "a/b/");
    expect("a{,2}", "aaab", "aa/a/b/", "b/");
    expect(".", "a\nb\u2028", "a/\n/b/\u2028/", "\n/");
}

static void sets(void **state)
{
    (void)state;
    expect("[a-c-]", "abd-", "a/b/d/-/", "d/");
    expect("[]a]", "]ab", "]/a/b/", "b/");
    expect("[^\\n]+", "ab\ncd", "ab/\n/cd/", "\n/");
    expect("[\\x{4e00}-\\x{9fff}]+", "a\u4e2d\u6587b", "a/\u4e2d\u6587/b/", "a/b/");
    expect("[a-z&&[^aeiou]]+", "abcde", "a/bcd/e/", "a/e/");
    expect("[\\p{L}&&[^\\p{Han}]]+", "ab\u4e2d\u6587cd", "ab/\u4e2d\u6587/cd/", "\u4e2d\u6587/");
    expect("[^a&&b]", "ab", "a/b/", "");
    expect("[a[b-d]x]+", "abxe", "abx/e/", "e/");
    expect("[a&&]", "a", "a/", "a/");
    expect("[\\]\\-\\\\]+", "a]-\\b", "a/]-\\/b/", "a/b/");
    expect("[[:punct:]]+", "a$+!\u00e9", "a/$+!/\u00e9/", "a/\u00e9/");
    expect("[[:^alpha:]]+", "a1b", "a/1/b/", "a/b/");
    expect("[\\b]", "a\010b", "a/\010/b/", "a/b/");
    expect("[\\w]+", "x\u00bdy", "x/\u00bd/y/", "\u00bd/");
    expect("[^\\W]+", "x\u00bdy", "x/\u00bd/y/", "\u00bd/");
}

static void properties(void **state)
{
    (void)state;
    expect("\\p{Lu}+", "a\u00c0B\u01c5c", "a/\u00c0B/\u01c5c/", "a/\u01c5c/");
    expect("\\p{^Lu}+", "aBc", "a/B/c/", "B/");
    expect("\\P{L}+", "a1b", "a/1/b/", "a/b/");
    expect("\\p{Han}+", "a\u4e2d\u3001\u3005\u3007b", "a/\u4e2d/\u3001/\u3005\u3007/b/", "a/\u3001/b/");
    expect("\\p{Hiragana}+|\\p{Katakana}+", "\u304b\u306a\u30ab\u30ca\u30fc", "\u304b\u306a/\u30ab\u30ca/\u30fc/",
           "\u30fc/");
    expect("\\p{Cyrillic}+", "a\u0431\u0432", "a/\u0431\u0432/", "a/");
    expect("\\p{Letter}+", "a\u04311", "a\u0431/1/", "1/");
    expect("\\p{Other_Letter}+", "a\u4e2d", "a/\u4e2d/", "a/");
    expect("\\p{Alphabetic}+", "a\u21671", "a\u2167/1/", "1/");
    expect("\\p{White_Space}+", "a\u3000\u180eb", "a/\u3000/\u180eb/", "a/\u180eb/");
    expect("\\p{Punct}+", "a$!", "a$/!/", "a$/");
    expect("\\p{M}", "e\u0301", "e/\u0301/", "e/");
    expect("\\p{LC}+", "aA\u01c5\u4e2d", "aA\u01c5/\u4e2d/", "\u4e2d/");
    expect("\\p{Zs}", "a\u00a0b\n", "a/\u00a0/b\n/", "a/b\n/");
    expect("\\w+", "x\u00bdy!\u00b2", "x\u00bdy/!/\u00b2/", "!/");
    expect("\\W+", "x\u00bd!", "x\u00bd/!/", "x\u00bd/");
    expect("\\d+", "1\u0662\u00bd", "1\u0662/\u00bd/", "\u00bd/");
    expect("\\s+", "a\302\205\u2028\u180eb", "a/\302\205\u2028/\u180eb/", "a/\u180eb/");
    expect("\\h+", "fg09", "f/g/09/", "g/");
}

static void ignoring_case(void **state)
{
    (void)state;
    expect("(?i:k)", "kK\u212ax", "k/K/\u212a/x/", "x/");
    expect("(?i:s)", "sS\u017f", "s/S/\u017f/", "");
    expect("(?i:\u03c3)", "\u03a3\u03c3\u03c2", "\u03a3/\u03c3/\u03c2/", "");
    expect("(?i)[^k]", "aK\u212a", "a/K\u212a/", "K\u212a/");
    expect("(?i:[a-c])", "ABd", "A/B/d/", "d/");
    expect("(?i:\\p{Lu})", "aA1", "a/A/1/", "a/1/");
    expect("(?i:a(?-i:b))", "AbAB", "Ab/AB/", "AB/");
    expect("a(?i)b|c", "aBCac", "aB/C/ac/", "C/");
    expect("(?i:'s)", "'\u017f'S", "'\u017f/'S/", "");
    expect("(?i:\u01c6)", "\u01c4\u01c5\u01c6D", "\u01c4/\u01c5/\u01c6/D/", "D/");
}

static void groups_and_repeats(void **state)
{
    (void)state;
    expect("(ab)+", "ababa", "abab/a/", "a/");
    expect("(?:a|b)*c", "abcab", "abc/ab/", "ab/");
    expect("(?<n>a)b", "ab", "ab/", "");
    expect("(?>a+)b|a", "aaab", "aaab/", "");
    expect("(?>a+)ab|a", "aaab", "a/a/a/b/", "b/");
    /* What pcre2 10.42 answers wrongly unless it is told to take no shortcuts. */
    expect("(?>\\s*k|\\s)k", "  k\n1", "  k\n1/", "  k\n1/");
    expect("[ks]*(?:')?+\\S+", "s k", "s/ /k/", " /");
    expect("a+?", "aaa", "a/a/a/", "");
    expect("a++a|b", "aaab", "aaa/b/", "aaa/");
    expect("a{2}?b", "aab", "aab/", "");
    expect("\\p{N}{1,3}+", "1234567 89", "1234567/ /89/", " /");
    expect("a{1,2}?", "aaa", "a/a/a/", "");
    expect("a?\?b", "ab", "ab/", "");
    expect("x*", "axxb", "a/xx/b/", "a/b/");
    expect("(?#note)a", "ab", "a/b/", "b/");
    expect("(?m:.)+", "a\nb", "a\nb/", "");
    expect("", "abc", "a/b/c/", "a/b/c/");
    expect("a||b", "cab", "c/a/b/", "c/b/");
}

static void anchors_and_looks(void **state)
{
    (void)state;
    expect("^.", "ab\ncd\n", "a/b\n/c/d\n/", "b\n/d\n/");
    expect(".$", "ab\ncd", "a/b/\nc/d/", "a/\nc/");
    expect("$", "a\n", "a/\n/", "a/\n/");
    expect("\\Aa", "aa", "a/a/", "a/");
    expect("a\\z", "aa\n", "aa\n/", "aa\n/");
    expect(".\\Z", "a\n", "a/\n/", "\n/");
    expect("\\b", "a b!", "a/ /b/!/", "a/ /b/!/");
    expect("\\B", "ab c", "a/b c/", "a/b c/");
    expect("(?=b)", "abab", "a/ba/b/", "a/ba/b/");
    expect("a(?!b)", "abac", "ab/a/c/", "ab/c/");
    expect("(?<=a)b", "abcb", "a/b/cb/", "a/cb/");
    expect("(?<!a|bc).", "abcd", "a/b/c/d/", "b/d/");
    expect("\\s+(?!\\S)", "a   b  ", "a/  / b/  /", "a/ b/");
    expect("(?=(\\d{3})+(?!\\d))", "1234567", "1/234/567/", "1/234/567/");
    expect("\\d{1,3}(?=(?:\\d{3})*\\b)", "1234567 89", "1/234/567/ /89/", " /");
    expect("\\s+$", "a  \n b ", "a/  /\n b/ /", "a/\n b/");
    expect("\\b", "x\u00bd!", "x\u00bd/!/", "x\u00bd/!/");
}

static void rust_dialect(void **state)
{
    (void)state;
    expect_in(true, "\\p{N}{1,3}+", "1234567 89", "123/456/7/ /89/", " /");
    expect_in(true, "\\s++$|\\s", "a  \n b  ", "a/ / /\n/ /b/  /", "a/b/");
    expect_in(true, "^.", "ab\ncd", "a/b\ncd/", "b\ncd/");
    expect_in(true, "(?m)^.", "ab\ncd", "a/b\n/c/d/", "b\n/d/");
    expect_in(true, "(?s:.)+", "a\nb", "a\nb/", "");
    expect_in(true, "(?i:\u00df)", "s\u1e9e\u00dfss", "s/\u1e9e/\u00df/ss/", "s/ss/");
    expect_in(true, "(?i:[[^a]])+", "bAa", "b/Aa/", "Aa/");
    expect_in(true, "a(?i)b|c", "aBCac", "aB/C/a/c/", "a/");
    /* Flags hold behind the group that they are set in, unless that is (?: or has its own. */
    expect_in(true, "((?s)a).|(?=(?i)b)x", "a\nX", "a\n/X/", "X/");
    expect_in(true, "(?:(?s)a).", "a\n", "a\n/", "a\n/");
    expect_in(true, "(?i:((?s)a)).", "A\n", "A\n/", "A\n/");
    /* Case is ignored first, then the set is turned round. */
    expect_in(true, "(?i)\\P{Lu}|[[:^lower:]2]", "aA\u00e91", "aA/\u00e9/1/", "aA/");
    expect_in(true, "\\pL+|\\p{Script=Greek}|\\p{gc=Nd}", "ab1", "ab/1/", "");
    expect_in(true, "[[:alpha:]]+", "a\u00e9b", "a/\u00e9/b/", "\u00e9/");
    expect_in(true, "\\w+", "a\u200db\u00bd", "a\u200db/\u00bd/", "\u00bd/");
    expect_in(true, "[\\p{Ll}&&[^\\p{Latin}]]+", "a\u03b1b", "a/\u03b1/b/", "a/b/");
}

static void expect_refused(bool rust, const char *pattern, sl_status code, const char *part)
{
    sl_regex *r = NULL;
    sl_err err = { 0 };
    if (create(&r, pattern, rust, &err) != code || !strstr(err.msg, part))
        fail_msg("%s: \"%s\", not %s with \"%s\"", pattern, err.msg, sl_status_name(code), part);
    assert_null(r);
}

static void what_is_not_known_is_named_with_its_place(void **state)
{
    (void)state;
    static const struct {
        bool rust;
        const char *pattern;
        sl_status code;
        const char *part;
    } c[] = {
        { false, "\u00e9(a)\\1", SL_EUNSUPPORTED, "column 5: \\1, a reference" },
        { false, "a\\Kb", SL_EUNSUPPORTED, "column 2: \\K" },
        { false, "\\X", SL_EUNSUPPORTED, "column 1: \\X" },
        { false, "\\G", SL_EUNSUPPORTED, "column 1: \\G" },
        { false, "\\p{Emoji}", SL_EUNSUPPORTED, "\\p{Emoji}, a property" },
        { false, "\\p{Script=Han}", SL_EUNSUPPORTED, "\\p{Script=Han}" },
        { false, "\\pL", SL_EUNSUPPORTED, "column 1: \\p{}" },
        { false, "(?<=a+)b", SL_EUNSUPPORTED, "column 1: a look-behind of varying length" },
        { false, "(?x) a", SL_EUNSUPPORTED, "column 1: a group or option" },
        { false, "(?~a)", SL_EUNSUPPORTED, "a group or option" },
        { false, "(?(1)a|b)", SL_EUNSUPPORTED, "a group or option" },
        { false, "(?<n>a)\\k<n>", SL_EUNSUPPORTED, "column 8: \\k" },
        { false, "(?i:ss)", SL_EUNSUPPORTED, "column 6: ignoring case" },
        { false, "(?i:[\u00df])", SL_EUNSUPPORTED, "column 5: a class that ignores case" },
        { false, "a{70000}", SL_EUNSUPPORTED, "so large a repeat" },
        { false, "(a{1000}b){1000}(?:c|d){30000}", SL_EUNSUPPORTED, "of such a size" },
        { false, "a{3,1}", SL_EUNSUPPORTED, "column 2: a repeat with such bounds" },
        { false, "\\xc3\\xa9", SL_EUNSUPPORTED, "a part of a character" },
        { false, "(?=a)*", SL_EUNSUPPORTED, "column 6: a repeat of this" },
        { false, "(a|\\b){2}", SL_EUNSUPPORTED, "column 7: a counted repeat of what may be empty" },
        { false, "(ab", SL_EFORMAT, "column 1: a group without an end" },
        { false, "a)b", SL_EFORMAT, "column 2: a closing parenthesis" },
        { false, "a[b", SL_EFORMAT, "column 2: a class without an end" },
        { false, "[]", SL_EFORMAT, "column 1: a class without an end" },
        { false, "[z-a]", SL_EFORMAT, "column 2: a range" },
        { false, "a|*b", SL_EFORMAT, "column 3: a repeat of nothing" },
        { false, "a\\", SL_EFORMAT, "column 2: a backslash at the end" },
        { false, "\\x{110000}", SL_EFORMAT, "a number that is no character" },
        { false, "[a-\\d]", SL_EUNSUPPORTED, "column 4: a range" },
        { false, "[[:foo:]]", SL_EUNSUPPORTED, "POSIX" },
        { false, "a\xff", SL_EFORMAT, "column 2: no UTF-8" },
        { true, "[a~~b]", SL_EUNSUPPORTED, "a difference of classes" },
        { true, "[a-z--b]", SL_EUNSUPPORTED, "- in the middle" },
        { true, "{", SL_EUNSUPPORTED, "{ without a backslash" },
        { true, "(?x) a", SL_EUNSUPPORTED, "a group or option" },
    };
    for (size_t i = 0; i < SL_COUNT(c); i++)
        expect_refused(c[i].rust, c[i].pattern, c[i].code, c[i].part);
}

/* Characters of text as UTF-8, one after the other. */
static void put_char(sl_str *s, uint32_t c)
{
    const char utf8[] = { (char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f)) };
    sl_str_append(s, utf8, sizeof utf8);
}

static void sizes_are_limited(void **state)
{
    (void)state;
    sl_str many = { 0 }, deep = { 0 }, classes = { 0 }, longest = { 0 };
    for (uint32_t c = 0; c < 600; c++)
        put_char(&many, 0x4e00 + c);
    for (uint32_t c = 0; c < 130; c++)
        put_char(&classes, 0x4e00 + c);
    for (size_t i = 0; i < 70000; i++)
        sl_str_puts(&longest, "a");
    for (size_t i = 0; i < 100000; i++)
        sl_str_puts(&deep, i < 50000 ? "(" : ")");
    expect_refused(false, many.data, SL_EUNSUPPORTED, "so many different characters");
    expect_refused(false, classes.data, SL_EUNSUPPORTED, "more than 128 classes");
    expect_refused(false, longest.data, SL_EUNSUPPORTED, "longer than");
    expect_refused(false, deep.data, SL_EUNSUPPORTED, "longer than");
    deep.data[1000] = '\0';
    expect_refused(false, deep.data, SL_EUNSUPPORTED, "so deep a nest");
    memset(deep.data, '[', 1000);
    expect_refused(false, deep.data, SL_EUNSUPPORTED, "so deep a nest");
    for (size_t i = 0; i < 1000; i += 4)
        memcpy(deep.data + i, "(?i)", 4);
    expect_refused(false, deep.data, SL_EUNSUPPORTED, "so deep a nest");
    sl_str_fini(&many);
    sl_str_fini(&deep);
    sl_str_fini(&classes);
    sl_str_fini(&longest);
}

/* Nested repeats on a text that they do not match: an error, and soon. Never "no match". */
static void too_many_steps_are_an_error(void **state)
{
    (void)state;
    static const char *const hostile[] = { "(a+)+[bc]", "(?:a|a)*[bc]", "(?:a|aa)+\\z.", "(?:(?:a*)*)*[bc]" };
    char text[65] = { 0 };
    memset(text, 'a', 64);
    for (size_t i = 0; i < SL_COUNT(hostile); i++) {
        sl_regex *r = NULL;
        sl_regex_work w = { 0 };
        sl_regex_scan scan;
        sl_err err = { 0 };
        bool found = true;
        size_t first = 0, end = 0;
        assert_int_equal(create(&r, hostile[i], false, &err), SL_OK);
        assert_int_equal(sl_regex_scan_begin(&scan, r, 0, &w, text, 64, &err), SL_OK);
        assert_int_equal(sl_regex_scan_next(&scan, &found, &first, &end, &err), SL_EUNSUPPORTED);
        assert_non_null(strstr(err.msg, "too many steps"));
        sl_regex_work_fini(&w);
        sl_regex_destroy(r);
    }
}

static void literals_mean_nothing_but_themselves(void **state)
{
    (void)state;
    sl_regex *r = NULL;
    sl_regex_work w = { 0 };
    sl_regex_scan scan;
    bool found = false;
    size_t first = 0, end = 0;
    const char *text = "\u4e2d(a.*\\)";
    assert_int_equal(sl_regex_create(&r, &(sl_regex_pattern){ { "(a.*\\)", 6 }, true, false }, 1, NULL), SL_OK);
    assert_int_equal(sl_regex_scan_begin(&scan, r, 0, &w, text, strlen(text), NULL), SL_OK);
    assert_int_equal(sl_regex_scan_next(&scan, &found, &first, &end, NULL), SL_OK);
    assert_true(found && first == 3 && end == 9);
    assert_int_equal(sl_regex_scan_next(&scan, &found, &first, &end, NULL), SL_OK);
    assert_false(found);
    sl_regex_work_fini(&w);
    sl_regex_destroy(r);
}

static void making_survives_each_failed_allocation(void **state)
{
    (void)state;
    sl_status rc = SL_ENOMEM;
    for (long n = 0; rc != SL_OK; n++) {
        sl_regex *r = NULL;
        sl_mem_fail_after(n);
        rc = create(&r, "(?i:[^\\p{L}&&\\S]k)|\\p{Han}+(?<!x)|\\b[[:alpha:]]", false, NULL);
        sl_mem_fail_after(-1);
        if (rc != SL_OK) {
            assert_int_equal(rc, SL_ENOMEM);
            assert_null(r);
        }
        sl_regex_destroy(r);
        assert_true(n < 10000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_have_their_members),
        cmocka_unit_test(literals_and_escapes),
        cmocka_unit_test(sets),
        cmocka_unit_test(properties),
        cmocka_unit_test(ignoring_case),
        cmocka_unit_test(groups_and_repeats),
        cmocka_unit_test(anchors_and_looks),
        cmocka_unit_test(rust_dialect),
        cmocka_unit_test(what_is_not_known_is_named_with_its_place),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(too_many_steps_are_an_error),
        cmocka_unit_test(literals_mean_nothing_but_themselves),
        cmocka_unit_test(making_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
