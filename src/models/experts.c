#include "models/experts.h"

#include <math.h>
#include <string.h>
#include "formats/hf.h"
#include "models/config.h"

#define EXPERTS_MAX 65536 /* numbers of experts are whole in f32, and lists of them small */

static sl_status read_size(const sl_weights *w, const char *key, bool required, uint64_t max, size_t *out, sl_err *err)
{
    uint64_t v = *out;
    const sl_status rc = sl_weights_get_u64(w, key, required, &v, err);
    if (rc)
        return rc;
    if (v > max)
        return sl_fail(err, SL_EFORMAT, "%s: key %s.%s: %llu is above %llu", sl_weights_path(w), sl_weights_arch(w),
                       key + 3, (unsigned long long)v, (unsigned long long)max);
    *out = (size_t)v;
    return SL_OK;
}

/* Source: gguf-py, constants.py: ExpertGatingFuncType. */
static sl_status read_score(sl_router *r, const sl_weights *w, sl_err *err)
{
    static const sl_score scores[] = { SL_SCORE_SOFTMAX, SL_SCORE_SIGMOID, SL_SCORE_PICKED };
    uint64_t v = 0;
    const sl_status rc = sl_weights_get_u64(w, "%s.expert_gating_func", false, &v, err);
    if (rc || v == 0)
        return rc;
    if (v > sizeof scores / sizeof *scores)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: key %s.expert_gating_func: %llu is not known", sl_weights_path(w),
                       sl_weights_arch(w), (unsigned long long)v);
    r->score = scores[v - 1];
    return SL_OK;
}

/* How a container calls what is wrong. */
typedef struct names {
    const char *used, *width, *groups, *groups_kept;
} names;

static sl_status check(const sl_config *c, const names *n, sl_err *err)
{
    const sl_router *r = &c->router;
    if (r->K < 1 || r->K > r->E)
        return sl_fail(err, SL_EFORMAT, "%s: %zu of %zu experts", n->used, r->K, r->E);
    if (!c->f)
        return sl_fail(err, SL_EFORMAT, "%s: is 0", n->width);
    if (r->n_groups > 1 && (r->E % r->n_groups || r->n_groups_kept < 1 || r->n_groups_kept > r->n_groups ||
                            r->n_groups_kept * (r->E / r->n_groups) < r->K))
        return sl_fail(err, SL_EFORMAT, "%s %zu and %s %zu do not fit %zu of %zu experts", n->groups, r->n_groups,
                       n->groups_kept, r->n_groups_kept, r->K, r->E);
    return SL_OK;
}

static sl_status read_gguf(sl_config *c, const sl_weights *w, sl_err *err)
{
    sl_router *r = &c->router;
    double scale = 1.0;
    sl_status rc;
    if ((rc = read_size(w, "%s.expert_count", false, EXPERTS_MAX, &r->E, err)) || !r->E)
        return rc;
    if ((rc = read_size(w, "%s.expert_used_count", true, EXPERTS_MAX, &r->K, err)) ||
        (rc = read_size(w, "%s.expert_feed_forward_length", true, SL_SIZE_LIMIT, &c->f, err)) ||
        (rc = read_size(w, "%s.leading_dense_block_count", false, SIZE_MAX, &c->n_dense_first, err)) ||
        (rc = read_size(w, "%s.expert_group_count", false, EXPERTS_MAX, &r->n_groups, err)) ||
        (rc = read_size(w, "%s.expert_group_used_count", false, EXPERTS_MAX, &r->n_groups_kept, err)) ||
        (rc = sl_weights_get_bool(w, "%s.expert_weights_norm", false, &r->renorm, err)) ||
        (rc = sl_weights_get_f64(w, "%s.expert_weights_scale", false, &scale, err)) || (rc = read_score(r, w, err)))
        return rc;
    if (!isfinite((float)scale))
        return sl_fail(err, SL_EFORMAT, "%s: key %s.expert_weights_scale: %g is too large", sl_weights_path(w),
                       sl_weights_arch(w), scale);
    if (scale != 0.0) /* files say 0 for "none" */
        r->scale = (float)scale;
    return SL_OK;
}

static sl_status read_dense_layers(sl_config *c, const sl_json *root, sl_err *err)
{
    const sl_status rc = sl_json_get_list(root, "mlp_only_layers", false, &c->dense_layers, err);
    for (const sl_json *m = rc || !c->dense_layers ? NULL : c->dense_layers->first; m; m = m->next) {
        int64_t layer = -1;
        if (!sl_json_int(m, &layer) || layer < 0)
            return sl_json_fail(err, SL_EFORMAT, m, "should be the number of a layer");
    }
    return rc;
}

static sl_status read_hf(sl_config *c, const sl_json *root, sl_err *err)
{
    sl_router *r = &c->router;
    int64_t E = 0;
    sl_status rc = sl_json_get_int(root, "num_experts", true, &E, err);
    if (rc || !E)
        return rc;
    if (E < 0 || E > EXPERTS_MAX)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, "num_experts"), "%lld is not within 0..%d", (long long)E,
                            EXPERTS_MAX);
    r->E = (size_t)E;
    if ((rc = sl_hf_size(root, "num_experts_per_tok", true, &r->K, err)) ||
        (rc = sl_hf_size(root, "moe_intermediate_size", true, &c->f, err)) ||
        (rc = sl_hf_size(root, "decoder_sparse_step", false, &c->sparse_step, err)) ||
        (rc = sl_json_get_bool(root, "norm_topk_prob", false, &r->renorm, err)))
        return rc;
    return read_dense_layers(c, root, err);
}

sl_status sl_experts_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    static const names gguf = { "key expert_used_count", "key expert_feed_forward_length", "keys expert_group_count",
                                "expert_group_used_count" };
    static const names hf = { "num_experts_per_tok", "moe_intermediate_size", "n_group", "topk_group" };
    const sl_hf *folder = sl_weights_hf(w);
    c->router.scale = 1.0f;
    c->router.n_group_best = 2;
    sl_status rc = SL_OK;
    if (!folder && (rc = read_gguf(c, w, err)))
        return rc; /* names the file */
    if (folder)
        rc = read_hf(c, folder->config.root, err);
    if (!rc && c->router.E)
        rc = check(c, folder ? &hf : &gguf, err);
    return rc ? sl_fail_in(err, rc, "%s", folder ? folder->config.path : sl_weights_path(w)) : SL_OK;
}

bool sl_experts_in_layer(const sl_config *c, size_t layer)
{
    for (const sl_json *m = c->dense_layers ? c->dense_layers->first : NULL; m; m = m->next) {
        int64_t dense = -1;
        if (sl_json_int(m, &dense) && (size_t)dense == layer)
            return false;
    }
    return c->router.E && layer >= c->n_dense_first && (c->sparse_step == 0 || (layer + 1) % c->sparse_step == 0);
}

size_t sl_experts_in_tensor(const sl_config *c, const char *name)
{
    return strstr(name, "_exps.") ? c->router.E : strstr(name, ".mlp.experts.") ? 1 : 0;
}
