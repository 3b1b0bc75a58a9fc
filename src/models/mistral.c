/* mistral.c - Mistral in Hugging Face folders: Llama's block whose attention may see a window. GGUF files of it say
 * llama. Source: Jiang et al. 2023, arXiv 2310.06825; Transformers, modeling_mistral.py. */
#include "models/config.h"
#include "models/tensors.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const sl_hf_traits traits = { .window = SL_WINDOW_ALL };
    return sl_dense_config(c, w, &traits, err);
}

static const sl_tensor_spec tensors[] = {
    SL_ROWS_ENDS, SL_ROW_ATTN_NORM, SL_ROWS_QKV, SL_ROW_ATTN_OUT, SL_ROW_FFN_NORM, SL_ROWS_FFN(SL_LAYERS_ALL),
};

const sl_arch sl_arch_mistral = { NULL,          "mistral", "MistralForCausalLM",
                                  read_config,   tensors,   sizeof tensors / sizeof *tensors,
                                  sl_dense_build };
