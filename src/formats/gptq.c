/* gptq.c - checkpoints of GPTQ and AWQ, whose numbers are stored [in][out].
 *
 *             GPTQ                                       AWQ ("gemm")
 *   X.qweight s32 [in / 8][out], or [in / 4][out]        s32 [in][out / 8]
 *   X.qzeros  s32 [groups][out / 8], or [out / 4]        s32 [groups][out / 8]
 *   X.scales  floats [groups][out]                       floats [groups][out]
 *   X.g_idx   s32 [in]: the group of each column
 *
 * What the bits mean is in quant/gptq.c and quant/awq.c. A module is quantised if it has a qweight; AWQ's list of those
 * that are not may not contradict that.
 * Source: AutoGPTQ 0.7 and GPTQModel (quantization/config.py), AutoAWQ 0.2 (models/_config.py). */
#include "formats/quantized_in.h"

#include <string.h>
#include "base/num.h"
#include "formats/name_list.h"
#include "formats/show.h"

enum { WEIGHT, ZEROS, SCALES, GROUP_OF, N_PARTS };

static const sl_part_name parts[N_PARTS] = {
    [WEIGHT] = { ".qweight", true },
    [ZEROS] = { ".qzeros", false },
    [SCALES] = { ".scales", false },
    [GROUP_OF] = { ".g_idx", false },
};

typedef struct settings {
    bool awq;
    unsigned bits;     /* 4 or 8 */
    int64_t group;     /* columns that share a scale; -1: all */
    bool symmetric;    /* may go without zero points */
    bool zeros_less;   /* zero points are stored less 1 */
    bool in_any_order; /* columns are assigned to groups one by one */
    const char *bits_key, *group_key;
    const sl_json *left_out; /* modules that are not quantised */
} settings;

/* ---- settings ---------------------------------------------------------------------------------- */

/* A member that is one of these words, or missing. */
static sl_status check_word(const sl_json *config, const char *key, const char *const *words, const char *supported,
                            sl_err *err)
{
    char shown[SL_SHOW_MAX];
    const sl_json *m = sl_json_get(config, key);
    for (; m && *words; words++)
        if (sl_json_is(m, *words))
            return SL_OK;
    if (m && m->kind != SL_JSON_STRING)
        return sl_json_fail(err, SL_EFORMAT, m, "should be a string");
    return m ? sl_json_fail(err, SL_EUNSUPPORTED, m, "\"%s\" is not supported; %s", sl_show(shown, sl_json_bytes(m)),
                            supported)
             : SL_OK;
}

/* A member that says nothing: missing, false, or empty. */
static sl_status check_not(const sl_json *config, const char *key, sl_err *err)
{
    const sl_json *m = sl_json_get(config, key);
    if (!m || (m->kind == SL_JSON_BOOL && !m->value) ||
        ((m->kind == SL_JSON_OBJECT || m->kind == SL_JSON_ARRAY) && m->n == 0))
        return SL_OK;
    return sl_json_fail(err, SL_EUNSUPPORTED, m, "checkpoints with this setting are not supported");
}

static sl_status read_numbers(settings *s, const sl_json *config, const char *bits_key, const char *group_key,
                              sl_err *err)
{
    int64_t bits = 0;
    sl_status rc;
    if ((rc = sl_json_get_int(config, bits_key, true, &bits, err)) ||
        (rc = sl_json_get_int(config, group_key, true, &s->group, err)))
        return rc;
    if (bits != 4 && (bits != 8 || s->awq))
        return sl_json_fail(err, SL_EUNSUPPORTED, sl_json_get(config, bits_key),
                            "numbers of %lld bits are not supported; those of 4%s are", (long long)bits,
                            s->awq ? "" : " and 8");
    if (s->group != -1 && (s->group < 1 || s->group > INT32_MAX))
        return sl_json_fail(err, SL_EFORMAT, sl_json_get(config, group_key),
                            "%lld is neither a number of columns nor -1", (long long)s->group);
    s->bits = (unsigned)bits;
    s->bits_key = bits_key;
    s->group_key = group_key;
    return SL_OK;
}

static sl_status make_settings(sl_quantized *q, bool awq, settings **out, sl_err *err)
{
    settings *s = sl_arena_alloc(&q->arena, 1, sizeof *s);
    if (!s)
        return sl_fail(err, SL_ENOMEM, "no memory for the settings");
    *s = (settings){ .awq = awq };
    q->settings = *out = s;
    return SL_OK;
}

static sl_status open_gptq(sl_quantized *q, const sl_json *config, sl_err *err)
{
    static const char *const forms[] = { "gptq", "gptq_v2", NULL }, *const words[] = { "int32", "torch.int32", NULL };
    settings *s = NULL;
    sl_status rc;
    if ((rc = make_settings(q, false, &s, err)) || (rc = read_numbers(s, config, "bits", "group_size", err)) ||
        (rc = check_word(config, "checkpoint_format", forms, "gptq and gptq_v2 are", err)) ||
        (rc = check_word(config, "format", forms, "gptq and gptq_v2 are", err)) ||
        (rc = check_word(config, "pack_dtype", words, "int32 is", err)) ||
        (rc = check_not(config, "is_marlin_format", err)) || (rc = check_not(config, "dynamic", err)))
        return rc;
    s->symmetric = true;
    const sl_json *form = sl_json_get(config, "checkpoint_format");
    if (!form)
        form = sl_json_get(config, "format");
    s->zeros_less = !form || sl_json_is(form, "gptq");
    rc = sl_json_get_bool(config, "sym", false, &s->symmetric, err);
    return rc ? rc : sl_json_get_bool(config, "desc_act", false, &s->in_any_order, err);
}

static sl_status open_awq(sl_quantized *q, const sl_json *config, sl_err *err)
{
    static const char *const versions[] = { "gemm", "GEMM", NULL };
    settings *s = NULL;
    /* as Transformers writes them, or as AutoAWQ does */
    const bool old_bits = !sl_json_get(config, "bits") && sl_json_get(config, "w_bit");
    const bool old_group = !sl_json_get(config, "group_size") && sl_json_get(config, "q_group_size");
    bool zeros = true;
    sl_status rc;
    if ((rc = make_settings(q, true, &s, err)) ||
        (rc = read_numbers(s, config, old_bits ? "w_bit" : "bits", old_group ? "q_group_size" : "group_size", err)) ||
        (rc = check_word(config, "version", versions, "gemm is", err)) ||
        (rc = sl_json_get_bool(config, "zero_point", false, &zeros, err)) ||
        (rc = sl_left_out_open(config, "modules_to_not_convert", &s->left_out, err)))
        return rc;
    return zeros ? SL_OK
                 : sl_json_fail(err, SL_EUNSUPPORTED, sl_json_get(config, "zero_point"),
                                "numbers without zero points are not supported");
}

/* ---- weights ------------------------------------------------------------------------------------- */

/* What the settings make of the module, in front of a part that does not fit that. */
static sl_status in_settings(const settings *s, const sl_tensor *t, size_t groups, sl_status rc, sl_err *err)
{
    return rc ? sl_fail_in(err, rc, "%s %u and %s %lld make %zu columns in %zu group%s", s->bits_key, s->bits,
                           s->group_key, (long long)s->group, t->cols, groups, groups == 1 ? "" : "s")
              : SL_OK;
}

static sl_status read_scales(const settings *s, const sl_parts *p, size_t groups, sl_tensor *t, sl_err *err)
{
    const sl_weight_info *scales = p->part[SCALES];
    if (!scales)
        return sl_fail(err, SL_EFORMAT, "scales is missing");
    sl_status rc = sl_part_scale_type(scales, parts[SCALES].suffix, &t->scales.type, err);
    if (rc)
        return rc;
    rc = sl_part_check(scales, parts[SCALES].suffix, scales->type, groups, t->rows, err);
    if (rc)
        return in_settings(s, t, groups, rc, err);
    t->scales.scale = scales->tensor.data;
    t->scales.row_bytes = t->scales.type == SL_SCALE_F32 ? 4 : 2;
    t->scales.col_bytes = scales->tensor.row_bytes;
    t->scales.rows = 1;
    return SL_OK;
}

static sl_status read_zeros(const settings *s, const sl_parts *p, size_t groups, sl_tensor *t, sl_err *err)
{
    const sl_weight_info *zeros = p->part[ZEROS];
    t->scales.offset = s->zeros_less;
    if (!zeros && s->symmetric && !s->awq) {
        t->scales.offset = 1u << (s->bits - 1);
        return SL_OK;
    }
    if (!zeros)
        return sl_fail(err, SL_EFORMAT, "qzeros is missing");
    const sl_status rc = sl_part_check(zeros, parts[ZEROS].suffix, "I32", groups, t->rows / (32 / s->bits), err);
    if (rc)
        return in_settings(s, t, groups, rc, err);
    t->scales.zero = zeros->tensor.data;
    t->scales.zero_row_bytes = sizeof(uint32_t);
    t->scales.zero_col_bytes = zeros->tensor.row_bytes;
    return SL_OK;
}

static sl_status read_order(const settings *s, const sl_parts *p, size_t groups, sl_tensor *t, sl_err *err)
{
    if (p->part[GROUP_OF] && s->awq)
        return sl_fail(err, SL_EFORMAT, "g_idx is there, which AWQ does not have");
    if (p->part[GROUP_OF]) {
        const sl_status rc = sl_part_groups(p->part[GROUP_OF], parts[GROUP_OF].suffix, t->cols, groups, t->scales.group,
                                            &t->scales.group_of, err);
        return in_settings(s, t, groups, rc, err);
    }
    return s->in_any_order ? sl_fail(err, SL_EFORMAT, "g_idx is missing: \"desc_act\" is true") : SL_OK;
}

/* What runs it: kernels multiply whole groups of 32. */
static sl_status choose_format(const settings *s, size_t groups, sl_weight_info *out, sl_err *err)
{
    sl_tensor *t = &out->tensor;
    const bool any = t->scales.group_of || t->cols % 32 != 0 || (groups > 1 && t->scales.group % 32 != 0);
    if (s->awq && any)
        return sl_fail(err, SL_EUNSUPPORTED, "%zu columns in groups of %zu; multiples of 32 are supported", t->cols,
                       t->scales.group);
    if (s->awq)
        t->format = SL_FORMAT_AWQ4;
    else if (s->bits == 4)
        t->format = any ? SL_FORMAT_GPTQ4_ANY : SL_FORMAT_GPTQ4;
    else
        t->format = any ? SL_FORMAT_GPTQ8_ANY : SL_FORMAT_GPTQ8;
    out->type = sl_format_name(t->format);
    return SL_OK;
}

static sl_status join(const sl_quantized *q, const sl_parts *p, sl_weight_info *out, sl_err *err)
{
    const settings *s = q->settings;
    const sl_weight_info *stored = p->part[WEIGHT];
    const size_t in_word = 32 / s->bits, a = stored->tensor.rows, b = stored->tensor.cols;
    size_t rows = b, cols = a;
    sl_status rc;
    if ((rc = sl_left_out_check(s->left_out, p->module, err)) ||
        (rc = sl_part_check(stored, parts[WEIGHT].suffix, "I32", SIZE_MAX, SIZE_MAX, err)))
        return rc;
    if (!sl_mul_ok(s->awq ? b : a, in_word, s->awq ? &rows : &cols) || rows % 8 != 0 || !rows || !cols)
        return sl_fail(err, SL_EUNSUPPORTED, "qweight is [%zu, %zu]; outputs are supported in multiples of 8", a, b);
    const size_t group = s->group == -1 ? cols : (size_t)s->group, groups = sl_div_up(cols, group);
    sl_part_matrix(out, SL_FORMAT_GPTQ4, rows, cols);
    sl_tensor *t = &out->tensor;
    t->data = stored->tensor.data;
    t->col_bytes = stored->tensor.row_bytes;
    t->scales.group = group;
    if ((rc = read_scales(s, p, groups, t, err)) || (rc = read_zeros(s, p, groups, t, err)) ||
        (rc = read_order(s, p, groups, t, err)))
        return rc;
    return choose_format(s, groups, out, err);
}

const sl_quant_method sl_method_gptq = {
    .name = "gptq", .parts = parts, .n_parts = N_PARTS, .result = ".weight", .open = open_gptq, .join = join
};
const sl_quant_method sl_method_awq = {
    .name = "awq", .parts = parts, .n_parts = N_PARTS, .result = ".weight", .open = open_awq, .join = join
};
