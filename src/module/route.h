/* route.h - from a router's logits to the experts of one token. */
#ifndef SL_MODULE_ROUTE_H
#define SL_MODULE_ROUTE_H

#include <math.h>
#include "graph/graph.h"

/* Bytes that sl_route needs besides its operands, aligned to 4. */
static inline size_t sl_route_scratch(const sl_router *r)
{
    return r->E * (3 * sizeof(float) + sizeof(int32_t));
}

/* logits [E]; ids [K]: best first, ties to the lower number; weights [K], finite whatever the logits are: a NaN counts
 * as the smallest number. What a token gets depends on its logits alone. */
void sl_route(const sl_router *r, const float *logits, int32_t *ids, float *weights, void *scratch);

static inline float sl_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

#endif
