/* basic.h - the small operations around the layers. */
#ifndef SL_MODULE_BASIC_H
#define SL_MODULE_BASIC_H

#include "graph/graph.h"

/* out x [T][D] = rows of the table, one for each token. */
sl_value sl_embed(sl_graph *g, const sl_tensor *table);
/* out cs [T][rope_dim]: (cos, sin) of position * inv_freq[i], times `scale`, i < rope_dim / 2. */
sl_value sl_rope_table(sl_graph *g, const float *inv_freq, size_t rope_dim, float scale);

#endif
