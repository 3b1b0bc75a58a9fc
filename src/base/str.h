/* str.h - a growing byte string (see sluice/buffer.h), written to by printf. */
#ifndef SL_BASE_STR_H
#define SL_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include "sluice/buffer.h"

void sl_str_printf(sl_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

typedef struct sl_size_text {
    char text[24];
} sl_size_text;
sl_size_text sl_bytes_text(size_t bytes); /* "93.8 MiB" */
sl_size_text sl_count_text(size_t n);     /* "134.5 M" */
/* "1024", "512M", "4G", "80%": bytes, in powers of 1024 (a B or iB may follow), or a share of `whole`, up to all.
 * False: no such size, or above SIZE_MAX. */
bool sl_read_size(const char *text, size_t whole, size_t *out);

/* How many letters to insert, drop, change or swap to make b of a; of b the first 32 count. */
size_t sl_edit_distance(const char *a, const char *b);

#endif
