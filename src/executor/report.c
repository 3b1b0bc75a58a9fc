#include "executor/report.h"

#include <string.h>
#include "base/num.h"

static const char *prologue_name(const sl_op *op)
{
    return op->pre == SL_PRE_NORM ? "norm + " : op->pre == SL_PRE_MERGE ? "merge + " : "";
}

static const char *epilogue_name(const sl_op *op)
{
    static const char *const name[] = {
        [SL_EPI_NONE] = "",
        [SL_EPI_ADD] = " + add",
        [SL_EPI_SWIGLU] = " + silu, mul",
        [SL_EPI_QKV] = " + rope, KV write",
    };
    return op->epi == SL_EPI_QKV && op->heads.q_norm ? " + head norm, rope, KV write" : name[op->epi];
}

/* Its matrices are those of many experts. */
static void print_mixture(const sl_plan *p, const sl_op *op, FILE *f)
{
    const sl_mixture *m = op->mixture;
    const sl_tensor *down = &m->down[0];
    char what[96];
    snprintf(what, sizeof what, "%s%zu of %zu experts%s + add", prologue_name(op), m->router.K, m->router.E,
             m->shared_gate.data ? ", shared expert" : "");
    fprintf(f, " %-44s%s [%zu, %zu] twice, %s [%zu, %zu]  (%s)", what, sl_format_name(m->gate[0].format),
            m->gate[0].rows, m->gate[0].cols, sl_format_name(down->format), down->rows, down->cols,
            p->options.env.k->panel[down->format][p->options.env.act].name);
}

static void print_op(const sl_plan *p, size_t i, FILE *f)
{
    const sl_op *op = &p->graph.op[i];
    char what[96];
    const bool bias = op->bias[0] || op->bias[1] || op->bias[2];
    snprintf(what, sizeof what, "%s%s%s%s",
             op->kind == SL_OP_LINEAR || op->kind == SL_OP_HEAD_VALUES ? prologue_name(op) : "",
             sl_op_kind_name(op->kind), bias ? " + bias" : "", op->kind == SL_OP_LINEAR ? epilogue_name(op) : "");
    fprintf(f, "  %s %-13s", p->barrier[i] ? "|" : " ", op->name);
    if (op->kind == SL_OP_MIXTURE)
        print_mixture(p, op, f);
    else
        fprintf(f, " %-44s", what);
    for (uint32_t w = 0; w < op->n_w; w++) {
        const sl_panel *panel = &p->options.env.k->panel[op->w[w].format][p->options.env.act];
        fprintf(f, "%s%s [%zu, %zu]", w ? ", " : "", sl_format_name(op->w[w].format), op->w[w].rows, op->w[w].cols);
        if (op->kind == SL_OP_LINEAR && w + 1 == op->n_w)
            fprintf(f, "  (%s)", panel->name);
    }
    fputc('\n', f);
}

static void print_list(const sl_plan *p, FILE *f)
{
    fprintf(f, "Operations (| before one: a barrier), layer 0 and those outside the layers:\n");
    for (size_t i = 0; i < p->graph.n_ops; i++)
        if (p->graph.op[i].layer <= 0)
            print_op(p, i, f);
}

static void print_cost(const char *label, sl_plan_cost c, FILE *f)
{
    fprintf(f, "  %-22s %4zu operations %4zu barriers %12zu bytes written\n", label, c.n_ops, c.barriers,
            c.written_bytes);
}

/* This plan, and its expansion. */
static void print_fusion(const sl_plan *p, const sl_plan *expanded, FILE *f)
{
    fprintf(f, "\nOne layer, a step of one token:\n");
    print_cost("this plan", sl_plan_layer_cost(p, 0), f);
    print_cost("with --fusion none", sl_plan_layer_cost(expanded, 0), f);
}

/* Of whichever form, fused or not. */
static bool is_attention(sl_op_kind kind)
{
    return kind == SL_OP_ATTENTION || kind == SL_OP_SCORES || kind == SL_OP_LATENT_ATTENTION ||
           kind == SL_OP_LATENT_SCORES;
}

static size_t attention_workspace(const sl_env *env, const sl_op *op)
{
    const bool made = op->kind == SL_OP_LATENT_ATTENTION || op->kind == SL_OP_LATENT_SCORES;
    return made ? sl_latent_workspace(env, op) : sl_attn_workspace(env, &op->heads);
}

static void print_attention(const sl_plan *p, FILE *f)
{
    const sl_op *op = NULL;
    for (size_t i = 0; i < p->graph.n_ops && !op; i++)
        if (is_attention(p->graph.op[i].kind))
            op = &p->graph.op[i];
    if (!op)
        return;
    fprintf(f, "\nAttention's workspace, %zu thread%s (scores, partial results, queries):\n",
            p->options.env.limits.n_threads, p->options.env.limits.n_threads == 1 ? "" : "s");
    const size_t contexts[] = { 4096, p->options.env.limits.n_ctx };
    for (size_t i = 0; i < (contexts[1] == contexts[0] ? 1u : 2u); i++) {
        sl_env env = p->options.env;
        env.limits.n_ctx = contexts[i];
        env.attn = SL_ATTN_PLAIN;
        const size_t plain = attention_workspace(&env, op);
        env.attn = SL_ATTN_FLASH;
        const size_t flash = attention_workspace(&env, op);
        fprintf(f, "  at %7zu positions: plain %10zu bytes, flash %10zu bytes (%.1f %% less)\n", contexts[i], plain,
                flash, 100.0 - 100.0 * (double)flash / (double)plain);
    }
}

sl_status sl_report_plan(const sl_net *net, const sl_plan *p, FILE *f, sl_err *err)
{
    const sl_limits *l = &p->options.env.limits;
    sl_arena arena;
    sl_plan expanded;
    sl_plan_options options = p->options;
    options.fuse = 0;
    sl_arena_init(&arena, 1 << 18);
    sl_status rc = sl_plan_build(&expanded, &arena, net, &options, err);
    if (!rc) {
        fprintf(f, "Plan for steps of up to %zu tokens and %zu rows of logits, %zu positions, %zu thread%s\n",
                l->n_tokens, l->n_outputs, l->n_ctx, l->n_threads, l->n_threads == 1 ? "" : "s");
        fprintf(f,
                "Workspace: values %zu bytes, scratch %zu bytes for each thread; with --fusion none: %zu and %zu\n\n",
                p->values_bytes, p->scratch_bytes, expanded.values_bytes, expanded.scratch_bytes);
        print_list(p, f);
        print_fusion(p, &expanded, f);
        print_attention(p, f);
        if (ferror(f))
            rc = sl_fail(err, SL_EIO, "the plan's text cannot be written");
    }
    sl_arena_fini(&arena);
    return rc;
}
