/* test_latent.c - latent attention over several chunks, on a random model whose widths fit no vector: its two forms
 * agree under every switch, and each gives the same bits however a prompt is cut and whoever computes it. The fixtures,
 * which are shorter than a chunk, are compared with the reference by test_golden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/num.h"
#include "support/hf_build.h"
#include "support/runner.h"

/* D 40, 12 heads whose keys are 6 + 10 wide and values 7, ranks 20; both layers dense. */
#define LAYER(l)                                                                                                       \
    " model.layers." l ".input_layernorm.weight:40 model.layers." l ".self_attn.q_a_proj.weight:20x40"                 \
    " model.layers." l ".self_attn.q_a_layernorm.weight:20 model.layers." l ".self_attn.q_b_proj.weight:192x20"        \
    " model.layers." l ".self_attn.kv_a_proj_with_mqa.weight:30x40"                                                    \
    " model.layers." l ".self_attn.kv_a_layernorm.weight:20 model.layers." l ".self_attn.kv_b_proj.weight:156x20"      \
    " model.layers." l ".self_attn.o_proj.weight:40x84 model.layers." l ".post_attention_layernorm.weight:40"          \
    " model.layers." l ".mlp.gate_proj.weight:24x40 model.layers." l ".mlp.up_proj.weight:24x40"                       \
    " model.layers." l ".mlp.down_proj.weight:40x24"
#define TENSORS "model.embed_tokens.weight:31x40 model.norm.weight:40 lm_head.weight:31x40" LAYER("0") LAYER("1")
#define N       600 /* positions: two chunks and a part */
#define PREDICT 3

static const char config[] =
    "{\"architectures\": [\"DeepseekV3ForCausalLM\"], \"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 2,"
    " \"hidden_size\": 40, \"intermediate_size\": 24, \"num_attention_heads\": 12, \"num_key_value_heads\": 12,"
    " \"vocab_size\": 31, \"max_position_embeddings\": 1024, \"q_lora_rank\": 20, \"kv_lora_rank\": 20,"
    " \"qk_nope_head_dim\": 6, \"qk_rope_head_dim\": 10, \"v_head_dim\": 7, \"n_routed_experts\": 4,"
    " \"num_experts_per_tok\": 2, \"n_group\": 1, \"topk_group\": 1, \"moe_intermediate_size\": 8,"
    " \"first_k_dense_replace\": 2}";

static uint64_t seed = 7;

static float draw(void) /* -1 .. 1 */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(seed >> 32) * 0x1p-31f;
}

static void write_model(hf_build *b)
{
    size_t n_data = 0;
    hf_begin(b);
    hf_text(b, "config.json", config);
    const char *header = hf_header(TENSORS, &n_data);
    const uint64_t len = strlen(header);
    char *file = malloc(8 + len + n_data);
    assert_non_null(file);
    memcpy(file, &len, 8);
    memcpy(file + 8, header, len);
    for (size_t i = 0; i < n_data; i += sizeof(float))
        memcpy(file + 8 + len + i, &(float){ 0.5f * draw() }, sizeof(float));
    hf_write(b, "model.safetensors", file, 8 + len + n_data);
    free(file);
}

typedef struct fixture {
    hf_build folder;
    sl_model *model;
    int32_t prompt[N];
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    sl_err err = { 0 };
    write_model(&f->folder);
    if (sl_model_open(&f->model, f->folder.dir, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < N; i++)
        f->prompt[i] = (int32_t)(fabsf(draw()) * 30.9f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    sl_model_close(f->model);
    hf_end(&f->folder);
    free(f);
    return 0;
}

static void run(const fixture *f, sl_engine_options o, run_result *r)
{
    o.n_ctx = 640;
    o.kv_page = 32;
    o.n_outputs = o.n_ubatch;
    *r = (run_result){ 0 };
    run_alone(f->model, &o, f->prompt, N, PREDICT, r);
    assert_int_equal(r->n_rows, N + PREDICT - 1);
}

/* Largest difference of the prompt's logits, in parts of the largest one. */
static double distance(const run_result *a, const run_result *b)
{
    float most = 0.0f, worst = 0.0f;
    for (size_t i = 0; i < N * a->n_vocab; i++) {
        const float d = fabsf(a->logits[i] - b->logits[i]);
        most = fmaxf(most, fabsf(a->logits[i]));
        if (!(d <= worst)) /* a NaN stays */
            worst = d;
    }
    return (double)(worst / most);
}

static void forms_agree(void **state)
{
    static const struct {
        const char *isa, *mla, *fusion, *attn;
        size_t n_threads;
    } cases[] = {
        { "avx2", "expanded", "all", "flash", 1 },    { "avx2", "expanded", "none", "flash", 2 },
        { "avx2", "expanded", "all", "plain", 1 },    { "avx2", "expanded", "ffn,norm", "flash", 1 },
        { "avx2", "absorbed", "none", "flash", 1 },   { "avx2", "absorbed", "all", "plain", 2 },
        { "scalar", "expanded", "all", "flash", 1 },  { "scalar", "absorbed", "all", "flash", 1 },
        { "scalar", "expanded", "none", "flash", 1 },
    };
    const fixture *f = *state;
    static const size_t windows[] = { 0, 70, 300 };
    for (size_t w = 0; w < SL_COUNT(windows); w++) {
        sl_engine_options o = { .act = "f32", .kv_type = "f32", .n_ubatch = 512, .attn_window = windows[w] };
        run_result want, got;
        run(f, o, &want);
        for (size_t i = 0; i < SL_COUNT(cases); i++) {
            setenv("SLUICE_CPU", cases[i].isa, 1);
            o.mla = cases[i].mla;
            o.fusion = cases[i].fusion;
            o.attn = cases[i].attn;
            o.n_threads = cases[i].n_threads;
            run(f, o, &got);
            if (!(distance(&want, &got) < 2e-5))
                fail_msg("window %zu, case %zu: %g", windows[w], i, distance(&want, &got));
            run_result_free(&got);
        }
        unsetenv("SLUICE_CPU");
        run_result_free(&want);
    }
}

/* Else agreement would say little. */
static void a_window_changes_the_answer(void **state)
{
    const fixture *f = *state;
    run_result all, window;
    run(f, (sl_engine_options){ .n_ubatch = 512 }, &all);
    run(f, (sl_engine_options){ .n_ubatch = 512, .attn_window = 300 }, &window);
    assert_true(distance(&all, &window) > 1e-3);
    assert_memory_equal(all.logits, window.logits, 300 * all.n_vocab * sizeof(float));
    run_result_free(&all);
    run_result_free(&window);
}

/* 12 threads: steps of a token are split by chunks, and joined before values of the heads are made. */
static void same_bits(void **state)
{
    static const char *const mla[] = { "absorbed", "expanded" }, *const kv[] = { "f32", "f16", "bf16", "int8" };
    static const struct {
        size_t n_ubatch, n_threads;
        const char *mode;
    } cuts[] = { { 512, 2, "eager" }, { 37, 3, "graph" }, { 1, 1, "graph" }, { 3, 12, "graph" } };
    const fixture *f = *state;
    for (size_t i = 0; i < SL_COUNT(mla) * SL_COUNT(kv); i++) {
        sl_engine_options o = { .kv_type = kv[i / 2], .mla = mla[i % 2], .n_ubatch = 512, .n_threads = 1 };
        run_result want, got;
        run(f, o, &want);
        for (size_t c = 0; c < SL_COUNT(cuts); c++) {
            if (i % 2 && cuts[c].n_ubatch == 1)
                continue; /* slow, and 3 at a time are no other case */
            o.n_ubatch = cuts[c].n_ubatch;
            o.n_threads = cuts[c].n_threads;
            o.mode = cuts[c].mode;
            run(f, o, &got);
            assert_int_equal(memcmp(want.tokens, got.tokens, PREDICT * sizeof *got.tokens), 0);
            for (size_t r = 0; r < want.n_rows; r++)
                if (memcmp(want.logits + r * want.n_vocab, got.logits + r * want.n_vocab,
                           want.n_vocab * sizeof(float)) != 0)
                    fail_msg("%s %s -ub %zu -t %zu: row %zu has other bits", o.mla, o.kv_type, o.n_ubatch, o.n_threads,
                             r);
            run_result_free(&got);
        }
        run_result_free(&want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(forms_agree), cmocka_unit_test(a_window_changes_the_answer),
                                        cmocka_unit_test(same_bits) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
