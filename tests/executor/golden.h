/* golden.h - a fixture's prompts with what the reference implementation makes of them. */
#ifndef TESTS_EXECUTOR_GOLDEN_H
#define TESTS_EXECUTOR_GOLDEN_H

#include <stddef.h>
#include <stdint.h>
#include "support/npy.h"

#define GOLDEN_PROMPTS_MAX 4
#define GOLDEN_IDS_MAX     160

typedef struct golden_prompt {
    char name[16];
    size_t n_ids, n_greedy;
    int32_t ids[GOLDEN_IDS_MAX], greedy[GOLDEN_IDS_MAX];
    float greedy_min_margin, greedy_actq_min_margin, max_abs_logit;
    npy logits;                          /* [n_ids][vocab] */
    int32_t greedy_actq[GOLDEN_IDS_MAX]; /* [n_greedy] of a run with rounded inputs, if there is one */
    npy logits_actq; /* likewise, inputs of the quantised matrices rounded as the checkpoint asks; or empty */
} golden_prompt;

typedef struct golden {
    size_t n;
    golden_prompt prompt[GOLDEN_PROMPTS_MAX];
} golden;

/* Reads DIR/golden/manifest.json and its arrays; fails the test when it cannot. */
void golden_load(golden *g, const char *dir);
void golden_free(golden *g);

#endif
