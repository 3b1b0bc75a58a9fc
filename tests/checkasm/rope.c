/* rope.c - rotation of both kinds of pairs, against double. */
#include "checkasm.h"

#include <math.h>

typedef struct shape {
    size_t C;
    ca_kind kind;
    bool adjacent;
} shape;

typedef struct call {
    sl_rope_fn *fn;
    float *x;
    const float *cs;
    size_t C;
} call;

static void run(void *arg)
{
    const call *a = arg;
    a->fn(a->x, a->cs, a->C);
}

static void check_shape(ca *c, const void *arg)
{
    const shape *s = arg;
    const size_t half = s->C / 2;
    float *x = ca_buf(c, s->C * sizeof *x), *y = ca_buf(c, s->C * sizeof *y), *cs = ca_buf(c, s->C * sizeof *cs);
    ca_fill(c, x, s->C, s->kind);
    for (size_t i = 0; i < half; i++) {
        const float angle = ca_uniform(c, -4.0f, 4.0f);
        cs[2 * i] = cosf(angle);
        cs[2 * i + 1] = sinf(angle);
    }
    for (size_t i = 0; i < s->C; i++)
        y[i] = x[i];
    call a = { s->adjacent ? c->k->rope_adjacent : c->k->rope_half, y, cs, s->C };
    run(&a);
    for (size_t i = 0; i < half; i++) {
        const size_t p = s->adjacent ? 2 * i : i, q = s->adjacent ? 2 * i + 1 : half + i;
        const double co = cs[2 * i], si = cs[2 * i + 1], bound = (fabs((double)x[p]) + fabs((double)x[q])) * 0x1p-23;
        ca_near(c, "x", p, y[p], x[p] * co - x[q] * si, bound + 0x1p-148);
        ca_near(c, "x", q, y[q], x[q] * co + x[p] * si, bound + 0x1p-148);
    }
    ca_time(c, run, &a, 12.0 * (double)s->C, 3.0 * (double)s->C);
}

void check_rope(ca *c)
{
    static const size_t bench_widths[] = { 64, 128, 0 };
    for (const size_t *w = c->bench ? bench_widths : ca_widths; *w; w++)
        for (int kind = 0; kind < (c->bench ? 1 : CA_KIND_COUNT); kind++) {
            shape s = { c->bench ? *w : 2 * *w, (ca_kind)kind, false };
            if (CA_NEW(c, rope_half))
                ca_case(c, check_shape, &s, "rope_half C=%zu kind=%d", s.C, kind);
            s.adjacent = true;
            if (CA_NEW(c, rope_adjacent))
                ca_case(c, check_shape, &s, "rope_adjacent C=%zu kind=%d", s.C, kind);
        }
}
