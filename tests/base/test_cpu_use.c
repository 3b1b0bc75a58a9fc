/* Threads and memory from made-up /proc and /sys trees. */
#include "base/cpu.h"
#include "base/cpu_in.h"
#include "base/cgroup_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "support/tree.h"

/* CPU n shares its core with the CPUs of `list`. */
static void put_cpu(size_t n, const char *list, const char *file)
{
    tree_putf(list, "sys/devices/system/cpu/cpu%zu/topology/%s", n, file);
}

static sl_cpu_set cpus(size_t from, size_t to)
{
    sl_cpu_set set = { 0 };
    for (size_t i = from; i <= to; i++)
        sl_cpu_set_add(&set, i);
    return set;
}

static size_t quota(void)
{
    return sl_cgroup_milli_cpus(tree_root);
}

static sl_cpu_use use_of(const sl_cpu_set *mask)
{
    sl_cpu_use use;
    sl_cpu_use_at(tree_root, mask, &use);
    return use;
}

static size_t cores(const sl_cpu_set *mask)
{
    return use_of(mask).n_cores;
}

static size_t threads(const sl_cpu_set *mask)
{
    return use_of(mask).n_threads;
}

/* Four P cores with two threads each (0-7), four E cores (8-11). */
static void put_hybrid_cpu(void)
{
    for (size_t n = 0; n < 8; n++) {
        char list[16];
        snprintf(list, sizeof list, "%zu-%zu\n", n / 2 * 2, n / 2 * 2 + 1);
        put_cpu(n, list, "core_cpus_list");
    }
    for (size_t n = 8; n < 12; n++) {
        char list[16];
        snprintf(list, sizeof list, "%zu\n", n);
        put_cpu(n, list, "core_cpus_list");
    }
}

static void test_cores(void **state)
{
    (void)state;
    put_hybrid_cpu();
    sl_cpu_set set = cpus(0, 11);
    assert_int_equal(cores(&set), 8);
    set = cpus(8, 11);
    assert_int_equal(cores(&set), 4);
    set = cpus(1, 2); /* one thread of two cores, the first of them not its core's first */
    assert_int_equal(cores(&set), 2);
    set = cpus(100, 103); /* not described: a core each */
    assert_int_equal(cores(&set), 4);
}

/* An older kernel, siblings far apart, and a list as a comma and range mix. */
static void test_cores_old_names(void **state)
{
    (void)state;
    put_cpu(0, "0,64\n", "thread_siblings_list");
    put_cpu(64, "0,64\n", "thread_siblings_list");
    put_cpu(70, "2-3,64,70-71\n", "thread_siblings_list");
    put_cpu(71, "garbage", "thread_siblings_list");
    sl_cpu_set set = { 0 };
    sl_cpu_set_add(&set, 0);
    sl_cpu_set_add(&set, 64);
    assert_int_equal(cores(&set), 1);
    sl_cpu_set_add(&set, 70);
    assert_int_equal(cores(&set), 1);
    sl_cpu_set_add(&set, 71);
    assert_int_equal(cores(&set), 2);
}

static void test_no_files(void **state)
{
    (void)state;
    const sl_cpu_set set = cpus(0, 2), empty = { 0 };
    assert_true(quota() == SL_CPU_NO_QUOTA);
    assert_int_equal(threads(&set), 3);
    assert_int_equal(threads(&empty), 1);
}

static void test_v2(void **state)
{
    (void)state;
    tree_put("proc/self/cgroup", "0::/user.slice/app.scope\n");
    tree_put("sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000\n");
    assert_true(quota() == SL_CPU_NO_QUOTA);
    tree_put("sys/fs/cgroup/user.slice/app.scope/cpu.max", "250000 100000\n");
    assert_int_equal(quota(), 2500);
    tree_put("sys/fs/cgroup/user.slice/app.scope/cpu.max", "200000 100000\n");
    assert_int_equal(quota(), 2000);
    const sl_cpu_set set = cpus(0, 7), one = cpus(3, 3);
    assert_int_equal(threads(&set), 2);
    assert_int_equal(threads(&one), 1);
}

/* A parent's quota binds; so does that of the mount's root, the only group that a container sees. */
static void test_v2_nested(void **state)
{
    (void)state;
    tree_put("proc/self/cgroup", "0::/a/b/c\n");
    tree_put("sys/fs/cgroup/a/b/c/cpu.max", "600000 100000\n");
    tree_put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    tree_put("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    assert_int_equal(quota(), 500);
    tree_put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    assert_int_equal(quota(), 6000);
    tree_put("proc/self/cgroup", "0::/not/shown/here\n");
    assert_true(quota() == SL_CPU_NO_QUOTA);
    tree_put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_int_equal(quota(), 4000);
    tree_put("proc/self/cgroup", "0::/../../elsewhere\n");
    assert_int_equal(quota(), 4000);
}

static void test_v1(void **state)
{
    (void)state;
    tree_put("proc/self/cgroup",
             "12:memory:/docker/x\n4:cpuacct,cpu:/docker/x\n3:cpuset:/docker/x\n1:name=systemd:/\n");
    tree_put("sys/fs/cgroup/cpuacct,cpu/docker/x/cpu.cfs_quota_us", "-1\n");
    tree_put("sys/fs/cgroup/cpuacct,cpu/docker/x/cpu.cfs_period_us", "100000\n");
    tree_put("sys/fs/cgroup/cpuset/docker/x/cpu.cfs_quota_us", "1\n"); /* another controller's folder does not count */
    tree_put("sys/fs/cgroup/cpuset/docker/x/cpu.cfs_period_us", "100000\n");
    assert_true(quota() == SL_CPU_NO_QUOTA);
    tree_put("sys/fs/cgroup/cpuacct,cpu/docker/x/cpu.cfs_quota_us", "350000\n");
    assert_int_equal(quota(), 3500);
    tree_put("sys/fs/cgroup/cpuacct,cpu/docker/cpu.cfs_quota_us", "100000\n"); /* the parent's */
    tree_put("sys/fs/cgroup/cpuacct,cpu/docker/cpu.cfs_period_us", "50000\n");
    assert_int_equal(quota(), 2000);
    tree_put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "10000\n"); /* the root, mounted by the single name */
    tree_put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "10000\n");
    assert_int_equal(quota(), 1000);
}

/* Both versions mounted, v2 under unified/ (systemd's hybrid layout). */
static void test_v1_and_v2(void **state)
{
    (void)state;
    tree_put("proc/self/cgroup", "4:cpu:/\n0::/job\n");
    tree_put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "500000\n");
    tree_put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(), 5000);
    tree_put("sys/fs/cgroup/unified/job/cpu.max", "300000 100000\n");
    assert_int_equal(quota(), 3000);
}

static void test_malformed(void **state)
{
    (void)state;
    tree_put("proc/self/cgroup", "\n:\nx\n0:\n::::\n0::\n0::relative\n4:cpu\n");
    tree_put("sys/fs/cgroup/cpu.max", "100000");
    assert_true(quota() == SL_CPU_NO_QUOTA);
    tree_put("sys/fs/cgroup/cpu.max", "100000 0\n");
    assert_true(quota() == SL_CPU_NO_QUOTA);
    tree_put("sys/fs/cgroup/cpu.max", "");
    assert_true(quota() == SL_CPU_NO_QUOTA);
    tree_put("sys/fs/cgroup/cpu.max", "99999999999999999999999 1\n");
    assert_true(quota() == SL_CPU_NO_QUOTA);
    char text[6000] = "0::/"; /* longer than any path */
    memset(text + 4, 'a', sizeof text - 5);
    tree_put("proc/self/cgroup", text);
    assert_true(quota() == SL_CPU_NO_QUOTA);
}

/* Work of equal shares on a fraction of a CPU waits for that one: the quota counts rounded down. */
static void test_threads_of_a_quota(void **state)
{
    (void)state;
    static const struct {
        const char *quota;
        size_t first, last; /* CPUs of the mask */
        size_t threads;
    } cases[] = {
        { "400000 100000\n", 0, 15, 4 }, { "400000 100000\n", 0, 3, 4 },  { "400000 100000\n", 2, 3, 2 },
        { "450000 100000\n", 0, 15, 4 }, { "199999 100000\n", 0, 15, 1 }, { "50000 100000\n", 0, 15, 1 },
        { "1000 100000\n", 0, 15, 1 },   { "max 100000\n", 0, 15, 16 },   { "12800000 100000\n", 0, 15, 16 },
        { "3500 1000\n", 0, 15, 3 },
    };
    tree_put("proc/self/cgroup", "0::/\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sl_cpu_set set = cpus(cases[i].first, cases[i].last);
        tree_put("sys/fs/cgroup/cpu.max", cases[i].quota);
        assert_int_equal(threads(&set), cases[i].threads);
    }
}

static void test_fast_cores_listed(void **state)
{
    (void)state;
    put_hybrid_cpu();
    tree_put("sys/devices/cpu_core/cpus", "0-7\n");
    tree_put("sys/devices/cpu_atom/cpus", "8-11\n");
    sl_cpu_set set = cpus(0, 11);
    const sl_cpu_use use = use_of(&set);
    assert_int_equal(use.n_cores, 8);
    assert_int_equal(use.n_fast, 4);
    assert_int_equal(use.n_threads, 4);
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(sl_cpu_set_has(&use.cores, i), i < 8 && i % 2 == 0);
    set = cpus(5, 9);
    assert_int_equal(threads(&set), 2); /* of cores 2 and 3 one CPU each may be used */
    set = cpus(8, 11);                  /* nothing but slow ones */
    assert_int_equal(threads(&set), 4);
}

static void test_fast_cores_by_speed(void **state)
{
    (void)state;
    sl_cpu_set set = cpus(0, 7);
    for (size_t i = 0; i < 8; i++) /* favoured cores of one kind differ a little */
        tree_putf(i % 3 ? "5050000\n" : "4800000\n", "sys/devices/system/cpu/cpu%zu/cpufreq/cpuinfo_max_freq", i);
    assert_int_equal(threads(&set), 8);
    for (size_t i = 4; i < 8; i++)
        tree_putf("3300000\n", "sys/devices/system/cpu/cpu%zu/cpufreq/cpuinfo_max_freq", i);
    assert_int_equal(threads(&set), 4);
    for (size_t i = 0; i < 8; i++) /* the scheduler's figure goes before clocks: prime, big and little */
        tree_putf(i == 7 ? "1024\n" : i > 3 ? "870\n" : "300\n", "sys/devices/system/cpu/cpu%zu/cpu_capacity", i);
    assert_int_equal(threads(&set), 4);
    const sl_cpu_use use = use_of(&set);
    assert_true(sl_cpu_set_has(&use.cores, 7));
    set = cpus(0, 3);
    assert_int_equal(threads(&set), 4);
}

static void test_reason(void **state)
{
    (void)state;
    char text[256];
    sl_cpu_set set = cpus(0, 11);
    put_hybrid_cpu();
    tree_put("sys/devices/system/cpu/online", "0-11\n");
    sl_cpu_use use = use_of(&set);
    sl_cpu_use_text(&use, text, sizeof text);
    assert_string_equal(text, "8 threads: 8 cores behind 12 CPUs");
    tree_put("sys/devices/cpu_core/cpus", "0-7\n");
    use = use_of(&set);
    sl_cpu_use_text(&use, text, sizeof text);
    assert_string_equal(text, "4 threads: 4 fast of 8 cores");
    tree_put("proc/self/cgroup", "0::/\n");
    tree_put("sys/fs/cgroup/cpu.max", "250000 100000\n");
    set = cpus(0, 5);
    use = use_of(&set);
    sl_cpu_use_text(&use, text, sizeof text);
    assert_string_equal(text, "2 threads: the cgroup's quota is 2.50 CPUs, of 3 cores behind 6 CPUs (the affinity mask "
                              "has 6 of 12 CPUs)");
    set = cpus(3, 3);
    use = use_of(&set);
    sl_cpu_use_text(&use, text, sizeof text);
    assert_string_equal(text, "1 thread: 1 core (the affinity mask has 1 of 12 CPUs)");
}

static void test_describe(void **state)
{
    (void)state;
    tree_put("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 1\nmodel name\t: Made Up 9000 @ 3GHz\n");
    tree_put("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
    tree_put("proc/self/cgroup", "0::/a\n");
    tree_put("sys/fs/cgroup/a/memory.max", "max\n");
    const char *const caches[4][3] = {
        { "1", "Instruction", "64K" }, { "1", "Data", "48K" }, { "2", "Unified", "2048K" }, { "3", "Unified", "105M" }
    };
    for (int i = 0; i < 4; i++) {
        const char *const file[] = { "level", "type", "size" };
        for (int k = 0; k < 3; k++) {
            char path[128], text[32];
            snprintf(path, sizeof path, "sys/devices/system/cpu/cpu5/cache/index%d/%s", i, file[k]);
            snprintf(text, sizeof text, "%s\n", caches[i][k]);
            tree_put(path, text);
        }
    }
    sl_cpu_info info;
    sl_cpu_describe_at(tree_root, 5, &info);
    assert_string_equal(info.model, "Made Up 9000 @ 3GHz");
    assert_int_equal(info.l1d_bytes, 48 << 10);
    assert_int_equal(info.l2_bytes, 2 << 20);
    assert_int_equal(info.l3_bytes, 105 << 20);
    assert_int_equal(info.memory_bytes, 16 << 20);
    tree_put("sys/fs/cgroup/a/memory.max", "1048576\n");
    sl_cpu_describe_at(tree_root, 5, &info);
    assert_int_equal(info.memory_bytes, 1 << 20);
    tree_put("proc/self/cgroup", "7:memory:/a\n");
    tree_put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    tree_put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152\n");
    sl_cpu_describe_at(tree_root, 4, &info);
    assert_int_equal(info.memory_bytes, 2 << 20);
    assert_int_equal(info.l2_bytes, 0);
}

static void test_this_machine(void **state)
{
    (void)state;
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    assert_in_range(sl_cpu_threads(), 1, online);
    assert_in_range(sl_cpu_logical(), 1, online);
    sl_cpu_info info;
    sl_cpu_describe(&info);
    assert_true(info.model[0] != '\0');
    assert_true(info.memory_bytes > 0);
    print_message("%s, %s: %zu threads, caches %zu %zu %zu, memory %zu\n", info.model, sl_isa_name(sl_cpu_isa()),
                  sl_cpu_threads(), info.l1d_bytes, info.l2_bytes, info.l3_bytes, info.memory_bytes);
}

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, tree_make, tree_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE_TEST(test_cores),
        TREE_TEST(test_cores_old_names),
        TREE_TEST(test_no_files),
        TREE_TEST(test_v2),
        TREE_TEST(test_v2_nested),
        TREE_TEST(test_v1),
        TREE_TEST(test_v1_and_v2),
        TREE_TEST(test_malformed),
        TREE_TEST(test_threads_of_a_quota),
        TREE_TEST(test_fast_cores_listed),
        TREE_TEST(test_fast_cores_by_speed),
        TREE_TEST(test_reason),
        TREE_TEST(test_describe),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
