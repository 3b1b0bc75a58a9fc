/* quantize.c - activations to 8 bits: the same integers and the same bits of the scales as
 * the formula in kernels.h, written out once more; and to 8-bit floats: as a search among all of them. */
#include "checkasm.h"

#include <math.h>
#include <string.h>

enum { GROUP = 32 };

typedef struct shape {
    size_t T, K, pad;
    ca_kind kind;
    bool q16, token;
} shape;

typedef struct forms {
    float *d, *dsum;
    int8_t *q;
    int16_t *q16;
    int16_t *half, *eight;
} forms;

static forms forms_get(ca *c, size_t T, size_t G)
{
    return (forms){ ca_buf(c, T * G * 4),         ca_buf(c, T * G * 4), ca_buf(c, T * G * GROUP),
                    ca_buf(c, T * G * GROUP * 2), ca_buf(c, T * G * 4), ca_buf(c, T * G * 4) };
}

static float plain_scale(const float *x, size_t n)
{
    float top = 0;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        finite = finite && isfinite(x[i]);
        top = fmaxf(top, fabsf(x[i]));
    }
    return finite ? top / 127 : NAN;
}

static void plain_group(const forms *f, size_t g, const float *x, size_t n, float d)
{
    const bool finite = isfinite(d);
    f->d[g] = d;
    f->half[2 * g] = f->half[2 * g + 1] = f->eight[2 * g] = f->eight[2 * g + 1] = 0;
    for (size_t i = 0; i < GROUP; i++) {
        double q = 0;
        if (i < n && finite && f->d[g] != 0)
            q = nearbyint((double)(x[i] / f->d[g]));
        q = fmax(-127, fmin(127, q));
        f->q[g * GROUP + i] = (int8_t)q;
        f->q16[g * GROUP + i] = (int16_t)q;
        f->half[2 * g + i / (GROUP / 2)] += (int16_t)q;
        f->eight[2 * g + i % 4 / 2] += (int16_t)(8 * q);
    }
    f->dsum[g] = f->d[g] * (float)(f->half[2 * g] + f->half[2 * g + 1]);
}

/* NaN has many bits; any will do. */
static void same_floats(ca *c, const char *what, const float *got, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(want[i]) || !isnan(got[i]))
            ca_same(c, what, got + i, want + i, 1, sizeof *got);
}

typedef struct call {
    const ca *c;
    const sl_act *act;
} call;

static void run(void *arg)
{
    const call *a = arg;
    a->c->k->quantize(a->act, 0, a->act->T);
}

/* What real rows rarely have: ties, a subnormal scale, infinities, NaN, all zero. */
static void plant(float *x, size_t K)
{
    for (size_t g = 0; g * GROUP < K; g++) {
        const size_t n = K - g * GROUP < GROUP ? K - g * GROUP : GROUP;
        float *p = x + g * GROUP;
        switch (g % 9) {
        case 1:
            for (size_t i = 0; i < n; i++) /* d = 1: exactly between two integers */
                p[i] = i ? (float)i - 16.5f : -127.0f;
            break;
        case 2:
            memset(p, 0, n * sizeof *p);
            break;
        case 3:
            p[n - 1] = NAN;
            break;
        case 4:
            p[n / 2] = -INFINITY;
            break;
        case 5:
            for (size_t i = 0; i < n; i++)
                p[i] = (float)((double)i * 6 * 0x1p-149); /* d is 1 or 2 times the smallest number */
            break;
        case 6:
            p[0] = 3.4e38f;
            break;
        default:
            break;
        }
    }
}

static void check_shape(ca *c, const void *arg)
{
    const shape *s = arg;
    const size_t G = (s->K + GROUP - 1) / GROUP, ld = s->K + s->pad, n = (s->T - 1) * ld + s->K;
    float *x = ca_buf(c, n * sizeof *x);
    for (size_t t = 0; t < s->T; t++) {
        ca_fill(c, x + t * ld, s->K, s->kind);
        if (!c->bench && !(s->token && t == 0)) /* what is not finite spoils a whole row */
            plant(x + t * ld, s->K);
    }
    const forms got = forms_get(c, s->T, G), want = forms_get(c, s->T, G);
    const sl_act act = { .T = s->T,
                         .K = s->K,
                         .G = G,
                         .f32 = x,
                         .ldf = ld,
                         .token = s->token,
                         .q8 = got.q,
                         .q16 = s->q16 ? got.q16 : NULL,
                         .d = got.d,
                         .half = got.half,
                         .eight = got.eight,
                         .dsum = got.dsum };
    for (size_t t = 0; t < s->T; t++)
        for (size_t g = 0; g < G; g++) {
            const size_t k = g * GROUP, len = s->K - k < GROUP ? s->K - k : GROUP;
            const float *row = x + t * ld;
            plain_group(&want, t * G + g, row + k, len, s->token ? plain_scale(row, s->K) : plain_scale(row + k, len));
        }

    /* the middle row first: the others stay as they are */
    c->k->quantize(&act, 1, 2);
    ca_same(c, "q8 of one row", got.q + G * GROUP, want.q + G * GROUP, G * GROUP, 1);
    for (size_t t = 0; t < s->T; t += 2)
        for (size_t i = 0; i < G * GROUP; i++)
            if ((uint8_t)got.q[t * G * GROUP + i] != CA_CANARY)
                ca_fail(c, "row %zu was written, only row 1 was asked for", t);

    call a = { c, &act };
    run(&a);
    const size_t all = s->T * G;
    ca_same(c, "q8", got.q, want.q, all * GROUP, 1);
    if (s->q16)
        ca_same(c, "q16", got.q16, want.q16, all * GROUP, 2);
    ca_same(c, "half", got.half, want.half, 2 * all, 2);
    ca_same(c, "eight", got.eight, want.eight, 2 * all, 2);
    same_floats(c, "d", got.d, want.d, all);
    same_floats(c, "dsum", got.dsum, want.dsum, all);
    ca_time(c, run, &a, (double)all * GROUP * (s->q16 ? 7 : 5), 0);
}

/* ---- to 8-bit floats ----------------------------------------------------------- */

/* v >= 0: the nearest of all numbers that there are, of two the one whose code is even. */
static float nearest_e4m3(float v)
{
    double best = INFINITY, number = 0;
    for (int code = 0; code < 127; code++) {
        const double m = code & 7, n = code < 8 ? ldexp(m, -9) : ldexp(8 + m, (code >> 3) - 10);
        const double off = fabs((double)v - n);
        if (off < best || (off == best && code % 2 == 0)) {
            best = off;
            number = n;
        }
    }
    return (float)number;
}

typedef struct e4m3_call {
    const ca *c;
    float *y, *x;
    size_t n;
    bool power;
} e4m3_call;

static void run_e4m3(void *arg)
{
    const e4m3_call *a = arg;
    a->c->k->round_e4m3(a->y, a->x, a->n, a->power);
}

/* What plain rows rarely have, in groups whose scale is 1: ties, subnormals, numbers that vanish. */
static void plant_e4m3(ca *c, float *x, size_t n)
{
    x[0] = -448.0f;
    for (size_t i = 1; i < n; i++) {
        const double step = ldexp(1, (int)(ca_rand(c) % 15) - 9), m = (double)(ca_rand(c) % 16);
        x[i] = (float)((i % 2 ? step : -step) * (m + 0.5));
    }
}

static void check_e4m3(ca *c, const void *arg)
{
    const shape *s = arg;
    e4m3_call a = { c, ca_buf(c, s->K * sizeof(float)), ca_buf(c, s->K * sizeof(float)), s->K, s->token };
    float *want = ca_buf(c, s->K * sizeof *want);
    ca_fill(c, a.x, s->K, s->kind);
    if (!c->bench)
        switch (s->T) {
        case 1:
            plant_e4m3(c, a.x, s->K);
            break;
        case 2:
            memset(a.x, 0, s->K * sizeof *a.x);
            break;
        case 3:
            a.x[s->K / 2] = s->K % 2 ? NAN : -INFINITY;
            break;
        case 4:
            for (size_t i = 0; i < s->K; i++) /* the scale is 1 or 2 times the smallest number, or 0 */
                a.x[i] = (float)((double)(ca_rand(c) % 800) * 0x1p-149);
            break;
        default:
            break;
        }
    float top = 0;
    bool finite = true;
    for (size_t i = 0; i < s->K; i++) {
        finite = finite && isfinite(a.x[i]);
        top = fmaxf(top, fabsf(a.x[i]));
    }
    float d = finite ? top / 448 : NAN;
    for (int e = -126; s->token && d > 0 && e < 128; e++)
        if (ldexp(1, e) >= (double)d) {
            d = (float)ldexp(1, e);
            break;
        }
    for (size_t i = 0; i < s->K; i++)
        want[i] = !(d > 0) ? d : d * copysignf(nearest_e4m3(fminf(fabsf(a.x[i]) / d, 448)), a.x[i]);
    run_e4m3(&a);
    same_floats(c, "y", a.y, want, s->K);
    ca_time(c, run_e4m3, &a, (double)s->K * 12, 0);
    memcpy(a.y, a.x, s->K * sizeof *a.x);
    c->k->round_e4m3(a.y, a.y, s->K, s->token);
    same_floats(c, "y that was x", a.y, want, s->K);
}

/* ---- lanes --------------------------------------------------------------------- */

typedef struct turn_shape {
    size_t T, G, t0;
} turn_shape;

typedef struct turn_call {
    const ca *c;
    const sl_act *act;
    const turn_shape *s;
    sl_lanes *lanes;
} turn_call;

static void run_turn(void *arg)
{
    const turn_call *a = arg;
    a->c->k->turn(a->lanes, a->act, a->s->t0);
}

static void check_turn(ca *c, const void *arg)
{
    const turn_shape *s = arg;
    const size_t all = s->T * s->G;
    const forms f = forms_get(c, s->T, s->G);
    for (size_t i = 0; i < all * GROUP; i++)
        f.q[i] = (int8_t)ca_rand(c);
    for (size_t i = 0; i < 2 * all; i++)
        f.eight[i] = (int16_t)ca_rand(c);
    ca_fill(c, f.d, all, CA_PLAIN);
    ca_fill(c, f.dsum, all, CA_PLAIN);
    const sl_act act = {
        .T = s->T, .K = s->G * GROUP, .G = s->G, .q8 = f.q, .d = f.d, .half = f.half, .eight = f.eight, .dsum = f.dsum
    };
    sl_lanes *got = ca_buf64(c, s->G * sizeof *got), *want = ca_buf64(c, s->G * sizeof *want);
    turn_call a = { c, &act, s, got };
    run_turn(&a);
    for (size_t i = 0; i < s->G * SL_LANES; i++) {
        const size_t g = i / SL_LANES, lane = i % SL_LANES, at = (s->t0 + lane) * s->G + g;
        sl_lanes *l = &want[g];
        for (size_t k = 0; k < GROUP; k++)
            l->q[k / 8][lane / 2 % 2][lane / 4 * 2 + lane % 2][k % 8] = f.q[at * GROUP + k];
        l->eight[lane][0] = f.eight[2 * at];
        l->eight[lane][1] = f.eight[2 * at + 1];
        l->d[lane] = f.d[at];
        l->dsum[lane] = f.dsum[at];
    }
    ca_same(c, "lanes", got, want, s->G, sizeof *got);
    ca_time(c, run_turn, &a, (double)s->G * SL_LANES * 2 * (GROUP + 12), 0);
}

static void check_lanes(ca *c)
{
    for (size_t G = 1; G <= 33; G += G < 3 ? 1 : 5)
        for (size_t t0 = 0; t0 < 4 && !c->bench; t0++) {
            const turn_shape s = { SL_LANES + 3, G, t0 };
            ca_case(c, check_turn, &s, "lanes G=%zu rows from %zu on", G, t0);
        }
    const turn_shape s = { SL_LANES, 32, 0 };
    ca_case(c, check_turn, &s, "lanes G=%zu", s.G);
}

void check_quantize(ca *c)
{
    if (CA_NEW(c, turn))
        check_lanes(c);
    for (const size_t *K = ca_widths_of(c); *K && CA_NEW(c, round_e4m3); K++)
        for (int kind = 0; kind < (c->bench ? 1 : CA_KIND_COUNT + 4); kind++) {
            shape s = { .K = *K, .kind = kind < CA_KIND_COUNT ? (ca_kind)kind : CA_PLAIN };
            s.T = kind < CA_KIND_COUNT ? 0 : (size_t)(kind - CA_KIND_COUNT + 1);
            ca_case(c, check_e4m3, &s, "round e4m3 K=%zu kind=%d", *K, kind);
            s.token = true; /* here: by powers of two */
            ca_case(c, check_e4m3, &s, "round e4m3 by powers K=%zu kind=%d", *K, kind);
        }
    if (!CA_NEW(c, quantize))
        return;
    for (const size_t *K = ca_widths_of(c); *K; K++)
        for (int kind = 0; kind < (c->bench ? 1 : CA_KIND_COUNT); kind++) {
            shape s = { 3, *K, *K % 3, (ca_kind)kind, !c->bench && (*K + (size_t)kind) % 2, false };
            ca_case(c, check_shape, &s, "quantize K=%zu kind=%d q16=%d", *K, kind, s.q16);
            s.token = true;
            ca_case(c, check_shape, &s, "quantize rows K=%zu kind=%d q16=%d", *K, kind, s.q16);
        }
}
