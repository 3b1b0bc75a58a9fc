/* signals.h - Ctrl-C in every command, and what else can happen to a chat on a terminal. */
#ifndef SL_CLI_SIGNALS_H
#define SL_CLI_SIGNALS_H

#include <stdbool.h>

/* From now on Ctrl-C sets a flag, and a second one before sl_cli_interrupt_clear ends the program. */
void sl_cli_interrupt_catch(void);
bool sl_cli_interrupted(void); /* or asked to end */
void sl_cli_interrupt_clear(void);

/* For a chat: Ctrl-C only sets the flag, however often. SIGHUP and SIGTERM ask for the end. SIGWINCH is heard. Ctrl-Z
 * gives the terminal back as it was found until the program goes on. False: no pipe to be woken by. */
bool sl_signals_begin(int terminal);
/* Written to the terminal now and whenever it is ours again, and before it is given back; static texts. */
void sl_signals_codes(const char *ours, const char *given_back);
int sl_signals_fd(void); /* readable when one of them came, whichever thread it met: to poll beside the input */

typedef struct sl_signals_seen {
    bool interrupt, end;
    bool redraw; /* the screen has another width, or was used by others */
} sl_signals_seen;
/* What came since the last call; `end` stays. */
sl_signals_seen sl_signals_take(void);

/* The terminal as it was found, from a handler of a signal that the program ends by. */
void sl_signals_give_back(void);
/* All as it was before; then, if the end was asked for, die of the same signal. */
void sl_signals_end(void);

#endif
