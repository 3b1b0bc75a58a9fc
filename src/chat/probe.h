/* probe.h - what a chat template tells about the replies to its prompts, found by rendering a
 * conversation of our own. A template that refuses the conversation tells nothing. */
#ifndef SL_CHAT_PROBE_H
#define SL_CHAT_PROBE_H

#include "base/status.h"
#include "base/str.h"
#include "chat/template.h"
#include "tokenizer/tokenizer.h"

/* Append what of sl_reply_opening_ids the template's generation prompt ends in: nothing where
 * replies begin outside of reasoning. SL_ENOMEM. */
sl_status sl_probe_opening(const sl_template *t, const sl_tokenizer *tokenizer, sl_str *out, sl_err *err);

/* How the template ends an assistant's turn, or, if that has no end, begins the next one. Files
 * do not always name it as an end of generation, and some vocabularies have no token for it. */
typedef struct sl_turn_end {
    int32_t id;  /* its token, unless sl_tokenizer_ends knows it already; -1: none */
    sl_str text; /* what no token stands for, to be used as a stop string; empty: none */
} sl_turn_end;
/* SL_ENOMEM; *out is then empty. */
sl_status sl_probe_turn_end(const sl_template *t, const sl_tokenizer *tokenizer, sl_turn_end *out, sl_err *err);
void sl_turn_end_fini(sl_turn_end *e);

#endif
