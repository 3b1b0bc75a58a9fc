/* bpe.c - the merges as a hash table, and two ways to apply them that agree: a plain loop for
 * words, a heap over a linked list for pieces without end.
 * Source: Sennrich et al. 2016, arXiv 1508.07909, algorithm 1, with GPT-2's bytes as symbols. */
#include "tokenizer/bpe.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

#define NO_RANK    UINT32_MAX
#define SHORT_MOST 48 /* symbols up to which the loop, quadratic but without a heap, is faster */

sl_status sl_ids_push(sl_ids *ids, int32_t id, sl_err *err)
{
    if (ids->n == ids->cap) {
        const size_t cap = ids->cap ? ids->cap * 2 : 64;
        int32_t *grown = sl_mem_grow(ids->data, ids->cap * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return sl_fail(err, SL_ENOMEM, "%zu token ids", cap);
        ids->data = grown;
        ids->cap = cap;
    }
    ids->data[ids->n++] = id;
    return SL_OK;
}

void sl_ids_fini(sl_ids *ids)
{
    sl_mem_free(ids->data);
    *ids = (sl_ids){ 0 };
}

/* --- merges ------------------------------------------------------------------------------ */

sl_status sl_bpe_init(sl_bpe *b, size_t n_merges, sl_err *err)
{
    *b = (sl_bpe){ 0 };
    if (n_merges > INT32_MAX)
        return sl_fail(err, SL_EFORMAT, "%zu merges are too many", n_merges);
    size_t n_slots = 16;
    while (n_slots < n_merges + n_merges / 2)
        n_slots *= 2;
    b->merge = sl_mem_zalloc(n_merges, sizeof *b->merge);
    b->slot = sl_mem_zalloc(n_slots, sizeof *b->slot);
    if (!b->merge || !b->slot) {
        sl_bpe_fini(b);
        return sl_fail(err, SL_ENOMEM, "%zu merges", n_merges);
    }
    b->mask = n_slots - 1;
    for (size_t i = 0; i < SL_COUNT(b->byte_id); i++)
        b->byte_id[i] = -1;
    return SL_OK;
}

void sl_bpe_fini(sl_bpe *b)
{
    sl_mem_free(b->merge);
    sl_mem_free(b->slot);
    *b = (sl_bpe){ 0 };
}

static uint32_t *find_slot(const sl_bpe *b, int32_t left, int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    for (size_t i = (key * 0x9e3779b97f4a7c15u) >> 32 & b->mask;; i = (i + 1) & b->mask) {
        if (b->slot[i] == 0)
            return &b->slot[i];
        const sl_merge *m = &b->merge[b->slot[i] - 1];
        if (m->left == left && m->right == right)
            return &b->slot[i];
    }
}

void sl_bpe_add(sl_bpe *b, sl_merge merge)
{
    b->merge[b->n] = merge;
    *find_slot(b, merge.left, merge.right) = (uint32_t)++b->n;
}

static uint32_t rank_of(const sl_bpe *b, int32_t left, int32_t right)
{
    return *find_slot(b, left, right) - 1; /* a free slot gives NO_RANK */
}

/* The tokens of single bytes, those without one left out; id[] holds at least len. */
static size_t first_symbols(const sl_bpe *b, const char *piece, size_t len, int32_t *id)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        id[n] = b->byte_id[(unsigned char)piece[i]];
        n += id[n] >= 0;
    }
    return n;
}

/* --- words ------------------------------------------------------------------------------- */

static sl_status encode_short(const sl_bpe *b, const char *piece, size_t len, sl_ids *ids, sl_err *err)
{
    int32_t id[SHORT_MOST];
    uint32_t rank[SHORT_MOST]; /* of the pair (i, i + 1) */
    size_t n = first_symbols(b, piece, len, id);
    for (size_t i = 0; i + 1 < n; i++)
        rank[i] = rank_of(b, id[i], id[i + 1]);
    while (n > 1) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (rank[i] < rank[best])
                best = i;
        if (rank[best] == NO_RANK)
            break;
        id[best] = b->merge[rank[best]].joined;
        n--;
        memmove(id + best + 1, id + best + 2, (n - best - 1) * sizeof *id);
        memmove(rank + best, rank + best + 1, (n - best - 1) * sizeof *rank);
        if (best > 0)
            rank[best - 1] = rank_of(b, id[best - 1], id[best]);
        if (best + 1 < n)
            rank[best] = rank_of(b, id[best], id[best + 1]);
    }
    for (size_t i = 0; i < n; i++) {
        const sl_status rc = sl_ids_push(ids, id[i], err);
        if (rc != SL_OK)
            return rc;
    }
    return SL_OK;
}

/* --- long pieces ------------------------------------------------------------------------- */

/* A binary heap of rank << 32 | place: the smallest is the lowest rank, then the leftmost. */
typedef struct heap {
    uint64_t *at;
    size_t n;
} heap;

static void heap_push(heap *h, uint64_t key)
{
    size_t i = h->n++;
    for (; i > 0 && h->at[(i - 1) / 2] > key; i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = key;
}

static uint64_t heap_pop(heap *h)
{
    const uint64_t top = h->at[0], key = h->at[--h->n];
    size_t i = 0;
    for (size_t child = 1; child < h->n; i = child, child = 2 * i + 1) {
        child += child + 1 < h->n && h->at[child + 1] < h->at[child];
        if (h->at[child] >= key)
            break;
        h->at[i] = h->at[child];
    }
    h->at[i] = key;
    return top;
}

typedef struct chain {
    const sl_bpe *b;
    int32_t *id;
    uint32_t *rank;        /* of the pair (i, next[i]); an entry of the heap that says otherwise is stale */
    uint32_t *prev, *next; /* places; `end` for none */
    uint32_t end;
    heap heap;
} chain;

static void rate(chain *c, uint32_t i)
{
    c->rank[i] = c->next[i] == c->end ? NO_RANK : rank_of(c->b, c->id[i], c->id[c->next[i]]);
    if (c->rank[i] != NO_RANK)
        heap_push(&c->heap, (uint64_t)c->rank[i] << 32 | i);
}

static void join(chain *c, uint32_t i)
{
    const uint32_t gone = c->next[i];
    c->id[i] = c->b->merge[c->rank[i]].joined;
    c->next[i] = c->next[gone];
    c->rank[gone] = NO_RANK;
    if (c->next[i] != c->end)
        c->prev[c->next[i]] = i;
    if (c->prev[i] != c->end)
        rate(c, c->prev[i]);
    rate(c, i);
}

static sl_status encode_long(const sl_bpe *b, const char *piece, size_t len, sl_ids *ids, sl_err *err)
{
    if (len > INT32_MAX)
        return sl_fail(err, SL_EINVAL, "%zu bytes of text without a break", len);
    /* Each join takes an entry from the heap and adds at most two: 2 * len in all. */
    sl_status rc = SL_OK;
    uint64_t *block = sl_mem_alloc(len * (2 * sizeof(uint64_t) + 4 * sizeof(uint32_t)));
    if (!block)
        return sl_fail(err, SL_ENOMEM, "merging %zu bytes of text without a break", len);
    chain c = { .b = b, .heap = { block, 0 } };
    c.id = (int32_t *)(block + 2 * len);
    c.rank = (uint32_t *)c.id + len;
    c.prev = c.rank + len;
    c.next = c.prev + len;
    const uint32_t n = c.end = (uint32_t)first_symbols(b, piece, len, c.id);
    for (uint32_t i = 0; i < n; i++) {
        c.prev[i] = i > 0 ? i - 1 : c.end;
        c.next[i] = i + 1;
    }
    for (uint32_t i = 0; i < n; i++)
        rate(&c, i);
    while (c.heap.n > 0) {
        const uint64_t key = heap_pop(&c.heap);
        const uint32_t i = (uint32_t)key;
        if (c.rank[i] == key >> 32)
            join(&c, i);
    }
    for (uint32_t i = 0; i < n && rc == SL_OK; i = c.next[i])
        rc = sl_ids_push(ids, c.id[i], err);
    sl_mem_free(block);
    return rc;
}

sl_status sl_bpe_encode(const sl_bpe *b, const char *piece, size_t len, sl_ids *ids, sl_err *err)
{
    return len <= SHORT_MOST ? encode_short(b, piece, len, ids, err) : encode_long(b, piece, len, ids, err);
}
