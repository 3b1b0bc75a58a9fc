/* norm_charsmap.c - the two ways in which SentencePiece's table is applied.
 * Sources: `tokenizers` normalizers/precompiled.rs; sentencepiece normalizer.cc. */
#include <string.h>
#include <utf8proc.h>

#include "tokenizer/chars.h"
#include "tokenizer/normalize_in.h"
#include "tokenizer/utf8.h"

#define GRAPHEME_MOST 6              /* bytes; longer ones go character by character */
#define ACUTE         0x301          /* a mark that joins what is before it */
#define SPACE_MARK    "\xe2\x96\x81" /* U+2581 */

/* The end of the grapheme (Unicode Standard Annex 29, extended) that begins at `at`. */
static size_t grapheme_end(sl_bytes in, size_t at)
{
    utf8proc_int32_t state = 0;
    unsigned bytes = 1;
    uint32_t before = sl_utf8_decode(in.data + at, &bytes);
    for (at += bytes; at < in.len; at += bytes) {
        const unsigned char next = (unsigned char)in.data[at];
        if (before < 0x80 && next < 0x80 && next != '\n')
            return at;
        uint32_t c = sl_utf8_decode(in.data + at, &bytes);
        if (sl_char_extends_newly(c))
            c = ACUTE;
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)c, &state))
            return at;
        before = c;
    }
    return in.len;
}

void sl_norm_charsmap(const sl_charsmap *m, sl_bytes in, sl_str *out)
{
    sl_bytes to = { 0 };
    size_t part = 0;
    for (size_t at = 0; at < in.len;) {
        const size_t end = grapheme_end(in, at);
        if (end - at < GRAPHEME_MOST && sl_charsmap_find(m, false, in.data + at, end - at, &part, &to)) {
            sl_str_append(out, to.data, to.len);
            at = end;
            continue;
        }
        while (at < end) {
            const size_t bytes = sl_utf8_length((unsigned char)in.data[at]);
            const bool found = sl_charsmap_find(m, false, in.data + at, bytes, &part, &to);
            sl_str_append(out, found ? to.data : in.data + at, found ? to.len : bytes);
            at += bytes;
        }
    }
}

/* What the text begins with, and what that becomes. */
static sl_bytes next_part(const sl_charsmap *m, const sl_trie *user, const char *text, size_t n, size_t *len)
{
    sl_bytes to = { 0 };
    if (user->n > 0 && sl_trie_longest(user, text, n, len) >= 0)
        return (sl_bytes){ text, *len };
    if (sl_charsmap_find(m, true, text, n, len, &to))
        return to;
    *len = sl_utf8_length((unsigned char)text[0]);
    return (sl_bytes){ text, *len };
}

static void append_part(bool escape, sl_bytes part, sl_str *out)
{
    while (escape && part.len > 0) {
        const char *space = memchr(part.data, ' ', part.len);
        const size_t n = space ? (size_t)(space - part.data) : part.len;
        sl_str_append(out, part.data, n);
        if (space)
            sl_str_append(out, SPACE_MARK, 3);
        part.data += n + (space != NULL);
        part.len -= n + (space != NULL);
    }
    sl_str_append(out, part.data, part.len);
}

static void drop_spaces_behind(const char *space, size_t n, size_t least, sl_str *out)
{
    while (out->len >= least + n && memcmp(out->data + out->len - n, space, n) == 0)
        out->len -= n;
}

void sl_norm_sentencepiece(const sl_norm_step *s, const sl_charsmap *m, const sl_trie *user, sl_bytes in, bool inside,
                           sl_str *out)
{
    size_t at = 0, n = 0;
    const size_t n_before = out->len;
    const char *space = s->escape_spaces ? SPACE_MARK : " ";
    const size_t n_space = strlen(space);
    while (s->remove_extra && !inside && at < in.len) {
        const sl_bytes part = next_part(m, user, in.data + at, in.len - at, &n);
        if (part.len != 1 || part.data[0] != ' ')
            break;
        at += n;
    }
    if (at == in.len)
        return;
    if (!s->space_suffix && s->dummy_prefix && !inside)
        sl_str_append(out, space, n_space);
    for (bool after_space = s->remove_extra; at < in.len; at += n) {
        sl_bytes part = next_part(m, user, in.data + at, in.len - at, &n);
        for (; after_space && part.len > 0 && part.data[0] == ' '; part.len--)
            part.data++;
        append_part(s->escape_spaces, part, out);
        if (part.len > 0)
            after_space = s->remove_extra && part.data[part.len - 1] == ' ';
    }
    if (s->remove_extra)
        drop_spaces_behind(space, n_space, n_before, out);
    if (s->space_suffix && s->dummy_prefix)
        sl_str_append(out, space, n_space);
}
