/* expand.c - composites written out as basic operations: the meaning of each fusion, and its test. */
#include "graph/expand_in.h"

/* A LINEAR without prologue and epilogue. */
static sl_value plain_linear(sl_graph *g, const sl_op *from, const char *name, sl_value in, sl_rows rows)
{
    const sl_value out = sl_graph_value(g, name, rows, from->w[0].rows);
    sl_op op = { .kind = SL_OP_LINEAR, .name = name, .layer = from->layer, .n_in = 1, .n_out = 1, .n_w = 1 };
    op.in[0] = in;
    op.out[0] = out;
    op.w[0] = from->w[0];
    op.bias[0] = from->bias[0];
    sl_graph_append(g, &op);
    return out;
}

sl_value sl_expand_elementwise(sl_graph *g, const sl_op *from, sl_op_kind kind, sl_value a, sl_value b, sl_value out)
{
    sl_op op = {
        .kind = kind, .name = sl_op_kind_name(kind), .layer = from->layer, .n_in = b == SL_NO_VALUE ? 1 : 2, .n_out = 1
    };
    op.in[0] = a;
    op.in[1] = b;
    op.out[0] = out;
    sl_graph_append(g, &op);
    return out;
}

void sl_expand_norm(sl_graph *g, sl_op *op)
{
    const sl_value_info in = *sl_graph_info(g, op->in[0]);
    const sl_rows rows = sl_graph_info(g, op->out[0])->rows;
    const sl_value out = sl_graph_value(g, "norm", rows, in.width);
    sl_op norm = { .kind = SL_OP_NORM, .name = "norm", .layer = op->layer, .n_in = 1, .n_out = 1, .norm = op->norm };
    norm.in[0] = op->in[0];
    norm.out[0] = out;
    sl_graph_append(g, &norm);
    op->in[0] = out;
    op->pre = SL_PRE_NONE;
}

/* q and k through an operation that keeps their shapes. */
static void on_q_and_k(sl_graph *g, const sl_op *from, sl_op_kind kind, sl_value cs, sl_value q_out, sl_value *q,
                       sl_value *k)
{
    sl_op op = {
        .kind = kind, .name = sl_op_kind_name(kind), .layer = from->layer, .n_in = 2, .n_out = 2, .heads = from->heads
    };
    op.in[0] = *q;
    op.in[1] = *k;
    if (cs != SL_NO_VALUE)
        op.in[op.n_in++] = cs;
    op.out[0] = q_out != SL_NO_VALUE ? q_out : sl_graph_value(g, "q", SL_ROWS_TOKENS, from->heads.H * from->heads.C);
    op.out[1] = sl_graph_value(g, "k", SL_ROWS_TOKENS, from->heads.Hkv * from->heads.C);
    sl_graph_append(g, &op);
    *q = op.out[0];
    *k = op.out[1];
}

static void expand_qkv(sl_graph *g, const sl_op *op)
{
    /* A norm that stays fused is then a prologue of each of the three. */
    sl_value y[3] = { 0 };
    static const char *const name[3] = { "q", "k", "v" };
    for (uint32_t i = 0; i < 3; i++) {
        sl_op one = *op;
        one.name = name[i];
        one.epi = SL_EPI_NONE;
        one.n_in = one.n_out = one.n_w = 1;
        one.w[0] = op->w[i];
        one.bias[0] = op->bias[i];
        one.out[0] = y[i] = sl_graph_value(g, name[i], SL_ROWS_TOKENS, op->w[i].rows);
        sl_graph_append(g, &one);
    }
    if (op->heads.q_norm)
        on_q_and_k(g, op, SL_OP_HEAD_NORM, SL_NO_VALUE, SL_NO_VALUE, &y[0], &y[1]);
    on_q_and_k(g, op, SL_OP_ROPE, op->in[1], op->out[0], &y[0], &y[1]);
    sl_op write = {
        .kind = SL_OP_KV_WRITE, .name = "kv_write", .layer = op->layer, .n_in = 2, .n_out = 1, .heads = op->heads
    };
    write.in[0] = y[1];
    write.in[1] = y[2];
    write.out[0] = op->out[1];
    sl_graph_append(g, &write);
}

sl_value sl_expand_softmax(sl_graph *g, const sl_op *from, sl_value scores)
{
    const sl_value p = sl_graph_value(g, "probabilities", SL_ROWS_TOKENS, from->heads.H * g->limits.n_ctx);
    sl_op softmax = {
        .kind = SL_OP_SOFTMAX, .name = "softmax", .layer = from->layer, .n_in = 1, .n_out = 1, .heads = from->heads
    };
    softmax.in[0] = scores;
    softmax.out[0] = p;
    sl_graph_append(g, &softmax);
    return p;
}

static void expand_attention(sl_graph *g, const sl_op *op)
{
    const size_t width = op->heads.H * g->limits.n_ctx;
    sl_op step = { .layer = op->layer, .n_in = 2, .n_out = 1, .heads = op->heads };
    step.kind = SL_OP_SCORES;
    step.name = "scores";
    step.in[0] = op->in[0];
    step.in[1] = op->in[1];
    step.out[0] = sl_graph_value(g, "scores", SL_ROWS_TOKENS, width);
    sl_graph_append(g, &step);

    step.in[0] = sl_expand_softmax(g, op, step.out[0]);
    step.kind = SL_OP_WEIGHTED_SUM;
    step.name = "weighted_sum";
    step.out[0] = op->out[0];
    sl_graph_append(g, &step);
}

static void expand_swiglu(sl_graph *g, const sl_op *op)
{
    const size_t width = op->w[0].rows;
    sl_value y[2] = { 0 };
    static const char *const name[2] = { "gate", "up" };
    for (uint32_t i = 0; i < 2; i++) {
        sl_op one = *op;
        one.name = name[i];
        one.epi = SL_EPI_NONE;
        one.n_w = 1;
        one.w[0] = op->w[i];
        one.bias[0] = op->bias[i];
        one.out[0] = y[i] = sl_graph_value(g, name[i], SL_ROWS_TOKENS, width);
        sl_graph_append(g, &one);
    }
    const sl_value act = sl_graph_value(g, "silu", SL_ROWS_TOKENS, width);
    sl_expand_elementwise(g, op, SL_OP_SILU, y[0], SL_NO_VALUE, act);
    sl_expand_elementwise(g, op, SL_OP_MUL, act, y[1], op->out[0]);
}

static void expand_linear(sl_graph *g, const sl_op *composite, unsigned fuse)
{
    sl_op op = *composite;
    if (op.pre == SL_PRE_NORM && !(fuse & SL_FUSE_NORM))
        sl_expand_norm(g, &op);
    if (fuse & op.group || op.epi == SL_EPI_NONE) {
        sl_graph_append(g, &op);
        return;
    }
    switch (op.epi) {
    case SL_EPI_QKV:
        expand_qkv(g, &op);
        break;
    case SL_EPI_SWIGLU:
        expand_swiglu(g, &op);
        break;
    default: {
        const sl_value y = plain_linear(g, &op, op.name, op.in[0], SL_ROWS_TOKENS);
        sl_expand_elementwise(g, &op, SL_OP_ADD, y, op.in[1], op.out[0]);
        break;
    }
    }
}

static void expand_mixture(sl_graph *g, const sl_op *composite, unsigned fuse)
{
    sl_op op = *composite;
    if (!(fuse & op.group)) {
        sl_expand_mixture(g, &op);
        return;
    }
    if (op.pre == SL_PRE_NORM && !(fuse & SL_FUSE_NORM))
        sl_expand_norm(g, &op);
    sl_graph_append(g, &op);
}

static bool of_latents(sl_op_kind kind)
{
    return kind == SL_OP_LATENT_WRITE || kind == SL_OP_LATENT_ATTENTION || kind == SL_OP_ABSORB ||
           kind == SL_OP_HEAD_VALUES;
}

void sl_graph_expand(sl_graph *out, const sl_graph *in, unsigned fuse)
{
    for (size_t v = 0; v < in->n_values; v++) /* the same numbers in both lists */
        sl_graph_value(out, in->value[v].name, in->value[v].rows, in->value[v].width);
    for (size_t i = 0; i < in->n_ops && !out->failed; i++) {
        const sl_op *op = &in->op[i];
        if (op->kind == SL_OP_LINEAR)
            expand_linear(out, op, fuse);
        else if (op->kind == SL_OP_MIXTURE)
            expand_mixture(out, op, fuse);
        else if (op->kind == SL_OP_ATTENTION && !(fuse & SL_FUSE_ATTN))
            expand_attention(out, op);
        else if (of_latents(op->kind) && !(fuse & SL_FUSE_ATTN))
            sl_expand_latent(out, op);
        else
            sl_graph_append(out, op);
    }
}
