/* linear.c - the LINEAR operation: prologue, product, epilogue.
 *
 * The input is brought into the forms that the weights' panels want (normed, quantised) once:
 * by each thread for itself in a narrow step, shared and followed by a barrier in a wide one.
 * Then tiles of [rows of w][tokens] are computed, each finished by its epilogue while it is
 * still in the cache. No result depends on how the work is cut.
 */
#include "module/linear.h"

#include <assert.h>
#include <string.h>
#include "base/num.h"
#include "module/act.h"
#include "module/attention.h"
#include "module/run.h"

#define TILE_TOKENS   128 /* a tile's outputs (128 x 64 floats) stay in the second-level cache */
#define TILE_ROWS_MAX 64
#define TILE_ROWS_MIN 16
#define STREAMS_ROWS  256 /* for few tokens: of streams that are read side by side each should be some pages long */
#define PREPARE_ROWS  4   /* tokens of a prologue tile */
#define SLOTS_AHEAD   4   /* tokens: so long before it is written a key or value's place is asked for */

/* ---- building ---------------------------------------------------------------- */

sl_value sl_norm_linear(sl_graph *g, const char *name, int layer, sl_value x, const sl_norm *norm, const sl_proj *w,
                        sl_rows rows)
{
    const sl_value out = sl_graph_value(g, name, rows, w->w.rows);
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_LINEAR,
                                 .name = name,
                                 .layer = layer,
                                 .n_in = 1,
                                 .n_out = 1,
                                 .n_w = 1,
                                 .in = { x },
                                 .out = { out },
                                 .w = { w->w },
                                 .bias = { w->bias },
                                 .pre = SL_PRE_NORM,
                                 .norm = *norm });
    return out;
}

sl_value sl_linear_add(sl_graph *g, const char *name, int layer, sl_value x, const sl_proj *w, sl_value residual)
{
    const sl_value out = sl_graph_value(g, name, SL_ROWS_TOKENS, w->w.rows);
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_LINEAR,
                                 .name = name,
                                 .layer = layer,
                                 .group = SL_FUSE_FFN,
                                 .n_in = 2,
                                 .n_out = 1,
                                 .n_w = 1,
                                 .in = { x, residual },
                                 .out = { out },
                                 .w = { w->w },
                                 .bias = { w->bias },
                                 .epi = SL_EPI_ADD });
    return out;
}

sl_value sl_norm_swiglu(sl_graph *g, int layer, sl_value x, const sl_norm *norm, const sl_proj *gate, const sl_proj *up)
{
    const sl_value out = sl_graph_value(g, "ffn_up", SL_ROWS_TOKENS, gate->w.rows);
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_LINEAR,
                                 .name = "ffn_up",
                                 .layer = layer,
                                 .group = SL_FUSE_FFN,
                                 .n_in = 1,
                                 .n_out = 1,
                                 .n_w = 2,
                                 .in = { x },
                                 .out = { out },
                                 .w = { gate->w, up->w },
                                 .bias = { gate->bias, up->bias },
                                 .pre = SL_PRE_NORM,
                                 .norm = *norm,
                                 .epi = SL_EPI_SWIGLU });
    return out;
}

/* ---- prologue ---------------------------------------------------------------- */

static sl_act_type act_of(const sl_op *op, const sl_env *env)
{
    return op->exact ? SL_ACT_F32 : env->act;
}

static unsigned needs_of(const sl_op *op, const sl_env *env, size_t T)
{
    unsigned needs = 0;
    for (uint32_t i = 0; i < op->n_w; i++)
        needs |= sl_linear_needs(env->k, act_of(op, env), op->w[i].format, T);
    return needs;
}

typedef struct sl_input {
    const float *x; /* in[0] */
    size_t K;
    size_t rows;
    bool gather; /* row o of the operation is token step->output[o] of x */
    bool merge;  /* x does not exist yet: it is joined from partial results */
    bool made;   /* by the prologue; else the rows of x are used as they are */
    unsigned needs;
} sl_input;

static sl_input input_of(const sl_graph *g, const sl_op *op, const sl_lane *lane)
{
    const sl_value_info *in = sl_graph_info(g, op->in[0]), *out = sl_graph_info(g, op->out[0]);
    sl_input i = { .x = lane->value[op->in[0]], .K = in->width, .rows = sl_lane_rows(lane, out->rows) };
    i.gather = in->rows == SL_ROWS_TOKENS && out->rows == SL_ROWS_OUTPUTS;
    i.merge = op->pre == SL_PRE_MERGE && sl_attn_is_split(lane->env, &op->heads, lane->step);
    i.made = op->pre == SL_PRE_NORM || i.merge;
    i.needs = needs_of(op, lane->env, i.rows);
    assert(i.made || !i.gather);
    return i;
}

/* Make rows t0..t1 of act. `tmp` [K] holds a row whose f32 form nobody needs afterwards. */
static void prepare(const sl_op *op, sl_lane *lane, const sl_input *in, const sl_act *act, float *own_f32, float *tmp,
                    size_t t0, size_t t1)
{
    const sl_kernels *k = lane->env->k;
    for (size_t t = t0; t < t1; t++) {
        const size_t row = in->gather ? lane->step->output[t] : t;
        const float *x = in->x + row * in->K;
        if (in->made) {
            float *dst = own_f32 ? own_f32 + t * in->K : tmp;
            if (in->merge)
                for (size_t h = 0; h < op->heads.H; h++)
                    sl_attn_merge(lane->env, &op->heads, lane->step, in->x, lane->value[op->in[2]], row, h,
                                  dst + h * op->heads.C);
            else
                k->rms_norm(dst, in->K, x, in->K, op->norm.weight, 1, in->K, op->norm.eps);
            x = dst;
        }
        const sl_act one = sl_act_row(act, t, x);
        sl_act_fill(k, &one, 0, 1);
    }
}

/* ---- epilogues --------------------------------------------------------------- */

typedef struct sl_tile {
    size_t r0, r1; /* rows of w */
    size_t t0, t1; /* rows of the operation */
} sl_tile;

/* y[t][0..n) += bias of rows r0..r0+n, for T tokens. */
static void add_bias(const sl_kernels *k, float *y, size_t ld, const float *bias, size_t r0, size_t n, size_t T)
{
    for (size_t t = 0; bias && t < T; t++, y += ld)
        k->add(y, y, bias + r0, n);
}

/* y: [tokens][rows of the tile], so that the output is written once: of rows that lie whole pages of memory apart a
 * cache holds few. */
static void add_residual(const sl_graph *g, const sl_op *op, sl_lane *lane, const sl_tile *tile, const float *y)
{
    const size_t ld = sl_graph_info(g, op->out[0])->width, n = tile->r1 - tile->r0;
    for (size_t t = tile->t0; t < tile->t1; t++, y += n)
        lane->env->k->add(lane->value[op->out[0]] + t * ld + tile->r0, y, lane->value[op->in[1]] + t * ld + tile->r0,
                          n);
}

static void swiglu(const sl_graph *g, const sl_op *op, sl_lane *lane, const sl_tile *tile, float *gate, const float *up)
{
    const sl_kernels *k = lane->env->k;
    const size_t ld = sl_graph_info(g, op->out[0])->width, n = tile->r1 - tile->r0;
    for (size_t t = tile->t0; t < tile->t1; t++, gate += n, up += n) {
        k->silu(gate, gate, n);
        k->mul(lane->value[op->out[0]] + t * ld + tile->r0, gate, up, n);
    }
}

/* Where a head's key or value (`which` 1, 2) of token t goes: slot *at. */
static sl_kv_head slot_of(const sl_op *op, const sl_lane *lane, unsigned which, size_t head, size_t t, size_t *at)
{
    const sl_step *step = lane->step;
    const size_t P = sl_kv_get_shape(lane->kv)->P;
    const uint32_t page = sl_step_page(step, step->seq[t], step->pos[t], P);
    *at = step->pos[t] % P;
    return (which == 1 ? sl_kv_k : sl_kv_v)(lane->kv, page, (size_t)op->layer, head);
}

/* What is written for token t, if it is another sequence's than the token before: it lies anywhere in memory. */
static void fetch_slot(const sl_op *op, const sl_lane *lane, unsigned which, size_t head, size_t t)
{
    if (!lane->env->fetch || (t && lane->step->seq[t] == lane->step->seq[t - 1]))
        return;
    size_t at = 0;
    const sl_kv_head slot = slot_of(op, lane, which, head, t, &at);
    sl_kv_fetch_slot(lane->kv, &slot, which == 1, at);
}

/* One head of q, k or v (`which` 0, 1, 2) for the tile's tokens, y [tokens][C]. */
static void finish_head(const sl_op *op, sl_lane *lane, const sl_tile *tile, unsigned which, size_t head, float *y)
{
    const sl_kernels *k = lane->env->k;
    const sl_heads *hs = &op->heads;
    const float *norm = which == 0 ? hs->q_norm : which == 1 ? hs->k_norm : NULL;
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    for (size_t t = tile->t0; which && t < SL_MIN(tile->t0 + SLOTS_AHEAD, tile->t1); t++)
        fetch_slot(op, lane, which, head, t);
    for (size_t t = tile->t0; t < tile->t1; t++, y += hs->C) {
        if (which && t + SLOTS_AHEAD < tile->t1)
            fetch_slot(op, lane, which, head, t + SLOTS_AHEAD);
        if (norm)
            k->rms_norm(y, hs->C, y, hs->C, norm, 1, hs->C, hs->norm_eps);
        if (which < 2) {
            const float *cs = lane->value[op->in[1]] + t * hs->rope_dim;
            (hs->rope_adjacent ? k->rope_adjacent : k->rope_half)(y + hs->rope_at, cs, hs->rope_dim);
        }
        if (which == 0) {
            memcpy(lane->value[op->out[0]] + (t * hs->H + head) * hs->C, y, hs->C * sizeof *y);
            continue;
        }
        size_t at = 0;
        const sl_kv_head slot = slot_of(op, lane, which, head, t, &at);
        sl_kv_write_fn *write = which == 1 ? k->kv_write_k[shape->layout][shape->type] : k->kv_write_v[shape->type];
        write(&slot, at, y);
    }
}

/* ---- the product, tile by tile ----------------------------------------------- */

/* For every epilogue but QKV: w[0] of `tile`, and w[1] beside it for SWIGLU. `next` as for sl_linear. */
static void run_tile(const sl_graph *g, const sl_op *op, sl_lane *lane, const sl_act *act, const sl_tile *tile,
                     const void *next, float *y, void *scratch)
{
    const sl_env *env = lane->env;
    const sl_act_type type = act_of(op, env);
    const size_t n = tile->r1 - tile->r0, T = tile->t1 - tile->t0;
    const sl_tensor w = sl_lane_weights(lane, &op->w[0]);
    if (op->epi == SL_EPI_SWIGLU) {
        const sl_tensor w1 = sl_lane_weights(lane, &op->w[1]);
        float *up = y + T * n;
        const void *beside = sl_lane_row(lane, &op->w[1], tile->r0);
        sl_linear(env->k, type, y, n, &w, tile->r0, tile->r1, beside, act, tile->t0, tile->t1, scratch);
        sl_linear(env->k, type, up, n, &w1, tile->r0, tile->r1, next, act, tile->t0, tile->t1, scratch);
        add_bias(env->k, y, n, op->bias[0], tile->r0, n, T);
        add_bias(env->k, up, n, op->bias[1], tile->r0, n, T);
        swiglu(g, op, lane, tile, y, up);
    } else {
        const bool adds = op->epi == SL_EPI_ADD;
        const size_t width = sl_graph_info(g, op->out[0])->width, ld = adds ? n : width;
        float *out = adds ? y : lane->value[op->out[0]] + tile->t0 * width + tile->r0;
        sl_linear(env->k, type, out, ld, &w, tile->r0, tile->r1, next, act, tile->t0, tile->t1, scratch);
        add_bias(env->k, out, ld, op->bias[0], tile->r0, n, T);
        if (adds)
            add_residual(g, op, lane, tile, y);
    }
    lane->written_bytes += T * n * sizeof(float);
}

static void run_head_tile(const sl_op *op, sl_lane *lane, const sl_act *act, size_t index, size_t t0, size_t t1,
                          const void *next, float *y, void *scratch)
{
    const sl_heads *hs = &op->heads;
    const unsigned which = index < hs->H ? 0 : index < hs->H + hs->Hkv ? 1 : 2;
    const size_t head = which == 0 ? index : which == 1 ? index - hs->H : index - hs->H - hs->Hkv;
    const sl_tile tile = { head * hs->C, (head + 1) * hs->C, t0, t1 };
    const sl_tensor w = sl_lane_weights(lane, &op->w[which]);
    sl_linear(lane->env->k, lane->env->act, y, hs->C, &w, tile.r0, tile.r1, next, act, t0, t1, scratch);
    add_bias(lane->env->k, y, hs->C, op->bias[which], tile.r0, hs->C, t1 - t0);
    finish_head(op, lane, &tile, which, head, y);
    if (which == 0)
        lane->written_bytes += (t1 - t0) * hs->C * sizeof(float);
}

/* How the operation is cut. Tiles are numbered along the rows of w, each row's token tiles together. A thread takes
 * runs of them and so reads weights in the order of memory. Without token tiles, tiles are small, for an even end, and
 * neighbours of a run are computed together. */
typedef struct sl_tiling {
    bool heads;
    size_t tr; /* rows of w in a tile; C with heads */
    size_t n_token_tiles, n;
    size_t together;
} sl_tiling;

static sl_tiling tiling_of(const sl_op *op, const sl_env *env, size_t rows)
{
    static_assert(SL_NARROW_ROWS * STREAMS_ROWS <= TILE_TOKENS * TILE_ROWS_MAX, "y has room for either");
    sl_tiling t = { .heads = op->epi == SL_EPI_QKV, .n_token_tiles = sl_div_up(rows, TILE_TOKENS) };
    t.tr = t.heads ? op->heads.C : t.n_token_tiles > 1 ? TILE_ROWS_MAX : TILE_ROWS_MIN;
    t.n = t.n_token_tiles * (t.heads ? op->heads.H + 2 * op->heads.Hkv : sl_div_up(op->w[0].rows, t.tr));
    if (t.heads || t.n_token_tiles > 1)
        t.together = 1;
    else
        t.together = (env->k->several && rows <= SL_NARROW_ROWS ? STREAMS_ROWS : TILE_ROWS_MAX) / TILE_ROWS_MIN;
    return t;
}

/* The matrix that has tile i, and the tile's first row in it. */
static const sl_tensor *matrix_of(const sl_op *op, const sl_tiling *tiling, size_t i, size_t *first)
{
    const size_t r = i / tiling->n_token_tiles, H = op->heads.H, Hkv = op->heads.Hkv;
    const unsigned which = !tiling->heads || r < H ? 0 : r < H + Hkv ? 1 : 2;
    *first = tiling->tr * (which == 0 ? r : which == 1 ? r - H : r - H - Hkv);
    return &op->w[which];
}

/* Where the weights of tile i begin. */
static const void *weights_of(const sl_op *op, const sl_lane *lane, const sl_tiling *tiling, size_t i)
{
    size_t first = 0;
    const sl_tensor *w = matrix_of(op, tiling, i, &first);
    return sl_lane_row(lane, w, first);
}

static bool take(sl_tiles *tiles, sl_runs *runs, const sl_tiling *tiling, size_t n_threads, size_t *i, size_t *end)
{
    if (sl_tiles_take_run(&tiles[1], runs, tiling->n, n_threads, i, end))
        return true;
    *i = *end = 0;
    return false;
}

/* Tiles take equally long, so that a thread may take all of its share of what is left: few tokens stream memory, best
 * in long runs. With more, threads compute, and not quite equally fast. */
static sl_first_run begin(const sl_graph *g, const sl_op *op, const sl_lane *lane, sl_tiles *tiles)
{
    const size_t rows = sl_lane_rows(lane, sl_graph_info(g, op->out[0])->rows);
    const sl_tiling tiling = tiling_of(op, lane->env, rows);
    sl_first_run run = { .runs.parts = rows > SL_NARROW_ROWS ? 2 : 1 };
    if (take(tiles, &run.runs, &tiling, lane->n_threads, &run.first, &run.end))
        run.weights = weights_of(op, lane, &tiling, run.first);
    return run;
}

/* Who waits at the barrier, and then makes its own input, has memory busy. What comes behind these rows is asked for
 * while they are multiplied. */
static void fetch(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const size_t rows = sl_lane_rows(lane, sl_graph_info(g, op->out[0])->rows);
    const sl_tiling tiling = tiling_of(op, lane->env, rows);
    if (lane->first >= lane->end)
        return;
    size_t r = 0;
    const sl_tensor *w = matrix_of(op, &tiling, lane->first, &r);
    const void *weights = sl_lane_row(lane, w, r);
    const size_t n = SL_MIN(w->rows - r, tiling.tr * SL_MIN(tiling.together, lane->end - lane->first));
    if (weights)
        sl_linear_fetch(lane->env->k, act_of(op, lane->env), w, weights, n, SL_MIN(rows, TILE_TOKENS));
}

/* Each further run is taken before the last tile of the one before, which asks for it. */
static void run_tiles(const sl_graph *g, const sl_op *op, sl_lane *lane, const sl_act *act, size_t rows, float *y,
                      void *scratch)
{
    const sl_tiling tiling = tiling_of(op, lane->env, rows);
    size_t i = lane->first, end = lane->end;
    while (i < end) {
        const size_t step = SL_MIN(tiling.together, end - i), tr = tiling.tr;
        const size_t r = i / tiling.n_token_tiles, t0 = i % tiling.n_token_tiles * TILE_TOKENS;
        const size_t t1 = SL_MIN(t0 + TILE_TOKENS, rows);
        size_t n_rows = tiling.heads ? tr : SL_MIN(tr * step, op->w[0].rows - r * tr);
        i += step;
        const bool more = i < end || take(lane->tiles, &lane->runs, &tiling, lane->n_threads, &i, &end);
        const void *next = more ? weights_of(op, lane, &tiling, i) : lane->then.weights;
        if (tiling.heads)
            run_head_tile(op, lane, act, r, t0, t1, next, y, scratch);
        else
            run_tile(g, op, lane, act, &(sl_tile){ r * tr, r * tr + n_rows, t0, t1 }, next, y, scratch);
        n_rows *= op->epi == SL_EPI_SWIGLU ? 2 : 1;
        lane->read_bytes += n_rows * sl_tensor_row_cost(&op->w[0]);
        lane->ops += 2 * n_rows * op->w[0].cols * (t1 - t0);
    }
}

/* Scratch of one thread, cut in this order. */
typedef struct sl_linear_scratch_parts {
    unsigned char *act; /* narrow steps */
    sl_lanes *lanes;    /* [ceil(K / 32)] */
    float *tmp;         /* [K] */
    float *y;           /* a tile before its epilogue */
    void *product;
} sl_linear_scratch_parts;

static size_t cut_scratch(sl_linear_scratch_parts *p, unsigned char *base, const sl_op *op, const sl_env *env, size_t K)
{
    sl_act act = { 0 };
    const unsigned needs = needs_of(op, env, 1) | needs_of(op, env, SL_NARROW_ROWS);
    const size_t tr = op->epi == SL_EPI_QKV ? op->heads.C : TILE_ROWS_MAX;
    size_t at = 0;
    p->act = base;
    at += sl_act_cut(&act, NULL, SL_NARROW_ROWS, K, needs, true);
    p->lanes = base ? (sl_lanes *)(void *)(base + at) : NULL;
    at += sl_round_up(sl_div_up(K, 32) * sizeof *p->lanes, SL_MEM_ALIGN);
    p->tmp = base ? (float *)(void *)(base + at) : NULL;
    at += sl_round_up(K * sizeof(float), SL_MEM_ALIGN);
    p->y = base ? (float *)(void *)(base + at) : NULL;
    at += sl_round_up(2 * TILE_TOKENS * tr * sizeof(float), SL_MEM_ALIGN);
    p->product = base ? base + at : NULL;
    return at + sl_linear_scratch(env->k, K);
}

static void run(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_input in = input_of(g, op, lane);
    const bool wide = in.rows > SL_NARROW_ROWS;
    const bool prepared = in.made || in.needs != SL_NEED_F32;
    sl_linear_scratch_parts part = { 0 };
    cut_scratch(&part, lane->scratch, op, lane->env, in.K);

    sl_act act = { 0 };
    sl_act_cut(&act, wide ? lane->shared : part.act, in.rows, in.K, in.needs, in.made);
    float *own_f32 = (float *)act.f32;
    if (!in.made)
        act.f32 = in.x;
    if (prepared && !wide)
        prepare(op, lane, &in, &act, own_f32, part.tmp, 0, in.rows);
    if (prepared && wide) {
        for (size_t i; (i = sl_tiles_take(&lane->tiles[0]) * PREPARE_ROWS) < in.rows;)
            prepare(op, lane, &in, &act, own_f32, part.tmp, i, SL_MIN(i + PREPARE_ROWS, in.rows));
        sl_lane_barrier(lane, op);
    }
    if (in.needs & SL_NEED_LANES) { /* each thread for itself: it takes less time than a barrier */
        lane->env->k->turn(part.lanes, &act, 0);
        act.lanes = part.lanes;
    }
    run_tiles(g, op, lane, &act, in.rows, part.y, part.product);
}

static size_t shared_bytes(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    const sl_value_info *out = sl_graph_info(g, op->out[0]);
    const size_t rows = out->rows == SL_ROWS_TOKENS ? env->limits.n_tokens : env->limits.n_outputs;
    sl_act act = { 0 };
    /* A plan also runs shorter steps than its largest, whose forms may differ. */
    unsigned needs = needs_of(op, env, rows) | needs_of(op, env, SL_NARROW_ROWS + 1);
    return rows > SL_NARROW_ROWS
               ? sl_act_cut(&act, NULL, rows, sl_graph_info(g, op->in[0])->width, needs, op->pre != SL_PRE_NONE)
               : 0;
}

static size_t scratch_bytes(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    sl_linear_scratch_parts part = { 0 };
    return cut_scratch(&part, NULL, op, env, sl_graph_info(g, op->in[0])->width);
}

const sl_op_impl sl_linear_impl = { run, shared_bytes, scratch_bytes, fetch, begin };
