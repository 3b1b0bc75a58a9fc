/* fuzz_tokenizer_json.c - any bytes as a tokenizer.json: an error, or a tokenizer that works. With a NUL
 * in it, as a folder: what stands before the NUL is its tokenizer_config.json. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/text_files.h"
#include "formats/vocab_files.h"
#include "use_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/tokenizer_config.json", folder);
    unlink(path);
    rmdir(folder);
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
}

static void as_folder(const uint8_t *data, size_t n_config, size_t size)
{
    sl_err err = { 0 };
    sl_text_files t;
    if (!*folder) {
        strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/fuzz-XXXXXX" : "/tmp/fuzz-XXXXXX");
        if (!mkdtemp(folder))
            abort();
        atexit(remove_folder);
    }
    write_file("tokenizer_config.json", data, n_config);
    write_file("tokenizer.json", data + n_config + 1, size - n_config - 1);
    if (sl_text_files_open(&t, folder, NULL, &err) == SL_OK && !t.no_vocab)
        use_vocab(&t.vocab);
    sl_text_files_fini(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_err err = { 0 };
    sl_vocab v;
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    if (nul) {
        as_folder(data, (size_t)(nul - data), size);
        return 0;
    }
    if (sl_vocab_read_tokenizer_json(&v, data, size, &err) == SL_OK)
        use_vocab(&v);
    sl_vocab_fini(&v);
    return 0;
}
