/* softmax.c - exponentials of a chunk of scores, and joining chunks, against double. */
#include "checkasm.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 256 };

/* ---- attn_softmax -------------------------------------------------------------- */

typedef struct shape {
    size_t n;
    float spread; /* scores lie in -spread .. spread */
} shape;

typedef struct call {
    const ca *c;
    float *s;
    const float *from;
    size_t n;
    float max, sum;
} call;

/* A weight, within `parts` of 2^-23 of it; below 2^-126 it may be 0. */
static void check_weight(ca *c, const char *what, size_t j, float got, double want, double parts)
{
    if (want >= 0x1p-126 || got != 0)
        ca_near(c, what, j, got, want, want * parts * 0x1p-23 + 0x1p-149);
}

static void run_softmax(void *arg)
{
    call *a = arg;
    memcpy(a->s, a->from, a->n * sizeof *a->s);
    a->c->k->attn_softmax(a->s, a->n, &a->max, &a->sum);
}

static void check_softmax_shape(ca *c, const void *arg)
{
    const shape *s = arg;
    float *x = ca_buf(c, s->n * sizeof *x), *y = ca_buf(c, s->n * sizeof *y);
    for (size_t j = 0; j < s->n; j++)
        x[j] = ca_uniform(c, -s->spread, s->spread);
    if (s->n > 2)
        x[ca_rand(c) % s->n] = -INFINITY;
    call a = { .c = c, .s = y, .from = x, .n = s->n };
    run_softmax(&a);

    float top = x[0];
    for (size_t j = 1; j < s->n; j++)
        top = fmaxf(top, x[j]);
    double sum = 0;
    for (size_t j = 0; j < s->n; j++) {
        /* the difference is rounded by half an ulp of its own size, then exp by 2^-23 */
        const double d = (double)x[j] - top, want = exp(d);
        const double distance = isinf(d) ? 0 : -d;
        check_weight(c, "s", j, y[j], want, 1 + distance / 2);
        sum += y[j];
    }
    ca_same(c, "max", &a.max, &top, 1, sizeof top);
    ca_near(c, "sum", 0, a.sum, sum, sum * (double)s->n * 0x1p-24);

    /* Slots that hold -infinity change no bit of what stands before them. */
    float *z = ca_buf(c, CHUNK * sizeof *z);
    memcpy(z, x, s->n * sizeof *z);
    for (size_t j = s->n; j < CHUNK; j++)
        z[j] = -INFINITY;
    float max, total;
    c->k->attn_softmax(z, CHUNK, &max, &total);
    ca_same(c, "s among more", z, y, s->n, sizeof *z);
    ca_same(c, "sum among more", &total, &a.sum, 1, sizeof total);
    for (size_t j = s->n; j < CHUNK; j++)
        ca_near(c, "exp(-inf)", j, z[j], 0, 0);

    ca_time(c, run_softmax, &a, 8.0 * (double)s->n, 0);
}

/* All of exp: with a maximum of 0 the differences are exact, and 2^-23 of a value is all that is allowed. */
static void check_softmax_sweep(ca *c, const void *arg)
{
    (void)arg;
    const double step = 0x1p-10;
    for (double from = -110; from < 0; from += CHUNK * step) {
        float s[CHUNK] = { 0 }, x[CHUNK], max, sum;
        for (size_t j = 1; j < CHUNK; j++)
            s[j] = fminf(0, (float)(from + (double)j * step) + ca_uniform(c, 0, (float)step));
        memcpy(x, s, sizeof x);
        c->k->attn_softmax(s, CHUNK, &max, &sum);
        for (size_t j = 0; j < CHUNK; j++)
            check_weight(c, "exp", j, s[j], exp(x[j]), 1);
    }
}

/* A NaN among the scores must reach the sum. */
static void check_softmax_nan(ca *c, const void *arg)
{
    const size_t n = *(const size_t *)arg;
    for (size_t at = 0; at < n; at++) {
        float s[CHUNK], max, sum;
        for (size_t j = 0; j < n; j++)
            s[j] = ca_uniform(c, -1, 1);
        s[at] = NAN;
        c->k->attn_softmax(s, n, &max, &sum);
        ca_near(c, "s", at, s[at], NAN, 0);
        ca_near(c, "sum", at, sum, NAN, 0);
    }
}

/* ---- attn_fold ----------------------------------------------------------------- */

typedef struct fold_call {
    const ca *c;
    float m, l, *a;
    float m2, l2;
    const float *a2;
    size_t C;
} fold_call;

static void run_fold(void *arg)
{
    fold_call *f = arg;
    f->c->k->attn_fold(&f->m, &f->l, f->a, f->m2, f->l2, f->a2, f->C);
}

static void check_fold_shape(ca *c, const void *arg)
{
    const size_t C = *(const size_t *)arg;
    const float tops[][2] = { { -INFINITY, 3 }, { 1, 1 }, { 2, -5 }, { -5, 2.5f }, { 300, -300 }, { -300, 300 } };
    float *a = ca_buf(c, C * sizeof *a), *a2 = ca_buf(c, C * sizeof *a2), *was = ca_buf(c, C * sizeof *was);
    fold_call f = { .c = c, .a = a, .a2 = a2, .C = C };
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
        const bool empty = isinf(tops[i][0]);
        ca_fill(c, a, C, CA_PLAIN);
        ca_fill(c, a2, C, CA_PLAIN);
        if (empty)
            memset(a, 0, C * sizeof *a);
        memcpy(was, a, C * sizeof *a);
        f.m = tops[i][0];
        f.m2 = tops[i][1];
        f.l = empty ? 0 : 5.5f;
        f.l2 = 7.25f;
        const double top = fmaxf(f.m, f.m2), w = exp(f.m - top), w2 = exp(f.m2 - top), l = f.l * w + f.l2 * w2;
        run_fold(&f);
        ca_near(c, "m", i, f.m, top, 0);
        ca_near(c, "l", i, f.l, l, l * 4 * 0x1p-23);
        for (size_t k = 0; k < C; k++)
            ca_near(c, "a", k, a[k], was[k] * w + a2[k] * w2,
                    (fabs(was[k] * w) + fabs(a2[k] * w2)) * 3 * 0x1p-23 + 0x1p-148);
        if (empty)
            ca_same(c, "a after the first chunk", a, a2, C, sizeof *a);
    }
    ca_time(c, run_fold, &f, 12.0 * (double)C, 3.0 * (double)C);
}

void check_softmax(ca *c)
{
    if (CA_NEW(c, attn_softmax)) {
        const float spreads[] = { 1, 20, 200 };
        for (size_t n = c->bench ? CHUNK : 1; n <= CHUNK; n++)
            for (size_t i = 0; i < (c->bench ? 1 : 3); i++) {
                const shape s = { n, spreads[i] };
                ca_case(c, check_softmax_shape, &s, "attn_softmax n=%zu spread=%g", n, (double)spreads[i]);
            }
        if (!c->bench)
            ca_case(c, check_softmax_sweep, NULL, "attn_softmax sweep");
        for (size_t n = 1; n < 20 && !c->bench; n++)
            ca_case(c, check_softmax_nan, &n, "attn_softmax n=%zu with NaN", n);
    }
    static const size_t bench_widths[] = { 64, 128, 0 };
    for (const size_t *C = c->bench ? bench_widths : ca_widths; *C && CA_NEW(c, attn_fold); C++)
        ca_case(c, check_fold_shape, C, "attn_fold C=%zu", *C);
}
