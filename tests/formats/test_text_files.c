/* test_text_files.c - folders: which file counts, what the small files beside it add, and what is
 * refused. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/num.h"
#include "formats/text_files.h"

#define FLAGS "\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false"
#define TOKENIZER                                                                                                      \
    "{\"added_tokens\":[{\"id\":3,\"content\":\"<s>\",\"special\":true," FLAGS "},"                                    \
    "{\"id\":4,\"content\":\"</s>\",\"special\":false," FLAGS "}],"                                                    \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}"

typedef struct entry {
    const char *name, *text;
} entry;

static char folder[] = "/tmp/sluice-text-XXXXXX";

static void path_of(char out[200], const char *name)
{
    snprintf(out, 200, "%s/%s", folder, name);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/sluice-text-XXXXXX");
    char path[200];
    if (!mkdtemp(folder))
        return -1;
    path_of(path, "additional_chat_templates");
    return mkdir(path, 0700);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void put(const char *name, const char *text)
{
    char path[200];
    path_of(path, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static void drop(const char *name)
{
    char path[200];
    path_of(path, name);
    assert_true(unlink(path) == 0 || errno == ENOENT);
}

static void put_all(const entry *e, size_t n)
{
    static const char *const names[] = { "tokenizer.json",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "generation_config.json",
                                         "chat_template.jinja",
                                         "chat_template.json",
                                         "additional_chat_templates/tool_use.jinja" };
    for (size_t i = 0; i < SL_COUNT(names); i++)
        drop(names[i]);
    for (size_t i = 0; i < n; i++)
        put(e[i].name, e[i].text);
}
#define PUT(...) put_all((const entry[]){ __VA_ARGS__ }, sizeof((const entry[]){ __VA_ARGS__ }) / sizeof(entry))

static void opens(sl_text_files *t)
{
    sl_err err = { 0 };
    if (sl_text_files_open(t, folder, NULL, &err))
        fail_msg("%s", err.msg);
    if (t->no_vocab)
        fail_msg("no vocabulary: %s", t->why.msg);
}

static void tokenizer_alone(void **state)
{
    (void)state;
    sl_text_files t;
    PUT({ "tokenizer.json", TOKENIZER });
    opens(&t);
    assert_true(t.vocab.n_tokens == 5 && t.vocab.bos == -1 && t.vocab.eos == -1 && t.vocab.n_prefix == 0);
    assert_true(t.n_templates == 0 && t.vocab.n_added == 2 && t.vocab.kinds[4] == SL_TOKEN_USER);
    sl_text_files_fini(&t);

    char path[200];
    sl_err err = { 0 };
    path_of(path, "tokenizer.json");
    assert_int_equal(sl_text_files_open(&t, path, NULL, &err), SL_OK);
    assert_int_equal(t.vocab.n_tokens, 5);
    sl_text_files_fini(&t);
}

/* Through links, as the cache of Hugging Face has it. */
static void symbolic_links(void **state)
{
    (void)state;
    sl_text_files t;
    char from[200], to[200];
    PUT({ "tokenizer_config.json", "{}" });
    put("blob", TOKENIZER);
    path_of(from, "blob");
    path_of(to, "tokenizer.json");
    assert_int_equal(symlink(from, to), 0);
    opens(&t);
    assert_int_equal(t.vocab.n_tokens, 5);
    sl_text_files_fini(&t);
    drop("blob");
}

static void roles_of_tokens(void **state)
{
    (void)state;
    sl_text_files t;
    PUT({ "tokenizer.json", TOKENIZER },
        { "tokenizer_config.json", "{\"bos_token\":{\"__type\":\"AddedToken\",\"content\":\"<s>\",\"lstrip\":true},"
                                   "\"eos_token\":\"</s>\",\"pad_token\":\"<pad>\",\"unk_token\":null,"
                                   "\"additional_special_tokens\":[\"b\"],\"add_bos_token\":true}" },
        { "generation_config.json", "{\"eos_token_id\":[4,2,999]}" });
    opens(&t);
    const sl_vocab *v = &t.vocab;
    assert_true(v->bos == 3 && v->eos == 4 && v->unk == -1);
    assert_true(v->pad == 5 && v->n_tokens == 6 && v->tokens[5].len == 5 && v->kinds[5] == SL_TOKEN_CONTROL);
    assert_true(!v->added[0].lstrip);             /* it was there already, with its own flags */
    assert_int_equal(v->kinds[4], SL_TOKEN_USER); /* likewise */
    assert_int_equal(v->kinds[1], SL_TOKEN_CONTROL);
    assert_true(v->n_added == 4 && v->added[2].id == 5 && v->added[3].id == 1 && v->added[3].special);
    assert_true(v->n_prefix == 0 && v->n_suffix == 0);                 /* a class that leaves that to the file */
    assert_true(v->n_ends == 2 && v->ends[0] == 4 && v->ends[1] == 2); /* 999 is a row without a token */
    sl_text_files_fini(&t);
}

static void added_tokens_decoder(void **state)
{
    (void)state;
    sl_text_files t;
    PUT({ "tokenizer.json", TOKENIZER },
        { "tokenizer_config.json",
          "{\"added_tokens_decoder\":{\"4\":{\"content\":\"</s>\",\"special\":true,\"rstrip\":true,\"lstrip\":false,"
          "\"normalized\":false,\"single_word\":false},\"5\":{\"content\":\"<new>\",\"special\":false}},"
          "\"eos_token\":\"</s>\"}" },
        { "special_tokens_map.json", "{\"eos_token\":\"a\"}" }, { "generation_config.json", "{\"eos_token_id\":2}" });
    opens(&t);
    const sl_vocab *v = &t.vocab;
    assert_true(v->eos == 4 && v->n_tokens == 6 && v->kinds[4] == SL_TOKEN_CONTROL && v->added[1].rstrip);
    assert_true(v->kinds[5] == SL_TOKEN_USER && v->added[2].id == 5 && v->added[2].normalized && !v->added[2].special);
    assert_true(v->n_ends == 1 && v->ends[0] == 2);
    sl_text_files_fini(&t);
    PUT({ "tokenizer.json", TOKENIZER }, { "tokenizer_config.json", "{\"eos_token\":\"</s>\"}" },
        { "special_tokens_map.json", "{\"eos_token\":{\"content\":\"<s>\"}}" });
    opens(&t);
    assert_int_equal(t.vocab.eos, 3);
    sl_text_files_fini(&t);
}

/* The classes of Transformers that put tokens around a text themselves. */
static void wrappers(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        size_t n_prefix, n_suffix;
    } cases[] = {
        { "{\"tokenizer_class\":\"LlamaTokenizerFast\"}", 1, 0 },
        { "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_bos_token\":false,\"add_eos_token\":true}", 0, 1 },
        { "{\"tokenizer_class\":\"GPTNeoXTokenizer\"}", 0, 0 },
        { "{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"add_bos_token\":true,\"bos_token\":\"<s>\"}", 0, 0 },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_text_files t;
        PUT({ "tokenizer.json", TOKENIZER }, { "tokenizer_config.json", cases[i].config });
        opens(&t);
        assert_int_equal(t.vocab.n_prefix, cases[i].n_prefix);
        assert_int_equal(t.vocab.n_suffix, cases[i].n_suffix);
        assert_true(t.vocab.n_prefix == 0 || t.vocab.prefix[0] == 3);
        assert_true(t.vocab.n_suffix == 0 || t.vocab.suffix[0] == 4);
        sl_text_files_fini(&t);
    }
}

/* GPT-2's class and its like set add_prefix_space of a ByteLevel that stands alone; other classes leave it. */
static void space_in_front(void **state)
{
    (void)state;
    static const struct {
        const char *config;
        bool in_sequence, in_file, prefix;
    } cases[] = { { "{\"tokenizer_class\":\"GPT2Tokenizer\"}", false, true, false },
                  { "{\"tokenizer_class\":\"GPT2TokenizerFast\",\"add_prefix_space\":true}", false, false, true },
                  { "{\"tokenizer_class\":\"RobertaTokenizer\",\"add_prefix_space\":true}", false, true, true },
                  { "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_prefix_space\":null}", false, true, false },
                  { "{\"tokenizer_class\":\"GPT2Tokenizer\"}", true, true, true },
                  { "{\"tokenizer_class\":\"GPT2Tokenizer\",\"add_prefix_space\":true}", true, false, false },
                  { "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", false, true, true },
                  { "{\"add_prefix_space\":true}", false, false, false } };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        char json[1000];
        sl_text_files t;
        snprintf(json, sizeof json,
                 "{\"pre_tokenizer\":%s{\"type\":\"ByteLevel\",\"add_prefix_space\":%s}%s,\"decoder\":{\"type\":"
                 "\"ByteLevel\"},"
                 "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}",
                 cases[i].in_sequence ? "{\"type\":\"Sequence\",\"pretokenizers\":[" : "",
                 cases[i].in_file ? "true" : "false", cases[i].in_sequence ? "]}" : "");
        PUT({ "tokenizer.json", json }, { "tokenizer_config.json", cases[i].config });
        opens(&t);
        const sl_vocab *v = &t.vocab;
        const size_t n = cases[i].prefix ? 3 : 2;
        if (v->n_pretoks != n || (v->pretoks[0].kind == SL_PRETOK_PREFIX_SPACE) != cases[i].prefix)
            fail_msg("case %zu: %zu steps, the first %d", i, v->n_pretoks, v->pretoks[0].kind);
        assert_int_equal(v->pretoks[n - 2].kind, SL_PRETOK_SPLIT);
        assert_int_equal(v->pretoks[n - 1].kind, SL_PRETOK_BYTE_LEVEL);
        sl_text_files_fini(&t);
    }
}

static void check_templates(size_t n, const char *first_name, const char *first)
{
    sl_text_files t;
    opens(&t);
    assert_int_equal(t.n_templates, n);
    assert_string_equal(t.templates[0].name, first_name);
    assert_string_equal(t.templates[0].source, first);
    sl_text_files_fini(&t);
}

static void templates(void **state)
{
    (void)state;
    PUT({ "tokenizer.json", TOKENIZER }, { "tokenizer_config.json", "{\"chat_template\":\"A\\n{{ x }}\"}" },
        { "chat_template.json", "{\"chat_template\":\"C\"}" });
    check_templates(1, "default", "A\n{{ x }}");
    put("tokenizer_config.json", "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"T\"},"
                                 "{\"name\":\"default\",\"template\":\"D\"}]}");
    check_templates(2, "default", "D");
    put("additional_chat_templates/tool_use.jinja", "X");
    check_templates(1, "tool_use", "X");
    put("chat_template.jinja", "J");
    check_templates(2, "default", "J");
    PUT({ "tokenizer.json", TOKENIZER }, { "chat_template.json", "{\"chat_template\":\"C\"}" });
    check_templates(1, "default", "C");
}

/* Without a vocabulary the templates still count; what is wrong with it is kept for who asks. */
static void no_vocabulary(void **state)
{
    (void)state;
    sl_text_files t;
    sl_err err = { 0 };
    PUT({ "chat_template.jinja", "J" });
    assert_int_equal(sl_text_files_open(&t, folder, NULL, &err), SL_OK);
    assert_int_equal(t.no_vocab, SL_ENOTFOUND);
    check_says(&t.why, folder);
    assert_int_equal(t.n_templates, 1);
    sl_text_files_fini(&t);
}

static void faults_of_vocabularies(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        sl_status status;
        const char *says;
    } cases[] = {
        { "tokenizer.json", "{\"model\":{\"type\":\"WordPiece\"}}", SL_EUNSUPPORTED, "tokenizer.json: model.type: " },
        { "tokenizer.json", "{", SL_EFORMAT, "tokenizer.json: line 1" },
        { "tokenizer_config.json", "{\"bos_token\":7}", SL_EFORMAT, "tokenizer_config.json: bos_token: " },
        { "tokenizer_config.json", "{\"bos_token\":{}}", SL_EFORMAT, "bos_token: \"content\" is missing" },
        { "tokenizer_config.json", "{\"tokenizer_class\":\"GemmaTokenizer\"}", SL_EFORMAT, "tokenizer_config.json: " },
        { "tokenizer_config.json", "{\"added_tokens_decoder\":{\"x\":{}}}", SL_EFORMAT,
          "added_tokens_decoder.x: no id" },
        { "tokenizer_config.json", "{\"added_tokens_decoder\":{\"9\":{\"content\":\"<x>\"}}}", SL_EFORMAT,
          "added_tokens_decoder.9: id 9 for a token that is number 5" },
        { "tokenizer_config.json", "{\"added_tokens_decoder\":{\"2\":{\"content\":\"<s>\"}}}", SL_EFORMAT,
          "id 2 for a token that is number 3" },
        { "special_tokens_map.json", "{\"eos_token\":[]}", SL_EFORMAT, "special_tokens_map.json: eos_token: " },
        { "generation_config.json", "{\"eos_token_id\":-1}", SL_EFORMAT, "generation_config.json: eos_token_id: " },
        { "generation_config.json", "{\"eos_token_id\":\"a\"}", SL_EFORMAT, "generation_config.json: eos_token_id: " },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_text_files t;
        sl_err err = { 0 };
        PUT({ "tokenizer.json", TOKENIZER }, { cases[i].name, cases[i].text });
        if (sl_text_files_open(&t, folder, NULL, &err))
            fail_msg("%s", err.msg);
        if (t.no_vocab != cases[i].status)
            fail_msg("case %zu: %s %s", i, sl_status_name(t.no_vocab), t.why.msg);
        check_says(&t.why, cases[i].says);
        check_says(&t.why, folder);
        assert_null(t.vocab.tokens);
        sl_text_files_fini(&t);
    }
}

static void faults_of_folders(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        sl_status status;
        const char *says;
    } cases[] = {
        { "tokenizer_config.json", "[]", SL_EFORMAT, "tokenizer_config.json: not a JSON object" },
        { "tokenizer_config.json", "{\"a\":1,\"a\":2}", SL_EFORMAT, "tokenizer_config.json: a: this key" },
        { "tokenizer_config.json", "{\"chat_template\":5}", SL_EFORMAT, "tokenizer_config.json: chat_template: " },
        { "tokenizer_config.json", "{\"chat_template\":[{\"name\":\"default\"}]}", SL_EFORMAT,
          "chat_template[0]: \"template\"" },
        { "tokenizer_config.json", "{\"chat_template\":\"a\\u0000\"}", SL_EFORMAT, "NUL" },
        { "tokenizer_config.json",
          "{\"chat_template\":[{\"name\":\"x\",\"template\":\"\"},{\"name\":\"x\",\"template\":\"\"}]}", SL_EFORMAT,
          "two chat templates \"x\"" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_text_files t;
        sl_err err = { 0 };
        PUT({ "tokenizer.json", TOKENIZER }, { cases[i].name, cases[i].text });
        const sl_status rc = sl_text_files_open(&t, folder, NULL, &err);
        if (rc != cases[i].status)
            fail_msg("case %zu: %s %s", i, sl_status_name(rc), err.msg);
        check_says(&err, cases[i].says);
        assert_true(!t.vocab.tokens && !t.templates);
    }
    sl_text_files t;
    sl_err err = { 0 };
    assert_int_equal(sl_text_files_open(&t, "/no/such", NULL, &err), SL_ENOTFOUND);
    check_says(&err, "/no/such");
    assert_int_equal(sl_text_files_open(&t, "/dev/null", NULL, &err), SL_EIO);
    PUT({ "tokenizer.json", TOKENIZER });
    put("weights", "some text");
    char path[200];
    path_of(path, "weights");
    assert_int_equal(sl_text_files_open(&t, path, NULL, &err), SL_EFORMAT);
    check_says(&err, path);
    drop("weights");
    const char *const list[] = { "general.name=str:x" };
    path_of(path, "tokenizer.json");
    assert_int_equal(sl_text_files_open(&t, folder, &(sl_overrides){ list, 1 }, &err), SL_EINVAL);
    check_says(&err, "is no GGUF file");
    assert_int_equal(sl_text_files_open(&t, path, &(sl_overrides){ list, 1 }, &err), SL_EINVAL);
}

/* A blob that was deleted: not the same as no file. */
static void links_that_lead_nowhere(void **state)
{
    (void)state;
    static const char *const names[] = { "tokenizer.json", "generation_config.json", "tokenizer_config.json" };
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        char path[200];
        sl_text_files t;
        sl_err err = { 0 };
        PUT({ i ? "tokenizer.json" : "blob", TOKENIZER });
        path_of(path, names[i]);
        assert_int_equal(symlink("/no/such/blob", path), 0);
        const sl_status rc = sl_text_files_open(&t, folder, NULL, &err);
        if (i == 2)
            assert_int_equal(rc, SL_EIO);
        else
            assert_true(rc == SL_OK && t.no_vocab == SL_EIO);
        const char *msg = i == 2 ? err.msg : t.why.msg, *first = strstr(msg, names[i]);
        if (!first || strstr(first + 1, names[i]) || !strstr(msg, "a link to a file that is not there"))
            fail_msg("%s", msg);
        sl_text_files_fini(&t);
        drop(names[i]);
    }
    drop("blob");
}

static void templates_of_gguf(void **state)
{
    (void)state;
    static const char *const names[] = { "default", "tool_use", "rag" };
    static const char *const bad[] = { "%s%n" };
    sl_text_files t;
    sl_err err = { 0 };
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_key_str(&b, "tokenizer.chat_template", "D");
    gb_key_str(&b, "tokenizer.chat_template.tool_use", "T");
    gb_strs(&b, "tokenizer.chat_templates", names, 3);
    gb_finish(&b, 0);
    assert_int_equal(sl_text_files_open(&t, gb_path(&b), NULL, &err), SL_OK);
    assert_int_equal(t.no_vocab, SL_ENOTFOUND);
    assert_int_equal(t.n_templates, 2);
    assert_string_equal(t.templates[0].source, "D");
    assert_string_equal(t.templates[1].name, "tool_use");
    assert_string_equal(t.templates[1].source, "T");
    sl_text_files_fini(&t);
    gb_free(&b);
    b = (gguf_build){ 0 };
    begin_llama(&b);
    gb_strs(&b, "tokenizer.chat_templates", bad, 1);
    gb_finish(&b, 0);
    assert_int_equal(sl_text_files_open(&t, gb_path(&b), NULL, &err), SL_EFORMAT);
    check_says(&err, "tokenizer.chat_templates");
    gb_free(&b);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    PUT({ "tokenizer.json", TOKENIZER },
        { "tokenizer_config.json", "{\"tokenizer_class\":\"LlamaTokenizer\",\"bos_token\":\"<new>\","
                                   "\"chat_template\":[{\"name\":\"x\",\"template\":\"\"}]}" },
        { "generation_config.json", "{\"eos_token_id\":[1]}" });
    bool done = false;
    long n = 0;
    for (; !done; n++) {
        sl_text_files t;
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        const sl_status rc = sl_text_files_open(&t, folder, NULL, &err);
        sl_mem_fail_after(-1);
        assert_true(n < 300 && (rc == SL_OK || (rc == SL_ENOMEM && err.code == SL_ENOMEM)));
        done = rc == SL_OK;
        sl_text_files_fini(&t);
    }
    assert_true(n > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokenizer_alone),
        cmocka_unit_test(symbolic_links),
        cmocka_unit_test(roles_of_tokens),
        cmocka_unit_test(added_tokens_decoder),
        cmocka_unit_test(wrappers),
        cmocka_unit_test(space_in_front),
        cmocka_unit_test(templates),
        cmocka_unit_test(no_vocabulary),
        cmocka_unit_test(faults_of_vocabularies),
        cmocka_unit_test(faults_of_folders),
        cmocka_unit_test(links_that_lead_nowhere),
        cmocka_unit_test(templates_of_gguf),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
