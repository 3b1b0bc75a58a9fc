/* talk.c - stdout that may break, lines for people on stderr, files in, and Ctrl-C. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/cli.h"

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
        return code;
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
    return !quiet && isatty(STDERR_FILENO);
}

void sl_cli_progress(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("\r\033[K", stderr);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    progress_shown = true;
}

void sl_cli_progress_end(void)
{
    if (progress_shown)
        fputs("\r\033[K", stderr);
    progress_shown = false;
}

static sl_size_text scaled(double value, double step, const char *const *units)
{
    sl_size_text t;
    size_t i = 0;
    while (value >= step * 0.99995 && units[i + 1]) {
        value /= step;
        i++;
    }
    snprintf(t.text, sizeof t.text, "%.*f%s%s", i ? (value < 99.95 ? 1 : 0) : 0, value, *units[i] ? " " : "", units[i]);
    return t;
}

sl_size_text sl_cli_bytes(size_t bytes)
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", NULL };
    return scaled((double)bytes, 1024.0, units);
}

sl_size_text sl_cli_count(size_t n)
{
    static const char *const units[] = { "", "K", "M", "B", "T", NULL };
    return scaled((double)n, 1000.0, units);
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
        rc = sl_fail(err, SL_EIO, "%s: %s", name, strerror(errno));
    else if (out->failed)
        rc = sl_fail(err, SL_ENOMEM, "%s: no memory for its content", name);
    if (!is_stdin)
        fclose(f);
    return rc;
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '[' || c == ']';
}

bool sl_cli_is_ids(const char *given)
{
    return given[strspn(given, "0123456789,-[] \t\r\n")] == '\0';
}

sl_status sl_cli_read_ids(const char *text, size_t len, sl_ids *out, sl_err *err)
{
    for (size_t i = 0; i < len;) {
        if (is_separator(text[i])) {
            i++;
            continue;
        }
        char word[24];
        size_t n = 0;
        while (i + n < len && !is_separator(text[i + n]))
            n++;
        int64_t id = -1;
        snprintf(word, sizeof word, "%.*s", (int)SL_MIN(n, sizeof word), text + i);
        if (n >= sizeof word || memchr(text + i, 0, n) || !sl_read_int(word, &id) || id < 0 || id > INT32_MAX)
            return sl_fail(err, SL_EINVAL, "\"%s\" is no token id", word);
        const sl_status rc = sl_ids_push(out, (int32_t)id, err);
        if (rc)
            return rc;
        i += n;
    }
    return SL_OK;
}

/* ---- Ctrl-C -------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (interrupts++)
        _exit(SL_EXIT_INTERRUPTED);
}

void sl_cli_interrupt_catch(void)
{
    struct sigaction action = { .sa_handler = on_interrupt }; /* no SA_RESTART: reading a line ends, too */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool sl_cli_interrupted(void)
{
    return interrupts != 0;
}

void sl_cli_interrupt_clear(void)
{
    interrupts = 0;
}
