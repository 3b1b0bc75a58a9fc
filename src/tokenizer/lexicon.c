/* lexicon.c - tokens as bytes in one block, and a hash table of ids over them. */
#include "tokenizer/lexicon.h"

#include <assert.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/utf8.h"

#define VERBATIM_SALT 0x5555555500000000u /* in their hash: looking for text never compares with them */

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

size_t sl_alphabet_bytes(const char *stored, size_t len, char *out)
{
    size_t n = 0;
    for (size_t at = 0; at < len; n++) {
        const unsigned char lead = (unsigned char)stored[at];
        if (lead > 0x20 && lead < 0x7f) {
            out[n] = stored[at++];
            continue;
        }
        unsigned bytes = sl_utf8_length(lead);
        if (bytes == 0 || bytes > 2 || bytes > len - at ||
            (bytes == 2 && !sl_utf8_follows(lead, 1, (unsigned char)stored[at + 1])))
            return SIZE_MAX;
        const int b = byte_of_character(sl_utf8_decode(stored + at, &bytes));
        if (b < 0)
            return SIZE_MAX;
        out[n] = (char)b;
        at += bytes;
    }
    return n;
}

/* The slot that holds this text, or the free one where it belongs. */
static sl_lexicon_slot *find_slot(const sl_lexicon *x, const char *s, size_t len, bool verbatim, uint64_t hash)
{
    for (size_t i = hash & x->mask;; i = (i + 1) & x->mask) {
        sl_lexicon_slot *slot = &x->slot[i];
        if (slot->id1 == 0)
            return slot;
        if (slot->hash != (uint32_t)(hash >> 32))
            continue;
        const size_t id = slot->id1 - 1;
        const sl_bytes have = sl_lexicon_bytes(x, id);
        if (have.len == len && ((x->kind[id] & SL_LEXICON_VERBATIM) != 0) == verbatim && memcmp(have.data, s, len) == 0)
            return slot;
    }
}

static int32_t find(const sl_lexicon *x, const char *s, size_t len, bool verbatim)
{
    const uint64_t hash = sl_text_hash(s, len) ^ (verbatim ? VERBATIM_SALT : 0);
    return (int32_t)find_slot(x, s, len, verbatim, hash)->id1 - 1;
}

int32_t sl_lexicon_find_bytes(const sl_lexicon *x, const char *bytes, size_t len)
{
    return len > x->longest || len == 0 ? -1 : find(x, bytes, len, false);
}

int32_t sl_lexicon_find(const sl_lexicon *x, const char *stored, size_t len)
{
    char room[1024]; /* longer texts are compared one by one: no real vocabulary has such */
    int32_t id = -1;
    if (len == 0)
        return -1;
    if (x->how != SL_TEXT_ALPHABET) {
        id = sl_lexicon_find_bytes(x, stored, len);
    } else if (len <= sizeof room) {
        const size_t n = sl_alphabet_bytes(stored, len, room);
        if (n != SIZE_MAX)
            id = sl_lexicon_find_bytes(x, room, n);
    } else {
        char *bytes = sl_mem_alloc(len);
        const size_t n = bytes ? sl_alphabet_bytes(stored, len, bytes) : SIZE_MAX;
        if (n != SIZE_MAX)
            id = sl_lexicon_find_bytes(x, bytes, n);
        sl_mem_free(bytes);
    }
    return id >= 0 ? id : find(x, stored, len, true);
}

/* Does no model make this token from text? A normal token with a character from outside the
 * byte alphabet means its own UTF-8, as in the reference. Tokens of a user are part of a model of
 * the `tokenizers` library only as far as its own vocabulary goes, n_model. */
static bool is_verbatim(const sl_vocab *v, sl_token_kind kind, size_t id, size_t n_model)
{
    const bool sentencepiece = v->model == SL_MODEL_SCORES || (v->model == SL_MODEL_UNIGRAM && !v->double_scores);
    switch (kind) {
    case SL_TOKEN_CONTROL: /* the unknown one's name is made from text all the same, as in the reference */
        return v->model != SL_MODEL_UNIGRAM || sentencepiece || v->unk < 0 || id != (size_t)v->unk;
    case SL_TOKEN_UNKNOWN:
        return sentencepiece || v->text != SL_TEXT_CHARS;
    case SL_TOKEN_USER:
        return !sentencepiece && (v->text != SL_TEXT_CHARS || id >= n_model);
    case SL_TOKEN_BYTE:
        return sentencepiece;
    case SL_TOKEN_UNUSED: /* SCORES passes through it on the way to others */
        return v->text != SL_TEXT_ALPHABET && v->model != SL_MODEL_SCORES;
    default:
        return false;
    }
}

static size_t model_size(const sl_vocab *v)
{
    size_t n = v->n_tokens;
    while (n > 0 && v->kinds && (v->kinds[n - 1] == SL_TOKEN_CONTROL || v->kinds[n - 1] == SL_TOKEN_USER))
        n--;
    return n;
}

static void add(sl_lexicon *x, const sl_vocab *v, size_t id, size_t n_model)
{
    const sl_bytes stored = v->tokens[id];
    const uint32_t start = x->offset[id];
    const sl_token_kind kind = v->kinds ? (sl_token_kind)v->kinds[id] : SL_TOKEN_NORMAL;
    bool verbatim = is_verbatim(v, kind, id, n_model);
    size_t len = stored.len;
    if (!verbatim && x->how == SL_TEXT_ALPHABET) {
        len = sl_alphabet_bytes(stored.data, stored.len, x->text + start);
        verbatim = len == SIZE_MAX;
    }
    if (verbatim || x->how != SL_TEXT_ALPHABET) {
        len = stored.len;
        if (len > 0)
            memcpy(x->text + start, stored.data, len);
    }
    x->kind[id] = (uint8_t)(kind | (verbatim ? SL_LEXICON_VERBATIM : 0) |
                            (kind == SL_TOKEN_CONTROL || kind == SL_TOKEN_UNKNOWN ? SL_LEXICON_HIDDEN : 0));
    x->offset[id + 1] = start + (uint32_t)len;
    if (len == 0)
        return; /* an id without a name */
    if (!verbatim)
        x->longest = SL_MAX(x->longest, len);
    const uint64_t hash = sl_text_hash(x->text + start, len) ^ (verbatim ? VERBATIM_SALT : 0);
    sl_lexicon_slot *slot = find_slot(x, x->text + start, len, verbatim, hash);
    if (slot->id1 == 0)
        *slot = (sl_lexicon_slot){ (uint32_t)(hash >> 32), (uint32_t)id + 1 };
}

sl_status sl_lexicon_init(sl_lexicon *x, const sl_vocab *v, sl_err *err)
{
    *x = (sl_lexicon){ .how = v->text };
    size_t bytes = 0; /* no token grows when its alphabet is read */
    for (size_t i = 0; i < v->n_tokens && bytes <= UINT32_MAX; i++)
        if (!sl_add_ok(bytes, v->tokens[i].len, &bytes))
            bytes = SIZE_MAX;
    if (v->n_tokens > INT32_MAX - 1 || bytes > UINT32_MAX)
        return sl_fail(err, SL_EFORMAT, "vocabulary of %zu tokens is too large", v->n_tokens);
    size_t n_slots = 16;
    while (n_slots < v->n_tokens + v->n_tokens / 4)
        n_slots *= 2;
    x->text = sl_mem_alloc(bytes);
    x->offset = sl_mem_zalloc(v->n_tokens + 1, sizeof *x->offset);
    x->kind = sl_mem_alloc(v->n_tokens);
    x->slot = sl_mem_zalloc(n_slots, sizeof *x->slot);
    if (!x->text || !x->offset || !x->kind || !x->slot) {
        sl_lexicon_fini(x);
        return sl_fail(err, SL_ENOMEM, "no memory for a vocabulary of %zu tokens", v->n_tokens);
    }
    x->n = v->n_tokens;
    x->mask = n_slots - 1;
    const size_t n_model = model_size(v);
    for (size_t i = 0; i < v->n_tokens; i++)
        add(x, v, i, n_model);
    /* What the alphabet spells in two bytes means one: give back the rest. */
    char *fitting = sl_mem_alloc(x->offset[x->n]);
    if (fitting && x->offset[x->n] < bytes - bytes / 16) {
        memcpy(fitting, x->text, x->offset[x->n]);
        sl_mem_free(x->text);
        x->text = fitting;
    } else {
        sl_mem_free(fitting); /* no memory for that is no failure */
    }
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
