/* text_config.c - special tokens as the small files of a folder have them. Source: Transformers 4,
 * tokenization_utils_base.py (_from_pretrained), tokenization_utils_fast.py (__init__), and the update_post_processor
 * of the classes below. */
#include "formats/text_in.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "formats/fill_in.h"

/* Classes that put tokens around a text themselves, and what they suppose where the file is silent. */
static const struct wrapper {
    const char *name; /* without "Fast" */
    bool bos, eos;
    const char *bos_text, *eos_text;
} wrappers[] = {
    { "LlamaTokenizer", true, false, "<s>", "</s>" },
    { "CodeLlamaTokenizer", true, false, "<s>", "</s>" },
    { "GemmaTokenizer", true, false, "<bos>", "<eos>" },
    { "CohereTokenizer", true, false, "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>" },
    { "GPTNeoXTokenizer", false, false, "<|endoftext|>", "<|endoftext|>" },
};

#define N_ROLES 7

typedef struct config {
    sl_vocab *v;
    const sl_small_json *main, *map; /* tokenizer_config.json, special_tokens_map.json */
    const sl_small_json *more;       /* added_tokens.json, where it counts: see read_more */
    const struct wrapper *wrapper;   /* NULL: the file's own post-processor */
    const sl_small_json *at;         /* where the value at hand stands */
    bool own_specials;
    sl_names names; /* of the tokens of the vocabulary's own file */
    size_t n_own;
    uint32_t *added_at; /* [id] place in v->added + 1; 0: none */
    sl_err *err;
} config;

/* ---- added tokens ------------------------------------------------------------------------ */

/* Members of one of the lists that may name further tokens. */
static size_t n_listed(const sl_small_json *j, const char *key)
{
    const sl_json *m = sl_json_get(j->root, key);
    return m ? m->n : 0;
}

/* Room for every token that the files could add, and indices by text and by id. */
static sl_status begin(config *c)
{
    static const char *const lists[] = { "added_tokens_decoder", "additional_special_tokens", "extra_special_tokens" };
    sl_vocab *v = c->v;
    sl_fill f = { .v = v, .err = c->err };
    size_t more = N_ROLES;
    for (size_t i = 0; i < SL_COUNT(lists); i++)
        more += n_listed(c->main, lists[i]) + n_listed(c->map, lists[i]);
    more += c->more->root ? c->more->root->n : 0;
    const sl_vocab old = *v;
    c->n_own = old.n_tokens;
    c->added_at = sl_mem_zalloc(old.n_tokens + more, sizeof *c->added_at);
    sl_added_token *added = sl_arena_alloc(&v->arena, old.n_added + more, sizeof *added);
    if (!added || !c->added_at)
        return sl_fill_no_memory(&f);
    const sl_status rc = sl_fill_tokens(&f, old.n_tokens + more, old.scores != NULL);
    v->n_tokens = old.n_tokens;
    if (rc)
        return rc;
    memcpy(v->tokens, old.tokens, old.n_tokens * sizeof *v->tokens);
    memcpy(v->kinds, old.kinds, old.n_tokens);
    if (old.scores)
        memcpy(v->scores, old.scores, old.n_tokens * sizeof *v->scores);
    if (old.n_added)
        memcpy(added, old.added, old.n_added * sizeof *added);
    v->added = added;
    for (size_t i = 0; i < old.n_added; i++)
        c->added_at[added[i].id] = (uint32_t)i + 1;
    return sl_names_init(&c->names, v->tokens, c->n_own, NULL) ? sl_fill_no_memory(&f) : SL_OK;
}

static int32_t find_token(const config *c, sl_bytes text)
{
    const size_t at = sl_names_find(&c->names, text);
    if (at != SIZE_MAX)
        return (int32_t)at;
    for (size_t i = c->n_own; i < c->v->n_tokens; i++)
        if (c->v->tokens[i].len == text.len && memcmp(c->v->tokens[i].data, text.data, text.len) == 0)
            return (int32_t)i;
    return -1;
}

/* Make `text` an added token with these flags, as add_tokens of the `tokenizers` library does: a token that is
 * there keeps its id. `id` is filled in. */
static sl_status set_added(config *c, sl_bytes text, sl_added_token *token)
{
    sl_vocab *v = c->v;
    sl_fill f = { .v = v, .err = c->err };
    const int32_t found = find_token(c, text);
    const size_t id = found < 0 ? v->n_tokens : (size_t)found;
    if (found < 0) {
        const sl_status rc = sl_fill_keep(&f, text, &v->tokens[id]);
        if (rc)
            return rc;
        v->n_tokens++;
    }
    if (!c->added_at[id])
        c->added_at[id] = (uint32_t)++v->n_added;
    token->id = (int32_t)id;
    v->added[c->added_at[id] - 1] = *token;
    v->kinds[id] = token->special ? SL_TOKEN_CONTROL : SL_TOKEN_USER;
    return SL_OK;
}

/* ---- which names stand where ---------------------------------------------------------------- */

static const char *const role_keys[N_ROLES] = { "bos_token", "eos_token", "unk_token", "sep_token",
                                                "pad_token", "cls_token", "mask_token" };
#define N_NEEDED 2 /* the first ones; of the others it is no fault if a full list of special tokens lacks them */
static const char *const role_lists[] = { "additional_special_tokens", "extra_special_tokens" };

/* A token as a text or an object; NULL: not named. special_tokens_map.json counts in folders from before
 * added_tokens_decoder. */
static const sl_json *named(config *c, const char *key)
{
    const sl_json *m = sl_json_get(c->main->root, "added_tokens_decoder") ? NULL : sl_json_get(c->map->root, key);
    c->at = m ? c->map : c->main;
    return m ? m : sl_json_get(c->main->root, key);
}

/* ---- tokens by their ids ------------------------------------------------------------------ */

/* {"content", flags...}; every flag may be missing. Added tokens are normalised unless they are special. */
static sl_status read_token(const config *c, const sl_json *m, bool special, sl_bytes *text, sl_added_token *out)
{
    sl_err *err = c->err;
    *out = (sl_added_token){ .special = special };
    sl_status rc = sl_json_get_str(m, "content", true, text, err);
    if (!rc)
        rc = sl_json_get_bool(m, "special", false, &out->special, err);
    out->normalized = !out->special;
    if (!rc)
        rc = sl_json_get_bool(m, "normalized", false, &out->normalized, err);
    if (!rc)
        rc = sl_json_get_bool(m, "lstrip", false, &out->lstrip, err);
    if (!rc)
        rc = sl_json_get_bool(m, "rstrip", false, &out->rstrip, err);
    return rc ? rc : sl_json_get_bool(m, "single_word", false, &out->single_word, err);
}

static bool decimal_id(const sl_json *m, int64_t *id)
{
    const sl_json number = { .kind = SL_JSON_NUMBER, .text = m->key, .text_len = m->key_len };
    return m->key_len > 0 && sl_json_int(&number, id);
}

/* "added_tokens_decoder": {"128000": {...}}. Ids that the vocabulary's own rules do not give are refused. */
static sl_status read_added(config *c)
{
    const sl_json *table = NULL;
    sl_status rc = sl_json_get_object(c->main->root, "added_tokens_decoder", false, &table, c->err);
    for (const sl_json *m = rc || !table || c->own_specials ? NULL : table->first; m && !rc; m = m->next) {
        int64_t id = -1;
        sl_bytes text = { 0 };
        sl_added_token token = { 0 };
        if (!decimal_id(m, &id))
            return sl_json_fail(c->err, SL_EFORMAT, m, "no id");
        rc = read_token(c, m, false, &text, &token);
        if (!rc && text.len)
            rc = set_added(c, text, &token);
        if (!rc && text.len && token.id != id)
            rc = sl_json_fail(c->err, SL_EFORMAT, m, "id %lld for a token that is number %d", (long long)id, token.id);
    }
    return rc;
}

static bool is_text(const sl_json *m, sl_bytes text)
{
    const sl_json *s = m && m->kind == SL_JSON_OBJECT ? sl_json_get(m, "content") : m;
    return s && s->kind == SL_JSON_STRING && s->text_len == text.len && memcmp(s->text, text.data, text.len) == 0;
}

static bool has_role(config *c, sl_bytes text)
{
    bool found = false;
    for (size_t i = 0; i < N_ROLES && !found; i++)
        found = is_text(named(c, role_keys[i]), text);
    for (size_t i = 0; i < SL_COUNT(role_lists) && !found; i++) {
        const sl_json *list = named(c, role_lists[i]);
        for (const sl_json *m = list && list->kind == SL_JSON_ARRAY ? list->first : NULL; m && !found; m = m->next)
            found = is_text(m, text);
    }
    c->at = c->more;
    return found;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = -1, y = -1; /* of what is no number, too, which is refused in its turn */
    sl_json_int(*(const sl_json *const *)a, &x);
    sl_json_int(*(const sl_json *const *)b, &y);
    return (x > y) - (x < y);
}

/* added_tokens.json, {"<pad>": 32000, ...}: of folders from before added_tokens_decoder whose vocabulary is
 * SentencePiece's. A tokenizer.json has these tokens itself. */
static sl_status read_more(config *c)
{
    const sl_json *root = c->more->root, **list = root ? sl_mem_zalloc(root->n, sizeof *list) : NULL;
    const sl_fill f = { .v = c->v, .err = c->err };
    sl_status rc = SL_OK;
    size_t n = 0;
    if (!root)
        return SL_OK;
    if (!list)
        return sl_fill_no_memory(&f);
    for (const sl_json *m = root->first; m; m = m->next)
        list[n++] = m;
    qsort(list, n, sizeof *list, by_id);
    c->at = c->more;
    for (size_t i = 0; i < n && !rc; i++) {
        const sl_bytes text = { list[i]->key, list[i]->key_len };
        int64_t id = -1;
        sl_added_token token = { .special = has_role(c, text) };
        token.normalized = !token.special;
        if (!sl_json_int(list[i], &id))
            rc = sl_json_fail(c->err, SL_EFORMAT, list[i], "no id");
        else if (text.len && !(rc = set_added(c, text, &token)) && token.id != id)
            rc = sl_json_fail(c->err, SL_EFORMAT, list[i], "id %lld for a token that is number %d", (long long)id,
                              token.id);
    }
    sl_mem_free(list);
    return rc;
}

/* ---- roles and lists ------------------------------------------------------------------------ */

static sl_status named_text(const config *c, const sl_json *m, sl_bytes *text, sl_added_token *token)
{
    *token = (sl_added_token){ .special = true };
    if (m->kind == SL_JSON_OBJECT)
        return read_token(c, m, true, text, token);
    if (m->kind != SL_JSON_STRING)
        return sl_json_fail(c->err, SL_EFORMAT, m, "should be a token");
    *text = sl_json_bytes(m);
    return SL_OK;
}

/* The id of a special token, which becomes an added token where it was none. */
static sl_status special_id(config *c, const sl_json *m, bool needed, int32_t *id)
{
    sl_bytes text = { 0 };
    sl_added_token token = { 0 };
    sl_status rc = named_text(c, m, &text, &token);
    if (rc || text.len == 0)
        return rc;
    *id = find_token(c, text);
    if (*id >= 0 && (c->own_specials || c->added_at[*id]))
        return SL_OK;
    if (c->own_specials && !needed)
        return SL_OK;
    if (c->own_specials)
        return sl_json_fail(c->err, SL_EFORMAT, m, "\"%.*s\" is not in the vocabulary",
                            (int)SL_MIN(text.len, (size_t)60), text.data);
    token.special = true;
    rc = set_added(c, text, &token);
    *id = token.id;
    return rc;
}

static sl_status special_list(config *c, const char *key)
{
    const sl_json *m = named(c, key);
    sl_status rc = SL_OK;
    if (!m || m->kind == SL_JSON_OBJECT) /* a table of names for some, which are named elsewhere as well */
        return SL_OK;
    if (m->kind != SL_JSON_ARRAY)
        return sl_json_fail(c->err, SL_EFORMAT, m, "should be a list");
    for (const sl_json *one = m->first; one && !rc; one = one->next) {
        int32_t id = -1;
        rc = special_id(c, one, true, &id);
    }
    return rc;
}

static sl_status read_roles(config *c)
{
    sl_vocab *v = c->v;
    int32_t unused = -1;
    int32_t *const ids[N_ROLES] = { &v->bos, &v->eos, &unused, &unused, &v->pad, &unused, &unused };
    sl_status rc = SL_OK;
    for (size_t i = 0; i < N_ROLES && !rc; i++) {
        const sl_json *m = named(c, role_keys[i]);
        rc = m ? special_id(c, m, i < N_NEEDED, ids[i]) : SL_OK;
    }
    for (size_t i = 0; i < SL_COUNT(role_lists) && !rc; i++)
        rc = special_list(c, role_lists[i]);
    return rc;
}

/* ---- around a text ------------------------------------------------------------------------- */

/* `name` as it is, or with "Fast" behind it. */
static bool is_class(const sl_json *root, const char *name)
{
    const sl_json *class = sl_json_get(root, "tokenizer_class");
    const size_t n = strlen(name);
    if (!class || class->kind != SL_JSON_STRING || class->text_len < n || memcmp(class->text, name, n) != 0)
        return false;
    return class->text_len == n || (class->text_len == n + 4 && memcmp(class->text + n, "Fast", 4) == 0);
}

static const struct wrapper *find_wrapper(const sl_json *root)
{
    for (size_t i = 0; i < SL_COUNT(wrappers); i++)
        if (is_class(root, wrappers[i].name))
            return &wrappers[i];
    return NULL;
}

static sl_status wrap_with(config *c, const char *key, bool wanted, int32_t id, const char *usual, int32_t **list,
                           size_t *n)
{
    const sl_json *said = sl_json_get(c->main->root, key);
    sl_status rc = sl_json_get_bool(c->main->root, key, false, &wanted, c->err);
    *n = 0;
    if (rc || !wanted)
        return rc;
    if (id < 0)
        id = find_token(c, (sl_bytes){ usual, strlen(usual) });
    if (id < 0)
        return sl_json_fail(c->err, SL_EFORMAT, said ? said : c->main->root,
                            "a token is to be put around texts that no key names");
    sl_fill f = { .v = c->v, .err = c->err };
    *n = 1;
    return sl_fill_ids(&f, &id, 1, list);
}

static sl_status read_around(config *c)
{
    sl_vocab *v = c->v;
    if (!c->wrapper)
        return SL_OK;
    const sl_status rc =
        wrap_with(c, "add_bos_token", c->wrapper->bos, v->bos, c->wrapper->bos_text, &v->prefix, &v->n_prefix);
    if (rc)
        return rc;
    return wrap_with(c, "add_eos_token", c->wrapper->eos, v->eos, c->wrapper->eos_text, &v->suffix, &v->n_suffix);
}

/* ---- a space in front ------------------------------------------------------------------------ */

/* Classes that set their pre-tokenizer's add_prefix_space anew, if that is ByteLevel alone. Release 4 does so for all
 * classes, 5 for these; where the two differ the file is taken as it is written. */
static const char *const byte_classes[] = { "GPT2Tokenizer",    "GPTNeoXTokenizer", "CodeGenTokenizer",
                                            "RobertaTokenizer", "BartTokenizer",    "WhisperTokenizer" };

static sl_status read_prefix_space(const config *c)
{
    sl_vocab *v = c->v;
    bool wanted = false, known = false;
    for (size_t i = 0; i < SL_COUNT(byte_classes); i++)
        known = known || is_class(c->main->root, byte_classes[i]);
    if (!known || !v->lone_byte_level)
        return SL_OK;
    const sl_status rc = sl_json_get_bool(c->main->root, "add_prefix_space", false, &wanted, c->err);
    const bool has = v->pretoks[0].kind == SL_PRETOK_PREFIX_SPACE;
    if (rc || wanted == has)
        return rc;
    if (!wanted) {
        v->n_pretoks--;
        memmove(v->pretoks, v->pretoks + 1, v->n_pretoks * sizeof *v->pretoks);
        return SL_OK;
    }
    const sl_fill f = { .v = v, .err = c->err };
    if (!sl_vocab_add_pretok(v, SL_PRETOK_PREFIX_SPACE))
        return sl_fill_no_memory(&f);
    const sl_pretok_step step = v->pretoks[v->n_pretoks - 1];
    memmove(v->pretoks + 1, v->pretoks, (v->n_pretoks - 1) * sizeof *v->pretoks);
    v->pretoks[0] = step;
    return SL_OK;
}

/* Classes whose ids are not those of the pieces. */
static const char *const shifted_classes[] = { "XLMRobertaTokenizer", "MBartTokenizer",   "MBart50Tokenizer",
                                               "CamembertTokenizer",  "NllbTokenizer",    "XGLMTokenizer",
                                               "BarthezTokenizer",    "BartphoTokenizer", "M2M100Tokenizer",
                                               "PegasusTokenizer" };

/* SentencePiece's own file in a folder. Llama's class has two settings of its own: with "legacy": false the space in
 * front is that of the text, not of each stretch behind a special token; with "add_prefix_space": false there is none,
 * and none is taken away. */
static sl_status read_pieces_prefix(const config *c)
{
    sl_vocab *v = c->v;
    const sl_json *root = c->main->root;
    sl_fill f = { .v = v, .err = c->err };
    bool legacy = true, prefix = true;
    for (size_t i = 0; i < SL_COUNT(shifted_classes); i++)
        if (is_class(root, shifted_classes[i]))
            return sl_json_fail(c->err, SL_EUNSUPPORTED, sl_json_get(root, "tokenizer_class"),
                                "%s gives the pieces of a SentencePiece file other ids; a tokenizer.json has them",
                                shifted_classes[i]);
    if (!is_class(root, "LlamaTokenizer"))
        return SL_OK;
    sl_status rc = sl_json_get_bool(root, "legacy", false, &legacy, c->err);
    if (!rc)
        rc = sl_json_get_bool(root, "add_prefix_space", false, &prefix, c->err);
    if (rc || (prefix && (legacy || !v->norms[0].dummy_prefix)))
        return rc;
    v->norms[0].dummy_prefix = false;
    if (!prefix) {
        v->n_decoders -= v->decoders[v->n_decoders - 1].kind == SL_DECODE_STRIP;
        return SL_OK;
    }
    sl_pretok_step *step = sl_vocab_add_pretok(v, SL_PRETOK_METASPACE);
    if (!step)
        return sl_fill_no_memory(&f);
    step->prepend = SL_PREPEND_FIRST;
    return sl_fill_keep(&f, (sl_bytes){ "\xe2\x96\x81", 3 }, &step->text);
}

/* ---- ends of an answer ----------------------------------------------------------------------- */

#define ENDS_MAX 64

/* "eos_token_id": a number or a list. *said: the file has the key. */
static sl_status read_ends(sl_vocab *v, const char *dir, const char *name, bool *said, sl_err *err)
{
    sl_small_json j = { 0 };
    int32_t ends[ENDS_MAX];
    size_t n = 0;
    sl_status rc = sl_small_json_open(&j, dir, name, err);
    if (rc)
        return rc;
    const sl_json *m = sl_json_get(j.root, "eos_token_id");
    const bool list = m && m->kind == SL_JSON_ARRAY;
    *said = m != NULL;
    if (list && m->n > ENDS_MAX)
        rc = sl_json_fail(err, SL_EUNSUPPORTED, m, "more than %d ids", ENDS_MAX);
    for (const sl_json *one = list ? m->first : m; one && !rc; one = list ? one->next : NULL) {
        int64_t id = -1;
        if (!sl_json_int(one, &id) || id < 0 || id > INT32_MAX)
            rc = sl_json_fail(err, SL_EFORMAT, one, "no id of a token");
        else if ((size_t)id < v->n_tokens) /* else a row of the model that no token has */
            ends[n++] = (int32_t)id;
    }
    if (rc)
        rc = sl_fail_in(err, rc, "%s", j.path);
    sl_small_json_close(&j);
    if (rc || n == 0)
        return rc;
    sl_fill f = { .v = v, .err = err };
    v->n_ends = n;
    return sl_fill_ids(&f, ends, n, &v->ends);
}

/* generation_config.json, and the model's own configuration where that is silent: as Transformers makes one of it. */
static sl_status read_all_ends(sl_vocab *v, const char *dir, sl_err *err)
{
    bool said = false;
    const sl_status rc = read_ends(v, dir, "generation_config.json", &said, err);
    return rc || said ? rc : read_ends(v, dir, "config.json", &said, err);
}

sl_status sl_text_config(sl_vocab *v, const char *dir, const sl_small_json *main, bool own_specials, sl_err *err)
{
    sl_small_json map = { 0 }, more = { 0 };
    const bool pieces = v->n_norms > 0 && v->norms[0].kind == SL_NORM_SENTENCEPIECE;
    config c = { .v = v,
                 .main = main,
                 .map = &map,
                 .more = &more,
                 .at = main,
                 .wrapper = find_wrapper(main->root),
                 .own_specials = own_specials,
                 .err = err };
    sl_status rc = sl_small_json_open(&map, dir, "special_tokens_map.json", err);
    if (!rc && pieces && !sl_json_get(main->root, "added_tokens_decoder"))
        rc = sl_small_json_open(&more, dir, "added_tokens.json", err);
    if (rc) {
        sl_small_json_close(&map);
        return rc;
    }
    rc = begin(&c);
    if (!rc)
        rc = read_added(&c);
    if (!rc)
        rc = read_more(&c);
    if (!rc)
        rc = read_roles(&c);
    if (!rc) {
        c.at = main;
        rc = read_around(&c);
    }
    if (!rc)
        rc = pieces ? read_pieces_prefix(&c) : read_prefix_space(&c);
    if (rc)
        rc = sl_fail_in(err, rc, "%s", c.at->path);
    sl_names_fini(&c.names);
    sl_mem_free(c.added_at);
    sl_small_json_close(&map);
    sl_small_json_close(&more);
    return rc ? rc : read_all_ends(v, dir, err);
}
