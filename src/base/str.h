/* str.h - a growing byte string (see sluice/buffer.h), written to by printf. */
#ifndef SL_BASE_STR_H
#define SL_BASE_STR_H

#include "sluice/buffer.h"

void sl_str_printf(sl_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
