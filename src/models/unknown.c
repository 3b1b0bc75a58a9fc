#include "models/unknown.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/hf.h"
#include "formats/show.h"
#include "models/absent.h"

/* Reads the number that stands in `name` where the pattern has its first %zu, below `end`, into *n and makes `out` the
 * pattern with it; false: there is none. */
static bool read_number(char out[SL_TENSOR_NAME_MAX], const char *pattern, const char *name, size_t end, size_t *n)
{
    const size_t front = (size_t)(strstr(pattern, "%zu") - pattern);
    *n = strncmp(name, pattern, front) == 0 ? strtoul(name + front, NULL, 10) : SIZE_MAX;
    if (*n >= end)
        return false;
    sl_spec_fill_in(out, pattern, *n);
    return true;
}

/* Whether the row gives this name for a layer of the model and an expert below `end`, *expert; SIZE_MAX: its
 * tensors are of no single expert. */
static bool gives(const sl_net *m, const sl_tensor_spec *spec, const char *name, size_t end, size_t *expert)
{
    const char *pattern = sl_spec_name(m, spec);
    char of_layer[SL_TENSOR_NAME_MAX], spelled[SL_TENSOR_NAME_MAX];
    size_t n = 0;
    *expert = SIZE_MAX;
    if (!pattern)
        return false;
    if (strstr(pattern, "%zu")) {
        if (!read_number(of_layer, pattern, name, m->config.n_layers, &n) || !sl_spec_in_layer(m, spec, n))
            return false;
        pattern = of_layer;
    }
    if (strstr(pattern, "%zu")) {
        if (!read_number(spelled, pattern, name, end, expert))
            return false;
        pattern = spelled;
    }
    return strcmp(pattern, name) == 0;
}

static bool is_known(const sl_net *m, const char *name)
{
    bool known = sl_net_skips(m, name);
    for (size_t s = 0; s < m->arch->n_tensors && !known; s++) {
        bool needed = false, used = false;
        size_t expert = 0;
        if (gives(m, &m->arch->tensors[s], name, m->config.router.E, &expert))
            sl_spec_needs(m, &m->arch->tensors[s], &needed, &known, &used);
    }
    return known;
}

/* ---- biases of quantised modules ---------------------------------------------------------------- */

/* A bias beside a quantised weight, one number for each of its outputs. */
static bool is_quantised_bias(const sl_net *m, const sl_weight_info *info)
{
    static const char bias[] = ".bias", weight[] = ".weight";
    const size_t n = strlen(info->name), end = sizeof bias - 1;
    char name[SL_TENSOR_NAME_MAX];
    if (n < end || strcmp(info->name + n - end, bias) != 0 || n - end + sizeof weight > sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s%s", (int)(n - end), info->name, weight);
    const sl_weight_info *w = sl_weights_find(m->weights, name);
    return w && w->tensor.scales.scale && info->n_dims == 1 && info->tensor.cols == w->tensor.rows;
}

/* Floats of any kind; a zero may be negative. */
static bool is_zero(const sl_weight_info *info)
{
    const sl_tensor *t = &info->tensor;
    const uint8_t *p = t->data;
    const bool floats = t->format == SL_FORMAT_F32 || t->format == SL_FORMAT_F16 || t->format == SL_FORMAT_BF16;
    const size_t size = t->cols ? t->row_bytes / t->cols : 1;
    for (size_t i = 0; i < t->row_bytes && floats; i++)
        if (p[i] & (i % size == size - 1 ? 0x7f : 0xff))
            return false;
    return floats;
}

/* ---- what is wrong --------------------------------------------------------------------------------- */

/* The number of a layer that stands in the name; SIZE_MAX: none. */
static size_t layer_of(const char *name)
{
    static const char *const begins[] = { "model.layers.", "blk." };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        const size_t n = strlen(begins[i]);
        if (strncmp(name, begins[i], n) == 0 && name[n] >= '0' && name[n] <= '9')
            return strtoul(name + n, NULL, 10);
    }
    return SIZE_MAX;
}

/* The number of an expert that the model does not have, in an otherwise good name; SIZE_MAX: none. */
static size_t extra_expert(const sl_net *m, const char *name)
{
    size_t expert = 0;
    for (size_t s = 0; s < m->arch->n_tensors; s++)
        if (gives(m, &m->arch->tensors[s], name, SIZE_MAX, &expert) && expert != SIZE_MAX &&
            expert >= m->config.router.E)
            return expert;
    return SIZE_MAX;
}

const sl_weight_info *sl_net_unknown(const sl_net *m)
{
    for (size_t i = 0; i < sl_weights_count(m->weights); i++) {
        const sl_weight_info *info = sl_weights_at(m->weights, i);
        if (!is_known(m, info->name) && !(is_quantised_bias(m, info) && is_zero(info)))
            return info;
    }
    return NULL;
}

const char *sl_stored_name(const sl_net *m, const sl_weight_info *info, char out[SL_STORED_NAME_MAX])
{
    static const char weight[] = ".weight";
    const sl_hf *folder = sl_weights_hf(m->weights);
    const char *suffix = folder ? sl_quantized_suffix(&folder->quantized) : NULL;
    char shown[SL_SHOW_MAX];
    const size_t n = strlen(info->name), end = sizeof weight - 1;
    const bool joined = suffix && info->tensor.scales.scale && n > end && strcmp(info->name + n - end, weight) == 0;
    sl_show(shown, (sl_bytes){ info->name, joined ? n - end : n });
    snprintf(out, SL_STORED_NAME_MAX, "%s%s", shown, joined ? suffix : "");
    return out;
}

sl_status sl_net_check_unknown(const sl_net *m, sl_err *err)
{
    const sl_weight_info *info = sl_net_unknown(m);
    if (!info)
        return SL_OK;
    const bool hf = sl_weights_container(m->weights) == SL_CONTAINER_HF;
    const char *path = sl_weights_path(m->weights);
    const size_t layer = layer_of(info->name), expert = extra_expert(m, info->name);
    char name[SL_STORED_NAME_MAX];
    sl_stored_name(m, info, name);
    if (layer != SIZE_MAX && layer >= m->config.n_layers)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s is of layer %zu, but %s is %zu", path, name, layer,
                       hf ? "num_hidden_layers" : "block_count", m->config.n_layers);
    if (expert != SIZE_MAX)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s is of expert %zu, but the settings have %zu experts", path,
                       name, expert, m->config.router.E);
    return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s is not part of architecture %s as it is supported here%s", path,
                   name, sl_arch_name(m->arch),
                   is_quantised_bias(m, info)
                       ? "; biases of quantised modules may be there if they are zero, which this one is not"
                       : "");
}
