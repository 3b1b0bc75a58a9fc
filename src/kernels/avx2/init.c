/* init.c - the slots that AVX2, FMA and F16C make faster. */
#include "kernels/avx2/avx2_in.h"

void sl_kernels_init_avx2(sl_kernels *k)
{
    k->isa = SL_ISA_AVX2;
    sl_linear_init_avx2(k);
    k->rms_norm = sl_rms_norm_avx2;
    k->add = sl_add_avx2;
    k->mul = sl_mul_avx2;
    k->scale = sl_scale_avx2;
    k->add_scaled = sl_add_scaled_avx2;
    k->silu = sl_silu_avx2;
    k->quantize = sl_quantize_avx2;
    k->rope_half = sl_rope_half_avx2;
    k->rope_adjacent = sl_rope_adjacent_avx2;
    k->attn_scores[SL_KV_F32] = sl_attn_scores_f32_avx2;
    k->attn_mix[SL_KV_F32] = sl_attn_mix_f32_avx2;
    k->kv_write_k[SL_KV_F16] = sl_kv_write_k_f16_avx2;
    k->kv_write_v[SL_KV_F16] = sl_kv_write_v_f16_avx2;
    k->attn_scores[SL_KV_F16] = sl_attn_scores_f16_avx2;
    k->attn_mix[SL_KV_F16] = sl_attn_mix_f16_avx2;
    k->kv_write_k[SL_KV_BF16] = sl_kv_write_k_bf16_avx2;
    k->kv_write_v[SL_KV_BF16] = sl_kv_write_v_bf16_avx2;
    k->attn_scores[SL_KV_BF16] = sl_attn_scores_bf16_avx2;
    k->attn_mix[SL_KV_BF16] = sl_attn_mix_bf16_avx2;
    k->attn_softmax = sl_attn_softmax_avx2;
    k->attn_fold = sl_attn_fold_avx2;
}
