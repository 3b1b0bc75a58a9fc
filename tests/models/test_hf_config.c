/* test_hf_config.c - config.json: every form that is read, and every value that is refused, with the words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "models/net.h"
#include "support/hf_build.h"

/* D 8, F 6, 2 query heads and 1 KV head of 4, 5 tokens, 2 layers. */
#define LAYER(l, more)                                                                                                 \
    " model.layers." l ".input_layernorm.weight:8 model.layers." l ".self_attn.q_proj.weight:8x8"                      \
    " model.layers." l ".self_attn.k_proj.weight:4x8 model.layers." l ".self_attn.v_proj.weight:4x8"                   \
    " model.layers." l ".self_attn.o_proj.weight:8x8 model.layers." l ".post_attention_layernorm.weight:8"             \
    " model.layers." l ".mlp.gate_proj.weight:6x8 model.layers." l ".mlp.up_proj.weight:6x8"                           \
    " model.layers." l ".mlp.down_proj.weight:8x6" more(l)
#define NONE(l) ""
#define QKV_BIAS(l)                                                                                                    \
    " model.layers." l ".self_attn.q_proj.bias:8 model.layers." l ".self_attn.k_proj.bias:4"                           \
    " model.layers." l ".self_attn.v_proj.bias:4"
#define O_BIAS(l)    " model.layers." l ".self_attn.o_proj.bias:8"
#define ATTN_BIAS(l) QKV_BIAS(l) O_BIAS(l)
#define MLP_BIAS(l)                                                                                                    \
    " model.layers." l ".mlp.gate_proj.bias:6 model.layers." l ".mlp.up_proj.bias:6 model.layers." l                   \
    ".mlp.down_proj.bias:8"
#define HEAD_NORMS(l) " model.layers." l ".self_attn.q_norm.weight:4 model.layers." l ".self_attn.k_norm.weight:4"
#define INV_FREQ(l)   " model.layers." l ".self_attn.rotary_emb.inv_freq:2"
#define MODEL(more)   "model.embed_tokens.weight:5x8 model.norm.weight:8" LAYER("0", more) LAYER("1", more)
#define HEAD          " lm_head.weight:5x8"

static const char good[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"num_hidden_layers\": 2, \"hidden_size\": "
    "8,"
    " \"intermediate_size\": 6, \"num_attention_heads\": 2, \"num_key_value_heads\": 1, \"vocab_size\": 5,"
    " \"max_position_embeddings\": 64, \"rms_norm_eps\": 1e-5, \"rope_theta\": 10000.0, \"hidden_act\": \"silu\"}";

/* `changes` is a JSON object laid over the good one; a member "-key": 0 takes a key out. */
static void write_config(const hf_build *b, const char *changes)
{
    json_error_t error;
    json_t *config = json_loads(good, 0, &error), *more = json_loads(changes, JSON_ALLOW_NUL, &error);
    if (!config || !more)
        fail_msg("%s: %s", changes, error.text);
    const char *key;
    json_t *value;
    json_object_foreach(more, key, value)
    {
        if (key[0] == '-')
            json_object_del(config, key + 1);
        else
            json_object_set(config, key, value);
    }
    char *text = json_dumps(config, JSON_INDENT(1));
    assert_non_null(text);
    hf_text(b, "config.json", text);
    free(text);
    json_decref(config);
    json_decref(more);
}

static sl_net *loads(const hf_build *b, const char *changes, const char *tensors)
{
    sl_net *net = NULL;
    sl_err err = { 0 };
    write_config(b, changes);
    hf_tensors(b, "model.safetensors", tensors);
    if (sl_net_load(&net, b->dir, NULL, &err))
        fail_msg("%s: %s", changes, err.msg);
    return net;
}

static void refused_with(const hf_build *b, const char *changes, const char *tensors, sl_status want, const char *says)
{
    sl_net *net = NULL;
    sl_err err = { 0 };
    write_config(b, changes);
    hf_tensors(b, "model.safetensors", tensors);
    const sl_status rc = sl_net_load(&net, b->dir, NULL, &err);
    if (rc != want || !strstr(err.msg, says) || strncmp(err.msg, b->dir, strlen(b->dir)) != 0 || strchr(err.msg, '\n'))
        fail_msg("%s: %s \"%s\", should be %s and say \"%s\"", changes, sl_status_name(rc), err.msg,
                 sl_status_name(want), says);
    assert_null(net);
}

typedef struct bad {
    const char *changes;
    sl_status want;
    const char *says;
} bad;

static void all_refused(const bad *list, size_t n)
{
    hf_build b = { 0 };
    hf_begin(&b);
    for (size_t i = 0; i < n; i++)
        refused_with(&b, list[i].changes, MODEL(NONE) HEAD, list[i].want, list[i].says);
    hf_end(&b);
}

/* ---- what is taken --------------------------------------------------------------------------------- */

static void each_architecture(void **state)
{
    (void)state;
    hf_build b = { 0 };
    hf_begin(&b);
    sl_net *m = loads(&b, "{}", MODEL(NONE) HEAD);
    assert_string_equal(sl_arch_name(m->arch), "llama");
    assert_true(!m->config.tied && !m->config.rope_adjacent && m->config.C == 4 && m->config.window == 0);
    assert_int_equal(m->n_params, 2 * 40 + 8 + 2 * (16 + 64 + 32 + 32 + 64 + 3 * 48));
    sl_net_free(m);
    m = loads(&b, "{\"model_type\": \"qwen2\", \"architectures\": [\"Qwen2ForCausalLM\"]}", MODEL(QKV_BIAS) HEAD);
    assert_non_null(m->layer[1].v_bias.data);
    assert_null(m->layer[1].o_bias.data);
    sl_net_free(m);
    m = loads(&b, "{\"model_type\": \"qwen3\", \"architectures\": [\"Qwen3ForCausalLM\"], \"head_dim\": 4}",
              MODEL(HEAD_NORMS) HEAD);
    assert_non_null(m->layer[1].k_norm.data);
    sl_net_free(m);
    m = loads(&b, "{\"model_type\": \"mistral\", \"-architectures\": 0, \"sliding_window\": 7}", MODEL(NONE) HEAD);
    assert_true(m->layer[0].window == 7 && m->layer[1].window == 7);
    sl_net_free(m);
    hf_end(&b);
}

static void heads(void **state)
{
    (void)state;
    hf_build b = { 0 };
    hf_begin(&b);
    sl_net *m = loads(&b, "{\"head_dim\": null, \"rms_norm_eps\": null, \"rope_theta\": 5000}", MODEL(NONE) HEAD);
    assert_true(m->config.C == 4 && m->config.norm_eps == 1e-6f && m->config.rope.base == 5000.0);
    sl_net_free(m);
    /* As many KV heads as query heads where the key is missing: two of width 2 here. */
    m = loads(&b,
              "{\"-num_key_value_heads\": 0, \"head_dim\": 2, \"num_attention_heads\": 4, \"hidden_act\": \"swish\"}",
              "model.embed_tokens.weight:5x8 model.norm.weight:8 lm_head.weight:5x8"
              " model.layers.0.input_layernorm.weight:8 model.layers.0.self_attn.q_proj.weight:8x8"
              " model.layers.0.self_attn.k_proj.weight:8x8 model.layers.0.self_attn.v_proj.weight:8x8"
              " model.layers.0.self_attn.o_proj.weight:8x8 model.layers.0.post_attention_layernorm.weight:8"
              " model.layers.0.mlp.gate_proj.weight:6x8 model.layers.0.mlp.up_proj.weight:6x8"
              " model.layers.0.mlp.down_proj.weight:8x6"
              " model.layers.1.input_layernorm.weight:8 model.layers.1.self_attn.q_proj.weight:8x8"
              " model.layers.1.self_attn.k_proj.weight:8x8 model.layers.1.self_attn.v_proj.weight:8x8"
              " model.layers.1.self_attn.o_proj.weight:8x8 model.layers.1.post_attention_layernorm.weight:8"
              " model.layers.1.mlp.gate_proj.weight:6x8 model.layers.1.mlp.up_proj.weight:6x8"
              " model.layers.1.mlp.down_proj.weight:8x6");
    assert_int_equal(m->config.Hkv, 4);
    sl_net_free(m);
    hf_end(&b);
}

static void biases_are_as_the_settings_say(void **state)
{
    (void)state;
    hf_build b = { 0 };
    hf_begin(&b);
    sl_net *m = loads(&b, "{\"attention_bias\": true}", MODEL(ATTN_BIAS) HEAD);
    assert_non_null(m->layer[0].o_bias.data);
    sl_net_free(m);
    m = loads(&b, "{\"mlp_bias\": true}", MODEL(MLP_BIAS) HEAD);
    assert_non_null(m->layer[0].down_bias.data);
    sl_net_free(m);
    refused_with(
        &b, "{\"attention_bias\": true}", MODEL(QKV_BIAS) HEAD, SL_EFORMAT,
        "missing tensor model.layers.0.self_attn.o_proj.bias (architecture llama; attention_bias asks for it)");
    refused_with(&b, "{\"mlp_bias\": true}", MODEL(NONE) HEAD, SL_EFORMAT, "mlp_bias asks for it");
    refused_with(&b, "{}", MODEL(ATTN_BIAS) HEAD, SL_EUNSUPPORTED, "self_attn.q_proj.bias is not part of");
    refused_with(&b, "{\"model_type\": \"qwen2\", \"-architectures\": 0}", MODEL(NONE) HEAD, SL_EFORMAT,
                 "missing tensor model.layers.0.self_attn.q_proj.bias");
    refused_with(&b, "{\"model_type\": \"mistral\", \"-architectures\": 0, \"attention_bias\": true}",
                 MODEL(ATTN_BIAS) HEAD, SL_EUNSUPPORTED, "attention_bias: not part of this architecture");
    hf_end(&b);
}

static void the_output_matrix(void **state)
{
    (void)state;
    hf_build b = { 0 };
    hf_begin(&b);
    sl_net *m = loads(&b, "{\"tie_word_embeddings\": true}", MODEL(NONE));
    assert_true(m->config.tied && m->head.data == m->embed.data);
    sl_net_free(m);
    m = loads(&b, "{\"tie_word_embeddings\": true}", MODEL(NONE) HEAD); /* there all the same: not read */
    assert_true(m->config.tied && m->head.data == m->embed.data);
    sl_net_free(m);
    refused_with(&b, "{}", MODEL(NONE), SL_EFORMAT, "missing tensor lm_head.weight");
    refused_with(&b, "{}", MODEL(NONE), SL_EFORMAT, "tie_word_embeddings is not set");
    hf_end(&b);
}

static void tensors_that_are_not_part_of_it(void **state)
{
    (void)state;
    hf_build b = { 0 };
    hf_begin(&b);
    sl_net_free(loads(&b, "{}", MODEL(INV_FREQ) HEAD)); /* of old folders; computed here */
    refused_with(&b, "{}", MODEL(NONE) HEAD " model.layers.2.input_layernorm.weight:8", SL_EUNSUPPORTED,
                 "tensor model.layers.2.input_layernorm.weight is of layer 2, but num_hidden_layers is 2");
    refused_with(&b, "{}", MODEL(NONE) HEAD " model.layers.1.input_layernorm.weights:8", SL_EUNSUPPORTED,
                 "tensor model.layers.1.input_layernorm.weights is not part of architecture llama");
    refused_with(&b, "{}", MODEL(NONE) HEAD " model.layers.0.self_attn.q_proj.weight_scale:8", SL_EFORMAT,
                 "module model.layers.0.self_attn.q_proj has weight_scale, but config.json has no quantization_config");
    refused_with(&b, "{}", MODEL(HEAD_NORMS) HEAD, SL_EUNSUPPORTED, "q_norm.weight is not part");
    refused_with(&b, "{\"num_hidden_layers\": 3}", MODEL(NONE) HEAD, SL_EFORMAT,
                 "missing tensor model.layers.2.input_layernorm.weight");
    refused_with(&b, "{\"num_hidden_layers\": 100000}", MODEL(NONE) HEAD, SL_EFORMAT,
                 "num_hidden_layers 100000, but there are only 21 tensors");
    refused_with(&b, "{\"intermediate_size\": 7}", MODEL(NONE) HEAD, SL_EFORMAT,
                 "tensor model.layers.0.mlp.gate_proj.weight is [6, 8], the settings ask for [7, 8]");
    refused_with(&b, "{\"vocab_size\": 6}", MODEL(NONE) HEAD, SL_EFORMAT, "vocab_size 6, but tensor");
    hf_end(&b);
}

/* ---- windows ------------------------------------------------------------------------------------------ */

#define QWEN2 "\"model_type\": \"qwen2\", \"-architectures\": 0"

static void window_is(const char *changes, const char *tensors, size_t first, size_t second)
{
    hf_build b = { 0 };
    hf_begin(&b);
    sl_net *m = loads(&b, changes, tensors);
    if (m->layer[0].window != first || m->layer[1].window != second)
        fail_msg("%s: windows %zu and %zu, should be %zu and %zu", changes, m->layer[0].window, m->layer[1].window,
                 first, second);
    sl_net_free(m);
    hf_end(&b);
}

static void windows(void **state)
{
    (void)state;
#define QWEN MODEL(QKV_BIAS) HEAD
    window_is("{" QWEN2 ", \"sliding_window\": 7}", QWEN, 0, 0); /* not in use */
    window_is("{" QWEN2 ", \"sliding_window\": 7, \"use_sliding_window\": false, \"max_window_layers\": 0}", QWEN, 0,
              0);
    window_is("{" QWEN2 ", \"sliding_window\": 7, \"use_sliding_window\": true, \"max_window_layers\": 1}", QWEN, 0, 7);
    window_is("{" QWEN2 ", \"sliding_window\": 7, \"use_sliding_window\": true, \"max_window_layers\": 0}", QWEN, 7, 7);
    window_is("{" QWEN2 ", \"sliding_window\": 7, \"use_sliding_window\": true}", QWEN, 0, 0); /* from layer 28 on */
    window_is("{" QWEN2 ", \"sliding_window\": 7, \"use_sliding_window\": true, \"max_window_layers\": 0,"
              " \"layer_types\": [\"sliding_attention\", \"full_attention\"]}",
              QWEN, 7, 0);
    window_is("{" QWEN2 ", \"layer_types\": [\"full_attention\", \"full_attention\"]}", QWEN, 0, 0);
#undef QWEN
#define MISTRAL "\"model_type\": \"mistral\", \"-architectures\": 0"
    window_is("{" MISTRAL ", \"sliding_window\": null}", MODEL(NONE) HEAD, 0, 0);
    window_is("{" MISTRAL "}", MODEL(NONE) HEAD, 4096, 4096); /* its class's own */
    window_is("{" MISTRAL ", \"sliding_window\": 3, \"layer_types\": [\"full_attention\", \"sliding_attention\"]}",
              MODEL(NONE) HEAD, 0, 3);
    window_is("{\"sliding_window\": 64}", MODEL(NONE) HEAD, 0, 0); /* llama: as wide as the context */
    static const bad bads[] = {
        { "{\"sliding_window\": 16}", SL_EUNSUPPORTED, "sliding_window: this architecture has no sliding window" },
        { "{\"use_sliding_window\": true}", SL_EUNSUPPORTED, "use_sliding_window: this architecture" },
        { "{\"layer_types\": [\"full_attention\", \"sliding_attention\"]}", SL_EUNSUPPORTED, "layer_types: this" },
        { "{\"layer_types\": [\"full_attention\"]}", SL_EFORMAT, "layer_types: 1 kinds for 2 layers" },
        { "{\"layer_types\": [\"full_attention\", 1]}", SL_EFORMAT, "layer_types[1]: should be a string" },
        { "{\"layer_types\": [\"full_attention\", \"linear_attention\"]}", SL_EUNSUPPORTED,
          "layer_types[1]: \"linear_attention\" is not supported" },
        { "{\"layer_types\": {}}", SL_EFORMAT, "layer_types: an object, should be an array" },
        { "{" MISTRAL ", \"sliding_window\": 0}", SL_EFORMAT, "sliding_window: 0 is not within" },
        { "{" MISTRAL ", \"sliding_window\": \"16\"}", SL_EFORMAT, "sliding_window: a string" },
        { "{" MISTRAL ", \"sliding_window\": 4, \"use_sliding_window\": false}", SL_EUNSUPPORTED,
          "use_sliding_window: " },
        { "{" MISTRAL ", \"sliding_window\": null, \"layer_types\": [\"sliding_attention\", \"full_attention\"]}",
          SL_EFORMAT, "layer_types: layers with a window, but sliding_window is not set" },
        { "{" QWEN2 ", \"use_sliding_window\": true, \"sliding_window\": null}", SL_EFORMAT,
          "use_sliding_window: is true" },
        { "{" QWEN2 ", \"use_sliding_window\": 1}", SL_EFORMAT, "use_sliding_window: a number, should be a boolean" },
        { "{" QWEN2 ", \"max_window_layers\": -1}", SL_EFORMAT, "max_window_layers: is negative" },
        { "{" QWEN2 ", \"sliding_window\": 4, \"layer_types\": [\"sliding_attention\", \"full_attention\"]}",
          SL_EFORMAT, "layer_types: layers with a window, but sliding_window is not in use" },
    };
    all_refused(bads, SL_COUNT(bads));
}

/* ---- rope ----------------------------------------------------------------------------------------------- */

static void rope(void **state)
{
    (void)state;
#define YARN "\"factor\": 4.0, \"original_max_position_embeddings\": 16"
    static const struct {
        const char *changes;
        sl_rope_scaling scaling;
        double base, factor, original;
        float grown; /* cosine and sine */
    } cases[] = {
        { "{\"rope_scaling\": null}", SL_ROPE_NONE, 1e4, 1, 64, 1 },
        { "{\"-rope_theta\": 0}", SL_ROPE_NONE, 1e4, 1, 64, 1 },
        { "{\"rope_scaling\": {\"rope_type\": \"default\"}}", SL_ROPE_NONE, 1e4, 1, 64, 1 },
        { "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}}", SL_ROPE_LINEAR, 1e4, 4, 64, 1 },
        { "{\"rope_scaling\": {\"rope_type\": \"linear\", \"type\": \"linear\", \"factor\": 2.5}}", SL_ROPE_LINEAR, 1e4,
          2.5, 64, 1 },
        { "{\"-rope_theta\": 0, \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 5e5}}", SL_ROPE_NONE,
          5e5, 1, 64, 1 },
        { "{\"-rope_theta\": 0, \"rope_parameters\": {\"rope_theta\": 777}}", SL_ROPE_NONE, 777, 1, 64, 1 },
        { "{\"-rope_theta\": 0, \"rope_parameters\": {\"rope_type\": \"linear\", \"rope_theta\": 3e3, \"factor\": 8}}",
          SL_ROPE_LINEAR, 3e3, 8, 64, 1 },
        { "{\"rope_scaling\": {\"rope_type\": \"llama3\", " YARN ", \"low_freq_factor\": 1, \"high_freq_factor\": 4}}",
          SL_ROPE_LLAMA3, 1e4, 4, 16, 1 },
        { "{\"rope_scaling\": {\"type\": \"yarn\", " YARN "}}", SL_ROPE_YARN, 1e4, 4, 16, 1.1386294f },
        { "{\"rope_scaling\": {\"type\": \"yarn\", " YARN ", \"attention_factor\": 0.5}}", SL_ROPE_YARN, 1e4, 4, 16,
          0.5f },
        { "{\"rope_scaling\": {\"type\": \"yarn\", " YARN ", \"mscale\": 2, \"mscale_all_dim\": 1}}", SL_ROPE_YARN, 1e4,
          4, 16, 1.1217514f },
        { "{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2}}", SL_ROPE_YARN, 1e4, 2, 64, 1.0693147f },
        { "{\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2}}", SL_ROPE_NONE, 1e4, 1, 64, 1 },
        { "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}, \"rope_parameters\": {\"rope_type\": \"linear\","
          " \"rope_theta\": 10000, \"factor\": 4.0}}",
          SL_ROPE_LINEAR, 1e4, 4, 64, 1 },
    };
    hf_build b = { 0 };
    hf_begin(&b);
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_net *m = loads(&b, cases[i].changes, MODEL(NONE) HEAD);
        const sl_rope *r = &m->config.rope;
        if (r->scaling != cases[i].scaling || r->base != cases[i].base || r->factor != cases[i].factor ||
            r->n_ctx_original != cases[i].original || fabsf(m->rope_scale - cases[i].grown) > 1e-6f)
            fail_msg("%s: scaling %d, base %g, factor %g, original %g, grown %g", cases[i].changes, (int)r->scaling,
                     r->base, r->factor, r->n_ctx_original, (double)m->rope_scale);
        assert_int_equal(m->config.n_ctx_max, strstr(cases[i].changes, "dynamic") ? 64 : 0);
        sl_net_free(m);
    }
    hf_end(&b);
    static const bad bads[] = {
        { "{\"rope_scaling\": {\"type\": \"longrope\", \"factor\": 4}}", SL_EUNSUPPORTED,
          "\"longrope\" is not supported" },
        { "{\"rope_scaling\": {\"type\": \"linear\"}}", SL_EFORMAT, "rope_scaling: \"factor\" is missing" },
        { "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 0}}", SL_EFORMAT, "rope_scaling.factor: should be" },
        { "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": \"4\"}}", SL_EFORMAT,
          "rope_scaling.factor: should be" },
        { "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": true}}", SL_EFORMAT,
          "rope_scaling.factor: should be" },
        { "{\"rope_scaling\": {\"type\": 1, \"factor\": 4}}", SL_EFORMAT, "rope_scaling.type: should be a string" },
        { "{\"rope_scaling\": {\"rope_type\": \"linear\", \"type\": \"yarn\", \"factor\": 4}}", SL_EFORMAT,
          "rope_scaling.type: is another one than rope_type" },
        { "{\"rope_scaling\": {\"factor\": 4}}", SL_EFORMAT, "rope_scaling: \"rope_type\" is missing" },
        { "{\"rope_scaling\": {\"type\": \"default\", \"mrope_section\": [1, 2]}}", SL_EUNSUPPORTED,
          "rope_scaling.mrope_section: this key is not known" },
        { "{\"rope_scaling\": []}", SL_EFORMAT, "rope_scaling: an array, should be an object" },
        { "{\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 1e4}}}", SL_EUNSUPPORTED,
          "rope_parameters.full_attention: this key is not known" },
        { "{\"rope_scaling\": {\"type\": \"llama3\", " YARN ", \"low_freq_factor\": 4, \"high_freq_factor\": 4}}",
          SL_EFORMAT, "high_freq_factor: not above low_freq_factor" },
        { "{\"rope_scaling\": {\"type\": \"llama3\", " YARN ", \"low_freq_factor\": 4}}", SL_EFORMAT,
          "\"high_freq_factor\" is" },
        { "{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 0.5}}", SL_EFORMAT, "factor: 0.5 is below 1" },
        { "{\"rope_scaling\": {\"type\": \"yarn\", " YARN ", \"truncate\": 1}}", SL_EFORMAT,
          "rope_scaling.truncate: a number" },
        { "{\"rope_scaling\": {\"rope_type\": \"default\", \"partial_rotary_factor\": 0.5}}", SL_EUNSUPPORTED,
          "partial_rotary_factor: 0.5" },
        { "{\"rope_theta\": 0}", SL_EFORMAT, "rope_theta: should be a number above 0" },
        { "{\"rope_theta\": 1.0}", SL_EFORMAT, "rope_theta: 1 is not above 1" },
        { "{\"rope_theta\": \"10000\"}", SL_EFORMAT, "rope_theta: should be a number" },
        { "{\"rope_theta\": 10000, \"rope_parameters\": {\"rope_theta\": 500}}", SL_EFORMAT,
          "rope_parameters: says something else" },
        { "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}, \"rope_parameters\": {\"rope_type\": "
          "\"default\"}}",
          SL_EFORMAT, "rope_parameters: says something else" },
    };
    all_refused(bads, SL_COUNT(bads));
}

/* ---- what is refused --------------------------------------------------------------------------------------- */

static void names(void **state)
{
    (void)state;
    static const bad bads[] = {
        { "{\"model_type\": \"gemma9\"}", SL_EUNSUPPORTED,
          "architecture gemma9 is not supported; known are llama, mistral, qwen2, qwen3" },
        { "{\"-model_type\": 0}", SL_EFORMAT, "config.json: \"model_type\" is missing" },
        { "{\"model_type\": 1}", SL_EFORMAT, "model_type: a number, should be a string" },
        { "{\"model_type\": \"\"}", SL_EFORMAT, "model_type: \"\" is no name" },
        { "{\"model_type\": \"a b\"}", SL_EFORMAT, "model_type: \"a b\" is no name" },
        { "{\"architectures\": [\"LlamaForSequenceClassification\"]}", SL_EUNSUPPORTED,
          "architectures: \"LlamaForSequenceClassification\" is not supported; of model_type llama LlamaForCausalLM "
          "is" },
        { "{\"architectures\": [\"Qwen2ForCausalLM\"]}", SL_EUNSUPPORTED, "\"Qwen2ForCausalLM\" is not supported" },
        { "{\"architectures\": \"LlamaForCausalLM\"}", SL_EFORMAT, "architectures: a string, should be an array" },
        { "{\"architectures\": [7]}", SL_EFORMAT, "architectures[0]: should be a string" },
    };
    all_refused(bads, SL_COUNT(bads));
}

static void sizes(void **state)
{
    (void)state;
    static const char *const keys[] = { "num_hidden_layers",   "hidden_size", "intermediate_size",
                                        "num_attention_heads", "vocab_size",  "max_position_embeddings" };
    static const char *const values[] = { "0",   "-1",    "16777217", "2147483648", "18446744073709551615",
                                          "2.0", "\"2\"", "true",     "[2]",        "{}",
                                          "1e3" };
    hf_build b = { 0 };
    char changes[200], says[200];
    hf_begin(&b);
    hf_tensors(&b, "model.safetensors", MODEL(NONE) HEAD);
    for (size_t k = 0; k < SL_COUNT(keys); k++) {
        snprintf(changes, sizeof changes, "{\"-%s\": 0}", keys[k]);
        snprintf(says, sizeof says, "config.json: \"%s\" is missing", keys[k]);
        refused_with(&b, changes, MODEL(NONE) HEAD, SL_EFORMAT, says);
        for (size_t v = 0; v < SL_COUNT(values); v++) {
            char text[1200];
            const char *at = strstr(good, keys[k]) + strlen(keys[k]) + 3;
            snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, values[v], at + strcspn(at, ",}"));
            hf_text(&b, "config.json", text);
            sl_net *net = NULL;
            sl_err err = { 0 };
            snprintf(says, sizeof says, "config.json: %s: ", keys[k]);
            if (sl_net_load(&net, b.dir, NULL, &err) != SL_EFORMAT || !strstr(err.msg, says))
                fail_msg("%s %s: \"%s\" does not say \"%s\"", keys[k], values[v], err.msg, says);
        }
    }
    hf_end(&b);
    static const bad bads[] = {
        { "{\"num_attention_heads\": 3}", SL_EFORMAT, "hidden_size 8 is no multiple of num_attention_heads 3" },
        { "{\"num_key_value_heads\": 3}", SL_EFORMAT, "num_attention_heads 2 is no multiple of num_key_value_heads 3" },
        { "{\"num_key_value_heads\": 0}", SL_EFORMAT, "num_key_value_heads: 0 is not within" },
        { "{\"head_dim\": 3}", SL_EUNSUPPORTED, "heads of width 3" },
        { "{\"head_dim\": \"4\"}", SL_EFORMAT, "head_dim: a string, should be a number" },
        { "{\"rms_norm_eps\": 0}", SL_EFORMAT, "rms_norm_eps: should be a number above 0" },
        { "{\"rms_norm_eps\": \"1e-5\"}", SL_EFORMAT, "rms_norm_eps: should be a number above 0" },
        { "{\"tie_word_embeddings\": 1}", SL_EFORMAT, "tie_word_embeddings: a number, should be a boolean" },
        { "{\"torch_dtype\": 16}", SL_EFORMAT, "torch_dtype: a number, should be a string" },
        { "{\"hidden_act\": \"gelu\"}", SL_EUNSUPPORTED, "hidden_act: \"gelu\" is not supported; silu is" },
        { "{\"hidden_act\": null, \"attention_bias\": \"no\"}", SL_EFORMAT, "attention_bias: a string" },
    };
    all_refused(bads, SL_COUNT(bads));
}

static void settings_that_change_the_maths(void **state)
{
    (void)state;
    static const bad bads[] = {
        { "{\"quantization_config\": {\"quant_method\": \"hqq\", \"bits\": 4}}", SL_EUNSUPPORTED,
          "quantization_config.quant_method: checkpoints quantised by \"hqq\" are not supported; those by " },
        { "{\"quantization_config\": {}}", SL_EFORMAT, "quant_method" },
        { "{\"quantization_config\": 4}", SL_EFORMAT, "quantization_config: should be an object" },
        { "{\"num_local_experts\": 8}", SL_EUNSUPPORTED, "num_local_experts: " },
        { "{\"final_logit_softcapping\": 30.0}", SL_EUNSUPPORTED, "final_logit_softcapping: " },
        { "{\"logits_scaling\": 8}", SL_EUNSUPPORTED, "logits_scaling: " },
        { "{\"partial_rotary_factor\": 0.5}", SL_EUNSUPPORTED, "partial_rotary_factor: " },
        { "{\"is_causal\": false}", SL_EUNSUPPORTED, "is_causal: " },
        { "{\"use_qk_norm\": true}", SL_EUNSUPPORTED, "use_qk_norm: " },
        { "{\"attention_dropout\": \"none\"}", SL_EUNSUPPORTED, "attention_dropout: " },
        { "{\"text_config\": {\"model_type\": \"llama\"}}", SL_EUNSUPPORTED, "text_config: " },
    };
    all_refused(bads, SL_COUNT(bads));
    hf_build b = { 0 };
    hf_begin(&b);
    sl_net_free(
        loads(&b,
              "{\"quantization_config\": null, \"num_local_experts\": 0, \"logits_scaling\": 1.0, \"use_qk_norm\":"
              " false, \"is_causal\": true, \"attention_dropout\": 0.1, \"partial_rotary_factor\": 1,"
              " \"pretraining_tp\": 1, \"transformers_version\": \"4.56.0\", \"use_cache\": true,"
              " \"anything_else\": {\"a\": 1}}",
              MODEL(NONE) HEAD));
    hf_end(&b);
}

/* ---- as a whole ---------------------------------------------------------------------------------------------- */

static void broken_files(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = { { "", "line 1" },
                  { "[]", "not a JSON object" },
                  { "{\"a\": NaN}", "line 1" },
                  { "{\"model_type\": \"llama\", \"model_type\": \"qwen2\"}", "comes twice" },
                  { "{\"a\n\": 1}", "line 1" },
                  { "{\"model_type\": \"llama\", \"architectures\": 1, \"a\\nb\": 1, \"a\\nb\": 2}",
                    "a?b: this key" } };
    hf_build b = { 0 };
    hf_begin(&b);
    hf_tensors(&b, "model.safetensors", MODEL(NONE) HEAD);
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_net *net = NULL;
        sl_err err = { 0 };
        hf_text(&b, "config.json", cases[i].text);
        const sl_status rc = sl_net_load(&net, b.dir, NULL, &err);
        if (rc != SL_EFORMAT || !strstr(err.msg, "/config.json: ") || !strstr(err.msg, cases[i].says) ||
            strchr(err.msg, '\n'))
            fail_msg("%s: %s \"%s\"", cases[i].text, sl_status_name(rc), err.msg);
    }
    hf_end(&b);
}

/* A type that no kernel multiplies: described, not run. */
static void other_dtypes(void **state)
{
    (void)state;
    hf_build b = { 0 };
    sl_err err = { 0 };
    size_t n_data = 0;
    hf_begin(&b);
    sl_net_free(loads(&b, "{}", MODEL(NONE) HEAD));
    char header[16384];
    snprintf(header, sizeof header, "%s", hf_header(MODEL(NONE) HEAD, &n_data));
    char *up = strstr(strstr(header, "up_proj.weight"), "F32");
    memcpy(up, "I32", 3);
    hf_safetensors(&b, "model.safetensors", header, n_data);
    sl_net *m = NULL;
    if (sl_net_load(&m, b.dir, NULL, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(sl_net_runs(m, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "tensor model.layers.0.mlp.up_proj.weight: type I32 is not supported"));
    sl_net_free(m);
    hf_end(&b);
}

static void memory(void **state)
{
    (void)state;
    hf_build b = { 0 };
    sl_net *m = NULL;
    sl_status rc = SL_ENOMEM;
    hf_begin(&b);
    write_config(&b, "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}}");
    hf_tensors(&b, "model.safetensors", MODEL(NONE) HEAD);
    for (long n = 0; rc == SL_ENOMEM; n++) {
        assert_true(n < 300);
        sl_mem_fail_after(n);
        rc = sl_net_load(&m, b.dir, NULL, NULL);
        sl_mem_fail_after(-1);
    }
    assert_int_equal(rc, SL_OK);
    sl_net_free(m);
    hf_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_architecture),
        cmocka_unit_test(heads),
        cmocka_unit_test(biases_are_as_the_settings_say),
        cmocka_unit_test(the_output_matrix),
        cmocka_unit_test(tensors_that_are_not_part_of_it),
        cmocka_unit_test(windows),
        cmocka_unit_test(rope),
        cmocka_unit_test(names),
        cmocka_unit_test(sizes),
        cmocka_unit_test(settings_that_change_the_maths),
        cmocka_unit_test(broken_files),
        cmocka_unit_test(other_dtypes),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
