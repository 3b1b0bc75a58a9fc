/* act.c - add, mul, scale, add_scaled: exact. silu, clamped_glu: against double. */
#include "checkasm.h"

#include <math.h>
#include <string.h>

typedef struct shape {
    size_t n;
    ca_kind kind;
} shape;

typedef struct pair_call {
    sl_add_fn *fn;
    float *y;
    const float *a, *b;
    size_t n;
} pair_call;

static void run_pair(void *arg)
{
    const pair_call *p = arg;
    p->fn(p->y, p->a, p->b, p->n);
}

static void check_pair(ca *c, const shape *s, sl_add_fn *fn, sl_add_fn *twin)
{
    const size_t bytes = s->n * sizeof(float);
    float *a = ca_buf(c, bytes), *b = ca_buf(c, bytes), *y = ca_buf(c, bytes), *want = ca_buf(c, bytes);
    ca_fill(c, a, s->n, s->kind);
    ca_fill(c, b, s->n, s->kind);
    twin(want, a, b, s->n);
    pair_call p = { fn, y, a, b, s->n };
    run_pair(&p);
    ca_same(c, "y", y, want, s->n, sizeof *y);
    ca_time(c, run_pair, &p, 3.0 * (double)bytes, (double)s->n);

    float *z = ca_buf64(c, bytes + sizeof *z); /* y is a, y is b, misaligned */
    memcpy(z + 1, a, bytes);
    fn(z + 1, z + 1, b, s->n);
    ca_same(c, "y over a", z + 1, want, s->n, sizeof *z);
    memcpy(z + 1, b, bytes);
    fn(z + 1, a, z + 1, s->n);
    ca_same(c, "y over b", z + 1, want, s->n, sizeof *z);
}

static void plain_add(float *y, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

static void plain_mul(float *y, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a[i] * b[i];
}

static void check_add(ca *c, const void *arg)
{
    check_pair(c, arg, c->k->add, plain_add);
}

static void check_mul(ca *c, const void *arg)
{
    check_pair(c, arg, c->k->mul, plain_mul);
}

typedef struct row_call {
    const ca *c;
    float *y;
    const float *x;
    size_t n;
} row_call;

static void run_scale(void *arg)
{
    const row_call *p = arg;
    p->c->k->scale(p->y, p->x, 0.37f, p->n);
}

static void check_scale(ca *c, const void *arg)
{
    const shape *s = arg;
    float *x = ca_buf(c, s->n * sizeof *x), *y = ca_buf(c, s->n * sizeof *y);
    ca_fill(c, x, s->n, s->kind);
    row_call p = { c, y, x, s->n };
    run_scale(&p);
    for (size_t i = 0; i < s->n; i++) {
        const float want = x[i] * 0.37f;
        if (memcmp(&y[i], &want, sizeof want) != 0)
            ca_fail(c, "y[%zu] is %.9g, should be %.9g", i, (double)y[i], (double)want);
    }
    ca_time(c, run_scale, &p, 8.0 * (double)s->n, (double)s->n);
}

static void run_add_scaled(void *arg)
{
    const row_call *p = arg;
    p->c->k->add_scaled(p->y, p->x, 0.37f, p->n);
}

static void check_add_scaled(ca *c, const void *arg)
{
    const shape *s = arg;
    float *x = ca_buf(c, s->n * sizeof *x), *y = ca_buf(c, s->n * sizeof *y), *old = ca_buf(c, s->n * sizeof *y);
    ca_fill(c, x, s->n, s->kind);
    ca_fill(c, y, s->n, s->kind);
    memcpy(old, y, s->n * sizeof *y);
    row_call p = { c, y, x, s->n };
    run_add_scaled(&p);
    for (size_t i = 0; i < s->n; i++) {
        const float product = x[i] * 0.37f, want = old[i] + product;
        if (memcmp(&y[i], &want, sizeof want) != 0)
            ca_fail(c, "y[%zu] is %.9g, should be %.9g", i, (double)y[i], (double)want);
    }
    ca_time(c, run_add_scaled, &p, 12.0 * (double)s->n, (double)s->n);
}

static void run_silu(void *arg)
{
    const row_call *p = arg;
    p->c->k->silu(p->y, p->x, p->n);
}

/* 1 ulp of exp, the sum, the division: 3 ulp. Where exp(-x) overflows the result is 0 instead
 * of something below 2^-120, which no sum will notice. */
static void compare_silu(ca *c, const float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double want = x[i] / (1 + exp(-(double)x[i]));
        ca_near(c, "silu", i, y[i], want, fabs(want) * 3 * 0x1p-23 + 0x1p-120);
    }
}

static void check_silu(ca *c, const void *arg)
{
    const shape *s = arg;
    float *x = ca_buf(c, s->n * sizeof *x), *y = ca_buf(c, s->n * sizeof *y);
    ca_fill(c, x, s->n, s->kind);
    for (size_t i = 0; i < s->n && s->kind == CA_PLAIN; i++)
        x[i] *= 20.0f;
    row_call p = { c, y, x, s->n };
    run_silu(&p);
    compare_silu(c, y, x, s->n);
    ca_time(c, run_silu, &p, 8.0 * (double)s->n, 0);

    /* an element's bits do not depend on its place; in place is allowed */
    float *z = ca_buf64(c, (s->n + 1) * sizeof *z);
    memcpy(z + 1, x, s->n * sizeof *z);
    c->k->silu(z + 1, z + 1, s->n);
    ca_same(c, "in place", z + 1, y, s->n, sizeof *z);
    for (size_t i = 0; i < s->n; i++) {
        c->k->silu(z, x + i, 1);
        ca_same(c, "element alone", z, y + i, 1, sizeof *z);
    }
}

/* All of exp that SiLU uses: a sweep over the floats, and the ends. */
static void check_silu_sweep(ca *c, const void *arg)
{
    (void)arg;
    enum { N = 1024 };
    float *x = ca_buf(c, N * sizeof *x), *y = ca_buf(c, N * sizeof *y);
    for (double from = -110; from < 110; from += N * 0x1p-8) {
        for (size_t i = 0; i < N; i++)
            x[i] = (float)(from + (double)i * 0x1p-8) + ca_uniform(c, 0, 0x1p-8f);
        c->k->silu(y, x, N);
        compare_silu(c, y, x, N);
    }
    const float ends[] = { INFINITY, NAN, 88.7f, 89.0f, -88.7f, -89.0f, 3e38f, -3e38f };
    const size_t n = sizeof ends / sizeof *ends;
    c->k->silu(y, ends, n);
    compare_silu(c, y, ends, n);
}

typedef struct swiglu_call {
    const ca *c;
    float *y;
    const float *gate, *up;
    size_t n;
} swiglu_call;

#define LIMIT 7.0f
#define ALPHA 1.702f

static void run_swiglu(void *arg)
{
    const swiglu_call *p = arg;
    p->c->k->clamped_glu(p->y, p->gate, p->up, p->n, LIMIT, ALPHA);
}

/* As for silu; the product with alpha moves the exponent by half an ulp of it, up to 12 where the result counts. */
static void compare_swiglu(ca *c, const float *y, const float *gate, const float *up, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double l = (double)LIMIT, g = gate[i] > LIMIT ? l : (double)gate[i];
        const double u = up[i] > LIMIT ? l : up[i] < -LIMIT ? -l : (double)up[i];
        const double want = g / (1 + exp(-(double)ALPHA * g)) * (u + 1);
        const double near = 5 + fabs((double)ALPHA * g) + (fabs(u) + 1) / fmax(fabs(u + 1), 0x1p-24);
        ca_near(c, "clamped_glu", i, y[i], want, fabs(want) * near * 0x1p-23 + 0x1p-110);
    }
}

static void check_swiglu(ca *c, const void *arg)
{
    const shape *s = arg;
    const size_t bytes = s->n * sizeof(float);
    float *gate = ca_buf(c, bytes), *up = ca_buf(c, bytes), *y = ca_buf(c, bytes);
    ca_fill(c, gate, s->n, s->kind);
    ca_fill(c, up, s->n, s->kind);
    for (size_t i = 0; i < s->n && s->kind == CA_PLAIN; i++) {
        gate[i] *= 20.0f;
        up[i] *= 20.0f;
    }
    swiglu_call p = { c, y, gate, up, s->n };
    run_swiglu(&p);
    compare_swiglu(c, y, gate, up, s->n);
    ca_time(c, run_swiglu, &p, 12.0 * (double)s->n, 0);

    float *z = ca_buf64(c, bytes + sizeof *z); /* in place, misaligned; each element alone */
    memcpy(z + 1, gate, bytes);
    c->k->clamped_glu(z + 1, z + 1, up, s->n, LIMIT, ALPHA);
    ca_same(c, "y over gate", z + 1, y, s->n, sizeof *z);
    memcpy(z + 1, up, bytes);
    c->k->clamped_glu(z + 1, gate, z + 1, s->n, LIMIT, ALPHA);
    ca_same(c, "y over up", z + 1, y, s->n, sizeof *z);
    for (size_t i = 0; i < s->n; i++) {
        c->k->clamped_glu(z, gate + i, up + i, 1, LIMIT, ALPHA);
        ca_same(c, "element alone", z, y + i, 1, sizeof *z);
    }
}

/* A limit cuts infinities, and lets a NaN through. */
static void check_swiglu_ends(ca *c, const void *arg)
{
    (void)arg;
    const float gate[] = { INFINITY, 3e38f, -3e38f, 7.0f, -7.0f, 1.0f, 1.0f, NAN, 1.0f, -60.0f };
    const float up[] = { INFINITY, -INFINITY, 3e38f, 7.0f, -7.0f, -1.0f, 3e38f, 1.0f, NAN, 2.0f };
    float y[sizeof gate / sizeof *gate];
    c->k->clamped_glu(y, gate, up, sizeof gate / sizeof *gate, LIMIT, ALPHA);
    compare_swiglu(c, y, gate, up, 7);
    compare_swiglu(c, y + 9, gate + 9, up + 9, 1);
    if (!isnan(y[7]) || !isnan(y[8]))
        ca_fail(c, "a NaN became %g and %g", (double)y[7], (double)y[8]);
}

void check_act(ca *c)
{
    for (const size_t *n = ca_widths_of(c); *n; n++)
        for (int kind = 0; kind < (c->bench ? 1 : CA_KIND_COUNT); kind++) {
            const shape s = { *n, (ca_kind)kind };
            if (CA_NEW(c, add))
                ca_case(c, check_add, &s, "add n=%zu kind=%d", *n, kind);
            if (CA_NEW(c, mul))
                ca_case(c, check_mul, &s, "mul n=%zu kind=%d", *n, kind);
            if (CA_NEW(c, scale))
                ca_case(c, check_scale, &s, "scale n=%zu kind=%d", *n, kind);
            if (CA_NEW(c, add_scaled))
                ca_case(c, check_add_scaled, &s, "add_scaled n=%zu kind=%d", *n, kind);
            if (CA_NEW(c, silu))
                ca_case(c, check_silu, &s, "silu n=%zu kind=%d", *n, kind);
            if (CA_NEW(c, clamped_glu))
                ca_case(c, check_swiglu, &s, "clamped_glu n=%zu kind=%d", *n, kind);
        }
    if (CA_NEW(c, silu) && !c->bench)
        ca_case(c, check_silu_sweep, NULL, "silu sweep");
    if (CA_NEW(c, clamped_glu) && !c->bench)
        ca_case(c, check_swiglu_ends, NULL, "clamped_glu ends");
}
