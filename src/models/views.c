#include "models/views.h"

#include <assert.h>
#include <string.h>
#include "base/num.h"
#include "quant/quant.h"

size_t sl_shape_letter(const sl_config *c, char l)
{
    switch (l) {
    case 'D':
        return c->D;
    case 'F':
        return c->F;
    case 'H':
        return c->H * c->C;
    case 'h':
        return c->H;
    case 'G':
        return c->Hkv * c->C;
    case 'C':
        return c->C;
    case 'R':
        return c->rope.dim / 2;
    case 'V':
        return c->n_vocab;
    case 'E':
        return c->router.E;
    case 'f':
        return c->f;
    case 's':
        return c->s;
    case 'Q':
        return c->q_rank;
    case 'L':
        return c->kv_rank;
    case 'l':
        return c->kv_rank + c->rope.dim;
    case 'B':
        return c->H * (c->nope + c->v_width);
    case 'O':
        return c->H * c->v_width;
    }
    assert(!"a letter of the shape is not known");
    return 0;
}

bool sl_spec_is_vector(const sl_tensor_spec *spec)
{
    return spec->shape[1] == '\0';
}

bool sl_spec_of_experts(const sl_tensor_spec *spec)
{
    return strlen(spec->shape) == 3 || spec->form == SL_FORM_VECTORS;
}

size_t sl_spec_parts(const sl_tensor_spec *spec)
{
    return spec->parts ? spec->parts : 1;
}

/* ---- shapes ------------------------------------------------------------------- */

/* A tensor of one matrix or vector for each expert; of a single expert writers leave the last dimension out. */
static sl_status check_experts(const sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, sl_err *err)
{
    const size_t E = sl_shape_letter(&m->config, spec->shape[0]);
    const size_t rows = sl_shape_letter(&m->config, spec->shape[1]) * sl_spec_parts(spec); /* both are small */
    const size_t cols = spec->form == SL_FORM_VECTORS ? 1 : sl_shape_letter(&m->config, spec->shape[2]);
    const size_t want[3] = { spec->form == SL_FORM_ROWS ? cols : rows,
                             spec->form == SL_FORM_VECTORS ? E
                             : spec->form == SL_FORM_ROWS  ? rows
                                                           : cols,
                             spec->form == SL_FORM_VECTORS ? 1 : E };
    const uint64_t *dims = info->dims; /* those that a tensor lacks are 1 */
    if (info->n_dims > 3 || dims[0] != want[0] || dims[1] != want[1] || dims[2] != want[2])
        return sl_fail(err, SL_EFORMAT, "%s: tensor %s is [%llu, %llu, %llu], the settings ask for [%zu, %zu, %zu]",
                       sl_weights_path(m->weights), info->name, (unsigned long long)dims[2],
                       (unsigned long long)dims[1], (unsigned long long)dims[0], want[2], want[1], want[0]);
    return SL_OK;
}

sl_status sl_view_check(const sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, sl_err *err)
{
    if (sl_spec_of_experts(spec))
        return check_experts(m, spec, info, err);
    const bool vector = sl_spec_is_vector(spec);
    const size_t rows = vector ? 1 : sl_shape_letter(&m->config, spec->shape[0]);
    const size_t cols = sl_shape_letter(&m->config, spec->shape[vector ? 0 : 1]);
    const sl_tensor *t = &info->tensor;
    if (info->n_dims > 2 || t->rows != rows || t->cols != cols)
        return sl_fail(err, SL_EFORMAT, "%s: tensor %s is [%zu, %zu]%s, the settings ask for [%zu, %zu]",
                       sl_weights_path(m->weights), info->name, t->rows, t->cols,
                       t->scales.scale ? " by quantization_config" : "", rows, cols);
    return SL_OK;
}

/* ---- vectors ------------------------------------------------------------------ */

static sl_status no_memory(const sl_net *m, const sl_weight_info *info, size_t n, sl_err *err)
{
    return sl_fail(err, SL_ENOMEM, "%s: tensor %s: no memory for %zu numbers", sl_weights_path(m->weights), info->name,
                   n);
}

static sl_status check_type(const sl_net *m, const sl_weight_info *info, sl_err *err)
{
    const sl_format f = info->tensor.format;
    if (f == SL_FORMAT_F32 || f == SL_FORMAT_F16 || f == SL_FORMAT_BF16)
        return SL_OK;
    return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s is %s; vectors are supported in F32, F16 and BF16",
                   sl_weights_path(m->weights), info->name, info->type);
}

/* As they are, where kernels may read them. */
static bool are_floats(const sl_tensor *t)
{
    return t->format == SL_FORMAT_F32 && (uintptr_t)t->data % _Alignof(float) == 0;
}

sl_status sl_view_vector(sl_net *m, const sl_weight_info *info, sl_tensor *t, sl_err *err)
{
    if (are_floats(t))
        return SL_OK;
    const sl_status rc = check_type(m, info, err);
    if (rc)
        return rc;
    float *wide = sl_arena_alloc(&m->arena, t->cols, sizeof *wide);
    if (!wide)
        return no_memory(m, info, t->cols, err);
    sl_quant_widen(wide, t->format, t->data, t->cols);
    m->widened_bytes += t->cols * sizeof *wide;
    *t = (sl_tensor){ .data = wide, .format = SL_FORMAT_F32, .rows = 1, .cols = t->cols };
    t->row_bytes = t->cols * sizeof *wide;
    return SL_OK;
}

sl_status sl_view_vectors(sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, sl_tensor *out,
                          sl_err *err)
{
    const sl_tensor *t = &info->tensor;
    const size_t parts = sl_spec_parts(spec), width = t->cols / parts;
    *out = *t;
    if (parts == 1 && are_floats(t))
        return SL_OK;
    const sl_status rc = check_type(m, info, err);
    if (rc)
        return rc;
    float *wide = sl_arena_alloc(&m->arena, t->rows * width, sizeof *wide);
    float *row = sl_mem_zalloc(t->cols, sizeof *row);
    if (wide && row) {
        for (size_t e = 0; e < t->rows; e++) {
            sl_quant_get(t->format)->decode(row, t, e, 0, t->cols);
            for (size_t i = 0; i < width; i++)
                wide[e * width + i] = row[i * parts + spec->part];
        }
        *out = (sl_tensor){ .data = wide, .format = SL_FORMAT_F32, .rows = t->rows, .cols = width };
        out->row_bytes = width * sizeof *wide;
        m->widened_bytes += t->rows * out->row_bytes;
    }
    sl_mem_free(row);
    return wide && row ? SL_OK : no_memory(m, info, t->rows * width + t->cols, err);
}

/* ---- matrices ----------------------------------------------------------------- */

/* The matrix of expert e, whose rows may alternate with others'. */
static sl_tensor of_rows(const sl_tensor_spec *spec, const sl_tensor *all, size_t E, size_t e)
{
    const size_t stored = all->rows / E;
    const sl_tensor t = sl_tensor_rows(all, e * stored, (e + 1) * stored);
    return sl_tensor_every(&t, spec->part, sl_spec_parts(spec));
}

/* The same of a tensor of columns. */
static sl_tensor of_columns(const sl_tensor_spec *spec, const sl_tensor *all, size_t E, size_t e)
{
    const size_t parts = sl_spec_parts(spec), stored = all->rows / E, bytes = all->row_bytes / all->cols;
    sl_tensor t = { .format = all->format == SL_FORMAT_F32   ? SL_FORMAT_F32_T
                              : all->format == SL_FORMAT_F16 ? SL_FORMAT_F16_T
                                                             : SL_FORMAT_BF16_T };
    t.data = (const char *)all->data + e * stored * all->row_bytes + spec->part * bytes;
    t.rows = all->cols / parts;
    t.cols = stored;
    t.row_bytes = bytes * parts;
    t.col_bytes = all->row_bytes;
    return t;
}

sl_status sl_view_experts(sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, const sl_tensor **out,
                          sl_err *err)
{
    const size_t E = m->config.router.E;
    const sl_tensor *all = &info->tensor;
    const bool columns = spec->form == SL_FORM_COLUMNS, readable = all->format != SL_FORMAT_COUNT;
    if (readable && columns && all->format != SL_FORMAT_F32 && all->format != SL_FORMAT_F16 &&
        all->format != SL_FORMAT_BF16)
        return sl_fail(err, SL_EUNSUPPORTED,
                       "%s: tensor %s is %s; inputs before outputs are supported in F32, F16 and BF16",
                       sl_weights_path(m->weights), info->name, info->type);
    if (readable && !columns && sl_spec_parts(spec) > 1 && !all->row_bytes)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: tensor %s is %s; rows that alternate are not supported in it",
                       sl_weights_path(m->weights), info->name, info->type);
    sl_tensor *list = sl_arena_alloc(&m->arena, E, sizeof *list);
    if (!list)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for a list of %zu experts", sl_weights_path(m->weights), E);
    for (size_t e = 0; e < E; e++)
        list[e] = (columns ? of_columns : of_rows)(spec, all, E, e);
    *out = list;
    return SL_OK;
}
