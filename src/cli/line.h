/* line.h - lines that a person types: edited and remembered by libedit where it was found and the terminal can, else as
 * the terminal itself edits them. */
#ifndef SL_CLI_LINE_H
#define SL_CLI_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"
#include "base/str.h"

typedef struct sl_line sl_line;

typedef struct sl_line_options {
    const char *history; /* a file; NULL: none is kept beyond the run */
    /* What can stand for the end of text[0..cursor): the number of its last bytes that *word replaces (nothing of which
     * is there yet where it is empty), and one candidate a line in *list where there are several. NULL: no completion.
     */
    size_t (*complete)(const char *text, size_t cursor, sl_str *word, sl_str *list);
    /* Lines that were pasted, before they are put into the text, at its beginning or not. NULL: as they are. */
    void (*pasted)(sl_str *lines, bool at_start);
} sl_line_options;

/* Needs sl_signals_begin, whose end gives the terminal back: with an editor, what is typed between two lines is kept
 * for the next one and not shown. NULL: no memory. */
sl_line *sl_line_create(const sl_line_options *o);
void sl_line_destroy(sl_line *l); /* accepts NULL */

typedef enum sl_line_end {
    SL_LINE_TEXT,   /* a line, or several that were pasted or recalled; without the newline at the end */
    SL_LINE_CANCEL, /* Ctrl-C; the text is what had been typed */
    SL_LINE_END,    /* Ctrl-D on an empty line, the end of the input, or the end was asked for */
    SL_LINE_FAILED, /* no memory */
} sl_line_end;

/* Show the prompt and read. *out is emptied first. `begin` stands there already, to be edited; NULL: nothing. Without
 * an editor it is not looked at: sl_line_can_edit. Bytes that are no UTF-8 become U+FFFD in an editor. */
sl_line_end sl_line_read(sl_line *l, const char *prompt, const char *begin, sl_str *out);
/* To be found by arrow up, and in the next run. The first call that cannot write the file says so. */
void sl_line_remember(sl_line *l, const char *text);

#endif
