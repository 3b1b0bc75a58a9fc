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
    sl_bytes tokens[TOY_N], merges[8];
    uint8_t kinds[TOY_N];
    char text[256][4];
} toy;

void toy_fill(toy *y, const char *pre); /* y->v is ready, and may be changed */

#endif
