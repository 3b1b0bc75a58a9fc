/* test_override.c - settings given in place of those in the file; and all weights read through. */
#include "formats/check.h"

#include <math.h>
#include <stdio.h>
#include "base/num.h"

#define GGML_F32  0
#define GGML_Q4_K 12

static const char *model(gguf_build *b)
{
    begin_llama(b);
    gb_key_u32(b, "llama.block_count", 2);
    gb_f32(gb_key(b, "llama.rope.freq_base", SL_GGUF_F32), 10000.0f);
    gb_u8(gb_key(b, "tokenizer.ggml.add_bos_token", SL_GGUF_BOOL), 0);
    gb_key_str(b, "general.name", "as the file says");
    gb_u32(gb_array(b, "list", SL_GGUF_U32, 1), 5);
    return gb_path(gb_finish(b, 0));
}

static sl_status open_with(sl_weights **w, const char *path, const char *const *list, size_t n, sl_err *err)
{
    *err = (sl_err){ 0 };
    return sl_weights_open_with(w, path, &(sl_overrides){ list, n }, err);
}

static void values_change(void **state)
{
    (void)state;
    static const char *const list[] = { "llama.block_count=int:30",   "llama.rope.freq_base=float:5e5",
                                        "general.name=str:a=b:c",     "general.architecture=str:qwen3",
                                        "qwen3.context_length=int:8", "llama.block_count=int:31",
                                        "tokenizer.ggml.pre=str:" };
    gguf_build b = { 0 };
    sl_weights *w = NULL;
    sl_err err;
    uint64_t u = 0;
    double d = 0;
    const char *s = NULL;
    const char *path = model(&b);
    if (open_with(&w, path, list, SL_COUNT(list), &err))
        fail_msg("%s", err.msg);
    assert_string_equal(sl_weights_arch(w), "qwen3");
    assert_int_equal(sl_weights_get_u64(w, "llama.block_count", true, &u, &err), SL_OK);
    assert_int_equal(u, 31); /* the last one counts */
    assert_int_equal(sl_weights_get_f64(w, "llama.rope.freq_base", true, &d, &err), SL_OK);
    assert_true(d == 5e5);
    assert_int_equal(sl_weights_get_str(w, "general.name", true, &s, &err), SL_OK);
    assert_string_equal(s, "a=b:c");
    /* keys that the file does not have: known once somebody has asked for them */
    assert_int_equal(sl_weights_overrides_used(w, &err), SL_EINVAL);
    check_says(&err, "qwen3.context_length");
    assert_int_equal(sl_weights_get_u64(w, "%s.context_length", true, &u, &err), SL_OK);
    assert_int_equal(u, 8);
    assert_int_equal(sl_weights_overrides_used(w, &err), SL_EINVAL);
    check_says(&err, "tokenizer.ggml.pre");
    assert_int_equal(sl_weights_get_str(w, "tokenizer.ggml.pre", true, &s, &err), SL_OK);
    assert_string_equal(s, "");
    assert_int_equal(sl_weights_overrides_used(w, &err), SL_OK);
    sl_weights_close(w);

    static const char *const negative[] = { "llama.block_count=int:-1" };
    assert_int_equal(open_with(&w, path, negative, 1, &err), SL_OK);
    assert_int_equal(sl_weights_get_u64(w, "llama.block_count", true, &u, &err), SL_EFORMAT);
    check_says(&err, "key llama.block_count: is negative");
    sl_weights_close(w);
    gb_free(&b);
}

static void what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *says;
    } cases[] = {
        { "", "KEY=TYPE:VALUE expected" },
        { "llama.block_count", "KEY=TYPE:VALUE expected" },
        { "=int:3", "KEY=TYPE:VALUE expected" },
        { "llama.block_count=3", "TYPE one of int, float, bool, str" },
        { "llama.block_count=u32:3", "TYPE one of int, float, bool, str" },
        { "llama.block_count=int:", "\"\" is no value of this type" },
        { "llama.block_count=int:3x", "\"3x\" is no value" },
        { "llama.block_count=int:99999999999999999999", "is no value" },
        { "llama.rope.freq_base=float:nan", "is no value" },
        { "llama.rope.freq_base=float:inf", "is no value" },
        { "tokenizer.ggml.add_bos_token=bool:1", "is no value" },
        { "llama.block_count=float:3", "in the file this key is of type u32" },
        { "llama.rope.freq_base=int:3", "of type f32" },
        { "general.name=bool:true", "of type string" },
        { "tokenizer.ggml.add_bos_token=str:true", "of type boolean" },
        { "list=int:3", "of type array" },
        { "general.alignment=int:64", "describes the file" },
        { "split.count=int:1", "describes the file" },
    };
    gguf_build b = { 0 };
    const char *path = model(&b);
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_weights *w = NULL;
        sl_err err;
        const sl_status rc = open_with(&w, path, &cases[i].spec, 1, &err);
        if (rc != SL_EINVAL)
            fail_msg("%s: status %s", cases[i].spec, sl_status_name(rc));
        assert_null(w);
        check_says(&err, cases[i].says);
        check_says(&err, "--override-kv");
    }
    gb_free(&b);
}

static void no_memory(void **state)
{
    (void)state;
    static const char *const list[] = { "general.name=str:x", "new.key=int:1", "newer.key=int:2" };
    gguf_build b = { 0 };
    const char *path = model(&b);
    sl_err err;
    sl_weights *w = NULL;
    long n = 0;
    sl_status rc;
    do {
        assert_true(n < 1000);
        sl_mem_fail_after(n++);
        rc = open_with(&w, path, list, SL_COUNT(list), &err);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_OK || (rc == SL_ENOMEM && !w));
    } while (rc);
    sl_weights_close(w);
    gb_free(&b);
}

/* --- all weights -------------------------------------------------------------------------- */

typedef struct heard {
    size_t calls;
    uint64_t last, total;
} heard;

static void tell(void *user, const char *tensor, uint64_t done, uint64_t total)
{
    heard *h = user;
    (void)tensor;
    assert_true(done >= h->last && done < total);
    h->calls++;
    h->last = done;
    h->total = total;
}

static void weights_are_checked(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "a", GGML_F32, 0, 2, DIMS(8, 3));
    gb_tensor(&b, "b", 16 /* IQ2_XXS: passed over */, 96, 1, DIMS(256));
    gb_tensor(&b, "c", GGML_Q4_K, 192, 2, DIMS(512, 2));
    gb_finish(&b, 192 + 576);
    const size_t data = b.n - 192 - 576;
    memset(b.bytes + data, 0, 192 + 576);
    sl_err err = { 0 };
    heard h = { 0 };
    sl_weights *w = check_opens(gb_path(&b));
    assert_int_equal(sl_weights_check(w, tell, &h, &err), SL_OK);
    assert_int_equal(h.calls, 2);
    assert_int_equal(h.total, 96 + 66 + 576);
    sl_weights_close(w);

    b.bytes[data + 192 + 288 + 144 + 3] = 0x7c; /* dmin of the second block of the second row */
    const float nan = NAN;
    w = check_opens(gb_path(&b));
    assert_int_equal(sl_weights_check(w, NULL, NULL, &err), SL_EFORMAT);
    check_says(&err, "tensor c (Q4_K): row 1, from column 256 on");
    sl_weights_close(w);

    memcpy(b.bytes + data + 4 * 21, &nan, sizeof nan);
    w = check_opens(gb_path(&b));
    assert_int_equal(sl_weights_check(w, NULL, NULL, &err), SL_EFORMAT);
    check_says(&err, "tensor a (F32): row 2, from column 5 on");
    sl_weights_close(w);
    gb_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_change),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(weights_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
