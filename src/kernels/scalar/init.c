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
    k->quantize = sl_quantize_scalar;
    k->rope_half = sl_rope_half_scalar;
    k->rope_adjacent = sl_rope_adjacent_scalar;
    k->kv_write_k[SL_KV_F32] = sl_kv_write_k_f32_scalar;
    k->kv_write_v[SL_KV_F32] = sl_kv_write_v_f32_scalar;
    k->attn_scores[SL_KV_F32] = sl_attn_scores_f32_scalar;
    k->attn_mix[SL_KV_F32] = sl_attn_mix_f32_scalar;
    k->kv_write_k[SL_KV_F16] = sl_kv_write_k_f16_scalar;
    k->kv_write_v[SL_KV_F16] = sl_kv_write_v_f16_scalar;
    k->attn_scores[SL_KV_F16] = sl_attn_scores_f16_scalar;
    k->attn_mix[SL_KV_F16] = sl_attn_mix_f16_scalar;
    k->kv_write_k[SL_KV_BF16] = sl_kv_write_k_bf16_scalar;
    k->kv_write_v[SL_KV_BF16] = sl_kv_write_v_bf16_scalar;
    k->attn_scores[SL_KV_BF16] = sl_attn_scores_bf16_scalar;
    k->attn_mix[SL_KV_BF16] = sl_attn_mix_bf16_scalar;
    k->attn_softmax = sl_attn_softmax_scalar;
    k->attn_fold = sl_attn_fold_scalar;
}
