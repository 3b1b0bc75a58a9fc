/* use_vocab.h - what the targets that read a vocabulary do with it: a tokenizer, ids of a text, and
 * the text of those and of other ids. */
#ifndef TESTS_FUZZ_USE_VOCAB_H
#define TESTS_FUZZ_USE_VOCAB_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "tokenizer/tokenizer.h"

static inline void use_vocab(const sl_vocab *vocab)
{
    static const char text[] = "Hello <|im_start|> w\xc3\xb6rld\n\n 123 \xff ab<s>  \xe2\x96\x81\xf0\x9f\x98\x80";
    sl_err err = { 0 };
    sl_tokenizer *t = NULL;
    sl_ids ids = { 0 };
    sl_str out = { 0 };
    sl_detok d;
    if (sl_tokenizer_create(&t, vocab, &err) == SL_OK &&
        sl_tokenize(t, text, sizeof text - 1, SL_TOK_ADD_SPECIAL | SL_TOK_PARSE_SPECIAL, &ids, &err) == SL_OK) {
        sl_detok_init(&d, t, true);
        for (size_t i = 0; i < ids.n; i++) {
            if (ids.data[i] < 0 || (size_t)ids.data[i] >= sl_tokenizer_size(t))
                abort();
            sl_detok_next(&d, ids.data[i], &out);
        }
        for (int32_t id = 0; id < 300 && (size_t)id < sl_tokenizer_size(t); id++)
            sl_detok_next(&d, id, &out);
        sl_detok_flush(&d, &out);
    }
    sl_str_fini(&out);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
}

#endif
