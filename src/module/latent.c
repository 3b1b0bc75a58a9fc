/* latent.c - latent attention: its operations, the rows that it keeps, and what absorbs kv_b. */
#include "module/latent.h"

#include <string.h>
#include "base/num.h"
#include "module/attention.h"
#include "module/linear.h"
#include "quant/quant.h"

#define TILE_TOKENS 16 /* of one head: its matrix is read once for so many */
#define GROUP_HEADS 8  /* absorbed: heads that read a row together, at most */

/* ---- building ---------------------------------------------------------------- */

sl_heads sl_latent_heads(sl_mla mla, const sl_latent *latent, const sl_heads *heads)
{
    sl_heads h = *heads;
    h.Hkv = h.H;
    if (mla == SL_MLA_EXPANDED)
        return h;
    size_t group = SL_MIN(h.H, (size_t)GROUP_HEADS);
    while (h.H % group)
        group--;
    h.Hkv = h.H / group;
    h.C = latent->R + h.rope_dim;
    h.rope_at = latent->R;
    return h;
}

/* An operation on latents and the matrix of all heads, with one output. */
static sl_op latent_op(const sl_latent_weights *w, sl_op_kind kind, int layer)
{
    return (sl_op){ .kind = kind,
                    .name = sl_op_kind_name(kind),
                    .layer = layer,
                    .group = SL_FUSE_ATTN,
                    .n_out = 1,
                    .n_w = 1,
                    .w = { w->kv_b },
                    .latent = w->latent,
                    .heads = w->heads };
}

static void append_write(sl_graph *g, int layer, const sl_latent_weights *w, sl_value rows, sl_value cs, sl_value kv)
{
    sl_op op = latent_op(w, SL_OP_LATENT_WRITE, layer);
    op.n_w = 0;
    op.n_in = 2;
    op.in[0] = rows;
    op.in[1] = cs;
    op.out[0] = kv;
    op.norm = w->kv_norm;
    op.heads.H = op.heads.Hkv = 1;
    op.heads.C = w->latent.R + w->heads.rope_dim;
    op.heads.rope_at = w->latent.R;
    sl_graph_append(g, &op);
}

static sl_value append_expanded(sl_graph *g, int layer, const sl_latent_weights *w, sl_value q, sl_value kv,
                                sl_value cs)
{
    sl_op op = latent_op(w, SL_OP_LATENT_ATTENTION, layer);
    op.heads = sl_latent_heads(SL_MLA_EXPANDED, &w->latent, &w->heads);
    op.n_in = 3;
    op.in[0] = q;
    op.in[1] = kv;
    op.in[2] = cs;
    op.out[0] = sl_graph_value(g, "attention", SL_ROWS_TOKENS, w->heads.H * w->latent.V);
    sl_graph_append(g, &op);
    return op.out[0];
}

static sl_value append_absorbed(sl_graph *g, int layer, const sl_latent_weights *w, sl_value q, sl_value kv,
                                sl_value cs)
{
    const sl_heads h = sl_latent_heads(SL_MLA_ABSORBED, &w->latent, &w->heads);
    sl_op absorb = latent_op(w, SL_OP_ABSORB, layer);
    absorb.n_in = 2;
    absorb.in[0] = q;
    absorb.in[1] = cs;
    absorb.out[0] = sl_graph_value(g, "absorbed", SL_ROWS_TOKENS, h.H * h.C);
    sl_graph_append(g, &absorb);

    sl_op attention = latent_op(w, SL_OP_ATTENTION, layer);
    attention.n_w = 0;
    attention.heads = h;
    attention.n_in = attention.n_out = 2;
    attention.in[0] = absorb.out[0];
    attention.in[1] = kv;
    attention.out[0] = sl_graph_value(g, "attention", SL_ROWS_TOKENS, h.H * h.C);
    attention.out[1] = sl_graph_value(g, "partials", SL_ROWS_ONE, sl_attn_partials(&g->limits, &h));
    sl_graph_append(g, &attention);

    sl_op values = latent_op(w, SL_OP_HEAD_VALUES, layer);
    values.heads = h;
    values.pre = SL_PRE_MERGE;
    values.n_in = 2;
    values.in[0] = attention.out[0];
    values.in[1] = attention.out[1];
    values.out[0] = sl_graph_value(g, "head_values", SL_ROWS_TOKENS, h.H * w->latent.V);
    sl_graph_append(g, &values);
    return values.out[0];
}

sl_value sl_latent_attention(sl_graph *g, int layer, sl_value x, sl_value cs, const sl_latent_weights *w)
{
    const sl_value kv = sl_graph_value(g, "kv", SL_ROWS_ONE, 0);
    /* What depends on the same things stands together, so that few barriers part it. */
    sl_value q = sl_norm_linear(g, w->q_a.w.data ? "q_a" : "q", layer, x, &w->norm, w->q_a.w.data ? &w->q_a : &w->q,
                                SL_ROWS_TOKENS);
    const sl_value rows = sl_norm_linear(g, "kv_a", layer, x, &w->norm, &w->kv_a, SL_ROWS_TOKENS);
    if (w->q_a.w.data)
        q = sl_norm_linear(g, "q_b", layer, q, &w->q_norm, &w->q, SL_ROWS_TOKENS);
    append_write(g, layer, w, rows, cs, kv);
    const sl_value a = (g->mla == SL_MLA_EXPANDED ? append_expanded : append_absorbed)(g, layer, w, q, kv, cs);
    const sl_value out = sl_linear_add(g, "attn_out", layer, a, &w->o, x);
    if (!g->failed)
        g->op[g->n_ops - 1].group = SL_FUSE_ATTN;
    return out;
}

/* ---- rows -------------------------------------------------------------------- */

static void run_write(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_heads *h = &op->heads;
    const sl_kernels *k = lane->env->k;
    const sl_step *step = lane->step;
    const sl_kv_shape *s = sl_kv_get_shape(lane->kv);
    const size_t R = op->latent.R;
    float *row = lane->scratch;
    for (size_t t; (t = sl_tiles_take(&lane->tiles[0])) < step->n;) {
        const float *x = lane->value[op->in[0]] + t * h->C;
        k->rms_norm(row, R, x, R, op->norm.weight, 1, R, op->norm.eps);
        memcpy(row + R, x + R, h->rope_dim * sizeof *row);
        (h->rope_adjacent ? k->rope_adjacent : k->rope_half)(row + R, lane->value[op->in[1]] + t * h->rope_dim,
                                                             h->rope_dim);
        const uint32_t page = sl_step_page(step, step->seq[t], step->pos[t], s->P);
        const sl_kv_head dst = sl_kv_k(lane->kv, page, (size_t)op->layer, 0);
        k->kv_write_k[s->layout][s->type](&dst, step->pos[t] % s->P, row);
    }
}

static size_t write_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    (void)env;
    return op->heads.C * sizeof(float);
}

const sl_op_impl sl_latent_write_impl = { run_write, NULL, write_scratch };

/* ---- absorbing --------------------------------------------------------------- */

/* Tiles of a head and some tokens; a run of them is of neighbouring heads, whose matrices lie in order. */
typedef struct sl_head_tiles {
    sl_runs runs;
    size_t i, end;
    size_t head, t0, t1; /* of the tile at hand */
} sl_head_tiles;

/* The next tile for this thread. */
static bool take(const sl_op *op, sl_lane *lane, sl_head_tiles *at)
{
    const size_t n = op->heads.H * sl_div_up(lane->step->n, TILE_TOKENS);
    if (at->i == at->end && !sl_tiles_take_run(&lane->tiles[0], &at->runs, n, lane->n_threads, &at->i, &at->end))
        return false;
    at->head = at->i % op->heads.H;
    at->t0 = at->i / op->heads.H * TILE_TOKENS;
    at->t1 = SL_MIN(at->t0 + TILE_TOKENS, lane->step->n);
    at->i++;
    return true;
}

typedef struct sl_absorb_scratch {
    float *acc;      /* [TILE_TOKENS][R] */
    float *wide;     /* [N][R] the head's rows as f32 */
    uint32_t *count; /* [TILE_TOKENS] */
} sl_absorb_scratch;

static size_t cut_absorb(sl_absorb_scratch *s, unsigned char *base, const sl_latent *l)
{
    size_t at = 0;
    s->acc = base ? (float *)(void *)base : NULL;
    at += sl_round_up(TILE_TOKENS * l->R * sizeof(float), SL_MEM_ALIGN);
    s->wide = base ? (float *)(void *)(base + at) : NULL;
    at += sl_round_up(l->N * l->R * sizeof(float), SL_MEM_ALIGN);
    s->count = base ? (uint32_t *)(void *)(base + at) : NULL;
    return at + TILE_TOKENS * sizeof(uint32_t);
}

/* Rows r0 .. r0+N of w as the values of a page, which a weighted sum multiplies by the transpose: float weights where
 * they lie, if kernels can read them there, others as f32 in `wide`. */
static sl_kv_head as_values(const sl_tensor *w, size_t r0, size_t N, float *wide, sl_kv_type *type)
{
    unsigned char *data = (unsigned char *)w->data + r0 * w->row_bytes;
    const bool half = w->format == SL_FORMAT_F16 || w->format == SL_FORMAT_BF16;
    const size_t align = half ? _Alignof(uint16_t) : _Alignof(float);
    const bool readable = (half || w->format == SL_FORMAT_F32) && (uintptr_t)data % align == 0 && w->cols % 8 == 0;
    *type = !readable || w->format == SL_FORMAT_F32 ? SL_KV_F32 : w->format == SL_FORMAT_F16 ? SL_KV_F16 : SL_KV_BF16;
    if (readable)
        return sl_kv_head_at(*type, data, N, w->cols);
    for (size_t i = 0; i < N; i++)
        sl_quant_get(w->format)->decode(wide + i * w->cols, w, r0 + i, 0, w->cols);
    return sl_kv_head_at(SL_KV_F32, wide, N, w->cols);
}

static void run_absorb(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_heads *h = &op->heads;
    const sl_latent *l = &op->latent;
    const sl_kernels *k = lane->env->k;
    const size_t ldq = h->H * h->C, C = l->R + h->rope_dim;
    const sl_tensor w = sl_lane_weights(lane, &op->w[0]);
    sl_absorb_scratch s = { 0 };
    cut_absorb(&s, lane->scratch, l);
    for (size_t i = 0; i < TILE_TOKENS; i++)
        s.count[i] = (uint32_t)l->N;
    for (sl_head_tiles at = { 0 }; take(op, lane, &at);) {
        const size_t head = at.head, t0 = at.t0, t1 = at.t1;
        sl_kv_type type = SL_KV_F32;
        sl_kv_head rows = as_values(&w, head * (l->N + l->V), l->N, s.wide, &type);
        if (rows.data != s.wide && at.i < at.end && head + 1 < h->H) /* fetched while this one is read */
            rows.next = (const char *)rows.data + (l->N + l->V) * w.row_bytes;
        const float *q = lane->value[op->in[0]] + t0 * ldq + head * h->C;
        memset(s.acc, 0, (t1 - t0) * l->R * sizeof *s.acc);
        k->attn_mix[type](s.acc, q, ldq, s.count, t1 - t0, &rows, 0);
        for (size_t t = t0; t < t1; t++, q += ldq) {
            float *out = lane->value[op->out[0]] + (t * h->H + head) * C;
            memcpy(out, s.acc + (t - t0) * l->R, l->R * sizeof *out);
            memcpy(out + l->R, q + l->N, h->rope_dim * sizeof *out);
            if (op->n_in > 1)
                (h->rope_adjacent ? k->rope_adjacent
                                  : k->rope_half)(out + l->R, lane->value[op->in[1]] + t * h->rope_dim, h->rope_dim);
        }
        lane->written_bytes += (t1 - t0) * C * sizeof(float);
        lane->read_bytes += l->N * sl_tensor_row_cost(&w);
        lane->ops += 2 * (t1 - t0) * l->N * l->R;
    }
}

static size_t absorb_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    (void)env;
    sl_absorb_scratch s = { 0 };
    return cut_absorb(&s, NULL, &op->latent);
}

const sl_op_impl sl_absorb_impl = { run_absorb, NULL, absorb_scratch };

/* ---- values of the heads ------------------------------------------------------- */

/* With f32 activations, whatever --act says: the sums are attention's, and it keeps them in f32. */
static void run_values(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_heads *h = &op->heads;
    const sl_latent *l = &op->latent;
    const sl_tensor w = sl_lane_weights(lane, &op->w[0]);
    const bool split = op->pre == SL_PRE_MERGE && sl_attn_is_split(lane->env, h, lane->step);
    float *a = lane->value[op->in[0]]; /* of a split step not whole yet: what is joined has its place there */
    for (sl_head_tiles at = { 0 }; take(op, lane, &at);) {
        const size_t head = at.head, t0 = at.t0, t1 = at.t1;
        for (size_t t = t0; split && t < t1; t++)
            sl_attn_merge(lane->env, h, lane->step, a, lane->value[op->in[1]], t, head, a + (t * h->H + head) * h->C);
        const sl_act x = {
            .T = lane->step->n, .K = l->R, .G = sl_div_up(l->R, 32), .f32 = a + head * h->C, .ldf = h->H * h->C
        };
        const size_t r0 = head * (l->N + l->V) + l->N;
        float *out = lane->value[op->out[0]] + (t0 * h->H + head) * l->V;
        sl_linear(lane->env->k, SL_ACT_F32, out, h->H * l->V, &w, r0, r0 + l->V, NULL, &x, t0, t1, lane->scratch);
        lane->written_bytes += (t1 - t0) * l->V * sizeof(float);
        lane->read_bytes += l->V * sl_tensor_row_cost(&w);
        lane->ops += 2 * (t1 - t0) * l->V * l->R;
    }
}

static size_t values_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    return sl_linear_scratch(env->k, op->latent.R);
}

const sl_op_impl sl_head_values_impl = { run_values, NULL, values_scratch };
