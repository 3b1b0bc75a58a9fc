/* config_hf.c - settings of llama-like models in config.json. Source: Transformers, configuration_llama.py and those of
 * mistral, qwen2 and qwen3, as of releases 4 and 5.
 *
 * Keys that would change what is computed and that nothing here reads are refused unless they say "no": a file whose
 * model differs from its name must not run as if it did not. */
#include "models/config.h"

#include <string.h>
#include "base/num.h"
#include "formats/show.h"

/* What Transformers' classes suppose where the key is missing. */
#define DEFAULT_WINDOW      4096 /* of Mistral and Qwen */
#define DEFAULT_WINDOW_FROM 28   /* of Qwen */
#define DEFAULT_EPS         1e-6

/* ---- values --------------------------------------------------------------------------------- */

sl_status sl_hf_size(const sl_json *object, const char *key, bool required, size_t *out, sl_err *err)
{
    int64_t v = -1;
    const sl_json *m = sl_json_get(object, key);
    const sl_status rc = sl_json_get_int(object, key, required, &v, err);
    if (rc || !m)
        return rc;
    if (v < 1 || (uint64_t)v > SL_SIZE_LIMIT)
        return sl_json_fail(err, SL_EFORMAT, m, "%lld is not within 1..%llu", (long long)v,
                            (unsigned long long)SL_SIZE_LIMIT);
    *out = (size_t)v;
    return SL_OK;
}

sl_status sl_hf_positive(const sl_json *object, const char *key, bool required, double *out, sl_err *err)
{
    const sl_json *m = sl_json_get(object, key);
    double v = 0.0;
    if (!m)
        return required ? sl_json_fail(err, SL_EFORMAT, object, "\"%s\" is missing", key) : SL_OK;
    if (!sl_json_double(m, &v) || !(v > 0.0))
        return sl_json_fail(err, SL_EFORMAT, m, "should be a number above 0");
    *out = v;
    return SL_OK;
}

/* ---- keys that must say no --------------------------------------------------------------------- */

typedef enum neutral {
    ABSENT, /* or null */
    FALSE_OR_ZERO,
    TRUE_ONLY,
    ONE,     /* a factor */
    DROPOUT, /* any number: not applied when a model runs */
} neutral;

/* Architectures that read a key. */
typedef enum reader { NOBODY, QWENS, QWENS_AND_DEEPSEEKS, GPT_OSS, LATENTS } reader;

/* The first group names what whole families add, the second what single models do to llama's layers. */
static const struct {
    const char *key;
    neutral want;
    reader by;
} refused[] = {
    { "text_config", ABSENT },
    { "vision_config", ABSENT },
    { "audio_config", ABSENT },
    { "num_experts", FALSE_OR_ZERO, QWENS },
    { "num_local_experts", FALSE_OR_ZERO, GPT_OSS },
    { "swiglu_limit", ABSENT, GPT_OSS },
    { "n_routed_experts", FALSE_OR_ZERO, LATENTS },
    { "moe_intermediate_size", FALSE_OR_ZERO, QWENS_AND_DEEPSEEKS },
    { "q_lora_rank", ABSENT, LATENTS },
    { "kv_lora_rank", ABSENT, LATENTS },
    { "num_nextn_predict_layers", FALSE_OR_ZERO, LATENTS },
    { "add_cross_attention", FALSE_OR_ZERO },
    { "is_encoder_decoder", FALSE_OR_ZERO },
    { "use_bidirectional_attention", FALSE_OR_ZERO },
    { "is_causal", TRUE_ONLY },

    { "attn_logit_softcapping", ABSENT },
    { "final_logit_softcapping", ABSENT },
    { "clip_qkv", ABSENT },
    { "use_qk_norm", FALSE_OR_ZERO },
    { "qk_layernorm", FALSE_OR_ZERO },
    { "qkv_bias", FALSE_OR_ZERO },
    { "use_bias", FALSE_OR_ZERO },
    { "attention_out_bias", FALSE_OR_ZERO },
    { "no_rope_layers", ABSENT },
    { "attention_chunk_size", ABSENT },
    { "sliding_window_pattern", ABSENT },
    { "query_pre_attn_scalar", ABSENT },
    { "attention_multiplier", ABSENT },
    { "attn_temperature_tuning", FALSE_OR_ZERO },
    { "llama_4_scaling", ABSENT },
    { "logits_scaling", ONE },
    { "logit_scale", ONE },
    { "embedding_multiplier", ONE },
    { "residual_multiplier", ONE },
    { "scale_emb", ONE },
    { "scale_depth", ONE },
    { "partial_rotary_factor", ONE },
    { "attention_dropout", DROPOUT },
};

static bool is_neutral(const sl_json *m, neutral want)
{
    double v = -1.0;
    const bool number = sl_json_double(m, &v);
    switch (want) {
    case ABSENT:
        return false;
    case FALSE_OR_ZERO:
        return (m->kind == SL_JSON_BOOL && !m->value) || (number && v == 0.0);
    case TRUE_ONLY:
        return m->kind == SL_JSON_BOOL && m->value;
    case ONE:
        return number && v == 1.0;
    case DROPOUT:
        return number;
    }
    return false;
}

static bool reads(const sl_config *c, reader by)
{
    switch (by) {
    case NOBODY:
        return false;
    case QWENS:
        return c->mixture == SL_MIXTURE_QWEN;
    case QWENS_AND_DEEPSEEKS:
        return c->mixture == SL_MIXTURE_QWEN || c->mixture == SL_MIXTURE_DEEPSEEK;
    case GPT_OSS:
        return c->mixture == SL_MIXTURE_GPT_OSS;
    case LATENTS:
        return c->latent;
    }
    return false;
}

static sl_status check_refused(const sl_config *c, const sl_json *root, sl_err *err)
{
    for (size_t i = 0; i < SL_COUNT(refused); i++) {
        const sl_json *m = sl_json_get(root, refused[i].key);
        if (!m || is_neutral(m, refused[i].want) || reads(c, refused[i].by))
            continue;
        return sl_json_fail(err, SL_EUNSUPPORTED, m, "models with this setting are not supported");
    }
    return SL_OK;
}

/* ---- parts ---------------------------------------------------------------------------------------- */

/* Of latent attention: a head's width is that of its key, and head_dim, which some files have too, none of these. */
static sl_status read_latent(sl_config *c, const sl_json *root, sl_err *err)
{
    size_t rope = 0;
    sl_status rc;
    c->rope_adjacent = true;
    if ((rc = sl_hf_size(root, "q_lora_rank", false, &c->q_rank, err)) ||
        (rc = sl_hf_size(root, "kv_lora_rank", true, &c->kv_rank, err)) ||
        (rc = sl_hf_size(root, "qk_nope_head_dim", true, &c->nope, err)) ||
        (rc = sl_hf_size(root, "qk_rope_head_dim", true, &rope, err)) ||
        (rc = sl_hf_size(root, "v_head_dim", true, &c->v_width, err)) ||
        (rc = sl_json_get_bool(root, "rope_interleave", false, &c->rope_adjacent, err)))
        return rc;
    if (rope % 2 || c->nope % 2 || c->kv_rank % 2)
        return sl_fail(err, SL_EUNSUPPORTED,
                       "qk_rope_head_dim %zu, qk_nope_head_dim %zu, kv_lora_rank %zu: even widths are supported", rope,
                       c->nope, c->kv_rank);
    c->Hkv = c->H;
    c->C = c->nope + rope;
    return SL_OK;
}

static sl_status read_widths(sl_config *c, const sl_json *root, const sl_hf_traits *traits, sl_err *err)
{
    double eps = DEFAULT_EPS;
    sl_status rc;
    if ((rc = sl_hf_size(root, "num_hidden_layers", true, &c->n_layers, err)) ||
        (rc = sl_hf_size(root, "max_position_embeddings", true, &c->n_ctx_train, err)) ||
        (rc = sl_hf_size(root, "vocab_size", true, &c->n_vocab, err)) ||
        (rc = sl_hf_size(root, "hidden_size", true, &c->D, err)) ||
        (rc = sl_hf_size(root, "intermediate_size", !c->mixture, &c->F, err)) ||
        (rc = sl_hf_size(root, "num_attention_heads", true, &c->H, err)) ||
        (rc = sl_hf_positive(root, "rms_norm_eps", false, &eps, err)))
        return rc;
    c->norm_eps = (float)eps;
    if (c->latent)
        return read_latent(c, root, err);
    c->Hkv = c->H;
    c->C = traits->head_dim ? traits->head_dim : c->D / c->H;
    if ((rc = sl_hf_size(root, "num_key_value_heads", false, &c->Hkv, err)) ||
        (rc = sl_hf_size(root, "head_dim", false, &c->C, err)))
        return rc;
    if (!sl_json_get(root, "head_dim") && !traits->head_dim && c->D % c->H)
        return sl_fail(err, SL_EFORMAT, "hidden_size %zu is no multiple of num_attention_heads %zu", c->D, c->H);
    return SL_OK;
}

static sl_status read_activation(const sl_json *root, sl_err *err)
{
    sl_bytes name = { "silu", 4 };
    char shown[SL_SHOW_MAX];
    const sl_status rc = sl_json_get_str(root, "hidden_act", false, &name, err);
    const sl_json *m = sl_json_get(root, "hidden_act");
    if (rc || !m || sl_json_is(m, "silu") || sl_json_is(m, "swish"))
        return rc;
    return sl_json_fail(err, SL_EUNSUPPORTED, m, "\"%s\" is not supported; silu is", sl_show(shown, name));
}

static sl_status read_flag(const sl_json *root, const char *key, bool known, bool *out, sl_err *err)
{
    bool flag = false;
    const sl_status rc = sl_json_get_bool(root, key, false, &flag, err);
    if (rc)
        return rc;
    if (flag && !known)
        return sl_json_fail(err, SL_EUNSUPPORTED, sl_json_get(root, key), "not part of this architecture");
    *out = *out || flag;
    return SL_OK;
}

static sl_status read_flags(sl_config *c, const sl_json *root, const sl_hf_traits *traits, sl_err *err)
{
    sl_status rc;
    sl_bytes dtype = { 0 }; /* tensors say what they are stored as */
    if ((rc = read_flag(root, "tie_word_embeddings", true, &c->tied, err)) ||
        (rc = read_flag(root, "attention_bias", traits->attention_bias, &c->attn_bias, err)) ||
        (rc = read_flag(root, "mlp_bias", traits->mlp_bias, &c->mlp_bias, err)) ||
        (rc = sl_json_get_str(root, "torch_dtype", false, &dtype, err)) ||
        (rc = sl_json_get_str(root, "dtype", false, &dtype, err)))
        return rc;
    return SL_OK;
}

/* ---- windows --------------------------------------------------------------------------------------- */

/* One kind for each layer. *windows: some layer has one. */
static sl_status read_layer_types(sl_config *c, const sl_json *root, bool *windows, sl_err *err)
{
    const sl_json *list = NULL;
    char shown[SL_SHOW_MAX];
    *windows = false;
    const sl_status rc = sl_json_get_list(root, "layer_types", false, &list, err);
    if (rc || !list)
        return rc;
    if (list->n != c->n_layers)
        return sl_json_fail(err, SL_EFORMAT, list, "%u kinds for %zu layers", list->n, c->n_layers);
    for (const sl_json *m = list->first; m; m = m->next) {
        if (m->kind != SL_JSON_STRING)
            return sl_json_fail(err, SL_EFORMAT, m, "should be a string");
        const bool window = sl_json_is(m, "sliding_attention");
        *windows = *windows || window;
        if (!window && !sl_json_is(m, "full_attention"))
            return sl_json_fail(err, SL_EUNSUPPORTED, m,
                                "\"%s\" is not supported; known are full_attention, sliding_attention",
                                sl_show(shown, sl_json_bytes(m)));
    }
    c->layer_types = list;
    return SL_OK;
}

/* Of an architecture without windows: a file that asks for one within its context is another model. */
static sl_status refuse_window(const sl_config *c, const sl_json *root, size_t window, bool on, bool listed,
                               sl_err *err)
{
    const char *key = listed ? "layer_types" : on ? "use_sliding_window" : "sliding_window";
    if (!listed && !on && window >= c->n_ctx_train)
        return SL_OK;
    return sl_json_fail(err, SL_EUNSUPPORTED, sl_json_get(root, key), "this architecture has no sliding window");
}

static sl_status read_window(sl_config *c, const sl_json *root, const sl_hf_traits *traits, sl_err *err)
{
    const bool none = traits->window == SL_WINDOW_NONE, alternating = traits->window == SL_WINDOW_ALTERNATING;
    const bool all = traits->window == SL_WINDOW_ALL || alternating;
    bool on = all, listed = false;
    size_t window = none ? SIZE_MAX : DEFAULT_WINDOW; /* null: none */
    int64_t from = DEFAULT_WINDOW_FROM;
    sl_status rc;
    if (sl_json_is_null(root, "sliding_window"))
        window = SIZE_MAX;
    if ((rc = sl_hf_size(root, "sliding_window", false, &window, err)) ||
        (rc = sl_json_get_bool(root, "use_sliding_window", false, &on, err)) ||
        (rc = sl_json_get_int(root, "max_window_layers", false, &from, err)) ||
        (rc = read_layer_types(c, root, &listed, err)))
        return rc;
    if (none)
        return refuse_window(c, root, window, on, listed, err);
    if (from < 0)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, "max_window_layers"), "is negative");
    if (all && !on && window != SIZE_MAX)
        return sl_json_fail(err, SL_EUNSUPPORTED, sl_json_get(root, "use_sliding_window"),
                            "this architecture cannot do without its sliding_window");
    if (listed && (!on || window == SIZE_MAX))
        return sl_json_fail(err, SL_EFORMAT, c->layer_types, "layers with a window, but sliding_window is %s",
                            on ? "not set" : "not in use");
    if (on && !all && window == SIZE_MAX)
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(root, "use_sliding_window"),
                            "is true, but sliding_window is not set");
    c->window = on && window != SIZE_MAX ? window : 0;
    c->window_from = all ? 0 : (size_t)from;
    c->window_every = alternating ? 2 : 1;
    return SL_OK;
}

sl_status sl_config_hf(sl_config *c, const sl_json *root, const sl_hf_traits *traits, sl_err *err)
{
    sl_status rc;
    if ((rc = check_refused(c, root, err)) || (rc = read_widths(c, root, traits, err)) ||
        (rc = read_activation(root, err)) || (rc = read_flags(c, root, traits, err)) ||
        (rc = read_window(c, root, traits, err)))
        return rc;
    return sl_rope_hf(c, root, err);
}
