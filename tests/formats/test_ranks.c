/* test_ranks.c - vocabularies of ranks: tiktoken's lines and Mistral's tekken.json. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "formats/vocab_files.h"

#define N_BASE 258 /* all bytes, "ab" and "abc" */

static const char kimi_config[] =
    "{\"tokenizer_class\":\"TikTokenTokenizer\",\"auto_map\":{\"AutoTokenizer\":[\"tokenization_kimi."
    "TikTokenTokenizer\","
    "null]},\"added_tokens_decoder\":{\"258\":{\"content\":\"[BOS]\"},\"513\":{\"content\":\"<|last|>\"},"
    "\"515\":{\"content\":\"<|behind|>\"}}}";

/* Standard base64 with padding. */
static void put_base64(sl_str *s, const char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (i + k < n ? (unsigned char)bytes[i + k] : 0u);
        for (size_t k = 0; k < 4; k++)
            sl_str_append(s, k <= n - i ? &digits[v >> (18 - 6 * k) & 63] : "=", 1);
    }
}

static void put_token(sl_str *s, size_t rank)
{
    const char byte = (char)rank;
    if (rank < 256)
        put_base64(s, &byte, 1);
    else
        put_base64(s, "abcdefgh", rank - 254);
}

/* Ranks from n - 1 down to 0: the order of lines does not matter. */
static void put_lines(sl_str *s, size_t n)
{
    for (size_t rank = n; rank-- > 0;) {
        put_token(s, rank);
        sl_str_printf(s, " %zu%s\n", rank, rank % 2 ? "\r" : "");
    }
}

static sl_status read_lines(const sl_str *s, const char *name, const char *config, sl_vocab *v, sl_err *err)
{
    sl_json_doc doc = { 0 };
    char *exact = malloc(s->len ? s->len : 1);
    assert_non_null(exact);
    if (s->len)
        memcpy(exact, s->data, s->len);
    if (config)
        assert_int_equal(sl_json_parse(&doc, config, strlen(config), NULL), SL_OK);
    const sl_status rc = sl_vocab_read_tiktoken(v, exact, s->len, name, doc.root, err);
    sl_json_fini(&doc);
    free(exact);
    return rc;
}

static void check_bytes(sl_bytes b, const char *want)
{
    if (b.len != strlen(want) || memcmp(b.data, want, b.len) != 0)
        fail_msg("\"%.*s\", should be \"%s\"", (int)b.len, b.data, want);
}

/* 256 reserved ids behind the ranks, of which the configuration names some. */
static void kimi(void **state)
{
    (void)state;
    sl_str s = { 0 };
    sl_vocab v;
    sl_err err = { 0 };
    put_lines(&s, N_BASE);
    if (read_lines(&s, "tiktoken.model", kimi_config, &v, &err))
        fail_msg("%s", err.msg);
    assert_true(v.model == SL_MODEL_RANKS && v.text == SL_TEXT_BYTES && v.n_tokens == N_BASE + 256);
    assert_true(v.max_chars == 400000 && v.max_run == 25000);
    assert_true(v.tokens[255].len == 1 && v.tokens[255].data[0] == '\xff');
    check_bytes(v.tokens[257], "abc");
    check_bytes(v.tokens[258], "[BOS]");
    check_bytes(v.tokens[259], "<|reserved_token_259|>");
    check_bytes(v.tokens[513], "<|last|>");
    assert_true(v.n_added == 256 && v.added[0].id == 258 && v.added[0].special && !v.added[0].normalized);
    assert_true(v.n_pretoks == 1 && v.pretoks[0].regex && v.pretoks[0].rust &&
                strstr(v.pretoks[0].pattern.data, "\\p{Han}"));
    assert_true(v.n_norms == 0 && v.n_decoders == 0 && v.n_prefix == 0);
    sl_vocab_fini(&v);
    sl_str_fini(&s);
}

static void faults_of_lines(void **state)
{
    (void)state;
    static const struct {
        const char *tail;
        size_t n; /* ranks before it */
        const char *name, *config;
        sl_status status;
        const char *says;
    } cases[] = {
        { "", N_BASE, "tiktoken.model", NULL, SL_EUNSUPPORTED, "258 ranks of a family that is not known" },
        { "", N_BASE, "tokenizer.model", "{}", SL_EUNSUPPORTED, "tokenization_kimi" },
        { "", N_BASE, "x", "{\"tokenizer_class\":\"QWenTokenizer\"}", SL_EFORMAT, "258 ranks, but Qwen has 151643" },
        { "", N_BASE, "cl100k_base.tiktoken", NULL, SL_EFORMAT, "cl100k_base has 100256" },
        { "", 255, "x", kimi_config, SL_EFORMAT, "255 ranks" },
        { "YWI= 256\n", 258, "x", kimi_config, SL_EFORMAT, "line 259: rank 256 comes twice" },
        { "YWI= 258\n", 258, "x", kimi_config, SL_EFORMAT, "the token of rank 258 comes twice" },
        { "YWJj 259\n", 257, "x", kimi_config, SL_EFORMAT, "line 258: " },
        { "AA== 256\n", 256, "x", kimi_config, SL_EFORMAT, "the token of rank 256 comes twice" },
        { "YWI 256\n", 256, "x", kimi_config, SL_EFORMAT, "line 257: \"YWI\" is no base64" },
        { "YWI\n", 256, "x", kimi_config, SL_EFORMAT, "line 257: " },
        { "YWI= \n", 256, "x", kimi_config, SL_EFORMAT, "line 257: " },
        { " 256\n", 256, "x", kimi_config, SL_EFORMAT, "line 257: " },
        { "==== 256\n", 256, "x", kimi_config, SL_EFORMAT, "line 257: " },
        { "YWI= -1\n", 256, "x", kimi_config, SL_EFORMAT, "line 257: " },
        { "YWI= 99999999999999999999999\n", 256, "x", kimi_config, SL_EFORMAT, "line 257: " },
        { "YWI= 256 \n", 256, "x", kimi_config, SL_EFORMAT, "line 257: " },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_str s = { 0 };
        sl_vocab v;
        sl_err err = { 0 };
        put_lines(&s, cases[i].n);
        sl_str_puts(&s, cases[i].tail);
        const sl_status rc = read_lines(&s, cases[i].name, cases[i].config, &v, &err);
        if (rc != cases[i].status)
            fail_msg("case %zu (%s): %s: %s", i, cases[i].says, sl_status_name(rc), err.msg);
        check_says(&err, cases[i].says);
        assert_null(v.tokens);
        sl_str_fini(&s);
    }
}

static void faults_of_kimis_names(void **state)
{
    (void)state;
    static const struct {
        const char *table, *says;
    } cases[] = { { "null", "\"added_tokens_decoder\" is missing" },
                  { "[]", "added_tokens_decoder: an array" },
                  { "{\"257\":{\"content\":\"x\"}}", "added_tokens_decoder.257: no id" },
                  { "{\"516\":{\"content\":\"x\"}}", "added_tokens_decoder.516: no id" },
                  { "{\"x\":{\"content\":\"x\"}}", "added_tokens_decoder.x: no id" },
                  { "{\"300\":{\"content\":\"\"}}", "added_tokens_decoder.300: \"content\" is empty" },
                  { "{\"300\":{}}", "added_tokens_decoder.300: \"content\" is missing" } };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_str s = { 0 };
        sl_vocab v;
        sl_err err = { 0 };
        char config[400];
        snprintf(
            config, sizeof config,
            "{\"tokenizer_class\":\"TikTokenTokenizer\",\"auto_map\":{\"AutoTokenizer\":\"a--tokenization_kimi.T\"},"
            "\"added_tokens_decoder\":%s}",
            cases[i].table);
        put_lines(&s, N_BASE);
        assert_int_equal(read_lines(&s, "tiktoken.model", config, &v, &err), SL_EFORMAT);
        check_says(&err, cases[i].says);
        sl_str_fini(&s);
    }
}

/* ---- tekken ------------------------------------------------------------------------------- */

typedef struct tekken {
    const char *config, *specials; /* NULL: the usual; specials "" none */
    size_t n;                      /* tokens listed; 0: 258 */
    size_t odd;                    /* this one has another rank */
} tekken;

static void put_tekken(sl_str *s, const tekken *t)
{
    sl_str_printf(s, "{\"config\":{%s},",
                  t->config ? t->config
                            : "\"pattern\":\"\\\\s+|\\\\S+\",\"num_vocab_tokens\":258,"
                              "\"default_vocab_size\":262,"
                              "\"default_num_special_tokens\":5,\"version\":\"v3\"");
    if (t->specials)
        sl_str_printf(s, "\"special_tokens\":%s,", t->specials);
    sl_str_puts(s, "\"vocab\":[");
    for (size_t rank = 0; rank < (t->n ? t->n : N_BASE); rank++) {
        sl_str_printf(s, "%s{\"rank\":%zu,\"token_bytes\":\"", rank ? "," : "",
                      rank == t->odd && rank ? rank + 1 : rank);
        put_token(s, rank);
        sl_str_puts(s, "\",\"token_str\":null}");
    }
    sl_str_puts(s, "]}");
}

static sl_status read_tekken(const tekken *t, sl_vocab *v, sl_err *err)
{
    sl_str s = { 0 };
    put_tekken(&s, t);
    const sl_status rc = sl_vocab_read_tekken(v, s.data, s.len, err);
    sl_str_fini(&s);
    return rc;
}

static void tekken_of_old(void **state)
{
    (void)state;
    sl_vocab v;
    sl_err err = { 0 };
    if (read_tekken(&(tekken){ 0 }, &v, &err))
        fail_msg("%s", err.msg);
    /* 262 tokens, 5 of them special: "abc" is behind the end. */
    assert_true(v.model == SL_MODEL_RANKS && v.text == SL_TEXT_BYTES && v.n_tokens == 262);
    check_bytes(v.tokens[0], "<unk>");
    check_bytes(v.tokens[4], "[/INST]");
    check_bytes(v.tokens[261], "ab");
    assert_true(v.unk == 0 && v.bos == 1 && v.eos == 2 && v.pad == -1 && v.n_added == 5 && v.added[4].id == 4);
    check_bytes(v.pretoks[0].pattern, "\\s+|\\S+");
    assert_true(v.pretoks[0].rust && v.pretoks[0].regex);
    sl_vocab_fini(&v);
}

static void tekken_of_today(void **state)
{
    (void)state;
    sl_vocab v;
    sl_err err = { 0 };
    const tekken t = { .specials = "[{\"rank\":3,\"token_str\":\"</s>\",\"is_control\":true},"
                                   "{\"rank\":1,\"token_str\":\"[THINK]\",\"is_control\":false}]" };
    if (read_tekken(&t, &v, &err))
        fail_msg("%s", err.msg);
    check_bytes(v.tokens[0], "<SPECIAL_0>");
    check_bytes(v.tokens[1], "[THINK]");
    check_bytes(v.tokens[3], "</s>");
    assert_true(v.kinds[1] == SL_TOKEN_USER && v.kinds[0] == SL_TOKEN_CONTROL && v.eos == 3 && v.bos == -1);
    assert_true(v.n_added == 5 && !v.added[1].special);
    sl_vocab_fini(&v);
}

#define SIZES(vocab, special)                                                                                          \
    "\"pattern\":\"a\",\"version\":\"v3\",\"default_vocab_size\":" #vocab ",\"default_num_special_tokens\":" #special

static void faults_of_tekken(void **state)
{
    (void)state;
    static const struct {
        tekken tekken;
        const char *says;
    } cases[] = {
        { { .config = SIZES(264, 5) }, "config: 264 tokens, 5 of them special, but 258" },
        { { .config = SIZES(5, 5) }, "config: 5 tokens" },
        { { .config = SIZES(262, -1) }, "config: 262 tokens" },
        { { .config = SIZES(4611686018427387904, 5) }, "config: 4611686018427387904 tokens" },
        { { .config = SIZES(260, 5), .n = 255 }, "no token of the byte 0xFF alone" },
        { { .config = "\"version\":\"v3\"" }, "config: \"default_vocab_size\" is missing" },
        { { .config =
                "\"version\":\"v11\",\"pattern\":\"a\",\"default_vocab_size\":262,\"default_num_special_tokens\":5" },
          "\"special_tokens\" is missing" },
        { { .odd = 7 }, "vocab[7]: rank 8 in the place of 7" },
        { { .specials = "[{\"rank\":5,\"token_str\":\"x\",\"is_control\":true}]" }, "special_tokens[0]: rank 5" },
        { { .specials = "[{\"rank\":-1,\"token_str\":\"x\",\"is_control\":true}]" }, "special_tokens[0]: rank -1" },
        { { .specials = "[{\"rank\":1,\"token_str\":\"x\",\"is_control\":true},"
                        "{\"rank\":1,\"token_str\":\"y\",\"is_control\":true}]" },
          "special_tokens[1]: rank 1" },
        { { .specials = "[{\"rank\":1,\"is_control\":true}]" }, "special_tokens[0]: \"token_str\" is missing" },
        { { .specials = "{}" }, "special_tokens: an object" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_vocab v;
        sl_err err = { 0 };
        const sl_status rc = read_tekken(&cases[i].tekken, &v, &err);
        if (rc != SL_EFORMAT)
            fail_msg("case %zu (%s): %s: %s", i, cases[i].says, sl_status_name(rc), err.msg);
        check_says(&err, cases[i].says);
        assert_null(v.tokens);
    }
}

static void every_allocation_fails(void **state)
{
    (void)state;
    sl_str lines = { 0 }, json = { 0 };
    sl_json_doc doc = { 0 };
    put_lines(&lines, N_BASE);
    put_tekken(&json, &(tekken){ 0 });
    assert_int_equal(sl_json_parse(&doc, kimi_config, strlen(kimi_config), NULL), SL_OK);
    for (int form = 0; form < 2; form++) {
        bool done = false;
        long n = 0;
        for (; !done; n++) {
            sl_vocab v;
            sl_err err = { 0 };
            sl_mem_fail_after(n);
            const sl_status rc = form ? sl_vocab_read_tekken(&v, json.data, json.len, &err)
                                      : sl_vocab_read_tiktoken(&v, lines.data, lines.len, "x", doc.root, &err);
            sl_mem_fail_after(-1);
            assert_true(n < 100 && (rc == SL_OK || (rc == SL_ENOMEM && err.code == SL_ENOMEM && !v.tokens)));
            done = rc == SL_OK;
            sl_vocab_fini(&v);
        }
        assert_true(n > 1);
    }
    sl_json_fini(&doc);
    sl_str_fini(&lines);
    sl_str_fini(&json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kimi),
        cmocka_unit_test(faults_of_lines),
        cmocka_unit_test(faults_of_kimis_names),
        cmocka_unit_test(tekken_of_old),
        cmocka_unit_test(tekken_of_today),
        cmocka_unit_test(faults_of_tekken),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
