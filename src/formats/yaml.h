/* yaml.h - a YAML file as a tree that knows where each value stands, for files that people write.
 *
 * libyaml takes the text apart. What makes YAML say something else than it shows is refused, with its place: anchors
 * and aliases, merge keys, tags, several documents, a key that comes twice, keys that are no plain text, NULs, other
 * encodings than UTF-8. Larger than 64 KiB, deeper than 8 levels or more than 256 members is no settings file.
 *
 * What a scalar means is not guessed: sl_yaml_int() and its like say whether it is what a key wants, and
 * sl_yaml_is() what it is instead, also where YAML 1.1 would have read something else ("yes", 010, 1:30).
 */
#ifndef SL_FORMATS_YAML_H
#define SL_FORMATS_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/status.h"

#define SL_YAML_BYTES_MAX   ((size_t)64 << 10)
#define SL_YAML_DEPTH_MAX   8
#define SL_YAML_MEMBERS_MAX 256

typedef enum sl_yaml_kind { SL_YAML_SCALAR, SL_YAML_LIST, SL_YAML_MAP } sl_yaml_kind;

typedef struct sl_yaml {
    sl_yaml_kind kind;
    bool plain;                   /* of a SCALAR: neither quoted nor a block, so that it may be a number */
    uint32_t n;                   /* members of a LIST or MAP */
    uint32_t line, column;        /* from 1; columns count characters. Of a value in a map: where its key stands, */
    uint32_t at_line, at_column;  /* and where the value itself does */
    const char *key;              /* in a map; else NULL */
    const char *text;             /* of a SCALAR; holds no NUL */
    const struct sl_yaml *parent; /* NULL: the root */
    const struct sl_yaml *next, *first;
} sl_yaml;

typedef struct sl_yaml_doc {
    sl_arena arena;
    const char *name;    /* of the file, for messages; borrowed */
    const sl_yaml *root; /* a MAP */
} sl_yaml_doc;

/* SL_EFORMAT: "NAME:LINE:COLUMN: PATH: ...", where PATH is that of the key as far as it was read; SL_EUNSUPPORTED: too
 * large, too deep, or one of the things above; SL_ENOMEM. `name` must outlive the tree, `bytes` need not. After a
 * failure d is empty. */
sl_status sl_yaml_parse(sl_yaml_doc *d, const char *name, const void *bytes, size_t n, sl_err *err);
void sl_yaml_fini(sl_yaml_doc *d); /* accepts a zeroed one */

const sl_yaml *sl_yaml_get(const sl_yaml *map, const char *key); /* NULL: no such key */

/* "NAME:LINE:COLUMN: PATH: text": the place of a value, or of its key. Returns SL_EFORMAT. */
sl_status sl_yaml_fail(const sl_yaml_doc *d, const sl_yaml *at, sl_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
sl_status sl_yaml_fail_key(const sl_yaml_doc *d, const sl_yaml *at, sl_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Plain scalars only; all return false for what is another thing. */
bool sl_yaml_int(const sl_yaml *v, int64_t *out); /* decimal digits, perhaps a sign, no leading zero */
bool sl_yaml_real(const sl_yaml *v, double *out); /* finite; whole numbers too */
bool sl_yaml_bool(const sl_yaml *v, bool *out);   /* true, True, TRUE, false, ... */
bool sl_yaml_null(const sl_yaml *v);              /* nothing, ~, null */
bool sl_yaml_odd(const sl_yaml *v); /* looks like a number, and readers disagree about which: 010, 0x10, 1_000, 1:30 */

/* For a message: what the value is, "a list", "text in quotes", "a boolean"; and where readers of YAML disagree about
 * it, how to write it so that they do not. */
const char *sl_yaml_is(const sl_yaml *v);

#endif
