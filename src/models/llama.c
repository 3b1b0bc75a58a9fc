/* llama.c - Llama 2, 3 and their like (SmolLM2, Mistral with its window). The plain one: read this first.
 * Source: Touvron et al. 2023, arXiv 2307.09288; Transformers, modeling_llama.py, whose attention_bias and mlp_bias
 * are the biases here. GGUF permutes the rows of q and k so that rope rotates neighbouring pairs. */
#include <stddef.h>
#include "models/net.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    c->rope_adjacent = true;
    return sl_dense_config(c, w, err);
}

static const sl_tensor_spec tensors[] = {
    { "token_embd.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, false },
    { "output_norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, false },
    { "output.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, true },
    { "rope_freqs.weight", offsetof(sl_net, rope_divisor), "R", SL_CUT_NONE, true },
    { "blk.%zu.attn_norm.weight", offsetof(sl_layer, attn_norm), "D", SL_CUT_NONE, false },
    { "blk.%zu.attn_q.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_k.weight", offsetof(sl_layer, k), "GD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_v.weight", offsetof(sl_layer, v), "GD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_output.weight", offsetof(sl_layer, o), "DH", SL_CUT_INPUTS, false },
    { "blk.%zu.ffn_norm.weight", offsetof(sl_layer, ffn_norm), "D", SL_CUT_NONE, false },
    { "blk.%zu.ffn_gate.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.ffn_up.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.ffn_down.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, false },
    { "blk.%zu.attn_q.bias", offsetof(sl_layer, q_bias), "H", SL_CUT_OUTPUTS, true },
    { "blk.%zu.attn_k.bias", offsetof(sl_layer, k_bias), "G", SL_CUT_OUTPUTS, true },
    { "blk.%zu.attn_v.bias", offsetof(sl_layer, v_bias), "G", SL_CUT_OUTPUTS, true },
    { "blk.%zu.attn_output.bias", offsetof(sl_layer, o_bias), "D", SL_CUT_NONE, true },
    { "blk.%zu.ffn_gate.bias", offsetof(sl_layer, gate_bias), "F", SL_CUT_OUTPUTS, true },
    { "blk.%zu.ffn_up.bias", offsetof(sl_layer, up_bias), "F", SL_CUT_OUTPUTS, true },
    { "blk.%zu.ffn_down.bias", offsetof(sl_layer, down_bias), "D", SL_CUT_NONE, true },
};

const sl_arch sl_arch_llama = { "llama", read_config, tensors, sizeof tensors / sizeof *tensors, sl_dense_build };
