/* test_tokenizer_json.c - tokenizer.json: what each step becomes, and how each fault is named. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/num.h"
#include "formats/vocab_files.h"

#define ADDED(id, text, special)                                                                                       \
    "{\"id\":" #id ",\"content\":\"" text "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"                \
    "\"normalized\":false,\"special\":" #special "}"
#define BPE    "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"
#define TOKENS "[" ADDED(3, "<s>", true) "," ADDED(4, "<u>", false) "]"

/* The parts of a file; NULL: the usual one. */
typedef struct parts {
    const char *added, *normalizer, *pre, *post, *decoder, *model, *more;
} parts;

static char *write_json(const parts *p)
{
    char *text = NULL;
    const int n = asprintf(&text,
                           "{\"model\":%s,\"decoder\":%s,\"post_processor\":%s,\"pre_tokenizer\":%s,\"normalizer\":%s,"
                           "\"added_tokens\":%s,\"padding\":null,\"truncation\":{\"x\":1}%s,\"version\":\"1.0\"}",
                           p->model ? p->model : BPE, p->decoder ? p->decoder : "{\"type\":\"ByteLevel\"}",
                           p->post ? p->post : "null", p->pre ? p->pre : "null", p->normalizer ? p->normalizer : "null",
                           p->added   ? p->added
                           : p->model ? "[]"
                                      : TOKENS,
                           p->more ? p->more : "");
    assert_true(n > 0);
    return text;
}

static sl_status read_parts(const parts *p, sl_vocab *v, sl_err *err)
{
    char *text = write_json(p);
    const size_t n = strlen(text);
    char *exact = malloc(n); /* a sanitizer sees one byte too far */
    assert_non_null(exact);
    memcpy(exact, text, n);
    const sl_status rc = sl_vocab_read_tokenizer_json(v, exact, n, err);
    free(exact); /* nothing is borrowed from it */
    free(text);
    return rc;
}

static void reads(const parts *p, sl_vocab *v)
{
    sl_err err = { 0 };
    if (read_parts(p, v, &err))
        fail_msg("%s", err.msg);
}

static void check_bytes(sl_bytes b, const char *want)
{
    if (b.len != strlen(want) || memcmp(b.data, want, b.len) != 0)
        fail_msg("\"%.*s\", should be \"%s\"", (int)b.len, b.data, want);
}

static void tokens_and_merges(void **state)
{
    (void)state;
    sl_vocab v;
    reads(&(parts){ .model = "{\"unk_token\":\"b\",\"fuse_unk\":true,\"byte_fallback\":true,\"ignore_merges\":true,"
                             "\"dropout\":null,\"end_of_word_suffix\":\"\",\"continuing_subword_prefix\":null,"
                             "\"vocab\":{\"ab\":2,\"<0x0A>\":0,\"b\":1,\"<0x0a>\":5,\"\\u0000\\\"\":6},\"merges\":"
                             "[[\"a\",\"b\"],[\" \",\"c d\"]]}",
                    .added = "[" ADDED(2, "ab", true) "," ADDED(5, "<0x0a>", false) "," ADDED(7, "", false) "]" },
          &v);
    assert_int_equal(v.model, SL_MODEL_MERGES);
    assert_int_equal(v.text, SL_TEXT_CHARS);
    assert_int_equal(v.n_tokens, 8);
    check_bytes(v.tokens[0], "<0x0A>");
    check_bytes(v.tokens[2], "ab");
    assert_int_equal(v.tokens[6].len, 2);
    assert_memory_equal(v.tokens[6].data, "\0\"", 2);
    static const uint8_t kinds[] = { SL_TOKEN_BYTE,   SL_TOKEN_NORMAL, SL_TOKEN_CONTROL, SL_TOKEN_UNUSED,
                                     SL_TOKEN_UNUSED, SL_TOKEN_USER,   SL_TOKEN_NORMAL,  SL_TOKEN_UNUSED };
    assert_memory_equal(v.kinds, kinds, sizeof kinds);
    assert_true(v.unk == 1 && v.bos == -1 && v.eos == -1 && v.pad == -1 && v.eot == -1);
    assert_true(v.fuse_unk && v.byte_fallback && v.whole_pieces && !v.pre);
    assert_true(v.n_added == 2 && v.added[0].id == 2 && v.added[0].special && v.added[1].id == 5 &&
                !v.added[1].special);
    assert_int_equal(v.n_merges, 2);
    check_bytes(v.merges[1].left, " ");
    check_bytes(v.merges[1].right, "c d");
    assert_true(v.n_norms == 0 && v.n_pretoks == 0 && v.n_decoders == 1 && v.n_prefix == 0 && v.n_suffix == 0);
    sl_vocab_fini(&v);
}

static void flags_of_added_tokens(void **state)
{
    (void)state;
    sl_vocab v;
    reads(&(parts){ .added = "[{\"special\":false,\"normalized\":true,\"rstrip\":true,\"lstrip\":false,"
                             "\"single_word\":true,\"content\":\"\\u00e9\",\"id\":3}]",
                    .model = "{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"#version: 0.2\",\"a b\"]}" },
          &v);
    check_bytes(v.tokens[3], "\xc3\xa9");
    const sl_added_token *t = v.added;
    assert_true(v.n_added == 1 && !t->special && t->normalized && t->rstrip && !t->lstrip && t->single_word);
    assert_int_equal(v.n_merges, 1);
    sl_vocab_fini(&v);
}

static void unigram(void **state)
{
    (void)state;
    static const char *const models[] = {
        "{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",-0.1],[\"<unk>\",0],[\"<0x41>\",-1e1]],\"byte_fallback\":"
        "true}",
        "{\"unk_id\":1,\"vocab\":[[\"a\",-0.1],[\"<unk>\",0.0],[\"<0x41>\",-10]]}",
    };
    for (size_t i = 0; i < SL_COUNT(models); i++) {
        sl_vocab v;
        reads(&(parts){ .model = models[i], .decoder = "null" }, &v);
        assert_true(v.model == SL_MODEL_UNIGRAM && v.n_tokens == 3 && v.unk == 1 && v.double_scores && v.fuse_unk);
        assert_true(v.scores[0] == -0.1 && v.scores[1] == 0 && v.scores[2] == -10);
        assert_int_equal(v.byte_fallback, i == 0);
        assert_int_equal(v.kinds[2], i == 0 ? SL_TOKEN_BYTE : SL_TOKEN_NORMAL);
        assert_true(v.n_decoders == 0 && v.text == SL_TEXT_CHARS);
        sl_vocab_fini(&v);
    }
}

static void normalizer_steps(void **state)
{
    (void)state;
    sl_vocab v;
    reads(&(parts){ .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"NFD\"},"
                                  "{\"type\":\"NFKC\"},{\"type\":\"NFKD\"},{\"type\":\"Lowercase\"},"
                                  "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":false},"
                                  "{\"type\":\"StripAccents\"},{\"type\":\"Nmt\"},"
                                  "{\"type\":\"Prepend\",\"prepend\":\"\\u2581\"},"
                                  "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Replace\",\"pattern\":"
                                  "{\"String\":\" \"},\"content\":\"_\"}]},"
                                  "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\"\"},"
                                  "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AP9BQg==\"}]}" },
          &v);
    static const sl_norm_kind kinds[] = { SL_NORM_NFC,       SL_NORM_NFD,     SL_NORM_NFKC,          SL_NORM_NFKD,
                                          SL_NORM_LOWERCASE, SL_NORM_STRIP,   SL_NORM_STRIP_ACCENTS, SL_NORM_NMT,
                                          SL_NORM_PREPEND,   SL_NORM_REPLACE, SL_NORM_REPLACE,       SL_NORM_CHARSMAP };
    assert_int_equal(v.n_norms, SL_COUNT(kinds));
    for (size_t i = 0; i < v.n_norms; i++)
        assert_int_equal(v.norms[i].kind, kinds[i]);
    assert_true(v.norms[5].left && !v.norms[5].right);
    check_bytes(v.norms[8].text, "\xe2\x96\x81");
    check_bytes(v.norms[9].pattern, " ");
    check_bytes(v.norms[9].text, "_");
    assert_true(!v.norms[9].regex && v.norms[10].regex && v.norms[10].text.len == 0);
    check_bytes(v.norms[10].pattern, " {2,}");
    assert_int_equal(v.norms[11].pattern.len, 4);
    assert_memory_equal(v.norms[11].pattern.data,
                        "\0\xff"
                        "AB",
                        4);
    sl_vocab_fini(&v);
}

static void pre_tokenizer_steps(void **state)
{
    (void)state;
    sl_vocab v;
    reads(
        &(parts){ .pre =
                      "{\"type\":\"Sequence\",\"pretokenizers\":["
                      "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\d\"},\"behavior\":\"Removed\",\"invert\":true},"
                      "{\"type\":\"Split\",\"pattern\":{\"String\":\".\"},\"behavior\":\"MergedWithPrevious\","
                      "\"invert\":false},{\"type\":\"Digits\",\"individual_digits\":false},"
                      "{\"type\":\"Digits\",\"individual_digits\":true},{\"type\":\"Punctuation\"},"
                      "{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"},{\"type\":\"Whitespace\"},"
                      "{\"type\":\"WhitespaceSplit\"},{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"\\u00e9\"},"
                      "{\"type\":\"FixedLength\",\"length\":3},{\"type\":\"BertPreTokenizer\"},"
                      "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":false},"
                      "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,\"use_regex\":false}"
                      "]}" },
        &v);
    static const struct {
        sl_pretok_kind kind;
        int behavior; /* -1: does not matter */
        const char *pattern;
    } want[] = { { SL_PRETOK_SPLIT, SL_SPLIT_REMOVED, "\\d" },
                 { SL_PRETOK_SPLIT, SL_SPLIT_MERGED_WITH_PREVIOUS, "." },
                 { SL_PRETOK_SPLIT, SL_SPLIT_CONTIGUOUS, "\\p{rust_numeric}" },
                 { SL_PRETOK_SPLIT, SL_SPLIT_ISOLATED, "\\p{rust_numeric}" },
                 { SL_PRETOK_SPLIT, SL_SPLIT_ISOLATED, NULL },
                 { SL_PRETOK_SPLIT, SL_SPLIT_CONTIGUOUS, NULL },
                 { SL_PRETOK_SPLIT, SL_SPLIT_REMOVED, NULL },
                 { SL_PRETOK_SPLIT, SL_SPLIT_REMOVED, "\\s" },
                 { SL_PRETOK_SPLIT, SL_SPLIT_REMOVED, "\xc3\xa9" },
                 { SL_PRETOK_CHUNKS, -1, NULL },
                 { SL_PRETOK_SPLIT, SL_SPLIT_REMOVED, "\\s" },
                 { SL_PRETOK_SPLIT, SL_SPLIT_ISOLATED, NULL },
                 { SL_PRETOK_PREFIX_SPACE, -1, NULL },
                 { SL_PRETOK_SPLIT, SL_SPLIT_ISOLATED,
                   "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
                   " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+" },
                 { SL_PRETOK_BYTE_LEVEL, -1, NULL },
                 { SL_PRETOK_BYTE_LEVEL, -1, NULL } };
    assert_int_equal(v.n_pretoks, SL_COUNT(want));
    for (size_t i = 0; i < SL_COUNT(want); i++) {
        assert_int_equal(v.pretoks[i].kind, want[i].kind);
        if (want[i].behavior >= 0)
            assert_int_equal((int)v.pretoks[i].behavior, want[i].behavior);
        if (want[i].pattern)
            check_bytes(v.pretoks[i].pattern, want[i].pattern);
        assert_int_equal(v.pretoks[i].invert, i == 0 || i == 6);
        assert_int_equal(v.pretoks[i].regex, v.pretoks[i].kind == SL_PRETOK_SPLIT && i != 1 && i != 8);
    }
    assert_int_equal(v.pretoks[9].length, 3);
    assert_int_equal(v.text, SL_TEXT_ALPHABET);
    sl_vocab_fini(&v);
}

static void metaspace_old_and_new(void **state)
{
    (void)state;
    static const struct {
        const char *more;
        sl_prepend prepend;
        bool split;
    } cases[] = { { "", SL_PREPEND_ALWAYS, true },
                  { ",\"add_prefix_space\":true,\"str_rep\":\"x\"", SL_PREPEND_ALWAYS, true },
                  { ",\"prepend_scheme\":\"first\",\"split\":false", SL_PREPEND_FIRST, false },
                  { ",\"prepend_scheme\":\"never\",\"add_prefix_space\":false", SL_PREPEND_NEVER, true },
                  { ",\"prepend_scheme\":\"always\",\"split\":null", SL_PREPEND_ALWAYS, true } };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_vocab v;
        char step[200];
        snprintf(step, sizeof step, "{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\"%s}", cases[i].more);
        reads(&(parts){ .pre = step, .decoder = step }, &v);
        assert_int_equal(v.n_pretoks, 1 + cases[i].split);
        assert_int_equal(v.pretoks[0].kind, SL_PRETOK_METASPACE);
        assert_int_equal(v.pretoks[0].prepend, cases[i].prepend);
        check_bytes(v.pretoks[0].text, "\xe2\x96\x81");
        if (cases[i].split)
            assert_true(v.pretoks[1].kind == SL_PRETOK_SPLIT && v.pretoks[1].behavior == SL_SPLIT_MERGED_WITH_NEXT);
        assert_true(v.n_decoders == 1 && v.decoders[0].kind == SL_DECODE_METASPACE);
        assert_int_equal(v.decoders[0].strip_first, cases[i].prepend != SL_PREPEND_NEVER);
        sl_vocab_fini(&v);
    }
}

static void byte_level_normalizer(void **state)
{
    (void)state;
    sl_vocab v;
    reads(
        &(parts){ .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"ByteLevel\"}]}",
                  .pre = "{\"type\":\"Digits\",\"individual_digits\":true}" },
        &v);
    assert_true(v.n_norms == 1 && v.n_pretoks == 2 && v.pretoks[0].kind == SL_PRETOK_BYTE_LEVEL);
    assert_int_equal(v.text, SL_TEXT_ALPHABET);
    sl_vocab_fini(&v);
}

static void decoders(void **state)
{
    (void)state;
    sl_vocab v;
    reads(&(parts){ .decoder =
                        "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"_\"},"
                        "\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},"
                        "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0},"
                        "{\"type\":\"ByteLevel\",\"trim_offsets\":true}]}" },
          &v);
    static const sl_decode_kind kinds[] = { SL_DECODE_REPLACE, SL_DECODE_BYTE_FALLBACK, SL_DECODE_FUSE, SL_DECODE_STRIP,
                                            SL_DECODE_BYTE_LEVEL };
    assert_int_equal(v.n_decoders, SL_COUNT(kinds));
    for (size_t i = 0; i < SL_COUNT(kinds); i++)
        assert_int_equal(v.decoders[i].kind, kinds[i]);
    check_bytes(v.decoders[0].pattern, "_");
    check_bytes(v.decoders[0].text, " ");
    check_bytes(v.decoders[3].pattern, " ");
    assert_true(v.decoders[3].start == 1 && v.decoders[3].stop == 0);
    sl_vocab_fini(&v);
}

#define SPECIAL "{\"SpecialToken\":{\"id\":\"<s>\",\"type_id\":0}}"
#define TEXT    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}"
#define SPECIALS                                                                                                       \
    "\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[3,4],\"tokens\":[\"<s>\",\"<u>\"]}},\"pair\":[1]}"

static void post_processors(void **state)
{
    (void)state;
    sl_vocab v;
    reads(&(parts){ .post = "{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\",\"trim_offsets\":true},"
                            "{\"type\":\"TemplateProcessing\",\"single\":[" SPECIAL "," TEXT "," SPECIAL "," SPECIAL
                            "]," SPECIALS "]}" },
          &v);
    assert_true(v.n_prefix == 2 && v.prefix[0] == 3 && v.prefix[1] == 4);
    assert_true(v.n_suffix == 4 && v.suffix[0] == 3 && v.suffix[3] == 4);
    sl_vocab_fini(&v);
    reads(&(parts){ .post = "{\"type\":\"RobertaProcessing\",\"sep\":[\"<u>\",4],\"cls\":[\"<s>\",3],"
                            "\"trim_offsets\":true,\"add_prefix_space\":false}" },
          &v);
    assert_true(v.n_prefix == 1 && v.prefix[0] == 3 && v.n_suffix == 1 && v.suffix[0] == 4);
    sl_vocab_fini(&v);
}

static void faults_are_named(void **state)
{
    (void)state;
    static const struct {
        parts parts;
        sl_status status;
        const char *says;
    } cases[] = {
        /* what the file asks for and nobody here can do, by its name and place */
        { { .more = ",\"post\":1" }, SL_EUNSUPPORTED, "post: this key is not known" },
        { { .model = "{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}" },
          SL_EUNSUPPORTED,
          "model.type: model \"WordPiece\"" },
        { { .model = "{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}" }, SL_EUNSUPPORTED, "\"WordLevel\"" },
        { { .model = "{\"vocab\":{\"a\":0}}" }, SL_EUNSUPPORTED, "model: model" },
        { { .model = "{\"type\":5,\"vocab\":{\"a\":0}}" }, SL_EUNSUPPORTED, "model.type" },
        { { .model = "{\"type\":\"BPE\",\"max_len\":3,\"vocab\":{\"a\":0},\"merges\":[]}" },
          SL_EUNSUPPORTED,
          "model.max_len: this key" },
        { { .model = "{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}" },
          SL_EUNSUPPORTED,
          "model.dropout" },
        { { .model = "{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",\"vocab\":{\"a\":0},\"merges\":[]}" },
          SL_EUNSUPPORTED,
          "model.end_of_word_suffix" },
        { { .model = "{\"type\":\"BPE\",\"continuing_subword_prefix\":\"##\",\"vocab\":{\"a\":0},\"merges\":[]}" },
          SL_EUNSUPPORTED,
          "model.continuing_subword_prefix" },
        { { .pre = "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"WhitespaceSplit\"},{\"type\":\"Whitespace\"},"
                   "{\"type\":\"Magic\"}]}" },
          SL_EUNSUPPORTED,
          "pre_tokenizer.pretokenizers[2].type: \"Magic\" is not supported" },
        { { .pre = "{\"type\":\"UnicodeScripts\"}" }, SL_EUNSUPPORTED, "pre_tokenizer.type: \"UnicodeScripts\"" },
        { { .pre = "{\"type\":\"Digits\",\"individual_digits\":true,\"groups\":3}" },
          SL_EUNSUPPORTED,
          "pre_tokenizer.groups: this key" },
        { { .normalizer = "{\"type\":\"BertNormalizer\",\"lowercase\":true}" },
          SL_EUNSUPPORTED,
          "normalizer.type: \"BertNormalizer\"" },
        { { .normalizer = "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"ByteLevel\"},{\"type\":\"NFC\"}]}" },
          SL_EUNSUPPORTED,
          "normalizer.normalizers[0]: ByteLevel" },
        { { .decoder = "{\"type\":\"CTC\"}" }, SL_EUNSUPPORTED, "decoder.type: \"CTC\"" },
        { { .decoder = "{\"type\":\"WordPiece\",\"prefix\":\"##\"}" }, SL_EUNSUPPORTED, "decoder.type: \"WordPiece\"" },
        { { .decoder = "{\"type\":\"BPEDecoder\",\"suffix\":\"\"}" }, SL_EUNSUPPORTED, "\"BPEDecoder\"" },
        { { .decoder = "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a\"},\"content\":\"\"}" },
          SL_EUNSUPPORTED,
          "decoder.pattern: \"Regex\"" },
        { { .decoder = "null", .pre = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true}" },
          SL_EUNSUPPORTED,
          "decoder: " },
        { { .post = "{\"type\":\"TemplateProcessing\",\"single\":[" TEXT "," TEXT "]," SPECIALS },
          SL_EUNSUPPORTED,
          "post_processor.single: " },
        { { .post = "{\"type\":\"TemplateProcessing\",\"single\":[]," SPECIALS }, SL_EUNSUPPORTED, "single: " },
        { { .post = "{\"type\":\"Sequence\",\"processors\":[{\"type\":\"BertProcessing\"},{\"type\":\"BertProcessing\"}"
                    "]}" },
          SL_EUNSUPPORTED,
          "post_processor.processors: " },
        /* what no file may say */
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}" }, SL_EFORMAT, "model.vocab.a: id -1" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":1.0},\"merges\":[]}" }, SL_EFORMAT, "model.vocab.a: " },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":\"0\"},\"merges\":[]}" }, SL_EFORMAT, "model.vocab.a: " },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":2147483647},\"merges\":[]}" },
          SL_EFORMAT,
          "model.vocab.a: id 2147483647 in a vocabulary of 1" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":99999999999999999999},\"merges\":[]}" },
          SL_EFORMAT,
          "model.vocab.a: " },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}" },
          SL_EFORMAT,
          "model.vocab.b: id 0 is that of \"a\" as well" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"a\":1},\"merges\":[]}" },
          SL_EFORMAT,
          "model.vocab.a: this key comes twice" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{},\"merges\":[]}" }, SL_EFORMAT, "model.vocab: no tokens" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}" }, SL_EFORMAT, "model.vocab: an array" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":0}}" }, SL_EFORMAT, "model: \"merges\" is missing" },
        { { .model = "[]" }, SL_EFORMAT, "model: an array" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"ab\"]}" },
          SL_EFORMAT,
          "model.merges[0]: \"ab\"" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\",\"a b c\"]}" },
          SL_EFORMAT,
          "model.merges[1]: \"a b c\"" },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\"]]}" }, SL_EFORMAT, "model.merges[0]: " },
        { { .model = "{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"b\"],\"a b\"]}" },
          SL_EFORMAT,
          "model.merges[1]: " },
        { { .model = "{\"type\":\"BPE\",\"unk_token\":\"u\",\"vocab\":{\"a\":0},\"merges\":[]}" },
          SL_EFORMAT,
          "model.unk_token: \"u\"" },
        { { .model = "{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",0]]}" }, SL_EFORMAT, "model.unk_id: id 1" },
        { { .model = "{\"type\":\"Unigram\",\"unk_id\":-1,\"vocab\":[[\"a\",0]]}" },
          SL_EFORMAT,
          "model.unk_id: id -1" },
        { { .model = "{\"type\":\"Unigram\",\"vocab\":[[\"a\",1e999]]}" }, SL_EFORMAT, "model.vocab[0]: " },
        { { .model = "{\"type\":\"Unigram\",\"vocab\":[[\"a\"]]}" }, SL_EFORMAT, "model.vocab[0]: " },
        { { .added = "[" ADDED(5, "x", true) "]" },
          SL_EFORMAT,
          "added_tokens[0].id: id 5 for a token that is number 3" },
        { { .added = "[" ADDED(4, "x", true) "," ADDED(3, "y", true) "]" }, SL_EFORMAT, "added_tokens[0].id: id 4" },
        { { .added = "[" ADDED(3, "a", true) "]" },
          SL_EFORMAT,
          "added_tokens[0].id: id 3 for a token that is number 0" },
        { { .added = "[" ADDED(0, "x", true) "]" }, SL_EFORMAT, "added_tokens[0].id: id 0" },
        { { .added = "[" ADDED(3, "x", true) "," ADDED(3, "y", true) "]" }, SL_EFORMAT, "added_tokens[1].id: id 3" },
        { { .added = "[" ADDED(3, "x", true) "," ADDED(4, "x", true) "]" }, SL_EFORMAT, "\"x\" comes twice" },
        { { .added = "[{\"id\":3,\"content\":\"x\"}]" }, SL_EFORMAT, "added_tokens[0]: \"single_word\" is missing" },
        { { .added = "[{\"content\":\"x\"}]" }, SL_EFORMAT, "added_tokens[0]: \"id\" is missing" },
        { { .added = "[7]" }, SL_EFORMAT, "added_tokens[0]: \"id\" is missing" },
        { { .added = "{}" }, SL_EFORMAT, "added_tokens: an object" },
        { { .pre = "[]" }, SL_EFORMAT, "pre_tokenizer: should be an object" },
        { { .pre = "{}" }, SL_EFORMAT, "pre_tokenizer: \"type\" is missing" },
        { { .pre = "{\"type\":\"Split\",\"pattern\":\"a\",\"behavior\":\"Removed\",\"invert\":false}" },
          SL_EFORMAT,
          "pre_tokenizer.pattern: a string" },
        { { .pre = "{\"type\":\"Split\",\"pattern\":{\"String\":\"a\",\"Regex\":\"b\"},\"behavior\":\"Removed\","
                   "\"invert\":false}" },
          SL_EFORMAT,
          "pre_tokenizer.pattern: should be" },
        { { .pre = "{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Gone\",\"invert\":false}" },
          SL_EFORMAT,
          "pre_tokenizer.behavior: " },
        { { .pre = "{\"type\":\"FixedLength\",\"length\":0}" }, SL_EFORMAT, "pre_tokenizer.length: " },
        { { .pre = "{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"ab\"}" }, SL_EFORMAT, "one character" },
        { { .pre = "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}" },
          SL_EFORMAT,
          "pre_tokenizer.add_prefix_space: false" },
        { { .pre = "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}" },
          SL_EFORMAT,
          "pre_tokenizer.prepend_scheme: " },
        { { .normalizer = "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"A\"}" }, SL_EFORMAT, "base64" },
        { { .normalizer = "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AB==\"}" }, SL_EFORMAT, "base64" },
        { { .normalizer = "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"A\\n==\"}" }, SL_EFORMAT, "base64" },
        { { .normalizer = "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}" }, SL_EFORMAT, "base64" },
        { { .decoder = "{\"type\":\"Strip\",\"content\":\"\",\"start\":1,\"stop\":0}" }, SL_EFORMAT, "one character" },
        { { .decoder = "{\"type\":\"Strip\",\"content\":\"a\",\"start\":-1,\"stop\":0}" },
          SL_EFORMAT,
          "decoder.start: -1" },
        { { .post =
                "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"no\"}}," TEXT "]," SPECIALS },
          SL_EFORMAT,
          "post_processor.single[0].SpecialToken: " },
        { { .post = "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}}," TEXT
                    "],\"pair\":[],\"special_tokens\":{\"<s>\":{\"id\":\"<s>\",\"ids\":[5],\"tokens\":[]}}}" },
          SL_EFORMAT,
          "post_processor.special_tokens.<s>.ids[0]: " },
        { { .post = "{\"type\":\"BertProcessing\",\"sep\":[\"<s>\",9],\"cls\":[\"<s>\",3]}" },
          SL_EFORMAT,
          "post_processor.sep: " },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_vocab v;
        sl_err err = { 0 };
        const sl_status rc = read_parts(&cases[i].parts, &v, &err);
        if (rc != cases[i].status)
            fail_msg("case %zu (%s): %s: %s", i, cases[i].says, sl_status_name(rc), err.msg);
        check_says(&err, cases[i].says);
        assert_true(err.code == rc && !v.tokens && v.unk == -1);
        assert_int_equal(read_parts(&cases[i].parts, &v, NULL), rc);
    }
}

/* A file may not make us spend more than it brings along. */
static void many_steps(void **state)
{
    (void)state;
    sl_vocab v;
    sl_err err = { 0 };
    char *list = calloc(1, 40000);
    assert_non_null(list);
    strcpy(list, "{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"}");
    for (int i = 0; i < 1000; i++)
        strcat(list, ",{\"type\":\"Fuse\"}");
    strcat(list, "]}");
    assert_int_equal(read_parts(&(parts){ .decoder = list }, &v, &err), SL_EUNSUPPORTED);
    check_says(&err, "decoder.decoders: more than");
    free(list);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    const parts p = { .normalizer = "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}",
                      .pre = "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"trim_offsets\":true}",
                      .post = "{\"type\":\"BertProcessing\",\"sep\":[\"<s>\",4],\"cls\":[\"<s>\",3]}" };
    bool done = false;
    long n = 0;
    for (; !done; n++) {
        sl_vocab v;
        sl_err err = { 0 };
        char *text = write_json(&p);
        sl_mem_fail_after(n);
        const sl_status rc = sl_vocab_read_tokenizer_json(&v, text, strlen(text), &err);
        sl_mem_fail_after(-1);
        assert_true(n < 200 && (rc == SL_OK || (rc == SL_ENOMEM && err.code == SL_ENOMEM && !v.tokens)));
        done = rc == SL_OK;
        sl_vocab_fini(&v);
        free(text);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_and_merges),
        cmocka_unit_test(flags_of_added_tokens),
        cmocka_unit_test(unigram),
        cmocka_unit_test(normalizer_steps),
        cmocka_unit_test(pre_tokenizer_steps),
        cmocka_unit_test(metaspace_old_and_new),
        cmocka_unit_test(byte_level_normalizer),
        cmocka_unit_test(decoders),
        cmocka_unit_test(post_processors),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(many_steps),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
