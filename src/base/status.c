/* status.c - names and texts of the codes, and the two ways to fill an error. */
#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *sl_status_name(sl_status code)
{
    switch (code) {
#define STATUS_NAME(name, value, text)                                                                                 \
    case name:                                                                                                         \
        return #name;
        SL_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    }
    return "SL_E?";
}

const char *sl_status_text(sl_status code)
{
    switch (code) {
#define STATUS_TEXT(name, value, text)                                                                                 \
    case name:                                                                                                         \
        return text;
        SL_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "an error without a name";
}

/* Names out of files land in messages, and messages on terminals and in logs of one line each:
 * no control characters, and no half of a UTF-8 sequence where the buffer cut it. */
static void make_one_line(char *msg, bool cut)
{
    size_t n = 0;
    for (; msg[n]; n++)
        if ((unsigned char)msg[n] < 0x20 || msg[n] == 0x7f)
            msg[n] = ' ';
    if (!cut)
        return;
    size_t lead = n;
    while (lead > 0 && n - lead < 4 && ((unsigned char)msg[lead - 1] & 0xc0) == 0x80)
        lead--;
    if (lead > 0 && ((unsigned char)msg[lead - 1] & 0xc0) == 0xc0) {
        const unsigned char c = (unsigned char)msg[lead - 1];
        const size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
        if (n - (lead - 1) < want)
            msg[lead - 1] = '\0';
    }
}

/* Formats into a buffer of its own, since the arguments may point into err->msg. */
static bool format_message(char *buf, size_t size, const char *fmt, va_list args)
{
    const int n = vsnprintf(buf, size, fmt, args);
    if (n < 0) /* a wide character that the locale lacks: say at least what was tried */
        snprintf(buf, size, "%s", fmt);
    return n < 0 || (size_t)n >= size;
}

sl_status sl_fail(sl_err *err, sl_status code, const char *fmt, ...)
{
    if (!err)
        return code;
    char buf[sizeof err->msg];
    va_list args;
    va_start(args, fmt);
    const bool cut = format_message(buf, sizeof buf, fmt, args);
    va_end(args);
    make_one_line(buf, cut);
    memcpy(err->msg, buf, sizeof buf);
    err->code = code;
    return code;
}

sl_status sl_fail_in(sl_err *err, sl_status code, const char *fmt, ...)
{
    if (!err)
        return code;
    char buf[sizeof err->msg];
    va_list args;
    va_start(args, fmt);
    bool cut = format_message(buf, sizeof buf, fmt, args);
    va_end(args);
    const size_t used = strlen(buf);
    const int n = snprintf(buf + used, sizeof buf - used, ": %s", err->msg);
    cut |= n < 0 || (size_t)n >= sizeof buf - used;
    make_one_line(buf, cut);
    memcpy(err->msg, buf, sizeof buf);
    err->code = code;
    return code;
}
