/* qwen3.c - Qwen3, dense: Llama's block with an rms norm on each head's q and k before rope, and
 * a head width of its own. Source: Transformers, modeling_qwen3.py. */
#include <stddef.h>
#include "models/net.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    c->rope_adjacent = false;
    return sl_dense_config(c, w, err);
}

static const sl_tensor_spec tensors[] = {
    { "token_embd.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, false },
    { "output_norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, false },
    { "output.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, true },
    { "blk.%zu.attn_norm.weight", offsetof(sl_layer, attn_norm), "D", SL_CUT_NONE, false },
    { "blk.%zu.attn_q.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_k.weight", offsetof(sl_layer, k), "GD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_v.weight", offsetof(sl_layer, v), "GD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_q_norm.weight", offsetof(sl_layer, q_norm), "C", SL_CUT_NONE, false },
    { "blk.%zu.attn_k_norm.weight", offsetof(sl_layer, k_norm), "C", SL_CUT_NONE, false },
    { "blk.%zu.attn_output.weight", offsetof(sl_layer, o), "DH", SL_CUT_INPUTS, false },
    { "blk.%zu.ffn_norm.weight", offsetof(sl_layer, ffn_norm), "D", SL_CUT_NONE, false },
    { "blk.%zu.ffn_gate.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.ffn_up.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.ffn_down.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, false },
};

const sl_arch sl_arch_qwen3 = { "qwen3", read_config, tensors, sizeof tensors / sizeof *tensors, sl_dense_build };
