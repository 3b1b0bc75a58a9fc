#include "module/mixture.h"

#include <assert.h>
#include <string.h>
#include "base/num.h"
#include "module/act.h"
#include "module/route.h"
#include "module/run.h"

#define ROUTE_TOKENS 8          /* of a tile of the router: they share each pass over its matrix */
#define ROUTE_ROWS   16         /* of a tile of the router in a narrow step */
#define UP_TOKENS    64         /* of one expert, gathered for a tile */
#define UP_ROWS      32         /* of F: a whole group, so that a tile can be quantised by itself */
#define DOWN_ROWS    16         /* of D */
#define ROWS_MAX     64         /* of neighbouring tiles that are computed together */
#define DOWN_FLOATS  (1u << 18) /* of a tile of down before they are added up: 1 MiB */

/* ---- building ---------------------------------------------------------------- */

static uint64_t formats_of(const sl_tensor *w, size_t n)
{
    uint64_t set = 0;
    for (size_t i = 0; i < n; i++)
        set |= w[i].data ? (uint64_t)1 << w[i].format : 0;
    return set;
}

sl_value sl_norm_mixture(sl_graph *g, int layer, sl_value x, const sl_norm *norm, const sl_mixture *m)
{
    static_assert(SL_FORMAT_COUNT < 64, "a set of formats is one word");
    const sl_value out = sl_graph_value(g, "ffn", SL_ROWS_TOKENS, m->route.cols);
    sl_mixture *copy = sl_arena_alloc(g->arena, 1, sizeof *copy);
    if (!copy) {
        g->failed = true;
        return out;
    }
    *copy = *m;
    copy->in_formats = formats_of(m->gate, m->router.E) | formats_of(m->up, m->router.E) |
                       formats_of(&m->shared_gate, 1) | formats_of(&m->shared_up, 1);
    copy->down_formats = formats_of(m->down, m->router.E) | formats_of(&m->shared_down, 1);
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_MIXTURE,
                                 .name = "experts",
                                 .layer = layer,
                                 .group = SL_FUSE_FFN,
                                 .n_in = 2,
                                 .n_out = 1,
                                 .in = { x, x },
                                 .out = { out },
                                 .pre = SL_PRE_NORM,
                                 .norm = *norm,
                                 .mixture = copy });
    return out;
}

/* ---- memory ------------------------------------------------------------------ */

static unsigned needs_of(uint64_t formats, const sl_env *env, size_t T)
{
    unsigned needs = 0;
    for (int f = 0; f < SL_FORMAT_COUNT; f++)
        if (formats >> f & 1)
            needs |= sl_linear_needs(env->k, env->act, (sl_format)f, T);
    return needs;
}

/* Of any step that a plan for T tokens may run. */
static unsigned needs_up_to(uint64_t formats, const sl_env *env, size_t T)
{
    return needs_of(formats, env, 1) | needs_of(formats, env, T);
}

static void *take(unsigned char *base, size_t *at, size_t bytes)
{
    void *p = base ? base + *at : NULL;
    *at += sl_round_up(bytes, SL_MEM_ALIGN);
    return p;
}

static size_t take_act(sl_act *act, unsigned char *base, size_t at, size_t T, size_t K, unsigned needs, bool own_f32)
{
    return at + sl_act_cut(act, base ? base + at : NULL, T, K, needs, own_f32);
}

/* What all threads see. */
typedef struct sl_shared {
    sl_act x;             /* [T][D] the input (wide steps) */
    sl_act inner;         /* [T*K][F] sorted by expert, then by token */
    sl_act shared_inner;  /* [T][S] */
    float *logits;        /* [T][E] (narrow steps) */
    int32_t *ids;         /* [T][K] (wide steps) */
    float *weights, *mix; /* [T][K], [T] */
} sl_shared;

static size_t cut_shared(sl_shared *s, unsigned char *base, const sl_op *op, size_t T, unsigned x_needs,
                         unsigned inner_needs)
{
    const sl_mixture *m = op->mixture;
    const size_t P = T * m->router.K;
    size_t at = 0;
    if (inner_needs & (SL_NEED_T8 | SL_NEED_ROUNDED)) /* kept until a row is complete */
        inner_needs |= SL_NEED_F32;
    *s = (sl_shared){ 0 };
    s->mix = take(base, &at, T * sizeof *s->mix);
    if (T > SL_NARROW_ROWS) {
        s->ids = take(base, &at, P * sizeof *s->ids);
        s->weights = take(base, &at, P * sizeof *s->weights);
        at = take_act(&s->x, base, at, T, m->route.cols, x_needs, op->pre == SL_PRE_NORM);
    } else {
        s->logits = take(base, &at, T * m->router.E * sizeof *s->logits);
    }
    at = take_act(&s->inner, base, at, P, m->F, inner_needs, true);
    if (m->shared_gate.data)
        at = take_act(&s->shared_inner, base, at, T, m->shared_gate.rows, inner_needs, true);
    return at;
}

/* One expert that tokens of the step picked, or the shared one. */
typedef struct sl_hit {
    const sl_tensor *gate, *up, *down;
    sl_act *inner;
    uint32_t expert; /* E: the shared one */
    size_t first, n; /* rows of inner */
    size_t first_tile;
    uint64_t up_ticket; /* with prefetch: of gate and up */
} sl_hit;

/* One thread's. */
typedef struct sl_own {
    sl_act x;        /* narrow steps: the input */
    float *rows;     /* [ROUTE_TOKENS][D] f32 */
    float *logits;   /* [ROUTE_TOKENS][E] */
    void *route;     /* of sl_route */
    int32_t *ids;    /* narrow steps */
    float *weights;  /* likewise */
    uint32_t *order; /* [T*K] row of inner -> token * K + slot */
    uint32_t *place; /* [T*K] token * K + slot -> row of inner */
    uint32_t *first; /* [E + 1] first row of each expert */
    uint32_t *shift; /* [E] row of inner - row of a down tile */
    sl_hit *hit;     /* [n_hits] by number, the shared expert last */
    size_t n_hits, n_tiles;
    sl_act gathered; /* [UP_TOKENS][D] */
    float *y;        /* a tile */
    void *product;
} sl_own;

static size_t down_tokens(const sl_mixture *m, size_t T)
{
    return SL_MAX(SL_MIN(T, DOWN_FLOATS / (2 * DOWN_ROWS) / (m->router.K + 1)), 1);
}

/* Rows of a tile of down: more of them where tokens are few. */
static size_t down_rows(const sl_mixture *m, size_t T)
{
    const size_t rows = DOWN_FLOATS / (down_tokens(m, T) * (m->router.K + 1));
    return SL_MAX(SL_MIN(rows / DOWN_ROWS * DOWN_ROWS, ROWS_MAX), DOWN_ROWS);
}

static size_t tile_floats(const sl_mixture *m, size_t T)
{
    size_t down = 0;
    for (size_t t = 1; t < T; t *= 2) /* fewer tokens may have larger tiles */
        down = SL_MAX(down, down_tokens(m, t) * (m->router.K + 1) * down_rows(m, t));
    down = SL_MAX(down, down_tokens(m, T) * (m->router.K + 1) * down_rows(m, T));
    return SL_MAX(down, 2 * UP_TOKENS * ROWS_MAX);
}

static size_t cut_own(sl_own *o, unsigned char *base, const sl_op *op, const sl_env *env)
{
    const sl_mixture *m = op->mixture;
    const size_t D = m->route.cols, E = m->router.E, T = env->limits.n_tokens, P = T * m->router.K;
    const size_t widest = SL_MAX(SL_MAX(D, m->F), m->shared_gate.rows);
    const unsigned needs = needs_up_to(m->in_formats, env, T);
    size_t at = 0;
    *o = (sl_own){ 0 };
    at = take_act(&o->x, base, at, SL_NARROW_ROWS, D, needs, false);
    at = take_act(&o->gathered, base, at, UP_TOKENS, D, needs, true);
    o->rows = take(base, &at, ROUTE_TOKENS * D * sizeof *o->rows);
    o->logits = take(base, &at, ROUTE_TOKENS * E * sizeof *o->logits);
    o->route = take(base, &at, sl_route_scratch(&m->router));
    o->ids = take(base, &at, SL_NARROW_ROWS * m->router.K * sizeof *o->ids);
    o->weights = take(base, &at, SL_NARROW_ROWS * m->router.K * sizeof *o->weights);
    o->order = take(base, &at, P * sizeof *o->order);
    o->place = take(base, &at, P * sizeof *o->place);
    o->first = take(base, &at, (E + 1) * sizeof *o->first);
    o->shift = take(base, &at, E * sizeof *o->shift);
    o->hit = take(base, &at, (SL_MIN(E, P) + 1) * sizeof *o->hit);
    o->y = take(base, &at, tile_floats(m, T) * sizeof *o->y);
    o->product = take(base, &at, sl_linear_scratch(env->k, widest));
    return at;
}

static size_t shared_bytes(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    const size_t T = env->limits.n_tokens;
    const sl_mixture *m = op->mixture;
    sl_shared s = { 0 };
    (void)g;
    const unsigned x = needs_up_to(m->in_formats, env, T), inner = needs_up_to(m->down_formats, env, T);
    const size_t narrow = cut_shared(&s, NULL, op, SL_MIN(T, SL_NARROW_ROWS), x, inner);
    return SL_MAX(narrow, cut_shared(&s, NULL, op, T, x, inner));
}

static size_t scratch_bytes(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    sl_own o = { 0 };
    (void)g;
    return cut_own(&o, NULL, op, env);
}

/* ---- router ------------------------------------------------------------------ */

typedef struct sl_mix {
    const sl_op *op;
    const sl_mixture *m;
    const sl_env *env;
    sl_lane *lane;
    size_t T, D, K, E;
    sl_shared all;
    sl_own own;
    const sl_act *x;      /* the input of the experts */
    const int32_t *ids;   /* [T][K] */
    const float *weights; /* [T][K] */
} sl_mix;

/* Rows t0..t1 of the input: normed in f32 at `rows` (or where they are), and in the other forms of act. */
static const float *prepare(const sl_mix *c, sl_act *act, float *rows, size_t t0, size_t t1)
{
    const sl_kernels *k = c->env->k;
    const float *x = c->lane->value[c->op->in[0]] + t0 * c->D;
    if (c->op->pre == SL_PRE_NORM) {
        k->rms_norm(rows, c->D, x, c->D, c->op->norm.weight, t1 - t0, c->D, c->op->norm.eps);
        x = rows;
    }
    for (size_t t = t0; t < t1; t++) {
        const sl_act one = sl_act_row(act, t, x + (t - t0) * c->D);
        sl_act_fill(k, &one, 0, 1);
    }
    return x;
}

/* y [n][r1 - r0], row stride ld = f32 rows x times rows r0..r1 of w, whatever the activations of the experts are. */
static void exact_product(const sl_mix *c, float *y, size_t ld, const sl_tensor *w, size_t r0, size_t r1,
                          const float *x, size_t n)
{
    const sl_act act = { .T = n, .K = c->D, .G = sl_div_up(c->D, 32), .f32 = x, .ldf = c->D };
    const sl_tensor own = sl_lane_weights(c->lane, w);
    sl_linear(c->env->k, SL_ACT_F32, y, ld, &own, r0, r1, NULL, &act, 0, n, c->own.product);
    c->lane->read_bytes += (r1 - r0) * sl_tensor_row_cost(w);
    c->lane->ops += 2 * (r1 - r0) * w->cols * n;
}

/* To columns r0..r1 of rows of logits, of which the first begins at y. */
static void add_route_bias(const sl_mix *c, float *y, size_t r0, size_t r1, size_t n)
{
    for (size_t t = 0; c->m->route_bias && t < n; t++, y += c->E)
        c->env->k->add(y, y, c->m->route_bias + r0, r1 - r0);
}

static void shared_weights(const sl_mix *c, const float *x, size_t t0, size_t t1)
{
    const sl_tensor *w = &c->m->shared_mix;
    if (!w->data)
        return;
    exact_product(c, c->all.mix + t0, 1, w, 0, 1, x, t1 - t0);
    for (size_t t = t0; t < t1; t++)
        c->all.mix[t] = sl_sigmoid(c->all.mix[t]);
}

/* Few tokens: each thread norms and chooses for itself; only the product is shared out. */
static void route_narrow(sl_mix *c)
{
    sl_own *o = &c->own;
    const size_t n_tiles = sl_div_up(c->E, ROUTE_ROWS);
    const float *x = prepare(c, &o->x, o->rows, 0, c->T);
    o->x.f32 = x;
    for (size_t i; (i = sl_tiles_take(&c->lane->tiles[0])) < n_tiles;) {
        const size_t r0 = i * ROUTE_ROWS, r1 = SL_MIN(r0 + ROUTE_ROWS, c->E);
        exact_product(c, c->all.logits + r0, c->E, &c->m->route, r0, r1, x, c->T);
        add_route_bias(c, c->all.logits + r0, r0, r1, c->T);
        if (i + 1 == n_tiles)
            shared_weights(c, x, 0, c->T);
    }
    sl_lane_barrier(c->lane, c->op);
    for (size_t t = 0; t < c->T; t++)
        sl_route(&c->m->router, c->all.logits + t * c->E, o->ids + t * c->K, o->weights + t * c->K, o->route);
    c->x = &o->x;
    c->ids = o->ids;
    c->weights = o->weights;
}

static void route_wide(sl_mix *c)
{
    sl_shared *s = &c->all;
    const bool kept = s->x.f32; /* the experts want f32 too */
    for (size_t t0; (t0 = sl_tiles_take(&c->lane->tiles[0]) * ROUTE_TOKENS) < c->T;) {
        const size_t t1 = SL_MIN(t0 + ROUTE_TOKENS, c->T);
        const float *x = prepare(c, &s->x, kept ? (float *)s->x.f32 + t0 * c->D : c->own.rows, t0, t1);
        exact_product(c, c->own.logits, c->E, &c->m->route, 0, c->E, x, t1 - t0);
        add_route_bias(c, c->own.logits, 0, c->E, t1 - t0);
        for (size_t t = t0; t < t1; t++)
            sl_route(&c->m->router, c->own.logits + (t - t0) * c->E, s->ids + t * c->K, s->weights + t * c->K,
                     c->own.route);
        shared_weights(c, x, t0, t1);
    }
    if (c->op->pre != SL_PRE_NORM)
        s->x.f32 = c->lane->value[c->op->in[0]];
    sl_lane_barrier(c->lane, c->op);
    c->x = &s->x;
    c->ids = s->ids;
    c->weights = s->weights;
}

/* ---- who picked what ---------------------------------------------------------- */

/* A counting sort by expert; the tokens of one stay in order. */
static void sort_picks(sl_mix *c)
{
    sl_own *o = &c->own;
    const size_t P = c->T * c->K;
    memset(o->first, 0, (c->E + 1) * sizeof *o->first);
    for (size_t p = 0; p < P; p++)
        o->first[c->ids[p] + 1]++;
    for (size_t e = 0; e < c->E; e++) {
        o->first[e + 1] += o->first[e];
        o->shift[e] = o->first[e]; /* here: the next free row */
    }
    for (size_t p = 0; p < P; p++) {
        const uint32_t row = o->shift[c->ids[p]]++;
        o->order[row] = (uint32_t)p;
        o->place[p] = row;
    }
}

static size_t up_tiles(const sl_hit *h)
{
    return sl_div_up(h->n, UP_TOKENS) * sl_div_up(h->gate->rows, UP_ROWS);
}

static void find_hits(sl_mix *c)
{
    sl_own *o = &c->own;
    const sl_mixture *m = c->m;
    for (size_t e = 0; e < c->E; e++)
        if (o->first[e] < o->first[e + 1])
            o->hit[o->n_hits++] = (sl_hit){ &m->gate[e],
                                            &m->up[e],
                                            &m->down[e],
                                            &c->all.inner,
                                            (uint32_t)e,
                                            o->first[e],
                                            o->first[e + 1] - o->first[e],
                                            0,
                                            0 };
    if (m->shared_gate.data)
        o->hit[o->n_hits++] = (sl_hit){
            &m->shared_gate, &m->shared_up, &m->shared_down, &c->all.shared_inner, (uint32_t)c->E, 0, c->T, 0, 0
        };
    for (size_t i = 0; i < o->n_hits; i++) {
        o->hit[i].first_tile = o->n_tiles;
        o->n_tiles += up_tiles(&o->hit[i]);
    }
}

/* All that was picked at once, in the order of its use, then what comes behind this operation. Returns the ticket of
 * the last down matrix. */
static uint64_t ask_for_hits(sl_mix *c, const sl_graph *g)
{
    sl_own *o = &c->own;
    for (size_t i = 0; i < o->n_hits; i++) {
        sl_look_for_expert(c->lane, o->hit[i].gate);
        o->hit[i].up_ticket = sl_look_for_expert(c->lane, o->hit[i].up);
    }
    for (size_t i = 0; i < o->n_hits; i++)
        sl_look_for_expert(c->lane, o->hit[i].down);
    const uint64_t down_ticket = c->lane->look.asked;
    sl_look_ahead(g, (size_t)(c->op - g->op) + 1, c->lane);
    return down_ticket;
}

static void tell(const sl_mix *c)
{
    sl_span_experts *x = &c->lane->experts;
    *x = (sl_span_experts){ .picks = (uint32_t)(c->T * c->K), .least = UINT32_MAX };
    for (size_t i = 0; i < c->own.n_hits; i++) {
        const sl_hit *h = &c->own.hit[i];
        if (h->expert == c->E)
            break;
        x->hit++;
        if (c->lane->trace)
            sl_trace_add_picks(c->lane->trace, (size_t)c->op->layer, h->expert, h->n);
        x->least = SL_MIN(x->least, (uint32_t)h->n);
        x->most = SL_MAX(x->most, (uint32_t)h->n);
        x->bytes += h->gate->rows * (sl_tensor_row_cost(h->gate) + sl_tensor_row_cost(h->up)) +
                    h->down->rows * sl_tensor_row_cost(h->down);
    }
}

/* ---- gate and up --------------------------------------------------------------- */

/* The token of row i of a hit. */
static size_t token_of(const sl_mix *c, const sl_hit *h, size_t i)
{
    return h->expert == c->E ? i : c->own.order[h->first + i] / c->K;
}

/* Input rows of the tokens i0..i1 of a hit, *t0 the first: the input itself where they are neighbours in it, else
 * copies. */
static const sl_act *rows_of(sl_mix *c, const sl_hit *h, size_t i0, size_t i1, size_t *t0)
{
    *t0 = token_of(c, h, i0);
    if (token_of(c, h, i1 - 1) == *t0 + (i1 - 1 - i0)) /* tokens of an expert rise, each once */
        return c->x;
    for (size_t i = i0; i < i1; i++)
        sl_act_copy_row(&c->own.gathered, i - i0, c->x, token_of(c, h, i));
    *t0 = 0;
    return &c->own.gathered;
}

/* y [n][R] += rows r0..r0+R of an expert's bias; bias [E][width]. */
static void add_expert_bias(const sl_mix *c, const sl_hit *h, float *y, const float *bias, size_t width, size_t r0,
                            size_t R, size_t n)
{
    for (size_t i = 0; bias && h->expert < c->E && i < n; i++, y += R)
        c->env->k->add(y, y, bias + h->expert * width + r0, R);
}

/* y = glu(y, up), n numbers. */
static void join(const sl_mix *c, float *y, const float *up, size_t n)
{
    const sl_kernels *k = c->env->k;
    if (c->m->glu.limit > 0.0f) {
        k->clamped_glu(y, y, up, n, c->m->glu.limit, c->m->glu.alpha);
        return;
    }
    k->silu(y, y, n);
    k->mul(y, y, up, n);
}

/* Rows r0..r1 of gate and up for n tokens, to columns r0..r1 of rows at.. of inner. `next` as for sl_linear. */
static void up_tile(sl_mix *c, const sl_hit *h, const sl_act *x, size_t t0, size_t n, size_t at, size_t r0, size_t r1,
                    const void *next)
{
    const sl_kernels *k = c->env->k;
    const size_t R = r1 - r0;
    float *y = c->own.y, *up = y + n * R;
    const sl_tensor wg = sl_lane_weights(c->lane, h->gate), wu = sl_lane_weights(c->lane, h->up);
    const void *beside = sl_lane_row(c->lane, h->up, r0);
    sl_linear(k, c->env->act, y, R, &wg, r0, r1, beside, x, t0, t0 + n, c->own.product);
    sl_linear(k, c->env->act, up, R, &wu, r0, r1, next, x, t0, t0 + n, c->own.product);
    add_expert_bias(c, h, y, c->m->gate_bias, c->m->F, r0, R, n);
    add_expert_bias(c, h, up, c->m->up_bias, c->m->F, r0, R, n);
    join(c, y, up, n * R);
    for (size_t i = 0; i < n; i++, y += R) {
        if (h->inner->f32)
            memcpy((float *)h->inner->f32 + (at + i) * h->inner->ldf + r0, y, R * sizeof *y);
        if (h->inner->q8 && !h->inner->token) {
            const sl_act part = sl_act_part(h->inner, at + i, r0, r1, y);
            k->quantize(&part, 0, 1);
        }
    }
    c->lane->read_bytes += R * (sl_tensor_row_cost(h->gate) + sl_tensor_row_cost(h->up));
    c->lane->ops += 4 * R * c->D * n;
}

/* Tiles i..end of all; neighbours of the same tokens are computed together. */
static void up_run(sl_mix *c, size_t i, size_t end)
{
    const sl_own *o = &c->own;
    size_t hit = 0, t0 = 0;
    for (size_t step; i < end; i += step) {
        while (hit + 1 < o->n_hits && o->hit[hit + 1].first_tile <= i)
            hit++;
        const sl_hit *h = &o->hit[hit];
        if (c->lane->look.ahead)
            sl_look_wait(c->lane, h->up_ticket, c->op->layer);
        const size_t n_rows = sl_div_up(h->gate->rows, UP_ROWS), of_hit = i - h->first_tile;
        const size_t row = of_hit % n_rows, i0 = of_hit / n_rows * UP_TOKENS, i1 = SL_MIN(i0 + UP_TOKENS, h->n);
        step = SL_MIN(n_rows - row, end - i);
        const bool other = i + step < end && hit + 1 < o->n_hits && o->hit[hit + 1].first_tile == i + step;
        const void *next = other ? sl_lane_row(c->lane, o->hit[hit + 1].gate, 0) : NULL;
        const sl_act *x = rows_of(c, h, i0, i1, &t0);
        const size_t last = SL_MIN((row + step) * UP_ROWS, h->gate->rows);
        for (size_t r0 = row * UP_ROWS, r1 = r0; r0 < last; r0 = r1) {
            r1 = SL_MIN(r0 + ROWS_MAX, last);
            up_tile(c, h, x, t0, i1 - i0, h->first + i0, r0, r1, r1 < last ? sl_lane_row(c->lane, h->gate, r1) : next);
        }
    }
}

/* ---- down ---------------------------------------------------------------------- */

/* The first row of a hit, from `from` on, whose token is t or a later one. */
static size_t row_from_token(const sl_mix *c, const sl_hit *h, size_t from, size_t t)
{
    size_t end = h->n;
    if (t >= c->T)
        return end;
    while (from < end) {
        const size_t middle = from + (end - from) / 2;
        if (token_of(c, h, middle) < t)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

/* Rows r0..r1 of down for the picks of tokens t0..t1, to y; own.shift says where. Returns the rows of y before the
 * shared expert's. */
static size_t down_products(sl_mix *c, float *y, size_t r0, size_t r1, size_t t0, size_t t1)
{
    const size_t R = r1 - r0;
    size_t at = 0;
    for (size_t i = 0; i < c->own.n_hits; i++) {
        const sl_hit *h = &c->own.hit[i];
        const size_t from = row_from_token(c, h, 0, t0), n = row_from_token(c, h, from, t1) - from;
        const size_t first = h->first + from;
        if (!n)
            continue;
        const sl_tensor down = sl_lane_weights(c->lane, h->down);
        const void *next = i + 1 < c->own.n_hits ? sl_lane_row(c->lane, c->own.hit[i + 1].down, r0) : NULL;
        sl_linear(c->env->k, c->env->act, y + at * R, R, &down, r0, r1, next, h->inner, first, first + n,
                  c->own.product);
        add_expert_bias(c, h, y + at * R, c->m->down_bias, c->D, r0, R, n);
        c->lane->read_bytes += R * sl_tensor_row_cost(h->down);
        c->lane->ops += 2 * R * h->down->cols * n;
        if (h->expert == c->E)
            break;
        c->own.shift[h->expert] = (uint32_t)(first - at); /* may wrap, and wraps back */
        at += n;
    }
    return at;
}

static void down_tile(sl_mix *c, size_t r0, size_t r1, size_t t0, size_t t1)
{
    const sl_kernels *k = c->env->k;
    const size_t R = r1 - r0;
    float *y = c->own.y;
    const float *shared = y + down_products(c, y, r0, r1, t0, t1) * R;
    for (size_t t = t0; t < t1; t++, shared += R) {
        float *out = c->lane->value[c->op->out[0]] + t * c->D + r0;
        for (size_t s = 0; s < c->K; s++) {
            const size_t pick = t * c->K + s;
            const float *from = y + (size_t)(uint32_t)(c->own.place[pick] - c->own.shift[c->ids[pick]]) * R;
            if (s)
                k->add_scaled(out, from, c->weights[pick], R);
            else
                k->scale(out, from, c->weights[pick], R);
        }
        if (c->m->shared_mix.data)
            k->add_scaled(out, shared, c->all.mix[t], R);
        else if (c->m->shared_gate.data)
            k->add(out, out, shared, R);
        k->add(out, out, c->lane->value[c->op->in[1]] + t * c->D + r0, R);
    }
    c->lane->written_bytes += (t1 - t0) * R * sizeof *y;
}

static void down_run(sl_mix *c, size_t i, size_t end, size_t tokens)
{
    const size_t together = down_rows(c->m, c->T) / DOWN_ROWS, n_rows = sl_div_up(c->D, DOWN_ROWS);
    for (size_t step; i < end; i += step) {
        const size_t row = i % n_rows, r0 = row * DOWN_ROWS, t0 = i / n_rows * tokens;
        step = SL_MIN(SL_MIN(together, end - i), n_rows - row);
        down_tile(c, r0, SL_MIN(r0 + step * DOWN_ROWS, c->D), t0, SL_MIN(t0 + tokens, c->T));
    }
}

/* ---- inputs with scales of more columns than a tile has ------------------------- */

/* Rows of inner whose scales could not be known before all tiles of gate and up were there. */
static void round_rows(sl_mix *c)
{
    const size_t P = c->T * c->K, n = P + (c->m->shared_gate.data ? c->T : 0);
    for (size_t i; (i = sl_tiles_take(&c->lane->tiles[3])) < n;) {
        const sl_act *inner = i < P ? &c->all.inner : &c->all.shared_inner;
        const size_t row = i < P ? i : i - P;
        sl_act_fill(c->env->k, inner, row, row + 1);
    }
    sl_lane_barrier(c->lane, c->op);
}

/* ---- all of it ------------------------------------------------------------------ */

static void run(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_mixture *m = op->mixture;
    sl_mix c = { .op = op, .m = m, .env = lane->env, .lane = lane };
    c.T = lane->step->n;
    c.D = m->route.cols;
    c.K = m->router.K;
    c.E = m->router.E;
    cut_shared(&c.all, lane->shared, op, c.T, needs_of(m->in_formats, lane->env, c.T),
               needs_of(m->down_formats, lane->env, c.T));
    cut_own(&c.own, lane->scratch, op, lane->env);
    if (c.T > SL_NARROW_ROWS)
        route_wide(&c);
    else
        route_narrow(&c);
    sort_picks(&c);
    find_hits(&c);
    if (lane->thread == 0)
        tell(&c);
    const uint64_t down_ticket = lane->look.ahead ? ask_for_hits(&c, g) : 0;
    size_t i = 0, end = 0;
    sl_runs runs = { 0 };
    while (sl_tiles_take_run(&lane->tiles[1], &runs, c.own.n_tiles, lane->n_threads, &i, &end))
        up_run(&c, i, end);
    sl_lane_barrier(lane, op);
    if (lane->look.ahead)
        sl_look_wait(lane, down_ticket, op->layer);
    if (sl_act_by_rows(&c.all.inner))
        round_rows(&c);
    const size_t tokens = down_tokens(m, c.T), n_blocks = sl_div_up(c.T, tokens);
    runs = (sl_runs){ 0 };
    while (sl_tiles_take_run(&lane->tiles[2], &runs, sl_div_up(c.D, DOWN_ROWS) * n_blocks, lane->n_threads, &i, &end))
        down_run(&c, i, end, tokens);
}

const sl_op_impl sl_mixture_impl = { run, shared_bytes, scratch_bytes };
