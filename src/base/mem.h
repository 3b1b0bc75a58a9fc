/* mem.h - the one way to the heap, arenas, and address space without pages.
 *
 *   sl_mem_*    heap blocks, 64-byte aligned. NULL when there is no memory.
 *   sl_arena    many small objects that live and die together (a model, a plan).
 *   sl_mem_map  whole pages from the system, zero, not resident until touched:
 *               KV cache and workspace.
 *
 * Every heap call of the library goes through here, so that tests can let the
 * n-th one fail (sl_mem_fail_after) and run each error path.
 */
#ifndef SL_BASE_MEM_H
#define SL_BASE_MEM_H

#include <stddef.h>

#define SL_MEM_ALIGN 64

void *sl_mem_alloc(size_t bytes);                               /* content undefined; 0 bytes gives a valid block */
void *sl_mem_zalloc(size_t n, size_t size);                     /* n * size bytes of zero; NULL when that overflows */
void *sl_mem_grow(void *p, size_t old_bytes, size_t new_bytes); /* content kept; on failure NULL and p stays valid */
char *sl_mem_strdup(const char *s);
char *sl_mem_strndup(const char *s, size_t n);
void sl_mem_free(void *p); /* accepts NULL */

/* The n-th allocation from now fails (n = 0: the next), and so do all later ones
 * until the call with n < 0, which switches the fault off. Tests only. */
void sl_mem_fail_after(long n);

void *sl_mem_map(size_t bytes);           /* NULL when the system refuses */
void sl_mem_unmap(void *p, size_t bytes); /* accepts NULL */

typedef struct sl_arena_chunk sl_arena_chunk;
typedef struct sl_arena {
    sl_arena_chunk *head;
    size_t chunk_bytes; /* size of the next chunk, unless a block is larger */
} sl_arena;

void sl_arena_init(sl_arena *a, size_t chunk_bytes);      /* takes no memory yet */
void *sl_arena_alloc(sl_arena *a, size_t n, size_t size); /* n * size bytes of zero, 16-byte aligned; NULL: no memory */
char *sl_arena_strndup(sl_arena *a, const char *s, size_t n); /* up to its NUL, or n bytes; terminated */
char *sl_arena_memdup(sl_arena *a, const void *p, size_t n);  /* n bytes, NULs included; terminated */
/* Forget all blocks but keep the newest chunk for the next round. */
void sl_arena_reset(sl_arena *a);
void sl_arena_fini(sl_arena *a);          /* all blocks become invalid */
size_t sl_arena_bytes(const sl_arena *a); /* taken from the heap */

#endif
