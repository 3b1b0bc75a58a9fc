/* answer.h - generated answers: streamed, cut at stop strings, timed, as JSON. */
#ifndef SL_CLI_ANSWER_H
#define SL_CLI_ANSWER_H

#include "cli/session.h"

typedef struct sl_answer {
    bool silent; /* collect the text only */
    bool logprobs_wanted;
    sl_request_id id;
    uint64_t seed;
    json_t *logprobs; /* [ids.n] as OpenAI's, when wanted */
    bool dim;         /* reasoning apart from the text, and shown dim */
    const sl_args *args;
    const sl_text *source;
    const sl_chat *chat; /* NULL: prompts are continued as they are */
    sl_parser *parser;
    sl_str text; /* all that was shown; with `dim` without the reasoning */
    sl_ids ids;  /* generated */
    bool reasoning_shown, failed;
    size_t n_prompt;
    sl_finish finish;
    bool ended, interrupted, context_full;
    double asked, submitted, first, last; /* moments, seconds */
} sl_answer;

/* All is borrowed: the tokenizer, and the chat that prompts come from. SL_EXIT_USAGE: an empty stop string. */
sl_exit sl_answer_init(sl_answer *a, const sl_args *args, const sl_text *t, const sl_chat *chat, bool silent);
void sl_answer_fini(sl_answer *a);

/* Run `request` (prompt and sampling are set) to its end, for n answers that share the prompt; the k-th has its seed
 * plus k, and is what that seed gives alone. `asked`: when the user asked, for the time to the first token. May be
 * called again for the next prompt. Ctrl-C ends the answers with all that came so far. */
sl_exit sl_answers_run(sl_answer *a, size_t n, sl_session *s, const sl_request *request, double asked);

/* The last line on stderr. */
void sl_answers_tell(const sl_answer *a, size_t n);
size_t sl_answers_tokens(const sl_answer *a, size_t n);      /* generated */
double sl_answers_ttft(const sl_answer *a, size_t n);        /* seconds; 0: no token came */
double sl_answers_prompt_rate(const sl_answer *a, size_t n); /* tokens a second; 0: not known */
double sl_answers_rate(const sl_answer *a, size_t n);        /* of generation, from the first token to the last */

/* One answer (answer_json.c): text, tokens, finish_reason, context_full, stop, generated_tokens, seed, and logprobs
 * when wanted. NULL: no memory. */
json_t *sl_answer_json(const sl_answer *a);
/* A token in OpenAI's form, with its id: token, id, logprob, bytes, top_logprobs. NULL: no memory. */
json_t *sl_answer_logprob_json(const sl_text *t, const sl_event *event);

#endif
