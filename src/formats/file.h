/* file.h - a file's bytes, mapped. */
#ifndef SL_FORMATS_FILE_H
#define SL_FORMATS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/status.h"

typedef struct sl_file {
    const char *bytes; /* "" for an empty file */
    size_t n;
    void *map; /* NULL: nothing to unmap */
    dev_t dev; /* which file it is */
    ino_t ino;
} sl_file;

/* SL_ENOTFOUND, SL_EIO (also for what is no regular file, and a link that leads nowhere), SL_EUNSUPPORTED (a folder),
 * SL_EFORMAT (what a failed download left in its place), SL_ENOMEM; the text does not name the file. */
sl_status sl_file_map(sl_file *out, const char *path, sl_err *err);
void sl_file_unmap(sl_file *f);                      /* accepts a zeroed one */
bool sl_file_is(const sl_file *f, const char *path); /* whether path names this mapped file */

#endif
