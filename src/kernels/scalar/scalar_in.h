/* scalar_in.h - the readable twins: what each slot of the table means. */
#ifndef SL_KERNELS_SCALAR_SCALAR_IN_H
#define SL_KERNELS_SCALAR_SCALAR_IN_H

#include "kernels/kernels_in.h"

sl_rms_norm_fn sl_rms_norm_scalar;
sl_add_fn sl_add_scalar;
sl_mul_fn sl_mul_scalar;
sl_scale_fn sl_scale_scalar;
sl_add_scaled_fn sl_add_scaled_scalar;
sl_silu_fn sl_silu_scalar;
sl_clamped_glu_fn sl_clamped_glu_scalar;
sl_quantize_fn sl_quantize_scalar;
sl_round_e4m3_fn sl_round_e4m3_scalar;
sl_turn_fn sl_turn_scalar;
sl_rope_fn sl_rope_half_scalar, sl_rope_adjacent_scalar;
sl_quantize_head_fn sl_quantize_head_scalar;
sl_kv_write_fn sl_kv_write_k_f32_scalar, sl_kv_write_k_f16_scalar, sl_kv_write_k_bf16_scalar, sl_kv_write_k_int8_scalar;
sl_kv_write_fn sl_kv_write_v_f32_scalar, sl_kv_write_v_f16_scalar, sl_kv_write_v_bf16_scalar, sl_kv_write_v_int8_scalar;
sl_attn_scores_fn sl_attn_scores_f32_scalar, sl_attn_scores_f16_scalar, sl_attn_scores_bf16_scalar,
    sl_attn_scores_int8_scalar;
sl_attn_scores_fn sl_attn_scores_token_f32_scalar, sl_attn_scores_token_f16_scalar, sl_attn_scores_token_bf16_scalar,
    sl_attn_scores_token_int8_scalar;
sl_attn_softmax_fn sl_attn_softmax_scalar;
sl_attn_mix_fn sl_attn_mix_f32_scalar, sl_attn_mix_f16_scalar, sl_attn_mix_bf16_scalar, sl_attn_mix_int8_scalar;
sl_attn_fold_fn sl_attn_fold_scalar;

#endif
