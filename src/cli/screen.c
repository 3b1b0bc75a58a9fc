#include "cli/screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

bool sl_screen_has_cursor(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool sl_screen_has_colours(int fd)
{
    const char *no = getenv("NO_COLOR");
    return sl_screen_has_cursor(fd) && !(no && *no);
}

size_t sl_screen_columns(int fd)
{
    struct winsize w = { 0 };
    return ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80;
}

/* The character at text[0]; what is no UTF-8 is one byte of it. Returns its length. */
static size_t next_char(const char *text, size_t len, utf8proc_int32_t *c)
{
    const utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)len, c);
    if (n > 0)
        return (size_t)n;
    *c = 0xFFFD;
    return 1;
}

static bool is_control(utf8proc_int32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

size_t sl_screen_fit(const char *text, size_t len, size_t columns)
{
    size_t at = 0, used = 0;
    while (at < len) {
        utf8proc_int32_t c = 0;
        const size_t n = next_char(text + at, len - at, &c);
        used += is_control(c) ? 1 : (size_t)utf8proc_charwidth(c);
        if (used > columns)
            break;
        at += n;
    }
    return at;
}

void sl_screen_safe(const char *text, size_t len, sl_str *out)
{
    for (size_t at = 0; at < len;) {
        utf8proc_int32_t c = 0;
        const size_t n = next_char(text + at, len - at, &c);
        if (c == 0xFFFD || (is_control(c) && c != '\n' && c != '\t'))
            sl_str_puts(out, "\xef\xbf\xbd");
        else
            sl_str_append(out, text + at, n);
        at += n;
    }
}

void sl_screen_note(const char *fmt, ...)
{
    char line[512];
    va_list ap;
    const bool dim = sl_screen_has_colours(STDERR_FILENO);
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    size_t len = strlen(line);
    if (isatty(STDERR_FILENO))
        len = sl_screen_fit(line, len, sl_screen_columns(STDERR_FILENO));
    fflush(stdout); /* what was said before it stands before it */
    fprintf(stderr, "%s%.*s%s\n", dim ? SL_DIM : "", (int)len, line, dim ? SL_PLAIN : "");
}
