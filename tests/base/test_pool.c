/* The team of threads: every thread runs, barriers order plain memory (the thread sanitizer checks
 * that), tiles go out once, and parked threads cost nothing. With --bench: what a barrier costs. */
#include "base/pool.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mem.h"

#define THREADS_MAX 5 /* on two CPUs: more threads than cores as well */
#define N_RUNS      100
#define N_ROUNDS    20
#define N_TILES     37

typedef struct shared {
    sl_pool *pool;
    size_t n;
    sl_tiles tiles[N_ROUNDS];
    unsigned char taken[N_ROUNDS][N_TILES]; /* plain memory: written by who took the tile */
    size_t slot[THREADS_MAX];               /* plain: own slot written, all read after the barrier */
    size_t errors[THREADS_MAX];
} shared;

static void rounds(void *arg, size_t thread)
{
    shared *s = arg;
    for (size_t r = 0; r < N_ROUNDS; r++) {
        s->slot[thread] = r + 1;
        for (size_t i; (i = sl_tiles_take(&s->tiles[r])) < N_TILES;)
            s->taken[r][i]++;
        sl_pool_barrier(s->pool);
        for (size_t t = 0; t < s->n; t++)
            s->errors[thread] += s->slot[t] != r + 1;
        for (size_t i = 0; i < N_TILES; i++)
            s->errors[thread] += s->taken[r][i] != 1;
        sl_pool_barrier(s->pool);
    }
}

static void test_runs_and_barriers(void **state)
{
    (void)state;
    for (size_t n = 1; n <= THREADS_MAX; n++) {
        static shared s;
        s = (shared){ .n = n };
        sl_err err = { 0 };
        assert_int_equal(sl_pool_create(&s.pool, n, &err), SL_OK);
        assert_int_equal(sl_pool_threads(s.pool), n);
        for (size_t run = 0; run < N_RUNS; run++) {
            memset(s.taken, 0, sizeof s.taken);
            for (size_t r = 0; r < N_ROUNDS; r++)
                sl_tiles_reset(&s.tiles[r]);
            sl_mem_fail_after(0); /* no heap call in a run */
            sl_pool_run(s.pool, rounds, &s);
            sl_mem_fail_after(-1);
        }
        for (size_t t = 0; t < n; t++)
            assert_int_equal(s.errors[t], 0);
        sl_pool_destroy(s.pool);
    }
}

static void count(void *arg, size_t thread)
{
    ((size_t *)arg)[thread]++;
}

/* Short runs one after another, without a barrier: a worker may still be on its way back. */
static void test_many_short_runs(void **state)
{
    (void)state;
    for (size_t n = 1; n <= THREADS_MAX; n++) {
        size_t counts[THREADS_MAX] = { 0 };
        sl_pool *pool = NULL;
        assert_int_equal(sl_pool_create(&pool, n, NULL), SL_OK);
        for (size_t i = 0; i < 2000; i++)
            sl_pool_run(pool, count, counts);
        sl_pool_destroy(pool);
        for (size_t t = 0; t < THREADS_MAX; t++)
            assert_int_equal(counts[t], t < n ? 2000 : 0);
    }
}

static void nap(long milliseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = milliseconds * 1000000 }, NULL);
}

typedef struct late {
    sl_pool *pool;
    size_t slow;
    size_t value;
    size_t seen[3];
} late;

/* The others wait far longer than they spin, so they park and must be woken. */
static void late_to_barrier(void *arg, size_t thread)
{
    late *l = arg;
    if (thread == l->slow) {
        nap(30);
        l->value++;
    }
    sl_pool_barrier(l->pool);
    l->seen[thread] = l->value;
    if (thread == l->slow)
        nap(30);
}

static void test_parked_threads_wake(void **state)
{
    (void)state;
    late l = { 0 };
    assert_int_equal(sl_pool_create(&l.pool, 3, NULL), SL_OK);
    for (size_t i = 0; i < 6; i++) {
        l.slow = i % 3;
        nap(i % 2 ? 0 : 20); /* park at the gate too */
        sl_pool_run(l.pool, late_to_barrier, &l);
        for (size_t t = 0; t < 3; t++)
            assert_int_equal(l.seen[t], i + 1);
    }
    sl_pool_destroy(l.pool);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void test_idle_costs_nothing(void **state)
{
    (void)state;
    size_t counts[2] = { 0 };
    sl_pool *pool = NULL;
    assert_int_equal(sl_pool_create(&pool, 2, NULL), SL_OK);
    sl_pool_run(pool, count, counts);
    nap(50); /* the moment of spinning is over */
    const double before = cpu_seconds();
    nap(300);
    assert_true(cpu_seconds() - before < 0.02);
    sl_pool_destroy(pool);
}

static void test_create_errors(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_pool *pool = (sl_pool *)&err;
    assert_int_equal(sl_pool_create(&pool, 0, &err), SL_EINVAL);
    assert_null(pool);
    assert_int_equal(sl_pool_create(&pool, 1000000, &err), SL_EINVAL);
    assert_string_equal(err.msg, "1000000 threads, expected 1 to 4096");
    sl_mem_fail_after(0);
    assert_int_equal(sl_pool_create(&pool, 2, &err), SL_ENOMEM);
    sl_mem_fail_after(-1);
    assert_null(pool);
    sl_pool_destroy(NULL);
    /* Never run, destroyed at once: workers may not have started yet. */
    for (int i = 0; i < 50; i++) {
        assert_int_equal(sl_pool_create(&pool, 3, &err), SL_OK);
        sl_pool_destroy(pool);
    }
}

/* ---- bench -------------------------------------------------------------------------------- */

#define BATCHES   400
#define PER_BATCH 100

typedef struct bench {
    sl_pool *pool;
    double ns[BATCHES];
} bench;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void bench_barriers(void *arg, size_t thread)
{
    bench *b = arg;
    for (size_t i = 0; i < BATCHES; i++) {
        const double begin = now_ns();
        for (size_t k = 0; k < PER_BATCH; k++)
            sl_pool_barrier(b->pool);
        if (thread == 0)
            b->ns[i] = (now_ns() - begin) / PER_BATCH;
    }
}

static void nothing(void *arg, size_t thread)
{
    (void)arg, (void)thread;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_line(const char *what, size_t n, double *ns)
{
    qsort(ns, BATCHES, sizeof *ns, by_value);
    printf("%-8s %zu threads: min %.0f ns, median %.0f ns\n", what, n, ns[0], ns[BATCHES / 2]);
}

static int run_bench(void)
{
    static bench b;
    for (size_t n = 1; n <= 4; n++) {
        if (sl_pool_create(&b.pool, n, NULL) != SL_OK)
            return 1;
        sl_pool_run(b.pool, bench_barriers, &b);
        print_line("barrier", n, b.ns);
        for (size_t i = 0; i < BATCHES; i++) {
            const double begin = now_ns();
            for (size_t k = 0; k < PER_BATCH; k++)
                sl_pool_run(b.pool, nothing, NULL);
            b.ns[i] = (now_ns() - begin) / PER_BATCH;
        }
        print_line("run", n, b.ns);
        sl_pool_destroy(b.pool);
    }
    return 0;
}

static void note_mask(void *arg, size_t thread)
{
    cpu_set_t *mask = arg;
    sched_getaffinity(0, sizeof mask[thread], &mask[thread]);
}

/* Each thread on a CPU of its own, or all on the set; the caller has its own mask again when the run has ended. */
static void test_pin(void **state)
{
    (void)state;
    cpu_set_t own, after, mask[3];
    sl_cpu_use use;
    sl_pool *p = NULL;
    sched_getaffinity(0, sizeof own, &own);
    sl_cpu_get_use(&use);
    assert_int_equal(sl_pool_create(&p, 3, NULL), SL_OK);
    assert_int_equal(sl_pool_pin(p, &use.cores, true, NULL), SL_OK);
    sl_pool_run(p, note_mask, mask);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(CPU_COUNT(&mask[i]), 1);
        assert_true(CPU_ISSET(sl_pool_cpu_of(&use.cores, i, 3), &mask[i]));
    }
    sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&own, &after));
    assert_int_equal(sl_pool_pin(p, &use.cores, false, NULL), SL_OK);
    sl_pool_run(p, note_mask, mask);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(CPU_COUNT(&mask[i]), use.n_fast);
    sl_pool_destroy(p);
}

static void test_spread(void **state)
{
    (void)state;
    sl_cpu_set set = { 0 };
    for (size_t cpu = 0; cpu < 32; cpu += 2)
        sl_cpu_set_add(&set, cpu);
    const size_t four[] = { 0, 8, 16, 24 };
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(sl_pool_cpu_of(&set, i, 4), four[i]);
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(sl_pool_cpu_of(&set, i, 16), 2 * i);
    assert_int_equal(sl_pool_cpu_of(&set, 17, 20), 2);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--bench") == 0)
        return run_bench();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_and_barriers),
        cmocka_unit_test(test_many_short_runs),
        cmocka_unit_test(test_parked_threads_wake),
        cmocka_unit_test(test_idle_costs_nothing),
        cmocka_unit_test(test_create_errors),
        cmocka_unit_test(test_pin),
        cmocka_unit_test(test_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
