/* chat_in.h - the inside of sl_chat, for parsers of replies. */
#ifndef SL_TEXT_CHAT_IN_H
#define SL_TEXT_CHAT_IN_H

#include "chat/probe.h"
#include "sluice/chat.h"

struct sl_chat {
    const sl_tokenizer *tokenizer; /* NULL: for sl_chat_expand alone */
    sl_template *plain;            /* NULL: there is one for tools only */
    sl_template *tools;            /* NULL: none of its own, or no_tools says what is wrong with it */
    sl_err no_tools;
    unsigned formats;     /* of tool calls, SL_TOOLS_* */
    sl_str opening;       /* the reasoning that prompts begin; empty: none */
    sl_turn_end turn_end; /* how the template ends an assistant's turn */
};

/* The template that a request with tools goes to, as it is written; NULL: none. */
const char *sl_chat_source_for_tools(const sl_text *t);

#endif
