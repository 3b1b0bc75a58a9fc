/* text_files.h - the text side of a model, wherever it lies: vocabulary and chat templates.
 *
 *   FILE.gguf        its keys tokenizer.*
 *   a folder         the first of tokenizer.json, tiktoken.model, *.tiktoken, tokenizer.model, tekken.json; then what
 *                    the small files beside it say: tokenizer_config.json (special tokens, their flags, templates),
 *                    special_tokens_map.json, generation_config.json or config.json (ids that end an answer),
 * chat_template.jinja, additional_chat_templates/NAME.jinja, chat_template.json one such file    as it is; only for a
 * *.tiktoken file the folder is looked at, for its family
 *
 * The order is that of Transformers, which prefers the `tokenizers` library's file to all it would convert. BOS and
 * EOS are put around a text as its release 4 does: by the file's post-processor, except for the classes that
 * write one of their own (Llama, CodeLlama, Gemma, Cohere, GPTNeoX). Of classes like GPT-2's the configuration's
 * add_prefix_space counts, not the one of a ByteLevel that is the file's whole pre-tokenizer. Beside a
 * tokenizer.model Llama's "legacy" and "add_prefix_space" count, and an old folder's added_tokens.json; classes that
 * renumber its pieces are refused. Release 5 builds the steps of some classes (Llama, T5, Albert, ...) anew; here
 * they are those of the file.
 */
#ifndef SL_FORMATS_TEXT_FILES_H
#define SL_FORMATS_TEXT_FILES_H

#include "base/mem.h"
#include "base/status.h"
#include "formats/weights.h"
#include "tokenizer/vocab.h"

typedef struct sl_text_template {
    const char *name; /* "default", "tool_use", ... */
    const char *source;
} sl_text_template;

typedef struct sl_text_files {
    sl_vocab vocab;
    sl_weights *weights; /* NULL, or the GGUF file from which the vocabulary is borrowed */
    sl_status no_vocab;  /* other than SL_OK: there is none, and `why` says what is wrong with it */
    sl_err why;
    sl_arena arena; /* of the templates */
    size_t n_templates;
    sl_text_template *templates; /* the one named "default" first, if there is one */
} sl_text_files;

/* A model without a usable vocabulary is no error here: no_vocab says so. SL_ENOTFOUND, SL_EIO, SL_EFORMAT (a
 * template), SL_EUNSUPPORTED (too large), SL_EINVAL (an override; `o` may be NULL), SL_ENOMEM; err names the file. */
sl_status sl_text_files_open(sl_text_files *out, const char *path, const sl_overrides *o, sl_err *err);
/* The same of a model that is open; from a GGUF file the vocabulary, but no template, is borrowed. */
sl_status sl_text_files_of_weights(sl_text_files *out, const sl_weights *w, sl_err *err);
void sl_text_files_drop_vocab(sl_text_files *t); /* keeps the templates */
void sl_text_files_fini(sl_text_files *t);       /* accepts a zeroed one */

#endif
