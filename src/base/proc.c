#include "base/proc_in.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_text(const char *path, char *buf, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n = 0;
    while (used < size - 1 && ((n = read(fd, buf + used, size - 1 - used)) > 0 || (n < 0 && errno == EINTR)))
        used += n > 0 ? (size_t)n : 0;
    close(fd);
    buf[used] = '\0';
    return n >= 0;
}

bool sl_proc_read(char *buf, size_t size, const char *dir, const char *file)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", dir, file);
    return n > 0 && (size_t)n < sizeof path && read_text(path, buf, size);
}

bool sl_proc_number(const char **text, uint64_t *out)
{
    char *end = NULL;
    if (**text < '0' || **text > '9')
        return false;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

size_t sl_proc_size(const char *dir, const char *file)
{
    char text[64];
    const char *p = text;
    uint64_t n = 0;
    return sl_proc_read(text, sizeof text, dir, file) && sl_proc_number(&p, &n) ? (size_t)n : SIZE_MAX;
}

bool sl_proc_value(const char *dir, const char *file, const char *key, char *out, size_t size)
{
    char text[8192]; /* what is asked for stands near the beginning */
    const size_t n = strlen(key);
    if (!sl_proc_read(text, sizeof text, dir, file))
        return false;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strncmp(line, key, n) != 0 || !line[n] || !strchr(" \t:", line[n]))
            continue;
        const char *p = line + n;
        p += strspn(p, " \t:");
        snprintf(out, size, "%s", p);
        return true;
    }
    return false;
}

size_t sl_proc_kib(const char *dir, const char *file, const char *key)
{
    char text[64];
    const char *p = text;
    uint64_t kib = 0;
    const bool found = sl_proc_value(dir, file, key, text, sizeof text) && sl_proc_number(&p, &kib);
    return found && kib <= SIZE_MAX >> 10 ? (size_t)kib << 10 : SIZE_MAX;
}
