#include "cli/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/num.h"

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

/* ---- reading ------------------------------------------------------------------- */

static sl_status read_at(const sl_npy *f, void *data, size_t bytes, size_t offset, sl_err *err)
{
    while (bytes) {
        const ssize_t n = pread(f->fd, data, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sl_fail(err, SL_EIO, "%s: %s", f->path, n < 0 ? strerror(errno) : "the file ends too early");
        data = (char *)data + n;
        bytes -= (size_t)n;
        offset += (size_t)n;
    }
    return SL_OK;
}

/* What follows 'key': in the header's text, a Python dictionary; NULL: no such key. */
static const char *value_of(const char *text, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *at = strstr(text, quoted);
    return at ? at + strlen(quoted) + strspn(at + strlen(quoted), " ") : NULL;
}

static sl_status read_text(sl_npy *f, const char *text, sl_err *err)
{
    const char *descr = value_of(text, "descr"), *order = value_of(text, "fortran_order");
    const char *shape = value_of(text, "shape");
    unsigned long long rows = 0, cols = 0;
    char end = 0;
    if (!descr || !order || !shape)
        return sl_fail(err, SL_EFORMAT, "%s: the header of a .npy file without descr, fortran_order and shape",
                       f->path);
    if (strncmp(descr, "'<f4'", 5) != 0)
        return sl_fail(err, SL_EFORMAT, "%s: numbers of type %.*s, '<f4' is needed", f->path,
                       (int)SL_MIN(strcspn(descr, ",}\n"), 20), descr);
    if (strncmp(order, "False", 5) != 0)
        return sl_fail(err, SL_EFORMAT, "%s: in Fortran order, C order is needed", f->path);
    if (sscanf(shape, "(%llu, %llu%c", &rows, &cols, &end) != 3 || end != ')' || rows > SIZE_MAX || cols > SIZE_MAX)
        return sl_fail(err, SL_EFORMAT, "%s: of shape %.*s, two dimensions are needed", f->path,
                       (int)SL_MIN(strcspn(shape, ")\n") + 1, 60), shape);
    f->rows = (size_t)rows;
    f->cols = (size_t)cols;
    return SL_OK;
}

static sl_status read_header(sl_npy *f, sl_err *err)
{
    enum { TEXT_MAX = 4096 };
    uint8_t head[MAGIC_BYTES + 2] = { 0 };
    char text[TEXT_MAX + 1] = "";
    struct stat sb;
    size_t bytes = 0;
    if (fstat(f->fd, &sb) < 0)
        return sl_fail(err, SL_EIO, "%s: %s", f->path, strerror(errno));
    if (!S_ISREG(sb.st_mode) || sb.st_size < MAGIC_BYTES + 2)
        return sl_fail(err, SL_EFORMAT, "%s: not a .npy file", f->path);
    sl_status rc = read_at(f, head, sizeof head, 0, err);
    if (rc)
        return rc;
    if (memcmp(head, "\x93NUMPY", 6) != 0 || head[6] < 1 || head[6] > 2)
        return sl_fail(err, SL_EFORMAT, "%s: not a .npy file of version 1 or 2", f->path);
    const size_t before = head[6] == 1 ? MAGIC_BYTES : MAGIC_BYTES + 2;
    const size_t length = head[6] == 1 ? sl_load_le16(head + 8) : sl_load_le32(head + 8);
    if (length > TEXT_MAX || length > (size_t)sb.st_size - before)
        return sl_fail(err, SL_EFORMAT, "%s: a header of %zu bytes in a .npy file of %lld", f->path, length,
                       (long long)sb.st_size);
    if ((rc = read_at(f, text, length, before, err)) || (rc = read_text(f, text, err)))
        return rc;
    f->header_bytes = before + length;
    if (!sl_mul_ok(f->rows, f->cols, &bytes) || !sl_mul_ok(bytes, sizeof(float), &bytes) ||
        bytes != (size_t)sb.st_size - f->header_bytes)
        return sl_fail(err, SL_EFORMAT, "%s: %lld bytes do not hold f32 [%zu][%zu]: cut short or damaged", f->path,
                       (long long)sb.st_size, f->rows, f->cols);
    return SL_OK;
}

sl_status sl_npy_open(sl_npy *f, const char *path, sl_err *err)
{
    *f = (sl_npy){ .path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
    if (f->fd < 0)
        return sl_fail(err, errno == ENOENT ? SL_ENOTFOUND : SL_EIO, "%s: %s", path, strerror(errno));
    const sl_status rc = read_header(f, err);
    if (rc)
        sl_npy_end(f);
    return rc;
}

sl_status sl_npy_read(const sl_npy *f, size_t row, float *values, sl_err *err)
{
    const size_t bytes = f->cols * sizeof *values;
    return read_at(f, values, bytes, f->header_bytes + row * bytes, err);
}

void sl_npy_end(sl_npy *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}
