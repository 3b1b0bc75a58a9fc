#include "formats/show.h"

#include <string.h>
#include "base/num.h"

const char *sl_show(char out[SL_SHOW_MAX], sl_bytes name)
{
    static const char more[] = "...";
    const size_t room = SL_SHOW_MAX - sizeof more, n = SL_MIN(name.len, room);
    for (size_t i = 0; i < n; i++)
        out[i] = name.data[i] >= ' ' && name.data[i] <= '~' ? name.data[i] : '?';
    memcpy(out + n, more, sizeof more);
    if (name.len <= room)
        out[n] = '\0';
    return out;
}
