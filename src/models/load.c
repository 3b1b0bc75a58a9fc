/* load.c - from a checkpoint to a model: the tensor table is the specification. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "models/experts.h"

static size_t letter(const sl_config *c, char l)
{
    switch (l) {
    case 'D':
        return c->D;
    case 'F':
        return c->F;
    case 'H':
        return c->H * c->C;
    case 'G':
        return c->Hkv * c->C;
    case 'C':
        return c->C;
    case 'R':
        return c->rope.dim / 2;
    case 'V':
        return c->n_vocab;
    case 'E':
        return c->router.E;
    case 'f':
        return c->f;
    case 's':
        return c->s;
    }
    assert(!"a letter of the shape is not known");
    return 0;
}

static bool of_experts(const sl_tensor_spec *spec)
{
    return strlen(spec->shape) == 3;
}

/* A tensor of one matrix for each expert; of a single expert writers leave the last dimension out. */
static sl_status check_experts(const sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, sl_err *err)
{
    const size_t E = letter(&m->config, spec->shape[0]), rows = letter(&m->config, spec->shape[1]);
    const size_t cols = letter(&m->config, spec->shape[2]);
    const uint64_t *dims = info->dims; /* those that a tensor lacks are 1 */
    if (info->n_dims > 3 || dims[0] != cols || dims[1] != rows || dims[2] != E)
        return sl_fail(err, SL_EFORMAT, "%s: tensor %s is [%llu, %llu, %llu], the settings ask for [%zu, %zu, %zu]",
                       sl_weights_path(m->weights), info->name, (unsigned long long)dims[2],
                       (unsigned long long)dims[1], (unsigned long long)dims[0], E, rows, cols);
    return SL_OK;
}

/* Vectors are read as arrays of floats by kernels; files keep them in F32. */
static sl_status check(const sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, sl_err *err)
{
    const bool vector = spec->shape[1] == '\0';
    if (of_experts(spec))
        return check_experts(m, spec, info, err);
    const size_t rows = vector ? 1 : letter(&m->config, spec->shape[0]);
    const size_t cols = letter(&m->config, spec->shape[vector ? 0 : 1]);
    const sl_tensor *t = &info->tensor;
    if (info->n_dims > 2 || t->rows != rows || t->cols != cols)
        return sl_fail(err, SL_EFORMAT, "%s: tensor %s is [%zu, %zu], the settings ask for [%zu, %zu]",
                       sl_weights_path(m->weights), info->name, t->rows, t->cols, rows, cols);
    if (t->format == SL_FORMAT_COUNT)
        return SL_OK; /* refused when it is to be run */
    if (vector && t->format != SL_FORMAT_F32)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s is %s; vectors are supported in F32",
                       sl_weights_path(m->weights), info->name, info->type);
    if (vector && (uintptr_t)t->data % _Alignof(float))
        return sl_fail(err, SL_EFORMAT, "%s: tensor %s does not lie on a multiple of 4 bytes",
                       sl_weights_path(m->weights), info->name);
    return SL_OK;
}

static void count(sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info)
{
    const sl_router *r = &m->config.router;
    const size_t n = info->tensor.rows * info->tensor.cols, bytes = (size_t)info->bytes;
    m->n_params += n;
    m->weight_bytes += bytes;
    m->n_active += of_experts(spec) ? n / r->E * r->K : n;
    m->active_bytes += of_experts(spec) ? bytes / r->E * r->K : bytes;
}

/* The list of an expert's matrices, which lie one behind the other in a tensor of all. */
static sl_status cut_experts(sl_net *m, const sl_weight_info *info, const sl_tensor **out, sl_err *err)
{
    const size_t E = m->config.router.E, rows = info->tensor.rows / E;
    sl_tensor *list = sl_arena_alloc(&m->arena, E, sizeof *list);
    if (!list)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for a list of %zu experts", sl_weights_path(m->weights), E);
    for (size_t e = 0; e < E; e++) {
        list[e] = info->tensor;
        list[e].rows = rows;
        list[e].data = (const char *)info->tensor.data + e * rows * info->tensor.row_bytes;
    }
    *out = list;
    return SL_OK;
}

static sl_status bind_one(sl_net *m, const sl_tensor_spec *spec, const char *name, void *base, size_t *bound,
                          sl_err *err)
{
    const sl_weight_info *info = sl_weights_find(m->weights, name);
    if (!info)
        return spec->optional ? SL_OK
                              : sl_fail(err, SL_EFORMAT, "%s: missing tensor %s (architecture %s)",
                                        sl_weights_path(m->weights), name, m->arch->name);
    const sl_status rc = check(m, spec, info, err);
    if (rc)
        return rc;
    if (info->tensor.format == SL_FORMAT_COUNT && !m->unsupported)
        m->unsupported = info;
    count(m, spec, info);
    ++*bound;
    void *at = (char *)base + spec->offset;
    if (of_experts(spec))
        return cut_experts(m, info, at, err);
    *(sl_tensor *)at = info->tensor;
    return SL_OK;
}

static bool of_layer(const sl_tensor_spec *spec)
{
    return strchr(spec->name, '%') != NULL;
}

static bool in_layer(const sl_net *m, const sl_tensor_spec *spec, size_t layer)
{
    return spec->layers == SL_LAYERS_ALL || m->layer[layer].sparse == (spec->layers == SL_LAYERS_SPARSE);
}

static void layer_name(char *out, size_t size, const sl_tensor_spec *spec, size_t layer)
{
    const char *mark = strstr(spec->name, "%zu");
    snprintf(out, size, "%.*s%zu%s", (int)(mark - spec->name), spec->name, layer, mark + 3);
}

/* A tensor that no row of the table names would be ignored, and the answers be wrong. */
static sl_status find_unknown(const sl_net *m, sl_err *err)
{
    for (size_t i = 0; i < sl_weights_count(m->weights); i++) {
        const sl_weight_info *info = sl_weights_at(m->weights, i);
        bool known = false;
        for (size_t s = 0; s < m->arch->n_tensors && !known; s++) {
            const sl_tensor_spec *spec = &m->arch->tensors[s];
            for (size_t l = 0; l < (of_layer(spec) ? m->config.n_layers : 1) && !known; l++) {
                char name[96];
                if (of_layer(spec))
                    layer_name(name, sizeof name, spec, l);
                known = in_layer(m, spec, l) && strcmp(of_layer(spec) ? name : spec->name, info->name) == 0;
            }
        }
        if (!known)
            return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s is not part of architecture %s as it is supported here",
                           sl_weights_path(m->weights), info->name, m->arch->name);
    }
    return SL_OK;
}

static sl_status bind_tensors(sl_net *m, sl_err *err)
{
    size_t bound = 0;
    for (size_t s = 0; s < m->arch->n_tensors; s++) {
        const sl_tensor_spec *spec = &m->arch->tensors[s];
        for (size_t l = 0; l < (of_layer(spec) ? m->config.n_layers : 1); l++) {
            char name[96];
            if (!in_layer(m, spec, l))
                continue;
            if (of_layer(spec))
                layer_name(name, sizeof name, spec, l);
            const sl_status rc = bind_one(m, spec, of_layer(spec) ? name : spec->name,
                                          of_layer(spec) ? (void *)&m->layer[l] : (void *)m, &bound, err);
            if (rc)
                return rc;
        }
    }
    m->tied = !m->head.data;
    if (m->tied)
        m->head = m->embed;
    return bound == sl_weights_count(m->weights) ? SL_OK : find_unknown(m, err);
}

static sl_status load(sl_net *m, const char *path, const sl_overrides *overrides, sl_err *err)
{
    sl_status rc = sl_weights_open_with(&m->weights, path, overrides, err);
    if (rc)
        return rc;
    const char *name = sl_weights_arch(m->weights);
    m->arch = sl_arch_find(name);
    if (!m->arch)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: architecture %s is not supported; known are %s", path, name,
                       sl_arch_names());
    if ((rc = m->arch->read_config(&m->config, m->weights, err)))
        return rc;
    const sl_weight_info *embed = sl_weights_find(m->weights, "token_embd.weight");
    if (!embed)
        return sl_fail(err, SL_EFORMAT, "%s: missing tensor token_embd.weight", path);
    if (embed->tensor.rows > INT32_MAX)
        return sl_fail(err, SL_EFORMAT, "%s: tensor token_embd.weight has %zu rows", path, embed->tensor.rows);
    m->config.n_vocab = embed->tensor.rows;
    /* Each layer has tensors, so a count beyond the file's is refused before it costs memory. */
    if (m->config.n_layers > sl_weights_count(m->weights))
        return sl_fail(err, SL_EFORMAT, "%s: block_count %zu, but the file has only %zu tensors", path,
                       m->config.n_layers, sl_weights_count(m->weights));
    m->layer = sl_arena_alloc(&m->arena, m->config.n_layers, sizeof *m->layer);
    m->inv_freq = sl_arena_alloc(&m->arena, m->config.rope.dim / 2, sizeof *m->inv_freq);
    if (!m->layer || !m->inv_freq)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for %zu layers", path, m->config.n_layers);
    for (size_t l = 0; l < m->config.n_layers; l++)
        m->layer[l].sparse = sl_experts_in_layer(&m->config, l);
    if ((rc = bind_tensors(m, err)))
        return rc;
    if (!m->tied) { /* which is read for its rows only */
        m->n_active -= (m->config.n_vocab - 1) * m->config.D;
        m->active_bytes -= (m->config.n_vocab - 1) * m->embed.row_bytes;
    }
    if (m->unsupported)
        return SL_OK; /* its vectors may not be numbers that can be read */
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
                   .window = c->window,
                   .scale = 1.0f / __builtin_sqrtf((float)c->C) },
    };
}

sl_mixture sl_net_mixture(const sl_net *m, const sl_layer *l)
{
    sl_mixture mix = { .router = m->config.router,
                       .route = l->route,
                       .F = m->config.f,
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
