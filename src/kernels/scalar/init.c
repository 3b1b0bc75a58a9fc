/* init.c - every slot of the table, plain C. */
#include "kernels/scalar/scalar_in.h"

void sl_kernels_init_scalar(sl_kernels *k)
{
    k->isa = SL_ISA_SCALAR;
    sl_linear_init_scalar(k);
    k->rms_norm = sl_rms_norm_scalar;
    k->add = sl_add_scalar;
    k->mul = sl_mul_scalar;
    k->scale = sl_scale_scalar;
    k->add_scaled = sl_add_scaled_scalar;
    k->silu = sl_silu_scalar;
    k->clamped_glu = sl_clamped_glu_scalar;
    k->quantize = sl_quantize_scalar;
    k->turn = sl_turn_scalar;
    k->rope_half = sl_rope_half_scalar;
    k->rope_adjacent = sl_rope_adjacent_scalar;
    k->round_e4m3 = sl_round_e4m3_scalar;
    k->quantize_head = sl_quantize_head_scalar;
/* In the token layout a key lies as a value does. */
#define KV(TYPE, name)                                                                                                 \
    k->kv_write_k[SL_KV_GROUPED][SL_KV_##TYPE] = sl_kv_write_k_##name##_scalar;                                        \
    k->kv_write_k[SL_KV_TOKEN][SL_KV_##TYPE] = sl_kv_write_v_##name##_scalar;                                          \
    k->kv_write_v[SL_KV_##TYPE] = sl_kv_write_v_##name##_scalar;                                                       \
    k->attn_scores[SL_KV_GROUPED][SL_KV_##TYPE] = sl_attn_scores_##name##_scalar;                                      \
    k->attn_scores[SL_KV_TOKEN][SL_KV_##TYPE] = sl_attn_scores_token_##name##_scalar;                                  \
    k->attn_mix[SL_KV_##TYPE] = sl_attn_mix_##name##_scalar;
    KV(F32, f32)
    KV(F16, f16)
    KV(BF16, bf16)
    KV(INT8, int8)
#undef KV
    k->attn_softmax = sl_attn_softmax_scalar;
    k->attn_fold = sl_attn_fold_scalar;
}
