/* experts.h - how often each expert of each layer was picked. */
#ifndef SL_TRACE_EXPERTS_H
#define SL_TRACE_EXPERTS_H

#include <stddef.h>
#include <stdint.h>

/* Counted in fused mixtures while a trace is on, by the thread that tells about the step. */
typedef struct sl_expert_picks {
    size_t n_layers, n_experts;
    uint64_t *picks; /* [n_layers][n_experts]; layers without a mixture: 0 */
} sl_expert_picks;

/* How a layer's picks are spread. */
typedef struct sl_expert_load {
    uint64_t picks; /* 0: the rest is 0, too */
    size_t used;    /* experts that were picked at all */
    size_t most;    /* the one that was picked most, the lowest of those as often */
    double most_share;
    double entropy; /* bits; log2(n) where all are picked alike, 0 where one is */
} sl_expert_load;

sl_expert_load sl_expert_load_of(const uint64_t *picks, size_t n);

#endif
