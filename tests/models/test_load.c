/* test_load.c - files that are well-formed GGUF and no model, or one that is not supported: each is
 * refused with what is wrong (bug reports B16, B17, B19 and their kind). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "models/net.h"
#include "support/gguf_build.h"

#define U32      4
#define F32      6
#define STR      8
#define D        8 /* model width; 2 heads of 4, 1 KV head, ffn 6, vocabulary 5 */
#define GGML_F32 0
#define GGML_F16 1

/* What is done to the good file. Keys: `key` is left out, or has another value. */
typedef struct fault {
    const char *key;
    enum { OMIT, SET_U32, SET_F32, SET_STR } how;
    uint32_t u32;
    float f32;
    const char *str;
    const char *tensor; /* left out; with rows or type: another shape or type */
    uint64_t rows;
    uint32_t type;
    const char *extra; /* a tensor more */
    const char *arch;
    sl_status want;
    const char *says;
} fault;

static void put_key(gguf_build *b, const fault *f, const char *arch, const char *name, uint32_t type, uint32_t u,
                    float x)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, name);
    const bool hit = f->key && strcmp(f->key, name) == 0;
    if (hit && f->how == OMIT)
        return;
    if (hit && f->how == SET_STR)
        gb_str(gb_key(b, key, STR), f->str);
    else if (hit && f->how == SET_F32)
        gb_f32(gb_key(b, key, F32), f->f32);
    else if (hit && f->how == SET_U32)
        gb_u32(gb_key(b, key, U32), f->u32);
    else if (type == U32)
        gb_u32(gb_key(b, key, U32), u);
    else
        gb_f32(gb_key(b, key, F32), x);
}

static void put_tensor(gguf_build *b, const fault *f, uint64_t *at, const char *name, uint64_t rows, uint64_t cols)
{
    const bool hit = f->tensor && strcmp(f->tensor, name) == 0;
    uint32_t type = GGML_F32;
    if (hit && !f->rows && !f->type)
        return;
    if (hit && f->rows)
        rows = f->rows;
    if (hit)
        type = f->type;
    const uint64_t dims[2] = { cols, rows };
    gb_tensor(b, name, type, *at, rows ? 2 : 1, dims);
    *at += sl_round_up(cols * (rows ? rows : 1) * (type == GGML_F16 ? 2 : 4), 32);
}

static const char *make(gguf_build *b, const fault *f)
{
    static const struct {
        const char *name;
        uint64_t rows, cols;
    } layer[] = { { "attn_norm", 0, D }, { "attn_q", 8, D },      { "attn_k", 4, D },
                  { "attn_v", 4, D },    { "attn_output", D, 8 }, { "ffn_norm", 0, D },
                  { "ffn_gate", 6, D },  { "ffn_up", 6, D },      { "ffn_down", D, 6 } };
    const char *arch = f->arch ? f->arch : "llama";
    uint64_t at = 0;
    gb_begin(b, 3);
    gb_key_str(b, "general.architecture", arch);
    put_key(b, f, arch, "block_count", U32, 2, 0);
    put_key(b, f, arch, "context_length", U32, 64, 0);
    put_key(b, f, arch, "embedding_length", U32, D, 0);
    put_key(b, f, arch, "feed_forward_length", U32, 6, 0);
    put_key(b, f, arch, "attention.head_count", U32, 2, 0);
    put_key(b, f, arch, "attention.head_count_kv", U32, 1, 0);
    put_key(b, f, arch, "attention.layer_norm_rms_epsilon", F32, 0, 1e-5f);
    put_key(b, f, arch, "rope.freq_base", F32, 0, 10000.0f);
    static const char *const optional[] = { "attention.key_length", "attention.value_length", "rope.dimension_count",
                                            "rope.scaling.type",    "rope.scaling.factor",    "expert_count" };
    for (size_t i = 0; i < SL_COUNT(optional); i++)
        if (f->key && strcmp(f->key, optional[i]) == 0)
            put_key(b, f, arch, optional[i], U32, 0, 0);
    put_tensor(b, f, &at, "token_embd.weight", 5, D);
    put_tensor(b, f, &at, "output_norm.weight", 0, D);
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; i < SL_COUNT(layer); i++) {
            char name[64];
            snprintf(name, sizeof name, "blk.%d.%s.weight", l, layer[i].name);
            put_tensor(b, f, &at, name, layer[i].rows, layer[i].cols);
        }
    if (f->extra)
        put_tensor(b, &(fault){ 0 }, &at, f->extra, 0, D);
    gb_finish(b, at);
    return gb_path(b);
}

static void the_good_file_loads(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    sl_net *net = NULL;
    sl_err err = { 0 };
    if (sl_net_load(&net, make(&b, &(fault){ 0 }), NULL, &err))
        fail_msg("%s", err.msg);
    assert_true(net->config.tied);
    assert_int_equal(net->config.C, 4);
    assert_int_equal(net->n_params, 5 * D + D + 2 * (2 * D + 16 * D + 8 * D + 18 * D));
    sl_net_free(net);
    gb_free(&b);
}

/* Kernels read vectors in F32; a file may have them in F16. */
static void half_vectors_are_widened(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    sl_net *net = NULL;
    sl_err err = { 0 };
    const fault f = { .tensor = "blk.1.ffn_norm.weight", .type = GGML_F16 };
    if (sl_net_load(&net, make(&b, &f), NULL, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(net->layer[1].ffn_norm.format, SL_FORMAT_F32);
    assert_int_equal(net->layer[1].ffn_norm.cols, D);
    assert_int_equal(sl_weights_find(net->weights, f.tensor)->tensor.format, SL_FORMAT_F16);
    sl_net_free(net);
    gb_free(&b);
}

static void faults_are_named(void **state)
{
    (void)state;
    static const fault faults[] = {
        { .tensor = "token_embd.weight", .want = SL_EFORMAT, .says = "missing tensor token_embd.weight" },
        { .tensor = "blk.0.attn_q.weight", .want = SL_EFORMAT, .says = "missing tensor blk.0.attn_q.weight" },
        { .tensor = "blk.1.ffn_down.weight", .want = SL_EFORMAT, .says = "missing tensor blk.1.ffn_down.weight" },
        { .tensor = "blk.1.attn_k.weight", .rows = 6, .want = SL_EFORMAT, .says = "blk.1.attn_k.weight" },
        { .extra = "blk.0.attn_norm.bias", .want = SL_EUNSUPPORTED, .says = "blk.0.attn_norm.bias" },
        { .extra = "blk.0.attn_k.bias", .want = SL_EFORMAT, .says = "blk.0.attn_k.bias is [1, 8]" },
        { .extra = "blk.2.attn_norm.weight",
          .want = SL_EUNSUPPORTED,
          .says = "blk.2.attn_norm.weight is of layer 2, but block_count is 2" },
        { .arch = "gemma9",
          .want = SL_EUNSUPPORTED,
          .says = "architecture gemma9 is not supported; known are llama, qwen2, qwen3" },
        { .arch = "qwen3", .want = SL_EFORMAT, .says = "attn_q_norm.weight (architecture qwen3)" },
        { .key = "expert_count", .how = SET_U32, .u32 = 8, .want = SL_EUNSUPPORTED, .says = "8 experts" },
        { .key = "block_count", .how = OMIT, .want = SL_EFORMAT, .says = "block_count" },
        { .key = "block_count", .how = SET_U32, .u32 = 0, .want = SL_EFORMAT, .says = "block_count" },
        { .key = "block_count", .how = SET_U32, .u32 = 3, .want = SL_EFORMAT, .says = "blk.2." },
        { .key = "block_count", .how = SET_U32, .u32 = 1u << 20, .want = SL_EFORMAT, .says = "block_count" },
        { .key = "block_count", .how = SET_U32, .u32 = 1u << 31, .want = SL_EFORMAT, .says = "block_count" },
        { .key = "block_count", .how = SET_STR, .str = "two", .want = SL_EFORMAT, .says = "block_count" },
        { .key = "embedding_length", .how = SET_U32, .u32 = 0, .want = SL_EFORMAT, .says = "embedding_length" },
        { .key = "embedding_length", .how = SET_U32, .u32 = 7, .want = SL_EFORMAT, .says = "embedding_length" },
        { .key = "context_length", .how = SET_U32, .u32 = 0, .want = SL_EFORMAT, .says = "context_length" },
        { .key = "feed_forward_length", .how = OMIT, .want = SL_EFORMAT, .says = "feed_forward_length" },
        { .key = "attention.head_count", .how = SET_U32, .u32 = 0, .want = SL_EFORMAT, .says = "attention.head_count" },
        { .key = "attention.head_count", .how = SET_U32, .u32 = 3, .want = SL_EFORMAT, .says = "head_count" },
        { .key = "attention.head_count_kv", .how = SET_U32, .u32 = 0, .want = SL_EFORMAT, .says = "head_count_kv" },
        { .key = "attention.head_count_kv", .how = SET_U32, .u32 = 4, .want = SL_EFORMAT, .says = "head_count_kv" },
        { .key = "attention.key_length",
          .how = SET_U32,
          .u32 = 3,
          .want = SL_EUNSUPPORTED,
          .says = "heads of width 3" },
        { .key = "attention.value_length",
          .how = SET_U32,
          .u32 = 6,
          .want = SL_EUNSUPPORTED,
          .says = "heads of width 4" },
        { .key = "attention.layer_norm_rms_epsilon", .how = OMIT, .want = SL_EFORMAT, .says = "epsilon" },
        { .key = "attention.layer_norm_rms_epsilon",
          .how = SET_F32,
          .f32 = -1.0f,
          .want = SL_EFORMAT,
          .says = "epsilon" },
        { .key = "rope.freq_base", .how = SET_F32, .f32 = 0.0f, .want = SL_EFORMAT, .says = "rope.freq_base" },
        { .key = "rope.freq_base", .how = SET_F32, .f32 = 0.5f, .want = SL_EFORMAT, .says = "rope.freq_base" },
        { .key = "rope.freq_base", .how = SET_STR, .str = "10000", .want = SL_EFORMAT, .says = "rope.freq_base" },
        { .key = "rope.dimension_count", .how = SET_U32, .u32 = 6, .want = SL_EFORMAT, .says = "rope.dimension_count" },
        { .key = "rope.dimension_count", .how = SET_U32, .u32 = 3, .want = SL_EFORMAT, .says = "rope.dimension_count" },
        { .key = "rope.scaling.type", .how = SET_STR, .str = "longrope", .want = SL_EUNSUPPORTED, .says = "longrope" },
        { .key = "rope.scaling.factor",
          .how = SET_F32,
          .f32 = 0.0f,
          .want = SL_EFORMAT,
          .says = "rope.scaling.factor" },
    };
    for (size_t i = 0; i < SL_COUNT(faults); i++) {
        gguf_build b = { 0 };
        sl_net *net = NULL;
        sl_err err = { 0 };
        const char *path = make(&b, &faults[i]);
        const sl_status rc = sl_net_load(&net, path, NULL, &err);
        if (rc != faults[i].want || !strstr(err.msg, faults[i].says) || !strstr(err.msg, path))
            fail_msg("fault %zu: %s \"%s\", should be %s and say \"%s\"", i, sl_status_name(rc), err.msg,
                     sl_status_name(faults[i].want), faults[i].says);
        assert_null(net);
        gb_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(the_good_file_loads),
                                        cmocka_unit_test(half_vectors_are_widened),
                                        cmocka_unit_test(faults_are_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
