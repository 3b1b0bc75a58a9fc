/* vocab.c - life of the neutral form. */
#include "tokenizer/vocab.h"

#include <string.h>

#define CHUNK_BYTES ((size_t)256 << 10)

void sl_vocab_init(sl_vocab *v)
{
    *v = (sl_vocab){ .bos = -1, .eos = -1, .eot = -1, .unk = -1, .pad = -1 };
    sl_arena_init(&v->arena, CHUNK_BYTES);
}

void sl_vocab_fini(sl_vocab *v)
{
    sl_arena_fini(&v->arena);
    sl_vocab_init(v);
}

/* The array *steps of *n elements, one longer. Lists are short: a copy each time is fine. */
static void *append(sl_vocab *v, void **steps, size_t *n, size_t size)
{
    char *grown = sl_arena_alloc(&v->arena, *n + 1, size);
    if (!grown)
        return NULL;
    if (*n)
        memcpy(grown, *steps, *n * size);
    *steps = grown;
    return grown + (*n)++ * size;
}

sl_norm_step *sl_vocab_add_norm(sl_vocab *v, sl_norm_kind kind)
{
    void *steps = v->norms;
    sl_norm_step *s = append(v, &steps, &v->n_norms, sizeof *s);
    v->norms = steps;
    if (s)
        s->kind = kind;
    return s;
}

sl_pretok_step *sl_vocab_add_pretok(sl_vocab *v, sl_pretok_kind kind)
{
    void *steps = v->pretoks;
    sl_pretok_step *s = append(v, &steps, &v->n_pretoks, sizeof *s);
    v->pretoks = steps;
    if (s)
        s->kind = kind;
    return s;
}

sl_decode_step *sl_vocab_add_decoder(sl_vocab *v, sl_decode_kind kind)
{
    void *steps = v->decoders;
    sl_decode_step *s = append(v, &steps, &v->n_decoders, sizeof *s);
    v->decoders = steps;
    if (s)
        s->kind = kind;
    return s;
}

sl_pretok_step *sl_vocab_add_split(sl_vocab *v, const char *regex)
{
    sl_pretok_step *s = sl_vocab_add_pretok(v, SL_PRETOK_SPLIT);
    if (s) {
        s->pattern = (sl_bytes){ regex, strlen(regex) };
        s->regex = true;
        s->behavior = SL_SPLIT_ISOLATED;
    }
    return s;
}
