/* rope_hf.c - the rope of config.json, in both forms. Source: Transformers, modeling_rope_utils.py.
 *
 *   release 4   "rope_theta" beside "rope_scaling": null or {"rope_type" or "type", "factor", ...}
 *   release 5   "rope_parameters": {"rope_type", "rope_theta", "factor", ...}
 *
 * A file that has both must say the same in both. */
#include "models/config.h"

#include <math.h>
#include <string.h>
#include "base/num.h"
#include "formats/show.h"

#define DEFAULT_BASE 10000.0

/* Keys of a scaling; any other would change what is computed. */
static const char *const known[] = { "rope_type",
                                     "type",
                                     "rope_theta",
                                     "factor",
                                     "low_freq_factor",
                                     "high_freq_factor",
                                     "attention_factor",
                                     "original_max_position_embeddings",
                                     "beta_fast",
                                     "beta_slow",
                                     "mscale",
                                     "mscale_all_dim",
                                     "truncate",
                                     "partial_rotary_factor",
                                     NULL };

static sl_status read_linear(sl_config *c, const sl_json *s, sl_err *err)
{
    c->rope.scaling = SL_ROPE_LINEAR;
    return sl_hf_positive(s, "factor", true, &c->rope.factor, err);
}

static sl_status read_llama3(sl_config *c, const sl_json *s, sl_err *err)
{
    sl_rope *r = &c->rope;
    sl_status rc;
    r->scaling = SL_ROPE_LLAMA3;
    if ((rc = sl_hf_positive(s, "factor", true, &r->factor, err)) ||
        (rc = sl_hf_positive(s, "low_freq_factor", true, &r->low_freq, err)) ||
        (rc = sl_hf_positive(s, "high_freq_factor", true, &r->high_freq, err)) ||
        (rc = sl_hf_positive(s, "original_max_position_embeddings", true, &r->n_ctx_original, err)))
        return rc;
    return r->high_freq > r->low_freq ? SL_OK
                                      : sl_json_fail(err, SL_EFORMAT, sl_json_get(s, "high_freq_factor"),
                                                     "not above low_freq_factor %g", r->low_freq);
}

/* How cosine and sine grow with the factor; source: get_mscale of yarn. */
static double yarn_growth(double factor, double mscale)
{
    return factor <= 1.0 ? 1.0 : 0.1 * mscale * log(factor) + 1.0;
}

/* 0 is the same as none. */
static sl_status read_mscale(const sl_json *s, const char *key, double *out, sl_err *err)
{
    const sl_json *m = sl_json_get(s, key);
    double v = -1.0;
    if (m && sl_json_double(m, &v) && v == 0.0)
        return SL_OK;
    return sl_hf_positive(s, key, false, out, err);
}

static sl_status read_yarn(sl_config *c, const sl_json *s, sl_err *err)
{
    sl_rope *r = &c->rope;
    double attention = 0.0, mscale = 0.0, mscale_all = 0.0;
    bool rounded = true;
    sl_status rc;
    r->scaling = SL_ROPE_YARN;
    if ((rc = sl_hf_positive(s, "factor", true, &r->factor, err)) ||
        (rc = sl_hf_positive(s, "original_max_position_embeddings", false, &r->n_ctx_original, err)) ||
        (rc = sl_hf_positive(s, "beta_fast", false, &r->beta_fast, err)) ||
        (rc = sl_hf_positive(s, "beta_slow", false, &r->beta_slow, err)) ||
        (rc = sl_hf_positive(s, "attention_factor", false, &attention, err)) ||
        (rc = read_mscale(s, "mscale", &mscale, err)) || (rc = read_mscale(s, "mscale_all_dim", &mscale_all, err)) ||
        (rc = sl_json_get_bool(s, "truncate", false, &rounded, err)))
        return rc;
    if (mscale_all > 0.0) /* counts where it is asked for, in latent attention */
        r->score_scale = pow(yarn_growth(r->factor, mscale_all), 2.0);
    if (r->factor < 1.0)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(s, "factor"), "%g is below 1", r->factor);
    r->unrounded = !rounded;
    if (attention == 0.0 && mscale > 0.0 && mscale_all > 0.0)
        attention = yarn_growth(r->factor, mscale) / yarn_growth(r->factor, mscale_all);
    if (attention > 0.0)
        r->attn_factor = attention / yarn_growth(r->factor, 1.0);
    return SL_OK;
}

/* Frequencies that follow the length of the text: up to the trained context they are the plain ones, and beyond it keys
 * that are stored already would have to be turned anew. */
static sl_status read_dynamic(sl_config *c, const sl_json *s, sl_err *err)
{
    double factor = 0.0;
    c->n_ctx_max = c->n_ctx_train;
    return sl_hf_positive(s, "factor", true, &factor, err);
}

static const struct {
    const char *name;
    sl_status (*read)(sl_config *c, const sl_json *s, sl_err *err); /* NULL: no scaling */
} types[] = {
    { "default", NULL },   { "linear", read_linear },   { "llama3", read_llama3 },
    { "yarn", read_yarn }, { "dynamic", read_dynamic },
};

static sl_status read_type(const sl_json *s, const sl_json **out, sl_err *err)
{
    const sl_json *is = sl_json_get(s, "rope_type"), *old = sl_json_get(s, "type");
    *out = is ? is : old;
    if (is && is->kind != SL_JSON_STRING)
        return sl_json_fail(err, SL_EFORMAT, is, "should be a string");
    if (old && old->kind != SL_JSON_STRING)
        return sl_json_fail(err, SL_EFORMAT, old, "should be a string");
    if (is && old && (is->text_len != old->text_len || memcmp(is->text, old->text, is->text_len) != 0))
        return sl_json_fail(err, SL_EFORMAT, old, "is another one than rope_type");
    return SL_OK;
}

/* A "rope_scaling" or "rope_parameters" object. */
static sl_status read_scaling(sl_config *c, const sl_json *s, sl_err *err)
{
    const sl_json *type = NULL;
    double partial = 1.0;
    char shown[SL_SHOW_MAX];
    sl_status rc;
    if ((rc = sl_json_only(s, known, err)) || (rc = read_type(s, &type, err)) ||
        (rc = sl_hf_positive(s, "rope_theta", false, &c->rope.base, err)) ||
        (rc = sl_hf_positive(s, "partial_rotary_factor", false, &partial, err)))
        return rc;
    if (partial != 1.0)
        return sl_json_fail(err, SL_EUNSUPPORTED, sl_json_get(s, "partial_rotary_factor"), "%g is not supported",
                            partial);
    if (!type)
        return sl_json_get(s, "factor") ? sl_json_fail(err, SL_EFORMAT, s, "\"rope_type\" is missing") : SL_OK;
    for (size_t i = 0; i < SL_COUNT(types); i++)
        if (sl_json_is(type, types[i].name))
            return types[i].read ? types[i].read(c, s, err) : SL_OK;
    return sl_json_fail(err, SL_EUNSUPPORTED, type,
                        "\"%s\" is not supported; known are default, linear, llama3, yarn, dynamic",
                        sl_show(shown, sl_json_bytes(type)));
}

static bool same(const sl_rope *a, const sl_rope *b)
{
    return a->base == b->base && a->scaling == b->scaling && a->factor == b->factor &&
           a->n_ctx_original == b->n_ctx_original && a->beta_fast == b->beta_fast && a->beta_slow == b->beta_slow &&
           a->unrounded == b->unrounded && a->attn_factor == b->attn_factor && a->score_scale == b->score_scale &&
           a->low_freq == b->low_freq && a->high_freq == b->high_freq;
}

sl_status sl_rope_hf(sl_config *c, const sl_json *root, sl_err *err)
{
    const sl_json *old = NULL, *new = NULL;
    sl_status rc;
    c->rope = (sl_rope){ .dim = c->latent ? c->C - c->nope : c->C,
                         .base = DEFAULT_BASE,
                         .factor = 1.0,
                         .beta_fast = 32.0,
                         .beta_slow = 1.0,
                         .attn_factor = 1.0,
                         .score_scale = 1.0,
                         .n_ctx_original = (double)c->n_ctx_train };
    if ((rc = sl_hf_positive(root, "rope_theta", false, &c->rope.base, err)) ||
        (rc = sl_json_get_object(root, "rope_scaling", false, &old, err)) ||
        (rc = sl_json_get_object(root, "rope_parameters", false, &new, err)))
        return rc;
    sl_config other = *c;
    if (old && (rc = read_scaling(c, old, err)))
        return rc;
    if (!new)
        return SL_OK;
    if ((rc = read_scaling(&other, new, err)))
        return rc;
    if ((old && !same(&c->rope, &other.rope)) || (sl_json_get(root, "rope_theta") && other.rope.base != c->rope.base))
        return sl_json_fail(err, SL_EFORMAT, new, "says something else than rope_theta and rope_scaling");
    *c = other;
    return SL_OK;
}
