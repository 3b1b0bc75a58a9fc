/* fuzz_quantized.c - the first line is a quantization_config, the rest the header of a model.safetensors whose data
 * repeat the input: an error on one line, or weights whose every number can be read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "formats/weights.h"
#include "quant/quant.h"
#include "support/hf_build.h"

#define DATA_BYTES 4096
#define COLS_MAX   4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static hf_build folder;

static void remove_folder(void)
{
    hf_end(&folder);
}

static void must(int ok)
{
    if (!ok)
        abort();
}

/* Each byte as JSON has it: a model_type, and the line. */
static void write_config(const uint8_t *line, size_t n)
{
    static const char begin[] = "{\"model_type\": \"llama\", \"quantization_config\": ";
    char *text = malloc(sizeof begin + n);
    must(text != NULL);
    memcpy(text, begin, sizeof begin - 1);
    memcpy(text + sizeof begin - 1, line, n);
    text[sizeof begin - 1 + n] = '}';
    hf_write(&folder, "config.json", text, sizeof begin + n);
    free(text);
}

static void write_tensors(const uint8_t *header, size_t n)
{
    const uint64_t len = n;
    uint8_t *file = malloc(8 + n + DATA_BYTES);
    must(file != NULL);
    memcpy(file, &len, 8);
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < DATA_BYTES; i++)
        file[8 + n + i] = n ? header[i % n] : 0;
    hf_write(&folder, "model.safetensors", file, 8 + n + DATA_BYTES);
    free(file);
}

static void read_weight(const sl_tensor *t)
{
    static float row[COLS_MAX];
    if (t->format == SL_FORMAT_COUNT || t->cols > COLS_MAX || !t->cols)
        return;
    must(t->rows <= DATA_BYTES);
    for (size_t r = 0; r < t->rows; r++) {
        const sl_tensor one = sl_tensor_rows(t, r, r + 1);
        sl_quant_group g;
        sl_quant_get(t->format)->decode(row, &one, 0, 0, t->cols);
        if (sl_quant_get(t->format)->group)
            sl_quant_get(t->format)->group(&g, &one, 0, t->cols / SL_GROUP - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_weights *w = NULL;
    sl_err err = { 0 };
    const uint8_t *end = memchr(data, '\n', size);
    const size_t line = end ? (size_t)(end - data) : size, rest = end ? line + 1 : size;
    if (!folder.dir[0]) {
        hf_begin(&folder);
        atexit(remove_folder);
    }
    write_config(data, line);
    write_tensors(data + rest, size - rest);
    const sl_status rc = sl_weights_open(&w, folder.dir, &err);
    must(!rc == !!w);
    if (rc)
        must(err.code == rc && strncmp(err.msg, folder.dir, strlen(folder.dir)) == 0 && !strchr(err.msg, '\n'));
    for (size_t i = 0; w && i < sl_weights_count(w); i++) {
        must(sl_weights_find(w, sl_weights_at(w, i)->name) == sl_weights_at(w, i));
        read_weight(&sl_weights_at(w, i)->tensor);
    }
    sl_weights_close(w);
    return 0;
}
