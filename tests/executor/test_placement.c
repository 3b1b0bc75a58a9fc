/* test_placement.c [MODEL] - weights copied, huge pages, locked pages, nodes, pinned threads: the same bits, and an
 * account of what became of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/num.h"
#include "base/pages.h"
#include "support/default_model.h"
#include "support/runner.h"
#include "support/tree.h"

static const char *const models[] = { TEST_DATA "/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf",
                                      TEST_DATA "/gguf/qwen3moe-small-Q8_0/qwen3moe-small-Q8_0.gguf",
                                      TEST_DATA "/gguf/llama-k256-Q4_K_M/llama-k256-Q4_K_M.gguf",
                                      TEST_DATA "/gguf/qwen3moe-k256-Q6_K/qwen3moe-k256-Q6_K.gguf",
                                      TEST_DATA "/hf_quant/kimi_k2_ct_int4",
                                      TEST_DATA "/hf_quant/llama_ct_w8a8" };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

static sl_model *model;
static const int32_t prompt[] = { 1, 5, 9, 200, 17, 3, 44, 90, 2, 8, 61 };

static bool allowed(const sl_engine_options *o, sl_err *err)
{
    sl_engine *e = NULL;
    const sl_status rc = sl_engine_create(&e, model, o, err);
    assert_true(rc == SL_OK || (rc == SL_EUNSUPPORTED && err->msg[0] && !e));
    sl_engine_destroy(e);
    return !rc;
}

static void assert_same_bits(const sl_engine_options *o, const char *what)
{
    run_result want = { 0 }, got = { 0 };
    sl_err err = { 0 };
    if (!allowed(o, &err)) {
        printf("SKIPPED: %s: %s\n", what, err.msg);
        return;
    }
    run_alone(model, &(sl_engine_options){ .n_threads = 1, .fusion = o->fusion }, prompt, SL_COUNT(prompt), 6, &want);
    run_alone(model, o, prompt, SL_COUNT(prompt), 6, &got);
    assert_int_equal(got.n_rows, want.n_rows);
    if (memcmp(want.logits, got.logits, want.n_rows * want.n_vocab * sizeof(float)) != 0)
        fail_msg("%s: other bits", what);
    run_result_free(&want);
    run_result_free(&got);
}

static void the_same_bits(void **state)
{
    (void)state;
    static const struct {
        sl_engine_options o;
        const char *what;
    } cases[] = {
        { { .weights = "copy" }, "copy" },
        { { .weights = "copy", .mode = "eager", .n_threads = 3 }, "copy, eager" },
        { { .weights = "copy", .fusion = "none", .n_threads = 2 }, "copy, nothing fused" },
        { { .weights = "copy-per-node", .n_threads = 2 }, "copy-per-node" },
        { { .weights = "copy", .huge_pages = "thp", .n_threads = 2 }, "thp" },
        { { .huge_pages = "explicit" }, "explicit huge pages" },
        { { .repack = true, .n_threads = 2 }, "repack" },
        { { .repack = true, .weights = "copy-per-node", .mode = "eager", .n_threads = 3 },
          "repack on each node, eager" },
        { { .repack = true, .huge_pages = "thp", .fusion = "none" }, "repack, thp, nothing fused" },
        { { .mlock = true }, "mlock" },
        { { .numa = "interleave" }, "interleave" },
        { { .pin = "cores", .n_threads = 2 }, "pinned" },
        { { .pin = "cores", .n_threads = 5 }, "more threads than cores, pinned" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++)
        assert_same_bits(&cases[i].o, cases[i].what);
}

/* A machine of two nodes, of which this one has but the first: two copies, one for each thread. */
static void two_nodes(void **state)
{
    (void)state;
    static const char *const modes[] = { "graph", "eager" };
    sl_memory one, two;
    sl_err err = { 0 };
    for (size_t cpu = 0; cpu < 64; cpu++) {
        char path[64];
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%zu/node%zu/cpulist", cpu, cpu % 2);
        tree_put(path, "");
    }
    tree_put("sys/devices/system/node/has_memory", "0-1\n");
    const sl_engine_options o = { .weights = "copy-per-node" };
    assert_int_equal(sl_engine_estimate(model, &o, &one, &err), SL_OK);
    sl_nodes_pretend(tree_root);
    assert_int_equal(sl_nodes(), 2);
    assert_int_equal(sl_node_of_cpu(3), 1);
    assert_int_equal(sl_engine_estimate(model, &o, &two, &err), SL_OK);
    for (size_t i = 0; i < 4; i++)
        assert_same_bits(
            &(sl_engine_options){ .weights = "copy-per-node", .repack = i / 2, .n_threads = 2, .mode = modes[i % 2] },
            i / 2 ? "two nodes, repack" : "two nodes");
    sl_nodes_pretend(NULL);
    if (sl_nodes() == 1)
        assert_int_equal(two.weights, 2 * one.weights);
}

static void heard(void *user, uint64_t done, uint64_t total)
{
    uint64_t *last = user;
    assert_true(done >= *last && done < total);
    *last = done;
}

static void the_account(void **state)
{
    (void)state;
    sl_model_info info;
    sl_page_use w, kv, ws;
    sl_err err = { 0 };
    uint64_t last = 0;
    sl_engine *e = NULL;
    sl_model_describe(model, &info);
    assert_int_equal(
        sl_engine_create(&e, model, &(sl_engine_options){ .weights = "copy", .on_copy = heard, .user = &last }, &err),
        SL_OK);
    assert_true(last > 0);
    sl_engine_pages(e, &w, &kv, &ws);
    assert_true(w.bytes >= info.weight_bytes && w.resident >= info.weight_bytes / 4096 * 4096);
    assert_int_equal(w.n_nodes, sl_nodes());
    assert_true(kv.bytes > 0 && kv.resident == 0 && ws.bytes > 0 && w.locked == 0);
    sl_engine_destroy(e);
    e = NULL;
    if (SANITIZED)
        printf("SKIPPED: sanitizers make mlock do nothing\n");
    else if (sl_engine_create(&e, model, &(sl_engine_options){ .mlock = true }, &err) == SL_OK) {
        sl_engine_pages(e, &w, &kv, &ws);
        assert_true(w.locked >= info.weight_bytes / 4096 * 4096);
    } else
        printf("SKIPPED: %s\n", err.msg);
    sl_engine_destroy(e);
}

/* What each reader of it takes by eights of rows: heads of 20 are none, nor are 1003 words; nor is an embedding of
 * which rows are looked up, unless it is the head too. Safetensors have no such formats. */
static size_t to_be_repacked(const sl_model_info *info)
{
    size_t sum = 0;
    for (size_t i = 0; i < info->n_tensors; i++) {
        sl_tensor_info t;
        sl_model_tensor(model, i, &t);
        const bool head = strcmp(t.name, info->tied ? "token_embd.weight" : "output.weight") == 0;
        const bool of_heads = strstr(t.name, "attn_q.") || strstr(t.name, "attn_k.") || strstr(t.name, "attn_v.");
        const bool by_eights = head       ? info->n_vocab % 8 == 0
                               : of_heads ? info->head_dim % 8 == 0
                                          : strcmp(t.name, "token_embd.weight") != 0;
        sum += strcmp(t.format, "F32") != 0 && by_eights ? (size_t)t.bytes : 0;
    }
    return strstr(info->path, ".gguf") ? sum : 0;
}

static void what_is_repacked(void **state)
{
    (void)state;
    sl_model_info info;
    sl_engine_info with, without;
    sl_err err = { 0 };
    sl_engine *e = NULL;
    sl_model_describe(model, &info);
    assert_int_equal(sl_engine_create(&e, model, &(sl_engine_options){ .repack = true }, &err), SL_OK);
    sl_engine_describe(e, &with);
    sl_engine_destroy(e);
    assert_int_equal(sl_engine_create(&e, model, &(sl_engine_options){ .weights = "copy" }, &err), SL_OK);
    sl_engine_describe(e, &without);
    sl_engine_destroy(e);
    assert_int_equal(without.repacked_bytes, 0);
    assert_int_equal(with.memory.weights, without.memory.weights);
    assert_int_equal(with.repacked_bytes, to_be_repacked(&info));
}

static void words_are_checked(void **state)
{
    (void)state;
    static const struct {
        sl_engine_options o;
        const char *word;
    } cases[] = {
        { { .weights = "mmap" }, "--weights" },
        { { .huge_pages = "1G" }, "--huge-pages" },
        { { .numa = "distribute" }, "--numa" },
        { { .pin = "yes" }, "--pin" },
        { { .weights = "copy-per-node", .pin = "off" }, "--pin off" },
        { { .weights = "map", .repack = true }, "--repack" },
        { { .act = "f32", .repack = true }, "--repack" },
        { { .prefetch = "on", .repack = true }, "--prefetch on" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_engine *e = NULL;
        sl_err err = { 0 };
        assert_int_equal(sl_engine_create(&e, model, &cases[i].o, &err), SL_EINVAL);
        if (!strstr(err.msg, cases[i].word))
            fail_msg("\"%s\" does not name %s", err.msg, cases[i].word);
    }
}

static void without_memory(void **state)
{
    (void)state;
    sl_status rc = SL_ENOMEM;
    long n = 0;
    for (; rc; n++) {
        sl_engine *e = NULL;
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        rc = sl_engine_create(&e, model, &(sl_engine_options){ .repack = true, .n_threads = 2 }, &err);
        sl_mem_fail_after(-1);
        assert_true(rc ? rc == SL_ENOMEM && !e && err.msg[0] : e != NULL);
        sl_engine_destroy(e);
    }
    assert_true(n > 10);
}

static int run_on(const char *path)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits),     cmocka_unit_test_setup_teardown(two_nodes, tree_make, tree_remove),
        cmocka_unit_test(the_account),       cmocka_unit_test(what_is_repacked),
        cmocka_unit_test(words_are_checked), cmocka_unit_test(without_memory),
    };
    sl_err err = { 0 };
    if (sl_model_open(&model, path, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    const int failed = cmocka_run_group_tests_name(path, tests, NULL, NULL);
    sl_model_close(model);
    return failed;
}

/* MODEL: one that was made; an empty file if it could not be. */
int main(int argc, char **argv)
{
    struct stat made;
    int failed = 0;
    if (argc == 2 && stat(argv[1], &made) == 0 && made.st_size == 0) {
        printf("SKIPPED: %s could not be made (python3-numpy is missing)\n", argv[1]);
        return EXIT_SKIPPED;
    }
    if (argc == 2)
        return run_on(argv[1]);
    for (size_t i = 0; i < SL_COUNT(models); i++)
        failed += run_on(models[i]);
    return failed;
}
