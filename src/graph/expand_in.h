/* expand_in.h - shared by the expansions. */
#ifndef SL_GRAPH_EXPAND_IN_H
#define SL_GRAPH_EXPAND_IN_H

#include "graph/graph.h"

/* An operation of one input (b: SL_NO_VALUE) or two, whose output is `out`. Returns that. */
sl_value sl_expand_elementwise(sl_graph *g, const sl_op *from, sl_op_kind kind, sl_value a, sl_value b, sl_value out);
/* The norm of op's prologue as an operation of its own, before it; it also picks the output rows. */
void sl_expand_norm(sl_graph *g, sl_op *op);
/* A MIXTURE, of which nothing stays fused. */
void sl_expand_mixture(sl_graph *g, const sl_op *composite);
/* The part of latent attention that a composite stands for, of which nothing stays fused. */
void sl_expand_latent(sl_graph *g, const sl_op *composite);
/* Probabilities of rows of scores. */
sl_value sl_expand_softmax(sl_graph *g, const sl_op *from, sl_value scores);

#endif
