/* reply.h - what a model wrote, taken apart: reasoning, content, tool calls.
 *
 *   ids -> sl_detok -> [stop strings] -> text and tags -> events
 *
 * A *tag* ("<think>", "<tool_call>", ...) is a tag where the model emitted its token, if the
 * vocabulary has one; the same letters spelled by ordinary tokens are text. In vocabularies
 * without that token the letters decide, except inside Markdown's code. Either way what follows
 * has to be a call: a tag that no valid call with a name follows is given back as text.
 *
 * The parser takes one id at a time and says what became certain. The sum of its events does not
 * depend on where the reply was cut into ids or calls; every event's text is whole UTF-8. Time is
 * linear in the reply, memory in the part that is still uncertain.
 */
#ifndef SL_CHAT_REPLY_H
#define SL_CHAT_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/str.h"
#include "tokenizer/stop.h"
#include "tokenizer/tokenizer.h"

/* Formats of tool calls, to be joined by |. */
enum {
    SL_TOOLS_NONE = 0,     /* tags stay in the content */
    SL_TOOLS_HERMES = 1,   /* <tool_call>{"name": ..., "arguments": ...}</tool_call>: Hermes, Qwen */
    SL_TOOLS_DEEPSEEK = 2, /* <｜tool▁calls▁begin｜>...: DeepSeek V3, R1, V3.1 */
    SL_TOOLS_KIMI = 4,     /* <|tool_calls_section_begin|>...: Kimi-K2 */
    SL_TOOLS_HARMONY = 8,  /* <|channel|>commentary to=functions.NAME<|message|>...: gpt-oss; tokens only */
    SL_TOOLS_ALL = 15,
};

/* The formats that a model may use: those whose opening tag is a token of the vocabulary or
 * occurs in the chat template (may be NULL); if there is none, all of them, as text. */
unsigned sl_reply_tools(const sl_tokenizer *t, const char *chat_template);
/* By name: "none", "hermes", "deepseek", "kimi", "harmony" and the names that vLLM has for these; -1: unknown. */
int sl_reply_tools_named(const char *name);

/* Whether a prompt leaves the model thinking: ends in "<think>" and perhaps white space. Returns
 * the text from there on (part of `prompt`), an empty one if not. */
sl_bytes sl_reply_opening(const char *prompt, size_t len);
/* The same for ids; where the vocabulary has that token, the prompt must end in it. The text is
 * appended to *out. SL_ENOMEM. */
sl_status sl_reply_opening_ids(const sl_tokenizer *t, const int32_t *ids, size_t n, sl_str *out, sl_err *err);
/* Whether a whole reply ends a reasoning that it never began, so that the prompt must have begun it:
 * by a token that is not in quotes, or by letters at the edge of a line. */
bool sl_reply_closes_only(const sl_tokenizer *t, const int32_t *ids, size_t n);

typedef enum sl_reply_kind {
    SL_REPLY_REASONING, /* text */
    SL_REPLY_CONTENT,   /* text */
    SL_REPLY_CALL,      /* a call begins: call, id, name */
    SL_REPLY_ARGUMENTS, /* text: more of the arguments of the newest call, JSON as the model wrote it */
} sl_reply_kind;

/* Borrowed until the function returns. */
typedef struct sl_reply_event {
    sl_reply_kind kind;
    size_t call; /* from 0 */
    sl_bytes id, name;
    sl_bytes text; /* never empty where there is one */
} sl_reply_event;
typedef void sl_reply_fn(void *user, const sl_reply_event *event);

typedef struct sl_reply_options {
    const sl_tokenizer *tokenizer;
    unsigned tools;        /* SL_TOOLS_* */
    bool inline_reasoning; /* reasoning is content, its tags included, as it stands */
    sl_bytes opening;      /* of sl_reply_opening: the reply begins inside reasoning; empty: it does not */
    sl_stop *stop;         /* borrowed, of this reply only; sees all text, tags as their letters; NULL: none */
    uint64_t seed;         /* of the ids of calls whose model gives none */
    sl_reply_fn *on_event;
    void *user;
} sl_reply_options;

typedef struct sl_reply sl_reply;

/* Copies `opening`. SL_ENOMEM. */
sl_status sl_reply_create(sl_reply **out, const sl_reply_options *o, sl_err *err);
void sl_reply_destroy(sl_reply *r); /* accepts NULL */

/* Before the first id: the end of the prompt, whose last bytes may begin a character that the
 * first id ends. None of it is given out. */
void sl_reply_prompt(sl_reply *r, const int32_t *ids, size_t n);
/* SL_ENOMEM, then and for ever. Ids that end an answer have no text. No heap call once the buffers
 * have grown. After a stop string was met nothing more is taken. */
sl_status sl_reply_feed(sl_reply *r, int32_t id, sl_err *err);
/* The reply has ended, perhaps in the middle of something: what is certain by that is given out. */
sl_status sl_reply_end(sl_reply *r, sl_err *err);

int sl_reply_stop_met(const sl_reply *r);   /* the number of the stop string, -1: none */
size_t sl_reply_n_calls(const sl_reply *r); /* begun so far */

/* A whole reply, filled by sl_reply_collect as on_event with it as user. Zero it first. */
typedef struct sl_reply_call {
    sl_str id, name, arguments;
} sl_reply_call;
typedef struct sl_reply_whole {
    sl_str reasoning, content;
    sl_reply_call *calls; /* [n_calls] */
    size_t n_calls, cap_calls;
    bool failed; /* no memory */
} sl_reply_whole;
sl_reply_fn sl_reply_collect;
void sl_reply_whole_fini(sl_reply_whole *w);

#endif
