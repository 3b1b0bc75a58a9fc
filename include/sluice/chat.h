/* chat.h - conversations: what a chat template makes of messages, and what a reply holds.
 *
 *   sl_chat *c;  sl_chat_create(&c, text, NULL, &err);
 *   sl_chat_tokenize(c, json, strlen(json), &prompt, &err);   // {"messages": [{"role": "user", "content": "Hi"}]}
 *   ... a model answers ...
 *   sl_parser *p;  sl_parser_create(&p, text, &(sl_parser_options){ .chat = c, .on_part = show }, &err);
 *   for each id:  sl_parser_feed(p, id, &err);
 *   sl_parser_end(p, &err);
 *
 * JSON goes in and out as UTF-8 text. Threads: an sl_chat changes nothing after it was made; any number of threads may
 * use one. A parser belongs to one thread at a time. The sl_text has to outlive both; the sl_chat may go before its
 * parsers.
 */
#ifndef SLUICE_CHAT_H
#define SLUICE_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sluice/buffer.h"
#include "sluice/status.h"
#include "sluice/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- prompts ------------------------------------------------------------------- */

typedef struct sl_chat sl_chat;

/* Zero is each field's default. */
typedef struct sl_chat_options {
    const char *source; /* a template in place of the text's own, n_source bytes; NULL: those */
    size_t n_source;
} sl_chat_options;

/* Read the text's templates and ask them how replies begin and end. `t` may be NULL where a source is given: for
 * sl_chat_expand alone. `o` may be NULL. SL_ENOTFOUND: there is no template; SL_EFORMAT with "line L, column C: ..."
 * for one that is no Jinja; SL_EUNSUPPORTED for one that this engine lacks something for (never a silent guess);
 * SL_ENOMEM. A template for tools that cannot be read is told by the first request with tools. */
SL_API sl_status sl_chat_create(sl_chat **out, const sl_text *t, const sl_chat_options *o, sl_err *err);
SL_API void sl_chat_destroy(sl_chat *c); /* accepts NULL */

/* `request` is a JSON object, as an OpenAI client sends it:
 *   messages               array of objects, required; content is a text, absent, or a list of text parts
 *   tools                  array; a request with tools goes to the template "tool_use", if there is one
 *   add_generation_prompt  boolean, default true
 *   chat_template_kwargs   object: further variables of the template
 * Other members are not looked at.
 *
 * SL_EINVAL: "request: line L, column C: ..." where it is no JSON, else what is wrong with it, or the template's own
 * complaint (raise_exception). SL_EFORMAT, SL_EUNSUPPORTED with "line L, column C: ..." for what the template does
 * wrong while it runs; SL_ENOMEM. Rendering ends within a second or two, whatever the template. */

/* Append the prompt's text, exactly as Transformers renders it. */
SL_API sl_status sl_chat_render(const sl_chat *c, const char *request, size_t len, sl_str *out, sl_err *err);
/* Append the prompt's ids. Control tokens are those that the template wrote, never those that people wrote: a message
 * with "<|im_end|>" in it becomes its letters. Where the tokenizer puts a BOS in front of every text and the template
 * writes none, it is put in front here, too. */
SL_API sl_status sl_chat_tokenize(const sl_chat *c, const char *request, size_t len, sl_ids *out, sl_err *err);
/* Append what the template makes of these variables (a JSON object), nothing added to them. SL_EINVAL: "context: line
 * L, column C: ..." where it is none; else as above. */
SL_API sl_status sl_chat_expand(const sl_chat *c, const char *context, size_t len, sl_str *out, sl_err *err);

/* ---- replies ------------------------------------------------------------------- */

/* A reply taken apart as its ids come: reasoning, content, tool calls. A tag ("<think>", "<tool_call>", ...) counts
 * where the model emitted its token, if the vocabulary has one; the same letters in other tokens are text. What cannot
 * be a call in the end is given back as content. The sum of the parts does not depend on where the reply was cut. Time
 * is linear in the reply, memory in the part that is still uncertain. */
typedef struct sl_parser sl_parser;

typedef enum sl_part_kind {
    SL_PART_REASONING, /* text */
    SL_PART_CONTENT,   /* text */
    SL_PART_CALL,      /* a tool call begins: call, id, name */
    SL_PART_ARGUMENTS, /* text: more of the arguments of call `call`, JSON as the model wrote it */
} sl_part_kind;

/* Borrowed until the callback returns. All texts are whole UTF-8. */
typedef struct sl_part {
    sl_part_kind kind;
    size_t call; /* from 0 */
    sl_bytes id, name;
    sl_bytes text; /* never empty where there is one */
} sl_part;
/* Called by feed and end. May use other objects, but not this parser. */
typedef void sl_on_part(void *user, const sl_part *part);

typedef enum sl_thinking {
    SL_THINKING_AUTO,   /* by the prompt if it is given, else by the chat's template, else by `reply` */
    SL_THINKING_OPEN,   /* the prompt has begun the reasoning: the reply starts inside of it */
    SL_THINKING_CLOSED, /* it has not */
} sl_thinking;

/* Zero is each field's default. Everything is copied that is needed later, but `user`. */
typedef struct sl_parser_options {
    const sl_chat *chat;   /* knows how replies begin and turns end; NULL: nothing is known of that */
    const char *tools;     /* formats of calls: "hermes" (also Qwen's), "deepseek", "kimi", "harmony" (gpt-oss); "none":
                              calls     stay text; NULL, "auto": what vocabulary and template know */
    bool inline_reasoning; /* reasoning is content, its tags included, as it stands */
    bool ignore_turn_end;  /* go on past the template's own end of a turn */
    sl_thinking thinking;
    const int32_t *prompt; /* [n_prompt] or its end: may begin the reasoning, and a character that the reply ends */
    size_t n_prompt;
    const int32_t *reply; /* [n_reply] what will be fed, where it is known already: for SL_THINKING_AUTO */
    size_t n_reply;
    const char *const
        *stop; /* [n_stop] the reply ends before the first of these texts; they see tags as their letters */
    size_t n_stop;
    uint64_t seed;       /* of the ids of calls whose model gives none */
    bool keep;           /* the parts, for sl_parser_message */
    sl_on_part *on_part; /* or NULL */
    void *user;
} sl_parser_options;

/* SL_EINVAL: an empty stop string, an unknown name of tools; SL_ENOMEM; why t has no vocabulary. `o` may be NULL. */
SL_API sl_status sl_parser_create(sl_parser **out, const sl_text *t, const sl_parser_options *o, sl_err *err);
SL_API void sl_parser_destroy(sl_parser *p); /* accepts NULL */

/* SL_ENOMEM, then and for ever. Ids that end an answer have no text. Once the reply is over nothing more is taken. */
SL_API sl_status sl_parser_feed(sl_parser *p, int32_t id, sl_err *err);
/* The reply has ended, perhaps in the middle of something: what is certain by that is given out. */
SL_API sl_status sl_parser_end(sl_parser *p, sl_err *err);

typedef enum sl_parser_state {
    SL_PARSER_OPEN,      /* the reply goes on */
    SL_PARSER_TURN_END,  /* over: the token that ends a turn by the template, not part of the reply */
    SL_PARSER_TURN_TEXT, /* over: the text that does */
    SL_PARSER_STOP,      /* over: a stop string */
} sl_parser_state;
SL_API sl_parser_state sl_parser_get_state(const sl_parser *p);
SL_API size_t sl_parser_stop_met(const sl_parser *p); /* the number of the stop string; SL_PARSER_STOP only */

/* Append, as JSON in the form of OpenAI's interface, a part as a streamed delta or all so far as a message. SL_ENOMEM;
 * SL_EINVAL: the parser keeps nothing. */
SL_API sl_status sl_part_write(const sl_part *part, sl_str *out, sl_err *err);
SL_API sl_status sl_parser_message(const sl_parser *p, sl_str *out, sl_err *err);

#ifdef __cplusplus
}
#endif
#endif
