/* test_gpt_oss.c - settings and tensors of gpt-oss in both forms of its folders: what they become, and what is refused,
 * with the key or tensor that is wrong. What it computes is compared with the reference by test_golden. */
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
#include "base/num.h"
#include "models/net.h"
#include "support/gguf_build.h"
#include "support/hf_build.h"

#define FLOATS TEST_DATA "/hf/gpt_oss/f32"
#define BLOCKS TEST_DATA "/hf_quant/gpt_oss_mxfp4"

/* The members of `changes` laid over an object; "-key": 0 takes a key out. */
static void lay_over(json_t *object, const char *changes)
{
    json_error_t where;
    json_t *more = json_loads(changes, 0, &where), *value;
    const char *key;
    if (!more)
        fail_msg("%s: %s", changes, where.text);
    json_object_foreach(more, key, value)
    {
        if (key[0] == '-')
            json_object_del(object, key + 1);
        else
            json_object_set(object, key, value);
    }
    json_decref(more);
}

/* The file with tensors renamed ("name"), retyped or reshaped in its header: members of `changes` laid over the entries
 * that they name. */
static void write_tensors(const hf_build *b, const char *folder, const char *changes)
{
    char path[512];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    const size_t n = (size_t)ftell(f);
    unsigned char *raw = malloc(n), *out = malloc(2 * n);
    assert_true(raw && out);
    rewind(f);
    assert_int_equal(fread(raw, 1, n, f), n);
    fclose(f);
    uint64_t len = 0;
    memcpy(&len, raw, sizeof len);
    json_error_t where;
    json_t *header = json_loadb((const char *)raw + 8, (size_t)len, 0, &where), *more = json_loads(changes, 0, &where);
    const char *name;
    json_t *change;
    assert_true(header && more);
    json_object_foreach(more, name, change)
    {
        json_t *entry = json_incref(json_object_get(header, name));
        if (!entry)
            fail_msg("no tensor %s", name);
        json_object_del(header, name);
        json_t *as = json_object_get(change, "name");
        json_object_update(entry, change);
        json_object_del(entry, "name");
        json_object_set(header, as ? json_string_value(as) : name, entry);
        json_decref(entry);
    }
    char *text = json_dumps(header, JSON_COMPACT);
    assert_non_null(text);
    const uint64_t own = strlen(text);
    memcpy(out, &own, sizeof own);
    memcpy(out + 8, text, own);
    memcpy(out + 8 + own, raw + 8 + len, n - 8 - len);
    hf_write(b, "model.safetensors", out, 8 + own + n - 8 - len);
    free(text);
    free(raw);
    free(out);
    json_decref(header);
    json_decref(more);
}

static sl_status load(const char *folder, const char *config_changes, const char *tensor_changes, sl_net **net,
                      sl_err *err)
{
    hf_build b;
    char path[512];
    json_error_t where;
    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *config = json_load_file(path, 0, &where);
    assert_non_null(config);
    lay_over(config, config_changes);
    char *text = json_dumps(config, 0);
    hf_begin(&b);
    hf_text(&b, "config.json", text);
    write_tensors(&b, folder, tensor_changes);
    const sl_status rc = sl_net_load(net, b.dir, NULL, err);
    hf_end(&b); /* its maps live on */
    free(text);
    json_decref(config);
    return rc;
}

static sl_net *loads(const char *folder, const char *config_changes)
{
    sl_net *net = NULL;
    sl_err err = { 0 };
    if (load(folder, config_changes, "{}", &net, &err))
        fail_msg("%s: %s", config_changes, err.msg);
    return net;
}

static void published_settings(void **state)
{
    (void)state;
    static const char *const folders[] = { FLOATS, BLOCKS };
    for (size_t i = 0; i < 2; i++) {
        sl_net *net = loads(folders[i], "{}");
        const sl_config *c = &net->config;
        const sl_router *r = &c->router;
        assert_true(r->E == 6 && r->K == 2 && r->score == SL_SCORE_PICKED && !r->renorm && r->scale == 1.0f);
        assert_true(c->f == 32 && c->glu.limit == 7.0f && c->glu.alpha == 1.702f);
        assert_true(net->layer[0].window == 16 && net->layer[1].window == 0);
        assert_true(c->rope.scaling == SL_ROPE_YARN && c->rope.unrounded && !c->rope_adjacent);
        assert_true(fabs((double)net->rope_scale - (0.1 * log(32.0) + 1.0)) < 1e-6);
        const sl_mixture m = sl_net_mixture(net, &net->layer[1]);
        assert_true(m.route_bias && m.gate_bias && m.up_bias && m.down_bias && m.up_bias != m.gate_bias);
        assert_non_null(sl_net_attention(net, &net->layer[1]).heads.sinks);
        /* gate and up alternate in one tensor, of which each token's two experts are a third */
        const sl_tensor *gate = &m.gate[3], *up = &m.up[3];
        assert_true(gate->rows == 32 && gate->cols == 64 && up->rows == 32 && up->cols == 64);
        assert_int_equal(gate->format, i ? SL_FORMAT_MXFP4_SPLIT : SL_FORMAT_F32_T);
        assert_int_equal((const char *)up->data - (const char *)gate->data, i ? 32 : 4);
        const size_t matrices = 2 * 6 * 3 * 32 * 64;
        assert_int_equal(net->bytes_of_experts,
                         i ? matrices / 32 * 17 + 2 * 6 * 128 * 2 : 4 * (matrices + 2 * 6 * 128));
        assert_int_equal(net->n_of_experts, matrices + 2 * 6 * 128);
        sl_net_free(net);
    }
}

/* Matrices are read where they lie; biases that alternate, and vectors that are no floats, are copied. */
static void what_is_copied(void **state)
{
    (void)state;
    const size_t alternating = 6 * 64, down = 6 * 64;            /* biases of a layer's experts */
    const size_t vectors = 2 * 64 + (64 + 32 + 32 + 64) + 4 + 6; /* norms, biases of attention, sinks, the router's */
    sl_net *net = NULL;
    sl_err err = { 0 };
    assert_int_equal(sl_net_load(&net, FLOATS, NULL, &err), SL_OK);
    assert_int_equal(net->widened_bytes, 2 * alternating * sizeof(float));
    sl_net_free(net);
    assert_int_equal(sl_net_load(&net, BLOCKS, NULL, &err), SL_OK);
    assert_int_equal(net->widened_bytes, (2 * (alternating + down + vectors) + 64) * sizeof(float));
    sl_net_free(net);
}

static void other_forms(void **state)
{
    (void)state;
    static const char *const same[] = {
        "{\"-swiglu_limit\": 0}",
        "{\"-layer_types\": 0}", /* the first layer and each second one */
        "{\"-experts_per_token\": 0}",
        "{\"-attention_bias\": 0, \"-hidden_act\": 0}",
        "{\"-rope_scaling\": 0, \"-rope_theta\": 0, \"rope_parameters\": {\"rope_type\": \"yarn\", \"rope_theta\": "
        "1.5e5,"
        " \"factor\": 32, \"beta_fast\": 32, \"beta_slow\": 1, \"truncate\": false,"
        " \"original_max_position_embeddings\": 128}}",
    };
    sl_net *want = loads(FLOATS, "{}");
    for (size_t i = 0; i < SL_COUNT(same); i++) {
        sl_net *net = loads(FLOATS, same[i]);
        assert_true(net->config.glu.limit == 7.0f && net->layer[0].window == 16 && !net->layer[1].window);
        assert_memory_equal(net->inv_freq, want->inv_freq, 8 * sizeof *want->inv_freq);
        sl_net_free(net);
    }
    sl_net_free(want);
    sl_net *net =
        loads(BLOCKS, "{\"swiglu_limit\": 3.5, \"layer_types\": [\"full_attention\", \"sliding_attention\"]}");
    assert_true(net->config.glu.limit == 3.5f && !net->layer[0].window && net->layer[1].window == 16);
    sl_net_free(net);
}

typedef struct fault {
    const char *folder, *config, *tensors;
    sl_status want;
    const char *says;
} fault;

static void refused(const fault *f)
{
    sl_net *net = NULL;
    sl_err err = { 0 };
    const sl_status rc = load(f->folder, f->config, f->tensors, &net, &err);
    if (rc != f->want || !strstr(err.msg, f->says))
        fail_msg("%s %s: %s \"%s\", should be %s and say \"%s\"", f->config, f->tensors, sl_status_name(rc), err.msg,
                 sl_status_name(f->want), f->says);
    assert_null(net);
}

static void settings_are_named(void **state)
{
    (void)state;
#define YARN "\"rope_type\": \"yarn\", \"factor\": 32"
    static const fault bad[] = {
        { FLOATS, "{\"hidden_act\": \"gelu\"}", "{}", SL_EUNSUPPORTED, "hidden_act: \"gelu\"" },
        { FLOATS, "{\"-head_dim\": 0}", "{}", SL_EFORMAT, "\"head_dim\" is missing" },
        { FLOATS, "{\"-rms_norm_eps\": 0}", "{}", SL_EFORMAT, "\"rms_norm_eps\" is missing" },
        { FLOATS, "{\"-rope_scaling\": 0}", "{}", SL_EFORMAT, "\"rope_scaling\" is missing" },
        { FLOATS, "{\"-rope_theta\": 0}", "{}", SL_EFORMAT, "\"rope_theta\" is missing" },
        { FLOATS, "{\"-sliding_window\": 0}", "{}", SL_EFORMAT, "\"sliding_window\" is missing" },
        { FLOATS, "{\"sliding_window\": null}", "{}", SL_EFORMAT, "sliding_window" },
        { FLOATS, "{\"sliding_window\": 0}", "{}", SL_EFORMAT, "sliding_window" },
        { FLOATS, "{\"use_sliding_window\": false}", "{}", SL_EUNSUPPORTED, "use_sliding_window" },
        { FLOATS, "{\"layer_types\": [\"full_attention\"]}", "{}", SL_EFORMAT, "1 kinds for 2 layers" },
        { FLOATS, "{\"layer_types\": [\"chunked_attention\", \"full_attention\"]}", "{}", SL_EUNSUPPORTED,
          "chunked_attention" },
        { FLOATS, "{\"rope_scaling\": {" YARN ", \"truncate\": \"no\"}}", "{}", SL_EFORMAT, "truncate" },
        { FLOATS, "{\"-num_local_experts\": 0}", "{}", SL_EFORMAT, "num_local_experts" },
        { FLOATS, "{\"num_local_experts\": 0}", "{}", SL_EFORMAT, "num_local_experts" },
        { FLOATS, "{\"num_local_experts\": 70000}", "{}", SL_EFORMAT, "70000 is above 65536" },
        { FLOATS, "{\"num_local_experts\": 5}", "{}", SL_EFORMAT, "the settings ask for [" },
        { FLOATS, "{\"num_experts\": 6}", "{}", SL_EUNSUPPORTED, "num_experts" },
        { FLOATS, "{\"num_experts_per_tok\": 7}", "{}", SL_EFORMAT, "num_experts_per_tok" },
        { FLOATS, "{\"experts_per_token\": 3}", "{}", SL_EFORMAT, "experts_per_token" },
        { FLOATS, "{\"intermediate_size\": 33}", "{}", SL_EFORMAT, "gate_up_proj is [6, 64, 64]" },
        { BLOCKS, "{\"intermediate_size\": 16}", "{}", SL_EFORMAT, "gate_up_proj.weight is [6, 64, 64]" },
        { FLOATS, "{\"swiglu_limit\": 0}", "{}", SL_EFORMAT, "swiglu_limit" },
        { FLOATS, "{\"swiglu_limit\": 1e39}", "{}", SL_EFORMAT, "swiglu_limit" },
        { FLOATS, "{\"swiglu_limit\": null, \"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"]}",
          "{}", SL_EUNSUPPORTED, "num_local_experts" },
        { FLOATS, "{\"quantization_config\": {\"quant_method\": \"mxfp4\", \"group_size\": 16}}", "{}", SL_EUNSUPPORTED,
          "group_size" },
        { FLOATS, "{\"quantization_config\": {\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": 3}}", "{}",
          SL_EFORMAT, "modules_to_not_convert" },
    };
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        refused(&bad[i]);
}

#define L "model.layers.1."
#define X L "mlp.experts."

static void tensors_are_named(void **state)
{
    (void)state;
    static const fault bad[] = {
        { FLOATS, "{}", "{\"" L "self_attn.sinks\": {\"name\": \"x\"}}", SL_EFORMAT,
          "missing tensor " L "self_attn.sinks" },
        { FLOATS, "{}", "{\"" L "self_attn.sinks\": {\"shape\": [2, 2]}}", SL_EFORMAT, "sinks is [2, 2]" },
        { FLOATS, "{}", "{\"" L "self_attn.o_proj.bias\": {\"name\": \"x\"}}", SL_EFORMAT,
          "missing tensor " L "self_attn.o_proj.bias" },
        { FLOATS, "{}", "{\"" L "mlp.router.bias\": {\"name\": \"x\"}}", SL_EFORMAT,
          "missing tensor " L "mlp.router.bias" },
        { FLOATS, "{}", "{\"" X "gate_up_proj\": {\"name\": \"x\"}}", SL_EFORMAT, "missing tensor " X "gate_up_proj" },
        { FLOATS, "{}", "{\"" X "gate_up_proj\": {\"shape\": [12, 32, 64]}}", SL_EFORMAT,
          "gate_up_proj is [12, 32, 64]" },
        { FLOATS, "{}", "{\"" X "gate_up_proj\": {\"shape\": [384, 64]}}", SL_EFORMAT, "gate_up_proj is [1, 384, 64]" },
        { FLOATS, "{}", "{\"" X "gate_up_proj_bias\": {\"shape\": [3, 128]}}", SL_EFORMAT,
          "gate_up_proj_bias is [1, 3, 128]" },
        { FLOATS, "{}", "{\"" X "down_proj_bias\": {\"shape\": [384]}}", SL_EFORMAT, "down_proj_bias is" },
        /* both forms at once */
        { BLOCKS, "{}", "{\"" X "down_proj_bias\": {\"name\": \"" X "down_proj\"}}", SL_EFORMAT,
          "tensor " X "down_proj: the file has these weights in another form" },
        { BLOCKS, "{}", "{\"" X "down_proj_scales\": {\"name\": \"x\"}}", SL_EFORMAT,
          "module " X "down_proj: scales is missing" },
        { BLOCKS, "{}", "{\"" X "down_proj_blocks\": {\"name\": \"x\"}}", SL_EFORMAT,
          "module " X "down_proj has scales, but no numbers" },
        { BLOCKS, "{}", "{\"" X "down_proj_blocks\": {\"dtype\": \"I8\"}}", SL_EFORMAT, "not both U8" },
        { BLOCKS, "{}", "{\"" X "down_proj_scales\": {\"dtype\": \"F8_E8M0\"}}", SL_EFORMAT, "not both U8" },
        { BLOCKS, "{}", "{\"" X "down_proj_blocks\": {\"shape\": [6, 64, 16]}}", SL_EFORMAT,
          "one number for each group" },
        { BLOCKS, "{}", "{\"" X "down_proj_blocks\": {\"shape\": [6, 64, 2, 8]}}", SL_EFORMAT, "groups of 16 bytes" },
        { BLOCKS, "{}", "{\"" X "down_proj_scales\": {\"shape\": [6, 1, 64]}}", SL_EFORMAT,
          "one number for each group" },
        { BLOCKS, "{}", "{\"" X "down_proj_scales\": {\"shape\": [384]}}", SL_EFORMAT, "one number for each group" },
        { BLOCKS, "{}",
          "{\"" X "down_proj_blocks\": {\"shape\": [6, 32, 2, 16]}, \"" X
          "down_proj_scales\": {\"shape\": [6, 32, 2]}}",
          SL_EFORMAT, "down_proj.weight is [6, 32, 64]" },
        { BLOCKS, "{\"-quantization_config\": 0}", "{}", SL_EFORMAT,
          "_proj has blocks, but config.json has no quantization_config" },
        { BLOCKS,
          "{\"quantization_config\": {\"quant_method\": \"mxfp4\", \"modules_to_not_convert\": "
          "[\"model.layers.*.mlp.experts\"]}}",
          "{}", SL_EFORMAT, "\"modules_to_not_convert\" names it, but it is quantised" },
    };
    for (size_t i = 0; i < SL_COUNT(bad); i++)
        refused(&bad[i]);
}

/* ---- GGUF --------------------------------------------------------------------------- */

#define GB_LAYERS 3 /* D 8, 2 heads of 4 on 1, 3 experts of width 6, 5 tokens */

/* `without`: a key or the end of a tensor's name that is left out. */
static const char *make_gguf(gguf_build *b, const char *without)
{
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = { { "block_count", GB_LAYERS },
                 { "context_length", 4096 },
                 { "embedding_length", 8 },
                 { "attention.head_count", 2 },
                 { "attention.head_count_kv", 1 },
                 { "attention.sliding_window", 16 },
                 { "expert_count", 3 },
                 { "expert_used_count", 2 },
                 { "expert_feed_forward_length", 6 },
                 { "rope.scaling.original_context_length", 128 } };
    static const struct {
        const char *name;
        uint64_t dims[3];
    } rows[] = { { "attn_norm.weight", { 8 } },
                 { "attn_q.weight", { 8, 8 } },
                 { "attn_q.bias", { 8 } },
                 { "attn_k.weight", { 8, 4 } },
                 { "attn_k.bias", { 4 } },
                 { "attn_v.weight", { 8, 4 } },
                 { "attn_v.bias", { 4 } },
                 { "attn_output.weight", { 8, 8 } },
                 { "attn_output.bias", { 8 } },
                 { "attn_sinks.weight", { 2 } },
                 { "post_attention_norm.weight", { 8 } },
                 { "ffn_gate_inp.weight", { 8, 3 } },
                 { "ffn_gate_inp.bias", { 3 } },
                 { "ffn_gate_exps.weight", { 8, 6, 3 } },
                 { "ffn_gate_exps.bias", { 6, 3 } },
                 { "ffn_up_exps.weight", { 8, 6, 3 } },
                 { "ffn_up_exps.bias", { 6, 3 } },
                 { "ffn_down_exps.weight", { 6, 8, 3 } },
                 { "ffn_down_exps.bias", { 8, 3 } } };
    uint64_t at = 0;
    char name[96];
    gb_begin(b, 3);
    gb_key_str(b, "general.architecture", "gpt-oss");
    for (size_t i = 0; i < SL_COUNT(keys); i++) {
        snprintf(name, sizeof name, "gpt-oss.%s", keys[i].key);
        if (!without || strcmp(keys[i].key, without) != 0)
            gb_key_u32(b, name, keys[i].value);
    }
    gb_f32(gb_key(b, "gpt-oss.attention.layer_norm_rms_epsilon", SL_GGUF_F32), 1e-5f);
    gb_f32(gb_key(b, "gpt-oss.rope.freq_base", SL_GGUF_F32), 150000.0f);
    gb_f32(gb_key(b, "gpt-oss.rope.scaling.factor", SL_GGUF_F32), 32.0f);
    gb_key_str(b, "gpt-oss.rope.scaling.type", "yarn");
    gb_tensor(b, "token_embd.weight", 0, at, 2, (uint64_t[]){ 8, 5 });
    gb_tensor(b, "output.weight", 0, at += 160, 2, (uint64_t[]){ 8, 5 });
    gb_tensor(b, "output_norm.weight", 0, at += 160, 1, (uint64_t[]){ 8 });
    at += 32;
    for (size_t i = 0; i < GB_LAYERS * SL_COUNT(rows); i++) {
        const uint64_t *d = rows[i % SL_COUNT(rows)].dims;
        const uint64_t n = d[0] * SL_MAX(d[1], 1u) * SL_MAX(d[2], 1u);
        snprintf(name, sizeof name, "blk.%zu.%s", i / SL_COUNT(rows), rows[i % SL_COUNT(rows)].name);
        if (without && strcmp(rows[i % SL_COUNT(rows)].name, without) == 0)
            continue;
        gb_tensor(b, name, 0, at, d[2] ? 3 : d[1] ? 2 : 1, d);
        at += (n * sizeof(float) + 31) / 32 * 32;
    }
    gb_finish(b, (size_t)at);
    return gb_path(b);
}

static void gguf_files(void **state)
{
    (void)state;
    static const struct {
        const char *without, *says;
    } bad[] = { { "expert_count", "key gpt-oss.expert_count is missing or 0" },
                { "expert_used_count", "expert_used_count" },
                { "expert_feed_forward_length", "expert_feed_forward_length" },
                { "attn_sinks.weight", "missing tensor blk.0.attn_sinks.weight (architecture gpt_oss)" },
                { "post_attention_norm.weight", "missing tensor blk.0.post_attention_norm.weight" },
                { "attn_output.bias", "missing tensor blk.0.attn_output.bias" },
                { "ffn_gate_inp.bias", "missing tensor blk.0.ffn_gate_inp.bias" },
                { "ffn_up_exps.bias", "missing tensor blk.0.ffn_up_exps.bias" } };
    gguf_build b = { 0 };
    sl_net *net = NULL;
    sl_err err = { 0 };
    if (sl_net_load(&net, make_gguf(&b, NULL), NULL, &err))
        fail_msg("%s", err.msg);
    for (size_t l = 0; l < GB_LAYERS; l++)
        assert_int_equal(net->layer[l].window, l % 2 ? 0 : 16);
    assert_true(net->config.rope.scaling == SL_ROPE_YARN && net->config.rope.unrounded);
    assert_true(net->config.router.score == SL_SCORE_PICKED && net->config.glu.limit == 7.0f);
    const sl_mixture m = sl_net_mixture(net, &net->layer[1]);
    assert_true(m.route_bias && m.gate_bias && m.up_bias && m.down_bias && m.gate[2].rows == 6);
    assert_int_equal(net->widened_bytes, 0);
    sl_net_free(net);
    gb_free(&b);
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        b = (gguf_build){ 0 };
        const sl_status rc = sl_net_load(&net, make_gguf(&b, bad[i].without), NULL, &err);
        if (rc != SL_EFORMAT || !strstr(err.msg, bad[i].says))
            fail_msg("without %s: %s \"%s\"", bad[i].without, sl_status_name(rc), err.msg);
        gb_free(&b);
    }
}

/* Described, and refused when it is to be run. */
static void a_type_without_kernel(void **state)
{
    (void)state;
    static const char *const names[] = { X "down_proj_bias", X "down_proj", X "gate_up_proj", L "self_attn.sinks" };
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        char change[128];
        sl_net *net = NULL;
        sl_err err = { 0 };
        snprintf(change, sizeof change, "{\"%s\": {\"dtype\": \"I32\"}}", names[i]);
        assert_int_equal(load(FLOATS, "{}", change, &net, &err), SL_OK);
        assert_int_equal(sl_net_runs(net, &err), SL_EUNSUPPORTED);
        assert_true(strstr(err.msg, names[i]) && strstr(err.msg, "I32"));
        sl_net_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(published_settings), cmocka_unit_test(what_is_copied),
                                        cmocka_unit_test(other_forms),        cmocka_unit_test(a_type_without_kernel),
                                        cmocka_unit_test(gguf_files),         cmocka_unit_test(settings_are_named),
                                        cmocka_unit_test(tensors_are_named) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
