/* test_chat.c - sluice/chat.h: a template alone and a model's, requests as JSON text, replies taken apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sluice/chat.h>
#include <stdio.h>
#include <string.h>
#include "fault.h"
#include "toy_folder.h"

static const char *folder;
static sl_text *text;

static void a_template_alone(void **state)
{
    (void)state;
    static const struct {
        const char *source, *context, *out;
        sl_status rc;
        const char *says;
    } cases[] = {
        { "{{ a }}!", "{\"a\": [1]}", "[1]!", SL_OK, "" },
        { "a\n{{ 1 + }}", "{}", "", SL_EFORMAT, "line 2, column " },
        { "{% import 'x' %}", "{}", "", SL_EUNSUPPORTED, "line 1, column " },
        { "{{ a }}", "{\"a\":\n 1,,}", "", SL_EINVAL, "context: line 2, column " },
        { "\n{{ raise_exception('not so') }}", "{}", "", SL_EINVAL, "not so" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sl_chat *c = NULL;
        sl_str out = { 0 };
        sl_err err = { 0 };
        const sl_chat_options o = { .source = cases[i].source, .n_source = strlen(cases[i].source) };
        sl_status rc = sl_chat_create(&c, NULL, &o, &err);
        if (!rc)
            rc = sl_chat_expand(c, cases[i].context, strlen(cases[i].context), &out, &err);
        assert_int_equal(rc, cases[i].rc);
        assert_string_equal(out.len ? out.data : "", cases[i].out);
        assert_non_null(strstr(err.msg, cases[i].says));
        if (c) /* messages need a tokenizer */
            assert_int_equal(sl_chat_render(c, "{\"messages\":[]}", 15, &out, NULL), SL_EINVAL);
        sl_chat_destroy(c);
        sl_str_fini(&out);
    }
    sl_chat *c = NULL;
    assert_int_equal(sl_chat_create(&c, NULL, NULL, NULL), SL_EINVAL);
    assert_null(c);
    sl_chat_destroy(NULL);
}

static void messages_become_text_and_ids(void **state)
{
    (void)state;
    static const char request[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi<|turn|>\"}]}";
    static const char with_tools[] = "{\"messages\": [], \"tools\": [{}]}";
    sl_chat *c = NULL;
    sl_str out = { 0 };
    sl_ids ids = { 0 };
    sl_err err = { 0 };
    assert_int_equal(sl_chat_create(&c, text, NULL, &err), SL_OK);
    assert_int_equal(sl_chat_render(c, request, sizeof request - 1, &out, &err), SL_OK);
    assert_string_equal(out.data, "<|im_start|>user:Hi<|turn|><|turn|><|im_start|>assistant:<think>");
    assert_int_equal(sl_chat_tokenize(c, request, sizeof request - 1, &ids, &err), SL_OK);
    size_t turns = 0;
    for (size_t i = 0; i < ids.n; i++)
        turns += ids.data[i] == TOY_TURN;
    assert_int_equal(turns, 1); /* the template's, not the message's */
    assert_int_equal(ids.data[ids.n - 1], TOY_THINK);
    sl_str_clear(&out);
    assert_int_equal(sl_chat_render(c, with_tools, sizeof with_tools - 1, &out, &err), SL_OK);
    assert_string_equal(out.data, "1 tools");
    const size_t before = out.len, n_ids = ids.n;
    assert_int_equal(sl_chat_render(c, "[1,\n ", 5, &out, &err), SL_EINVAL);
    assert_non_null(strstr(err.msg, "request: line 2, column "));
    assert_int_equal(sl_chat_tokenize(c, "{}", 2, &ids, &err), SL_EINVAL);
    assert_non_null(strstr(err.msg, "messages"));
    assert_int_equal(sl_chat_render(c, NULL, 0, &out, &err), SL_EINVAL);
    assert_true(out.len == before && ids.n == n_ids);
    sl_chat_destroy(c);
    sl_ids_fini(&ids);
    sl_str_fini(&out);
}

/* ---- replies ---------------------------------------------------------------------- */

static size_t put(int32_t *ids, size_t n, const char *letters)
{
    while (*letters)
        ids[n++] = (unsigned char)*letters++;
    return n;
}

static void collect(void *user, const sl_part *part)
{
    static const char *const names[] = { "R", "C", "call ", "A" };
    sl_str *out = user;
    sl_str_puts(out, names[part->kind]);
    sl_str_append(out, part->name.data, part->name.len);
    sl_str_append(out, part->text.data, part->text.len);
    sl_str_puts(out, ";");
}

/* Reasoning that the prompt began, content, a call, and the end that only the template knows. */
static size_t reply_ids(int32_t ids[128])
{
    size_t n = put(ids, 0, "hm");
    ids[n++] = TOY_THINK_END;
    n = put(ids, n, "So.");
    ids[n++] = TOY_CALL;
    n = put(ids, n, "{\"name\": \"f\", \"arguments\": {\"a\": 1}}");
    ids[n++] = TOY_CALL_END;
    ids[n++] = TOY_TURN;
    return put(ids, n, "never seen");
}

static const char whole[] = "{\"role\": \"assistant\", \"content\": \"So.\", \"reasoning_content\": \"hm\", ";

static void replies_are_taken_apart(void **state)
{
    (void)state;
    int32_t ids[128];
    const size_t n = reply_ids(ids);
    sl_chat *c = NULL;
    sl_parser *p = NULL;
    sl_str parts = { 0 }, message = { 0 };
    sl_err err = { 0 };
    assert_int_equal(sl_chat_create(&c, text, NULL, NULL), SL_OK);
    const sl_parser_options o = { .chat = c, .keep = true, .on_part = collect, .user = &parts };
    assert_int_equal(sl_parser_create(&p, text, &o, &err), SL_OK);
    sl_chat_destroy(c); /* may go first */
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sl_parser_feed(p, ids[i], &err), SL_OK);
    assert_int_equal(sl_parser_end(p, &err), SL_OK);
    assert_int_equal(sl_parser_get_state(p), SL_PARSER_TURN_END);
    assert_non_null(strstr(parts.data, "Rh;Rm;"));
    assert_non_null(strstr(parts.data, "call f;"));
    assert_null(strstr(parts.data, "never"));
    assert_int_equal(sl_parser_message(p, &message, &err), SL_OK);
    assert_memory_equal(message.data, whole, sizeof whole - 1);
    assert_non_null(strstr(message.data, "\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\"}}]}"));
    sl_parser_destroy(p);
    sl_parser_destroy(NULL);
    sl_str_fini(&parts);
    sl_str_fini(&message);
}

static void options_of_a_parser(void **state)
{
    (void)state;
    int32_t ids[128];
    const size_t n = reply_ids(ids);
    static const char *const stops[] = { "zzz", "o." }, *const empty[] = { "" };
    const int32_t open_prompt[] = { 'x', TOY_THINK }, closed_prompt[] = { 'x' };
    const struct {
        sl_parser_options o;
        const char *parts;
        sl_parser_state end;
    } cases[] = {
        { { .thinking = SL_THINKING_OPEN, .stop = stops, .n_stop = 2 }, "Rh;Rm;CS;", SL_PARSER_STOP },
        { { .prompt = open_prompt, .n_prompt = 2, .stop = stops, .n_stop = 2 }, "Rh;Rm;CS;", SL_PARSER_STOP },
        { { .reply = ids, .n_reply = n, .stop = stops, .n_stop = 2 }, "Rh;Rm;CS;", SL_PARSER_STOP },
        { { .prompt = closed_prompt, .n_prompt = 1, .stop = stops, .n_stop = 2 }, "Ch;Cm;", SL_PARSER_STOP },
        { { .thinking = SL_THINKING_CLOSED, .stop = stops, .n_stop = 2 }, "Ch;Cm;", SL_PARSER_STOP },
        { { .thinking = SL_THINKING_OPEN, .inline_reasoning = true, .tools = "none" },
          "C<think>h;Cm;C</think>;",
          SL_PARSER_OPEN },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sl_parser *p = NULL;
        sl_str parts = { 0 };
        sl_parser_options o = cases[i].o;
        o.on_part = collect;
        o.user = &parts;
        assert_int_equal(sl_parser_create(&p, text, &o, NULL), SL_OK);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(sl_parser_feed(p, ids[k], NULL), SL_OK);
        assert_int_equal(sl_parser_end(p, NULL), SL_OK);
        if (strncmp(parts.data, cases[i].parts, strlen(cases[i].parts)) != 0)
            fail_msg("case %zu: %s", i, parts.data);
        assert_int_equal(sl_parser_get_state(p), cases[i].end);
        if (cases[i].end == SL_PARSER_STOP)
            assert_int_equal(sl_parser_stop_met(p), 1);
        assert_int_equal(sl_parser_message(p, &parts, NULL), SL_EINVAL); /* keeps nothing */
        sl_parser_destroy(p);
        sl_str_fini(&parts);
    }
    sl_parser *p = NULL;
    sl_err err = { 0 };
    assert_int_equal(sl_parser_create(&p, text, &(sl_parser_options){ .tools = "tcl" }, &err), SL_EINVAL);
    assert_non_null(strstr(err.msg, "tcl"));
    assert_int_equal(sl_parser_create(&p, text, &(sl_parser_options){ .stop = empty, .n_stop = 1 }, &err), SL_EINVAL);
    assert_null(p);
    assert_int_equal(sl_parser_create(&p, text, NULL, &err), SL_OK);
    sl_parser_destroy(p);
}

static void parts_are_deltas(void **state)
{
    (void)state;
    static const struct {
        sl_part part;
        const char *json;
    } cases[] = {
        { { .kind = SL_PART_CONTENT, .text = { "\"", 1 } }, "{\"content\": \"\\\"\"}" },
        { { .kind = SL_PART_REASONING, .text = { "a", 1 } }, "{\"reasoning_content\": \"a\"}" },
        { { .kind = SL_PART_CALL, .call = 1, .id = { "x", 1 }, .name = { "f", 1 } },
          "{\"tool_calls\": [{\"index\": 1, \"id\": \"x\", \"type\": \"function\", \"function\": {\"name\": \"f\", "
          "\"arguments\": \"\"}}]}" },
        { { .kind = SL_PART_ARGUMENTS, .call = 1, .text = { "{}", 2 } },
          "{\"tool_calls\": [{\"index\": 1, \"function\": {\"arguments\": \"{}\"}}]}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sl_str out = { 0 };
        assert_int_equal(sl_part_write(&cases[i].part, &out, NULL), SL_OK);
        assert_string_equal(out.data, cases[i].json);
        sl_str_fini(&out);
    }
}

/* Each allocation of a chat, a prompt and a reply fails once; nothing is lost, and the next try works. */
static void each_allocation_fails(void **state)
{
    (void)state;
    static const char request[] = "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}";
    static const char *const stops[] = { "zzz" };
    int32_t reply[128];
    const size_t n_reply = reply_ids(reply);
    for (long n = 0;; n++) {
        sl_chat *c = NULL;
        sl_parser *p = NULL;
        sl_str out = { 0 };
        sl_ids ids = { 0 };
        sl_err err = { 0 };
        fault_after(n);
        sl_status rc = sl_chat_create(&c, text, NULL, &err);
        if (!rc)
            rc = sl_chat_render(c, request, sizeof request - 1, &out, &err);
        if (!rc)
            rc = sl_chat_tokenize(c, request, sizeof request - 1, &ids, &err);
        const sl_parser_options o = { .chat = c, .keep = true, .stop = stops, .n_stop = 1 };
        if (!rc)
            rc = sl_parser_create(&p, text, &o, &err);
        for (size_t i = 0; i < n_reply && !rc; i++)
            rc = sl_parser_feed(p, reply[i], &err);
        if (!rc)
            rc = sl_parser_end(p, &err);
        assert_false(out.failed); /* what failed has left it as it was */
        if (!rc)
            rc = sl_parser_message(p, &out, &err);
        fault_after(-1);
        if (rc)
            assert_int_equal(rc, SL_ENOMEM);
        if (c) {
            sl_str_clear(&out);
            assert_int_equal(sl_chat_render(c, request, sizeof request - 1, &out, &err), SL_OK);
        }
        sl_parser_destroy(p);
        sl_chat_destroy(c);
        sl_ids_fini(&ids);
        sl_str_fini(&out);
        if (!rc) {
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
        cmocka_unit_test(a_template_alone),    cmocka_unit_test(messages_become_text_and_ids),
        cmocka_unit_test(options_of_a_parser), cmocka_unit_test(replies_are_taken_apart),
        cmocka_unit_test(parts_are_deltas),    cmocka_unit_test(each_allocation_fails),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_text_close(text);
    toy_folder_remove();
    return failed;
}
