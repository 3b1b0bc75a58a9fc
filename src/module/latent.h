/* latent.h - multi-head latent attention over the paged cache of latent rows. Source: DeepSeek-V2, arXiv 2405.04434,
 * section 2.1 and appendix C; as computed by Transformers (modeling_deepseek_v3.py).
 *
 * Expanded: keys and values of a head are made of the rows, chunk by chunk, each time they are read: slow, and what the
 * other form is held against. Absorbed: with a row (c, k) the score q_n (W_k c) + q_r k is (W_k^T q_n) c + q_r k, and
 * the sum of p W_v c is W_v times the sum of p c: attention whose keys and values are the rows, for all heads the same.
 * The form is the plan's, whatever the tokens of a step.
 */
#ifndef SL_MODULE_LATENT_H
#define SL_MODULE_LATENT_H

#include "graph/graph.h"
#include "module/run.h"

/* x -> x + attention(rms_norm(x)) w_o^T. */
typedef struct sl_latent_weights {
    sl_norm norm;
    sl_proj q_a; /* [rank][D], before q; no data: there is none */
    sl_norm q_norm;
    sl_proj q;    /* [H*(N+r)] */
    sl_proj kv_a; /* [R+r][D] */
    sl_norm kv_norm;
    sl_tensor kv_b; /* [H*(N+V)][R] */
    sl_proj o;
    sl_latent latent;
    sl_heads heads; /* of the queries: C is N + r, rope_at N */
} sl_latent_weights;
sl_value sl_latent_attention(sl_graph *g, int layer, sl_value x, sl_value cs, const sl_latent_weights *w);

/* How attention over the rows sees them in a form: absorbed queries are cut into groups, each as if it had a KV head of
 * its own, so that the heads of one token are work for several threads. */
sl_heads sl_latent_heads(sl_mla mla, const sl_latent *latent, const sl_heads *heads);
/* Workspace of expanded attention beside its input and output, in bytes of all threads. For `info --plan`. */
size_t sl_latent_workspace(const sl_env *env, const sl_op *op);

#endif
