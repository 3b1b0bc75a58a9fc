/* deploy_model.c - a deploy file's layout held against a model: what can be cut, and what each rank would hold. */
#include "executor/deploy_in.h"

#include <string.h>
#include "base/num.h"
#include "executor/model.h"
#include "formats/show.h"

/* The file is good, but not for this model. */
static sl_status of_model(sl_err *err)
{
    if (err)
        err->code = SL_EINVAL;
    return SL_EINVAL;
}

static bool is_for(const sl_arch *arch, const sl_yaml *name)
{
    return (arch->hf && strcmp(arch->hf, name->text) == 0) || (arch->gguf && strcmp(arch->gguf, name->text) == 0);
}

static sl_status check_name(const sl_deploy *d, const sl_arch *arch, sl_err *err)
{
    const sl_yaml *v = sl_yaml_get(sl_yaml_get(d->doc.root, "model_config"), "model_name");
    char names[128] = "", shown[SL_SHOW_MAX];
    const bool list = v && v->kind == SL_YAML_LIST;
    for (const sl_yaml *m = list ? v->first : v; m; m = list ? m->next : NULL) {
        if (is_for(arch, m))
            return SL_OK;
        if (*names)
            strncat(names, ", ", sizeof names - strlen(names) - 1);
        strncat(names, sl_show(shown, (sl_bytes){ m->text, strlen(m->text) }), sizeof names - strlen(names) - 1);
    }
    if (!v)
        return SL_OK;
    sl_yaml_fail(&d->doc, v, err, "the layout is for %s; the model is %s", names, sl_arch_name(arch));
    return of_model(err);
}

/* One thing of the model that a degree has to divide. */
typedef struct cut {
    const char *section, *key;
    size_t by, whole;
    const char *what;
} cut;

static sl_status check_cut(const sl_deploy *d, const cut *c, sl_err *err)
{
    if (c->by == 1 || (c->whole && c->whole % c->by == 0))
        return SL_OK;
    const sl_yaml *at = sl_deploy_place(d, c->section, c->key);
    if (!c->whole)
        sl_yaml_fail(&d->doc, at, err, "%zu; the model has no %s", c->by, c->what);
    else
        sl_yaml_fail(&d->doc, at, err, "the model's %zu %s cannot be cut by %zu", c->whole, c->what, c->by);
    return of_model(err);
}

sl_status sl_deploy_check(const sl_deploy *d, const sl_model *m, sl_err *err)
{
    const sl_config *c = &m->net->config;
    const sl_deploy_info *i = &d->info;
    const bool gqa = !c->kv_rank, moe = c->router.E > 0;
    const bool says_experts = sl_yaml_get(sl_yaml_get(d->doc.root, "parallel_config"), "moe_ep_size") != NULL;
    /* More ranks than KV heads: each of these is on several, evenly. */
    const size_t kv = gqa && i->attn_tp > c->Hkv ? (i->attn_tp % c->Hkv ? 1 : i->attn_tp) : gqa ? c->Hkv : i->attn_tp;
    const cut cuts[] = {
        { "parallel_config", "attn_tp_size", i->attn_tp, c->H, "attention heads" },
        { "parallel_config", "attn_tp_size", i->attn_tp, kv, "heads of keys and values" },
        { "parallel_config", "o_proj_tp_size", i->o_proj_tp, c->H, "attention heads" },
        { "parallel_config", "dense_tp_size", i->dense_tp, c->F ? c->F : c->s, "feed-forward rows" },
        { "parallel_config", "dense_tp_size", c->s ? i->dense_tp : 1, c->s, "rows of the shared expert" },
        { "parallel_config", "moe_tp_size", i->moe_tp, c->f, "rows of an expert" },
        { "parallel_config", "moe_ep_size", (moe || says_experts) ? i->moe_ep : 1, c->router.E, "experts" },
        { "parallel_config", "embed_tp_size", i->embed_tp, c->n_vocab, "tokens of the vocabulary" },
        { "parallel_config", "lmhead_tp_size", i->lmhead_tp, c->n_vocab, "tokens of the vocabulary" },
    };
    sl_status rc = check_name(d, m->net->arch, err);
    for (size_t k = 0; k < SL_COUNT(cuts) && !rc; k++)
        rc = check_cut(d, &cuts[k], err);
    if (!rc && i->pp > c->n_layers) {
        sl_yaml_fail(&d->doc, sl_deploy_place(d, "parallel_config", "pp_size"), err,
                     "%zu parts of the model's %zu layers", i->pp, c->n_layers);
        rc = of_model(err);
    }
    return rc;
}

/* ---- bytes ---------------------------------------------------------------------------------------- */

/* Ranks that share the tensors of a row of the architecture's table. */
static size_t shared_by(const sl_deploy_info *i, const sl_tensor_spec *spec, bool of_layer)
{
    static const size_t dense[] = { offsetof(sl_layer, gate),      offsetof(sl_layer, up),
                                    offsetof(sl_layer, down),      offsetof(sl_layer, shared_gate),
                                    offsetof(sl_layer, shared_up), offsetof(sl_layer, shared_down) };
    if (spec->cut == SL_CUT_NONE)
        return 1;
    if (!of_layer)
        return spec->offset == offsetof(sl_net, embed) ? i->embed_tp : i->lmhead_tp;
    if (spec->cut == SL_CUT_EXPERTS)
        return i->moe_ep * i->moe_tp;
    for (size_t k = 0; k < SL_COUNT(dense); k++)
        if (spec->offset == dense[k])
            return i->dense_tp;
    return spec->offset == offsetof(sl_layer, o) ? i->o_proj_tp : i->attn_tp;
}

/* Whether another row for the same place, of which a model has one or the other, was there before. */
static bool comes_again(const sl_arch *arch, size_t row, bool of_layer)
{
    for (size_t s = 0; s < row; s++) {
        const sl_tensor_spec *a = &arch->tensors[s];
        if (a->offset == arch->tensors[row].offset && a->need != SL_UNUSED &&
            (strstr(a->hf ? a->hf : a->gguf, "%zu") != NULL) == of_layer)
            return true;
    }
    return false;
}

static size_t bytes_at(const sl_net *net, const sl_tensor_spec *spec, const void *base)
{
    const void *at = (const char *)base + spec->offset;
    if (strlen(spec->shape) != 3)
        return ((const sl_tensor *)at)->rows * sl_tensor_row_cost(at);
    size_t sum = 0;
    const sl_tensor *list = *(const sl_tensor *const *)at;
    for (size_t e = 0; list && e < net->config.router.E; e++)
        sum += list[e].rows * sl_tensor_row_cost(&list[e]);
    return sum;
}

size_t sl_deploy_rank_bytes(const sl_deploy *d, const sl_model *m)
{
    const sl_net *net = m->net;
    const size_t layers = sl_div_up(net->config.n_layers, d->info.pp), n_parts = d->info.pp;
    size_t most = 0;
    for (size_t part = 0; part < n_parts && part * layers < net->config.n_layers; part++) {
        const size_t from = part * layers, to = SL_MIN(from + layers, net->config.n_layers);
        size_t sum = 0;
        for (size_t s = 0; s < net->arch->n_tensors; s++) {
            const sl_tensor_spec *spec = &net->arch->tensors[s];
            const char *name = spec->hf ? spec->hf : spec->gguf;
            const bool of_layer = strstr(name, "%zu") != NULL;
            /* What is outside the layers: the embedding before the first, the rest behind the last. */
            const bool embed = spec->offset == offsetof(sl_net, embed),
                       twice = spec->need == SL_HEAD && net->config.tied;
            if (spec->need == SL_UNUSED || comes_again(net->arch, s, of_layer) ||
                (!of_layer && (twice || (embed ? from > 0 : to < net->config.n_layers))))
                continue;
            for (size_t l = of_layer ? from : 0; l < (of_layer ? to : 1); l++)
                sum += sl_div_up(bytes_at(net, spec, of_layer ? (const void *)&net->layer[l] : net),
                                 shared_by(&d->info, spec, of_layer));
        }
        most = SL_MAX(most, sum);
    }
    return most;
}
