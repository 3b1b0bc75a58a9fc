/* fuzz_sentencepiece.c - any bytes as a SentencePiece model: an error, or a tokenizer that works. */
#include "formats/vocab_files.h"
#include "use_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_err err = { 0 };
    sl_vocab v;
    if (sl_vocab_read_sentencepiece(&v, data, size, &err) == SL_OK)
        use_vocab(&v);
    sl_vocab_fini(&v);
    return 0;
}
