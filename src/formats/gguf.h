/* gguf.h - a GGUF file in memory, taken apart and checked; what weights.c and vocab.c stand on.
 *
 *   header   magic, version, n_tensors, n_keys
 *   keys     name, type, value           one after another, unaligned
 *   tensors  name, dims, type, offset    one after another, unaligned
 *   padding  up to general.alignment
 *   data     each tensor at its offset from here, a multiple of the alignment
 *
 * Nothing is copied except tensor names, which callers want terminated. Everything is checked
 * here, once; past sl_gguf_parse the pointers and counts below are facts.
 * Source: docs/gguf.md of ggml. */
#ifndef SL_FORMATS_GGUF_H
#define SL_FORMATS_GGUF_H

#include <stdatomic.h>
#include "base/mem.h"
#include "formats/show.h"
#include "formats/weights.h"

/* The types of settings: number in the file, name, bytes (0: of its own length). */
#define SL_GGUF_TYPE_LIST(X)                                                                                           \
    X(U8, "u8", 1)                                                                                                     \
    X(I8, "i8", 1)                                                                                                     \
    X(U16, "u16", 2)                                                                                                   \
    X(I16, "i16", 2)                                                                                                   \
    X(U32, "u32", 4)                                                                                                   \
    X(I32, "i32", 4)                                                                                                   \
    X(F32, "f32", 4)                                                                                                   \
    X(BOOL, "boolean", 1)                                                                                              \
    X(STR, "string", 0)                                                                                                \
    X(ARRAY, "array", 0)                                                                                               \
    X(U64, "u64", 8)                                                                                                   \
    X(I64, "i64", 8)                                                                                                   \
    X(F64, "f64", 8)

typedef enum sl_gguf_type {
#define SL_GGUF_TYPE_ENUM(id, name, bytes) SL_GGUF_##id,
    SL_GGUF_TYPE_LIST(SL_GGUF_TYPE_ENUM)
#undef SL_GGUF_TYPE_ENUM
        SL_GGUF_TYPE_COUNT
} sl_gguf_type;

const char *sl_gguf_type_name(sl_gguf_type type);
size_t sl_gguf_type_bytes(sl_gguf_type type); /* 0 for strings and arrays */
bool sl_gguf_type_is_int(sl_gguf_type type);
/* The integer at p; false where it is negative. `type` is an integer type. */
bool sl_gguf_load_u64(sl_gguf_type type, const uint8_t *p, uint64_t *out);
/* The number at p, whatever its type; false for booleans, strings and arrays. */
bool sl_gguf_load_f64(sl_gguf_type type, const uint8_t *p, double *out);

/* GGML's tensor types; false for a number nobody has given out. */
typedef struct sl_ggml_type {
    const char *name;
    size_t block, bytes; /* elements and bytes of a block */
    sl_format format;    /* SL_FORMAT_COUNT: not supported here */
} sl_ggml_type;
bool sl_ggml_type_get(uint32_t ggml_type, sl_ggml_type *out);

typedef struct sl_gguf_key {
    sl_bytes name;
    sl_gguf_type type, elem; /* elem: of an array's elements */
    uint64_t n;              /* elements of an array; bytes of a string */
    const uint8_t *value;    /* the number, the first element, the first byte */
    _Atomic(char *) text;    /* a string's terminated copy, made when first asked for */
    bool added;              /* not in the file, but by an override */
    _Atomic(bool) asked;     /* somebody looked for it */
} sl_gguf_key;

typedef struct sl_gguf_tensor {
    sl_weight_info info;
    uint64_t offset; /* from data_start */
} sl_gguf_tensor;

/* Open addressing over positions in a list; seeded, so that no file can choose its collisions. */
typedef struct sl_gguf_slot {
    uint32_t tag;  /* of the name's hash: most misses end here, without a look at the name */
    uint32_t next; /* position + 1; 0: a free slot */
} sl_gguf_slot;
typedef struct sl_gguf_index {
    sl_gguf_slot *slots; /* [mask + 1], at most half of them used */
    size_t mask;
    uint64_t seed;
} sl_gguf_index;

typedef struct sl_gguf {
    const uint8_t *bytes; /* borrowed */
    size_t n_bytes;
    uint32_t version;
    size_t alignment, data_start;
    sl_gguf_key *keys;
    sl_gguf_tensor *tensors;
    size_t n_keys, n_tensors;
    sl_arena names; /* of tensors, terminated; names and values of overrides */
    sl_gguf_index key_index, tensor_index;
} sl_gguf;

/* Take apart n bytes, which stay the caller's and must outlive g. Errors name key or tensor but
 * not the file. After a failure g is empty. */
sl_status sl_gguf_parse(sl_gguf *g, const void *bytes, size_t n, sl_err *err);
void sl_gguf_fini(sl_gguf *g);

sl_gguf_key *sl_gguf_find_key(const sl_gguf *g, const char *name);       /* NULL: not there */
sl_gguf_tensor *sl_gguf_find_tensor(const sl_gguf *g, const char *name); /* NULL: not there */

/* Put VALUE in place of a key's value, or add the key. spec: "KEY=TYPE:VALUE", TYPE int, float, bool or str. Only
 * before anybody has looked for keys. SL_EINVAL: the form, the type, a key that describes the file; SL_ENOMEM. */
sl_status sl_gguf_override(sl_gguf *g, const char *spec, sl_err *err);
/* A key of this name, which must live as long as g, and without a value so far. SL_ENOMEM. */
sl_status sl_gguf_add_key(sl_gguf *g, sl_bytes name, sl_gguf_key **out);

/* The next string of an array of strings; *at moves behind it. */
sl_bytes sl_gguf_next_str(const uint8_t **at);

/* Index the names 0..n-1 that name_of gives. A name that comes twice: SL_EFORMAT, its second
 * position in *twice. */
typedef sl_bytes sl_gguf_name_fn(const sl_gguf *g, size_t i);
sl_status sl_gguf_index_build(sl_gguf_index *x, const sl_gguf *g, sl_gguf_name_fn *name_of, size_t n, size_t *twice);
size_t sl_gguf_index_find(const sl_gguf_index *x, const sl_gguf *g, sl_gguf_name_fn *name_of, sl_bytes name);
#define SL_GGUF_NONE SIZE_MAX

/* Why a file whose first bytes are not GGUF's is refused; says what it seems to be. */
sl_status sl_gguf_sniff(const uint8_t *bytes, size_t n, sl_err *err);

/* sl_weights_open over bytes in memory, which stay the caller's and must outlive the handle;
 * `path` is only a name for messages and for finding the other parts of a split model. */
sl_status sl_weights_open_bytes(sl_weights **out, const char *path, const void *bytes, size_t n, sl_err *err);

/* The file behind a handle. */
const sl_gguf *sl_weights_gguf(const sl_weights *w);

#endif
