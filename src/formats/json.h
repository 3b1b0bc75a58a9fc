/* json.h - a JSON file as a tree that knows where each value stands, for the files that come with
 * a model: a vocabulary of 150,000 tokens is read in milliseconds, and what is wrong in one is
 * named by its path, "pre_tokenizer.pretokenizers[2].type".
 *
 * yajl takes the text apart; what it is lax about is checked before: UTF-8 and lone surrogates.
 * A key that comes twice in an object is refused, and so are more than 64 levels.
 */
#ifndef SL_FORMATS_JSON_H
#define SL_FORMATS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/status.h"
#include "tokenizer/vocab.h"

typedef enum sl_json_kind {
    SL_JSON_NULL,
    SL_JSON_BOOL,
    SL_JSON_NUMBER,
    SL_JSON_STRING,
    SL_JSON_ARRAY,
    SL_JSON_OBJECT,
} sl_json_kind;

typedef struct sl_json {
    uint8_t kind;
    bool value; /* BOOL */
    uint32_t n; /* members of an ARRAY or OBJECT */
    uint32_t key_len, text_len;
    const char *key;              /* in an object; may hold NULs */
    const char *text;             /* of a STRING, or a NUMBER as written */
    const struct sl_json *parent; /* NULL: the root */
    const struct sl_json *next;   /* in the same array or object, in the order of the file */
    const struct sl_json *first;  /* member */
} sl_json;

typedef struct sl_json_doc {
    sl_arena arena;
    const sl_json *root;
} sl_json_doc;

/* Strings are borrowed from `bytes`, which must outlive the tree. SL_EFORMAT: the text says line and
 * column, or the path of a key that comes twice; SL_EUNSUPPORTED: too large or too deep; SL_ENOMEM. */
sl_status sl_json_parse(sl_json_doc *d, const void *bytes, size_t n, sl_err *err);
void sl_json_fini(sl_json_doc *d); /* accepts a zeroed one */

const sl_json *sl_json_get(const sl_json *object, const char *key); /* NULL: no object, no such key, or null */
bool sl_json_is_null(const sl_json *object, const char *key);       /* the key is there, and null */
bool sl_json_is(const sl_json *value, const char *text);            /* a string of this content */
static inline sl_bytes sl_json_bytes(const sl_json *string)
{
    return (sl_bytes){ string->text, string->text_len };
}

/* "PATH: text", where PATH leads to `at`. */
sl_status sl_json_fail(sl_err *err, sl_status code, const sl_json *at, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* What a string says, cut to what a message takes. */
#define SL_JSON_SHOWN(string) (int)SL_MIN((size_t)(string)->text_len, (size_t)60), (string)->text

/* The member `key` of an object. Missing or null: *out keeps its value, or SL_EFORMAT if `required`.
 * Of another kind or out of range: SL_EFORMAT. */
sl_status sl_json_get_bool(const sl_json *object, const char *key, bool required, bool *out, sl_err *err);
sl_status sl_json_get_int(const sl_json *object, const char *key, bool required, int64_t *out, sl_err *err);
sl_status sl_json_get_str(const sl_json *object, const char *key, bool required, sl_bytes *out, sl_err *err);
sl_status sl_json_get_list(const sl_json *object, const char *key, bool required, const sl_json **out, sl_err *err);
sl_status sl_json_get_object(const sl_json *object, const char *key, bool required, const sl_json **out, sl_err *err);

bool sl_json_int(const sl_json *value, int64_t *out);   /* false: no integer, or out of range */
bool sl_json_double(const sl_json *value, double *out); /* false: no number, or not finite */

/* SL_EUNSUPPORTED for a member whose key is not in the list, which ends with NULL: its meaning is not known. */
sl_status sl_json_only(const sl_json *object, const char *const *keys, sl_err *err);

#endif
