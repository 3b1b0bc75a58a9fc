/* qwen2.c - Qwen2 and Qwen2.5, dense: Llama's block with biases on q, k and v. Source: Transformers, modeling_qwen2.py.
 */
#include "models/config.h"
#include "models/tensors.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_SWITCH };
    return sl_dense_config(c, w, &traits, err);
}

static const sl_tensor_spec tensors[] = {
    SL_ROWS_ENDS,
    SL_ROW_ATTN_NORM,
    SL_ROWS_QKV,
    SL_ROW_ATTN_OUT,
    SL_ROW_FFN_NORM,
    SL_ROWS_FFN(SL_LAYERS_ALL),
    SL_ROWS_QKV_BIAS(SL_NEEDED),
};

const sl_arch sl_arch_qwen2 = { "qwen2",       "qwen2", "Qwen2ForCausalLM",
                                read_config,   tensors, sizeof tensors / sizeof *tensors,
                                sl_dense_build };
