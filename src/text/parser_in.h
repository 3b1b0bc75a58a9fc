/* parser_in.h - the inside of sl_parser, for what is written of a reply. */
#ifndef SL_TEXT_PARSER_IN_H
#define SL_TEXT_PARSER_IN_H

#include "chat/reply.h"
#include "sluice/chat.h"

struct sl_parser {
    sl_reply *reply;
    sl_stop *stop;
    size_t n_stop;  /* of the caller's stop strings, which come first in `stop` */
    int32_t end_id; /* the token that ends a turn; -1: none */
    sl_parser_state state;
    bool keep;
    sl_reply_whole whole;
    sl_on_part *on_part;
    void *user;
};

#endif
