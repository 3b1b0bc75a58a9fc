/* test_text.c - sluice/text.h alone: tokens, ids and text, text piece by piece, and no memory anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sluice/text.h>
#include <stdio.h>
#include <string.h>
#include "fault.h"
#include "toy_folder.h"

static const char *folder;
static sl_text *text;

static void tokens_are_known_by_id_and_text(void **state)
{
    (void)state;
    assert_true(sl_text_has_tokenizer(text, NULL));
    assert_int_equal(sl_text_n_tokens(text), TOY_N);
    assert_int_equal(sl_text_bos(text), -1);
    assert_int_equal(sl_text_eos(text), TOY_END);
    assert_true(sl_text_is_end(text, TOY_END));
    assert_false(sl_text_is_end(text, TOY_TURN));
    assert_int_equal(sl_text_find(text, "<think>", 7), TOY_THINK);
    assert_int_equal(sl_text_find(text, "<thin", 5), -1);
    assert_int_equal(sl_text_token(text, 'a', false).len, 1);
    assert_int_equal(sl_text_token(text, TOY_START, false).len, 0);
    assert_int_equal(sl_text_token(text, TOY_START, true).len, 12);
    assert_int_equal(sl_text_token(text, -1, true).len + sl_text_token(text, TOY_N, true).len, 0);
    assert_int_equal(sl_text_n_chat_templates(text), 2);
    assert_non_null(sl_text_chat_template(text, "tool_use"));
    assert_null(sl_text_chat_template(text, "rag"));
}

static void text_becomes_ids_and_text_again(void **state)
{
    (void)state;
    static const char said[] = "a\0<|im_end|>";
    sl_ids ids = { 0 };
    sl_str out = { 0 };
    assert_int_equal(sl_text_tokenize(text, said, sizeof said - 1, SL_TEXT_PARSE_SPECIAL, &ids, NULL), SL_OK);
    assert_int_equal(ids.n, 3);
    assert_int_equal(ids.data[2], TOY_END);
    assert_int_equal(sl_text_detokenize(text, ids.data, ids.n, true, &out, NULL), SL_OK);
    assert_int_equal(out.len, sizeof said - 1);
    assert_memory_equal(out.data, said, sizeof said);
    sl_str_clear(&out);
    assert_int_equal(sl_text_detokenize(text, ids.data, ids.n, false, &out, NULL), SL_OK);
    assert_int_equal(out.len, 2);
    ids.n = 0;
    assert_int_equal(sl_text_tokenize(text, said, sizeof said - 1, 0, &ids, NULL), SL_OK);
    assert_int_equal(ids.n, 12);
    sl_ids_fini(&ids);
    sl_str_fini(&out);
}

/* "é" in two ids, a lone byte, and a prompt that ends in half a character. */
static void pieces_are_whole_characters(void **state)
{
    (void)state;
    const int32_t half = 0xc3, rest = 0xa9;
    sl_detokenizer *d = NULL;
    sl_str out = { 0 };
    assert_int_equal(sl_detokenizer_create(&d, text, false, NULL), SL_OK);
    assert_int_equal(sl_detokenizer_feed(d, half, &out, NULL), SL_OK);
    assert_int_equal(out.len, 0);
    assert_int_equal(sl_detokenizer_feed(d, rest, &out, NULL), SL_OK);
    assert_string_equal(out.data, "\xc3\xa9");
    assert_int_equal(sl_detokenizer_feed(d, half, &out, NULL), SL_OK);
    assert_int_equal(sl_detokenizer_flush(d, &out, NULL), SL_OK);
    assert_string_equal(out.data, "\xc3\xa9\xef\xbf\xbd");
    sl_str_clear(&out);
    sl_detokenizer_restart(d, &half, 1);
    assert_int_equal(sl_detokenizer_feed(d, rest, &out, NULL), SL_OK);
    assert_string_equal(out.data, "\xc3\xa9");
    sl_str_clear(&out);
    sl_detokenizer_restart(d, NULL, 0);
    assert_int_equal(sl_detokenizer_feed(d, rest, &out, NULL), SL_OK);
    assert_int_equal(sl_detokenizer_flush(d, &out, NULL), SL_OK);
    assert_string_equal(out.data, "\xef\xbf\xbd");
    sl_detokenizer_destroy(d);
    sl_str_fini(&out);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    sl_text *t = NULL;
    sl_err err = { 0 };
    assert_int_equal(sl_text_open(&t, "/nowhere/at/all", NULL, &err), SL_ENOTFOUND);
    assert_null(t);
    assert_non_null(strstr(err.msg, "/nowhere/at/all"));
    sl_text_close(NULL);
    sl_detokenizer_destroy(NULL);
    /* A pre-tokenizer that nobody knows: the file opens, its tokenizer is missing. */
    assert_int_equal(sl_text_open(&t, folder, &(sl_text_options){ .pretokenizer = "nobody" }, &err), SL_OK);
    assert_false(sl_text_has_tokenizer(t, &err));
    sl_ids ids = { 0 };
    sl_str out = { 0 };
    sl_detokenizer *d = NULL;
    sl_err again = { 0 };
    assert_int_equal(sl_text_tokenize(t, "a", 1, 0, &ids, &again), err.code);
    assert_string_equal(again.msg, err.msg);
    assert_int_equal(sl_text_detokenize(t, NULL, 0, false, &out, NULL), err.code);
    assert_int_equal(sl_detokenizer_create(&d, t, false, NULL), err.code);
    assert_null(d);
    assert_int_equal(sl_text_n_tokens(t), 0);
    assert_int_equal(sl_text_eos(t), -1);
    assert_int_equal(sl_text_token(t, 5, true).len, 0);
    assert_false(sl_text_is_end(t, TOY_END));
    sl_text_close(t);
}

/* Each allocation of everything here fails once: an error of that call, and what was there stays. */
static void each_allocation_fails(void **state)
{
    (void)state;
    const int32_t halves[] = { 0xc3, 0xa9 };
    for (long n = 0;; n++) {
        size_t k = 0;
        sl_text *t = NULL;
        sl_detokenizer *d = NULL;
        sl_ids ids = { 0 };
        sl_str out = { 0 }, piece = { 0 };
        sl_err err = { 0 };
        fault_after(n);
        sl_status rc = sl_text_open(&t, folder, NULL, &err);
        if (!rc)
            rc = sl_text_tokenize(t, "abc", 3, 0, &ids, &err);
        if (!rc)
            rc = sl_text_detokenize(t, ids.data, ids.n, false, &out, &err);
        if (!rc)
            rc = sl_detokenizer_create(&d, t, false, &err);
        sl_status fed = rc;
        while (k < 2 && !fed && !(fed = sl_detokenizer_feed(d, halves[k], &piece, &err)))
            k++;
        fault_after(-1);
        if (rc || fed)
            assert_int_equal(rc ? rc : fed, SL_ENOMEM);
        assert_true(out.len == 0 || out.len == 3);
        assert_true(fed == SL_OK || piece.len == 0);
        for (; !rc && k < 2; k++) /* as if it had not been fed */
            assert_int_equal(sl_detokenizer_feed(d, halves[k], &piece, &err), SL_OK);
        if (!rc)
            assert_string_equal(piece.data, "\xc3\xa9");
        sl_detokenizer_destroy(d);
        sl_ids_fini(&ids);
        sl_str_fini(&out);
        sl_str_fini(&piece);
        sl_text_close(t);
        if (!rc && !fed) {
            assert_true(n > 20);
            return;
        }
    }
}

int main(void)
{
    sl_err err = { 0 };
    folder = toy_folder();
    if (sl_text_open(&text, folder, NULL, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_known_by_id_and_text), cmocka_unit_test(text_becomes_ids_and_text_again),
        cmocka_unit_test(pieces_are_whole_characters),     cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(each_allocation_fails),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_text_close(text);
    toy_folder_remove();
    return failed;
}
