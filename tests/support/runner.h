/* runner.h - runs prompts through an engine and keeps what came out, for tests. */
#ifndef TESTS_SUPPORT_RUNNER_H
#define TESTS_SUPPORT_RUNNER_H

#include "sluice/sluice.h"

/* All logits rows of a request in order: each prompt position, then one for each generated token
 * but the first, whose row is the last prompt position's. */
typedef struct run_result {
    size_t n_vocab, n_rows, n_tokens;
    float *logits;   /* [n_rows][n_vocab] */
    int32_t *tokens; /* [n_tokens] */
    float *first;    /* [n_vocab] logits that came with the first token */
    sl_finish finish;
    bool ended;
    size_t cap_rows, cap_tokens;
    size_t stop_after; /* the callback ends the request after so many tokens; 0: never */
} run_result;

void run_result_free(run_result *r);
/* The callback that fills a run_result (as `user`). */
bool run_collect(void *user, const sl_event *event);
/* Submit a greedy request that collects into r; ends of text are ignored. Fails the test on an error. */
void run_submit(sl_engine *e, const int32_t *prompt, size_t n, size_t n_predict, run_result *r);
/* Step until nothing is left. */
void run_all(sl_engine *e);
/* One prompt alone in an engine made for it. */
void run_alone(const sl_model *m, const sl_engine_options *o, const int32_t *prompt, size_t n, size_t n_predict,
               run_result *r);

#endif
