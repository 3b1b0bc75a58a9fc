/* select.h - the best few of many candidates, without sorting them. */
#ifndef SL_MODULE_SELECT_H
#define SL_MODULE_SELECT_H

#include <stddef.h>
#include <stdint.h>

typedef struct sl_candidate {
    float logit, p;
    uint32_t key; /* what is best: see sl_select_key */
    int32_t token;
} sl_candidate;

/* Whole numbers in the order of floats; -0 is 0. No NaN. */
uint32_t sl_select_key(float x);

/* Of c[0..n), n > 0, keep the fewest whose p come to `target`, best first: larger keys, then earlier places. At least
 * one is kept; they keep their order and move to the front. Returns how many. Time: n, whatever the target. */
size_t sl_select(sl_candidate *c, size_t n, double target);

#endif
