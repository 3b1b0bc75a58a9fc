/* override.c - settings given by the user in place of those in the file: KEY=TYPE:VALUE, as llama.cpp spells it. */
#include "formats/gguf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct override {
    sl_bytes name;
    sl_gguf_type type; /* I64, F64, BOOL or STR */
    const char *value;
} override;

static sl_status parse(const char *spec, override *out, sl_err *err)
{
    static const struct {
        const char *word;
        sl_gguf_type type;
    } types[] = {
        { "int:", SL_GGUF_I64 }, { "float:", SL_GGUF_F64 }, { "bool:", SL_GGUF_BOOL }, { "str:", SL_GGUF_STR }
    };
    const char *equals = strchr(spec, '=');
    if (equals && equals > spec)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strncmp(equals + 1, types[i].word, strlen(types[i].word)) == 0) {
                *out = (override){ .name = { spec, (size_t)(equals - spec) },
                                   .type = types[i].type,
                                   .value = equals + 1 + strlen(types[i].word) };
                return SL_OK;
            }
    return sl_fail(err, SL_EINVAL, "--override-kv %s: KEY=TYPE:VALUE expected, TYPE one of int, float, bool, str",
                   spec);
}

/* What describes the file, not the model. */
static bool fixed(sl_bytes name)
{
    static const char alignment[] = "general.alignment", split[] = "split.";
    return (name.len == sizeof alignment - 1 && memcmp(name.data, alignment, name.len) == 0) ||
           (name.len > sizeof split - 1 && memcmp(name.data, split, sizeof split - 1) == 0);
}

/* The bytes of the value, as a file would have them, in the arena; *n: their number. */
static const uint8_t *value_bytes(sl_arena *arena, const override *o, size_t *n)
{
    char *end = NULL;
    union {
        int64_t i;
        double d;
        uint8_t b;
    } v = { 0 };
    errno = 0;
    *n = o->type == SL_GGUF_BOOL ? 1 : 8;
    switch (o->type) {
    case SL_GGUF_I64:
        v.i = strtoll(o->value, &end, 10);
        break;
    case SL_GGUF_F64:
        v.d = strtod(o->value, &end);
        break;
    case SL_GGUF_BOOL:
        v.b = strcmp(o->value, "true") == 0;
        end = v.b || strcmp(o->value, "false") == 0 ? strchr(o->value, '\0') : NULL;
        break;
    default:
        *n = strlen(o->value);
        return (const uint8_t *)sl_arena_strndup(arena, o->value, *n);
    }
    if (!end || end == o->value || *end || errno || (o->type == SL_GGUF_F64 && !isfinite(v.d))) {
        *n = 0;
        return NULL;
    }
    uint8_t *bytes = sl_arena_alloc(arena, 1, *n);
    if (bytes)
        memcpy(bytes, &v, *n);
    return bytes;
}

static bool fits(sl_gguf_type in_file, sl_gguf_type given)
{
    switch (given) {
    case SL_GGUF_I64:
        return sl_gguf_type_is_int(in_file);
    case SL_GGUF_F64:
        return in_file == SL_GGUF_F32 || in_file == SL_GGUF_F64;
    default:
        return in_file == given;
    }
}

sl_status sl_gguf_override(sl_gguf *g, const char *spec, sl_err *err)
{
    override o = { 0 };
    size_t n = 0;
    sl_status rc = parse(spec, &o, err);
    if (rc)
        return rc;
    if (fixed(o.name))
        return sl_fail(err, SL_EINVAL, "--override-kv %s: this key describes the file and stays as it is", spec);
    const char *name = sl_arena_strndup(&g->names, o.name.data, o.name.len);
    if (!name)
        return sl_fail(err, SL_ENOMEM, "--override-kv %s: no memory", spec);
    sl_gguf_key *k = sl_gguf_find_key(g, name);
    if (k && !fits(k->type, o.type))
        return sl_fail(err, SL_EINVAL, "--override-kv %s: in the file this key is of type %s", spec,
                       sl_gguf_type_name(k->type));
    const uint8_t *value = value_bytes(&g->names, &o, &n);
    if (!value)
        return n ? sl_fail(err, SL_ENOMEM, "--override-kv %s: no memory", spec)
                 : sl_fail(err, SL_EINVAL, "--override-kv %s: \"%s\" is no value of this type", spec, o.value);
    if (!k && (rc = sl_gguf_add_key(g, (sl_bytes){ name, o.name.len }, &k)))
        return sl_fail(err, rc, "--override-kv %s: no memory", spec);
    sl_mem_free(k->text);
    k->text = NULL;
    k->type = o.type;
    k->n = o.type == SL_GGUF_STR ? n : 0;
    k->value = value;
    atomic_store(&k->asked, false); /* by this function alone */
    return SL_OK;
}
