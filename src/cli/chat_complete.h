/* chat_complete.h - what the Tab key makes of the text of a chat: commands, and paths behind @ and behind commands. */
#ifndef SL_CLI_CHAT_COMPLETE_H
#define SL_CLI_CHAT_COMPLETE_H

#include "base/str.h"

/* As sl_line_options.complete wants it. */
size_t sl_chat_complete(const char *text, size_t cursor, sl_str *word, sl_str *list);

#endif
