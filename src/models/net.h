/* net.h - an architecture: names, settings, tensors and how they are put together.
 *
 * A new one is a file that fills struct sl_arch and a line in registry.c.
 */
#ifndef SL_MODELS_NET_H
#define SL_MODELS_NET_H

#include "base/mem.h"
#include "base/status.h"
#include "formats/weights.h"
#include "graph/graph.h"
#include "module/attention.h"
#include "module/latent.h"
#include "module/rope.h"

/* Letters of tensor shapes: D model width, F ffn width, H query heads, G KV heads (times head
 * width C in a projection), h the number of query heads, V vocabulary, E experts, f the width of one, s of the shared
 * one. Of latent attention: Q rank of the queries, L of the latents, l with their rotated part, B what kv_b makes of
 * one, O values of all heads.
 */
typedef enum sl_mixture_kind {
    SL_MIXTURE_NONE,
    SL_MIXTURE_QWEN,
    SL_MIXTURE_DEEPSEEK,
    SL_MIXTURE_GPT_OSS
} sl_mixture_kind;

typedef struct sl_config {
    size_t n_layers, n_vocab, n_ctx_train;
    size_t D, F, H, Hkv, C;
    float norm_eps;
    sl_rope rope;
    bool rope_adjacent;
    size_t n_ctx_max;                  /* positions beyond which its rope is another one; 0: no such limit */
    size_t window;                     /* positions that attention sees in layers that have a window; 0: all */
    size_t window_from;                /* the first layer with that window */
    size_t window_every;               /* and of those from then on, each so many-th has it (0 is 1) */
    const struct sl_json *layer_types; /* or each layer's kind as config.json has it; NULL: window_from and _every */
    /* Of architectures with latent attention; C is then nope + rope.dim. */
    bool latent;
    size_t q_rank, kv_rank; /* q_rank 0: queries have none; kv_rank 0: no latent attention */
    size_t nope, v_width;   /* of a head: the part of its key that is not rotated, its value */
    /* Of architectures with mixtures of experts. */
    sl_mixture_kind mixture; /* this is one, and whose keys tell of its experts */
    sl_glu glu;
    sl_router router;     /* E is 0 in a model without; its correction is each layer's own */
    size_t f, s;          /* width of an expert, of the shared expert (0: none) */
    size_t n_dense_first; /* layers before the first with experts; those from then on have them that are */
    size_t sparse_step;   /* the last of so many (0 is 1), and not in this list of config.json's (NULL: none) */
    size_t sparse_freq;   /* and the first of so many (0 is 1), as DeepSeek counts them */
    const struct sl_json *dense_layers;
    size_t n_extra_layers;    /* behind the last one, for training or guessing ahead: not read */
    bool tied;                /* head is the embedding */
    bool attn_bias, mlp_bias; /* a folder's: the biases of attention and of the ffn are there */
} sl_config;

/* Weights of one decoder layer; what an architecture or the layer lacks stays empty. */
typedef struct sl_layer {
    bool sparse; /* its feed-forward block is a mixture of experts */
    sl_tensor attn_norm, q, k, v, o, q_norm, k_norm;
    sl_tensor q_a, q_a_norm, kv_a, kv_a_norm, kv_b;
    sl_tensor ffn_norm, gate, up, down;
    sl_tensor q_bias, k_bias, v_bias, o_bias, q_a_bias, kv_a_bias, gate_bias, up_bias, down_bias;
    sl_tensor sinks, route, route_bias, expert_gate_bias, expert_up_bias, expert_down_bias; /* the last three [E][.] */
    sl_tensor correction, shared_gate, shared_up, shared_down, shared_mix;
    const sl_tensor *expert_gate, *expert_up, *expert_down; /* [E] */
    size_t window;                                          /* positions that its attention sees; 0: all */
} sl_layer;

typedef struct sl_arch sl_arch;

typedef struct sl_net {
    const sl_arch *arch;
    sl_weights *weights; /* owned */
    sl_config config;
    sl_tensor embed, out_norm, head, rope_divisor;
    sl_layer *layer; /* [n_layers] */
    float *inv_freq; /* [rope.dim / 2] */
    float rope_scale;
    size_t n_params, weight_bytes;
    size_t unread_bytes;                   /* of tensors in the files that nothing reads */
    size_t widened_bytes;                  /* of vectors that are not read where they lie, but from copies in f32 */
    size_t n_of_experts, bytes_of_experts; /* likewise, in the experts' matrices */
    size_t n_active, active_bytes;         /* of them for one token: its experts only, one row of the embedding */
    const sl_weight_info *unsupported;     /* the first tensor of a type that cannot be run; NULL: none */
    sl_arena arena;
} sl_net;

/* Where the axis of a matrix may be cut for tensor parallelism. */
typedef enum sl_cut { SL_CUT_NONE, SL_CUT_OUTPUTS, SL_CUT_INPUTS, SL_CUT_VOCAB, SL_CUT_EXPERTS } sl_cut;

/* Whether a tensor must be there. */
typedef enum sl_need {
    SL_NEEDED,
    SL_OPTIONAL,
    SL_HEAD,      /* the output matrix: needed unless it is the embedding */
    SL_ATTN_BIAS, /* as the settings say; a GGUF file does not say: optional */
    SL_MLP_BIAS,
    SL_SHARED,    /* of the shared expert: needed, if the settings have one */
    SL_OTHERWISE, /* another form of what an earlier row names: needed if that is not there */
    SL_UNUSED,    /* may be there, is not read */
} sl_need;

/* Which layers have a tensor: all, or those whose feed-forward block is a mixture, or the others; all of a model whose
 * queries have a rank, or of one whose have none. */
typedef enum sl_layers {
    SL_LAYERS_ALL,
    SL_LAYERS_DENSE,
    SL_LAYERS_SPARSE,
    SL_LAYERS_Q_RANK,
    SL_LAYERS_Q_PLAIN,
} sl_layers;

/* How experts' weights lie in a tensor of all of them. */
typedef enum sl_form {
    SL_FORM_ROWS,    /* [E][rows][cols] */
    SL_FORM_COLUMNS, /* [E][cols][rows]: inputs, then outputs */
    SL_FORM_VECTORS, /* [E][rows], the shape's two letters: a bias of each */
} sl_form;

/* One row of an architecture's tensor table. */
typedef struct sl_tensor_spec {
    const char *gguf; /* "blk.%zu.attn_q.weight"; with %zu: one in each layer; NULL: not in this container */
    const char *hf;   /* "model.layers.%zu.self_attn.q_proj.weight", likewise */
    size_t offset;    /* of the sl_tensor in sl_layer, or in sl_net without %zu */
    const char
        *shape; /* letters, outputs then inputs: "HD", a vector has one. Three: one matrix for each expert, and
                 * at the offset lies a pointer to a list of them; a name with a second %zu: one tensor for each */
    sl_cut cut;
    sl_need need;
    sl_layers layers;
    sl_form form;
    size_t part, parts; /* the tensor has `parts` (0 is 1) matrices whose rows alternate, and this is that one */
} sl_tensor_spec;

struct sl_arch {
    const char *gguf;     /* as general.architecture has it; NULL: no GGUF files of its own */
    const char *hf;       /* "model_type" of config.json; NULL: no folders */
    const char *hf_class; /* one of its "architectures" */
    sl_status (*read_config)(sl_config *c, const sl_weights *w, sl_err *err);
    const sl_tensor_spec *tensors;
    size_t n_tensors;
    void (*build)(const sl_net *m, sl_graph *g); /* appends; the last operation's output is the logits */
    const char *hf_class_too;                    /* another of them; or NULL */
};

/* The architecture of a checkpoint. SL_EUNSUPPORTED names it, and those that are known in its container. */
sl_status sl_arch_find(const sl_arch **out, const sl_weights *w, sl_err *err);
const char *sl_arch_name(const sl_arch *arch);

/* Open the file or folder, read settings, find each tensor and check its shape. Tensors that the
 * architecture does not know are refused: silently ignoring one gives wrong answers. */
sl_status sl_net_load(sl_net **out, const char *path, const sl_overrides *overrides, sl_err *err);
void sl_net_free(sl_net *m); /* accepts NULL */
/* SL_EUNSUPPORTED, with the tensor's name and type, for a model that can be described but not run. */
sl_status sl_net_runs(const sl_net *m, sl_err *err);

/* What llama-like architectures share (dense.c). */
void sl_dense_build(const sl_net *m, sl_graph *g);
sl_proj sl_net_proj(const sl_tensor *w, const sl_tensor *bias);
sl_norm sl_net_norm(const sl_net *m, const sl_tensor *weight);
sl_mixture sl_net_mixture(const sl_net *m, const sl_layer *l);
sl_attention_weights sl_net_attention(const sl_net *m, const sl_layer *l);
sl_latent_weights sl_net_latent(const sl_net *m, const sl_layer *l);

/* The heads as attention over the cache sees them, H, Hkv and C. */
sl_heads sl_net_heads(const sl_net *m, sl_mla mla);

/* Whether a tensor is of a layer that is there but not run. */
bool sl_net_skips(const sl_net *m, const char *name);

#endif
