/* test_reference.c - ids of the `tokenizers` library for three small vocabularies of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"
#include "formats/vocab_files.h"
#include "formats/weights.h"

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be opened", path);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n + 1);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

/* A folder's tokenizer.json, as it is written, on its cases. */
static void run(const char *folder, size_t at_least)
{
    char path[512];
    size_t n = 0;
    sl_vocab v;
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    snprintf(path, sizeof path, "%s/tokenizer/%s/tokenizer.json", TEST_DATA, folder);
    char *bytes = read_file(path, &n);
    if (sl_vocab_read_tokenizer_json(&v, bytes, n, &err) != SL_OK || sl_tokenizer_create(&t, &v, &err) != SL_OK)
        fail_msg("%s", err.msg);
    free(bytes);
    sl_vocab_fini(&v);
    snprintf(path, sizeof path, "%s/tokenizer/%s/cases.jsonl", TEST_DATA, folder);
    assert_true(cases_run(t, path, false) >= at_least);
    sl_tokenizer_destroy(t);
}

static void gpt2(void **state)
{
    (void)state;
    run("tiny_bytelevel_gpt2", 379);
}

static void three_digits_and_whole_pieces(void **state)
{
    (void)state;
    run("tiny_regex_3digits_bos", 379);
}

static void single_digits_and_nfc(void **state)
{
    (void)state;
    run("tiny_regex_1digit_nfc", 379);
}

static void sentencepiece_with_bytes(void **state)
{
    (void)state;
    run("tiny_spm_bytefallback", 360);
}

/* The tiny models name their pre-tokenizer "default" and hold every byte: any text comes back. */
static void vocabulary_of_a_tiny_model(void **state)
{
    (void)state;
    const char text[] = "the an is 12345 -> \u4f60\u597d <s>";
    sl_weights *w = NULL;
    sl_vocab v = { 0 };
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    sl_ids ids = { 0 };
    sl_detok d;
    sl_str out = { 0 };
    if (sl_weights_open(&w, TEST_DATA "/gguf/llama-small-F32/llama-small-F32.gguf", &err) != SL_OK ||
        sl_weights_vocab(w, &v, &err) != SL_OK || sl_tokenizer_create(&t, &v, &err) != SL_OK ||
        sl_tokenize(t, text, strlen(text), SL_TOK_PARSE_SPECIAL, &ids, &err) != SL_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(ids.data[ids.n - 1], 1); /* <s> */
    assert_true(ids.n < strlen(text) - 2);    /* something merged */
    sl_detok_init(&d, t, true);
    for (size_t i = 0; i < ids.n; i++)
        sl_detok_next(&d, ids.data[i], &out);
    assert_string_equal(out.data, text);
    sl_str_fini(&out);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
    sl_vocab_fini(&v);
    sl_weights_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2),
        cmocka_unit_test(three_digits_and_whole_pieces),
        cmocka_unit_test(single_digits_and_nfc),
        cmocka_unit_test(sentencepiece_with_bytes),
        cmocka_unit_test(vocabulary_of_a_tiny_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
