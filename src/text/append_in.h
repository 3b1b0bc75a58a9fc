/* append_in.h - how public calls end that append to a string of the caller. */
#ifndef SL_TEXT_APPEND_IN_H
#define SL_TEXT_APPEND_IN_H

#include "base/status.h"
#include "base/str.h"

/* The string as it was before a call: *before is a copy from then, whose memory may have moved since. */
static inline void sl_append_undo(sl_str *out, const sl_str *before)
{
    out->len = before->len;
    if (out->data)
        out->data[out->len] = '\0';
    out->failed = before->failed;
}

/* SL_ENOMEM where an append failed; the string is then as it was. To one that had failed before nothing is appended. */
static inline sl_status sl_appended(sl_str *out, const sl_str *before, sl_err *err)
{
    if (!out->failed)
        return SL_OK;
    sl_append_undo(out, before);
    return sl_fail(err, SL_ENOMEM, "no memory for a text");
}

#endif
