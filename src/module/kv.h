/* kv.h - the KV cache: a pool of pages, each holding P positions of every layer.
 *
 *   layer 0: K head 0: | page 0 | page 1 | … | K head 1: … V head 0: … V head 1: … | layer 1: … |
 *
 * What a head has in all pages lies together: a sequence that got its pages in order is then one stream
 * in memory, and so are the tables that translate its addresses. Latent attention keeps one row for all heads, key and
 * value in one. A sequence owns a list of pages (its block table):
 * position p lies in page table[p / P], slot p % P. Sequences that began alike may share full pages, which count their
 * owners. The pool is one stretch of address space whose pages the system supplies when they are first written. The
 * layout inside a head is the kernels' (kernels.h).
 */
#ifndef SL_MODULE_KV_H
#define SL_MODULE_KV_H

#include <stdbool.h>
#include "base/pages.h"
#include "base/status.h"
#include "kernels/kernels.h"

typedef struct sl_kv_shape {
    size_t n_layers, n_heads, C; /* n_heads: KV heads */
    sl_kv_type type;
    sl_kv_layout layout; /* of keys */
    size_t P;            /* positions of a page, a multiple of 16 */
    size_t n_pages;
    bool latent; /* one row is the key and the value of all heads: n_heads is 1, the layout that of tokens */
} sl_kv_shape;

typedef struct sl_kv sl_kv;

/* SL_ENOMEM; SL_EINVAL when the size overflows; SL_EUNSUPPORTED: pages as the system does not allow them. */
sl_status sl_kv_create(sl_kv **out, const sl_kv_shape *shape, const sl_pages_how *how, sl_err *err);
void sl_kv_destroy(sl_kv *kv); /* accepts NULL */

const sl_pages *sl_kv_block(const sl_kv *kv);
const sl_kv_shape *sl_kv_get_shape(const sl_kv *kv);
bool sl_kv_page_bytes(const sl_kv_shape *shape, size_t *out); /* false on overflow */
const char *sl_kv_type_name(sl_kv_type type);
/* Bytes of one position over all layers, scales included. */
size_t sl_kv_position_bytes(const sl_kv_shape *shape);

size_t sl_kv_pages_free(const sl_kv *kv);
uint32_t sl_kv_page_take(sl_kv *kv);             /* a free page must exist; the one dropped last comes first */
void sl_kv_page_share(sl_kv *kv, uint32_t page); /* one more owner of a page in use; nobody writes to it from now on */
bool sl_kv_page_is_shared(const sl_kv *kv, uint32_t page);
void sl_kv_page_drop(sl_kv *kv, uint32_t page); /* free when its last owner drops it */
void sl_kv_page_copy(sl_kv *kv, uint32_t to, uint32_t from);

/* Of the rows of latent attention every head's keys and values are the same ones. */
sl_kv_head sl_kv_k(const sl_kv *kv, uint32_t page, size_t layer, size_t head);
sl_kv_head sl_kv_v(const sl_kv *kv, uint32_t page, size_t layer, size_t head);

/* Ask memory for what is written soon: a value at slot `at`, or a key, with those between which it lies. */
void sl_kv_fetch_slot(const sl_kv *kv, const sl_kv_head *h, bool key, size_t at);

#endif
