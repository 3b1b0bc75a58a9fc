/* regex_in.h - a pattern as a tree, between its reader (regex_parse.c, regex_class.c) and what
 * makes a pattern over class bytes of it (regex_emit.c). */
#ifndef SL_TOKENIZER_REGEX_IN_H
#define SL_TOKENIZER_REGEX_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/str.h"
#include "tokenizer/charset.h"
#include "tokenizer/regex.h"

enum {
    SL_REGEX_MAX_CHARS = 1 << 16,  /* of a pattern */
    SL_REGEX_MAX_DEPTH = 64,       /* of groups and nested classes */
    SL_REGEX_MAX_SETS = 512,       /* different ones, in all patterns of a regex */
    SL_REGEX_MAX_RANGES = 1 << 18, /* of these sets together */
    SL_REGEX_MAX_REPEAT = 65535,   /* pcre2's */
    SL_REGEX_MAX_SIZE = 20000,     /* nodes, each counted as often as its repeats write it out */
};

/* The character sets of all patterns, each once. */
typedef struct sl_regex_sets {
    sl_charset set[SL_REGEX_MAX_SETS];
    size_t n, n_ranges;
} sl_regex_sets;
void sl_regex_sets_fini(sl_regex_sets *s);

typedef enum sl_regex_kind {
    SL_RE_SET,
    SL_RE_SEQUENCE,    /* its children one after the other; none: matches nothing at all, always */
    SL_RE_ALTERNATIVE, /* the first of its children that leads to a match */
    SL_RE_REPEAT,
    SL_RE_ATOMIC,
    SL_RE_LOOK,
    SL_RE_TEXT_BEGIN,
    SL_RE_TEXT_END,
    SL_RE_TEXT_END_NEWLINE, /* also before a newline at the end */
    SL_RE_LINE_BEGIN,
    SL_RE_LINE_END,
    SL_RE_WORD_EDGE,
} sl_regex_kind;

typedef enum sl_regex_greed { SL_RE_GREEDY, SL_RE_LAZY, SL_RE_POSSESSIVE } sl_regex_greed;

#define SL_RE_NO_END UINT32_MAX

typedef struct sl_regex_node sl_regex_node;
struct sl_regex_node {
    sl_regex_kind kind;
    sl_regex_node *child, *next; /* first child; next sibling */
    uint32_t set;                /* SET; WORD_EDGE: the characters of words */
    uint32_t min, max;           /* REPEAT */
    sl_regex_greed greed;        /* REPEAT */
    bool behind;                 /* LOOK */
    bool negated;                /* LOOK, WORD_EDGE */
    uint32_t size;               /* see SL_REGEX_MAX_SIZE */
};

typedef struct sl_regex_options {
    bool fold;      /* case is ignored */
    bool dot_all;   /* . takes a newline too */
    bool multiline; /* ^ and $ are about lines */
} sl_regex_options;

typedef struct sl_regex_reader {
    const uint32_t *c; /* the pattern's characters */
    size_t n, at;
    bool rust;
    sl_arena *arena; /* of the nodes */
    sl_regex_sets *sets;
    unsigned depth;
    sl_err *err;
    sl_status status; /* the first error; all functions fail from then on */
} sl_regex_reader;

/* The tree of a pattern; NULL: r->status. */
sl_regex_node *sl_regex_read(sl_regex_reader *r);
sl_regex_node *sl_regex_read_literal(sl_regex_reader *r); /* its characters as they are */

/* For both readers. `at`: where the construct begins. False, NULL: always. */
bool sl_regex_refuse(sl_regex_reader *r, sl_status status, size_t at, const char *what);
static inline bool sl_regex_more(const sl_regex_reader *r)
{
    return r->at < r->n;
}
static inline bool sl_regex_is(const sl_regex_reader *r, size_t ahead, uint32_t c)
{
    return r->at + ahead < r->n && r->c[r->at + ahead] == c;
}

/* What stands behind a backslash, r->at being behind it. A set is settled. */
typedef enum sl_regex_escape { SL_RE_ESC_ERROR, SL_RE_ESC_CHAR, SL_RE_ESC_SET, SL_RE_ESC_NONE } sl_regex_escape;
/* `inside` a class. NONE: not one for a character or a set; nothing was consumed. */
sl_regex_escape sl_regex_read_escape(sl_regex_reader *r, sl_regex_options options, bool inside, uint32_t *c,
                                     sl_charset *set);
/* A class, r->at being behind its [. The outermost one has depth 0. */
bool sl_regex_read_class(sl_regex_reader *r, sl_regex_options options, bool outermost, sl_charset *out);
/* Hand a settled set over to the pool (it is empty afterwards). False: r->status. */
bool sl_regex_keep_set(sl_regex_reader *r, sl_charset *set, uint32_t *number);
/* The characters of a word, for \b and \w; a lone \w of Oniguruma has six more. */
void sl_regex_word_set(const sl_regex_reader *r, bool inside, sl_charset *set);

/* --- regex_emit.c ------------------------------------------------------------------------- */

/* What a class byte stands for: sample[b - 0x80] is one of its characters. */
typedef struct sl_regex_alphabet {
    uint32_t sample[128];
    size_t n; /* class bytes 0x80 .. 0x80 + n - 1 are in use */
} sl_regex_alphabet;

/* Write the pattern for pcre2. */
void sl_regex_emit(const sl_regex_node *tree, const sl_regex_sets *sets, const sl_regex_alphabet *alphabet,
                   sl_str *out);

#endif
