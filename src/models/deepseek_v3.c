/* deepseek_v3.c - DeepSeek-V3 and its like (Kimi-K2) in Hugging Face folders: latent attention, and experts that a
 * sigmoid picks within groups, all but the first layers. Layers behind the last one (multi-token prediction) are left
 * unread. Source: DeepSeek-V3 report, arXiv 2412.19437; Transformers, modeling_deepseek_v3.py. */
#include "models/config.h"
#include "models/experts.h"
#include "models/tensors.h"

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
    c->mixture = SL_MIXTURE_DEEPSEEK;
    c->latent = true;
    c->router = defaults;
    const sl_status rc = sl_dense_config(c, w, &traits, err);
    return rc ? rc : sl_experts_config(c, w, err);
}

static const sl_tensor_spec tensors[] = {
    SL_ROWS_ENDS,
    SL_ROW_OLD_FREQUENCIES,
    SL_ROW_ATTN_NORM,
    { NULL, SL_HF_LAYER "self_attn.q_proj.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, SL_NEEDED,
      SL_LAYERS_Q_PLAIN },
    { NULL, SL_HF_LAYER "self_attn.q_a_proj.weight", offsetof(sl_layer, q_a), "QD", SL_CUT_NONE, SL_NEEDED,
      SL_LAYERS_Q_RANK },
    { NULL, SL_HF_LAYER "self_attn.q_a_proj.bias", offsetof(sl_layer, q_a_bias), "Q", SL_CUT_NONE, SL_ATTN_BIAS,
      SL_LAYERS_Q_RANK },
    { NULL, SL_HF_LAYER "self_attn.q_a_layernorm.weight", offsetof(sl_layer, q_a_norm), "Q", SL_CUT_NONE, SL_NEEDED,
      SL_LAYERS_Q_RANK },
    { NULL, SL_HF_LAYER "self_attn.q_b_proj.weight", offsetof(sl_layer, q), "HQ", SL_CUT_OUTPUTS, SL_NEEDED,
      SL_LAYERS_Q_RANK },
    { NULL, SL_HF_LAYER "self_attn.kv_a_proj_with_mqa.weight", offsetof(sl_layer, kv_a), "lD", SL_CUT_NONE, SL_NEEDED },
    { NULL, SL_HF_LAYER "self_attn.kv_a_proj_with_mqa.bias", offsetof(sl_layer, kv_a_bias), "l", SL_CUT_NONE,
      SL_ATTN_BIAS },
    { NULL, SL_HF_LAYER "self_attn.kv_a_layernorm.weight", offsetof(sl_layer, kv_a_norm), "L", SL_CUT_NONE, SL_NEEDED },
    { NULL, SL_HF_LAYER "self_attn.kv_b_proj.weight", offsetof(sl_layer, kv_b), "BL", SL_CUT_OUTPUTS, SL_NEEDED },
    { NULL, SL_HF_LAYER "self_attn.o_proj.weight", offsetof(sl_layer, o), "DO", SL_CUT_INPUTS, SL_NEEDED },
    SL_ROW_ATTN_OUT_BIAS(SL_ATTN_BIAS),
    SL_ROW_FFN_NORM,
    SL_ROWS_FFN(SL_LAYERS_DENSE),
    SL_ROW_ROUTE,
    { NULL, SL_HF_LAYER "mlp.gate.e_score_correction_bias", offsetof(sl_layer, correction), "E", SL_CUT_NONE, SL_NEEDED,
      SL_LAYERS_SPARSE },
    SL_ROWS_EXPERTS,
    { NULL, SL_HF_LAYER "mlp.shared_experts.gate_proj.weight", offsetof(sl_layer, shared_gate), "sD", SL_CUT_OUTPUTS,
      SL_SHARED, SL_LAYERS_SPARSE },
    { NULL, SL_HF_LAYER "mlp.shared_experts.up_proj.weight", offsetof(sl_layer, shared_up), "sD", SL_CUT_OUTPUTS,
      SL_SHARED, SL_LAYERS_SPARSE },
    { NULL, SL_HF_LAYER "mlp.shared_experts.down_proj.weight", offsetof(sl_layer, shared_down), "Ds", SL_CUT_INPUTS,
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
