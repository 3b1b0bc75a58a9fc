/* test_vocab.c - the vocabulary in a GGUF file: what a good one gives, and how each fault in one is
 * named. */
#include "check.h"

#include <stdio.h>
#include "base/mem.h"
#include "base/num.h"

static const char *const tokens[] = { "<unk>", "<s>", "</s>", "a", "b", "ab" };
static const char *const merges[] = { "a b" };
#define N_TOKENS SL_COUNT(tokens)

#define KEY(name) "tokenizer.ggml." name

/* What is wrong with, or special about, the vocabulary that write_vocab writes. */
typedef struct fault {
    const char *model, *pre; /* NULL: gpt2, smollm; "" none */
    const char *skip;        /* this key is left out */
    uint32_t type_width;     /* of token_type; 0: i32 */
    size_t n_types;          /* 0: as many as tokens */
    int64_t last_type;       /* of the last token; 0: normal */
    const char *merge;       /* instead of the good one */
    const char *id_key;      /* this id ... */
    int64_t id;              /* ... is this */
} fault;

static bool wanted(const fault *f, const char *key)
{
    return !f->skip || strcmp(f->skip, key) != 0;
}

static void write_vocab(gguf_build *b, const fault *f)
{
    static const uint8_t types[] = { 2, 3, 3, 4, 5, 1 };
    begin_llama(b);
    if (wanted(f, "model"))
        gb_key_str(b, KEY("model"), f->model ? f->model : "gpt2");
    if (wanted(f, "pre"))
        gb_key_str(b, KEY("pre"), f->pre ? f->pre : "smollm");
    if (wanted(f, "tokens"))
        gb_strs(b, KEY("tokens"), tokens, N_TOKENS);
    if (wanted(f, "token_type")) {
        const uint32_t width = f->type_width ? f->type_width : SL_GGUF_I32;
        const size_t n = f->n_types ? f->n_types : N_TOKENS;
        gb_array(b, KEY("token_type"), width, n);
        for (size_t i = 0; i < n; i++) {
            const int64_t v = i == n - 1 && f->last_type ? f->last_type : types[i % N_TOKENS];
            gb_raw(b, &v, sl_gguf_type_bytes((sl_gguf_type)width));
        }
    }
    if (wanted(f, "merges"))
        gb_strs(b, KEY("merges"), f->merge ? &f->merge : merges, 1);
    if (wanted(f, "bos"))
        gb_key_u32(b, KEY("bos_token_id"), 1);
    if (f->id_key)
        gb_raw(gb_key(b, f->id_key, SL_GGUF_I64), &f->id, 8);
    gb_finish(b, 0);
}

static void good_vocabulary(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    write_vocab(&b, &(fault){ 0 });
    sl_weights *w = check_opens(gb_path(&b));
    sl_err err = { 0 };
    sl_vocab v = { 0 };
    assert_int_equal(sl_weights_vocab(w, &v, &err), SL_OK);
    assert_int_equal(v.model, SL_MODEL_MERGES);
    assert_string_equal(v.pre, "smollm");
    assert_int_equal(v.n_tokens, N_TOKENS);
    for (size_t i = 0; i < N_TOKENS; i++) {
        assert_int_equal(v.tokens[i].len, strlen(tokens[i]));
        assert_memory_equal(v.tokens[i].data, tokens[i], v.tokens[i].len);
    }
    static const uint8_t kinds[] = { SL_TOKEN_UNKNOWN, SL_TOKEN_CONTROL, SL_TOKEN_CONTROL,
                                     SL_TOKEN_USER,    SL_TOKEN_UNUSED,  SL_TOKEN_NORMAL };
    assert_memory_equal(v.kinds, kinds, sizeof kinds);
    assert_int_equal(v.n_merges, 1);
    assert_int_equal(v.merges[0].left.len, 1);
    assert_memory_equal(v.merges[0].left.data, "a", 1);
    assert_int_equal(v.merges[0].right.len, 1);
    assert_memory_equal(v.merges[0].right.data, "b", 1);
    assert_int_equal(v.n_added, 4);
    assert_true(v.added[0].id == 0 && v.added[0].special && v.added[3].id == 3 && !v.added[3].special);
    assert_int_equal(v.bos, 1);
    assert_true(v.eos == -1 && v.eot == -1 && v.unk == -1 && v.pad == -1);
    assert_true(v.n_prefix == 0 && v.n_suffix == 0);
    sl_vocab_fini(&v);
    assert_null(v.tokens);
    sl_vocab_fini(&v);
    sl_weights_close(w);
    gb_free(&b);
}

static void vocabulary_of_a_fixture(void **state)
{
    (void)state;
    sl_weights *w = check_opens(TEST_DATA "/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf");
    sl_err err = { 0 };
    sl_vocab v = { 0 };
    assert_int_equal(sl_weights_vocab(w, &v, &err), SL_OK);
    assert_string_equal(v.pre, "default");
    assert_int_equal(v.n_tokens, 288);
    assert_int_equal(v.n_merges, 29);
    assert_memory_equal(v.tokens[2].data, "</s>", 4);
    assert_memory_equal(v.merges[0].left.data, "\xc4\xa0 e", 4);
    assert_int_equal(v.kinds[1], SL_TOKEN_CONTROL);
    assert_int_equal(v.kinds[3], SL_TOKEN_NORMAL);
    assert_true(v.bos == 1 && v.eos == 2 && v.n_prefix == 0);
    sl_vocab_fini(&v);
    sl_weights_close(w);
}

/* The vocabulary of a file with this fault, or its status and text in err. */
static sl_status read_faulty(const fault *f, sl_vocab *v, sl_err *err)
{
    gguf_build b = { 0 };
    write_vocab(&b, f);
    sl_weights *w = check_opens(gb_path(&b));
    *v = (sl_vocab){ .n_tokens = 4711 };
    const sl_status rc = sl_weights_vocab(w, v, err);
    if (rc) {
        check_says(err, gb_path(&b));
        assert_true(v->n_tokens == 4711 && !v->tokens && !v->kinds && !v->merges);
        assert_int_equal(sl_weights_vocab(w, v, NULL), rc);
    }
    sl_weights_close(w); /* the strings in v are gone now, the arrays are not */
    gb_free(&b);
    return rc;
}

static void any_width_of_types(void **state)
{
    (void)state;
    static const uint32_t widths[] = { SL_GGUF_U8,  SL_GGUF_I8,  SL_GGUF_U16, SL_GGUF_I16,
                                       SL_GGUF_U32, SL_GGUF_I32, SL_GGUF_U64, SL_GGUF_I64 };
    for (size_t i = 0; i < SL_COUNT(widths); i++) {
        sl_vocab v;
        sl_err err = { 0 };
        if (read_faulty(&(fault){ .type_width = widths[i], .last_type = 6 }, &v, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(v.kinds[0], SL_TOKEN_UNKNOWN);
        assert_int_equal(v.kinds[1], SL_TOKEN_CONTROL);
        assert_int_equal(v.kinds[5], SL_TOKEN_BYTE);
        sl_vocab_fini(&v);
    }
}

static void faults_are_named(void **state)
{
    (void)state;
    static const struct {
        fault fault;
        sl_status status;
        const char *says;
    } cases[] = {
        { { .skip = "model" }, SL_ENOTFOUND, "key " KEY("model") " is missing" },
        { { .skip = "tokens" }, SL_ENOTFOUND, "key " KEY("tokens") " is missing" },
        { { .skip = "merges" }, SL_EFORMAT, "key " KEY("merges") " is missing" },
        { { .model = "bert" }, SL_EUNSUPPORTED, "key " KEY("model") ": tokenizer model \"bert\"" },
        { { .model = "gemma4" }, SL_EUNSUPPORTED, "tokenizer model \"gemma4\"" },
        { { .model = "llama" }, SL_EFORMAT, "key " KEY("scores") " is missing" },
        { { .model = "t5" }, SL_EFORMAT, "key " KEY("scores") " is missing" },
        { { .model = "" }, SL_EUNSUPPORTED, "tokenizer model \"\"" },
        { { .type_width = SL_GGUF_F32 }, SL_EFORMAT, "key " KEY("token_type") ": of type array of f32" },
        { { .n_types = 5 }, SL_EFORMAT, "key " KEY("token_type") ": 5 types for 6 tokens" },
        { { .n_types = 7 }, SL_EFORMAT, "key " KEY("token_type") ": 7 types for 6 tokens" },
        { { .last_type = 7 }, SL_EFORMAT, "key " KEY("token_type") ": type 7 of token 5" },
        { { .last_type = -1 }, SL_EFORMAT, "key " KEY("token_type") ": type -1 of token 5" },
        { { .merge = "ab" }, SL_EFORMAT, "key " KEY("merges") ": merge 0, \"ab\"" },
        { { .merge = " ab" }, SL_EFORMAT, "key " KEY("merges") ": merge 0" },
        { { .merge = "ab " }, SL_EFORMAT, "key " KEY("merges") ": merge 0" },
        { { .merge = " " }, SL_EFORMAT, "key " KEY("merges") ": merge 0" },
        { { .merge = "" }, SL_EFORMAT, "key " KEY("merges") ": merge 0" },
        { { .skip = "bos", .id_key = KEY("bos_token_id"), .id = 6 },
          SL_EFORMAT,
          "key " KEY("bos_token_id") ": id 6 is outside the vocabulary of 6" },
        { { .id_key = KEY("eos_token_id"), .id = 1ll << 32 },
          SL_EFORMAT,
          "key " KEY("eos_token_id") ": id 4294967296" },
        { { .id_key = KEY("eot_token_id"), .id = -1 }, SL_EFORMAT, "key " KEY("eot_token_id") ": is negative" },
        { { .id_key = KEY("unknown_token_id"), .id = INT64_MAX }, SL_EFORMAT, "key " KEY("unknown_token_id") ": id" },
        { { .id_key = KEY("padding_token_id"), .id = 6 }, SL_EFORMAT, "key " KEY("padding_token_id") ": id 6" },
        { { .id_key = KEY("add_bos_token"), .id = 1 }, SL_EFORMAT, "key " KEY("add_bos_token") ": of type i64" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_vocab v;
        sl_err err = { 0 };
        const sl_status rc = read_faulty(&cases[i].fault, &v, &err);
        if (rc != cases[i].status)
            fail_msg("case %zu: %s: %s", i, sl_status_name(rc), err.msg);
        check_says(&err, cases[i].says);
    }
}

static void ids_and_flags(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_key_str(&b, KEY("model"), "gpt2");
    gb_strs(&b, KEY("tokens"), tokens, N_TOKENS);
    gb_strs(&b, KEY("merges"), merges, 0);
    gb_u8(gb_key(&b, KEY("bos_token_id"), SL_GGUF_U8), 1);
    gb_u8(gb_key(&b, KEY("eos_token_id"), SL_GGUF_I8), 2);
    gb_key_u32(&b, KEY("eot_token_id"), 3);
    gb_key_u32(&b, KEY("unknown_token_id"), 0);
    gb_key_u32(&b, KEY("padding_token_id"), 5);
    gb_u8(gb_key(&b, KEY("add_bos_token"), SL_GGUF_BOOL), 1);
    gb_u8(gb_key(&b, KEY("add_eos_token"), SL_GGUF_BOOL), 1);
    gb_finish(&b, 0);
    sl_weights *w = check_opens(gb_path(&b));
    sl_err err = { 0 };
    sl_vocab v = { 0 };
    assert_int_equal(sl_weights_vocab(w, &v, &err), SL_OK);
    assert_true(v.bos == 1 && v.eos == 2 && v.eot == 3 && v.unk == 0 && v.pad == 5);
    assert_true(v.n_prefix == 1 && v.prefix[0] == 1 && v.n_suffix == 1 && v.suffix[0] == 2);
    assert_string_equal(v.pre, "default");
    assert_int_equal(v.n_merges, 0);
    assert_int_equal(v.kinds[1], SL_TOKEN_NORMAL); /* no token_type: all ordinary */
    sl_vocab_fini(&v);
    sl_weights_close(w);
    gb_free(&b);
}

/* Llama 3 files that say nothing begin with BOS, as with llama.cpp. */
static void bos_where_the_file_is_silent(void **state)
{
    (void)state;
    static const struct {
        fault fault;
        size_t n_prefix;
    } cases[] = { { { .pre = "llama-bpe" }, 1 },
                  { { .pre = "llama-bpe", .skip = "bos" }, 0 },
                  { { .pre = "qwen2" }, 0 },
                  { { .skip = "pre" }, 0 } };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        sl_vocab v;
        sl_err err = { 0 };
        if (read_faulty(&cases[i].fault, &v, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(v.n_prefix, cases[i].n_prefix);
        sl_vocab_fini(&v);
    }
}

/* ---- SentencePiece ------------------------------------------------------------------------ */

static const char *const pieces[] = { "<unk>", "<s>", "</s>", "\xe2\x96\x81", "a", "<0x41>", "<sep>" };
#define N_PIECES SL_COUNT(pieces)

typedef struct spm {
    const char *model;
    uint32_t score_type; /* 0: f32 */
    size_t n_scores;     /* 0: as many as pieces; SIZE_MAX: no key */
    float last_score;
    const char *byte; /* instead of "<0x41>" */
    bool full;        /* with every key that may be missing */
} spm;

static void write_spm(gguf_build *b, const spm *s)
{
    static const uint8_t types[] = { 2, 3, 3, 1, 1, 6, 4 };
    const char *names[N_PIECES];
    const size_t n = s->n_scores ? s->n_scores : N_PIECES;
    memcpy(names, pieces, sizeof names);
    if (s->byte)
        names[5] = s->byte;
    gb_key_str(begin_llama(b), KEY("model"), s->model);
    gb_strs(b, KEY("tokens"), names, N_PIECES);
    gb_array(b, KEY("token_type"), SL_GGUF_U8, N_PIECES);
    gb_raw(b, types, sizeof types);
    if (n != SIZE_MAX) {
        const uint32_t type = s->score_type ? s->score_type : SL_GGUF_F32;
        gb_array(b, KEY("scores"), type, n);
        for (size_t i = 0; i < n; i++) {
            const float f = i + 1 == n ? s->last_score : -(float)i;
            const double d = f;
            const int32_t whole = -(int32_t)i;
            gb_raw(b,
                   type == SL_GGUF_F32   ? (const void *)&f
                   : type == SL_GGUF_F64 ? (const void *)&d
                                         : &whole,
                   sl_gguf_type_bytes((sl_gguf_type)type));
        }
    }
    if (s->full) {
        gb_u8(gb_key(b, KEY("add_space_prefix"), SL_GGUF_BOOL), 0);
        gb_u8(gb_key(b, KEY("remove_extra_whitespaces"), SL_GGUF_BOOL), 1);
        gb_u8(gb_key(b, KEY("add_bos_token"), SL_GGUF_BOOL), 0);
        gb_u8(gb_key(b, KEY("add_eos_token"), SL_GGUF_BOOL), 1);
        gb_key_u32(b, KEY("eos_token_id"), 4);
        gb_array(b, KEY("precompiled_charsmap"), SL_GGUF_U8, 3);
        gb_raw(b, "map", 3);
    }
    gb_finish(b, 0);
}

static sl_weights *read_spm(gguf_build *b, const spm *s, sl_vocab *v)
{
    sl_err err = { 0 };
    write_spm(b, s);
    sl_weights *w = check_opens(gb_path(b));
    if (sl_weights_vocab(w, v, &err))
        fail_msg("%s", err.msg);
    return w;
}

/* What a file does not say is as llama.cpp supposes it. */
static void sentencepiece_models(void **state)
{
    (void)state;
    static const uint32_t types[] = { SL_GGUF_F32, SL_GGUF_F64, SL_GGUF_I32 };
    for (size_t i = 0; i < 2 * SL_COUNT(types); i++) {
        const bool t5 = i % 2;
        gguf_build b = { 0 };
        sl_vocab v;
        sl_weights *w =
            read_spm(&b, &(spm){ .model = t5 ? "t5" : "llama", .score_type = types[i / 2], .last_score = -6 }, &v);
        assert_int_equal(v.model, t5 ? SL_MODEL_UNIGRAM : SL_MODEL_SCORES);
        assert_true(v.text == SL_TEXT_CHARS && !v.pre && v.n_pretoks == 0 && !v.byte_fallback && !v.double_scores);
        assert_true(v.scores[3] == -3 && v.scores[6] == -6 && v.kinds[5] == SL_TOKEN_BYTE);
        assert_true(v.bos == (t5 ? -1 : 1) && v.eos == (t5 ? 1 : 2) && v.unk == (t5 ? 2 : 0) && v.pad == (t5 ? 0 : -1));
        assert_true(v.n_prefix == !t5 && v.n_suffix == t5);
        assert_int_equal(v.n_added, 4);
        assert_true(v.added[3].id == 6 && !v.added[3].special && !v.added[3].normalized);
        const sl_norm_step *n = v.norms;
        assert_true(v.n_norms == 1 && n->kind == SL_NORM_SENTENCEPIECE && n->escape_spaces && !n->remove_extra);
        assert_true(n->dummy_prefix == !t5 && n->pattern.len == 0);
        assert_true(v.n_decoders == 4 && v.decoders[3].start == (t5 ? 0 : 1) && v.decoders[3].strip_first);
        sl_vocab_fini(&v);
        sl_weights_close(w);
        gb_free(&b);
    }
    gguf_build b = { 0 };
    sl_vocab v;
    sl_weights *w = read_spm(&b, &(spm){ .model = "llama", .full = true }, &v);
    assert_true(!v.norms->dummy_prefix && v.norms->remove_extra && v.norms->pattern.len == 3);
    assert_true(v.n_prefix == 0 && v.n_suffix == 1 && v.suffix[0] == 4 && v.eos == 4 && v.bos == 1);
    sl_vocab_fini(&v);
    sl_weights_close(w);
    gb_free(&b);
}

static void faults_of_sentencepiece(void **state)
{
    (void)state;
    static const struct {
        spm spm;
        const char *says;
    } cases[] = {
        { { .model = "llama", .n_scores = SIZE_MAX }, "key " KEY("scores") " is missing" },
        { { .model = "llama", .n_scores = N_PIECES - 1 }, "key " KEY("scores") ": 6 scores for 7 tokens" },
        { { .model = "t5", .n_scores = N_PIECES + 1 }, "key " KEY("scores") ": 8 scores for 7 tokens" },
        { { .model = "llama", .last_score = __builtin_nanf("") }, "key " KEY("scores") ": the score of token 6" },
        { { .model = "llama", .byte = "<0x4>" }, "key " KEY("tokens") ": token 5, \"<0x4>\", stands for no byte" },
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        gguf_build b = { 0 };
        sl_vocab v = { 0 };
        sl_err err = { 0 };
        write_spm(&b, &cases[i].spm);
        sl_weights *w = check_opens(gb_path(&b));
        assert_int_equal(sl_weights_vocab(w, &v, &err), SL_EFORMAT);
        check_says(&err, cases[i].says);
        sl_weights_close(w);
        gb_free(&b);
    }
}

static void empty_vocabulary(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    begin_llama(&b);
    gb_key_str(&b, KEY("model"), "gpt2");
    gb_strs(&b, KEY("tokens"), tokens, 0);
    gb_finish(&b, 0);
    sl_weights *w = check_opens(gb_path(&b));
    sl_err err = { 0 };
    sl_vocab v = { 0 };
    assert_int_equal(sl_weights_vocab(w, &v, &err), SL_EFORMAT);
    check_says(&err, "key " KEY("tokens") ": 0 tokens");
    sl_weights_close(w);
    gb_free(&b);
}

/* Every allocation of opener, strings and vocabulary fails once: SL_ENOMEM, and nothing stays
 * behind (the leak check of the sanitizers). */
static void every_allocation_fails(void **state)
{
    (void)state;
    gguf_build b = { 0 };
    write_vocab(&b, &(fault){ 0 });
    const char *path = gb_path(&b);
    bool done = false;
    long n = 0;
    for (; !done; n++) {
        sl_err err = { 0 };
        sl_weights *w = NULL;
        sl_vocab v = { 0 };
        assert_true(n < 100);
        sl_mem_fail_after(n);
        sl_status rc = sl_weights_open(&w, path, &err);
        if (!rc)
            rc = sl_weights_vocab(w, &v, &err);
        sl_mem_fail_after(-1);
        if (rc) {
            assert_int_equal(rc, SL_ENOMEM);
            assert_int_equal(err.code, SL_ENOMEM);
            check_says(&err, path);
            assert_null(v.tokens);
        } else {
            done = true;
        }
        sl_vocab_fini(&v);
        sl_weights_close(w);
    }
    assert_true(n > 10);
    gb_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_vocabulary),      cmocka_unit_test(vocabulary_of_a_fixture),
        cmocka_unit_test(any_width_of_types),   cmocka_unit_test(faults_are_named),
        cmocka_unit_test(ids_and_flags),        cmocka_unit_test(bos_where_the_file_is_silent),
        cmocka_unit_test(sentencepiece_models), cmocka_unit_test(faults_of_sentencepiece),
        cmocka_unit_test(empty_vocabulary),     cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
