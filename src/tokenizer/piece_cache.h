/* piece_cache.h - words and their ids, as met in one call: text repeats itself. Of bounded size,
 * and taken only once a text is long enough to pay for it. */
#ifndef SL_TOKENIZER_PIECE_CACHE_H
#define SL_TOKENIZER_PIECE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_CACHE_TEXT 30 /* bytes; longer pieces are not kept */
#define SL_CACHE_IDS  8

typedef struct sl_cached {
    uint8_t len, n; /* of text and ids */
    char text[SL_CACHE_TEXT];
    int32_t id[SL_CACHE_IDS];
} sl_cached;

/* Zero it, then _fini. */
typedef struct sl_piece_cache {
    sl_cached *at;
    size_t n_asked;
} sl_piece_cache;
void sl_piece_cache_fini(sl_piece_cache *c);

/* What is known of a piece (len > 0), or NULL. `*place` is where sl_piece_cache_keep may put it;
 * NULL: nowhere. */
const sl_cached *sl_piece_cache_find(sl_piece_cache *c, const char *text, size_t len, sl_cached **place);
void sl_piece_cache_keep(sl_cached *place, const char *text, size_t len, const int32_t *id, size_t n);

#endif
