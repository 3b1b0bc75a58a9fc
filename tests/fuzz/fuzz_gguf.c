/* fuzz_gguf.c - any bytes as a GGUF file: an error, or a model whose every setting and tensor can be
 * read and whose vocabulary can be asked for. */
#include "support/gguf_read.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)gguf_read_all(data, size);
    return 0;
}
