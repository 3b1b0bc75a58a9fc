/* proc_in.h - small files of /proc and /sys, below a root that tests can put elsewhere ("" is this machine). */
#ifndef SL_BASE_PROC_IN_H
#define SL_BASE_PROC_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of dir/file, terminated; false where there is none. */
bool sl_proc_read(char *buf, size_t size, const char *dir, const char *file);
/* The whole number at *text, which then stands behind it; false where there is none. */
bool sl_proc_number(const char **text, uint64_t *out);
/* The number that dir/file begins with; SIZE_MAX where there is none. */
size_t sl_proc_size(const char *dir, const char *file);
/* The value of the first line "key : value" (or "key value") of dir/file. */
bool sl_proc_value(const char *dir, const char *file, const char *key, char *out, size_t size);
/* The bytes of a line "key: N kB"; SIZE_MAX where there is none. */
size_t sl_proc_kib(const char *dir, const char *file, const char *key);

#endif
