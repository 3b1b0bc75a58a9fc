/* weights.h - a checkpoint as a set of named tensors and settings, whatever the container. */
#ifndef SL_FORMATS_WEIGHTS_H
#define SL_FORMATS_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/tensor.h"
#include "tokenizer/vocab.h"

typedef struct sl_weights sl_weights;

/* Names of tensors and settings are the container's own. */
typedef enum sl_container {
    SL_CONTAINER_GGUF,
    SL_CONTAINER_HF, /* a Hugging Face folder: config.json and safetensors */
} sl_container;

/* Settings that take the place of those in a GGUF file: "KEY=TYPE:VALUE", TYPE int, float, bool or str. */
typedef struct sl_overrides {
    const char *const *list; /* [n], borrowed for the call */
    size_t n;
} sl_overrides;

/* Map `path` (a .gguf file, or any part of a split model, whose other parts lie beside it; or a Hugging Face folder)
 * and check every length, count, offset and type in it; weights themselves are not touched. `o` may be NULL. SL_EINVAL
 * (an override), SL_ENOTFOUND, SL_EIO, SL_EFORMAT, SL_EUNSUPPORTED, SL_ENOMEM; err names file and place. */
sl_status sl_weights_open(sl_weights **out, const char *path, sl_err *err);
sl_status sl_weights_open_with(sl_weights **out, const char *path, const sl_overrides *o, sl_err *err);
/* The same, to be shown only: tensors of a quantised folder as they lie there, also where their form is not known. */
sl_status sl_weights_open_stored(sl_weights **out, const char *path, sl_err *err);
void sl_weights_close(sl_weights *w); /* accepts NULL; every borrowed pointer becomes invalid */

#define SL_ARCH_MAX 64 /* bytes of an architecture's name */

sl_container sl_weights_container(const sl_weights *w);
const char *sl_weights_path(const sl_weights *w);
const char *sl_weights_arch(const sl_weights *w); /* general.architecture or model_type: "llama" */
/* What the model calls itself (general.name), a folder's name, "org/name" in the hub's cache. Borrowed. SL_EFORMAT. */
sl_status sl_weights_name(const sl_weights *w, const char **out, sl_err *err);
uint64_t sl_weights_file_bytes(const sl_weights *w);             /* of all parts */
bool sl_weights_has_file(const sl_weights *w, const char *path); /* whether path names one of its files */

/* Tensors in file order. A tensor of more than two dimensions is [product of the outer][cols]. */
typedef struct sl_weight_info {
    const char *name;
    const char *type; /* as the container calls it: "Q4_K" */
    sl_tensor tensor; /* format SL_FORMAT_COUNT: of a type that is not supported, not to be read */
    uint32_t n_dims;
    uint64_t dims[4]; /* as the file says, innermost first; what it does not say is 1 */
    uint64_t bytes;   /* with its scales, where those are tensors of their own */
} sl_weight_info;

/* SL_EINVAL: an override named a key that neither the file has nor anybody has asked for: to be called when all
 * settings have been read. */
sl_status sl_weights_overrides_used(const sl_weights *w, sl_err *err);

size_t sl_weights_count(const sl_weights *w);
const sl_weight_info *sl_weights_at(const sl_weights *w, size_t i);
const sl_weight_info *sl_weights_find(const sl_weights *w, const char *name); /* NULL: not there; O(1) */

/* The tensors as they lie in the files, one behind the other: those whose bytes the weights above consist of. */
size_t sl_weights_stored_count(const sl_weights *w);
const sl_weight_info *sl_weights_stored_at(const sl_weights *w, size_t i);

/* The parts of the mapped files that tensors lie in, one behind the other. */
void sl_weights_ranges(const sl_weights *w, void (*fn)(void *user, const void *p, size_t bytes), void *user);

/* Read all weights: SL_EFORMAT with the tensor and the row in which a value is no finite number or a scale is broken.
 * `tell` (may be NULL) hears of each tensor before it is read, with the bytes done so far and in all. */
typedef void sl_weights_tell(void *user, const char *tensor, uint64_t done, uint64_t total);
sl_status sl_weights_check(const sl_weights *w, sl_weights_tell *tell, void *user, sl_err *err);

/* Settings of a GGUF file; those of a folder are in its config.json (formats/hf.h), a tree that a list of keys would
 * not do justice. `key` may hold one %s for the architecture's name: "%s.block_count".
 * Any integer width is accepted for an unsigned number, any number for a float.
 * required: a missing key is SL_EFORMAT; otherwise *out keeps its value. A key of a wrong
 * type or out of range is SL_EFORMAT either way; err names the key. */
sl_status sl_weights_get_u64(const sl_weights *w, const char *key, bool required, uint64_t *out, sl_err *err);
sl_status sl_weights_get_bool(const sl_weights *w, const char *key, bool required, bool *out, sl_err *err);
sl_status sl_weights_get_f64(const sl_weights *w, const char *key, bool required, double *out, sl_err *err);
/* Borrowed, NUL-terminated: a copy made when first asked for (SL_ENOMEM). Safe from several threads.
 * A string holding a NUL byte is SL_EFORMAT. */
sl_status sl_weights_get_str(const sl_weights *w, const char *key, bool required, const char **out, sl_err *err);

/* An array of strings, the list in `arena`, the strings borrowed. A missing key leaves *out and *n alone. */
sl_status sl_weights_get_strs(const sl_weights *w, const char *key, sl_arena *arena, sl_bytes **out, size_t *n,
                              sl_err *err);

/* The vocabulary that a GGUF file carries, in the tokenizer's neutral form; its strings are
 * borrowed from w; sl_vocab_fini ends it. SL_ENOTFOUND when the file has none, SL_EUNSUPPORTED when its
 * model is none of gpt2, llama and t5, SL_EFORMAT when its parts do not fit together; err names the key. */
sl_status sl_weights_vocab(const sl_weights *w, sl_vocab *out, sl_err *err);

#endif
