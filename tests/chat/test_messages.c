/* test_messages.c - requests whose messages come in other forms than the template expects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/prompt.h"
#include "tokenizer/toy.h"

static sl_tokenizer *tokenizer;

static int setup(void **state)
{
    (void)state;
    static toy y;
    toy_fill(&y, "gpt-2");
    toy_surround(&y, TOY_BOS, TOY_EOS); /* around texts; templates write their own */
    return sl_tokenizer_create(&tokenizer, &y.v, NULL);
}

static int teardown(void **state)
{
    (void)state;
    sl_tokenizer_destroy(tokenizer);
    return 0;
}

/* {"messages": `messages`} with ' for ". */
static json_t *request_of(const char *messages)
{
    char text[2048] = "{\"messages\":";
    const size_t n = strlen(text);
    assert_true(strlen(messages) + n + 2 < sizeof text);
    strcat(strcat(text, messages), "}");
    for (char *p = text + n; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    json_t *request = json_loads(text, 0, NULL);
    if (!request)
        fail_msg("no JSON: %s", text);
    return request;
}

static sl_status text_of(const char *source, const char *messages, sl_str *out, sl_err *err)
{
    sl_template *t = NULL;
    json_t *request = request_of(messages);
    sl_status rc = sl_template_create(&t, source, strlen(source), err);
    if (!rc)
        rc = sl_prompt_text(t, tokenizer, request, out, err);
    sl_template_destroy(t);
    json_decref(request);
    return rc;
}

static void renders(const char *source, const char *messages, const char *want)
{
    sl_str out = { 0 };
    sl_err err = { 0 };
    if (text_of(source, messages, &out, &err))
        fail_msg("%s, %s: %s", source, messages, err.msg);
    assert_string_equal(out.data ? out.data : "", want);
    sl_str_fini(&out);
}

static void fails(const char *source, const char *messages, sl_status code, const char *what)
{
    sl_str out = { 0 };
    sl_err err = { 0 };
    assert_int_equal(text_of(source, messages, &out, &err), code);
    if (!strstr(err.msg, what))
        fail_msg("%s: wanted \"%s\", got \"%s\"", messages, what, err.msg);
    assert_int_equal(out.len, 0);
    sl_str_fini(&out);
}

#define EACH(body) "{% for m in messages %}" body ";{% endfor %}"

/* ---- contents ------------------------------------------------------------------------ */

#define PRINTED EACH("{{ m.content }}")
#define ADDED   EACH("{{ m.role + ':' + m.content }}")
#define LOOPED                                                                                                         \
    EACH("{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}[{{ c.text }}]{% endfor %}"     \
         "{% endif %}")
#define USERS                                                                                                          \
    EACH("{% if m.role == 'user' %}{% for c in m.content %}<{{ c.text }}>{% endfor %}{% else %}{{ m.content|trim }}"   \
         "{% endif %}")
#define DUMPED EACH("{% if m.content is iterable %}{{ m.content|tojson }}{% endif %}")

static void test_parts(void **state)
{
    (void)state;
    const char *parts = "[{'role':'user','content':[{'type':'text','text':'a'},{'type':'text','text':'b'}]}]";
    renders(PRINTED, parts, "a\nb;");
    renders(ADDED, parts, "user:a\nb;");
    renders(LOOPED, parts, "[a][b];");
    renders(USERS, parts, "<a><b>;");
    renders(DUMPED, parts, "\"a\\nb\";");
    renders(EACH("{{ 'text' if m.content is string }}"), parts, "text;");
    renders(PRINTED, "[{'role':'user','content':[]}]", ";");
    renders(USERS,
            "[{'role':'system','content':[{'type':'text','text':' s '}]},"
            "{'role':'user','content':[{'type':'text','text':'u'}]}]",
            "s;<u>;");
}

static void test_parts_refused(void **state)
{
    (void)state;
    fails(PRINTED,
          "[{'role':'user','content':'a'},{'role':'user','content':[{'type':'text','text':'a'},"
          "{'type':'image_url','image_url':{'url':'x'}}]}]",
          SL_EINVAL, "messages[1].content[1]: parts of type 'image_url'");
    fails(PRINTED, "[{'role':'user','content':['a']}]", SL_EINVAL, "messages[0].content[0]: an object");
    fails(PRINTED, "[{'role':'user','content':[{'text':'a'}]}]", SL_EINVAL, "messages[0].content[0]: an object");
    fails(PRINTED, "[{'role':'user','content':[{'type':'text'}]}]", SL_EINVAL, "messages[0].content[0].text: a string");
    fails(PRINTED, "['a']", SL_EINVAL, "messages[0]: an object");
    fails(PRINTED, "{}", SL_EINVAL, "messages: an array");
}

static void test_no_content(void **state)
{
    (void)state;
    const char *null = "[{'role':'assistant','content':null,'tool_calls':[{'function':{'name':'f'}}]}]";
    const char *absent = "[{'role':'assistant','tool_calls':[{'function':{'name':'f'}}]}]";
    renders(PRINTED, null, ";");
    renders(PRINTED, absent, ";");
    renders(ADDED, null, "assistant:;");
    renders(ADDED, absent, "assistant:;");
    renders(EACH("{{ m.content is defined }}"), null, "False;");
    renders(EACH("{{ m.tool_calls is defined }}{{ m.content }}"),
            "[{'role':'assistant','content':'a','tool_calls':null}]", "Falsea;");
    fails(ADDED, "[{'role':'user'}]", SL_EFORMAT, "no attribute 'content'");
    fails(EACH("{{ m.content + m.nothing.at_all }}"), null, SL_EFORMAT, "no attribute");
}

static void test_reasoning(void **state)
{
    (void)state;
    const char *source = EACH("{{ m.thinking }}|{{ m.reasoning_content }}");
    renders(source, "[{'reasoning_content':'a'}]", "a|a;");
    renders(source, "[{'thinking':'a'}]", "a|a;");
    renders(source, "[{'reasoning':'a'}]", "a|a;");
    renders(source, "[{'thinking':'t','reasoning_content':'r'}]", "t|r;");
    renders(source, "[{'thinking':null,'reasoning_content':null}]", "|;");
}

/* ---- arguments of calls ---------------------------------------------------------------- */

#define CALLS(body) "{% for m in messages %}{% for c in m.tool_calls %}" body ";{% endfor %}{% endfor %}"
#define WALKED      CALLS("{{ c.function.name }}{% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v }}{% endfor %}")
#define JSON        CALLS("{{ c.function.arguments | tojson }}")
#define AS_TEXT     CALLS("{{ '```' + c.function.arguments + '```' }}")
#define OUTRIGHT    CALLS("{{ c.function.arguments }}")
#define EITHER                                                                                                         \
    CALLS("{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}"                                \
          "{{ c.function.arguments | tojson }}{% endif %}")

static char *call_with(const char *arguments, char *room)
{
    strcpy(room, "[{'role':'user','content':'?'},{'role':'assistant','content':'','tool_calls':[{'type':'function',"
                 "'function':{'name':'f','arguments':");
    return strcat(strcat(room, arguments), "}}]}]");
}

static void test_arguments(void **state)
{
    (void)state;
    char room[1024];
    const char *given = "'{\\'a\\':  [1, 2.50], \\'b\\': null}'"; /* text */
    renders(WALKED, call_with(given, room), "f<a>[1, 2.5]<b>None;");
    renders(JSON, room, "{\"a\": [1, 2.5], \"b\": null};");
    renders(EITHER, room, "{\"a\": [1, 2.5], \"b\": null};");
    renders(AS_TEXT, room, "```{\"a\":  [1, 2.50], \"b\": null}```;");
    renders(OUTRIGHT, room, "{\"a\":  [1, 2.50], \"b\": null};");
    call_with("{'a': 1}", room); /* an object goes through as it is, as in Transformers */
    renders(WALKED, room, "f<a>1;");
    renders(OUTRIGHT, room, "{'a': 1};");
    for (size_t i = 0; i < 2; i++) {
        call_with(i ? "' '" : "''", room);
        renders(WALKED, room, "f;");
        renders(JSON, room, "{};");
    }
    /* calls without "function" */
    renders("{% for c in messages[0].tool_calls %}{{ c.arguments|tojson }}{% endfor %}",
            "[{'role':'assistant','content':'','tool_calls':[{'name':'f','arguments':'{}'}]}]", "{}");
}

/* A reply of a model that broke off must not end the conversation in an inner error. */
static void test_malformed_arguments(void **state)
{
    (void)state;
    static const char *const bad[] = { "'{'", "'{\\'a\\': }'", "'[1]'", "'nothing'", "'{} {}'", "'\\u0000'" };
    static const char *const text[] = { "{", "{\"a\": }", "[1]", "nothing", "{} {}", NULL };
    char room[1024], want[64];
    for (size_t i = 0; i < SL_COUNT(bad); i++) {
        if (text[i]) {
            strcat(strcpy(want, text[i]), ";");
            renders(OUTRIGHT, call_with(bad[i], room), want);
            renders(EITHER, room, want);
            strcat(strcat(strcpy(want, "```"), text[i]), "```;");
            renders(AS_TEXT, room, want);
            fails(WALKED, room, SL_EINVAL, "messages[1].tool_calls[0]: the arguments are no JSON object: line 1");
        }
    }
    renders(JSON, call_with("'{'", room), "\"{\";");
}

static void test_odd_calls(void **state)
{
    (void)state;
    static const char *const odd[] = { "[]", "[1]", "[{}]", "[{'function':1}]", "[{'function':{}}]", "[null]" };
    for (size_t i = 0; i < SL_COUNT(odd); i++) {
        char room[256] = "[{'role':'assistant','content':'x','tool_calls':";
        renders(PRINTED, strcat(strcat(room, odd[i]), "}]"), "x;");
    }
    fails(PRINTED, "[{'role':'assistant','tool_calls':{}}]", SL_EINVAL, "messages[0].tool_calls: an array");
}

/* ---- ids ------------------------------------------------------------------------------- */

static void check_ids(const char *source, const char *messages, const int32_t *want, size_t n)
{
    sl_template *t = NULL;
    sl_ids ids = { 0 };
    sl_err err = { 0 };
    json_t *request = request_of(messages);
    assert_int_equal(sl_template_create(&t, source, strlen(source), NULL), SL_OK);
    if (sl_prompt_ids(t, tokenizer, request, &ids, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.data, want, n * sizeof *want);
    sl_ids_fini(&ids);
    json_decref(request);
    sl_template_destroy(t);
}

/* The tokenizer puts a BOS in front of texts. A prompt has one as well: the template's, else this. */
static void test_one_bos(void **state)
{
    (void)state;
    const int32_t one[] = { TOY_BOS, TOY_AB }, later[] = { TOY_AB, TOY_BOS }, only[] = { TOY_BOS };
    check_ids("{{ bos_token }}{{ messages[0].content }}", "[{'role':'user','content':'ab'}]", one, SL_COUNT(one));
    check_ids("<s>{{ messages[0].content }}", "[{'role':'user','content':'ab'}]", one, SL_COUNT(one));
    check_ids("{{ messages[0].content }}", "[{'role':'user','content':'ab'}]", one, SL_COUNT(one));
    check_ids("{{ messages[0].content }}<s>", "[{'role':'user','content':'ab'}]", later, SL_COUNT(later));
    check_ids("{# nothing #}", "[{'role':'user','content':'ab'}]", only, SL_COUNT(only));
}

/* Names of members and escaped texts may hold control tokens, too. */
static void test_arguments_make_no_control_tokens(void **state)
{
    (void)state;
    const int32_t want[] = { TOY_BOS, TOY_EOS, '<', 's', '>', '<', '/', 's', '>', TOY_EOS };
    char room[1024];
    const char *source = "{% for k, v in messages[1].tool_calls[0].function.arguments.items() %}</s>{{ k }}{{ v }}</s>"
                         "{% endfor %}";
    check_ids(source, call_with("{'<s>': '</s>'}", room), want, SL_COUNT(want));
    check_ids(source, call_with("'{\\'<s>\\': \\'</s>\\'}'", room), want, SL_COUNT(want));
    check_ids(source, call_with("'{\\'\\\\u003cs>\\': \\'\\\\u003c/s>\\'}'", room), want, SL_COUNT(want));
}

static void test_no_memory(void **state)
{
    (void)state;
    char room[1024];
    sl_template *t = NULL;
    assert_int_equal(sl_template_create(&t, WALKED, strlen(WALKED), NULL), SL_OK);
    json_t *request = request_of(call_with("'{\\'a\\': 1}'", room));
    json_array_append_new(json_object_get(request, "messages"),
                          json_pack("{s:s, s:[{s:s, s:s}]}", "role", "user", "content", "type", "text", "text", "x"));
    json_array_append_new(json_object_get(request, "messages"), json_pack("{s:s}", "role", "assistant"));
    sl_status rc = SL_ENOMEM;
    for (long n = 0; rc == SL_ENOMEM; n++) {
        sl_ids ids = { 0 };
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        rc = sl_prompt_ids(t, tokenizer, request, &ids, &err);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_OK || (rc == SL_ENOMEM && ids.n == 0 && err.msg[0]));
        sl_ids_fini(&ids);
        assert_in_range(n, 0, 100000);
    }
    json_decref(request);
    sl_template_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_parts_refused),
        cmocka_unit_test(test_no_content),
        cmocka_unit_test(test_reasoning),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_malformed_arguments),
        cmocka_unit_test(test_odd_calls),
        cmocka_unit_test(test_one_bos),
        cmocka_unit_test(test_arguments_make_no_control_tokens),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
