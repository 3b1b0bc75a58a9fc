#include "graph/graph.h"

#include <assert.h>
#include <string.h>

void sl_graph_init(sl_graph *g, sl_arena *arena, const sl_limits *limits)
{
    *g = (sl_graph){ .limits = *limits, .arena = arena };
}

/* The old array stays in the arena: lists grow a few times, once per plan. */
static void *grow(sl_graph *g, void *old, size_t n, size_t *cap, size_t size)
{
    if (g->failed)
        return NULL;
    if (n < *cap)
        return old;
    const size_t bigger = *cap ? *cap * 2 : 64;
    void *block = sl_arena_alloc(g->arena, bigger, size);
    if (!block) {
        g->failed = true;
        return NULL;
    }
    if (n)
        memcpy(block, old, n * size);
    *cap = bigger;
    return block;
}

sl_value sl_graph_value(sl_graph *g, const char *name, sl_rows rows, size_t width)
{
    sl_value_info *list = grow(g, g->value, g->n_values, &g->cap_values, sizeof *g->value);
    if (!list)
        return SL_NO_VALUE;
    g->value = list;
    list[g->n_values] = (sl_value_info){ .name = name, .rows = rows, .width = width };
    return (sl_value)g->n_values++;
}

void sl_graph_append(sl_graph *g, const sl_op *op)
{
    sl_op *list = grow(g, g->op, g->n_ops, &g->cap_ops, sizeof *g->op);
    if (!list)
        return;
    g->op = list;
    for (uint32_t i = 0; i < op->n_in; i++)
        assert(op->in[i] >= 0 && (size_t)op->in[i] < g->n_values);
    for (uint32_t i = 0; i < op->n_out; i++)
        assert(op->out[i] >= 0 && (size_t)op->out[i] < g->n_values);
    list[g->n_ops++] = *op;
}

sl_status sl_graph_check(const sl_graph *g, sl_err *err)
{
    return g->failed ? sl_fail(err, SL_ENOMEM, "no memory for the list of operations") : SL_OK;
}

const char *sl_op_kind_name(sl_op_kind kind)
{
    static const char *const name[SL_OP_COUNT] = {
        [SL_OP_ROPE_TABLE] = "rope_table",
        [SL_OP_EMBED] = "embed",
        [SL_OP_LINEAR] = "linear",
        [SL_OP_ATTENTION] = "attention",
        [SL_OP_NORM] = "norm",
        [SL_OP_HEAD_NORM] = "head_norm",
        [SL_OP_ROPE] = "rope",
        [SL_OP_KV_WRITE] = "kv_write",
        [SL_OP_SCORES] = "scores",
        [SL_OP_SOFTMAX] = "softmax",
        [SL_OP_WEIGHTED_SUM] = "weighted_sum",
        [SL_OP_ADD] = "add",
        [SL_OP_SILU] = "silu",
        [SL_OP_MUL] = "mul",
        [SL_OP_CLAMPED_GLU] = "clamped_glu",
        [SL_OP_MIXTURE] = "mixture",
        [SL_OP_ROUTE] = "route",
        [SL_OP_EXPERTS] = "experts",
        [SL_OP_COMBINE] = "combine",
        [SL_OP_GATE] = "gate",
        [SL_OP_LATENT_WRITE] = "latent_write",
        [SL_OP_LATENT_ATTENTION] = "latent_attention",
        [SL_OP_LATENT_SCORES] = "latent_scores",
        [SL_OP_LATENT_SUM] = "latent_sum",
        [SL_OP_ABSORB] = "absorb",
        [SL_OP_HEAD_VALUES] = "head_values",
    };
    assert((size_t)kind < SL_OP_COUNT);
    return name[kind];
}
