/* harness.c - cases, guarded buffers, comparisons and the clock. See checkasm.h. */
#include "harness.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, MESSAGES_MAX = 4 };

/* ---- crashes ------------------------------------------------------------------ */

static sigjmp_buf crash_return;
static volatile sig_atomic_t crash_armed;

static void on_crash(int signal_number)
{
    if (!crash_armed)
        _exit(128 + signal_number);
    crash_armed = 0;
    siglongjmp(crash_return, signal_number);
}

void ca_catch_crashes(void)
{
    struct sigaction sa = { .sa_handler = on_crash, .sa_flags = SA_NODEFER };
    const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &sa, NULL);
}

/* ---- buffers ------------------------------------------------------------------ */

static void *buf_map(ca_state *s, size_t bytes, size_t align)
{
    const size_t slack = align > 1 ? (align - bytes % align) % align : 0;
    const size_t inner = (bytes + slack + PAGE - 1) / PAGE * PAGE;
    if (s->n_bufs == CA_BUFS_MAX) {
        fprintf(stderr, "checkasm: more than %d buffers in a case\n", CA_BUFS_MAX);
        exit(2);
    }
    /* forbidden page, canaries, the buffer, slack, forbidden page */
    uint8_t *map =
        mmap(NULL, inner + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || mprotect(map, PAGE, PROT_NONE) != 0 ||
        mprotect(map + PAGE + inner, PAGE, PROT_NONE) != 0) {
        perror("checkasm: mmap");
        exit(2);
    }
    memset(map + PAGE, CA_CANARY, inner);
    ca_buffer *b = &s->bufs[s->n_bufs++];
    *b = (ca_buffer){ .map = map, .inner = inner, .start = map + PAGE + inner - bytes - slack, .bytes = bytes };
    return b->start;
}

void *ca_buf(ca *c, size_t bytes)
{
    return buf_map(c->state, bytes, 1);
}

void *ca_buf64(ca *c, size_t bytes)
{
    return buf_map(c->state, bytes, 64);
}

static bool all_canary(const uint8_t *p, const uint8_t *end)
{
    for (; p < end; p++)
        if (*p != CA_CANARY)
            return false;
    return true;
}

static void bufs_release(ca *c, bool check)
{
    ca_state *s = c->state;
    for (size_t i = 0; i < s->n_bufs; i++) {
        const ca_buffer *b = &s->bufs[i];
        if (check && !all_canary(b->map + PAGE, b->start))
            ca_fail(c, "buffer %zu of %zu bytes: written before its start", i, b->bytes);
        if (check && !all_canary(b->start + b->bytes, b->map + PAGE + b->inner))
            ca_fail(c, "buffer %zu of %zu bytes: written past its end", i, b->bytes);
        munmap(b->map, b->inner + 2 * PAGE);
    }
    s->n_bufs = 0;
}

/* ---- cases -------------------------------------------------------------------- */

static uint64_t hash_name(const char *name) /* FNV-1a */
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return h;
}

void ca_case(ca *c, ca_body *body, const void *arg, const char *fmt, ...)
{
    ca_state *s = c->state;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->name, sizeof s->name, fmt, ap);
    va_end(ap);
    if (s->filter && !strstr(s->name, s->filter))
        return;
    s->rng = s->seed ^ hash_name(s->name);
    s->n_messages = 0;

    const int crash = sigsetjmp(crash_return, 1);
    if (crash == 0) {
        crash_armed = 1;
        body(c, arg);
        crash_armed = 0;
    } else {
        ca_fail(c, "crashed: %s", strsignal(crash));
    }
    bufs_release(c, crash == 0);
    if (s->n_messages)
        s->failed++;
    else
        s->passed++;
    if (s->verbose)
        printf("%s %s: %s\n", sl_isa_name(c->isa), s->name, s->n_messages ? "FAILED" : "ok");
}

void ca_fail(ca *c, const char *fmt, ...)
{
    ca_state *s = c->state;
    if (s->n_messages++ >= MESSAGES_MAX || s->quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    printf("FAIL %s %s: ", sl_isa_name(c->isa), s->name);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
}

void ca_near(ca *c, const char *what, size_t i, double got, double want, double bound)
{
    const bool ok = isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= bound;
    if (!ok)
        ca_fail(c, "%s[%zu] is %.9g, should be %.9g, off by %.3g, allowed %.3g", what, i, got, want, fabs(got - want),
                bound);
}

void ca_same(ca *c, const char *what, const void *got, const void *want, size_t n, size_t size)
{
    if (memcmp(got, want, n * size) == 0)
        return;
    const uint8_t *a = got, *b = want;
    size_t i = 0;
    while (memcmp(a + i * size, b + i * size, size) == 0)
        i++;
    uint64_t va = 0, vb = 0;
    memcpy(&va, a + i * size, size < 8 ? size : 8);
    memcpy(&vb, b + i * size, size < 8 ? size : 8);
    ca_fail(c, "%s[%zu] of %zu is 0x%" PRIx64 ", should be 0x%" PRIx64, what, i, n, va, vb);
}

void ca_gaps(ca *c, const char *what, const void *rows, size_t n_rows, size_t cols, size_t ld, size_t size)
{
    const uint8_t *p = rows;
    for (size_t r = 0; r + 1 < n_rows; r++) /* past the last row the buffer's own canaries stand */
        if (!all_canary(p + (r * ld + cols) * size, p + (r + 1) * ld * size))
            ca_fail(c, "%s: written between row %zu and the next", what, r);
}

/* ---- inputs ------------------------------------------------------------------- */

uint64_t ca_rand(ca *c) /* splitmix64 */
{
    uint64_t z = (c->state->rng += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

float ca_uniform(ca *c, float lo, float hi)
{
    return lo + (hi - lo) * ((float)(ca_rand(c) >> 40) * 0x1p-24f);
}

static float mixed(ca *c)
{
    const float sign = ca_rand(c) & 1 ? 1.0f : -1.0f;
    switch (ca_rand(c) % 8) {
    case 0:
        return sign * 0.0f;
    case 1:
        return sign * 0x1p-140f;
    case 2:
        return sign * powf(10.0f, ca_uniform(c, -20.0f, 4.0f));
    default:
        return ca_uniform(c, -1.0f, 1.0f);
    }
}

void ca_fill(ca *c, float *x, size_t n, ca_kind kind)
{
    for (size_t i = 0; i < n; i++) {
        const float u = ca_uniform(c, -1.0f, 1.0f);
        switch (kind) {
        case CA_MIXED:
            x[i] = mixed(c);
            break;
        case CA_HUGE:
            x[i] = copysignf(powf(10.0f, 15.0f + 3.0f * fabsf(u)), u);
            break;
        case CA_TINY:
            x[i] = u * (i % 3 ? 1e-38f : 1e-42f);
            break;
        default:
            x[i] = u;
        }
    }
}

/* ---- time --------------------------------------------------------------------- */

/* CPU time of this thread: a kernel never waits, and what others run beside it is not its own. */
static double seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static double time_calls(void (*fn)(void *), void *arg, size_t n)
{
    const double t = seconds();
    for (size_t i = 0; i < n; i++)
        fn(arg);
    return (seconds() - t) / (double)n;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { SAMPLES_MAX = 201 };
#define SAMPLE_S 50e-6 /* long enough for the clock */
#define CASE_S   50e-3 /* what the samples fill */

static size_t calls_of_a_sample(void (*fn)(void *), void *arg)
{
    size_t n = 1;
    while (time_calls(fn, arg, n) * (double)n < SAMPLE_S)
        n *= 2;
    return n;
}

void ca_time(ca *c, void (*fn)(void *arg), void *arg, double bytes, double flops)
{
    if (!c->bench)
        return;
    const size_t n = calls_of_a_sample(fn, arg);
    double t[SAMPLES_MAX];
    size_t samples = 0;
    for (double begin = seconds(); samples < SAMPLES_MAX && (samples < 5 || seconds() - begin < CASE_S); samples++)
        t[samples] = time_calls(fn, arg, n);
    qsort(t, samples, sizeof *t, compare_doubles);
    const double best = t[0], median = t[samples / 2];
    printf("{\"isa\":\"%s\",\"case\":\"%s\",\"best_ns\":%.1f,\"median_ns\":%.1f", sl_isa_name(c->isa), c->state->name,
           best * 1e9, median * 1e9);
    if (bytes > 0)
        printf(",\"gb_s\":%.2f", bytes / median * 1e-9);
    if (flops > 0)
        printf(",\"gflop_s\":%.2f", flops / median * 1e-9);
    printf("}\n");
    fflush(stdout);
}

/* Seconds for an operation of the peak. */
static double time_peak(sl_peak peak)
{
    const double t = seconds(), ops = sl_peak_run(peak, 5000);
    return (seconds() - t) / ops;
}

/* Seconds for a byte. Small data is read over and over: the pass asks for the CPU's instructions first, which is slow
 * on virtual machines. */
static double time_read(const ca_roof *roof)
{
    static volatile uint64_t sink;
    const size_t streams = 4, bytes = roof->bytes / (streams * 256) * (streams * 256);
    const size_t n = 1 + ((size_t)32 << 20) / bytes;
    const double t = seconds();
    sink = sl_read_run(roof->data, bytes, (sl_read_pattern){ .streams = streams }, n);
    (void)sink;
    return (seconds() - t) / (double)(n * bytes);
}

void ca_time_roof(ca *c, void (*fn)(void *arg), void *arg, const ca_roof *roof)
{
    if (!c->bench)
        return;
    const bool has_peak = sl_peak_present(roof->peak);
    const size_t n = calls_of_a_sample(fn, arg);
    double call = HUGE_VAL, byte = HUGE_VAL, op = has_peak ? HUGE_VAL : 0;
    size_t samples = 0;
    for (double begin = seconds(); samples < 5 || seconds() - begin < CASE_S; samples++) {
        if (has_peak)
            op = fmin(op, time_peak(roof->peak));
        byte = fmin(byte, time_read(roof));
        call = fmin(call, time_calls(fn, arg, n));
    }
    const double read_s = byte * (double)roof->bytes, compute_s = op * roof->ops;
    printf("{\"isa\":\"%s\",\"case\":\"%s\",\"best_ns\":%.1f,\"gb_s\":%.2f,\"read_gb_s\":%.2f,\"gop_s\":%.2f",
           sl_isa_name(c->isa), c->state->name, call * 1e9, (double)roof->bytes / call * 1e-9, 1e-9 / byte,
           roof->ops / call * 1e-9);
    if (has_peak)
        printf(",\"peak\":\"%s\",\"peak_gop_s\":%.2f,\"peak_share\":%.3f", sl_peak_name(roof->peak), 1e-9 / op,
               compute_s / call);
    printf(",\"roof_share\":%.3f}\n", fmax(read_s, compute_s) / call);
    fflush(stdout);
}
