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
    k->clamped_glu = sl_clamped_glu_avx2;
    k->quantize = sl_quantize_avx2;
    k->turn = sl_turn_avx2;
    k->rope_half = sl_rope_half_avx2;
    k->rope_adjacent = sl_rope_adjacent_avx2;
    k->round_e4m3 = sl_round_e4m3_avx2;
    k->quantize_head = sl_quantize_head_avx2;
#define WRITE(TYPE, name)                                                                                              \
    k->kv_write_k[SL_KV_GROUPED][SL_KV_##TYPE] = sl_kv_write_k_##name##_avx2;                                          \
    k->kv_write_k[SL_KV_TOKEN][SL_KV_##TYPE] = sl_kv_write_v_##name##_avx2;                                            \
    k->kv_write_v[SL_KV_##TYPE] = sl_kv_write_v_##name##_avx2;
    WRITE(F16, f16)
    WRITE(BF16, bf16)
    WRITE(INT8, int8)
#undef WRITE
#define ATTN(TYPE, name)                                                                                               \
    k->attn_scores[SL_KV_GROUPED][SL_KV_##TYPE] = sl_attn_scores_##name##_avx2;                                        \
    k->attn_scores[SL_KV_TOKEN][SL_KV_##TYPE] = sl_attn_scores_token_##name##_avx2;                                    \
    k->attn_mix[SL_KV_##TYPE] = sl_attn_mix_##name##_avx2;
    ATTN(F32, f32)
    ATTN(F16, f16)
    ATTN(BF16, bf16)
    ATTN(INT8, int8)
#undef ATTN
    k->attn_softmax = sl_attn_softmax_avx2;
    k->attn_fold = sl_attn_fold_avx2;
}
