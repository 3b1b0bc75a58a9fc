#include "module/run.h"

#include <assert.h>

const sl_op_impl *sl_op_impl_get(sl_op_kind kind)
{
    static const sl_op_impl *const impl[SL_OP_COUNT] = {
        [SL_OP_ROPE_TABLE] = &sl_rope_table_impl,
        [SL_OP_EMBED] = &sl_embed_impl,
        [SL_OP_LINEAR] = &sl_linear_impl,
        [SL_OP_ATTENTION] = &sl_attention_impl,
        [SL_OP_NORM] = &sl_norm_impl,
        [SL_OP_HEAD_NORM] = &sl_head_norm_impl,
        [SL_OP_ROPE] = &sl_rope_impl,
        [SL_OP_KV_WRITE] = &sl_kv_write_impl,
        [SL_OP_SCORES] = &sl_scores_impl,
        [SL_OP_SOFTMAX] = &sl_softmax_impl,
        [SL_OP_WEIGHTED_SUM] = &sl_weighted_sum_impl,
        [SL_OP_ADD] = &sl_add_impl,
        [SL_OP_SILU] = &sl_silu_impl,
        [SL_OP_MUL] = &sl_mul_impl,
        [SL_OP_CLAMPED_GLU] = &sl_clamped_glu_impl,
        [SL_OP_MIXTURE] = &sl_mixture_impl,
        [SL_OP_ROUTE] = &sl_route_impl,
        [SL_OP_EXPERTS] = &sl_experts_impl,
        [SL_OP_COMBINE] = &sl_combine_impl,
        [SL_OP_GATE] = &sl_gate_impl,
        [SL_OP_LATENT_WRITE] = &sl_latent_write_impl,
        [SL_OP_LATENT_ATTENTION] = &sl_latent_attention_impl,
        [SL_OP_LATENT_SCORES] = &sl_latent_scores_impl,
        [SL_OP_LATENT_SUM] = &sl_latent_sum_impl,
        [SL_OP_ABSORB] = &sl_absorb_impl,
        [SL_OP_HEAD_VALUES] = &sl_head_values_impl,
    };
    assert((size_t)kind < SL_OP_COUNT);
    return impl[kind];
}

void sl_lane_barrier(sl_lane *lane, const sl_op *op)
{
    const uint64_t begin = sl_trace_begin(lane->trace);
    if (lane->n_threads > 1)
        sl_pool_barrier(lane->pool);
    lane->barriers++;
    sl_trace_end(lane->trace, lane->thread, "barrier", SL_SPAN_BARRIER, op->layer, (uint32_t)lane->step->n, begin, 0,
                 0);
}
