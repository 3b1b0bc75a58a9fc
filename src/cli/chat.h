/* chat.h - a conversation on a terminal. */
#ifndef SL_CLI_CHAT_H
#define SL_CLI_CHAT_H

#include "cli/cli.h"

/* Until the user leaves: Ctrl-D and /quit are good, Ctrl-C twice is SL_EXIT_INTERRUPTED. SIGHUP and SIGTERM end it in
 * order, then the process. */
sl_exit sl_chat_on_terminal(const sl_args *args);

#endif
