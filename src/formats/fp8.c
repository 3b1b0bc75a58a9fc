/* fp8.c - checkpoints of DeepSeek's kind, "quant_method": "fp8".
 *
 *   X.weight            E4M3 [rows][cols]
 *   X.weight_scale_inv  floats [rows / 128][cols / 128], rounded up ("weight_block_size"): what a block is multiplied
 * by X.weight_scale      floats [1] or [rows][1], instead, without blocks X.input_scale       floats: what inputs would
 * be divided by, were they rounded; they are not here
 *
 * A module is quantised if its weight is E4M3; lists of modules in the settings say no more than that.
 * Source: DeepSeek-V3's inference/kernel.py (weight_dequant); vLLM's fp8.py for scales without blocks. */
#include "formats/quantized_in.h"

#include <string.h>
#include "base/num.h"
#include "formats/show.h"

enum { WEIGHT, BLOCK_SCALE, SCALE, INPUT_SCALE, N_PARTS };

static const sl_part_name parts[N_PARTS] = {
    [WEIGHT] = { ".weight", true },
    [BLOCK_SCALE] = { ".weight_scale_inv", false },
    [SCALE] = { ".weight_scale", false },
    [INPUT_SCALE] = { ".input_scale", false },
};

typedef struct settings {
    size_t rows, cols; /* of a block; 0: no blocks */
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

static sl_status open(sl_quantized *q, const sl_json *config, sl_err *err)
{
    char shown[SL_SHOW_MAX];
    settings *s = sl_arena_alloc(&q->arena, 1, sizeof *s);
    if (!s)
        return sl_fail(err, SL_ENOMEM, "no memory for the settings");
    *s = (settings){ 0 };
    q->settings = s;
    const sl_json *fmt = sl_json_get(config, "fmt"), *scale = sl_json_get(config, "scale_fmt");
    if (fmt && !sl_json_is(fmt, "e4m3") && !sl_json_is(fmt, "float8_e4m3fn"))
        return sl_json_fail(err, SL_EUNSUPPORTED, fmt, "\"%s\" is not supported; e4m3 is",
                            sl_show(shown, sl_json_bytes(fmt)));
    if (scale && !sl_json_is(scale, "float") && !sl_json_is(scale, "ue8m0"))
        return sl_json_fail(err, SL_EUNSUPPORTED, scale, "\"%s\" is not supported; float and ue8m0 are",
                            sl_show(shown, sl_json_bytes(scale)));
    return read_block(config, s, err);
}

sl_status sl_part_e4m3(const sl_weight_info *weight, const sl_weight_info *scale, const char *suffix, size_t rows,
                       size_t cols, sl_weight_info *out, sl_err *err)
{
    const sl_tensor stored = weight->tensor;
    const size_t R = sl_div_up(stored.rows, rows), G = sl_div_up(stored.cols, cols);
    const bool of_all = rows == 1 && scale->tensor.rows == 1 && scale->tensor.cols == 1;
    const bool flat = scale->n_dims == 1 && G == 1; /* [R] for [R][1] */
    sl_scale_type type = SL_SCALE_F32;
    sl_status rc = sl_part_check(weight, ".weight", "F8_E4M3", SIZE_MAX, SIZE_MAX, err);
    if (!rc)
        rc = sl_part_scale_type(scale, suffix, &type, err);
    if (!rc && !of_all)
        rc = sl_part_check(scale, suffix, scale->type, flat ? 1 : R, flat ? R : G, err);
    if (rc)
        return rc;
    const size_t size = type == SL_SCALE_F32 ? 4 : 2;
    sl_part_matrix(out, SL_FORMAT_F8_E4M3, stored.rows, stored.cols);
    out->tensor.data = stored.data;
    out->tensor.row_bytes = stored.row_bytes;
    out->tensor.scales = (sl_scales){ .scale = scale->tensor.data,
                                      .type = type,
                                      .row_bytes = of_all ? 0 : G * size,
                                      .col_bytes = G == 1 ? 0 : size,
                                      .rows = rows,
                                      .group = cols };
    return SL_OK;
}

static sl_status join(const sl_quantized *q, const sl_parts *p, sl_weight_info *out, sl_err *err)
{
    const settings *s = q->settings;
    const sl_weight_info *weight = p->part[WEIGHT];
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
    return sl_part_e4m3(weight, p->part[which], parts[which].suffix, s->rows ? s->rows : 1,
                        s->rows ? s->cols : SIZE_MAX, out, err);
}

const sl_quant_method sl_method_fp8 = {
    .name = "fp8", .parts = parts, .n_parts = N_PARTS, .result = ".weight", .open = open, .join = join
};
