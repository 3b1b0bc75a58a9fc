/* test_experts.c - settings of mixtures of experts: families' defaults, explicit values, and files whose numbers do not
 * fit each other, refused with the key or tensor that is wrong (bug reports B19, B145 and their kind). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/num.h"
#include "models/experts.h"
#include "support/gguf_build.h"

#define BOOL 7
#define D    8 /* model width; 2 heads of 4, 1 KV head, 4 experts of 6, 2 for a token, vocabulary 5 */

/* A key left out or with another value, one more, a tensor left out or of another number of experts. */
typedef struct change {
    const char *key;
    enum { OMIT, U32, F32, FLAG, TEXT } how;
    double value;
    const char *tensor;
    uint64_t experts;
    const char *extra;
    sl_status want;
    const char *says;
} change;

static void put(gguf_build *b, const char *name, const change *c, uint32_t v)
{
    char key[96];
    snprintf(key, sizeof key, "qwen3moe.%s", name);
    if (!c->key || strcmp(c->key, name) != 0) {
        if (v)
            gb_key_u32(b, key, v);
    } else if (c->how == U32) {
        gb_key_u32(b, key, (uint32_t)c->value);
    } else if (c->how == F32) {
        gb_f32(gb_key(b, key, 6), (float)c->value);
    } else if (c->how == FLAG) {
        gb_u8(gb_key(b, key, BOOL), (uint8_t)c->value);
    } else if (c->how == TEXT) {
        gb_key_str(b, key, "yes");
    }
}

static void put_tensor(gguf_build *b, uint64_t *at, const char *name, const change *c, uint64_t cols, uint64_t rows,
                       uint64_t experts)
{
    if (c->tensor && strcmp(c->tensor, name) == 0) {
        if (!c->experts)
            return;
        experts = c->experts;
    }
    const uint64_t dims[3] = { cols, rows, experts };
    gb_tensor(b, name, 0, *at, experts ? 3 : rows ? 2 : 1, dims);
    *at += sl_round_up(cols * SL_MAX(rows, 1) * SL_MAX(experts, 1) * 4, 32);
}

static const char *make(gguf_build *b, const change *c)
{
    uint64_t at = 0;
    gb_begin(b, 3);
    gb_key_str(b, "general.architecture", "qwen3moe");
    put(b, "block_count", c, 1);
    put(b, "context_length", c, 64);
    put(b, "embedding_length", c, D);
    put(b, "attention.head_count", c, 2);
    put(b, "attention.head_count_kv", c, 1);
    gb_f32(gb_key(b, "qwen3moe.attention.layer_norm_rms_epsilon", 6), 1e-6f);
    put(b, "expert_count", c, 4);
    put(b, "expert_used_count", c, 2);
    put(b, "expert_feed_forward_length", c, 6);
    static const char *const optional[] = { "expert_weights_norm", "expert_weights_scale", "expert_gating_func",
                                            "expert_group_count", "leading_dense_block_count" };
    for (size_t i = 0; i < SL_COUNT(optional); i++)
        put(b, optional[i], c, 0);
    put_tensor(b, &at, "token_embd.weight", c, D, 5, 0);
    put_tensor(b, &at, "output_norm.weight", c, D, 0, 0);
    put_tensor(b, &at, "blk.0.attn_norm.weight", c, D, 0, 0);
    put_tensor(b, &at, "blk.0.attn_q.weight", c, D, 8, 0);
    put_tensor(b, &at, "blk.0.attn_k.weight", c, D, 4, 0);
    put_tensor(b, &at, "blk.0.attn_v.weight", c, D, 4, 0);
    put_tensor(b, &at, "blk.0.attn_q_norm.weight", c, 4, 0, 0);
    put_tensor(b, &at, "blk.0.attn_k_norm.weight", c, 4, 0, 0);
    put_tensor(b, &at, "blk.0.attn_output.weight", c, 8, D, 0);
    put_tensor(b, &at, "blk.0.ffn_norm.weight", c, D, 0, 0);
    put_tensor(b, &at, "blk.0.ffn_gate_inp.weight", c, D, 4, 0);
    put_tensor(b, &at, "blk.0.ffn_gate_exps.weight", c, D, 6, 4);
    put_tensor(b, &at, "blk.0.ffn_up_exps.weight", c, D, 6, 4);
    put_tensor(b, &at, "blk.0.ffn_down_exps.weight", c, 6, D, 4);
    if (c->extra)
        put_tensor(b, &at, c->extra, c, D, 6, 0);
    gb_finish(b, at);
    return gb_path(b);
}

static void explicit_values_win(void **state)
{
    (void)state;
    static const struct {
        change change;
        bool renorm;
        float scale;
    } cases[] = {
        { { 0 }, true, 1.0f }, /* no key: as the family's published models */
        { { .key = "expert_weights_norm", .how = FLAG, .value = 0 }, false, 1.0f },
        { { .key = "expert_weights_norm", .how = FLAG, .value = 1 }, true, 1.0f },
        { { .key = "expert_weights_scale", .how = F32, .value = 2.5 }, true, 2.5f },
        { { .key = "expert_weights_scale", .how = F32, .value = 0.0 }, true, 1.0f },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        gguf_build b = { 0 };
        sl_net *net = NULL;
        sl_err err = { 0 };
        if (sl_net_load(&net, make(&b, &cases[i].change), NULL, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(net->config.router.renorm, cases[i].renorm);
        assert_true(net->config.router.scale == cases[i].scale);
        assert_int_equal(net->config.router.score, SL_SCORE_SOFTMAX);
        assert_true(net->layer[0].sparse);
        /* half of the experts are a token's, and one row of the tied embedding's five is not all that it reads */
        assert_int_equal(net->n_params - net->n_active, 2 * 3 * 6 * D);
        for (size_t e = 1; e < 4; e++)
            assert_ptr_equal(net->layer[0].expert_up[e].data,
                             (const float *)net->layer[0].expert_up[0].data + e * 6 * D);
        sl_net_free(net);
        gb_free(&b);
    }
}

static void faults_are_named(void **state)
{
    (void)state;
    static const change faults[] = {
        { .key = "expert_used_count", .how = U32, .value = 0, .want = SL_EFORMAT, .says = "expert_used_count: 0 of 4" },
        { .key = "expert_used_count", .how = U32, .value = 5, .want = SL_EFORMAT, .says = "expert_used_count: 5 of 4" },
        { .key = "expert_used_count", .how = OMIT, .want = SL_EFORMAT, .says = "expert_used_count is missing" },
        { .key = "expert_used_count", .how = TEXT, .want = SL_EFORMAT, .says = "expert_used_count" },
        { .key = "expert_count", .how = U32, .value = 2147483648.0, .want = SL_EFORMAT, .says = "expert_count" },
        { .key = "expert_count", .how = U32, .value = 8, .want = SL_EFORMAT, .says = "blk.0.ffn_gate_inp.weight" },
        { .key = "expert_feed_forward_length", .how = OMIT, .want = SL_EFORMAT, .says = "expert_feed_forward_length" },
        { .key = "expert_feed_forward_length", .how = U32, .value = 0, .want = SL_EFORMAT, .says = "length: is 0" },
        { .key = "expert_feed_forward_length",
          .how = U32,
          .value = 7,
          .want = SL_EFORMAT,
          .says = "gate_exps.weight is [4, 6, 8]" },
        { .key = "expert_weights_norm", .how = U32, .value = 1, .want = SL_EFORMAT, .says = "expert_weights_norm" },
        { .key = "expert_weights_norm", .how = TEXT, .want = SL_EFORMAT, .says = "expert_weights_norm" },
        { .key = "expert_weights_scale", .how = TEXT, .want = SL_EFORMAT, .says = "expert_weights_scale" },
        { .key = "expert_gating_func",
          .how = U32,
          .value = 9,
          .want = SL_EUNSUPPORTED,
          .says = "expert_gating_func: 9" },
        { .key = "expert_group_count", .how = U32, .value = 3, .want = SL_EFORMAT, .says = "expert_group_count 3" },
        { .tensor = "blk.0.ffn_gate_exps.weight",
          .want = SL_EFORMAT,
          .says = "missing tensor blk.0.ffn_gate_exps.weight (architecture qwen3_moe)" },
        { .tensor = "blk.0.ffn_gate_inp.weight",
          .want = SL_EFORMAT,
          .says = "missing tensor blk.0.ffn_gate_inp.weight" },
        { .tensor = "blk.0.ffn_up_exps.weight",
          .experts = 3,
          .want = SL_EFORMAT,
          .says = "ffn_up_exps.weight is [3, 6, 8]" },
        { .extra = "blk.0.ffn_up.weight", .want = SL_EUNSUPPORTED, .says = "blk.0.ffn_up.weight is not part" },
        { .extra = "blk.0.ffn_up_shexp.weight", .want = SL_EUNSUPPORTED, .says = "blk.0.ffn_up_shexp.weight" },
        /* all layers dense, says the file, and has no dense tensors */
        { .key = "leading_dense_block_count",
          .how = U32,
          .value = 1,
          .want = SL_EFORMAT,
          .says = "blk.0.ffn_gate.weight" },
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

/* ---- folders --------------------------------------------------------------------- */

#define FOLDER TEST_DATA "/hf/qwen3_moe_nonorm_mixed/f32"

/* The fixture with one key of config.json changed (NULL: left out). */
static sl_status load_folder(const char *key, const char *json, sl_net **net, sl_err *err)
{
    char dir[] = "/tmp/experts-XXXXXX", path[64], link[64];
    json_error_t where;
    json_t *config = json_load_file(FOLDER "/config.json", 0, &where);
    assert_true(config && mkdtemp(dir));
    if (key)
        json_object_del(config, key);
    if (key && json)
        json_object_set_new(config, key, json_loads(json, JSON_DECODE_ANY, &where));
    snprintf(path, sizeof path, "%s/config.json", dir);
    snprintf(link, sizeof link, "%s/model.safetensors", dir);
    assert_int_equal(json_dump_file(config, path, 0), 0);
    assert_int_equal(symlink(FOLDER "/model.safetensors", link), 0);
    const sl_status rc = sl_net_load(net, dir, NULL, err);
    json_decref(config);
    unlink(path);
    unlink(link);
    rmdir(dir);
    return rc;
}

static void folders(void **state)
{
    (void)state;
    static const struct {
        const char *key, *json;
        bool renorm;
    } good[] = { { NULL, NULL, false },
                 { "norm_topk_prob", NULL, false }, /* as Transformers' class */
                 { "norm_topk_prob", "true", true },
                 { "norm_topk_prob", "false", false } };
    static const struct {
        const char *key, *json;
        sl_status want;
        const char *says;
    } bad[] = {
        { "num_experts", "-1", SL_EFORMAT, "num_experts" },
        { "num_experts", "1e9", SL_EFORMAT, "num_experts" },
        { "num_experts", "60000", SL_EFORMAT, "tensor" },
        { "num_experts", "7", SL_EFORMAT, "tensor" },
        { "num_experts", "5", SL_EFORMAT, "tensor" },
        { "num_experts", "null", SL_EFORMAT, "num_experts" },
        { "num_experts_per_tok", "7", SL_EFORMAT, "num_experts_per_tok: 7 of 6" },
        { "num_experts_per_tok", "0", SL_EFORMAT, "num_experts_per_tok" },
        { "moe_intermediate_size", "25", SL_EFORMAT, "gate_proj.weight is [24, 48]" },
        { "norm_topk_prob", "\"no\"", SL_EFORMAT, "norm_topk_prob" },
        { "decoder_sparse_step", "0", SL_EFORMAT, "decoder_sparse_step" },
        { "decoder_sparse_step", "1", SL_EFORMAT, "missing tensor model.layers.0.mlp" },
        { "mlp_only_layers", "[0]", SL_EFORMAT, "missing tensor model.layers.3.mlp" },
        { "mlp_only_layers", "[1, 3]", SL_EFORMAT, "missing tensor model.layers.1.mlp" },
        { "mlp_only_layers", "[-1]", SL_EFORMAT, "mlp_only_layers" },
        { "mlp_only_layers", "[\"3\"]", SL_EFORMAT, "mlp_only_layers" },
        { "n_routed_experts", "6", SL_EUNSUPPORTED, "n_routed_experts" },
        { "model_type", "\"qwen3\"", SL_EUNSUPPORTED, "Qwen3MoeForCausalLM" },
    };
    for (size_t i = 0; i < SL_COUNT(good); i++) {
        sl_net *net = NULL;
        sl_err err = { 0 };
        if (load_folder(good[i].key, good[i].json, &net, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(net->config.router.renorm, good[i].renorm);
        for (size_t l = 0; l < 4; l++)
            assert_int_equal(net->layer[l].sparse, l == 1);
        sl_net_free(net);
    }
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        sl_net *net = NULL;
        sl_err err = { 0 };
        const sl_status rc = load_folder(bad[i].key, bad[i].json, &net, &err);
        if (rc != bad[i].want || !strstr(err.msg, bad[i].says))
            fail_msg("%s %s: %s \"%s\", should be %s and say \"%s\"", bad[i].key, bad[i].json, sl_status_name(rc),
                     err.msg, sl_status_name(bad[i].want), bad[i].says);
        assert_null(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(explicit_values_win), cmocka_unit_test(faults_are_named),
                                        cmocka_unit_test(folders) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
