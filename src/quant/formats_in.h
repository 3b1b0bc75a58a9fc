/* formats_in.h - one decoder per format, for the list in quant.c; defined in the file of its family. */
#ifndef SL_QUANT_FORMATS_IN_H
#define SL_QUANT_FORMATS_IN_H

#include <stddef.h>
#include "base/tensor.h"

/* See decode_row in quant.h. */
#define SL_DECODE_ROW(name, block, bytes) void sl_decode_row_##name(float *out, const void *src, size_t n);
SL_FORMAT_LIST(SL_DECODE_ROW)
#undef SL_DECODE_ROW

#endif
