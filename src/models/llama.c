/* llama.c - Llama 2, 3 and their like (SmolLM2, Mistral without window). The plain one: read this first.
 * Source: Touvron et al. 2023, arXiv 2307.09288; Transformers, modeling_llama.py. GGUF permutes
 * the rows of q and k so that rope rotates neighbouring pairs. */
#include <stddef.h>
#include "models/net.h"
#include "module/basic.h"
#include "module/linear.h"

static sl_status read_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    c->rope_adjacent = true;
    return sl_config_read_dense(c, w, err);
}

static const sl_tensor_spec tensors[] = {
    { "token_embd.weight", offsetof(sl_net, embed), "VD", SL_CUT_VOCAB, false },
    { "output_norm.weight", offsetof(sl_net, out_norm), "D", SL_CUT_NONE, false },
    { "output.weight", offsetof(sl_net, head), "VD", SL_CUT_VOCAB, true },
    { "rope_freqs.weight", offsetof(sl_net, rope_divisor), "R", SL_CUT_NONE, true },
    { "blk.%zu.attn_norm.weight", offsetof(sl_layer, attn_norm), "D", SL_CUT_NONE, false },
    { "blk.%zu.attn_q.weight", offsetof(sl_layer, q), "HD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_k.weight", offsetof(sl_layer, k), "GD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_v.weight", offsetof(sl_layer, v), "GD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.attn_output.weight", offsetof(sl_layer, o), "DH", SL_CUT_INPUTS, false },
    { "blk.%zu.ffn_norm.weight", offsetof(sl_layer, ffn_norm), "D", SL_CUT_NONE, false },
    { "blk.%zu.ffn_gate.weight", offsetof(sl_layer, gate), "FD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.ffn_up.weight", offsetof(sl_layer, up), "FD", SL_CUT_OUTPUTS, false },
    { "blk.%zu.ffn_down.weight", offsetof(sl_layer, down), "DF", SL_CUT_INPUTS, false },
};

static void build(const sl_net *m, sl_graph *g)
{
    const sl_value cs = sl_rope_table(g, m->inv_freq, m->config.rope.dim, m->rope_scale);
    sl_value x = sl_embed(g, &m->embed);
    for (size_t i = 0; i < m->config.n_layers; i++) {
        const sl_layer *l = &m->layer[i];
        const sl_attention_weights attention = sl_net_attention(m, l);
        const sl_norm norm = sl_net_norm(m, &l->ffn_norm);
        x = sl_attention(g, (int)i, x, cs, &attention);
        const sl_value up = sl_norm_swiglu(g, (int)i, x, &norm, &l->gate, &l->up);
        x = sl_linear_add(g, "ffn_down", (int)i, up, &l->down, x);
    }
    const sl_norm norm = sl_net_norm(m, &m->out_norm);
    sl_norm_linear(g, "logits", -1, x, &norm, &m->head, SL_ROWS_OUTPUTS);
}

const sl_arch sl_arch_llama = { "llama", read_config, tensors, sizeof tensors / sizeof *tensors, build };
