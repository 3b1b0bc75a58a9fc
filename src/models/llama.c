/* llama.c - Llama 2, 3 and their like (SmolLM2; Mistral in GGUF files). The plain one: read this first.
 * Source: Touvron et al. 2023, arXiv 2307.09288; Transformers, modeling_llama.py, whose attention_bias and mlp_bias
 * are the biases here. GGUF permutes the rows of q and k so that rope rotates neighbouring pairs. */
#include "models/config.h"
#include "models/tensors.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .attention_bias = true, .mlp_bias = true };
    c->rope_adjacent = sl_weights_container(w) == SL_CONTAINER_GGUF;
    return sl_dense_config(c, w, &traits, err);
}

static const sl_tensor_spec tensors[] = {
    SL_ROWS_ENDS,
    { "rope_freqs.weight", NULL, offsetof(sl_net, rope_divisor), "R", SL_CUT_NONE, SL_OPTIONAL },
    SL_ROW_OLD_FREQUENCIES,
    SL_ROW_ATTN_NORM,
    SL_ROWS_QKV,
    SL_ROW_ATTN_OUT,
    SL_ROW_FFN_NORM,
    SL_ROWS_FFN(SL_LAYERS_ALL),
    SL_ROWS_QKV_BIAS(SL_ATTN_BIAS),
    SL_ROW_ATTN_OUT_BIAS(SL_ATTN_BIAS),
    { "blk.%zu.ffn_gate.bias", SL_HF_LAYER "mlp.gate_proj.bias", offsetof(sl_layer, gate_bias), "F", SL_CUT_OUTPUTS,
      SL_MLP_BIAS },
    { "blk.%zu.ffn_up.bias", SL_HF_LAYER "mlp.up_proj.bias", offsetof(sl_layer, up_bias), "F", SL_CUT_OUTPUTS,
      SL_MLP_BIAS },
    { "blk.%zu.ffn_down.bias", SL_HF_LAYER "mlp.down_proj.bias", offsetof(sl_layer, down_bias), "D", SL_CUT_NONE,
      SL_MLP_BIAS },
};

const sl_arch sl_arch_llama = { "llama",       "llama", "LlamaForCausalLM",
                                read_config,   tensors, sizeof tensors / sizeof *tensors,
                                sl_dense_build };
