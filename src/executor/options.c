#include "executor/options.h"

#include <string.h>
#include "base/num.h"

#define DEFAULT_UBATCH 512
#define DEFAULT_PAGE   64
#define LIMIT_THREADS  1024
#define LIMIT_CTX      ((size_t)1 << 24)
#define LIMIT_UBATCH   ((size_t)1 << 16)
#define LIMIT_SEQS     ((size_t)1 << 12)

/* The words of an option in the order of its enum; the first is the default. */
static const char *const act_words[] = { "auto", "f32", "int8", NULL };
static const char *const mode_words[] = { "graph", "eager", NULL };
static const char *const attn_words[] = { "flash", "plain", NULL };
static const char *const mla_words[] = { "auto", "absorbed", "expanded", NULL };
static const char *const layout_words[] = { "grouped", "token", NULL };

const char *sl_act_name(sl_act_type act)
{
    return act == SL_ACT_F32 ? "f32" : "int8";
}

const char *sl_mode_name(sl_mode mode)
{
    return mode_words[mode];
}

const char *sl_attn_name(sl_attn attn)
{
    return attn_words[attn];
}

const char *sl_mla_name(sl_mla mla)
{
    return mla == SL_MLA_EXPANDED ? "expanded" : "absorbed";
}

const char *sl_kv_layout_name(sl_kv_layout layout)
{
    return layout_words[layout];
}

static sl_status pick(const char *option, const char *given, const char *const *words, size_t *out, sl_err *err)
{
    *out = 0;
    if (!given)
        return SL_OK;
    char list[96] = "";
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(given, words[i]) == 0) {
            *out = i;
            return SL_OK;
        }
        if (i)
            strncat(list, ", ", sizeof list - strlen(list) - 1);
        strncat(list, words[i], sizeof list - strlen(list) - 1);
    }
    return sl_fail(err, SL_EINVAL, "%s: \"%s\" is none of %s", option, given, list);
}

static sl_status read_placement(sl_settings *s, const sl_engine_options *o, sl_err *err)
{
    static const char *const weights[] = { "map", "copy", "copy-per-node", NULL };
    static const char *const huge[] = { "off", "thp", "explicit", NULL };
    static const char *const numa[] = { "off", "interleave", NULL };
    static const char *const pin[] = { "auto", "off", "cores", NULL };
    static const char *const prefetch[] = { "auto", "off", "on", NULL };
    size_t w = 0, h = 0, n = 0, p = 0, ahead = 0;
    sl_status rc;
    if ((rc = pick("--weights", o->weights, weights, &w, err)) ||
        (rc = pick("--huge-pages", o->huge_pages, huge, &h, err)) || (rc = pick("--numa", o->numa, numa, &n, err)) ||
        (rc = pick("--pin", o->pin, pin, &p, err)) || (rc = pick("--prefetch", o->prefetch, prefetch, &ahead, err)))
        return rc;
    s->weights = o->repack && !o->weights ? SL_WEIGHTS_COPY : (sl_weights_mode)w;
    s->repack = o->repack;
    if (s->repack && s->weights == SL_WEIGHTS_MAP)
        return sl_fail(err, SL_EINVAL,
                       "--repack lays weights out anew, which needs a copy: --weights copy or "
                       "copy-per-node, not map");
    s->n_copies = s->weights == SL_WEIGHTS_PER_NODE ? sl_nodes() : s->weights == SL_WEIGHTS_COPY;
    s->mlock = o->mlock;
    s->prefetch = (sl_prefetch)ahead;
    s->plan.env.fetch = s->prefetch != SL_PREFETCH_OFF;
    if (s->prefetch == SL_PREFETCH_ON && s->weights != SL_WEIGHTS_MAP)
        return sl_fail(err, SL_EINVAL, "--prefetch on reads ahead in the mapped file, which --weights %s does not use",
                       o->weights ? o->weights : "copy");
    s->pages = (sl_pages_how){ .huge = (sl_huge)h, .lock = o->mlock, .interleave = n == 1 };
    if (s->weights == SL_WEIGHTS_PER_NODE && p == SL_PIN_OFF)
        return sl_fail(err, SL_EINVAL, "--weights copy-per-node needs threads that stay on their node, not --pin off");
    s->pin = s->weights == SL_WEIGHTS_PER_NODE ? SL_PIN_CORES : (sl_pin)p;
    return SL_OK;
}

static sl_status size_option(const char *option, size_t given, size_t fallback, size_t limit, size_t *out, sl_err *err)
{
    *out = given ? given : fallback;
    return *out <= limit ? SL_OK : sl_fail(err, SL_EINVAL, "%s: %zu is above %zu", option, *out, limit);
}

#define FUSION_ALONE 2 /* the first of the words below */

static sl_status read_fusion(const char *given, unsigned *out, sl_err *err)
{
    static const struct {
        const char *word;
        unsigned bits;
    } known[] = { { "all", SL_FUSE_ALL },
                  { "none", 0 },
                  { "norm", SL_FUSE_NORM },
                  { "attn", SL_FUSE_ATTN },
                  { "ffn", SL_FUSE_FFN } };
    const char *whole = given;
    *out = given ? 0 : SL_FUSE_ALL;
    while (given) {
        const char *comma = strchr(given, ',');
        const size_t len = comma ? (size_t)(comma - given) : strlen(given);
        size_t i = 0;
        while (i < SL_COUNT(known) && !(strlen(known[i].word) == len && memcmp(known[i].word, given, len) == 0))
            i++;
        if (i == SL_COUNT(known))
            return sl_fail(err, SL_EINVAL, "--fusion: \"%.*s\" is none of all, none, norm, attn, ffn",
                           (int)SL_MIN(len, 80u), given);
        if (i < FUSION_ALONE && (given != whole || comma))
            return sl_fail(err, SL_EINVAL, "--fusion: \"%s\" stands alone, not in a list", known[i].word);
        *out |= known[i].bits;
        given = comma ? comma + 1 : NULL;
    }
    return SL_OK;
}

static sl_status read_kv(sl_settings *s, const sl_net *net, const sl_engine_options *o, sl_err *err)
{
    static const char *const words[] = { "f16", "f32", "bf16", "int8", NULL };
    static const sl_kv_type types[] = { SL_KV_F16, SL_KV_F32, SL_KV_BF16, SL_KV_INT8 };
    size_t i = 0, layout = 0, page = 0, n_ctx = 0;
    sl_status rc;
    if ((rc = pick("--kv-type", o->kv_type, words, &i, err)) ||
        (rc = pick("--kv-layout", o->kv_layout, layout_words, &layout, err)) ||
        (rc = size_option("--kv-page", o->kv_page, DEFAULT_PAGE, 1 << 16, &page, err)) ||
        (rc = size_option("--ctx-size", o->n_ctx, SL_MIN(net->config.n_ctx_train, LIMIT_CTX), LIMIT_CTX, &n_ctx, err)))
        return rc;
    if (net->config.n_ctx_max && n_ctx > net->config.n_ctx_max)
        return sl_fail(err, SL_EINVAL, "--ctx-size: %zu, but the model's dynamic rope changes beyond %zu positions",
                       n_ctx, net->config.n_ctx_max);
    if (page % 16)
        return sl_fail(err, SL_EINVAL, "--kv-page: %zu is no multiple of 16", page);
    s->choose_ctx = !o->n_ctx;
    s->kv = (sl_kv_shape){ .n_layers = net->config.n_layers,
                           .n_heads = net->config.Hkv,
                           .C = net->config.C,
                           .type = types[i],
                           .layout = layout ? SL_KV_TOKEN : SL_KV_GROUPED,
                           .P = page };
    if (net->config.kv_rank) { /* a row is key and value, so it lies as values do */
        s->kv.latent = true;
        s->kv.layout = SL_KV_TOKEN;
        s->kv.n_heads = 1;
        s->kv.C = net->config.kv_rank + net->config.rope.dim;
    }
    sl_settings_set_ctx(s, n_ctx);
    return SL_OK;
}

void sl_settings_set_ctx(sl_settings *s, size_t n_ctx)
{
    sl_limits *l = &s->plan.env.limits;
    s->n_ctx = n_ctx;
    l->n_ctx = sl_round_up(n_ctx, s->kv.P);
    s->pages_per_seq = l->n_ctx / s->kv.P;
    s->kv.n_pages = s->pages_per_seq * s->n_seqs;
    l->n_tokens = SL_MIN(s->n_tokens, l->n_ctx * s->n_seqs);
    /* A row for each sequence, so that none waits for another to end. */
    l->n_outputs = SL_MIN(SL_MAX(s->n_outputs, s->n_seqs), l->n_tokens);
}

sl_status sl_settings_read(sl_settings *s, const sl_net *net, const sl_engine_options *o, sl_err *err)
{
    *s = (sl_settings){ .trace_spans = o->trace_spans, .prefix_cache = o->prefix_cache, .memory_max = o->memory_max };
    sl_env *env = &s->plan.env;
    sl_limits *l = &env->limits;
    size_t act = 0, mode = 0, attn = 0, mla = 0;
    sl_status rc;
    if ((rc = sl_cpu_isa_ceiling(&s->isa, err)) || (rc = sl_cpu_several_streams(&s->several_streams, err)) ||
        (rc = read_placement(s, o, err)) || (rc = pick("--act", o->act, act_words, &act, err)) ||
        (rc = pick("--mode", o->mode, mode_words, &mode, err)) ||
        (rc = pick("--attn", o->attn, attn_words, &attn, err)) || (rc = pick("--mla", o->mla, mla_words, &mla, err)) ||
        (rc = read_fusion(o->fusion, &s->plan.fuse, err)) ||
        (rc = size_option("--threads", o->n_threads, sl_cpu_threads(), LIMIT_THREADS, &l->n_threads, err)) ||
        (rc = size_option("--parallel", o->n_seqs, 1, LIMIT_SEQS, &s->n_seqs, err)) ||
        (rc = size_option("--ubatch-size", o->n_ubatch, DEFAULT_UBATCH, LIMIT_UBATCH, &s->n_tokens, err)) ||
        (rc = size_option("outputs of a step", o->n_outputs, s->n_seqs, LIMIT_UBATCH, &s->n_outputs, err)) ||
        (rc = read_kv(s, net, o, err)))
        return rc;
    env->act = act == 1 ? SL_ACT_F32 : SL_ACT_Q8;
    if (s->repack && env->act == SL_ACT_F32)
        return sl_fail(err, SL_EINVAL, "--repack is for activations of 8 bits, not --act f32");
    s->round_floats = act == 2; /* which saves no time: nobody's default */
    env->attn = attn ? SL_ATTN_PLAIN : SL_ATTN_FLASH;
    env->window = o->attn_window;
    s->plan.mla = mla == 2 ? SL_MLA_EXPANDED : SL_MLA_ABSORBED;
    s->mode = mode ? SL_MODE_EAGER : SL_MODE_GRAPH;
    s->plan.every_barrier = s->mode == SL_MODE_EAGER;
    return SL_OK;
}

void sl_settings_kernels(sl_settings *s, sl_kernels *k)
{
    sl_kernels_init(k, s->isa);
    k->several = s->several_streams;
    if (!s->round_floats)
        sl_kernels_keep_floats(k);
    s->plan.env.k = k;
}
