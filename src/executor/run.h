/* run.h - walk a plan: all threads, every operation, barriers where the plan has them. */
#ifndef SL_EXECUTOR_RUN_H
#define SL_EXECUTOR_RUN_H

#include "executor/plan.h"
#include "trace/trace.h"

/* Counted by the threads while they run. */
typedef struct sl_run_counts {
    uint64_t barriers;      /* executed, between and inside operations */
    uint64_t written_bytes; /* to the workspace, by all threads */
    uint64_t mixtures;      /* run, one for each layer and step that has one */
    uint64_t experts_hit;   /* in them, each expert once */
} sl_run_counts;

/* Run one step. trace may be NULL; ahead too: no weights are asked for. No heap call, no clock read without trace. */
void sl_run_step(sl_plan *p, const sl_step *step, sl_kv *kv, sl_pool *pool, sl_trace *trace, sl_ahead *ahead,
                 sl_run_counts *counts);

#endif
