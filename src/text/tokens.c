/* tokens.c - a text's tokens, and text to ids and back. */
#include "base/mem.h"
#include "text/append_in.h"
#include "text/text.h"

_Static_assert((int)SL_TEXT_ADD_SPECIAL == (int)SL_TOK_ADD_SPECIAL &&
                   (int)SL_TEXT_PARSE_SPECIAL == (int)SL_TOK_PARSE_SPECIAL,
               "the public flags are the tokenizer's");

size_t sl_text_n_tokens(const sl_text *t)
{
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, NULL);
    return tokenizer ? sl_tokenizer_size(tokenizer) : 0;
}

int32_t sl_text_bos(const sl_text *t)
{
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, NULL);
    return tokenizer ? sl_tokenizer_bos(tokenizer) : -1;
}

int32_t sl_text_eos(const sl_text *t)
{
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, NULL);
    return tokenizer ? sl_tokenizer_eos(tokenizer) : -1;
}

bool sl_text_is_end(const sl_text *t, int32_t id)
{
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, NULL);
    return tokenizer && sl_tokenizer_ends(tokenizer, id);
}

int32_t sl_text_find(const sl_text *t, const char *text, size_t len)
{
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, NULL);
    return tokenizer ? sl_tokenizer_find(tokenizer, text, len) : -1;
}

sl_bytes sl_text_token(const sl_text *t, int32_t id, bool special)
{
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, NULL);
    return tokenizer ? sl_token_bytes(tokenizer, id, special) : (sl_bytes){ "", 0 };
}

sl_status sl_text_tokenize(const sl_text *t, const char *text, size_t len, unsigned flags, sl_ids *ids, sl_err *err)
{
    sl_err why = { 0 };
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, &why);
    return tokenizer ? sl_tokenize(tokenizer, text, len, flags, ids, err) : sl_fail(err, why.code, "%s", why.msg);
}

sl_status sl_text_detokenize(const sl_text *t, const int32_t *ids, size_t n, bool special, sl_str *out, sl_err *err)
{
    sl_err why = { 0 };
    sl_detok d;
    const sl_str before = *out;
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, &why);
    if (!tokenizer)
        return sl_fail(err, why.code, "%s", why.msg);
    sl_detok_init(&d, tokenizer, special);
    for (size_t i = 0; i < n && !out->failed; i++)
        sl_detok_next(&d, ids[i], out);
    sl_detok_flush(&d, out);
    return sl_appended(out, &before, err);
}

/* ---- piece by piece --------------------------------------------------------------- */

struct sl_detokenizer {
    sl_detok state;
};

sl_status sl_detokenizer_create(sl_detokenizer **out, const sl_text *t, bool special, sl_err *err)
{
    sl_err why = { 0 };
    const sl_tokenizer *tokenizer = sl_text_tokenizer(t, &why);
    *out = NULL;
    if (!tokenizer)
        return sl_fail(err, why.code, "%s", why.msg);
    sl_detokenizer *d = sl_mem_zalloc(1, sizeof *d);
    if (!d)
        return sl_fail(err, SL_ENOMEM, "no memory for a detokenizer");
    sl_detok_init(&d->state, tokenizer, special);
    *out = d;
    return SL_OK;
}

void sl_detokenizer_destroy(sl_detokenizer *d)
{
    sl_mem_free(d);
}

void sl_detokenizer_restart(sl_detokenizer *d, const int32_t *prompt, size_t n)
{
    const sl_tokenizer *tokenizer = d->state.tokenizer;
    const bool special = d->state.special;
    if (n)
        sl_detok_init_after(&d->state, tokenizer, special, prompt, n);
    else
        sl_detok_init(&d->state, tokenizer, special);
}

sl_status sl_detokenizer_feed(sl_detokenizer *d, int32_t id, sl_str *out, sl_err *err)
{
    const sl_str before = *out;
    const sl_detok state = d->state;
    sl_detok_next(&d->state, id, out);
    const sl_status rc = sl_appended(out, &before, err);
    if (rc)
        d->state = state;
    return rc;
}

sl_status sl_detokenizer_flush(sl_detokenizer *d, sl_str *out, sl_err *err)
{
    const sl_str before = *out;
    const sl_detok state = d->state;
    sl_detok_flush(&d->state, out);
    const sl_status rc = sl_appended(out, &before, err);
    if (rc)
        d->state = state;
    return rc;
}
