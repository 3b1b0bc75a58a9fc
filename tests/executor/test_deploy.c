/* test_deploy.c - deploy files: keys, types and ranges; degrees that fit the ranks, and the model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/mem.h"
#include "base/num.h"
#include "executor/deploy.h"

static sl_deploy *reads(const char *text)
{
    sl_deploy *d = NULL;
    sl_err err = { 0 };
    if (sl_deploy_parse(&d, "f", text, strlen(text), &err))
        fail_msg("%s: %s", text, err.msg);
    return d;
}

static void what_is_missing(void **state)
{
    (void)state;
    sl_deploy_info i;
    sl_err err = { 0 };
    sl_deploy *d = reads("options: {}\n");
    sl_deploy_describe(d, &i);
    assert_true(i.n_ranks == 1 && i.pp == 1 && i.attn_tp == 1 && i.o_proj_tp == 1 && i.dense_tp == 1 && i.moe_tp == 1 &&
                i.moe_ep == 1 && i.embed_tp == 1 && i.lmhead_tp == 1);
    assert_true(i.prefill.context == 1 && i.decode.data == 1 && !i.prefill.chunk && !i.decode.overlap);
    assert_int_equal(sl_deploy_runs(d, &err), SL_OK);
    sl_deploy_close(d);
    d = reads("parallel_config: {world_size: 12, attn_tp_size: 3, moe_tp_size: 2, pp_size: 2}\n"
              "prefill: {context_parallel: 2}\ndecode: {data_parallel: 2, sequence_parallel: 3}\n");
    sl_deploy_describe(d, &i);
    assert_true(i.o_proj_tp == 3 && i.moe_ep == 3 && i.decode.sequence == 3);
    assert_int_equal(sl_deploy_runs(d, &err), SL_EUNSUPPORTED);
    assert_non_null(strstr(err.msg, "f:1:31: parallel_config.world_size: a layout for 12 ranks; this build runs one"));
    sl_deploy_close(d);
}

static void levels(void **state)
{
    (void)state;
    sl_deploy_info i;
    sl_deploy *d =
        reads("parallel_config: {world_size: [2, 8], attn_tp_size: [1, 4], moe_ep_size: [2, 8]}\n"
              "prefill: {context_parallel: [2, 2], chunk_size: 64, overlap: true}\ndecode: {data_parallel: 4}\n");
    sl_deploy_describe(d, &i);
    assert_true(i.n_ranks == 16 && i.attn_tp == 4 && i.moe_ep == 16 && i.prefill.context == 4 && i.decode.data == 4);
    assert_true(i.prefill.chunk == 64 && i.prefill.overlap && !i.decode.overlap);
    sl_deploy_close(d);
}

static void faults_are_named(void **state)
{
    (void)state;
#define WORLD "parallel_config: {world_size: 8"
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "prefil: {}\n", "f:1:1: prefil: unknown section (did you mean prefill?)" },
        { "world_size: 2\n", "f:1:1: world_size: unknown section (it belongs to parallel_config)" },
        { "nonsense: 2\n", "f:1:1: nonsense: unknown section" },
        { "prefill:\n", "f:1:9: prefill: no value; a group of keys expected" },
        { "decode: 1\n", "f:1:9: decode: \"1\" is a whole number; a group of keys expected" },
        { "options: [a]\n", "f:1:10: options: a list; a group of keys expected" },
        { "prefill: {chunk_sise: 1}\n", "f:1:11: prefill.chunk_sise: unknown key (did you mean chunk_size?)" },
        { "decode: {chunk_size: 1}\n", "f:1:10: decode.chunk_size: unknown key (it belongs to prefill)" },
        { "prefill: {world_size: 1}\n", "prefill.world_size: unknown key (it belongs to parallel_config)" },
        { "parallel_config: {cp_size: 2}\n",
          "cp_size: unknown key (here it is context_parallel of prefill or decode)" },
        { "parallel_config: {tensor_parallel: 2}\n", "(here it is parallel_config.attn_tp_size)" },
        { "prefill: {something_else: 1}\n", "f:1:11: prefill.something_else: unknown key" },
        { "parallel_config: {world_size: 0}\n",
          "f:1:31: parallel_config.world_size: 0; a whole number from 1 to 65536" },
        { "parallel_config: {world_size: -1}\n", "parallel_config.world_size: -1; a whole" },
        { "parallel_config: {world_size: 65537}\n", "parallel_config.world_size: 65537; a whole" },
        { "parallel_config: {world_size: 99999999999999999999}\n",
          "is a whole number of more than 64 bits; a whole number from 1 to 65536" },
        { "parallel_config: {world_size: \"2\"}\n", "\"2\" is text in quotes; a whole number" },
        { "parallel_config: {world_size: 2.0}\n", "\"2.0\" is a number; a whole number" },
        { "parallel_config: {world_size: true}\n", "\"true\" is a boolean; a whole number" },
        { "parallel_config: {world_size: 010}\n", "leading zero, octal to some readers" },
        { "parallel_config: {world_size: 1:30}\n", "base 60" },
        { "parallel_config: {world_size: }\n", "no value; a whole number" },
        { "parallel_config: {world_size: {a: 1}}\n", "a group of keys; a whole number" },
        { "parallel_config: {world_size: []}\n", "0 levels; 1 to 4" },
        { "parallel_config: {world_size: [1, 1, 1, 1, 2]}\n", "5 levels; 1 to 4" },
        { "parallel_config: {world_size: [2, x]}\n", "f:1:35: parallel_config.world_size[1]: \"x\" is text" },
        { "parallel_config: {world_size: [2, [2]]}\n", "world_size[1]: a list" },
        { "parallel_config: {world_size: [65536, 65536, 65536, 65536]}\n", "more than 65536 ranks in all" },
        { "prefill: {chunk_size: 65537}\n", "f:1:23: prefill.chunk_size: 65537; a whole number from 1 to 65536" },
        { "prefill: {chunk_size: [1]}\n", "prefill.chunk_size: a list; a whole number" },
        { "prefill: {overlap: yes}\n",
          "\"yes\" is a boolean to some readers of YAML and text to others; true or false" },
        { "prefill: {overlap: \"true\"}\n", "\"true\" is text in quotes; true or false" },
        { "prefill: {overlap: 1}\n", "\"1\" is a whole number; true or false" },
        { "model_config: {model_name: []}\n", "an empty list; a name" },
        { "model_config: {model_name: [a, {b: c}]}\n", "model_config.model_name[1]: a group of keys; a name" },
        { "model_config: {model_name: false}\n", "\"false\" is a boolean; a name" },
        { "model_config: {model_name: }\n", "no value; a name" },

        { WORLD ", attn_tp_size: 3}\n", "f:1:48: parallel_config.attn_tp_size: 3 does not divide the 8 ranks" },
        { WORLD ", pp_size: 3}\n", "pp_size: 8 ranks cannot be cut into 3 parts" },
        { WORLD ", pp_size: 2, attn_tp_size: 8}\n", "attn_tp_size: 8 does not divide the 4 ranks of one part" },
        { WORLD ", moe_tp_size: 2, moe_ep_size: 2}\n",
          "f:1:63: parallel_config.moe_ep_size: moe_tp_size 2 x moe_ep_size 2 = 4, but there are 8 ranks" },
        { WORLD ", attn_tp_size: 2, o_proj_tp_size: 4}\n", "o_proj_tp_size: 4; where attn_tp_size is 2" },
        { WORLD "}\n",
          "prefill: attn_tp_size 1 x context_parallel 1 x data_parallel 1 x pp_size 1 = 1, but world_size is 8" },
        { WORLD ", attn_tp_size: 8}\nprefill: {context_parallel: 2}\n",
          "f:2:29: prefill.context_parallel: attn_tp_size 8 x context_parallel 2" },
        { WORLD ", attn_tp_size: 2}\nprefill: {context_parallel: 4}\ndecode: {data_parallel: 2}\n",
          "decode: attn_tp_size 2 x context_parallel 1 x data_parallel 2 x pp_size 1 = 4, but world_size is 8" },
        { WORLD ", attn_tp_size: 8}\nprefill: {sequence_parallel: 4}\n",
          "f:2:30: prefill.sequence_parallel: 4; 1, or as many as attn_tp_size (8)" },
        { WORLD "}\nprefill: {context_parallel: 8, chunk_size: 100}\n",
          "chunk_size: 100 is no multiple of context_parallel 8" },
        { WORLD ", attn_tp_size: [2, 4]}\n", "attn_tp_size: a list of levels, but world_size is no list" },
        { WORLD ", attn_tp_size: [2]}\n", "attn_tp_size: a list of levels, but world_size is no list" },
        { "parallel_config: {world_size: [2, 4], attn_tp_size: [2]}\n", "a list of 1 level; world_size has 2" },
        { "parallel_config: {attn_tp_size: [2]}\n", "a list of levels; world_size, which would say them, is missing" },
        { "parallel_config: {attn_tp_size: 2}\n",
          "attn_tp_size: 2 does not divide the 1 rank (parallel_config.world_size is missing, so there is one)" },
        { "decode: {data_parallel: 2}\n", "decode.data_parallel: 2 does not divide the 1 rank (parallel_config.world" },
        { "parallel_config: {pp_size: 2}\n", "1 rank cannot be cut into 2 parts of the layers (parallel_config.world" },
        { "parallel_config: {world_size: [2, 4], attn_tp_size: [4, 2]}\n", "level 1: 2 ranks cannot be cut by 4" },

        { "options: {a: {b: 1}}\n", "f:1:14: options.a: a group of keys" },
        { "options: {a: []}\n", "options.a: an empty list" },
        { "options: {a: [[1]]}\n", "options.a[0]: a list" },
        { "options: {kv_type: f16, kv-type: f16}\n", "f:1:25: options.kv-type: stands in line 1 already, as kv_type" },
        { "options: {ubatch-size: 4}\nprefill: {chunk_size: 4}\n",
          "f:1:11: options.ubatch-size: is said by prefill.chunk_size" },
        { "options: {ubatch_size: 4}\nprefill: {chunk_size: 4}\n",
          "options.ubatch_size: is said by prefill.chunk_size" },
    };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        sl_deploy *d = NULL;
        sl_err err = { 0 };
        const sl_status rc = sl_deploy_parse(&d, "f", bad[i].text, strlen(bad[i].text), &err);
        if (rc != SL_EFORMAT || !strstr(err.msg, bad[i].says) || d)
            fail_msg("%s: %s \"%s\", should say \"%s\"", bad[i].text, sl_status_name(rc), err.msg, bad[i].says);
    }
}

static void options(void **state)
{
    (void)state;
    sl_deploy_option o;
    sl_deploy *d = reads("options:\n  kv-type: f16\n  temp: 0.5\n  mlock: true\n  bias: [1+2, '3']\n  empty:\n");
    static const struct {
        const char *name, *value;
        sl_deploy_kind kind;
        bool quoted, of_list;
        size_t line, column;
    } want[] = {
        { "kv-type", "f16", SL_DEPLOY_TEXT, false, false, 2, 12 },
        { "temp", "0.5", SL_DEPLOY_REAL, false, false, 3, 9 },
        { "mlock", "true", SL_DEPLOY_BOOL, false, false, 4, 10 },
        { "bias", "1+2", SL_DEPLOY_TEXT, false, true, 5, 10 },
        { "bias", "3", SL_DEPLOY_TEXT, true, true, 5, 15 },
        { "empty", "", SL_DEPLOY_ODD, false, false, 6, 9 },
    };
    for (size_t i = 0; i < SL_COUNT(want); i++) {
        assert_true(sl_deploy_option_at(d, i, &o));
        assert_string_equal(o.name, want[i].name);
        assert_string_equal(o.value, want[i].value);
        assert_true(o.kind == want[i].kind && o.quoted == want[i].quoted && o.of_list == want[i].of_list);
        assert_true(o.line == want[i].line && o.column == want[i].column && o.key_line == o.line && o.key_column == 3);
    }
    assert_false(sl_deploy_option_at(d, SL_COUNT(want), &o));
    sl_deploy_close(d);
}

static sl_model *opens(const char *path)
{
    sl_model *m = NULL;
    sl_err err = { 0 };
    if (sl_model_open(&m, path, &err))
        fail_msg("%s", err.msg);
    return m;
}

/* 4 heads, 32 experts of width 16, a vocabulary of 256, 3 layers, 96 rows of the dense block. */
static void against_a_model(void **state)
{
    (void)state;
    sl_model *kimi = opens(TEST_DATA "/hf/kimi_k2/f32"), *llama = opens(TEST_DATA "/hf/llama_gqa/f32");
#define CP(n) "prefill: {context_parallel: " #n "}\ndecode: {data_parallel: " #n "}\n"
    static const struct {
        const char *text, *says;
        bool llama;
    } cases[] = {
        { "options: {}\n", NULL, false },
        { "model_config: {model_name: [llama, kimi_k2]}\n", NULL, false },
        { "model_config: {model_name: [llama, kimi_k2]}\n", NULL, true },
        { "model_config: {model_name: [qwen3, kimi_k2]}\n", "the layout is for qwen3, kimi_k2; the model is llama",
          true },
        { "parallel_config: {world_size: 8, moe_ep_size: 8}\n" CP(8), NULL, false },
        { "parallel_config: {world_size: 8, moe_ep_size: 8}\n" CP(8),
          "f:1:47: parallel_config.moe_ep_size: 8; the model has no experts", true },
        { "parallel_config: {world_size: 2}\n" CP(2), NULL, true },
        { "parallel_config: {world_size: 64}\n" CP(64), "the model's 32 experts cannot be cut by 64", false },
        { "parallel_config: {world_size: 32, moe_tp_size: 32}\n" CP(32), "16 rows of an expert cannot be cut by 32",
          false },
        { "parallel_config: {world_size: 8, attn_tp_size: 8}\n", "4 attention heads cannot be cut by 8", false },
        { "parallel_config: {world_size: 8, attn_tp_size: 8}\n", "attention heads cannot be cut by 8", true },
        { "parallel_config: {world_size: 512, lmhead_tp_size: 512, moe_tp_size: 16}\n" CP(512),
          "256 tokens of the vocabulary", false },
        { "parallel_config: {world_size: 4, pp_size: 4, moe_ep_size: 1}\n", "4 parts of the model's 3 layers", false },
        { "parallel_config: {world_size: 5, dense_tp_size: 5, moe_tp_size: 1}\n" CP(5), "cannot be cut by 5", false },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_deploy *d = reads(cases[i].text);
        sl_err err = { 0 };
        const sl_status rc = sl_deploy_check(d, cases[i].llama ? llama : kimi, &err);
        if (rc != (cases[i].says ? SL_EINVAL : SL_OK) || (rc && !strstr(err.msg, cases[i].says)) ||
            (rc && strncmp(err.msg, "f:1:", 4) != 0))
            fail_msg("%s: %s \"%s\", should say %s", cases[i].text, sl_status_name(rc), err.msg, cases[i].says);
        sl_deploy_close(d);
    }
    sl_model_close(kimi);
    sl_model_close(llama);
}

/* What all ranks hold is the whole where everything is cut, and less than that on each. */
static void bytes_of_a_rank(void **state)
{
    (void)state;
    sl_model *kimi = opens(TEST_DATA "/hf/kimi_k2/f32");
    sl_model_info info;
    sl_model_describe(kimi, &info);
    sl_deploy *one = reads("options: {}\n"), *ep = reads("parallel_config: {world_size: 8}\n" CP(8));
    sl_deploy *tp =
        reads("parallel_config: {world_size: 2, attn_tp_size: 2, dense_tp_size: 2, moe_tp_size: 2, moe_ep_size: 1,"
              " embed_tp_size: 2, lmhead_tp_size: 2}\n");
    sl_deploy *pp = reads("parallel_config: {world_size: 3, pp_size: 3}\n");
    const size_t whole = sl_deploy_rank_bytes(one, kimi);
    assert_int_equal(whole, info.weight_bytes);
    const size_t experts =
        (info.weight_bytes - info.active_bytes - 255 * 48 * 4) / 28 * 32; /* all but 4 of 32, and rows */
    assert_int_equal(sl_deploy_rank_bytes(ep, kimi), whole - experts / 8 * 7);
    assert_true(sl_deploy_rank_bytes(tp, kimi) > whole / 2 && sl_deploy_rank_bytes(tp, kimi) < whole / 10 * 6);
    assert_true(sl_deploy_rank_bytes(pp, kimi) > whole / 3 && sl_deploy_rank_bytes(pp, kimi) < whole / 2);
    sl_deploy_close(one);
    sl_deploy_close(ep);
    sl_deploy_close(tp);
    sl_deploy_close(pp);
    sl_model_close(kimi);
}

static void files(void **state)
{
    (void)state;
    sl_deploy *d = NULL;
    sl_err err = { 0 };
    assert_int_equal(sl_deploy_open(&d, "/nowhere/f.yaml", &err), SL_ENOTFOUND);
    assert_true(!d && strncmp(err.msg, "/nowhere/f.yaml: ", 17) == 0);
    assert_int_equal(sl_deploy_open(&d, TEST_DATA, &err), SL_EUNSUPPORTED);
    assert_null(d);
    sl_deploy_close(NULL);
}

static void no_memory(void **state)
{
    (void)state;
    static const char text[] = "parallel_config: {world_size: [1, 1]}\noptions: {kv-type: f16}\n";
    sl_err err = { 0 };
    sl_status rc = SL_ENOMEM;
    long n = 0;
    for (; rc == SL_ENOMEM && n < 100; n++) {
        sl_deploy *d = NULL;
        sl_mem_fail_after(n);
        rc = sl_deploy_parse(&d, "f", text, strlen(text), &err);
        sl_mem_fail_after(-1);
        assert_true((rc == SL_OK && d) || (rc == SL_ENOMEM && !d && strstr(err.msg, "no memory")));
        sl_deploy_close(d);
    }
    assert_true(rc == SL_OK && n > 2);
}

/* Each key once, with all that is written about it. */
static void keys(void **state)
{
    (void)state;
    sl_deploy_key k, other;
    size_t n = 0;
    for (; sl_deploy_key_at(n, &k); n++) {
        assert_true(*k.section && *k.name && *k.takes && *k.standard && *k.help);
        for (size_t i = 0; i < n && sl_deploy_key_at(i, &other); i++)
            assert_false(strcmp(other.section, k.section) == 0 && strcmp(other.name, k.name) == 0);
    }
    assert_true(n > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing), cmocka_unit_test(levels),          cmocka_unit_test(faults_are_named),
        cmocka_unit_test(options),         cmocka_unit_test(against_a_model), cmocka_unit_test(bytes_of_a_rank),
        cmocka_unit_test(files),           cmocka_unit_test(no_memory),       cmocka_unit_test(keys)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
