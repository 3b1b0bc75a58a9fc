/* graph.h - what a model computes, as a straight list of operations.
 *
 * A model's build() appends *composite* operations (module/ has one function for each); it
 * knows nothing of kernels, threads or memory. Each value has one producer and is a matrix of
 * f32, [rows][width]. sl_graph_expand writes the same list with chosen composites replaced by
 * the basic operations that they stand for (docs/design.md, "The plan").
 *
 *   a dense layer            fused                      expanded
 *   normed q, k, v, rope,    LINEAR pre=norm epi=qkv    NORM LINEAR LINEAR LINEAR (HEAD_NORM) ROPE KV_WRITE
 *   KV write
 *   attention                ATTENTION                  SCORES SOFTMAX WEIGHTED_SUM
 *   output, residual         LINEAR pre=merge epi=add   LINEAR ADD
 *   normed gate and up       LINEAR pre=norm epi=swiglu NORM LINEAR LINEAR SILU MUL
 *   down, residual           LINEAR epi=add             LINEAR ADD
 *
 *   or, instead of the last two, a mixture of experts: all of it is one operation
 *   normed router, experts,  MIXTURE pre=norm           NORM LINEAR ROUTE EXPERTS EXPERTS SILU MUL EXPERTS COMBINE
 *   shared expert, residual                             (LINEAR LINEAR SILU MUL LINEAR (LINEAR GATE) ADD) ADD
 *                                                       gpt-oss: CLAMPED_GLU instead of SILU MUL
 *
 *   or, instead of the first two, multi-head latent attention, in one of two forms
 *   queries, latents         LINEAR pre=norm, once, twice, and once (the ranks' norms are prologues)
 *   a latent's norm, rope    LATENT_WRITE               NORM ROPE KV_WRITE
 *   expanded: attention      LATENT_ATTENTION           ROPE LATENT_SCORES SOFTMAX LATENT_SUM
 *   absorbed: queries,       ABSORB ATTENTION           ROPE ABSORB SCORES SOFTMAX WEIGHTED_SUM
 *   attention, values        HEAD_VALUES pre=merge      HEAD_VALUES
 */
#ifndef SL_GRAPH_GRAPH_H
#define SL_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/status.h"
#include "base/tensor.h"

typedef int32_t sl_value; /* index into sl_graph.value */
#define SL_NO_VALUE (-1)

typedef enum sl_rows {
    SL_ROWS_TOKENS,  /* one row for each token of the step */
    SL_ROWS_OUTPUTS, /* one row for each token whose logits are wanted */
    SL_ROWS_ONE,     /* a block of fixed size */
} sl_rows;

typedef struct sl_value_info {
    const char *name;
    sl_rows rows;
    size_t width; /* f32 elements of a row; 0: nothing in the workspace (the KV pages) */
} sl_value_info;

typedef enum sl_op_kind {
    SL_OP_ROPE_TABLE,   /* out cs [T][rope_dim]: cosine and sine pairs of each token's position */
    SL_OP_EMBED,        /* out x [T][D] = rows of w[0] */
    SL_OP_LINEAR,       /* out = epilogue(prologue(in[0]) w^T + bias) */
    SL_OP_ATTENTION,    /* in q, kv; out a [T][H*C], partials */
    SL_OP_NORM,         /* out = rms norm of in[0]; with latent.R of its first R numbers, the others as they are */
    SL_OP_HEAD_NORM,    /* in q, k; out q', k': rms norm of each head */
    SL_OP_ROPE,         /* in q, k, cs; out q', k'; or one of them alone */
    SL_OP_KV_WRITE,     /* in k, v; out kv; or in the rows of latent attention, which are both */
    SL_OP_SCORES,       /* in q, kv; out s [T][H*ctx], scaled */
    SL_OP_SOFTMAX,      /* in s; out p [T][H*ctx] */
    SL_OP_WEIGHTED_SUM, /* in p, kv; out a [T][H*C] */
    SL_OP_ADD,          /* out = in[0] + in[1] */
    SL_OP_SILU,         /* out = silu(in[0]) */
    SL_OP_MUL,          /* out = in[0] * in[1] */
    SL_OP_CLAMPED_GLU,  /* in gate, up; out as the mixture's glu says */
    SL_OP_MIXTURE,      /* out = in[1] + experts of prologue(in[0]), see sl_mixture */
    SL_OP_ROUTE,        /* in logits [T][E]; out picks [T][2 K]: K experts as whole numbers, then their weights */
    SL_OP_EXPERTS,      /* in x [T][cols] or [T][K*cols], picks; out [T][K*rows]: each slot by its expert's matrix */
    SL_OP_COMBINE,      /* in y [T][K*D], picks; out [T][D] = sum of weight * y in the order of slots */
    SL_OP_GATE,         /* in x, g [T][1]; out = x * sigmoid(g) */
    SL_OP_LATENT_WRITE, /* in [T][R+r], cs; out kv: the first R normed, the others rotated */
    SL_OP_LATENT_ATTENTION, /* in q, kv, cs; w kv_b; out a [T][H*V]: keys and values made of what is stored */
    SL_OP_LATENT_SCORES,    /* in q, kv; w kv_b; out s [T][H*ctx], scaled */
    SL_OP_LATENT_SUM,       /* in p, kv; w kv_b; out a [T][H*V] */
    SL_OP_ABSORB,           /* in q, cs; w kv_b; out [T][H*(R+r)]: queries for the rows themselves; without cs they are
                               rotated already */
    SL_OP_HEAD_VALUES,      /* in a [T][H*(R+r)], partials; w kv_b; out [T][H*V]: values of weighted sums of rows */
    SL_OP_COUNT
} sl_op_kind;

typedef enum sl_prologue {
    SL_PRE_NONE,
    SL_PRE_NORM,  /* rms norm of in[0] with op.norm */
    SL_PRE_MERGE, /* in[0] is the attention's output, in[2] its partial results, joined here */
} sl_prologue;

typedef enum sl_epilogue {
    SL_EPI_NONE,
    SL_EPI_ADD,    /* + in[1], the residual stream */
    SL_EPI_SWIGLU, /* silu(x w[0]^T) * (x w[1]^T) */
    SL_EPI_QKV,    /* head norms, rope (in[1] = cs), q to out[0], k and v to the KV pages (out[1]) */
} sl_epilogue;

typedef struct sl_norm {
    const float *weight; /* [width] */
    float eps;
} sl_norm;

/* Geometry of grouped-query attention. */
typedef struct sl_heads {
    size_t H, Hkv, C;             /* query heads, kv heads, head width */
    size_t rope_dim, rope_at;     /* width of the part of a head that is rotated, and where it begins */
    bool rope_adjacent;           /* pairs (2i, 2i+1) instead of (i, i + rope_dim/2) */
    const float *q_norm, *k_norm; /* [C] or NULL */
    float norm_eps;
    float scale;        /* of the scores */
    size_t window;      /* positions that a query sees, itself included; 0: all */
    const float *sinks; /* [H] a score of each head that takes part in the softmax and has no value; or NULL. Source:
                         * Transformers, modeling_gpt_oss.py: eager_attention_forward */
} sl_heads;

/* Multi-head latent attention: a position is kept as one row of R + r numbers for all heads, a normed latent and r =
 * rope_dim numbers that are rotated. kv_b [H*(N+V)][R] makes of a latent N numbers of each head's key, to which the
 * rotated ones are the rest, and its value of V. Source: DeepSeek-V2, arXiv 2405.04434, section 2.1. */
typedef struct sl_latent {
    size_t R, N, V;
} sl_latent;

/* How it is computed, in steps of any size. */
typedef enum sl_mla {
    SL_MLA_ABSORBED, /* kv_b is multiplied into the queries and into the sums of rows: keys and values are the rows */
    SL_MLA_EXPANDED, /* each head's keys and values are made of the rows, as it is written down */
} sl_mla;

/* A matrix and what is added to its product. */
typedef struct sl_proj {
    sl_tensor w;
    const float *bias; /* [w.rows] or NULL */
} sl_proj;

/* ---- mixtures of experts. E experts, K of them for a token, each of width F -------------------- */

typedef enum sl_score {
    SL_SCORE_SOFTMAX, /* over all experts */
    SL_SCORE_SIGMOID, /* of each expert alone */
    SL_SCORE_PICKED,  /* softmax over those that were picked by their logits */
} sl_score;

/* How a token finds its experts. Ties go to the lower number. Sources: DeepSeek-V3 report, arXiv 2412.19437, section
 * 2.1.2; Transformers, modeling_deepseek_v3.py and modeling_qwen3_moe.py. */
typedef struct sl_router {
    size_t E, K;
    sl_score score;
    const float *correction;        /* [E] added to the scores for the choice, never to a weight; NULL: none */
    size_t n_groups, n_groups_kept; /* groups of E / n_groups neighbours: only the best groups are looked at */
    size_t n_group_best;            /* a group is worth the sum of so many of its best scores */
    bool renorm;                    /* weights are divided by their sum + renorm_eps */
    float renorm_eps, scale;        /* scale: of all weights, renormalised or not */
} sl_router;

/* How the products of gate and up are joined. limit 0: silu(gate) * up. Else, with gate cut to limit and up to
 * -limit..limit: gate * sigmoid(alpha * gate) * (up + 1). Source of the latter: Transformers, modeling_gpt_oss.py. */
typedef struct sl_glu {
    float limit, alpha;
} sl_glu;

/* A feed-forward block of which each token takes a part:
 *   out = residual + sum over its K experts of weight * down(glu(gate x, up x)) + mix * shared expert(x)
 * where mix is sigmoid(shared_mix x), or 1. */
typedef struct sl_mixture {
    sl_router router;
    sl_tensor route;         /* [E][D] */
    const float *route_bias; /* [E] or NULL: added to the logits */
    size_t F;
    sl_glu glu;
    const float *gate_bias, *up_bias, *down_bias;  /* [E][F], [E][F], [E][D] or NULL: added to the experts' products */
    const sl_tensor *gate, *up, *down;             /* [E] of [F][D], [F][D], [D][F]; one expert's may lie anywhere */
    sl_tensor shared_gate, shared_up, shared_down; /* [S][D], [S][D], [D][S]; no data: no shared expert */
    sl_tensor shared_mix;                          /* [1][D]; no data: mix is 1 */
    uint64_t in_formats, down_formats; /* bit f: one of those matrices has format f; sl_norm_mixture sets them */
} sl_mixture;

typedef enum sl_expert_part { SL_EXPERT_GATE, SL_EXPERT_UP, SL_EXPERT_DOWN } sl_expert_part;

/* Which composites stay fused. */
enum { SL_FUSE_NORM = 1, SL_FUSE_ATTN = 2, SL_FUSE_FFN = 4, SL_FUSE_ALL = 7 };

typedef struct sl_op {
    sl_op_kind kind;
    const char *name; /* what it is in the model: "attn_qkv" */
    int32_t layer;    /* -1: outside the layers */
    unsigned group;   /* SL_FUSE_* that governs the epilogue */
    uint32_t n_in, n_out, n_w;
    sl_value in[3], out[2];
    sl_tensor w[3];
    const float *bias[3]; /* [w[i].rows] or NULL: added to the product, before any epilogue */
    sl_prologue pre;
    sl_epilogue epi;
    sl_norm norm;
    sl_heads heads;
    const float *inv_freq; /* ROPE_TABLE: [rope_dim / 2] */
    float rope_scale;      /* ROPE_TABLE: factor of cosine and sine (YaRN) */
    bool exact;            /* LINEAR: f32 activations, whatever the format of w */
    sl_latent latent;      /* of latent attention */
    const sl_mixture *mixture;
    sl_expert_part part; /* EXPERTS */
} sl_op;

/* The largest step that the list is built for. */
typedef struct sl_limits {
    size_t n_tokens, n_outputs; /* of a step */
    size_t n_ctx;               /* positions of a sequence */
    size_t n_threads;
} sl_limits;

typedef struct sl_graph {
    sl_limits limits;
    sl_mla mla;      /* the form of latent attention that build() is to write */
    sl_arena *arena; /* borrowed: everything below lives there */
    sl_op *op;
    size_t n_ops, cap_ops;
    sl_value_info *value;
    size_t n_values, cap_values;
    bool failed; /* no memory: set once, checked once, by sl_graph_check */
} sl_graph;

void sl_graph_init(sl_graph *g, sl_arena *arena, const sl_limits *limits);
sl_value sl_graph_value(sl_graph *g, const char *name, sl_rows rows, size_t width);
/* Appends a copy; its operands must exist already. */
void sl_graph_append(sl_graph *g, const sl_op *op);
sl_status sl_graph_check(const sl_graph *g, sl_err *err); /* SL_ENOMEM if an append failed */

/* out (initialised, empty) = the list of `in` with every composite outside `fuse` expanded. */
void sl_graph_expand(sl_graph *out, const sl_graph *in, unsigned fuse);

/* Shape of a value. */
static inline const sl_value_info *sl_graph_info(const sl_graph *g, sl_value v)
{
    return &g->value[v];
}

const char *sl_op_kind_name(sl_op_kind kind);

#endif
