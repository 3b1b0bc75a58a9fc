/* test_text_pieces.c - a folder whose vocabulary is SentencePiece's file: what Llama's class, added_tokens.json and
 * other classes make of it. Ids are those of Transformers 4.57. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/num.h"
#include "formats/text_files.h"
#include "tokenizer/tokenizer.h"

#define MARK "\xe2\x96\x81"

static char folder[] = "/tmp/sluice-pieces-XXXXXX";

static void put(const char *name, const char *bytes, size_t n)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void drop(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(unlink(path) == 0 || errno == ENOENT);
}

/* BPE over a few letters; a dummy prefix, and white space as it is. */
enum { UNK, BOS, EOS, SPACE, A, B, SPACE_A, SPACE_B, SPACE_2, N_PIECES };

static void put_model(void)
{
    static const struct {
        const char *text;
        char type;
    } pieces[N_PIECES] = { { "<unk>", 2 }, { "<s>", 3 },    { "</s>", 3 },   { MARK, 1 },     { "a", 1 },
                           { "b", 1 },     { MARK "a", 1 }, { MARK "b", 1 }, { MARK MARK, 1 } };
    char bytes[400];
    size_t n = 0;
    for (size_t i = 0; i < N_PIECES; i++) {
        const size_t len = strlen(pieces[i].text);
        const char head[] = { 0x0a, (char)(len + 9), 0x0a, (char)len };
        const char tail[] = { 0x15, 0, 0, (char)(i < SPACE_A ? 0x80 : 0x00), (char)0xbf, 0x18, pieces[i].type };
        memcpy(bytes + n, head, sizeof head);
        memcpy(bytes + n + sizeof head, pieces[i].text, len);
        memcpy(bytes + n + sizeof head + len, tail, sizeof tail);
        n += sizeof head + len + sizeof tail;
    }
    static const char specs[] = { 0x12, 2, 0x18, 2, 0x1a, 2, 0x20, 0 }; /* model_type, remove_extra_whitespaces */
    memcpy(bytes + n, specs, sizeof specs);
    put("tokenizer.model", bytes, n + sizeof specs);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "tokenizer.model", "tokenizer_config.json", "added_tokens.json",
                                         "special_tokens_map.json" };
    for (size_t i = 0; i < SL_COUNT(names); i++)
        drop(names[i]);
    return rmdir(folder);
}

/* The folder's tokenizer on `text` gives want[n]; decoded, these are `back`. */
static void expect(const char *text, const int32_t *want, size_t n, const char *back)
{
    sl_text_files f;
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    sl_ids ids = { 0 };
    sl_str out = { 0 };
    sl_detok d;
    assert_int_equal(sl_text_files_open(&f, folder, NULL, &err), SL_OK);
    if (f.no_vocab)
        fail_msg("%s", f.why.msg);
    assert_int_equal(sl_tokenizer_create(&t, &f.vocab, &err), SL_OK);
    assert_int_equal(sl_tokenize(t, text, strlen(text), SL_TOK_PARSE_SPECIAL | SL_TOK_ADD_SPECIAL, &ids, &err), SL_OK);
    if (ids.n != n || memcmp(ids.data, want, n * sizeof *want) != 0)
        fail_msg("\"%s\": %zu ids, %d %d %d ..., not %zu", text, ids.n, ids.data[0], ids.n > 1 ? ids.data[1] : -1,
                 ids.n > 2 ? ids.data[2] : -1, n);
    sl_detok_init(&d, t, false);
    for (size_t i = 0; i < n; i++)
        sl_detok_next(&d, want[i], &out);
    assert_string_equal(out.len ? out.data : "", back);
    sl_str_fini(&out);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
    sl_text_files_fini(&f);
}
#define EXPECT(text, back, ...)                                                                                        \
    expect(text, (const int32_t[]){ __VA_ARGS__ }, sizeof((const int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t), back)

static void config(const char *more)
{
    char text[400];
    snprintf(text, sizeof text, "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\",\"unk_token\":\"<unk>\"%s}", more);
    put("tokenizer_config.json", text, strlen(text));
}

static void the_space_in_front(void **state)
{
    (void)state;
    static const char *const legacy[] = { ",\"tokenizer_class\":\"LlamaTokenizer\"",
                                          ",\"tokenizer_class\":\"LlamaTokenizerFast\",\"legacy\":true",
                                          ",\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":null" };
    put_model();
    for (size_t i = 0; i < SL_COUNT(legacy); i++) { /* behind each special token */
        config(legacy[i]);
        EXPECT("a<s>b", "a b", BOS, SPACE_A, BOS, SPACE_B);
        EXPECT("<s>b", "b", BOS, BOS, SPACE_B);
    }
    config(",\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":false"); /* in front of the text */
    EXPECT("a<s>b", "ab", BOS, SPACE_A, BOS, B);
    EXPECT("<s>b", "b", BOS, BOS, B);
    EXPECT(" a", "a", BOS, SPACE_A);
    EXPECT("a</s> b", "a b", BOS, SPACE_A, EOS, SPACE_B);
    config(",\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":false,\"add_prefix_space\":false"); /* nowhere */
    EXPECT("a<s>b", "ab", BOS, A, BOS, B);
    EXPECT(" a", " a", BOS, SPACE_A);
    config(",\"tokenizer_class\":\"OtherTokenizer\",\"legacy\":false"); /* what this means is not known */
    EXPECT("<s>b", "b", BOS, SPACE_B);
}

static void added_tokens_file(void **state)
{
    (void)state;
    static const char map[] = "{\"pad_token\":\"<pad>\"}", added[] = "{\"[X]\":10,\"<pad>\":9}";
    put_model();
    put("added_tokens.json", added, sizeof added - 1);
    put("special_tokens_map.json", map, sizeof map - 1);
    config(",\"tokenizer_class\":\"LlamaTokenizer\"");
    EXPECT("a [X] b<pad>b", "a [X] b b", BOS, SPACE_A, 10, SPACE_B, 9, SPACE_B); /* [X] is normalised, <pad> is not */
    static const char *const bad[] = { "{\"<pad>\":12}", "{\"<pad>\":\"9\"}", "{\"a\":7}" };
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        sl_text_files f;
        sl_err err = { 0 };
        put("added_tokens.json", bad[i], strlen(bad[i]));
        assert_int_equal(sl_text_files_open(&f, folder, NULL, &err), SL_OK);
        assert_int_equal(f.no_vocab, SL_EFORMAT);
        check_says(&f.why, "added_tokens.json: ");
        sl_text_files_fini(&f);
    }
    drop("added_tokens.json");
    drop("special_tokens_map.json");
}

static void classes_with_other_ids(void **state)
{
    (void)state;
    sl_text_files f;
    sl_err err = { 0 };
    put_model();
    config(",\"tokenizer_class\":\"XLMRobertaTokenizer\"");
    assert_int_equal(sl_text_files_open(&f, folder, NULL, &err), SL_OK);
    assert_int_equal(f.no_vocab, SL_EUNSUPPORTED);
    check_says(&f.why, "tokenizer_config.json: tokenizer_class: XLMRobertaTokenizer");
    sl_text_files_fini(&f);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    static const char added[] = "{\"<x>\":9}";
    put_model();
    put("added_tokens.json", added, sizeof added - 1);
    config(",\"tokenizer_class\":\"LlamaTokenizer\",\"legacy\":false");
    bool done = false;
    long n = 0;
    for (; !done; n++) {
        sl_text_files t;
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        const sl_status rc = sl_text_files_open(&t, folder, NULL, &err);
        sl_mem_fail_after(-1);
        assert_true(n < 300 && (rc == SL_OK || (rc == SL_ENOMEM && err.code == SL_ENOMEM)));
        done = rc == SL_OK;
        sl_text_files_fini(&t);
    }
    assert_true(n > 8);
    drop("added_tokens.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_space_in_front),
        cmocka_unit_test(added_tokens_file),
        cmocka_unit_test(classes_with_other_ids),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
