/* quantized_in.h - what a method of quantisation has to say for quantized.c. A new one is a file with a
 * sl_quant_method, and a line in the list there. */
#ifndef SL_FORMATS_QUANTIZED_IN_H
#define SL_FORMATS_QUANTIZED_IN_H

#include "formats/quantized.h"

#define SL_PARTS_MAX 8

/* The tensors of one module that are there. */
typedef struct sl_parts {
    sl_bytes module;                          /* "model.layers.0.mlp.up_proj" */
    const sl_weight_info *part[SL_PARTS_MAX]; /* as the method's list has them; NULL: not there */
} sl_parts;

/* What follows a module's name. */
typedef struct sl_part_name {
    const char *suffix; /* ".weight_scale" */
    bool leads;         /* holds the numbers; what is no leading part needs one beside it */
} sl_part_name;

struct sl_quant_method {
    const char *name;          /* as "quant_method" has it */
    const sl_part_name *parts; /* [n_parts], at most SL_PARTS_MAX */
    size_t n_parts;
    const char *result; /* what follows a module's name in the models' tables: ".weight" */
    /* Settings from the configuration, into q->settings. SL_EFORMAT, SL_EUNSUPPORTED, SL_ENOMEM; err names the key. */
    sl_status (*open)(sl_quantized *q, const sl_json *config, sl_err *err);
    /* One weight: out->tensor, type, n_dims and dims; its name and bytes are there. Where only the numbers are, and
     * they are no quantised ones, `out` already is what the file says and may stay. Every part's shape and dtype must
     * be checked, and every index in it. err does not name the module. */
    sl_status (*join)(const sl_quantized *q, const sl_parts *p, sl_weight_info *out, sl_err *err);
    void (*close)(sl_quantized *q); /* NULL: its settings lie in the arena */
};

extern const sl_quant_method sl_method_compressed_tensors, sl_method_gptq, sl_method_awq, sl_method_fp8,
    sl_method_mxfp4;

/* ---- what methods share -------------------------------------------------------------------- */

/* SL_EFORMAT unless the part is of this dtype ("I32") and shape; of one dimension: rows 1. A size of SIZE_MAX may be
 * anything, of a matrix. */
sl_status sl_part_check(const sl_weight_info *part, const char *suffix, const char *dtype, size_t rows, size_t cols,
                        sl_err *err);
/* Of floats: which. SL_EFORMAT for another dtype. */
sl_status sl_part_scale_type(const sl_weight_info *part, const char *suffix, sl_scale_type *out, sl_err *err);
/* A list of `cols` s32 that assigns columns to `groups` groups: *out becomes its bytes, or NULL when it says what
 * groups of `group` neighbours say anyhow, or nothing (-1). SL_EFORMAT: a number out of range. */
sl_status sl_part_groups(const sl_weight_info *part, const char *suffix, size_t cols, size_t groups, size_t group,
                         const void **out, sl_err *err);
/* out becomes a matrix [rows][cols] of that format; its data and strides are the caller's to fill. */
void sl_part_matrix(sl_weight_info *out, sl_format format, size_t rows, size_t cols);
/* How an E4M3 weight is stored. */
typedef struct sl_e4m3 {
    size_t rows, cols; /* of a block that has a scale; cols SIZE_MAX: all. Of rows one by one a single scale may serve
                        * all */
    const char *key;   /* of the settings that say so */
    bool powers;       /* of inputs: with scales that are powers of two */
    size_t inputs;     /* columns of an input that are rounded with one scale; SIZE_MAX: all, 0: they are not rounded,
                        * or in a way that is not known */
} sl_e4m3;
/* out becomes the matrix of such a weight. SL_EFORMAT. */
sl_status sl_part_e4m3(const sl_weight_info *weight, const sl_weight_info *scale, const char *suffix,
                       const sl_e4m3 *how, sl_weight_info *out, sl_err *err);
/* The tensor's shape as code writes it, "[8, 16]". */
#define SL_SHAPE_TEXT_MAX 96
const char *sl_part_shape(char out[SL_SHAPE_TEXT_MAX], const sl_weight_info *part);

#endif
