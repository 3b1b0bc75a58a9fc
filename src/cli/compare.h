/* compare.h - how far one run's logits are from another's: what an option, or a format, costs in quality. */
#ifndef SL_CLI_COMPARE_H
#define SL_CLI_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Sums over rows, one for each position. */
typedef struct sl_comparison {
    size_t n;
    double kl, kl_squares, kl_max; /* of sum p ln(p / q), p the base's probabilities, q ours */
    size_t same_top;               /* rows whose likeliest token is the same; of equal ones the first counts */
    double cosine, cosine_min;     /* of the rows as vectors */
} sl_comparison;

/* One row of each, [n]. False when one of the base's numbers is not finite. */
bool sl_compare_row(sl_comparison *c, const float *base, const float *ours, size_t n);

void sl_compare_print(const sl_comparison *c, const char *base);
json_t *sl_compare_json(const sl_comparison *c, const char *base);

#endif
