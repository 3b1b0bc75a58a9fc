/* test_deepseek.c - settings of DeepSeek-V3 and Kimi-K2: defaults and explicit values, YaRN's scale of the scores,
 * layers that are left unread, and files whose numbers do not fit, refused with the key or tensor that is wrong (bug
 * reports B19, B136, B145 and their kind). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/num.h"
#include "models/net.h"

#define FOLDER TEST_DATA "/hf/deepseek_v3/f32"

/* The fixture with members of a JSON object laid over its config.json; "-key": 0 takes a key out. */
static sl_status load(const char *changes, sl_net **net, sl_err *err)
{
    char dir[] = "/tmp/deepseek-XXXXXX", path[64], link[64];
    json_error_t where;
    json_t *config = json_load_file(FOLDER "/config.json", 0, &where), *more = json_loads(changes, 0, &where), *value;
    const char *key;
    if (!config || !more || !mkdtemp(dir))
        fail_msg("%s: %s", changes, where.text);
    json_object_foreach(more, key, value)
    {
        if (key[0] == '-')
            json_object_del(config, key + 1);
        else
            json_object_set(config, key, value);
    }
    snprintf(path, sizeof path, "%s/config.json", dir);
    snprintf(link, sizeof link, "%s/model.safetensors", dir);
    assert_int_equal(json_dump_file(config, path, 0), 0);
    assert_int_equal(symlink(FOLDER "/model.safetensors", link), 0);
    const sl_status rc = sl_net_load(net, dir, NULL, err);
    json_decref(config);
    json_decref(more);
    unlink(path);
    unlink(link);
    rmdir(dir);
    return rc;
}

static sl_net *loads(const char *changes)
{
    sl_net *net = NULL;
    sl_err err = { 0 };
    if (load(changes, &net, &err))
        fail_msg("%s: %s", changes, err.msg);
    return net;
}

static void published_settings(void **state)
{
    (void)state;
    sl_net *net = loads("{}");
    const sl_config *c = &net->config;
    const sl_router *r = &c->router;
    assert_string_equal(sl_arch_name(net->arch), "deepseek_v3");
    assert_true(c->q_rank == 32 && c->kv_rank == 24 && c->nope == 16 && c->rope.dim == 16 && c->v_width == 12);
    assert_true(r->E == 12 && r->K == 3 && r->n_groups == 4 && r->n_groups_kept == 2 && r->n_group_best == 2);
    assert_true(r->score == SL_SCORE_SIGMOID && r->renorm && r->renorm_eps == 1e-20f && r->scale == 2.5f);
    assert_true(c->s == 24 && c->rope_adjacent && !net->layer[0].sparse && net->layer[1].sparse);
    const sl_latent_weights w = sl_net_latent(net, &net->layer[2]);
    const double m = 0.1 * log(40.0) + 1.0;
    assert_true(fabs((double)w.heads.scale - m * m / sqrt(32.0)) < 1e-7);
    assert_true(w.q_norm.eps == 1e-6f && w.kv_norm.eps == 1e-6f);
    assert_non_null(sl_net_mixture(net, &net->layer[1]).router.correction);
    assert_true(sl_net_skips(net, "model.layers.3.enorm.weight") && !sl_net_skips(net, "model.layers.2.x") &&
                !sl_net_skips(net, "model.layers.4.x") && !sl_net_skips(net, "model.layers.3x.y") &&
                !sl_net_skips(net, "model.layers.") && !sl_net_skips(net, "model.layers.+3.x"));
    sl_net_free(net);
}

static void defaults_and_other_forms(void **state)
{
    (void)state;
    static const char *const same[] = {
        "{\"-norm_topk_prob\": 0}",
        "{\"-routed_scaling_factor\": 0}",
        "{\"-n_shared_experts\": 0}",
        "{\"-scoring_func\": 0, \"-topk_method\": 0, \"-moe_layer_freq\": 0}",
        "{\"head_dim\": 16, \"qk_head_dim\": 32, \"rope_interleave\": true}",
        "{\"num_key_value_heads\": 1}",
        "{\"model_type\": \"kimi_k2\"}",
        "{\"model_type\": \"kimi_k2\", \"architectures\": [\"KimiK2ForCausalLM\"]}",
        "{\"-rope_scaling\": 0, \"-rope_theta\": 0, \"rope_parameters\": {\"rope_type\": \"yarn\", \"rope_theta\": 1e4,"
        " \"factor\": 40, \"original_max_position_embeddings\": 4096, \"beta_fast\": 32, \"beta_slow\": 1, \"mscale\": "
        "1,"
        " \"mscale_all_dim\": 1}}",
    };
    for (size_t i = 0; i < SL_COUNT(same); i++) {
        sl_net *net = loads(same[i]);
        const sl_router *r = &net->config.router;
        assert_true(r->renorm && r->scale == 2.5f && net->config.s == 24 && net->config.rope_adjacent);
        assert_true(net->config.C == 32 && net->config.rope.dim == 16 && net->config.Hkv == 4);
        assert_true(fabs(sqrt(net->config.rope.score_scale) - 1.3688879454113936) < 1e-12);
        sl_net_free(net);
    }
    sl_net *net = loads("{\"norm_topk_prob\": false, \"rope_interleave\": false, \"routed_scaling_factor\": 1}");
    assert_true(!net->config.router.renorm && !net->config.rope_adjacent && net->config.router.scale == 1.0f);
    sl_net_free(net);
}

/* Factors of cosine and sine, and of the scores. Source: Transformers, yarn_get_mscale and DeepseekV3Attention. */
static void yarn_scales(void **state)
{
    (void)state;
#define YARN "\"type\": \"yarn\", \"original_max_position_embeddings\": 4096, \"beta_fast\": 32, \"beta_slow\": 1"
    static const struct {
        const char *scaling;
        double table, scores;
    } cases[] = {
        { "{\"rope_theta\": 50000, \"rope_scaling\": {" YARN ", \"factor\": 64, \"mscale\": 1, \"mscale_all_dim\": 1}}",
          1.0, 2.0047397017 },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 40, \"mscale\": 0.707, \"mscale_all_dim\": 0.707}}", 1.0,
          1.5896261651 },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 16, \"mscale\": 1, \"mscale_all_dim\": 0.707}}", 1.0679225366,
          1.4304686787 },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 40, \"mscale\": 0, \"mscale_all_dim\": 0}}", 1.3688879454, 1.0 },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 40}}", 1.3688879454, 1.0 },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 40, \"mscale_all_dim\": 1}}", 1.3688879454, 1.8738542071 },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 40, \"attention_factor\": 1.5}}", 1.5, 1.0 },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 1, \"mscale\": 1, \"mscale_all_dim\": 1}}", 1.0, 1.0 },
        { "{\"rope_scaling\": null}", 1.0, 1.0 },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_net *net = loads(cases[i].scaling);
        const double table = (double)net->rope_scale, scores = net->config.rope.score_scale;
        if (!(fabs(table - cases[i].table) < 1e-6 && fabs(scores - cases[i].scores) < 1e-9))
            fail_msg("%s: %.10g and %.10g", cases[i].scaling, table, scores);
        sl_net_free(net);
    }
}

static void faults_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *changes;
        sl_status want;
        const char *says;
    } bad[] = {
        { "{\"-kv_lora_rank\": 0}", SL_EFORMAT, "kv_lora_rank" },
        { "{\"kv_lora_rank\": 0}", SL_EFORMAT, "kv_lora_rank" },
        { "{\"kv_lora_rank\": 25}", SL_EUNSUPPORTED, "kv_lora_rank 25" },
        { "{\"kv_lora_rank\": 26}", SL_EFORMAT, "kv_a_proj_with_mqa.weight is [40, 64]" },
        { "{\"q_lora_rank\": null}", SL_EFORMAT, "missing tensor model.layers.0.self_attn.q_proj.weight" },
        { "{\"q_lora_rank\": 30}", SL_EFORMAT, "q_a_proj.weight is [32, 64]" },
        { "{\"q_lora_rank\": -1}", SL_EFORMAT, "q_lora_rank" },
        { "{\"-qk_nope_head_dim\": 0}", SL_EFORMAT, "qk_nope_head_dim" },
        { "{\"qk_rope_head_dim\": 15}", SL_EUNSUPPORTED, "qk_rope_head_dim 15" },
        { "{\"qk_rope_head_dim\": \"16\"}", SL_EFORMAT, "qk_rope_head_dim" },
        { "{\"-v_head_dim\": 0}", SL_EFORMAT, "v_head_dim" },
        { "{\"v_head_dim\": 16777217}", SL_EFORMAT, "v_head_dim" },
        { "{\"v_head_dim\": 16}", SL_EFORMAT, "kv_b_proj.weight is [112, 24]" },
        { "{\"rope_interleave\": \"no\"}", SL_EFORMAT, "rope_interleave" },
        { "{\"attention_bias\": true}", SL_EFORMAT, "missing tensor model.layers.0.self_attn.q_a_proj.bias" },
        { "{\"sliding_window\": 16}", SL_EUNSUPPORTED, "sliding_window" },
        { "{\"-n_routed_experts\": 0}", SL_EFORMAT, "n_routed_experts" },
        { "{\"n_routed_experts\": -1}", SL_EFORMAT, "n_routed_experts" },
        { "{\"n_routed_experts\": 1e9}", SL_EFORMAT, "n_routed_experts" },
        { "{\"n_routed_experts\": 60000}", SL_EFORMAT, "tensor" },
        { "{\"n_routed_experts\": 0}", SL_EFORMAT, "missing tensor model.layers.1.mlp.gate_proj.weight" },
        { "{\"num_experts\": 12}", SL_EUNSUPPORTED, "num_experts" },
        { "{\"num_local_experts\": 12}", SL_EUNSUPPORTED, "num_local_experts" },
        { "{\"num_experts_per_tok\": 13}", SL_EFORMAT, "num_experts_per_tok: 13 of 12" },
        { "{\"n_group\": 5}", SL_EFORMAT, "n_group 5" },
        { "{\"topk_group\": 9}", SL_EFORMAT, "topk_group 9" },
        { "{\"topk_group\": 1, \"num_experts_per_tok\": 4}", SL_EFORMAT, "topk_group 1" },
        { "{\"scoring_func\": \"softmax\"}", SL_EUNSUPPORTED, "scoring_func" },
        { "{\"scoring_func\": 3}", SL_EFORMAT, "scoring_func" },
        { "{\"topk_method\": \"greedy\"}", SL_EUNSUPPORTED, "topk_method" },
        { "{\"moe_layer_freq\": 2}", SL_EFORMAT, "missing tensor model.layers.1.mlp.gate_proj.weight" },
        { "{\"moe_layer_freq\": 0}", SL_EFORMAT, "moe_layer_freq" },
        { "{\"first_k_dense_replace\": 0}", SL_EFORMAT, "missing tensor model.layers.0.mlp.gate.weight" },
        { "{\"first_k_dense_replace\": -1}", SL_EFORMAT, "first_k_dense_replace" },
        { "{\"n_shared_experts\": 0}", SL_EUNSUPPORTED, "shared_experts" },
        { "{\"n_shared_experts\": 2}", SL_EFORMAT, "shared_experts.gate_proj.weight is [24, 64]" },
        { "{\"num_nextn_predict_layers\": 0}", SL_EUNSUPPORTED, "tensor model.layers.3." },
        { "{\"num_nextn_predict_layers\": -1}", SL_EFORMAT, "num_nextn_predict_layers" },
        { "{\"num_hidden_layers\": 2}", SL_EUNSUPPORTED, "is of layer 3, but num_hidden_layers is 2" },
        { "{\"routed_scaling_factor\": null}", SL_EFORMAT, "\"routed_scaling_factor\" is null" },
        { "{\"n_group\": null}", SL_EFORMAT, "\"n_group\" is null" },
        { "{\"routed_scaling_factor\": \"2\"}", SL_EFORMAT, "routed_scaling_factor" },
        { "{\"routed_scaling_factor\": 1e39}", SL_EFORMAT, "routed_scaling_factor" },
        { "{\"rope_scaling\": {" YARN ", \"factor\": 40, \"mscale_all_dim\": -1}}", SL_EFORMAT, "mscale_all_dim" },
        { "{\"architectures\": [\"KimiK2ForCausalLM\"]}", SL_EUNSUPPORTED, "DeepseekV3ForCausalLM" },
        { "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"]}", SL_EUNSUPPORTED,
          "n_routed_experts" },
    };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        sl_net *net = NULL;
        sl_err err = { 0 };
        const sl_status rc = load(bad[i].changes, &net, &err);
        if (rc != bad[i].want || !strstr(err.msg, bad[i].says))
            fail_msg("%s: %s \"%s\", should be %s and say \"%s\"", bad[i].changes, sl_status_name(rc), err.msg,
                     sl_status_name(bad[i].want), bad[i].says);
        assert_null(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(published_settings),
                                        cmocka_unit_test(defaults_and_other_forms), cmocka_unit_test(yarn_scales),
                                        cmocka_unit_test(faults_are_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
