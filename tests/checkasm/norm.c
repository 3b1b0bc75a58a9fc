/* norm.c - rms_norm against double. */
#include "checkasm.h"

#include <math.h>
#include <string.h>

typedef struct shape {
    size_t T, K, pad; /* rows are K + pad apart */
    ca_kind kind;
    float eps;
} shape;

typedef struct call {
    sl_rms_norm_fn *fn;
    float *y;
    const float *x, *w;
    size_t ld;
    const shape *s;
} call;

static void run(void *arg)
{
    const call *a = arg;
    a->fn(a->y, a->ld, a->x, a->ld, a->w, a->s->T, a->s->K, a->s->eps);
}

/* A sum of K squares, all positive, is off by at most K u; the root halves that. */
static void compare(ca *c, const call *a)
{
    const shape *s = a->s;
    const double u = 0x1p-24;
    for (size_t t = 0; t < s->T; t++) {
        const float *x = a->x + t * a->ld, *y = a->y + t * a->ld;
        double ss = 0;
        for (size_t i = 0; i < s->K; i++)
            ss += (double)x[i] * x[i];
        const double scale = 1 / sqrt(ss / (double)s->K + s->eps);
        for (size_t i = 0; i < s->K; i++) {
            const double want = x[i] * scale * a->w[i];
            /* a product below 2^-126 may lose half of the smallest number */
            ca_near(c, "y", t * s->K + i, y[i], want, fabs(want) * u * (4 + (double)s->K / 2) + 0x1p-148);
        }
    }
}

static void check_shape(ca *c, const void *arg)
{
    const shape *s = arg;
    const size_t ld = s->K + s->pad, n = (s->T - 1) * ld + s->K;
    float *x = ca_buf(c, n * sizeof *x), *y = ca_buf(c, n * sizeof *y), *w = ca_buf(c, s->K * sizeof *w);
    for (size_t t = 0; t < s->T; t++)
        ca_fill(c, x + t * ld, s->K, s->kind);
    ca_fill(c, w, s->K, CA_PLAIN);

    call a = { c->k->rms_norm, y, x, w, ld, s };
    run(&a);
    compare(c, &a);
    ca_gaps(c, "y", y, s->T, s->K, ld, sizeof *y);

    /* one row alone, misaligned, in place: the same bits */
    float *z = ca_buf64(c, (s->K + 1) * sizeof *z);
    const size_t last = s->T - 1;
    memcpy(z + 1, x + last * ld, s->K * sizeof *z);
    c->k->rms_norm(z + 1, s->K, z + 1, s->K, w, 1, s->K, s->eps);
    ca_same(c, "row alone and in place", z + 1, y + last * ld, s->K, sizeof *z);

    ca_time(c, run, &a, (double)s->T * (double)s->K * 8, 0);
}

void check_norm(ca *c)
{
    if (!CA_NEW(c, rms_norm))
        return;
    for (const size_t *K = ca_widths_of(c); *K; K++)
        for (int kind = 0; kind < (c->bench ? 1 : CA_KIND_COUNT); kind++) {
            const shape s = { .T = c->bench ? 1 : 3, .K = *K, .pad = *K % 5, .kind = (ca_kind)kind, .eps = 1e-6f };
            ca_case(c, check_shape, &s, "rms_norm K=%zu kind=%d", *K, kind);
        }
}
