/* basic.c - embedding and rope table, and the operations that only an expanded plan has:
 * one pass each over rows of the workspace, shared by token. */
#include "module/basic.h"

#include <math.h>
#include <string.h>
#include "base/num.h"
#include "module/run.h"
#include "quant/quant.h"

#define TILE_TOKENS 4

sl_value sl_embed(sl_graph *g, const sl_tensor *table)
{
    const sl_value out = sl_graph_value(g, "embed", SL_ROWS_TOKENS, table->cols);
    sl_graph_append(
        g,
        &(sl_op){
            .kind = SL_OP_EMBED, .name = "embed", .layer = -1, .n_out = 1, .n_w = 1, .out = { out }, .w = { *table } });
    return out;
}

sl_value sl_rope_table(sl_graph *g, const float *inv_freq, size_t rope_dim, float scale)
{
    const sl_value out = sl_graph_value(g, "rope_table", SL_ROWS_TOKENS, rope_dim);
    sl_graph_append(g, &(sl_op){ .kind = SL_OP_ROPE_TABLE,
                                 .name = "rope_table",
                                 .layer = -1,
                                 .n_out = 1,
                                 .out = { out },
                                 .inv_freq = inv_freq,
                                 .rope_scale = scale });
    return out;
}

/* Rows of one value of an operation, and how wide they are. */
typedef struct sl_view {
    float *data;
    size_t width;
} sl_view;

static sl_view view(const sl_graph *g, const sl_lane *lane, sl_value v)
{
    return (sl_view){ lane->value[v], sl_graph_info(g, v)->width };
}

/* The next few rows for this thread; false when all are given out. */
static bool take_rows(const sl_graph *g, const sl_op *op, sl_lane *lane, size_t *t0, size_t *t1)
{
    const size_t rows =
        op->kind == SL_OP_KV_WRITE ? lane->step->n : sl_lane_rows(lane, sl_graph_info(g, op->out[0])->rows);
    *t0 = sl_tiles_take(&lane->tiles[0]) * TILE_TOKENS;
    if (*t0 >= rows)
        return false;
    *t1 = SL_MIN(*t0 + TILE_TOKENS, rows);
    for (uint32_t i = 0; i < op->n_out; i++)
        lane->written_bytes += (*t1 - *t0) * sl_graph_info(g, op->out[i])->width * sizeof(float);
    return true;
}

static void run_embed(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view out = view(g, lane, op->out[0]);
    const sl_tensor *w = &op->w[0];
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        for (size_t t = t0; t < t1; t++) {
            sl_quant_get(w->format)->decode(out.data + t * out.width, w, (size_t)lane->step->token[t], 0, w->cols);
            lane->read_bytes += sl_tensor_row_cost(w);
        }
}

/* In f32 throughout, as the reference computes it (Transformers, modeling_llama.py). */
static void run_rope_table(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view out = view(g, lane, op->out[0]);
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        for (size_t t = t0; t < t1; t++) {
            const float pos = (float)lane->step->pos[t];
            float *cs = out.data + t * out.width;
            for (size_t i = 0; i < out.width / 2; i++) {
                const float angle = pos * op->inv_freq[i];
                cs[2 * i] = cosf(angle) * op->rope_scale;
                cs[2 * i + 1] = sinf(angle) * op->rope_scale;
            }
        }
}

static void run_norm(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view in = view(g, lane, op->in[0]), out = view(g, lane, op->out[0]);
    const bool gather = sl_graph_info(g, op->in[0])->rows != sl_graph_info(g, op->out[0])->rows;
    const size_t n = op->latent.R ? op->latent.R : in.width;
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        for (size_t t = t0; t < t1; t++) {
            const float *x = in.data + (gather ? lane->step->output[t] : t) * in.width;
            float *y = out.data + t * out.width;
            lane->env->k->rms_norm(y, n, x, n, op->norm.weight, 1, n, op->norm.eps);
            memcpy(y + n, x + n, (in.width - n) * sizeof *y);
        }
}

/* in[i] to out[i] for q (i = 0) and k (i = 1), head by head. */
static void run_head_norm(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_heads *h = &op->heads;
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        for (uint32_t i = 0; i < 2; i++) {
            const sl_view in = view(g, lane, op->in[i]), out = view(g, lane, op->out[i]);
            lane->env->k->rms_norm(out.data + t0 * out.width, h->C, in.data + t0 * in.width, h->C,
                                   i ? h->k_norm : h->q_norm, (t1 - t0) * in.width / h->C, h->C, h->norm_eps);
        }
}

static void run_rope(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_heads *h = &op->heads;
    const sl_view cs = view(g, lane, op->in[op->n_out]);
    sl_rope_fn *rope = h->rope_adjacent ? lane->env->k->rope_adjacent : lane->env->k->rope_half;
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        for (uint32_t i = 0; i < op->n_out; i++) {
            const sl_view in = view(g, lane, op->in[i]), out = view(g, lane, op->out[i]);
            memcpy(out.data + t0 * out.width, in.data + t0 * in.width, (t1 - t0) * in.width * sizeof(float));
            for (size_t t = t0; t < t1; t++)
                for (size_t c = 0; c < out.width; c += h->C)
                    rope(out.data + t * out.width + c + h->rope_at, cs.data + t * cs.width, h->rope_dim);
        }
}

static void run_kv_write(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view kin = view(g, lane, op->in[0]), vin = view(g, lane, op->in[op->n_in - 1]);
    const sl_step *step = lane->step;
    const sl_kv_shape *s = sl_kv_get_shape(lane->kv);
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        for (size_t t = t0; t < t1; t++) {
            const uint32_t page = sl_step_page(step, step->seq[t], step->pos[t], s->P);
            for (size_t h = 0; h < s->n_heads; h++) {
                const sl_kv_head kh = sl_kv_k(lane->kv, page, (size_t)op->layer, h);
                lane->env->k->kv_write_k[s->layout][s->type](&kh, step->pos[t] % s->P,
                                                             kin.data + t * kin.width + h * s->C);
                if (s->latent)
                    continue; /* the row is the value too */
                const sl_kv_head vh = sl_kv_v(lane->kv, page, (size_t)op->layer, h);
                lane->env->k->kv_write_v[s->type](&vh, step->pos[t] % s->P, vin.data + t * vin.width + h * s->C);
            }
        }
}

static void run_add(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view a = view(g, lane, op->in[0]), b = view(g, lane, op->in[1]), out = view(g, lane, op->out[0]);
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        lane->env->k->add(out.data + t0 * out.width, a.data + t0 * a.width, b.data + t0 * b.width,
                          (t1 - t0) * out.width);
}

static void run_mul(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view a = view(g, lane, op->in[0]), b = view(g, lane, op->in[1]), out = view(g, lane, op->out[0]);
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        lane->env->k->mul(out.data + t0 * out.width, a.data + t0 * a.width, b.data + t0 * b.width,
                          (t1 - t0) * out.width);
}

static void run_clamped_glu(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view gate = view(g, lane, op->in[0]), up = view(g, lane, op->in[1]), out = view(g, lane, op->out[0]);
    const sl_glu *glu = &op->mixture->glu;
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        lane->env->k->clamped_glu(out.data + t0 * out.width, gate.data + t0 * gate.width, up.data + t0 * up.width,
                                  (t1 - t0) * out.width, glu->limit, glu->alpha);
}

static void run_silu(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_view in = view(g, lane, op->in[0]), out = view(g, lane, op->out[0]);
    for (size_t t0, t1; take_rows(g, op, lane, &t0, &t1);)
        lane->env->k->silu(out.data + t0 * out.width, in.data + t0 * in.width, (t1 - t0) * out.width);
}

const sl_op_impl sl_embed_impl = { run_embed, NULL, NULL };
const sl_op_impl sl_rope_table_impl = { run_rope_table, NULL, NULL };
const sl_op_impl sl_norm_impl = { run_norm, NULL, NULL };
const sl_op_impl sl_head_norm_impl = { run_head_norm, NULL, NULL };
const sl_op_impl sl_rope_impl = { run_rope, NULL, NULL };
const sl_op_impl sl_kv_write_impl = { run_kv_write, NULL, NULL };
const sl_op_impl sl_add_impl = { run_add, NULL, NULL };
const sl_op_impl sl_mul_impl = { run_mul, NULL, NULL };
const sl_op_impl sl_clamped_glu_impl = { run_clamped_glu, NULL, NULL };
const sl_op_impl sl_silu_impl = { run_silu, NULL, NULL };
