/* log.c - one message, one line, one write: lines of several threads do not mix. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int max_level = SL_LOG_WARN;

void sl_log_set_level(sl_log_level level)
{
    atomic_store_explicit(&max_level, (int)level, memory_order_relaxed);
}

void sl_log(sl_log_level level, const char *fmt, ...)
{
    static const char *const prefix[] = { "error: ", "warning: ", "", "debug: " };
    if ((int)level > atomic_load_explicit(&max_level, memory_order_relaxed))
        return;
    char line[1024];
    size_t n = strlen(prefix[level]);
    memcpy(line, prefix[level], n);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + n, sizeof line - 1 - n, fmt, args); /* keeps a byte for the newline */
    va_end(args);
    for (; line[n]; n++) /* names out of files may hold terminal sequences */
        if ((unsigned char)line[n] < 0x20 || line[n] == 0x7f)
            line[n] = ' ';
    line[n++] = '\n';
    fwrite(line, 1, n, stderr); /* stderr is unbuffered, so this is one write */
}
