/* test_ahead.c - bytes asked for are in memory when waiting for them ends, whatever the helpers and the window; tickets
 * are the same wherever they are counted. */
#include "base/ahead.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define MIB       ((size_t)1 << 20)
#define FILE_SIZE (24 * MIB + 12345)

static char *map;

/* A file of our own, mapped and not in the page cache. */
static int make_file(void **state)
{
    char path[] = "test_ahead.XXXXXX";
    char *block = malloc(MIB);
    (void)state;
    const int fd = mkstemp(path);
    if (fd < 0 || !block)
        return -1;
    unlink(path);
    for (size_t i = 0; i < FILE_SIZE; i += MIB) {
        const size_t n = FILE_SIZE - i < MIB ? FILE_SIZE - i : MIB;
        memset(block, (int)(i / MIB) + 1, n);
        if (write(fd, block, n) != (ssize_t)n)
            return -1;
    }
    free(block);
    fsync(fd);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    map = mmap(NULL, FILE_SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return map == MAP_FAILED ? -1 : 0;
}

static int drop_file(void **state)
{
    (void)state;
    return munmap(map, FILE_SIZE);
}

/* Pages of [at, at + bytes) that this process has mapped: no fault is to be had from them. */
static size_t mapped(const char *at, size_t bytes, size_t *n_pages)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)at / page, last = ((uintptr_t)at + bytes - 1) / page;
    const int fd = open("/proc/self/pagemap", O_RDONLY);
    size_t n = 0;
    for (uintptr_t i = first; i <= last; i++) {
        uint64_t entry = 0;
        if (pread(fd, &entry, sizeof entry, (off_t)(i * sizeof entry)) == sizeof entry)
            n += entry >> 63;
    }
    close(fd);
    *n_pages = last - first + 1;
    return n;
}

static void assert_mapped(const char *at, size_t bytes)
{
    size_t n = 0;
    const size_t there = mapped(at, bytes, &n);
    assert_int_equal(there, n);
}

static sl_ahead *start(size_t n_helpers, size_t window)
{
    sl_ahead *a = NULL;
    sl_err err = { 0 };
    if (sl_ahead_create(&a, n_helpers, window, &err))
        fail_msg("%s", err.msg);
    return a;
}

static void what_is_waited_for_is_there(void **state)
{
    static const struct {
        size_t at, bytes;
    } asks[] = { { 1, 1 }, { 4095, 2 }, { 3 * MIB - 7, 5 * MIB + 100 }, { 20 * MIB, 4 * MIB + 12345 }, { 9 * MIB, 0 } };
    static const size_t windows[] = { 0, 4096, 3 * MIB, SIZE_MAX / 2 };
    (void)state;
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++) {
        sl_ahead *a = start(w + 1, windows[w]);
        uint64_t ticket = 0, tickets[sizeof asks / sizeof *asks];
        madvise(map, FILE_SIZE, MADV_DONTNEED);
        for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
            sl_ahead_ask(a, map + asks[i].at, asks[i].bytes, w % 2 ? SL_AHEAD_BLOCKS : SL_AHEAD_EXACT);
            tickets[i] = ticket += sl_ahead_pieces(map + asks[i].at, asks[i].bytes);
            assert_int_equal(sl_ahead_asked(a), ticket);
        }
        sl_ahead_go(a);
        for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
            sl_ahead_wait(a, tickets[i]);
            if (asks[i].bytes)
                assert_mapped(map + asks[i].at, asks[i].bytes);
        }
        sl_ahead_destroy(a);
    }
}

/* A range is longer than the window, and was asked for before anybody waits: it comes all the same, but not before. */
static void helpers_stay_within_the_window(void **state)
{
    (void)state;
    sl_ahead *a = start(2, MIB);
    madvise(map, FILE_SIZE, MADV_DONTNEED);
    sl_ahead_ask(a, map, 16 * MIB, SL_AHEAD_EXACT);
    sl_ahead_go(a);
    const uint64_t pieces = sl_ahead_pieces(map, 16 * MIB);
    sl_ahead_wait(a, 1);
    usleep(50000); /* time for helpers that would go on */
    size_t n = 0;
    assert_true(mapped(map, 16 * MIB, &n) < n / 2);
    sl_ahead_wait(a, pieces);
    assert_mapped(map, 16 * MIB);
    sl_ahead_destroy(a);
}

/* More pieces than the queue holds, with nobody to wait for them but the one who asks. */
static void a_full_queue(void **state)
{
    (void)state;
    sl_ahead *a = start(3, 0);
    for (size_t i = 0; i < 10000; i++)
        sl_ahead_ask(a, map + i, 1, SL_AHEAD_EXACT);
    assert_int_equal(sl_ahead_asked(a), 10000);
    sl_ahead_wait(a, 10000);
    sl_ahead_destroy(a);
}

typedef struct early {
    sl_ahead *a;
    uint64_t ticket;
} early;

static void *wait_early(void *arg)
{
    const early *e = arg;
    sl_ahead_wait(e->a, e->ticket);
    return (void *)(uintptr_t)(map[(e->ticket - 1) * MIB] == (char)e->ticket);
}

/* Threads wait for pieces that are yet to be asked for, each for its own. */
static void waiting_before_asking(void **state)
{
    enum { N = 8 };
    pthread_t thread[N];
    early e[N];
    (void)state;
    sl_ahead *a = start(2, 2 * MIB);
    madvise(map, FILE_SIZE, MADV_DONTNEED);
    for (uint64_t i = 0; i < N; i++) {
        e[i] = (early){ a, i + 1 };
        assert_int_equal(pthread_create(&thread[i], NULL, wait_early, &e[i]), 0);
    }
    for (size_t i = 0; i < N; i++) {
        usleep(1000);
        sl_ahead_ask(a, map + i * MIB, 1, SL_AHEAD_BLOCKS);
        sl_ahead_go(a);
    }
    for (size_t i = 0; i < N; i++) {
        void *right = NULL;
        pthread_join(thread[i], &right);
        assert_non_null(right);
    }
    assert_false(sl_ahead_wait(a, N));
    sl_ahead_destroy(a);
}

/* What was asked for and not waited for does not hold up the end; what cannot be had is no error. */
static void ending(void **state)
{
    (void)state;
    sl_ahead *a = start(2, 0);
    sl_ahead_ask(a, map, FILE_SIZE, SL_AHEAD_BLOCKS);
    sl_ahead_go(a);
    sl_ahead_destroy(a);
    sl_ahead_destroy(NULL);

    char *none = mmap(NULL, MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    a = start(1, 0);
    sl_ahead_ask(a, none, 1, SL_AHEAD_EXACT);
    sl_ahead_wait(a, sl_ahead_asked(a));
    sl_ahead_destroy(a);
    munmap(none, MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_waited_for_is_there),
                                        cmocka_unit_test(helpers_stay_within_the_window),
                                        cmocka_unit_test(a_full_queue), cmocka_unit_test(waiting_before_asking),
                                        cmocka_unit_test(ending) };
    return cmocka_run_group_tests(tests, make_file, drop_file);
}
