/* append_in.h - how public calls end that append to a string of the caller. */
#ifndef SL_TEXT_APPEND_IN_H
#define SL_TEXT_APPEND_IN_H

#include "base/status.h"
#include "base/str.h"

/* SL_ENOMEM where an append failed; the string is then as it was, with `len` bytes. One that had failed before stays
 * so, and nothing can be appended to it. */
static inline sl_status sl_appended(sl_str *out, size_t len, bool had_failed, sl_err *err)
{
    if (!out->failed)
        return SL_OK;
    out->len = len;
    if (out->data)
        out->data[len] = '\0';
    out->failed = had_failed;
    return sl_fail(err, SL_ENOMEM, "no memory for a text");
}

#endif
