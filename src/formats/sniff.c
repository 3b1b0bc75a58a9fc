#include "formats/sniff.h"

#include <string.h>
#include <strings.h>
#include "base/num.h"
#include "formats/gguf.h"

static bool starts_with(const uint8_t *p, size_t n, const char *magic)
{
    const size_t len = strlen(magic);
    return n >= len && memcmp(p, magic, len) == 0;
}

/* A 64-bit header length and a JSON object. */
static bool is_safetensors(const uint8_t *p, size_t n)
{
    return n > 8 && sl_load_le64(p) <= n - 8 && p[8] == '{';
}

/* GGML's own containers from before GGUF, little-endian words: ggml, ggmf, ggjt, ggla. */
static bool is_old_ggml(const uint8_t *p, size_t n)
{
    return starts_with(p, n, "lmgg") || starts_with(p, n, "fmgg") || starts_with(p, n, "tjgg") ||
           starts_with(p, n, "algg");
}

/* Sites answer with one when a name is wrong or nobody has signed in. */
static bool is_html(const uint8_t *p, size_t n)
{
    static const char *const begins[] = { "<!doctype html", "<html" };
    char begin[16] = "";
    size_t blanks = 0;
    while (blanks < n && p[blanks] && strchr(" \t\r\n", p[blanks]))
        blanks++;
    memcpy(begin, p + blanks, SL_MIN(n - blanks, sizeof begin - 1));
    for (size_t i = 0; i < SL_COUNT(begins); i++)
        if (strncasecmp(begin, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static bool is_text(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < SL_MIN(n, 512); i++)
        if ((p[i] < ' ' && !strchr("\t\n\r\f", p[i])) || p[i] == 0 || p[i] == 0x7f)
            return false;
    return true;
}

sl_status sl_sniff_download(const void *bytes, size_t n, sl_err *err)
{
    if (starts_with(bytes, n, "version https://git-lfs"))
        return sl_fail(err, SL_EFORMAT, "a Git LFS pointer, not the file itself; git lfs pull fetches it");
    if (is_html(bytes, n))
        return sl_fail(err, SL_EFORMAT, "an HTML page, not the file itself; its download failed");
    return SL_OK;
}

/* People point at the wrong file of a folder. */
sl_status sl_gguf_sniff(const uint8_t *p, size_t n, sl_err *err)
{
    if (n == 0)
        return sl_fail(err, SL_EFORMAT, "an empty file, not a GGUF file");
    if (is_safetensors(p, n))
        return sl_fail(err, SL_EUNSUPPORTED, "a safetensors file; give the folder that it is in, with its config.json");
    if (is_old_ggml(p, n))
        return sl_fail(err, SL_EUNSUPPORTED, "a GGML file from before GGUF; convert the model anew");
    if (starts_with(p, n, "PK\003\004"))
        return sl_fail(err, SL_EUNSUPPORTED, "a zip archive (a PyTorch checkpoint?); a GGUF file is needed");
    if (is_text(p, n))
        return sl_fail(err, SL_EFORMAT, "a text file, not a GGUF file");
    if (n < 4)
        return sl_fail(err, SL_EFORMAT, "%zu bytes, not a GGUF file", n);
    return sl_fail(err, SL_EFORMAT, "not a GGUF file: it begins with the bytes %02x %02x %02x %02x", p[0], p[1], p[2],
                   p[3]);
}
