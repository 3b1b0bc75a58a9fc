/* plan.h - a model's operations, placed in one workspace and bound to their implementations.
 *
 * Values and temporaries are placed by a scan of their lifetimes; a lifetime is counted in
 * stages, the stretches between two barriers, since operations of one stage may overlap.
 * Layout of the workspace: [values and temporaries][scratch of thread 0][of thread 1]…
 */
#ifndef SL_EXECUTOR_PLAN_H
#define SL_EXECUTOR_PLAN_H

#include "base/pool.h"
#include "graph/graph.h"
#include "models/net.h"
#include "module/run.h"

typedef struct sl_plan_options {
    sl_env env;
    unsigned fuse;      /* SL_FUSE_* */
    sl_mla mla;         /* form of latent attention */
    bool every_barrier; /* one before each operation (eager), not only where data asks for it */
} sl_plan_options;

typedef struct sl_plan {
    sl_plan_options options;
    sl_graph graph;
    const sl_op_impl **impl;            /* [n_ops] */
    bool *barrier;                      /* [n_ops] before the operation */
    uint32_t *stage;                    /* [n_ops] */
    size_t *value_at;                   /* [n_values] offset in the workspace; SIZE_MAX: none */
    size_t *shared_at;                  /* [n_ops] likewise */
    size_t values_bytes, scratch_bytes; /* scratch: of one thread */
    float **value;                      /* [n_values] after sl_plan_bind */
    void **shared;                      /* [n_ops] */
    unsigned char *scratch;
    sl_tiles *tiles;   /* [n_ops][SL_OP_PHASES] */
    uint64_t *written; /* [n_threads][8]: bytes, one cache line for each thread */
} sl_plan;

/* Everything lives in `arena`. SL_ENOMEM; SL_EINVAL when the workspace would not fit 64 bits. */
sl_status sl_plan_build(sl_plan *p, sl_arena *arena, const sl_net *net, const sl_plan_options *options, sl_err *err);
size_t sl_plan_workspace(const sl_plan *p);
void sl_plan_bind(sl_plan *p, void *workspace); /* 64-byte aligned, sl_plan_workspace bytes */

/* What a step of one token costs in one layer: operations, barriers, and bytes written to values
 * of the workspace (score rows counted at full context). Threads' own scratch is not counted. */
typedef struct sl_plan_cost {
    size_t n_ops, barriers, written_bytes;
} sl_plan_cost;
sl_plan_cost sl_plan_layer_cost(const sl_plan *p, int32_t layer);

#endif
