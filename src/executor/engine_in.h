/* engine_in.h - the inside of sl_engine, shared by engine.c (steps) and requests.c (what is asked for). */
#ifndef SL_EXECUTOR_ENGINE_IN_H
#define SL_EXECUTOR_ENGINE_IN_H

#include "executor/batch.h"
#include "executor/copies.h"
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
    sl_finish finish; /* ended, and waits for sl_engine_poll */
    int32_t end_token;
};

/* Log-probabilities of an event that waits for sl_engine_poll. */
typedef struct sl_top {
    int32_t token[SL_TOP_LOGPROBS_MAX];
    float logprob[SL_TOP_LOGPROBS_MAX];
} sl_top;

typedef struct sl_slot {
    sl_job *job;   /* NULL: free */
    int32_t *said; /* [n_ctx + 1] prompt and generated tokens; the last generated one is not yet in the KV cache */
    size_t n_said;
    size_t n_pos; /* positions filled; of a free slot with --prefix-cache: kept, and said[0..n_pos) is what they hold */
    bool waits;   /* in this step, for a relative that reads what both begin with */
} sl_slot;

struct sl_engine {
    const sl_model *model;
    sl_settings settings;
    sl_kernels kernels;
    sl_pool *pool;
    sl_ahead *ahead; /* NULL: weights come as they are used */
    sl_kv *kv;
    sl_arena plan_arena;
    sl_plan plan;
    sl_copies copies;
    const sl_net *net; /* the model's, or that of the copies */
    sl_pages workspace;
    sl_memory memory;
    uint32_t *table; /* [n_seqs][pages_per_seq] */
    sl_slot *slot;   /* [n_seqs] */
    int32_t *said;   /* those of all slots */
    size_t said_bytes;
    sl_batch batch;
    sl_sampler *sampler;
    sl_top newest; /* of the event at hand */
    sl_trace *trace;
    sl_job *queue, **queue_end;
    sl_event *event; /* [2 * n_outputs] of the last step, to be polled: next_event <= i < n_events */
    size_t n_events, next_event;
    sl_top *top; /* [n_seqs] those of events */
    size_t n_tops;
    sl_job *ended, **ended_end; /* whose END event is to be polled */
    unsigned in_callback;
    size_t n_running, first_slot; /* the slot that is served first turns from step to step */
    sl_request_id last_id;
    sl_engine_stats stats;
    sl_run_counts counts;
};

sl_sampling sl_request_sampling(const sl_request *r);

/* ---- placement (placed.c) ---- */

/* Weights as the settings say: left in the file, or copied; locked. Sets e->net. */
sl_status sl_engine_place(sl_engine *e, const sl_engine_options *o, sl_err *err);
/* The team, pinned as the settings say, each thread with its own node's copy of the weights. After the plan. */
sl_status sl_engine_start_threads(sl_engine *e, sl_err *err);
/* Those that read weights ahead, where the settings want it. After the memory was estimated. */
sl_status sl_engine_read_ahead(sl_engine *e, sl_err *err);

/* ---- events (events.c) ---- */

/* To the callback, or kept for sl_engine_poll. False: the callback wants no more. */
bool sl_report(sl_engine *e, const sl_job *job, const sl_event *event);
/* Reports the end and frees the job, which must be out of queue and slots. `token`: of SL_FINISH_STOP, else -1. */
void sl_job_end(sl_engine *e, sl_job *job, sl_finish finish, int32_t token);
/* SL_EINVAL from inside a callback, SL_EFULL while events wait to be polled; else forgets those that were. */
sl_status sl_events_begin_step(sl_engine *e, sl_err *err);

#endif
