/* Memory that may yet be taken, from made-up /proc and cgroup trees. */
#include "base/room_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/str.h"
#include "support/tree.h"

static const sl_room_limits no_limits = { SIZE_MAX, SIZE_MAX };

static sl_room room(const sl_room_limits *limits)
{
    sl_room r;
    sl_room_at(tree_root, limits, &r);
    return r;
}

static void nothing_is_known(void **state)
{
    (void)state;
    const sl_room r = room(&no_limits);
    assert_true(r.resident == SIZE_MAX && !r.resident_by);
    assert_true(r.address == SIZE_MAX && !r.address_by);
}

static void what_the_machine_has(void **state)
{
    (void)state;
    tree_put("proc/meminfo", "MemTotal:        8192 kB\nMemFree:         1024 kB\n");
    assert_int_equal(room(&no_limits).resident, 8 << 20);
    tree_put("proc/meminfo", "MemTotal:        8192 kB\nMemFree:         1024 kB\nMemAvailable:    4096 kB\n");
    const sl_room r = room(&no_limits);
    assert_int_equal(r.resident, 4 << 20);
    assert_string_equal(r.resident_by, "the memory that is free");
    tree_put("proc/meminfo", "MemTotal:  99999999999999999999 kB\nMemAvailable:   18446744073709551615 kB\n");
    assert_true(room(&no_limits).resident == SIZE_MAX);
}

static void version_2(void **state)
{
    (void)state;
    tree_put("proc/meminfo", "MemAvailable:    65536 kB\n");
    tree_put("proc/self/cgroup", "0::/a/b\n");
    tree_put("sys/fs/cgroup/a/b/memory.max", "max\n");
    tree_put("sys/fs/cgroup/a/b/memory.current", "1000000\n");
    tree_put("sys/fs/cgroup/a/memory.max", "4194304\n");
    tree_put("sys/fs/cgroup/a/memory.current", "3145728\n");
    assert_int_equal(room(&no_limits).resident, 1 << 20);
    /* Files' pages are there to be dropped; shared memory and the kernel's own are not. */
    tree_put("sys/fs/cgroup/a/memory.stat",
             "anon 1048576\nfile 3000000\nkernel 4096\nshmem 950000\ninactive_anon 7\ninactive_file 524288\n"
             "active_file 524288\nunevictable 0\n");
    const sl_room r = room(&no_limits);
    assert_int_equal(r.resident, 2 << 20);
    assert_string_equal(r.resident_by, "what the cgroup's limit leaves");
    tree_put("sys/fs/cgroup/a/memory.high", "2621440\n");
    assert_int_equal(room(&no_limits).resident, 1 << 19);
    tree_put("sys/fs/cgroup/a/memory.current", "9999999999\n"); /* already above it */
    assert_int_equal(room(&no_limits).resident, 0);
    tree_put("sys/fs/cgroup/a/memory.high", "0\n");
    assert_int_equal(room(&no_limits).resident, 0);
}

static void version_1(void **state)
{
    (void)state;
    tree_put("proc/meminfo", "MemAvailable:    65536 kB\n");
    tree_put("proc/self/cgroup", "9:memory:/docker/x\n4:cpu:/other\n");
    tree_put("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n");
    tree_put("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "12288\n");
    assert_int_equal(room(&no_limits).resident, 64 << 20);
    tree_put("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "2097152\n");
    tree_put("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "1572864\n");
    tree_put(
        "sys/fs/cgroup/memory/docker/x/memory.stat",
        "cache 1\ninactive_file 999999\nactive_file 999999\ntotal_inactive_file 262144\ntotal_active_file 262144\n");
    assert_int_equal(room(&no_limits).resident, 1 << 20);
    tree_put("sys/fs/cgroup/memory/memory.limit_in_bytes", "1048576\n"); /* the root of the mount, without its usage */
    assert_int_equal(room(&no_limits).resident, 1 << 20);
    tree_put("sys/fs/cgroup/memory/memory.limit_in_bytes", "524288\n");
    assert_int_equal(room(&no_limits).resident, 1 << 19);
}

static void address_space(void **state)
{
    (void)state;
    tree_put("proc/self/status", "Name:\tx\nVmPeak:\t  99999 kB\nVmSize:\t    2048 kB\nVmData:\t     512 kB\n");
    sl_room r = room(&(sl_room_limits){ 5 << 20, SIZE_MAX });
    assert_int_equal(r.address, 3 << 20);
    assert_non_null(strstr(r.address_by, "ulimit -v"));
    r = room(&(sl_room_limits){ 5 << 20, 1 << 20 });
    assert_int_equal(r.address, 1 << 19);
    assert_non_null(strstr(r.address_by, "ulimit -d"));
    r = room(&(sl_room_limits){ 1 << 20, SIZE_MAX });
    assert_int_equal(r.address, 0);
}

static void strict_commitment(void **state)
{
    (void)state;
    tree_put("proc/meminfo", "MemAvailable: 8192 kB\nCommitLimit:     4096 kB\nCommitted_AS:    3072 kB\n");
    tree_put("proc/sys/vm/overcommit_memory", "0\n");
    assert_true(room(&no_limits).address == SIZE_MAX);
    tree_put("proc/sys/vm/overcommit_memory", "2\n");
    assert_int_equal(room(&no_limits).address, 1 << 20);
}

static void this_machine(void **state)
{
    (void)state;
    sl_room r;
    sl_room_get(&r);
    assert_true(r.resident > 0 && r.resident < SIZE_MAX && r.resident_by);
}

static void sizes_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes; /* SIZE_MAX: none */
    } cases[] = {
        { "0", 0 },
        { "1024", 1024 },
        { "4G", (size_t)4 << 30 },
        { "512M", 512 << 20 },
        { "512m", 512 << 20 },
        { "1.5k", 1536 },
        { "2GiB", (size_t)2 << 30 },
        { "2GB", (size_t)2 << 30 },
        { "7B", 7 },
        { "80%", 800 },
        { "12.5%", 125 },
        { "1T", (size_t)1 << 40 },
        { "", SIZE_MAX },
        { "G", SIZE_MAX },
        { "-1", SIZE_MAX },
        { "4 G", SIZE_MAX },
        { "4GG", SIZE_MAX },
        { "4X", SIZE_MAX },
        { "nan", SIZE_MAX },
        { "inf", SIZE_MAX },
        { "80%%", SIZE_MAX },
        { "8E", SIZE_MAX },
        { "1e400", SIZE_MAX },
        { "99999999999999999999", SIZE_MAX },
        { "+3", SIZE_MAX },
        { "80%M", SIZE_MAX },
        { "1iB", SIZE_MAX },
        { "100%", 1000 },
        { "100.1%", SIZE_MAX },
        { "0x10", SIZE_MAX },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t bytes = SIZE_MAX;
        const bool ok = sl_read_size(cases[i].text, 1000, &bytes);
        if (ok != (cases[i].bytes != SIZE_MAX) || bytes != cases[i].bytes)
            fail_msg("\"%s\": %zu", cases[i].text, bytes);
    }
    assert_string_equal(sl_bytes_text(1).text, "1 byte");
    assert_string_equal(sl_bytes_text(1023).text, "1023 bytes");
    assert_string_equal(sl_bytes_text((size_t)3 << 29).text, "1.5 GiB");
    assert_string_equal(sl_bytes_text(SIZE_MAX).text, "16.0 EiB");
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, tree_make, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(nothing_is_known),    TREE_TEST(what_the_machine_has),  TREE_TEST(version_2),
        TREE_TEST(version_1),           TREE_TEST(address_space),         TREE_TEST(strict_commitment),
        cmocka_unit_test(this_machine), cmocka_unit_test(sizes_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
