/* line_in.h - the two ways behind line.h. */
#ifndef SL_CLI_LINE_IN_H
#define SL_CLI_LINE_IN_H

#include "cli/line.h"
#include "cli/signals.h"

typedef struct sl_editor sl_editor;

struct sl_line {
    sl_line_options o;
    sl_editor *editor; /* NULL: plain lines */
    sl_str typed;      /* plain: read, and not yet given out */
    bool ended;        /* plain: no more comes */
};

typedef enum sl_wait { SL_WAIT_INPUT, SL_WAIT_SIGNAL } sl_wait;
sl_wait sl_line_wait(void); /* for bytes on stdin, or for a signal */

/* ---- line_edit.c; without libedit there is never an editor ---- */

#if SL_HAVE_EDITLINE
/* NULL: this terminal cannot (or there is no memory), so plain lines it is. `o` is borrowed. */
sl_editor *sl_editor_create(const sl_line_options *o);
void sl_editor_destroy(sl_editor *e); /* accepts NULL */
sl_line_end sl_editor_read(sl_editor *e, const char *prompt, const char *begin, sl_str *out);
void sl_editor_remember(sl_editor *e, const char *text);
#else
#define sl_editor_create(o)                   ((sl_editor *)NULL)
#define sl_editor_destroy(e)                  ((void)(e))
#define sl_editor_read(e, prompt, begin, out) ((void)(begin), SL_LINE_FAILED)
#define sl_editor_remember(e, text)           ((void)(text))
#endif

#endif
