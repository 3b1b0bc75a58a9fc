#include "hf_build.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

static void path_of(const hf_build *b, const char *name, char path[512])
{
    must(snprintf(path, 512, "%s/%s", b->dir, name) < 512, "path");
}

void hf_begin(hf_build *b)
{
    const char *tmp = getenv("TMPDIR");
    must(snprintf(b->dir, sizeof b->dir, "%s/sluice-hf-XXXXXX", tmp ? tmp : "/tmp") < (int)sizeof b->dir, "TMPDIR");
    must(mkdtemp(b->dir) != NULL, "mkdtemp");
}

void hf_end(hf_build *b)
{
    DIR *d = opendir(b->dir);
    must(d != NULL, b->dir);
    for (struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            hf_remove(b, e->d_name);
    closedir(d);
    must(rmdir(b->dir) == 0, b->dir);
}

void hf_remove(const hf_build *b, const char *name)
{
    char path[512];
    path_of(b, name, path);
    must(unlink(path) == 0, path);
}

void hf_write(const hf_build *b, const char *name, const void *bytes, size_t n)
{
    char path[512];
    path_of(b, name, path);
    FILE *f = fopen(path, "wb");
    must(f != NULL, path);
    must(fwrite(bytes, 1, n, f) == n && fclose(f) == 0, path);
}

void hf_text(const hf_build *b, const char *name, const char *text)
{
    hf_write(b, name, text, strlen(text));
}

void hf_safetensors(const hf_build *b, const char *name, const char *header, size_t n_data)
{
    const uint64_t len = strlen(header);
    char *file = calloc(1, 8 + len + n_data);
    must(file != NULL, "memory");
    memcpy(file, &len, 8);
    memcpy(file + 8, header, len);
    hf_write(b, name, file, 8 + len + n_data);
    free(file);
}

const char *hf_header(const char *tensors, size_t *n_data)
{
    static char out[16384];
    size_t used = (size_t)snprintf(out, sizeof out, "{\"__metadata__\": {\"format\": \"pt\"}"), at = 0;
    while (*tensors) {
        char name[128];
        unsigned long rows = 0, cols = 0;
        int n = 0;
        if (sscanf(tensors, "%127[^:]:%lux%lu%n", name, &rows, &cols, &n) != 3) {
            rows = 0;
            must(sscanf(tensors, "%127[^:]:%lu%n", name, &cols, &n) == 2, tensors);
        }
        const size_t bytes = 4 * (rows ? rows : 1) * cols;
        char shape[64];
        if (rows)
            snprintf(shape, sizeof shape, "%lu, %lu", rows, cols);
        else
            snprintf(shape, sizeof shape, "%lu", cols);
        used += (size_t)snprintf(out + used, sizeof out - used,
                                 ", \"%s\": {\"dtype\": \"F32\", \"shape\": [%s], \"data_offsets\": [%zu, %zu]}", name,
                                 shape, at, at + bytes);
        at += bytes;
        tensors += n;
        tensors += strspn(tensors, " ");
    }
    snprintf(out + used, sizeof out - used, "}");
    *n_data = at;
    return out;
}

void hf_tensors(const hf_build *b, const char *name, const char *tensors)
{
    size_t n_data = 0;
    const char *header = hf_header(tensors, &n_data);
    hf_safetensors(b, name, header, n_data);
}
