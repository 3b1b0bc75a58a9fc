/* test_reply_stream.c - a reply comes out the same wherever it was cut, in whole characters, and
 * stop strings and half characters of prompts are minded on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/num.h"
#include "support/replies.h"

#define FFFD "\xef\xbf\xbd"

static const char *const replies[] = {
    T "<think>\nhm, `" T "<tool_call>` 🤣\n" T "</think>\n\nI look.\n" T
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Zürich 🏔\", \"n\": 1.50}}\n" T "</tool_call>\n" T
      "<tool_call>{\"arguments\": \"{\\\"a\\\": \\\"\\u00fc\\ud83c\\udfd4\\\"}\", \"name\": \"gü\"}" T
      "</tool_call> done 访问 ",
    "The tag " T "<tool_call> opens, " T "</tool_call> ends; \n" T "<tool_call>{\"nom\": 1}" T "</tool_call>\n  ",
    T "<think>a" T "</think>" T "<｜tool▁calls▁begin｜>" T "<｜tool▁call▁begin｜>function" T
      "<｜tool▁sep｜>get_wétter\n```json\n{\"a\": \"x```\"}\n```" T "<｜tool▁call▁end｜>\n" T "<｜tool▁call▁begin｜>g" T
      "<｜tool▁sep｜>{\"é\": [1, 2.0]}" T "<｜tool▁call▁end｜>" T "<｜tool▁calls▁end｜> ok",
    "now " T "<|tool_calls_section_begin|>" T "<|tool_call_begin|>functions.f:0" T
    "<|tool_call_argument_begin|>{\"city\":\"Zürich 🏔\"}" T "<|tool_call_end|>" T
    "<|tool_call_begin|>functions.g:1" T "<|tool_call_argument_begin|>{\"a\": oops} " T "<|tool_call_end|>" T
    "<|tool_calls_section_end|>",
    T "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x" T "</tool_call>\ny" T "<think>\"}}" T "</tool_call>" T
      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"never closed" T "</tool_call> \n" T
      "<tool_call>{\"name\":\"g\"}",
    T "<|channel|>analysis" T "<|message|>hm 🏔\n" T "<|end|>" T "<|start|>assistant" T
      "<|channel|>commentary to=functions.f " T "<|constrain|>json" T "<|message|>{\"é\": 1}" T "<|call|>" T
      "<|start|>assistant to=functions.g" T "<|channel|>commentary" T "<|message|>{}" T "<|end|>" T
      "<|start|>assistant" T "<|channel|>final" T "<|message|> Ja. ",
};

/* The tags of its model. */
static size_t n_tags_for(const char *text)
{
    return strstr(text, "<|channel|>") ? replies_n_all_tags : replies_n_tags;
}

static const struct {
    unsigned tools;
    bool inline_reasoning;
} ways[] = { { SL_TOOLS_ALL, false }, { SL_TOOLS_ALL, true }, { SL_TOOLS_NONE, false }, { SL_TOOLS_NONE, true } };

/* ---- cuts -------------------------------------------------------------------------------- */

/* A reply as tags and the text between them. */
typedef struct piece {
    const char *text;
    size_t len;
    bool tag;
} piece;

enum { PARTS_MAX = 64, WORDS_MAX = 2048 };

static size_t take_apart(const char *text, piece parts[PARTS_MAX])
{
    size_t n = 0;
    while (*text) {
        const bool tag = *text == *T;
        text += tag;
        parts[n++] = (piece){ text, tag ? strcspn(text, ">") + 1 : strcspn(text, T), tag };
        text += parts[n - 1].len;
        assert_true(n < PARTS_MAX);
    }
    return n;
}

/* The parser's answer for the parts, of which number `cut` is two tokens at each place in turn. */
static void check_cuts_of(const piece *parts, size_t n, size_t cut, size_t n_tags, const sl_reply_options *given,
                          const char *want)
{
    static sl_bytes words[WORDS_MAX];
    sl_reply_options o = *given;
    size_t n_words = 0;
    for (size_t i = 0; i < n; i++)
        words[n_words++] = (sl_bytes){ parts[i].text, parts[i].len };
    for (size_t at = 1; at < parts[cut].len && n_words + 2 < WORDS_MAX; at++) {
        words[n_words++] = (sl_bytes){ parts[cut].text, at };
        words[n_words++] = (sl_bytes){ parts[cut].text + at, parts[cut].len - at };
    }
    sl_tokenizer *t = replies_tokenizer(replies_all_tags, n_tags, words, n_words);
    o.tokenizer = t;
    for (size_t w = n; w < n_words; w += 2) {
        int32_t ids[PARTS_MAX + 1];
        size_t n_ids = 0;
        for (size_t i = 0; i < n; i++)
            if (i == cut) {
                ids[n_ids++] = (int32_t)(257 + n_tags + w);
                ids[n_ids++] = (int32_t)(257 + n_tags + w + 1);
            } else {
                ids[n_ids] = (int32_t)(257 + n_tags + i);
                if (parts[i].tag)
                    sl_tokenizer_next_special(t, parts[i].text, parts[i].len, 0, &ids[n_ids]);
                n_ids++;
            }
        char *got = replies_run(&o, ids, n_ids);
        assert_string_equal(got, want);
        free(got);
    }
    sl_tokenizer_destroy(t);
}

/* One token a byte, and every cut in two of every run of text: the same reply. */
static void check_cuts(const char *text, size_t n_tags, const sl_reply_options *given)
{
    piece parts[PARTS_MAX];
    sl_ids ids = { 0 };
    sl_tokenizer *bytes = replies_tokenizer(replies_all_tags, n_tags, NULL, 0);
    sl_reply_options o = *given;
    o.tokenizer = bytes;
    replies_ids(bytes, text, strlen(text), &ids);
    char *want = replies_run(&o, ids.data, ids.n);
    const size_t n = take_apart(text, parts);
    for (size_t cut = 0; cut < n; cut++)
        if (!parts[cut].tag)
            check_cuts_of(parts, n, cut, n_tags, &o, want);
    free(want);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(bytes);
}

/* The reply without its marks, for vocabularies without tags. */
static char *letters_of(const char *text)
{
    char *out = strdup(text), *to = out;
    for (const char *from = text; *from; from++)
        if (*from != *T)
            *to++ = *from;
    *to = '\0';
    return out;
}

static void test_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < SL_COUNT(replies); i++)
        for (size_t w = 0; w < SL_COUNT(ways); w++) {
            const sl_reply_options o = { .tools = ways[w].tools, .inline_reasoning = ways[w].inline_reasoning };
            char *letters = letters_of(replies[i]);
            check_cuts(replies[i], n_tags_for(replies[i]), &o);
            check_cuts(letters, 0, &o);
            free(letters);
        }
}

/* ---- truncation -------------------------------------------------------------------------- */

/* Each text that came out by `n` ids, whole or not, is the beginning of what comes out of all. */
static void check_prefix(const sl_str *part, const sl_str *all)
{
    assert_true(part->len <= all->len);
    assert_memory_equal(part->data ? part->data : "", all->data ? all->data : "", part->len);
}

static void run_part(const sl_reply_options *given, const sl_ids *ids, size_t n, bool ended, sl_reply_whole *w)
{
    sl_reply *r = NULL;
    sl_reply_options o = *given;
    o.on_event = sl_reply_collect;
    o.user = w;
    assert_int_equal(sl_reply_create(&r, &o, NULL), SL_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(sl_reply_feed(r, ids->data[i], NULL), SL_OK);
    if (ended)
        assert_int_equal(sl_reply_end(r, NULL), SL_OK);
    sl_reply_destroy(r);
}

static size_t letters_in(const sl_reply_whole *w)
{
    size_t n = w->reasoning.len + w->content.len;
    for (size_t i = 0; i < w->n_calls; i++)
        n += w->calls[i].name.len + w->calls[i].arguments.len;
    return n;
}

/* However the reply is cut off: what came is a beginning of the whole, more ids never say less, and
 * with everything inline nothing is missing at all. */
static void check_truncation(const sl_tokenizer *t, const char *text, unsigned tools, bool inline_reasoning)
{
    sl_ids ids = { 0 };
    sl_reply_whole all = { 0 };
    sl_str plain = { 0 };
    sl_detok d;
    const sl_reply_options o = { .tokenizer = t, .tools = tools, .inline_reasoning = inline_reasoning };
    replies_ids(t, text, strlen(text), &ids);
    run_part(&o, &ids, ids.n, true, &all);
    sl_detok_init(&d, t, true);
    size_t before = 0;
    for (size_t n = 0; n <= ids.n; n++) {
        sl_reply_whole open = { 0 }, ended = { 0 };
        run_part(&o, &ids, n, false, &open);
        run_part(&o, &ids, n, true, &ended);
        check_prefix(&open.reasoning, &all.reasoning);
        check_prefix(&open.content, &all.content);
        assert_true(open.n_calls <= all.n_calls && letters_in(&open) >= before);
        for (size_t i = 0; i < open.n_calls; i++) {
            assert_string_equal(open.calls[i].name.data, all.calls[i].name.data);
            assert_string_equal(open.calls[i].id.data, all.calls[i].id.data);
            check_prefix(&open.calls[i].arguments, &all.calls[i].arguments);
            check_prefix(&open.calls[i].arguments, &ended.calls[i].arguments);
        }
        before = letters_in(&open);
        assert_true(letters_in(&ended) >= before);
        assert_true(replies_is_utf8(ended.content.data ? ended.content.data : "", ended.content.len));
        if (n)
            sl_detok_next(&d, ids.data[n - 1], &plain);
        if (tools == SL_TOOLS_NONE && inline_reasoning) {
            check_prefix(&plain, &ended.content);
            assert_true(ended.content.len == plain.len || ended.content.len == plain.len + 3); /* half a character */
        }
        sl_reply_whole_fini(&open);
        sl_reply_whole_fini(&ended);
    }
    sl_str_fini(&plain);
    sl_reply_whole_fini(&all);
    sl_ids_fini(&ids);
}

static void test_every_end(void **state)
{
    (void)state;
    sl_tokenizer *without = replies_tokenizer(NULL, 0, NULL, 0);
    for (size_t i = 0; i < SL_COUNT(replies); i++) {
        sl_tokenizer *with = replies_tokenizer(replies_all_tags, n_tags_for(replies[i]), NULL, 0);
        for (size_t w = 0; w < SL_COUNT(ways); w++) {
            check_truncation(with, replies[i], ways[w].tools, ways[w].inline_reasoning);
            check_truncation(without, replies[i], ways[w].tools, ways[w].inline_reasoning);
        }
        sl_tokenizer_destroy(with);
    }
    sl_tokenizer_destroy(without);
}

/* ---- characters ---------------------------------------------------------------------------- */

static sl_tokenizer *tags_tokenizer(void)
{
    return replies_tokenizer(replies_all_tags, replies_n_tags, NULL, 0);
}

static void check_bytes(const char *bytes, size_t n, const char *want)
{
    sl_tokenizer *t = tags_tokenizer();
    sl_ids ids = { 0 };
    replies_ids(t, bytes, n, &ids);
    char *got = replies_run(&(sl_reply_options){ .tokenizer = t, .tools = SL_TOOLS_ALL }, ids.data, ids.n);
    assert_string_equal(got, want);
    free(got);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
}
#define BYTES(text, want) check_bytes(text, sizeof(text) - 1, want)

static void test_bad_bytes(void **state)
{
    (void)state;
    BYTES("a\xc0\x80z", "{}{a" FFFD FFFD "z}");
    BYTES("a\xed\xa0\x80z", "{}{a" FFFD FFFD FFFD "z}");
    BYTES("a\xf4\x90\x80\x80z", "{}{a" FFFD FFFD FFFD FFFD "z}");
    BYTES("a\xf0", "{}{a" FFFD "}");
    BYTES("\xf0\x9f" T "<think>", "{}{" FFFD "<think>}");
    BYTES(T "<think>\xf0\x9f" T "</think>x\xe2\x82", "{" FFFD "}{x" FFFD "}");
    BYTES(T "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\xf0\x9f" T "</tool_call>",
          "{}{}[f - {\"a\": \"" FFFD "]");
    BYTES(T "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"\xff\"}}", "{}{}[f - {\"a\": \"" FFFD "\"}]");
}

typedef struct deltas {
    sl_str text[8];
    size_t n;
} deltas;

static void collect_deltas(void *user, const sl_reply_event *e)
{
    deltas *d = user;
    assert_true(d->n < SL_COUNT(d->text));
    sl_str_append(&d->text[d->n++], e->text.data, e->text.len);
}

static void free_deltas(deltas *d)
{
    for (size_t i = 0; i < SL_COUNT(d->text); i++)
        sl_str_fini(&d->text[i]);
}

/* An emoji of three tokens: nothing, nothing, then all of it at once. */
static void test_character_of_three_tokens(void **state)
{
    (void)state;
    const sl_bytes words[] = { { "\xf0\x9f", 2 }, { "\xa4", 1 }, { "\xa3", 1 } };
    sl_tokenizer *t = replies_tokenizer(NULL, 0, words, 3);
    deltas d = { 0 };
    sl_reply *r = NULL;
    const sl_reply_options o = { .tokenizer = t, .on_event = collect_deltas, .user = &d };
    assert_int_equal(sl_reply_create(&r, &o, NULL), SL_OK);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(d.n, 0);
        assert_int_equal(sl_reply_feed(r, 257 + i, NULL), SL_OK);
    }
    assert_int_equal(d.n, 1);
    assert_string_equal(d.text[0].data, "🤣");
    assert_int_equal(sl_reply_end(r, NULL), SL_OK);
    assert_int_equal(d.n, 1);
    sl_reply_destroy(r);
    free_deltas(&d);
    sl_tokenizer_destroy(t);
}

/* The prompt ends in two bytes of three: they join the first token, and none of the prompt comes out. */
static void test_prompt_ends_in_half_a_character(void **state)
{
    (void)state;
    static const int32_t prompt[] = { 'H', 'i', ' ', 0xe2, 0x82 };
    sl_tokenizer *t = tags_tokenizer();
    for (int broken = 0; broken < 2; broken++) {
        deltas d = { 0 };
        sl_reply *r = NULL;
        const sl_reply_options o = { .tokenizer = t, .tools = SL_TOOLS_ALL, .on_event = collect_deltas, .user = &d };
        assert_int_equal(sl_reply_create(&r, &o, NULL), SL_OK);
        sl_reply_prompt(r, prompt, SL_COUNT(prompt));
        assert_int_equal(sl_reply_feed(r, broken ? 'x' : 0xac, NULL), SL_OK);
        assert_int_equal(d.n, 1);
        assert_string_equal(d.text[0].data, broken ? "x" : "€");
        assert_int_equal(sl_reply_end(r, NULL), SL_OK);
        sl_reply_destroy(r);
        free_deltas(&d);
    }
    sl_tokenizer_destroy(t);
}

static void test_end_tokens_have_no_text(void **state)
{
    (void)state;
    sl_tokenizer *t = tags_tokenizer();
    const int32_t ids[] = { 'a', REPLY_EOS, 'b', REPLY_EOS, -1, 1 << 30 };
    char *got = replies_run(&(sl_reply_options){ .tokenizer = t, .tools = SL_TOOLS_ALL }, ids, SL_COUNT(ids));
    assert_string_equal(got, "{}{ab}");
    free(got);
    sl_tokenizer_destroy(t);
}

/* ---- stop strings ---------------------------------------------------------------------------- */

static void check_stop(const char *stop, const char *text, const char *want, bool met, bool inline_reasoning)
{
    const int n_ways = inline_reasoning ? 1 : 2; /* tags as tokens, and as letters */
    for (int how = 0; how < n_ways; how++) {
        sl_tokenizer *t = how ? replies_tokenizer(NULL, 0, NULL, 0) : tags_tokenizer();
        sl_stop *s = NULL;
        sl_ids ids = { 0 };
        sl_reply_whole w = { 0 };
        sl_reply *r = NULL;
        sl_str line = { 0 };
        assert_int_equal(sl_stop_create(&s, &stop, 1, NULL), SL_OK);
        const sl_reply_options o = { .tokenizer = t,
                                     .tools = SL_TOOLS_ALL,
                                     .inline_reasoning = inline_reasoning,
                                     .stop = s,
                                     .on_event = sl_reply_collect,
                                     .user = &w };
        assert_int_equal(sl_reply_create(&r, &o, NULL), SL_OK);
        replies_ids(t, text, strlen(text), &ids);
        for (size_t i = 0; i < ids.n; i++)
            assert_int_equal(sl_reply_feed(r, ids.data[i], NULL), SL_OK);
        assert_int_equal(sl_reply_end(r, NULL), SL_OK);
        replies_line(&w, &line);
        assert_string_equal(line.data, want);
        assert_int_equal(sl_reply_stop_met(r), met ? 0 : -1);
        sl_str_fini(&line);
        sl_reply_destroy(r);
        sl_reply_whole_fini(&w);
        sl_ids_fini(&ids);
        sl_stop_destroy(s);
        sl_tokenizer_destroy(t);
    }
}

static void test_stop_strings(void **state)
{
    (void)state;
    check_stop("DEFGHIJ", "DEFGHIJKLM", "{}{}", true, false);
    check_stop("DEFGHIJ", "DEFGHI", "{}{DEFGHI}", false, false);
    check_stop("<|eot_id|>assistant", "pleas", "{}{pleas}", false, false);
    check_stop("gamma", "alpha gammaX", "{}{alpha }", true, false);
    check_stop("🤣!", "a🤣🤣!b", "{}{a🤣}", true, false);
    /* in reasoning; a tag's letters; across a tag */
    check_stop("END", T "<think>a END b" T "</think>c", "{a}{}", true, false);
    check_stop("</think>", T "<think>a" T "</think>c", "{a}{}", true, false);
    check_stop("x<tool_call>", "yx" T "<tool_call>{\"name\": \"f\"}", "{}{y}", true, false);
    check_stop("x<tool_call>y", "zx" T "<tool_call>{\"name\": \"f\"}" T "</tool_call>", "{}{zx}[f - {}]", false, false);
    check_stop("\"b\"", T "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}" T "</tool_call>",
               "{}{}[f - {\"a\":]", true, false);
    check_stop("zz", T "<think>a" T "</think>" T "<tool_call>{\"name\": \"f\"}z" T "</tool_call>z", "{a}{zz}[f - {}]",
               false, false);
    check_stop("think>c", T "<think>a" T "</think>c", "{}{<think>a}", true, true);
}

/* An end of turn that the vocabulary has no token for, in two pieces. */
static void test_end_of_turn_in_pieces(void **state)
{
    (void)state;
    const sl_bytes words[] = { { "Hi<|", 4 }, { "im_end|>", 8 }, { "\nmore", 5 } };
    const char *stop = "<|im_end|>";
    sl_tokenizer *t = replies_tokenizer(NULL, 0, words, 3);
    sl_stop *s = NULL;
    deltas d = { 0 };
    sl_reply *r = NULL;
    assert_int_equal(sl_stop_create(&s, &stop, 1, NULL), SL_OK);
    const sl_reply_options o = {
        .tokenizer = t, .tools = SL_TOOLS_ALL, .stop = s, .on_event = collect_deltas, .user = &d
    };
    assert_int_equal(sl_reply_create(&r, &o, NULL), SL_OK);
    for (int32_t i = 0; i < 3; i++)
        assert_int_equal(sl_reply_feed(r, 257 + i, NULL), SL_OK);
    assert_int_equal(sl_reply_end(r, NULL), SL_OK);
    assert_int_equal(d.n, 1);
    assert_string_equal(d.text[0].data, "Hi");
    assert_int_equal(sl_reply_stop_met(r), 0);
    sl_reply_destroy(r);
    free_deltas(&d);
    sl_stop_destroy(s);
    sl_tokenizer_destroy(t);
}

/* ---- cost and memory --------------------------------------------------------------------------- */

static void run_repeated(const sl_tokenizer *t, const char *unit, size_t bytes, unsigned tools)
{
    sl_ids once = { 0 };
    sl_reply_whole w = { 0 };
    sl_reply *r = NULL;
    const sl_reply_options o = { .tokenizer = t, .tools = tools, .on_event = sl_reply_collect, .user = &w };
    replies_ids(t, unit, strlen(unit), &once);
    assert_int_equal(sl_reply_create(&r, &o, NULL), SL_OK);
    for (size_t n = 0; n < bytes; n += strlen(unit))
        for (size_t i = 0; i < once.n; i++)
            assert_int_equal(sl_reply_feed(r, once.data[i], NULL), SL_OK);
    assert_int_equal(sl_reply_end(r, NULL), SL_OK);
    assert_false(w.failed);
    sl_reply_destroy(r);
    sl_reply_whole_fini(&w);
    sl_ids_fini(&once);
}

/* Megabytes of what could be looked at again and again: quadratic code would take hours. */
static void test_linear(void **state)
{
    (void)state;
    static const char *const units[] = { "<",
                                         "<tool_call",
                                         T "<tool_call>",
                                         T "<tool_call>{",
                                         "`<",
                                         "\n",
                                         "</think",
                                         T "<｜tool▁calls▁begin｜>",
                                         T "<|tool_call_begin|>a",
                                         "{\"a\":" };
    sl_tokenizer *with = tags_tokenizer(), *without = replies_tokenizer(NULL, 0, NULL, 0);
    for (size_t i = 0; i < SL_COUNT(units); i++) {
        run_repeated(with, units[i], 1 << 20, SL_TOOLS_ALL);
        run_repeated(without, units[i], 1 << 20, SL_TOOLS_ALL);
    }
    sl_tokenizer_destroy(with);
    sl_tokenizer_destroy(without);
}

static void test_deep(void **state)
{
    (void)state;
    sl_tokenizer *t = tags_tokenizer();
    for (size_t depth = 500; depth < 100000; depth *= 100) {
        sl_str text = { 0 };
        sl_ids ids = { 0 };
        sl_str_puts(&text, T "<tool_call>{\"name\": \"f\", \"arguments\": ");
        for (size_t i = 0; i < depth; i++)
            sl_str_puts(&text, "[");
        for (size_t i = 0; i < depth; i++)
            sl_str_puts(&text, "]");
        sl_str_puts(&text, "}" T "</tool_call>x");
        replies_ids(t, text.data, text.len, &ids);
        char *got = replies_run(&(sl_reply_options){ .tokenizer = t, .tools = SL_TOOLS_ALL }, ids.data, ids.n);
        assert_int_equal(strlen(got), strlen("{}{x}[f - ]") + 2 * depth);
        free(got);
        sl_ids_fini(&ids);
        sl_str_fini(&text);
    }
    sl_tokenizer_destroy(t);
}

/* Memory that runs out at any moment is said, and nothing leaks or is read after it. */
static void test_no_memory(void **state)
{
    (void)state;
    sl_tokenizer *t = tags_tokenizer();
    const char *stop = "zzz";
    sl_ids ids = { 0 };
    for (size_t i = 0; i < SL_COUNT(replies); i++)
        replies_ids(t, replies[i], strlen(replies[i]), &ids);
    bool failed = true;
    for (long n = 0; failed && n < 1000; n++) {
        sl_reply_whole w = { 0 };
        sl_reply *r = NULL;
        sl_stop *s = NULL;
        assert_int_equal(sl_stop_create(&s, &stop, 1, NULL), SL_OK);
        const sl_reply_options o = { .tokenizer = t,
                                     .tools = SL_TOOLS_ALL,
                                     .opening = { "<think>", 7 },
                                     .stop = s,
                                     .on_event = sl_reply_collect,
                                     .user = &w };
        sl_mem_fail_after(n);
        sl_status rc = sl_reply_create(&r, &o, NULL);
        for (size_t i = 0; i < ids.n && !rc; i++)
            rc = sl_reply_feed(r, ids.data[i], NULL);
        if (!rc)
            rc = sl_reply_end(r, NULL);
        sl_mem_fail_after(-1);
        failed = rc || w.failed;
        assert_true(!rc || rc == SL_ENOMEM);
        sl_reply_destroy(r);
        sl_reply_whole_fini(&w);
        sl_stop_destroy(s);
    }
    assert_false(failed);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_every_end),
        cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_character_of_three_tokens),
        cmocka_unit_test(test_prompt_ends_in_half_a_character),
        cmocka_unit_test(test_end_tokens_have_no_text),
        cmocka_unit_test(test_stop_strings),
        cmocka_unit_test(test_end_of_turn_in_pieces),
        cmocka_unit_test(test_linear),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
