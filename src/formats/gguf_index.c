/* gguf_index.c - names to positions in O(1): a hash table with linear probing. */
#include "formats/gguf.h"

#include <assert.h>
#include <string.h>
#include <sys/random.h>
#include "base/num.h"

/* Multiply, fold the high half onto the low one. */
static uint64_t fold(uint64_t a, uint64_t b)
{
    const unsigned __int128 m = (unsigned __int128)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint64_t hash_name(uint64_t seed, sl_bytes name)
{
    uint64_t h = seed ^ name.len;
    size_t i = 0;
    for (; name.len - i >= 8; i += 8)
        h = fold(h ^ sl_load_le64(name.data + i), 0x9e3779b97f4a7c15u);
    uint64_t tail = 0;
    memcpy(&tail, name.data + i, name.len - i);
    h = fold(h ^ tail, 0xd6e8feb86659fd93u);
    return fold(h ^ seed, 0xa0761d6478bd642fu);
}

static bool same(sl_bytes a, sl_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* The slot that holds the name, or the free one where it belongs. */
static size_t probe(const sl_gguf_index *x, const sl_gguf *g, sl_gguf_name_fn *name_of, sl_bytes name, uint64_t hash)
{
    const uint32_t tag = (uint32_t)(hash >> 32);
    size_t at = hash & x->mask;
    for (; x->slots[at].next; at = (at + 1) & x->mask)
        if (x->slots[at].tag == tag && same(name_of(g, x->slots[at].next - 1), name))
            break;
    return at;
}

sl_status sl_gguf_index_build(sl_gguf_index *x, const sl_gguf *g, sl_gguf_name_fn *name_of, size_t n, size_t *twice)
{
    assert(n < UINT32_MAX / 2);
    size_t n_slots = 2;
    while (n_slots < 2 * n)
        n_slots *= 2;
    x->slots = sl_mem_zalloc(n_slots, sizeof *x->slots);
    if (!x->slots)
        return SL_ENOMEM;
    x->mask = n_slots - 1;
    if (getrandom(&x->seed, sizeof x->seed, GRND_NONBLOCK) != sizeof x->seed)
        x->seed = 0; /* before the system has entropy: only the defence against chosen collisions is lost */
    for (size_t i = 0; i < n; i++) {
        const sl_bytes name = name_of(g, i);
        const uint64_t hash = hash_name(x->seed, name);
        sl_gguf_slot *slot = &x->slots[probe(x, g, name_of, name, hash)];
        if (slot->next) {
            *twice = i;
            return SL_EFORMAT;
        }
        *slot = (sl_gguf_slot){ .tag = (uint32_t)(hash >> 32), .next = (uint32_t)i + 1 };
    }
    return SL_OK;
}

size_t sl_gguf_index_find(const sl_gguf_index *x, const sl_gguf *g, sl_gguf_name_fn *name_of, sl_bytes name)
{
    const uint32_t next = x->slots[probe(x, g, name_of, name, hash_name(x->seed, name))].next;
    return next ? next - 1 : SL_GGUF_NONE;
}
