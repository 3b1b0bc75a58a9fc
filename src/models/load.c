/* load.c - from a checkpoint to a model: the tensor table is the specification. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "formats/json.h"
#include "models/absent.h"
#include "models/experts.h"
#include "models/unknown.h"
#include "models/views.h"

#define LATENT_EPS 1e-6f /* of the ranks' norms, whatever rms_norm_eps says (Transformers, DeepseekV3RMSNorm) */

static sl_status twice(const sl_net *m, const char *name, sl_err *err)
{
    return sl_fail(err, SL_EFORMAT, "%s: tensor %s: the file has these weights in another form, too",
                   sl_weights_path(m->weights), name);
}

static void count(sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info)
{
    const size_t parts = sl_spec_parts(spec);
    const size_t n = info->tensor.rows * info->tensor.cols / parts, bytes = (size_t)info->bytes / parts;
    m->n_params += n;
    m->weight_bytes += bytes;
    m->n_of_experts += sl_spec_of_experts(spec) ? n : 0;
    m->bytes_of_experts += sl_spec_of_experts(spec) ? bytes : 0;
}

/* What one token goes through: its experts, and of an embedding that is no head its row. */
static void count_active(sl_net *m)
{
    const sl_router *r = &m->config.router;
    const size_t rows = m->config.tied ? 0 : m->config.n_vocab - 1;
    const size_t n = r->E ? m->n_of_experts / r->E * (r->E - r->K) : 0;
    const size_t bytes = r->E ? m->bytes_of_experts / r->E * (r->E - r->K) : 0;
    m->n_active = m->n_params - n - rows * m->config.D;
    m->active_bytes = m->weight_bytes - bytes - rows * sl_tensor_row_cost(&m->embed);
}

static void count_unread(sl_net *m)
{
    for (size_t i = 0; i < sl_weights_count(m->weights); i++) {
        const sl_weight_info *info = sl_weights_at(m->weights, i);
        m->unread_bytes += sl_net_skips(m, info->name) ? (size_t)info->bytes : 0;
    }
}

/* *n_known grows with each tensor of the files that this row accounts for. */
static sl_status bind_one(sl_net *m, const sl_tensor_spec *spec, const char *name, void *base, size_t *n_known,
                          sl_err *err)
{
    const sl_weight_info *info = sl_weights_find(m->weights, name);
    void *at = (char *)base + spec->offset;
    bool needed = false, known = false, used = false;
    sl_spec_needs(m, spec, &needed, &known, &used);
    if (spec->need == SL_OTHERWISE && *(const sl_tensor **)at)
        return info ? twice(m, name, err) : SL_OK;
    if (!info)
        return needed ? sl_net_lacks(m, spec, name, err) : SL_OK;
    *n_known += known && !spec->part; /* each of its parts has a row of its own */
    if (!used)
        return SL_OK;
    sl_status rc = sl_view_check(m, spec, info, err);
    if (rc)
        return rc;
    sl_tensor t = info->tensor;
    if (t.format == SL_FORMAT_COUNT && !m->unsupported)
        m->unsupported = info; /* refused when it is to be run */
    count(m, spec, info);
    const bool readable = t.format != SL_FORMAT_COUNT;
    if (spec->form == SL_FORM_VECTORS)
        return readable ? sl_view_vectors(m, spec, info, at, err) : SL_OK;
    if (sl_spec_of_experts(spec))
        return sl_view_experts(m, spec, info, at, err);
    if (readable && sl_spec_is_vector(spec) && (rc = sl_view_vector(m, info, &t, err)))
        return rc;
    *(sl_tensor *)at = t;
    return SL_OK;
}

/* Matrices of experts that are tensors of their own, anywhere in the files. */
static sl_status bind_experts(sl_net *m, const sl_tensor_spec *spec, const char *pattern, void *base, size_t *n_known,
                              sl_err *err)
{
    const size_t E = m->config.router.E;
    /* As one of them, with the first of its list in place of the tensor in the layer. */
    sl_tensor_spec one = *spec;
    one.offset = 0;
    one.shape++;
    sl_tensor *list = E <= sl_weights_count(m->weights) ? sl_arena_alloc(&m->arena, E, sizeof *list) : NULL;
    if (E > sl_weights_count(m->weights))
        return sl_fail(err, SL_EFORMAT, "%s: %zu experts, but there are only %zu tensors", sl_weights_path(m->weights),
                       E, sl_weights_count(m->weights));
    if (!list)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for a list of %zu experts", sl_weights_path(m->weights), E);
    for (size_t e = 0; e < E; e++) {
        char name[SL_TENSOR_NAME_MAX];
        const size_t n = m->n_params, bytes = m->weight_bytes;
        sl_spec_fill_in(name, pattern, e);
        const sl_status rc = bind_one(m, &one, name, &list[e], n_known, err);
        if (rc)
            return rc;
        m->n_of_experts += m->n_params - n;
        m->bytes_of_experts += m->weight_bytes - bytes;
    }
    *(const sl_tensor **)(void *)((char *)base + spec->offset) = list;
    return SL_OK;
}

bool sl_net_skips(const sl_net *m, const char *name)
{
    static const char layers[] = "model.layers.";
    const char *digits = name + sizeof layers - 1;
    char *end = NULL;
    if (!m->config.n_extra_layers || strncmp(name, layers, sizeof layers - 1) != 0 || *digits < '0' || *digits > '9')
        return false;
    const unsigned long long n = strtoull(digits, &end, 10);
    return *end == '.' && n >= m->config.n_layers && n - m->config.n_layers < m->config.n_extra_layers;
}

static sl_status bind_tensors(sl_net *m, sl_err *err)
{
    size_t n_known = 0;
    for (size_t s = 0; s < m->arch->n_tensors; s++) {
        const sl_tensor_spec *spec = &m->arch->tensors[s];
        const char *pattern = sl_spec_name(m, spec);
        const bool of_layer = pattern && strstr(pattern, "%zu");
        for (size_t l = 0; pattern && l < (of_layer ? m->config.n_layers : 1); l++) {
            char name[SL_TENSOR_NAME_MAX];
            if (of_layer && !sl_spec_in_layer(m, spec, l))
                continue;
            if (of_layer)
                sl_spec_fill_in(name, pattern, l);
            void *base = of_layer ? (void *)&m->layer[l] : (void *)m;
            const bool each = of_layer && strstr(name, "%zu"); /* expert has tensors of its own */
            const sl_status rc = each ? bind_experts(m, spec, name, base, &n_known, err)
                                      : bind_one(m, spec, of_layer ? name : pattern, base, &n_known, err);
            if (rc)
                return rc;
        }
    }
    if (!m->head.data) {
        m->config.tied = true; /* a GGUF file says so by leaving it out */
        m->head = m->embed;
    }
    return n_known == sl_weights_count(m->weights) ? SL_OK : sl_net_check_unknown(m, err);
}

/* The vocabulary's size, which only folders have among their settings. */
static sl_status read_vocab_size(sl_net *m, sl_err *err)
{
    const char *path = sl_weights_path(m->weights), *name = NULL;
    for (size_t s = 0; s < m->arch->n_tensors && !name; s++)
        if (m->arch->tensors[s].offset == offsetof(sl_net, embed) && m->arch->tensors[s].shape[0] == 'V')
            name = sl_spec_name(m, &m->arch->tensors[s]);
    const sl_weight_info *embed = sl_weights_find(m->weights, name);
    if (!embed)
        return sl_fail(err, SL_EFORMAT, "%s: missing tensor %s", path, name);
    if (embed->tensor.rows > INT32_MAX)
        return sl_fail(err, SL_EFORMAT, "%s: tensor %s has %zu rows", path, name, embed->tensor.rows);
    if (m->config.n_vocab && m->config.n_vocab != embed->tensor.rows)
        return sl_fail(err, SL_EFORMAT, "%s: vocab_size %zu, but tensor %s has %zu rows", path, m->config.n_vocab, name,
                       embed->tensor.rows);
    m->config.n_vocab = embed->tensor.rows;
    return SL_OK;
}

/* Each layer has tensors, so a count beyond the files' is refused before it costs memory. */
static sl_status make_layers(sl_net *m, sl_err *err)
{
    const sl_config *c = &m->config;
    const char *path = sl_weights_path(m->weights);
    const size_t n = c->n_layers;
    if (n > sl_weights_count(m->weights))
        return sl_fail(err, SL_EFORMAT, "%s: %s %zu, but there are only %zu tensors", path,
                       sl_weights_container(m->weights) == SL_CONTAINER_HF ? "num_hidden_layers" : "block_count", n,
                       sl_weights_count(m->weights));
    m->layer = sl_arena_alloc(&m->arena, n, sizeof *m->layer);
    m->inv_freq = sl_arena_alloc(&m->arena, c->rope.dim / 2, sizeof *m->inv_freq);
    if (!m->layer || !m->inv_freq)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for %zu layers", path, n);
    const sl_json *type = c->layer_types ? c->layer_types->first : NULL;
    for (size_t i = 0; i < n; i++)
        m->layer[i].sparse = sl_experts_in_layer(c, i);
    for (size_t i = 0; i < n; i++, type = type ? type->next : NULL)
        if (type ? sl_json_is(type, "sliding_attention") : i >= c->window_from && i % SL_MAX(c->window_every, 1) == 0)
            m->layer[i].window = c->window;
    return SL_OK;
}

static sl_status load(sl_net *m, const char *path, const sl_overrides *overrides, sl_err *err)
{
    sl_status rc = sl_weights_open_with(&m->weights, path, overrides, err);
    if (!rc)
        rc = sl_arch_find(&m->arch, m->weights, err);
    if (!rc)
        rc = m->arch->read_config(&m->config, m->weights, err);
    if (!rc)
        rc = read_vocab_size(m, err);
    if (!rc)
        rc = make_layers(m, err);
    if (!rc)
        rc = bind_tensors(m, err);
    if (!rc) {
        count_active(m);
        count_unread(m);
    }
    if (rc || m->unsupported)
        return rc; /* its vectors may not be numbers that can be read */
    m->config.rope.divisor = m->rope_divisor.data;
    m->rope_scale = sl_rope_frequencies(&m->config.rope, m->inv_freq);
    return SL_OK;
}

sl_status sl_net_load(sl_net **out, const char *path, const sl_overrides *overrides, sl_err *err)
{
    *out = NULL;
    sl_net *m = sl_mem_zalloc(1, sizeof *m);
    if (!m)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for the model's description", path);
    sl_arena_init(&m->arena, 1 << 14);
    const sl_status rc = load(m, path, overrides, err);
    if (rc) {
        sl_net_free(m);
        return rc;
    }
    *out = m;
    return SL_OK;
}

void sl_net_free(sl_net *m)
{
    if (!m)
        return;
    sl_weights_close(m->weights);
    sl_arena_fini(&m->arena);
    sl_mem_free(m);
}

sl_status sl_net_runs(const sl_net *m, sl_err *err)
{
    if (!m->unsupported)
        return SL_OK;
    return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s: type %s is not supported", sl_weights_path(m->weights),
                   m->unsupported->name, m->unsupported->type);
}

sl_proj sl_net_proj(const sl_tensor *w, const sl_tensor *bias)
{
    return (sl_proj){ *w, bias->data };
}

sl_norm sl_net_norm(const sl_net *m, const sl_tensor *weight)
{
    return (sl_norm){ weight->data, m->config.norm_eps };
}

sl_attention_weights sl_net_attention(const sl_net *m, const sl_layer *l)
{
    const sl_config *c = &m->config;
    return (sl_attention_weights){
        .norm = sl_net_norm(m, &l->attn_norm),
        .q = sl_net_proj(&l->q, &l->q_bias),
        .k = sl_net_proj(&l->k, &l->k_bias),
        .v = sl_net_proj(&l->v, &l->v_bias),
        .o = sl_net_proj(&l->o, &l->o_bias),
        .heads = { .H = c->H,
                   .Hkv = c->Hkv,
                   .C = c->C,
                   .rope_dim = c->rope.dim,
                   .rope_adjacent = c->rope_adjacent,
                   .q_norm = l->q_norm.data,
                   .k_norm = l->k_norm.data,
                   .norm_eps = c->norm_eps,
                   .window = l->window,
                   .scale = 1.0f / __builtin_sqrtf((float)c->C),
                   .sinks = l->sinks.data },
    };
}

sl_latent_weights sl_net_latent(const sl_net *m, const sl_layer *l)
{
    const sl_config *c = &m->config;
    return (sl_latent_weights){
        .norm = sl_net_norm(m, &l->attn_norm),
        .q_a = sl_net_proj(&l->q_a, &l->q_a_bias),
        .q_norm = { l->q_a_norm.data, LATENT_EPS },
        .q = { l->q, NULL },
        .kv_a = sl_net_proj(&l->kv_a, &l->kv_a_bias),
        .kv_norm = { l->kv_a_norm.data, LATENT_EPS },
        .kv_b = l->kv_b,
        .o = sl_net_proj(&l->o, &l->o_bias),
        .latent = { c->kv_rank, c->nope, c->v_width },
        .heads = { .H = c->H,
                   .Hkv = c->H,
                   .C = c->C,
                   .rope_dim = c->rope.dim,
                   .rope_at = c->nope,
                   .rope_adjacent = c->rope_adjacent,
                   .window = l->window,
                   .scale = (float)(c->rope.score_scale / sqrt((double)c->C)) },
    };
}

sl_heads sl_net_heads(const sl_net *m, sl_mla mla)
{
    const sl_config *c = &m->config;
    const sl_latent latent = { c->kv_rank, c->nope, c->v_width };
    const sl_heads heads = { .H = c->H, .Hkv = c->Hkv, .C = c->C, .rope_dim = c->rope.dim };
    return c->kv_rank ? sl_latent_heads(mla, &latent, &heads) : heads;
}

sl_mixture sl_net_mixture(const sl_net *m, const sl_layer *l)
{
    sl_mixture mix = { .router = m->config.router,
                       .route = l->route,
                       .route_bias = l->route_bias.data,
                       .F = m->config.f,
                       .glu = m->config.glu,
                       .gate_bias = l->expert_gate_bias.data,
                       .up_bias = l->expert_up_bias.data,
                       .down_bias = l->expert_down_bias.data,
                       .gate = l->expert_gate,
                       .up = l->expert_up,
                       .down = l->expert_down,
                       .shared_gate = l->shared_gate,
                       .shared_up = l->shared_up,
                       .shared_down = l->shared_down,
                       .shared_mix = l->shared_mix };
    mix.router.correction = l->correction.data;
    return mix;
}
