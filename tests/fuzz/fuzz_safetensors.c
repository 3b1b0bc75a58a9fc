/* fuzz_safetensors.c - any bytes as a safetensors file: an error on one line, or tensors that lie within it, one behind
 * the other. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "formats/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* as long as the file, so that a read behind it is seen */
    sl_safetensors s = { 0 };
    sl_err err = { 0 };
    must(copy != NULL);
    memcpy(copy, data, size);
    const sl_status rc = sl_safetensors_parse(&s, copy, size, &err);
    if (rc)
        must(err.code == rc && err.msg[0] && !strchr(err.msg, '\n') && !s.tensors);
    size_t covered = 0;
    size_t sum = 0; /* asked for so that the bytes are really read */
    for (size_t i = 0; i < s.n; i++) {
        const sl_weight_info *t = &s.tensors[i];
        const uint8_t *at = t->tensor.data;
        must(t->name[0] && t->bytes == t->tensor.rows * t->tensor.row_bytes && t->n_dims <= 4);
        must(at >= copy + 8 && t->bytes <= (size_t)(copy + size - at));
        if (t->bytes)
            sum += (size_t)at[0] + at[t->bytes - 1];
        covered += t->bytes;
    }
    must((rc || covered + 8 <= size) && sum <= 510 * s.n);
    sl_safetensors_close(&s);
    free(copy);
    return 0;
}
