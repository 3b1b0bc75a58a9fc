/* screen.h - what may be shown on a terminal: its width, whether it knows colours and cursor codes, and text that
 * cannot command it. */
#ifndef SL_CLI_SCREEN_H
#define SL_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include "base/str.h"

#define SL_DIM   "\033[2m"
#define SL_PLAIN "\033[0m"

bool sl_screen_has_cursor(int fd);  /* a terminal, and TERM says that it is more than a typewriter */
bool sl_screen_has_colours(int fd); /* the same, and NO_COLOR (no-color.org) is not set */
size_t sl_screen_columns(int fd);   /* 80 where the terminal does not say */

/* How many bytes of `text` (UTF-8) fill at most `columns`; tabs and control characters count as one. */
size_t sl_screen_fit(const char *text, size_t len, size_t columns);
/* Append text in which control characters but newline and tab are U+FFFD: what a model or a file says cannot move the
 * cursor, change the title or answer for the user. */
void sl_screen_safe(const char *text, size_t len, sl_str *out);

/* A line on stderr, dim where there are colours, cut where the screen ends. */
void sl_screen_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
