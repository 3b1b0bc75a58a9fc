/* pool.c - the team, its barrier, and how threads wait.
 *
 * All waiting is on one kind of word: a number that steps by 2, and bit 0, which a waiter sets
 * before it parks in the kernel. Whoever steps the word swaps it and sees by the old bit 0 whether
 * anybody must be woken, so the usual case (all still spinning) is one atomic and no system call.
 */
#include "base/pool.h"

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cpu_in.h"
#include "base/mem.h"
#include "base/num.h"

#define THREADS_MAX 4096 /* above it is a typing error */

/* Pauses before parking: some 0.3 to 1 ms, longer than the gaps inside a step and between steps. With
 * more threads than CPUs a spinning thread keeps from its CPU the one it waits for. */
#define SPINS_MANY 20000
#define SPINS_FEW  50

#define PARKED 1u
#define STEP   2u

typedef struct worker {
    sl_pool *pool;
    size_t index;
    pthread_t id;
} worker;

struct sl_pool {
    size_t n_threads, n_started; /* n_started counts workers, without the caller */
    unsigned spins;
    bool running, pinned;
    sl_cpu_set mask; /* of the caller in a run, if pinned */
    sl_pool_fn *fn;  /* NULL: end */
    void *arg;
    _Alignas(64) atomic_uint gate;    /* steps when a run starts */
    _Alignas(64) atomic_uint arrived; /* at the barrier, of this round */
    _Alignas(64) atomic_uint round;   /* steps when all have arrived */
    atomic_uint patience;             /* pauses at a barrier before parking, at most `spins` */
    _Alignas(64) worker workers[];
};

_Static_assert(sizeof(atomic_uint) == sizeof(uint32_t), "a futex is 32 bits");

static void futex(atomic_uint *word, int op, unsigned value)
{
    syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static unsigned count_of(unsigned value)
{
    return value & ~PARKED;
}

/* Wait until the word's count is no longer `old`; return the new count, and whether it took parking. */
static unsigned wait_for_step(atomic_uint *word, unsigned old, unsigned spins, bool *parked)
{
    unsigned v;
    *parked = false;
    for (unsigned i = 0; i < spins; i++) {
        v = atomic_load_explicit(word, memory_order_acquire);
        if (count_of(v) != old)
            return count_of(v);
        pause_cpu();
    }
    *parked = true;
    v = old;
    if (atomic_compare_exchange_strong_explicit(word, &v, old | PARKED, memory_order_acquire, memory_order_acquire))
        v = old | PARKED;
    while (count_of(v) == old) {
        futex(word, FUTEX_WAIT, old | PARKED); /* returns at once when the word has moved on */
        v = atomic_load_explicit(word, memory_order_acquire);
    }
    return count_of(v);
}

static void step(atomic_uint *word, unsigned old)
{
    if (atomic_exchange_explicit(word, old + STEP, memory_order_acq_rel) & PARKED)
        futex(word, FUTEX_WAKE, INT_MAX);
}

/* Arrive; true for the last one, who has opened the round for all. */
static bool arrive(sl_pool *p, unsigned round)
{
    if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) + 1 < p->n_threads)
        return false;
    /* Nobody arrives for the next round before `round` steps, so this store cannot lose one. */
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    step(&p->round, round);
    return true;
}

/* Own arrival is still missing, so the round cannot step meanwhile; only its PARKED bit may change. */
static unsigned current_round(sl_pool *p)
{
    return count_of(atomic_load_explicit(&p->round, memory_order_relaxed));
}

void sl_pool_barrier(sl_pool *pool)
{
    if (pool->n_threads == 1)
        return;
    const unsigned round = current_round(pool);
    if (arrive(pool, round))
        return;
    bool parked = false;
    const unsigned patience = atomic_load_explicit(&pool->patience, memory_order_relaxed);
    wait_for_step(&pool->round, round, patience, &parked);
    /* Who had to park waits for a thread without a CPU, which spinning keeps from it: spin less, and
     * more again as waits turn out short. */
    const unsigned next = parked ? SL_MAX(patience / 8, SPINS_FEW) : SL_MIN(patience * 2, pool->spins);
    if (next != patience)
        atomic_store_explicit(&pool->patience, next, memory_order_relaxed);
}

static void *work(void *arg)
{
    const worker *w = arg;
    sl_pool *p = w->pool;
    bool parked = false;
    for (unsigned seen = 0;;) {
        seen = wait_for_step(&p->gate, seen, p->spins, &parked);
        if (!p->fn)
            return NULL;
        p->fn(p->arg, w->index);
        arrive(p, current_round(p)); /* only the caller waits for the end */
    }
}

size_t sl_pool_cpu_of(const sl_cpu_set *cpus, size_t thread, size_t n_threads)
{
    const size_t n = sl_cpu_set_count(cpus);
    size_t nth = n_threads <= n ? thread * n / n_threads : thread % n, cpu = 0;
    while (!sl_cpu_set_has(cpus, cpu) || nth-- > 0)
        cpu++;
    return cpu;
}

static void mask_of(sl_cpu_set *out, const sl_cpu_set *cpus, bool each, size_t thread, size_t n_threads)
{
    *out = each ? (sl_cpu_set){ 0 } : *cpus;
    if (each)
        sl_cpu_set_add(out, sl_pool_cpu_of(cpus, thread, n_threads));
}

sl_status sl_pool_pin(sl_pool *p, const sl_cpu_set *cpus, bool each, sl_err *err)
{
    assert(!p->running && sl_cpu_set_count(cpus));
    for (size_t i = 0; i < p->n_started; i++) {
        sl_cpu_set mask;
        mask_of(&mask, cpus, each, i + 1, p->n_threads);
        const int rc = pthread_setaffinity_np(p->workers[i].id, sizeof mask, (const cpu_set_t *)(const void *)&mask);
        if (rc)
            return sl_fail(err, SL_EUNSUPPORTED, "keeping thread %zu on its CPU: %s", i + 2, strerror(rc));
    }
    mask_of(&p->mask, cpus, each, 0, p->n_threads);
    p->pinned = true;
    return SL_OK;
}

static void set_mask(const sl_cpu_set *mask)
{
    pthread_setaffinity_np(pthread_self(), sizeof *mask, (const cpu_set_t *)(const void *)mask);
}

void sl_pool_run(sl_pool *pool, sl_pool_fn *fn, void *arg)
{
    sl_cpu_set before = { 0 };
    assert(fn && !pool->running);
    if (pool->pinned) { /* the caller's thread is its own outside of runs */
        sl_cpu_affinity(&before);
        set_mask(&pool->mask);
    }
    pool->running = true;
    pool->fn = fn;
    pool->arg = arg;
    if (pool->n_threads > 1)
        step(&pool->gate, count_of(atomic_load_explicit(&pool->gate, memory_order_relaxed)));
    fn(arg, 0);
    sl_pool_barrier(pool);
    if (pool->pinned)
        set_mask(&before);
    pool->running = false;
}

static int start_worker(worker *w)
{
    const int rc = pthread_create(&w->id, NULL, work, w);
    if (rc == 0) {
        char name[16];
        snprintf(name, sizeof name, "sluice-%zu", w->index);
        pthread_setname_np(w->id, name);
    }
    return rc;
}

/* Signals to the process are for the caller's thread; those that a fault raises stay open. */
static int start_workers(sl_pool *p)
{
    sigset_t mask, old;
    sigfillset(&mask);
    const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&mask, faults[i]);
    pthread_sigmask(SIG_SETMASK, &mask, &old);
    int rc = 0;
    while (rc == 0 && p->n_started + 1 < p->n_threads) {
        worker *w = &p->workers[p->n_started];
        *w = (worker){ .pool = p, .index = p->n_started + 1 };
        rc = start_worker(w);
        p->n_started += rc == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

sl_status sl_pool_create(sl_pool **out, size_t n_threads, sl_err *err)
{
    *out = NULL;
    if (n_threads == 0 || n_threads > THREADS_MAX)
        return sl_fail(err, SL_EINVAL, "%zu threads, expected 1 to %d", n_threads, THREADS_MAX);
    sl_pool *p = sl_mem_zalloc(1, sizeof *p + (n_threads - 1) * sizeof(worker));
    if (!p)
        return sl_fail(err, SL_ENOMEM, "no memory for the team of %zu threads", n_threads);
    p->n_threads = n_threads;
    p->spins = n_threads <= sl_cpu_logical() ? SPINS_MANY : SPINS_FEW;
    atomic_init(&p->patience, p->spins);
    const int rc = start_workers(p);
    if (rc != 0) {
        const size_t started = p->n_started;
        sl_pool_destroy(p);
        return sl_fail(err, SL_ENOMEM, "thread %zu of %zu: %s", started + 2, n_threads, strerror(rc));
    }
    *out = p;
    return SL_OK;
}

void sl_pool_destroy(sl_pool *pool)
{
    if (!pool)
        return;
    assert(!pool->running);
    pool->fn = NULL;
    step(&pool->gate, count_of(atomic_load_explicit(&pool->gate, memory_order_relaxed)));
    for (size_t i = 0; i < pool->n_started; i++)
        pthread_join(pool->workers[i].id, NULL);
    sl_mem_free(pool);
}

size_t sl_pool_threads(const sl_pool *pool)
{
    return pool->n_threads;
}
