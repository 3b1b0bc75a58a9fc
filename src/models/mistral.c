/* mistral.c - Mistral in Hugging Face folders: Llama's block whose attention may see a window. GGUF files of it say
 * llama. Source: Jiang et al. 2023, arXiv 2310.06825; Transformers, modeling_mistral.py. */
#include <stddef.h>
#include "models/config.h"

#define LAYER "model.layers.%zu."

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_ALL };
    return sl_dense_config(c, w, &traits, err);
}

static const sl_tensor_spec tensors[] = {
    { NULL, "model.embed_tokens.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, SL_NEEDED },
    { NULL, "model.norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { NULL, "lm_head.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, SL_HEAD },
    { NULL, LAYER "input_layernorm.weight", offsetof(sl_layer, attn_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { NULL, LAYER "self_attn.q_proj.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, SL_NEEDED },
    { NULL, LAYER "self_attn.k_proj.weight", offsetof(sl_layer, k), "GD", SL_CUT_OUTPUTS, SL_NEEDED },
    { NULL, LAYER "self_attn.v_proj.weight", offsetof(sl_layer, v), "GD", SL_CUT_OUTPUTS, SL_NEEDED },
    { NULL, LAYER "self_attn.o_proj.weight", offsetof(sl_layer, o), "DH", SL_CUT_INPUTS, SL_NEEDED },
    { NULL, LAYER "post_attention_layernorm.weight", offsetof(sl_layer, ffn_norm), "D", SL_CUT_NONE, SL_NEEDED },
    { NULL, LAYER "mlp.gate_proj.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS, SL_NEEDED },
    { NULL, LAYER "mlp.up_proj.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, SL_NEEDED },
    { NULL, LAYER "mlp.down_proj.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, SL_NEEDED },
};

const sl_arch sl_arch_mistral = { NULL,          "mistral", "MistralForCausalLM",
                                  read_config,   tensors,   sizeof tensors / sizeof *tensors,
                                  sl_dense_build };
