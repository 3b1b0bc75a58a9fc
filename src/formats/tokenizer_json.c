/* tokenizer_json.c - tokenizer.json: tokens, added tokens and the model. */
#include "formats/tokenizer_json_in.h"

#include <string.h>
#include "base/num.h"
#include "formats/vocab_files.h"

typedef struct reading {
    sl_fill f;
    const sl_json *root, *model, *vocab, *added; /* added: NULL if there are none */
    bool unigram;
} reading;

/* ---- which model ------------------------------------------------------------------------ */

/* Old files name no type: a unigram model has a list for a vocabulary. */
static sl_status find_model(reading *r)
{
    static const char *const top[] = { "version",       "truncation",     "padding", "added_tokens", "normalizer",
                                       "pre_tokenizer", "post_processor", "decoder", "model",        NULL };
    if (r->root->kind != SL_JSON_OBJECT)
        return sl_fail(r->f.err, SL_EFORMAT, "not an object, and so no tokenizer.json");
    sl_status rc = sl_json_only(r->root, top, r->f.err);
    if (!rc)
        rc = sl_json_get_object(r->root, "model", true, &r->model, r->f.err);
    if (rc)
        return rc;
    const sl_json *type = sl_json_get(r->model, "type");
    const sl_json *vocab = sl_json_get(r->model, "vocab");
    r->unigram = type ? sl_json_is(type, "Unigram") : vocab && vocab->kind == SL_JSON_ARRAY;
    const bool bpe = type ? sl_json_is(type, "BPE") : sl_json_get(r->model, "merges") != NULL;
    if (!r->unigram && !bpe)
        return sl_json_fail(r->f.err, SL_EUNSUPPORTED, type ? type : r->model,
                            "model \"%.*s\" is not supported, only BPE and Unigram are",
                            type && type->kind == SL_JSON_STRING ? (int)SL_MIN(type->text_len, 60u) : 1,
                            type && type->kind == SL_JSON_STRING ? type->text : "?");
    r->f.v->model = r->unigram ? SL_MODEL_UNIGRAM : SL_MODEL_MERGES;
    rc = r->unigram ? sl_json_get_list(r->model, "vocab", true, &r->vocab, r->f.err)
                    : sl_json_get_object(r->model, "vocab", true, &r->vocab, r->f.err);
    if (!rc)
        rc = sl_json_get_list(r->root, "added_tokens", false, &r->added, r->f.err);
    if (!rc && r->vocab->n == 0)
        rc = sl_json_fail(r->f.err, SL_EFORMAT, r->vocab, "no tokens");
    return rc;
}

/* ---- tokens ----------------------------------------------------------------------------- */

static sl_status take_id(const reading *r, const sl_json *value, int64_t *id)
{
    const size_t n_named = (size_t)r->vocab->n + (r->added ? r->added->n : 0);
    if (!sl_json_int(value, id))
        return sl_json_fail(r->f.err, SL_EFORMAT, value, "not the id of a token");
    if (!sl_fill_id_ok(*id, n_named))
        return sl_json_fail(r->f.err, SL_EFORMAT, value, "id %lld in a vocabulary of %zu tokens", (long long)*id,
                            n_named);
    return SL_OK;
}

static sl_status added_id(const reading *r, const sl_json *token, int64_t *id)
{
    const sl_json *value = sl_json_get(token, "id");
    return value ? take_id(r, value, id) : sl_json_fail(r->f.err, SL_EFORMAT, token, "\"id\" is missing");
}

/* The number of ids. */
static sl_status measure(const reading *r, size_t *n)
{
    int64_t id = 0;
    sl_status rc = SL_OK;
    *n = r->unigram ? r->vocab->n : 0;
    for (const sl_json *m = r->unigram ? NULL : r->vocab->first; m && !rc; m = m->next) {
        rc = take_id(r, m, &id);
        *n = SL_MAX(*n, (size_t)id + 1);
    }
    for (const sl_json *m = r->added ? r->added->first : NULL; m && !rc; m = m->next) {
        rc = added_id(r, m, &id);
        *n = SL_MAX(*n, (size_t)id + 1);
    }
    return rc;
}

static sl_status name_token(reading *r, const sl_json *at, size_t id, sl_bytes text)
{
    sl_vocab *v = r->f.v;
    if (v->kinds[id] != SL_TOKEN_UNUSED)
        return sl_json_fail(r->f.err, SL_EFORMAT, at, "id %zu is that of \"%.*s\" as well", id,
                            (int)SL_MIN(v->tokens[id].len, (size_t)60), v->tokens[id].data);
    v->kinds[id] = SL_TOKEN_NORMAL;
    return sl_fill_keep(&r->f, text, &v->tokens[id]);
}

static sl_status read_bpe_vocab(reading *r)
{
    sl_status rc = SL_OK;
    for (const sl_json *m = r->vocab->first; m && !rc; m = m->next) {
        int64_t id = 0;
        rc = take_id(r, m, &id);
        if (!rc)
            rc = name_token(r, m, (size_t)id, (sl_bytes){ m->key, m->key_len });
    }
    return rc;
}

/* [piece, score] each; the place is the id. */
static sl_status read_unigram_vocab(reading *r)
{
    sl_status rc = SL_OK;
    size_t id = 0;
    for (const sl_json *m = r->vocab->first; m && !rc; m = m->next, id++) {
        const sl_json *piece = m->kind == SL_JSON_ARRAY ? m->first : NULL;
        if (!piece || m->n != 2 || piece->kind != SL_JSON_STRING || !sl_json_double(piece->next, &r->f.v->scores[id]))
            return sl_json_fail(r->f.err, SL_EFORMAT, m, "should be a piece and its score");
        rc = name_token(r, m, id, sl_json_bytes(piece));
    }
    return rc;
}

/* ---- added tokens ------------------------------------------------------------------------ */

static sl_status read_flags(const reading *r, const sl_json *token, sl_added_token *out)
{
    static const char *const keys[] = { "id",     "content",    "single_word", "lstrip",
                                        "rstrip", "normalized", "special",     NULL };
    const struct {
        const char *key;
        bool *flag;
    } flags[] = { { "single_word", &out->single_word },
                  { "lstrip", &out->lstrip },
                  { "rstrip", &out->rstrip },
                  { "normalized", &out->normalized },
                  { "special", &out->special } };
    sl_status rc = sl_json_only(token, keys, r->f.err);
    for (size_t i = 0; i < SL_COUNT(flags) && !rc; i++)
        rc = sl_json_get_bool(token, flags[i].key, true, flags[i].flag, r->f.err);
    return rc;
}

/* Where the model has the token, that is its id; else ids go on behind the largest. The reference
 * library does so whatever the file says; a file that says otherwise is refused. */
static sl_status check_added_id(const reading *r, const sl_json *token, int64_t id, int64_t in_model, int64_t *largest)
{
    const int64_t own = in_model >= 0 ? in_model : SL_MAX(*largest + 1, (int64_t)r->vocab->n);
    if (id != own)
        return sl_json_fail(r->f.err, SL_EFORMAT, sl_json_get(token, "id"),
                            "id %lld for a token that is number %lld by the rules of the format", (long long)id,
                            (long long)own);
    *largest = SL_MAX(*largest, id);
    return SL_OK;
}

static sl_status read_added_token(reading *r, const sl_json *token, sl_bytes text, int64_t in_model, int64_t *largest)
{
    sl_vocab *v = r->f.v;
    sl_added_token out = { 0 };
    int64_t id = 0;
    sl_status rc = added_id(r, token, &id);
    if (!rc)
        rc = read_flags(r, token, &out);
    if (rc || text.len == 0) /* the library skips what could be matched nowhere */
        return rc;
    rc = check_added_id(r, token, id, in_model, largest);
    if (!rc && in_model < 0)
        rc = name_token(r, token, (size_t)id, text);
    if (rc)
        return rc;
    out.id = (int32_t)id;
    v->kinds[id] = out.special ? SL_TOKEN_CONTROL : SL_TOKEN_USER;
    v->added[v->n_added++] = out;
    return SL_OK;
}

/* in_model[i] becomes the model's id of the i-th added token, or -1. */
static sl_status find_in_model(const reading *r, const sl_bytes *texts, size_t n, int64_t *in_model)
{
    sl_names names = { 0 };
    size_t twice = SIZE_MAX;
    if (sl_names_init(&names, texts, n, &twice))
        return sl_fill_no_memory(&r->f);
    for (size_t i = 0; i < n; i++)
        in_model[i] = -1;
    for (size_t id = 0; id < r->f.v->n_tokens && twice == SIZE_MAX; id++) {
        const size_t at = sl_names_find(&names, r->f.v->tokens[id]);
        if (at != SIZE_MAX)
            in_model[at] = (int64_t)id;
    }
    sl_names_fini(&names);
    if (twice == SIZE_MAX)
        return SL_OK;
    return sl_json_fail(r->f.err, SL_EFORMAT, r->added, "\"%.*s\" comes twice",
                        (int)SL_MIN(texts[twice].len, (size_t)60), texts[twice].data);
}

static sl_status read_added(reading *r)
{
    const size_t n = r->added ? r->added->n : 0;
    sl_bytes *texts = sl_mem_zalloc(n, sizeof *texts);
    int64_t *in_model = sl_mem_zalloc(n, sizeof *in_model);
    r->f.v->added = sl_arena_alloc(&r->f.v->arena, n, sizeof *r->f.v->added);
    sl_status rc = texts && in_model && r->f.v->added ? SL_OK : sl_fill_no_memory(&r->f);
    size_t i = 0;
    for (const sl_json *m = n ? r->added->first : NULL; m && !rc; m = m->next)
        rc = sl_json_get_str(m, "content", true, &texts[i++], r->f.err);
    if (!rc)
        rc = find_in_model(r, texts, n, in_model);
    int64_t largest = -1;
    i = 0;
    for (const sl_json *m = n ? r->added->first : NULL; m && !rc; m = m->next, i++)
        rc = read_added_token(r, m, texts[i], in_model[i], &largest);
    sl_mem_free(texts);
    sl_mem_free(in_model);
    return rc;
}

/* ---- the model -------------------------------------------------------------------------- */

/* "left right", or [left, right] in newer files. */
static sl_status read_merge(reading *r, const sl_json *m, struct sl_vocab_merge *out)
{
    sl_bytes left = { 0 }, right = { 0 };
    if (m->kind == SL_JSON_STRING) {
        const char *seam = memchr(m->text, ' ', m->text_len), *end = m->text + m->text_len;
        if (!seam || memchr(seam + 1, ' ', (size_t)(end - seam - 1)))
            return sl_json_fail(r->f.err, SL_EFORMAT, m, "\"%.*s\" is not two parts and a space between them",
                                SL_JSON_SHOWN(m));
        left = (sl_bytes){ m->text, (size_t)(seam - m->text) };
        right = (sl_bytes){ seam + 1, (size_t)(end - seam - 1) };
    } else if (m->kind == SL_JSON_ARRAY && m->n == 2 && m->first->kind == SL_JSON_STRING &&
               m->first->next->kind == SL_JSON_STRING) {
        left = sl_json_bytes(m->first);
        right = sl_json_bytes(m->first->next);
    } else {
        return sl_json_fail(r->f.err, SL_EFORMAT, m, "should be two parts of a token");
    }
    const sl_status rc = sl_fill_keep(&r->f, left, &out->left);
    return rc ? rc : sl_fill_keep(&r->f, right, &out->right);
}

static bool is_version_line(const sl_json *m)
{
    static const char version[] = "#version";
    return m->kind == SL_JSON_STRING && m->text_len >= sizeof version - 1 &&
           memcmp(m->text, version, sizeof version - 1) == 0;
}

static sl_status read_merges(reading *r)
{
    sl_vocab *v = r->f.v;
    const sl_json *merges = NULL;
    sl_status rc = sl_json_get_list(r->model, "merges", true, &merges, r->f.err);
    if (rc)
        return rc;
    v->merges = sl_arena_alloc(&v->arena, merges->n, sizeof *v->merges);
    if (!v->merges)
        return sl_fill_no_memory(&r->f);
    for (const sl_json *m = merges->first; m && !rc; m = m->next) {
        if (m->kind != merges->first->kind)
            return sl_json_fail(r->f.err, SL_EFORMAT, m, "merges of both forms");
        if (!is_version_line(m))
            rc = read_merge(r, m, &v->merges[v->n_merges++]);
    }
    return rc;
}

/* Settings that make another algorithm of BPE. */
static sl_status refuse_variants(const reading *r)
{
    static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    const sl_json *dropout = sl_json_get(r->model, "dropout");
    double rate = 0;
    if (dropout && (!sl_json_double(dropout, &rate) || rate != 0))
        return sl_json_fail(r->f.err, SL_EUNSUPPORTED, dropout, "merges left out at random are not supported");
    for (size_t i = 0; i < SL_COUNT(affixes); i++) {
        sl_bytes affix = { 0 };
        const sl_status rc = sl_json_get_str(r->model, affixes[i], false, &affix, r->f.err);
        if (rc)
            return rc;
        if (affix.len)
            return sl_json_fail(r->f.err, SL_EUNSUPPORTED, sl_json_get(r->model, affixes[i]), "is not supported");
    }
    return SL_OK;
}

/* The id of unk_token. A byte-level vocabulary may name one that it has not: it has no use for it. */
static sl_status read_unk_token(reading *r)
{
    sl_bytes unk = { 0 };
    const sl_json *at = sl_json_get(r->model, "unk_token");
    const sl_status rc = sl_json_get_str(r->model, "unk_token", false, &unk, r->f.err);
    if (rc || !at)
        return rc;
    for (const sl_json *m = r->vocab->first; m; m = m->next) {
        int64_t id = 0;
        if (m->key_len == unk.len && memcmp(m->key, unk.data, unk.len) == 0 && sl_json_int(m, &id))
            r->f.v->unk = (int32_t)id;
    }
    if (r->f.v->unk < 0 && r->f.v->text != SL_TEXT_ALPHABET)
        return sl_json_fail(r->f.err, SL_EFORMAT, at, "\"%.*s\" is not in the vocabulary", SL_JSON_SHOWN(at));
    return SL_OK;
}

static sl_status read_bpe(reading *r)
{
    static const char *const keys[] = { "type",
                                        "dropout",
                                        "unk_token",
                                        "continuing_subword_prefix",
                                        "fuse_unk",
                                        "byte_fallback",
                                        "ignore_merges",
                                        "end_of_word_suffix",
                                        "vocab",
                                        "merges",
                                        NULL };
    sl_vocab *v = r->f.v;
    sl_err *err = r->f.err;
    sl_status rc = sl_json_only(r->model, keys, err);
    if (!rc)
        rc = refuse_variants(r);
    if (!rc)
        rc = sl_json_get_bool(r->model, "fuse_unk", false, &v->fuse_unk, err);
    if (!rc)
        rc = sl_json_get_bool(r->model, "byte_fallback", false, &v->byte_fallback, err);
    if (!rc)
        rc = sl_json_get_bool(r->model, "ignore_merges", false, &v->whole_pieces, err);
    if (!rc)
        rc = read_unk_token(r);
    return rc ? rc : read_merges(r);
}

static sl_status read_unigram(reading *r)
{
    static const char *const keys[] = { "type", "unk_id", "vocab", "byte_fallback", NULL };
    int64_t unk = -1;
    sl_status rc = sl_json_only(r->model, keys, r->f.err);
    if (!rc)
        rc = sl_json_get_bool(r->model, "byte_fallback", false, &r->f.v->byte_fallback, r->f.err);
    if (!rc)
        rc = sl_json_get_int(r->model, "unk_id", false, &unk, r->f.err);
    if (!rc && (unk < -1 || unk >= (int64_t)r->vocab->n || (unk == -1 && sl_json_get(r->model, "unk_id"))))
        rc = sl_json_fail(r->f.err, SL_EFORMAT, sl_json_get(r->model, "unk_id"), "id %lld in a vocabulary of %u tokens",
                          (long long)unk, r->vocab->n);
    r->f.v->unk = (int32_t)unk;
    r->f.v->fuse_unk = true; /* what this model does, without a setting */
    r->f.v->double_scores = true;
    return rc;
}

/* ---- all of it -------------------------------------------------------------------------- */

static sl_status read_tokens(reading *r)
{
    size_t n = 0;
    sl_status rc = measure(r, &n);
    if (!rc)
        rc = sl_fill_tokens(&r->f, n, r->unigram);
    if (!rc)
        rc = r->unigram ? read_unigram_vocab(r) : read_bpe_vocab(r);
    return rc ? rc : read_added(r);
}

static bool works_on_bytes(const sl_vocab *v)
{
    for (size_t i = 0; i < v->n_pretoks; i++)
        if (v->pretoks[i].kind == SL_PRETOK_BYTE_LEVEL)
            return true;
    return false;
}

static sl_status read_all(reading *r)
{
    sl_vocab *v = r->f.v;
    sl_status rc = find_model(r);
    if (!rc)
        rc = read_tokens(r);
    if (!rc)
        rc = sl_json_normalizer(&r->f, sl_json_get(r->root, "normalizer"));
    if (!rc)
        rc = sl_json_pre_tokenizer(&r->f, sl_json_get(r->root, "pre_tokenizer"));
    v->lone_byte_level = sl_json_is(sl_json_get(sl_json_get(r->root, "pre_tokenizer"), "type"), "ByteLevel");
    v->text = works_on_bytes(v) ? SL_TEXT_ALPHABET : SL_TEXT_CHARS;
    if (!rc)
        rc = r->unigram ? read_unigram(r) : read_bpe(r);
    if (!rc && v->byte_fallback)
        sl_fill_mark_bytes(v);
    if (!rc)
        rc = sl_json_decoder(&r->f, sl_json_get(r->root, "decoder"));
    if (!rc)
        rc = sl_json_post_processor(&r->f, sl_json_get(r->root, "post_processor"));
    return rc;
}

sl_status sl_vocab_read_tokenizer_json(sl_vocab *out, const void *bytes, size_t n, sl_err *err)
{
    sl_json_doc doc = { 0 };
    sl_vocab_init(out);
    sl_status rc = sl_json_parse(&doc, bytes, n, err);
    if (!rc) {
        reading r = { .f = { .v = out, .err = err }, .root = doc.root };
        rc = read_all(&r);
    }
    sl_json_fini(&doc);
    if (rc)
        sl_vocab_fini(out);
    return rc;
}
