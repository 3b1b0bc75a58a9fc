/* measured.c - what the measuring side asks of an engine: its trace, its operations, sequences that hold something. */
#include <assert.h>
#include "base/num.h"
#include "executor/engine.h"
#include "executor/engine_in.h"
#include "executor/model.h"

const sl_trace *sl_engine_trace(const sl_engine *e)
{
    return e->trace;
}

/* Fused, they are prologues and epilogues of others. */
static bool vanishes(sl_op_kind kind)
{
    static const bool small[SL_OP_COUNT] = {
        [SL_OP_NORM] = true,    [SL_OP_HEAD_NORM] = true, [SL_OP_ROPE] = true, [SL_OP_KV_WRITE] = true,
        [SL_OP_SOFTMAX] = true, [SL_OP_ADD] = true,       [SL_OP_SILU] = true, [SL_OP_MUL] = true,
        [SL_OP_ROUTE] = true,   [SL_OP_COMBINE] = true,   [SL_OP_GATE] = true,
    };
    return small[kind];
}

static void add_weights(sl_engine_op *out, const sl_engine *e, const sl_tensor *w, size_t times)
{
    const sl_panel *panel = &e->kernels.panel[w->format][e->settings.plan.env.act];
    if (!out->format) {
        out->format = sl_format_name(w->format);
        out->int8 = panel->needs & (SL_NEED_Q8 | SL_NEED_T8);
        out->slow = !panel->narrow;
    }
    out->weight_bytes += times * w->rows * sl_tensor_row_cost(w);
    out->n_weights += times * w->rows * w->cols;
}

/* Of the matrix that makes keys and values of latents, so many rows of each head, with f32 activations. */
static void add_head_rows(sl_engine_op *out, const sl_engine *e, const sl_op *op, size_t rows)
{
    const sl_tensor *w = &op->w[0];
    out->format = sl_format_name(w->format);
    out->slow = !e->kernels.panel[w->format][SL_ACT_F32].narrow;
    out->weight_bytes += op->heads.H * rows * sl_tensor_row_cost(w);
    out->n_weights += op->heads.H * rows * w->cols;
}

size_t sl_engine_op_count(const sl_engine *e)
{
    return e->plan.graph.n_ops;
}

void sl_engine_describe_op(const sl_engine *e, size_t i, sl_engine_op *out)
{
    const sl_op *op = &e->plan.graph.op[i];
    const sl_mixture *m = op->mixture;
    *out = (sl_engine_op){ .name = op->name, .layer = op->layer, .vanishes = vanishes(op->kind) };
    out->reads_kv = op->kind == SL_OP_ATTENTION || op->kind == SL_OP_SCORES || op->kind == SL_OP_WEIGHTED_SUM ||
                    op->kind == SL_OP_LATENT_ATTENTION || op->kind == SL_OP_LATENT_SCORES ||
                    op->kind == SL_OP_LATENT_SUM;
    for (uint32_t w = 0; w < op->n_w && op->kind == SL_OP_LINEAR; w++)
        add_weights(out, e, &op->w[w], 1);
    if (op->kind == SL_OP_ABSORB)
        add_head_rows(out, e, op, op->latent.N);
    if (op->kind == SL_OP_HEAD_VALUES)
        add_head_rows(out, e, op, op->latent.V);
    /* Of experts those of one token. */
    if (op->kind == SL_OP_MIXTURE || (op->kind == SL_OP_EXPERTS && op->part == SL_EXPERT_GATE))
        add_weights(out, e, &m->gate[0], m->router.K);
    if (op->kind == SL_OP_MIXTURE || (op->kind == SL_OP_EXPERTS && op->part == SL_EXPERT_UP))
        add_weights(out, e, &m->up[0], m->router.K);
    if (op->kind == SL_OP_MIXTURE || (op->kind == SL_OP_EXPERTS && op->part == SL_EXPERT_DOWN))
        add_weights(out, e, &m->down[0], m->router.K);
}

sl_status sl_engine_plan_size(const sl_engine *e, bool fused, bool graph, sl_engine_size *out, sl_err *err)
{
    sl_plan_options o = e->settings.plan;
    sl_arena arena;
    sl_plan plan;
    o.fuse = fused ? SL_FUSE_ALL : o.fuse;
    o.every_barrier = graph ? false : o.every_barrier;
    *out = (sl_engine_size){ 0 };
    sl_arena_init(&arena, 1 << 18);
    const sl_status rc = sl_plan_build(&plan, &arena, e->net, &o, err);
    for (size_t i = 0; !rc && i < plan.graph.n_ops; i++) {
        out->ops++;
        out->barriers += plan.barrier[i];
        out->products += plan.graph.op[i].kind == SL_OP_LINEAR;
    }
    sl_arena_fini(&arena);
    return rc;
}

/* ---- sequences that hold something ---- */

/* One random vector for each position, head and layer, from -1 to 1. */
static void fill_head(sl_engine *e, uint32_t page, size_t layer, size_t head, size_t n, float *x, uint64_t *seed)
{
    const sl_kv_shape *s = &e->settings.kv;
    const sl_kv_head k = sl_kv_k(e->kv, page, layer, head), v = sl_kv_v(e->kv, page, layer, head);
    for (size_t at = 0; at < n; at++) {
        for (size_t c = 0; c < s->C; c++) {
            *seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX, far quicker than sl_rng */
            x[c] = (float)(int32_t)(*seed >> 32) * 0x1p-31f;
        }
        e->kernels.kv_write_k[s->layout][s->type](&k, at, x);
        e->kernels.kv_write_v[s->type](&v, at, x);
    }
}

void sl_engine_fill(sl_engine *e, size_t seq, size_t n, uint64_t seed)
{
    const sl_kv_shape *s = &e->settings.kv;
    sl_slot *slot = &e->slot[seq];
    assert(!slot->job && !slot->n_pos && n <= e->settings.n_ctx);
    uint32_t *table = e->table + seq * e->settings.pages_per_seq;
    float *x = e->workspace.data; /* between steps nothing else is there; a row of queries is longer than C */
    for (size_t page = 0; page < sl_div_up(n, s->P); page++) {
        table[page] = sl_kv_page_take(e->kv);
        for (size_t i = 0; i < s->n_layers * s->n_heads; i++)
            fill_head(e, table[page], i / s->n_heads, i % s->n_heads, SL_MIN(s->P, n - page * s->P), x, &seed);
    }
    slot->n_pos = n;
}
