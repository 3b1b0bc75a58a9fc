/* test_reference.c - ids of the `tokenizers` library for three small vocabularies of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cases.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpt2),
        cmocka_unit_test(three_digits_and_whole_pieces),
        cmocka_unit_test(single_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
