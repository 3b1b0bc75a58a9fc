/* charsmap.c - a walk through a double array, bounds checked at each step. */
#include "tokenizer/charsmap.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/utf8.h"

sl_status sl_charsmap_init(sl_charsmap *m, sl_bytes blob, sl_err *err)
{
    *m = (sl_charsmap){ 0 };
    if (blob.len == 0)
        return SL_OK;
    const size_t bytes = blob.len < 4 ? 0 : sl_load_le32(blob.data);
    if (blob.len < 4 || bytes > blob.len - 4 || bytes % 4 != 0)
        return sl_fail(err, SL_EFORMAT, "precompiled_charsmap: %zu bytes, with a table of %zu", blob.len, bytes);
    m->n_units = bytes / 4;
    m->n_strings = blob.len - 4 - bytes + 1;
    m->unit = sl_mem_alloc(bytes);
    m->strings = sl_mem_alloc(m->n_strings);
    if (!m->unit || !m->strings) {
        sl_charsmap_fini(m);
        return sl_fail(err, SL_ENOMEM, "precompiled_charsmap: no memory for %zu bytes", blob.len);
    }
    for (size_t i = 0; i < m->n_units; i++)
        m->unit[i] = sl_load_le32(blob.data + 4 + 4 * i);
    memcpy(m->strings, blob.data + 4 + bytes, m->n_strings - 1);
    m->strings[m->n_strings - 1] = '\0';
    size_t n_chars = 0;
    if (sl_utf8_valid(m->strings, m->n_strings, &n_chars) == m->n_strings)
        return SL_OK;
    sl_charsmap_fini(m);
    return sl_fail(err, SL_EFORMAT, "precompiled_charsmap: its strings are not UTF-8");
}

void sl_charsmap_fini(sl_charsmap *m)
{
    sl_mem_free(m->unit);
    sl_mem_free(m->strings);
    *m = (sl_charsmap){ 0 };
}

static uint32_t offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & 0x200u) >> 6);
}

bool sl_charsmap_find(const sl_charsmap *m, bool longest, const char *text, size_t n, size_t *len, sl_bytes *out)
{
    bool found = false;
    if (m->n_units == 0)
        return false;
    for (size_t i = 0, at = offset_of(m->unit[0]); i < n && !(found && !longest); i++) {
        const unsigned char c = (unsigned char)text[i];
        at ^= c;
        if (at >= m->n_units || (m->unit[at] & 0x800000ffu) != c)
            break;
        const bool leaf = m->unit[at] >> 8 & 1;
        at ^= offset_of(m->unit[at]);
        if (!leaf || at >= m->n_units)
            continue;
        const size_t place = m->unit[at] & 0x7fffffffu;
        const bool ends_char = i + 1 == n || ((unsigned char)text[i + 1] & 0xc0) != 0x80;
        if (!ends_char || place >= m->n_strings || ((unsigned char)m->strings[place] & 0xc0) == 0x80)
            continue;
        found = true;
        *len = i + 1;
        *out = (sl_bytes){ m->strings + place, strlen(m->strings + place) };
    }
    return found;
}
