/* buffer.h - how texts and token ids go in and out of the library.
 *
 * sl_str and sl_ids belong to the caller: zero one, hand it to calls that append to it, read its members, end it with
 * its _fini. What a call appended is taken back when it fails. sl_bytes is borrowed; who owns it says each call.
 */
#ifndef SLUICE_BUFFER_H
#define SLUICE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sluice/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Any bytes, NULs included; not terminated. */
typedef struct sl_bytes {
    const char *data;
    size_t len;
} sl_bytes;

typedef struct sl_str {
    char *data; /* terminated by a NUL that `len` does not count; NULL while empty */
    size_t len, cap;
    bool failed; /* an append had no memory; all later ones do nothing, so that one look at the end is enough */
} sl_str;

SL_API void sl_str_append(sl_str *s, const char *bytes, size_t n);
SL_API void sl_str_puts(sl_str *s, const char *text);
SL_API void sl_str_clear(sl_str *s); /* empty and no longer failed; keeps the memory */
SL_API void sl_str_fini(sl_str *s);

typedef struct sl_ids {
    int32_t *data; /* NULL while empty */
    size_t n, cap; /* set n to 0 to use the memory again */
} sl_ids;

SL_API sl_status sl_ids_append(sl_ids *ids, const int32_t *id, size_t n, sl_err *err); /* SL_ENOMEM */
SL_API sl_status sl_ids_push(sl_ids *ids, int32_t id, sl_err *err);                    /* one */
SL_API void sl_ids_fini(sl_ids *ids);

#ifdef __cplusplus
}
#endif
#endif
