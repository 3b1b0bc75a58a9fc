/* fuzz_gguf.c - any bytes as a GGUF file: an error or a model whose every tensor can be read,
 * whose settings and vocabulary can be asked for. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "formats/gguf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile unsigned seen; /* keeps the reads below */

/* The parser alone, on a block of exactly the input's size: a sanitizer sees one byte too far. */
static void parse(const uint8_t *data, size_t size)
{
    sl_err err;
    sl_gguf g;
    if (sl_gguf_parse(&g, data, size, &err) != SL_OK)
        return;
    for (size_t i = 0; i < g.n_tensors; i++) {
        const sl_weight_info *info = &g.tensors[i].info;
        const uint8_t *bytes = info->tensor.data;
        if (info->bytes > 0)
            seen = bytes[0] + bytes[info->bytes - 1];
    }
    sl_gguf_fini(&g);
}

/* The whole way, through a file. */
static void open_and_ask(const uint8_t *data, size_t size)
{
    char path[64];
    sl_err err;
    sl_weights *w = NULL;
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sl_weights_open(&w, path, &err) == SL_OK) {
        uint64_t u = 0;
        double f = 0;
        const char *s = NULL;
        sl_vocab vocab = { 0 };
        (void)sl_weights_get_u64(w, "%s.block_count", true, &u, &err);
        (void)sl_weights_get_f64(w, "%s.rope.freq_base", false, &f, &err);
        (void)sl_weights_get_str(w, "tokenizer.chat_template", false, &s, &err);
        (void)sl_weights_find(w, "token_embd.weight");
        if (sl_weights_vocab(w, &vocab, &err) == SL_OK)
            sl_vocab_fini(&vocab);
        sl_weights_close(w);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    parse(data, size);
    open_and_ask(data, size);
    return 0;
}
