/* test_reply.c - replies of every format, whole, odd and cut off, with tags as tokens and as letters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/num.h"
#include "support/replies.h"

#define CALL(json)      T "<tool_call>\n" json "\n" T "</tool_call>"
#define DS(words)       T "<｜tool▁" words "｜>"
#define V3(name, json)  DS("call▁begin") "function" DS("sep") name "\n```json\n" json "\n```" DS("call▁end")
#define V31(name, json) DS("call▁begin") name DS("sep") json DS("call▁end")
#define DS_ALL(calls)   DS("calls▁begin") calls DS("calls▁end")
#define K2(id, json)    T "<|tool_call_begin|>" id T "<|tool_call_argument_begin|>" json T "<|tool_call_end|>"
#define K2_ALL(calls)   T "<|tool_calls_section_begin|>" calls T "<|tool_calls_section_end|>"

enum { TOKENS = 1, LETTERS = 2, BOTH = 3 };

typedef struct sample {
    int how; /* tags are tokens, letters, or it makes no difference */
    const char *text, *want;
} sample;

static void check_all(const sample *s, size_t n, const sl_reply_options *options)
{
    sl_tokenizer *of[] = { replies_tokenizer(replies_all_tags, replies_n_tags, NULL, 0),
                           replies_tokenizer(NULL, 0, NULL, 0) };
    for (size_t i = 0; i < n; i++)
        for (int how = 0; how < 2; how++) {
            sl_ids ids = { 0 };
            sl_reply_options o = *options;
            o.tokenizer = of[how];
            if (!(s[i].how & (how + 1)))
                continue;
            replies_ids(of[how], s[i].text, strlen(s[i].text), &ids);
            char *got = replies_run(&o, ids.data, ids.n);
            if (strcmp(got, s[i].want) != 0)
                fail_msg("tags as %s:\n%s\ngives\n%s\nnot\n%s", how ? "letters" : "tokens", s[i].text, got, s[i].want);
            free(got);
            sl_ids_fini(&ids);
        }
    sl_tokenizer_destroy(of[0]);
    sl_tokenizer_destroy(of[1]);
}
#define CHECK(samples, ...)                                                                                            \
    check_all(samples, SL_COUNT(samples), &(const sl_reply_options){ .tools = SL_TOOLS_ALL, __VA_ARGS__ })

static void test_plain(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, "", "{}{}" },
        { BOTH, "Hello.", "{}{Hello.}" },
        { BOTH, " Hello \n", "{}{ Hello \n}" },
        { BOTH, " \n", "{}{ \n}" },
        { BOTH, "a < b <t <tool_cal <<think>", "{}{a < b <t <tool_cal <<think>}" },
        { BOTH, "<", "{}{<}" },
        { BOTH, "<tool_cal", "{}{<tool_cal}" },
        { BOTH, "Zürich 🏔 </ü>", "{}{Zürich 🏔 </ü>}" },
    };
    CHECK(s);
}

static void test_reasoning(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, T "<think>\nhm\n" T "</think>\n\nYes.", "{hm}{Yes.}" },
        { BOTH, T "<think>hm" T "</think>Yes.\n", "{hm}{Yes.\n}" },
        { BOTH, "\n" T "<think>a  b\n\nc" T "</think>", "{a  b\n\nc}{}" },
        { BOTH, T "<think>\n\n" T "</think>\n\nYes.", "{}{Yes.}" },
        { BOTH, T "<think>\nhm", "{hm}{}" },
        { BOTH, T "<think>", "{}{}" },
        { BOTH, T "<think>hm</thin", "{hm</thin}{}" },
        /* A tag elsewhere is text. */
        { BOTH, "The tag " T "<think> opens.", "{}{The tag <think> opens.}" },
        { BOTH, "Write `" T "<think>` and `" T "</think>`.", "{}{Write `<think>` and `</think>`.}" },
        { BOTH, T "<think>a" T "<think>b" T "</think>c" T "</think>d", "{a<think>b}{c</think>d}" },
        { TOKENS, "<think>a</think>b", "{}{<think>a</think>b}" },
        { TOKENS, T "<think>a </think> b" T "</think>c", "{a </think> b}{c}" },
        { TOKENS, T "<think>a `" T "</think>c", "{a `}{c}" },
        { LETTERS, "<think>a `</think>` b</think>c", "{a `</think>` b}{c}" },
        { LETTERS, "<think>a `</think>` b\n</think>c", "{a `</think>` b}{c}" },
        { BOTH, T "<think>```\ncode\n" T "</think>x", "{```\ncode}{x}" },
        /* Calls are not looked for in reasoning, unless it is a section of tokens. */
        { BOTH, T "<think>say " CALL("{\"name\": \"f\"}") T "</think>x",
          "{say <tool_call>\n{\"name\": \"f\"}\n</tool_call>}{x}" },
        { TOKENS, T "<think>call it" K2_ALL(K2("functions.f:0", "{}")), "{call it}{}[f functions.f:0 {}]" },
        { TOKENS, T "<think>call it\n" DS_ALL(V31("f", "{}")), "{call it}{}[f - {}]" },
        { TOKENS, T "<think>" T "<|tool_calls_section_begin|> it is" T "</think>x",
          "{<|tool_calls_section_begin|> it is}{x}" },
        { BOTH, T "<think>a" T "</think>" CALL("{\"name\": \"f\"}") "\n" T "<think>b" T "</think>c",
          "{a\nb}{c}[f - {}]" },
    };
    CHECK(s);
}

static void test_opened_by_the_prompt(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, "hm\n" T "</think>\n\nYes.", "{hm}{Yes.}" },
        { BOTH, "\nhm", "{hm}{}" },
        { BOTH, T "<think>\nhm" T "</think>Yes.", "{hm}{Yes.}" },
        { BOTH, T "</think>Yes.", "{}{Yes.}" },
        { BOTH, "hm" T "</think>\n" CALL("{\"name\": \"f\", \"arguments\": {\"a\": 1}}"), "{hm}{}[f - {\"a\": 1}]" },
        { BOTH, "", "{}{}" },
    };
    CHECK(s, .opening = { "<think>\n", 8 });
}

/* Everything stays where it is, the tag of the prompt included. */
static void test_inline(void **state)
{
    (void)state;
    static const sample closed[] = {
        { BOTH, T "<think>\nhm\n" T "</think>\n\nYes.\n", "{}{<think>\nhm\n</think>\n\nYes.\n}" },
        { BOTH, "\n" T "<think>hm", "{}{\n<think>hm}" },
        { BOTH, T "<think>" CALL("{\"name\": \"f\"}") T "</think>a\n" CALL("{\"name\": \"g\"}"),
          "{}{<think><tool_call>\n{\"name\": \"f\"}\n</tool_call></think>a}[g - {}]" },
    };
    static const sample opened[] = {
        { BOTH, "hm\n" T "</think>\n\nYes.\n", "{}{<think>\nhm\n</think>\n\nYes.\n}" },
        { BOTH, "", "{}{<think>\n}" },
    };
    CHECK(closed, .inline_reasoning = true);
    CHECK(opened, .inline_reasoning = true, .opening = { "<think>\n", 8 });
}

static void test_no_tools(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, "a " CALL("{\"name\": \"f\"}") " b ", "{}{a <tool_call>\n{\"name\": \"f\"}\n</tool_call> b }" },
        { LETTERS, K2_ALL(K2("functions.f:0", "{}")),
          "{}{<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
          "<|tool_call_end|><|tool_calls_section_end|>}" },
    };
    check_all(s, SL_COUNT(s), &(const sl_reply_options){ .tools = SL_TOOLS_NONE });
}

static void test_hermes(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": {\"a\": 1.50, \"b\": [1e2, \"x\"]}}"),
          "{}{}[f - {\"a\": 1.50, \"b\": [1e2, \"x\"]}]" },
        { BOTH,
          "I look.\n" CALL("{\"name\": \"f\", \"arguments\": {}}") "\n" CALL("{\"name\": \"g\", \"arguments\": {}}"),
          "{}{I look.}[f - {}][g - {}]" },
        { BOTH, "one\n" CALL("{\"name\": \"f\", \"arguments\": {}}") "\ntwo\n", "{}{one\n\ntwo\n}[f - {}]" },
        { BOTH, CALL("{\"arguments\": {\"a\": 1}, \"name\": \"f\"}"), "{}{}[f - {\"a\": 1}]" },
        { BOTH, CALL("{\"id\": \"x1\", \"name\": \"f\", \"parameters\": {\"a\": 1}}"), "{}{}[f x1 {\"a\": 1}]" },
        { BOTH, CALL("{\"name\":\"f\"}"), "{}{}[f - {}]" },
        { BOTH, CALL("{ \"type\" : \"function\" , \"name\" : \"f\\u00fc\\n\" , \"arguments\" : null }"),
          "{}{}[fü\n - {}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": null }"), "{}{}[f - {}]" },
        { BOTH, CALL("{\"arguments\": null, \"name\": \"f\"}"), "{}{}[f - {}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": nul}"), "{}{}[f - nul]" },
        { BOTH, T "<tool_call>{\"name\": \"f\", \"arguments\": nu", "{}{}[f - nu]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": [1, 2]}"), "{}{}[f - [1, 2]]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": -0.5e+3}"), "{}{}[f - -0.5e+3]" },
        /* Arguments as a string */
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\\"\\u00fc\\ud83c\\udfd4\\\\n\\\"}\"}"),
          "{}{}[f - {\"a\": \"ü🏔\\n\"}]" },
        { BOTH, CALL("{\"arguments\": \"{\\\"a\\\": \\ud83c 1}\", \"name\": \"f\"}"),
          "{}{}[f - {\"a\": \xef\xbf\xbd 1}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": \"{\\\"\\ud8é\\\"}\"}"), "{}{}[f - {\"\xef\xbf\xbdé\"}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": \"Paris\"}"), "{}{}[f - \"Paris\"]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": \"\"}"), "{}{}[f - {}]" },
        /* No end tag, no brace, too much of them */
        { BOTH, T "<tool_call>{\"name\": \"f\", \"arguments\": {}}" T "<tool_call>{\"name\": \"g\", \"arguments\": {}}",
          "{}{}[f - {}][g - {}]" },
        { BOTH, T "<tool_call>{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"g\"}" T "</tool_call>",
          "{}{}[f - {}][g - {}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": {\"a\": 1}"), "{}{}[f - {\"a\": 1}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": {\"a\": 1}}}"), "{}{}[f - {\"a\": 1}]" },
        { BOTH, T "<tool_call>{\"name\": \"f\"}} so", "{}{} so}[f - {}]" },
        { BOTH, T "<tool_call>{\"name\": \"f\", \"arguments\": {}} and text", "{}{and text}[f - {}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": {\"a\": oops}}") " b", "{}{b}[f - {\"a\": oops}]" },
        { BOTH, T "<tool_call>{\"name\": \"f\", \"arguments\": [oops } }x } \n", "{}{}[f - [oops } }x }]" },
        { BOTH, T "<tool_call>{\"name\": \"f\", \"arguments\": oops}",
          "{}{<tool_call>{\"name\": \"f\", \"arguments\": oops}}" },
        { BOTH, T "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": oops}}\n" T "<tool_call>{\"name\": \"g\"}",
          "{}{}[f - {\"a\": oops}][g - {}]" },
        /* A line break in a string is no JSON, but common */
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny\"}}"), "{}{}[f - {\"a\": \"x\ny\"}]" },
    };
    CHECK(s);
}

/* What no call follows is text, all of it. */
static void test_hermes_quoted(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, "The tag " T "<tool_call> begins a call, " T "</tool_call> ends it.",
          "{}{The tag <tool_call> begins a call, </tool_call> ends it.}" },
        { BOTH, CALL("{\"nom\": \"f\"}"), "{}{<tool_call>\n{\"nom\": \"f\"}\n</tool_call>}" },
        { BOTH, CALL("{\"name\": 3, \"arguments\": {}}"),
          "{}{<tool_call>\n{\"name\": 3, \"arguments\": {}}\n</tool_call>}" },
        { BOTH, CALL("{\"name\": \"\", \"arguments\": {}}"),
          "{}{<tool_call>\n{\"name\": \"\", \"arguments\": {}}\n</tool_call>}" },
        { BOTH, CALL("get_weather(\"Paris\")"), "{}{<tool_call>\nget_weather(\"Paris\")\n</tool_call>}" },
        { BOTH, CALL(""), "{}{<tool_call>\n\n</tool_call>}" },
        { BOTH, "`" T "<tool_call>{\"name\": \"f\"}" T "</tool_call>` is one",
          "{}{`<tool_call>{\"name\": \"f\"}</tool_call>` is one}" },
        { TOKENS, "a lone ` and " CALL("{\"name\": \"f\"}"), "{}{a lone ` and}[f - {}]" },
        { LETTERS, "a lone ` and\n" CALL("{\"name\": \"f\"}"), "{}{a lone ` and}[f - {}]" },
        { TOKENS, "a `" DS_ALL(V31("f", "{}")), "{}{a `}[f - {}]" },
        { TOKENS, "```\n" CALL("{\"name\": \"f\"}"), "{}{```}[f - {}]" },
        { BOTH, "{\"name\": \"f\", \"arguments\": {}}", "{}{{\"name\": \"f\", \"arguments\": {}}}" },
        { TOKENS, "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>",
          "{}{<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>}" },
        { LETTERS, "```\n" CALL("{\"name\": \"f\"}") "\n```\n" CALL("{\"name\": \"g\"}"),
          "{}{```\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>\n```}[g - {}]" },
        { LETTERS, "~~~\n" CALL("{\"name\": \"f\"}") "\n~~~ \n" CALL("{\"name\": \"g\"}"),
          "{}{~~~\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>\n~~~}[g - {}]" },
        { LETTERS,
          "1. ```xml\n   " T "<tool_call>{\"name\": \"f\"}" T "</tool_call>\n   ```\n" CALL("{\"name\": \"g\"}"),
          "{}{1. ```xml\n   <tool_call>{\"name\": \"f\"}</tool_call>\n   ```}[g - {}]" },
        { LETTERS,
          "````\n```\n" T "<tool_call>{\"name\": \"f\"}" T "</tool_call>\n```\n````\n" CALL("{\"name\": \"g\"}"),
          "{}{````\n```\n<tool_call>{\"name\": \"f\"}</tool_call>\n```\n````}[g - {}]" },
        { LETTERS, "```x``` is code.\n" CALL("{\"name\": \"f\"}"), "{}{```x``` is code.}[f - {}]" },
        { LETTERS, "a ~ b ~~c~~\n" CALL("{\"name\": \"f\"}"), "{}{a ~ b ~~c~~}[f - {}]" },
        { LETTERS, "```\n~~~\n```\n" CALL("{\"name\": \"f\"}"), "{}{```\n~~~\n```}[f - {}]" },
        { LETTERS, "~~~ a `b`\n" T "<tool_call>{\"name\": \"f\"}" T "</tool_call>\n~~~",
          "{}{~~~ a `b`\n<tool_call>{\"name\": \"f\"}</tool_call>\n~~~}" },
        { BOTH, T "<tool_call> " CALL("{\"name\": \"f\"}"), "{}{<tool_call>}[f - {}]" },
        { BOTH, T "<tool_call>{\"x\": " CALL("{\"name\": \"f\"}"), "{}{<tool_call>{\"x\":}[f - {}]" },
    };
    CHECK(s);
}

static void test_tags_in_arguments(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": {\"a\": \"" T "<think>x" T "</think>\"}}"),
          "{}{}[f - {\"a\": \"<think>x</think>\"}]" },
        { BOTH, CALL("{\"name\": \"f\", \"arguments\": {\"a\": \"" T "<tool_call>" T "</tool_call>\n b\"}}"),
          "{}{}[f - {\"a\": \"<tool_call></tool_call>\n b\"}]" },
        { BOTH, DS_ALL(V3("f", "{\"a\": \"" T "<think>" DS("call▁end") "```\"}")),
          "{}{}[f - {\"a\": \"<think><｜tool▁call▁end｜>```\"}]" },
        /* A string that was never closed */
        { TOKENS, CALL("{\"name\": \"f\", \"arguments\": {\"a\": \"x") "\n" CALL("{\"name\": \"g\"}"),
          "{}{}[f - {\"a\": \"x][g - {}]" },
        { TOKENS, CALL("{\"name\": \"f\", \"arguments\": {\"a\": \"x"), "{}{}[f - {\"a\": \"x]" },
        { TOKENS, K2_ALL(K2("functions.f:0", "{\"a\": \"x") K2("functions.g:1", "{}")),
          "{}{}[f functions.f:0 {\"a\": \"x][g functions.g:1 {}]" },
        { TOKENS, CALL("{\"name\": \"f"), "{}{<tool_call>\n{\"name\": \"f\n</tool_call>}" },
    };
    CHECK(s);
}

static void test_deepseek(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, DS_ALL(V3("get_weather", "{\"city\": \"Zürich\"}")), "{}{}[get_weather - {\"city\": \"Zürich\"}]" },
        { BOTH, "I look." DS_ALL(V3("f", "{}") "\n" V3("g", "{\"n\": 1.0}")), "{}{I look.}[f - {}][g - {\"n\": 1.0}]" },
        { BOTH, DS_ALL(V31("f", "{\"a\": 1}") V31("g", " {} ")), "{}{}[f - {\"a\": 1}][g - {}]" },
        { BOTH, DS_ALL(V31("function", "{\"a\": 1}")), "{}{}[function - {\"a\": 1}]" },
        { BOTH, DS_ALL(V3("f", "")), "{}{}[f - {}]" },
        { BOTH, DS_ALL(V31("f", "")), "{}{}[f - {}]" },
        { BOTH, DS_ALL(DS("call▁begin") "function" DS("sep") "f" DS("call▁end")), "{}{}[f - {}]" },
        { BOTH, DS_ALL(DS("call▁begin") "function" DS("sep") "f\n{\"a\": 1}" DS("call▁end")), "{}{}[f - {\"a\": 1}]" },
        /* no section, no end of it, no end of the call */
        { BOTH, V31("f", "{}") " text", "{}{text}[f - {}]" },
        { BOTH, DS("calls▁begin") V31("f", "{}") "text", "{}{text}[f - {}]" },
        { BOTH, DS("calls▁begin") DS("call▁begin") "f" DS("sep") "{\"a\": 1}" DS("calls▁end") "x",
          "{}{x}[f - {\"a\": 1}]" },
        { BOTH, DS_ALL(V31("f", "null") V3("g", "null")) "x", "{}{x}[f - {}][g - {}]" },
        { BOTH, DS_ALL(V31("f", "{\"a\": 1}}") V3("g", "{}\n}")) "x", "{}{x}[f - {\"a\": 1}][g - {}]" },
        { BOTH, DS_ALL(V3("f", "{\"a\": oops}")) "x", "{}{x}[f - {\"a\": oops}]" },
        /* no call */
        { BOTH, "a " DS("calls▁begin") " b", "{}{a <｜tool▁calls▁begin｜> b}" },
        { BOTH, DS("call▁begin") "f" DS("call▁end") "b", "{}{<｜tool▁call▁begin｜>f<｜tool▁call▁end｜>b}" },
        { BOTH, DS("call▁begin") " " DS("sep") "b", "{}{<｜tool▁call▁begin｜> <｜tool▁sep｜>b}" },
        { TOKENS, "x " DS_ALL("\n") " y", "{}{x  y}" },
        { LETTERS, "x " DS_ALL("\n") " y", "{}{x <｜tool▁calls▁begin｜>\n<｜tool▁calls▁end｜> y}" },
        { BOTH, T "<think>\nhm" T "</think>\n\n" DS_ALL(V3("f", "{}")), "{hm}{}[f - {}]" },
    };
    CHECK(s);
}

static void test_kimi(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, "Now." K2_ALL(K2("functions.get_weather:0", "{\"city\": \"Paris\"}")),
          "{}{Now.}[get_weather functions.get_weather:0 {\"city\": \"Paris\"}]" },
        { BOTH, K2_ALL(K2("functions.f:0", "{}") K2(" functions.g.h:12 ", "\n{\"a\": 1}\n")),
          "{}{}[f functions.f:0 {}][g.h functions.g.h:12 {\"a\": 1}]" },
        { BOTH, K2_ALL(K2("f:3", "{}")), "{}{}[f f:3 {}]" },
        { BOTH, K2_ALL(K2("functions.f", "{}")), "{}{}[f - {}]" },
        { BOTH, T "<|tool_call_section_begin|>" K2("functions.f:0", "{}") T "<|tool_call_section_end|>x",
          "{}{x}[f functions.f:0 {}]" },
        { BOTH, T "<|tool_calls_section_begin|>" K2("functions.f:0", "{}"), "{}{}[f functions.f:0 {}]" },
        { BOTH, K2("functions.f:0", "{}") T "<|tool_calls_section_end|>", "{}{}[f functions.f:0 {}]" },
        { BOTH, T "<think>hm" T "</think>" K2_ALL(K2("functions.f:0", "{}")), "{hm}{}[f functions.f:0 {}]" },
        { BOTH, K2_ALL(K2("functions.f:0", "{\"a\": 1}} ")) "x", "{}{x}[f functions.f:0 {\"a\": 1}]" },
        { BOTH, K2_ALL(K2("functions.f:0", "nil") K2("functions.g:1", "nul")),
          "{}{}[f functions.f:0 nil][g functions.g:1 nul]" },
        { BOTH, K2_ALL(K2("functions.f:0", "{\"a\": }")) "x", "{}{x}[f functions.f:0 {\"a\": }]" },
        { BOTH, K2_ALL(K2(":0", "{}")),
          "{}{<|tool_calls_section_begin|><|tool_call_begin|>:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
          "<|tool_calls_section_end|>}" },
        { BOTH, "a " T "<|tool_call_argument_begin|> b", "{}{a <|tool_call_argument_begin|> b}" },
    };
    CHECK(s);
}

#define ANALYSIS(text) T "<|channel|>analysis" T "<|message|>" text T "<|end|>"
#define NEXT           T "<|start|>assistant"
#define FINAL(text)    T "<|channel|>final" T "<|message|>" text T "<|return|>"
#define TO(name, json) T "<|channel|>commentary to=" name " " T "<|constrain|>json" T "<|message|>" json T "<|call|>"

static void check_harmony(const sl_reply_options *given, const sample *s, size_t n)
{
    sl_tokenizer *t = replies_tokenizer(replies_all_tags, replies_n_all_tags, NULL, 0);
    sl_reply_options o = *given;
    o.tokenizer = t;
    for (size_t i = 0; i < n; i++) {
        sl_ids ids = { 0 };
        replies_ids(t, s[i].text, strlen(s[i].text), &ids);
        char *got = replies_run(&o, ids.data, ids.n);
        if (strcmp(got, s[i].want) != 0)
            fail_msg("%s\ngives\n%s\nnot\n%s", s[i].text, got, s[i].want);
        free(got);
        sl_ids_fini(&ids);
    }
    sl_tokenizer_destroy(t);
}

static void test_harmony(void **state)
{
    (void)state;
    static const sample apart[] = {
        { 0, ANALYSIS("hm") NEXT FINAL("Yes.\n"), "{hm}{Yes.\n}" },
        { 0, FINAL(" Yes."), "{}{Yes.}" },
        { 0, ANALYSIS("hm") NEXT TO("functions.f", "{\"a\": 1}"), "{hm}{}[f - {\"a\": 1}]" },
        { 0, " to=functions.f" T "<|channel|>commentary json" T "<|message|>{}" T "<|call|>", "{}{}[f - {}]" },
        { 0,
          ANALYSIS("a") NEXT T "<|channel|>commentary" T "<|message|>I look." T "<|end|>" NEXT ANALYSIS("b")
              NEXT FINAL("c"),
          "{a\nb}{I look.\n\nc}" },
        { 0, TO("functions.f", "") NEXT TO("browser.search", "{\"q\": \"<think>\"}"),
          "{}{}[f - {}][browser.search - {\"q\": \"<think>\"}]" },
        /* cut off, or not as it should be */
        { 0, T "<|channel|>analysis" T "<|message|>h", "{h}{}" },
        { 0, T "<|channel|>ana", "{}{}" },
        { 0, T "<|channel|>commentary to=functions.f", "{}{}" },
        { 0, ANALYSIS("hm") T "<|start|>assis", "{hm}{}" },
        { 0, ANALYSIS("hm") NEXT T "<|channel|>final", "{hm}{}" },
        { 0, FINAL("a") NEXT T "<|channel|>", "{}{a}" },
        { 0, TO("functions.f", "{}") NEXT T "<|channel|>comm", "{}{}[f - {}]" },
        { 0, T "<|channel|>final" T "<|message|>the token " T "<|channel|>", "{}{the token <|channel|>}" },
        { 0, T "<|channel|>commentary to=functions.f" T "<|message|>{\"a\"", "{}{}[f - {\"a\"]" },
        { 0, T "<|channel|>commentary to=functions." T "<|message|>x", "{}{x}" },
        { 0, T "<|channel|>analysis" T "<|message|>h" NEXT FINAL("x"), "{h}{x}" },
        { 0, "Hello " T "<|message|> x", "{}{Hello <|message|> x}" },
        { 0, " to you", "{}{ to you}" },
        { 0, " to=", "{}{ to=}" },
        { 0, "<|channel|>analysis<|message|>x", "{}{<|channel|>analysis<|message|>x}" },
        { 0, T "<think>a" T "</think>b", "{a}{b}" },
    };
    static const sample text[] = {
        { 0, ANALYSIS("hm") NEXT TO("functions.f", "{}"),
          "{hm}{<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}}" },
    };
    static const sample inlined[] = {
        { 0, ANALYSIS("hm") NEXT FINAL("Yes."),
          "{}{<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>}" },
    };
    check_harmony(&(sl_reply_options){ .tools = SL_TOOLS_ALL }, apart, SL_COUNT(apart));
    check_harmony(&(sl_reply_options){ .tools = SL_TOOLS_NONE }, text, SL_COUNT(text));
    check_harmony(&(sl_reply_options){ .tools = SL_TOOLS_NONE, .inline_reasoning = true }, inlined, SL_COUNT(inlined));
}

/* The reply ends in the middle of something. */
static void test_cut_off(void **state)
{
    (void)state;
    static const sample s[] = {
        { BOTH, "a\n" T "<tool_call>", "{}{a\n<tool_call>}" },
        { BOTH, T "<tool_call>\n{\"na", "{}{<tool_call>\n{\"na}" },
        { BOTH, T "<tool_call>\n{\"name\": \"get_", "{}{<tool_call>\n{\"name\": \"get_}" },
        { BOTH, T "<tool_call>\n{\"name\": \"f\"", "{}{}[f - ]" },
        { BOTH, T "<tool_call>\n{\"name\": \"f\", \"argu", "{}{}[f - ]" },
        { BOTH, T "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"Zü", "{}{}[f - {\"a\": \"Zü]" },
        { BOTH, T "<tool_call>\n{\"name\": \"f\", \"arguments\": \"{\\\"a\\\": \\ud83c",
          "{}{}[f - {\"a\": \xef\xbf\xbd]" },
        { BOTH, T "<tool_call>\n{\"arguments\": {\"a\": 1}, \"name\": \"f",
          "{}{<tool_call>\n{\"arguments\": {\"a\": 1}, \"name\": \"f}" },
        { BOTH, DS("calls▁begin") DS("call▁begin") "func", "{}{<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>func}" },
        { BOTH, DS("calls▁begin") DS("call▁begin") "function" DS("sep") "get_",
          "{}{<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_}" },
        { BOTH, DS("calls▁begin") DS("call▁begin") "function" DS("sep") "f\n``", "{}{}[f - ]" },
        { BOTH, DS("calls▁begin") DS("call▁begin") "function" DS("sep") "f\n```json\n{\"a\"", "{}{}[f - {\"a\"]" },
        { BOTH, DS("calls▁begin") DS("call▁begin") "f" DS("sep"), "{}{}[f - ]" },
        { BOTH, DS("calls▁begin") DS("call▁begin") "f" DS("sep") "{\"a\": 12", "{}{}[f - {\"a\": 12]" },
        { BOTH, DS("calls▁begin") V31("f", "{}") DS("call▁begin") "g", "{}{<｜tool▁call▁begin｜>g}[f - {}]" },
        { BOTH, T "<|tool_calls_section_begin|>" T "<|tool_call_begin|>functions.f:0",
          "{}{<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0}" },
        { BOTH, T "<|tool_calls_section_begin|>" T "<|tool_call_begin|>functions.f:0" T "<|tool_call_argument_begin|>",
          "{}{}[f functions.f:0 ]" },
        { BOTH,
          T "<|tool_calls_section_begin|>" T "<|tool_call_begin|>functions.f:0" T
            "<|tool_call_argument_begin|>{\"a\": [1,",
          "{}{}[f functions.f:0 {\"a\": [1,]" },
    };
    CHECK(s);
}

static void test_formats_by_vocabulary(void **state)
{
    (void)state;
    static const char *const qwen[] = { "+<tool_call>", "+</tool_call>" };
    static const char *const kimi[] = { "<|tool_calls_section_begin|>", "<|im_end|>" };
    sl_tokenizer *q = replies_tokenizer(qwen, 2, NULL, 0), *k = replies_tokenizer(kimi, 2, NULL, 0);
    sl_tokenizer *none = replies_tokenizer(NULL, 0, NULL, 0);
    assert_int_equal(sl_reply_tools(q, NULL), SL_TOOLS_HERMES);
    assert_int_equal(sl_reply_tools(k, NULL), SL_TOOLS_KIMI);
    assert_int_equal(sl_reply_tools(k, "... <tool_call> ..."), SL_TOOLS_KIMI | SL_TOOLS_HERMES);
    assert_int_equal(sl_reply_tools(none, "{{ '<｜tool▁calls▁begin｜>' }}"), SL_TOOLS_DEEPSEEK);
    assert_int_equal(sl_reply_tools(none, "{{ messages }}"), SL_TOOLS_ALL);
    assert_int_equal(sl_reply_tools_named("kimi_k2"), SL_TOOLS_KIMI);
    assert_int_equal(sl_reply_tools_named("none"), SL_TOOLS_NONE);
    assert_int_equal(sl_reply_tools_named("kim"), -1);
    sl_tokenizer_destroy(q);
    sl_tokenizer_destroy(k);
    sl_tokenizer_destroy(none);
}

static void check_opening(const sl_tokenizer *t, const char *prompt, const char *want)
{
    sl_ids ids = { 0 };
    sl_str got = { 0 };
    replies_ids(t, prompt, strlen(prompt), &ids);
    assert_int_equal(sl_reply_opening_ids(t, ids.data, ids.n, &got, NULL), SL_OK);
    assert_string_equal(got.data ? got.data : "", want);
    sl_str_fini(&got);
    sl_ids_fini(&ids);
}

static void test_opening(void **state)
{
    (void)state;
    sl_tokenizer *with = replies_tokenizer(replies_all_tags, replies_n_tags, NULL, 0);
    sl_tokenizer *without = replies_tokenizer(NULL, 0, NULL, 0);
    const sl_bytes tail = sl_reply_opening("user: hi\nassistant: <think>\n", 28);
    assert_int_equal(tail.len, 8);
    assert_int_equal(sl_reply_opening("<think>\n\n</think>\n\n", 19).len, 0);
    assert_int_equal(sl_reply_opening("think>", 6).len, 0);
    assert_int_equal(sl_reply_opening("", 0).len, 0);
    check_opening(with, "hi" T "<think>", "<think>");
    check_opening(with, "hi" T "<think> \n", "<think> \n");
    check_opening(with, "hi<think>\n", ""); /* somebody's words */
    check_opening(with, "hi" T "<think>\n\n" T "</think>\n\n", "");
    check_opening(with, "", "");
    check_opening(without, "hi<think>\n", "<think>\n");
    check_opening(without, "hi", "");
    sl_tokenizer_destroy(with);
    sl_tokenizer_destroy(without);
}

static bool closes_only(const sl_tokenizer *t, const char *text)
{
    sl_ids ids = { 0 };
    replies_ids(t, text, strlen(text), &ids);
    const bool closes = sl_reply_closes_only(t, ids.data, ids.n);
    sl_ids_fini(&ids);
    return closes;
}

static void test_closes_only(void **state)
{
    (void)state;
    sl_tokenizer *t = replies_tokenizer(replies_all_tags, replies_n_tags, NULL, 0);
    assert_true(closes_only(t, "hm" T "</think>x"));
    assert_true(closes_only(t, "`" T "</think>`" T "</think>x"));
    assert_false(closes_only(t, T "<think>hm" T "</think>x"));
    assert_false(closes_only(t, "hm</think>x"));
    assert_false(closes_only(t, "the `" T "</think>` tag"));
    assert_false(closes_only(t, ""));
    sl_tokenizer_destroy(t);
    t = replies_tokenizer(NULL, 0, NULL, 0);
    assert_true(closes_only(t, "hm\n</think>x"));
    assert_true(closes_only(t, "hm</think>\n\nx"));
    assert_false(closes_only(t, "<think>hm\n</think>x"));
    assert_false(closes_only(t, "the </think> tag"));
    assert_false(closes_only(t, ""));
    sl_tokenizer_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_reasoning),
        cmocka_unit_test(test_hermes),
        cmocka_unit_test(test_opened_by_the_prompt),
        cmocka_unit_test(test_inline),
        cmocka_unit_test(test_no_tools),
        cmocka_unit_test(test_hermes_quoted),
        cmocka_unit_test(test_tags_in_arguments),
        cmocka_unit_test(test_deepseek),
        cmocka_unit_test(test_kimi),
        cmocka_unit_test(test_harmony),
        cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_formats_by_vocabulary),
        cmocka_unit_test(test_opening),
        cmocka_unit_test(test_closes_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
