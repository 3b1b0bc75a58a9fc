#include "models/experts.h"

#include <math.h>
#include <string.h>

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

static sl_status check(const sl_config *c, const sl_weights *w, sl_err *err)
{
    const sl_router *r = &c->router;
    const char *path = sl_weights_path(w), *arch = sl_weights_arch(w);
    if (r->K < 1 || r->K > r->E)
        return sl_fail(err, SL_EFORMAT, "%s: key %s.expert_used_count: %zu of %zu experts", path, arch, r->K, r->E);
    if (!c->f)
        return sl_fail(err, SL_EFORMAT, "%s: key %s.expert_feed_forward_length: is 0", path, arch);
    if (r->n_groups > 1 && (r->E % r->n_groups || r->n_groups_kept < 1 || r->n_groups_kept > r->n_groups ||
                            r->n_groups_kept * (r->E / r->n_groups) < r->K))
        return sl_fail(
            err, SL_EFORMAT,
            "%s: keys %s.expert_group_count %zu and expert_group_used_count %zu do not fit %zu of %zu experts", path,
            arch, r->n_groups, r->n_groups_kept, r->K, r->E);
    return SL_OK;
}

sl_status sl_experts_config(sl_config *c, const sl_weights *w, sl_err *err)
{
    sl_router *r = &c->router;
    double scale = 1.0;
    sl_status rc;
    r->scale = 1.0f;
    r->n_group_best = 2;
    if ((rc = read_size(w, "%s.expert_count", false, EXPERTS_MAX, &r->E, err)) || !r->E)
        return rc;
    if ((rc = read_size(w, "%s.expert_used_count", true, EXPERTS_MAX, &r->K, err)) ||
        (rc = read_size(w, "%s.expert_feed_forward_length", true, 1u << 24, &c->f, err)) ||
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
    return check(c, w, err);
}

bool sl_experts_in_layer(const sl_config *c, size_t layer)
{
    return c->router.E && layer >= c->n_dense_first;
}

size_t sl_experts_in_tensor(const sl_config *c, const char *name)
{
    return strstr(name, "_exps.") ? c->router.E : 0;
}
