/* test_heapcount.c - the counter sees each way to the heap, libc's own included. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include "support/heapcount.h"

/* Through a volatile pointer, so that no compiler leaves a pair of malloc and free out. */
static void *volatile block;

static void test_counts_calls_and_bytes(void **state)
{
    (void)state;
    const heapcount before = heapcount_get();
    block = malloc(1000);
    heapcount now = heapcount_get();
    assert_int_equal(now.calls - before.calls, 1);
    assert_in_range(now.live_bytes - before.live_bytes, 1000, 1100);
    block = realloc(block, 5000);
    now = heapcount_get();
    assert_int_equal(now.calls - before.calls, 2);
    assert_int_equal(now.frees - before.frees, 1);
    assert_in_range(now.live_bytes - before.live_bytes, 5000, 5100);
    free(block);
    now = heapcount_get();
    assert_int_equal(now.frees - before.frees, 2);
    assert_int_equal(now.live_bytes, before.live_bytes);
}

static void test_restart_keeps_what_is_live(void **state)
{
    (void)state;
    block = malloc(300000);
    free(block);
    assert_true(heapcount_get().largest >= 300000);
    heapcount_restart();
    const heapcount now = heapcount_get();
    assert_int_equal(now.calls, 0);
    assert_int_equal(now.frees, 0);
    assert_int_equal(now.largest, 0);
    assert_int_equal(now.peak_bytes, now.live_bytes);
}

static void test_peak_and_largest(void **state)
{
    (void)state;
    heapcount_restart();
    const size_t live = heapcount_get().live_bytes;
    void *volatile small = malloc(2000);
    block = calloc(300, 10);
    free(small);
    free(block);
    const heapcount now = heapcount_get();
    assert_int_equal(now.largest, 3000);
    assert_in_range(now.peak_bytes - live, 5000, 5200);
    assert_int_equal(now.live_bytes, live);
}

static void test_refused_requests_are_seen(void **state)
{
    (void)state;
    heapcount_restart();
    const size_t live = heapcount_get().live_bytes;
    volatile size_t huge = PTRDIFF_MAX;
    block = malloc(huge);
    assert_null(block);
    block = calloc(huge, 16);
    assert_null(block);
    const heapcount now = heapcount_get();
    assert_int_equal(now.calls, 2);
    assert_true(now.largest == SIZE_MAX);
    assert_int_equal(now.live_bytes, live);
}

static void test_aligned(void **state)
{
    (void)state;
    heapcount_restart();
    const size_t live = heapcount_get().live_bytes;
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, 64, 640), 0);
    assert_int_equal((uintptr_t)p % 64, 0);
    block = aligned_alloc(128, 1280);
    assert_int_equal((uintptr_t)block % 128, 0);
    assert_int_equal(heapcount_get().calls, 2);
    assert_int_equal(heapcount_get().largest, 1280);
    free(p);
    free(block);
    assert_int_equal(heapcount_get().live_bytes, live);
    p = NULL;
    assert_int_not_equal(posix_memalign(&p, 24, 64), 0);
    assert_null(p);
}

static void test_libc_comes_here_too(void **state)
{
    (void)state;
    heapcount_restart();
    block = strdup("a string that libc copies");
    assert_int_equal(heapcount_get().calls, 1);
    free(block);
    assert_int_equal(heapcount_get().frees, 1);
}

#define PAIRS 20000
static void *take_and_give(void *arg)
{
    (void)arg;
    for (int i = 0; i < PAIRS; i++) {
        void *volatile p = malloc((size_t)(i % 700));
        free(p);
    }
    return NULL;
}

static void test_threads_lose_no_call(void **state)
{
    (void)state;
    pthread_t thread[4];
    heapcount_restart();
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, take_and_give, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    const heapcount now = heapcount_get();
    /* pthread_create takes a few blocks of its own. */
    assert_in_range(now.calls, 4 * PAIRS, 4 * PAIRS + 40);
    assert_in_range(now.frees, 4 * PAIRS, 4 * PAIRS + 40);
}

int main(void)
{
    if (!heapcount_works()) {
        puts("malloc belongs to a sanitizer or to valgrind in this build");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_calls_and_bytes),
        cmocka_unit_test(test_restart_keeps_what_is_live),
        cmocka_unit_test(test_peak_and_largest),
        cmocka_unit_test(test_refused_requests_are_seen),
        cmocka_unit_test(test_aligned),
        cmocka_unit_test(test_libc_comes_here_too),
        cmocka_unit_test(test_threads_lose_no_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
