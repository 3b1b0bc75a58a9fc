/* fuzz_tokenizer.c - any bytes as text: their tokens spell exactly the same bytes, and the
 * detokenizer gives whole UTF-8 and nothing else. First byte: the flags and the pre-tokenizer. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_BYTES = 256, N_TOKENS = N_BYTES + 8 };

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

static sl_tokenizer *make(const char *pre)
{
    static char byte[N_BYTES][4];
    static const char *const whole[8] = { "th", "the", "Ġthe", "ll", "12", "ĠĠ", "<|im_start|>", "<|im_end|>" };
    static const char *const merge[6][2] = { { "t", "h" }, { "th", "e" }, { "Ġ", "the" },
                                             { "l", "l" }, { "1", "2" },  { "Ġ", "Ġ" } };
    sl_bytes tokens[N_TOKENS] = { 0 };
    struct sl_vocab_merge merges[6] = { 0 };
    uint8_t kinds[N_TOKENS] = { 0 };
    static const sl_added_token added[2] = { { .id = N_BYTES + 6, .special = true },
                                             { .id = N_BYTES + 7, .special = true } };
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    for (unsigned b = 0; b < N_BYTES; b++)
        tokens[b] = spelled(b, byte[b]);
    for (size_t i = 0; i < 8; i++) {
        tokens[N_BYTES + i] = (sl_bytes){ .data = whole[i], .len = strlen(whole[i]) };
        kinds[N_BYTES + i] = i < 6 ? SL_TOKEN_NORMAL : SL_TOKEN_CONTROL;
    }
    for (size_t i = 0; i < 6; i++)
        merges[i] =
            (struct sl_vocab_merge){ { merge[i][0], strlen(merge[i][0]) }, { merge[i][1], strlen(merge[i][1]) } };
    const sl_vocab vocab = { .pre = pre,
                             .n_tokens = N_TOKENS,
                             .tokens = tokens,
                             .kinds = kinds,
                             .n_merges = 6,
                             .merges = merges,
                             .n_added = 2,
                             .added = (sl_added_token *)added,
                             .bos = N_BYTES + 6,
                             .eos = N_BYTES + 7,
                             .eot = -1,
                             .unk = -1,
                             .pad = -1 };
    if (sl_tokenizer_create(&t, &vocab, &err) != SL_OK) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sl_tokenizer *tokenizer[2];
    sl_err err = { 0 };
    sl_ids ids = { 0 };
    sl_str exact = { 0 }, shown = { 0 };
    if (!tokenizer[0]) {
        tokenizer[0] = make("smollm");
        tokenizer[1] = make("qwen2");
    }
    if (size == 0)
        return 0;
    const sl_tokenizer *t = tokenizer[data[0] >> 1 & 1];
    const unsigned flags = data[0] & 1 ? SL_TOK_PARSE_SPECIAL : 0;
    const char *text = (const char *)data + 1;
    const size_t len = size - 1;
    demand(sl_tokenize(t, text, len, flags, &ids, &err) == SL_OK, err.msg);

    sl_detok detok = { 0 };
    sl_detok_init(&detok, t, true);
    for (size_t i = 0; i < ids.n; i++) {
        const sl_bytes piece = sl_token_bytes(t, ids.data[i], true);
        sl_str_append(&exact, piece.data, piece.len);
        sl_detok_next(&detok, ids.data[i], &shown);
        demand(is_utf8((const unsigned char *)shown.data, shown.len), "the detokenizer let half a character out");
    }
    sl_detok_flush(&detok, &shown);
    demand(exact.len == len && (len == 0 || memcmp(exact.data, text, len) == 0), "tokens spell another text");
    demand(is_utf8((const unsigned char *)shown.data, shown.len), "the flush is no UTF-8");
    if (is_utf8((const unsigned char *)text, len))
        demand(shown.len == len && (len == 0 || memcmp(shown.data, text, len) == 0), "the text came out changed");
    sl_str_fini(&exact);
    sl_str_fini(&shown);
    sl_ids_fini(&ids);
    return 0;
}
