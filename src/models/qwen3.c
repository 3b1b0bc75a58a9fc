/* qwen3.c - Qwen3, dense: Llama's block with an rms norm on each head's q and k before rope, and
 * a head width of its own. Source: Transformers, modeling_qwen3.py. */
#include "models/config.h"
#include "models/tensors.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .head_dim = 128, .window = SL_WINDOW_SWITCH, .attention_bias = true };
    return sl_dense_config(c, w, &traits, err);
}

static const sl_tensor_spec tensors[] = {
    SL_ROWS_ENDS,
    SL_ROW_ATTN_NORM,
    SL_ROWS_QKV,
    SL_ROWS_QK_NORM,
    SL_ROW_ATTN_OUT,
    SL_ROW_FFN_NORM,
    SL_ROWS_FFN(SL_LAYERS_ALL),
    SL_ROWS_QKV_BIAS(SL_ATTN_BIAS),
    SL_ROW_ATTN_OUT_BIAS(SL_ATTN_BIAS),
};

const sl_arch sl_arch_qwen3 = { "qwen3",       "qwen3", "Qwen3ForCausalLM",
                                read_config,   tensors, sizeof tensors / sizeof *tensors,
                                sl_dense_build };
