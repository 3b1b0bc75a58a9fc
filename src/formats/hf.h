/* hf.h - a Hugging Face folder: its settings as they are written, its weights.
 *
 *   config.json              what the model is; src/models reads it
 *   generation_config.json   how its publisher samples from it
 *   *.safetensors            shards.h; of a quantised checkpoint several are one weight: quantized.h
 *
 * Tokenizer and chat templates: text_files.h. Files may be links, as in the hub's cache. */
#ifndef SL_FORMATS_HF_H
#define SL_FORMATS_HF_H

#include "formats/quantized.h"
#include "formats/small_json.h"

typedef struct sl_hf {
    sl_small_json config;
    char *name; /* the folder's, or "org/name" of the hub's cache */
    char *arch; /* "model_type" */
    sl_shards shards;
    sl_quantized quantized; /* their weights, if they are to be put together; else they are the tensors themselves */
} sl_hf;

/* `stored`: tensors are left as they lie there, whatever the quantisation. SL_ENOTFOUND, SL_EIO, SL_EFORMAT,
 * SL_EUNSUPPORTED, SL_ENOMEM; err names file and place. */
sl_status sl_hf_open(sl_hf **out, const char *dir, bool stored, sl_err *err);
void sl_hf_close(sl_hf *h); /* accepts NULL */

size_t sl_hf_count(const sl_hf *h);
const sl_weight_info *sl_hf_at(const sl_hf *h, size_t i);
const sl_weight_info *sl_hf_find(const sl_hf *h, const char *name); /* NULL: not there */

bool sl_hf_has_file(const sl_hf *h, const char *path);

/* The folder behind a handle; NULL: a GGUF file. */
const sl_hf *sl_weights_hf(const sl_weights *w);

/* What generation_config.json says about sampling. Below 0: nothing. */
typedef struct sl_generation {
    double temperature, top_p, min_p, repetition_penalty;
    int64_t top_k; /* 0: all */
} sl_generation;
/* A folder without the file says nothing. SL_EFORMAT: a value of another kind or out of range; err names file and key.
 */
sl_status sl_generation_read(sl_generation *g, const char *dir, sl_err *err);

#endif
