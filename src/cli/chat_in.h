/* chat_in.h - the inside of the chat: chat.c (the loop, messages and answers), chat_commands.c, chat_saved.c (files of
 * conversations). */
#ifndef SL_CLI_CHAT_IN_H
#define SL_CLI_CHAT_IN_H

#include "cli/ask.h"
#include "cli/line.h"

#define SL_CHAT_COMMANDS_MAX 16

typedef struct sl_talk {
    sl_ask ask;
    sl_line *line;
    sl_str typed; /* a message as it was written, over several lines perhaps */
    sl_str next;  /* to be edited at the next prompt */
    bool leaves;
    bool told_full;                                /* that the context will soon be */
    size_t n_presses;                              /* of Ctrl-C, with nothing between them */
    size_t n_answers, n_generated, n_read, n_kept; /* since the chat began */
    size_t n_in_context;                           /* after the last answer */
} sl_talk;

/* Answer the conversation as it stands. False: there is none, for a reason that was told, and the conversation is as it
 * was. *code: what ends the chat. */
bool sl_chat_answer(sl_talk *t, sl_exit *code);
/* The last message of this role is at index i; false: there is none. */
bool sl_chat_last(const sl_talk *t, const char *role, size_t *i);
size_t sl_chat_context(const sl_talk *t); /* positions that it holds */
/* Ask for a yes at the terminal. */
bool sl_chat_confirmed(sl_talk *t, const char *question);

/* ---- commands (chat_commands.c) ---- */

bool sl_chat_is_command(const char *text); /* as against a message: "/word" on a line, or a known one on several */
sl_exit sl_chat_command(sl_talk *t, const char *text);

typedef enum sl_chat_takes { SL_CHAT_TAKES_TEXT, SL_CHAT_TAKES_PATH, SL_CHAT_TAKES_THINKING } sl_chat_takes;
void sl_chat_command_names(const char **names);                  /* [SL_CHAT_COMMANDS_MAX + 1], NULL behind the last */
sl_chat_takes sl_chat_command_takes(const char *text, size_t n); /* of the command text[0..n) */

/* ---- files of conversations (chat_saved.c) ---- */

/* {"messages": [...]}; a file that is there is replaced only where the user says so. The chat goes on whatever happens.
 */
void sl_chat_save(sl_talk *t, const char *path);
void sl_chat_load(sl_talk *t, const char *path);

#endif
