/* arena.c - blocks cut one after another from chunks of the heap (mem.h).
 *
 * Under AddressSanitizer the unused part of a chunk is poisoned and every block has a poisoned
 * tail, so that running over the end of one is found as it would be in a heap block. */
#include "base/mem.h"

#include <string.h>

#include "base/num.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif

#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define GUARD_BYTES 16
#else
#define GUARD_BYTES                       0
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define BLOCK_ALIGN 16

struct sl_arena_chunk {
    sl_arena_chunk *next; /* older */
    size_t cap, used;     /* bytes of data */
    _Alignas(BLOCK_ALIGN) unsigned char data[];
};

void sl_arena_init(sl_arena *a, size_t chunk_bytes)
{
    *a = (sl_arena){ .chunk_bytes = chunk_bytes };
}

static sl_arena_chunk *push_chunk(sl_arena *a, size_t cap)
{
    size_t bytes = 0;
    if (!sl_add_ok(sizeof(sl_arena_chunk), cap, &bytes))
        return NULL;
    sl_arena_chunk *c = sl_mem_alloc(bytes);
    if (!c)
        return NULL;
    c->next = a->head;
    c->cap = cap;
    c->used = 0;
    ASAN_POISON_MEMORY_REGION(c->data, c->cap);
    a->head = c;
    return c;
}

void *sl_arena_alloc(sl_arena *a, size_t n, size_t size)
{
    size_t bytes = 0, room = 0;
    if (!sl_mul_ok(n, size, &bytes) || !sl_add_ok(bytes, BLOCK_ALIGN - 1 + GUARD_BYTES, &room))
        return NULL;
    room &= ~(size_t)(BLOCK_ALIGN - 1);
    sl_arena_chunk *c = a->head;
    if (!c || c->cap - c->used < room)
        c = push_chunk(a, SL_MAX(room, a->chunk_bytes));
    if (!c)
        return NULL;
    unsigned char *p = c->data + c->used;
    c->used += room;
    ASAN_UNPOISON_MEMORY_REGION(p, bytes);
    memset(p, 0, bytes);
    return p;
}

char *sl_arena_strndup(sl_arena *a, const char *s, size_t n)
{
    const size_t len = strnlen(s, n);
    char *p = sl_arena_alloc(a, len + 1, 1);
    if (p)
        memcpy(p, s, len);
    return p;
}

char *sl_arena_memdup(sl_arena *a, const void *p, size_t n)
{
    size_t room = 0;
    char *copy = sl_add_ok(n, 1, &room) ? sl_arena_alloc(a, room, 1) : NULL;
    if (copy && n > 0)
        memcpy(copy, p, n);
    return copy;
}

static void free_chunks(sl_arena_chunk *c)
{
    while (c) {
        sl_arena_chunk *next = c->next;
        ASAN_UNPOISON_MEMORY_REGION(c->data, c->cap);
        sl_mem_free(c);
        c = next;
    }
}

/* A round that needed several chunks makes the next one as large as all of them, so that an
 * arena reset over and over soon works in a single chunk and leaves the heap alone. */
void sl_arena_reset(sl_arena *a)
{
    sl_arena_chunk *c = a->head;
    if (!c)
        return;
    if (c->next)
        a->chunk_bytes = SL_MAX(a->chunk_bytes, sl_arena_bytes(a));
    free_chunks(c->next);
    c->next = NULL;
    c->used = 0;
    ASAN_POISON_MEMORY_REGION(c->data, c->cap);
}

void sl_arena_fini(sl_arena *a)
{
    free_chunks(a->head);
    *a = (sl_arena){ 0 };
}

size_t sl_arena_bytes(const sl_arena *a)
{
    size_t sum = 0;
    for (const sl_arena_chunk *c = a->head; c; c = c->next)
        sum += sizeof *c + c->cap;
    return sum;
}
