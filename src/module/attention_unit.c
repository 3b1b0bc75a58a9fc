/* attention_unit.c - attention of a block of queries with one KV head over one stretch of positions. */
#include "module/attention_in.h"

#include <math.h>
#include <string.h>
#include "base/num.h"

sl_query sl_attn_query_of(const sl_op *op, const sl_query_block *block, size_t head)
{
    const size_t G = op->heads.H / op->heads.Hkv;
    return (sl_query){ block, &op->heads, (size_t)op->layer, head, G, block->n * G };
}

size_t sl_attn_unit(const sl_env *env)
{
    return env->attn == SL_ATTN_PLAIN ? sl_round_up(env->limits.n_ctx, SL_ATTN_CHUNK) : SL_ATTN_CHUNK;
}

size_t sl_attn_cut_query(sl_attn_query *q, unsigned char *base, size_t R, size_t C)
{
    size_t at = 0;
    *q = (sl_attn_query){ .ldx = C, .ldq = sl_round_up(C, SL_HEAD_PAD) };
    q->x = base ? (float *)(void *)base : NULL;
    at += sl_round_up(R * C * sizeof(float), SL_MEM_ALIGN);
    q->q = base ? (int8_t *)(base + at) : NULL;
    at += sl_round_up(R * q->ldq, SL_MEM_ALIGN);
    q->d = base ? (float *)(void *)(base + at) : NULL;
    return at + sl_round_up(R * sizeof(float), SL_MEM_ALIGN);
}

/* The rows from r on. */
static sl_attn_query query_rows(const sl_attn_query *q, size_t r)
{
    return (sl_attn_query){ q->x + r * q->ldx, q->ldx, q->q + r * q->ldq, q->ldq, q->d + r };
}

void sl_attn_quantize_queries(const sl_kernels *k, const sl_attn_query *q, size_t R, size_t C)
{
    for (size_t r = 0; r < R; r++)
        q->d[r] = k->quantize_head(q->q + r * q->ldq, q->x + r * q->ldx, C);
}

size_t sl_attn_cut_scratch(sl_attn_scratch *p, unsigned char *base, const sl_env *env, const sl_heads *h)
{
    const size_t R = sl_attn_block_tokens(h) * (h->H / h->Hkv);
    size_t at = sl_attn_cut_query(&p->q, base, R, h->C);
    p->lds = sl_attn_unit(env) + 16; /* rows a power of two apart would share cache sets */
#define CUT(field, type, count)                                                                                        \
    do {                                                                                                               \
        p->field = base ? (type *)(void *)(base + at) : NULL;                                                          \
        at += sl_round_up((count) * sizeof(type), SL_MEM_ALIGN);                                                       \
    } while (0)
    CUT(chunk, float, R * h->C);
    CUT(acc, float, R * h->C);
    CUT(s, float, R * p->lds);
    CUT(m, float, R);
    CUT(l, float, R);
    CUT(m2, float, R);
    CUT(l2, float, R);
    CUT(seen, uint32_t, R);
    CUT(n, uint32_t, R);
#undef CUT
    return at;
}

size_t sl_attn_first_seen(const sl_env *env, const sl_heads *h, size_t pos)
{
    const size_t window = h->window && (!env->window || h->window < env->window) ? h->window : env->window;
    return window && pos + 1 > window ? pos + 1 - window : 0;
}

void sl_attn_load_queries(const sl_query *q, sl_lane *lane, const float *value, const sl_attn_query *dst)
{
    const sl_heads *h = q->heads;
    for (size_t t = 0; t < q->block->n; t++)
        lane->env->k->scale(dst->x + t * q->G * h->C, value + ((q->block->t0 + t) * h->H + q->head * q->G) * h->C,
                            h->scale, q->G * h->C);
    if (sl_kv_get_shape(lane->kv)->type == SL_KV_INT8)
        sl_attn_quantize_queries(lane->env->k, dst, q->R, h->C);
}

/* Which rows see a part of positions j0 .. j0+len: a range [*r0, *r1), since later queries
 * see later positions; s->seen for them. */
static void visible_rows(const sl_query *q, const sl_env *env, size_t j0, size_t len, sl_attn_scratch *s, size_t *r0,
                         size_t *r1)
{
    *r0 = *r1 = 0;
    bool any = false;
    for (size_t t = 0; t < q->block->n; t++) {
        const size_t pos = q->block->pos0 + t, end = SL_MIN(pos + 1, j0 + len);
        if (end <= j0 || sl_attn_first_seen(env, q->heads, pos) >= end)
            continue;
        if (!any)
            *r0 = t * q->G;
        any = true;
        *r1 = (t + 1) * q->G;
        for (size_t g = 0; g < q->G; g++)
            s->seen[t * q->G + g] = (uint32_t)(end - j0);
    }
}

/* ---- pages, in the order of reading ------------------------------------------------ */

/* The keys or values of the page that holds position `pos`. */
static sl_kv_head head_at(const sl_query *q, const sl_lane *lane, size_t pos, bool keys)
{
    const uint32_t page = sl_step_page(lane->step, q->block->seq, pos, sl_kv_get_shape(lane->kv)->P);
    return (keys ? sl_kv_k : sl_kv_v)(lane->kv, page, q->layer, q->head);
}

/* Memory takes so long to answer that so many bytes are to be on their way: one page of most models, or several. */
#define BYTES_AHEAD 16384

static size_t pages_of(const sl_stretch *s, const sl_kv_shape *shape)
{
    return (s->end - 1) / shape->P + 1 - s->pos / shape->P;
}

/* About what is read of a page of keys or values, int8's scales apart; all but the last are full. */
static size_t bytes_of_page(const sl_stretch *s, const sl_kv_shape *shape)
{
    const size_t most = s->end - s->pos / shape->P * shape->P;
    return sl_kv_token_bytes(shape->type, shape->C) * SL_MIN(sl_round_up(most, SL_KV_BLOCK), shape->P);
}

/* Not beyond the keys and values of the stretch behind this one: more is not known. */
static size_t pages_ahead(const sl_stretch *now, const sl_kv_shape *shape)
{
    return SL_MIN(sl_div_up(BYTES_AHEAD, bytes_of_page(now, shape)), 2 * pages_of(now, shape));
}

/* Page i of what is read from now on: keys of a stretch, its values, then keys of another one. NULL: beyond, unknown.
 */
static const void *page_of_turn(const sl_lane *lane, const sl_stretch *now, const sl_stretch *after, size_t i)
{
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    const size_t P = shape->P, n = pages_of(now, shape);
    if (i < 2 * n)
        return head_at(&now->q, lane, (now->pos / P + i % n) * P, i < n).data;
    return after ? page_of_turn(lane, after, NULL, i - 2 * n) : NULL;
}

void sl_attn_fetch(const sl_lane *lane, const sl_stretch *first)
{
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    const size_t n = lane->env->fetch ? pages_ahead(first, shape) : 0, bytes = bytes_of_page(first, shape);
    for (size_t i = 0; i < n; i++)
        sl_cpu_prefetch_bytes(page_of_turn(lane, first, NULL, i), bytes);
}

/* A part of one page. */
typedef struct sl_span_of_page {
    size_t at, n;  /* slots at .. at+n of the page */
    size_t offset; /* of the first, from the unit's start */
    sl_kv_head head;
} sl_span_of_page;

/* The part of a page that begins at `pos`, of the unit that begins at j0. *ahead counts the pages that are asked for:
 * of `now`, then of `after`. */
static sl_span_of_page page_span(const sl_lane *lane, const sl_stretch *now, const sl_stretch *after, size_t j0,
                                 size_t pos, bool keys, size_t *ahead)
{
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    sl_span_of_page span = { pos % shape->P, SL_MIN(shape->P - pos % shape->P, now->end - pos), pos - j0,
                             head_at(&now->q, lane, pos, keys) };
    span.head.next = page_of_turn(lane, now, after, (*ahead)++);
    return span;
}

/* ---- one unit ------------------------------------------------------------------------ */

/* Add a page's weighted values to s->chunk. Where the window of some query begins inside the page, each
 * query goes alone from there on: what it does not see is not multiplied, not even by zero. */
static void mix_page(const sl_query *q, const sl_lane *lane, size_t j0, const sl_span_of_page *span, sl_attn_scratch *s,
                     size_t r0, size_t r1)
{
    const sl_env *env = lane->env;
    const size_t C = q->heads->C, o = span->offset;
    sl_attn_mix_fn *mix = env->k->attn_mix[sl_kv_get_shape(lane->kv)->type];
    for (size_t r = r0; r < r1; r++)
        s->n[r] = s->seen[r] > o ? (uint32_t)SL_MIN(s->seen[r] - o, span->n) : 0;
    if (sl_attn_first_seen(env, q->heads, q->block->pos0 + (r1 - 1) / q->G) <= j0 + o) {
        mix(s->chunk + r0 * C, s->s + r0 * s->lds + o, s->lds, s->n + r0, r1 - r0, &span->head, span->at);
        return;
    }
    for (size_t r = r0; r < r1; r += q->G) {
        const size_t first = sl_attn_first_seen(env, q->heads, q->block->pos0 + r / q->G);
        const uint32_t skip = first > j0 + o ? (uint32_t)SL_MIN(first - j0 - o, (size_t)s->n[r]) : 0;
        for (size_t g = 0; g < q->G; g++)
            s->n[r + g] -= skip;
        mix(s->chunk + r * C, s->s + r * s->lds + o + skip, s->lds, s->n + r, q->G, &span->head, span->at + skip);
    }
}

void sl_attn_compute_unit(const sl_query *q, sl_lane *lane, size_t j0, size_t len, const sl_stretch *after,
                          sl_attn_scratch *s, size_t *r0, size_t *r1)
{
    const sl_env *env = lane->env;
    const size_t C = q->heads->C;
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    sl_attn_scores_fn *scores = env->k->attn_scores[shape->layout][shape->type];
    visible_rows(q, env, j0, len, s, r0, r1);
    if (*r0 == *r1)
        return;
    /* Pages before the first position that any row sees are skipped whole. */
    const size_t R = *r1 - *r0, low = sl_attn_first_seen(env, q->heads, q->block->pos0 + *r0 / q->G);
    const sl_stretch now = { *q, SL_MAX(low / shape->P * shape->P, j0), j0 + s->seen[*r1 - 1] };
    const sl_attn_query rows = query_rows(&s->q, *r0);
    size_t ahead = pages_ahead(&now, shape);

    for (size_t pos = now.pos; pos < now.end;) {
        const sl_span_of_page span = page_span(lane, &now, after, j0, pos, true, &ahead);
        scores(s->s + *r0 * s->lds + span.offset, s->lds, &rows, R, &span.head, span.at, span.n);
        pos += span.n;
    }
    for (size_t r = *r0; r < *r1; r++) {
        const size_t first = sl_attn_first_seen(env, q->heads, q->block->pos0 + r / q->G);
        float *row = s->s + r * s->lds;
        for (size_t j = 0; j0 + j < first; j++)
            row[j] = -INFINITY;
        env->k->attn_softmax(row, s->seen[r], &s->m2[r], &s->l2[r]);
    }
    memset(s->chunk + *r0 * C, 0, R * C * sizeof(float));
    for (size_t pos = now.pos; pos < now.end;) {
        const sl_span_of_page span = page_span(lane, &now, after, j0, pos, false, &ahead);
        mix_page(q, lane, j0, &span, s, *r0, *r1);
        pos += span.n;
    }
    lane->ops += 4 * R * (now.end - now.pos) * C;
    lane->read_bytes += (now.end - now.pos) * (shape->latent ? 1 : 2) * sl_kv_token_bytes(shape->type, C);
}
