/* shards.h - the safetensors files of a folder as one set of tensors.
 *
 *   model.safetensors.index.json   {"weight_map": {tensor: file}}: the files that it names, and no others
 *   model.safetensors              where there is no index
 *
 * A tensor that the index names must be in the file that it says. One that it does not name is taken too, as
 * Transformers does, unless two files have it. Of a tensor in two files the index decides. */
#ifndef SL_FORMATS_SHARDS_H
#define SL_FORMATS_SHARDS_H

#include "formats/fill_in.h"
#include "formats/safetensors.h"

typedef struct sl_shards {
    sl_safetensors *shard; /* [n] by name */
    const char **file;     /* [n] their names in the folder */
    size_t n;
    const sl_weight_info **tensor; /* [n_tensors] shard by shard */
    sl_bytes *name;                /* [n_tensors] */
    size_t n_tensors;
    sl_names by_name;
    uint64_t file_bytes;
    sl_arena arena;
} sl_shards;

/* SL_ENOTFOUND: no weights in this folder, or a file that the index names is missing; SL_EFORMAT: a name that leads out
 * of the folder, a tensor elsewhere than said; as sl_safetensors_open. err names the file. After a failure s is empty.
 */
sl_status sl_shards_open(sl_shards *s, const char *dir, sl_err *err);
void sl_shards_close(sl_shards *s); /* accepts a zeroed one */

const sl_weight_info *sl_shards_find(const sl_shards *s, const char *name); /* NULL: not there */

#endif
