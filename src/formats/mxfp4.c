/* mxfp4.c - folders of gpt-oss as its publisher quantised them: of a matrix X, X_blocks [.., rows, groups, 16] has two
 * weights of 4 bits in a byte, X_scales [.., rows, groups] the power of two of each 32. Source: Transformers,
 * integrations/mxfp4.py. */
#include "formats/quantized_in.h"

#include <string.h>
#include "base/num.h"
#include "formats/name_list.h"

enum { BLOCKS, SCALES, N_PARTS };
static const sl_part_name parts[N_PARTS] = { { "_blocks", true }, { "_scales", false } };

#define GROUP       32
#define GROUP_BYTES 16

typedef struct settings {
    const sl_json *left_out; /* modules that are not quantised */
} settings;

/* "dequantize" is a wish of whom loads them by that library. */
static sl_status open(sl_quantized *q, const sl_json *config, sl_err *err)
{
    static const char *const keys[] = { "quant_method", "modules_to_not_convert", "dequantize", NULL };
    settings *s = sl_arena_alloc(&q->arena, 1, sizeof *s);
    bool ignored = false;
    sl_status rc;
    if (!s)
        return sl_fail(err, SL_ENOMEM, "no memory for the settings");
    *s = (settings){ 0 };
    q->settings = s;
    if ((rc = sl_json_only(config, keys, err)) || (rc = sl_json_get_bool(config, "dequantize", false, &ignored, err)))
        return rc;
    return sl_left_out_open(config, "modules_to_not_convert", &s->left_out, err);
}

static sl_status join(const sl_quantized *q, const sl_parts *p, sl_weight_info *out, sl_err *err)
{
    const sl_weight_info *blocks = p->part[BLOCKS], *scales = p->part[SCALES];
    const settings *s = q->settings;
    const uint32_t n = blocks->n_dims;
    char is[2][SL_SHAPE_TEXT_MAX];
    const sl_status rc = sl_left_out_check(s->left_out, p->module, err);
    if (rc)
        return rc;
    if (!scales)
        return sl_fail(err, SL_EFORMAT, "%s is missing", parts[SCALES].suffix + 1);
    if (strcmp(blocks->type, "U8") != 0 || strcmp(scales->type, "U8") != 0)
        return sl_fail(err, SL_EFORMAT, "blocks are %s and scales %s, not both U8", blocks->type, scales->type);
    if (n < 3 || blocks->dims[0] != GROUP_BYTES)
        return sl_fail(err, SL_EFORMAT, "blocks are %s, no rows of groups of %d bytes", sl_part_shape(is[0], blocks),
                       GROUP_BYTES);
    bool fits = scales->n_dims + 1 == n;
    for (uint32_t d = 1; d < n; d++)
        fits = fits && scales->dims[d - 1] == blocks->dims[d];
    if (!fits)
        return sl_fail(err, SL_EFORMAT, "blocks are %s and scales %s: not one number for each group of %d bytes",
                       sl_part_shape(is[0], blocks), sl_part_shape(is[1], scales), GROUP_BYTES);
    const size_t groups = (size_t)blocks->dims[1]; /* 16 bytes of each are in the file, so twice that is no overflow */
    if (!groups || !blocks->bytes)
        return sl_fail(err, SL_EFORMAT, "blocks are empty");
    sl_part_matrix(out, SL_FORMAT_MXFP4_SPLIT, blocks->tensor.rows / groups, groups * GROUP);
    out->tensor.data = blocks->tensor.data;
    out->tensor.row_bytes = groups * GROUP_BYTES;
    out->tensor.scales = (sl_scales){ .scale = scales->tensor.data,
                                      .type = SL_SCALE_E8M0,
                                      .row_bytes = groups,
                                      .col_bytes = 1,
                                      .rows = 1,
                                      .group = GROUP };
    out->n_dims = n - 1;
    for (uint32_t d = 1; d + 1 < n; d++)
        out->dims[d] = blocks->dims[d + 1];
    return SL_OK;
}

const sl_quant_method sl_method_mxfp4 = {
    .name = "mxfp4",
    .parts = parts,
    .n_parts = N_PARTS,
    .result = ".weight",
    .open = open,
    .join = join,
};
