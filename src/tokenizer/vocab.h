/* vocab.h - a tokenizer in neutral form: what the readers of files fill in and the tokenizer is
 * made from. It says what is done to a text, in the words of the `tokenizers` library:
 *
 *   text -> added tokens cut out -> normalizer -> pre-tokenizer -> model -> post-processor -> ids
 *   ids  -> decoder -> text
 *
 * A reader executes nothing and decides nothing: a step that it cannot express here is refused
 * by its name.
 */
#ifndef SL_TOKENIZER_VOCAB_H
#define SL_TOKENIZER_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/mem.h"
#include "base/status.h"
#include "sluice/buffer.h"

typedef enum sl_token_kind {
    SL_TOKEN_NORMAL,
    SL_TOKEN_CONTROL, /* special: hidden in output unless asked for */
    SL_TOKEN_USER,    /* added by a user: shown */
    SL_TOKEN_BYTE,    /* "<0x41>" of SentencePiece vocabularies */
    SL_TOKEN_UNUSED,  /* never made from text; an id without a name too */
    SL_TOKEN_UNKNOWN,
} sl_token_kind;

/* What the stored text of a token means. */
typedef enum sl_token_text {
    SL_TEXT_ALPHABET, /* bytes as visible characters, GPT-2's alphabet: 0x20 is U+0120 */
    SL_TEXT_CHARS,    /* UTF-8 as it stands, made of whole characters */
    SL_TEXT_BYTES,    /* raw bytes: tiktoken */
} sl_token_text;

typedef enum sl_vocab_model {
    SL_MODEL_MERGES,  /* BPE: `merges`, best first */
    SL_MODEL_RANKS,   /* BPE: any two neighbours that together are a token, the lowest id first (tiktoken) */
    SL_MODEL_SCORES,  /* BPE: any two neighbours that together are a token, the highest score first (SentencePiece) */
    SL_MODEL_UNIGRAM, /* the path of the highest sum of scores */
} sl_vocab_model;

/* A token that is matched in the text before the model sees it. */
typedef struct sl_added_token {
    int32_t id;
    bool special;        /* only where the caller lets control tokens be recognised */
    bool normalized;     /* matched in the normalised text, itself normalised; else in the text as it came */
    bool lstrip, rstrip; /* takes the white space beside it along */
    bool single_word;    /* not inside a word */
} sl_added_token;

typedef enum sl_norm_kind {
    SL_NORM_NFC,
    SL_NORM_NFD,
    SL_NORM_NFKC,
    SL_NORM_NFKD,
    SL_NORM_LOWERCASE,
    SL_NORM_STRIP, /* white space at the ends: left, right */
    SL_NORM_STRIP_ACCENTS,
    SL_NORM_NMT,
    SL_NORM_PREPEND,       /* `text` in front of what is not empty */
    SL_NORM_REPLACE,       /* `pattern` by `text` */
    SL_NORM_CHARSMAP,      /* SentencePiece's precompiled table, raw bytes in `pattern` (may be empty) */
    SL_NORM_SENTENCEPIECE, /* its whole normaliser: the table in `pattern`, then the three flags below */
} sl_norm_kind;

typedef struct sl_norm_step {
    sl_norm_kind kind;
    sl_bytes pattern, text;
    bool regex;         /* of `pattern`; else a literal string */
    bool left, right;   /* STRIP */
    bool dummy_prefix;  /* SENTENCEPIECE: U+2581 in front (at the end with space_suffix) */
    bool remove_extra;  /* SENTENCEPIECE: white space at the ends goes, runs become one */
    bool escape_spaces; /* SENTENCEPIECE: a space becomes U+2581 */
    bool space_suffix;  /* SENTENCEPIECE: treat_whitespace_as_suffix */
} sl_norm_step;

typedef enum sl_pretok_kind {
    SL_PRETOK_SPLIT,        /* at `pattern`, see behavior and invert */
    SL_PRETOK_PREFIX_SPACE, /* a space in front of a piece that does not begin with one */
    SL_PRETOK_BYTE_LEVEL,   /* from here on a piece is its bytes in GPT-2's alphabet, for later patterns too */
    SL_PRETOK_METASPACE,    /* each space becomes `text`, which may be put in front: prepend */
    SL_PRETOK_CHUNKS,       /* pieces of `length` characters (FixedLength) */
} sl_pretok_kind;

typedef enum sl_split_behavior { /* what becomes of a match, as in the `tokenizers` library */
                                 SL_SPLIT_REMOVED,
                                 SL_SPLIT_ISOLATED,
                                 SL_SPLIT_MERGED_WITH_PREVIOUS,
                                 SL_SPLIT_MERGED_WITH_NEXT,
                                 SL_SPLIT_CONTIGUOUS,
} sl_split_behavior;

typedef enum sl_prepend {
    SL_PREPEND_NEVER,
    SL_PREPEND_FIRST /* piece of the text only */,
    SL_PREPEND_ALWAYS
} sl_prepend;

typedef struct sl_pretok_step {
    sl_pretok_kind kind;
    sl_bytes pattern;
    bool regex; /* of `pattern`; else a literal string */
    bool rust;  /* the regex is meant as Rust's fancy-regex has it (tiktoken), not as Oniguruma does */
    sl_split_behavior behavior;
    bool invert; /* what lies between the matches counts as the match */
    sl_bytes text;
    sl_prepend prepend;
    size_t length;
} sl_pretok_step;

typedef enum sl_decode_kind {
    SL_DECODE_BYTE_LEVEL,    /* GPT-2's alphabet back to bytes; a token with other characters stays as it is */
    SL_DECODE_REPLACE,       /* literal `pattern` by `text`, in each token */
    SL_DECODE_BYTE_FALLBACK, /* "<0x41>" to its byte */
    SL_DECODE_FUSE,          /* steps after it see one text, not tokens */
    SL_DECODE_STRIP,         /* the character `pattern`: up to `start` of them in front, `stop` behind; behind FUSE,
                              * with `strip_first`, one of each token at most, and none behind the first token that
                              * does not begin with U+2581 or is the unknown one */
    SL_DECODE_METASPACE,     /* `pattern` to a space; in the first token all of them go, if `strip_first` */
} sl_decode_kind;

typedef struct sl_decode_step {
    sl_decode_kind kind;
    sl_bytes pattern, text;
    size_t start, stop;
    bool strip_first;
} sl_decode_step;

/* Zero is a valid start, except that ids mean "none" by -1: use sl_vocab_init. Arrays and strings
 * belong to `arena`, or are borrowed from something that outlives the structure. */
typedef struct sl_vocab {
    sl_arena arena;

    /* tokens, by id */
    sl_token_text text;
    size_t n_tokens;
    sl_bytes *tokens; /* [n_tokens] as stored; an added token always as UTF-8, whatever `text` says */
    uint8_t *kinds;   /* [n_tokens] sl_token_kind */
    double *scores;   /* [n_tokens] SCORES and UNIGRAM, else NULL */
    size_t n_added;
    sl_added_token *added; /* [n_added] no id twice */
    int32_t bos, eos, eot, unk, pad;
    size_t n_ends;
    int32_t *ends; /* [n_ends] further ids that end an answer */

    /* the model */
    sl_vocab_model model;
    size_t n_merges;
    struct sl_vocab_merge {
        sl_bytes left, right; /* as stored in tokens */
    } * merges;               /* [n_merges] best first */
    bool byte_fallback;       /* a character without a token becomes its BYTE tokens */
    bool fuse_unk;            /* neighbouring unknown characters become one `unk` */
    bool whole_pieces;        /* a piece that is a token stays one, whatever the merges say (ignore_merges) */
    bool double_scores; /* UNIGRAM: sums in double, as the `tokenizers` library; else in float, as SentencePiece */

    /* around it */
    const char *pre; /* the name of a known pre-tokenizer, whose steps are then used (and NFC, where its models say so);
                        NULL: pretoks */
    bool lone_byte_level; /* tokenizer.json: the pre-tokenizer is ByteLevel, and in no sequence */
    size_t n_norms, n_pretoks, n_decoders;
    sl_norm_step *norms;
    sl_pretok_step *pretoks;
    sl_decode_step *decoders; /* none, with SL_TEXT_CHARS: tokens are joined by a space, as in the reference */
    size_t n_prefix, n_suffix;
    int32_t *prefix, *suffix; /* ids put around a text: the post-processor */

    /* Before all else a text is cut every max_chars characters, and inside a run of white space or
     * of anything else every max_run characters (how Llama 3's and Kimi's wrappers of tiktoken work); 0: never. */
    size_t max_chars, max_run;
} sl_vocab;

void sl_vocab_init(sl_vocab *v);
void sl_vocab_fini(sl_vocab *v); /* frees the arena; accepts a zeroed one */

/* Append to one of the arrays of steps, which then lies in the arena. NULL: no memory. */
sl_norm_step *sl_vocab_add_norm(sl_vocab *v, sl_norm_kind kind);
sl_pretok_step *sl_vocab_add_pretok(sl_vocab *v, sl_pretok_kind kind);
sl_decode_step *sl_vocab_add_decoder(sl_vocab *v, sl_decode_kind kind);
/* Whether a text begins with the begin token, by the name of the pre-tokenizer: where a GGUF file says nothing. */
bool sl_vocab_pre_adds_bos(const char *pre);
/* A split as the `tokenizers` library's Split with a regex and "Isolated". */
sl_pretok_step *sl_vocab_add_split(sl_vocab *v, const char *regex);

#endif
