/* trie.c - built level by level from the sorted strings. */
#include "tokenizer/trie.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

#define DIGIT 8 /* bits; an even number of them in 64 */

typedef struct entry {
    uint64_t start; /* the first eight bytes, so that sorting seldom looks at the text */
    uint32_t number;
} entry;

/* Of entries whose first eight bytes are the same. */
static int by_text(const void *left, const void *right, void *texts)
{
    const entry *l = left, *r = right;
    const sl_bytes a = ((const sl_bytes *)texts)[l->number], b = ((const sl_bytes *)texts)[r->number];
    const int order = memcmp(a.data, b.data, SL_MIN(a.len, b.len));
    if (order != 0)
        return order;
    return a.len != b.len ? (a.len < b.len ? -1 : 1) : (l->number > r->number) - (l->number < r->number);
}

/* By their first eight bytes, a digit of DIGIT bits after the other; then what is equal by its
 * text. A comparison of all would take most of the time that a vocabulary takes to load. */
static void sort(entry *e, entry *room, size_t n, const sl_bytes *text)
{
    for (unsigned shift = 0; shift < 64; shift += DIGIT) {
        size_t first[(1u << DIGIT) + 1] = { 0 };
        const uint64_t mask = (1u << DIGIT) - 1;
        for (size_t i = 0; i < n; i++)
            first[(e[i].start >> shift & mask) + 1]++;
        for (size_t k = 1; k <= mask; k++)
            first[k] += first[k - 1];
        for (size_t i = 0; i < n; i++)
            room[first[e[i].start >> shift & mask]++] = e[i];
        entry *other = e;
        e = room;
        room = other;
    }
    for (size_t i = 0, end = 0; i < n; i = end) {
        for (end = i + 1; end < n && e[end].start == e[i].start; end++)
            ;
        if (end - i > 1)
            qsort_r(e + i, end - i, sizeof *e, by_text, (void *)text);
    }
}

static uint64_t start_of(sl_bytes s)
{
    uint64_t key = 0;
    for (size_t i = 0; i < 8; i++)
        key = key << 8 | (i < s.len ? (unsigned char)s.data[i] : 0);
    return key;
}

/* Nodes besides the root: bytes of each string that it does not share with the one before. */
static size_t count_nodes(const entry *e, const sl_bytes *text, size_t n)
{
    size_t nodes = 0;
    sl_bytes before = { "", 0 };
    for (size_t i = 0; i < n; i++) {
        const sl_bytes s = text[e[i].number];
        size_t same = 0;
        while (same < s.len && same < before.len && s.data[same] == before.data[same])
            same++;
        nodes += s.len - same;
        before = s;
    }
    return nodes;
}

/* Entries from[k]..till[k] pass through node k. */
static void fill(sl_trie *t, const entry *e, const sl_bytes *text, uint32_t *from, uint32_t *till)
{
    uint32_t free_node = 1;
    size_t depth = 0;
    for (uint32_t k = 0, level_end = 1; k < t->n; k++) {
        if (k == level_end) {
            level_end = free_node;
            depth++;
        }
        uint32_t at = from[k];
        const uint32_t end = till[k];
        t->node[k].first = free_node;
        t->node[k].value = -1;
        for (; at < end && text[e[at].number].len == depth; at++)
            if (t->node[k].value < 0)
                t->node[k].value = (int32_t)e[at].number;
        while (at < end) {
            const unsigned char byte = (unsigned char)text[e[at].number].data[depth];
            t->label[free_node] = byte;
            from[free_node] = at;
            while (at < end && (unsigned char)text[e[at].number].data[depth] == byte)
                at++;
            till[free_node] = at;
            if (k == 0)
                t->after[byte] = free_node;
            free_node++;
        }
    }
    t->node[t->n].first = free_node;
}

sl_status sl_trie_init(sl_trie *t, const sl_bytes *text, size_t n, sl_err *err)
{
    *t = (sl_trie){ 0 };
    sl_status rc = SL_OK;
    uint32_t *range = NULL;
    size_t total = 1, kept = 0;
    for (size_t i = 0; i < n; i++)
        total = SL_MIN(total + text[i].len, (size_t)1 << 32); /* one string is far below the sum's limit */
    if (n > INT32_MAX || total > INT32_MAX)
        return sl_fail(err, SL_EFORMAT, "vocabulary: %zu tokens with 2 GiB of text or more", n);
    size_t bytes = 0;
    entry *e = sl_mul_ok(2 * n, sizeof *e, &bytes) ? sl_mem_alloc(bytes) : NULL;
    for (size_t i = 0; e && i < n; i++)
        if (text[i].len > 0)
            e[kept++] = (entry){ start_of(text[i]), (uint32_t)i };
    if (e && kept > 0) {
        sort(e, e + n, kept, text);
        t->n = 1 + count_nodes(e, text, kept);
        t->node = sl_mem_alloc((t->n + 1) * sizeof *t->node);
        t->label = sl_mem_zalloc(t->n, sizeof *t->label);
        range = sl_mem_alloc(2 * t->n * sizeof *range);
    }
    if (!e || (kept > 0 && (!t->node || !t->label || !range))) {
        rc = sl_fail(err, SL_ENOMEM, "no memory for a table of %zu tokens", n);
        sl_trie_fini(t);
    } else if (kept > 0) {
        range[0] = 0;
        range[t->n] = (uint32_t)kept;
        fill(t, e, text, range, range + t->n);
    }
    sl_mem_free(range);
    sl_mem_free(e);
    return rc;
}

void sl_trie_fini(sl_trie *t)
{
    sl_mem_free(t->node);
    sl_mem_free(t->label);
    *t = (sl_trie){ 0 };
}

int32_t sl_trie_longest(const sl_trie *t, const char *text, size_t n, size_t *len)
{
    int32_t best = -1;
    *len = 0;
    uint32_t node = 0;
    for (size_t i = 0; i < n && (node = sl_trie_step(t, node, (unsigned char)text[i])) != 0; i++)
        if (t->node[node].value >= 0) {
            best = t->node[node].value;
            *len = i + 1;
        }
    return best;
}
