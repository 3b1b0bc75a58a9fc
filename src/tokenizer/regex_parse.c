/* regex_parse.c - reading a pattern into its tree. Two ways of writing are known: Oniguruma's, in
 * its Ruby syntax (what the `tokenizers` library compiles patterns with; doc/RE of Oniguruma 6.9),
 * and that of Rust's fancy-regex (tiktoken). They differ in what ^ $ (?m) mean, in how an inline
 * (?i) reaches, in + and ? behind {n,m}, and in some sets.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tokenizer/regex_in.h"
#include "tokenizer/unicode.h"

#define MAX_FOLD 3 /* characters that one may be compared with */

void sl_regex_sets_fini(sl_regex_sets *s)
{
    for (size_t i = 0; i < s->n; i++)
        sl_charset_fini(&s->set[i]);
    *s = (sl_regex_sets){ 0 };
}

/* --- errors and nodes -------------------------------------------------------------------- */

bool sl_regex_refuse(sl_regex_reader *r, sl_status status, size_t at, const char *what)
{
    if (r->status == SL_OK)
        r->status = sl_fail(r->err, status, "column %zu: %s %s", at + 1, what,
                            status == SL_EFORMAT ? "is not well-formed" : "is not supported");
    return false;
}

static sl_regex_node *no_memory(sl_regex_reader *r)
{
    if (r->status == SL_OK)
        r->status = sl_fail(r->err, SL_ENOMEM, "no memory for the tree of a pattern");
    return NULL;
}

static sl_regex_node *refuse(sl_regex_reader *r, sl_status status, size_t at, const char *what)
{
    sl_regex_refuse(r, status, at, what);
    return NULL;
}

static sl_regex_node *new_node(sl_regex_reader *r, sl_regex_kind kind)
{
    sl_regex_node *node = sl_arena_alloc(r->arena, 1, sizeof *node);
    if (!node)
        return no_memory(r);
    node->kind = kind;
    node->size = 1;
    return node;
}

/* Add to the children of `parent`, *last being the last of them. False: too large. */
static bool append(sl_regex_reader *r, sl_regex_node *parent, sl_regex_node **last, sl_regex_node *child)
{
    if (*last)
        (*last)->next = child;
    else
        parent->child = child;
    *last = child;
    parent->size += child->size;
    return parent->size <= SL_REGEX_MAX_SIZE ||
           sl_regex_refuse(r, SL_EUNSUPPORTED, r->at, "a pattern of such a size, repeats written out,");
}

bool sl_regex_keep_set(sl_regex_reader *r, sl_charset *set, uint32_t *number)
{
    sl_regex_sets *sets = r->sets;
    assert(!set->loose || set->failed);
    if (set->failed) {
        no_memory(r);
        sl_charset_fini(set);
        return false;
    }
    size_t i = 0;
    while (i < sets->n && !sl_charset_equal(&sets->set[i], set))
        i++;
    *number = (uint32_t)i;
    if (i < sets->n) {
        sl_charset_fini(set);
        return true;
    }
    if (sets->n == SL_REGEX_MAX_SETS || set->n > SL_REGEX_MAX_RANGES - sets->n_ranges) {
        sl_charset_fini(set);
        return sl_regex_refuse(r, SL_EUNSUPPORTED, r->at, "a pattern of so many different characters and classes");
    }
    sets->n_ranges += set->n;
    sets->set[sets->n++] = *set;
    *set = (sl_charset){ 0 };
    return true;
}

static sl_regex_node *set_node(sl_regex_reader *r, sl_charset *set)
{
    sl_regex_node *node = new_node(r, SL_RE_SET);
    if (!node) {
        sl_charset_fini(set);
        return NULL;
    }
    return sl_regex_keep_set(r, set, &node->set) ? node : NULL;
}

static sl_regex_node *char_node(sl_regex_reader *r, uint32_t c, sl_regex_options options)
{
    sl_charset set = { 0 };
    sl_charset_add(&set, c, c);
    if (options.fold)
        sl_unicode_fold(&set);
    return set_node(r, &set);
}

/* --- case and several characters --------------------------------------------------------- */

/* The last literals in a row that ignore case, folded: Oniguruma takes "ss" for the sharp s, too. */
typedef struct literals {
    uint32_t folded[MAX_FOLD];
    size_t n;
} literals;

static bool literals_add(sl_regex_reader *r, literals *l, uint32_t c, size_t at)
{
    if (l->n == MAX_FOLD)
        memmove(l->folded, l->folded + 1, --l->n * sizeof l->folded[0]);
    l->folded[l->n++] = sl_unicode_folded(c);
    for (size_t i = 0; i < sl_unicode_n_folds; i++) {
        const uint32_t *several = sl_unicode_folds[i] + 1;
        const size_t n = several[2] ? 3 : 2;
        bool same = n <= l->n;
        for (size_t k = 0; k < n && same; k++)
            same = l->folded[l->n - n + k] == sl_unicode_folded(several[k]);
        if (same || sl_unicode_folded(sl_unicode_folds[i][0]) == l->folded[l->n - 1])
            return sl_regex_refuse(r, SL_EUNSUPPORTED, at,
                                   "ignoring case where one character is like several (as \u00df and ss)");
    }
    return true;
}

/* --- groups ------------------------------------------------------------------------------ */

static sl_regex_node *read_alternatives(sl_regex_reader *r, sl_regex_options *options);

/* The rest of a group whose head was read, with its closing parenthesis. */
static sl_regex_node *read_rest(sl_regex_reader *r, sl_regex_options *options, size_t begin)
{
    sl_regex_node *body = read_alternatives(r, options);
    if (!body)
        return NULL;
    if (!sl_regex_is(r, 0, ')'))
        return refuse(r, SL_EFORMAT, begin, "a group without an end");
    r->at++;
    return body;
}

static sl_regex_node *read_wrapped(sl_regex_reader *r, sl_regex_options *options, size_t begin, sl_regex_kind kind,
                                   bool behind, bool negated);

/* Letters of (?i-m: or (?i), r->at being behind the question mark. */
static bool read_options(sl_regex_reader *r, sl_regex_options *options, size_t begin)
{
    bool on = true, any = false;
    for (; sl_regex_more(r) && r->c[r->at] != ':' && r->c[r->at] != ')'; r->at++) {
        const uint32_t c = r->c[r->at];
        any = true;
        if (c == '-' && on)
            on = false;
        else if (c == 'i')
            options->fold = on;
        else if (c == 'm' && !r->rust)
            options->dot_all = on;
        else if (c == 'm')
            options->multiline = on;
        else if (c == 's' && r->rust)
            options->dot_all = on;
        else if (c != 'u' || !r->rust || !on)
            return sl_regex_refuse(r, SL_EUNSUPPORTED, begin, "a group or option of this kind");
    }
    return any || sl_regex_refuse(r, SL_EUNSUPPORTED, begin, "a group or option of this kind");
}

/* (?<name> and, in Rust, (?P<name>; the name is of no use to us. */
static bool skip_name(sl_regex_reader *r)
{
    size_t at = r->at + (r->rust && sl_regex_is(r, 0, 'P'));
    if (at >= r->n || r->c[at] != '<')
        return false;
    const size_t begin = ++at;
    while (at < r->n && ((r->c[at] | 0x20) - 'a' < 26 || r->c[at] == '_' || (at > begin && r->c[at] - '0' < 10)))
        at++;
    if (at == begin || at >= r->n || r->c[at] != '>')
        return false;
    r->at = at + 1;
    return true;
}

/* Options within a group that is not (?: and has none of its own. In fancy-regex those that are set there hold behind
 * it, too: ((?s)a). takes a line's end. */
static sl_regex_options *kept_options(const sl_regex_reader *r, sl_regex_options *outer, sl_regex_options *inner)
{
    return r->rust ? outer : inner;
}

/* What follows (?: NULL with status SL_OK: nothing (a comment, or options for what comes). */
static sl_regex_node *read_special_group(sl_regex_reader *r, sl_regex_options *options, size_t begin)
{
    static const struct {
        const char *head;
        sl_regex_kind kind;
        bool behind, negated;
    } heads[] = {
        { "=", SL_RE_LOOK, false, false }, { "!", SL_RE_LOOK, false, true },    { "<=", SL_RE_LOOK, true, false },
        { "<!", SL_RE_LOOK, true, true },  { ">", SL_RE_ATOMIC, false, false },
    };
    sl_regex_options inner = *options, *kept = kept_options(r, options, &inner);
    for (size_t i = 0; i < SL_COUNT(heads); i++) {
        size_t n = 0;
        while (heads[i].head[n] && sl_regex_is(r, n, (unsigned char)heads[i].head[n]))
            n++;
        if (heads[i].head[n] == '\0') {
            r->at += n;
            return read_wrapped(r, kept, begin, heads[i].kind, heads[i].behind, heads[i].negated);
        }
    }
    if (sl_regex_is(r, 0, '#') && !r->rust) {
        while (sl_regex_more(r) && r->c[r->at] != ')')
            r->at += r->c[r->at] == '\\' ? 2 : 1;
        if (!sl_regex_more(r))
            return refuse(r, SL_EFORMAT, begin, "a comment without an end");
        r->at++;
        return NULL;
    }
    if (skip_name(r))
        return read_rest(r, kept, begin);
    if (sl_regex_is(r, 0, ':')) {
        r->at++;
        return read_rest(r, &inner, begin);
    }
    if (!read_options(r, &inner, begin))
        return NULL;
    if (sl_regex_is(r, 0, ':')) {
        r->at++;
        return read_rest(r, &inner, begin);
    }
    if (!sl_regex_is(r, 0, ')'))
        return refuse(r, SL_EFORMAT, begin, "a group without an end");
    r->at++;
    if (r->rust) {
        *options = inner;
        return NULL;
    }
    /* Oniguruma: a(?i)b|c is a(?i:b|c). */
    return read_alternatives(r, &inner);
}

static sl_regex_node *read_group(sl_regex_reader *r, sl_regex_options *options, size_t begin)
{
    if (++r->depth > SL_REGEX_MAX_DEPTH)
        return refuse(r, SL_EUNSUPPORTED, begin, "so deep a nest");
    sl_regex_node *node = NULL;
    if (sl_regex_is(r, 0, '?')) {
        r->at++;
        node = read_special_group(r, options, begin);
    } else if (sl_regex_is(r, 0, '*') && r->rust) {
        return refuse(r, SL_EUNSUPPORTED, begin, "a group or option of this kind");
    } else {
        sl_regex_options inner = *options;
        node = read_rest(r, kept_options(r, options, &inner), begin);
    }
    r->depth--;
    return node;
}

/* --- look-behind ------------------------------------------------------------------------- */

/* The number of characters that a node matches; -1: not always the same. */
static int64_t width(const sl_regex_node *node)
{
    int64_t sum = 0;
    switch (node->kind) {
    case SL_RE_SET:
        return 1;
    case SL_RE_SEQUENCE:
    case SL_RE_ATOMIC:
        for (const sl_regex_node *c = node->child; c; c = c->next) {
            const int64_t w = width(c);
            if (w < 0)
                return -1;
            sum += w;
        }
        return sum;
    case SL_RE_ALTERNATIVE:
        sum = width(node->child);
        for (const sl_regex_node *c = node->child->next; c; c = c->next)
            if (width(c) != sum)
                return -1;
        return sum;
    case SL_RE_REPEAT:
        sum = width(node->child);
        return sum < 0 || node->min != node->max || sum * node->min > SL_REGEX_MAX_REPEAT ? -1 : sum * node->min;
    default:
        return 0;
    }
}

static sl_regex_node *read_wrapped(sl_regex_reader *r, sl_regex_options *options, size_t begin, sl_regex_kind kind,
                                   bool behind, bool negated)
{
    sl_regex_node *node = new_node(r, kind), *last = NULL;
    sl_regex_node *body = node ? read_rest(r, options, begin) : NULL;
    if (!body || !append(r, node, &last, body))
        return NULL;
    node->behind = behind;
    node->negated = negated;
    /* pcre2: each alternative has its own length. */
    const bool several = body->kind == SL_RE_ALTERNATIVE;
    for (const sl_regex_node *c = several ? body->child : body; behind && c; c = several ? c->next : NULL)
        if (width(c) < 0)
            return refuse(r, SL_EUNSUPPORTED, begin, "a look-behind of varying length");
    return node;
}

/* --- quantifiers ------------------------------------------------------------------------- */

typedef struct quantifier {
    uint32_t min, max;
    bool interval;
} quantifier;

static bool read_digits(const sl_regex_reader *r, size_t *at, uint32_t *value)
{
    const size_t begin = *at;
    uint32_t v = 0;
    for (; *at < r->n && r->c[*at] >= '0' && r->c[*at] <= '9'; ++*at)
        v = v > SL_REGEX_MAX_REPEAT ? v : v * 10 + (r->c[*at] - '0');
    if (*at > begin)
        *value = v;
    return *at > begin;
}

/* {n} {n,} {n,m} {,m}. False with status SL_OK: not one. */
static bool read_interval(sl_regex_reader *r, quantifier *q)
{
    size_t at = r->at + 1;
    const bool low = read_digits(r, &at, &q->min);
    bool high = false;
    if (!low)
        q->min = 0;
    q->max = low ? q->min : 0;
    if (at < r->n && r->c[at] == ',') {
        at++;
        q->max = SL_RE_NO_END;
        high = read_digits(r, &at, &q->max);
    }
    if ((!low && !high) || at >= r->n || r->c[at] != '}')
        return false;
    if (q->min > SL_REGEX_MAX_REPEAT || (q->max != SL_RE_NO_END && q->max > SL_REGEX_MAX_REPEAT))
        return sl_regex_refuse(r, SL_EUNSUPPORTED, r->at, "so large a repeat");
    if (q->max < q->min || (!low && r->rust))
        return sl_regex_refuse(r, SL_EUNSUPPORTED, r->at, "a repeat with such bounds");
    q->interval = true;
    r->at = at + 1;
    return true;
}

/* Likewise: false with status SL_OK when there is none. */
static bool read_quantifier(sl_regex_reader *r, quantifier *q)
{
    const uint32_t c = sl_regex_more(r) ? r->c[r->at] : 0;
    *q = (quantifier){ .max = SL_RE_NO_END };
    if (c == '{')
        return read_interval(r, q);
    if (c != '*' && c != '+' && c != '?')
        return false;
    q->min = c == '+';
    if (c == '?')
        q->max = 1;
    r->at++;
    return true;
}

static sl_regex_node *repeat_node(sl_regex_reader *r, sl_regex_node *child, uint32_t min, uint32_t max,
                                  sl_regex_greed greed)
{
    sl_regex_node *node = new_node(r, SL_RE_REPEAT);
    if (!node)
        return NULL;
    node->child = child;
    node->min = min;
    node->max = max;
    node->greed = greed;
    /* pcre2 writes a repeated group out; a set it counts. */
    const uint64_t times = child->kind == SL_RE_SET ? 1 : SL_MAX(max == SL_RE_NO_END ? min : max, 1u);
    const uint64_t size = times * child->size + 1;
    if (size > SL_REGEX_MAX_SIZE)
        return refuse(r, SL_EUNSUPPORTED, r->at, "a pattern of such a size, repeats written out,");
    node->size = (uint32_t)size;
    return node;
}

static bool can_repeat(const sl_regex_node *node)
{
    return node->kind <= SL_RE_ATOMIC;
}

static bool may_be_empty(const sl_regex_node *node)
{
    if (node->kind == SL_RE_SET)
        return false;
    if (node->kind == SL_RE_REPEAT)
        return node->min == 0 || may_be_empty(node->child);
    const bool any = node->kind == SL_RE_ALTERNATIVE;
    for (const sl_regex_node *c = node->child; c && node->kind <= SL_RE_ATOMIC; c = c->next)
        if (may_be_empty(c) == any)
            return any;
    return !any;
}

/* What stands behind `node`. */
static sl_regex_node *read_repeats(sl_regex_reader *r, sl_regex_node *node)
{
    quantifier q;
    for (unsigned n = 0; node; n++) {
        const size_t at = r->at;
        if (!read_quantifier(r, &q))
            return r->status == SL_OK ? node : NULL;
        if (!can_repeat(node) || n == 3)
            return refuse(r, SL_EUNSUPPORTED, at, "a repeat of this");
        /* Oniguruma leaves the loop at the first empty round, pcre2 goes on counting. */
        if (!r->rust && (q.min > 1 || (q.max > 1 && q.max != SL_RE_NO_END)) && may_be_empty(node))
            return refuse(r, SL_EUNSUPPORTED, at, "a counted repeat of what may be empty");
        sl_regex_greed greed = SL_RE_GREEDY;
        bool twice = false; /* Oniguruma: {n}? is (?:{n})? and {n,m}+ is (?:{n,m})+ */
        if (sl_regex_is(r, 0, '?')) {
            twice = q.interval && !r->rust && q.min == q.max;
            greed = SL_RE_LAZY;
        } else if (sl_regex_is(r, 0, '+')) {
            twice = q.interval && !r->rust;
            greed = SL_RE_POSSESSIVE;
        }
        r->at += greed != SL_RE_GREEDY && !twice;
        node = repeat_node(r, node, q.min, q.max, twice ? SL_RE_GREEDY : greed);
        if (node && twice && greed == SL_RE_LAZY) {
            r->at++;
            node = repeat_node(r, node, 0, 1, SL_RE_GREEDY);
        }
    }
    return NULL;
}

/* --- the parts of a sequence ------------------------------------------------------------- */

static sl_regex_node *read_anchor(sl_regex_reader *r, uint32_t letter, size_t at)
{
    static const struct {
        uint32_t letter;
        sl_regex_kind kind;
        bool negated;
    } anchors[] = {
        { 'A', SL_RE_TEXT_BEGIN, false }, { 'z', SL_RE_TEXT_END, false }, { 'Z', SL_RE_TEXT_END_NEWLINE, false },
        { 'b', SL_RE_WORD_EDGE, false },  { 'B', SL_RE_WORD_EDGE, true },
    };
    for (size_t i = 0; i < SL_COUNT(anchors); i++)
        if (anchors[i].letter == letter) {
            sl_regex_node *node = new_node(r, anchors[i].kind);
            if (!node || anchors[i].kind != SL_RE_WORD_EDGE)
                return node;
            sl_charset word = { 0 };
            sl_regex_word_set(r, false, &word);
            node->negated = anchors[i].negated;
            return sl_regex_keep_set(r, &word, &node->set) ? node : NULL;
        }
    char what[64];
    snprintf(what, sizeof what, "\\%c, a reference or unknown escape,", letter < 0x7f ? (char)letter : '?');
    return refuse(r, SL_EUNSUPPORTED, at, what);
}

static sl_regex_node *read_line_anchor(sl_regex_reader *r, uint32_t c, sl_regex_options options)
{
    const bool lines = !r->rust || options.multiline;
    if (c == '^')
        return new_node(r, lines ? SL_RE_LINE_BEGIN : SL_RE_TEXT_BEGIN);
    return new_node(r, lines ? SL_RE_LINE_END : SL_RE_TEXT_END);
}

/* One character, class, group or anchor, without its quantifier. *literal: a character that
 * stands for itself. NULL with status SL_OK: nothing that matches. */
static sl_regex_node *read_part(sl_regex_reader *r, sl_regex_options *options, bool *literal, uint32_t *c)
{
    const size_t at = r->at;
    sl_charset set = { 0 };
    *literal = false;
    *c = r->c[r->at++];
    switch (*c) {
    case '(':
        return read_group(r, options, at);
    case '^':
    case '$':
        return read_line_anchor(r, *c, *options);
    case '.':
        sl_charset_add(&set, 0, '\n' - 1);
        sl_charset_add(&set, options->dot_all ? '\n' : '\n' + 1, SL_UNICODE_END - 1);
        return set_node(r, &set);
    case '[':
        if (sl_regex_read_class(r, *options, true, &set))
            return set_node(r, &set);
        sl_charset_fini(&set);
        return NULL;
    case '*':
    case '+':
    case '?':
        return refuse(r, SL_EFORMAT, at, "a repeat of nothing");
    case '{':
        if (r->rust)
            return refuse(r, SL_EUNSUPPORTED, at, "{ without a backslash");
        break;
    case '\\':
        switch (sl_regex_read_escape(r, *options, false, c, &set)) {
        case SL_RE_ESC_ERROR:
            sl_charset_fini(&set);
            return NULL;
        case SL_RE_ESC_SET:
            if (options->fold && r->rust) /* Oniguruma: in a class only */
                sl_unicode_fold(&set);
            return set_node(r, &set);
        case SL_RE_ESC_NONE:
            return read_anchor(r, r->c[r->at++], at);
        case SL_RE_ESC_CHAR:
            break;
        }
        break;
    default:
        break;
    }
    *literal = true;
    return char_node(r, *c, *options);
}

static sl_regex_node *read_sequence(sl_regex_reader *r, sl_regex_options *options)
{
    sl_regex_node *sequence = new_node(r, SL_RE_SEQUENCE), *last = NULL;
    literals row = { 0 };
    while (sequence && sl_regex_more(r) && r->c[r->at] != '|' && r->c[r->at] != ')') {
        const size_t at = r->at;
        bool literal = false;
        uint32_t c = 0;
        sl_regex_node *part = read_part(r, options, &literal, &c);
        if (!part && r->status != SL_OK)
            return NULL;
        const size_t behind = r->at;
        if (part)
            part = read_repeats(r, part);
        if (r->status != SL_OK)
            return NULL;
        if (!literal || !options->fold || r->rust || r->at != behind)
            row.n = 0;
        if (literal && options->fold && !r->rust && !literals_add(r, &row, c, at))
            return NULL;
        if (r->at != behind)
            row.n = 0;
        if (part && !append(r, sequence, &last, part))
            return NULL;
    }
    return sequence;
}

/* `options` may be changed for what follows in the same group. */
static sl_regex_node *read_alternatives(sl_regex_reader *r, sl_regex_options *options)
{
    sl_regex_node *first = read_sequence(r, options);
    if (!first || !sl_regex_is(r, 0, '|'))
        return first;
    sl_regex_node *node = new_node(r, SL_RE_ALTERNATIVE), *last = NULL;
    if (!node || !append(r, node, &last, first))
        return NULL;
    while (sl_regex_is(r, 0, '|')) {
        r->at++;
        sl_regex_node *more = read_sequence(r, options);
        if (!more || !append(r, node, &last, more))
            return NULL;
    }
    return node;
}

sl_regex_node *sl_regex_read(sl_regex_reader *r)
{
    sl_regex_options options = { 0 };
    sl_regex_node *tree = read_alternatives(r, &options);
    if (tree && sl_regex_more(r))
        return refuse(r, SL_EFORMAT, r->at, "a closing parenthesis without an opening one");
    return tree;
}

sl_regex_node *sl_regex_read_literal(sl_regex_reader *r)
{
    sl_regex_node *sequence = new_node(r, SL_RE_SEQUENCE), *last = NULL;
    while (sequence && sl_regex_more(r)) {
        sl_regex_node *part = char_node(r, r->c[r->at++], (sl_regex_options){ 0 });
        if (!part || !append(r, sequence, &last, part))
            return NULL;
    }
    return sequence;
}
