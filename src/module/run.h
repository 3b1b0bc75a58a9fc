/* run.h - what an operation sees while it runs, and the table of their implementations.
 *
 * The executor walks the plan; every thread calls each operation's run function with its own
 * lane. An operation splits its work into tiles that any thread may take; where a later part
 * needs an earlier one of the same operation, it calls sl_lane_barrier between them. Barriers
 * *between* operations are the plan's.
 */
#ifndef SL_MODULE_RUN_H
#define SL_MODULE_RUN_H

#include "base/num.h"
#include "base/pool.h"
#include "graph/graph.h"
#include "kernels/kernels.h"
#include "module/kv.h"
#include "module/lookahead.h"
#include "trace/trace.h"

/* Positions that attention combines as one unit, counted from position 0 (DESIGN section 5). */
#define SL_ATTN_CHUNK 256
/* Steps of up to so many rows prepare a linear operation's input in each thread for itself;
 * wider ones share the work and pay a barrier. */
#define SL_NARROW_ROWS 4

typedef enum sl_attn { SL_ATTN_FLASH, SL_ATTN_PLAIN } sl_attn;

/* What is fixed for a plan. */
typedef struct sl_env {
    const sl_kernels *k;
    sl_act_type act; /* for tensors of 8 bits or fewer */
    sl_attn attn;
    size_t window; /* positions that attention sees, itself included; 0: all */
    sl_limits limits;
    bool fetch;            /* weights that are multiplied soon are asked for into the cache */
    const size_t *copy_at; /* [n_threads] bytes from a weight to the thread's own copy of it; NULL: there is one */
} sl_env;

/* Consecutive tokens of one sequence in a step. */
typedef struct sl_query_block {
    uint32_t t0, n; /* tokens t0 .. t0+n-1 of the step */
    uint32_t pos0;  /* position of the first */
    uint32_t seq;
} sl_query_block;

/* One ragged batch: prompt chunks and decoding sequences together. */
typedef struct sl_step {
    size_t n;              /* tokens */
    const int32_t *token;  /* [n] */
    const uint32_t *pos;   /* [n] */
    const uint32_t *seq;   /* [n] row of the block tables */
    const uint32_t *table; /* [sequences][table_ld] page numbers */
    size_t table_ld;
    size_t n_outputs;
    const uint32_t *output; /* [n_outputs] tokens of the step whose logits are wanted */
    size_t n_blocks;
    const sl_query_block *block; /* of at most sl_attn_block_tokens() tokens each */
} sl_step;

/* Tile counters of one operation. */
#define SL_OP_PHASES 4

/* What a thread does first of an operation: a run of its tiles, taken before the operation in front of it runs, whose
 * end asks for it. */
typedef struct sl_first_run {
    sl_runs runs;        /* of one of its counters */
    size_t first, end;   /* none: both 0 */
    const void *weights; /* that it reads first; NULL: not to be asked for */
} sl_first_run;

struct sl_lane {
    const sl_env *env;
    const sl_step *step;
    sl_kv *kv;
    float *const *value; /* by value number */
    void *shared;        /* this operation's temporary, of all threads */
    void *scratch;       /* this thread's */
    sl_tiles *tiles;     /* this operation's [SL_OP_PHASES] */
    sl_runs runs;        /* of one of them, */
    size_t first, end;   /* and the run that was taken before the operation began */
    sl_first_run then;   /* that of the next operation whose implementation has `begin` */
    sl_pool *pool;
    size_t thread, n_threads;
    uint32_t barriers;        /* executed by this thread */
    uint64_t read_bytes, ops; /* by this thread, in this operation */
    uint64_t written_bytes;   /* by this thread, in this step */
    sl_trace *trace;          /* NULL: off */
    sl_span_experts experts;  /* of this operation, thread 0 */
    sl_lookahead look;
};

/* Wait for all threads, before `op` or between two parts of it. */
void sl_lane_barrier(sl_lane *lane, const sl_op *op);

static inline size_t sl_lane_rows(const sl_lane *lane, sl_rows rows)
{
    return rows == SL_ROWS_TOKENS ? lane->step->n : rows == SL_ROWS_OUTPUTS ? lane->step->n_outputs : 1;
}

/* A matrix as this thread is to read it. */
static inline sl_tensor sl_lane_weights(const sl_lane *lane, const sl_tensor *w)
{
    sl_tensor own = *w;
    if (!lane->env->copy_at)
        return own;
    const size_t by = lane->env->copy_at[lane->thread];
    const void **const at[] = { &own.data, &own.scales.scale, &own.scales.zero, &own.scales.group_of };
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        if (*at[i])
            *at[i] = (const char *)*at[i] + by;
    return own;
}

/* Where row r of a matrix lies for this thread, to be asked for (`next` of sl_linear); NULL: not to be. */
static inline const void *sl_lane_row(const sl_lane *lane, const sl_tensor *weights, size_t r)
{
    const sl_tensor w = sl_lane_weights(lane, weights);
    return lane->env->fetch && w.row_bytes ? (const char *)w.data + r * w.row_bytes : NULL;
}

/* The page of a sequence that holds position `pos`. */
static inline uint32_t sl_step_page(const sl_step *s, uint32_t seq, size_t pos, size_t P)
{
    return s->table[seq * s->table_ld + pos / P];
}

/* One implementation. `info` of the graph gives the shapes of values. */
typedef struct sl_op_impl {
    void (*run)(const sl_graph *g, const sl_op *op, sl_lane *lane);
    size_t (*shared_bytes)(const sl_graph *g, const sl_op *op, const sl_env *env);  /* NULL: none */
    size_t (*scratch_bytes)(const sl_graph *g, const sl_op *op, const sl_env *env); /* NULL: none */
    /* Before the barrier in front of `run`, when the inputs may not be there yet: ask for weights. NULL: nothing. */
    void (*fetch)(const sl_graph *g, const sl_op *op, sl_lane *lane);
    /* Before that, while another operation runs: take the first run of `tiles` [SL_OP_PHASES]. NULL: not in advance. */
    sl_first_run (*begin)(const sl_graph *g, const sl_op *op, const sl_lane *lane, sl_tiles *tiles);
} sl_op_impl;

const sl_op_impl *sl_op_impl_get(sl_op_kind kind); /* never NULL */

extern const sl_op_impl sl_linear_impl, sl_attention_impl, sl_scores_impl, sl_softmax_impl, sl_weighted_sum_impl,
    sl_rope_table_impl, sl_embed_impl, sl_norm_impl, sl_head_norm_impl, sl_rope_impl, sl_kv_write_impl, sl_add_impl,
    sl_silu_impl, sl_mul_impl, sl_clamped_glu_impl, sl_mixture_impl, sl_route_impl, sl_experts_impl, sl_combine_impl,
    sl_gate_impl, sl_latent_write_impl, sl_latent_attention_impl, sl_latent_scores_impl, sl_latent_sum_impl,
    sl_absorb_impl, sl_head_values_impl;

#endif
