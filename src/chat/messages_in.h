/* messages_in.h - a request's messages in the form that its template expects. */
#ifndef SL_CHAT_MESSAGES_IN_H
#define SL_CHAT_MESSAGES_IN_H

#include <jansson.h>
#include "base/str.h"
#include "chat/template.h"
#include "tokenizer/tokenizer.h"

/* SL_EINVAL names the member of the request that is not as prompt.h says. */
sl_status sl_messages_check(const json_t *request, sl_err *err);

/* The request (checked) with its messages in that form, as a new object. Where the template alone
 * knows (lists of parts or texts, arguments as objects or texts, absent contents), the template is
 * asked: it renders the conversation with a word of our own in these places. SL_ENOMEM. */
sl_status sl_messages_prepare(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request,
                              json_t **prepared, sl_err *err);

/* Append what the template makes of a prepared request. */
sl_status sl_messages_render(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *prepared, sl_str *out,
                             sl_err *err);

#endif
