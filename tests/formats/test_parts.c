/* test_parts.c - models cut into several files: opened from any of them, or refused with what is wrong and where. */
#include "formats/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/num.h"

#define GGML_F32 0
#define PARTS    3

static const char *const names[PARTS] = { "m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf" };
static char dir[] = "/tmp/sluice-test-XXXXXX";

/* What one part says of itself. */
typedef struct part {
    uint32_t no, count;
    uint64_t total;         /* split.tensors.count */
    const char *tensors[3]; /* each of 8 numbers */
    float value;            /* of all its numbers */
} part;

static const part whole[PARTS] = {
    { 0, PARTS, 4, { "a", "b" }, 1 },
    { 1, PARTS, 4, { "c" }, 2 },
    { 2, PARTS, 4, { "d" }, 3 },
};

static char *path_of(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", dir, name);
    return out;
}

static void write_part(const char *name, const part *p)
{
    char path[128];
    gguf_build b = { 0 };
    gb_begin(&b, 3);
    if (p->no == 0) {
        gb_key_str(&b, "general.architecture", "llama");
        gb_key_u32(&b, "llama.block_count", 7);
    }
    gb_key_u32(&b, "split.no", p->no);
    gb_key_u32(&b, "split.count", p->count);
    gb_u64(gb_key(&b, "split.tensors.count", SL_GGUF_U64), p->total);
    size_t n = 0;
    for (; n < SL_COUNT(p->tensors) && p->tensors[n]; n++)
        gb_tensor(&b, p->tensors[n], GGML_F32, 32 * n, 1, DIMS(8));
    gb_finish(&b, 0);
    for (size_t i = 0; i < 8 * n; i++)
        gb_f32(&b, p->value);
    FILE *f = fopen(path_of(path, name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(b.bytes, 1, b.n, f), b.n);
    assert_int_equal(fclose(f), 0);
    gb_free(&b);
}

/* The last part is written first. */
static void write_all(const part *parts)
{
    for (size_t i = PARTS; i-- > 0;)
        write_part(names[i], &parts[i]);
}

static int remove_all(void **state)
{
    (void)state;
    char path[128];
    for (size_t i = 0; i < PARTS; i++)
        unlink(path_of(path, names[i]));
    unlink(path_of(path, "renamed.gguf"));
    return 0;
}

static void from_any_part(void **state)
{
    (void)state;
    write_all(whole);
    for (size_t i = 0; i < PARTS; i++) {
        char path[128];
        sl_err err = { 0 };
        uint64_t layers = 0;
        sl_weights *w = check_opens(path_of(path, names[i]));
        assert_string_equal(sl_weights_path(w), path);
        assert_string_equal(sl_weights_arch(w), "llama");
        assert_int_equal(sl_weights_get_u64(w, "%s.block_count", true, &layers, &err), SL_OK);
        assert_int_equal(layers, 7);
        assert_int_equal(sl_weights_count(w), 4);
        static const char *const tensors[] = { "a", "b", "c", "d" };
        static const float values[] = { 1, 1, 2, 3 };
        for (size_t t = 0; t < 4; t++) {
            const sl_weight_info *info = sl_weights_at(w, t);
            assert_string_equal(info->name, tensors[t]);
            assert_ptr_equal(sl_weights_find(w, tensors[t]), info);
            assert_true(((const float *)info->tensor.data)[7] == values[t]);
        }
        assert_null(sl_weights_find(w, "e"));
        assert_true(sl_weights_file_bytes(w) > 3 * 24 + 4 * 32);
        sl_weights_close(w);
    }
}

static void a_part_is_missing(void **state)
{
    (void)state;
    for (size_t missing = 0; missing < PARTS; missing++) {
        char path[128], says[160];
        write_all(whole);
        unlink(path_of(path, names[missing]));
        snprintf(says, sizeof says, "%s is missing", path);
        for (size_t i = 0; i < PARTS; i++)
            if (i != missing)
                check_refused(path_of(path, names[i]), SL_ENOTFOUND, says, "of 3 of a split model");
    }
}

static void a_part_is_broken(void **state)
{
    (void)state;
    char path[128], other[128];
    write_all(whole);
    assert_int_equal(truncate(path_of(other, names[1]), 60), 0);
    sl_err err = { 0 };
    sl_weights *w = NULL;
    assert_int_equal(sl_weights_open(&w, path_of(path, names[0]), &err), SL_EFORMAT);
    assert_null(w);
    check_says(&err, other);
    assert_int_equal(truncate(other, 0), 0);
    assert_int_equal(sl_weights_open(&w, path, &err), SL_EFORMAT);
    check_says(&err, "an empty file");
}

static void names_do_not_tell(void **state)
{
    (void)state;
    char path[128];
    write_part("renamed.gguf", &whole[2]);
    check_refused(path_of(path, "renamed.gguf"), SL_EFORMAT, "part 3 of 3", "-00003-of-00003.gguf");
    write_part(names[1], &whole[2]); /* under the name of another */
    check_refused(path_of(path, names[1]), SL_EFORMAT, "part 3 of 3", "-00003-of-00003.gguf");
    write_part("renamed.gguf", &(part){ 3, 3, 1, { "a" }, 1 });
    check_refused(path_of(path, "renamed.gguf"), SL_EFORMAT, "key split.no: part 3 of 3", NULL);
    write_part("renamed.gguf", &(part){ 0, 70000, 1, { "a" }, 1 });
    check_refused(path_of(path, "renamed.gguf"), SL_EFORMAT, "key split.no: part 0 of 70000", NULL);
    write_part("renamed.gguf", &(part){ 0, 1, 1, { "a" }, 1 }); /* one part is the whole */
    sl_weights_close(check_opens(path));
    write_part("renamed.gguf", &(part){ 0, 0, 1, { "a" }, 1 });
    sl_weights_close(check_opens(path));
}

static void parts_of_different_models(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        part other;
        const char *says, *also;
    } cases[] = {
        { 1, { 2, PARTS, 4, { "c" }, 2 }, "that it is part 2 of 3", NULL },
        { 1, { 1, 4, 4, { "c" }, 2 }, "that it is part 2 of 3", NULL },
        { 1, { 1, PARTS, 4, { "a" }, 2 }, "tensor a is in part 1 and in part 2", NULL },
        { 2, { 2, PARTS, 4, { "c" }, 2 }, "tensor c is in part 2 and in part 3", NULL },
        { 1, { 1, PARTS, 4, { "c", "more" }, 2 }, "split.tensors.count: 4", "hold 5 tensors" },
        { 0, { 0, PARTS, 9, { "a", "b" }, 1 }, "split.tensors.count: 9", "hold 4 tensors" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        part parts[PARTS];
        char path[128];
        memcpy(parts, whole, sizeof parts);
        parts[cases[i].at] = cases[i].other;
        write_all(parts);
        sl_err err = { 0 };
        sl_weights *w = NULL;
        assert_int_equal(sl_weights_open(&w, path_of(path, names[cases[i].at == 0]), &err), SL_EFORMAT);
        check_says(&err, cases[i].says);
        check_says(&err, cases[i].also);
    }
}

/* Each allocation fails in turn: nothing is left, nothing crashes. */
static void no_memory(void **state)
{
    (void)state;
    char path[128];
    write_all(whole);
    for (long n = 0; n < 1000; n++) {
        sl_err err = { 0 };
        sl_weights *w = NULL;
        sl_mem_fail_after(n);
        const sl_status rc = sl_weights_open(&w, path_of(path, names[1]), &err);
        sl_mem_fail_after(-1);
        if (rc == SL_OK) {
            assert_true(n > 10);
            sl_weights_close(w);
            return;
        }
        assert_int_equal(rc, SL_ENOMEM);
        assert_null(w);
    }
    fail_msg("never enough memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(from_any_part, remove_all),
        cmocka_unit_test_teardown(a_part_is_missing, remove_all),
        cmocka_unit_test_teardown(a_part_is_broken, remove_all),
        cmocka_unit_test_teardown(names_do_not_tell, remove_all),
        cmocka_unit_test_teardown(parts_of_different_models, remove_all),
        cmocka_unit_test_teardown(no_memory, remove_all),
    };
    if (!mkdtemp(dir))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(dir);
    return failed;
}
