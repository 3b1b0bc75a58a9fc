/* trie.h - a set of byte strings, walked byte by byte. 9 bytes for a node; read-only once made.
 *
 * Nodes lie in the order of their depth, so those that follow one node are neighbours and need
 * no links: from one node's `first` to the next one's.
 */
#ifndef SL_TOKENIZER_TRIE_H
#define SL_TOKENIZER_TRIE_H

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "tokenizer/vocab.h"

typedef struct sl_trie {
    size_t n; /* nodes; node 0 is the root; 0: an empty set without memory */
    struct sl_trie_node {
        uint32_t first;  /* of the nodes that follow */
        int32_t value;   /* number of the string that ends here, -1: none */
    } * node;            /* [n + 1] */
    uint8_t *label;      /* [n] the byte that leads to a node */
    uint32_t after[256]; /* the node behind each first byte, 0: none */
} sl_trie;

/* The value of a string is its number; of equal ones the lowest counts, empty ones do not.
 * SL_ENOMEM; SL_EFORMAT: 2^31 bytes of text or more. */
sl_status sl_trie_init(sl_trie *t, const sl_bytes *text, size_t n, sl_err *err);
void sl_trie_fini(sl_trie *t);

/* The node behind `node` and `byte`; 0: none. */
static inline uint32_t sl_trie_step(const sl_trie *t, uint32_t node, unsigned char byte)
{
    if (node == 0)
        return t->after[byte];
    uint32_t lo = t->node[node].first, hi = t->node[node + 1].first;
    while (hi - lo > 8) { /* labels ascend */
        const uint32_t mid = lo + (hi - lo) / 2;
        if (t->label[mid] <= byte)
            lo = mid;
        else
            hi = mid;
    }
    for (; lo < hi; lo++)
        if (t->label[lo] == byte)
            return lo;
    return 0;
}

/* The longest string of the set that text begins with, its length in *len; -1: none. */
int32_t sl_trie_longest(const sl_trie *t, const char *text, size_t n, size_t *len);

#endif
