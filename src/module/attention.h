/* attention.h - grouped-query attention over the paged KV cache.
 *
 * Flash: online softmax. The positions that a query sees are cut into chunks of
 * SL_ATTN_CHUNK counted from position 0; each chunk is computed from zero (maximum, sum,
 * weighted values) and joined to the earlier ones in order. So the bits do not depend on
 * how queries are grouped, nor on which thread computes a chunk. Source: Dao et al. 2022,
 * arXiv 2205.14135; Milakov & Gimelshein 2018, arXiv 1805.02867.
 *
 * Narrow steps split a query's chunks over threads. What one thread has from the first chunk on it joins itself; the
 * others are joined in the prologue of the output projection (SL_PRE_MERGE).
 */
#ifndef SL_MODULE_ATTENTION_H
#define SL_MODULE_ATTENTION_H

#include "graph/graph.h"
#include "module/run.h"

/* x -> x + attention(rms_norm(x)) w_o^T: three operations. cs: the table of sl_rope_table. */
typedef struct sl_attention_weights {
    sl_norm norm;
    sl_proj q, k, v, o;
    sl_heads heads;
} sl_attention_weights;
sl_value sl_attention(sl_graph *g, int layer, sl_value x, sl_value cs, const sl_attention_weights *w);

/* Floats of the partial results, for plans whose attention is not sl_attention's. */
size_t sl_attn_partials(const sl_limits *limits, const sl_heads *heads);
/* Tokens of a query block at most, for G query heads on a KV head. */
size_t sl_attn_block_tokens(const sl_heads *heads);
/* First position that the query at `pos` sees: the model's window, or a narrower one that was asked for. */
size_t sl_attn_first_seen(const sl_env *env, const sl_heads *heads, size_t pos);
/* True when a step's attention is split by chunks, so that partial results are to be joined. */
bool sl_attn_is_split(const sl_env *env, const sl_heads *heads, const sl_step *step);
/* What a head's weighted values, summed with weights exp(score - m) whose sum is l, are to be multiplied by: the sum
 * divides them, to which the head's sink belongs as one more score without a value. One place for all forms. */
float sl_attn_closing(const sl_heads *heads, size_t head, float m, float l);
/* Of a split step: the output of head h of token t, [C], joined from its chunks in order; a [T][H][C] has those whose
 * chunks one thread had. out may be its place there. */
void sl_attn_merge(const sl_env *env, const sl_heads *heads, const sl_step *step, const float *a, const float *partials,
                   size_t t, size_t h, float *out);
/* Workspace that attention needs beside its input and output, in bytes: all threads' scratch
 * and the partial results. For `info --plan`. */
size_t sl_attn_workspace(const sl_env *env, const sl_heads *heads);

#endif
