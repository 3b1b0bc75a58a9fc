/* gguf_read.h - everything that a program may ask of a file: all keys, tensors, the vocabulary, some
 * decoded rows. What mutations and fuzzing run. */
#ifndef TESTS_SUPPORT_GGUF_READ_H
#define TESTS_SUPPORT_GGUF_READ_H

#include "formats/weights.h"

/* The status of opening these bytes as a file; once open, an answer of any status will do. Aborts
 * where an answer contradicts itself. Works on a copy that ends with its heap block, so that the
 * sanitizers see a read past the end, which a mapped file's last page would hide. */
sl_status gguf_read_all(const void *bytes, size_t n);

#endif
