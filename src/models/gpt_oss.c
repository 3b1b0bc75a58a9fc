/* gpt_oss.c - gpt-oss, as Hugging Face folder and as GGUF file: attention with a sink for each head and a window in
 * every other layer, biases on all matrices, and experts picked by their logits whose gate and up are clamped.
 * Source: Transformers, modeling_gpt_oss.py and configuration_gpt_oss.py; the publisher's gpt_oss/torch/model.py;
 * GGUF: llama.cpp, conversion and tensor names of LLM_ARCH_OPENAI_MOE.
 *
 * Folders have gate and up of an expert in one tensor, their rows (or columns) alternating:
 *
 *   experts.gate_up_proj.weight  [E][2f][D] rows of 4-bit blocks, as published
 *   experts.gate_up_proj         [E][D][2f] floats, inputs first: read where they lie
 */
#include "formats/hf.h"
#include "models/config.h"
#include "models/experts.h"
#include "models/tensors.h"

#define ALPHA 1.702f /* of the clamped SwiGLU; no file says it */
#define LIMIT 7.0f   /* of folders without the key, and of GGUF files */

/* What its class supposes where one of these is missing is nobody's model, so they have to be there. */
static sl_status check_keys(const sl_json *root, sl_err *err)
{
    static const char *const needed[] = { "head_dim", "rms_norm_eps", "sliding_window" };
    const sl_json *old = sl_json_get(root, "rope_scaling"), *new = sl_json_get(root, "rope_parameters");
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!sl_json_get(root, needed[i]))
            return sl_json_fail(err, SL_EFORMAT, root, "\"%s\" is missing", needed[i]);
    if (!old && !new)
        return sl_json_fail(err, SL_EFORMAT, root, "\"rope_scaling\" is missing");
    if (!sl_json_get(root, "rope_theta") && !sl_json_get(new, "rope_theta"))
        return sl_json_fail(err, SL_EFORMAT, root, "\"rope_theta\" is missing");
    return SL_OK;
}

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_ALTERNATING, .attention_bias = true };
    const sl_hf *folder = sl_weights_hf(w);
    c->mixture = SL_MIXTURE_GPT_OSS;
    c->router = (sl_router){ .score = SL_SCORE_PICKED };
    c->glu = (sl_glu){ LIMIT, ALPHA };
    sl_status rc = folder ? check_keys(folder->config.root, err) : SL_OK;
    if (rc)
        return sl_fail_in(err, rc, "%s", folder->config.path);
    if ((rc = sl_dense_config(c, w, &traits, err)) || (rc = sl_experts_config(c, w, err)))
        return rc;
    if (!c->router.E)
        return sl_fail(err, SL_EFORMAT, "%s: key %s.expert_count is missing or 0", sl_weights_path(w),
                       sl_weights_arch(w));
    if (!folder) { /* what its files leave unsaid */
        c->window_every = 2;
        c->rope.unrounded = true;
    }
    return SL_OK;
}

/* clang-format off */
#define EXPERT(gguf, hf, field, shape, part, parts) \
    { "blk.%zu." gguf ".weight", NULL, offsetof(sl_layer, field), shape, SL_CUT_EXPERTS, SL_NEEDED, \
      SL_LAYERS_SPARSE }, \
    { NULL, SL_HF_LAYER "mlp.experts." hf ".weight", offsetof(sl_layer, field), shape, SL_CUT_EXPERTS, SL_OPTIONAL, \
      SL_LAYERS_SPARSE, SL_FORM_ROWS, part, parts }, \
    { NULL, SL_HF_LAYER "mlp.experts." hf, offsetof(sl_layer, field), shape, SL_CUT_EXPERTS, SL_OTHERWISE, \
      SL_LAYERS_SPARSE, SL_FORM_COLUMNS, part, parts }
#define EXPERT_BIAS(gguf, hf, field, shape, part, parts) \
    { "blk.%zu." gguf ".bias", NULL, offsetof(sl_layer, field), shape, SL_CUT_EXPERTS, SL_NEEDED, SL_LAYERS_SPARSE, \
      SL_FORM_VECTORS }, \
    { NULL, SL_HF_LAYER "mlp.experts." hf "_bias", offsetof(sl_layer, field), shape, SL_CUT_EXPERTS, SL_NEEDED, \
      SL_LAYERS_SPARSE, SL_FORM_VECTORS, part, parts }
/* clang-format on */

static const sl_tensor_spec tensors[] = {
    SL_ROWS_ENDS,
    SL_ROW_ATTN_NORM,
    SL_ROWS_QKV,
    SL_ROWS_QKV_BIAS(SL_NEEDED),
    { "blk.%zu.attn_sinks.weight", SL_HF_LAYER "self_attn.sinks", offsetof(sl_layer, sinks), "h", SL_CUT_OUTPUTS,
      SL_NEEDED },
    SL_ROW_ATTN_OUT,
    SL_ROW_ATTN_OUT_BIAS(SL_NEEDED),
    { "blk.%zu.post_attention_norm.weight", SL_HF_LAYER "post_attention_layernorm.weight", offsetof(sl_layer, ffn_norm),
      "D", SL_CUT_NONE, SL_NEEDED },
    { "blk.%zu.ffn_gate_inp.weight", SL_HF_LAYER "mlp.router.weight", offsetof(sl_layer, route), "ED", SL_CUT_NONE,
      SL_NEEDED, SL_LAYERS_SPARSE },
    { "blk.%zu.ffn_gate_inp.bias", SL_HF_LAYER "mlp.router.bias", offsetof(sl_layer, route_bias), "E", SL_CUT_NONE,
      SL_NEEDED, SL_LAYERS_SPARSE },
    EXPERT("ffn_gate_exps", "gate_up_proj", expert_gate, "EfD", 0, 2),
    EXPERT("ffn_up_exps", "gate_up_proj", expert_up, "EfD", 1, 2),
    EXPERT("ffn_down_exps", "down_proj", expert_down, "EDf", 0, 1),
    EXPERT_BIAS("ffn_gate_exps", "gate_up_proj", expert_gate_bias, "Ef", 0, 2),
    EXPERT_BIAS("ffn_up_exps", "gate_up_proj", expert_up_bias, "Ef", 1, 2),
    EXPERT_BIAS("ffn_down_exps", "down_proj", expert_down_bias, "ED", 0, 1),
};

const sl_arch sl_arch_gpt_oss = { "gpt-oss",     "gpt_oss", "GptOssForCausalLM",
                                  read_config,   tensors,   sizeof tensors / sizeof *tensors,
                                  sl_dense_build };
