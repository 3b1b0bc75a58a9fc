/* vocab.h - a vocabulary in neutral form: what file formats fill and the tokenizer reads. */
#ifndef SL_TOKENIZER_VOCAB_H
#define SL_TOKENIZER_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sl_bytes {
    const char *data; /* not terminated */
    size_t len;
} sl_bytes;

typedef enum sl_token_kind {
    SL_TOKEN_NORMAL,
    SL_TOKEN_CONTROL, /* special: matched in text before anything else, hidden in output */
    SL_TOKEN_USER,    /* added by the user: matched in text before anything else, shown */
    SL_TOKEN_BYTE,    /* "<0x41>" of SentencePiece vocabularies */
    SL_TOKEN_UNUSED,
    SL_TOKEN_UNKNOWN,
} sl_token_kind;

typedef enum sl_vocab_model { SL_VOCAB_BPE_BYTES /* GPT-2's byte alphabet */ } sl_vocab_model;

typedef struct sl_vocab {
    sl_vocab_model model;
    const char *pre; /* name of the pre-tokenizer: "smollm", "qwen2", "default" … */
    size_t n_tokens;
    sl_bytes *tokens; /* [n_tokens] as stored (for BPE_BYTES: in the byte alphabet) */
    uint8_t *kinds;   /* [n_tokens] sl_token_kind */
    size_t n_merges;
    sl_bytes *merges;                /* [n_merges] "left right", best first */
    int32_t bos, eos, eot, unk, pad; /* -1: none */
    bool add_bos, add_eos;
} sl_vocab;

#endif
