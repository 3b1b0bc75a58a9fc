/* talk.c - stdout that may break, lines for people on stderr, files in. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/screen.h"
#include "cli/signals.h"

/* ---- errors -------------------------------------------------------------------- */

sl_exit sl_cli_fail(const sl_err *err)
{
    fflush(stdout);
    fprintf(stderr, "sluice: %s\n", err->msg);
    return err->code == SL_EINVAL ? SL_EXIT_USAGE : SL_EXIT_FAILED;
}

static void complain(const char *fmt, va_list ap)
{
    fflush(stdout);
    fputs("sluice: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

sl_exit sl_cli_usage(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    complain(fmt, ap);
    va_end(ap);
    return SL_EXIT_USAGE;
}

sl_exit sl_cli_failed(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    complain(fmt, ap);
    va_end(ap);
    return SL_EXIT_FAILED;
}

/* ---- stdout -------------------------------------------------------------------- */

static int stdout_errno; /* of the first write that failed */

bool sl_cli_write(const char *bytes, size_t n)
{
    if (!stdout_errno && n && fwrite(bytes, 1, n, stdout) != n)
        stdout_errno = errno ? errno : EIO;
    return !stdout_errno;
}

void sl_cli_write_ids(const sl_ids *ids)
{
    char word[24];
    sl_cli_write("[", 1);
    for (size_t i = 0; i < ids->n; i++) {
        const int n = snprintf(word, sizeof word, "%s%d", i ? ", " : "", ids->data[i]);
        sl_cli_write(word, (size_t)n);
    }
    sl_cli_write("]\n", 2);
}

bool sl_cli_flush(void)
{
    if (!stdout_errno && (fflush(stdout) || ferror(stdout)))
        stdout_errno = errno ? errno : EIO;
    return !stdout_errno;
}

sl_exit sl_cli_stdout_end(sl_exit code)
{
    if (sl_cli_flush())
        return code == SL_EXIT_FAILED && sl_cli_interrupted() ? SL_EXIT_INTERRUPTED : code;
    if (stdout_errno == EINTR && sl_cli_interrupted()) /* nobody is there to read the rest */
        return SL_EXIT_INTERRUPTED;
    fprintf(stderr, "sluice: standard output: %s\n", strerror(stdout_errno));
    return SL_EXIT_FAILED;
}

static int write_json(const char *bytes, size_t n, void *unused)
{
    (void)unused;
    return sl_cli_write(bytes, n) ? 0 : -1;
}

sl_exit sl_cli_print_json(json_t *value)
{
    if (!value)
        return sl_cli_failed("no memory for the answer");
    const int failed = json_dump_callback(value, write_json, NULL, JSON_REAL_PRECISION(10) | JSON_ENCODE_ANY);
    json_decref(value);
    if (failed && sl_cli_flush())
        return sl_cli_failed("no memory for the answer");
    sl_cli_write("\n", 1);
    return sl_cli_flush() ? SL_EXIT_OK : SL_EXIT_FAILED;
}

json_t *sl_cli_json_text(const char *text, size_t len)
{
    json_t *value = json_stringn(text ? text : "", len);
    sl_str clean = { 0 };
    for (size_t i = 0; !value && i < len; i++) {
        const bool ascii = (unsigned char)text[i] < 0x80;
        sl_str_append(&clean, ascii ? text + i : "\xef\xbf\xbd", ascii ? 1 : 3);
    }
    if (!value && !clean.failed)
        value = json_stringn(clean.data, clean.len);
    sl_str_fini(&clean);
    return value;
}

/* ---- stderr -------------------------------------------------------------------- */

static bool progress_shown;

bool sl_cli_progress_wanted(bool quiet)
{
    return !quiet && sl_screen_has_cursor(STDERR_FILENO);
}

void sl_cli_progress(const char *fmt, ...)
{
    char line[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    /* One column less than there are: a full line would be followed by another. */
    const size_t columns = sl_screen_columns(STDERR_FILENO);
    fprintf(stderr, "\r\033[K%.*s", (int)sl_screen_fit(line, strlen(line), columns ? columns - 1 : 0), line);
    progress_shown = true;
}

void sl_cli_progress_end(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = false;
}

double sl_cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- standard streams ----------------------------------------------------------- */

bool sl_cli_keep_standard_fds(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        /* Gets the lowest free number, so `fd`. Read-only for output, too: writes still fail. */
        if (open("/dev/null", O_RDONLY) != fd) {
            sl_cli_failed("/dev/null: %s", strerror(errno));
            return false;
        }
    }
    return true;
}

/* ---- input --------------------------------------------------------------------- */

#define INPUT_MAX ((size_t)1 << 30)

sl_status sl_cli_read_file(const char *path, sl_str *out, sl_err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    const char *name = is_stdin ? "standard input" : path;
    FILE *f = is_stdin ? stdin : fopen(path, "re");
    if (!f)
        return sl_fail(err, errno == ENOENT ? SL_ENOTFOUND : SL_EIO, "%s: %s", name, strerror(errno));
    sl_status rc = SL_OK;
    char block[1 << 14];
    size_t n;
    while (!out->failed && out->len <= INPUT_MAX && (n = fread(block, 1, sizeof block, f)) > 0)
        sl_str_append(out, block, n);
    if (out->len > INPUT_MAX)
        rc = sl_fail(err, SL_EUNSUPPORTED, "%s: more than 1 GiB, which is no text to read at once", name);
    else if (ferror(f))
        rc = sl_fail(err, SL_EIO, "%s: %s", name, sl_cli_interrupted() ? "interrupted" : strerror(errno));
    else if (out->failed)
        rc = sl_fail(err, SL_ENOMEM, "%s: no memory for its content", name);
    if (!is_stdin)
        fclose(f);
    return rc;
}

static size_t skip_space(const char *text, size_t len, size_t i)
{
    while (i < len && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r'))
        i++;
    return i;
}

static size_t word_length(const char *text, size_t len, size_t i)
{
    size_t n = 0;
    while (i + n < len && text[i + n] && !strchr(", \t\n\r[]", text[i + n]))
        n++;
    return SL_MAX(n, (size_t)1);
}

bool sl_cli_is_ids(const char *given)
{
    return strcmp(given, "-") != 0 && given[strspn(given, "0123456789,+-[] \t\r\n")] == '\0';
}

/* `what` is wrong at text[i]. */
static sl_status ids_wrong(const char *text, size_t len, size_t i, const char *what, sl_err *err)
{
    size_t line = 1, begin = 0;
    for (size_t k = 0; k < i; k++)
        if (text[k] == '\n') {
            line++;
            begin = k + 1;
        }
    if (i >= len)
        return sl_fail(err, SL_EINVAL, "line %zu, column %zu: %s", line, i - begin + 1, what);
    return sl_fail(err, SL_EINVAL, "line %zu, column %zu: \"%.*s\": %s", line, i - begin + 1,
                   (int)SL_MIN(word_length(text, len, i), (size_t)24), text + i, what);
}

/* The id at text[*i], which moves behind it. */
static sl_status read_id(const char *text, size_t len, size_t *i, sl_ids *out, sl_err *err)
{
    char word[24] = "";
    int64_t id = -1;
    const size_t n = word_length(text, len, *i);
    snprintf(word, sizeof word, "%.*s", (int)SL_MIN(n, sizeof word), text + *i);
    if (n >= sizeof word || word[strspn(word, "0123456789")] || !sl_read_int(word, &id) || id > INT32_MAX)
        return ids_wrong(text, len, *i, "no token id", err);
    *i += n;
    return sl_ids_push(out, (int32_t)id, err);
}

sl_status sl_cli_read_ids(const char *text, size_t len, sl_ids *out, sl_err *err)
{
    size_t i = skip_space(text, len, 0);
    const bool bracket = i < len && text[i] == '[';
    bool may_comma = false, must_id = false; /* no comma in front, behind another, or at the end */
    for (i = skip_space(text, len, i + bracket); i < len && text[i] != ']'; i = skip_space(text, len, i)) {
        if (text[i] == ',') {
            if (!may_comma)
                return ids_wrong(text, len, i, "an id expected in front of the comma", err);
            must_id = true;
            may_comma = false;
            i++;
            continue;
        }
        const sl_status rc = read_id(text, len, &i, out, err);
        if (rc)
            return rc;
        may_comma = true;
        must_id = false;
    }
    if (must_id)
        return ids_wrong(text, len, i, "an id expected behind the comma", err);
    if (bracket && i == len)
        return ids_wrong(text, len, i, "] expected at the end", err);
    i = skip_space(text, len, i + bracket);
    return i < len ? ids_wrong(text, len, i, "the ids have ended", err) : SL_OK;
}

const char *sl_cli_s(size_t n)
{
    return n == 1 ? "" : "s";
}
