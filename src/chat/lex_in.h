/* lex_in.h - template text -> tokens, with Jinja's white space rules applied (trim_blocks,
 * lstrip_blocks, `-` and `+`). */
#ifndef SL_CHAT_LEX_IN_H
#define SL_CHAT_LEX_IN_H

#include "chat/ast_in.h"

typedef enum sl_jj_token_type {
    SL_JJ_T_EOF,
    SL_JJ_T_DATA,
    SL_JJ_T_VAR_BEGIN,
    SL_JJ_T_VAR_END,
    SL_JJ_T_BLOCK_BEGIN,
    SL_JJ_T_BLOCK_END,
    SL_JJ_T_NAME,
    SL_JJ_T_CONST, /* string, integer, float: in value */
    SL_JJ_T_OP     /* op: the characters, e.g. '+', or two of them as '/' << 8 | '/' */
} sl_jj_token_type;

typedef struct sl_jj_token {
    uint8_t type;
    uint16_t op;
    uint32_t at, end;  /* byte offsets in the source */
    sl_jj_value value; /* DATA and NAME: their text; CONST */
} sl_jj_token;

#define SL_JJ_OP2(a, b) ((uint16_t)((a) << 8 | (b)))

typedef struct sl_jj_tokens {
    sl_jj_token *at;
    size_t n, cap; /* the last one is EOF */
} sl_jj_tokens;

sl_status sl_jj_lex(sl_template *t, sl_jj_tokens *out, sl_err *err);

#endif
