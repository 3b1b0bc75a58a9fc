/* npy.h - a .npy file of f32 [rows][cols] (format version 1.0), written row by row in any order; and read so. */
#ifndef SL_CLI_NPY_H
#define SL_CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include "base/status.h"

typedef struct sl_npy {
    const char *path; /* borrowed */
    int fd;
    size_t rows, cols, header_bytes;
} sl_npy;

/* Create or overwrite `path`, which must allow seeking. SL_EIO. After a failure it is gone. */
sl_status sl_npy_create(sl_npy *f, const char *path, size_t rows, size_t cols, sl_err *err);
sl_status sl_npy_write(sl_npy *f, size_t row, const float *values, sl_err *err);
/* Close; with `keep` false, or when closing fails, also remove the file. SL_EIO. */
sl_status sl_npy_close(sl_npy *f, bool keep, sl_err *err);

/* Open one that numpy or this program wrote (version 1.0 or 2.0, '<f4', C order, two dimensions) and whose length fits.
 * SL_EIO, SL_ENOTFOUND; SL_EFORMAT says what it is instead. */
sl_status sl_npy_open(sl_npy *f, const char *path, sl_err *err);
sl_status sl_npy_read(const sl_npy *f, size_t row, float *values, sl_err *err); /* values [cols] */
void sl_npy_end(sl_npy *f);                                                     /* of reading */

#endif
