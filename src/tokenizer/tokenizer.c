/* tokenizer.c - a vocabulary made ready, and text to ids. */
#include "tokenizer/tokenizer.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/impl.h"
#include "tokenizer/utf8.h"

/* Control tokens that end an answer in the models that have them, whatever eos says: models
 * end a turn with one and a document with another, and files name only one of the two. */
static const char *const END_TEXTS[] = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<|EOT|>",
    "</s>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
};

/* --- making ------------------------------------------------------------------------------ */

static sl_status check_id(const char *what, int32_t id, size_t n_tokens, sl_err *err)
{
    if (id < -1 || (id >= 0 && (size_t)id >= n_tokens))
        return sl_fail(err, SL_EFORMAT, "vocabulary: %s token %d, but there are %zu tokens", what, id, n_tokens);
    return SL_OK;
}

static sl_status check_special_ids(const sl_vocab *v, sl_err *err)
{
    const struct {
        const char *what;
        int32_t id;
    } ids[] = { { "bos", v->bos }, { "eos", v->eos }, { "eot", v->eot }, { "unknown", v->unk }, { "padding", v->pad } };
    for (size_t i = 0; i < SL_COUNT(ids); i++) {
        const sl_status rc = check_id(ids[i].what, ids[i].id, v->n_tokens, err);
        if (rc != SL_OK)
            return rc;
    }
    if ((v->add_bos && v->bos < 0) || (v->add_eos && v->eos < 0))
        return sl_fail(err, SL_EFORMAT, "vocabulary: asks to add a %s token but names none",
                       v->add_bos && v->bos < 0 ? "bos" : "eos");
    return SL_OK;
}

/* Bytes without a token are left out of a text later; a vocabulary with none at all is of
 * another kind. */
static sl_status find_bytes(sl_tokenizer *t, sl_err *err)
{
    size_t found = 0;
    for (unsigned b = 0; b < 256; b++) {
        t->bpe.byte_id[b] = sl_lexicon_find_byte(&t->lexicon, (unsigned char)b);
        found += t->bpe.byte_id[b] >= 0;
    }
    if (found == 0)
        return sl_fail(err, SL_EFORMAT, "vocabulary: no token stands for a single byte");
    return SL_OK;
}

static sl_status find_merge(const sl_lexicon *x, sl_bytes text, size_t number, sl_str *scratch, sl_merge *out,
                            sl_err *err)
{
    const char *space = text.len ? memchr(text.data, ' ', text.len) : NULL;
    const size_t left = space ? (size_t)(space - text.data) : 0, right = space ? text.len - left - 1 : 0;
    if (left == 0 || right == 0 || memchr(space + 1, ' ', right))
        return sl_fail(err, SL_EFORMAT, "vocabulary: merge %zu \"%.*s\" is not two tokens and a space", number,
                       (int)SL_MIN(text.len, (size_t)80), text.data);
    sl_str_clear(scratch);
    sl_str_append(scratch, text.data, left);
    sl_str_append(scratch, space + 1, right);
    if (scratch->failed)
        return sl_fail(err, SL_ENOMEM, "vocabulary: merge %zu of %zu bytes", number, text.len);
    out->left = sl_lexicon_find(x, text.data, left);
    out->right = sl_lexicon_find(x, space + 1, right);
    out->joined = sl_lexicon_find(x, scratch->data, scratch->len);
    if (out->left < 0 || out->right < 0 || out->joined < 0)
        return sl_fail(err, SL_EFORMAT, "vocabulary: merge %zu \"%.*s\": %s is not a token", number,
                       (int)SL_MIN(text.len, (size_t)80), text.data,
                       out->left < 0    ? "its left part"
                       : out->right < 0 ? "its right part"
                                        : "what it makes");
    return SL_OK;
}

static sl_status find_merges(sl_tokenizer *t, const sl_vocab *v, sl_err *err)
{
    sl_str scratch = { 0 };
    sl_status rc = SL_OK;
    for (size_t i = 0; i < v->n_merges && rc == SL_OK; i++) {
        sl_merge merge = { 0 };
        rc = find_merge(&t->lexicon, v->merges[i], i, &scratch, &merge, err);
        if (rc == SL_OK)
            sl_bpe_add(&t->bpe, merge);
    }
    sl_str_fini(&scratch);
    return rc;
}

static void add_end(sl_tokenizer *t, int32_t id)
{
    if (id >= 0 && !sl_tokenizer_ends(t, id)) {
        assert(t->n_ends < SL_TOKENIZER_MAX_ENDS);
        t->ends[t->n_ends++] = id;
    }
}

static void find_ends(sl_tokenizer *t, const sl_vocab *v)
{
    add_end(t, v->eos);
    add_end(t, v->eot);
    for (size_t i = 0; i < SL_COUNT(END_TEXTS); i++) {
        const int32_t id = sl_tokenizer_find(t, END_TEXTS[i], strlen(END_TEXTS[i]));
        if (id >= 0 && sl_lexicon_kind(&t->lexicon, (size_t)id) == SL_TOKEN_CONTROL)
            add_end(t, id);
    }
}

sl_status sl_tokenizer_create(sl_tokenizer **out, const sl_vocab *v, sl_err *err)
{
    *out = NULL;
    sl_tokenizer *t = sl_mem_zalloc(1, sizeof *t);
    if (!t)
        return sl_fail(err, SL_ENOMEM, "%zu bytes for a tokenizer", sizeof *t);
    assert(v->model == SL_VOCAB_BPE_BYTES);
    t->bos = v->bos;
    t->eos = v->eos;
    t->add_bos = v->add_bos;
    t->add_eos = v->add_eos;
    sl_status rc = check_special_ids(v, err);
    if (rc == SL_OK)
        rc = sl_pretok_create(&t->pretok, v->pre, err);
    if (rc == SL_OK)
        rc = sl_lexicon_init(&t->lexicon, v, err);
    if (rc == SL_OK)
        rc = sl_specials_init(&t->specials, &t->lexicon, err);
    if (rc == SL_OK)
        rc = sl_bpe_init(&t->bpe, v->n_merges, err);
    if (rc == SL_OK)
        rc = find_bytes(t, err);
    if (rc == SL_OK)
        rc = find_merges(t, v, err);
    if (rc != SL_OK) {
        sl_tokenizer_destroy(t);
        return rc;
    }
    find_ends(t, v);
    *out = t;
    return SL_OK;
}

void sl_tokenizer_destroy(sl_tokenizer *t)
{
    if (!t)
        return;
    sl_bpe_fini(&t->bpe);
    sl_specials_fini(&t->specials);
    sl_lexicon_fini(&t->lexicon);
    sl_pretok_destroy(t->pretok);
    sl_mem_free(t);
}

/* --- look-ups ---------------------------------------------------------------------------- */

size_t sl_tokenizer_size(const sl_tokenizer *t)
{
    return t->lexicon.n;
}

int32_t sl_tokenizer_bos(const sl_tokenizer *t)
{
    return t->bos;
}

int32_t sl_tokenizer_eos(const sl_tokenizer *t)
{
    return t->eos;
}

bool sl_tokenizer_ends(const sl_tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < t->n_ends; i++)
        if (t->ends[i] == id)
            return true;
    return false;
}

int32_t sl_tokenizer_find(const sl_tokenizer *t, const char *text, size_t len)
{
    return sl_lexicon_find(&t->lexicon, text, len);
}

size_t sl_tokenizer_next_special(const sl_tokenizer *t, const char *text, size_t len, size_t from, int32_t *id)
{
    return sl_specials_next(&t->specials, text, len, from, true, id);
}

size_t sl_tokenizer_next_control(const sl_tokenizer *t, const char *text, size_t len, size_t from)
{
    return sl_specials_next_control(&t->specials, text, len, from);
}

/* --- text to ids ------------------------------------------------------------------------- */

typedef struct encoding {
    const sl_tokenizer *t;
    sl_ids *ids;
    sl_pretok_work work;
} encoding;

static sl_status encode_piece(void *arg, const char *piece, size_t len, sl_err *err)
{
    encoding *e = arg;
    if (sl_pretok_whole_pieces(e->t->pretok)) {
        const int32_t id = sl_lexicon_find_bytes(&e->t->lexicon, piece, len);
        if (id >= 0)
            return sl_ids_push(e->ids, id, err);
    }
    return sl_bpe_encode(&e->t->bpe, piece, len, e->ids, err);
}

/* Text without special tokens: its stretches of UTF-8, and what is not UTF-8 as lone bytes. */
static sl_status encode_plain(encoding *e, const char *text, size_t len, sl_err *err)
{
    sl_status rc = SL_OK;
    for (size_t at = 0; at < len && rc == SL_OK;) {
        size_t n_chars = 0;
        const size_t whole = sl_utf8_valid(text + at, len - at, &n_chars);
        if (whole > 0)
            rc = sl_pretok_split(e->t->pretok, &e->work, text + at, whole, n_chars, encode_piece, e, err);
        else
            rc = sl_bpe_encode(&e->t->bpe, text + at, 1, e->ids, err);
        at += whole > 0 ? whole : 1;
    }
    return rc;
}

sl_status sl_tokenize(const sl_tokenizer *t, const char *text, size_t len, unsigned flags, sl_ids *ids, sl_err *err)
{
    const size_t n_before = ids->n;
    encoding e = { .t = t, .ids = ids };
    sl_status rc = SL_OK;
    if ((flags & SL_TOK_ADD_SPECIAL) && t->add_bos)
        rc = sl_ids_push(ids, t->bos, err);
    for (size_t at = 0; at < len && rc == SL_OK;) {
        int32_t id = -1;
        const size_t special = sl_specials_next(&t->specials, text, len, at, flags & SL_TOK_PARSE_SPECIAL, &id);
        rc = encode_plain(&e, text + at, special - at, err);
        at = special;
        if (rc == SL_OK && id >= 0) {
            rc = sl_ids_push(ids, id, err);
            at += sl_lexicon_bytes(&t->lexicon, (size_t)id).len;
        }
    }
    if (rc == SL_OK && (flags & SL_TOK_ADD_SPECIAL) && t->add_eos)
        rc = sl_ids_push(ids, t->eos, err);
    if (rc != SL_OK)
        ids->n = n_before;
    sl_pretok_work_fini(&e.work);
    return rc;
}
