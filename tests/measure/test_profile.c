/* A real run's account, and causes judged by made-up times: each fault named, by what it would save. */
#include "measure/profile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cpu.h"
#include "base/mem.h"
#include "base/num.h"
#include "kernels/kernels.h"

#if SL_TRACE

static sl_model *model;
static const sl_profile_machine machine = {
    .read_gb_s = 10.0, .peak_g_s = { [SL_PEAK_FMA_AVX2_F32] = 50.0, [SL_PEAK_INT8_AVX2_MADDUBS_PAIRED] = 100.0 }
};

static int open_model(void **state)
{
    (void)state;
    char path[512];
    sl_err err = { 0 };
    snprintf(path, sizeof path, "%s/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf", getenv("TEST_DATA"));
    return sl_model_open(&model, path, &err) != SL_OK;
}

static int close_model(void **state)
{
    (void)state;
    sl_model_close(model);
    return 0;
}

/* ---- a run ------------------------------------------------------------------------- */

static void check_account(const sl_profile_account *a, size_t steps)
{
    double sum = a->imbalance_s + a->barrier_s + a->dispatch_s;
    assert_int_equal(a->steps, steps);
    for (size_t i = 0; i < a->n_rows; i++) {
        sum += a->rows[i].seconds;
        assert_true(i == 0 || a->rows[i].seconds <= a->rows[i - 1].seconds);
    }
    assert_true(fabs(sum - a->wall_s) < 1e-9);
}

static void test_run(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_bench *b = NULL;
    sl_profile p = { 0 };
    const sl_engine_options o = { .n_threads = 2, .n_ubatch = 16, .trace_spans = 10000 };
    const sl_bench_test prompt = { SL_BENCH_PROMPT, 40, 0, 1 }, generate = { SL_BENCH_GENERATE, 8, 10, 2 };
    assert_int_equal(sl_bench_create(&b, model, &o, &err), SL_OK);
    assert_int_equal(sl_bench_prepare(b, &(sl_bench_test){ SL_BENCH_GENERATE, 40, 0, 2 }, NULL, &err), SL_OK);
    assert_int_equal(sl_profile_run(&p, b, &prompt, 4, &err), SL_OK);
    check_account(&p.all, 4 * 3);
    check_account(&p.quiet, 3); /* the quickest of four at each place */
    assert_true(p.quiet.wall_s <= p.all.wall_s / 4 + 1e-9 && fabs(p.run_s - p.quiet.wall_s) < 1e-9);
    sl_profile_hold(&p, model, sl_bench_engine(b), &machine);
    assert_true(p.roof_share > 0.0);
    sl_profile_fini(&p);
    assert_int_equal(sl_profile_run(&p, b, &generate, 3, &err), SL_OK);
    check_account(&p.all, 3 * 8);
    check_account(&p.quiet, 3 * 8 / 4);
    sl_profile_fini(&p);
    sl_status rc = SL_ENOMEM;
    for (long n = 0; rc != SL_OK; n++) {
        assert_true(n < 100);
        sl_mem_fail_after(n);
        rc = sl_profile_run(&p, b, &generate, 2, &err);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_OK || (rc == SL_ENOMEM && !p.all.rows && !p.quiet.rows));
    }
    sl_profile_fini(&p);
    sl_bench_destroy(b);
}

/* A ring that holds less than all steps: those that it has lost are not counted in part. */
static void test_full_ring(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_bench *b = NULL;
    sl_profile p = { 0 };
    const sl_engine_options o = { .n_threads = 1, .trace_spans = 150 };
    const sl_bench_test t = { SL_BENCH_GENERATE, 20, 0, 1 };
    assert_int_equal(sl_bench_create(&b, model, &o, &err), SL_OK);
    assert_int_equal(sl_bench_prepare(b, &t, NULL, &err), SL_OK);
    assert_int_equal(sl_profile_run(&p, b, &t, 3, &err), SL_OK);
    assert_true(p.n_lost > 40 && p.n_lost < 60);
    check_account(&p.all, 60 - p.n_lost);
    for (size_t i = 0; i < p.all.n_rows; i++)
        if (strcmp(p.all.rows[i].name, "logits") == 0)
            assert_int_equal(p.all.rows[i].calls, p.all.steps);
    sl_profile_fini(&p);
    sl_bench_destroy(b);
}

static void test_without_trace(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_bench *b = NULL;
    sl_profile p = { 0 };
    const sl_bench_test t = { SL_BENCH_GENERATE, 2, 0, 1 };
    assert_int_equal(sl_bench_create(&b, model, &(sl_engine_options){ 0 }, &err), SL_OK);
    assert_int_equal(sl_bench_prepare(b, &t, NULL, &err), SL_OK);
    assert_int_equal(sl_profile_run(&p, b, &t, 1, &err), SL_EINVAL);
    sl_bench_destroy(b);
}

/* ---- causes ------------------------------------------------------------------------ */

/* One second of quiet steps on an engine with these options. */
static sl_diagnosis diagnose(const sl_engine_options *o, sl_profile *p, sl_profile_row *rows, size_t n)
{
    sl_err err = { 0 };
    sl_engine *e = NULL;
    sl_diagnosis d;
    sl_engine_options options = *o;
    options.n_ctx = 256;
    p->quiet.rows = rows;
    p->quiet.n_rows = n;
    p->quiet.steps = p->all.steps = 10;
    p->quiet.wall_s = p->run_s = 1.0;
    assert_int_equal(sl_engine_create(&e, model, &options, &err), SL_OK);
    assert_int_equal(sl_profile_diagnose(p, 1, e, &options, &machine, &d, &err), SL_OK);
    sl_engine_destroy(e);
    return d;
}

static void check_limit(const sl_diagnosis *d, const char *id, double gain)
{
    if (!id) {
        assert_null(d->limit.id);
        return;
    }
    assert_non_null(d->limit.id);
    assert_string_equal(d->limit.id, id);
    assert_true(fabs(d->limit.gain - gain) < 1e-6 * gain);
    assert_non_null(strstr(d->sentence, d->limit.change));
}

#define ATTENTION                                                                                                      \
    {                                                                                                                  \
        .name = "attention", .seconds = 0.8, .read_s = 0.4, .multiply_s = 0.1, .op = {                                 \
            .name = "attention",                                                                                       \
            .reads_kv = true                                                                                           \
        }                                                                                                              \
    }
#define LINEAR(s, read, multiply, bits)                                                                                \
    {                                                                                                                  \
        .name = "ffn_up", .seconds = s, .read_s = read, .multiply_s = multiply,                                        \
        .peak = SL_PEAK_INT8_AVX2_MADDUBS_PAIRED, .op = { .name = "ffn_up", .format = "INT8", .int8 = true },          \
        .weight_bytes = bits, .n_weights = 8                                                                           \
    }

static void test_kv(void **state)
{
    (void)state;
    sl_profile_row rows[] = { ATTENTION, LINEAR(0.2, 0.01, 0.1, 5) };
    sl_profile p = { .test = { SL_BENCH_GENERATE, 10, 100, 1 } };
    sl_diagnosis d = diagnose(&(sl_engine_options){ .kv_type = "f32" }, &p, rows, 2);
    check_limit(&d, "kv-type", 1.0 / (1.0 - 0.8 * (1.0 - (0.2 + 0.1) / 0.5)));
    assert_string_equal(d.sentence, "decode is limited by reading keys and values: 80 % of the time, 0.50 of the "
                                    "bandwidth; --kv-type f16 would halve these bytes: about 1.5x");
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 2); /* f16 already: only at a cost */
    check_limit(&d, "kv", 1.0 / (1.0 - 0.8 * (1.0 - (0.53 * 0.4 + 0.1) / 0.5)));
    assert_int_equal(d.limit.rank, SL_RANK_COSTS);
    assert_string_equal(d.limit.change, "--kv-type int8");
    d = diagnose(&(sl_engine_options){ .kv_type = "int8" }, &p, rows, 2);
    check_limit(&d, "kv", 1.0 / (1.0 - 0.8 * (1.0 - (0.2 + 0.1) / 0.5)));
    assert_string_equal(d.limit.change, "--attn-window 50");
    p.test.depth = 0;
    p.roof_share = 0.7;
    d = diagnose(&(sl_engine_options){ .kv_type = "int8" }, &p, rows, 2);
    check_limit(&d, NULL, 0);
    assert_non_null(strstr(d.sentence, "decode is near the roof: 0.70"));
    p.roof_share = 0.3;
    d = diagnose(&(sl_engine_options){ .kv_type = "int8" }, &p, rows, 2);
    assert_non_null(strstr(d.sentence, "nothing stands out"));
    assert_non_null(strstr(d.sentence, "attention (80 %"));
}

/* In this build, on this CPU, and not held back. */
static bool has_fast_kernels(void)
{
    return sl_cpu_isa() >= SL_ISA_AVX2 && strstr(sl_kernels_built(), "avx2") && !getenv("SLUICE_CPU");
}

static void test_weights(void **state)
{
    (void)state;
    sl_profile_row rows[] = { LINEAR(1.0, 0.5, 0.1, 8) };
    sl_profile p = { .test = { SL_BENCH_GENERATE, 10, 0, 1 } };
    sl_diagnosis d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    check_limit(&d, "weights", 0.6 / (0.5 * 4.5 / 8 + 0.1));
    rows[0].weight_bytes = 4; /* fewer bits than Q4_0 */
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    check_limit(&d, NULL, 0);
    rows[0].op.slow = true;
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    if (has_fast_kernels())
        check_limit(&d, NULL, 0); /* at half of the roof: slow or not, no worse than others */
    rows[0].read_s = rows[0].multiply_s = 0.1;
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    if (has_fast_kernels())
        check_limit(&d, "format", 1.0 / 0.2);
}

/* Rows that are interleaved cost less for one token: not more than memory allows, and only where they are not so yet.
 */
static void test_repack(void **state)
{
    (void)state;
    if (!has_fast_kernels())
        skip();
    sl_profile_row rows[] = { LINEAR(1.0, 0.5, 0.1, 4) };
    sl_profile p = { .test = { SL_BENCH_GENERATE, 10, 0, 1 } };
    rows[0].op.format = "Q4_0";
    sl_diagnosis d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    check_limit(&d, "repack", 1.4);
    assert_true(d.limit.at_most && d.limit.options.repack && d.limit.rank == SL_RANK_COSTS);
    d = diagnose(&d.limit.options, &p, rows, 1);
    check_limit(&d, NULL, 0);
    d = diagnose(&(sl_engine_options){ .weights = "map" }, &p, rows, 1);
    check_limit(&d, "repack", 1.4);
    d = diagnose(&d.limit.options, &p, rows, 1); /* an engine can be made of them */
    check_limit(&d, NULL, 0);
    d = diagnose(&(sl_engine_options){ .prefetch = "on" }, &p, rows, 1);
    check_limit(&d, NULL, 0);
    rows[0].read_s = 0.8;
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    check_limit(&d, "repack", 1.0 / 0.8);
    p.test.seqs = 8;
    d = diagnose(&(sl_engine_options){ .n_seqs = 8 }, &p, rows, 1);
    check_limit(&d, NULL, 0);
    p.test = (sl_bench_test){ SL_BENCH_PROMPT, 128, 0, 1 };
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    check_limit(&d, NULL, 0);
}

static void test_prompts(void **state)
{
    (void)state;
    sl_profile_row rows[] = { LINEAR(1.0, 0.4, 0.1, 4) };
    sl_profile p = { .test = { SL_BENCH_PROMPT, 128, 0, 1 } };
    sl_diagnosis d = diagnose(&(sl_engine_options){ .n_ubatch = 32 }, &p, rows, 1);
    check_limit(&d, "ubatch-size", 0.5 / (0.4 * 32 / 128 + 0.1));
    assert_non_null(strstr(d.sentence, "prefill is limited by"));
    rows[0].peak = SL_PEAK_FMA_AVX2_F32;
    rows[0].op.format = "Q4_0";
    rows[0].read_s = 0.0;
    d = diagnose(&(sl_engine_options){ .act = "f32" }, &p, rows, 1);
    check_limit(&d, "act", 2.0);
}

static void test_switches(void **state)
{
    (void)state;
    sl_profile_row small[] = { { .name = "norm", .seconds = 0.5, .op = { .name = "norm", .vanishes = true } },
                               LINEAR(0.5, 0.0, 0.4, 4) };
    sl_profile_row plan[] = { { .name = "plan", .seconds = 0.4, .serial = true }, LINEAR(0.6, 0.0, 0.4, 4) };
    sl_profile p = { .test = { SL_BENCH_GENERATE, 10, 0, 1 } };
    sl_diagnosis d = diagnose(&(sl_engine_options){ .fusion = "none" }, &p, small, 2);
    check_limit(&d, "fusion", 2.0);
    assert_true(d.limit.at_most && !d.limit.options.fusion);
    d = diagnose(&(sl_engine_options){ 0 }, &p, small, 2);
    check_limit(&d, NULL, 0);
    d = diagnose(&(sl_engine_options){ .mode = "eager" }, &p, plan, 2);
    check_limit(&d, "mode", 1.0 / 0.6);
    plan[0].seconds = 0.05; /* not worth a word */
    plan[1].seconds = 0.95;
    d = diagnose(&(sl_engine_options){ .mode = "eager" }, &p, plan, 2);
    check_limit(&d, NULL, 0);
}

/* One thread where there are more cores: not the file's fault. Not where barriers would eat what it brings. */
static void test_few_threads(void **state)
{
    (void)state;
    const double cores = (double)sl_cpu_threads();
    sl_profile_row rows[] = { LINEAR(0.8, 0.5, 0.1, 8), { .name = "sample", .seconds = 0.2, .serial = true } };
    sl_profile p = { .test = { SL_BENCH_GENERATE, 10, 0, 1 } };
    if (cores < 2)
        skip();
    sl_diagnosis d = diagnose(&(sl_engine_options){ .n_threads = 1 }, &p, rows, 2);
    const double most = 1.0 / (0.2 + 0.8 / cores);
    check_limit(&d, "threads", d.limit.gain);
    assert_true(d.limit.gain <= most && d.limit.gain > 0.99 * most && d.limit.at_most);
    assert_int_equal(d.limit.options.n_threads, sl_cpu_threads());
    d = diagnose(&(sl_engine_options){ .n_threads = sl_cpu_threads() }, &p, rows, 2);
    check_limit(&d, "weights", d.limit.gain);
    p.idle_share = 0.5; /* others have the cores */
    d = diagnose(&(sl_engine_options){ .n_threads = 1 }, &p, rows, 2);
    check_limit(&d, "weights", d.limit.gain);
    p.idle_share = 0.0;
    rows[0] = (sl_profile_row)LINEAR(1e-4, 0.0, 1e-4, 4);
    d = diagnose(&(sl_engine_options){ .n_threads = 1 }, &p, rows, 1);
    for (size_t i = 0; i < d.n; i++)
        assert_string_not_equal(d.all[i].id, "threads");
}

static void test_threads_and_system(void **state)
{
    (void)state;
    sl_profile_row rows[] = { LINEAR(0.2, 0.0, 0.1, 4) };
    sl_profile p = { .test = { SL_BENCH_GENERATE, 10, 0, 1 } };
    p.quiet.imbalance_s = 0.5;
    p.quiet.barrier_s = 0.2;
    p.quiet.dispatch_s = 0.1;
    sl_diagnosis d = diagnose(&(sl_engine_options){ .n_threads = 2 }, &p, rows, 1);
    check_limit(&d, "barriers", 1.0 / (2 * 0.2 + 0.1));
    assert_null(strstr(d.sentence, "busy"));
    p.idle_share = 0.4; /* less of the waiting is their own */
    d = diagnose(&(sl_engine_options){ .n_threads = 2 }, &p, rows, 1);
    check_limit(&d, "barriers", 1.0 / 0.7);
    assert_non_null(strstr(d.sentence, "no CPU ran the threads for 40 %"));
    if (sl_cpu_threads() >= 2) {
        p.idle_share = 0.7; /* none of it is */
        d = diagnose(&(sl_engine_options){ .n_threads = 2 }, &p, rows, 1);
        check_limit(&d, "busy", 1.0 / 0.3);
        assert_int_equal(d.limit.rank, SL_RANK_COSTS);
        p.idle_share = 0.4;
    }
    const size_t many = sl_cpu_threads() + 1;
    d = diagnose(&(sl_engine_options){ .n_threads = many }, &p, rows, 1);
    check_limit(&d, "crowd", 1.0 / 0.3);
    assert_int_equal(d.limit.options.n_threads, sl_cpu_threads());
    rows[0].seconds = 1.0;
    p.quiet = (sl_profile_account){ 0 };
    p.major_faults = 10;
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    check_limit(&d, "prefetch", 1.0 / 0.6);
    assert_true(d.limit.has_options);
    assert_string_equal(d.limit.options.prefetch, "on");
    d = diagnose(&(sl_engine_options){ .prefetch = "on" }, &p, rows, 1);
    check_limit(&d, "disk", 1.0 / 0.6);
    p.major_faults = 9; /* fewer than steps */
    d = diagnose(&(sl_engine_options){ 0 }, &p, rows, 1);
    check_limit(&d, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),           cmocka_unit_test(test_full_ring),
        cmocka_unit_test(test_without_trace), cmocka_unit_test(test_kv),
        cmocka_unit_test(test_weights),       cmocka_unit_test(test_repack),
        cmocka_unit_test(test_prompts),       cmocka_unit_test(test_switches),
        cmocka_unit_test(test_few_threads),   cmocka_unit_test(test_threads_and_system),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}

#else

int main(void)
{
    return 77; /* nothing to profile with -Dtrace=off */
}

#endif
