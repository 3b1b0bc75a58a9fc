/* qwen3_moe.c - Qwen3 with mixtures of experts: qwen3's attention, a softmax router whose picked weights are divided by
 * their sum unless the file says otherwise. Source: Transformers, modeling_qwen3_moe.py. */
#include <stddef.h>
#include "models/config.h"
#include "models/experts.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    c->rope_adjacent = false;
    c->mixture = true;
    c->router = (sl_router){ .score = SL_SCORE_SOFTMAX, .renorm = true };
    const sl_status rc = sl_dense_config(c, w, NULL, err);
    return rc ? rc : sl_experts_config(c, w, err);
}

static const sl_tensor_spec tensors[] = {
    { "token_embd.weight", NULL, offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, SL_NEEDED },
    { "output_norm.weight", NULL, offsetof(sl_net, out_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { "output.weight", NULL, offsetof(sl_net, head), "VD", SL_CUT_VOCAB, SL_HEAD },
    { "blk.%zu.attn_norm.weight", NULL, offsetof(sl_layer, attn_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { "blk.%zu.attn_q.weight", NULL, offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, SL_NEEDED },
    { "blk.%zu.attn_k.weight", NULL, offsetof(sl_layer, k), "GD", SL_CUT_OUTPUTS, SL_NEEDED },
    { "blk.%zu.attn_v.weight", NULL, offsetof(sl_layer, v), "GD", SL_CUT_OUTPUTS, SL_NEEDED },
    { "blk.%zu.attn_q_norm.weight", NULL, offsetof(sl_layer, q_norm), "C", SL_CUT_NONE, SL_NEEDED },
    { "blk.%zu.attn_k_norm.weight", NULL, offsetof(sl_layer, k_norm), "C", SL_CUT_NONE, SL_NEEDED },
    { "blk.%zu.attn_output.weight", NULL, offsetof(sl_layer, o), "DH", SL_CUT_INPUTS, SL_NEEDED },
    { "blk.%zu.ffn_norm.weight", NULL, offsetof(sl_layer, ffn_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { "blk.%zu.ffn_gate.weight", NULL, offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS, SL_NEEDED, SL_LAYERS_DENSE },
    { "blk.%zu.ffn_up.weight", NULL, offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, SL_NEEDED, SL_LAYERS_DENSE },
    { "blk.%zu.ffn_down.weight", NULL, offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, SL_NEEDED, SL_LAYERS_DENSE },
    { "blk.%zu.ffn_gate_inp.weight", NULL, offsetof(sl_layer, route), "ED", SL_CUT_NONE, SL_NEEDED, SL_LAYERS_SPARSE },
    { "blk.%zu.ffn_gate_exps.weight", NULL, offsetof(sl_layer, expert_gate), "EfD", SL_CUT_EXPERTS, SL_NEEDED,
      SL_LAYERS_SPARSE },
    { "blk.%zu.ffn_up_exps.weight", NULL, offsetof(sl_layer, expert_up), "EfD", SL_CUT_EXPERTS, SL_NEEDED,
      SL_LAYERS_SPARSE },
    { "blk.%zu.ffn_down_exps.weight", NULL, offsetof(sl_layer, expert_down), "EDf", SL_CUT_EXPERTS, SL_NEEDED,
      SL_LAYERS_SPARSE },
};

const sl_arch sl_arch_qwen3_moe = { "qwen3moe",    NULL, NULL, read_config, tensors, sizeof tensors / sizeof *tensors,
                                    sl_dense_build };
