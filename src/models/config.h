/* config.h - settings of llama-like models, from either container, checked once, here.
 *
 *   config_gguf.c   the keys of a GGUF file
 *   config_hf.c     config.json; rope_hf.c its rope
 *   config.c        what must hold wherever they came from
 */
#ifndef SL_MODELS_CONFIG_H
#define SL_MODELS_CONFIG_H

#include "formats/json.h"
#include "models/net.h"

/* Which layers see a window only. */
typedef enum sl_window_rule {
    SL_WINDOW_NONE,        /* none does; a "sliding_window" is refused */
    SL_WINDOW_ALL,         /* "sliding_window" is a number: all, or those of "layer_types" */
    SL_WINDOW_ALTERNATING, /* likewise, but without "layer_types" the first layer and each second one from there */
    SL_WINDOW_SWITCH,      /* with "use_sliding_window": from "max_window_layers" on, or those of "layer_types" */
} sl_window_rule;

/* Where the configuration classes of Transformers differ. */
typedef struct sl_hf_traits {
    size_t head_dim; /* where the file names none; 0: hidden_size / num_attention_heads */
    sl_window_rule window;
    bool attention_bias; /* there is such a key */
    bool mlp_bias;       /* likewise */
} sl_hf_traits;

/* SL_EFORMAT, SL_EUNSUPPORTED; err names the file and the key. `hf` may be NULL for an architecture without folders. */
sl_status sl_dense_config(sl_config *c, const sl_weights *w, const sl_hf_traits *hf, sl_err *err);

/* ---- the parts ------------------------------------------------------------------------------- */

#define SL_SIZE_LIMIT ((uint64_t)1 << 24) /* larger than any model; products of two of them fit 64 bits */

sl_status sl_config_gguf(sl_config *c, const sl_weights *w, sl_err *err); /* err names the file */
/* `root` is config.json, and err does not name the file. */
sl_status sl_config_hf(sl_config *c, const sl_json *root, const sl_hf_traits *traits, sl_err *err);
sl_status sl_rope_hf(sl_config *c, const sl_json *root, sl_err *err);

/* Members of a JSON object, in range; missing or null: *out stays, or SL_EFORMAT if `required`. */
sl_status sl_hf_size(const sl_json *object, const char *key, bool required, size_t *out, sl_err *err);
sl_status sl_hf_positive(const sl_json *object, const char *key, bool required, double *out, sl_err *err);

#endif
