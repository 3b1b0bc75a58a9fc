#include "module/attention.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "base/num.h"

#define BLOCK_ROWS                                                                                                     \
    48 /* query rows of a block: a multiple of 6 for the kernels; scores of a chunk, 48 KiB, stay in L2 */
/* A step with fewer (token, KV head) pairs than this for each thread is split by chunks. */
#define SPLIT_BELOW 3

/* ---- building ---------------------------------------------------------------- */

static size_t chunks(size_t n_positions)
{
    return sl_div_up(n_positions, SL_ATTN_CHUNK);
}

/* A partial result: maximum, sum, then C weighted values. */
static size_t partial_width(const sl_heads *h)
{
    return h->C + 2;
}

/* Query rows of a split step at most. */
static size_t split_rows(const sl_limits *l, const sl_heads *h)
{
    return SL_MIN(SPLIT_BELOW * l->n_threads / h->Hkv, l->n_tokens) * h->H;
}

size_t sl_attn_partials(const sl_limits *l, const sl_heads *h)
{
    return split_rows(l, h) * chunks(l->n_ctx) * partial_width(h);
}

sl_value sl_attention(sl_graph *g, int layer, sl_value x, sl_value cs, const sl_attention_weights *w)
{
    const sl_heads *h = &w->heads;
    const sl_value q = sl_graph_value(g, "q", SL_ROWS_TOKENS, h->H * h->C);
    const sl_value kv = sl_graph_value(g, "kv", SL_ROWS_ONE, 0);
    const sl_value a = sl_graph_value(g, "attention", SL_ROWS_TOKENS, h->H * h->C);
    const sl_value partials = sl_graph_value(g, "partials", SL_ROWS_ONE, sl_attn_partials(&g->limits, h));
    const sl_value out = sl_graph_value(g, "attn_out", SL_ROWS_TOKENS, w->o.w.rows);
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_LINEAR,
                                 .name = "attn_qkv",
                                 .layer = layer,
                                 .group = SL_FUSE_ATTN,
                                 .n_in = 2,
                                 .n_out = 2,
                                 .n_w = 3,
                                 .in = { x, cs },
                                 .out = { q, kv },
                                 .w = { w->q.w, w->k.w, w->v.w },
                                 .bias = { w->q.bias, w->k.bias, w->v.bias },
                                 .pre = SL_PRE_NORM,
                                 .norm = w->norm,
                                 .epi = SL_EPI_QKV,
                                 .heads = *h });
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_ATTENTION,
                                 .name = "attention",
                                 .layer = layer,
                                 .group = SL_FUSE_ATTN,
                                 .n_in = 2,
                                 .n_out = 2,
                                 .in = { q, kv },
                                 .out = { a, partials },
                                 .heads = *h });
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_LINEAR,
                                 .name = "attn_out",
                                 .layer = layer,
                                 .group = SL_FUSE_ATTN,
                                 .n_in = 3,
                                 .n_out = 1,
                                 .n_w = 1,
                                 .in = { a, x, partials },
                                 .out = { out },
                                 .w = { w->o.w },
                                 .bias = { w->o.bias },
                                 .pre = SL_PRE_MERGE,
                                 .epi = SL_EPI_ADD,
                                 .heads = *h });
    return out;
}

size_t sl_attn_block_tokens(const sl_heads *h)
{
    return SL_MAX(BLOCK_ROWS / (h->H / h->Hkv), 1);
}

bool sl_attn_is_split(const sl_env *env, const sl_heads *h, const sl_step *step)
{
    return env->attn == SL_ATTN_FLASH && env->limits.n_threads > 1 &&
           step->n * h->Hkv < SPLIT_BELOW * env->limits.n_threads;
}

float sl_attn_closing(const sl_heads *h, size_t head, float m, float l)
{
    if (!h->sinks)
        return 1.0f / l;
    const float sink = h->sinks[head], top = fmaxf(m, sink), keep = expf(m - top);
    return keep / (l * keep + expf(sink - top));
}

/* ---- one chunk for one block of queries -------------------------------------- */

/* Scratch of one thread: R = rows of a block, L = positions computed at once. */
typedef struct sl_attn_scratch {
    sl_attn_query q;
    float *chunk, *acc; /* [R][C] */
    float *s;           /* [R][lds] */
    size_t lds;
    float *m, *l, *m2, *l2; /* [R] running and of the chunk */
    uint32_t *seen;         /* [R] positions of the chunk that a row sees */
    uint32_t *n;            /* [R] positions of the page */
} sl_attn_scratch;

/* Positions that are computed as one unit: plain attention keeps a score row in full. */
static size_t unit(const sl_env *env)
{
    return env->attn == SL_ATTN_PLAIN ? sl_round_up(env->limits.n_ctx, SL_ATTN_CHUNK) : SL_ATTN_CHUNK;
}

/* Query rows in every form that a type of keys may want. */
static size_t cut_query(sl_attn_query *q, unsigned char *base, size_t R, size_t C)
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

/* The form for int8 keys, of R rows of x. */
static void quantize_queries(const sl_kernels *k, const sl_attn_query *q, size_t R, size_t C)
{
    for (size_t r = 0; r < R; r++)
        q->d[r] = k->quantize_head(q->q + r * q->ldq, q->x + r * q->ldx, C);
}

static size_t cut_scratch(sl_attn_scratch *p, unsigned char *base, const sl_env *env, const sl_heads *h)
{
    const size_t R = sl_attn_block_tokens(h) * (h->H / h->Hkv);
    size_t at = cut_query(&p->q, base, R, h->C);
    p->lds = unit(env) + 16; /* rows a power of two apart would share cache sets */
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

typedef struct sl_query {
    const sl_query_block *block;
    const sl_heads *heads;
    size_t layer, head; /* KV head */
    size_t G, R;        /* query heads on it; rows = tokens * G, row = token * G + head */
} sl_query;

size_t sl_attn_first_seen(const sl_env *env, const sl_heads *h, size_t pos)
{
    const size_t window = h->window && (!env->window || h->window < env->window) ? h->window : env->window;
    return window && pos + 1 > window ? pos + 1 - window : 0;
}

static void load_queries(const sl_query *q, sl_lane *lane, const float *value, const sl_attn_query *dst)
{
    const sl_heads *h = q->heads;
    for (size_t t = 0; t < q->block->n; t++)
        lane->env->k->scale(dst->x + t * q->G * h->C, value + ((q->block->t0 + t) * h->H + q->head * q->G) * h->C,
                            h->scale, q->G * h->C);
    if (sl_kv_get_shape(lane->kv)->type == SL_KV_INT8)
        quantize_queries(lane->env->k, dst, q->R, h->C);
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

/* A part of one page. */
typedef struct sl_span_of_page {
    size_t at, n;  /* slots at .. at+n of the page */
    size_t offset; /* of the first, from the unit's start */
    sl_kv_head head;
} sl_span_of_page;

/* The keys or values of the page that holds position `pos`. */
static sl_kv_head head_at(const sl_query *q, const sl_lane *lane, size_t pos, bool keys)
{
    const uint32_t page = sl_step_page(lane->step, q->block->seq, pos, sl_kv_get_shape(lane->kv)->P);
    return (keys ? sl_kv_k : sl_kv_v)(lane->kv, page, q->layer, q->head);
}

/* The part of the sequence's pages that starts `offset` positions into the unit at j0 and ends before `end`. `after`
 * is read when this is the last one. */
static sl_span_of_page page_span(const sl_query *q, const sl_lane *lane, size_t j0, size_t offset, size_t end,
                                 bool keys, const void *after)
{
    const size_t P = sl_kv_get_shape(lane->kv)->P, pos = j0 + offset, n = SL_MIN(P - pos % P, end - offset);
    sl_span_of_page span = { pos % P, n, offset, head_at(q, lane, pos, keys) };
    span.head.next = offset + n < end ? head_at(q, lane, pos + n, keys).data : after;
    return span;
}

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

/* Scores, softmax and weighted values of positions j0 .. j0+len for the rows that see some:
 * s->chunk, s->m2, s->l2. `after`: what will be read then, or NULL. */
static void compute_unit(const sl_query *q, sl_lane *lane, size_t j0, size_t len, const void *after, sl_attn_scratch *s,
                         size_t *r0, size_t *r1)
{
    const sl_env *env = lane->env;
    const size_t C = q->heads->C;
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    sl_attn_scores_fn *scores = env->k->attn_scores[shape->layout][shape->type];
    visible_rows(q, env, j0, len, s, r0, r1);
    if (*r0 == *r1)
        return;
    /* Pages before the first position that any row sees are skipped whole. */
    const size_t R = *r1 - *r0, end = s->seen[*r1 - 1],
                 low = sl_attn_first_seen(env, q->heads, q->block->pos0 + *r0 / q->G);
    const size_t page = low / shape->P * shape->P, begin = page > j0 ? page - j0 : 0;
    const sl_attn_query rows = query_rows(&s->q, *r0);
    const void *values = head_at(q, lane, j0 + begin, false).data;

    for (size_t o = begin; o < end;) {
        const sl_span_of_page span = page_span(q, lane, j0, o, end, true, values);
        scores(s->s + *r0 * s->lds + o, s->lds, &rows, R, &span.head, span.at, span.n);
        o += span.n;
    }
    for (size_t r = *r0; r < *r1; r++) {
        const size_t first = sl_attn_first_seen(env, q->heads, q->block->pos0 + r / q->G);
        float *row = s->s + r * s->lds;
        for (size_t j = 0; j0 + j < first; j++)
            row[j] = -INFINITY;
        env->k->attn_softmax(row, s->seen[r], &s->m2[r], &s->l2[r]);
    }
    memset(s->chunk + *r0 * C, 0, R * C * sizeof(float));
    for (size_t o = begin; o < end;) {
        const sl_span_of_page span = page_span(q, lane, j0, o, end, false, after);
        mix_page(q, lane, j0, &span, s, *r0, *r1);
        o += span.n;
    }
    lane->ops += 4 * R * (end - begin) * C;
    lane->read_bytes += (end - begin) * (shape->latent ? 1 : 2) * sl_kv_token_bytes(shape->type, C);
}

/* ---- whole blocks, and blocks split by chunks -------------------------------- */

static void run_block(const sl_query *q, sl_lane *lane, const float *queries, float *out, sl_attn_scratch *s)
{
    const sl_kernels *k = lane->env->k;
    const size_t C = q->heads->C, step = unit(lane->env);
    const size_t end = q->block->pos0 + q->block->n,
                 begin = sl_attn_first_seen(lane->env, q->heads, q->block->pos0) / step * step;
    load_queries(q, lane, queries, &s->q);
    for (size_t r = 0; r < q->R; r++) {
        s->m[r] = -INFINITY;
        s->l[r] = 0.0f;
    }
    memset(s->acc, 0, q->R * C * sizeof(float));
    for (size_t j0 = begin; j0 < end; j0 += step) {
        size_t r0 = 0, r1 = 0;
        const void *after = j0 + step < end ? head_at(q, lane, j0 + step, true).data : NULL;
        compute_unit(q, lane, j0, SL_MIN(step, end - j0), after, s, &r0, &r1);
        for (size_t r = r0; r < r1; r++)
            k->attn_fold(&s->m[r], &s->l[r], s->acc + r * C, s->m2[r], s->l2[r], s->chunk + r * C, C);
    }
    for (size_t r = 0; r < q->R; r++) {
        const size_t t = q->block->t0 + r / q->G, head = q->head * q->G + r % q->G;
        k->scale(out + (t * q->heads->H + head) * C, s->acc + r * C, sl_attn_closing(q->heads, head, s->m[r], s->l[r]),
                 C);
    }
    lane->written_bytes += q->R * C * sizeof(float);
}

/* Chunks that some query of a block sees. */
static size_t chunks_seen(const sl_env *env, const sl_heads *h, const sl_query_block *b)
{
    return chunks(b->pos0 + b->n) - sl_attn_first_seen(env, h, b->pos0) / SL_ATTN_CHUNK;
}

static float *partial_at(const sl_env *env, const sl_heads *h, float *partials, size_t t, size_t head, size_t chunk)
{
    return partials + ((t * h->H + head) * chunks(env->limits.n_ctx) + chunk) * partial_width(h);
}

/* The queries are loaded. more: the next chunk is this thread's, too. */
static void run_chunk(const sl_query *q, sl_lane *lane, float *partials, size_t chunk, bool more, sl_attn_scratch *s)
{
    const size_t C = q->heads->C;
    size_t r0 = 0, r1 = 0;
    const void *after = more ? head_at(q, lane, (chunk + 1) * SL_ATTN_CHUNK, true).data : NULL;
    compute_unit(q, lane, chunk * SL_ATTN_CHUNK, SL_ATTN_CHUNK, after, s, &r0, &r1);
    for (size_t r = r0; r < r1; r++) {
        float *p = partial_at(lane->env, q->heads, partials, q->block->t0 + r / q->G, q->head * q->G + r % q->G, chunk);
        p[0] = s->m2[r];
        p[1] = s->l2[r];
        memcpy(p + 2, s->chunk + r * C, C * sizeof(float));
    }
    lane->written_bytes += (r1 - r0) * partial_width(q->heads) * sizeof(float);
}

void sl_attn_merge(const sl_env *env, const sl_heads *heads, const sl_step *step, const float *partials, size_t t,
                   size_t h, float *out)
{
    const size_t pos = step->pos[t], first = sl_attn_first_seen(env, heads, pos) / SL_ATTN_CHUNK;
    float m = -INFINITY, l = 0.0f;
    memset(out, 0, heads->C * sizeof(float));
    for (size_t c = first; c <= pos / SL_ATTN_CHUNK; c++) {
        const float *p = partial_at(env, heads, (float *)partials, t, h, c);
        env->k->attn_fold(&m, &l, out, p[0], p[1], p + 2, heads->C);
    }
    env->k->scale(out, out, sl_attn_closing(heads, h, m, l), heads->C);
}

static sl_query query_of(const sl_op *op, const sl_query_block *block, size_t head)
{
    const size_t G = op->heads.H / op->heads.Hkv;
    return (sl_query){ block, &op->heads, (size_t)op->layer, head, G, block->n * G };
}

static void run_whole(const sl_op *op, sl_lane *lane, sl_attn_scratch *s)
{
    const size_t Hkv = op->heads.Hkv;
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < lane->step->n_blocks * Hkv;) {
        const sl_query q = query_of(op, &lane->step->block[i / Hkv], i % Hkv);
        run_block(&q, lane, lane->value[op->in[0]], lane->value[op->out[0]], s);
    }
}

/* A run of tiles is consecutive chunks of a head, as far as they go: a stream in memory. */
static void run_split(const sl_op *op, sl_lane *lane, sl_attn_scratch *s)
{
    const sl_heads *h = &op->heads;
    const sl_query_block *block = lane->step->block, *loaded = NULL;
    size_t n = 0;
    for (size_t b = 0; b < lane->step->n_blocks; b++)
        n += chunks_seen(lane->env, h, &block[b]) * h->Hkv;
    sl_runs runs = { 0 };
    size_t i = 0, end = 0, base = 0, head = 0; /* base: tiles before *block */
    while (sl_tiles_take_run(&lane->tiles[0], &runs, n, lane->n_threads, &i, &end))
        for (; i < end; i++) {
            size_t per_head = chunks_seen(lane->env, h, block);
            for (; i - base >= per_head * h->Hkv; per_head = chunks_seen(lane->env, h, block)) {
                base += per_head * h->Hkv;
                block++;
            }
            const size_t at = (i - base) % per_head,
                         first = sl_attn_first_seen(lane->env, h, block->pos0) / SL_ATTN_CHUNK;
            const sl_query q = query_of(op, block, (i - base) / per_head);
            if (block != loaded || q.head != head)
                load_queries(&q, lane, lane->value[op->in[0]], &s->q);
            loaded = block;
            head = q.head;
            run_chunk(&q, lane, lane->value[op->out[1]], first + at, i + 1 < end && at + 1 < per_head, s);
        }
}

static void run(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    sl_attn_scratch s = { 0 };
    cut_scratch(&s, lane->scratch, lane->env, &op->heads);
    (sl_attn_is_split(lane->env, &op->heads, lane->step) ? run_split : run_whole)(op, lane, &s);
}

static size_t scratch_bytes(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    sl_attn_scratch s = { 0 };
    return cut_scratch(&s, NULL, env, &op->heads);
}

size_t sl_attn_workspace(const sl_env *env, const sl_heads *h)
{
    sl_attn_scratch s = { 0 };
    const size_t partials = env->attn == SL_ATTN_FLASH ? sl_attn_partials(&env->limits, h) : 0;
    return cut_scratch(&s, NULL, env, h) * env->limits.n_threads + partials * sizeof(float);
}

const sl_op_impl sl_attention_impl = { run, NULL, scratch_bytes };

/* ---- the expansion: three operations, score rows in the workspace ------------ */

static void run_scores(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_heads *h = &op->heads;
    const sl_kernels *k = lane->env->k;
    const sl_step *step = lane->step;
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    const size_t G = h->H / h->Hkv, ctx = lane->env->limits.n_ctx;
    sl_attn_query q = { 0 };
    cut_query(&q, lane->scratch, G, h->C);
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < step->n * h->Hkv;) {
        const size_t t = i / h->Hkv, head = i % h->Hkv, n = step->pos[t] + 1;
        memcpy(q.x, lane->value[op->in[0]] + (t * h->H + head * G) * h->C, G * h->C * sizeof(float));
        if (shape->type == SL_KV_INT8)
            quantize_queries(k, &q, G, h->C);
        float *s = lane->value[op->out[0]] + (t * h->H + head * G) * ctx;
        const size_t first = sl_attn_first_seen(lane->env, h, n - 1) / shape->P * shape->P;
        for (size_t j = first; j < n; j += shape->P) {
            const sl_kv_head kh =
                sl_kv_k(lane->kv, sl_step_page(step, step->seq[t], j, shape->P), (size_t)op->layer, head);
            k->attn_scores[shape->layout][shape->type](s + j, ctx, &q, G, &kh, 0, SL_MIN(shape->P, n - j));
        }
        for (size_t r = 0; r < G; r++)
            k->scale(s + r * ctx + first, s + r * ctx + first, h->scale, n - first);
        lane->written_bytes += G * (n - first) * sizeof(float);
        lane->read_bytes += (n - first) * sl_kv_token_bytes(shape->type, h->C);
        lane->ops += 2 * G * (n - first) * h->C;
    }
}

static void run_softmax(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const size_t ctx = lane->env->limits.n_ctx, H = op->heads.H;
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < lane->step->n * H;) {
        const size_t pos = lane->step->pos[i / H], first = sl_attn_first_seen(lane->env, &op->heads, pos);
        const float *s = lane->value[op->in[0]] + i * ctx;
        float *p = lane->value[op->out[0]] + i * ctx, max = 0.0f, sum = 0.0f;
        for (size_t j = 0; j < first; j++)
            p[j] = -INFINITY;
        memcpy(p + first, s + first, (pos + 1 - first) * sizeof(float));
        lane->env->k->attn_softmax(p, pos + 1, &max, &sum);
        lane->env->k->scale(p, p, sl_attn_closing(&op->heads, i % H, max, sum), pos + 1);
        lane->written_bytes += (pos + 1) * sizeof(float);
    }
}

static void run_weighted_sum(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_heads *h = &op->heads;
    const sl_step *step = lane->step;
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    const size_t G = h->H / h->Hkv, ctx = lane->env->limits.n_ctx;
    uint32_t *rows = lane->scratch;
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < step->n * h->Hkv;) {
        const size_t t = i / h->Hkv, head = i % h->Hkv, n = step->pos[t] + 1;
        const float *p = lane->value[op->in[0]] + (t * h->H + head * G) * ctx;
        float *out = lane->value[op->out[0]] + (t * h->H + head * G) * h->C;
        memset(out, 0, G * h->C * sizeof(float));
        const size_t first = sl_attn_first_seen(lane->env, h, n - 1);
        for (size_t j = first, count; j < n; j += count) { /* j: inside a page only at the first */
            const sl_kv_head vh =
                sl_kv_v(lane->kv, sl_step_page(step, step->seq[t], j, shape->P), (size_t)op->layer, head);
            count = SL_MIN(shape->P - j % shape->P, n - j);
            for (size_t r = 0; r < G; r++)
                rows[r] = (uint32_t)count;
            lane->env->k->attn_mix[shape->type](out, p + j, ctx, rows, G, &vh, j % shape->P);
        }
        lane->written_bytes += G * h->C * sizeof(float);
        lane->read_bytes += (n - first) * sl_kv_token_bytes(shape->type, h->C);
        lane->ops += 2 * G * (n - first) * h->C;
    }
}

static size_t scores_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    (void)env;
    sl_attn_query q = { 0 };
    return cut_query(&q, NULL, op->heads.H / op->heads.Hkv, op->heads.C);
}

static size_t sum_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    (void)env;
    return op->heads.H * sizeof(uint32_t);
}

const sl_op_impl sl_scores_impl = { run_scores, NULL, scores_scratch };
const sl_op_impl sl_softmax_impl = { run_softmax, NULL, NULL };
const sl_op_impl sl_weighted_sum_impl = { run_weighted_sum, NULL, sum_scratch };
