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
    for (size_t i = 0; i < v->n_prefix + v->n_suffix; i++) {
        const int32_t id = i < v->n_prefix ? v->prefix[i] : v->suffix[i - v->n_prefix];
        if (id < 0 || (size_t)id >= v->n_tokens)
            return sl_fail(err, SL_EFORMAT, "vocabulary: adds token %d to a text, but there are %zu tokens", id,
                           v->n_tokens);
    }
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

static sl_status find_merge(const sl_lexicon *x, const struct sl_vocab_merge *m, size_t number, sl_str *scratch,
                            sl_merge *out, sl_err *err)
{
    sl_str_clear(scratch);
    sl_str_append(scratch, m->left.data, m->left.len);
    sl_str_append(scratch, m->right.data, m->right.len);
    if (scratch->failed)
        return sl_fail(err, SL_ENOMEM, "vocabulary: merge %zu of %zu bytes", number, m->left.len + m->right.len);
    out->left = sl_lexicon_find(x, m->left.data, m->left.len);
    out->right = sl_lexicon_find(x, m->right.data, m->right.len);
    out->joined = sl_lexicon_find(x, scratch->data, scratch->len);
    if (out->left < 0 || out->right < 0 || out->joined < 0)
        return sl_fail(err, SL_EFORMAT, "vocabulary: merge %zu \"%.*s %.*s\": %s is not a token", number,
                       (int)SL_MIN(m->left.len, (size_t)80), m->left.data, (int)SL_MIN(m->right.len, (size_t)80),
                       m->right.data,
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
        rc = find_merge(&t->lexicon, &v->merges[i], i, &scratch, &merge, err);
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

static sl_status keep_around(sl_tokenizer *t, const sl_vocab *v, sl_err *err)
{
    t->around = sl_mem_zalloc(v->n_prefix + v->n_suffix, sizeof *t->around);
    if (!t->around)
        return sl_fail(err, SL_ENOMEM, "%zu ids around a text", v->n_prefix + v->n_suffix);
    t->n_prefix = v->n_prefix;
    t->n_suffix = v->n_suffix;
    for (size_t i = 0; i < v->n_prefix; i++)
        t->around[i] = v->prefix[i];
    for (size_t i = 0; i < v->n_suffix; i++)
        t->around[v->n_prefix + i] = v->suffix[i];
    return SL_OK;
}

sl_status sl_tokenizer_create(sl_tokenizer **out, const sl_vocab *v, sl_err *err)
{
    *out = NULL;
    sl_tokenizer *t = sl_mem_zalloc(1, sizeof *t);
    if (!t)
        return sl_fail(err, SL_ENOMEM, "%zu bytes for a tokenizer", sizeof *t);
    t->bos = v->bos;
    t->eos = v->eos;
    sl_status rc = v->model == SL_MODEL_MERGES && v->text == SL_TEXT_ALPHABET
                       ? check_special_ids(v, err)
                       : sl_fail(err, SL_EUNSUPPORTED, "vocabulary: only byte-level BPE is supported");
    if (rc == SL_OK)
        rc = keep_around(t, v, err);
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
    sl_mem_free(t->around);
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
    const bool around = flags & SL_TOK_ADD_SPECIAL;
    for (size_t i = 0; around && i < t->n_prefix && rc == SL_OK; i++)
        rc = sl_ids_push(ids, t->around[i], err);
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
    for (size_t i = t->n_prefix; around && i < t->n_prefix + t->n_suffix && rc == SL_OK; i++)
        rc = sl_ids_push(ids, t->around[i], err);
    if (rc != SL_OK)
        ids->n = n_before;
    sl_pretok_work_fini(&e.work);
    return rc;
}
