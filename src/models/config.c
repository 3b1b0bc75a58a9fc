#include "models/config.h"

#include "formats/hf.h"

/* How a container calls what is wrong. */
typedef struct names {
    const char *H, *Hkv, *rope_dim, *rope_base;
} names;

static sl_status check(const sl_config *c, const names *n, sl_err *err)
{
    const sl_rope *r = &c->rope;
    if (c->H % c->Hkv)
        return sl_fail(err, SL_EFORMAT, "%s %zu is no multiple of %s %zu", n->H, c->H, n->Hkv, c->Hkv);
    if (c->C % 2)
        return sl_fail(err, SL_EUNSUPPORTED, "heads of width %zu: an even width is supported", c->C);
    if (r->dim > c->C || r->dim % 2)
        return sl_fail(err, SL_EFORMAT, "%s: %zu is not an even number up to the head width %zu", n->rope_dim, r->dim,
                       c->C);
    if (r->base <= 1.0)
        return sl_fail(err, SL_EFORMAT, "%s: %g is not above 1", n->rope_base, r->base);
    return SL_OK;
}

sl_status sl_dense_config(sl_config *c, const sl_weights *w, const sl_hf_traits *traits, sl_err *err)
{
    static const names gguf = { "attention.head_count", "head_count_kv", "key rope.dimension_count",
                                "key rope.freq_base" };
    static const names hf = { "num_attention_heads", "num_key_value_heads", "partial_rotary_factor", "rope_theta" };
    const sl_hf *folder = sl_weights_hf(w);
    sl_status rc = SL_OK;
    if (!folder && (rc = sl_config_gguf(c, w, err)))
        return rc;
    if (folder)
        rc = sl_config_hf(c, folder->config.root, traits, err);
    if (!rc)
        rc = check(c, folder ? &hf : &gguf, err);
    return rc ? sl_fail_in(err, rc, "%s", folder ? folder->config.path : sl_weights_path(w)) : SL_OK;
}
