#include "cli/line_in.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"

sl_line *sl_line_create(const sl_line_options *o)
{
    sl_line *l = sl_mem_zalloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->o = *o;
    l->editor = sl_editor_create(&l->o);
    return l;
}

void sl_line_destroy(sl_line *l)
{
    if (!l)
        return;
    sl_editor_destroy(l->editor);
    sl_str_fini(&l->typed);
    sl_mem_free(l);
}

sl_wait sl_line_wait(void)
{
    struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = sl_signals_fd(), .events = POLLIN } };
    while (poll(p, 2, -1) < 0 && errno == EINTR) {
    }
    return p[1].revents ? SL_WAIT_SIGNAL : SL_WAIT_INPUT;
}

/* ---- plain lines ------------------------------------------------------------------- */

/* The first line of what was read, or all of it when no more comes. */
static bool give_line(sl_line *l, sl_str *out)
{
    const char *newline = l->typed.len ? memchr(l->typed.data, '\n', l->typed.len) : NULL;
    if (!newline && !(l->ended && l->typed.len))
        return false;
    const size_t n = newline ? (size_t)(newline - l->typed.data) : l->typed.len;
    const size_t used = n + (newline != NULL);
    sl_str_append(out, l->typed.data, n);
    memmove(l->typed.data, l->typed.data + used, l->typed.len - used + 1); /* with its NUL */
    l->typed.len -= used;
    return true;
}

static sl_line_end read_plain(sl_line *l, const char *prompt, sl_str *out)
{
    char block[4096];
    FILE *screen = !isatty(STDERR_FILENO) && isatty(STDOUT_FILENO) ? stdout : stderr;
    fputs(prompt, screen);
    fflush(screen);
    while (!give_line(l, out)) {
        if (l->ended) {
            fputc('\n', screen);
            return SL_LINE_END;
        }
        if (sl_line_wait() == SL_WAIT_SIGNAL) {
            const sl_signals_seen seen = sl_signals_take();
            if (seen.end || seen.interrupt)
                fputc('\n', screen);
            if (seen.end)
                return SL_LINE_END;
            if (seen.interrupt)
                return SL_LINE_CANCEL; /* the terminal has dropped its line */
            continue;
        }
        const ssize_t n = read(STDIN_FILENO, block, sizeof block);
        if (n > 0)
            sl_str_append(&l->typed, block, (size_t)n);
        else
            l->ended = n == 0 || errno != EINTR;
    }
    return l->typed.failed || out->failed ? SL_LINE_FAILED : SL_LINE_TEXT;
}

/* ---- both --------------------------------------------------------------------------- */

sl_line_end sl_line_read(sl_line *l, const char *prompt, const char *begin, sl_str *out)
{
    sl_str_clear(out);
    fflush(stdout);
    if (sl_signals_take().end) /* what else came meant what was before */
        return SL_LINE_END;
    return l->editor ? sl_editor_read(l->editor, prompt, begin, out) : read_plain(l, prompt, out);
}

void sl_line_remember(sl_line *l, const char *text)
{
    if (l->editor)
        sl_editor_remember(l->editor, text);
}
