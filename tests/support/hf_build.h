/* hf_build.h - small Hugging Face folders for tests, written piece by piece. */
#ifndef TESTS_SUPPORT_HF_BUILD_H
#define TESTS_SUPPORT_HF_BUILD_H

#include <stddef.h>
#include <stdint.h>

typedef struct hf_build {
    char dir[256]; /* in $TMPDIR or /tmp */
} hf_build;

void hf_begin(hf_build *b); /* an empty folder; fails the test when it cannot */
void hf_end(hf_build *b);   /* takes it away with all that is in it */

void hf_write(const hf_build *b, const char *name, const void *bytes, size_t n);
void hf_text(const hf_build *b, const char *name, const char *text);
void hf_remove(const hf_build *b, const char *name);
/* 8 bytes of length, the header, n_data bytes of zero. */
void hf_safetensors(const hf_build *b, const char *name, const char *header, size_t n_data);

/* A header for tensors of F32, one after another: "name:4x8 other:8". *n_data: their bytes. Returned in a buffer of its
 * own that the next call overwrites. */
const char *hf_header(const char *tensors, size_t *n_data);
/* The file of such tensors. */
void hf_tensors(const hf_build *b, const char *name, const char *tensors);

#endif
