/* llama.c - Llama 2, 3 and their like (SmolLM2; Mistral in GGUF files). The plain one: read this first.
 * Source: Touvron et al. 2023, arXiv 2307.09288; Transformers, modeling_llama.py, whose attention_bias and mlp_bias
 * are the biases here. GGUF permutes the rows of q and k so that rope rotates neighbouring pairs. */
#include <stddef.h>
#include "models/config.h"

#define LAYER "model.layers.%zu."

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .attention_bias = true, .mlp_bias = true };
    c->rope_adjacent = sl_weights_container(w) == SL_CONTAINER_GGUF;
    return sl_dense_config(c, w, &traits, err);
}

static const sl_tensor_spec tensors[] = {
    { "token_embd.weight", "model.embed_tokens.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, SL_NEEDED },
    { "output_norm.weight", "model.norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { "output.weight", "lm_head.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, SL_HEAD },
    { "rope_freqs.weight", NULL, offsetof(sl_net, rope_divisor), "R", SL_CUT_NONE, SL_OPTIONAL },
    /* Of folders from before Transformers computed it. */
    { NULL, LAYER "self_attn.rotary_emb.inv_freq", 0, "R", SL_CUT_NONE, SL_UNUSED },
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
      SL_ATTN_BIAS },
    { "blk.%zu.attn_k.bias", LAYER "self_attn.k_proj.bias", offsetof(sl_layer, k_bias), "G", SL_CUT_OUTPUTS,
      SL_ATTN_BIAS },
    { "blk.%zu.attn_v.bias", LAYER "self_attn.v_proj.bias", offsetof(sl_layer, v_bias), "G", SL_CUT_OUTPUTS,
      SL_ATTN_BIAS },
    { "blk.%zu.attn_output.bias", LAYER "self_attn.o_proj.bias", offsetof(sl_layer, o_bias), "D", SL_CUT_NONE,
      SL_ATTN_BIAS },
    { "blk.%zu.ffn_gate.bias", LAYER "mlp.gate_proj.bias", offsetof(sl_layer, gate_bias), "F", SL_CUT_OUTPUTS,
      SL_MLP_BIAS },
    { "blk.%zu.ffn_up.bias", LAYER "mlp.up_proj.bias", offsetof(sl_layer, up_bias), "F", SL_CUT_OUTPUTS, SL_MLP_BIAS },
    { "blk.%zu.ffn_down.bias", LAYER "mlp.down_proj.bias", offsetof(sl_layer, down_bias), "D", SL_CUT_NONE,
      SL_MLP_BIAS },
};

const sl_arch sl_arch_llama = { "llama",       "llama", "LlamaForCausalLM",
                                read_config,   tensors, sizeof tensors / sizeof *tensors,
                                sl_dense_build };
