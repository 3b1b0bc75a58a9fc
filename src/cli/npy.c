#include "cli/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC_BYTES 10 /* "\x93NUMPY", version, length of the text */

static sl_status write_at(sl_npy *f, const void *data, size_t bytes, size_t offset, sl_err *err)
{
    while (bytes) {
        const ssize_t n = pwrite(f->fd, data, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sl_fail(err, SL_EIO, "%s: %s", f->path, n < 0 ? strerror(errno) : "nothing could be written");
        data = (const char *)data + n;
        bytes -= (size_t)n;
        offset += (size_t)n;
    }
    return SL_OK;
}

/* The text is padded so that the data begin at a multiple of 64. */
static sl_status write_header(sl_npy *f, sl_err *err)
{
    char header[256];
    const int text = snprintf(header + MAGIC_BYTES, sizeof header - MAGIC_BYTES,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", f->rows, f->cols);
    const size_t used = MAGIC_BYTES + (size_t)text + 1;
    f->header_bytes = (used + 63) / 64 * 64;
    memset(header + used - 1, ' ', f->header_bytes - used);
    header[f->header_bytes - 1] = '\n';
    const uint16_t len = (uint16_t)(f->header_bytes - MAGIC_BYTES);
    memcpy(header, "\x93NUMPY\x01", 8);
    header[7] = 0;
    header[8] = (char)(len & 0xff);
    header[9] = (char)(len >> 8);
    return write_at(f, header, f->header_bytes, 0, err);
}

sl_status sl_npy_create(sl_npy *f, const char *path, size_t rows, size_t cols, sl_err *err)
{
    *f = (sl_npy){ .path = path, .rows = rows, .cols = cols };
    f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return sl_fail(err, SL_EIO, "%s: %s", path, strerror(errno));
    const sl_status rc = write_header(f, err);
    if (rc)
        sl_npy_close(f, false, NULL);
    return rc;
}

sl_status sl_npy_write(sl_npy *f, size_t row, const float *values, sl_err *err)
{
    const size_t bytes = f->cols * sizeof *values;
    return write_at(f, values, bytes, f->header_bytes + row * bytes, err);
}

sl_status sl_npy_close(sl_npy *f, bool keep, sl_err *err)
{
    struct stat sb;
    sl_status rc = SL_OK;
    const bool is_file = fstat(f->fd, &sb) == 0 && S_ISREG(sb.st_mode);
    if (close(f->fd) && keep) {
        rc = sl_fail(err, SL_EIO, "%s: %s", f->path, strerror(errno));
        keep = false;
    }
    if (!keep && is_file) /* never a device */
        unlink(f->path);
    f->fd = -1;
    return rc;
}
