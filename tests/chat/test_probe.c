/* test_probe.c - what templates tell about replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/probe.h"
#include "support/replies.h"

#define EACH(body) "{% for m in messages %}" body "{% endfor %}"
#define CHATML     EACH("<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n")

static sl_template *template_of(const char *source)
{
    sl_template *t = NULL;
    assert_int_equal(sl_template_create(&t, source, strlen(source), NULL), SL_OK);
    return t;
}

static void check_end(const char *const *tags, size_t n_tags, const char *source, int32_t id, const char *text)
{
    sl_tokenizer *k = replies_tokenizer(tags, n_tags, NULL, 0);
    sl_template *t = template_of(source);
    sl_turn_end end = { 0 };
    assert_int_equal(sl_probe_turn_end(t, k, &end, NULL), SL_OK);
    assert_int_equal(end.id, id);
    assert_string_equal(end.text.data ? end.text.data : "", text);
    sl_turn_end_fini(&end);
    sl_template_destroy(t);
    sl_tokenizer_destroy(k);
}

static void test_ends_of_turns(void **state)
{
    (void)state;
    static const char *const marks[] = { "<|im_start|>", "<|im_end|>", "<|fin|>" };
    check_end(NULL, 0, CHATML, -1, "<|im_end|>");                                /* letters: a stop string */
    check_end(marks, 3, CHATML, -1, "");                                         /* known to the tokenizer */
    check_end(marks, 3, EACH("[{{ m.role }}] {{ m.content }}<|fin|>"), 259, ""); /* a token that no list has */
    check_end(marks, 3, EACH("{{ m.content }}</s>"), -1, "");                    /* eos itself */
    check_end(NULL, 0, EACH("{{ m.role }}: {{ m.content }}{{ '\n' }}"), -1, "\nuser:");
    check_end(NULL, 0, EACH("{{ '\n\n### ' + m.role + ':\n' + m.content }}"), -1, "\n### user:");
    check_end(marks, 3, EACH("<|im_start|>{{ m.content }}"), 257, ""); /* a token begins the next turn */
    /* No mark: words, nothing at all, an answer that is not shown, a refusal. */
    check_end(NULL, 0, EACH("{{ m.content }} over"), -1, "");
    check_end(NULL, 0, EACH("{{ m.content }}"), -1, "");
    check_end(NULL, 0, EACH("{{ m.role }}"), -1, "");
    check_end(NULL, 0, "{{ raise_exception('no') }}", -1, "");
    /* gpt-oss: the end of a message is not the end of a reply. */
    check_end(replies_all_tags, replies_n_all_tags, EACH("<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>"), -1,
              "");
}

static void check_opening(const char *source, const char *want)
{
    static const char *const tags[] = { "<think>", "</think>" };
    sl_tokenizer *k = replies_tokenizer(tags, 2, NULL, 0);
    sl_template *t = template_of(source);
    sl_str got = { 0 };
    assert_int_equal(sl_probe_opening(t, k, &got, NULL), SL_OK);
    assert_string_equal(got.data ? got.data : "", want);
    sl_str_fini(&got);
    sl_template_destroy(t);
    sl_tokenizer_destroy(k);
}

static void test_openings(void **state)
{
    (void)state;
    check_opening(CHATML "{% if add_generation_prompt %}{{ '<think>\n' }}{% endif %}", "<think>\n");
    check_opening(CHATML "<think>\n\n</think>\n\n", "");
    check_opening(CHATML, "");
    check_opening("{{ raise_exception('no') }}", "");
}

/* Memory that runs out is said, never taken for a template that tells nothing. */
static void test_no_memory(void **state)
{
    (void)state;
    sl_tokenizer *k = replies_tokenizer(NULL, 0, NULL, 0);
    sl_template *t = template_of(CHATML);
    sl_status rc = SL_ENOMEM;
    for (long n = 0; rc && n < 10000; n++) {
        sl_turn_end end = { 0 };
        sl_mem_fail_after(n);
        rc = sl_probe_turn_end(t, k, &end, NULL);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_ENOMEM || (rc == SL_OK && strcmp(end.text.data, "<|im_end|>") == 0));
        sl_turn_end_fini(&end);
    }
    assert_int_equal(rc, SL_OK);
    sl_template_destroy(t);
    sl_tokenizer_destroy(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_of_turns),
        cmocka_unit_test(test_openings),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
