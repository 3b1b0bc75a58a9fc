/* prompt.h - a conversation to the text and the token ids of a prompt.
 *
 * Control tokens are recognised in what the template wrote, never in what people wrote: a
 * message that holds "<|im_end|>" becomes its letters. So does every added token that looks like
 * one (tokenizer/added.h), even if its file does not call it special. For the ids, control tokens inside the
 * strings of the request are broken by a mark (a Unicode noncharacter that occurs nowhere in
 * the request) before the template runs; afterwards the marks go, and no control token is
 * recognised where one stood. So the ids are the tokenizer's for the whole text.
 */
#ifndef SL_CHAT_PROMPT_H
#define SL_CHAT_PROMPT_H

#include <jansson.h>
#include "base/status.h"
#include "base/str.h"
#include "chat/template.h"
#include "tokenizer/tokenizer.h"

/* A request is a JSON object:
 *   messages               array of objects, required; `content` is a text, absent, or a list of parts
 *                          {"type": "text", "text": ...}; arguments of tool calls are objects or JSON texts
 *   tools                  array, or null
 *   add_generation_prompt  boolean, default true
 *   chat_template_kwargs   object: further variables of the template
 * null stands for an absent member. Other members are not looked at. The template also sees
 * bos_token, eos_token, unk_token and pad_token, those that the model names.
 *
 * Messages are brought into the form that the template expects. As in Transformers, members that
 * are null count as absent, and reasoning (reasoning_content, thinking or reasoning) is found
 * under reasoning_content and thinking. Beyond that: a list of parts becomes one text, joined by
 * newlines, unless the template shows lists of that role; arguments that came as JSON text become
 * objects, unless the template fails on objects or prints them as Python would; an assistant's
 * absent content becomes "" where the template fails without one. Arguments that are no JSON
 * object go through as text.
 *
 * SL_EINVAL says what is wrong with the request (naming the message), or is the template's own
 * raise_exception; other errors as sl_template_render. */

/* Append the rendered text. */
sl_status sl_prompt_text(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, sl_str *out,
                         sl_err *err);
/* Append the ids. Templates write their own BOS; where one writes none and the tokenizer puts one in front of
 * every text, it is put in front here as well (Transformers' apply_chat_template leaves it out, llama.cpp does not). */
sl_status sl_prompt_ids(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, sl_ids *out,
                        sl_err *err);

#endif
