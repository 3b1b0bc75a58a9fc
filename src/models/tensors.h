/* tensors.h - rows of tensor tables that architectures have in common, with their names in GGUF files and in Hugging
 * Face folders. A table lists what its architecture has; names of a container that it does not come in are never asked
 * for. */
#ifndef SL_MODELS_TENSORS_H
#define SL_MODELS_TENSORS_H

#include <stddef.h>
#include "models/net.h"

#define SL_HF_LAYER "model.layers.%zu."

/* clang-format off */
#define SL_ROWS_ENDS \
    { "token_embd.weight", "model.embed_tokens.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, SL_NEEDED }, \
    { "output_norm.weight", "model.norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, SL_NEEDED }, \
    { "output.weight", "lm_head.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, SL_HEAD }

/* Of folders from before Transformers computed it. */
#define SL_ROW_OLD_FREQUENCIES \
    { NULL, SL_HF_LAYER "self_attn.rotary_emb.inv_freq", 0, "R", SL_CUT_NONE, SL_UNUSED }

#define SL_ROW_ATTN_NORM \
    { "blk.%zu.attn_norm.weight", SL_HF_LAYER "input_layernorm.weight", offsetof(sl_layer, attn_norm), "D", \
      SL_CUT_NONE, SL_NEEDED }
#define SL_ROWS_QKV \
    { "blk.%zu.attn_q.weight", SL_HF_LAYER "self_attn.q_proj.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, \
      SL_NEEDED }, \
    { "blk.%zu.attn_k.weight", SL_HF_LAYER "self_attn.k_proj.weight", offsetof(sl_layer, k), "GD", SL_CUT_OUTPUTS, \
      SL_NEEDED }, \
    { "blk.%zu.attn_v.weight", SL_HF_LAYER "self_attn.v_proj.weight", offsetof(sl_layer, v), "GD", SL_CUT_OUTPUTS, \
      SL_NEEDED }
#define SL_ROWS_QK_NORM \
    { "blk.%zu.attn_q_norm.weight", SL_HF_LAYER "self_attn.q_norm.weight", offsetof(sl_layer, q_norm), "C", \
      SL_CUT_NONE, SL_NEEDED }, \
    { "blk.%zu.attn_k_norm.weight", SL_HF_LAYER "self_attn.k_norm.weight", offsetof(sl_layer, k_norm), "C", \
      SL_CUT_NONE, SL_NEEDED }
#define SL_ROW_ATTN_OUT \
    { "blk.%zu.attn_output.weight", SL_HF_LAYER "self_attn.o_proj.weight", offsetof(sl_layer, o), "DH", \
      SL_CUT_INPUTS, SL_NEEDED }

#define SL_ROWS_QKV_BIAS(need) \
    { "blk.%zu.attn_q.bias", SL_HF_LAYER "self_attn.q_proj.bias", offsetof(sl_layer, q_bias), "H", SL_CUT_OUTPUTS, \
      need }, \
    { "blk.%zu.attn_k.bias", SL_HF_LAYER "self_attn.k_proj.bias", offsetof(sl_layer, k_bias), "G", SL_CUT_OUTPUTS, \
      need }, \
    { "blk.%zu.attn_v.bias", SL_HF_LAYER "self_attn.v_proj.bias", offsetof(sl_layer, v_bias), "G", SL_CUT_OUTPUTS, \
      need }
#define SL_ROW_ATTN_OUT_BIAS(need) \
    { "blk.%zu.attn_output.bias", SL_HF_LAYER "self_attn.o_proj.bias", offsetof(sl_layer, o_bias), "D", SL_CUT_NONE, \
      need }

#define SL_ROW_FFN_NORM \
    { "blk.%zu.ffn_norm.weight", SL_HF_LAYER "post_attention_layernorm.weight", offsetof(sl_layer, ffn_norm), "D", \
      SL_CUT_NONE, SL_NEEDED }
#define SL_ROWS_FFN(layers) \
    { "blk.%zu.ffn_gate.weight", SL_HF_LAYER "mlp.gate_proj.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS, \
      SL_NEEDED, layers }, \
    { "blk.%zu.ffn_up.weight", SL_HF_LAYER "mlp.up_proj.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, \
      SL_NEEDED, layers }, \
    { "blk.%zu.ffn_down.weight", SL_HF_LAYER "mlp.down_proj.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, \
      SL_NEEDED, layers }

#define SL_ROW_ROUTE \
    { "blk.%zu.ffn_gate_inp.weight", SL_HF_LAYER "mlp.gate.weight", offsetof(sl_layer, route), "ED", SL_CUT_NONE, \
      SL_NEEDED, SL_LAYERS_SPARSE }
#define SL_ROWS_EXPERTS \
    { "blk.%zu.ffn_gate_exps.weight", SL_HF_LAYER "mlp.experts.%zu.gate_proj.weight", \
      offsetof(sl_layer, expert_gate), "EfD", SL_CUT_EXPERTS, SL_NEEDED, SL_LAYERS_SPARSE }, \
    { "blk.%zu.ffn_up_exps.weight", SL_HF_LAYER "mlp.experts.%zu.up_proj.weight", offsetof(sl_layer, expert_up), \
      "EfD", SL_CUT_EXPERTS, SL_NEEDED, SL_LAYERS_SPARSE }, \
    { "blk.%zu.ffn_down_exps.weight", SL_HF_LAYER "mlp.experts.%zu.down_proj.weight", \
      offsetof(sl_layer, expert_down), "EDf", SL_CUT_EXPERTS, SL_NEEDED, SL_LAYERS_SPARSE }
/* clang-format on */

#endif
