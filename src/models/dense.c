/* dense.c - the layers that llama-like architectures share. */
#include "models/net.h"
#include "module/basic.h"
#include "module/latent.h"
#include "module/linear.h"
#include "module/mixture.h"

/* With norms of q and k where there are some. */
static sl_value attention(const sl_net *m, sl_graph *g, size_t layer, sl_value x, sl_value cs)
{
    if (m->config.kv_rank) {
        const sl_latent_weights w = sl_net_latent(m, &m->layer[layer]);
        return sl_latent_attention(g, (int)layer, x, cs, &w);
    }
    const sl_attention_weights w = sl_net_attention(m, &m->layer[layer]);
    return sl_attention(g, (int)layer, x, cs, &w);
}

void sl_dense_build(const sl_net *m, sl_graph *g)
{
    const sl_value cs = sl_rope_table(g, m->inv_freq, m->config.rope.dim, m->rope_scale);
    sl_value x = sl_embed(g, &m->embed);
    for (size_t i = 0; i < m->config.n_layers; i++) {
        const sl_layer *l = &m->layer[i];
        const sl_norm norm = sl_net_norm(m, &l->ffn_norm);
        x = attention(m, g, i, x, cs);
        if (l->sparse) {
            const sl_mixture mixture = sl_net_mixture(m, l);
            x = sl_norm_mixture(g, (int)i, x, &norm, &mixture);
            continue;
        }
        const sl_proj gate = sl_net_proj(&l->gate, &l->gate_bias), up = sl_net_proj(&l->up, &l->up_bias);
        const sl_proj down = sl_net_proj(&l->down, &l->down_bias);
        const sl_value inner = sl_norm_swiglu(g, (int)i, x, &norm, &gate, &up);
        x = sl_linear_add(g, "ffn_down", (int)i, inner, &down, x);
    }
    const sl_norm norm = sl_net_norm(m, &m->out_norm);
    const sl_proj head = { m->head, NULL };
    sl_norm_linear(g, "logits", -1, x, &norm, &head, SL_ROWS_OUTPUTS);
}
