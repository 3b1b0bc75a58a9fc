/* Instruction sets from made-up CPUID values. */
#include "base/cpu.h"
#include "base/cpu_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* A Sapphire Rapids as CPUID shows it (the bits that matter, and some others). */
static sl_cpuid full_cpu(void)
{
    return (sl_cpuid){ .leaf1_ecx = 0x7ffefbff,
                       .leaf7_ebx = 0xf3bfbfbf,
                       .leaf7_ecx = 0x1b415f7e,
                       .leaf7_edx = 0xffd14432,
                       .xcr0 = 0x602e7 };
}

static unsigned asked;

static bool granted(void)
{
    asked++;
    return true;
}

static bool refused(void)
{
    asked++;
    return false;
}

static void test_isa_full(void **state)
{
    (void)state;
    const sl_cpuid full = full_cpu(), none = { 0 };
    assert_int_equal(sl_cpu_isa_of(&full, granted), SL_ISA_AMX);
    assert_int_equal(sl_cpu_isa_of(&none, granted), SL_ISA_SCALAR);
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
        assert_int_equal(sl_cpu_isa_of(&id, granted), cases[i].left);
    }
}

/* Tiles are used with the system's leave alone, which is asked for only where it is all that is missing. */
static void test_tiles_need_leave(void **state)
{
    (void)state;
    sl_cpuid id = full_cpu();
    asked = 0;
    assert_int_equal(sl_cpu_isa_of(&id, refused), SL_ISA_AVX512);
    assert_int_equal(asked, 1);
    id.xcr0 &= ~(UINT64_C(1) << 18);
    assert_int_equal(sl_cpu_isa_of(&id, refused), SL_ISA_AVX512);
    id = full_cpu();
    id.leaf7_edx = 0;
    assert_int_equal(sl_cpu_isa_of(&id, refused), SL_ISA_AVX512);
    assert_int_equal(asked, 1);
}

/* Every feature bit there is, and a system that saves fewer registers than the CPU has. */
static void test_isa_system_state(void **state)
{
    (void)state;
    static const struct {
        uint64_t xcr0;
        sl_isa left;
    } cases[] = { { 0, SL_ISA_SCALAR },     { 3, SL_ISA_SCALAR },       { 7, SL_ISA_AVX2 },
                  { 0x27, SL_ISA_AVX2 },    { 0x67, SL_ISA_AVX2 },      { 0xe7, SL_ISA_AVX512 },
                  { 0x2e7, SL_ISA_AVX512 }, { 0x202e7, SL_ISA_AVX512 }, { 0x402e7, SL_ISA_AVX512 },
                  { 0x602e7, SL_ISA_AMX },  { 0xe4, SL_ISA_SCALAR } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sl_cpuid id = { .leaf1_ecx = UINT32_MAX,
                              .leaf7_ebx = UINT32_MAX,
                              .leaf7_ecx = UINT32_MAX,
                              .leaf7_edx = UINT32_MAX,
                              .xcr0 = cases[i].xcr0 };
        assert_int_equal(sl_cpu_isa_of(&id, granted), cases[i].left);
    }
    const sl_cpuid hidden = { .leaf1_ecx = UINT32_MAX & ~(UINT32_C(1) << 27),
                              .leaf7_ebx = UINT32_MAX,
                              .leaf7_ecx = UINT32_MAX,
                              .leaf7_edx = UINT32_MAX,
                              .xcr0 = 0x602e7 };
    assert_int_equal(sl_cpu_isa_of(&hidden, granted), SL_ISA_SCALAR);
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

/* Signatures as CPUID shows them. */
static void test_streams(void **state)
{
    (void)state;
    static const struct {
        bool amd;
        uint32_t leaf1_eax;
        bool several;
    } cases[] = {
        { true, 0x00a00f11, true },   /* Zen 3, EPYC 7003 */
        { true, 0x00a20f10, true },   /* Zen 3, Ryzen 5000 */
        { true, 0x00a40f41, true },   /* Zen 3+, Ryzen 6000 */
        { true, 0x00a50f00, true },   /* Zen 3, Ryzen 5000G */
        { true, 0x00a10f11, false },  /* Zen 4, EPYC 9004 */
        { true, 0x00a60f12, false },  /* Zen 4, Ryzen 7000 */
        { true, 0x00aa0f02, false },  /* Zen 4c, EPYC 97x4 */
        { true, 0x00830f10, false },  /* Zen 2 */
        { true, 0x00b00f21, false },  /* Zen 5 */
        { false, 0x00a00f11, false }, /* nobody's */
        { false, 0x000806f8, false }, /* Sapphire Rapids */
        { false, 0, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const sl_cpuid id = { .amd = cases[i].amd, .leaf1_eax = cases[i].leaf1_eax };
        assert_int_equal(sl_cpu_several_of(&id), cases[i].several);
    }

    bool several = true;
    sl_err err = { 0 };
    assert_int_equal(sl_cpu_several_parse("one", true, &several, &err), SL_OK);
    assert_false(several);
    assert_int_equal(sl_cpu_several_parse("several", false, &several, &err), SL_OK);
    assert_true(several);
    assert_int_equal(sl_cpu_several_parse("", false, &several, &err), SL_OK);
    assert_false(several);
    assert_int_equal(sl_cpu_several_parse(NULL, true, &several, &err), SL_OK);
    assert_true(several);
    assert_int_equal(sl_cpu_several_parse("2", true, &several, &err), SL_EINVAL);
    assert_string_equal(err.msg, "SLUICE_STREAMS=2: expected one or several");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isa_full),
        cmocka_unit_test(test_isa_each_bit),
        cmocka_unit_test(test_tiles_need_leave),
        cmocka_unit_test(test_isa_system_state),
        cmocka_unit_test(test_ceiling),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_isa_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
