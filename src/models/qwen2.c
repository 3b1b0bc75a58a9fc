/* qwen2.c - Qwen2 and Qwen2.5, dense: Llama's block with biases on q, k and v. Source: Transformers, modeling_qwen2.py.
 */
#include <stddef.h>
#include "models/config.h"

#define LAYER "model.layers.%zu."

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_SWITCH };
    return sl_dense_config(c, w, &traits, err);
}

static const sl_tensor_spec tensors[] = {
    { "token_embd.weight", "model.embed_tokens.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, SL_NEEDED },
    { "output_norm.weight", "model.norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { "output.weight", "lm_head.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, SL_HEAD },
    { "blk.%zu.attn_norm.weight", LAYER "input_layernorm.weight", offsetof(sl_layer, attn_norm), "D", SL_CUT_NONE,
      SL_NEEDED },
    { "blk.%zu.attn_q.weight", LAYER "self_attn.q_proj.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS,
      SL_NEEDED },
    { "blk.%zu.attn_k.weight", LAYER "self_attn.k_proj.weight", offsetof(sl_layer, k), "GD", SL_CUT_OUTPUTS,
      SL_NEEDED },
    { "blk.%zu.attn_v.weight", LAYER "self_attn.v_proj.weight", offsetof(sl_layer, v), "GD", SL_CUT_OUTPUTS,
      SL_NEEDED },
    { "blk.%zu.attn_output.weight", LAYER "self_attn.o_proj.weight", offsetof(sl_layer, o), "DH", SL_CUT_INPUTS,
      SL_NEEDED },
    { "blk.%zu.ffn_norm.weight", LAYER "post_attention_layernorm.weight", offsetof(sl_layer, ffn_norm), "D",
      SL_CUT_NONE, SL_NEEDED },
    { "blk.%zu.ffn_gate.weight", LAYER "mlp.gate_proj.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS,
      SL_NEEDED },
    { "blk.%zu.ffn_up.weight", LAYER "mlp.up_proj.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, SL_NEEDED },
    { "blk.%zu.ffn_down.weight", LAYER "mlp.down_proj.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS,
      SL_NEEDED },
    { "blk.%zu.attn_q.bias", LAYER "self_attn.q_proj.bias", offsetof(sl_layer, q_bias), "H", SL_CUT_OUTPUTS,
      SL_NEEDED },
    { "blk.%zu.attn_k.bias", LAYER "self_attn.k_proj.bias", offsetof(sl_layer, k_bias), "G", SL_CUT_OUTPUTS,
      SL_NEEDED },
    { "blk.%zu.attn_v.bias", LAYER "self_attn.v_proj.bias", offsetof(sl_layer, v_bias), "G", SL_CUT_OUTPUTS,
      SL_NEEDED },
};

const sl_arch sl_arch_qwen2 = { "qwen2",       "qwen2", "Qwen2ForCausalLM",
                                read_config,   tensors, sizeof tensors / sizeof *tensors,
                                sl_dense_build };
