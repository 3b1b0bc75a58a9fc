/* test_gguf.c - well-formed files: tensors, settings and look-ups say what the file says. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/num.h"
#include "quant/quant.h"

#define GGML_F32  0
#define GGML_Q4_0 2

static void fixture_path(char out[512], const char *arch, const char *type)
{
    snprintf(out, 512, "%s/gguf/%s-small-%s/%s-small-%s.gguf", TEST_DATA, arch, type, arch, type);
}

static sl_weights *open_fixture(const char *arch, const char *type)
{
    char path[512];
    fixture_path(path, arch, type);
    return check_opens(path);
}

static uint64_t u64(const sl_weights *w, const char *key)
{
    sl_err err = { 0 };
    uint64_t v = UINT64_MAX;
    if (sl_weights_get_u64(w, key, true, &v, &err))
        fail_msg("%s", err.msg);
    return v;
}

static void settings_of_a_fixture(void **state)
{
    (void)state;
    sl_weights *w = open_fixture("llama", "Q4_0");
    sl_err err;
    double eps = 0;
    const char *name = NULL, *again = NULL;
    assert_string_equal(sl_weights_arch(w), "llama");
    assert_int_equal(sl_weights_file_bytes(w), 52768);
    assert_int_equal(u64(w, "%s.block_count"), 2);
    assert_int_equal(u64(w, "%s.embedding_length"), 64);
    assert_int_equal(u64(w, "llama.attention.head_count_kv"), 2);
    assert_int_equal(sl_weights_get_f64(w, "%s.attention.layer_norm_rms_epsilon", true, &eps, &err), SL_OK);
    assert_true(eps == (double)1e-5f);
    assert_int_equal(sl_weights_get_f64(w, "%s.block_count", true, &eps, &err), SL_OK);
    assert_true(eps == 2.0);
    assert_int_equal(sl_weights_get_str(w, "general.name", true, &name, &err), SL_OK);
    assert_string_equal(name, "tiny-llama");
    assert_int_equal(sl_weights_get_str(w, "general.name", true, &again, &err), SL_OK);
    assert_ptr_equal(name, again);
    sl_weights_close(w);
}

static void tensors_of_a_fixture(void **state)
{
    (void)state;
    sl_weights *w = open_fixture("llama", "Q4_0");
    assert_int_equal(sl_weights_count(w), 21);
    const sl_weight_info *t = sl_weights_find(w, "blk.0.ffn_down.weight");
    assert_non_null(t);
    assert_ptr_equal(t, sl_weights_at(w, 3));
    assert_string_equal(t->name, "blk.0.ffn_down.weight");
    assert_int_equal(t->n_dims, 2);
    assert_int_equal(t->dims[0], 96);
    assert_int_equal(t->dims[1], 64);
    assert_int_equal(t->dims[2], 1);
    assert_int_equal(t->tensor.format, SL_FORMAT_Q4_0);
    assert_int_equal(t->tensor.cols, 96);
    assert_int_equal(t->tensor.rows, 64);
    assert_int_equal(t->tensor.row_bytes, 96 / 32 * 18);
    assert_int_equal(t->bytes, 64 * 96 / 32 * 18);

    t = sl_weights_find(w, "rope_freqs.weight");
    assert_non_null(t);
    assert_int_equal(t->tensor.format, SL_FORMAT_F32);
    assert_int_equal(t->tensor.rows, 1);
    assert_int_equal(t->tensor.cols, 8);

    assert_null(sl_weights_find(w, "blk.0.ffn_down"));
    assert_null(sl_weights_find(w, ""));
    for (size_t i = 0; i < sl_weights_count(w); i++)
        assert_ptr_equal(sl_weights_find(w, sl_weights_at(w, i)->name), sl_weights_at(w, i));
    sl_weights_close(w);
}

/* The bytes that gguf-py's reader gives for this tensor begin at 17184 of the file. */
static void tensor_data_is_where_it_should_be(void **state)
{
    (void)state;
    char path[512];
    unsigned char want[54];
    fixture_path(path, "llama", "Q4_0");
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 17184, SEEK_SET), 0);
    assert_int_equal(fread(want, 1, sizeof want, f), sizeof want);
    fclose(f);
    sl_weights *w = check_opens(path);
    assert_memory_equal(sl_weights_find(w, "blk.0.ffn_down.weight")->tensor.data, want, sizeof want);
    sl_weights_close(w);
}

/* The same random weights, rounded to each type: decoded they must lie near the F32 ones. This
 * fails when a type is read with another's offsets, row sizes or decoder. */
static void types_agree_on_the_weights(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        double bound; /* of the mean absolute difference, as a share of the mean absolute weight */
    } types[] = { { "F16", 1e-3 },  { "BF16", 5e-3 }, { "Q8_0", 1e-2 }, { "Q4_0", 0.15 },
                  { "Q4_1", 0.15 }, { "Q5_0", 0.08 }, { "Q5_1", 0.08 } };
    static const char *const archs[] = { "llama", "qwen3" };
    for (size_t a = 0; a < SL_COUNT(archs); a++) {
        sl_weights *exact = open_fixture(archs[a], "F32");
        const sl_weight_info *e = sl_weights_find(exact, "blk.1.ffn_up.weight");
        assert_non_null(e);
        const size_t n = e->tensor.rows * e->tensor.cols;
        float *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
        assert_non_null(want);
        assert_non_null(got);
        sl_quant_widen(want, e->tensor.format, e->tensor.data, n);
        for (size_t i = 0; i < SL_COUNT(types); i++) {
            sl_weights *w = open_fixture(archs[a], types[i].type);
            const sl_weight_info *t = sl_weights_find(w, "blk.1.ffn_up.weight");
            assert_non_null(t);
            assert_string_equal(sl_format_name(t->tensor.format), types[i].type);
            assert_int_equal(t->tensor.rows, e->tensor.rows);
            double off = 0, sum = 0;
            for (size_t r = 0; r < t->tensor.rows; r++)
                sl_quant_get(t->tensor.format)->decode(got + r * t->tensor.cols, &t->tensor, r, 0, t->tensor.cols);
            for (size_t j = 0; j < n; j++) {
                off += fabs((double)got[j] - (double)want[j]);
                sum += fabs((double)want[j]);
            }
            assert_true(sum > 0 && off / sum < types[i].bound);
            sl_weights_close(w);
        }
        free(want);
        free(got);
        sl_weights_close(exact);
    }
}

static void three_dimensions_are_rows_of_the_inner_one(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "experts", GGML_Q4_0, 0, 4, DIMS(64, 3, 2, 5));
    gb_tensor(&b, "gap", GGML_F32, 2048, 1, DIMS(1)); /* 864 bytes of padding before it are fine */
    gb_finish(&b, 2048 + 4);
    sl_weights *w = check_opens(gb_path(&b));
    const sl_weight_info *t = sl_weights_at(w, 0);
    assert_int_equal(t->tensor.cols, 64);
    assert_int_equal(t->tensor.rows, 30);
    assert_int_equal(t->tensor.row_bytes, 36);
    assert_int_equal(t->bytes, 1080);
    assert_int_equal(t->dims[3], 5);
    sl_weights_close(w);
    gb_free(&b);
}

/* Version 2 has the same layout; a file without tensors is a vocabulary. */
static void version_2_and_no_tensors(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    gb_key_str(gb_begin(&b, 2), "general.architecture", "x");
    gb_finish(&b, 0);
    sl_weights *w = check_opens(gb_path(&b));
    assert_int_equal(sl_weights_count(w), 0);
    assert_null(sl_weights_find(w, "token_embd.weight"));
    sl_weights_close(w);
    gb_free(&b);
}

static void alignment_of_the_file_counts(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    gb_key_u32(begin_llama(&b), "general.alignment", 256);
    gb_tensor(&b, "a", GGML_F32, 0, 1, DIMS(1));
    gb_tensor(&b, "b", GGML_F32, 256, 1, DIMS(1));
    gb_finish(&b, 0);
    while (b.n % 256)
        gb_u8(&b, 0);
    const float one = 1, two = 2;
    gb_f32(&b, one);
    for (size_t i = 4; i < 256; i++)
        gb_u8(&b, 0xff);
    gb_f32(&b, two);
    sl_weights *w = check_opens(gb_path(&b));
    assert_memory_equal(sl_weights_find(w, "a")->tensor.data, &one, 4);
    assert_memory_equal(sl_weights_find(w, "b")->tensor.data, &two, 4);
    assert_int_equal((uintptr_t)sl_weights_find(w, "b")->tensor.data % 256, 0);
    sl_weights_close(w);
    gb_free(&b);
}

/* One number of each type; the value is a bit pattern of that width. */
static void every_width_of_a_number(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint64_t bits;
        bool is_u64;
        double value;
    } cases[] = {
        { SL_GGUF_U8, 0xfe, true, 254 },
        { SL_GGUF_I8, 0x7f, true, 127 },
        { SL_GGUF_U16, 0xfffe, true, 65534 },
        { SL_GGUF_I16, 0x7fff, true, 32767 },
        { SL_GGUF_U32, 0xfffffffe, true, 4294967294 },
        { SL_GGUF_I32, 0x7fffffff, true, 2147483647 },
        { SL_GGUF_U64, 1ull << 63, true, 0x1p63 },
        { SL_GGUF_I64, 1ull << 62, true, 0x1p62 },
        { SL_GGUF_I8, 0xff, false, -1 },
        { SL_GGUF_I16, 0xffff, false, -1 },
        { SL_GGUF_I32, 0xffffffff, false, -1 },
        { SL_GGUF_I64, UINT64_MAX, false, -1 },
        { SL_GGUF_F32, 0x3fc00000, false, 1.5 },
        { SL_GGUF_F64, 0x3ff8000000000000, false, 1.5 },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        gguf_build b = { 0 };
        sl_err err = { 0 };
        uint64_t u = 77;
        double d = 77;
        gb_key(begin_llama(&b), "llama.x", cases[i].type);
        gb_raw(&b, &cases[i].bits, sl_gguf_type_bytes((sl_gguf_type)cases[i].type));
        gb_finish(&b, 0);
        sl_weights *w = check_opens(gb_path(&b));
        assert_int_equal(sl_weights_get_f64(w, "%s.x", true, &d, &err), SL_OK);
        assert_true(d == cases[i].value);
        if (cases[i].is_u64) {
            assert_int_equal(sl_weights_get_u64(w, "%s.x", true, &u, &err), SL_OK);
            assert_true((double)u == cases[i].value);
        } else {
            assert_int_equal(sl_weights_get_u64(w, "%s.x", false, &u, &err), SL_EFORMAT);
            check_says(&err, "key llama.x");
            check_says(&err, gb_path(&b));
            assert_int_equal(u, 77);
        }
        sl_weights_close(w);
        gb_free(&b);
    }
}

static void settings_of_the_wrong_type_or_missing(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_key_str(&b, "llama.block_count", "two");
    gb_u8(gb_key(&b, "flag", SL_GGUF_BOOL), 1);
    gb_u32(gb_array(&b, "llama.heads", SL_GGUF_U32, 1), 4);
    gb_u32(gb_key(&b, "nan", SL_GGUF_F32), 0x7fc00000);
    gb_u32(gb_key(&b, "inf", SL_GGUF_F32), 0x7f800000);
    gb_raw(gb_u64(gb_key(&b, "nul", SL_GGUF_STR), 3), "a\0b", 3);
    gb_finish(&b, 0);
    sl_weights *w = check_opens(gb_path(&b));
    sl_err err;
    uint64_t u = 7;
    double d = 7;
    const char *s = "kept";
    static const struct {
        const char *key, *says;
    } u64s[] = { { "%s.block_count", "key llama.block_count: of type string" },
                 { "flag", "key flag: of type boolean" },
                 { "%s.heads", "key llama.heads: of type array" },
                 { "nan", "key nan: of type f32" } },
      f64s[] = { { "%s.block_count", "key llama.block_count: of type string" },
                 { "flag", "key flag: of type boolean" },
                 { "nan", "key nan: " },
                 { "inf", "key inf: " } },
      strs[] = { { "flag", "key flag: of type boolean" }, { "nul", "key nul: the string holds a NUL byte" } };
    for (int required = 0; required < 2; required++) {
        for (size_t i = 0; i < SL_COUNT(u64s); i++) {
            assert_int_equal(sl_weights_get_u64(w, u64s[i].key, required, &u, &err), SL_EFORMAT);
            check_says(&err, u64s[i].says);
        }
        for (size_t i = 0; i < SL_COUNT(f64s); i++) {
            assert_int_equal(sl_weights_get_f64(w, f64s[i].key, required, &d, &err), SL_EFORMAT);
            check_says(&err, f64s[i].says);
        }
        for (size_t i = 0; i < SL_COUNT(strs); i++) {
            assert_int_equal(sl_weights_get_str(w, strs[i].key, required, &s, &err), SL_EFORMAT);
            check_says(&err, strs[i].says);
        }
    }
    assert_int_equal(sl_weights_get_u64(w, "%s.x", false, &u, &err), SL_OK);
    assert_int_equal(sl_weights_get_f64(w, "%s.x", false, &d, &err), SL_OK);
    assert_int_equal(sl_weights_get_str(w, "%s.x", false, &s, &err), SL_OK);
    assert_int_equal(sl_weights_get_u64(w, "%s.x", true, &u, &err), SL_EFORMAT);
    check_says(&err, "key llama.x is missing");
    assert_int_equal(sl_weights_get_f64(w, "%s.x", true, &d, &err), SL_EFORMAT);
    assert_int_equal(sl_weights_get_str(w, "%s.x", true, &s, &err), SL_EFORMAT);
    assert_true(u == 7 && d == 7 && strcmp(s, "kept") == 0);
    sl_weights_close(w);
    gb_free(&b);
}

/* Arrays of all types, nested ones among them, are stepped over; the keys behind them are right. */
static void keys_behind_arrays(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_array(&b, "nested", SL_GGUF_ARRAY, 3);
    gb_u8(gb_u8(gb_u64(gb_u32(&b, SL_GGUF_U8), 2), 1), 2);
    gb_str(gb_u64(gb_u32(&b, SL_GGUF_STR), 1), "inner");
    gb_u64(gb_u32(&b, SL_GGUF_F64), 0);
    gb_u64(gb_array(&b, "wide", SL_GGUF_I64, 1), 9);
    gb_u8(gb_u8(gb_array(&b, "flags", SL_GGUF_BOOL, 2), 0), 1);
    gb_array(&b, "empty", SL_GGUF_STR, 0);
    gb_key_u32(&b, "after", 4711);
    gb_finish(&b, 0);
    sl_weights *w = check_opens(gb_path(&b));
    assert_int_equal(u64(w, "after"), 4711);
    sl_weights_close(w);
    gb_free(&b);
}

/* Which tensors a model needs is not the container's business: a file that lacks its layers, or is of
 * an architecture nobody knows, opens, and says so where it is asked. */
static void contents_that_no_model_fits(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    gb_key_str(gb_begin(&b, 3), "general.architecture", "qwen3moe");
    gb_key_u32(&b, "qwen3moe.block_count", 1u << 31);
    gb_tensor(&b, "token_embd.weight", GGML_F32, 0, 2, DIMS(8, 2));
    gb_finish(&b, 64);
    sl_weights *w = check_opens(gb_path(&b));
    assert_string_equal(sl_weights_arch(w), "qwen3moe");
    assert_int_equal(u64(w, "%s.block_count"), 1u << 31);
    assert_null(sl_weights_find(w, "blk.0.ffn_up.weight"));
    sl_weights_close(w);
    gb_free(&b);
}

/* More names than one growth step, and neighbours that differ in one letter. */
static void many_names(void **state)
{
    (void)state;
    enum { N = 3000 };
    gguf_build b = { 0 };
    char name[32];
    begin_llama(&b);
    for (uint32_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "k.%u", i);
        gb_key_u32(&b, name, i);
    }
    for (uint32_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "blk.%u.weight", i);
        gb_tensor(&b, name, GGML_F32, 32 * (uint64_t)i, 1, DIMS(1));
    }
    gb_finish(&b, 32 * N);
    sl_weights *w = check_opens(gb_path(&b));
    for (uint32_t i = 0; i < N; i++) {
        snprintf(name, sizeof name, "k.%u", i);
        assert_int_equal(u64(w, name), i);
        snprintf(name, sizeof name, "blk.%u.weight", i);
        assert_ptr_equal(sl_weights_find(w, name), sl_weights_at(w, i));
    }
    assert_null(sl_weights_find(w, "blk.3000.weight"));
    sl_weights_close(w);
    gb_free(&b);
}

/* A look-up whose hash agrees must still compare names: the list is swapped behind the index. */
static const char *listed;

static sl_bytes listed_name(const sl_gguf *g, size_t i)
{
    (void)g;
    (void)i;
    return (sl_bytes){ listed, strlen(listed) };
}

static void equal_hashes_are_not_equal_names(void **state)
{
    (void)state;
    static const char *const others[] = { "abd", "abcd", "ab", "" };
    const sl_gguf g = { 0 };
    const sl_bytes name = { "abc", 3 };
    sl_gguf_index x = { 0 };
    size_t twice = 0;
    listed = "abc";
    assert_int_equal(sl_gguf_index_build(&x, &g, listed_name, 1, &twice), SL_OK);
    assert_int_equal(sl_gguf_index_find(&x, &g, listed_name, name), 0);
    for (size_t i = 0; i < SL_COUNT(others); i++) {
        listed = others[i];
        assert_true(sl_gguf_index_find(&x, &g, listed_name, name) == SL_GGUF_NONE);
    }
    sl_mem_free(x.slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_of_a_fixture),
        cmocka_unit_test(tensors_of_a_fixture),
        cmocka_unit_test(tensor_data_is_where_it_should_be),
        cmocka_unit_test(types_agree_on_the_weights),
        cmocka_unit_test(three_dimensions_are_rows_of_the_inner_one),
        cmocka_unit_test(version_2_and_no_tensors),
        cmocka_unit_test(alignment_of_the_file_counts),
        cmocka_unit_test(every_width_of_a_number),
        cmocka_unit_test(settings_of_the_wrong_type_or_missing),
        cmocka_unit_test(keys_behind_arrays),
        cmocka_unit_test(contents_that_no_model_fits),
        cmocka_unit_test(many_names),
        cmocka_unit_test(equal_hashes_are_not_equal_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
