/* latent_expanded.c - latent attention as it is written down: keys and values of a head are made of the stored rows,
 * SL_ATTN_CHUNK positions at a time, whenever a block of queries reads them. A position's key has the same bits
 * whatever stands beside it in its chunk, so the answer depends on no block. Chunks are joined as in attention.c. */
#include "module/latent.h"

#include <math.h>
#include <string.h>
#include "base/num.h"
#include "module/attention.h"
#include "quant/quant.h"

/* Scratch of one thread; B: tokens of a block, L: positions computed at once. */
typedef struct sl_expanded {
    float *rows;        /* [SL_ATTN_CHUNK][R + r] a chunk of what is stored */
    float *k, *v;       /* [SL_ATTN_CHUNK][N + r], [SL_ATTN_CHUNK][V] made of it */
    float *q;           /* [B][N + r] */
    float *s;           /* [B][lds] */
    float *chunk, *acc; /* [B][V] */
    size_t lds;
    float *m, *l, *m2, *l2; /* [B] maximum and sum, so far and of the unit at hand */
    uint32_t *n;            /* [B] positions of a chunk that a row sees */
    void *product;
} sl_expanded;

/* One head's work for a block of tokens: row b is token block->t0 + b. */
typedef struct sl_expanded_job {
    const sl_op *op;
    const sl_query_block *block;
    size_t head;
    sl_tensor w; /* kv_b */
} sl_expanded_job;

static size_t unit(const sl_env *env)
{
    return env->attn == SL_ATTN_PLAIN ? sl_round_up(env->limits.n_ctx, SL_ATTN_CHUNK) : SL_ATTN_CHUNK;
}

static size_t cut(sl_expanded *s, unsigned char *base, const sl_env *env, const sl_op *op, size_t lds)
{
    const size_t B = SL_MIN(sl_attn_block_tokens(&op->heads), env->limits.n_tokens);
    const sl_latent *l = &op->latent;
    size_t at = 0;
    s->lds = lds;
#define CUT(field, type, count)                                                                                        \
    do {                                                                                                               \
        s->field = base ? (type *)(void *)(base + at) : NULL;                                                          \
        at += sl_round_up((count) * sizeof(type), SL_MEM_ALIGN);                                                       \
    } while (0)
    CUT(rows, float, SL_ATTN_CHUNK *(l->R + op->heads.rope_dim));
    CUT(k, float, SL_ATTN_CHUNK * op->heads.C);
    CUT(v, float, SL_ATTN_CHUNK * l->V);
    CUT(q, float, B * op->heads.C);
    CUT(s, float, B *lds);
    CUT(chunk, float, B * l->V);
    CUT(acc, float, B * l->V);
    CUT(m, float, B);
    CUT(l, float, B);
    CUT(m2, float, B);
    CUT(l2, float, B);
    CUT(n, uint32_t, B);
#undef CUT
    s->product = base ? base + at : NULL;
    return at + sl_linear_scratch(env->k, l->R);
}

/* ---- keys and values ----------------------------------------------------------- */

static void decode(sl_kv_type type, float *out, const sl_kv_head *h, size_t at)
{
    const size_t C = h->C;
    const int8_t *q = (const int8_t *)h->data + at * C;
    switch (type) {
    case SL_KV_F16:
        sl_quant_widen(out, SL_FORMAT_F16, (const uint16_t *)h->data + at * C, C);
        break;
    case SL_KV_BF16:
        sl_quant_widen(out, SL_FORMAT_BF16, (const uint16_t *)h->data + at * C, C);
        break;
    case SL_KV_INT8:
        for (size_t c = 0; c < C; c++)
            out[c] = (float)q[c] * h->scale[at];
        break;
    default:
        memcpy(out, (const float *)h->data + at * C, C * sizeof *out);
    }
}

/* s->rows = positions j0 .. j0+n of the block's sequence. */
static void load_rows(const sl_expanded_job *job, sl_lane *lane, size_t j0, size_t n, sl_expanded *s)
{
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    for (size_t j = 0; j < n; j++) {
        const uint32_t page = sl_step_page(lane->step, job->block->seq, j0 + j, shape->P);
        const sl_kv_head rows = sl_kv_k(lane->kv, page, (size_t)job->op->layer, 0);
        decode(shape->type, s->rows + j * shape->C, &rows, (j0 + j) % shape->P);
    }
    lane->read_bytes += n * sl_kv_token_bytes(shape->type, shape->C);
}

/* y [n][ldy] = n rows times the part of kv_b that begins `from` rows into the head's and has `count`. */
static void make(const sl_expanded_job *job, sl_lane *lane, size_t n, size_t from, size_t count, float *y, size_t ldy,
                 sl_expanded *s)
{
    const sl_latent *l = &job->op->latent;
    const sl_act x = {
        .T = n, .K = l->R, .G = sl_div_up(l->R, 32), .f32 = s->rows, .ldf = l->R + job->op->heads.rope_dim
    };
    const size_t r0 = job->head * (l->N + l->V) + from;
    sl_linear(lane->env->k, SL_ACT_F32, y, ldy, &job->w, r0, r0 + count, NULL, &x, 0, n, s->product);
    lane->read_bytes += count * sl_tensor_row_cost(&job->w);
    lane->ops += 2 * n * count * l->R;
}

static sl_kv_head make_keys(const sl_expanded_job *job, sl_lane *lane, size_t n, sl_expanded *s)
{
    const sl_latent *l = &job->op->latent;
    const size_t r = job->op->heads.rope_dim, C = l->N + r;
    make(job, lane, n, 0, l->N, s->k, C, s);
    for (size_t j = 0; j < n; j++)
        memcpy(s->k + j * C + l->N, s->rows + j * (l->R + r) + l->R, r * sizeof *s->k);
    return sl_kv_head_at(SL_KV_F32, s->k, SL_ATTN_CHUNK, C);
}

static sl_kv_head make_values(const sl_expanded_job *job, sl_lane *lane, size_t n, sl_expanded *s)
{
    const sl_latent *l = &job->op->latent;
    make(job, lane, n, l->N, l->V, s->v, l->V, s);
    return sl_kv_head_at(SL_KV_F32, s->v, SL_ATTN_CHUNK, l->V);
}

/* ---- queries -------------------------------------------------------------------- */

static void load_queries(const sl_expanded_job *job, sl_lane *lane, float scale, sl_expanded *s)
{
    const sl_op *op = job->op;
    const sl_heads *h = &op->heads;
    const sl_kernels *k = lane->env->k;
    for (size_t b = 0; b < job->block->n; b++) {
        const size_t t = job->block->t0 + b;
        float *q = s->q + b * h->C;
        memcpy(q, lane->value[op->in[0]] + (t * h->H + job->head) * h->C, h->C * sizeof *q);
        if (op->kind == SL_OP_LATENT_ATTENTION)
            (h->rope_adjacent ? k->rope_adjacent : k->rope_half)(q + h->rope_at,
                                                                 lane->value[op->in[2]] + t * h->rope_dim, h->rope_dim);
        k->scale(q, q, scale, h->C);
    }
}

/* Of positions j0 .. j0+len row b sees none (0), or those from *first on that lie within so many of j0. */
static size_t seen(const sl_expanded_job *job, const sl_env *env, size_t b, size_t j0, size_t len, size_t *first)
{
    const size_t pos = job->block->pos0 + b;
    *first = sl_attn_first_seen(env, &job->op->heads, pos);
    return pos + 1 <= j0 || *first >= j0 + len ? 0 : SL_MIN(pos + 1 - j0, len);
}

/* acc [B][V] += the values of chunk j0 .. j0+len, weighted by p [B][ldp]; values outside a row's window are not
 * multiplied. */
static void mix(const sl_expanded_job *job, sl_lane *lane, size_t j0, size_t len, float *acc, const float *p,
                size_t ldp, sl_expanded *s)
{
    const size_t V = job->op->latent.V, B = job->block->n;
    sl_attn_mix_fn *fn = lane->env->k->attn_mix[SL_KV_F32];
    const sl_kv_head v = make_values(job, lane, len, s);
    size_t cut_off = 0, first = 0;
    for (size_t b = 0; b < B; b++) {
        s->n[b] = (uint32_t)seen(job, lane->env, b, j0, len, &first);
        cut_off = SL_MAX(cut_off, first > j0 ? first - j0 : 0);
    }
    if (!cut_off)
        fn(acc, p, ldp, s->n, B, &v, 0);
    for (size_t b = 0; b < B && cut_off; b++) {
        const size_t end = seen(job, lane->env, b, j0, len, &first), skip = first > j0 ? first - j0 : 0;
        const uint32_t n = end > skip ? (uint32_t)(end - skip) : 0;
        if (n)
            fn(acc + b * V, p + b * ldp + skip, ldp, &n, 1, &v, skip);
    }
    lane->ops += 2 * B * len * V;
}

/* ---- fused ------------------------------------------------------------------------ */

/* Positions j0 .. j0+len as one unit, joined to what the rows have. */
static void run_unit(const sl_expanded_job *job, sl_lane *lane, size_t j0, size_t len, sl_expanded *s)
{
    const sl_kernels *k = lane->env->k;
    const size_t B = job->block->n, V = job->op->latent.V, C = job->op->heads.C;
    const sl_attn_query q = { .x = s->q, .ldx = C };
    for (size_t o = 0; o < len; o += SL_ATTN_CHUNK) {
        const size_t n = SL_MIN(len - o, (size_t)SL_ATTN_CHUNK);
        load_rows(job, lane, j0 + o, n, s);
        const sl_kv_head keys = make_keys(job, lane, n, s);
        k->attn_scores[SL_KV_TOKEN][SL_KV_F32](s->s + o, s->lds, &q, B, &keys, 0, n);
        lane->ops += 2 * B * n * C;
    }
    float max = 0.0f, sum = 0.0f;
    for (size_t b = 0; b < B; b++) {
        size_t first = 0;
        float *row = s->s + b * s->lds;
        const size_t end = seen(job, lane->env, b, j0, len, &first);
        for (size_t j = 0; j0 + j < first && j < end; j++)
            row[j] = -INFINITY;
        if (end)
            k->attn_softmax(row, end, &max, &sum);
        s->m2[b] = max;
        s->l2[b] = end ? sum : 0.0f;
    }
    memset(s->chunk, 0, B * V * sizeof *s->chunk);
    for (size_t o = 0; o < len; o += SL_ATTN_CHUNK) {
        const size_t n = SL_MIN(len - o, (size_t)SL_ATTN_CHUNK);
        if (len > SL_ATTN_CHUNK) /* else the chunk is still there */
            load_rows(job, lane, j0 + o, n, s);
        mix(job, lane, j0 + o, n, s->chunk, s->s + o, s->lds, s);
    }
}

static void run_block(const sl_expanded_job *job, sl_lane *lane, sl_expanded *s)
{
    const sl_kernels *k = lane->env->k;
    const sl_op *op = job->op;
    const size_t B = job->block->n, V = op->latent.V, step = unit(lane->env), end = job->block->pos0 + B;
    load_queries(job, lane, op->heads.scale, s);
    for (size_t b = 0; b < B; b++) {
        s->m[b] = -INFINITY;
        s->l[b] = 0.0f;
    }
    memset(s->acc, 0, B * V * sizeof *s->acc);
    for (size_t j0 = sl_attn_first_seen(lane->env, &op->heads, job->block->pos0) / step * step; j0 < end; j0 += step) {
        run_unit(job, lane, j0, SL_MIN(step, end - j0), s);
        for (size_t b = 0; b < B; b++)
            if (s->l2[b] != 0.0f) /* else it sees nothing here */
                k->attn_fold(&s->m[b], &s->l[b], s->acc + b * V, s->m2[b], s->l2[b], s->chunk + b * V, V);
    }
    for (size_t b = 0; b < B; b++)
        k->scale(lane->value[op->out[0]] + ((job->block->t0 + b) * op->heads.H + job->head) * V, s->acc + b * V,
                 1.0f / s->l[b], V);
    lane->written_bytes += B * V * sizeof(float);
}

/* The next block and head for this thread; a head's blocks together, since they read the same rows of kv_b. */
static bool take(const sl_op *op, sl_lane *lane, sl_expanded_job *job)
{
    const size_t i = sl_tiles_take(&lane->tiles[0]), n = lane->step->n_blocks;
    if (i >= n * op->heads.H)
        return false;
    *job = (sl_expanded_job){ op, &lane->step->block[i % n], i / n, sl_lane_weights(lane, &op->w[0]) };
    return true;
}

static size_t row_stride(const sl_env *env)
{
    return unit(env) + 16; /* rows a power of two apart would share cache sets */
}

static void run(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    sl_expanded s = { 0 };
    cut(&s, lane->scratch, lane->env, op, row_stride(lane->env));
    for (sl_expanded_job job; take(op, lane, &job);)
        run_block(&job, lane, &s);
}

static size_t scratch_bytes(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    sl_expanded s = { 0 };
    return cut(&s, NULL, env, op, row_stride(env));
}

size_t sl_latent_workspace(const sl_env *env, const sl_op *op)
{
    return scratch_bytes(NULL, op, env) * env->limits.n_threads;
}

const sl_op_impl sl_latent_attention_impl = { run, NULL, scratch_bytes };

/* ---- the expansion: score rows in the workspace --------------------------------------- */

static void run_scores(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_kernels *k = lane->env->k;
    const size_t ctx = lane->env->limits.n_ctx, lds = op->heads.H * ctx, C = op->heads.C;
    sl_expanded s = { 0 };
    cut(&s, lane->scratch, lane->env, op, 0);
    for (sl_expanded_job job; take(op, lane, &job);) {
        const size_t B = job.block->n, pos0 = job.block->pos0, end = pos0 + B;
        const sl_attn_query q = { .x = s.q, .ldx = C };
        float *out = lane->value[op->out[0]] + job.block->t0 * lds + job.head * ctx;
        load_queries(&job, lane, 1.0f, &s);
        const size_t begin = sl_attn_first_seen(lane->env, &op->heads, pos0) / SL_ATTN_CHUNK * SL_ATTN_CHUNK;
        for (size_t j0 = begin; j0 < end; j0 += SL_ATTN_CHUNK) {
            const size_t n = SL_MIN(end - j0, (size_t)SL_ATTN_CHUNK);
            load_rows(&job, lane, j0, n, &s);
            const sl_kv_head keys = make_keys(&job, lane, n, &s);
            k->attn_scores[SL_KV_TOKEN][SL_KV_F32](out + j0, lds, &q, B, &keys, 0, n);
            lane->ops += 2 * B * n * C;
        }
        for (size_t b = 0; b < B; b++)
            k->scale(out + b * lds + begin, out + b * lds + begin, op->heads.scale, pos0 + b + 1 - begin);
        lane->written_bytes += B * (end - begin) * sizeof(float);
    }
}

static void run_sum(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const size_t ctx = lane->env->limits.n_ctx, H = op->heads.H, V = op->latent.V;
    sl_expanded s = { 0 };
    cut(&s, lane->scratch, lane->env, op, 0);
    for (sl_expanded_job job; take(op, lane, &job);) {
        const size_t B = job.block->n, t0 = job.block->t0, end = job.block->pos0 + B;
        const float *p = lane->value[op->in[0]] + t0 * H * ctx + job.head * ctx;
        memset(s.acc, 0, B * V * sizeof *s.acc);
        const size_t begin = sl_attn_first_seen(lane->env, &op->heads, job.block->pos0);
        for (size_t j0 = begin / SL_ATTN_CHUNK * SL_ATTN_CHUNK; j0 < end; j0 += SL_ATTN_CHUNK) {
            const size_t n = SL_MIN(end - j0, (size_t)SL_ATTN_CHUNK);
            load_rows(&job, lane, j0, n, &s);
            mix(&job, lane, j0, n, s.acc, p + j0, H * ctx, &s);
        }
        for (size_t b = 0; b < B; b++)
            memcpy(lane->value[op->out[0]] + ((t0 + b) * H + job.head) * V, s.acc + b * V, V * sizeof *s.acc);
        lane->written_bytes += B * V * sizeof(float);
    }
}

static size_t basic_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    sl_expanded s = { 0 };
    return cut(&s, NULL, env, op, 0);
}

const sl_op_impl sl_latent_scores_impl = { run_scores, NULL, basic_scratch };
const sl_op_impl sl_latent_sum_impl = { run_sum, NULL, basic_scratch };
