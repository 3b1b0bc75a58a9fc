/* engine_in.h - the inside of sl_engine, shared by engine.c (steps) and requests.c (what is asked for). */
#ifndef SL_EXECUTOR_ENGINE_IN_H
#define SL_EXECUTOR_ENGINE_IN_H

#include "executor/batch.h"
#include "executor/options.h"
#include "executor/run.h"
#include "module/sampler.h"
#include "sluice/sluice.h"

typedef struct sl_job sl_job;
struct sl_job {
    sl_job *next; /* in the queue */
    sl_request_id id;
    sl_request_id family; /* the first of the requests that were forked from one another */
    sl_request request;   /* prompt and bias lists point into this block */
    size_t n_given;       /* tokens of the prompt that its family was given; the rest was generated */
    size_t fed;           /* prompt tokens in the KV cache */
    size_t generated;
    bool cancelled;
};

typedef struct sl_slot {
    sl_job *job;   /* NULL: free */
    int32_t *said; /* [n_ctx + 1] prompt and generated tokens; the last generated one is not yet in the KV cache */
    size_t n_said;
    size_t n_pos; /* positions filled */
    bool waits;   /* in this step, for a relative that reads what both begin with */
} sl_slot;

struct sl_engine {
    const sl_model *model;
    sl_settings settings;
    sl_kernels kernels;
    sl_pool *pool;
    sl_kv *kv;
    sl_arena plan_arena;
    sl_plan plan;
    void *workspace;
    size_t workspace_bytes;
    sl_memory memory;
    uint32_t *table; /* [n_seqs][pages_per_seq] */
    sl_slot *slot;   /* [n_seqs] */
    int32_t *said;   /* those of all slots */
    size_t said_bytes;
    sl_batch batch;
    sl_sampler *sampler;
    int32_t top_token[SL_TOP_LOGPROBS_MAX];
    float top_logprob[SL_TOP_LOGPROBS_MAX];
    sl_trace *trace;
    sl_job *queue, **queue_end;
    size_t n_running, first_slot; /* the slot that is served first turns from step to step */
    sl_request_id last_id;
    sl_engine_stats stats;
    sl_run_counts counts;
};

sl_sampling sl_request_sampling(const sl_request *r);
/* Reports the end and frees the job, which must be out of queue and slots. */
void sl_job_end(sl_job *job, sl_finish finish);

#endif
