/* fuzz_tokenizer.c - any bytes as text: their tokens spell exactly the same bytes, and the
 * detokenizer gives whole UTF-8 and nothing else; every kind of model, normalisers with any table. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_BYTES = 256, N_WHOLE = 16, N_ADDED = 4, N_TOKENS = N_BYTES + N_WHOLE };

/* A byte in GPT-2's alphabet: printable bytes are themselves, the others U+0100 and up. */
static sl_bytes spelled(unsigned byte, char out[4])
{
    static const unsigned printable[][2] = { { '!', '~' }, { 0xa1, 0xac }, { 0xae, 0xff } };
    unsigned code = 0x100;
    for (unsigned b = 0; b <= byte; b++) {
        bool is_printable = false;
        for (size_t i = 0; i < 3; i++)
            is_printable |= b >= printable[i][0] && b <= printable[i][1];
        if (b == byte && is_printable)
            code = b;
        else if (b < byte && !is_printable)
            code++;
    }
    if (code < 0x80)
        return (sl_bytes){ .data = out, .len = (size_t)snprintf(out, 4, "%c", (int)code) };
    out[0] = (char)(0xc0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3f));
    return (sl_bytes){ .data = out, .len = 2 };
}

/* What to build: a model with what may stand around it. */
typedef struct kind {
    sl_token_text text;
    sl_vocab_model model;
    const char *pre;
    bool exact;             /* tokens spell the text */
    bool as_double, around; /* around: normalizer, metaspace, flags of added tokens */
} kind;

static const kind kinds[] = {
    { .text = SL_TEXT_ALPHABET, .model = SL_MODEL_MERGES, .pre = "smollm", .exact = true },
    { .text = SL_TEXT_ALPHABET, .model = SL_MODEL_MERGES, .pre = "deepseek-r1-qwen", .exact = true },
    { .text = SL_TEXT_CHARS, .model = SL_MODEL_MERGES, .exact = true },
    { .text = SL_TEXT_BYTES, .model = SL_MODEL_RANKS, .exact = true },
    { .text = SL_TEXT_CHARS, .model = SL_MODEL_SCORES, .exact = true },
    { .text = SL_TEXT_CHARS, .model = SL_MODEL_UNIGRAM, .exact = true },
    { .text = SL_TEXT_CHARS, .model = SL_MODEL_UNIGRAM, .as_double = true, .exact = true },
    { .text = SL_TEXT_CHARS, .model = SL_MODEL_MERGES, .around = true },
    { .text = SL_TEXT_CHARS, .model = SL_MODEL_SCORES, .around = true },
    { .text = SL_TEXT_CHARS, .model = SL_MODEL_UNIGRAM, .as_double = true, .around = true },
};

static const char *const whole[N_WHOLE] = {
    "th", "the",    "\u0120the", "ll",     "12",           "\u0120\u0120", "t",   "h",
    "e",  "\u2581", "\u2581the", "\u00e9", "<|im_start|>", "<|im_end|>",   "<u>", "LL"
};

static sl_bytes token_text(sl_vocab *v, const kind *k, unsigned byte)
{
    char *text = sl_arena_alloc(&v->arena, 8, 1);
    if (k->text == SL_TEXT_ALPHABET)
        return spelled(byte, text);
    if (k->text == SL_TEXT_BYTES) {
        text[0] = (char)byte;
        return (sl_bytes){ text, 1 };
    }
    return (sl_bytes){ text, (size_t)snprintf(text, 8, "<0x%02X>", byte) };
}

static void add_around(sl_vocab *v, const kind *k, sl_bytes table)
{
    if (k->model == SL_MODEL_SCORES) {
        sl_norm_step *n = sl_vocab_add_norm(v, SL_NORM_SENTENCEPIECE);
        n->pattern = table;
        n->dummy_prefix = n->remove_extra = n->escape_spaces = true;
    } else {
        sl_vocab_add_norm(v, k->as_double ? SL_NORM_NFKC : SL_NORM_NFD);
        sl_vocab_add_norm(v, SL_NORM_STRIP_ACCENTS);
        sl_vocab_add_norm(v, SL_NORM_LOWERCASE);
        sl_vocab_add_norm(v, SL_NORM_CHARSMAP)->pattern = table;
        sl_norm_step *n = sl_vocab_add_norm(v, SL_NORM_REPLACE);
        n->pattern = (sl_bytes){ "\\s{2,}", 6 };
        n->text = (sl_bytes){ " ", 1 };
        n->regex = true;
        sl_pretok_step *p = sl_vocab_add_pretok(v, SL_PRETOK_METASPACE);
        p->text = (sl_bytes){ "\u2581", 3 };
        p->prepend = SL_PREPEND_FIRST;
    }
    for (size_t i = 0; i < v->n_added; i++)
        v->added[i].lstrip = v->added[i].rstrip = v->added[i].single_word = v->added[i].normalized = i % 2 == 0;
    sl_decode_step *d = sl_vocab_add_decoder(v, SL_DECODE_METASPACE);
    d->pattern = (sl_bytes){ "\u2581", 3 };
    d->strip_first = true;
    sl_vocab_add_decoder(v, SL_DECODE_BYTE_FALLBACK);
    sl_vocab_add_decoder(v, SL_DECODE_FUSE);
}

static void fill(sl_vocab *v, const kind *k, sl_bytes table)
{
    static const char *const merge[][2] = { { "t", "h" }, { "th", "e" },          { "\u0120", "the" }, { "l", "l" },
                                            { "1", "2" }, { "\u0120", "\u0120" }, { "\u2581", "the" } };
    const size_t n_merges = k->text == SL_TEXT_CHARS ? 2 : 6;
    sl_vocab_init(v);
    v->text = k->text;
    v->model = k->model;
    v->pre = k->pre;
    v->double_scores = k->as_double;
    v->byte_fallback = v->fuse_unk = true;
    v->n_tokens = N_TOKENS;
    v->tokens = sl_arena_alloc(&v->arena, N_TOKENS, sizeof *v->tokens);
    v->kinds = sl_arena_alloc(&v->arena, N_TOKENS, 1);
    v->scores = sl_arena_alloc(&v->arena, N_TOKENS, sizeof *v->scores);
    v->added = sl_arena_alloc(&v->arena, N_WHOLE, sizeof *v->added);
    v->merges = sl_arena_alloc(&v->arena, n_merges, sizeof *v->merges);
    for (unsigned b = 0; b < N_BYTES; b++) {
        v->tokens[b] = token_text(v, k, b);
        v->kinds[b] = k->text == SL_TEXT_CHARS ? SL_TOKEN_BYTE : SL_TOKEN_NORMAL;
    }
    for (size_t i = 0; i < N_WHOLE; i++) {
        const size_t id = N_BYTES + i;
        v->tokens[id] = (sl_bytes){ whole[i], strlen(whole[i]) };
        v->scores[id] = -(double)(i % 5);
        v->kinds[id] = SL_TOKEN_NORMAL;
        if (i < N_WHOLE - N_ADDED)
            continue;
        v->kinds[id] = i < N_WHOLE - 2 ? SL_TOKEN_CONTROL : SL_TOKEN_USER;
        v->added[v->n_added++] = (sl_added_token){ .id = (int32_t)id, .special = i < N_WHOLE - 2 };
    }
    if (k->model == SL_MODEL_SCORES)
        v->kinds[N_BYTES] = SL_TOKEN_UNUSED; /* "th": on the way to "the" */
    for (v->n_merges = 0; v->n_merges < n_merges; v->n_merges++) {
        const char *left = merge[v->n_merges][0], *right = merge[v->n_merges][1];
        v->merges[v->n_merges] = (struct sl_vocab_merge){ { left, strlen(left) }, { right, strlen(right) } };
    }
    if (k->around)
        add_around(v, k, table);
}

/* NULL: the table is refused. */
static sl_tokenizer *make(const kind *k, sl_bytes table)
{
    sl_vocab v;
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    fill(&v, k, table);
    const sl_status rc = sl_tokenizer_create(&t, &v, &err);
    sl_vocab_fini(&v);
    if (rc != SL_OK && table.len == 0) {
        fprintf(stderr, "%s\n", err.msg);
        abort();
    }
    return t;
}

static void demand(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static bool is_utf8(const unsigned char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const unsigned c = s[i];
        const size_t len = c < 0x80                ? 1
                           : c >= 0xc2 && c < 0xe0 ? 2
                           : c >= 0xe0 && c < 0xf0 ? 3
                           : c >= 0xf0 && c < 0xf5 ? 4
                                                   : 0;
        if (len == 0 || i + len > n)
            return false;
        for (size_t k = 1; k < len; k++)
            if ((s[i + k] & 0xc0) != 0x80)
                return false;
        const unsigned second = len > 2 ? s[i + 1] : 0x90;
        if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) || (c == 0xf0 && second < 0x90) ||
            (c == 0xf4 && second > 0x8f))
            return false;
        i += len;
    }
    return true;
}

/* Tokens of a text; also, where the model is exact, that they spell it. */
static void try_text(const sl_tokenizer *t, const char *text, size_t len, unsigned flags, bool exact)
{
    sl_err err = { 0 };
    sl_ids ids = { 0 };
    sl_str spelling = { 0 }, shown = { 0 };
    sl_detok detok = { 0 };
    const size_t apart = len / 2;
    demand(sl_tokenize_apart(t, text, len, &apart, apart > 0, flags, &ids, &err) == SL_OK, err.msg);
    sl_detok_init(&detok, t, true);
    for (size_t i = 0; i < ids.n; i++) {
        demand(ids.data[i] >= 0 && (size_t)ids.data[i] < sl_tokenizer_size(t), "an id outside the vocabulary");
        const sl_bytes piece = sl_token_written(t, ids.data[i]);
        const bool is_byte = ids.data[i] < N_BYTES && piece.len == 6;
        const char byte = (char)ids.data[i];
        sl_str_append(&spelling, is_byte ? &byte : piece.data, is_byte ? 1 : piece.len);
        sl_detok_next(&detok, ids.data[i], &shown);
        demand(is_utf8((const unsigned char *)shown.data, shown.len), "the detokenizer let half a character out");
    }
    sl_detok_flush(&detok, &shown);
    demand(is_utf8((const unsigned char *)shown.data, shown.len), "the flush is no UTF-8");
    sl_detok_init_after(&detok, t, false, ids.data, ids.n);
    demand(detok.n_held == detok.n_old && detok.n_held < 4, "a prompt holds more than half a character");
    if (exact)
        demand(spelling.len == len && (len == 0 || memcmp(spelling.data, text, len) == 0), "tokens spell another text");
    sl_str_fini(&spelling);
    sl_str_fini(&shown);
    sl_ids_fini(&ids);
}

/* First byte: the flags and the kind of tokenizer. The kind behind the last takes the next byte as
 * the length of a normaliser's table, in eights, and that table from the input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { N_KINDS = sizeof kinds / sizeof *kinds };
    static sl_tokenizer *tokenizer[N_KINDS];
    for (size_t i = 0; i < N_KINDS && !tokenizer[i]; i++)
        tokenizer[i] = make(&kinds[i], (sl_bytes){ "", 0 });
    if (size == 0)
        return 0;
    const unsigned flags = data[0] & 1 ? SL_TOK_PARSE_SPECIAL : 0;
    const size_t which = (data[0] >> 1) % (N_KINDS + 1);
    const char *text = (const char *)data + 1;
    if (which < N_KINDS) {
        try_text(tokenizer[which], text, size - 1, flags, kinds[which].exact);
        return 0;
    }
    if (size < 2)
        return 0;
    const size_t n = (size_t)data[1] * 8 < size - 2 ? (size_t)data[1] * 8 : size - 2;
    sl_tokenizer *t = make(&kinds[N_KINDS - 1 - (data[0] >> 7)], (sl_bytes){ (const char *)data + 2, n });
    if (t)
        try_text(t, (const char *)data + 2 + n, size - 2 - n, flags, false);
    sl_tokenizer_destroy(t);
    return 0;
}
