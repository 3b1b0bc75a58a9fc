/* parts.h - the files that one GGUF model is made of: itself, or the parts of a split model.
 *
 * A split model's files are PREFIX-00001-of-00003.gguf and so on. Each says which part it is (split.no, from 0) of how
 * many (split.count); the first has all settings, each its own tensors. Source: llama.cpp, tools/gguf-split. */
#ifndef SL_FORMATS_PARTS_H
#define SL_FORMATS_PARTS_H

#include "formats/file.h"
#include "formats/gguf.h"

typedef struct sl_gguf_part {
    sl_gguf gguf;
    sl_file file;        /* empty: its bytes are the caller's */
    size_t first_tensor; /* its number among those of all parts */
} sl_gguf_part;

typedef struct sl_gguf_parts {
    sl_gguf_part *part; /* [n] in order */
    size_t n, own;      /* own: the one that was asked for */
    size_t n_tensors;
    uint64_t file_bytes;
} sl_gguf_parts;

/* Take apart n bytes, which stay the caller's and must outlive p, and the other parts that lie beside `path` if there
 * are some. SL_ENOTFOUND: a part that is missing; SL_EFORMAT: parts that do not belong together; as sl_gguf_parse and
 * sl_file_map. err names the file. After a failure p is empty. */
sl_status sl_gguf_parts_open(sl_gguf_parts *p, const char *path, const void *bytes, size_t n, sl_err *err);
void sl_gguf_parts_close(sl_gguf_parts *p); /* accepts a zeroed one */

sl_gguf_tensor *sl_gguf_parts_at(const sl_gguf_parts *p, size_t i); /* i < n_tensors */
sl_gguf_tensor *sl_gguf_parts_find(const sl_gguf_parts *p, const char *name);

#endif
