#include "cli/chat_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utf8proc.h>
#include "base/num.h"

#define FILE_MAX ((size_t)1 << 20)

/* ---- files ---------------------------------------------------------------------------- */

void sl_chat_path(const char *path, sl_str *out)
{
    const char *home = getenv("HOME");
    if (path[0] == '~' && path[1] == '/' && home)
        sl_str_printf(out, "%s%s", home, path + 1);
    else
        sl_str_puts(out, path);
}

static sl_status read_all(int fd, const char *name, size_t limit, sl_str *out, sl_err *err)
{
    char block[1 << 14];
    for (;;) {
        const ssize_t n = read(fd, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sl_fail(err, SL_EIO, "%s: %s", name, strerror(errno));
        if (!n)
            return out->failed ? sl_fail(err, SL_ENOMEM, "%s: no memory for its text", name) : SL_OK;
        if ((size_t)n > limit - out->len)
            return sl_fail(err, SL_EUNSUPPORTED, "%s: too large: more than %zu KiB", name, limit >> 10);
        sl_str_append(out, block, (size_t)n);
    }
}

static sl_status check_text(const char *name, const sl_str *text, sl_err *err)
{
    for (size_t at = 0; at < text->len;) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t n =
            utf8proc_iterate((const utf8proc_uint8_t *)text->data + at, (utf8proc_ssize_t)(text->len - at), &c);
        if (n <= 0 || !c)
            return sl_fail(err, SL_EFORMAT, "%s: no text: byte %zu is %s", name, at, n > 0 ? "a NUL" : "no UTF-8");
        at += (size_t)n;
    }
    return SL_OK;
}

sl_status sl_chat_read_file(const char *path, size_t limit, sl_str *out, sl_err *err)
{
    sl_str real = { 0 };
    struct stat sb;
    sl_str_clear(out);
    sl_chat_path(path, &real);
    if (real.failed || !real.len) {
        sl_str_fini(&real);
        return sl_fail(err, SL_ENOTFOUND, "a file's name expected");
    }
    const int fd = open(real.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer would wait for ever */
    sl_str_fini(&real);
    if (fd < 0)
        return sl_fail(err, errno == ENOENT ? SL_ENOTFOUND : SL_EIO, "%s: %s", path, strerror(errno));
    sl_status rc = SL_OK;
    if (fstat(fd, &sb))
        rc = sl_fail(err, SL_EIO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(sb.st_mode))
        rc = sl_fail(err, SL_EUNSUPPORTED, "%s: %s", path, S_ISDIR(sb.st_mode) ? "a folder" : "no plain file");
    else
        rc = read_all(fd, path, limit, out, err);
    close(fd);
    if (!rc)
        rc = check_text(path, out, err);
    if (!rc && out->len >= 3 && memcmp(out->data, "\xef\xbb\xbf", 3) == 0) {
        memmove(out->data, out->data + 3, out->len - 2);
        out->len -= 3;
    }
    return rc;
}

/* ---- messages ---------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* More backticks than any run in the text has, and three at least. */
static size_t fence_of(const sl_str *text)
{
    size_t most = 2, run = 0;
    for (size_t i = 0; i < text->len; i++) {
        run = text->data[i] == '`' ? run + 1 : 0;
        most = SL_MAX(most, run);
    }
    return most + 1;
}

static sl_status append_file(const char *path, sl_str *out, sl_err *err)
{
    sl_str text = { 0 };
    const sl_status rc = sl_chat_read_file(path, FILE_MAX, &text, err);
    if (!rc) {
        const size_t fence = fence_of(&text);
        sl_str_printf(out, "\n\nFile %s:\n", path);
        for (size_t i = 0; i < fence; i++)
            sl_str_puts(out, "`");
        sl_str_puts(out, "\n");
        sl_str_append(out, text.data, text.len);
        if (text.len && text.data[text.len - 1] != '\n')
            sl_str_puts(out, "\n");
        for (size_t i = 0; i < fence; i++)
            sl_str_puts(out, "`");
    }
    sl_str_fini(&text);
    return rc;
}

static bool exists(const char *path, size_t n)
{
    sl_str name = { 0 }, real = { 0 };
    sl_str_append(&name, path, n);
    if (name.len)
        sl_chat_path(name.data, &real);
    const bool yes = real.len && !real.failed && access(real.data, F_OK) == 0;
    sl_str_fini(&name);
    sl_str_fini(&real);
    return yes;
}

/* The path at `typed`, behind the @; what only closes a sentence is no part of it, unless a file's name has it. Returns
 * how much of the text it takes, 0 for a quote without end. */
static size_t read_path(const char *typed, size_t len, sl_str *path)
{
    size_t n = 0;
    sl_str_clear(path);
    if (typed[0] == '"') {
        const char *end = memchr(typed + 1, '"', len - 1);
        if (!end)
            return 0;
        sl_str_append(path, typed + 1, (size_t)(end - typed) - 1);
        return (size_t)(end - typed) + 1;
    }
    while (n < len && !is_space(typed[n]))
        n++;
    size_t shorter = n;
    while (shorter && !exists(typed, shorter) && strchr(".,;:!?)]}'\"", typed[shorter - 1]))
        shorter--;
    n = shorter && exists(typed, shorter) ? shorter : n;
    sl_str_append(path, typed, n);
    return n;
}

/* The @ at typed[0]: its path to the message, its text to *files. */
static sl_status take_file(const char *typed, size_t len, size_t *used, sl_str *out, sl_str *files, sl_err *err)
{
    sl_str path = { 0 };
    sl_status rc = SL_OK;
    const size_t n = read_path(typed + 1, len - 1, &path);
    if (!n)
        rc = sl_fail(err, SL_EINVAL, "the quote behind @ does not end");
    else if (path.failed)
        rc = sl_fail(err, SL_ENOMEM, "no memory for the name of a file");
    else
        rc = append_file(path.len ? path.data : "", files, err);
    sl_str_append(out, path.data, path.len);
    sl_str_fini(&path);
    *used = 1 + n;
    return rc;
}

sl_status sl_chat_message(const char *typed, size_t len, sl_str *out, sl_err *err)
{
    sl_str files = { 0 };
    sl_status rc = SL_OK;
    size_t i = len > 1 && typed[0] == '/' && typed[1] == '/'; /* one of the two */
    while (i < len && !rc) {
        const bool at_word = !i || is_space(typed[i - 1]);
        size_t used = 1;
        if (!at_word || typed[i] != '@' || i + 1 == len || is_space(typed[i + 1])) {
            sl_str_append(out, typed + i, 1);
        } else if (typed[i + 1] == '@') {
            sl_str_puts(out, "@");
            used = 2;
        } else {
            rc = take_file(typed + i, len - i, &used, out, &files, err);
        }
        i += used;
    }
    sl_str_append(out, files.data, files.len);
    if (!rc && (out->failed || files.failed))
        rc = sl_fail(err, SL_ENOMEM, "no memory for the message");
    sl_str_fini(&files);
    return rc;
}

void sl_chat_quote(sl_str *lines, bool at_start)
{
    sl_str quoted = { 0 };
    if (!lines->len || !memchr(lines->data, '\n', lines->len))
        return;
    if (at_start && lines->data[0] == '/')
        sl_str_puts(&quoted, "/");
    for (size_t i = 0; i < lines->len; i++) {
        const bool at_word = i ? is_space(lines->data[i - 1]) : at_start;
        if (at_word && lines->data[i] == '@' && i + 1 < lines->len && !is_space(lines->data[i + 1]))
            sl_str_puts(&quoted, "@");
        sl_str_append(&quoted, lines->data + i, 1);
    }
    quoted.failed |= lines->failed;
    sl_str_fini(lines);
    *lines = quoted;
}
