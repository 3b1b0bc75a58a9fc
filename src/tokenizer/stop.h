/* stop.h - stop strings in text that arrives piece by piece.
 *
 * Text that may still become a stop string is kept back, all else passes at once. The match
 * that ends first wins, of several that end together the longest; the text is cut exactly
 * before it. So the result does not depend on where the pieces were cut.
 */
#ifndef SL_TOKENIZER_STOP_H
#define SL_TOKENIZER_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"
#include "base/str.h"

typedef struct sl_stop sl_stop;

/* Copies the strings. SL_EINVAL for an empty one, SL_ENOMEM. n may be 0: all text passes. */
sl_status sl_stop_create(sl_stop **out, const char *const *strings, size_t n, sl_err *err);
void sl_stop_destroy(sl_stop *s); /* accepts NULL */
void sl_stop_reset(sl_stop *s);   /* for the next text */

/* Append to `out` what may be shown now. Returns the number of the string that was met, -1:
 * none. After a match feed no more. No heap call once `out` is large enough. */
int sl_stop_feed(sl_stop *s, const char *text, size_t len, sl_str *out);
void sl_stop_flush(sl_stop *s, sl_str *out); /* the text has ended: what was kept back is no stop string */

#endif
