/* lexicon.c - tokens as bytes in one block, and a hash table of ids over them. */
#include "tokenizer/lexicon.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/utf8.h"

/* GPT-2's byte alphabet (openai/gpt-2, encoder.py): bytes that print stand for themselves, the
 * others, in order, are U+0100 and up. So a character is a byte or below U+0144. */
static bool byte_prints(unsigned b)
{
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
}

/* The 68 bytes that do not print, in order: 00..20, 7f..a0, ad. */
static int byte_of_character(uint32_t c)
{
    if (c < 0x100)
        return byte_prints(c) ? (int)c : -1;
    const uint32_t nth = c - 0x100;
    return nth < 33 ? (int)nth : nth < 67 ? (int)(nth - 33 + 0x7f) : nth == 67 ? 0xad : -1;
}

typedef enum spelling { BYTES, ALPHABET } spelling;

/* The next byte that s means; false: s is not in the byte alphabet at that place. */
static bool next_byte(const char *s, size_t len, spelling how, size_t *at, unsigned char *byte)
{
    if (how == BYTES) {
        *byte = (unsigned char)s[(*at)++];
        return true;
    }
    const unsigned char lead = (unsigned char)s[*at];
    unsigned n = sl_utf8_length(lead);
    if (n == 0 || n > 2 || n > len - *at || (n == 2 && !sl_utf8_follows(lead, 1, (unsigned char)s[*at + 1])))
        return false;
    const int b = byte_of_character(sl_utf8_decode(s + *at, &n));
    *at += n;
    *byte = (unsigned char)b;
    return b >= 0;
}

/* FNV-1a of what s means, and its length; false: s is not in the byte alphabet. */
static bool hash_text(const char *s, size_t len, spelling how, uint64_t *hash, size_t *n_bytes)
{
    uint64_t h = 0xcbf29ce484222325u;
    size_t n = 0;
    unsigned char b = 0;
    for (size_t at = 0; at < len; n++) {
        if (!next_byte(s, len, how, &at, &b))
            return false;
        h = (h ^ b) * 0x100000001b3u;
    }
    *hash = h ^ h >> 32;
    *n_bytes = n;
    return true;
}

/* The slot that holds this text, or the free one where it belongs. */
static uint32_t *find_slot(const sl_lexicon *x, const char *s, size_t len, spelling how, bool verbatim, uint64_t hash,
                           size_t n_bytes)
{
    for (size_t i = hash & x->mask;; i = (i + 1) & x->mask) {
        if (x->slot[i] == 0)
            return &x->slot[i];
        const size_t id = x->slot[i] - 1;
        const sl_bytes have = sl_lexicon_bytes(x, id);
        if (have.len != n_bytes || ((x->kind[id] & SL_LEXICON_VERBATIM) != 0) != verbatim)
            continue;
        size_t k = 0;
        unsigned char b = 0;
        for (size_t at = 0; k < n_bytes && next_byte(s, len, how, &at, &b) && b == (unsigned char)have.data[k];)
            k++;
        if (k == n_bytes)
            return &x->slot[i];
    }
}

static int32_t find(const sl_lexicon *x, const char *s, size_t len, spelling how, bool verbatim)
{
    uint64_t hash = 0;
    size_t n_bytes = 0;
    if (!hash_text(s, len, how, &hash, &n_bytes))
        return -1;
    return (int32_t)(*find_slot(x, s, len, how, verbatim, hash, n_bytes)) - 1;
}

int32_t sl_lexicon_find(const sl_lexicon *x, const char *stored, size_t len)
{
    const int32_t id = find(x, stored, len, ALPHABET, false);
    return id >= 0 ? id : find(x, stored, len, BYTES, true);
}

int32_t sl_lexicon_find_bytes(const sl_lexicon *x, const char *bytes, size_t len)
{
    return find(x, bytes, len, BYTES, false);
}

int32_t sl_lexicon_find_byte(const sl_lexicon *x, unsigned char byte)
{
    return find(x, (const char *)&byte, 1, BYTES, false);
}

/* A normal token with a character from outside the alphabet means its own UTF-8, as in the
 * reference. */
static bool is_verbatim(sl_bytes stored, sl_token_kind kind)
{
    uint64_t hash = 0;
    size_t n = 0;
    if (kind == SL_TOKEN_CONTROL || kind == SL_TOKEN_USER || kind == SL_TOKEN_UNKNOWN)
        return true;
    return !hash_text(stored.data, stored.len, ALPHABET, &hash, &n);
}

static void add(sl_lexicon *x, size_t id, sl_bytes stored, sl_token_kind kind)
{
    const bool verbatim = is_verbatim(stored, kind);
    x->kind[id] = (uint8_t)(kind | (verbatim ? SL_LEXICON_VERBATIM : 0));
    uint32_t end = x->offset[id];
    unsigned char b = 0;
    for (size_t at = 0; at < stored.len && next_byte(stored.data, stored.len, verbatim ? BYTES : ALPHABET, &at, &b);)
        x->text[end++] = (char)b;
    x->offset[id + 1] = end;

    const sl_bytes own = sl_lexicon_bytes(x, id);
    uint64_t hash = 0;
    size_t n_bytes = 0;
    hash_text(own.data, own.len, BYTES, &hash, &n_bytes);
    uint32_t *slot = find_slot(x, own.data, own.len, BYTES, verbatim, hash, n_bytes);
    if (*slot == 0)
        *slot = (uint32_t)id + 1;
}

/* Bytes of all tokens: what the alphabet spells in two bytes means one. */
static bool text_size(const sl_vocab *v, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < v->n_tokens; i++) {
        if (!sl_add_ok(*bytes, v->tokens[i].len, bytes))
            return false;
        const bool verbatim = is_verbatim(v->tokens[i], v->kinds[i]);
        for (size_t k = 0; !verbatim && k < v->tokens[i].len; k++)
            *bytes -= ((unsigned char)v->tokens[i].data[k] & 0xc0) == 0x80;
    }
    return *bytes <= UINT32_MAX;
}

sl_status sl_lexicon_init(sl_lexicon *x, const sl_vocab *v, sl_err *err)
{
    *x = (sl_lexicon){ 0 };
    size_t bytes = 0;
    if (v->n_tokens > INT32_MAX - 1 || !text_size(v, &bytes))
        return sl_fail(err, SL_EFORMAT, "vocabulary of %zu tokens is too large", v->n_tokens);
    size_t n_slots = 16;
    while (n_slots < v->n_tokens + v->n_tokens / 2)
        n_slots *= 2;
    x->text = sl_mem_alloc(bytes);
    x->offset = sl_mem_zalloc(v->n_tokens + 1, sizeof *x->offset);
    x->kind = sl_mem_alloc(v->n_tokens);
    x->slot = sl_mem_zalloc(n_slots, sizeof *x->slot);
    if (!x->text || !x->offset || !x->kind || !x->slot) {
        sl_lexicon_fini(x);
        return sl_fail(err, SL_ENOMEM, "a vocabulary of %zu tokens", v->n_tokens);
    }
    x->n = v->n_tokens;
    x->mask = n_slots - 1;
    for (size_t i = 0; i < v->n_tokens; i++)
        add(x, i, v->tokens[i], v->kinds[i]);
    return SL_OK;
}

void sl_lexicon_fini(sl_lexicon *x)
{
    sl_mem_free(x->text);
    sl_mem_free(x->offset);
    sl_mem_free(x->kind);
    sl_mem_free(x->slot);
    *x = (sl_lexicon){ 0 };
}
