#include "executor/model.h"

#include "executor/reread.h"
#include "formats/hf.h"
#include "models/experts.h"
#include "text/text.h"

sl_status sl_model_open(sl_model **out, const char *path, sl_err *err)
{
    return sl_model_open_with(out, path, NULL, err);
}

static sl_status read_sampling(sl_model_sampling *out, const sl_weights *w, sl_err *err)
{
    *out = (sl_model_sampling){ .temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .repeat_penalty = 1 };
    if (sl_weights_container(w) != SL_CONTAINER_HF)
        return SL_OK;
    sl_generation g;
    const sl_status rc = sl_generation_read(&g, sl_weights_path(w), err);
    if (rc)
        return rc;
    if (g.temperature >= 0.0)
        out->temperature = (float)g.temperature;
    if (g.top_k >= 0)
        out->top_k = (uint32_t)g.top_k;
    if (g.top_p >= 0.0)
        out->top_p = (float)g.top_p;
    if (g.min_p >= 0.0)
        out->min_p = (float)g.min_p;
    if (g.repetition_penalty >= 0.0)
        out->repeat_penalty = (float)g.repetition_penalty;
    out->recommended =
        g.temperature >= 0.0 || g.top_k >= 0 || g.top_p >= 0.0 || g.min_p >= 0.0 || g.repetition_penalty >= 0.0;
    return SL_OK;
}

void sl_model_get_sampling(const sl_model *m, sl_model_sampling *out)
{
    *out = m->sampling;
}

static sl_status load_net(sl_net **out, const char *path, const sl_model_options *o, sl_err *err)
{
    const sl_overrides overrides = { o->text.overrides, o->text.n_overrides };
    const sl_status rc = sl_net_load(out, path, &overrides, err);
    if (rc || !o->huge_pages || !sl_reread_huge((*out)->weights, o->on_read, o->user))
        return rc;
    sl_net_free(*out);
    *out = NULL;
    return sl_net_load(out, path, &overrides, err);
}

/* A model without a usable vocabulary still runs on token ids. */
sl_status sl_model_open_with(sl_model **out, const char *path, const sl_model_options *given, sl_err *err)
{
    static const sl_model_options none = { 0 };
    const sl_model_options *o = given ? given : &none;
    *out = NULL;
    sl_model *m = sl_mem_zalloc(1, sizeof *m);
    if (!m)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for the model", path);
    sl_status rc = load_net(&m->net, path, o, err);
    if (!rc)
        rc = sl_weights_name(m->net->weights, &m->name, err);
    if (!rc)
        rc = read_sampling(&m->sampling, m->net->weights, err);
    if (!rc)
        rc = sl_text_of_weights(&m->text, m->net->weights, &o->text, err);
    if (!rc)
        rc = sl_weights_overrides_used(m->net->weights, err);
    if (!rc && o->check_tensors)
        rc = sl_weights_check(m->net->weights, o->on_check, o->user, err);
    if (rc) {
        sl_model_close(m);
        return rc;
    }
    *out = m;
    return SL_OK;
}

void sl_model_close(sl_model *m)
{
    if (!m)
        return;
    sl_text_close(m->text);
    sl_net_free(m->net);
    sl_mem_free(m);
}

bool sl_model_has_file(const sl_model *m, const char *path)
{
    return sl_weights_has_file(m->net->weights, path);
}

/* Layers whose attention sees a window only. */
static size_t count_windows(const sl_net *n)
{
    size_t count = 0;
    for (size_t i = 0; i < n->config.n_layers; i++)
        count += n->layer[i].window > 0;
    return count;
}

void sl_model_describe(const sl_model *m, sl_model_info *out)
{
    const sl_net *n = m->net;
    const sl_config *c = &n->config;
    *out = (sl_model_info){
        .path = sl_weights_path(n->weights),
        .arch = sl_arch_name(n->arch),
        .name = m->name,
        .n_layers = c->n_layers,
        .n_vocab = c->n_vocab,
        .n_ctx_train = c->n_ctx_train,
        .d_model = c->D,
        .d_ff = c->F,
        .n_heads = c->H,
        .n_kv_heads = c->Hkv,
        .head_dim = c->C,
        .window = count_windows(n) ? c->window : 0,
        .n_window_layers = count_windows(n),
        .attention_sinks = n->layer[0].sinks.data != NULL,
        .latent_rank = c->kv_rank,
        .latent_rope = c->kv_rank ? c->rope.dim : 0,
        .n_params = n->n_params,
        .n_active = n->n_active,
        .active_bytes = n->active_bytes,
        .n_experts = c->router.E,
        .n_experts_used = c->router.K,
        .d_expert = c->f,
        .experts_renorm = c->router.renorm || c->router.score == SL_SCORE_PICKED, /* a softmax over them is that */
        .file_bytes = (size_t)sl_weights_file_bytes(n->weights),
        .weight_bytes = n->weight_bytes,
        .tied = c->tied,
        .n_tensors = sl_weights_count(n->weights),
        .unsupported = n->unsupported ? n->unsupported->name : NULL,
    };
}

static sl_tensor_info tensor_info(const sl_weight_info *w)
{
    return (sl_tensor_info){ .name = w->name,
                             .format = w->type,
                             .supported = w->tensor.format != SL_FORMAT_COUNT,
                             .n_dims = w->n_dims,
                             .dims = { w->dims[0], w->dims[1], w->dims[2], w->dims[3] },
                             .bytes = w->bytes };
}

void sl_model_tensor(const sl_model *m, size_t i, sl_tensor_info *out)
{
    *out = tensor_info(sl_weights_at(m->net->weights, i));
    out->n_experts = sl_experts_in_tensor(&m->net->config, out->name);
}

sl_status sl_stored_list(sl_stored_info *out, const char *path, sl_on_tensor *on_tensor, void *user, sl_err *err)
{
    sl_weights *w = NULL;
    *out = (sl_stored_info){ 0 };
    const sl_status rc = sl_weights_open_stored(&w, path, err);
    if (rc)
        return rc;
    snprintf(out->arch, sizeof out->arch, "%s", sl_weights_arch(w));
    out->n_tensors = sl_weights_count(w);
    out->file_bytes = (size_t)sl_weights_file_bytes(w);
    for (size_t i = 0; i < out->n_tensors; i++) {
        sl_tensor_info t = tensor_info(sl_weights_at(w, i));
        t.supported = t.supported || sl_weights_container(w) == SL_CONTAINER_HF;
        on_tensor(user, &t);
    }
    sl_weights_close(w);
    return SL_OK;
}

const sl_text *sl_model_text(const sl_model *m)
{
    return m->text;
}
