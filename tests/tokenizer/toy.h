/* toy.h - a vocabulary made by hand: every byte, letters that merge, and special tokens. */
#ifndef TESTS_TOKENIZER_TOY_H
#define TESTS_TOKENIZER_TOY_H

#include "tokenizer/tokenizer.h"

/* Ids: byte b is b; then come the merges' tokens in order, then the specials. */
enum {
    TOY_AB = 256, /* "a b" */
    TOY_CD,       /* "c d" */
    TOY_ABCD,     /* "ab cd" */
    TOY_SPACE_A,  /* "Ġ a" */
    TOY_BC,       /* "b c", below "a b" and "c d" in rank */
    TOY_BOS,      /* "<s>" control */
    TOY_EOS,      /* "</s>" control */
    TOY_IM,       /* "<|im_start|>" control */
    TOY_IM_END,   /* "<|im_end|>" control */
    TOY_IM_LONG,  /* "<|im_start|>user" control: longer than another that it begins with */
    TOY_THINK,    /* "<think>" user */
    TOY_N
};

typedef struct toy {
    sl_vocab v;
    sl_bytes tokens[TOY_N];
    struct sl_vocab_merge merges[8];
    sl_added_token added[8];
    int32_t around[2];
    uint8_t kinds[TOY_N];
    char text[256][4];
} toy;

void toy_fill(toy *y, const char *pre);
void toy_surround(toy *y, int32_t before, int32_t behind);
/* ids put around a text; -1: none */ /* y->v is ready, and may be changed */

#endif
