#include "models/absent.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "base/str.h"
#include "models/views.h"

#define LOOKUPS_MAX ((size_t)1 << 20) /* of a survey; beyond, the first missing tensor has to do */
#define TEXT_MAX    360               /* of the list: a message has 508 bytes, its path among them */

typedef struct survey {
    const sl_net *m;
    uint32_t *have, *lack; /* [n_layers] tensors of that layer */
    size_t n_lacking;      /* in all */
    size_t n_told;
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

/* An item of the list, unless it is too long by now; what is left out is counted at the end. */
static void tell(survey *v, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void tell(survey *v, size_t n, const char *fmt, ...)
{
    char item[SL_TENSOR_NAME_MAX + 64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(item, sizeof item, fmt, args);
    va_end(args);
    if (v->text.len + strlen(item) > TEXT_MAX)
        return;
    sl_str_printf(&v->text, "%s%s", v->text.len ? "; " : "", item);
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
            tell(v, n, "layer %zu is missing (%s tensors)", l, grouped(n, room));
        else
            tell(v, n, "layers %zu to %zu are missing (%zu layers, %s tensors)", l, end - 1, end - l, grouped(n, room));
    }
}

/* The rest, by rows: "mlp.gate.weight of layers 1 to 5 (3 tensors)". */
static void tell_rows(survey *v)
{
    const sl_net *m = v->m;
    char room[32];
    for (size_t s = 0; s < m->arch->n_tensors; s++) {
        const sl_tensor_spec *spec = &m->arch->tensors[s];
        const bool layers = of_layer(m, spec);
        size_t n = 0, first = 0, last = 0;
        for (size_t l = 0; l < (layers ? m->config.n_layers : 1); l++) {
            size_t found = 0;
            const size_t lacking = layers && whole(v, l) ? 0 : count_row(m, spec, l, &found);
            first = lacking && !n ? l : first;
            last = lacking ? l : last;
            n += lacking;
        }
        const char *name = sl_spec_name(m, spec), *mark = n && layers ? strstr(name, "%zu") + 4 : name;
        char kind[SL_TENSOR_NAME_MAX];
        if (n_named(m, spec) > 1 && mark) {
            const char *expert = strstr(mark, "%zu");
            snprintf(kind, sizeof kind, "%.*s*%s", (int)(expert - mark), mark, expert + 3);
            mark = kind;
        }
        if (n && !layers)
            tell(v, n, "%s", name);
        else if (n && first == last)
            tell(v, n, "%s of layer %zu (%s tensor%s)", mark, first, grouped(n, room), n == 1 ? "" : "s");
        else if (n)
            tell(v, n, "%s of layers %zu to %zu (%s tensors)", mark, first, last, grouped(n, room));
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
    if (v->n_told < v->n_lacking)
        sl_str_printf(&v->text, "%s%s elsewhere", v->text.len ? "; " : "", grouped(v->n_lacking - v->n_told, room));
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
    survey v = { .m = m };
    char room[32];
    if (!too_many(m)) {
        v.have = sl_mem_zalloc(n, sizeof *v.have);
        v.lack = sl_mem_zalloc(n, sizeof *v.lack);
    }
    if (v.have && v.lack) /* else the first one has to do */
        write_list(&v);
    if (v.text.len && !v.text.failed)
        sl_fail(err, SL_EFORMAT, "%s: missing tensor %s (architecture %s%s) and %s more: %s",
                sl_weights_path(m->weights), name, sl_arch_name(m->arch), why, grouped(v.n_lacking - 1, room),
                v.text.data);
    else
        sl_fail(err, SL_EFORMAT, "%s: missing tensor %s (architecture %s%s)", sl_weights_path(m->weights), name,
                sl_arch_name(m->arch), why);
    sl_mem_free(v.have);
    sl_mem_free(v.lack);
    sl_str_fini(&v.text);
    return SL_EFORMAT;
}
