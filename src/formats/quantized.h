/* quantized.h - weights of a Hugging Face folder that lie in several tensors, put together.
 *
 * "quantization_config" of config.json (older: "compression_config") names a method; its file (quantized_in.h) knows
 * which tensors belong to a module X and how they lie: X.weight_packed, X.weight_scale, X.weight_shape become one
 * weight "X.weight" with its true rows and columns, and scales beside it (sl_scales). All else stays as it is. Nothing
 * is copied: what comes out points into the mapped files.
 *
 * Folders that are older than the key have the settings in quantize_config.json (GPTQ) or quant_config.json (AWQ). */
#ifndef SL_FORMATS_QUANTIZED_H
#define SL_FORMATS_QUANTIZED_H

#include "formats/shards.h"
#include "formats/small_json.h"

typedef struct sl_quant_method sl_quant_method;

typedef struct sl_quantized {
    const sl_quant_method *method; /* NULL: the folder is not quantised, the rest is empty */
    sl_weight_info *tensor;        /* [n] in the order of the shards */
    sl_bytes *name;                /* [n] */
    size_t n;
    sl_names by_name;
    void *settings;     /* the method's own */
    sl_small_json file; /* of an old folder: its settings */
    sl_arena arena;
} sl_quantized;

/* The shards of `dir` and its config.json, which stay. SL_EUNSUPPORTED: a method or an option that is not known, by its
 * name; SL_EFORMAT: parts that do not fit together, or have no settings; SL_ENOMEM, SL_EIO. err names the file and the
 * key, or the folder and the module. After a failure q is empty. */
sl_status sl_quantized_open(sl_quantized *q, const char *dir, const sl_shards *s, const sl_small_json *config,
                            sl_err *err);
void sl_quantized_close(sl_quantized *q); /* accepts a zeroed one */

/* What follows a quantised module's name in the files, ".qweight"; NULL: what any weight has, or nothing is quantised.
 */
const char *sl_quantized_suffix(const sl_quantized *q);

const sl_weight_info *sl_quantized_find(const sl_quantized *q, const char *name); /* NULL: not there */

#endif
