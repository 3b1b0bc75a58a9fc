/* neutral_json.h - a vocabulary of toys.py, in the neutral form written as JSON. */
#ifndef TESTS_TOKENIZER_NEUTRAL_JSON_H
#define TESTS_TOKENIZER_NEUTRAL_JSON_H

#include <jansson.h>
#include "tokenizer/vocab.h"

/* Fills *v from an object, which must stay; fails the test. `table`: SentencePiece's. */
void neutral_json_fill(sl_vocab *v, const json_t *toy, sl_bytes table);

#endif
