/* cpu.c - which instruction sets the CPU has, the system saves the registers of, and the user allows. */
#include "base/cpu.h"
#include "base/cpu_in.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static const char *const isa_names[SL_ISA_COUNT] = {
#define ISA_NAME(name, text) [SL_ISA_##name] = text,
    SL_ISA_LIST(ISA_NAME)
#undef ISA_NAME
};

const char *sl_isa_name(sl_isa isa)
{
    return (unsigned)isa < SL_ISA_COUNT ? isa_names[isa] : "unknown";
}

/* Bit numbers: Intel SDM volume 2, CPUID; XCR0: volume 1, section 13.3. */
#define BIT(n)      (UINT64_C(1) << (n))
#define L1C_AVX2    (BIT(12) /* FMA */ | BIT(27) /* OSXSAVE */ | BIT(28) /* AVX */ | BIT(29) /* F16C */)
#define L7B_AVX2    BIT(5)
#define XCR0_AVX    (BIT(1) | BIT(2))
#define L7B_AVX512  (BIT(16) /* F */ | BIT(17) /* DQ */ | BIT(30) /* BW */ | BIT(31) /* VL */)
#define L7C_AVX512  BIT(11) /* VNNI */
#define XCR0_AVX512 (XCR0_AVX | BIT(5) | BIT(6) | BIT(7))
#define L7D_AMX     (BIT(22) /* BF16 */ | BIT(24) /* TILE */ | BIT(25) /* INT8 */)
#define XCR0_AMX    (XCR0_AVX512 | BIT(17) | BIT(18))

static bool has_all(uint64_t value, uint64_t mask)
{
    return (value & mask) == mask;
}

sl_isa sl_cpu_isa_of(const sl_cpuid *id, bool (*ask_tiles)(void))
{
    if (!has_all(id->leaf1_ecx, L1C_AVX2) || !has_all(id->leaf7_ebx, L7B_AVX2) || !has_all(id->xcr0, XCR0_AVX))
        return SL_ISA_SCALAR;
    if (!has_all(id->leaf7_ebx, L7B_AVX512) || !has_all(id->leaf7_ecx, L7C_AVX512) || !has_all(id->xcr0, XCR0_AVX512))
        return SL_ISA_AVX2;
    return has_all(id->leaf7_edx, L7D_AMX) && has_all(id->xcr0, XCR0_AMX) && ask_tiles() ? SL_ISA_AMX : SL_ISA_AVX512;
}

/* Zen 3: family 19h with the models of its processors; others of that family are Zen 4. Source: AMD's processor
 * programming references, "CPUID Fn0000_0001_EAX": a family above 0Fh is 0Fh plus bits 27:20, a model bits 7:4 under
 * bits 19:16. */
bool sl_cpu_several_of(const sl_cpuid *id)
{
    const uint32_t eax = id->leaf1_eax;
    const uint32_t family = (eax >> 8 & 0xf) + (eax >> 20 & 0xff), model = (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
    return id->amd && family == 0x19 && (model < 0x10 || (model >= 0x20 && model < 0x60));
}

#if defined(__x86_64__)
static sl_cpuid read_cpuid(void)
{
    sl_cpuid id = { 0 };
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid(0, &eax, &ebx, &ecx, &edx))
        id.amd = ebx == signature_AMD_ebx && ecx == signature_AMD_ecx && edx == signature_AMD_edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return id;
    id.leaf1_eax = eax;
    id.leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        id.leaf7_ebx = ebx;
        id.leaf7_ecx = ecx;
        id.leaf7_edx = edx;
    }
    if (id.leaf1_ecx & BIT(27)) { /* else XGETBV is an illegal instruction */
        unsigned low = 0, high = 0;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        id.xcr0 = (uint64_t)high << 32 | low;
    }
    return id;
}

/* Linux saves the 8 KiB of tile registers only for processes that asked; the first tile instruction of another one
 * ends it. The leave holds for all threads, older ones too. Source: the kernel's Documentation/arch/x86/xstate.rst. */
static bool ask_tiles(void)
{
    enum { REQ_XCOMP_PERM = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQ_XCOMP_PERM, TILE_DATA) == 0;
}
#else
static bool ask_tiles(void)
{
    return false;
}

static sl_cpuid read_cpuid(void)
{
    return (sl_cpuid){ 0 };
}
#endif

sl_isa sl_cpu_isa(void)
{
    const sl_cpuid id = read_cpuid();
    return sl_cpu_isa_of(&id, ask_tiles);
}

sl_status sl_cpu_isa_parse(const char *text, sl_isa best, sl_isa *out, sl_err *err)
{
    if (!text || !*text) {
        *out = best;
        return SL_OK;
    }
    for (int i = 0; i < SL_ISA_COUNT; i++) {
        if (strcmp(text, isa_names[i]) != 0)
            continue;
        if (i > (int)best)
            return sl_fail(err, SL_EINVAL, "SLUICE_CPU=%s: this CPU has %s at most", text, isa_names[best]);
        *out = (sl_isa)i;
        return SL_OK;
    }
    return sl_fail(err, SL_EINVAL, "SLUICE_CPU=%s: expected scalar, avx2, avx512 or amx", text);
}

sl_status sl_cpu_isa_ceiling(sl_isa *out, sl_err *err)
{
    return sl_cpu_isa_parse(getenv("SLUICE_CPU"), sl_cpu_isa(), out, err);
}

sl_status sl_cpu_several_parse(const char *text, bool usual, bool *out, sl_err *err)
{
    if (!text || !*text)
        *out = usual;
    else if (strcmp(text, "several") == 0 || strcmp(text, "one") == 0)
        *out = text[0] == 's';
    else
        return sl_fail(err, SL_EINVAL, "SLUICE_STREAMS=%s: expected one or several", text);
    return SL_OK;
}

sl_status sl_cpu_several_streams(bool *out, sl_err *err)
{
    const sl_cpuid id = read_cpuid();
    return sl_cpu_several_parse(getenv("SLUICE_STREAMS"), sl_cpu_several_of(&id), out, err);
}
