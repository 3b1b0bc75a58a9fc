/* mixture.h - a mixture of experts, from the norm before the router to the residual sum, as one operation.
 *
 *   router      norm, f32 product, choice                  tokens are tiles; of few tokens: the router's rows
 *   (barrier)   every thread sorts the picks by expert
 *   gate, up    of the experts that were picked, SiLU, *   (expert, 64 of its tokens, rows of F) are tiles
 *   (barrier)
 *   down        all picked experts, weights, residual      rows of D are tiles
 *
 * Only what was picked is read: one token costs the rows of its K experts, and an expert with many tokens runs
 * through the wide kernels. Between the phases lies silu * up of each pick, in the form that the down matrices ask for
 * (8 bits, mostly; with scales of more columns than a tile has, a fourth phase rounds complete rows); what comes out of
 * down stays in the thread that adds it up, in the order of a token's slots.
 *
 * Workspace for steps of up to T tokens, with q(n) = 1.375 n bytes of 8-bit rows (n 4 with --act f32, 2 n more where a
 * panel wants 16 bits, 4 n more of inputs rounded to 8-bit floats): T (q(D) + K q(F) + q(S)) shared, and for each
 * thread 64 q(D) + 8 T K bytes and at most 1 MiB. Nothing in it grows with E but lists of numbers. */
#ifndef SL_MODULE_MIXTURE_H
#define SL_MODULE_MIXTURE_H

#include "graph/graph.h"

/* out [T][D] = residual + mixture of experts of rms_norm(x), see sl_mixture, whose tensors must live as long as the
 * graph. */
sl_value sl_norm_mixture(sl_graph *g, int layer, sl_value x, const sl_norm *norm, const sl_mixture *m);

#endif
