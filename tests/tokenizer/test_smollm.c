/* test_smollm.c - the default model's vocabulary, from its file: ids of the reference, memory.
 * Skipped, loudly, when the model is not in the cache (`make test` fetches it). */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "cases.h"
#include "formats/weights.h"
#include "support/default_model.h"

static char model[1024];

static sl_tokenizer *make(const char *path, size_t *n_entries)
{
    sl_weights *w = NULL;
    sl_vocab v = { 0 };
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    if (sl_weights_open(&w, path, &err) != SL_OK || sl_weights_vocab(w, &v, &err) != SL_OK ||
        sl_tokenizer_create(&t, &v, &err) != SL_OK)
        fail_msg("%s", err.msg);
    *n_entries = v.n_tokens + v.n_merges;
    sl_vocab_fini(&v);
    sl_weights_close(w);
    return t;
}

static void ids_are_those_of_the_reference(void **state)
{
    (void)state;
    size_t n = 0;
    sl_tokenizer *t = make(model, &n);
    assert_int_equal(n, 49152 + 48900);
    assert_int_equal(cases_run(t, TEST_DATA "/tokenizer/smollm2/cases.jsonl", false), 399);
    assert_int_equal(sl_tokenizer_bos(t), 1);
    assert_int_equal(sl_tokenizer_eos(t), 2);
    assert_true(sl_tokenizer_ends(t, 2));
    assert_true(sl_tokenizer_ends(t, 0)); /* <|endoftext|> */
    assert_false(sl_tokenizer_ends(t, 1));
    sl_tokenizer_destroy(t);
}

/* The whole engine has 100 bytes for an entry. Sanitizers bring their own heap and show 0. */
static void memory_for_an_entry(void **state)
{
    (void)state;
    size_t n = 0;
    sl_tokenizer_destroy(make(model, &n)); /* what libraries take once */
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    sl_tokenizer *t = make(model, &n);
    const size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    print_message("%zu bytes for %zu entries\n", bytes, n);
    assert_true(bytes / n < 40);
    sl_tokenizer_destroy(t);
}

int main(void)
{
    if (!default_model(model, sizeof model))
        return EXIT_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_the_reference),
        cmocka_unit_test(memory_for_an_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
