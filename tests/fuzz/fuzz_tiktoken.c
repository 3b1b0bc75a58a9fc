/* fuzz_tiktoken.c - any bytes as vocabularies of ranks: with a NUL in them a tiktoken file and, before the
 * NUL, its tokenizer_config.json; else a tekken.json. To get past 256 bytes by chance a line "*" in front of a
 * file's lines stands for the ranks of all bytes. */
#include <string.h>
#include "base/str.h"
#include "formats/vocab_files.h"
#include "use_vocab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_bytes(sl_str *s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (unsigned b = 0; b < 256; b++)
        sl_str_printf(s, "%c%c== %u\n", digits[b >> 2], digits[(b & 3) << 4], b);
}

static void as_tiktoken(const char *data, size_t n_config, size_t size)
{
    sl_err err = { 0 };
    sl_json_doc config = { 0 };
    sl_str lines = { 0 };
    sl_vocab v;
    const char *text = data + n_config + 1;
    size_t n = size - n_config - 1;
    if (n >= 2 && memcmp(text, "*\n", 2) == 0) {
        put_bytes(&lines);
        text += 2;
        n -= 2;
    }
    sl_str_append(&lines, text, n);
    if (sl_json_parse(&config, data, n_config, &err) == SL_OK) {
        if (sl_vocab_read_tiktoken(&v, lines.data ? lines.data : "", lines.len, "tokenizer.model", config.root, &err) ==
            SL_OK)
            use_vocab(&v);
        sl_vocab_fini(&v);
    }
    sl_json_fini(&config);
    sl_str_fini(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sl_err err = { 0 };
    sl_vocab v;
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    if (nul) {
        as_tiktoken((const char *)data, (size_t)(nul - data), size);
        return 0;
    }
    if (sl_vocab_read_tekken(&v, data, size, &err) == SL_OK)
        use_vocab(&v);
    sl_vocab_fini(&v);
    return 0;
}
