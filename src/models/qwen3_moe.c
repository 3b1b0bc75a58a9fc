/* qwen3_moe.c - Qwen3 with mixtures of experts: qwen3's attention and a softmax router. Whether the picked weights are
 * divided by their sum the file says; where it does not, a folder means no, as Transformers does, and a GGUF file yes,
 * as all of the published models do. Source: Transformers, modeling_qwen3_moe.py and configuration_qwen3_moe.py. */
#include "models/config.h"
#include "models/experts.h"
#include "models/tensors.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_SWITCH, .attention_bias = true };
    c->mixture = SL_MIXTURE_QWEN;
    c->router = (sl_router){ .score = SL_SCORE_SOFTMAX, .renorm = sl_weights_container(w) == SL_CONTAINER_GGUF };
    const sl_status rc = sl_dense_config(c, w, &traits, err);
    return rc ? rc : sl_experts_config(c, w, err);
}

static const sl_tensor_spec tensors[] = {
    SL_ROWS_ENDS,
    SL_ROW_ATTN_NORM,
    SL_ROWS_QKV,
    SL_ROWS_QK_NORM,
    SL_ROW_ATTN_OUT,
    SL_ROW_FFN_NORM,
    SL_ROWS_FFN(SL_LAYERS_DENSE),
    SL_ROW_ROUTE,
    SL_ROWS_EXPERTS,
    SL_ROWS_QKV_BIAS(SL_ATTN_BIAS),
    SL_ROW_ATTN_OUT_BIAS(SL_ATTN_BIAS),
};

const sl_arch sl_arch_qwen3_moe = { "qwen3moe",    "qwen3_moe", "Qwen3MoeForCausalLM",
                                    read_config,   tensors,     sizeof tensors / sizeof *tensors,
                                    sl_dense_build };
