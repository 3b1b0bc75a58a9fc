/* mixture_basic.c - what a mixture of experts is made of, where it is not fused: plain, and the meaning of the rest. */
#include "base/num.h"
#include "module/act.h"
#include "module/route.h"
#include "module/run.h"

/* The next token for this thread; false when all are given out. */
static bool take_token(const sl_graph *g, const sl_op *op, sl_lane *lane, size_t *t)
{
    *t = sl_tiles_take(&lane->tiles[0]);
    if (*t >= lane->step->n)
        return false;
    lane->written_bytes += sl_graph_info(g, op->out[0])->width * sizeof(float);
    return true;
}

static void run_route(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_router *r = &op->mixture->router;
    int32_t *ids = lane->scratch;
    void *scratch = (unsigned char *)lane->scratch + sl_round_up(r->K * sizeof *ids, SL_MEM_ALIGN);
    for (size_t t; take_token(g, op, lane, &t);) {
        float *picks = lane->value[op->out[0]] + t * 2 * r->K;
        sl_route(r, lane->value[op->in[0]] + t * r->E, ids, picks + r->K, scratch);
        for (size_t s = 0; s < r->K; s++)
            picks[s] = (float)ids[s];
    }
}

static size_t route_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g, (void)env;
    return sl_round_up(op->mixture->router.K * sizeof(int32_t), SL_MEM_ALIGN) + sl_route_scratch(&op->mixture->router);
}

static const sl_tensor *matrices(const sl_op *op)
{
    const sl_mixture *m = op->mixture;
    return op->part == SL_EXPERT_GATE ? m->gate : op->part == SL_EXPERT_UP ? m->up : m->down;
}

static const float *biases(const sl_op *op)
{
    const sl_mixture *m = op->mixture;
    return op->part == SL_EXPERT_GATE ? m->gate_bias : op->part == SL_EXPERT_UP ? m->up_bias : m->down_bias;
}

/* One slot of one token at a time. */
static void run_experts(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_kernels *k = lane->env->k;
    const size_t K = op->mixture->router.K, width = sl_graph_info(g, op->in[0])->width;
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < lane->step->n * K;) {
        const size_t t = i / K, slot = i % K;
        const size_t expert = (size_t)lane->value[op->in[1]][t * 2 * K + slot];
        const sl_tensor *w = &matrices(op)[expert];
        const float *bias = biases(op);
        float *y = lane->value[op->out[0]] + i * w->rows;
        const float *x = lane->value[op->in[0]] + t * width + (op->part == SL_EXPERT_DOWN ? slot * w->cols : 0);
        sl_act act = { 0 };
        const unsigned needs = sl_linear_needs(k, lane->env->act, w->format, 1);
        const size_t at = sl_act_cut(&act, lane->scratch, 1, w->cols, needs, false);
        act.f32 = x;
        sl_act_fill(k, &act, 0, 1);
        sl_linear(k, lane->env->act, y, w->rows, w, 0, w->rows, NULL, &act, 0, 1, (unsigned char *)lane->scratch + at);
        if (bias)
            k->add(y, y, bias + expert * w->rows, w->rows);
        lane->read_bytes += w->rows * sl_tensor_row_cost(w);
        lane->ops += 2 * w->rows * w->cols;
        lane->written_bytes += w->rows * sizeof(float);
    }
}

static size_t experts_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    const size_t cols = matrices(op)->cols;
    sl_act act = { 0 };
    (void)g;
    return sl_act_cut(&act, NULL, 1, cols, SL_NEED_Q8 | SL_NEED_Q16 | SL_NEED_ROUNDED, false) +
           sl_linear_scratch(env->k, cols);
}

static void run_combine(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_kernels *k = lane->env->k;
    const size_t K = op->mixture->router.K, D = sl_graph_info(g, op->out[0])->width;
    for (size_t t; take_token(g, op, lane, &t);) {
        const float *weights = lane->value[op->in[1]] + t * 2 * K + K, *y = lane->value[op->in[0]] + t * K * D;
        float *out = lane->value[op->out[0]] + t * D;
        k->scale(out, y, weights[0], D);
        for (size_t s = 1; s < K; s++)
            k->add_scaled(out, y + s * D, weights[s], D);
    }
}

static void run_gate(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const size_t D = sl_graph_info(g, op->out[0])->width;
    for (size_t t; take_token(g, op, lane, &t);)
        lane->env->k->scale(lane->value[op->out[0]] + t * D, lane->value[op->in[0]] + t * D,
                            sl_sigmoid(lane->value[op->in[1]][t]), D);
}

const sl_op_impl sl_route_impl = { run_route, NULL, route_scratch };
const sl_op_impl sl_experts_impl = { run_experts, NULL, experts_scratch };
const sl_op_impl sl_combine_impl = { run_combine, NULL, NULL };
const sl_op_impl sl_gate_impl = { run_gate, NULL, NULL };
