/* packed.h - weights for check_linear whose bytes are not rows of blocks. */
#ifndef SL_TESTS_CHECKASM_PACKED_H
#define SL_TESTS_CHECKASM_PACKED_H

#include "checkasm.h"

typedef uint8_t ca_byte_fn(ca *c, const void *arg);

/* Give w, whose format, rows and cols are set, numbers drawn by byte(c, arg), with scales and zero points beside them
 * as checkpoints lay them: GPTQ, AWQ and FP8. `ones`: every scale is 1. All end at a forbidden page, and w is cut out
 * of a larger matrix, at a word of rows or within one. */
void ca_packed(ca *c, sl_tensor *w, ca_byte_fn *byte, const void *arg, bool ones);

#endif
