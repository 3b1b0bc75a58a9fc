/* expand_mixture.c - a mixture of experts as basic operations. It is expanded as a whole: with --fusion norm its norm
 * is an operation all the same, since experts take no prologue of their own. */
#include "graph/expand_in.h"

static sl_value matrix(sl_graph *g, const sl_op *from, const char *name, const sl_proj *w, sl_value in)
{
    sl_op op = { .kind = SL_OP_LINEAR, .name = name, .layer = from->layer, .n_in = 1, .n_out = 1, .n_w = 1 };
    op.in[0] = in;
    op.out[0] = sl_graph_value(g, name, SL_ROWS_TOKENS, w->w.rows);
    op.w[0] = w->w;
    op.bias[0] = w->bias;
    sl_graph_append(g, &op);
    return op.out[0];
}

/* The router's products and weights of a shared expert are f32, whatever the activations of the rest. */
static sl_value exact_matrix(sl_graph *g, const sl_op *from, const char *name, const sl_proj *w, sl_value in)
{
    const sl_value out = matrix(g, from, name, w, in);
    if (!g->failed)
        g->op[g->n_ops - 1].exact = true;
    return out;
}

static sl_value of_mixture(sl_graph *g, const sl_op *from, sl_op_kind kind, const char *name, sl_value a, sl_value b,
                           size_t width)
{
    sl_op op = { .kind = kind, .name = name, .layer = from->layer, .n_out = 1, .mixture = from->mixture };
    op.in[op.n_in++] = a;
    if (b != SL_NO_VALUE)
        op.in[op.n_in++] = b;
    op.out[0] = sl_graph_value(g, name, SL_ROWS_TOKENS, width);
    sl_graph_append(g, &op);
    return op.out[0];
}

static sl_value experts(sl_graph *g, const sl_op *from, sl_expert_part part, sl_value in, sl_value picks)
{
    static const char *const name[] = { "expert_gate", "expert_up", "expert_down" };
    const sl_mixture *m = from->mixture;
    const sl_value out = of_mixture(g, from, SL_OP_EXPERTS, name[part], in, picks,
                                    m->router.K * (part == SL_EXPERT_DOWN ? m->route.cols : m->F));
    if (!g->failed)
        g->op[g->n_ops - 1].part = part;
    return out;
}

static sl_value glu(sl_graph *g, const sl_op *from, sl_value gate, sl_value up, size_t width)
{
    if (from->mixture->glu.limit > 0.0f)
        return of_mixture(g, from, SL_OP_CLAMPED_GLU, "glu", gate, up, width);
    const sl_value act = sl_graph_value(g, "silu", SL_ROWS_TOKENS, width);
    const sl_value out = sl_graph_value(g, "mul", SL_ROWS_TOKENS, width);
    sl_expand_elementwise(g, from, SL_OP_SILU, gate, SL_NO_VALUE, act);
    return sl_expand_elementwise(g, from, SL_OP_MUL, act, up, out);
}

static sl_value shared_expert(sl_graph *g, const sl_op *op, sl_value x)
{
    const sl_mixture *m = op->mixture;
    const sl_value gate = matrix(g, op, "shared_gate", &(sl_proj){ m->shared_gate, NULL }, x);
    const sl_value up = matrix(g, op, "shared_up", &(sl_proj){ m->shared_up, NULL }, x);
    const sl_value inner = glu(g, op, gate, up, m->shared_gate.rows);
    const sl_value y = matrix(g, op, "shared_down", &(sl_proj){ m->shared_down, NULL }, inner);
    if (!m->shared_mix.data)
        return y;
    const sl_value mix = exact_matrix(g, op, "shared_mix", &(sl_proj){ m->shared_mix, NULL }, x);
    return of_mixture(g, op, SL_OP_GATE, "gate", y, mix, m->route.cols);
}

void sl_expand_mixture(sl_graph *g, const sl_op *composite)
{
    sl_op op = *composite;
    const sl_mixture *m = op.mixture;
    const size_t D = m->route.cols, K = m->router.K;
    if (op.pre == SL_PRE_NORM)
        sl_expand_norm(g, &op);
    const sl_value x = op.in[0];
    const sl_value logits = exact_matrix(g, &op, "router", &(sl_proj){ m->route, m->route_bias }, x);
    const sl_value picks = of_mixture(g, &op, SL_OP_ROUTE, "route", logits, SL_NO_VALUE, 2 * K);
    const sl_value gate = experts(g, &op, SL_EXPERT_GATE, x, picks), up = experts(g, &op, SL_EXPERT_UP, x, picks);
    const sl_value y = experts(g, &op, SL_EXPERT_DOWN, glu(g, &op, gate, up, K * m->F), picks);
    sl_value sum = of_mixture(g, &op, SL_OP_COMBINE, "combine", y, picks, D);
    if (m->shared_gate.data) {
        const sl_value shared = shared_expert(g, &op, x);
        sum = sl_expand_elementwise(g, &op, SL_OP_ADD, sum, shared, sl_graph_value(g, "sum", SL_ROWS_TOKENS, D));
    }
    sl_expand_elementwise(g, &op, SL_OP_ADD, sum, op.in[1], op.out[0]);
}
