/* vocab_json.h - a test's vocabulary from a tokenizer.json: what the fixtures hold. */
#ifndef TESTS_TOKENIZER_VOCAB_JSON_H
#define TESTS_TOKENIZER_VOCAB_JSON_H

#include <jansson.h>
#include "tokenizer/vocab.h"

typedef struct vocab_json {
    json_t *root; /* keeps the strings */
    sl_vocab v;   /* no bos, no eos; `pre` is the caller's */
} vocab_json;

void vocab_json_load(vocab_json *j, const char *path, const char *pre); /* fails the test */
void vocab_json_free(vocab_json *j);

#endif
