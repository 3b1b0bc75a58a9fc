/* fuzz_vocab.c - any bytes as the vocabulary of a GGUF file: an error, or a tokenizer that takes
 * text apart into ids of its own range. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "formats/weights.h"
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_vocab(const sl_vocab *vocab)
{
    static const char text[] = "Hello <|im_start|> w\xc3\xb6rld\n\n 123 \xff";
    sl_err err = { 0 };
    sl_tokenizer *t = NULL;
    sl_ids ids = { 0 };
    if (sl_tokenizer_create(&t, vocab, &err) == SL_OK &&
        sl_tokenize(t, text, sizeof text - 1, SL_TOK_ADD_SPECIAL | SL_TOK_PARSE_SPECIAL, &ids, &err) == SL_OK) {
        for (size_t i = 0; i < ids.n; i++)
            if (ids.data[i] < 0 || (size_t)ids.data[i] >= sl_tokenizer_size(t))
                abort();
    }
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    sl_err err = { 0 };
    sl_weights *w = NULL;
    sl_vocab vocab = { 0 };
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sl_weights_open(&w, path, &err) == SL_OK && sl_weights_vocab(w, &vocab, &err) == SL_OK) {
        use_vocab(&vocab);
        sl_vocab_fini(&vocab);
    }
    sl_weights_close(w);
    close(fd);
    return 0;
}
