/* attention.c - the ATTENTION operation: how a step is cut into tiles, and a thread's way through them. */
#include "module/attention_in.h"

#include <math.h>
#include <string.h>
#include "base/num.h"

#define BLOCK_ROWS                                                                                                     \
    48 /* query rows of a block: a multiple of 6 for the kernels; scores of a chunk, 48 KiB, stay in L2 */
/* A step with fewer (token, KV head) pairs than this for each thread is split by chunks, for an even end. */
#define SPLIT_BELOW 5

/* ---- building ---------------------------------------------------------------- */

static size_t chunks(size_t n_positions)
{
    return sl_div_up(n_positions, SL_ATTN_CHUNK);
}

/* A partial result: maximum, sum, then C weighted values; a sum of 0: it is part of an earlier one. */
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

/* ---- partial results ------------------------------------------------------------ */

static float *partial_at(const sl_env *env, const sl_heads *h, float *partials, size_t t, size_t head, size_t chunk)
{
    return partials + ((t * h->H + head) * chunks(env->limits.n_ctx) + chunk) * partial_width(h);
}

/* The first chunk that the query at `pos` sees. */
static size_t first_chunk(const sl_env *env, const sl_heads *h, size_t pos)
{
    return sl_attn_first_seen(env, h, pos) / sl_attn_unit(env);
}

static float *partial_of_row(const sl_query *q, const sl_lane *lane, float *partials, size_t r, size_t chunk)
{
    return partial_at(lane->env, q->heads, partials, q->block->t0 + r / q->G, q->head * q->G + r % q->G, chunk);
}

static void put(float *p, float m, float l, const float *values, size_t C)
{
    p[0] = m;
    p[1] = l;
    memcpy(p + 2, values, C * sizeof *p);
}

/* One chunk that does not follow what this thread has joined so far. */
static void put_chunk(const sl_query *q, sl_lane *lane, float *partials, size_t chunk, const sl_attn_scratch *s,
                      size_t r0, size_t r1)
{
    const size_t C = q->heads->C;
    for (size_t r = r0; r < r1; r++)
        put(partial_of_row(q, lane, partials, r, chunk), s->m2[r], s->l2[r], s->chunk + r * C, C);
    lane->written_bytes += (r1 - r0) * partial_width(q->heads) * sizeof(float);
}

/* All chunks of a head up to `last`, which were joined. */
static void put_joined(const sl_query *q, sl_lane *lane, float *partials, size_t last, const sl_attn_scratch *s)
{
    const size_t C = q->heads->C;
    for (size_t r = 0; r < q->R; r++) {
        const size_t pos = q->block->pos0 + r / q->G, first = first_chunk(lane->env, q->heads, pos);
        for (size_t c = first; c <= SL_MIN(last, pos / SL_ATTN_CHUNK); c++)
            if (c == first)
                put(partial_of_row(q, lane, partials, r, c), s->m[r], s->l[r], s->acc + r * C, C);
            else
                partial_of_row(q, lane, partials, r, c)[1] = 0.0f;
    }
    lane->written_bytes += q->R * partial_width(q->heads) * sizeof(float);
}

/* All chunks of a head: the result. partials: NULL in a step that is not split. */
static void put_result(const sl_query *q, sl_lane *lane, float *out, float *partials, const sl_attn_scratch *s)
{
    const sl_heads *h = q->heads;
    for (size_t r = 0; r < q->R; r++) {
        const size_t t = r / q->G, head = q->head * q->G + r % q->G;
        lane->env->k->scale(out + ((q->block->t0 + t) * h->H + head) * h->C, s->acc + r * h->C,
                            sl_attn_closing(h, head, s->m[r], s->l[r]), h->C);
        if (partials)
            partial_of_row(q, lane, partials, r, first_chunk(lane->env, h, q->block->pos0 + t))[1] = 0.0f;
    }
    lane->written_bytes += q->R * h->C * sizeof(float);
}

void sl_attn_merge(const sl_env *env, const sl_heads *heads, const sl_step *step, const float *a, const float *partials,
                   size_t t, size_t h, float *out)
{
    const size_t pos = step->pos[t], first = first_chunk(env, heads, pos), C = heads->C;
    const float *p = partial_at(env, heads, (float *)partials, t, h, first);
    if (p[1] == 0.0f) {
        memmove(out, a + (t * heads->H + h) * C, C * sizeof *out);
        return;
    }
    float m = -INFINITY, l = 0.0f;
    memset(out, 0, C * sizeof *out);
    for (size_t c = first; c <= pos / SL_ATTN_CHUNK; c++, p += partial_width(heads))
        if (p[1] != 0.0f)
            env->k->attn_fold(&m, &l, out, p[0], p[1], p + 2, C);
    env->k->scale(out, out, sl_attn_closing(heads, h, m, l), C);
}

/* ---- a thread's way through a step ------------------------------------------------ */

/* A chunk of a head of a block. Tiles of a split step are chunks, else heads of a block; in this order. */
typedef struct sl_place {
    const sl_query_block *block;
    size_t before; /* tiles of the blocks before it */
    size_t head, chunk;
} sl_place;

static size_t last_chunk(const sl_env *env, const sl_query_block *b)
{
    return (b->pos0 + b->n - 1) / sl_attn_unit(env);
}

/* Tiles of a head of a block. */
static size_t head_tiles(const sl_op *op, const sl_lane *lane, const sl_query_block *b)
{
    return sl_attn_is_split(lane->env, &op->heads, lane->step)
               ? last_chunk(lane->env, b) + 1 - first_chunk(lane->env, &op->heads, b->pos0)
               : 1;
}

/* Take further tiles: lane->first .. lane->end. A split step's are runs: consecutive chunks, a stream in memory. */
static bool take(const sl_op *op, sl_lane *lane)
{
    const sl_step *step = lane->step;
    if (!sl_attn_is_split(lane->env, &op->heads, step)) {
        lane->first = sl_tiles_take(&lane->tiles[0]);
        lane->end = lane->first + 1;
        return lane->first < step->n_blocks * op->heads.Hkv;
    }
    size_t n = 0;
    for (size_t b = 0; b < step->n_blocks; b++)
        n += head_tiles(op, lane, &step->block[b]) * op->heads.Hkv;
    return sl_tiles_take_run(&lane->tiles[0], &lane->runs, n, lane->n_threads, &lane->first, &lane->end);
}

/* Go to the tile lane->first, which is not before *p. */
static void go_to_tile(const sl_op *op, const sl_lane *lane, sl_place *p)
{
    size_t per_head = head_tiles(op, lane, p->block);
    for (; lane->first - p->before >= per_head * op->heads.Hkv; per_head = head_tiles(op, lane, p->block)) {
        p->before += per_head * op->heads.Hkv;
        p->block++;
    }
    p->head = (lane->first - p->before) / per_head;
    p->chunk = first_chunk(lane->env, &op->heads, p->block->pos0) + (lane->first - p->before) % per_head;
}

/* Go to what this thread computes next, if need be of further tiles; false: there is nothing left. */
static bool advance(const sl_op *op, sl_lane *lane, sl_place *p)
{
    if (!sl_attn_is_split(lane->env, &op->heads, lane->step) && p->chunk < last_chunk(lane->env, p->block)) {
        p->chunk++;
        return true;
    }
    if (++lane->first >= lane->end && !take(op, lane))
        return false;
    go_to_tile(op, lane, p);
    return true;
}

/* What is read there. */
static sl_stretch stretch_at(const sl_op *op, const sl_lane *lane, const sl_place *p)
{
    const size_t unit = sl_attn_unit(lane->env), pos0 = p->block->pos0;
    return (sl_stretch){ sl_attn_query_of(op, p->block, p->head),
                         SL_MAX(p->chunk * unit, sl_attn_first_seen(lane->env, &op->heads, pos0)),
                         SL_MIN((p->chunk + 1) * unit, pos0 + p->block->n) };
}

static void begin_head(const sl_query *q, sl_lane *lane, const float *queries, sl_attn_scratch *s)
{
    sl_attn_load_queries(q, lane, queries, &s->q);
    for (size_t r = 0; r < q->R; r++) {
        s->m[r] = -INFINITY;
        s->l[r] = 0.0f;
    }
    memset(s->acc, 0, q->R * q->heads->C * sizeof(float));
}

static void join_chunk(const sl_query *q, const sl_lane *lane, sl_attn_scratch *s, size_t r0, size_t r1)
{
    const size_t C = q->heads->C;
    for (size_t r = r0; r < r1; r++)
        lane->env->k->attn_fold(&s->m[r], &s->l[r], s->acc + r * C, s->m2[r], s->l2[r], s->chunk + r * C, C);
}

/* Before the barrier in front of the operation: who waits there has memory busy. */
static void fetch(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    lane->runs = (sl_runs){ .parts = 1 };
    if (!take(op, lane)) {
        lane->first = lane->end = 0;
        return;
    }
    sl_place p = { .block = lane->step->block };
    go_to_tile(op, lane, &p);
    const sl_stretch first = stretch_at(op, lane, &p);
    sl_attn_fetch(lane, &first);
}

/* The first tiles were taken by `fetch`. A head's chunks are joined as they come, as long as none before them is
 * missing: then what a thread leaves to the next operation is little. */
static void run(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const bool split = sl_attn_is_split(lane->env, &op->heads, lane->step);
    const size_t unit = sl_attn_unit(lane->env);
    float *out = lane->value[op->out[0]], *partials = split ? lane->value[op->out[1]] : NULL;
    sl_attn_scratch s = { 0 };
    sl_attn_cut_scratch(&s, lane->scratch, lane->env, &op->heads);
    sl_place next = { .block = lane->step->block };
    bool more = lane->first < lane->end, follows = false, joined = false;
    if (more)
        go_to_tile(op, lane, &next);
    while (more) {
        const sl_place at = next;
        const sl_query q = sl_attn_query_of(op, at.block, at.head);
        size_t r0 = 0, r1 = 0;
        if (!follows) {
            begin_head(&q, lane, lane->value[op->in[0]], &s);
            joined = at.chunk == first_chunk(lane->env, &op->heads, at.block->pos0);
        }
        more = advance(op, lane, &next);
        const sl_stretch after = stretch_at(op, lane, &next);
        follows = more && next.block == at.block && next.head == at.head && next.chunk == at.chunk + 1;
        sl_attn_compute_unit(&q, lane, at.chunk * unit, unit, more ? &after : NULL, &s, &r0, &r1);
        if (!joined)
            put_chunk(&q, lane, partials, at.chunk, &s, r0, r1);
        else
            join_chunk(&q, lane, &s, r0, r1);
        if (joined && at.chunk == last_chunk(lane->env, at.block))
            put_result(&q, lane, out, partials, &s);
        else if (joined && !follows)
            put_joined(&q, lane, partials, at.chunk, &s);
    }
}

static size_t scratch_bytes(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    sl_attn_scratch s = { 0 };
    return sl_attn_cut_scratch(&s, NULL, env, &op->heads);
}

size_t sl_attn_workspace(const sl_env *env, const sl_heads *h)
{
    sl_attn_scratch s = { 0 };
    const size_t partials = env->attn == SL_ATTN_FLASH ? sl_attn_partials(&env->limits, h) : 0;
    return sl_attn_cut_scratch(&s, NULL, env, h) * env->limits.n_threads + partials * sizeof(float);
}

const sl_op_impl sl_attention_impl = { run, NULL, scratch_bytes, fetch };
