/* deepseek_v3.c - DeepSeek-V3 and its like (Kimi-K2) in Hugging Face folders: latent attention, and experts that a
 * sigmoid picks within groups, all but the first layers. Layers behind the last one (multi-token prediction) are left
 * unread. Source: DeepSeek-V3 report, arXiv 2412.19437; Transformers, modeling_deepseek_v3.py. */
#include <stddef.h>
#include "models/config.h"
#include "models/experts.h"

#define LAYER "model.layers.%zu."

/* What Transformers' class supposes where the key is missing. */
static const sl_router defaults = {
    .score = SL_SCORE_SIGMOID,
    .n_groups = 8,
    .n_groups_kept = 4,
    .renorm = true,
    .renorm_eps = 1e-20f,
    .scale = 2.5f,
};

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_NONE, .attention_bias = true };
    c->mixture = c->latent = true;
    c->router = defaults;
    const sl_status rc = sl_dense_config(c, w, &traits, err);
    return rc ? rc : sl_experts_config(c, w, err);
}

static const sl_tensor_spec tensors[] = {
    { NULL, "model.embed_tokens.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, SL_NEEDED },
    { NULL, "model.norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { NULL, "lm_head.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, SL_HEAD },
    /* Of folders from before Transformers computed it. */
    { NULL, LAYER "self_attn.rotary_emb.inv_freq", 0, "R", SL_CUT_NONE, SL_UNUSED },
    { NULL, LAYER "input_layernorm.weight", offsetof(sl_layer, attn_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { NULL, LAYER "self_attn.q_proj.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, SL_NEEDED,
      SL_LAYERS_Q_PLAIN },
    { NULL, LAYER "self_attn.q_a_proj.weight", offsetof(sl_layer, q_a), "QD", SL_CUT_NONE, SL_NEEDED,
      SL_LAYERS_Q_RANK },
    { NULL, LAYER "self_attn.q_a_proj.bias", offsetof(sl_layer, q_a_bias), "Q", SL_CUT_NONE, SL_ATTN_BIAS,
      SL_LAYERS_Q_RANK },
    { NULL, LAYER "self_attn.q_a_layernorm.weight", offsetof(sl_layer, q_a_norm), "Q", SL_CUT_NONE, SL_NEEDED,
      SL_LAYERS_Q_RANK },
    { NULL, LAYER "self_attn.q_b_proj.weight", offsetof(sl_layer, q), "HQ", SL_CUT_OUTPUTS, SL_NEEDED,
      SL_LAYERS_Q_RANK },
    { NULL, LAYER "self_attn.kv_a_proj_with_mqa.weight", offsetof(sl_layer, kv_a), "lD", SL_CUT_NONE, SL_NEEDED },
    { NULL, LAYER "self_attn.kv_a_proj_with_mqa.bias", offsetof(sl_layer, kv_a_bias), "l", SL_CUT_NONE, SL_ATTN_BIAS },
    { NULL, LAYER "self_attn.kv_a_layernorm.weight", offsetof(sl_layer, kv_a_norm), "L", SL_CUT_NONE, SL_NEEDED },
    { NULL, LAYER "self_attn.kv_b_proj.weight", offsetof(sl_layer, kv_b), "BL", SL_CUT_OUTPUTS, SL_NEEDED },
    { NULL, LAYER "self_attn.o_proj.weight", offsetof(sl_layer, o), "DO", SL_CUT_INPUTS, SL_NEEDED },
    { NULL, LAYER "self_attn.o_proj.bias", offsetof(sl_layer, o_bias), "D", SL_CUT_NONE, SL_ATTN_BIAS },
    { NULL, LAYER "post_attention_layernorm.weight", offsetof(sl_layer, ffn_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { NULL, LAYER "mlp.gate_proj.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS, SL_NEEDED, SL_LAYERS_DENSE },
    { NULL, LAYER "mlp.up_proj.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, SL_NEEDED, SL_LAYERS_DENSE },
    { NULL, LAYER "mlp.down_proj.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, SL_NEEDED, SL_LAYERS_DENSE },
    { NULL, LAYER "mlp.gate.weight", offsetof(sl_layer, route), "ED", SL_CUT_NONE, SL_NEEDED, SL_LAYERS_SPARSE },
    { NULL, LAYER "mlp.gate.e_score_correction_bias", offsetof(sl_layer, correction), "E", SL_CUT_NONE, SL_NEEDED,
      SL_LAYERS_SPARSE },
    { NULL, LAYER "mlp.experts.%zu.gate_proj.weight", offsetof(sl_layer, expert_gate), "EfD", SL_CUT_EXPERTS, SL_NEEDED,
      SL_LAYERS_SPARSE },
    { NULL, LAYER "mlp.experts.%zu.up_proj.weight", offsetof(sl_layer, expert_up), "EfD", SL_CUT_EXPERTS, SL_NEEDED,
      SL_LAYERS_SPARSE },
    { NULL, LAYER "mlp.experts.%zu.down_proj.weight", offsetof(sl_layer, expert_down), "EDf", SL_CUT_EXPERTS, SL_NEEDED,
      SL_LAYERS_SPARSE },
    { NULL, LAYER "mlp.shared_experts.gate_proj.weight", offsetof(sl_layer, shared_gate), "sD", SL_CUT_OUTPUTS,
      SL_SHARED, SL_LAYERS_SPARSE },
    { NULL, LAYER "mlp.shared_experts.up_proj.weight", offsetof(sl_layer, shared_up), "sD", SL_CUT_OUTPUTS, SL_SHARED,
      SL_LAYERS_SPARSE },
    { NULL, LAYER "mlp.shared_experts.down_proj.weight", offsetof(sl_layer, shared_down), "Ds", SL_CUT_INPUTS,
      SL_SHARED, SL_LAYERS_SPARSE },
};

/* The same model by two names. */
#define ARCH(model_type, too)                                                                                          \
    {                                                                                                                  \
        NULL, model_type, "DeepseekV3ForCausalLM", read_config, tensors, sizeof tensors / sizeof *tensors,             \
            sl_dense_build, too                                                                                        \
    }

const sl_arch sl_arch_deepseek_v3 = ARCH("deepseek_v3", NULL);
const sl_arch sl_arch_kimi_k2 = ARCH("kimi_k2", "KimiK2ForCausalLM");
