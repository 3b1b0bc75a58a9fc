/* ask.h - what a model is asked: a conversation or a text, with the sampling that the options say. One answer and a
 * chat come through here. */
#ifndef SL_CLI_ASK_H
#define SL_CLI_ASK_H

#include "cli/answer.h"
#include "cli/session.h"

typedef struct sl_ask {
    bool for_chat;
    sl_args args; /* as given; for a chat with its own defaults */
    sl_session session;
    const sl_text *tokens;
    sl_chat *chat;     /* NULL: prompts are taken as they are */
    json_t *messages;  /* array, as OpenAI's clients send it; with `chat` */
    sl_answer *answer; /* [n_answers] */
    size_t n_answers;
    sl_ids prompt, bias_token;
    float *bias; /* [bias_token.n] */
    uint64_t seed;
} sl_ask;

/* Open the model, read template and sampling, make the engine. `for_chat`: its steps are short, so that Ctrl-C is heard
 * soon, and it keeps what it has read. */
sl_exit sl_ask_open(sl_ask *k, const sl_args *args, bool for_chat);
/* Ends all, also what is half open. Returns `code`, or a failure of its own. */
sl_exit sl_ask_close(sl_ask *k, sl_exit code);

/* Append a message; what is no UTF-8 becomes U+FFFD. */
sl_exit sl_ask_add(sl_ask *k, const char *role, const char *text, size_t len);
/* k->prompt: the conversation, for its next answer. SL_ENOMEM, or what the template says. */
sl_status sl_ask_conversation(sl_ask *k, sl_err *err);
/* k->prompt: a text that is to be continued. */
sl_exit sl_ask_text(sl_ask *k, const char *text, size_t len);

/* Run k->answer[] on k->prompt; several are shown when all have ended. `asked`: the moment when the user did. What the
 * statistics say comes last on stderr, unless quiet. */
sl_exit sl_ask_run(sl_ask *k, double asked);

#endif
