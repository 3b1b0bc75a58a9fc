/* tokenizer.c - a vocabulary made ready, and what can be asked about it. */
#include "tokenizer/tokenizer.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/impl.h"

/* Control tokens that end an answer in the models that have them, whatever eos says: models
 * end a turn with one and a document with another, and files name only one of the two. Where a
 * model calls a tool it stops as well. */
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
    "[EOS]",
    "<|return|>",
    "<|call|>",
    "<|eot|>",
    "<|end_of_turn|>",
    "<|user|>",
    "<|observation|>",
    "<eos>",
    "<|eos|>",
    "<EOD>",
    "<turn|>",
    "[e~[",
};

/* --- making ------------------------------------------------------------------------------ */

static sl_status check_id(const char *what, int32_t id, size_t n_tokens, sl_err *err)
{
    if (id < -1 || (id >= 0 && (size_t)id >= n_tokens))
        return sl_fail(err, SL_EFORMAT, "vocabulary: %s token %d, but there are %zu tokens", what, id, n_tokens);
    return SL_OK;
}

static sl_status check_named(const char *what, int32_t id, size_t n_tokens, sl_err *err)
{
    return id >= 0 ? check_id(what, id, n_tokens, err) : sl_fail(err, SL_EFORMAT, "vocabulary: %s token %d", what, id);
}

static sl_status check_ids(const sl_vocab *v, sl_err *err)
{
    const struct {
        const char *what;
        int32_t id;
    } ids[] = { { "bos", v->bos }, { "eos", v->eos }, { "eot", v->eot }, { "unknown", v->unk }, { "padding", v->pad } };
    sl_status rc = SL_OK;
    for (size_t i = 0; i < SL_COUNT(ids) && rc == SL_OK; i++)
        rc = check_id(ids[i].what, ids[i].id, v->n_tokens, err);
    for (size_t i = 0; i < v->n_added && rc == SL_OK; i++)
        rc = check_named("added", v->added[i].id, v->n_tokens, err);
    for (size_t i = 0; i < v->n_ends && rc == SL_OK; i++)
        rc = check_named("ending", v->ends[i], v->n_tokens, err);
    for (size_t i = 0; i < v->n_prefix + v->n_suffix && rc == SL_OK; i++) {
        const int32_t id = i < v->n_prefix ? v->prefix[i] : v->suffix[i - v->n_prefix];
        if (id < 0 || (size_t)id >= v->n_tokens)
            rc = sl_fail(err, SL_EFORMAT, "vocabulary: adds token %d to a text, but there are %zu tokens", id,
                         v->n_tokens);
    }
    return rc;
}

static void mark_end(sl_tokenizer *t, int32_t id)
{
    if (id >= 0)
        t->lexicon.kind[id] |= SL_LEXICON_END;
}

/* -1: no control token is called so. */
static int32_t control_token(const sl_tokenizer *t, const char *text)
{
    const int32_t id = sl_tokenizer_find(t, text, strlen(text));
    return id >= 0 && sl_lexicon_kind(&t->lexicon, (size_t)id) == SL_TOKEN_CONTROL ? id : -1;
}

static void mark_tokens(sl_tokenizer *t, const sl_vocab *v)
{
    for (size_t i = 0; i < v->n_added; i++)
        if (v->added[i].special)
            t->lexicon.kind[v->added[i].id] |= SL_LEXICON_HIDDEN;
    mark_end(t, v->eos);
    mark_end(t, v->eot);
    for (size_t i = 0; i < v->n_ends; i++)
        mark_end(t, v->ends[i]);
    for (size_t i = 0; i < SL_COUNT(END_TEXTS); i++)
        mark_end(t, control_token(t, END_TEXTS[i]));
    /* In Phi's vocabularies it ends a turn; in gpt-oss', which has both of these, each message of one. */
    if (control_token(t, "<|return|>") < 0 || control_token(t, "<|call|>") < 0)
        mark_end(t, control_token(t, "<|end|>"));
}

static sl_status keep_around(sl_tokenizer *t, const sl_vocab *v, sl_err *err)
{
    t->around = sl_mem_zalloc(v->n_prefix + v->n_suffix, sizeof *t->around);
    if (!t->around)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu ids around a text", v->n_prefix + v->n_suffix);
    t->n_prefix = v->n_prefix;
    t->n_suffix = v->n_suffix;
    for (size_t i = 0; i < v->n_prefix; i++)
        t->around[i] = v->prefix[i];
    for (size_t i = 0; i < v->n_suffix; i++)
        t->around[v->n_prefix + i] = v->suffix[i];
    return SL_OK;
}

/* --- added tokens ------------------------------------------------------------------------ */

typedef enum chosen { AS_WRITTEN, NORMALIZED, ALL, CONTROL } chosen;

static bool is_chosen(const sl_tokenizer *t, const sl_added_token *a, chosen what)
{
    if (what == CONTROL)
        return a->special || sl_added_looks_control(sl_lexicon_bytes(&t->lexicon, (size_t)a->id));
    return what == ALL || a->normalized == (what == NORMALIZED);
}

/* Of equal ones the reference takes the special ones first. */
static size_t choose(const sl_tokenizer *t, const sl_vocab *v, chosen what, uint32_t *which)
{
    size_t n = 0;
    for (int special = 1; special >= 0; special--)
        for (size_t i = 0; i < v->n_added; i++)
            if (v->added[i].special == (special == 1) && is_chosen(t, &v->added[i], what))
                which[n++] = (uint32_t)i;
    return n;
}

static sl_status normal_text(const sl_tokenizer *t, sl_norm_work *w, sl_arena *arena, sl_bytes *text, sl_err *err)
{
    sl_bytes form = { 0 };
    const sl_status rc = sl_norm_apply(t->norm, w, *text, false, &form, err);
    if (rc != SL_OK)
        return rc;
    char *copy = sl_arena_memdup(arena, form.data, form.len);
    *text = (sl_bytes){ copy, form.len };
    return copy ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for %zu bytes of an added token", form.len);
}

/* In small letters, since a template may change the case of what people wrote. */
static sl_status lower_text(sl_arena *arena, sl_bytes *text, sl_err *err)
{
    char *copy = sl_arena_memdup(arena, text->data, text->len);
    for (size_t i = 0; copy && i < text->len; i++)
        copy[i] = sl_added_lower(copy[i]);
    *text = (sl_bytes){ copy, text->len };
    return copy ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for %zu bytes of an added token", text->len);
}

/* The tokens that `what` chooses, with the texts that they are matched by. */
typedef struct choice {
    uint32_t *which; /* [n] places in v->added */
    sl_bytes *text;  /* [n] */
    size_t n;
    sl_arena arena; /* of normalised texts */
} choice;

static void choice_fini(choice *c)
{
    sl_mem_free(c->which);
    sl_mem_free(c->text);
    sl_arena_fini(&c->arena);
}

static sl_status choice_init(choice *c, const sl_tokenizer *t, const sl_vocab *v, chosen what, sl_err *err)
{
    sl_norm_work work = { 0 };
    *c = (choice){ 0 };
    sl_arena_init(&c->arena, 4096);
    c->which = sl_mem_alloc(v->n_added * sizeof *c->which);
    c->text = sl_mem_alloc(v->n_added * sizeof *c->text);
    if (!c->which || !c->text)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu added tokens", v->n_added);
    c->n = choose(t, v, what, c->which);
    sl_status rc = SL_OK;
    for (size_t i = 0; i < c->n && rc == SL_OK; i++) {
        c->text[i] = sl_lexicon_bytes(&t->lexicon, (size_t)v->added[c->which[i]].id);
        if (what == NORMALIZED)
            rc = normal_text(t, &work, &c->arena, &c->text[i], err);
        if (what == CONTROL)
            rc = lower_text(&c->arena, &c->text[i], err);
    }
    sl_norm_work_fini(&work);
    return rc;
}

static sl_status make_set(sl_tokenizer *t, const sl_vocab *v, chosen what, sl_added *out, sl_err *err)
{
    choice c;
    sl_status rc = choice_init(&c, t, v, what, err);
    if (rc == SL_OK)
        rc = sl_added_init(out, v->added, c.which, c.text, c.n, err);
    choice_fini(&c);
    return rc;
}

/* The reference shows a token that is matched in normalised text as it is matched. */
static sl_status make_decoder(sl_tokenizer *t, const sl_vocab *v, sl_err *err)
{
    choice c;
    sl_decode_other *other = NULL;
    sl_status rc = choice_init(&c, t, v, NORMALIZED, err);
    if (rc == SL_OK && !(other = sl_mem_alloc(c.n * sizeof *other)))
        rc = sl_fail(err, SL_ENOMEM, "no memory for %zu added tokens", c.n);
    for (size_t i = 0; rc == SL_OK && i < c.n; i++)
        other[i] = (sl_decode_other){ v->added[c.which[i]].id, c.text[i] };
    if (rc == SL_OK)
        rc = sl_decoder_init(&t->decoder, v, &t->lexicon, other, c.n, err);
    sl_mem_free(other);
    choice_fini(&c);
    return rc;
}

static sl_status make_added(sl_tokenizer *t, const sl_vocab *v, sl_err *err)
{
    sl_status rc = make_set(t, v, AS_WRITTEN, &t->raw, err);
    if (rc == SL_OK)
        rc = make_set(t, v, NORMALIZED, &t->normalized, err);
    if (rc == SL_OK)
        rc = make_set(t, v, ALL, &t->written, err);
    return rc == SL_OK ? make_set(t, v, CONTROL, &t->control, err) : rc;
}

/* --- life -------------------------------------------------------------------------------- */

static sl_status make_norm(sl_tokenizer *t, const sl_vocab *v, sl_err *err)
{
    sl_norm_step nfc = { .kind = SL_NORM_NFC };
    sl_vocab named = *v;
    const sl_pretok_known *known = v->pre ? sl_pretok_find(v->pre) : NULL;
    if (known && known->composes && v->n_norms == 0) {
        named.norms = &nfc;
        named.n_norms = 1;
    }
    return sl_norm_create(&t->norm, &named, &t->lexicon, err);
}

static sl_status make(sl_tokenizer *t, const sl_vocab *v, sl_err *err)
{
    sl_status rc = check_ids(v, err);
    if (rc == SL_OK)
        rc = keep_around(t, v, err);
    if (rc == SL_OK && (v->pre || v->n_pretoks > 0))
        rc = sl_pretok_create(&t->pretok, v, err);
    if (rc == SL_OK)
        rc = sl_lexicon_init(&t->lexicon, v, err);
    if (rc == SL_OK)
        rc = make_norm(t, v, err);
    if (rc == SL_OK)
        rc = make_added(t, v, err);
    if (rc == SL_OK)
        rc = v->model == SL_MODEL_UNIGRAM ? sl_unigram_init(&t->unigram, &t->lexicon, v, err)
                                          : sl_bpe_init(&t->bpe, &t->lexicon, v, err);
    if (rc == SL_OK)
        rc = make_decoder(t, v, err);
    if (rc == SL_OK)
        mark_tokens(t, v);
    if (t->pretok && sl_pretok_whole_pieces(t->pretok))
        t->bpe.whole_pieces = true;
    return rc;
}

sl_status sl_tokenizer_create(sl_tokenizer **out, const sl_vocab *v, sl_err *err)
{
    *out = NULL;
    sl_tokenizer *t = sl_mem_zalloc(1, sizeof *t);
    if (!t)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes for a tokenizer", sizeof *t);
    t->model = v->model;
    t->bos = v->bos;
    t->unk = v->unk;
    t->pad = v->pad;
    t->eos = v->eos;
    t->max_chars = v->max_chars;
    t->max_run = v->max_run;
    const sl_status rc = make(t, v, err);
    if (rc != SL_OK) {
        sl_tokenizer_destroy(t);
        return rc;
    }
    *out = t;
    return SL_OK;
}

void sl_tokenizer_destroy(sl_tokenizer *t)
{
    if (!t)
        return;
    sl_mem_free(t->around);
    sl_decoder_fini(&t->decoder);
    sl_bpe_fini(&t->bpe);
    sl_unigram_fini(&t->unigram);
    sl_added_fini(&t->raw);
    sl_added_fini(&t->normalized);
    sl_added_fini(&t->written);
    sl_added_fini(&t->control);
    sl_norm_destroy(t->norm);
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

int32_t sl_tokenizer_unk(const sl_tokenizer *t)
{
    return t->unk;
}

int32_t sl_tokenizer_pad(const sl_tokenizer *t)
{
    return t->pad;
}

int32_t sl_tokenizer_first(const sl_tokenizer *t)
{
    return t->n_prefix ? t->around[0] : -1;
}

bool sl_tokenizer_ends(const sl_tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->lexicon.n && (t->lexicon.kind[id] & SL_LEXICON_END);
}

int32_t sl_tokenizer_find(const sl_tokenizer *t, const char *text, size_t len)
{
    return sl_lexicon_find(&t->lexicon, text, len);
}

size_t sl_tokenizer_next_special(const sl_tokenizer *t, const char *text, size_t len, size_t from, int32_t *id)
{
    int32_t at = -1;
    size_t n = 0;
    const size_t start = sl_added_find(&t->written, text, len, from, &at, &n);
    *id = at >= 0 ? t->written.token[at].id : -1;
    return start;
}

size_t sl_tokenizer_next_control(const sl_tokenizer *t, const char *text, size_t len, size_t from)
{
    return sl_added_find_start(&t->control, text, len, from);
}
