/* pool.h - a fixed team of threads that runs one function together.
 *
 * The caller is thread 0; the others wait between runs: they spin for a moment,
 * then park in the kernel, so that an idle engine costs nothing. Inside a run,
 * sl_pool_barrier joins all threads (spin, then park), and sl_tiles hands out
 * work: any thread may take any tile, since no result depends on who computes it.
 */
#ifndef SL_BASE_POOL_H
#define SL_BASE_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/cpu.h"
#include "base/status.h"

typedef struct sl_pool sl_pool;
typedef void sl_pool_fn(void *arg, size_t thread);

/* n_threads >= 1, the caller's included. SL_ENOMEM, SL_EINVAL. */
sl_status sl_pool_create(sl_pool **out, size_t n_threads, sl_err *err);
/* Keep the threads, the caller's while it is in a run, to the CPUs of a set: each to one of them, spread evenly, or all
 * to the whole set. SL_EUNSUPPORTED: the system refuses. */
sl_status sl_pool_pin(sl_pool *pool, const sl_cpu_set *cpus, bool each, sl_err *err);
/* The CPU that `each` gives to a thread. */
size_t sl_pool_cpu_of(const sl_cpu_set *cpus, size_t thread, size_t n_threads);
void sl_pool_destroy(sl_pool *pool); /* accepts NULL; not from inside a run */
size_t sl_pool_threads(const sl_pool *pool);

/* Run fn(arg, thread) on every thread, return when all have ended. No heap call. One run at a time. */
void sl_pool_run(sl_pool *pool, sl_pool_fn *fn, void *arg);

/* Wait for all threads of the run; writes before it are seen by all after it. */
void sl_pool_barrier(sl_pool *pool);

/* Tiles 0..n-1, each handed out once. Reset before the threads start to take. */
typedef struct sl_tiles {
    _Alignas(64) atomic_size_t next;
} sl_tiles;

static inline void sl_tiles_reset(sl_tiles *t)
{
    atomic_store_explicit(&t->next, 0, memory_order_relaxed);
}
static inline size_t sl_tiles_take(sl_tiles *t) /* the caller stops at the first number >= n */
{
    return atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
}

/* The same tiles in runs, long ones first and single ones last: a thread then reads memory in
 * order, which hardware and software prefetch need, and the last to finish is not far behind. */
typedef struct sl_runs {
    size_t n_taken, at; /* by any thread so far; start at 0 in each thread */
    unsigned parts;     /* in which a thread's share of what is left is cut; 0: 2 */
} sl_runs;

/* Tiles *first .. *end of n; false when all are given out. */
static inline bool sl_tiles_take_run(sl_tiles *t, sl_runs *r, size_t n, size_t n_threads, size_t *first, size_t *end)
{
    const size_t ticket = sl_tiles_take(t);
    do { /* every thread works out the same runs */
        if (r->at >= n)
            return false;
        const size_t share = (n - r->at) / (n_threads * (r->parts ? r->parts : 2));
        *first = r->at;
        r->at += share > 1 ? share : 1;
    } while (r->n_taken++ < ticket);
    *end = r->at;
    return true;
}

#endif
