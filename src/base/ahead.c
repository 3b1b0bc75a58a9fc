/* ahead.c - the queue of pieces, and the helpers that bring them in. */
#include "base/ahead.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/pages.h"

#define PIECE_BYTES SL_HUGE_BYTES /* and from a multiple of it: a huge page, which is read whole */
#define QUEUE       4096u         /* pieces; a power of two */
#define STACK_BYTES ((size_t)256 << 10)

typedef struct sl_piece {
    uintptr_t at; /* of whole pages */
    size_t bytes;
    uint64_t end; /* bytes asked for up to here, over all asks */
    sl_ahead_how how;
    bool done;
} sl_piece;

struct sl_ahead {
    size_t window, page;
    size_t n_started;
    int pagemap; /* -1: this system does not tell */
    pthread_mutex_t lock;
    pthread_cond_t work, arrived;
    _Atomic uint64_t wanted;   /* the highest ticket waited for */
    _Atomic uint64_t complete; /* all pieces up to it are done */
    uint64_t asked, taken;     /* pieces so far */
    uint64_t asked_bytes, wanted_bytes;
    uint64_t least_waited; /* ticket; UINT64_MAX: nobody waits */
    bool ending;
    sl_piece piece[QUEUE]; /* number n at n % QUEUE */
    pthread_t helper[];
};

/* ---- helpers ------------------------------------------------------------------------- */

/* Whether every page is mapped: told by proc_pid_pagemap(5), a tenth of the price of asking for each. */
static bool is_mapped(const sl_ahead *a, const sl_piece *p)
{
    uint64_t entry[PIECE_BYTES / 4096]; /* bit 63: present */
    const size_t n = p->bytes / a->page, bytes = n * sizeof *entry;
    if (a->pagemap < 0 || pread(a->pagemap, entry, bytes, (off_t)(p->at / a->page * sizeof *entry)) != (ssize_t)bytes)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!(entry[i] >> 63))
            return false;
    return true;
}

/* Exactly: first all of it to the disk's queue, then wait for it page by page. In blocks: as the system reads ahead at
 * a fault in a mapping that is advised to have huge pages, whatever the device's own read-ahead is. */
static void bring_in(sl_ahead *a, const sl_piece *p)
{
    void *at = (void *)p->at;
    if (is_mapped(a, p))
        return;
    madvise(at, p->bytes, p->how == SL_AHEAD_BLOCKS ? MADV_HUGEPAGE : MADV_WILLNEED);
    sl_pages_touch(at, p->bytes);
}

/* Whether the next piece may be taken: not too far ahead of what is used. */
static bool may_take(const sl_ahead *a)
{
    const sl_piece *p = &a->piece[(a->taken + 1) % QUEUE];
    return a->taken < a->asked && (a->taken < atomic_load_explicit(&a->wanted, memory_order_relaxed) ||
                                   p->end - p->bytes < a->wanted_bytes + a->window);
}

/* Pieces end in any order; waiting is for all up to one. */
static void finish(sl_ahead *a, uint64_t n)
{
    uint64_t complete = atomic_load_explicit(&a->complete, memory_order_relaxed);
    a->piece[n % QUEUE].done = true;
    if (n != complete + 1)
        return;
    while (complete < a->taken && a->piece[(complete + 1) % QUEUE].done)
        complete++;
    atomic_store_explicit(&a->complete, complete, memory_order_release);
    if (complete >= a->least_waited) {
        a->least_waited = UINT64_MAX;
        pthread_cond_broadcast(&a->arrived);
    }
}

static void *help(void *arg)
{
    sl_ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->ending) {
        if (!may_take(a)) {
            pthread_cond_wait(&a->work, &a->lock);
            continue;
        }
        const uint64_t n = ++a->taken;
        const sl_piece p = a->piece[n % QUEUE];
        pthread_mutex_unlock(&a->lock);
        bring_in(a, &p);
        pthread_mutex_lock(&a->lock);
        finish(a, n);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---- asking and waiting ---------------------------------------------------------------- */

static size_t page_of(const void *data, size_t bytes, size_t page, uintptr_t *at)
{
    *at = (uintptr_t)data & ~(uintptr_t)(page - 1);
    return sl_round_up((uintptr_t)data + bytes - *at, page);
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

uint64_t sl_ahead_pieces(const void *data, size_t bytes)
{
    uintptr_t at = 0;
    const size_t whole = page_of(data, bytes, page_bytes(), &at);
    return SL_MAX(sl_div_up(at % PIECE_BYTES + whole, PIECE_BYTES), 1u);
}

static void add(sl_ahead *a, uintptr_t at, size_t bytes, sl_ahead_how how)
{
    a->asked_bytes += bytes;
    a->piece[(a->asked + 1) % QUEUE] = (sl_piece){ .at = at, .bytes = bytes, .end = a->asked_bytes, .how = how };
    a->asked++;
}

void sl_ahead_ask(sl_ahead *a, const void *data, size_t bytes, sl_ahead_how how)
{
    uintptr_t at = 0;
    size_t left = page_of(data, bytes, a->page, &at);
    pthread_mutex_lock(&a->lock);
    do {
        while (a->asked - atomic_load_explicit(&a->complete, memory_order_relaxed) == QUEUE) {
            const uint64_t oldest = a->asked - QUEUE + 1;
            pthread_mutex_unlock(&a->lock);
            sl_ahead_wait(a, oldest);
            pthread_mutex_lock(&a->lock);
        }
        const size_t n = SL_MIN(left, PIECE_BYTES - at % PIECE_BYTES);
        add(a, at, n, how);
        at += n;
        left -= n;
    } while (left);
    pthread_mutex_unlock(&a->lock);
}

void sl_ahead_go(sl_ahead *a)
{
    pthread_cond_broadcast(&a->work);
}

uint64_t sl_ahead_asked(const sl_ahead *a)
{
    return a->asked;
}

/* Helpers may go on from here. */
static void want(sl_ahead *a, uint64_t ticket)
{
    const uint64_t known = SL_MIN(ticket, a->asked);
    atomic_store_explicit(&a->wanted, ticket, memory_order_relaxed);
    if (known && a->asked - known < QUEUE)
        a->wanted_bytes = SL_MAX(a->wanted_bytes, a->piece[known % QUEUE].end);
    pthread_cond_broadcast(&a->work);
}

bool sl_ahead_wait(sl_ahead *a, uint64_t ticket)
{
    if (atomic_load_explicit(&a->complete, memory_order_acquire) >= ticket &&
        atomic_load_explicit(&a->wanted, memory_order_relaxed) >= ticket)
        return false;
    pthread_mutex_lock(&a->lock);
    if (atomic_load_explicit(&a->wanted, memory_order_relaxed) < ticket)
        want(a, ticket);
    bool waited = false;
    for (; atomic_load_explicit(&a->complete, memory_order_relaxed) < ticket; waited = true) {
        a->least_waited = SL_MIN(a->least_waited, ticket);
        pthread_cond_wait(&a->arrived, &a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return waited;
}

/* ---- making and ending -------------------------------------------------------------- */

/* Signals to the process are for other threads. */
static int start(sl_ahead *a)
{
    sigset_t all, old;
    pthread_attr_t attr;
    int rc = pthread_attr_init(&attr);
    if (rc)
        return rc;
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&a->helper[a->n_started], &attr, help, a);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    if (!rc)
        pthread_setname_np(a->helper[a->n_started++], "sluice-ahead");
    return rc;
}

sl_status sl_ahead_create(sl_ahead **out, size_t n_helpers, size_t window, sl_err *err)
{
    *out = NULL;
    assert(n_helpers);
    sl_ahead *a = sl_mem_zalloc(1, sizeof *a + n_helpers * sizeof *a->helper);
    if (!a)
        return sl_fail(err, SL_ENOMEM, "no memory to read ahead");
    a->window = window;
    a->page = page_bytes();
    a->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    a->least_waited = UINT64_MAX;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->work, NULL);
    pthread_cond_init(&a->arrived, NULL);
    while (a->n_started < n_helpers) {
        const int rc = start(a);
        if (rc) {
            const size_t n = a->n_started;
            sl_ahead_destroy(a);
            return sl_fail(err, SL_ENOMEM, "thread %zu of %zu to read ahead: %s", n + 1, n_helpers, strerror(rc));
        }
    }
    *out = a;
    return SL_OK;
}

void sl_ahead_destroy(sl_ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->ending = true;
    pthread_cond_broadcast(&a->work);
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < a->n_started; i++)
        pthread_join(a->helper[i], NULL);
    if (a->pagemap >= 0)
        close(a->pagemap);
    pthread_cond_destroy(&a->arrived);
    pthread_cond_destroy(&a->work);
    pthread_mutex_destroy(&a->lock);
    sl_mem_free(a);
}
