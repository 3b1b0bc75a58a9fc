/* checkasm.c - the program: subjects, ISAs, command line.
 *
 *   checkasm [--bench] [--seed N] [--verbose] [PART-OF-A-CASE-NAME]
 *   checkasm --self-test      does the harness see what is wrong?
 *
 * Exit 0: all passed; 1: something failed; 2: wrong usage. */
#include "harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*check)(ca *c);
} subjects[] = {
    { "table", check_table },   { "act", check_act },         { "attn", check_attn }, { "kv", check_kv },
    { "linear", check_linear }, { "forms", check_forms },     { "norm", check_norm }, { "quantize", check_quantize },
    { "rope", check_rope },     { "softmax", check_softmax },
};

/* clang-format off */
const size_t ca_widths[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
    25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46,
    47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67,
    128, 576, 1024, 1536, 0,
};
/* clang-format on */
const size_t ca_bench_widths[] = { 64, 576, 1024, 1536, 4096, 0 };

const size_t *ca_widths_of(const ca *c)
{
    return c->bench ? ca_bench_widths : ca_widths;
}

static void run_isa(ca_state *s, bool bench, sl_isa isa)
{
    sl_kernels k, below = { .isa = SL_ISA_SCALAR }, scalar;
    sl_kernels_init(&k, isa);
    sl_kernels_init(&scalar, SL_ISA_SCALAR);
    sl_err err = { 0 };
    if (sl_cpu_several_streams(&k.several, &err)) {
        printf("FAILED: %s\n", err.msg);
        s->failed++;
        return;
    }
    if (k.isa != isa) {
        printf("skipped: %s: %s\n", sl_isa_name(isa),
               isa > sl_cpu_isa() ? "this CPU lacks it" : "no such kernels in this build");
        return;
    }
    if (isa != SL_ISA_SCALAR)
        sl_kernels_init(&below, (sl_isa)(isa - 1));
    ca c = { .isa = isa, .k = &k, .below = &below, .scalar = &scalar, .bench = bench, .state = s };
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        const size_t passed = s->passed, failed = s->failed;
        subjects[i].check(&c);
        if (!bench && s->passed + s->failed > passed + failed)
            printf("%s %s: %zu passed, %zu failed\n", sl_isa_name(isa), subjects[i].name, s->passed - passed,
                   s->failed - failed);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: checkasm [--bench] [--seed N] [--verbose] [PART-OF-A-CASE-NAME] | --self-test\n");
    return 2;
}

int main(int argc, char **argv)
{
    static ca_state state = { .seed = 1 };
    bool bench = false, self_test = false;
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (strcmp(argv[i], "--bench") == 0) {
            bench = true;
        } else if (strcmp(argv[i], "--self-test") == 0) {
            self_test = true;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            state.verbose = true;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            state.seed = strtoull(argv[++i], &end, 0);
            if (*argv[i] == '\0' || *end != '\0')
                return usage();
        } else if (argv[i][0] != '-' && !state.filter) {
            state.filter = argv[i];
        } else {
            return usage();
        }
    }
    ca_catch_crashes();
    if (self_test)
        return ca_self_test() ? 0 : 1;
    if (!bench)
        printf("seed %" PRIu64 "\n", state.seed);
    for (int isa = SL_ISA_SCALAR; isa < SL_ISA_COUNT; isa++)
        run_isa(&state, bench, (sl_isa)isa);
    if (!bench)
        printf("%zu passed, %zu failed\n", state.passed, state.failed);
    if (state.passed + state.failed == 0) {
        fprintf(stderr, "checkasm: no case has \"%s\" in its name\n", state.filter ? state.filter : "");
        return 1;
    }
    return state.failed ? 1 : 0;
}
