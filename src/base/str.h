/* str.h - a growing byte string. Once an append fails for want of memory, `failed` stays
 * set and later appends do nothing, so a caller checks once, at the end. */
#ifndef SL_BASE_STR_H
#define SL_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct sl_str {
    char *data; /* terminated by a NUL that `len` does not count; NULL while empty */
    size_t len, cap;
    bool failed;
} sl_str;

void sl_str_append(sl_str *s, const char *bytes, size_t n);
void sl_str_puts(sl_str *s, const char *text);
void sl_str_printf(sl_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sl_str_clear(sl_str *s); /* empty and no longer failed; keeps the memory */
void sl_str_fini(sl_str *s);

#endif
