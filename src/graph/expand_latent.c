/* expand_latent.c - latent attention as basic operations. */
#include "graph/expand_in.h"

static sl_value rotated(sl_graph *g, const sl_op *from, sl_value x, sl_value cs)
{
    sl_op op = { .kind = SL_OP_ROPE, .name = "rope", .layer = from->layer, .n_in = 2, .n_out = 1 };
    op.heads = from->heads;
    op.in[0] = x;
    op.in[1] = cs;
    op.out[0] = sl_graph_value(g, "rotated", SL_ROWS_TOKENS, sl_graph_info(g, x)->width);
    sl_graph_append(g, &op);
    return op.out[0];
}

static void expand_write(sl_graph *g, const sl_op *op)
{
    sl_op norm = { .kind = SL_OP_NORM, .name = "norm", .layer = op->layer, .n_in = 1, .n_out = 1, .norm = op->norm };
    norm.latent = op->latent;
    norm.in[0] = op->in[0];
    norm.out[0] = sl_graph_value(g, "latent", SL_ROWS_TOKENS, op->heads.C);
    sl_graph_append(g, &norm);
    sl_op write = { .kind = SL_OP_KV_WRITE, .name = "kv_write", .layer = op->layer, .n_in = 1, .n_out = 1 };
    write.heads = op->heads;
    write.in[0] = rotated(g, op, norm.out[0], op->in[1]);
    write.out[0] = op->out[0];
    sl_graph_append(g, &write);
}

static void expand_attention(sl_graph *g, const sl_op *op)
{
    sl_op step = *op;
    step.n_in = 2;
    step.kind = SL_OP_LATENT_SCORES;
    step.name = sl_op_kind_name(step.kind);
    step.in[0] = rotated(g, op, op->in[0], op->in[2]);
    step.out[0] = sl_graph_value(g, "scores", SL_ROWS_TOKENS, op->heads.H * g->limits.n_ctx);
    sl_graph_append(g, &step);
    step.in[0] = sl_expand_softmax(g, op, step.out[0]);
    step.kind = SL_OP_LATENT_SUM;
    step.name = sl_op_kind_name(step.kind);
    step.out[0] = op->out[0];
    sl_graph_append(g, &step);
}

void sl_expand_latent(sl_graph *g, const sl_op *composite)
{
    sl_op op = *composite;
    switch (op.kind) {
    case SL_OP_LATENT_WRITE:
        expand_write(g, &op);
        break;
    case SL_OP_LATENT_ATTENTION:
        expand_attention(g, &op);
        break;
    case SL_OP_ABSORB:
        op.in[0] = rotated(g, &op, op.in[0], op.in[1]);
        op.n_in = 1;
        sl_graph_append(g, &op);
        break;
    default: /* HEAD_VALUES, whose input has no partial results then */
        op.pre = SL_PRE_NONE;
        op.n_in = 1;
        sl_graph_append(g, &op);
    }
}
