/* The probe: its patterns read every byte, its numbers have names, its failures are said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <string.h>
#include "base/cpu.h"
#include "base/mem.h"
#include "base/rng.h"
#include "measure/probe.h"
#include "measure/probe_in.h"
#include "quant/interleave.h"

#define SMALL ((size_t)16 << 20)

static void names_lead_back_to_their_peak(void **state)
{
    (void)state;
    for (size_t i = 0; i < SL_PEAK_COUNT; i++) {
        sl_peak found = SL_PEAK_COUNT;
        const char *name = sl_peak_name((sl_peak)i);
        assert_true(sl_peak_by_name(name, &found));
        assert_int_equal(found, i);
        assert_int_equal(strncmp(sl_peak_key((sl_peak)i), name, strlen(name)), 0);
    }
    sl_peak untouched = SL_PEAK_FMA_AVX2_F32;
    assert_false(sl_peak_by_name("int8", &untouched));
    assert_false(sl_peak_by_name("", &untouched));
    assert_int_equal(untouched, SL_PEAK_FMA_AVX2_F32);
}

#if defined(__x86_64__)
static void every_pattern_reads_every_byte(void **state)
{
    (void)state;
    if (sl_cpu_isa() < SL_ISA_AVX2)
        skip();
    const size_t n = 8 * 256 * 3 / sizeof(uint64_t);
    uint64_t *data = sl_mem_alloc(n * sizeof *data), want = 0;
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) {
        data[i] = sl_rng_u64(7, i);
        want ^= data[i];
    }
    static const size_t streams[] = { 1, 4, 8 }, ahead[] = { 0, 512 };
    for (size_t s = 0; s < 3; s++)
        for (size_t a = 0; a < 2; a++)
            assert_true(sl_probe_read_avx2(data, n * sizeof *data, streams[s], ahead[a]) == want);
    sl_mem_free(data);
}
#endif

static void formats_have_the_yardstick_of_their_bits(void **state)
{
    (void)state;
    assert_int_equal(sl_peak_of("Q4_0", true), SL_PEAK_INT8_AVX2_MADDUBS_PAIRED);
    assert_int_equal(sl_peak_of("Q8_0", true), SL_PEAK_INT8_AVX2_MADD16);
    assert_int_equal(sl_peak_of("Q8_0", false), SL_PEAK_FMA_AVX2_F32);
    assert_int_equal(sl_peak_of("BF16", true), SL_PEAK_FMA_AVX2_F32);
    for (int f = 0; f < SL_FORMAT_COUNT; f++) { /* interleaved or not */
        const sl_format other = sl_format_interleaved((sl_format)f);
        if (other != SL_FORMAT_COUNT)
            assert_int_equal(sl_peak_of(sl_format_name(other), true), sl_peak_of(sl_format_name((sl_format)f), true));
    }
    assert_int_equal(sl_peak_of("Q4_0_R8", true), SL_PEAK_INT8_AVX2_MADDUBS_PAIRED);
    assert_int_equal(sl_peak_of("IQ4_NL_R8", true), SL_PEAK_INT8_AVX2_MADD16);
    assert_int_equal(sl_peak_of("Q4_0_R8", false), SL_PEAK_FMA_AVX2_F32);
}

static void one_thread_counts_its_own_operations(void **state)
{
    (void)state;
    if (!sl_peak_present(SL_PEAK_FMA_AVX2_F32))
        skip();
    assert_true(sl_peak_run(SL_PEAK_FMA_AVX2_F32, 3) == 3.0 * SL_PROBE_CHAINS * 16);
}

static void measures_what_the_cpu_has(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_pool *pool = NULL;
    sl_probe *probe = NULL;
    assert_int_equal(sl_pool_create(&pool, 2, &err), SL_OK);
    assert_int_equal(sl_probe_create(&probe, pool, SMALL, &err), SL_OK);
    for (size_t i = 0; i < SL_PEAK_COUNT; i++) {
        sl_probe_now now = { 0 };
        const sl_status rc = sl_probe_measure(probe, (sl_peak)i, 0.004, &now, &err);
        if (sl_peak_present((sl_peak)i)) {
            assert_int_equal(rc, SL_OK);
            assert_true(now.read_gb_s > 0.1 && now.read_gb_s < 1e5);
            assert_true(now.peak_g_s > 0.1 && now.peak_g_s < 1e7);
        } else {
            assert_int_equal(rc, SL_EUNSUPPORTED);
            assert_non_null(strstr(err.msg, sl_peak_name((sl_peak)i)));
        }
    }
    sl_probe_destroy(probe);
    sl_pool_destroy(pool);
}

static void roofline_has_all_keys(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_pool *pool = NULL;
    sl_probe *probe = NULL;
    sl_roofline r;
    sl_str text = { 0 };
    assert_int_equal(sl_pool_create(&pool, 1, &err), SL_OK);
    assert_int_equal(sl_probe_create(&probe, pool, SMALL, &err), SL_OK);
    assert_int_equal(sl_probe_roofline(probe, &r, &err), SL_OK);
    sl_roofline_json(&text, &r);
    assert_false(text.failed);
    json_t *root = json_loads(text.data, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "threads")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "array_mib")), 16);
    static const char *const rates[] = { "read_GBs", "read_best_GBs", "triad_GBs", "copy_GBs", "l3_read_8MiB_GBs" };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        assert_true(json_real_value(json_object_get(root, rates[i])) > 0);
    for (size_t i = 0; i < SL_PEAK_COUNT; i++) {
        const json_t *value = json_object_get(root, sl_peak_key((sl_peak)i));
        assert_true(sl_peak_present((sl_peak)i) ? json_real_value(value) > 0 : json_is_null(value));
    }
    json_decref(root);
    sl_str_fini(&text);
    sl_probe_destroy(probe);
    sl_pool_destroy(pool);
}

static void refuses_what_it_cannot_do(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_pool *pool = NULL;
    sl_probe *probe = NULL;
    assert_int_equal(sl_pool_create(&pool, 1, &err), SL_OK);
    assert_int_equal(sl_probe_create(&probe, pool, SMALL - 1, &err), SL_EINVAL);
    assert_null(probe);
    sl_status rc = SL_ENOMEM;
    long failed = 0;
    for (; rc == SL_ENOMEM; failed++) {
        assert_true(failed < 100);
        sl_mem_fail_after(failed);
        rc = sl_probe_create(&probe, pool, SMALL, &err);
        sl_mem_fail_after(-1);
        assert_true((rc == SL_OK) == (probe != NULL));
    }
    assert_int_equal(rc, SL_OK);
    assert_true(failed >= 3); /* the handle and the sinks at least */
    sl_probe_destroy(probe);
    sl_pool_destroy(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lead_back_to_their_peak),
#if defined(__x86_64__)
        cmocka_unit_test(every_pattern_reads_every_byte),
#endif
        cmocka_unit_test(formats_have_the_yardstick_of_their_bits),
        cmocka_unit_test(one_thread_counts_its_own_operations),
        cmocka_unit_test(measures_what_the_cpu_has),
        cmocka_unit_test(roofline_has_all_keys),
        cmocka_unit_test(refuses_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
