/* piece_cache.c - a table in which a piece has one place; the newest stays. */
#include "tokenizer/piece_cache.h"

#include <string.h>

#include "base/mem.h"
#include "tokenizer/lexicon.h"

#define N_PLACES   4096 /* 256 KiB: stays in the second-level cache */
#define ASKED_MOST 256  /* pieces of a text before it gets a table */

const sl_cached *sl_piece_cache_find(sl_piece_cache *c, const char *text, size_t len, sl_cached **place)
{
    *place = NULL;
    if (len > SL_CACHE_TEXT)
        return NULL;
    if (!c->at) {
        if (++c->n_asked != ASKED_MOST) /* asked once: without memory it goes on as before */
            return NULL;
        c->at = sl_mem_zalloc(N_PLACES, sizeof *c->at);
        if (!c->at)
            return NULL;
    }
    sl_cached *at = &c->at[sl_text_hash(text, len) % N_PLACES];
    *place = at;
    return at->len == len && memcmp(at->text, text, len) == 0 ? at : NULL;
}

void sl_piece_cache_keep(sl_cached *place, const char *text, size_t len, const int32_t *id, size_t n)
{
    if (!place || n > SL_CACHE_IDS)
        return;
    place->len = (uint8_t)len;
    place->n = (uint8_t)n;
    memcpy(place->text, text, len);
    if (n > 0)
        memcpy(place->id, id, n * sizeof *id);
}

void sl_piece_cache_fini(sl_piece_cache *c)
{
    sl_mem_free(c->at);
    *c = (sl_piece_cache){ 0 };
}
