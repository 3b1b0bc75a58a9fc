#include "measure/probe.h"
#include <assert.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include "base/cpu.h"
#include "base/mem.h"
#include "base/num.h"
#include "measure/probe_in.h"

#define ARRAY_MIN         ((size_t)16 << 20)
#define L3_BYTES          ((size_t)8 << 20)
#define SHARE_MULTIPLE    2048 /* 8 streams of 256 bytes */
#define PEAK_PASS_S       0.01 /* long against the start of the threads, short against a disturbance */
#define CALIBRATION_STEPS 20000
#define FULL_PEAK_S       0.15
#define SINK_STRIDE       8 /* in uint64_t: a cache line for each thread */

static const size_t STREAMS[] = { 1, 4, 8 }, AHEAD[] = { 0, 512, 2048 };

struct sl_probe {
    sl_pool *pool;
    size_t n_threads, array_bytes;
    float *array;
    uint64_t *sink; /* [n_threads][SINK_STRIDE] */
    sl_probe_read_fn *read;
    sl_read_pattern best;
};

/* ---- peaks by name ------------------------------------------------------------ */

static const struct {
    const char *name, *key;
} NAMES[SL_PEAK_COUNT] = {
#define NAME_ROW(id, name, unit) { name, name "_" unit },
    SL_PEAK_LIST(NAME_ROW)
#undef NAME_ROW
};

#if defined(__x86_64__)
static const struct {
    sl_probe_peak_fn *run;
    double ops; /* of one chain in one step */
} PEAKS[SL_PEAK_COUNT] = {
    [SL_PEAK_FMA_AVX2_F32] = { sl_probe_fma_avx2_f32, 16 },
    [SL_PEAK_INT8_AVX2_MADDUBS] = { sl_probe_int8_avx2_maddubs, 64 },
    [SL_PEAK_INT8_AVX2_MADDUBS_PAIRED] = { sl_probe_int8_avx2_maddubs_paired, 128 },
    [SL_PEAK_INT8_AVX2_MADD16] = { sl_probe_int8_avx2_madd16, 32 },
    [SL_PEAK_INT8_AVX2_MADD16_BARE] = { sl_probe_int8_avx2_madd16_bare, 32 },
    [SL_PEAK_FMA_AVX512_F32] = { sl_probe_fma_avx512_f32, 32 },
    [SL_PEAK_INT8_VNNI512] = { sl_probe_int8_vnni512, 128 },
    [SL_PEAK_BF16_AVX512] = { sl_probe_bf16_avx512, 64 },
};
#else
static const struct {
    sl_probe_peak_fn *run;
    double ops;
} PEAKS[SL_PEAK_COUNT];
#endif

const char *sl_peak_name(sl_peak peak)
{
    return NAMES[peak].name;
}

const char *sl_peak_key(sl_peak peak)
{
    return NAMES[peak].key;
}

bool sl_peak_by_name(const char *name, sl_peak *out)
{
    for (size_t i = 0; i < SL_PEAK_COUNT; i++)
        if (!strcmp(name, NAMES[i].name)) {
            *out = (sl_peak)i;
            return true;
        }
    return false;
}

/* Whether a format is that of the list, interleaved (R8) or not. */
static bool is_format(const char *format, const char *listed)
{
    const size_t n = strlen(listed);
    return strncmp(format, listed, n) == 0 && (format[n] == '\0' || strcmp(format + n, "_R8") == 0);
}

sl_peak sl_peak_of(const char *format, bool int8)
{
    static const char *const bytes[] = { "Q4_0", "Q4_1", "Q5_0",    "Q5_1",  "Q4_K", "Q5_K",
                                         "Q6_K", "INT4", "INT4_ZP", "GPTQ4", "AWQ4" };
    static const char *const words[] = { "Q8_0",  "Q3_K",  "IQ4_NL", "IQ4_XS",     "TQ1_0",
                                         "TQ2_0", "MXFP4", "INT8",   "INT8_TOKEN", "GPTQ8" };
    for (size_t i = 0; int8 && i < SL_COUNT(bytes); i++)
        if (is_format(format, bytes[i]))
            return SL_PEAK_INT8_AVX2_MADDUBS_PAIRED;
    for (size_t i = 0; int8 && i < SL_COUNT(words); i++)
        if (is_format(format, words[i]))
            return SL_PEAK_INT8_AVX2_MADD16;
    return SL_PEAK_FMA_AVX2_F32;
}

double sl_peak_run(sl_peak peak, size_t steps)
{
    assert(PEAKS[peak].run);
    PEAKS[peak].run(steps);
    return PEAKS[peak].ops * SL_PROBE_CHAINS * (double)steps;
}

bool sl_peak_present(sl_peak peak)
{
#if defined(__x86_64__)
    switch (peak) {
    case SL_PEAK_INT8_VNNI512:
        return sl_cpu_isa() >= SL_ISA_AVX512 && __builtin_cpu_supports("avx512vnni");
    case SL_PEAK_BF16_AVX512:
        return sl_cpu_isa() >= SL_ISA_AVX512 && __builtin_cpu_supports("avx512bf16");
    case SL_PEAK_FMA_AVX512_F32:
        return sl_cpu_isa() >= SL_ISA_AVX512;
    default:
        return sl_cpu_isa() >= SL_ISA_AVX2;
    }
#else
    (void)peak;
    return false;
#endif
}

/* ---- one pass of all threads -------------------------------------------------- */

/* What the threads do in one pass; the fields that `fn` needs are set. */
typedef struct job {
    sl_probe *probe;
    float *a;
    const float *b, *c;
    size_t bytes;   /* of each array, split over the threads */
    size_t repeats; /* of the pass over the share */
    sl_read_pattern pattern;
    sl_probe_peak_fn *peak;
    size_t steps;
} job;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t share_bytes(const job *j)
{
    return j->bytes / j->probe->n_threads / SHARE_MULTIPLE * SHARE_MULTIPLE;
}

static void read_job(void *arg, size_t thread)
{
    const job *j = arg;
    const size_t share = share_bytes(j);
    const char *p = (const char *)j->b + thread * share;
    uint64_t mix = 0;
    for (size_t i = 0; i < j->repeats; i++)
        mix ^= j->probe->read(p, share, j->pattern.streams, j->pattern.ahead);
    j->probe->sink[thread * SINK_STRIDE] += mix;
}

static void triad_job(void *arg, size_t thread)
{
    const job *j = arg;
    const size_t n = share_bytes(j) / sizeof(float), lo = thread * n;
    float *restrict a = j->a + lo;
    const float *restrict b = j->b + lo, *restrict c = j->c + lo;
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0f * c[i];
}

static void copy_job(void *arg, size_t thread)
{
    const job *j = arg;
    const size_t share = share_bytes(j), lo = thread * share;
    memcpy((char *)j->a + lo, (const char *)j->b + lo, share);
}

/* First touch: the page comes to the node of the thread that will use it. */
static void fill_job(void *arg, size_t thread)
{
    const job *j = arg;
    const size_t n = share_bytes(j) / sizeof(float);
    for (size_t i = 0; i < n; i++)
        j->a[thread * n + i] = 1.0f;
}

static void peak_job(void *arg, size_t thread)
{
    const job *j = arg;
    (void)thread;
    j->peak(j->steps);
}

/* The best rate, in 1e9 a second, of passes that do `work` each: at least `passes` of them,
 * for at least `seconds`. */
static double best_rate(sl_pool_fn *fn, job *j, double work, size_t passes, double seconds)
{
    const double start = now();
    double best = HUGE_VAL;
    for (size_t i = 0; i < passes || now() - start < seconds; i++) {
        const double t0 = now();
        sl_pool_run(j->probe->pool, fn, j);
        best = fmin(best, now() - t0);
    }
    return 1e-9 * work / best;
}

static double read_rate(sl_probe *p, sl_read_pattern pattern, size_t bytes, size_t repeats, size_t passes,
                        double seconds)
{
    job j = { .probe = p, .b = p->array, .bytes = bytes, .repeats = repeats, .pattern = pattern };
    return best_rate(read_job, &j, (double)(share_bytes(&j) * p->n_threads * repeats), passes, seconds);
}

static double peak_rate(sl_probe *p, sl_peak peak, double seconds)
{
    job j = { .probe = p, .peak = PEAKS[peak].run };
    /* How many steps make a pass of the wanted length: asked of this thread alone, since the
     * start of the others would count in so short a time. */
    double shortest = HUGE_VAL;
    for (size_t i = 0; i < 5; i++) {
        const double t0 = now();
        j.peak(CALIBRATION_STEPS);
        shortest = fmin(shortest, now() - t0);
    }
    j.steps = (size_t)fmax(CALIBRATION_STEPS, CALIBRATION_STEPS * PEAK_PASS_S / shortest);
    const double step_ops = PEAKS[peak].ops * SL_PROBE_CHAINS * (double)p->n_threads;
    return best_rate(peak_job, &j, step_ops * (double)j.steps, 3, seconds);
}

/* Each pattern `passes` times; the best one's rate is returned and it is kept in *best. */
static double read_best_rate(sl_probe *p, size_t passes, sl_read_pattern *best)
{
    double top = 0;
    for (size_t s = 0; s < SL_COUNT(STREAMS); s++)
        for (size_t a = 0; a < SL_COUNT(AHEAD); a++) {
            const sl_read_pattern pattern = { STREAMS[s], AHEAD[a] };
            const double rate = read_rate(p, pattern, p->array_bytes, 1, passes, 0);
            if (rate > top) {
                top = rate;
                *best = pattern;
            }
        }
    return top;
}

/* ---- the twin for CPUs without AVX2 ------------------------------------------- */

static uint64_t read_scalar(const void *p, size_t bytes, size_t streams, size_t ahead)
{
    const size_t part = bytes / streams;
    uint64_t mix[8] = { 0 };
    for (size_t i = 0; i < part; i += 256)
        for (size_t s = 0; s < streams; s++) {
            const char *q = (const char *)p + s * part + i;
            for (size_t line = 0; line < 4; line++, q += 64) {
                if (ahead)
                    __builtin_prefetch(q + ahead);
                for (size_t k = 0; k < 8; k++)
                    mix[k] ^= ((const uint64_t *)(const void *)q)[k];
            }
        }
    return mix[0] ^ mix[1] ^ mix[2] ^ mix[3] ^ mix[4] ^ mix[5] ^ mix[6] ^ mix[7];
}

static sl_probe_read_fn *choose_read(void)
{
#if defined(__x86_64__)
    if (sl_cpu_isa() >= SL_ISA_AVX2)
        return sl_probe_read_avx2;
#endif
    return read_scalar;
}

uint64_t sl_read_run(const void *p, size_t bytes, sl_read_pattern pattern, size_t n)
{
    sl_probe_read_fn *const read = choose_read();
    uint64_t mix = 0;
    for (size_t i = 0; i < n; i++)
        mix ^= read(p, bytes, pattern.streams, pattern.ahead);
    return mix;
}

/* ---- the probe ---------------------------------------------------------------- */

static float *map_array(sl_probe *p)
{
    float *a = sl_mem_map(p->array_bytes);
    if (a) {
        job j = { .probe = p, .a = a, .bytes = p->array_bytes };
        sl_pool_run(p->pool, fill_job, &j);
    }
    return a;
}

sl_status sl_probe_create(sl_probe **out, sl_pool *pool, size_t array_bytes, sl_err *err)
{
    *out = NULL;
    sl_status rc = SL_OK;
    sl_probe *p = NULL;
    if (array_bytes < ARRAY_MIN)
        return sl_fail(err, SL_EINVAL, "probe: arrays of %zu bytes, at least %zu expected", array_bytes, ARRAY_MIN);
    p = sl_mem_zalloc(1, sizeof *p);
    if (!p)
        return sl_fail(err, SL_ENOMEM, "probe: no memory for the handle");
    p->pool = pool;
    p->n_threads = sl_pool_threads(pool);
    p->array_bytes = array_bytes;
    p->read = choose_read();
    p->sink = sl_mem_zalloc(p->n_threads * SINK_STRIDE, sizeof *p->sink);
    p->array = map_array(p);
    if (!p->sink || !p->array) {
        rc = sl_fail(err, SL_ENOMEM, "probe: no memory for an array of %zu bytes", array_bytes);
        goto out;
    }
    read_best_rate(p, 2, &p->best);
    *out = p;
    p = NULL;
out:
    sl_probe_destroy(p);
    return rc;
}

void sl_probe_destroy(sl_probe *p)
{
    if (!p)
        return;
    sl_mem_unmap(p->array, p->array_bytes);
    sl_mem_free(p->sink);
    sl_mem_free(p);
}

sl_status sl_probe_measure(sl_probe *p, sl_peak peak, double seconds, sl_probe_now *out, sl_err *err)
{
    if (!sl_peak_present(peak))
        return sl_fail(err, SL_EUNSUPPORTED, "probe: this CPU has no %s", sl_peak_name(peak));
    out->read_gb_s = read_rate(p, p->best, p->array_bytes, 1, 2, seconds / 2);
    out->peak_g_s = peak_rate(p, peak, seconds / 2);
    return SL_OK;
}

sl_status sl_probe_roofline(sl_probe *p, sl_roofline *out, sl_err *err)
{
    sl_status rc = SL_OK;
    const sl_read_pattern plain = { .streams = 1, .ahead = 0 };
    const double bytes = (double)(p->array_bytes / p->n_threads / SHARE_MULTIPLE * SHARE_MULTIPLE * p->n_threads);
    float *b = map_array(p), *c = map_array(p);
    if (!b || !c) {
        rc = sl_fail(err, SL_ENOMEM, "probe: no memory for two more arrays of %zu bytes", p->array_bytes);
        goto out;
    }
    *out = (sl_roofline){ .threads = p->n_threads, .array_bytes = p->array_bytes };
    out->read_gb_s = read_rate(p, plain, p->array_bytes, 1, 8, 0);
    out->read_best_gb_s = read_best_rate(p, 3, &out->best);
    p->best = out->best;
    out->l3_read_gb_s = read_rate(p, plain, L3_BYTES, 64, 8, 0);
    job j = { .probe = p, .a = p->array, .b = b, .c = c, .bytes = p->array_bytes };
    out->triad_gb_s = best_rate(triad_job, &j, 3 * bytes, 8, 0);
    out->copy_gb_s = best_rate(copy_job, &j, 2 * bytes, 8, 0);
    for (size_t i = 0; i < SL_PEAK_COUNT; i++)
        out->peak_g_s[i] = sl_peak_present((sl_peak)i) ? peak_rate(p, (sl_peak)i, FULL_PEAK_S) : -1;
out:
    sl_mem_unmap(b, p->array_bytes);
    sl_mem_unmap(c, p->array_bytes);
    return rc;
}

void sl_roofline_json(sl_str *out, const sl_roofline *r)
{
    sl_str_printf(out,
                  "{\"threads\": %zu, \"array_mib\": %zu, \"read_GBs\": %.2f, \"read_best_GBs\": %.2f, "
                  "\"read_best_streams\": %zu, \"read_best_ahead\": %zu, \"triad_GBs\": %.2f, \"copy_GBs\": %.2f, "
                  "\"l3_read_8MiB_GBs\": %.2f",
                  r->threads, r->array_bytes >> 20, r->read_gb_s, r->read_best_gb_s, r->best.streams, r->best.ahead,
                  r->triad_gb_s, r->copy_gb_s, r->l3_read_gb_s);
    for (size_t i = 0; i < SL_PEAK_COUNT; i++) {
        if (r->peak_g_s[i] < 0)
            sl_str_printf(out, ", \"%s\": null", sl_peak_key((sl_peak)i));
        else
            sl_str_printf(out, ", \"%s\": %.2f", sl_peak_key((sl_peak)i), r->peak_g_s[i]);
    }
    sl_str_puts(out, "}");
}
