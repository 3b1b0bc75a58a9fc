/* compressed_tensors.c - checkpoints of the compressed-tensors library: whole numbers of 4 and 8 bits.
 *
 *   pack-quantized   X.weight_packed  s32 [rows][words]: 8 numbers of 4 bits in a word, or 4 of 8, the lowest bits
 *                                     first, offset by 8 or 128; X.weight_shape has the true size
 *   int-quantized    X.weight         s8 [rows][cols]
 *   float-quantized  X.weight         E4M3 [rows][cols]; inputs may be rounded as well, if each has its own scales
 *   X.weight_scale        floats [rows][groups]; [rows][1]: of a row; [1]: of all
 *   X.weight_zero_point   s32, packed along the rows, where the numbers are not symmetric
 *   X.weight_g_idx        s32 [cols]: the group of each column ("actorder": "group")
 *
 * Which numbers a module has says the first of config_groups that names it, by its name, by a pattern or as a "Linear",
 * in this order; modules in "ignore" have none.
 * Source: compressed-tensors 0.12 (quantization/quant_args.py, compressors/pack_quantized, utils/match.py). */
#include "formats/quantized_in.h"

#include <string.h>
#include "base/num.h"
#include "formats/name_list.h"
#include "formats/show.h"

enum { PACKED, PLAIN, SCALE, ZERO, SHAPE, GROUP_OF, INPUT_SCALE, INPUT_ZERO, N_PARTS };

static const sl_part_name parts[N_PARTS] = {
    [PACKED] = { ".weight_packed", true },     [PLAIN] = { ".weight", true },
    [SCALE] = { ".weight_scale", false },      [ZERO] = { ".weight_zero_point", false },
    [SHAPE] = { ".weight_shape", false },      [GROUP_OF] = { ".weight_g_idx", false },
    [INPUT_SCALE] = { ".input_scale", false }, [INPUT_ZERO] = { ".input_zero_point", false },
};

/* How numbers are stored. */
typedef enum form { NO_FORM, PACKED_FORM, INT_FORM, NAIVE_FORM, FLOAT_FORM } form;

/* One of config_groups. */
typedef struct scheme {
    const sl_json *at;
    sl_name_list targets;
    form form;
    bool packed;       /* pack-quantized */
    unsigned bits;     /* 4 or 8 */
    size_t group;      /* columns that share a scale; 0: a row's, SIZE_MAX: all */
    bool symmetric;    /* no zero points */
    bool floats;       /* E4M3 */
    size_t block;      /* rows that share a scale, of floats */
    bool token_inputs; /* inputs are rounded to 8 bits with a scale for each token */
    size_t inputs;     /* of floats: columns of an input that are rounded with one scale (sl_e4m3) */
} scheme;

typedef struct settings {
    sl_name_list ignore;
    scheme *scheme; /* [n] */
    size_t n;
} settings;

/* ---- settings ---------------------------------------------------------------------------------- */

static sl_status refuse(const sl_json *at, const char *supported, sl_err *err)
{
    char shown[SL_SHOW_MAX];
    if (at->kind == SL_JSON_STRING || at->kind == SL_JSON_NUMBER)
        return sl_json_fail(err, SL_EUNSUPPORTED, at, "\"%s\" is not supported; %s", sl_show(shown, sl_json_bytes(at)),
                            supported);
    return sl_json_fail(err, SL_EUNSUPPORTED, at, "is not supported; %s", supported);
}

/* A member that must be missing, null, false, or an empty object. */
static sl_status must_not(const sl_json *object, const char *key, const char *supported, sl_err *err)
{
    const sl_json *m = sl_json_get(object, key);
    if (!m || (m->kind == SL_JSON_BOOL && !m->value) || (m->kind == SL_JSON_OBJECT && m->n == 0))
        return SL_OK;
    return refuse(m, supported, err);
}

/* A member that is missing, or one of these words; *out is which. */
static sl_status one_of(const sl_json *object, const char *key, const char *const *words, size_t n, size_t *out,
                        const char *supported, sl_err *err)
{
    const sl_json *m = sl_json_get(object, key);
    for (size_t i = 0; m && i < n; i++)
        if (sl_json_is(m, words[i])) {
            *out = i;
            return SL_OK;
        }
    return m ? refuse(m, supported, err) : SL_OK;
}

/* The format's word, of a group or of all; *out stays where there is none. */
static sl_status read_format(const sl_json *object, form *out, sl_err *err)
{
    static const char *const words[] = { "pack-quantized", "int-quantized", "naive-quantized", "float-quantized" };
    static const form forms[] = { PACKED_FORM, INT_FORM, NAIVE_FORM, FLOAT_FORM };
    size_t which = SIZE_MAX;
    const sl_json *m = sl_json_get(object, "format");
    if (m && sl_json_is(m, "mixed-precision")) /* each group has its own */
        return SL_OK;
    const sl_status rc = one_of(object, "format", words, SL_COUNT(words), &which,
                                "pack-quantized, int-quantized and float-quantized are", err);
    if (!rc && which != SIZE_MAX)
        *out = forms[which];
    return rc;
}

static sl_status read_bits(const sl_json *args, int64_t only, unsigned *out, sl_err *err)
{
    static const char *const type[] = { "int" };
    int64_t bits = 8;
    size_t ignored = 0;
    sl_status rc = sl_json_get_int(args, "num_bits", false, &bits, err);
    if (!rc)
        rc = one_of(args, "type", type, 1, &ignored, "whole numbers (int) are", err);
    if (rc)
        return rc;
    if (bits != 8 && bits != only)
        return refuse(sl_json_get(args, "num_bits"), only == 4 ? "4 and 8 bits are" : "8 bits are", err);
    *out = (unsigned)bits;
    return SL_OK;
}

static sl_status read_groups(const sl_json *args, scheme *s, sl_err *err)
{
    static const char *const strategies[] = { "group", "channel", "tensor" };
    int64_t size = 0;
    size_t strategy = SIZE_MAX;
    sl_status rc;
    if ((rc = sl_json_get_int(args, "group_size", false, &size, err)) ||
        (rc = one_of(args, "strategy", strategies, 3, &strategy, "group, channel and tensor are", err)))
        return rc;
    if (strategy == SIZE_MAX)
        strategy = size > 0 ? 0 : size == -1 ? 1 : 2;
    if (size < -1 || size > INT32_MAX || (strategy == 0) != (size > 0))
        return sl_json_fail(err, SL_EFORMAT, args, "group_size %lld does not go with strategy %s", (long long)size,
                            strategies[strategy]);
    s->group = strategy == 0 ? (size_t)size : strategy == 1 ? 0 : SIZE_MAX;
    return SL_OK;
}

/* "block_structure": [rows, columns] */
static sl_status read_block(const sl_json *args, scheme *s, sl_err *err)
{
    const sl_json *list = NULL;
    int64_t rows = 0, cols = 0;
    const sl_status rc = sl_json_get_list(args, "block_structure", true, &list, err);
    if (rc)
        return rc;
    if (list->n != 2 || !sl_json_int(list->first, &rows) || !sl_json_int(list->first->next, &cols) || rows < 1 ||
        rows > INT32_MAX || cols < 32 || cols > INT32_MAX || cols % 32 != 0)
        return sl_json_fail(err, SL_EUNSUPPORTED, list, "rows and a multiple of 32 columns are supported");
    s->block = (size_t)rows;
    s->group = (size_t)cols;
    return SL_OK;
}

/* Of E4M3; a scale of all or of rows tells itself by its shape. */
static sl_status read_floats(const sl_json *args, scheme *s, sl_err *err)
{
    static const char *const strategies[] = { "tensor", "channel", "block" };
    int64_t bits = 8;
    size_t strategy = 0;
    sl_status rc;
    if (s->packed)
        return refuse(sl_json_get(args, "type"), "whole numbers (int) are packed", err);
    if ((rc = sl_json_get_int(args, "num_bits", false, &bits, err)) ||
        (rc = one_of(args, "strategy", strategies, 3, &strategy, "tensor, channel and block are", err)) ||
        (rc = must_not(args, "dynamic", "weights have scales of their own", err)))
        return rc;
    if (bits != 8)
        return refuse(sl_json_get(args, "num_bits"), "floats of 8 bits are", err);
    s->floats = true;
    s->block = 1;
    s->group = SIZE_MAX;
    return strategy == 2 ? read_block(args, s, err) : SL_OK;
}

static sl_status read_weights(const sl_json *group, scheme *s, sl_err *err)
{
    static const char *const keys[] = {
        "num_bits",        "type",        "symmetric", "group_size",      "strategy", "actorder", "dynamic", "observer",
        "observer_kwargs", "scale_dtype", "zp_dtype",  "block_structure", NULL
    };
    static const char *const orders[] = { "group", "weight", "static", "dynamic" };
    const sl_json *args = NULL, *order;
    size_t ignored = 0;
    sl_status rc = sl_json_get_object(group, "weights", true, &args, err);
    if (rc)
        return rc;
    if ((rc = sl_json_only(args, keys, err)))
        return rc;
    if (sl_json_is(sl_json_get(args, "type"), "float"))
        return read_floats(args, s, err);
    if ((rc = read_bits(args, 4, &s->bits, err)) || (rc = read_groups(args, s, err)) ||
        (rc = sl_json_get_bool(args, "symmetric", false, &s->symmetric, err)) ||
        (rc = must_not(args, "dynamic", "weights have scales of their own", err)) ||
        (rc = must_not(args, "block_structure", "blocks are for 8-bit floats", err)))
        return rc;
    /* Whether columns are assigned one by one, the list of them says. */
    order = sl_json_get(args, "actorder");
    return order && order->kind == SL_JSON_BOOL
               ? SL_OK
               : one_of(args, "actorder", orders, 4, &ignored, "group, weight are", err);
}

/* Of floats: those with a scale for each token, or for groups of it. All others stay as they are. */
static sl_status read_float_inputs(const sl_json *group, scheme *s, sl_err *err)
{
    const sl_json *args = sl_json_get(group, "input_activations");
    int64_t bits = 0, size = 0;
    bool symmetric = true;
    sl_status rc;
    if (!args || args->kind != SL_JSON_OBJECT)
        return SL_OK;
    const sl_json *how = sl_json_get(args, "dynamic");
    if ((rc = sl_json_get_int(args, "num_bits", false, &bits, err)) ||
        (rc = sl_json_get_int(args, "group_size", false, &size, err)) ||
        (rc = sl_json_get_bool(args, "symmetric", false, &symmetric, err)))
        return rc;
    if (!how || how->kind != SL_JSON_BOOL || !how->value || bits != 8 || !symmetric ||
        !sl_json_is(sl_json_get(args, "type"), "float"))
        return SL_OK;
    const sl_json *strategy = sl_json_get(args, "strategy");
    if (sl_json_is(strategy, "token"))
        s->inputs = SIZE_MAX;
    else if (sl_json_is(strategy, "group") && size > 0)
        s->inputs = (size_t)size;
    return SL_OK;
}

static sl_status read_inputs(const sl_json *group, scheme *s, sl_err *err)
{
    static const char *const token[] = { "token" };
    const sl_json *args = sl_json_get(group, "input_activations");
    bool symmetric = true, dynamic = false;
    unsigned bits = 0;
    size_t ignored = 0;
    sl_status rc;
    if (s->floats)
        return read_float_inputs(group, s, err);
    if (!args)
        return SL_OK;
    if (args->kind != SL_JSON_OBJECT)
        return sl_json_fail(err, SL_EFORMAT, args, "should be an object");
    if (s->packed)
        return refuse(args, "packed weights have inputs that are not rounded", err);
    const sl_json *how = sl_json_get(args, "dynamic");
    if (how && how->kind == SL_JSON_BOOL)
        dynamic = how->value;
    if (!dynamic)
        return sl_json_fail(err, SL_EUNSUPPORTED, args,
                            "static scales of inputs are not supported; \"dynamic\": true is");
    if ((rc = read_bits(args, 8, &bits, err)) || (rc = sl_json_get_bool(args, "symmetric", false, &symmetric, err)) ||
        (rc = one_of(args, "strategy", token, 1, &ignored, "token is", err)))
        return rc;
    if (!symmetric)
        return sl_json_fail(err, SL_EUNSUPPORTED, args,
                            "inputs with zero points are not supported; \"symmetric\": true is");
    s->token_inputs = true;
    return SL_OK;
}

/* What the format's word and the numbers have to agree about. */
static sl_status check_form(const sl_json *group, const scheme *s, sl_err *err)
{
    const sl_json *args = sl_json_get(group, "weights");
    if (s->form == NO_FORM)
        return sl_json_fail(err, SL_EFORMAT, group, "\"format\" is missing, here and for all groups");
    if ((s->form == INT_FORM && s->floats) || (s->form == FLOAT_FORM && !s->floats))
        return sl_json_fail(err, SL_EFORMAT, args, "type is %s, but format %s", s->floats ? "float" : "int",
                            s->floats ? "int-quantized" : "float-quantized");
    if (!s->packed && !s->floats && s->bits != 8)
        return refuse(sl_json_get(args, "num_bits"), "8 bits are, where numbers are not packed", err);
    return SL_OK;
}

static sl_status read_scheme(const sl_json *group, form all, scheme *s, sl_err *err)
{
    static const char *const keys[] = {
        "targets", "weights", "input_activations", "output_activations", "format", NULL
    };
    sl_status rc;
    *s = (scheme){ .at = group, .form = all, .symmetric = true };
    if (group->kind != SL_JSON_OBJECT)
        return sl_json_fail(err, SL_EFORMAT, group, "should be an object");
    const sl_json *targets = sl_json_get(group, "targets");
    if (!targets)
        return sl_json_fail(err, SL_EFORMAT, group, "\"targets\" is missing");
    if ((rc = sl_json_only(group, keys, err)) || (rc = read_format(group, &s->form, err)))
        return rc;
    s->packed = s->form == PACKED_FORM;
    if ((rc = read_weights(group, s, err)) || (rc = check_form(group, s, err)) || (rc = read_inputs(group, s, err)) ||
        (rc = must_not(group, "output_activations", "outputs are not rounded", err)))
        return rc;
    return sl_name_list_open(&s->targets, targets, err);
}

static sl_status read_schemes(settings *s, sl_quantized *q, const sl_json *config, form all, sl_err *err)
{
    const sl_json *groups = NULL;
    sl_status rc = sl_json_get_object(config, "config_groups", true, &groups, err);
    if (rc)
        return rc;
    s->scheme = sl_arena_alloc(&q->arena, groups->n, sizeof *s->scheme);
    if (!s->scheme)
        return sl_fail(err, SL_ENOMEM, "no memory for %u groups of settings", groups->n);
    for (const sl_json *g = groups->first; g && !rc; g = g->next)
        rc = read_scheme(g, all, &s->scheme[s->n++], err);
    return rc;
}

static sl_status open_settings(sl_quantized *q, const sl_json *config, sl_err *err)
{
    static const char *const states[] = { "compressed", "frozen" };
    settings *s = sl_arena_alloc(&q->arena, 1, sizeof *s);
    form all = NO_FORM;
    size_t ignored = 0;
    sl_status rc;
    if (!s)
        return sl_fail(err, SL_ENOMEM, "no memory for the settings");
    q->settings = s;
    const sl_json *sparse = sl_json_get(config, "sparsity_config");
    if ((rc = one_of(config, "quantization_status", states, 2, &ignored, "compressed is", err)) ||
        (rc = read_format(config, &all, err)) ||
        (rc = must_not(config, "kv_cache_scheme", "keys and values are stored as --kv-type says", err)) ||
        (rc = must_not(config, "transform_config", "weights as they are are", err)))
        return rc;
    if (sparse && !sl_json_is(sl_json_get(sparse, "format"), "dense") &&
        (rc = must_not(config, "sparsity_config", "dense weights are", err)))
        return rc;
    if ((rc = sl_name_list_open(&s->ignore, sl_json_get(config, "ignore"), err)))
        return rc;
    return read_schemes(s, q, config, all, err);
}

static void close_settings(sl_quantized *q)
{
    settings *s = q->settings;
    for (size_t i = 0; s && i < s->n; i++)
        sl_name_list_close(&s->scheme[i].targets);
    if (s)
        sl_name_list_close(&s->ignore);
}

/* ---- weights ------------------------------------------------------------------------------------- */

static sl_status find_scheme(const settings *s, sl_bytes module, const scheme **out, sl_err *err)
{
    sl_named named = SL_NAMED_NOT, best = SL_NAMED_NOT;
    sl_status rc = sl_name_list_has(&s->ignore, module, &named, err);
    if (rc)
        return rc;
    if (named != SL_NAMED_NOT)
        return sl_fail(err, SL_EFORMAT, "\"ignore\" names it, but it is quantised");
    for (size_t i = 0; i < s->n; i++) {
        if ((rc = sl_name_list_has(&s->scheme[i].targets, module, &named, err)))
            return rc;
        if (named > best) {
            *out = &s->scheme[i];
            best = named;
        }
    }
    return *out ? SL_OK : sl_fail(err, SL_EFORMAT, "it is quantised, but none of config_groups has it as a target");
}

/* The true columns of packed numbers; `words` of them are stored. */
static sl_status read_shape(const sl_parts *p, const scheme *s, size_t rows, size_t words, size_t *cols, sl_err *err)
{
    const sl_weight_info *shape = p->part[SHAPE], *scale = p->part[SCALE];
    const size_t in_word = 32 / s->bits;
    int64_t v[2] = { (int64_t)rows, (int64_t)(words * in_word) };
    if (shape) {
        const bool wide = strcmp(shape->type, "I64") == 0;
        const sl_status rc = sl_part_check(shape, parts[SHAPE].suffix, wide ? "I64" : "I32", 1, 2, err);
        if (rc)
            return rc;
        for (size_t i = 0; i < 2; i++)
            v[i] = wide ? (int64_t)sl_load_le64((const uint8_t *)shape->tensor.data + 8 * i)
                        : (int32_t)sl_load_le32((const uint8_t *)shape->tensor.data + 4 * i);
    } else if (s->group && s->group != SIZE_MAX && scale) {
        v[1] = SL_MIN(v[1], (int64_t)(scale->tensor.cols * s->group)); /* what is more, is filled up */
    }
    if (v[0] != (int64_t)rows || v[1] < 0 || (uint64_t)v[1] > words * in_word ||
        sl_div_up((size_t)v[1], in_word) != words)
        return sl_fail(
            err, SL_EFORMAT,
            "weight_shape [%lld, %lld] does not fit %zu rows of %zu words, %zu numbers in each (num_bits %u)",
            (long long)v[0], (long long)v[1], rows, words, in_word, s->bits);
    *cols = (size_t)v[1];
    return SL_OK;
}

/* What the settings make of the module, in front of a part that does not fit that. */
static sl_status in_settings(const scheme *s, size_t cols, size_t groups, sl_status rc, sl_err *err)
{
    if (!rc)
        return SL_OK;
    if (s->group == 0 || s->group == SIZE_MAX)
        return sl_fail_in(err, rc, "strategy %s", s->group ? "tensor" : "channel");
    return sl_fail_in(err, rc, "num_bits %u and group_size %zu make %zu columns in %zu group%s", s->bits, s->group,
                      cols, groups, groups == 1 ? "" : "s");
}

static sl_status read_scale(const sl_parts *p, const scheme *s, sl_weight_info *out, size_t *groups, sl_err *err)
{
    const sl_weight_info *scale = p->part[SCALE];
    const size_t rows = out->tensor.rows, cols = out->tensor.cols;
    sl_scales *to = &out->tensor.scales;
    if (!scale)
        return sl_fail(err, SL_EFORMAT, "weight_scale is missing");
    const bool all = s->group == SIZE_MAX, of_rows = s->group == 0;
    *groups = all || of_rows ? 1 : sl_div_up(cols, s->group);
    /* of a row: [rows][1], or [rows] */
    const bool flat = of_rows && scale->n_dims == 1;
    sl_status rc = sl_part_scale_type(scale, parts[SCALE].suffix, &to->type, err);
    if (rc)
        return rc;
    rc = sl_part_check(scale, parts[SCALE].suffix, scale->type, flat || all ? 1 : rows, flat ? rows : *groups, err);
    if (rc)
        return in_settings(s, cols, *groups, rc, err);
    const size_t bytes = to->type == SL_SCALE_F32 ? 4 : 2;
    to->scale = scale->tensor.data;
    to->row_bytes = all ? 0 : *groups * bytes;
    to->col_bytes = all || of_rows ? 0 : bytes;
    to->rows = 1;
    to->group = all || of_rows ? SL_MAX(cols, (size_t)1) : s->group;
    return SL_OK;
}

static bool all_zero(const sl_weight_info *part)
{
    const uint8_t *p = part->tensor.data;
    uint8_t any = 0;
    for (uint64_t i = 0; i < part->bytes; i++)
        any |= p[i];
    return !any;
}

/* Writers may leave zero points beside symmetric numbers: zeros, or packed ones that are the middle of the range. */
static sl_status check_symmetric(const sl_weight_info *zero, const scheme *s, size_t rows, size_t groups, sl_err *err)
{
    const size_t in_word = 32 / s->bits, n = sl_div_up(rows, in_word);
    const uint32_t middle = s->bits == 4 ? 0x88888888u : 0x80808080u;
    bool same = s->packed && strcmp(zero->type, "I32") == 0 && zero->tensor.rows == n && zero->tensor.cols == groups;
    if (all_zero(zero))
        return SL_OK;
    for (size_t r = 0; r < n && same; r++) {
        const size_t used = s->bits * SL_MIN(in_word, rows - r * in_word);
        const uint32_t mask = used == 32 ? UINT32_MAX : (1u << used) - 1;
        for (size_t g = 0; g < groups; g++)
            same = same &&
                   ((sl_load_le32((const uint8_t *)zero->tensor.data + 4 * (r * groups + g)) ^ middle) & mask) == 0;
    }
    return same ? SL_OK : sl_fail(err, SL_EFORMAT, "weight_zero_point has zero points, but \"symmetric\" is true");
}

static sl_status read_zeros(const sl_parts *p, const scheme *s, sl_weight_info *out, size_t groups, sl_err *err)
{
    const sl_weight_info *zero = p->part[ZERO];
    const size_t in_word = 32 / s->bits;
    if (s->symmetric)
        return zero ? check_symmetric(zero, s, out->tensor.rows, groups, err) : SL_OK;
    if (!s->packed)
        return sl_fail(err, SL_EUNSUPPORTED, "numbers with zero points are supported in pack-quantized only");
    if (!zero)
        return sl_fail(err, SL_EFORMAT, "weight_zero_point is missing: \"symmetric\" is false");
    if (s->group == SIZE_MAX)
        return sl_fail(err, SL_EUNSUPPORTED, "one zero point for all rows is not supported");
    const sl_status rc =
        sl_part_check(zero, parts[ZERO].suffix, "I32", sl_div_up(out->tensor.rows, in_word), groups, err);
    if (rc)
        return in_settings(s, out->tensor.cols, groups, rc, err);
    sl_scales *to = &out->tensor.scales;
    to->zero = zero->tensor.data;
    to->zero_row_bytes = groups * sizeof(uint32_t);
    to->zero_col_bytes = groups > 1 ? sizeof(uint32_t) : 0;
    to->offset = 0;
    return SL_OK;
}

/* What runs it: kernels multiply whole groups of 32. */
static sl_format format_of(const scheme *s, const sl_tensor *t, size_t groups)
{
    const bool any = t->scales.group_of || t->cols % 32 || (groups > 1 && t->scales.group % 32);
    if (s->bits == 4 && s->packed)
        return any ? SL_FORMAT_INT4_ANY : t->scales.zero ? SL_FORMAT_INT4_ZP : SL_FORMAT_INT4;
    if (any || t->scales.zero)
        return SL_FORMAT_INT8_ANY;
    return s->token_inputs ? SL_FORMAT_INT8_TOKEN : SL_FORMAT_INT8;
}

static sl_status join_numbers(const sl_parts *p, const scheme *s, sl_weight_info *out, sl_err *err)
{
    const sl_weight_info *stored = p->part[s->packed ? PACKED : PLAIN];
    const size_t rows = stored->tensor.rows;
    size_t cols = stored->tensor.cols, groups = 0;
    sl_status rc = sl_part_check(stored, parts[s->packed ? PACKED : PLAIN].suffix, s->packed ? "I32" : "I8", SIZE_MAX,
                                 SIZE_MAX, err);
    if (!rc && s->packed)
        rc = read_shape(p, s, rows, stored->tensor.cols, &cols, err);
    if (rc)
        return rc;
    sl_part_matrix(out, SL_FORMAT_INT4, rows, cols);
    out->tensor.data = stored->tensor.data;
    out->tensor.row_bytes = stored->tensor.row_bytes;
    out->tensor.scales.offset = !s->packed ? 0 : s->bits == 4 ? 8 : 128;
    if ((rc = read_scale(p, s, out, &groups, err)) || (rc = read_zeros(p, s, out, groups, err)))
        return rc;
    if (p->part[GROUP_OF] && (rc = sl_part_groups(p->part[GROUP_OF], parts[GROUP_OF].suffix, cols, groups,
                                                  out->tensor.scales.group, &out->tensor.scales.group_of, err)))
        return rc;
    out->tensor.format = format_of(s, &out->tensor, groups);
    out->type = sl_format_name(out->tensor.format);
    return SL_OK;
}

/* A weight that is not quantised has no parts but itself. */
static sl_status check_alone(const sl_parts *p, sl_err *err)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (i != PLAIN && p->part[i])
            return sl_fail(err, SL_EFORMAT, "weight is %s, but there is %s beside it", p->part[PLAIN]->type,
                           parts[i].suffix + 1);
    return SL_OK;
}

static sl_status join(const sl_quantized *q, const sl_parts *p, sl_weight_info *out, sl_err *err)
{
    const scheme *s = NULL;
    if (p->part[PLAIN] && p->part[PLAIN]->tensor.format != SL_FORMAT_COUNT)
        return check_alone(p, err);
    const sl_status rc = find_scheme(q->settings, p->module, &s, err);
    if (rc)
        return rc;
    if (s->packed != (p->part[PACKED] != NULL))
        return sl_fail(err, SL_EFORMAT, "it has %s, but its settings say %s",
                       p->part[PACKED] ? "weight_packed" : "weight",
                       s->packed   ? "pack-quantized"
                       : s->floats ? "float-quantized"
                                   : "int-quantized");
    if (s->floats && !p->part[SCALE])
        return sl_fail(err, SL_EFORMAT, "weight_scale is missing");
    if (s->floats && p->part[ZERO] && !all_zero(p->part[ZERO]))
        return sl_fail(err, SL_EFORMAT, "weight_zero_point has zero points, which floats do not have");
    if (s->floats)
        return sl_part_e4m3(p->part[PLAIN], p->part[SCALE], parts[SCALE].suffix,
                            &(sl_e4m3){ s->block, s->group, "block_structure", false, s->inputs }, out, err);
    if (p->part[INPUT_SCALE] || p->part[INPUT_ZERO])
        return sl_fail(err, SL_EUNSUPPORTED, "static scales of inputs (input_scale) are not supported");
    return join_numbers(p, s, out, err);
}

const sl_quant_method sl_method_compressed_tensors = {
    .name = "compressed-tensors",
    .parts = parts,
    .n_parts = N_PARTS,
    .result = ".weight",
    .open = open_settings,
    .join = join,
    .close = close_settings,
};
