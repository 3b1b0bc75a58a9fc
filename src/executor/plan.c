#include "executor/plan.h"

#include <assert.h>
#include <string.h>
#include "base/num.h"

static bool reads(const sl_op *op, sl_value v)
{
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i] == v)
            return true;
    return false;
}

/* True when `op` reads what an operation since `from` makes. */
static bool depends(const sl_graph *g, size_t from, size_t i)
{
    for (size_t j = from; j < i; j++)
        for (uint32_t o = 0; o < g->op[j].n_out; o++)
            if (reads(&g->op[i], g->op[j].out[o]))
                return true;
    return false;
}

static void find_stages(sl_plan *p)
{
    size_t first = 0; /* operation of the running stage */
    for (size_t i = 1; i < p->graph.n_ops; i++) {
        p->barrier[i] = p->options.every_barrier || depends(&p->graph, first, i);
        p->stage[i] = p->stage[i - 1] + p->barrier[i];
        if (p->barrier[i])
            first = i;
    }
}

/* ---- placement --------------------------------------------------------------- */

/* A block of the workspace: a value or an operation's temporary. */
typedef struct sl_block {
    size_t bytes, at;
    uint32_t first, last; /* stages */
    size_t *result;
} sl_block;

/* The lowest offset where `b` meets none of the placed blocks that live at the same time. */
static size_t lowest_gap(const sl_block *b, const sl_block *placed, size_t n)
{
    size_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < n; i++) {
            const sl_block *o = &placed[i];
            const bool together = o->first <= b->last && b->first <= o->last;
            if (together && at < o->at + o->bytes && o->at < at + b->bytes) {
                at = o->at + o->bytes;
                moved = true;
            }
        }
    }
    return at;
}

/* Blocks come in the order of their first stage, so those that ended earlier need no second look. */
static void place(sl_plan *p, sl_block *block, size_t n)
{
    size_t live = 0; /* block[0..live) are kept in front: the ones that may still overlap */
    for (size_t i = 0; i < n; i++) {
        sl_block b = block[i];
        size_t kept = 0;
        for (size_t j = 0; j < live; j++)
            if (block[j].last >= b.first)
                block[kept++] = block[j];
        live = kept;
        b.at = lowest_gap(&b, block, live);
        *b.result = b.at;
        p->values_bytes = SL_MAX(p->values_bytes, b.at + b.bytes);
        block[live++] = b;
    }
}

static bool value_bytes(const sl_plan *p, sl_value v, size_t *out)
{
    const sl_value_info *info = sl_graph_info(&p->graph, v);
    const sl_limits *l = &p->graph.limits;
    const size_t rows = info->rows == SL_ROWS_TOKENS ? l->n_tokens : info->rows == SL_ROWS_OUTPUTS ? l->n_outputs : 1;
    size_t n = 0;
    if (!sl_mul_ok(rows, info->width, &n) || !sl_mul_ok(n, sizeof(float), &n) || n > SIZE_MAX / 4)
        return false;
    *out = sl_round_up(n, SL_MEM_ALIGN);
    return true;
}

/* The stage that uses a value last, be it the one that makes it: last [n_values]. */
static void find_last_uses(const sl_plan *p, uint32_t *last)
{
    for (size_t i = 0; i < p->graph.n_ops; i++) {
        const sl_op *op = &p->graph.op[i];
        for (uint32_t o = 0; o < op->n_out; o++)
            last[op->out[o]] = p->stage[i];
        for (uint32_t o = 0; o < op->n_in; o++)
            if (op->in[o] != SL_NO_VALUE)
                last[op->in[o]] = p->stage[i];
    }
}

/* Results of the last operation are read after the step. */
static sl_status place_all(sl_plan *p, sl_err *err)
{
    const sl_graph *g = &p->graph;
    sl_block *block = sl_arena_alloc(g->arena, g->n_values + g->n_ops, sizeof *block);
    uint32_t *last_use = sl_arena_alloc(g->arena, g->n_values + 1, sizeof *last_use);
    if (!block || !last_use)
        return sl_fail(err, SL_ENOMEM, "no memory to place %zu values", g->n_values);
    for (size_t v = 0; v < g->n_values; v++)
        p->value_at[v] = SIZE_MAX;
    find_last_uses(p, last_use);
    size_t n = 0;
    for (size_t i = 0; i < g->n_ops; i++) {
        const sl_op *op = &g->op[i];
        const uint32_t now = p->stage[i];
        for (uint32_t o = 0; o < op->n_out; o++) {
            size_t bytes = 0;
            if (!value_bytes(p, op->out[o], &bytes))
                return sl_fail(err, SL_EINVAL, "value %s of %zu tokens is larger than the address space",
                               sl_graph_info(g, op->out[o])->name, g->limits.n_tokens);
            if (bytes)
                block[n++] = (sl_block){ bytes, 0, now, last_use[op->out[o]], &p->value_at[op->out[o]] };
        }
        p->shared_at[i] = SIZE_MAX;
        const size_t shared = p->impl[i]->shared_bytes ? p->impl[i]->shared_bytes(g, op, &p->options.env) : 0;
        if (shared)
            block[n++] = (sl_block){ sl_round_up(shared, SL_MEM_ALIGN), 0, now, now, &p->shared_at[i] };
        const size_t scratch = p->impl[i]->scratch_bytes ? p->impl[i]->scratch_bytes(g, op, &p->options.env) : 0;
        p->scratch_bytes = SL_MAX(p->scratch_bytes, sl_round_up(scratch, 4096));
    }
    place(p, block, n);
    return SL_OK;
}

sl_status sl_plan_build(sl_plan *p, sl_arena *arena, const sl_net *net, const sl_plan_options *options, sl_err *err)
{
    sl_graph composite;
    *p = (sl_plan){ .options = *options };
    sl_graph_init(&composite, arena, &options->env.limits);
    composite.mla = options->mla;
    sl_graph_init(&p->graph, arena, &options->env.limits);
    net->arch->build(net, &composite);
    sl_graph_expand(&p->graph, &composite, options->fuse);
    sl_status rc;
    if ((rc = sl_graph_check(&composite, err)) || (rc = sl_graph_check(&p->graph, err)))
        return rc;
    const size_t n = p->graph.n_ops, n_values = p->graph.n_values;
    p->impl = sl_arena_alloc(arena, n, sizeof *p->impl);
    p->barrier = sl_arena_alloc(arena, n, sizeof *p->barrier);
    p->stage = sl_arena_alloc(arena, n, sizeof *p->stage);
    p->value_at = sl_arena_alloc(arena, n_values, sizeof *p->value_at);
    p->shared_at = sl_arena_alloc(arena, n, sizeof *p->shared_at);
    p->value = sl_arena_alloc(arena, n_values, sizeof *p->value);
    p->shared = sl_arena_alloc(arena, n, sizeof *p->shared);
    p->written = sl_arena_alloc(arena, options->env.limits.n_threads, 8 * sizeof *p->written);
    unsigned char *tiles = sl_arena_alloc(arena, n * SL_OP_PHASES + 1, sizeof *p->tiles);
    if (!p->impl || !p->barrier || !p->stage || !p->value_at || !p->shared_at || !p->value || !p->shared ||
        !p->written || !tiles)
        return sl_fail(err, SL_ENOMEM, "no memory for a plan of %zu operations", n);
    p->tiles = (sl_tiles *)(void *)(tiles + (SL_MEM_ALIGN - (uintptr_t)tiles % SL_MEM_ALIGN) % SL_MEM_ALIGN);
    for (size_t i = 0; i < n; i++)
        p->impl[i] = sl_op_impl_get(p->graph.op[i].kind);
    find_stages(p);
    return place_all(p, err);
}

size_t sl_plan_workspace(const sl_plan *p)
{
    return p->values_bytes + p->scratch_bytes * p->options.env.limits.n_threads;
}

void sl_plan_bind(sl_plan *p, void *workspace)
{
    unsigned char *base = workspace;
    for (size_t v = 0; v < p->graph.n_values; v++)
        p->value[v] = p->value_at[v] == SIZE_MAX ? NULL : (float *)(void *)(base + p->value_at[v]);
    for (size_t i = 0; i < p->graph.n_ops; i++)
        p->shared[i] = p->shared_at[i] == SIZE_MAX ? NULL : base + p->shared_at[i];
    p->scratch = base + p->values_bytes;
}

sl_plan_cost sl_plan_layer_cost(const sl_plan *p, int32_t layer)
{
    sl_plan_cost cost = { 0 };
    for (size_t i = 0; i < p->graph.n_ops; i++) {
        const sl_op *op = &p->graph.op[i];
        if (op->layer != layer)
            continue;
        cost.n_ops++;
        cost.barriers += p->barrier[i];
        for (uint32_t o = 0; o < op->n_out; o++)
            if (sl_graph_info(&p->graph, op->out[o])->rows == SL_ROWS_TOKENS)
                cost.written_bytes += sl_graph_info(&p->graph, op->out[o])->width * sizeof(float);
    }
    return cost;
}
