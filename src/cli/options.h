/* options.h - the command line, read by tables.
 *
 * A table row says how an option is spelt, what it takes, which values are allowed and where
 * its value goes (an offset into a struct of the caller). Parsing, range checks, suggestions
 * for a misspelt name and the help text all come from the same rows. Spellings: --name VALUE,
 * --name=VALUE, -n VALUE, -n=VALUE; short names may have two letters (-ub). `--` ends options.
 */
#ifndef SL_CLI_OPTIONS_H
#define SL_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/str.h"

typedef enum sl_opt_kind {
    SL_OPT_FLAG,  /* bool; --name=false takes back what a deploy file says */
    SL_OPT_TEXT,  /* const char * */
    SL_OPT_LIST,  /* sl_words: may be given several times */
    SL_OPT_INT,   /* int64_t, min..max */
    SL_OPT_REAL,  /* double, finite, min..max */
    SL_OPT_ABOVE, /* the same, but not min itself */
    SL_OPT_WORD,  /* const char *, one of `words` */
} sl_opt_kind;

/* What is expected of a value that kind and range let through; NULL: what it is. */
typedef const char *sl_opt_check(const char *value);

typedef struct sl_opt {
    const char *names;  /* "n-predict|predict": long names, the first is the one that help shows */
    const char *shorts; /* "n", "ub|b"; NULL: none */
    const char *arg;    /* what it takes, in help; NULL for flags. A FILE is never "" */
    const char *help;   /* with default and range in words */
    sl_opt_kind kind;
    size_t offset;
    double min, max;
    const char *words;   /* "f16|f32|bf16"; of SL_OPT_TEXT: words that a list by commas may have, for completion */
    sl_opt_check *check; /* NULL: kind and range say all */
} sl_opt;

/* A heading in help with its options; ends with a row whose names are NULL. */
typedef struct sl_opt_group {
    const char *title;
    const sl_opt *opts;
} sl_opt_group;

typedef struct sl_words {
    const char **data; /* borrowed from argv */
    size_t n;
} sl_words;
void sl_words_fini(sl_words *w);

#define SL_OPT_NO_MAX 9007199254740992.0 /* 2^53: what JSON readers keep exactly */

/* Read argv[0..argc) into `values`; what is no option goes to *rest. `groups` ends with a NULL
 * title. SL_EINVAL: the option, what was given and what is allowed, perhaps with a suggestion. */
sl_status sl_options_parse(const sl_opt_group *groups, int argc, char **argv, void *values, sl_words *rest,
                           sl_err *err);

/* Rows by name, for values that come from elsewhere than the command line. */
#define SL_OPT_NAME_MAX 32
const sl_opt *sl_options_find(const sl_opt_group *groups, const char *name); /* one of the long names; or NULL */
/* The long name nearest to `name`, in `best`; NULL when none is near. */
const char *sl_options_near(const sl_opt_group *groups, const char *name, char best[SL_OPT_NAME_MAX + 1]);
/* "from 0 to 100", of a row that takes a number. */
#define SL_OPT_RANGE_MAX 64
const char *sl_options_range(const sl_opt *row, char room[SL_OPT_RANGE_MAX]);
/* Set what the row says. SL_EINVAL: "SHOWN VALUE: ..."; of a flag "true", "false", or NULL, which is true. */
sl_status sl_options_set(const sl_opt *row, const char *shown, const char *value, void *values, sl_err *err);

/* The options as help shows them. */
void sl_options_help(const sl_opt_group *groups, sl_str *out);

/* Whole text as a number: no white space, nothing behind it. */
bool sl_read_int(const char *text, int64_t *out);
bool sl_read_real(const char *text, double *out); /* finite */

#endif
