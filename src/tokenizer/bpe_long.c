/* bpe_long.c - BPE over a text of any length: a heap of pairs over a linked list of symbols. */
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/bpe_in.h"

/* A heap of rank << 32 | place: the smallest is the lowest rank, then the leftmost. Eight
 * children share a cache line, so that a text of megabytes costs few misses. */
#define FAN 8

typedef struct heap {
    uint64_t *at; /* children of i: FAN * i + 1 ... */
    size_t n;
} heap;

static void sift_down(heap *h, size_t i, uint64_t key)
{
    for (size_t child = FAN * i + 1; child < h->n; child = FAN * i + 1) {
        const size_t end = SL_MIN(child + FAN, h->n);
        size_t least = child;
        for (size_t c = child + 1; c < end; c++)
            if (h->at[c] < h->at[least])
                least = c;
        if (h->at[least] >= key)
            break;
        h->at[i] = h->at[least];
        i = least;
    }
    h->at[i] = key;
}

static void heap_order(heap *h)
{
    for (size_t i = h->n > 1 ? (h->n - 2) / FAN + 1 : 0; i-- > 0;)
        sift_down(h, i, h->at[i]);
}

static void heap_push(heap *h, uint64_t key)
{
    size_t i = h->n++;
    for (; i > 0 && h->at[(i - 1) / FAN] > key; i = (i - 1) / FAN)
        h->at[i] = h->at[(i - 1) / FAN];
    h->at[i] = key;
}

static uint64_t heap_pop(heap *h)
{
    const uint64_t top = h->at[0], key = h->at[--h->n];
    if (h->n > 0)
        sift_down(h, 0, key);
    return top;
}

typedef struct symbol {
    int32_t id;
    uint32_t start;
    uint32_t rank; /* of this and the next; an entry of the heap that says otherwise is stale */
    int32_t joined;
    uint32_t prev, next; /* places; `end` for none */
} symbol;

typedef struct chain {
    const sl_bpe *b;
    sl_bpe_work *w;
    const char *text;
    symbol *at; /* [end + 1]; the last is the end of the text */
    uint32_t end;
    heap heap;
} chain;

/* True: the pair of i and the next may be joined. */
static bool rate(chain *c, uint32_t i)
{
    symbol *s = &c->at[i];
    s->rank = SL_NO_RANK;
    if (s->next == c->end)
        return false;
    const symbol *r = &c->at[s->next];
    const sl_bpe_pair pair = sl_bpe_rate(c->b, c->w, c->text, s->id, r->id, s->start, r->start, c->at[r->next].start);
    s->rank = pair.rank;
    s->joined = pair.joined;
    return pair.rank != SL_NO_RANK;
}

static void push(chain *c, uint32_t i)
{
    if (rate(c, i))
        heap_push(&c->heap, (uint64_t)c->at[i].rank << 32 | i);
}

static void join(chain *c, uint32_t i)
{
    symbol *s = &c->at[i], *gone = &c->at[s->next];
    s->id = s->joined;
    s->next = gone->next;
    gone->rank = SL_NO_RANK;
    if (s->next != c->end)
        c->at[s->next].prev = i;
    if (s->prev != c->end)
        push(c, s->prev);
    push(c, i);
}

/* Lays out the symbols; the two arrays that they are made in lie where the heap will be. */
static void start(chain *c, size_t len)
{
    int32_t *id = (int32_t *)c->heap.at;
    uint32_t *begins = (uint32_t *)id + len + 1;
    const size_t n = sl_bpe_symbols(c->b, c->w, c->text, len, id, begins);
    c->end = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++)
        c->at[i] = (symbol){ id[i], begins[i], SL_NO_RANK, -1, i > 0 ? i - 1 : c->end, i + 1 };
    c->at[n] = (symbol){ .id = -1, .start = (uint32_t)len, .rank = SL_NO_RANK };
    for (uint32_t i = 0; i < n; i++)
        if (rate(c, i))
            c->heap.at[c->heap.n++] = (uint64_t)c->at[i].rank << 32 | i;
    heap_order(&c->heap);
}

sl_status sl_bpe_encode_long(const sl_bpe *b, sl_bpe_work *w, const char *text, size_t len, sl_ids *ids, sl_err *err)
{
    /* Each join takes an entry from the heap and adds at most two: twice the symbols in all. */
    const size_t n = len + 1, bytes = n * (2 * sizeof(uint64_t) + sizeof(symbol)) + sizeof(symbol);
    sl_status rc = SL_OK;
    if (w->block_bytes < bytes) {
        sl_mem_free(w->block);
        w->block_bytes = 0;
        w->block = sl_mem_alloc(bytes);
        if (!w->block)
            return sl_fail(err, SL_ENOMEM, "no memory for merging %zu bytes of text without a break", len);
        w->block_bytes = bytes;
    }
    chain c = { .b = b, .w = w, .text = text, .heap = { w->block, 0 } };
    c.at = (symbol *)((uint64_t *)w->block + 2 * n);
    start(&c, len);
    while (c.heap.n > 0) {
        const uint64_t key = heap_pop(&c.heap);
        const uint32_t i = (uint32_t)key;
        if (c.at[i].rank == key >> 32)
            join(&c, i);
    }
    for (uint32_t i = 0; i < c.end && rc == SL_OK; i = c.at[i].next)
        rc = sl_bpe_emit(b, w, text, c.at[i].start, c.at[c.at[i].next].start, c.at[i].id, ids, err);
    return rc;
}
