/* mem.c - heap blocks, the fault that tests inject, and mapped pages. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/num.h"

static atomic_long fail_countdown = -1; /* negative: off; 0: every allocation fails */

void sl_mem_fail_after(long n)
{
    atomic_store(&fail_countdown, n < 0 ? -1 : n);
}

static bool fault_is_due(void)
{
    long n = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    while (n > 0) /* concurrent allocations each take one step of the countdown */
        if (atomic_compare_exchange_weak(&fail_countdown, &n, n - 1))
            return false;
    return n == 0;
}

/* The exact size goes to the system, not one rounded up: sanitizers then see the true end. */
void *sl_mem_alloc(size_t bytes)
{
    void *p = NULL;
    if (fault_is_due() || bytes > PTRDIFF_MAX)
        return NULL;
    return posix_memalign(&p, SL_MEM_ALIGN, bytes ? bytes : 1) == 0 ? p : NULL;
}

void *sl_mem_zalloc(size_t n, size_t size)
{
    size_t bytes = 0;
    if (!sl_mul_ok(n, size, &bytes))
        return NULL;
    void *p = sl_mem_alloc(bytes);
    if (p)
        memset(p, 0, bytes);
    return p;
}

/* realloc would lose the alignment. */
void *sl_mem_grow(void *p, size_t old_bytes, size_t new_bytes)
{
    void *q = sl_mem_alloc(new_bytes);
    if (q && p) {
        memcpy(q, p, SL_MIN(old_bytes, new_bytes));
        sl_mem_free(p);
    }
    return q;
}

char *sl_mem_strdup(const char *s)
{
    return sl_mem_strndup(s, strlen(s));
}

char *sl_mem_strndup(const char *s, size_t n)
{
    const size_t len = strnlen(s, n);
    char *p = sl_mem_alloc(len + 1);
    if (p) {
        memcpy(p, s, len);
        p[len] = '\0';
    }
    return p;
}

void sl_mem_free(void *p)
{
    free(p);
}

void *sl_mem_map(size_t bytes)
{
    if (fault_is_due())
        return NULL;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void sl_mem_unmap(void *p, size_t bytes)
{
    if (p)
        munmap(p, bytes);
}
