/* gguf_read.c - see gguf_read.h. */
#include "gguf_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "formats/gguf.h"
#include "quant/quant.h"

#define DECODED_MAX 65536 /* elements of a row */

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "gguf_read_all: %s\n", what);
        abort();
    }
}

static void read_keys(const sl_weights *w)
{
    const sl_gguf *g = sl_weights_gguf(w);
    for (size_t i = 0; i < g->n_keys; i++) {
        const sl_bytes name = g->keys[i].name;
        char key[128];
        uint64_t u;
        double d;
        const char *s;
        sl_err err;
        if (name.len >= sizeof key || memchr(name.data, '%', name.len))
            continue;
        memcpy(key, name.data, name.len);
        key[name.len] = '\0';
        must(sl_gguf_find_key(g, key) == &g->keys[i], "a key that is not found again");
        (void)sl_weights_get_u64(w, key, true, &u, &err);
        (void)sl_weights_get_f64(w, key, true, &d, &err);
        if (sl_weights_get_str(w, key, true, &s, &err) == SL_OK)
            must(strlen(s) == g->keys[i].n, "a string of another length");
    }
}

/* The first and the last row, which touches both ends of the data. */
static void decode(const sl_tensor *t)
{
    if (t->cols > DECODED_MAX || t->format == SL_FORMAT_COUNT)
        return;
    float *row = malloc(t->cols * sizeof *row);
    must(row != NULL, "no memory");
    sl_quant_get(t->format)->decode(row, t, 0, 0, t->cols);
    sl_quant_get(t->format)->decode(row, t, t->rows - 1, 0, t->cols);
    free(row);
}

static void read_tensors(const sl_weights *w)
{
    for (size_t i = 0; i < sl_weights_count(w); i++) {
        const sl_weight_info *t = sl_weights_at(w, i);
        must(sl_weights_find(w, t->name) == t, "a tensor that is not found again");
        must(t->tensor.rows * t->tensor.row_bytes == t->bytes, "a tensor whose rows are not its bytes");
        decode(&t->tensor);
    }
}

static void read_vocab(const sl_weights *w)
{
    sl_vocab v = { 0 };
    sl_err err;
    size_t sum = 0;
    if (sl_weights_vocab(w, &v, &err) != SL_OK)
        return;
    for (size_t i = 0; i < v.n_tokens; i++)
        for (size_t j = 0; j < v.tokens[i].len; j++)
            sum += (uint8_t)v.tokens[i].data[j] + v.kinds[i];
    for (size_t i = 0; i < v.n_merges; i++)
        sum += (uint8_t)v.merges[i].right.data[v.merges[i].right.len - 1];
    must(sum < SIZE_MAX, "sum of all bytes"); /* asked for so that the bytes are really read */
    must(v.bos < (int32_t)v.n_tokens && v.pad < (int32_t)v.n_tokens, "a special token outside the vocabulary");
    sl_vocab_fini(&v);
}

static sl_status read_copy(const void *bytes, size_t n)
{
    sl_err err = { 0 };
    sl_weights *w = NULL;
    const sl_status rc = sl_weights_open_bytes(&w, "input", bytes, n, &err);
    must((rc == SL_OK) == (w != NULL), "status and handle disagree");
    if (rc) {
        must(err.code == rc && strncmp(err.msg, "input: ", 7) == 0 && !strchr(err.msg, '\n'), "not one line of text");
        return rc;
    }
    must(strlen(sl_weights_arch(w)) > 0, "no architecture");
    read_keys(w);
    read_tensors(w);
    read_vocab(w);
    sl_weights_close(w);
    return SL_OK;
}

sl_status gguf_read_all(const void *bytes, size_t n)
{
    void *copy = malloc(n ? n : 1);
    must(copy != NULL, "no memory");
    memcpy(copy, bytes, n);
    const sl_status rc = read_copy(copy, n);
    free(copy);
    return rc;
}
