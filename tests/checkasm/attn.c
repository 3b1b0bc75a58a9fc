/* attn.c - scores and weighted sums over one page, against double, and bit for bit against
 * themselves: a row alone, fewer tokens, a page in two pieces. Scores of int8 keys are the formula's bits.
 *
 * Slots that hold no token are NaN, and so is all that a result must not depend on. The page
 * ends where memory ends. */
#include "checkasm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pages.h"

typedef struct shape {
    sl_kv_type type;
    page_kind kind; /* of the keys */
    size_t R, C, P, at, n;
    bool wide; /* values over many magnitudes; int8: all at the ends of the range */
} shape;

/* Error of a chain of K roundings of partial sums that wander: a random walk, times 6, the
 * norm standing for the size of the sums. Twice the roundings where product and sum are rounded apart. */
static double chain_bound(double sum_of_squares, size_t K)
{
    return 6 * sqrt((double)K + 1) * sqrt(sum_of_squares) * 0x1p-24 + 0x1p-140;
}

/* The largest numbers of both signs: a run of equal ones, so that the sums of neighbours grow as large as
 * they can, then changing ones. */
static void fill_ends(ca *c, float *x, size_t n)
{
    const float top = ca_uniform(c, 0.5f, 2.0f), sign = ca_rand(c) & 1 ? 1.0f : -1.0f;
    const bool equal = ca_rand(c) & 1;
    for (size_t i = 0; i < n; i++)
        x[i] = equal || ca_rand(c) & 1 ? sign * top : -sign * top;
}

static void fill(ca *c, float *x, size_t n, const shape *s)
{
    if (s->wide && s->type == SL_KV_INT8)
        fill_ends(c, x, n);
    else
        ca_fill(c, x, n, s->wide ? CA_MIXED : CA_PLAIN);
}

static sl_kv_head page_filled(ca *c, const shape *s, page_kind kind)
{
    const sl_kv_head h = page_new(c, s->type, s->P, s->C);
    float *x = ca_buf(c, s->C * sizeof *x);
    for (size_t t = 0; t < s->at + s->n; t++) {
        fill(c, x, s->C, s);
        page_set(&h, s->type, kind, t, x);
    }
    return h;
}

/* rows [R][cols] with a stride of ld; what lies between stays canary, which as f32 is a
 * number of no effect, so the gaps become NaN. */
static float *rows_buf(ca *c, size_t cols, size_t ld, const shape *s)
{
    const size_t n = (s->R - 1) * ld + cols;
    float *x = ca_buf(c, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    for (size_t r = 0; r < s->R; r++)
        fill(c, x + r * ld, cols, s);
    return x;
}

/* ---- scores -------------------------------------------------------------------- */

/* Rows in both forms; the bytes made as kernels.h says, here. */
static sl_attn_query query_new(ca *c, const shape *s, size_t ldx)
{
    const size_t ldq = sl_round_up(s->C, SL_HEAD_PAD) + s->R % 2 * SL_HEAD_PAD;
    sl_attn_query q = { rows_buf(c, s->C, ldx, s), ldx, ca_buf(c, s->R * ldq), ldq, ca_buf(c, s->R * sizeof(float)) };
    memset(q.q, 0, s->R * ldq);
    for (size_t r = 0; r < s->R; r++) {
        const float *x = q.x + r * ldx;
        q.d[r] = page_scale(x, s->C);
        for (size_t i = 0; i < s->C; i++)
            q.q[r * ldq + i] = page_quantized(x[i], q.d[r]);
    }
    return q;
}

static sl_attn_query query_from(const sl_attn_query *q, size_t r)
{
    return (sl_attn_query){ q->x + r * q->ldx, q->ldx, q->q + r * q->ldq, q->ldq, q->d + r };
}

static void compare_score(ca *c, const shape *s, const sl_kv_head *h, const sl_attn_query *q, size_t r, size_t j,
                          float got)
{
    double sum = 0, squares = 0;
    for (size_t ch = 0; ch < s->C; ch++) {
        const double k = page_number(h, s->type, s->kind, s->at + j, ch);
        const double p = k * (s->type == SL_KV_INT8 ? q->q[r * q->ldq + ch] : (double)q->x[r * q->ldx + ch]);
        sum += p;
        squares += p * p;
    }
    if (s->type == SL_KV_INT8) {
        const float want = (float)sum * h->scale[s->at + j] * q->d[r];
        ca_same(c, "s", &got, &want, 1, sizeof got);
    } else {
        ca_near(c, "s", r * s->n + j, got, sum, chain_bound(squares, s->C));
    }
}

static void check_scores(ca *c, const void *arg)
{
    const shape *s = arg;
    const size_t room = (s->n + 15) / 16 * 16, lds = room + s->C % 3, ldq = s->C + s->R % 4;
    const sl_kv_head h = page_filled(c, s, s->kind);
    const sl_attn_query q = query_new(c, s, ldq);
    float *out = ca_buf(c, ((s->R - 1) * lds + room) * sizeof *out);
    sl_attn_scores_fn *fn = c->k->attn_scores[s->kind == PAGE_KEYS_TOKEN][s->type];
    fn(out, lds, &q, s->R, &h, s->at, s->n);
    for (size_t r = 0; r < s->R; r++)
        for (size_t j = 0; j < s->n; j++)
            compare_score(c, s, &h, &q, r, j, out[r * lds + j]);
    ca_gaps(c, "s", out, s->R, room, lds, sizeof *out);

    float *one = ca_buf(c, room * sizeof *one);
    for (size_t r = 0; r < s->R; r++) {
        const sl_attn_query row = query_from(&q, r);
        fn(one, room, &row, 1, &h, s->at, s->n);
        ca_same(c, "s of a row alone", one, out + r * lds, s->n, sizeof *one);
    }
    const size_t last = (s->n - 1) / 16 * 16; /* the last piece of up to 16 tokens, for all rows */
    float *piece = ca_buf(c, s->R * 16 * sizeof *piece);
    fn(piece, 16, &q, s->R, &h, s->at + last, s->n - last);
    for (size_t r = 0; r < s->R; r++)
        ca_same(c, "s of the last tokens alone", piece + r * 16, out + r * lds + last, s->n - last, sizeof *piece);
}

/* ---- mix ----------------------------------------------------------------------- */

static void compare_mix(ca *c, const shape *s, const sl_kv_head *h, const float *acc, const float *was, const float *p,
                        size_t ldp, const uint32_t *n)
{
    for (size_t r = 0; r < s->R; r++)
        for (size_t k = 0; k < s->C; k++) {
            double sum = was[r * s->C + k], squares = sum * sum;
            for (size_t j = 0; j < n[r]; j++) {
                const size_t t = s->at + j;
                const double weight = p[r * ldp + j] * (s->type == SL_KV_INT8 ? (double)h->scale[t] : 1.0);
                const double v = weight * page_number(h, s->type, PAGE_VALUES, t, k);
                sum += v;
                squares += v * v;
            }
            ca_near(c, "acc", r * s->C + k, acc[r * s->C + k], sum, chain_bound(squares, n[r]));
        }
}

static void check_mix(ca *c, const void *arg)
{
    const shape *s = arg;
    const size_t ldp = s->n + s->C % 3, bytes = s->R * s->C * sizeof(float);
    const sl_kv_head h = page_filled(c, s, PAGE_VALUES);
    float *p = rows_buf(c, s->n, ldp, s);
    float *acc = ca_buf(c, bytes), *was = ca_buf(c, bytes), *again = ca_buf(c, bytes);
    uint32_t *n = ca_buf(c, s->R * sizeof *n), *half = ca_buf(c, s->R * sizeof *half);
    ca_fill(c, was, s->R * s->C, CA_PLAIN);
    for (size_t r = 0; r < s->R; r++) { /* ragged, as under a causal mask; one row has all, one may have none */
        n[r] = r == 0 ? (uint32_t)s->n : (uint32_t)(ca_rand(c) % (s->n + 1));
        for (size_t j = n[r]; j < s->n; j++)
            p[r * ldp + j] = NAN; /* not a weight: must not be read as one */
        half[r] = n[r] / 2;
    }
    sl_attn_mix_fn *fn = c->k->attn_mix[s->type];
    memcpy(acc, was, bytes);
    fn(acc, p, ldp, n, s->R, &h, s->at);
    compare_mix(c, s, &h, acc, was, p, ldp, n);

    memcpy(again, was, bytes);
    for (size_t r = 0; r < s->R; r++) /* a row alone, and its tokens in two calls */
        for (size_t part = 0; part < 2; part++) {
            const uint32_t from = part ? half[r] : 0, count = part ? n[r] - half[r] : half[r];
            fn(again + r * s->C, p + r * ldp + from, ldp, &count, 1, &h, s->at + from);
        }
    ca_same(c, "acc of rows alone, in two pieces", again, acc, s->R * s->C, sizeof *acc);
}

/* ---- time: a context of many pages ----------------------------------------------- */

typedef struct context {
    const ca *c;
    const shape *s;
    size_t n_pages;
    char *pages;
    sl_attn_query q;
    float *out, *acc;
    uint32_t *n;
} context;

static sl_kv_head context_page(const context *x, size_t i)
{
    const shape *s = x->s;
    const size_t bytes = page_head_bytes(s->type, s->P, s->C);
    sl_kv_head h = sl_kv_head_at(s->type, x->pages + i * bytes, s->P, s->C);
    h.next = x->pages + (i + 1) % x->n_pages * bytes;
    return h;
}

static void run_scores(void *arg)
{
    const context *x = arg;
    sl_attn_scores_fn *fn = x->c->k->attn_scores[x->s->kind == PAGE_KEYS_TOKEN][x->s->type];
    for (size_t i = 0; i < x->n_pages; i++) {
        const sl_kv_head h = context_page(x, i);
        fn(x->out + i % 4 * x->s->P, 4 * x->s->P, &x->q, x->s->R, &h, 0, x->s->P);
    }
}

static void run_mix(void *arg)
{
    const context *x = arg;
    for (size_t i = 0; i < x->n_pages; i++) {
        const sl_kv_head h = context_page(x, i);
        x->c->k->attn_mix[x->s->type](x->acc, x->out + i % 4 * x->s->P, 4 * x->s->P, x->n, x->s->R, &h, 0);
    }
}

typedef struct bench_shape {
    shape s;
    size_t n_pages;
    bool mix;
} bench_shape;

static void bench_context(ca *c, const void *arg)
{
    const bench_shape *b = arg;
    const shape *s = &b->s;
    const size_t bytes = b->n_pages * page_head_bytes(s->type, s->P, s->C), columns = 4 * s->P;
    const size_t ldq = sl_round_up(s->C, SL_HEAD_PAD);
    context x = { c,
                  s,
                  b->n_pages,
                  ca_buf64(c, bytes),
                  { ca_buf64(c, s->R * s->C * sizeof(float)), s->C, ca_buf64(c, s->R * ldq), ldq,
                    ca_buf64(c, s->R * sizeof(float)) },
                  ca_buf64(c, s->R * columns * sizeof(float)),
                  ca_buf64(c, s->R * s->C * sizeof(float)),
                  ca_buf64(c, s->R * sizeof(uint32_t)) };
    memset(x.pages, 0, bytes);
    memset(x.q.q, 1, s->R * ldq);
    ca_fill(c, x.q.d, s->R, CA_PLAIN);
    ca_fill(c, x.q.x, s->R * s->C, CA_PLAIN);
    ca_fill(c, x.out, s->R * columns, CA_PLAIN);
    memset(x.acc, 0, s->R * s->C * sizeof(float));
    for (size_t r = 0; r < s->R; r++)
        x.n[r] = (uint32_t)s->P;
    const ca_roof roof = { .data = x.pages,
                           .bytes = bytes,
                           .ops = 2.0 * (double)(s->R * s->C) * (double)(s->P * b->n_pages),
                           .peak = SL_PEAK_FMA_AVX2_F32 };
    ca_time_roof(c, b->mix ? run_mix : run_scores, &x, &roof);
}

static void bench_all(ca *c, sl_kv_type type, size_t R, size_t C, size_t n_pages)
{
    const char *name = page_type_name(type);
    bench_shape b = { { .type = type, .R = R, .C = C, .P = 64 }, n_pages, false };
    for (size_t layout = 0; layout < SL_KV_LAYOUT_COUNT; layout++) {
        b.s.kind = layout == SL_KV_TOKEN ? PAGE_KEYS_TOKEN : PAGE_KEYS;
        if (CA_NEW(c, attn_scores[layout][type]))
            ca_case(c, bench_context, &b, "attn_scores %s%s R=%zu C=%zu P=64 pages=%zu", page_kind_name(b.s.kind), name,
                    R, C, n_pages);
    }
    b.mix = true;
    if (CA_NEW(c, attn_mix[type]))
        ca_case(c, bench_context, &b, "attn_mix %s R=%zu C=%zu P=64 pages=%zu", name, R, C, n_pages);
}

/* A chunk in prefill; a few heads over a context in L2, and over one in memory, for which the
 * twins would take minutes. */
static void bench(ca *c)
{
    static const size_t few[] = { 1, 2, 4, 8 };
    for (size_t type = 0; type < SL_KV_COUNT; type++)
        for (size_t C = 64; C <= 128; C += 64) {
            bench_all(c, (sl_kv_type)type, 48, C, 4);
            for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
                bench_all(c, (sl_kv_type)type, few[i], C, 16);
                if (c->isa > SL_ISA_SCALAR)
                    bench_all(c, (sl_kv_type)type, few[i], C, 8192);
            }
        }
}

/* ---- the grid -------------------------------------------------------------------- */

static void check_both(ca *c, const shape *s)
{
    const char *name = page_type_name(s->type), *wide = s->wide ? " wide" : "";
    for (size_t layout = 0; layout < SL_KV_LAYOUT_COUNT && s->at % 16 == 0; layout++) {
        shape keys = *s;
        keys.kind = layout == SL_KV_TOKEN ? PAGE_KEYS_TOKEN : PAGE_KEYS;
        if (CA_NEW(c, attn_scores[layout][s->type]))
            ca_case(c, check_scores, &keys, "attn_scores %s%s R=%zu C=%zu P=%zu at=%zu n=%zu%s",
                    page_kind_name(keys.kind), name, s->R, s->C, s->P, s->at, s->n, wide);
    }
    if (CA_NEW(c, attn_mix[s->type]))
        ca_case(c, check_mix, s, "attn_mix %s R=%zu C=%zu P=%zu at=%zu n=%zu%s", name, s->R, s->C, s->P, s->at, s->n,
                wide);
}

static void check_type(ca *c, sl_kv_type type)
{
    static const size_t rows[] = { 3, 8, 14 }; /* what AVX2 does in one block, in several, and packed */
    for (size_t C = 2; C <= 134; C += 2)       /* every tail of a head's width */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            check_both(c, &(shape){ type, PAGE_KEYS, rows[i], C, 16, 0, 16, false });
    static const size_t widths[] = { 24, 64, 80, 128, 192, 256, 576 };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (size_t R = 1; R <= 15; R++)
            check_both(c, &(shape){ type, PAGE_KEYS, R, widths[i], 64, 16, 16 + (R * 11 + i) % 33, R % 2 });
    for (size_t n = 1; n <= 64; n++) /* every number of tokens */
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            check_both(c, &(shape){ type, PAGE_KEYS, rows[i], 24, 64, 0, n, false });
    for (size_t at = 1; at < 16; at += 3)
        check_both(c, &(shape){ type, PAGE_KEYS, 4, 24, 32, at, 32 - at, false });
    check_both(c, &(shape){ type, PAGE_KEYS, 48, 64, 64, 0, 64, false });
    check_both(c, &(shape){ type, PAGE_KEYS, 48, 128, 256, 0, 256, false }); /* more tokens than one packing holds */
    check_both(c, &(shape){ type, PAGE_KEYS, 50, 40, 256, 32, 201, true });
}

void check_attn(ca *c)
{
    if (c->bench) {
        bench(c);
        return;
    }
    for (size_t type = 0; type < SL_KV_COUNT; type++)
        check_type(c, (sl_kv_type)type);
}
