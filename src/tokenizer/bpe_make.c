/* bpe_make.c - the tables of BPE from a vocabulary. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/bpe_in.h"
#include "tokenizer/seam.h"
#include "tokenizer/utf8.h"

/* --- bytes ------------------------------------------------------------------------------- */

/* Bytes without a token are left out of a text later; a byte-level vocabulary with none at all
 * is of another kind. */
static sl_status find_bytes(sl_bpe *b, sl_err *err)
{
    size_t found = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8] = { (char)byte };
        if (b->chars)
            snprintf(name, sizeof name, "<0x%02X>", byte);
        b->byte_id[byte] = b->chars ? sl_lexicon_find(b->lexicon, name, 6) : sl_lexicon_find_bytes(b->lexicon, name, 1);
        found += b->byte_id[byte] >= 0;
    }
    if (found == 0 && !b->chars)
        return sl_fail(err, SL_EFORMAT, "vocabulary: no token stands for a single byte");
    return SL_OK;
}

/* --- merges ------------------------------------------------------------------------------ */

typedef struct spelled {
    char *text; /* left and right as bytes, one behind the other */
    size_t room;
} spelled;

static bool make_room(spelled *s, size_t bytes)
{
    if (bytes <= s->room)
        return true;
    sl_mem_free(s->text);
    s->text = sl_mem_alloc(bytes * 2);
    s->room = s->text ? bytes * 2 : 0;
    return s->text;
}

/* Parts outside the byte alphabet are looked for as they are written. */
static void find_written(const sl_bpe *b, const struct sl_vocab_merge *m, spelled *s, sl_merge *out)
{
    memcpy(s->text, m->left.data, m->left.len);
    memcpy(s->text + m->left.len, m->right.data, m->right.len);
    if (out->left < 0)
        out->left = sl_lexicon_find(b->lexicon, m->left.data, m->left.len);
    if (out->right < 0)
        out->right = sl_lexicon_find(b->lexicon, m->right.data, m->right.len);
    if (out->joined < 0)
        out->joined = sl_lexicon_find(b->lexicon, s->text, m->left.len + m->right.len);
}

static sl_status find_merge(const sl_bpe *b, const struct sl_vocab_merge *m, size_t number, spelled *s, sl_merge *out,
                            sl_err *err)
{
    const sl_lexicon *x = b->lexicon;
    size_t bytes = 0;
    if (!sl_add_ok(m->left.len, m->right.len, &bytes) || !make_room(s, bytes))
        return sl_fail(err, SL_ENOMEM, "vocabulary: no memory for merge %zu", number);
    size_t n_left = m->left.len, n_right = m->right.len;
    *out = (sl_merge){ -1, -1, -1, (uint32_t)number };
    if (x->how == SL_TEXT_ALPHABET) {
        n_left = sl_alphabet_bytes(m->left.data, m->left.len, s->text);
        n_right = n_left == SIZE_MAX ? SIZE_MAX : sl_alphabet_bytes(m->right.data, m->right.len, s->text + n_left);
    } else {
        memcpy(s->text, m->left.data, n_left);
        memcpy(s->text + n_left, m->right.data, n_right);
    }
    if (n_right != SIZE_MAX) {
        out->left = sl_lexicon_find_bytes(x, s->text, n_left);
        out->right = sl_lexicon_find_bytes(x, s->text + n_left, n_right);
        out->joined = sl_lexicon_find_bytes(x, s->text, n_left + n_right);
    }
    if (out->left < 0 || out->right < 0 || out->joined < 0)
        find_written(b, m, s, out);
    if (out->left < 0 || out->right < 0 || out->joined < 0)
        return sl_fail(err, SL_EFORMAT, "vocabulary: merge %zu \"%.*s %.*s\": %s is not a token", number,
                       (int)SL_MIN(m->left.len, (size_t)80), m->left.data, (int)SL_MIN(m->right.len, (size_t)80),
                       m->right.data,
                       out->left < 0    ? "its left part"
                       : out->right < 0 ? "its right part"
                                        : "what it makes");
    return SL_OK;
}

/* Is the token's text what it stands for in a text? Byte tokens and the unknown one are not. */
static bool spells_itself(const sl_bpe *b, int32_t id)
{
    return id != b->unk && sl_lexicon_kind(b->lexicon, (size_t)id) != SL_TOKEN_BYTE;
}

static sl_status add_merges(sl_bpe *b, const sl_vocab *v, bool *cut, sl_err *err)
{
    size_t n_slots = 16;
    if (v->n_merges > INT32_MAX)
        return sl_fail(err, SL_EFORMAT, "%zu merges are too many", v->n_merges);
    while (n_slots < v->n_merges + v->n_merges / 4)
        n_slots *= 2;
    b->slot = sl_mem_alloc(n_slots * sizeof *b->slot);
    if (!b->slot)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu merges", v->n_merges);
    memset(b->slot, 0xff, n_slots * sizeof *b->slot); /* SL_NO_RANK, and no ids */
    b->mask = n_slots - 1;
    spelled scratch = { 0 };
    sl_status rc = SL_OK;
    for (size_t i = 0; i < v->n_merges && rc == SL_OK; i++) {
        sl_merge merge = { 0 };
        rc = find_merge(b, &v->merges[i], i, &scratch, &merge, err);
        if (rc != SL_OK)
            break;
        size_t at = sl_bpe_hash(merge.left, merge.right) & b->mask;
        while (b->slot[at].rank != SL_NO_RANK && (b->slot[at].left != merge.left || b->slot[at].right != merge.right))
            at = (at + 1) & b->mask;
        b->slot[at] = merge; /* of equal pairs the last one counts, as in the reference */
        *cut = *cut && spells_itself(b, merge.left) && spells_itself(b, merge.right);
    }
    sl_mem_free(scratch.text);
    return rc;
}

/* --- scores ------------------------------------------------------------------------------ */

static sl_status order_scores(sl_bpe *b, const sl_vocab *v, sl_err *err)
{
    if (!v->scores)
        return sl_fail(err, SL_EFORMAT, "vocabulary: no scores");
    b->order = sl_mem_alloc(v->n_tokens * sizeof *b->order);
    if (!b->order)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu scores", v->n_tokens);
    for (size_t i = 0; i < v->n_tokens; i++) {
        if (isnan(v->scores[i]))
            return sl_fail(err, SL_EFORMAT, "vocabulary: the score of token %zu is not a number", i);
        const uint32_t bits = sl_f32_bits((float)v->scores[i] + 0.0f); /* no negative zero */
        b->order[i] = bits & 0x80000000u ? bits : ~(bits | 0x80000000u);
    }
    return SL_OK;
}

static sl_status find_user_tokens(sl_bpe *b, sl_err *err)
{
    const sl_lexicon *x = b->lexicon;
    size_t n = 0;
    for (size_t i = 0; i < x->n; i++)
        n += sl_lexicon_kind(x, i) == SL_TOKEN_USER;
    sl_bytes *text = sl_mem_alloc(n * sizeof *text);
    b->user_id = sl_mem_alloc(n * sizeof *b->user_id);
    if (!text || !b->user_id) {
        sl_mem_free(text);
        return sl_fail(err, SL_ENOMEM, "no memory for %zu tokens of the user", n);
    }
    n = 0;
    for (size_t i = 0; i < x->n; i++)
        if (sl_lexicon_kind(x, i) == SL_TOKEN_USER) {
            text[n] = sl_lexicon_bytes(x, i);
            b->user_id[n++] = (int32_t)i;
        }
    const sl_status rc = sl_trie_init(&b->user, text, n, err);
    sl_mem_free(text);
    return rc;
}

/* Can this unused token come from a pair? */
static bool may_be_joined(const sl_lexicon *x, sl_bytes s)
{
    size_t n_chars = 0;
    if (sl_utf8_valid(s.data, s.len, &n_chars) < s.len || n_chars < 2)
        return false;
    const size_t first = sl_utf8_length((unsigned char)s.data[0]);
    for (size_t at = first; at < s.len; at += sl_utf8_length((unsigned char)s.data[at])) {
        const size_t last = sl_utf8_length((unsigned char)s.data[at]);
        if ((at == first || sl_lexicon_find_bytes(x, s.data, at) >= 0) &&
            (at + last == s.len || sl_lexicon_find_bytes(x, s.data + at, s.len - at) >= 0))
            return true;
    }
    return false;
}

/* --- life -------------------------------------------------------------------------------- */

sl_status sl_bpe_init(sl_bpe *b, const sl_lexicon *x, const sl_vocab *v, sl_err *err)
{
    *b = (sl_bpe){ .lexicon = x,
                   .model = v->model,
                   .chars = v->text == SL_TEXT_CHARS,
                   .whole_pieces = v->whole_pieces || v->model == SL_MODEL_RANKS,
                   .byte_fallback = v->byte_fallback,
                   .fuse_unk = v->fuse_unk,
                   .unk = v->unk };
    bool cut = true;
    sl_status rc = find_bytes(b, err);
    /* A character that leaves nothing behind lets its neighbours meet. */
    for (unsigned byte = 0; b->chars && b->unk < 0 && byte < 256; byte++)
        cut = cut && b->byte_fallback && b->byte_id[byte] >= 0;
    if (rc == SL_OK && v->model == SL_MODEL_MERGES)
        rc = add_merges(b, v, &cut, err);
    if (rc == SL_OK && v->model == SL_MODEL_SCORES) {
        rc = order_scores(b, v, err);
        if (rc == SL_OK)
            rc = find_user_tokens(b, err);
        for (size_t i = 0; i < x->n && !b->resegments; i++)
            b->resegments = sl_lexicon_kind(x, i) == SL_TOKEN_UNUSED && may_be_joined(x, sl_lexicon_bytes(x, i));
        cut = !b->resegments; /* how one was last put together is remembered across the whole text */
    }
    if (rc == SL_OK && cut)
        rc = sl_seam_init(b, err);
    if (rc != SL_OK)
        sl_bpe_fini(b);
    return rc;
}

void sl_bpe_fini(sl_bpe *b)
{
    sl_mem_free(b->slot);
    sl_mem_free(b->order);
    sl_mem_free(b->user_id);
    sl_mem_free(b->seams);
    sl_trie_fini(&b->user);
    *b = (sl_bpe){ 0 };
}
