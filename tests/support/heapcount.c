/* heapcount.c - malloc and its relatives, counted. glibc keeps its own under __libc_ names,
 * which is all that stands behind these. */
#include "support/heapcount.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static struct {
    atomic_size_t calls, frees, live, peak, largest;
} count;

heapcount heapcount_get(void)
{
    return (heapcount){
        .calls = atomic_load(&count.calls),
        .frees = atomic_load(&count.frees),
        .live_bytes = atomic_load(&count.live),
        .peak_bytes = atomic_load(&count.peak),
        .largest = atomic_load(&count.largest),
    };
}

void heapcount_restart(void)
{
    atomic_store(&count.calls, 0);
    atomic_store(&count.frees, 0);
    atomic_store(&count.largest, 0);
    atomic_store(&count.peak, atomic_load(&count.live));
}

bool heapcount_works(void)
{
    if (SANITIZED)
        return false;
    /* Valgrind redirects the call, not the function: no inlining here. */
    void *(*volatile take)(size_t) = malloc;
    const size_t before = atomic_load(&count.calls);
    free(take(1));
    return atomic_load(&count.calls) > before;
}

#if !SANITIZED

#define EXPORTED __attribute__((visibility("default"))) /* libc's own calls come here too */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *p);

static void raise_to(atomic_size_t *max, size_t value)
{
    size_t seen = atomic_load_explicit(max, memory_order_relaxed);
    while (seen < value &&
           !atomic_compare_exchange_weak_explicit(max, &seen, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void *taken(void *p, size_t bytes)
{
    atomic_fetch_add_explicit(&count.calls, 1, memory_order_relaxed);
    raise_to(&count.largest, bytes);
    if (p) {
        const size_t usable = malloc_usable_size(p);
        raise_to(&count.peak, atomic_fetch_add_explicit(&count.live, usable, memory_order_relaxed) + usable);
    }
    return p;
}

static void given_back(size_t usable)
{
    atomic_fetch_add_explicit(&count.frees, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&count.live, usable, memory_order_relaxed);
}

EXPORTED void *malloc(size_t bytes)
{
    return taken(__libc_malloc(bytes), bytes);
}

EXPORTED void *calloc(size_t n, size_t size)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, size, &bytes))
        bytes = SIZE_MAX;
    return taken(__libc_calloc(n, size), bytes);
}

EXPORTED void *realloc(void *p, size_t bytes)
{
    const size_t before = p ? malloc_usable_size(p) : 0;
    void *q = __libc_realloc(p, bytes);
    /* Only a failure (a size above 0) leaves the old block alive. */
    if (p && (q || bytes == 0))
        given_back(before);
    return taken(q, bytes);
}

EXPORTED void free(void *p)
{
    if (!p)
        return;
    given_back(malloc_usable_size(p));
    __libc_free(p);
}

EXPORTED void *memalign(size_t align, size_t bytes)
{
    return taken(__libc_memalign(align, bytes), bytes);
}

EXPORTED void *aligned_alloc(size_t align, size_t bytes)
{
    return memalign(align, bytes);
}

EXPORTED int posix_memalign(void **out, size_t align, size_t bytes)
{
    if (align % sizeof(void *) != 0 || align == 0 || (align & (align - 1)) != 0)
        return EINVAL;
    void *p = memalign(align, bytes);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

EXPORTED void *valloc(size_t bytes)
{
    return memalign(4096, bytes);
}

#endif
