/* fuzz_index.c - any bytes as the index of a folder with two safetensors files: an error that names a file, or a set in
 * which every tensor is found again. No file outside the folder is opened: no plain name leads there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "formats/shards.h"
#include "support/hf_build.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_shards s = { 0 };
    sl_err err = { 0 };
    if (!folder.dir[0]) {
        hf_begin(&folder);
        hf_tensors(&folder, "1", "a:2x3 b:4 c:1");
        hf_tensors(&folder, "2", "c:5 d:1x1");
        atexit(remove_folder);
    }
    hf_write(&folder, "model.safetensors.index.json", data, size);
    const sl_status rc = sl_shards_open(&s, folder.dir, &err);
    if (rc)
        must(err.code == rc && strncmp(err.msg, folder.dir, strlen(folder.dir)) == 0 && !strchr(err.msg, '\n'));
    for (size_t i = 0; i < s.n_tensors; i++)
        must(sl_shards_find(&s, s.tensor[i]->name) == s.tensor[i]);
    sl_shards_close(&s);
    return 0;
}
