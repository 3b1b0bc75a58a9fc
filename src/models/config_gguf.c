/* config_gguf.c - settings of llama-like models in a GGUF file. Source: docs/gguf.md of ggml, and the keys of
 * gguf-py, constants.py. */
#include "models/config.h"

#include <math.h>
#include <string.h>

static sl_status get_size(const sl_weights *w, const char *key, bool required, size_t *out, sl_err *err)
{
    uint64_t v = *out;
    const sl_status rc = sl_weights_get_u64(w, key, required, &v, err);
    if (rc || (!required && v == *out)) /* what is not there may be 0 */
        return rc;
    if (v < 1 || v > SL_SIZE_LIMIT)
        return sl_fail(err, SL_EFORMAT, "%s: key %s of architecture %s: %llu is not within 1..%llu", sl_weights_path(w),
                       strchr(key, '.') + 1, sl_weights_arch(w), (unsigned long long)v,
                       (unsigned long long)SL_SIZE_LIMIT);
    *out = (size_t)v;
    return SL_OK;
}

static sl_status get_positive(const sl_weights *w, const char *key, bool required, double *out, sl_err *err)
{
    const sl_status rc = sl_weights_get_f64(w, key, required, out, err);
    if (rc)
        return rc;
    if (!(*out > 0.0 && isfinite(*out)))
        return sl_fail(err, SL_EFORMAT, "%s: key %s of architecture %s: %g is not a positive number",
                       sl_weights_path(w), strchr(key, '.') + 1, sl_weights_arch(w), *out);
    return SL_OK;
}

static sl_status read_rope(sl_config *c, const sl_weights *w, sl_err *err)
{
    sl_rope *r = &c->rope;
    const char *type = "none";
    sl_status rc;
    *r = (sl_rope){
        .dim = c->C, .base = 10000.0, .factor = 1.0, .beta_fast = 32.0, .beta_slow = 1.0, .attn_factor = 1.0
    };
    r->n_ctx_original = (double)c->n_ctx_train;
    if ((rc = get_size(w, "%s.rope.dimension_count", false, &r->dim, err)) ||
        (rc = get_positive(w, "%s.rope.freq_base", false, &r->base, err)) ||
        (rc = sl_weights_get_str(w, "%s.rope.scaling.type", false, &type, err)) ||
        (rc = get_positive(w, "%s.rope.scaling.factor", false, &r->factor, err)) ||
        (rc = get_positive(w, "%s.rope.scaling.original_context_length", false, &r->n_ctx_original, err)) ||
        (rc = get_positive(w, "%s.rope.scaling.attn_factor", false, &r->attn_factor, err)) ||
        (rc = get_positive(w, "%s.rope.scaling.yarn_beta_fast", false, &r->beta_fast, err)) ||
        (rc = get_positive(w, "%s.rope.scaling.yarn_beta_slow", false, &r->beta_slow, err)))
        return rc;
    if (strcmp(type, "linear") == 0)
        r->scaling = SL_ROPE_LINEAR;
    else if (strcmp(type, "yarn") == 0)
        r->scaling = SL_ROPE_YARN;
    else if (strcmp(type, "none") != 0)
        return sl_fail(err, SL_EUNSUPPORTED,
                       "%s: key rope.scaling.type: \"%s\" is not supported; known are none, linear, yarn",
                       sl_weights_path(w), type);
    return SL_OK;
}

sl_status sl_config_gguf(sl_config *c, const sl_weights *w, sl_err *err)
{
    double eps = 0.0;
    size_t value_width = 0;
    uint64_t experts = 0, window = 0;
    sl_status rc;
    if ((rc = get_size(w, "%s.block_count", true, &c->n_layers, err)) ||
        (rc = get_size(w, "%s.context_length", true, &c->n_ctx_train, err)) ||
        (rc = get_size(w, "%s.embedding_length", true, &c->D, err)) ||
        (rc = get_size(w, "%s.feed_forward_length", !c->mixture, &c->F, err)) ||
        (rc = get_size(w, "%s.attention.head_count", true, &c->H, err)))
        return rc;
    c->Hkv = c->H;
    c->C = c->D / c->H;
    if ((rc = get_size(w, "%s.attention.head_count_kv", false, &c->Hkv, err)))
        return rc;
    const bool own_width = sl_weights_get_u64(w, "%s.attention.key_length", true, &(uint64_t){ 0 }, NULL) == SL_OK;
    if (!own_width && c->D % c->H)
        return sl_fail(err, SL_EFORMAT, "%s: embedding_length %zu is no multiple of attention.head_count %zu",
                       sl_weights_path(w), c->D, c->H);
    if ((rc = get_size(w, "%s.attention.key_length", false, &c->C, err)))
        return rc;
    value_width = c->C;
    if ((rc = get_size(w, "%s.attention.value_length", false, &value_width, err)) ||
        (rc = get_positive(w, "%s.attention.layer_norm_rms_epsilon", true, &eps, err)) ||
        (rc = sl_weights_get_u64(w, "%s.attention.sliding_window", false, &window, err)) ||
        (rc = sl_weights_get_u64(w, "%s.expert_count", false, &experts, err)))
        return rc;
    c->window = (size_t)window; /* however large: 0 and what is beyond the context mean no window */
    c->norm_eps = (float)eps;
    if (value_width != c->C)
        return sl_fail(err, SL_EUNSUPPORTED,
                       "%s: heads of width %zu for keys and %zu for values: one width is supported", sl_weights_path(w),
                       c->C, value_width);
    if (experts && !c->mixture)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: %llu experts in architecture %s, which is supported without",
                       sl_weights_path(w), (unsigned long long)experts, sl_weights_arch(w));
    return read_rope(c, w, err);
}
