/* test_plan.c - operations and barriers of a layer, placement in the workspace, what a step writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "base/num.h"
#include "executor/plan.h"
#include "support/runner.h"

#define LLAMA    TEST_DATA "/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf"
#define QWEN3MOE TEST_DATA "/gguf/qwen3moe-small-Q8_0/qwen3moe-small-Q8_0.gguf"
#define DEEPSEEK TEST_DATA "/hf/deepseek_v3/f32"
#define QWEN3    TEST_DATA "/gguf/qwen3-small-F32/qwen3-small-F32.gguf"

typedef struct planned {
    sl_net *net;
    sl_kernels kernels;
    sl_arena arena;
    sl_plan plan;
} planned;

static sl_mla form; /* of latent attention, for the plans that are made */

static void make(planned *p, const char *path, unsigned fuse, bool every_barrier, size_t n_tokens, size_t n_threads)
{
    sl_err err = { 0 };
    *p = (planned){ 0 };
    sl_kernels_init(&p->kernels, SL_ISA_SCALAR);
    sl_arena_init(&p->arena, 1 << 16);
    const sl_plan_options options = {
        .env = { .k = &p->kernels,
                 .act = SL_ACT_Q8,
                 .limits = { .n_tokens = n_tokens, .n_outputs = 3, .n_ctx = 512, .n_threads = n_threads } },
        .fuse = fuse,
        .mla = form,
        .every_barrier = every_barrier,
    };
    if (sl_net_load(&p->net, path, NULL, &err) || sl_plan_build(&p->plan, &p->arena, p->net, &options, &err))
        fail_msg("%s", err.msg);
}

static void drop(planned *p)
{
    sl_net_free(p->net);
    sl_arena_fini(&p->arena);
}

static void a_layer_has_five_operations(void **state)
{
    (void)state;
    const char *const path[] = { LLAMA, QWEN3 };
    for (size_t i = 0; i < 2; i++) {
        planned fused, expanded, eager;
        make(&fused, path[i], SL_FUSE_ALL, false, 64, 2);
        make(&expanded, path[i], 0, false, 64, 2);
        make(&eager, path[i], SL_FUSE_ALL, true, 64, 2);
        for (int layer = 0; layer < 2; layer++) {
            const sl_plan_cost f = sl_plan_layer_cost(&fused.plan, layer),
                               x = sl_plan_layer_cost(&expanded.plan, layer);
            assert_int_equal(f.n_ops, 5);
            assert_int_equal(f.barriers, 5);
            assert_int_equal(x.n_ops, 18 + i); /* qwen3 has a norm of heads */
            assert_true(x.barriers > f.barriers && x.written_bytes > 2 * f.written_bytes);
            assert_int_equal(sl_plan_layer_cost(&eager.plan, layer).barriers, 5);
        }
        drop(&fused);
        drop(&expanded);
        drop(&eager);
    }
}

static void a_layer_of_experts_has_four(void **state)
{
    (void)state;
    planned fused, expanded, norm, ffn;
    make(&fused, QWEN3MOE, SL_FUSE_ALL, false, 64, 2);
    make(&expanded, QWEN3MOE, 0, false, 64, 2);
    make(&norm, QWEN3MOE, SL_FUSE_NORM, false, 64, 2);
    make(&ffn, QWEN3MOE, SL_FUSE_FFN, false, 64, 2);
    for (int layer = 0; layer < 2; layer++) {
        assert_int_equal(sl_plan_layer_cost(&fused.plan, layer).n_ops, 4);
        assert_int_equal(sl_plan_layer_cost(&fused.plan, layer).barriers, 4);
        assert_int_equal(sl_plan_layer_cost(&expanded.plan, layer).n_ops, 22);
        assert_int_equal(sl_plan_layer_cost(&norm.plan, layer).n_ops, 21); /* q, k and v norm for themselves */
        assert_true(sl_plan_layer_cost(&ffn.plan, layer).n_ops < 18);
    }
    drop(&fused);
    drop(&expanded);
    drop(&norm);
    drop(&ffn);
}

/* First and last stage in which each value is needed, worked out here once more. */
static void placement_never_overlaps(void **state)
{
    (void)state;
    const unsigned fuse[] = { SL_FUSE_ALL, 0, SL_FUSE_NORM, SL_FUSE_ATTN, SL_FUSE_FFN };
    for (size_t f = 0; f < SL_COUNT(fuse); f++) {
        planned p;
        make(&p, QWEN3, fuse[f], false, 33, 3);
        const sl_graph *g = &p.plan.graph;
        uint32_t first[512], last[512];
        assert_true(g->n_values < SL_COUNT(first));
        for (size_t v = 0; v < g->n_values; v++) {
            first[v] = UINT32_MAX;
            last[v] = 0;
        }
        for (size_t i = 0; i < g->n_ops; i++) {
            for (uint32_t o = 0; o < g->op[i].n_out; o++)
                first[g->op[i].out[o]] = last[g->op[i].out[o]] = p.plan.stage[i];
            for (uint32_t o = 0; o < g->op[i].n_in; o++) {
                assert_true(first[g->op[i].in[o]] < p.plan.stage[i]); /* made before a barrier */
                last[g->op[i].in[o]] = p.plan.stage[i];
            }
        }
        for (size_t a = 0; a < g->n_values; a++)
            for (size_t b = 0; b < a; b++) {
                if (p.plan.value_at[a] == SIZE_MAX || p.plan.value_at[b] == SIZE_MAX || last[a] < first[b] ||
                    last[b] < first[a])
                    continue;
                const size_t na = g->value[a].width * 4 *
                                  (g->value[a].rows == SL_ROWS_ONE       ? 1
                                   : g->value[a].rows == SL_ROWS_OUTPUTS ? 3
                                                                         : 33);
                const size_t nb = g->value[b].width * 4 *
                                  (g->value[b].rows == SL_ROWS_ONE       ? 1
                                   : g->value[b].rows == SL_ROWS_OUTPUTS ? 3
                                                                         : 33);
                assert_true(p.plan.value_at[a] + na <= p.plan.value_at[b] ||
                            p.plan.value_at[b] + nb <= p.plan.value_at[a]);
            }
        drop(&p);
    }
}

/* One token of a running request: barriers and bytes are what the plan says. */
static void a_step_costs_what_the_plan_says(void **state)
{
    (void)state;
    for (size_t threads = 1; threads <= 2; threads++) {
        sl_model *m = NULL;
        sl_engine *e = NULL;
        sl_err err = { 0 };
        sl_engine_stats before, after;
        run_result r = { 0 };
        planned p;
        const int32_t prompt[] = { 5, 6, 7 };
        assert_int_equal(sl_model_open(&m, LLAMA, &err), SL_OK);
        assert_int_equal(sl_engine_create(&e, m, &(sl_engine_options){ .n_threads = threads }, &err), SL_OK);
        run_submit(e, prompt, 3, 4, &r);
        for (int i = 0; i < 3; i++) { /* prompt_logits with one row a step: the prompt takes three */
            assert_int_equal(sl_engine_step(e, &err), SL_OK);
        }
        sl_engine_get_stats(e, &before);
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
        sl_engine_get_stats(e, &after);
        make(&p, LLAMA, SL_FUSE_ALL, false, 512, threads);
        const sl_plan_cost layer = sl_plan_layer_cost(&p.plan, 0);
        assert_int_equal(after.barriers - before.barriers, 2 * 5 + 1);
        if (threads == 1) { /* with two, attention may write partial results instead */
            const size_t outside = (64 + 16 + 288) * sizeof(float); /* embedding, rope table, logits */
            assert_int_equal(after.written_bytes - before.written_bytes, 2 * layer.written_bytes + outside);
        }
        run_all(e);
        sl_engine_destroy(e);
        sl_model_close(m);
        run_result_free(&r);
        drop(&p);
    }
}

/* Each step and layer once; one token hits its two of six experts, many all that their picks name. */
static void experts_are_counted(void **state)
{
    (void)state;
    sl_model *m = NULL;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    sl_engine_stats read, all;
    run_result r = { 0 };
    int32_t prompt[40] = { 0 };
    for (int32_t i = 0; i < 40; i++)
        prompt[i] = i * 7;
    assert_int_equal(sl_model_open(&m, QWEN3MOE, &err), SL_OK);
    assert_int_equal(sl_engine_create(&e, m, &(sl_engine_options){ .n_threads = 2, .n_outputs = 40 }, &err), SL_OK);
    run_submit(e, prompt, 40, 4, &r);
    assert_int_equal(sl_engine_step(e, &err), SL_OK);
    sl_engine_get_stats(e, &read);
    assert_int_equal(read.mixtures, 2);
    assert_true(read.experts_hit > 2 * 2 && read.experts_hit <= 2 * 6);
    run_all(e);
    sl_engine_get_stats(e, &all);
    assert_int_equal(all.mixtures - read.mixtures, 2 * (all.steps - read.steps));
    assert_int_equal(all.experts_hit - read.experts_hit, 2 * (all.mixtures - read.mixtures));
    sl_engine_destroy(e);
    sl_model_close(m);
    run_result_free(&r);
}

static void latent_attention_has_six_stages_or_four(void **state)
{
    (void)state;
    static const struct {
        sl_mla form;
        unsigned fuse;
        size_t n_ops, barriers; /* of layer 0, its dense block's after the sign */
    } cases[] = { { SL_MLA_ABSORBED, SL_FUSE_ALL, 8 + 2, 6 + 2 },
                  { SL_MLA_EXPANDED, SL_FUSE_ALL, 6 + 2, 4 + 2 },
                  { SL_MLA_ABSORBED, 0, 17 + 7, 13 + 6 },
                  { SL_MLA_EXPANDED, 0, 15 + 7, 11 + 6 } };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        planned p;
        form = cases[i].form;
        make(&p, DEEPSEEK, cases[i].fuse, false, 64, 2);
        const sl_plan_cost cost = sl_plan_layer_cost(&p.plan, 0);
        assert_int_equal(cost.n_ops, cases[i].n_ops);
        assert_int_equal(cost.barriers, cases[i].barriers);
        drop(&p);
    }
    form = SL_MLA_ABSORBED;
}

static void flash_needs_a_quarter_of_plain(void **state)
{
    (void)state;
    const sl_heads smollm2 = { .H = 9, .Hkv = 3, .C = 64 }, qwen3 = { .H = 16, .Hkv = 8, .C = 128 };
    const sl_heads *const heads[] = { &smollm2, &qwen3 };
    for (size_t i = 0; i < 2; i++)
        for (size_t threads = 1; threads <= 64; threads *= 2) {
            sl_env env = { .attn = SL_ATTN_PLAIN,
                           .limits = { .n_tokens = 512, .n_outputs = 1, .n_ctx = 4096, .n_threads = threads } };
            const size_t plain = sl_attn_workspace(&env, heads[i]);
            env.attn = SL_ATTN_FLASH;
            assert_true(4 * sl_attn_workspace(&env, heads[i]) <= plain);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_has_five_operations),
        cmocka_unit_test(a_layer_of_experts_has_four),
        cmocka_unit_test(latent_attention_has_six_stages_or_four),
        cmocka_unit_test(experts_are_counted),
        cmocka_unit_test(placement_never_overlaps),
        cmocka_unit_test(a_step_costs_what_the_plan_says),
        cmocka_unit_test(flash_needs_a_quarter_of_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
