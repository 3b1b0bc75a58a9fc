/* safetensors.h - one safetensors file in memory, taken apart and checked.
 *
 *   8 bytes   length of the header, little-endian
 *   header    a JSON object: name -> {"dtype", "shape", "data_offsets": [begin, end]}; "__metadata__" is not a tensor
 *   data      offsets count from here
 *
 * Tensors must cover the data without overlap, hole or rest, so that none can be read over another and a file that was
 * cut short is noticed. Only the header is read; weights stay untouched. Source: the "Format" section of the README of
 * huggingface/safetensors. */
#ifndef SL_FORMATS_SAFETENSORS_H
#define SL_FORMATS_SAFETENSORS_H

#include "base/mem.h"
#include "formats/file.h"
#include "formats/weights.h"

#define SL_SAFETENSORS_HEADER_MAX ((size_t)100000000) /* bytes; the limit of the format's own library */

typedef struct sl_safetensors {
    sl_file file;            /* empty: the bytes are the caller's */
    sl_weight_info *tensors; /* [n] in the order of the header */
    size_t n;
    sl_arena arena; /* the list and its names */
} sl_safetensors;

/* Take apart n bytes, which stay the caller's and must outlive s. SL_EFORMAT; SL_EUNSUPPORTED: a header above the
 * limit, a dtype or a key that is not known, more than 4 dimensions; SL_ENOMEM. err names the tensor but not the file.
 * After a failure s is empty. */
sl_status sl_safetensors_parse(sl_safetensors *s, const void *bytes, size_t n, sl_err *err);
/* The same of a file that is mapped. As sl_file_map and the above; err names the file. */
sl_status sl_safetensors_open(sl_safetensors *s, const char *path, sl_err *err);
void sl_safetensors_close(sl_safetensors *s); /* accepts a zeroed one */

#endif
