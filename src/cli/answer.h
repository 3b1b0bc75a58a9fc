/* answer.h - generated answers: streamed, cut at stop strings, timed, as JSON. */
#ifndef SL_CLI_ANSWER_H
#define SL_CLI_ANSWER_H

#include "cli/session.h"

typedef enum sl_answer_look {
    SL_ANSWER_ALONE,   /* shown as it comes */
    SL_ANSWER_IN_CHAT, /* the same, reasoning always apart: it is no part of what was said */
    SL_ANSWER_SILENT,  /* its text is collected */
} sl_answer_look;

/* What becomes of the reasoning in front of an answer. */
typedef enum sl_thinking_shown {
    SL_THINKING_INLINE, /* part of the text, its tags included */
    SL_THINKING_SHOWN,  /* dim, apart from the text */
    SL_THINKING_FOLDED, /* a line with its length and time */
    SL_THINKING_HIDDEN,
} sl_thinking_shown;
/* By the option's word: show, fold, hide. */
sl_thinking_shown sl_thinking_by_name(const char *name);

typedef struct sl_answer {
    sl_answer_look look;
    sl_thinking_shown thinking; /* may be changed between runs */
    bool colours, on_terminal;
    const sl_args *args;
    const sl_text *source;
    const sl_chat *chat; /* NULL: prompts are continued as they are */
    /* of one run: */
    sl_request_id id;
    uint64_t seed;
    bool logprobs_wanted;
    json_t *logprobs; /* [ids.n] as OpenAI's, when wanted */
    sl_parser *parser;
    sl_str text;      /* the answer; with SL_THINKING_INLINE also its reasoning */
    sl_str reasoning; /* else */
    sl_ids ids;       /* generated */
    size_t n_thought; /* of them in the reasoning */
    double thought_s;
    bool thinks, failed;     /* thinks: the last part was reasoning */
    size_t n_prompt, n_kept; /* n_kept: tokens of the prompt that the engine still had */
    sl_finish finish;
    bool ended, interrupted, context_full;
    double asked, submitted, first, last; /* moments, seconds */
    double noted;                         /* when the line about thinking was written last */
} sl_answer;

/* All is borrowed: the tokenizer, and the chat that prompts come from. SL_EXIT_USAGE: an empty stop string. */
sl_exit sl_answer_init(sl_answer *a, const sl_args *args, const sl_text *t, const sl_chat *chat, sl_answer_look look);
void sl_answer_fini(sl_answer *a);

/* Run `request` (prompt and sampling are set) to its end, for n answers that share the prompt; the k-th has its seed
 * plus k, and is what that seed gives alone. `asked`: when the user asked, for the time to the first token. May be
 * called again for the next prompt. Ctrl-C ends the answers with all that came so far. */
sl_exit sl_answers_run(sl_answer *a, size_t n, sl_session *s, const sl_request *request, double asked);

/* The last line on stderr: as much of it as the screen is wide. */
void sl_answers_tell(const sl_answer *a, size_t n, const sl_session *s);
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
