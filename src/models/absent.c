#include "models/absent.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "base/str.h"
#include "formats/hf.h"
#include "models/unknown.h"
#include "models/views.h"

#define LOOKUPS_MAX ((size_t)1 << 20) /* of a survey; beyond, the first missing tensor has to do */
#define TEXT_MAX    260               /* of the list: a message has 508 bytes, its path among them */
#define RUNS_MAX    4                 /* of experts that are named */

typedef struct survey {
    const sl_net *m;
    uint32_t *have, *lack; /* [n_layers] tensors of that layer */
    size_t n_lacking;      /* in all */
    size_t n_told;
    size_t n_items_left;           /* for which there was no room */
    char left[SL_TENSOR_NAME_MAX]; /* the first of those */
    sl_str text;
} survey;

/* ---- rows of the table --------------------------------------------------------------------------- */

const char *sl_spec_name(const sl_net *m, const sl_tensor_spec *spec)
{
    return sl_weights_container(m->weights) == SL_CONTAINER_HF ? spec->hf : spec->gguf;
}

void sl_spec_needs(const sl_net *m, const sl_tensor_spec *spec, bool *needed, bool *known, bool *used)
{
    const sl_config *c = &m->config;
    const bool says = sl_weights_container(m->weights) == SL_CONTAINER_HF; /* whether the settings say it */
    const bool bias = spec->need == SL_ATTN_BIAS || spec->need == SL_MLP_BIAS;
    const bool wanted = spec->need == SL_ATTN_BIAS ? c->attn_bias : c->mlp_bias;
    const bool shared = spec->need == SL_SHARED && c->s;
    *known = !(bias && says && !wanted) && (spec->need != SL_SHARED || shared);
    *needed = spec->need == SL_NEEDED || spec->need == SL_OTHERWISE || shared ||
              (spec->need == SL_HEAD && says && !c->tied) || (bias && says && wanted);
    *used = *known && spec->need != SL_UNUSED && !(spec->need == SL_HEAD && says && c->tied);
}

bool sl_spec_in_layer(const sl_net *m, const sl_tensor_spec *spec, size_t layer)
{
    if (spec->layers == SL_LAYERS_Q_RANK || spec->layers == SL_LAYERS_Q_PLAIN)
        return (m->config.q_rank > 0) == (spec->layers == SL_LAYERS_Q_RANK);
    return spec->layers == SL_LAYERS_ALL || m->layer[layer].sparse == (spec->layers == SL_LAYERS_SPARSE);
}

void sl_spec_fill_in(char out[SL_TENSOR_NAME_MAX], const char *pattern, size_t n)
{
    const char *mark = strstr(pattern, "%zu");
    snprintf(out, SL_TENSOR_NAME_MAX, "%.*s%zu%s", (int)(mark - pattern), pattern, n, mark + 3);
}

/* ---- counting ------------------------------------------------------------------------------------- */

static bool there(const sl_net *m, const sl_tensor_spec *spec, size_t layer, size_t expert)
{
    const char *pattern = sl_spec_name(m, spec);
    char of_layer[SL_TENSOR_NAME_MAX], of_expert[SL_TENSOR_NAME_MAX];
    if (pattern && strstr(pattern, "%zu")) {
        sl_spec_fill_in(of_layer, pattern, layer);
        pattern = of_layer;
    }
    if (pattern && strstr(pattern, "%zu")) {
        sl_spec_fill_in(of_expert, pattern, expert);
        pattern = of_expert;
    }
    return pattern && sl_weights_find(m->weights, pattern);
}

/* Whether an earlier row has the same weights in another form, and the file has that. */
static bool in_another_form(const sl_net *m, const sl_tensor_spec *spec, size_t layer)
{
    for (const sl_tensor_spec *s = m->arch->tensors; spec->need == SL_OTHERWISE && s < spec; s++)
        if (s->offset == spec->offset && there(m, s, layer, 0))
            return true;
    return false;
}

static bool of_layer(const sl_net *m, const sl_tensor_spec *spec)
{
    const char *name = sl_spec_name(m, spec);
    return name && strstr(name, "%zu");
}

/* Tensors of its own of each expert: how many the row names in a layer. */
static size_t n_named(const sl_net *m, const sl_tensor_spec *spec)
{
    const char *name = sl_spec_name(m, spec), *layer = name ? strstr(name, "%zu") : NULL;
    return layer && strstr(layer + 3, "%zu") ? m->config.router.E : 1;
}

/* How many of the row's tensors are missing in the layer; 0 for rows that need not be there. *found: the others. */
static size_t count_row(const sl_net *m, const sl_tensor_spec *spec, size_t layer, size_t *found)
{
    bool needed = false, known = false, used = false;
    const size_t n = n_named(m, spec);
    size_t lacking = 0;
    *found = 0;
    sl_spec_needs(m, spec, &needed, &known, &used);
    if (!sl_spec_name(m, spec) || (of_layer(m, spec) && !sl_spec_in_layer(m, spec, layer)))
        return 0;
    for (size_t e = 0; e < n; e++) {
        const bool is = there(m, spec, layer, e) || in_another_form(m, spec, layer);
        *found += is;
        lacking += needed && !is;
    }
    /* A second matrix of the same tensor is none of its own. */
    return spec->part ? 0 : lacking;
}

static void count_all(survey *v)
{
    const sl_net *m = v->m;
    for (size_t s = 0; s < m->arch->n_tensors; s++) {
        const sl_tensor_spec *spec = &m->arch->tensors[s];
        for (size_t l = 0; l < (of_layer(m, spec) ? m->config.n_layers : 1); l++) {
            size_t found = 0;
            const size_t lacking = count_row(m, spec, l, &found);
            v->n_lacking += lacking;
            if (of_layer(m, spec)) {
                v->have[l] += (uint32_t)found;
                v->lack[l] += (uint32_t)lacking;
            }
        }
    }
}

/* ---- the list ---------------------------------------------------------------------------------------- */

/* "136,231" */
static const char *grouped(size_t n, char room[32])
{
    char plain[24];
    const size_t len = (size_t)snprintf(plain, sizeof plain, "%zu", n);
    size_t used = 0;
    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            room[used++] = ',';
        room[used++] = plain[i];
    }
    room[used] = '\0';
    return room;
}

/* An item of the list, what is missing behind where; unless there is no room by now, which is told at the end. */
static void tell(survey *v, size_t n, const char *what, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void tell(survey *v, size_t n, const char *what, const char *fmt, ...)
{
    char where[SL_TENSOR_NAME_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(where, sizeof where, fmt, args);
    va_end(args);
    if (v->text.len + strlen(what) + strlen(where) > TEXT_MAX) {
        if (!v->n_items_left++)
            snprintf(v->left, sizeof v->left, "%s", what);
        return;
    }
    sl_str_printf(&v->text, "%s%s%s", v->text.len ? "; " : "", what, where);
    v->n_told += n;
}

static bool whole(const survey *v, size_t layer)
{
    return v->lack[layer] && !v->have[layer];
}

/* Runs of layers of which nothing is there. */
static void tell_layers(survey *v)
{
    char room[32];
    for (size_t l = 0, end = 0; l < v->m->config.n_layers; l = end + 1) {
        size_t n = 0;
        for (end = l; end < v->m->config.n_layers && whole(v, end); end++)
            n += v->lack[end];
        if (end == l)
            continue;
        if (end - l == 1)
            tell(v, n, "layer", " %zu is missing (%s tensors)", l, grouped(n, room));
        else
            tell(v, n, "layers", " %zu to %zu are missing (%zu layers, %s tensors)", l, end - 1, end - l,
                 grouped(n, room));
    }
}

#define EXPERTS_TEXT_MAX 64

/* Which experts of a layer are missing: "*" for all, "3", "{3-5,7}". */
static void experts_text(const sl_net *m, const sl_tensor_spec *spec, size_t layer, char out[EXPERTS_TEXT_MAX])
{
    const size_t E = n_named(m, spec);
    char list[EXPERTS_TEXT_MAX - 8] = ""; /* RUNS_MAX times "65535-65535,": 65536 experts at most */
    size_t used = 0, n = 0, runs = 0;
    for (size_t e = 0, end = 0; e < E; e = end + 1) {
        for (end = e; end < E && !there(m, spec, layer, end); end++)
            n++;
        if (end == e || runs++ >= RUNS_MAX)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu", used ? "," : "", e);
        if (end - e > 1)
            used += (size_t)snprintf(list + used, sizeof list - used, "-%zu", end - 1);
    }
    if (n == E)
        snprintf(out, EXPERTS_TEXT_MAX, "*");
    else
        snprintf(out, EXPERTS_TEXT_MAX, n > 1 ? "{%s%s}" : "%s%s", list, runs > RUNS_MAX ? ",..." : "");
}

/* What the row's tensors in a layer are called, without its number, experts as those that are missing. */
static void kind_text(const sl_net *m, const sl_tensor_spec *spec, size_t layer, char out[SL_TENSOR_NAME_MAX])
{
    const char *name = sl_spec_name(m, spec), *rest = strstr(name, "%zu") + 4, *expert = strstr(rest, "%zu");
    char experts[EXPERTS_TEXT_MAX];
    snprintf(out, SL_TENSOR_NAME_MAX, "%s", rest);
    if (!expert)
        return;
    experts_text(m, spec, layer, experts);
    snprintf(out, SL_TENSOR_NAME_MAX, "%.*s%s%s", (int)(expert - rest), rest, experts, expert + 3);
}

/* Of one row: "mlp.gate.weight of layers 1 to 3 (3 tensors)" for each run of layers that lack the same. */
static void tell_row(survey *v, const sl_tensor_spec *spec)
{
    const sl_net *m = v->m;
    char kind[SL_TENSOR_NAME_MAX] = "", next[SL_TENSOR_NAME_MAX], room[32];
    size_t n = 0, first = 0, last = 0;
    for (size_t l = 0; l <= m->config.n_layers; l++) {
        size_t found = 0, lacking = 0;
        const bool end = l == m->config.n_layers || whole(v, l);
        if (!end)
            lacking = count_row(m, spec, l, &found);
        if (!end && !lacking && !found)
            continue; /* a layer that has no such tensor */
        if (lacking)
            kind_text(m, spec, l, next);
        if (n && (!lacking || strcmp(kind, next) != 0)) {
            if (first == last)
                tell(v, n, kind, " of layer %zu (%s tensor%s)", first, grouped(n, room), n == 1 ? "" : "s");
            else
                tell(v, n, kind, " of layers %zu to %zu (%s tensors)", first, last, grouped(n, room));
            n = 0;
        }
        if (!lacking)
            continue;
        first = n ? first : l;
        last = l;
        n += lacking;
        memcpy(kind, next, sizeof kind);
    }
}

static void tell_rows(survey *v)
{
    for (size_t s = 0; s < v->m->arch->n_tensors; s++) {
        const sl_tensor_spec *spec = &v->m->arch->tensors[s];
        size_t found = 0;
        if (of_layer(v->m, spec))
            tell_row(v, spec);
        else if (count_row(v->m, spec, 0, &found))
            tell(v, 1, sl_spec_name(v->m, spec), "%s", "");
    }
}

static void write_list(survey *v)
{
    char room[32];
    count_all(v);
    if (v->n_lacking < 2)
        return;
    tell_layers(v);
    tell_rows(v);
    const size_t n = v->n_lacking - v->n_told;
    if (n)
        sl_str_printf(&v->text, "%s%s%s (%s tensor%s)", v->text.len ? "; " : "", v->left,
                      v->n_items_left > 1 ? " and others" : "", grouped(n, room), n == 1 ? "" : "s");
}

static bool too_many(const sl_net *m)
{
    size_t rows = 0, all = 0;
    for (size_t s = 0; s < m->arch->n_tensors; s++)
        rows += n_named(m, &m->arch->tensors[s]);
    return !sl_mul_ok(rows, m->config.n_layers, &all) || all > LOOKUPS_MAX;
}

sl_status sl_net_lacks(const sl_net *m, const sl_tensor_spec *spec, const char *name, sl_err *err)
{
    const char *why = spec->need == SL_HEAD        ? "; tie_word_embeddings is not set"
                      : spec->need == SL_ATTN_BIAS ? "; attention_bias asks for it"
                      : spec->need == SL_MLP_BIAS  ? "; mlp_bias asks for it"
                                                   : "";
    const size_t n = m->config.n_layers;
    const sl_hf *folder = sl_weights_hf(m->weights);
    const char *suffix = folder && !sl_spec_is_vector(spec) ? sl_quantized_suffix(&folder->quantized) : NULL;
    const sl_weight_info *unknown = sl_net_unknown(m);
    survey v = { .m = m };
    char room[32], stored[SL_STORED_NAME_MAX];
    if (!too_many(m)) {
        v.have = sl_mem_zalloc(n, sizeof *v.have);
        v.lack = sl_mem_zalloc(n, sizeof *v.lack);
    }
    if (v.have && v.lack) /* else the first one has to do */
        write_list(&v);
    const bool list = v.text.len && !v.text.failed;
    sl_fail(err, SL_EFORMAT, "%s: missing tensor %s%s%s (architecture %s%s)%s%s%s%s%s%s", sl_weights_path(m->weights),
            name, suffix ? " or " : "", suffix ? suffix : "", sl_arch_name(m->arch), why,
            unknown ? "; an unknown one is there, " : "", unknown ? sl_stored_name(m, unknown, stored) : "",
            list ? "; " : "", list ? grouped(v.n_lacking, room) : "", list ? " are missing in all: " : "",
            list ? v.text.data : "");
    sl_mem_free(v.have);
    sl_mem_free(v.lack);
    sl_str_fini(&v.text);
    return SL_EFORMAT;
}
