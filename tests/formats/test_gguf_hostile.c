/* test_gguf_hostile.c - malformed files, most of them after public reports against other loaders:
 * each is refused with the right class and a text that names the file and the culprit. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/num.h"

#define GGML_F32   0
#define GGML_Q4_0  2
#define TENSORS_AT 8  /* of the header's tensor count */
#define KEYS_AT    16 /* of the header's key count */

static void put_u64(gguf_build *b, size_t at, uint64_t v)
{
    assert_true(at + 8 <= b->n);
    memcpy(b->bytes + at, &v, 8);
}

/* --- counts ------------------------------------------------------------------------------ */

static void tensor_count_beyond_the_file(void **state)
{
    (void)state;
    static const uint64_t counts[] = { 1, SIZE_MAX / sizeof(sl_gguf_tensor), SIZE_MAX / sizeof(sl_weight_info),
                                       SIZE_MAX, 1ull << 63 };
    for (size_t i = 0; i < SL_COUNT(counts); i++) {
        gguf_build b = { 0 };
        gb_begin(&b, 3);
        put_u64(&b, TENSORS_AT, counts[i]);
        check_build_refused(&b, SL_EFORMAT, "tensor count", "larger than the file");
    }
}

static void key_count_beyond_the_file(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    gb_begin(&b, 3);
    put_u64(&b, KEYS_AT, SIZE_MAX / sizeof(sl_gguf_key));
    check_build_refused(&b, SL_EFORMAT, "key count", "larger than the file");
}

/* Counts that pass the first comparison, but that the entries do not bear out. */
static void lists_that_end_early(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_finish(&b, 200);
    put_u64(&b, KEYS_AT, 4);
    check_build_refused(&b, SL_EFORMAT, "key 1: a name of 0 bytes", NULL);

    begin_llama(&b);
    gb_tensor(&b, "t", GGML_F32, 0, 1, DIMS(1));
    put_u64(&b, TENSORS_AT, 1);
    put_u64(&b, KEYS_AT, 1);
    b.n -= 4; /* the offset is half there */
    check_build_refused(&b, SL_EFORMAT, "tensor t", "ends inside");
}

/* --- dimensions -------------------------------------------------------------------------- */

static void dimension_that_wraps_the_size(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "token_embd.weight", GGML_F32, 0, 2, DIMS(64, 4398046511105));
    gb_finish(&b, 4096);
    check_build_refused(&b, SL_EFORMAT, "tensor token_embd.weight: dimension 1 is 4398046511105", NULL);

    begin_llama(&b); /* 4 * (2^62 + 1) wraps to 4 */
    gb_tensor(&b, "w", GGML_F32, 0, 2, DIMS(1, (1ull << 62) + 1));
    gb_finish(&b, 4096);
    check_build_refused(&b, SL_EFORMAT, "tensor w: dimension 1 is 4611686018427387905", NULL);

    begin_llama(&b); /* 4 * 16 * (2^58 + 1) wraps to 64 */
    gb_tensor(&b, "w", GGML_F32, 0, 3, DIMS(1, 16, (1ull << 58) + 1));
    gb_finish(&b, 4096);
    check_build_refused(&b, SL_EFORMAT, "tensor w: dimension 2 is 288230376151711745", NULL);

    begin_llama(&b); /* 2^31 * 2^31 * 4 */
    gb_tensor(&b, "w", GGML_F32, 0, 3, DIMS(1, 1ull << 31, 1ull << 31));
    gb_finish(&b, 4096);
    check_build_refused(&b, SL_EFORMAT, "tensor w: dimension 1 is 2147483648", NULL);

    begin_llama(&b);
    gb_tensor(&b, "w", GGML_Q4_0, 0, 1, DIMS(UINT64_MAX - 31));
    gb_finish(&b, 4096);
    check_build_refused(&b, SL_EFORMAT, "tensor w: dimension 0 is 18446744073709551584", NULL);
}

static void padding_that_wraps_the_total(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "huge", GGML_F32, 0, 1, DIMS(SIZE_MAX / 4));
    gb_tensor(&b, "small", GGML_F32, 0, 1, DIMS(8));
    gb_finish(&b, 64);
    check_build_refused(&b, SL_EFORMAT, "tensor huge: dimension 0 is 4611686018427387903", NULL);
}

static void dimension_of_zero(void **state)
{
    (void)state;
    for (uint64_t first = 0; first < 2; first++) {
        gguf_build b = { 0 };
        gb_begin(&b, 3);
        gb_tensor(&b, "t", GGML_F32, 0, 2, DIMS(first, 0));
        put_u64(&b, TENSORS_AT, 1);
        assert_int_equal(b.n, 65);
        check_build_refused(&b, SL_EFORMAT, "tensor t: dimension", "is 0");
    }
}

static void number_of_dimensions(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 0, 5, UINT32_MAX };
    const size_t n_dims_field = 7; /* 3 of the header, 3 of the key, the name's length */
    for (size_t i = 0; i < SL_COUNT(counts); i++) {
        gguf_build b = { 0 };
        begin_llama(&b);
        gb_tensor(&b, "t", GGML_F32, 0, SL_MIN(counts[i], 5), DIMS(1, 1, 1, 1, 1));
        gb_finish(&b, 64);
        if (counts[i] > 5)
            memset(b.bytes + b.fields[n_dims_field].at, 0xff, 4);
        check_build_refused(&b, SL_EFORMAT, "tensor t: ", "dimensions");
    }
}

static void row_that_is_no_whole_block(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "t", GGML_Q4_0, 0, 2, DIMS(33, 2));
    gb_finish(&b, 256);
    check_build_refused(&b, SL_EFORMAT, "tensor t: rows of 33", "Q4_0 comes in blocks of 32");
}

/* --- alignment, offsets ------------------------------------------------------------------ */

static void alignment_out_of_range(void **state)
{
    (void)state;
    static const uint32_t bad[] = { 0, 1, 3, 4, 48, 0x80000000, UINT32_MAX };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        gguf_build b = { 0 };
        gb_key_u32(begin_llama(&b), "general.alignment", bad[i]);
        gb_tensor(&b, "t", GGML_F32, 0, 1, DIMS(8));
        gb_finish(&b, 64);
        check_build_refused(&b, SL_EFORMAT, "key general.alignment", "power of two");
    }
    gguf_build b = { 0 };
    gb_key_str(begin_llama(&b), "general.alignment", "32");
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key general.alignment: of type string", NULL);
}

static void data_beyond_the_file(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "first", GGML_F32, 0, 1, DIMS(8));
    gb_tensor(&b, "last", GGML_F32, 32, 1, DIMS(8));
    const size_t offset_at = b.fields[b.n_fields - 1].at;
    gb_finish(&b, 64);
    const size_t start = b.n - 64;
    char says[128];

    put_u64(&b, offset_at, (b.n - 8) / 32 * 32);
    snprintf(says, sizeof says, "data start %zu, offset %zu, size 32", start, (b.n - 8) / 32 * 32);
    check_refused(gb_path(&b), SL_EFORMAT, "tensor last: ", says);
    put_u64(&b, offset_at, b.n - 8); /* to the byte: also no multiple of 32 */
    check_refused(gb_path(&b), SL_EFORMAT, "tensor last: offset", NULL);
    put_u64(&b, offset_at, 64); /* begins where the file ends */
    check_refused(gb_path(&b), SL_EFORMAT, "tensor last: ", "offset 64, size 32");
    put_u64(&b, offset_at, 32);
    sl_weights_close(check_opens(gb_path(&b)));
    b.n--; /* the file without its last byte */
    snprintf(says, sizeof says, "file of %zu bytes: cut short or damaged", b.n);
    check_build_refused(&b, SL_EFORMAT, "tensor last: ", says);
}

static void offset_that_wraps_the_sum(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "t", GGML_F32, UINT64_MAX - 31, 1, DIMS(16));
    gb_finish(&b, 64);
    check_build_refused(&b, SL_EFORMAT, "tensor t: data start", "offset 18446744073709551584, size 64");
}

static void tensors_that_overlap(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "a", GGML_F32, 0, 1, DIMS(16));
    gb_tensor(&b, "b", GGML_F32, 32, 1, DIMS(16));
    check_build_refused(gb_finish(&b, 256), SL_EFORMAT, "tensor b: offset 32", "end of tensor a, 64");

    begin_llama(&b); /* the same bytes */
    gb_tensor(&b, "a", GGML_F32, 0, 1, DIMS(8));
    gb_tensor(&b, "b", GGML_F32, 0, 1, DIMS(8));
    check_build_refused(gb_finish(&b, 256), SL_EFORMAT, "tensor b: offset 0", "tensor a");
}

static void list_without_data(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_tensor(&b, "t", GGML_F32, 0, 1, DIMS(1));
    const size_t end = b.n;
    gb_finish(&b, 0);
    assert_true(b.n > end);
    b.n = end;
    check_build_refused(&b, SL_EFORMAT, "tensor t", "ends after the list");
}

/* --- types ------------------------------------------------------------------------------- */

/* Types that exist and are not supported: the file opens, the tensor has its name and size and is marked. */
static void types_without_a_format(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        const char *name;
        uint64_t bytes; /* of 256 elements */
    } cases[] = {
        { 16, "IQ2_XXS", 66 },   { 17, "IQ2_XS", 74 },    { 18, "IQ3_XXS", 98 },     { 19, "IQ1_S", 50 },
        { 21, "IQ3_S", 110 },    { 22, "IQ2_S", 82 },     { 29, "IQ1_M", 56 },       { 24, "I8", 256 },
        { 25, "I16", 512 },      { 26, "I32", 1024 },     { 27, "I64", 2048 },       { 28, "F64", 2048 },
        { 9, "Q8_1", 288 },      { 15, "Q8_K", 292 },     { 4, "Q4_2", 160 },        { 5, "Q4_3", 192 },
        { 31, "Q4_0_4_4", 144 }, { 33, "Q4_0_8_8", 144 }, { 36, "IQ4_NL_4_4", 144 }, { 41, "Q1_0", 36 },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        gguf_build b = { 0 };
        begin_llama(&b);
        gb_tensor(&b, "blk.0.w", cases[i].type, 0, 2, DIMS(256, 2));
        sl_weights *w = check_opens(gb_path(gb_finish(&b, 4096)));
        const sl_weight_info *t = sl_weights_find(w, "blk.0.w");
        assert_non_null(t);
        assert_string_equal(t->type, cases[i].name);
        assert_int_equal(t->tensor.format, SL_FORMAT_COUNT);
        assert_int_equal(t->bytes, 2 * cases[i].bytes);
        sl_weights_close(w);
        gb_free(&b);
        /* its size counts as any other's */
        begin_llama(&b);
        gb_tensor(&b, "blk.0.w", cases[i].type, 0, 2, DIMS(256, 2));
        check_build_refused(gb_finish(&b, 2 * cases[i].bytes - 1), SL_EFORMAT, "lie outside the file",
                            "tensor blk.0.w");
    }
}

static void types_unheard_of(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        const char *says;
    } cases[] = { { 42, "type 42 is not known" },
                  { 99, "type 99 is not known" },
                  { UINT32_MAX, "type 4294967295 is not known" } };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        gguf_build b = { 0 };
        begin_llama(&b);
        gb_tensor(&b, "blk.0.w", cases[i].type, 0, 1, DIMS(256));
        check_build_refused(gb_finish(&b, 4096), SL_EFORMAT, cases[i].says, "tensor blk.0.w");
    }
}

static void value_types(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    gb_u32(gb_key(begin_llama(&b), "odd", 13), 0);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key odd: value type 13 is not known", NULL);

    gb_u32(gb_array(begin_llama(&b), "odd", 99, 1), 0);
    gb_key_u32(&b, "llama.block_count", 2);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key odd: array element type 99 is not known", NULL);

    gb_array(begin_llama(&b), "odd", SL_GGUF_ARRAY, 1); /* nested, the inner type unknown */
    gb_u64(gb_u32(&b, 99), 1);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key odd: array element type 99 is not known", NULL);

    gb_u8(gb_key(begin_llama(&b), "odd", SL_GGUF_BOOL), 2);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key odd: a boolean of value 2", NULL);

    gb_u8(gb_u8(gb_array(begin_llama(&b), "odd", SL_GGUF_BOOL, 2), 1), 255);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key odd: a boolean of value 255", NULL);
}

/* Arrays in arrays: eight levels are read, the ninth is refused, and no depth costs stack. */
static void deep_nesting(void **state)
{
    (void)state;
    static const int depths[] = { 8, 9, 100000 };
    for (size_t d = 0; d < SL_COUNT(depths); d++) {
        const int levels = depths[d];
        gguf_build b = { 0 };
        gb_key(begin_llama(&b), "deep", SL_GGUF_ARRAY);
        for (int i = 1; i < levels; i++)
            gb_u64(gb_u32(&b, SL_GGUF_ARRAY), 1);
        gb_u8(gb_u64(gb_u32(&b, SL_GGUF_U8), 1), 7);
        gb_key_u32(&b, "after", 1);
        gb_finish(&b, 0);
        if (levels == 8) {
            sl_weights_close(check_opens(gb_path(&b)));
            gb_free(&b);
        } else {
            check_build_refused(&b, SL_EFORMAT, "key deep: arrays nested deeper than 8", NULL);
        }
    }
}

static void arrays_longer_than_the_file(void **state)
{
    (void)state;
    static const uint32_t types[] = { SL_GGUF_U8, SL_GGUF_U64, SL_GGUF_STR, SL_GGUF_ARRAY };
    static const uint64_t counts[] = { 1u << 20, SIZE_MAX / 8 + 1, SIZE_MAX };
    for (size_t t = 0; t < SL_COUNT(types); t++)
        for (size_t i = 0; i < SL_COUNT(counts); i++) {
            gguf_build b = { 0 };
            gb_array(begin_llama(&b), "long", types[t], counts[i]);
            check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key long: array of", "bytes are left");
        }
}

/* --- names and strings ------------------------------------------------------------------- */

static void empty_key(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    gb_u8(gb_key(gb_begin(&b, 3), "", SL_GGUF_U8), 1);
    put_u64(&b, KEYS_AT, 1);
    assert_int_equal(b.n, 37);
    check_refused(gb_path(&b), SL_EFORMAT, NULL, NULL); /* fewer bytes than the shortest key needs */
    gb_u32(&b, 0);
    check_build_refused(&b, SL_EFORMAT, "key 0: a name of 0 bytes", NULL);
}

static void bad_key_names(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    gb_u8(gb_key(begin_llama(&b), "a\nb\x1b[31m", SL_GGUF_U8), 1);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key 1 (a?b?[31m)", "0x0a");

    char *name = malloc(70000);
    assert_non_null(name);
    memset(name, 'k', 70000);
    name[65536] = '\0';
    gb_u8(gb_key(begin_llama(&b), name, SL_GGUF_U8), 1);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key 1: a name of 65536 bytes", NULL);
    name[65535] = '\0';
    gb_u8(gb_key(begin_llama(&b), name, SL_GGUF_U8), 1);
    sl_weights_close(check_opens(gb_path(gb_finish(&b, 64))));
    gb_free(&b);
    free(name);
}

static void bad_tensor_names(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    char name[66];
    memset(name, 'n', 65);
    name[65] = '\0';
    gb_tensor(begin_llama(&b), name, GGML_F32, 0, 1, DIMS(8));
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "tensor 0 of the list (nnnn", "a name of 65 bytes, 1 to 64");
    name[64] = '\0';
    gb_tensor(begin_llama(&b), name, GGML_F32, 0, 1, DIMS(8));
    sl_weights *w = check_opens(gb_path(gb_finish(&b, 64)));
    assert_non_null(sl_weights_find(w, name));
    sl_weights_close(w);
    gb_free(&b);

    gb_tensor(begin_llama(&b), "", GGML_F32, 0, 1, DIMS(8));
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "tensor 0 of the list", "a name of 0 bytes");
    gb_tensor(begin_llama(&b), "a\rb", GGML_F32, 0, 1, DIMS(8));
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "tensor 0 of the list (a?b)", "control character");
}

static void names_twice(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_key_u32(&b, "llama.block_count", 1);
    gb_key_u32(&b, "llama.block_count", 2);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key llama.block_count: there twice", NULL);

    begin_llama(&b);
    gb_tensor(&b, "a", GGML_F32, 0, 1, DIMS(8));
    gb_tensor(&b, "b", GGML_F32, 32, 1, DIMS(8));
    gb_tensor(&b, "a", GGML_F32, 64, 1, DIMS(8));
    check_build_refused(gb_finish(&b, 256), SL_EFORMAT, "tensor a: listed twice", NULL);
}

static void string_lengths(void **state)
{
    (void)state;
    static const uint64_t lengths[] = { 65, SIZE_MAX, 1ull << 63, SIZE_MAX - 7 };
    for (size_t i = 0; i < SL_COUNT(lengths); i++) {
        gguf_build b = { 0 };
        gb_u64(gb_key(begin_llama(&b), "s", SL_GGUF_STR), lengths[i] == 65 ? 4096 : lengths[i]);
        check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key s: a string of", "runs past the file");

        gb_u64(gb_array(begin_llama(&b), "list", SL_GGUF_STR, 1), lengths[i] == 65 ? 4096 : lengths[i]);
        check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key list: element 0", "runs past the file");

        gb_begin(&b, 3);
        gb_u64(&b, lengths[i] == 65 ? 4096 : lengths[i]);
        gb_finish(&b, 64);
        put_u64(&b, KEYS_AT, 1);
        check_build_refused(&b, SL_EFORMAT, "key 0: a name of", NULL);
    }
}

static void architecture_is_a_name(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "two words", "a\nb",
                                       "seventy.bytes.are.more.than.any.architecture.that.has.ever.been.named." };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        gguf_build b = { 0 };
        gb_key_str(gb_begin(&b, 3), "general.architecture", bad[i]);
        check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key general.architecture", NULL);
    }
    gguf_build b = { 0 };
    gb_key_u32(gb_begin(&b, 3), "general.architecture", 1);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key general.architecture: of type u32", NULL);
    gb_key_u32(gb_begin(&b, 3), "other", 1);
    check_build_refused(gb_finish(&b, 64), SL_EFORMAT, "key general.architecture is missing", NULL);
}

/* Every prefix of a good file is refused, none crashes. */
static void every_truncation(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    static const char *const words[] = { "one", "two" };
    begin_llama(&b);
    gb_strs(&b, "list", words, 2);
    gb_u8(gb_key(&b, "flag", SL_GGUF_BOOL), 1);
    gb_tensor(&b, "a", GGML_F32, 0, 2, DIMS(4, 2));
    gb_tensor(&b, "b", GGML_Q4_0, 32, 1, DIMS(32));
    gb_finish(&b, 50);
    sl_weights_close(check_opens(gb_path(&b)));
    while (b.n-- > 0) {
        sl_err err = { 0 };
        sl_weights *w = NULL;
        assert_int_equal(sl_weights_open(&w, gb_path(&b), &err), SL_EFORMAT);
        assert_true(err.msg[0] != '\0');
    }
    gb_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_count_beyond_the_file),
        cmocka_unit_test(key_count_beyond_the_file),
        cmocka_unit_test(lists_that_end_early),
        cmocka_unit_test(dimension_that_wraps_the_size),
        cmocka_unit_test(padding_that_wraps_the_total),
        cmocka_unit_test(dimension_of_zero),
        cmocka_unit_test(number_of_dimensions),
        cmocka_unit_test(row_that_is_no_whole_block),
        cmocka_unit_test(alignment_out_of_range),
        cmocka_unit_test(data_beyond_the_file),
        cmocka_unit_test(offset_that_wraps_the_sum),
        cmocka_unit_test(tensors_that_overlap),
        cmocka_unit_test(list_without_data),
        cmocka_unit_test(types_without_a_format),
        cmocka_unit_test(types_unheard_of),
        cmocka_unit_test(value_types),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(arrays_longer_than_the_file),
        cmocka_unit_test(empty_key),
        cmocka_unit_test(bad_key_names),
        cmocka_unit_test(bad_tensor_names),
        cmocka_unit_test(names_twice),
        cmocka_unit_test(string_lengths),
        cmocka_unit_test(architecture_is_a_name),
        cmocka_unit_test(every_truncation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
