/* text.h - the texts of a model, with or without its weights: its tokenizer, and its chat templates as they are
 * written.
 *
 *   sl_text *t;  sl_text_open(&t, "folder/", NULL, &err);
 *   sl_ids ids = { 0 };
 *   sl_text_tokenize(t, "Hello", 5, SL_TEXT_ADD_SPECIAL, &ids, &err);
 *
 * Threads: an sl_text changes nothing after it was opened; any number of threads may use one. A detokenizer belongs to
 * one thread at a time, and its sl_text has to outlive it. What chat templates make of messages, and replies taken
 * apart: chat.h.
 */
#ifndef SLUICE_TEXT_H
#define SLUICE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sluice/buffer.h"
#include "sluice/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sl_text sl_text;

typedef struct sl_text_options {
    /* Cut texts as this known pre-tokenizer does ("qwen2"), whatever the file says; NULL: as the file says. For files
     * whose own name for it is not known. */
    const char *pretokenizer;
    /* Settings in place of those in a .gguf file, "KEY=TYPE:VALUE" with TYPE int, float, bool or str. Of another type
     * than in the file, or neither in the file nor read by anything: SL_EINVAL. */
    const char *const *overrides;
    size_t n_overrides;
} sl_text_options;

/* `path` is a .gguf file, a Hugging Face folder (tokenizer.json or another vocabulary, tokenizer_config.json and what
 * else there is of it), or a vocabulary's file alone. `o` may be NULL. SL_ENOTFOUND, SL_EIO, SL_EFORMAT,
 * SL_EUNSUPPORTED, SL_ENOMEM; the text names the file and the place in it. */
SL_API sl_status sl_text_open(sl_text **out, const char *path, const sl_text_options *o, sl_err *err);
SL_API void sl_text_close(sl_text *t); /* accepts NULL */

/* Whether there is a vocabulary that can be used; `why` (may be NULL) says what is wrong with it. Without one there are
 * no tokens, and calls that need some fail with that status. */
SL_API bool sl_text_has_tokenizer(const sl_text *t, sl_err *why);

/* By name: "default" (NULL means that one), "tool_use" where a model has another for tools. NULL: there is none. */
SL_API const char *sl_text_chat_template(const sl_text *t, const char *name);
SL_API size_t sl_text_n_chat_templates(const sl_text *t);
SL_API const char *sl_text_chat_template_name(const sl_text *t, size_t i); /* i < n */

/* ---- tokens ------------------------------------------------------------------ */

SL_API size_t sl_text_n_tokens(const sl_text *t); /* ids are below; a model may have more rows than that */
SL_API int32_t sl_text_bos(const sl_text *t);     /* -1: none; likewise below */
SL_API int32_t sl_text_eos(const sl_text *t);
SL_API bool sl_text_is_end(const sl_text *t, int32_t id); /* whether the id ends an answer: eos, eot and their like */
/* The id whose text is exactly that, control tokens included ("<|im_end|>"); -1: none. */
SL_API int32_t sl_text_find(const sl_text *t, const char *text, size_t len);
/* What an id says in the middle of a text, perhaps a part of a character; control tokens only when `special` is set.
 * Borrowed from t. Without a text, or outside the vocabulary: no bytes. */
SL_API sl_bytes sl_text_token(const sl_text *t, int32_t id, bool special);

enum {
    SL_TEXT_ADD_SPECIAL = 1,   /* BOS and EOS as the vocabulary asks */
    SL_TEXT_PARSE_SPECIAL = 2, /* control tokens in the text are recognised; else they are plain text */
};
/* Append the ids of UTF-8 text (NULs allowed; bytes that are no UTF-8 become their byte tokens, or the unknown one).
 * SL_EINVAL: 2 GiB or more without a break; SL_ENOMEM; why there is no vocabulary. Time is n log n at worst. */
SL_API sl_status sl_text_tokenize(const sl_text *t, const char *text, size_t len, unsigned flags, sl_ids *ids,
                                  sl_err *err);
/* Append the text of ids; control tokens only when `special` is set. Always UTF-8: bytes that are none come out as
 * U+FFFD. SL_ENOMEM; why there is no vocabulary. */
SL_API sl_status sl_text_detokenize(const sl_text *t, const int32_t *ids, size_t n, bool special, sl_str *out,
                                    sl_err *err);

/* ---- text piece by piece ------------------------------------------------------- */

/* Ids to text as they come, never half a character: bytes that may still become whole are kept back. The pieces joined
 * are what sl_text_detokenize gives. */
typedef struct sl_detokenizer sl_detokenizer;

SL_API sl_status sl_detokenizer_create(sl_detokenizer **out, const sl_text *t, bool special, sl_err *err);
SL_API void sl_detokenizer_destroy(sl_detokenizer *d); /* accepts NULL */
/* Begin anew behind a prompt of which nothing is given out: half a character at its end joins the first new id. n = 0:
 * at the beginning of a text, as after creation. */
SL_API void sl_detokenizer_restart(sl_detokenizer *d, const int32_t *prompt, size_t n);
/* Append what has become certain. SL_ENOMEM: as if the id had not been fed. No heap call once `out` is large enough,
 * but for a text's first id. */
SL_API sl_status sl_detokenizer_feed(sl_detokenizer *d, int32_t id, sl_str *out, sl_err *err);
/* The end of the text: what was kept back comes out as U+FFFD. */
SL_API sl_status sl_detokenizer_flush(sl_detokenizer *d, sl_str *out, sl_err *err);

#ifdef __cplusplus
}
#endif
#endif
