/* qwen3_moe.c - Qwen3 with mixtures of experts: qwen3's attention and a softmax router. Whether the picked weights are
 * divided by their sum the file says; where it does not, a folder means no, as Transformers does, and a GGUF file yes,
 * as all of the published models do. Source: Transformers, modeling_qwen3_moe.py and configuration_qwen3_moe.py. */
#include <stddef.h>
#include "models/config.h"
#include "models/experts.h"

#define LAYER "model.layers.%zu."

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_SWITCH, .attention_bias = true };
    c->mixture = true;
    c->router = (sl_router){ .score = SL_SCORE_SOFTMAX, .renorm = sl_weights_container(w) == SL_CONTAINER_GGUF };
    const sl_status rc = sl_dense_config(c, w, &traits, err);
    return rc ? rc : sl_experts_config(c, w, err);
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
    { "blk.%zu.attn_q_norm.weight", LAYER "self_attn.q_norm.weight", offsetof(sl_layer, q_norm), "C", SL_CUT_NONE,
      SL_NEEDED },
    { "blk.%zu.attn_k_norm.weight", LAYER "self_attn.k_norm.weight", offsetof(sl_layer, k_norm), "C", SL_CUT_NONE,
      SL_NEEDED },
    { "blk.%zu.attn_output.weight", LAYER "self_attn.o_proj.weight", offsetof(sl_layer, o), "DH", SL_CUT_INPUTS,
      SL_NEEDED },
    { "blk.%zu.ffn_norm.weight", LAYER "post_attention_layernorm.weight", offsetof(sl_layer, ffn_norm), "D",
      SL_CUT_NONE, SL_NEEDED },
    { "blk.%zu.ffn_gate.weight", LAYER "mlp.gate_proj.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS,
      SL_NEEDED, SL_LAYERS_DENSE },
    { "blk.%zu.ffn_up.weight", LAYER "mlp.up_proj.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, SL_NEEDED,
      SL_LAYERS_DENSE },
    { "blk.%zu.ffn_down.weight", LAYER "mlp.down_proj.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, SL_NEEDED,
      SL_LAYERS_DENSE },
    { "blk.%zu.ffn_gate_inp.weight", LAYER "mlp.gate.weight", offsetof(sl_layer, route), "ED", SL_CUT_NONE, SL_NEEDED,
      SL_LAYERS_SPARSE },
    { "blk.%zu.ffn_gate_exps.weight", LAYER "mlp.experts.%zu.gate_proj.weight", offsetof(sl_layer, expert_gate), "EfD",
      SL_CUT_EXPERTS, SL_NEEDED, SL_LAYERS_SPARSE },
    { "blk.%zu.ffn_up_exps.weight", LAYER "mlp.experts.%zu.up_proj.weight", offsetof(sl_layer, expert_up), "EfD",
      SL_CUT_EXPERTS, SL_NEEDED, SL_LAYERS_SPARSE },
    { "blk.%zu.ffn_down_exps.weight", LAYER "mlp.experts.%zu.down_proj.weight", offsetof(sl_layer, expert_down), "EDf",
      SL_CUT_EXPERTS, SL_NEEDED, SL_LAYERS_SPARSE },
    { "blk.%zu.attn_q.bias", LAYER "self_attn.q_proj.bias", offsetof(sl_layer, q_bias), "H", SL_CUT_OUTPUTS,
      SL_ATTN_BIAS },
    { "blk.%zu.attn_k.bias", LAYER "self_attn.k_proj.bias", offsetof(sl_layer, k_bias), "G", SL_CUT_OUTPUTS,
      SL_ATTN_BIAS },
    { "blk.%zu.attn_v.bias", LAYER "self_attn.v_proj.bias", offsetof(sl_layer, v_bias), "G", SL_CUT_OUTPUTS,
      SL_ATTN_BIAS },
    { "blk.%zu.attn_output.bias", LAYER "self_attn.o_proj.bias", offsetof(sl_layer, o_bias), "D", SL_CUT_NONE,
      SL_ATTN_BIAS },
};

const sl_arch sl_arch_qwen3_moe = { "qwen3moe",    "qwen3_moe", "Qwen3MoeForCausalLM",
                                    read_config,   tensors,     sizeof tensors / sizeof *tensors,
                                    sl_dense_build };
