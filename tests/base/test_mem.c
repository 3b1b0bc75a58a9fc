/* Heap blocks, the injected fault, mapped pages, arenas. */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/num.h"

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif
#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

static bool all_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i])
            return false;
    return true;
}

static void test_blocks(void **state)
{
    (void)state;
    for (size_t n = 0; n < 200; n += 13) {
        char *p = sl_mem_alloc(n);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % SL_MEM_ALIGN, 0);
        memset(p, 0xab, n);
        p = sl_mem_grow(p, n, n + 1000);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % SL_MEM_ALIGN, 0);
        for (size_t i = 0; i < n; i++)
            assert_int_equal((unsigned char)p[i], 0xab);
        sl_mem_free(p);
    }
    unsigned char *z = sl_mem_zalloc(7, 31);
    assert_true(z && all_zero(z, 7 * 31));
    sl_mem_free(z);
    sl_mem_free(NULL);
    assert_null(sl_mem_zalloc(SIZE_MAX / 2, 3));
    assert_null(sl_mem_alloc(SIZE_MAX));
}

static void test_strings(void **state)
{
    (void)state;
    char *a = sl_mem_strdup("abc"), *b = sl_mem_strndup("abc", 2), *c = sl_mem_strndup("abc", 9);
    assert_string_equal(a, "abc");
    assert_string_equal(b, "ab");
    assert_string_equal(c, "abc");
    sl_mem_free(a);
    sl_mem_free(b);
    sl_mem_free(c);
}

static void test_fault(void **state)
{
    (void)state;
    char *p = sl_mem_alloc(8);
    memcpy(p, "1234567", 8);
    sl_mem_fail_after(2);
    void *a = sl_mem_alloc(1), *b = sl_mem_zalloc(1, 1);
    assert_non_null(a);
    assert_non_null(b);
    assert_null(sl_mem_alloc(1));
    assert_null(sl_mem_grow(p, 8, 16));
    assert_null(sl_mem_map(4096));
    sl_mem_fail_after(-1);
    assert_string_equal(p, "1234567");
    sl_mem_free(a);
    sl_mem_free(b);
    sl_mem_free(p);
}

static void test_map(void **state)
{
    (void)state;
    const size_t bytes = 3u << 20;
    unsigned char *p = sl_mem_map(bytes);
    assert_non_null(p);
    assert_true(all_zero(p, bytes));
    p[bytes - 1] = 1;
    sl_mem_unmap(p, bytes);
    sl_mem_unmap(NULL, bytes);
    assert_null(sl_mem_map(SIZE_MAX / 2));
}

static void test_arena(void **state)
{
    (void)state;
    sl_arena a;
    sl_arena_init(&a, 256);
    assert_int_equal(sl_arena_bytes(&a), 0);
    unsigned char *blocks[100];
    for (size_t i = 0; i < 100; i++) {
        blocks[i] = sl_arena_alloc(&a, i, 3);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        assert_true(all_zero(blocks[i], 3 * i));
        memset(blocks[i], (int)i, 3 * i);
    }
    for (size_t i = 0; i < 100; i++)
        for (size_t k = 0; k < 3 * i; k++)
            assert_int_equal(blocks[i][k], i);
    char *s = sl_arena_strndup(&a, "hello", 4);
    const char *copy = sl_arena_memdup(&a, "a\0b", 3), *empty = sl_arena_memdup(&a, NULL, 0);
    assert_memory_equal(copy, "a\0b\0", 4);
    assert_string_equal(empty, "");
    assert_string_equal(s, "hell");
    assert_null(sl_arena_alloc(&a, SIZE_MAX / 2, 3));
    assert_null(sl_arena_alloc(&a, SIZE_MAX, 1));
    sl_mem_fail_after(0);
    assert_null(sl_arena_alloc(&a, 1000, 1));
    sl_mem_fail_after(-1);
    assert_non_null(sl_arena_alloc(&a, 1000, 1));
    sl_arena_fini(&a);
    assert_int_equal(sl_arena_bytes(&a), 0);
}

/* Under the address sanitizer a block ends where it was asked to end, and a reset takes it away. */
static void test_arena_poison(void **state)
{
    (void)state;
#ifdef WITH_ASAN
    sl_arena a;
    sl_arena_init(&a, 1024);
    char *p = sl_arena_alloc(&a, 32, 1), *q = sl_arena_alloc(&a, 5, 1);
    assert_null(__asan_region_is_poisoned(p, 32));
    assert_true(__asan_address_is_poisoned(p + 32));
    assert_null(__asan_region_is_poisoned(q, 5));
    assert_true(__asan_address_is_poisoned(q + 5));
    sl_arena_reset(&a);
    assert_true(__asan_address_is_poisoned(p));
    sl_arena_fini(&a);
#else
    puts("no address sanitizer in this build");
    skip();
#endif
}

/* The same round again and again: from the third on no heap call, and zeroes again each time. */
static void test_arena_reset_settles(void **state)
{
    (void)state;
    sl_arena a;
    sl_arena_init(&a, 128);
    sl_arena_reset(&a);
    for (int round = 0; round < 5; round++) {
        if (round >= 2)
            sl_mem_fail_after(0);
        for (size_t i = 0; i < 60; i++) {
            unsigned char *p = sl_arena_alloc(&a, 1 + i * 7, 1);
            assert_non_null(p);
            assert_true(all_zero(p, 1 + i * 7));
            memset(p, 0xff, 1 + i * 7);
        }
        sl_arena_reset(&a);
    }
    sl_mem_fail_after(-1);
    sl_arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),       cmocka_unit_test(test_strings), cmocka_unit_test(test_fault),
        cmocka_unit_test(test_map),          cmocka_unit_test(test_arena),   cmocka_unit_test(test_arena_reset_settles),
        cmocka_unit_test(test_arena_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
