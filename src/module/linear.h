/* linear.h - y = x W^T with what surrounds it in a transformer layer, as one operation. */
#ifndef SL_MODULE_LINEAR_H
#define SL_MODULE_LINEAR_H

#include "graph/graph.h"

/* out [rows][w.rows] = rms_norm(x) w^T + bias. `rows` SL_ROWS_OUTPUTS also picks the wanted tokens. */
sl_value sl_norm_linear(sl_graph *g, const char *name, int layer, sl_value x, const sl_norm *norm, const sl_proj *w,
                        sl_rows rows);
/* out = x w^T + bias + residual, for the down projection of a feed-forward block. */
sl_value sl_linear_add(sl_graph *g, const char *name, int layer, sl_value x, const sl_proj *w, sl_value residual);
/* out [T][F] = silu(rms_norm(x) gate^T) * (rms_norm(x) up^T), biases added to both products; source: Shazeer 2020,
 * arXiv 2002.05202. */
sl_value sl_norm_swiglu(sl_graph *g, int layer, sl_value x, const sl_norm *norm, const sl_proj *gate,
                        const sl_proj *up);

#endif
