/* reply_deepseek.c - DeepSeek's calls, as the chat templates of the checkpoints write them.
 *
 *   V3, R1   function<｜tool▁sep｜>NAME\n```json\n{...}\n```
 *   V3.1     NAME<｜tool▁sep｜>{...}
 *
 * The model gives no ids. */
#include <string.h>

#include "chat/reply_in.h"

sl_header sl_deepseek_header(sl_call *c, sl_bytes header)
{
    if (header.len == 0 || memchr(header.data, '\n', header.len))
        return SL_HEADER_BAD;
    sl_str_append(&c->name, header.data, header.len);
    const bool type = header.len == 8 && memcmp(header.data, "function", 8) == 0;
    return type ? SL_HEADER_OPEN : SL_HEADER_NAMED;
}
