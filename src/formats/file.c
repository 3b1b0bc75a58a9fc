#include "formats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/pages.h"
#include "formats/sniff.h"

static sl_status map_fd(sl_file *out, int fd, sl_err *err)
{
    struct stat sb;
    if (fstat(fd, &sb) < 0)
        return sl_fail(err, SL_EIO, "%s", strerror(errno));
    if (S_ISDIR(sb.st_mode))
        return sl_fail(err, SL_EUNSUPPORTED, "a folder; a file is needed");
    if (!S_ISREG(sb.st_mode))
        return sl_fail(err, SL_EIO, "not a regular file");
    if (sb.st_size == 0)
        return SL_OK;
    void *p = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return sl_fail(err, errno == ENOMEM ? SL_ENOMEM : SL_EIO, "mapping %zu bytes: %s", (size_t)sb.st_size,
                       strerror(errno));
    sl_pages_ask_huge(p, (size_t)sb.st_size);
    *out = (sl_file){ .bytes = p, .n = (size_t)sb.st_size, .map = p, .dev = sb.st_dev, .ino = sb.st_ino };
    return SL_OK;
}

sl_status sl_file_map(sl_file *out, const char *path, sl_err *err)
{
    *out = (sl_file){ .bytes = "" };
    /* NONBLOCK: a named pipe must be refused, not waited for. It means nothing for files. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat link;
    if (fd < 0 && errno == ENOENT && lstat(path, &link) == 0 && S_ISLNK(link.st_mode))
        return sl_fail(err, SL_EIO, "a link to a file that is not there");
    if (fd < 0)
        return sl_fail(err, errno == ENOENT ? SL_ENOTFOUND : SL_EIO, "%s", strerror(errno));
    sl_status rc = map_fd(out, fd, err);
    close(fd);
    if (!rc && (rc = sl_sniff_download(out->bytes, out->n, err)))
        sl_file_unmap(out);
    return rc;
}

void sl_file_unmap(sl_file *f)
{
    if (f->map)
        munmap(f->map, f->n);
    *f = (sl_file){ .bytes = "" };
}

bool sl_file_is(const sl_file *f, const char *path)
{
    struct stat sb;
    return f->map && stat(path, &sb) == 0 && sb.st_dev == f->dev && sb.st_ino == f->ino;
}
