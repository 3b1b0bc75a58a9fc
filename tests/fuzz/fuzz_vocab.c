/* fuzz_vocab.c - any bytes as the vocabulary of a GGUF file: an error, or a tokenizer that takes
 * text apart into ids of its own range. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "formats/weights.h"
#include "use_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
