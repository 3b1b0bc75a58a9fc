/* unicode.c - look-ups in the generated tables. */
#include "tokenizer/unicode.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"

#define MAX_NAME 48 /* no known name is longer */

/* Long names of categories and groups (PropertyValueAliases.txt of Unicode). The pattern is what
 * the short names begin with: "L" is all letters. */
static const struct category_alias {
    const char *name;
    char begins[8]; /* short names or their first letters, two characters each, space for any */
} aliases[] = {
    { "letter", "L " },
    { "casedletter", "LuLlLt" },
    { "lc", "LuLlLt" },
    { "uppercaseletter", "Lu" },
    { "lowercaseletter", "Ll" },
    { "titlecaseletter", "Lt" },
    { "modifierletter", "Lm" },
    { "otherletter", "Lo" },
    { "mark", "M " },
    { "combiningmark", "M " },
    { "nonspacingmark", "Mn" },
    { "spacingmark", "Mc" },
    { "enclosingmark", "Me" },
    { "number", "N " },
    { "decimalnumber", "Nd" },
    { "digit", "Nd" },
    { "letternumber", "Nl" },
    { "othernumber", "No" },
    { "punctuation", "P " },
    { "punct", "P " },
    { "connectorpunctuation", "Pc" },
    { "dashpunctuation", "Pd" },
    { "openpunctuation", "Ps" },
    { "closepunctuation", "Pe" },
    { "initialpunctuation", "Pi" },
    { "finalpunctuation", "Pf" },
    { "otherpunctuation", "Po" },
    { "symbol", "S " },
    { "mathsymbol", "Sm" },
    { "currencysymbol", "Sc" },
    { "modifiersymbol", "Sk" },
    { "othersymbol", "So" },
    { "separator", "Z " },
    { "spaceseparator", "Zs" },
    { "lineseparator", "Zl" },
    { "paragraphseparator", "Zp" },
    { "other", "C " },
    { "control", "Cc" },
    { "cntrl", "Cc" },
    { "format", "Cf" },
    { "privateuse", "Co" },
    { "unassigned", "Cn" },
};

static void add_runs(sl_charset *s, const uint32_t *runs, size_t n, const bool wanted[256])
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t next = i + 1 < n ? runs[i + 1] >> 8 : SL_UNICODE_END;
        if (wanted[runs[i] & 0xff])
            sl_charset_add(s, runs[i] >> 8, next - 1);
    }
}

/* `begins` as in the table of aliases. False: no category is meant. */
static bool add_categories(sl_charset *s, const char *begins)
{
    bool wanted[256] = { false }, any = false;
    for (; begins[0]; begins += 2)
        for (size_t i = 0; i < sl_unicode_n_category_names; i++) {
            const char *name = sl_unicode_category_names[i];
            if (name[0] == begins[0] && (begins[1] == ' ' || name[1] == begins[1]))
                wanted[i] = any = true;
        }
    if (any)
        add_runs(s, sl_unicode_categories, sl_unicode_n_categories, wanted);
    return any;
}

static bool add_set(sl_charset *s, const char *name)
{
    for (size_t i = 0; i < sl_unicode_n_sets; i++)
        if (strcmp(sl_unicode_sets[i].name, name) == 0) {
            for (size_t k = 0; k < sl_unicode_sets[i].n_ranges; k++)
                sl_charset_add(s, sl_unicode_sets[i].ranges[k].first, sl_unicode_sets[i].ranges[k].last);
            return true;
        }
    return false;
}

static bool add_script(sl_charset *s, const char *name)
{
    bool wanted[256] = { false };
    for (size_t i = 0; i < sl_unicode_n_script_names; i++)
        if (strcmp(sl_unicode_script_names[i].full, name) == 0 ||
            strcmp(sl_unicode_script_names[i].abbreviation, name) == 0) {
            wanted[i] = true;
            add_runs(s, sl_unicode_scripts, sl_unicode_n_scripts, wanted);
            return true;
        }
    return false;
}

static void add_white_space(sl_charset *s)
{
    sl_charset_add(s, '\t', '\r');
    sl_charset_add(s, 0x85, 0x85);
    add_categories(s, "Z ");
}

static void add_hex_digits(sl_charset *s)
{
    sl_charset_add(s, '0', '9');
    sl_charset_add(s, 'A', 'F');
    sl_charset_add(s, 'a', 'f');
}

static void add_alphabetic(sl_charset *s)
{
    add_categories(s, "L Nl");
    add_set(s, "alphabetic");
}

/* What is neither white space nor control nor unassigned, and with `spaces` Zs too. */
static void add_graph(sl_charset *s, bool spaces)
{
    sl_charset hidden = { 0 };
    add_white_space(&hidden);
    add_categories(&hidden, "CcCn");
    sl_charset_settle(&hidden);
    sl_charset_negate(&hidden);
    sl_charset_add_set(s, &hidden);
    sl_charset_fini(&hidden);
    if (spaces)
        add_categories(s, "Zs");
}

/* Lower case letters only, as names are compared. False: too long to be one. */
static bool simplify(char out[MAX_NAME], const char *name, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        const char c = name[i];
        if (c == ' ' || c == '-' || c == '_')
            continue;
        if (n + 1 == MAX_NAME || c == '\0')
            return false;
        out[n++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    }
    out[n] = '\0';
    return true;
}

/* Names that mean the same as a property and inside [: :]. */
static bool add_common(sl_charset *s, const char *name)
{
    if (strcmp(name, "alpha") == 0) {
        add_alphabetic(s);
    } else if (strcmp(name, "alnum") == 0) {
        add_alphabetic(s);
        add_categories(s, "Nd");
    } else if (strcmp(name, "word") == 0) {
        add_alphabetic(s);
        add_categories(s, "M NdPc");
    } else if (strcmp(name, "upper") == 0) {
        add_categories(s, "Lu");
        add_set(s, "uppercase");
    } else if (strcmp(name, "lower") == 0) {
        add_categories(s, "Ll");
        add_set(s, "lowercase");
    } else if (strcmp(name, "space") == 0) {
        add_white_space(s);
    } else if (strcmp(name, "digit") == 0) {
        add_categories(s, "Nd");
    } else if (strcmp(name, "blank") == 0) {
        sl_charset_add(s, '\t', '\t');
        add_categories(s, "Zs");
    } else if (strcmp(name, "cntrl") == 0) {
        add_categories(s, "Cc");
    } else if (strcmp(name, "xdigit") == 0) {
        add_hex_digits(s);
    } else if (strcmp(name, "ascii") == 0) {
        sl_charset_add(s, 0, 0x7f);
    } else if (strcmp(name, "graph") == 0 || strcmp(name, "print") == 0) {
        add_graph(s, name[0] == 'p');
    } else {
        return false;
    }
    return true;
}

bool sl_unicode_posix(sl_charset *s, const char *name, size_t len)
{
    char known[MAX_NAME] = { 0 };
    if (len >= MAX_NAME)
        return false;
    memcpy(known, name, len); /* exactly: no spaces, no capitals */
    if (strcmp(known, "punct") == 0)
        return add_categories(s, "P S "); /* inside brackets the engine counts symbols too */
    return add_common(s, known);
}

bool sl_unicode_property(sl_charset *s, const char *name, size_t len)
{
    char known[MAX_NAME];
    if (!simplify(known, name, len))
        return false;
    if (strcmp(known, "any") == 0) {
        sl_charset_add(s, 0, SL_UNICODE_END - 1);
        return true;
    }
    if (strcmp(known, "assigned") == 0) {
        sl_charset none = { 0 };
        add_categories(&none, "Cn");
        sl_charset_negate(&none);
        sl_charset_add_set(s, &none);
        sl_charset_fini(&none);
        return true;
    }
    if (strcmp(known, "alphabetic") == 0 || strcmp(known, "uppercase") == 0 || strcmp(known, "lowercase") == 0)
        return add_common(s, known[0] == 'a' ? "alpha" : known[0] == 'u' ? "upper" : "lower");
    if (strcmp(known, "whitespace") == 0)
        return add_common(s, "space");
    if (strncmp(known, "rust", 4) == 0 && add_set(s, known))
        return true;
    for (size_t i = 0; i < SL_COUNT(aliases); i++)
        if (strcmp(aliases[i].name, known) == 0)
            return add_categories(s, aliases[i].begins);
    const size_t n = strlen(known);
    if (n == 1 || n == 2) {
        const char begins[3] = { (char)(known[0] - ('a' - 'A')), n == 2 ? known[1] : ' ', '\0' };
        return known[0] >= 'a' && known[0] <= 'z' && add_categories(s, begins);
    }
    return add_common(s, known) || add_script(s, known);
}

/* --- case -------------------------------------------------------------------------------- */

/* The next one in the ring of c; c itself: it has none. */
static uint32_t next_in_ring(uint32_t c)
{
    for (size_t i = 0; i < sl_unicode_n_case_runs; i++) {
        const sl_unicode_case_run *r = &sl_unicode_case_runs[i];
        if (r->first > c)
            break;
        if (c <= r->last && (c - r->first) % (uint32_t)r->step == 0)
            return (uint32_t)((int32_t)c + r->delta);
    }
    return c;
}

void sl_unicode_fold(sl_charset *s)
{
    sl_charset more = { 0 };
    for (size_t i = 0; i < sl_unicode_n_case_runs && !s->failed; i++) {
        const sl_unicode_case_run *r = &sl_unicode_case_runs[i];
        for (uint32_t c = r->first; c <= r->last; c += (uint32_t)r->step)
            if (sl_charset_has(s, c))
                for (uint32_t k = next_in_ring(c); k != c; k = next_in_ring(k))
                    sl_charset_add(&more, k, k);
    }
    sl_charset_add_set(s, &more);
    sl_charset_settle(s);
    sl_charset_fini(&more);
}

uint32_t sl_unicode_folded(uint32_t c)
{
    uint32_t least = c;
    for (uint32_t k = next_in_ring(c); k != c; k = next_in_ring(k))
        least = SL_MIN(least, k);
    return least;
}
