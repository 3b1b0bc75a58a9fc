/* gguf_build.h - writes GGUF files for tests, the malformed ones included: every part can be put
 * down raw, and the places of all counts, lengths, types and offsets are kept, so that a mutation
 * can aim at them.
 *
 *   gguf_build b = { 0 };
 *   gb_begin(&b, 3);
 *   gb_str(gb_key(&b, "general.architecture", SL_GGUF_STR), "llama");
 *   gb_tensor(&b, "t", 0, 0, 2, (uint64_t[]){ 32, 4 });
 *   gb_finish(&b, 512);
 *   sl_weights_open(&w, gb_path(&b), &err);
 *   gb_free(&b);
 */
#ifndef TESTS_SUPPORT_GGUF_BUILD_H
#define TESTS_SUPPORT_GGUF_BUILD_H

#include <stddef.h>
#include <stdint.h>
#include "formats/gguf.h"

typedef struct gb_field {
    size_t at, bytes;
} gb_field;

typedef struct gguf_build {
    uint8_t *bytes;
    size_t n, cap;
    gb_field *fields; /* numbers that the reader must distrust */
    size_t n_fields, cap_fields;
    uint64_t n_keys, n_tensors;
    int fd; /* of the file in memory, once gb_path made it; 0: none */
    char path[32];
} gguf_build;

/* Each call returns b, so that a value can follow its key. No memory: the test program ends. */
gguf_build *gb_begin(gguf_build *b, uint32_t version);
gguf_build *gb_raw(gguf_build *b, const void *bytes, size_t n);
gguf_build *gb_u8(gguf_build *b, uint8_t v);
gguf_build *gb_u32(gguf_build *b, uint32_t v); /* u32 and u64 are kept as fields */
gguf_build *gb_u64(gguf_build *b, uint64_t v);
gguf_build *gb_f32(gguf_build *b, float v);
gguf_build *gb_str(gguf_build *b, const char *s);

/* A key and the number of its value's type; the value is the caller's. */
gguf_build *gb_key(gguf_build *b, const char *name, uint32_t type);
/* A key and the head of its array; the elements are the caller's. */
gguf_build *gb_array(gguf_build *b, const char *name, uint32_t elem, uint64_t n);
gguf_build *gb_strs(gguf_build *b, const char *name, const char *const *list, size_t n);
gguf_build *gb_key_u32(gguf_build *b, const char *name, uint32_t v);
gguf_build *gb_key_str(gguf_build *b, const char *name, const char *v);

/* An entry of the tensor list. */
gguf_build *gb_tensor(gguf_build *b, const char *name, uint32_t type, uint64_t offset, uint32_t n_dims,
                      const uint64_t *dims);

/* Put the counts into the header, pad to 32 and add so many bytes of data. */
gguf_build *gb_finish(gguf_build *b, size_t data_bytes);

/* A path under which the bytes as they are now can be opened. */
const char *gb_path(gguf_build *b);
void gb_free(gguf_build *b);

#endif
