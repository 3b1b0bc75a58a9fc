/* status.h - how code inside the library reports an error (see sluice/status.h). */
#ifndef SL_BASE_STATUS_H
#define SL_BASE_STATUS_H

#include "sluice/status.h"

/* Fill `err` (may be NULL) and return `code`: return sl_fail(err, SL_EIO, "%s: ...", path); */
sl_status sl_fail(sl_err *err, sl_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Put "where: " in front of an error that a callee reported, and return its code.
 * A text too long for the buffer is cut at its end, never the part in front. */
sl_status sl_fail_in(sl_err *err, sl_status code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
