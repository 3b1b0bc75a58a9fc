/* vocab.c - the vocabulary in a GGUF file, keys tokenizer.ggml.*, in the tokenizer's neutral form. */
#include "formats/gguf.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/num.h"
#include "formats/fill_in.h"

#define PREFIX "tokenizer.ggml."

static sl_status bad_type(const sl_weights *w, const char *name, const sl_gguf_key *k, const char *wanted, sl_err *err)
{
    const bool is_array = k->type == SL_GGUF_ARRAY;
    return sl_fail(err, SL_EFORMAT, "%s: key %s: of type %s%s, should be %s", sl_weights_path(w), name,
                   is_array ? "array of " : "", sl_gguf_type_name(is_array ? k->elem : k->type), wanted);
}

sl_status sl_weights_get_strs(const sl_weights *w, const char *name, sl_arena *arena, sl_bytes **out, size_t *n,
                              sl_err *err)
{
    const sl_gguf_key *k = sl_gguf_find_key(sl_weights_gguf(w), name);
    if (!k)
        return SL_OK;
    if (k->type != SL_GGUF_ARRAY || k->elem != SL_GGUF_STR)
        return bad_type(w, name, k, "an array of strings", err);
    sl_bytes *list = sl_arena_alloc(arena, k->n, sizeof *list);
    if (!list)
        return sl_fail(err, SL_ENOMEM, "%s: key %s: no memory for %" PRIu64 " strings", sl_weights_path(w), name, k->n);
    const uint8_t *at = k->value;
    for (uint64_t i = 0; i < k->n; i++)
        list[i] = sl_gguf_next_str(&at);
    *out = list;
    *n = k->n;
    return SL_OK;
}

static sl_status read_tokens(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    static const char name[] = PREFIX "tokens";
    const sl_status rc = sl_weights_get_strs(w, name, &v->arena, &v->tokens, &v->n_tokens, err);
    if (rc)
        return rc;
    if (!v->tokens)
        return sl_fail(err, SL_ENOTFOUND, "%s: no vocabulary: key %s is missing", sl_weights_path(w), name);
    if (v->n_tokens == 0 || v->n_tokens > INT32_MAX)
        return sl_fail(err, SL_EFORMAT, "%s: key %s: %zu tokens", sl_weights_path(w), name, v->n_tokens);
    return SL_OK;
}

/* Each merge is "left right". Bytes of the text are in GPT-2's alphabet, where a space is another
 * letter, so the first space that has something before it is the seam. */
static sl_status read_merges(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    static const char name[] = PREFIX "merges";
    sl_bytes *lines = NULL;
    sl_status rc = sl_weights_get_strs(w, name, &v->arena, &lines, &v->n_merges, err);
    if (!rc && !lines)
        rc = sl_fail(err, SL_EFORMAT, "%s: key %s is missing", sl_weights_path(w), name);
    if (!rc && !(v->merges = sl_arena_alloc(&v->arena, v->n_merges, sizeof *v->merges)))
        rc = sl_fail(err, SL_ENOMEM, "%s: key %s: no memory for %zu merges", sl_weights_path(w), name, v->n_merges);
    for (size_t i = 0; !rc && i < v->n_merges; i++) {
        const sl_bytes m = lines[i];
        const char *seam = m.len > 2 ? memchr(m.data + 1, ' ', m.len - 2) : NULL;
        char shown[SL_SHOW_MAX];
        if (!seam)
            return sl_fail(err, SL_EFORMAT, "%s: key %s: merge %zu, \"%s\", has no space between two parts",
                           sl_weights_path(w), name, i, sl_show(shown, m));
        const size_t left = (size_t)(seam - m.data);
        v->merges[i].left = (sl_bytes){ m.data, left };
        v->merges[i].right = (sl_bytes){ seam + 1, m.len - left - 1 };
    }
    return rc;
}

static sl_status read_kinds(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    /* GGUF's numbers; 0 is "undefined", which llama.cpp treats as an ordinary token. */
    static const uint8_t kinds[] = { SL_TOKEN_NORMAL, SL_TOKEN_NORMAL, SL_TOKEN_UNKNOWN, SL_TOKEN_CONTROL,
                                     SL_TOKEN_USER,   SL_TOKEN_UNUSED, SL_TOKEN_BYTE };
    static const char name[] = PREFIX "token_type";
    v->kinds = sl_arena_alloc(&v->arena, v->n_tokens, sizeof *v->kinds);
    if (!v->kinds)
        return sl_fail(err, SL_ENOMEM, "%s: key %s: no memory for %zu types", sl_weights_path(w), name, v->n_tokens);
    const sl_gguf_key *k = sl_gguf_find_key(sl_weights_gguf(w), name);
    if (!k)
        return SL_OK; /* SL_TOKEN_NORMAL is 0 */
    if (k->type != SL_GGUF_ARRAY || !sl_gguf_type_is_int(k->elem))
        return bad_type(w, name, k, "an array of integers", err);
    if (k->n != v->n_tokens)
        return sl_fail(err, SL_EFORMAT, "%s: key %s: %" PRIu64 " types for %zu tokens", sl_weights_path(w), name, k->n,
                       v->n_tokens);
    const size_t step = sl_gguf_type_bytes(k->elem);
    for (size_t i = 0; i < v->n_tokens; i++) {
        uint64_t type = UINT64_MAX;
        if (!sl_gguf_load_u64(k->elem, k->value + i * step, &type) || type >= SL_COUNT(kinds))
            return sl_fail(err, SL_EFORMAT, "%s: key %s: type %" PRId64 " of token %zu is not known",
                           sl_weights_path(w), name, (int64_t)type, i);
        v->kinds[i] = kinds[type];
    }
    return SL_OK;
}

/* A missing key leaves *out alone. */
static sl_status read_id(const sl_weights *w, const char *name, size_t n_tokens, int32_t *out, sl_err *err)
{
    uint64_t id = 0;
    if (!sl_gguf_find_key(sl_weights_gguf(w), name))
        return SL_OK;
    const sl_status rc = sl_weights_get_u64(w, name, true, &id, err);
    if (rc)
        return rc;
    if (id >= n_tokens)
        return sl_fail(err, SL_EFORMAT, "%s: key %s: id %" PRIu64 " is outside the vocabulary of %zu tokens",
                       sl_weights_path(w), name, id, n_tokens);
    *out = (int32_t)id;
    return SL_OK;
}

static sl_status read_ids(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    const struct {
        const char *name;
        int32_t *out;
    } ids[] = {
        { PREFIX "bos_token_id", &v->bos },     { PREFIX "eos_token_id", &v->eos },
        { PREFIX "eot_token_id", &v->eot },     { PREFIX "unknown_token_id", &v->unk },
        { PREFIX "padding_token_id", &v->pad },
    };
    for (size_t i = 0; i < SL_COUNT(ids); i++) {
        const sl_status rc = read_id(w, ids[i].name, v->n_tokens, ids[i].out, err);
        if (rc)
            return rc;
    }
    return SL_OK;
}

static sl_status read_bool(const sl_weights *w, const char *name, bool *out, sl_err *err)
{
    const sl_gguf_key *k = sl_gguf_find_key(sl_weights_gguf(w), name);
    if (!k)
        return SL_OK;
    if (k->type != SL_GGUF_BOOL)
        return bad_type(w, name, k, "a boolean", err);
    *out = *k->value != 0;
    return SL_OK;
}

/* A list of this one id in the arena; *n becomes 1. */
static sl_status one_id(const sl_weights *w, sl_vocab *v, const char *key, int32_t id, int32_t **list, size_t *n,
                        sl_err *err)
{
    if (id < 0)
        return sl_fail(err, SL_EFORMAT, "%s: key %s: asks for a token that no key names", sl_weights_path(w), key);
    *list = sl_arena_alloc(&v->arena, 1, sizeof **list);
    if (!*list)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for the vocabulary", sl_weights_path(w));
    **list = id;
    *n = 1;
    return SL_OK;
}

static sl_status read_around(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    /* Where the file says nothing, as llama.cpp: by the model, or by the pre-tokenizer. */
    bool add_bos = v->pre ? v->bos >= 0 && sl_vocab_pre_adds_bos(v->pre) : v->model == SL_MODEL_SCORES;
    bool add_eos = v->model == SL_MODEL_UNIGRAM;
    sl_status rc = read_bool(w, PREFIX "add_bos_token", &add_bos, err);
    if (!rc)
        rc = read_bool(w, PREFIX "add_eos_token", &add_eos, err);
    if (!rc && add_bos)
        rc = one_id(w, v, PREFIX "add_bos_token", v->bos, &v->prefix, &v->n_prefix, err);
    if (!rc && add_eos)
        rc = one_id(w, v, PREFIX "add_eos_token", v->eos, &v->suffix, &v->n_suffix, err);
    return rc;
}

/* Control, unknown and user tokens are matched in a text as they stand. */
static sl_status list_added(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n_tokens; i++)
        n += v->kinds[i] == SL_TOKEN_CONTROL || v->kinds[i] == SL_TOKEN_UNKNOWN || v->kinds[i] == SL_TOKEN_USER;
    v->added = sl_arena_alloc(&v->arena, n, sizeof *v->added);
    if (!v->added)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for %zu added tokens", sl_weights_path(w), n);
    for (size_t i = 0; i < v->n_tokens; i++)
        if (v->kinds[i] == SL_TOKEN_CONTROL || v->kinds[i] == SL_TOKEN_UNKNOWN || v->kinds[i] == SL_TOKEN_USER)
            v->added[v->n_added++] = (sl_added_token){ .id = (int32_t)i, .special = v->kinds[i] != SL_TOKEN_USER };
    return SL_OK;
}

static sl_status read_model(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    static const char name[] = PREFIX "model";
    const char *model = NULL;
    char shown[SL_SHOW_MAX];
    const sl_status rc = sl_weights_get_str(w, name, false, &model, err);
    if (rc)
        return rc;
    if (!model)
        return sl_fail(err, SL_ENOTFOUND, "%s: no vocabulary: key %s is missing", sl_weights_path(w), name);
    if (strcmp(model, "llama") == 0 || strcmp(model, "t5") == 0) {
        v->model = *model == 'l' ? SL_MODEL_SCORES : SL_MODEL_UNIGRAM;
        v->text = SL_TEXT_CHARS;
        return SL_OK;
    }
    if (strcmp(model, "gpt2") != 0)
        return sl_fail(err, SL_EUNSUPPORTED,
                       "%s: key %s: tokenizer model \"%s\" is not supported, only \"gpt2\", \"llama\" and \"t5\" are",
                       sl_weights_path(w), name, sl_show(shown, (sl_bytes){ model, strlen(model) }));
    v->pre = "default";
    return sl_weights_get_str(w, PREFIX "pre", false, &v->pre, err);
}

/* ---- SentencePiece ---------------------------------------------------------------------- */

static sl_status read_scores(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    static const char name[] = PREFIX "scores";
    const sl_gguf_key *k = sl_gguf_find_key(sl_weights_gguf(w), name);
    if (!k)
        return sl_fail(err, SL_EFORMAT, "%s: key %s is missing", sl_weights_path(w), name);
    if (k->type != SL_GGUF_ARRAY || k->elem == SL_GGUF_STR || k->elem == SL_GGUF_BOOL)
        return bad_type(w, name, k, "an array of numbers", err);
    if (k->n != v->n_tokens)
        return sl_fail(err, SL_EFORMAT, "%s: key %s: %" PRIu64 " scores for %zu tokens", sl_weights_path(w), name, k->n,
                       v->n_tokens);
    v->scores = sl_arena_alloc(&v->arena, v->n_tokens, sizeof *v->scores);
    if (!v->scores)
        return sl_fail(err, SL_ENOMEM, "%s: key %s: no memory for %zu scores", sl_weights_path(w), name, v->n_tokens);
    const size_t step = sl_gguf_type_bytes(k->elem);
    for (size_t i = 0; i < v->n_tokens; i++)
        if (!sl_gguf_load_f64(k->elem, k->value + i * step, &v->scores[i]) || isnan(v->scores[i]))
            return sl_fail(err, SL_EFORMAT, "%s: key %s: the score of token %zu is not a number", sl_weights_path(w),
                           name, i);
    return SL_OK;
}

/* Tokens of bytes. Those of all 256 make up what no other token does. */
static sl_status check_bytes(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    bool have[256] = { 0 };
    size_t n = 0;
    for (size_t i = 0; i < v->n_tokens; i++) {
        char shown[SL_SHOW_MAX];
        const int byte = v->kinds[i] == SL_TOKEN_BYTE ? sl_fill_byte(v->tokens[i]) : 0;
        if (v->kinds[i] != SL_TOKEN_BYTE)
            continue;
        if (byte < 0)
            return sl_fail(err, SL_EFORMAT, "%s: key " PREFIX "tokens: token %zu, \"%s\", stands for no byte",
                           sl_weights_path(w), i, sl_show(shown, v->tokens[i]));
        n += !have[byte];
        have[byte] = true;
    }
    v->byte_fallback = n == SL_COUNT(have);
    v->fuse_unk = true;
    return SL_OK;
}

/* What llama.cpp supposes of a file that does not name them. */
static void suppose_ids(sl_vocab *v)
{
    const int32_t n = (int32_t)SL_MIN(v->n_tokens, (size_t)3);
    const bool bpe = v->model == SL_MODEL_SCORES;
    v->bos = bpe && n > 1 ? 1 : -1;
    v->eos = bpe && n > 2 ? 2 : !bpe && n > 1 ? 1 : -1;
    v->unk = bpe ? 0 : n > 2 ? 2 : -1;
    v->pad = bpe ? -1 : 0;
}

static sl_status read_charsmap(const sl_weights *w, sl_bytes *out, sl_err *err)
{
    static const char name[] = PREFIX "precompiled_charsmap";
    const sl_gguf_key *k = sl_gguf_find_key(sl_weights_gguf(w), name);
    if (!k)
        return SL_OK;
    if (k->type != SL_GGUF_ARRAY || (k->elem != SL_GGUF_U8 && k->elem != SL_GGUF_I8))
        return bad_type(w, name, k, "an array of bytes", err);
    *out = (sl_bytes){ (const char *)k->value, (size_t)k->n };
    return SL_OK;
}

/* The normaliser and the decoder, as SentencePiece has them. */
static sl_status add_steps(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    static const sl_decode_kind kinds[] = { SL_DECODE_REPLACE, SL_DECODE_BYTE_FALLBACK, SL_DECODE_FUSE,
                                            SL_DECODE_STRIP };
    sl_norm_step *s = sl_vocab_add_norm(v, SL_NORM_SENTENCEPIECE);
    for (size_t i = 0; i < SL_COUNT(kinds); i++)
        if (!s || !sl_vocab_add_decoder(v, kinds[i]))
            return sl_fail(err, SL_ENOMEM, "%s: no memory for the vocabulary", sl_weights_path(w));
    s->escape_spaces = true;
    s->dummy_prefix = v->model == SL_MODEL_SCORES;
    sl_status rc = read_bool(w, PREFIX "add_space_prefix", &s->dummy_prefix, err);
    if (!rc)
        rc = read_bool(w, PREFIX "remove_extra_whitespaces", &s->remove_extra, err);
    if (!rc)
        rc = read_charsmap(w, &s->pattern, err);
    v->decoders[0].pattern = (sl_bytes){ "\xe2\x96\x81", 3 };
    v->decoders[0].text = (sl_bytes){ " ", 1 };
    v->decoders[3].pattern = (sl_bytes){ " ", 1 };
    v->decoders[3].strip_first = true;
    v->decoders[3].start = s->remove_extra ? INT32_MAX : s->dummy_prefix ? 1 : 0;
    return rc;
}

/* What the kind of model needs beyond its tokens. */
static sl_status read_rest(const sl_weights *w, sl_vocab *v, sl_err *err)
{
    if (v->model == SL_MODEL_MERGES)
        return read_merges(w, v, err);
    suppose_ids(v);
    sl_status rc = read_scores(w, v, err);
    if (!rc)
        rc = check_bytes(w, v, err);
    return rc ? rc : add_steps(w, v, err);
}

sl_status sl_weights_vocab(const sl_weights *w, sl_vocab *out, sl_err *err)
{
    sl_vocab v;
    sl_vocab_init(&v);
    sl_status rc = read_model(w, &v, err);
    if (!rc)
        rc = read_tokens(w, &v, err);
    if (!rc)
        rc = read_kinds(w, &v, err);
    if (!rc)
        rc = list_added(w, &v, err);
    if (!rc)
        rc = read_rest(w, &v, err);
    if (!rc)
        rc = read_ids(w, &v, err);
    if (!rc)
        rc = read_around(w, &v, err);
    if (rc)
        sl_vocab_fini(&v);
    else
        *out = v;
    return rc;
}
