#include "models/experts.h"

#include <math.h>
#include <string.h>
#include "formats/hf.h"
#include "formats/show.h"
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

/* A whole number from 0 on; missing: *out stays. */
static sl_status read_count(const sl_json *root, const char *key, bool required, size_t max, size_t *out, sl_err *err)
{
    int64_t v = (int64_t)*out;
    const sl_status rc = sl_json_get_int(root, key, required, &v, err);
    if (rc)
        return rc;
    if (v < 0 || (uint64_t)v > max)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, key), "%lld is not within 0..%zu", (long long)v, max);
    *out = (size_t)v;
    return SL_OK;
}

/* A setting that other models of the family have otherwise. */
static sl_status only(const sl_json *root, const char *key, const char *value, sl_err *err)
{
    const sl_json *m = sl_json_get(root, key);
    char shown[SL_SHOW_MAX];
    if (!m || sl_json_is(m, value))
        return SL_OK;
    if (m->kind != SL_JSON_STRING)
        return sl_json_fail(err, SL_EFORMAT, m, "should be a string");
    return sl_json_fail(err, SL_EUNSUPPORTED, m, "\"%s\" is not supported; %s is", sl_show(shown, sl_json_bytes(m)),
                        value);
}

/* Of keys with a default null is no value: what is computed without them nobody says. */
static sl_status check_not_null(const sl_json *root, sl_err *err)
{
    static const char *const keys[] = { "routed_scaling_factor", "n_group",        "topk_group",
                                        "first_k_dense_replace", "norm_topk_prob", "n_shared_experts" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (sl_json_is_null(root, keys[i]))
            return sl_json_fail(err, SL_EFORMAT, root, "\"%s\" is null", keys[i]);
    return SL_OK;
}

/* Source: Transformers, configuration_deepseek_v3.py; moe_layer_freq, scoring_func and topk_method: DeepSeek's own
 * modeling_deepseek.py. */
static sl_status read_deepseek(sl_config *c, const sl_json *root, sl_err *err)
{
    sl_router *r = &c->router;
    size_t n_shared = 1;
    double scale = (double)r->scale;
    sl_status rc;
    c->n_dense_first = 3;
    if ((rc = check_not_null(root, err)) ||
        (rc = read_count(root, "n_routed_experts", true, EXPERTS_MAX, &r->E, err)) ||
        (rc = sl_hf_size(root, "num_experts_per_tok", true, &r->K, err)) ||
        (rc = sl_hf_size(root, "moe_intermediate_size", true, &c->f, err)) ||
        (rc = sl_hf_size(root, "n_group", false, &r->n_groups, err)) ||
        (rc = sl_hf_size(root, "topk_group", false, &r->n_groups_kept, err)) ||
        (rc = sl_hf_size(root, "moe_layer_freq", false, &c->sparse_freq, err)) ||
        (rc = read_count(root, "first_k_dense_replace", false, SL_SIZE_LIMIT, &c->n_dense_first, err)) ||
        (rc = read_count(root, "n_shared_experts", false, EXPERTS_MAX, &n_shared, err)) ||
        (rc = read_count(root, "num_nextn_predict_layers", false, SL_SIZE_LIMIT, &c->n_extra_layers, err)) ||
        (rc = sl_hf_positive(root, "routed_scaling_factor", false, &scale, err)) ||
        (rc = sl_json_get_bool(root, "norm_topk_prob", false, &r->renorm, err)) ||
        (rc = only(root, "scoring_func", "sigmoid", err)) || (rc = only(root, "topk_method", "noaux_tc", err)))
        return rc;
    if (!isfinite((float)scale))
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, "routed_scaling_factor"), "%g is too large", scale);
    r->scale = (float)scale;
    c->s = n_shared * c->f; /* both are small */
    return SL_OK;
}

/* Source: Transformers, configuration_gpt_oss.py; swiglu_limit: the publisher's config.json, which that class does not
 * read but has in its code, as it has alpha. */
static sl_status read_gpt_oss(sl_config *c, const sl_json *root, sl_err *err)
{
    sl_router *r = &c->router;
    double limit = (double)c->glu.limit;
    size_t again = 0;
    sl_status rc;
    if ((rc = sl_hf_size(root, "num_local_experts", true, &r->E, err)) ||
        (rc = sl_hf_size(root, "num_experts_per_tok", true, &r->K, err)) ||
        (rc = sl_hf_size(root, "experts_per_token", false, &again, err)) ||
        (rc = sl_hf_size(root, "intermediate_size", true, &c->f, err)) ||
        (rc = sl_hf_positive(root, "swiglu_limit", false, &limit, err)))
        return rc;
    if (r->E > EXPERTS_MAX)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, "num_local_experts"), "%zu is above %d", r->E,
                            EXPERTS_MAX);
    if (again && again != r->K)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, "experts_per_token"), "is not num_experts_per_tok %zu",
                            r->K);
    if (!isfinite((float)limit) || (float)limit <= 0.0f)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, "swiglu_limit"), "%g is out of range", limit);
    c->glu.limit = (float)limit;
    return SL_OK;
}

static sl_status read_qwen(sl_config *c, const sl_json *root, sl_err *err)
{
    sl_router *r = &c->router;
    sl_status rc = read_count(root, "num_experts", true, EXPERTS_MAX, &r->E, err);
    if (rc || !r->E)
        return rc;
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
    static sl_status (*const readers[])(sl_config *, const sl_json *, sl_err *) = {
        [SL_MIXTURE_QWEN] = read_qwen, [SL_MIXTURE_DEEPSEEK] = read_deepseek, [SL_MIXTURE_GPT_OSS] = read_gpt_oss
    };
    const sl_hf *folder = sl_weights_hf(w);
    c->router.scale = c->latent ? c->router.scale : 1.0f; /* 1 in all other families */
    c->router.n_group_best = 2;
    sl_status rc = SL_OK;
    if (!folder && (rc = read_gguf(c, w, err)))
        return rc; /* names the file */
    if (folder)
        rc = readers[c->mixture](c, folder->config.root, err);
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
    if (c->sparse_freq && layer % c->sparse_freq)
        return false;
    return c->router.E && layer >= c->n_dense_first && (c->sparse_step == 0 || (layer + 1) % c->sparse_step == 0);
}

size_t sl_experts_in_tensor(const sl_config *c, const char *name)
{
    static const char of_each[] = ".mlp.experts.";
    const char *at = strstr(name, of_each), *rest = at ? at + sizeof of_each - 1 : "";
    if (*rest >= '0' && *rest <= '9')
        return 1; /* its number */
    return at || strstr(name, "_exps.") ? c->router.E : 0;
}
