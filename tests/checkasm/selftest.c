/* selftest.c - the harness itself: each of these kernels is wrong in its own way, and a case
 * that calls it must fail; the last one is right and must pass. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 13 };

static void past_the_end(ca *c, const void *arg)
{
    (void)arg;
    volatile char *p = ca_buf(c, N);
    p[N] = 1;
}

static void read_past_the_end(ca *c, const void *arg)
{
    (void)arg;
    const volatile char *p = ca_buf(c, N);
    (void)p[N];
}

static void before_the_start(ca *c, const void *arg)
{
    (void)arg;
    char *p = ca_buf(c, N);
    memset(p - 1, 1, 1);
}

static void into_the_slack(ca *c, const void *arg)
{
    (void)arg;
    char *p = ca_buf64(c, N);
    p[N] = 1;
}

static void between_rows(ca *c, const void *arg)
{
    (void)arg;
    char *p = ca_buf(c, 2 * N);
    p[N - 1] = 1;
    ca_gaps(c, "rows", p, 2, N - 1, N, 1);
}

static void abort_call(ca *c, const void *arg)
{
    (void)c, (void)arg;
    abort(); /* a kernel's failed assert */
}

static void nan_for_number(ca *c, const void *arg)
{
    (void)arg;
    ca_near(c, "x", 0, NAN, 1, 1e30);
}

static void number_for_nan(ca *c, const void *arg)
{
    (void)arg;
    ca_near(c, "x", 0, 1, NAN, 1e30);
}

static void number_for_infinity(ca *c, const void *arg)
{
    (void)arg;
    ca_near(c, "x", 0, 3e38, INFINITY, INFINITY);
}

static void out_of_bound(ca *c, const void *arg)
{
    (void)arg;
    ca_near(c, "x", 0, 1.0011, 1, 1e-3);
}

static void sign_of_zero(ca *c, const void *arg)
{
    (void)arg;
    const float a = 0.0f, b = -0.0f;
    ca_same(c, "x", &a, &b, 1, sizeof a);
}

static void all_right(ca *c, const void *arg)
{
    (void)arg;
    float *p = ca_buf(c, N * sizeof *p), *q = ca_buf64(c, N * sizeof *q);
    ca_fill(c, p, N, CA_MIXED);
    memcpy(q, p, N * sizeof *q);
    ca_same(c, "q", q, p, N, sizeof *q);
    ca_gaps(c, "q", q, 1, N, N, sizeof *q);
    for (size_t i = 0; i < N; i++)
        ca_near(c, "q", i, q[i], p[i], 0);
}

bool ca_self_test(void)
{
    static const struct {
        const char *name;
        ca_body *body;
        bool passes;
    } cases[] = {
        { "write past the end", past_the_end, false },
        { "read past the end", read_past_the_end, false },
        { "write before the start", before_the_start, false },
        { "write into the slack", into_the_slack, false },
        { "write between rows", between_rows, false },
        { "abort", abort_call, false },
        { "NaN for a number", nan_for_number, false },
        { "number for NaN", number_for_nan, false },
        { "number for infinity", number_for_infinity, false },
        { "out of bound", out_of_bound, false },
        { "sign of zero", sign_of_zero, false },
        { "all right", all_right, true },
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ca_state s = { .seed = 1, .quiet = true };
        ca c = { .state = &s };
        ca_case(&c, cases[i].body, NULL, "%s", cases[i].name);
        const bool passed = s.passed == 1 && s.failed == 0;
        printf("self-test: %s: %s\n", cases[i].name, passed == cases[i].passes ? "ok" : "WRONG");
        ok = ok && passed == cases[i].passes;
    }
    return ok;
}
