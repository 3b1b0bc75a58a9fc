/* Instruction sets from made-up CPUID values; threads and memory from made-up /proc and /sys trees. */
#include "base/cpu.h"
#include "base/cpu_in.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- instruction sets --------------------------------------------------------------------- */

/* A Sapphire Rapids as CPUID shows it (the bits that matter, and some others). */
static sl_cpuid full_cpu(void)
{
    return (sl_cpuid){ .leaf1_ecx = 0x7ffefbff,
                       .leaf7_ebx = 0xf3bfbfbf,
                       .leaf7_ecx = 0x1b415f7e,
                       .leaf7_edx = 0xffd14432,
                       .xcr0 = 0x602e7 };
}

static void test_isa_full(void **state)
{
    (void)state;
    const sl_cpuid full = full_cpu(), none = { 0 };
    assert_int_equal(sl_cpu_isa_of(&full), SL_ISA_AMX);
    assert_int_equal(sl_cpu_isa_of(&none), SL_ISA_SCALAR);
}

/* Take one bit away at a time: each of the required ones lowers the answer to its own step. */
static void test_isa_each_bit(void **state)
{
    (void)state;
    static const struct {
        size_t field; /* of the 32-bit leaves; 4: xcr0 */
        unsigned bit;
        sl_isa left;
    } cases[] = {
        { 0, 12, SL_ISA_SCALAR }, { 0, 27, SL_ISA_SCALAR }, { 0, 28, SL_ISA_SCALAR }, { 0, 29, SL_ISA_SCALAR },
        { 1, 5, SL_ISA_SCALAR },  { 4, 1, SL_ISA_SCALAR },  { 4, 2, SL_ISA_SCALAR },  { 1, 16, SL_ISA_AVX2 },
        { 1, 17, SL_ISA_AVX2 },   { 1, 30, SL_ISA_AVX2 },   { 1, 31, SL_ISA_AVX2 },   { 2, 11, SL_ISA_AVX2 },
        { 4, 5, SL_ISA_AVX2 },    { 4, 6, SL_ISA_AVX2 },    { 4, 7, SL_ISA_AVX2 },    { 3, 22, SL_ISA_AVX512 },
        { 3, 24, SL_ISA_AVX512 }, { 3, 25, SL_ISA_AVX512 }, { 4, 17, SL_ISA_AVX512 }, { 4, 18, SL_ISA_AVX512 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sl_cpuid id = full_cpu();
        const uint32_t keep = ~(UINT32_C(1) << cases[i].bit);
        switch (cases[i].field) {
        case 0:
            id.leaf1_ecx &= keep;
            break;
        case 1:
            id.leaf7_ebx &= keep;
            break;
        case 2:
            id.leaf7_ecx &= keep;
            break;
        case 3:
            id.leaf7_edx &= keep;
            break;
        default:
            id.xcr0 &= keep;
        }
        assert_int_equal(sl_cpu_isa_of(&id), cases[i].left);
    }
}

static void test_ceiling(void **state)
{
    (void)state;
    sl_isa isa = SL_ISA_COUNT;
    sl_err err = { 0 };
    assert_int_equal(sl_cpu_isa_parse(NULL, SL_ISA_AVX512, &isa, &err), SL_OK);
    assert_int_equal(isa, SL_ISA_AVX512);
    assert_int_equal(sl_cpu_isa_parse("", SL_ISA_AVX2, &isa, &err), SL_OK);
    assert_int_equal(isa, SL_ISA_AVX2);
    assert_int_equal(sl_cpu_isa_parse("scalar", SL_ISA_AVX512, &isa, &err), SL_OK);
    assert_int_equal(isa, SL_ISA_SCALAR);
    assert_int_equal(sl_cpu_isa_parse("avx512", SL_ISA_AVX512, &isa, &err), SL_OK);
    assert_int_equal(isa, SL_ISA_AVX512);
    assert_int_equal(sl_cpu_isa_parse("amx", SL_ISA_AVX512, &isa, &err), SL_EINVAL);
    assert_string_equal(err.msg, "SLUICE_CPU=amx: this CPU has avx512 at most");
    assert_int_equal(sl_cpu_isa_parse("avx1", SL_ISA_AVX512, &isa, &err), SL_EINVAL);
    assert_string_equal(err.msg, "SLUICE_CPU=avx1: expected scalar, avx2, avx512 or amx");
    assert_int_equal(isa, SL_ISA_AVX512);

    setenv("SLUICE_CPU", "scalar", 1);
    assert_int_equal(sl_cpu_isa_ceiling(&isa, &err), SL_OK);
    assert_int_equal(isa, SL_ISA_SCALAR);
    unsetenv("SLUICE_CPU");
    assert_int_equal(sl_cpu_isa_ceiling(&isa, &err), SL_OK);
    assert_int_equal(isa, sl_cpu_isa());
    assert_string_equal(sl_isa_name(SL_ISA_AVX512), "avx512");
}

/* The kernel's own list of flags is the second opinion on this machine. */
static void test_isa_of_this_machine(void **state)
{
    (void)state;
    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "vgpreload")) {
        puts("valgrind shows the program a smaller CPU than the kernel lists");
        skip();
    }
    FILE *f = fopen("/proc/cpuinfo", "r");
    char *line = NULL;
    size_t cap = 0;
    bool found = false;
    while (f && !found && getline(&line, &cap, f) > 0)
        found = strncmp(line, "flags", 5) == 0;
    if (found) {
        const bool avx2 = strstr(line, " avx2 ") && strstr(line, " fma ") && strstr(line, " f16c ");
        const bool avx512 = avx2 && strstr(line, " avx512f ") && strstr(line, " avx512bw ") &&
                            strstr(line, " avx512vl ") && strstr(line, " avx512dq ") && strstr(line, " avx512_vnni ");
        assert_int_equal(sl_cpu_isa() >= SL_ISA_AVX2, avx2);
        assert_int_equal(sl_cpu_isa() >= SL_ISA_AVX512, avx512);
    }
    free(line);
    if (f)
        fclose(f);
    if (!found)
        skip();
}

/* ---- trees -------------------------------------------------------------------------------- */

static char root[] = "/tmp/sluice-test-cpu-XXXXXX";

static int make_root(void **state)
{
    (void)state;
    strcpy(root + strlen(root) - 6, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
    (void)sb, (void)type, (void)ftw;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Write root/path, its folders too. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* CPU n shares its core with the CPUs of `list`. */
static void put_cpu(size_t n, const char *list, const char *file)
{
    char path[128];
    snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%zu/topology/%s", n, file);
    put(path, list);
}

static sl_cpu_set cpus(size_t from, size_t to)
{
    sl_cpu_set set = { 0 };
    for (size_t i = from; i <= to; i++)
        sl_cpu_set_add(&set, i);
    return set;
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
    assert_int_equal(sl_cpu_cores_at(root, &set), 8);
    set = cpus(8, 11);
    assert_int_equal(sl_cpu_cores_at(root, &set), 4);
    set = cpus(1, 2); /* one thread of two cores, the first of them not its core's first */
    assert_int_equal(sl_cpu_cores_at(root, &set), 2);
    set = cpus(100, 103); /* not described: a core each */
    assert_int_equal(sl_cpu_cores_at(root, &set), 4);
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
    assert_int_equal(sl_cpu_cores_at(root, &set), 1);
    sl_cpu_set_add(&set, 70);
    assert_int_equal(sl_cpu_cores_at(root, &set), 1);
    sl_cpu_set_add(&set, 71);
    assert_int_equal(sl_cpu_cores_at(root, &set), 2);
}

static void test_no_files(void **state)
{
    (void)state;
    const sl_cpu_set set = cpus(0, 2), empty = { 0 };
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    assert_int_equal(sl_cpu_threads_at(root, &set), 3);
    assert_int_equal(sl_cpu_threads_at(root, &empty), 1);
}

static void test_v2(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/user.slice/app.scope\n");
    put("sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000\n");
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    put("sys/fs/cgroup/user.slice/app.scope/cpu.max", "250000 100000\n");
    assert_int_equal(sl_cpu_quota_at(root), 3);
    put("sys/fs/cgroup/user.slice/app.scope/cpu.max", "200000 100000\n");
    assert_int_equal(sl_cpu_quota_at(root), 2);
    const sl_cpu_set set = cpus(0, 7), one = cpus(3, 3);
    assert_int_equal(sl_cpu_threads_at(root, &set), 2);
    assert_int_equal(sl_cpu_threads_at(root, &one), 1);
}

/* A parent's quota binds; so does that of the mount's root, the only group that a container sees. */
static void test_v2_nested(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/a/b/c\n");
    put("sys/fs/cgroup/a/b/c/cpu.max", "600000 100000\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    assert_int_equal(sl_cpu_quota_at(root), 1);
    put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    assert_int_equal(sl_cpu_quota_at(root), 6);
    put("proc/self/cgroup", "0::/not/shown/here\n");
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    assert_int_equal(sl_cpu_quota_at(root), 4);
    put("proc/self/cgroup", "0::/../../elsewhere\n");
    assert_int_equal(sl_cpu_quota_at(root), 4);
}

static void test_v1(void **state)
{
    (void)state;
    put("proc/self/cgroup", "12:memory:/docker/x\n4:cpuacct,cpu:/docker/x\n3:cpuset:/docker/x\n1:name=systemd:/\n");
    put("sys/fs/cgroup/cpuacct,cpu/docker/x/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpuacct,cpu/docker/x/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpuset/docker/x/cpu.cfs_quota_us", "1\n"); /* another controller's folder does not count */
    put("sys/fs/cgroup/cpuset/docker/x/cpu.cfs_period_us", "100000\n");
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    put("sys/fs/cgroup/cpuacct,cpu/docker/x/cpu.cfs_quota_us", "350000\n");
    assert_int_equal(sl_cpu_quota_at(root), 4);
    put("sys/fs/cgroup/cpuacct,cpu/docker/cpu.cfs_quota_us", "100000\n"); /* the parent's */
    put("sys/fs/cgroup/cpuacct,cpu/docker/cpu.cfs_period_us", "50000\n");
    assert_int_equal(sl_cpu_quota_at(root), 2);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "10000\n"); /* the root, mounted by the single name */
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "10000\n");
    assert_int_equal(sl_cpu_quota_at(root), 1);
}

/* Both versions mounted, v2 under unified/ (systemd's hybrid layout). */
static void test_v1_and_v2(void **state)
{
    (void)state;
    put("proc/self/cgroup", "4:cpu:/\n0::/job\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "500000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(sl_cpu_quota_at(root), 5);
    put("sys/fs/cgroup/unified/job/cpu.max", "300000 100000\n");
    assert_int_equal(sl_cpu_quota_at(root), 3);
}

static void test_malformed(void **state)
{
    (void)state;
    put("proc/self/cgroup", "\n:\nx\n0:\n::::\n0::\n0::relative\n4:cpu\n");
    put("sys/fs/cgroup/cpu.max", "100000");
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    put("sys/fs/cgroup/cpu.max", "100000 0\n");
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    put("sys/fs/cgroup/cpu.max", "");
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    put("sys/fs/cgroup/cpu.max", "99999999999999999999999 1\n");
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
    char text[6000] = "0::/"; /* longer than any path */
    memset(text + 4, 'a', sizeof text - 5);
    put("proc/self/cgroup", text);
    assert_true(sl_cpu_quota_at(root) == SIZE_MAX);
}

static void test_describe(void **state)
{
    (void)state;
    put("proc/cpuinfo", "processor\t: 0\nmodel\t\t: 1\nmodel name\t: Made Up 9000 @ 3GHz\n");
    put("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
    put("proc/self/cgroup", "0::/a\n");
    put("sys/fs/cgroup/a/memory.max", "max\n");
    const char *const caches[4][3] = {
        { "1", "Instruction", "64K" }, { "1", "Data", "48K" }, { "2", "Unified", "2048K" }, { "3", "Unified", "105M" }
    };
    for (int i = 0; i < 4; i++) {
        const char *const file[] = { "level", "type", "size" };
        for (int k = 0; k < 3; k++) {
            char path[128], text[32];
            snprintf(path, sizeof path, "sys/devices/system/cpu/cpu5/cache/index%d/%s", i, file[k]);
            snprintf(text, sizeof text, "%s\n", caches[i][k]);
            put(path, text);
        }
    }
    sl_cpu_info info;
    sl_cpu_describe_at(root, 5, &info);
    assert_string_equal(info.model, "Made Up 9000 @ 3GHz");
    assert_int_equal(info.l1d_bytes, 48 << 10);
    assert_int_equal(info.l2_bytes, 2 << 20);
    assert_int_equal(info.l3_bytes, 105 << 20);
    assert_int_equal(info.memory_bytes, 16 << 20);
    put("sys/fs/cgroup/a/memory.max", "1048576\n");
    sl_cpu_describe_at(root, 5, &info);
    assert_int_equal(info.memory_bytes, 1 << 20);
    put("proc/self/cgroup", "7:memory:/a\n");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152\n");
    sl_cpu_describe_at(root, 4, &info);
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

#define TREE_TEST(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isa_full), cmocka_unit_test(test_isa_each_bit),
        cmocka_unit_test(test_ceiling),  cmocka_unit_test(test_isa_of_this_machine),
        TREE_TEST(test_cores),           TREE_TEST(test_cores_old_names),
        TREE_TEST(test_no_files),        TREE_TEST(test_v2),
        TREE_TEST(test_v2_nested),       TREE_TEST(test_v1),
        TREE_TEST(test_v1_and_v2),       TREE_TEST(test_malformed),
        TREE_TEST(test_describe),        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
