/* test_shards.c - the files of a folder as one set: the index decides, and nothing outside the folder is opened. */
#include "formats/check.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/num.h"
#include "formats/shards.h"
#include "support/hf_build.h"

#define INDEX  "model.safetensors.index.json"
#define FIRST  "model-00001-of-00002.safetensors"
#define SECOND "model-00002-of-00002.safetensors"

static void refused(const hf_build *b, sl_status want, const char *part, const char *other)
{
    sl_shards s = { 0 };
    sl_err err = { 0 };
    const sl_status rc = sl_shards_open(&s, b->dir, &err);
    if (rc != want)
        fail_msg("%s (%s), should be %s", sl_status_name(rc), err.msg, sl_status_name(want));
    assert_true(!s.shard && s.n == 0);
    assert_int_equal(strncmp(err.msg, b->dir, strlen(b->dir)), 0);
    assert_null(strchr(err.msg, '\n'));
    check_says(&err, part);
    check_says(&err, other);
}

static void opens(sl_shards *s, const hf_build *b)
{
    sl_err err = { 0 };
    if (sl_shards_open(s, b->dir, &err))
        fail_msg("%s", err.msg);
}

/* Two files of two tensors, and an index that is right. */
static void write_good(const hf_build *b)
{
    hf_tensors(b, FIRST, "a:2x3 b:4");
    hf_tensors(b, SECOND, "c:5 d:1x1");
    hf_text(b, INDEX,
            "{\"metadata\": {\"total_size\": 1}, \"weight_map\": {\"d\": \"" SECOND "\", \"a\": \"" FIRST
            "\", \"b\": \"" FIRST "\", \"c\": \"" SECOND "\"}}");
}

static void good_sets(void **state)
{
    (void)state;
    hf_build b = { 0 };
    sl_shards s = { 0 };
    hf_begin(&b);
    hf_tensors(&b, "model.safetensors", "a:2x3 b:4");
    opens(&s, &b);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.n_tensors, 2);
    assert_non_null(sl_shards_find(&s, "b"));
    assert_null(sl_shards_find(&s, "c"));
    assert_null(sl_shards_find(&s, ""));
    sl_shards_close(&s);

    /* A copy of another form beside the shards is not looked at. */
    hf_tensors(&b, "model.safetensors", "a:7 d:9x9 stray:1");
    write_good(&b);
    opens(&s, &b);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.n_tensors, 4);
    assert_int_equal(sl_shards_find(&s, "a")->tensor.rows, 2);
    assert_int_equal(sl_shards_find(&s, "d")->tensor.cols, 1);
    assert_null(sl_shards_find(&s, "stray"));
    sl_shards_close(&s);
    hf_end(&b);
}

/* As in the hub's cache: every file is a link into a folder of blobs. */
static void links(void **state)
{
    (void)state;
    hf_build blobs = { 0 }, b = { 0 };
    sl_shards s = { 0 };
    char from[200], to[200];
    hf_begin(&blobs);
    hf_begin(&b);
    write_good(&blobs);
    static const char *const names[] = { INDEX, FIRST, SECOND };
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        snprintf(from, sizeof from, "%s/%s", blobs.dir, names[i]);
        snprintf(to, sizeof to, "%s/%s", b.dir, names[i]);
        assert_int_equal(symlink(from, to), 0);
    }
    opens(&s, &b);
    assert_int_equal(s.n_tensors, 4);
    sl_shards_close(&s);
    hf_remove(&blobs, SECOND); /* a download that did not end */
    refused(&b, SL_EIO, SECOND, "a link to a file that is not there");
    hf_end(&b);
    hf_end(&blobs);
}

static void where_tensors_are(void **state)
{
    (void)state;
    hf_build b = { 0 };
    sl_shards s = { 0 };
    hf_begin(&b);
    write_good(&b);
    hf_text(&b, INDEX, "{\"weight_map\": {\"a\": \"" FIRST "\", \"x.scale\": \"" FIRST "\", \"c\": \"" SECOND "\"}}");
    refused(&b, SL_EFORMAT, "tensor x.scale should be in " FIRST ", which does not have it", INDEX);
    hf_text(&b, INDEX, "{\"weight_map\": {\"a\": \"" FIRST "\", \"c\": \"" FIRST "\", \"d\": \"" SECOND "\"}}");
    refused(&b, SL_EFORMAT, "tensor c should be in " FIRST, "it is in " SECOND);
    /* In both: the index decides. In a file that is named, but not in the index: taken. */
    hf_tensors(&b, SECOND, "a:9 c:5 d:1x1");
    hf_text(&b, INDEX, "{\"weight_map\": {\"a\": \"" FIRST "\", \"c\": \"" SECOND "\"}}");
    opens(&s, &b);
    assert_int_equal(s.n_tensors, 4);
    assert_int_equal(sl_shards_find(&s, "a")->tensor.cols, 3);
    assert_non_null(sl_shards_find(&s, "b"));
    sl_shards_close(&s);
    hf_text(&b, INDEX, "{\"weight_map\": {\"b\": \"" FIRST "\", \"c\": \"" SECOND "\"}}");
    refused(&b, SL_EFORMAT, "tensor a is in two files", NULL);
    hf_end(&b);
}

static void files_that_are_missing(void **state)
{
    (void)state;
    hf_build b = { 0 };
    hf_begin(&b);
    refused(&b, SL_ENOTFOUND, "neither model.safetensors nor " INDEX, NULL);
    hf_text(&b, "pytorch_model.bin", "PK");
    refused(&b, SL_EUNSUPPORTED, "PyTorch's own form only", NULL);
    write_good(&b);
    hf_remove(&b, SECOND);
    refused(&b, SL_ENOTFOUND, SECOND ": missing; " INDEX " names it", NULL);
    hf_remove(&b, FIRST);
    refused(&b, SL_ENOTFOUND, FIRST ": missing; " INDEX " names it, and 1 more of its 2 files are missing", NULL);
    write_good(&b);
    hf_text(&b, SECOND, "version https://git-lfs.github.com/spec/v1\n");
    refused(&b, SL_EFORMAT, SECOND ": a Git LFS pointer, not the file itself", "git lfs pull");
    hf_text(&b, SECOND, "<!DOCTYPE html><html>Not found</html>");
    refused(&b, SL_EFORMAT, SECOND ": an HTML page", NULL);
    hf_text(&b, SECOND, "version 1\n");
    refused(&b, SL_EFORMAT, SECOND, "no safetensors file");
    hf_text(&b, INDEX, "version https://git-lfs.github.com/spec/v1\n");
    refused(&b, SL_EFORMAT, INDEX ": a Git LFS pointer", NULL);
    write_good(&b);
    hf_text(&b, SECOND, "");
    refused(&b, SL_EFORMAT, SECOND ": 0 bytes", NULL);
    hf_end(&b);
}

static void an_index_is_checked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "[]", "not a JSON object" },
        { "{", "line 1" },
        { "{}", "\"weight_map\" is missing" },
        { "{\"weight_map\": []}", "weight_map: an array" },
        { "{\"weight_map\": null}", "\"weight_map\" is missing" },
        { "{\"weight_map\": {}}", "weight_map: names no tensor" },
        { "{\"weight_map\": {\"a\": 1}}", "weight_map.a: should be the name of a file" },
        { "{\"weight_map\": {\"a\": \"" FIRST "\", \"a\": \"" SECOND "\"}}", "weight_map.a: this key comes twice" },
        { "{\"weight_map\": {\"a\": \"\"}}", "weight_map.a: \"\" is no plain name" },
        { "{\"weight_map\": {\"a\": \"../" FIRST "\"}}", "is no plain name" },
        { "{\"weight_map\": {\"a\": \"/etc/passwd\"}}", "is no plain name" },
        { "{\"weight_map\": {\"a\": \"sub/" FIRST "\"}}", "is no plain name" },
        { "{\"weight_map\": {\"a\": \"..\"}}", "is no plain name" },
        { "{\"weight_map\": {\"a\": \".\"}}", "is no plain name" },
        { "{\"weight_map\": {\"a\": \"" FIRST "\\u0000.txt\"}}", "is no plain name" },
    };
    hf_build b = { 0 };
    hf_begin(&b);
    write_good(&b);
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        hf_text(&b, INDEX, cases[i].text);
        refused(&b, SL_EFORMAT, INDEX, cases[i].says);
    }
    hf_end(&b);
}

static void memory(void **state)
{
    (void)state;
    hf_build b = { 0 };
    sl_shards s = { 0 };
    sl_status rc = SL_ENOMEM;
    hf_begin(&b);
    write_good(&b);
    for (long n = 0; rc == SL_ENOMEM; n++) {
        assert_true(n < 300);
        sl_mem_fail_after(n);
        rc = sl_shards_open(&s, b.dir, NULL);
        sl_mem_fail_after(-1);
    }
    assert_int_equal(rc, SL_OK);
    sl_shards_close(&s);
    hf_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_sets),           cmocka_unit_test(links),
        cmocka_unit_test(where_tensors_are),   cmocka_unit_test(files_that_are_missing),
        cmocka_unit_test(an_index_is_checked), cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
