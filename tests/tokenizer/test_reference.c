/* test_reference.c - ids of the `tokenizers` library for three small vocabularies of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cases.h"
#include "formats/weights.h"
#include "vocab_json.h"

static void run(const char *folder, const char *pre, bool normalises, size_t at_least)
{
    char path[512];
    vocab_json j = { 0 };
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    snprintf(path, sizeof path, "%s/tokenizer/%s/tokenizer.json", TEST_DATA, folder);
    vocab_json_load(&j, path, pre);
    if (sl_tokenizer_create(&t, &j.v, &err) != SL_OK)
        fail_msg("%s", err.msg);
    snprintf(path, sizeof path, "%s/tokenizer/%s/cases.jsonl", TEST_DATA, folder);
    assert_true(cases_run(t, path, normalises) >= at_least);
    sl_tokenizer_destroy(t);
    vocab_json_free(&j);
}

static void gpt2(void **state)
{
    (void)state;
    run("tiny_bytelevel_gpt2", "gpt-2", false, 379);
}

static void three_digits_and_whole_pieces(void **state)
{
    (void)state;
    run("tiny_regex_3digits_bos", "llama-bpe", false, 379);
}

/* Texts that NFC changes are left out: the name of a pre-tokenizer asks for no normalisation. */
static void single_digits(void **state)
{
    (void)state;
    run("tiny_regex_1digit_nfc", "qwen2", true, 340);
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
        cmocka_unit_test(single_digits),
        cmocka_unit_test(vocabulary_of_a_tiny_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
