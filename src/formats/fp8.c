/* fp8.c - checkpoints of DeepSeek's kind, "quant_method": "fp8".
 *
 *   X.weight            E4M3 [rows][cols]
 *   X.weight_scale_inv  floats [rows / 128][cols / 128], rounded up ("weight_block_size"): a block's factor
 *   X.weight_scale      floats [1] or [rows][1], instead, without blocks
 *   X.input_scale       floats, with "activation_scheme": "static": what inputs would be divided by, were they
 *                       rounded; they are not here
 *
 * With "activation_scheme": "dynamic" inputs may be rounded to E4M3 too, of blocks in groups of a block's columns, with
 * "scale_fmt": "ue8m0" by powers of two. A module is quantised if its weight is E4M3; lists of modules that are not may
 * not contradict that. Source: DeepSeek-V3's inference/kernel.py (weight_dequant, act_quant); vLLM's fp8.py for scales
 * without blocks. */
#include "formats/quantized_in.h"

#include <string.h>
#include "base/num.h"
#include "formats/name_list.h"
#include "formats/show.h"

enum { WEIGHT, BLOCK_SCALE, SCALE, INPUT_SCALE, N_PARTS };

static const sl_part_name parts[N_PARTS] = {
    [WEIGHT] = { ".weight", true },
    [BLOCK_SCALE] = { ".weight_scale_inv", false },
    [SCALE] = { ".weight_scale", false },
    [INPUT_SCALE] = { ".input_scale", false },
};

typedef struct settings {
    size_t rows, cols;                 /* of a block; 0: no blocks */
    bool fixed, fresh;                 /* scales of inputs are stored; or not, each input has its own */
    bool powers;                       /* those are powers of two */
    const sl_json *left_out, *ignored; /* modules that are not quantised */
} settings;

static sl_status read_block(const sl_json *config, settings *s, sl_err *err)
{
    const sl_json *list = NULL;
    int64_t rows = 0, cols = 0;
    const sl_status rc = sl_json_get_list(config, "weight_block_size", false, &list, err);
    if (rc || !list)
        return rc;
    if (list->n != 2 || !sl_json_int(list->first, &rows) || !sl_json_int(list->first->next, &cols) || rows < 1 ||
        cols < 1 || rows > INT32_MAX || cols > INT32_MAX)
        return sl_json_fail(err, SL_EFORMAT, list, "should be two numbers, rows and columns of a block");
    if (cols % 32 != 0)
        return sl_json_fail(err, SL_EUNSUPPORTED, list, "blocks of %lld columns; multiples of 32 are supported",
                            (long long)cols);
    s->rows = (size_t)rows;
    s->cols = (size_t)cols;
    return SL_OK;
}

/* A word that says how, or is missing; only these are known. */
static sl_status check_word(const sl_json *config, const char *key, const char *a, const char *b, sl_err *err)
{
    char shown[SL_SHOW_MAX];
    const sl_json *m = sl_json_get(config, key);
    if (!m || sl_json_is(m, a) || sl_json_is(m, b))
        return SL_OK;
    if (m->kind != SL_JSON_STRING)
        return sl_json_fail(err, SL_EFORMAT, m, "should be a string");
    return sl_json_fail(err, SL_EUNSUPPORTED, m, "\"%s\" is not supported; %s and %s are",
                        sl_show(shown, sl_json_bytes(m)), a, b);
}

static sl_status open(sl_quantized *q, const sl_json *config, sl_err *err)
{
    settings *s = sl_arena_alloc(&q->arena, 1, sizeof *s);
    sl_status rc;
    if (!s)
        return sl_fail(err, SL_ENOMEM, "no memory for the settings");
    *s = (settings){ 0 };
    q->settings = s;
    if ((rc = check_word(config, "fmt", "e4m3", "float8_e4m3fn", err)) ||
        (rc = check_word(config, "scale_fmt", "float", "ue8m0", err)) ||
        (rc = check_word(config, "activation_scheme", "dynamic", "static", err)) ||
        (rc = sl_left_out_open(config, "modules_to_not_convert", &s->left_out, err)) ||
        (rc = sl_left_out_open(config, "ignored_layers", &s->ignored, err)))
        return rc;
    s->fixed = sl_json_is(sl_json_get(config, "activation_scheme"), "static");
    s->fresh = sl_json_is(sl_json_get(config, "activation_scheme"), "dynamic");
    s->powers = sl_json_is(sl_json_get(config, "scale_fmt"), "ue8m0");
    return read_block(config, s, err);
}

static sl_format format_of(const sl_e4m3 *how)
{
    if (how->inputs == SIZE_MAX && !how->powers)
        return SL_FORMAT_F8_E4M3_TOKEN;
    if (how->inputs != SL_E4M3_GROUP)
        return SL_FORMAT_F8_E4M3;
    return how->powers ? SL_FORMAT_F8_E4M3_UE8M0 : SL_FORMAT_F8_E4M3_128;
}

sl_status sl_part_e4m3(const sl_weight_info *weight, const sl_weight_info *scale, const char *suffix,
                       const sl_e4m3 *how, sl_weight_info *out, sl_err *err)
{
    const sl_tensor stored = weight->tensor;
    const size_t R = sl_div_up(stored.rows, how->rows), G = sl_div_up(stored.cols, how->cols);
    const bool of_all = how->rows == 1 && scale->tensor.rows == 1 && scale->tensor.cols == 1;
    const bool flat = scale->n_dims == 1 && G == 1; /* [R] for [R][1] */
    sl_scale_type type = SL_SCALE_F32;
    sl_status rc = sl_part_check(weight, ".weight", "F8_E4M3", SIZE_MAX, SIZE_MAX, err);
    if (!rc)
        rc = sl_part_scale_type(scale, suffix, &type, err);
    if (rc)
        return rc;
    if (!of_all && (rc = sl_part_check(scale, suffix, scale->type, flat ? 1 : R, flat ? R : G, err)))
        return how->cols == SIZE_MAX ? rc
                                     : sl_fail_in(err, rc, "%s [%zu, %zu] of a weight [%zu, %zu]", how->key, how->rows,
                                                  how->cols, stored.rows, stored.cols);
    const size_t size = type == SL_SCALE_F32 ? 4 : 2;
    sl_part_matrix(out, format_of(how), stored.rows, stored.cols);
    out->tensor.data = stored.data;
    out->tensor.row_bytes = stored.row_bytes;
    out->tensor.scales = (sl_scales){ .scale = scale->tensor.data,
                                      .type = type,
                                      .row_bytes = of_all ? 0 : G * size,
                                      .col_bytes = G == 1 ? 0 : size,
                                      .rows = how->rows,
                                      .group = how->cols };
    return SL_OK;
}

static sl_status join(const sl_quantized *q, const sl_parts *p, sl_weight_info *out, sl_err *err)
{
    const settings *s = q->settings;
    const sl_weight_info *weight = p->part[WEIGHT];
    sl_status rc;
    const size_t which = s->rows ? BLOCK_SCALE : SCALE, other = s->rows ? SCALE : BLOCK_SCALE;
    if (weight->tensor.format != SL_FORMAT_COUNT) {
        for (size_t i = 0; i < N_PARTS; i++)
            if (i != WEIGHT && p->part[i])
                return sl_fail(err, SL_EFORMAT, "weight is %s, but there is %s beside it", weight->type,
                               parts[i].suffix + 1);
        return SL_OK;
    }
    if (!p->part[which] || p->part[other])
        return sl_fail(err, SL_EFORMAT, "%s is %s: weight_block_size is %s",
                       parts[p->part[which] ? other : which].suffix + 1, p->part[which] ? "there" : "missing",
                       s->rows ? "given" : "not given");
    if (p->part[INPUT_SCALE] ? s->fresh : s->fixed)
        return sl_fail(err, SL_EFORMAT, "input_scale is %s: activation_scheme is %s", s->fixed ? "missing" : "there",
                       s->fixed ? "static" : "dynamic");
    if ((rc = sl_left_out_check(s->left_out, p->module, err)) || (rc = sl_left_out_check(s->ignored, p->module, err)))
        return rc;
    const sl_e4m3 how = { .rows = s->rows ? s->rows : 1,
                          .cols = s->rows ? s->cols : SIZE_MAX,
                          .key = "weight_block_size",
                          .powers = s->powers,
                          .inputs = s->fresh ? s->cols : 0 };
    return sl_part_e4m3(weight, p->part[which], parts[which].suffix, &how, out, err);
}

const sl_quant_method sl_method_fp8 = {
    .name = "fp8", .parts = parts, .n_parts = N_PARTS, .result = ".weight", .open = open, .join = join
};
