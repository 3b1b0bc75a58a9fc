/* read_all.h - everything that a program may ask of a file: all keys, tensors, the vocabulary, some
 * decoded rows. What mutations and fuzzing run. */
#ifndef TESTS_FORMATS_READ_ALL_H
#define TESTS_FORMATS_READ_ALL_H

#include "formats/weights.h"

/* The status of opening; once open, an answer of any status will do. Aborts where an answer
 * contradicts itself. */
sl_status read_all(const char *path);

#endif
