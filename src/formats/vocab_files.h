/* vocab_files.h - readers of the files that tokenizers come in, each into the neutral form.
 *
 *   tokenizer.json      the `tokenizers` library's own file: everything is in it
 *   tokenizer.model     SentencePiece's protobuf: BPE or unigram
 *   *.tiktoken          tokens as base64 and their ranks; pattern and specials belong to the family
 *   tekken.json         Mistral's form of the same, with the pattern
 *
 * All take a file's bytes, trust nothing in them and copy what they keep: the bytes may go
 * afterwards, sl_vocab_fini ends the result. Errors say where in the file, not which file:
 * SL_EFORMAT, SL_EUNSUPPORTED (a step or a setting that the neutral form cannot say, by its name),
 * SL_ENOMEM; *out is then as sl_vocab_init leaves it.
 */
#ifndef SL_FORMATS_VOCAB_FILES_H
#define SL_FORMATS_VOCAB_FILES_H

#include "base/status.h"
#include "formats/json.h"
#include "tokenizer/vocab.h"

/* As written: steps in their order, no names looked for. bos, eos and pad are -1, since the file does not say
 * them. Format: huggingface/tokenizers, tokenizers/src/tokenizer/serialization.rs and the steps' own files. */
sl_status sl_vocab_read_tokenizer_json(sl_vocab *out, const void *bytes, size_t n, sl_err *err);

/* Unigram and BPE; bos, eos and pad by the names that the trainer noted. Nothing is put around a text, as with the
 * library itself. Format: google/sentencepiece, src/sentencepiece_model.proto. */
sl_status sl_vocab_read_sentencepiece(sl_vocab *out, const void *bytes, size_t n, sl_err *err);

/* Ranks. `file_name` (without its folder) and `config` (a tokenizer_config.json; NULL: none) tell the family: Kimi,
 * Qwen, Llama 3 and 4, cl100k_base, o200k_base; SL_EUNSUPPORTED for others. Nothing is put around a text. */
sl_status sl_vocab_read_tiktoken(sl_vocab *out, const void *bytes, size_t n, const char *file_name,
                                 const sl_json *config, sl_err *err);
/* Mistral's tekken.json, special tokens first. Nothing is put around a text. */
sl_status sl_vocab_read_tekken(sl_vocab *out, const void *bytes, size_t n, sl_err *err);

#endif
