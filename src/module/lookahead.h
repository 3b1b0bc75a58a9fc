/* lookahead.h - which weights a step asks for before it uses them (--prefetch).
 *
 * Every thread of a step counts the same asks in the same order; thread 0 makes them. Weights of the next operations
 * are asked for while one runs, up to a mixture of experts: it asks for its experts as soon as they are picked, then
 * for what comes behind it. Off, all of it is one branch for each operation. */
#ifndef SL_MODULE_LOOKAHEAD_H
#define SL_MODULE_LOOKAHEAD_H

#include "base/ahead.h"
#include "graph/graph.h"

#define SL_LOOKAHEAD_OPS 16 /* operations: three dense layers */

typedef struct sl_lane sl_lane;

typedef struct sl_lookahead {
    sl_ahead *ahead; /* NULL: off */
    uint64_t asked;  /* pieces, as this thread counts them */
    size_t next;     /* the first operation that was not asked for */
    uint64_t ticket[SL_LOOKAHEAD_OPS];
} sl_lookahead;

/* Ask for the weights that are known of operation `from` and those behind it. All threads, in the same order. */
void sl_look_ahead(const sl_graph *g, size_t from, sl_lane *lane);
/* Ask for a matrix of an expert; returns the ticket to wait for. Likewise. */
uint64_t sl_look_for_expert(sl_lane *lane, const sl_tensor *w);
/* Until what was asked for is in memory; a span of its own where that takes time. */
void sl_look_wait(sl_lane *lane, uint64_t ticket, int32_t layer);
/* The same for the weights of operation i. */
void sl_look_wait_op(const sl_graph *g, size_t i, sl_lane *lane);

#endif
