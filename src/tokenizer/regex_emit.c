/* regex_emit.c - a tree as a pattern for pcre2, over class bytes. What pcre2 may take otherwise
 * than we mean it is written out: sets as ranges of bytes, anchors as look-arounds. */
#include <assert.h>

#include "base/num.h"
#include "tokenizer/regex_in.h"

typedef struct emitter {
    const sl_regex_sets *sets;
    const sl_regex_alphabet *alphabet;
    sl_str *out;
} emitter;

static bool has_byte(const emitter *e, uint32_t set, unsigned byte)
{
    if (byte >= 0x80 && byte - 0x80 >= e->alphabet->n)
        return false; /* no text has it */
    return sl_charset_has(&e->sets->set[set], byte < 0x80 ? byte : e->alphabet->sample[byte - 0x80]);
}

static void put_set(const emitter *e, uint32_t set)
{
    bool member[257] = { false };
    unsigned n = 0, only = 0;
    for (unsigned b = 0; b < 256; b++)
        if (has_byte(e, set, b)) {
            member[b] = true;
            only = b;
            n++;
        }
    if (n <= 1) { /* a literal, which pcre2 can search for; or nothing */
        sl_str_printf(e->out, n ? "\\x%02x" : "(?!)", only);
        return;
    }
    sl_str_puts(e->out, "[");
    for (unsigned b = 0, first = 0; b < 256; b++) {
        if (!member[b])
            first = b + 1;
        else if (!member[b + 1])
            sl_str_printf(e->out, b > first ? "\\x%02x-\\x%02x" : "\\x%02x", first, b);
    }
    sl_str_puts(e->out, "]");
}

static void put(const emitter *e, const sl_regex_node *node, bool tail);

static void put_repeat(const emitter *e, const sl_regex_node *node, bool tail)
{
    const bool group = node->child->kind != SL_RE_SET;
    sl_str_puts(e->out, group ? "(?:" : "");
    put(e, node->child, tail && node->max == 1);
    sl_str_puts(e->out, group ? ")" : "");
    if (node->max == SL_RE_NO_END)
        sl_str_printf(e->out, "{%u,}", node->min);
    else
        sl_str_printf(e->out, "{%u,%u}", node->min, node->max);
    /* Nothing comes after the tail: its first way to match is the one, and a repeat that is never
     * taken up again needs no memory for each of its rounds. */
    if (node->greed == SL_RE_POSSESSIVE || (node->greed == SL_RE_GREEDY && tail))
        sl_str_puts(e->out, "+");
    else if (node->greed == SL_RE_LAZY)
        sl_str_puts(e->out, "?");
}

static void put_word_edge(const emitter *e, const sl_regex_node *node)
{
    static const char *const edge[] = { "(?:(?<=", ")(?!", ")|(?<!", ")(?=", "))" };
    static const char *const inside[] = { "(?:(?<=", ")(?=", ")|(?<!", ")(?!", "))" };
    for (size_t i = 0; i < SL_COUNT(edge); i++) {
        sl_str_puts(e->out, (node->negated ? inside : edge)[i]);
        if (i + 1 < SL_COUNT(edge))
            put_set(e, node->set);
    }
}

/* tail: nothing has to match behind the node. */
static void put(const emitter *e, const sl_regex_node *node, bool tail)
{
    switch (node->kind) {
    case SL_RE_SET:
        put_set(e, node->set);
        break;
    case SL_RE_SEQUENCE:
        for (const sl_regex_node *c = node->child; c; c = c->next) {
            const bool group = c->kind == SL_RE_ALTERNATIVE || c->kind == SL_RE_SEQUENCE;
            sl_str_puts(e->out, group ? "(?:" : "");
            put(e, c, tail && !c->next);
            sl_str_puts(e->out, group ? ")" : "");
        }
        break;
    case SL_RE_ALTERNATIVE:
        for (const sl_regex_node *c = node->child; c; c = c->next) {
            put(e, c, tail);
            sl_str_puts(e->out, c->next ? "|" : "");
        }
        break;
    case SL_RE_REPEAT:
        put_repeat(e, node, tail);
        break;
    case SL_RE_ATOMIC:
        sl_str_puts(e->out, "(?>");
        put(e, node->child, false);
        sl_str_puts(e->out, ")");
        break;
    case SL_RE_LOOK:
        sl_str_printf(e->out, "(?%s%s", node->behind ? "<" : "", node->negated ? "!" : "=");
        put(e, node->child, false);
        sl_str_puts(e->out, ")");
        break;
    case SL_RE_TEXT_BEGIN:
        sl_str_puts(e->out, "\\A");
        break;
    case SL_RE_TEXT_END:
        sl_str_puts(e->out, "\\z");
        break;
    case SL_RE_TEXT_END_NEWLINE:
        sl_str_puts(e->out, "(?=\\n?\\z)");
        break;
    case SL_RE_LINE_BEGIN: /* not behind a newline that ends the text */
        sl_str_puts(e->out, "(?:\\A|(?<=\\n)(?!\\z))");
        break;
    case SL_RE_LINE_END:
        sl_str_puts(e->out, "(?![^\\n])");
        break;
    case SL_RE_WORD_EDGE:
        put_word_edge(e, node);
        break;
    }
}

/* --- searching in linear time -------------------------------------------------------------- */

/* The set of an alternative that begins with a repeat of it without end and goes on; NULL: it is
 * of another form. */
static const sl_regex_node *leading_run(const sl_regex_node *node)
{
    const sl_regex_node *first = node->kind == SL_RE_SEQUENCE ? node->child : NULL;
    const bool runs = first && first->next && first->kind == SL_RE_REPEAT && first->max == SL_RE_NO_END;
    return runs && first->child->kind == SL_RE_SET ? first->child : NULL;
}

/* Whether an alternative matches wherever a character of its set stands, nothing else asked. */
static const sl_regex_node *lone_set(const sl_regex_node *node)
{
    if (node->kind == SL_RE_SEQUENCE && node->child && !node->child->next)
        node = node->child;
    if (node->kind == SL_RE_REPEAT && node->min <= 1)
        node = node->child;
    return node->kind == SL_RE_SET ? node : NULL;
}

static bool is_covered(const emitter *e, const sl_regex_node *first, uint32_t set)
{
    for (const sl_regex_node *c = first; c; c = c->next) {
        const sl_regex_node *lone = lone_set(c);
        if (lone && sl_charset_covers(&e->sets->set[lone->set], &e->sets->set[set]))
            return true;
    }
    return false;
}

/* S+X that fails at the beginning of a run of S fails at each later place of the run: it would be
 * the same X at the same places. Without that, a search through a long run takes quadratic time,
 * unless another alternative matches all of S anyway. */
void sl_regex_emit(const sl_regex_node *tree, const sl_regex_sets *sets, const sl_regex_alphabet *alphabet, sl_str *out)
{
    const emitter e = { sets, alphabet, out };
    const bool several = tree->kind == SL_RE_ALTERNATIVE;
    const sl_regex_node *first = several ? tree->child : tree;
    for (const sl_regex_node *c = first; c; c = several ? c->next : NULL) {
        const sl_regex_node *run = leading_run(c);
        if (run && !is_covered(&e, first, run->set)) {
            sl_str_puts(out, "(?:(?<!");
            put_set(&e, run->set);
            sl_str_puts(out, ")|\\G)");
        }
        put(&e, c, true);
        sl_str_puts(out, several && c->next ? "|" : "");
    }
}
