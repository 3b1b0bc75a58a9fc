/* reply_kimi.c - Kimi-K2's calls: functions.NAME:0<|tool_call_argument_begin|>{...}
 *
 * The header is the call's id, which the next prompt repeats, and holds the name. Source: the
 * checkpoint's tool_call_guidance.md and chat template. */
#include <string.h>

#include "chat/reply_in.h"

/* Bytes of ":0" at the end; 0: there is no number. */
static size_t number_len(sl_bytes s)
{
    size_t n = 0;
    while (n < s.len && s.data[s.len - 1 - n] >= '0' && s.data[s.len - 1 - n] <= '9')
        n++;
    return n && n < s.len && s.data[s.len - 1 - n] == ':' ? n + 1 : 0;
}

sl_header sl_kimi_header(sl_call *c, sl_bytes header)
{
    static const char kind[] = "functions.";
    const size_t n_kind = sizeof kind - 1, number = number_len(header);
    sl_bytes name = { header.data, header.len - number };
    if (name.len > n_kind && memcmp(name.data, kind, n_kind) == 0)
        name = (sl_bytes){ name.data + n_kind, name.len - n_kind };
    if (name.len == 0 || memchr(name.data, '\n', name.len))
        return SL_HEADER_BAD;
    sl_str_append(&c->name, name.data, name.len);
    if (number)
        sl_str_append(&c->id, header.data, header.len);
    return SL_HEADER_NAMED;
}
