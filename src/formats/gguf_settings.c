/* gguf_settings.c - the settings of a GGUF file by name (weights.h). */
#include "formats/gguf.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define KEY_MAX 160 /* bytes of a key that code asks for, the architecture put in */

/* `key` with the architecture in place of its %s. */
static void spell_key(const sl_weights *w, const char *key, char out[KEY_MAX])
{
    const char *hole = strstr(key, "%s");
    const int n = hole ? snprintf(out, KEY_MAX, "%.*s%s%s", (int)(hole - key), key, sl_weights_arch(w), hole + 2)
                       : snprintf(out, KEY_MAX, "%s", key);
    assert(n > 0 && n < KEY_MAX);
    (void)n;
}

/* NULL in *out for a key that is neither there nor required. */
static sl_status find_key(const sl_weights *w, const char *spelled, bool required, sl_gguf_key **out, sl_err *err)
{
    *out = sl_gguf_find_key(sl_weights_gguf(w), spelled);
    if (!*out && required)
        return sl_fail(err, SL_EFORMAT, "%s: key %s is missing", sl_weights_path(w), spelled);
    return SL_OK;
}

static sl_status wrong_type(const sl_weights *w, const char *spelled, const sl_gguf_key *k, const char *wanted,
                            sl_err *err)
{
    return sl_fail(err, SL_EFORMAT, "%s: key %s: of type %s, should be %s", sl_weights_path(w), spelled,
                   sl_gguf_type_name(k->type), wanted);
}

sl_status sl_weights_get_u64(const sl_weights *w, const char *key, bool required, uint64_t *out, sl_err *err)
{
    char spelled[KEY_MAX];
    sl_gguf_key *k;
    spell_key(w, key, spelled);
    const sl_status rc = find_key(w, spelled, required, &k, err);
    if (rc || !k)
        return rc;
    if (!sl_gguf_type_is_int(k->type))
        return wrong_type(w, spelled, k, "an unsigned number", err);
    uint64_t v;
    if (!sl_gguf_load_u64(k->type, k->value, &v))
        return sl_fail(err, SL_EFORMAT, "%s: key %s: is negative", sl_weights_path(w), spelled);
    *out = v;
    return SL_OK;
}

sl_status sl_weights_get_bool(const sl_weights *w, const char *key, bool required, bool *out, sl_err *err)
{
    char spelled[KEY_MAX];
    sl_gguf_key *k;
    spell_key(w, key, spelled);
    const sl_status rc = find_key(w, spelled, required, &k, err);
    if (rc || !k)
        return rc;
    if (k->type != SL_GGUF_BOOL)
        return wrong_type(w, spelled, k, "a boolean", err);
    *out = *(const unsigned char *)k->value;
    return SL_OK;
}

sl_status sl_weights_get_f64(const sl_weights *w, const char *key, bool required, double *out, sl_err *err)
{
    char spelled[KEY_MAX];
    sl_gguf_key *k;
    spell_key(w, key, spelled);
    const sl_status rc = find_key(w, spelled, required, &k, err);
    if (rc || !k)
        return rc;
    double v;
    if (!sl_gguf_load_f64(k->type, k->value, &v))
        return wrong_type(w, spelled, k, "a number", err);
    if (!isfinite(v))
        return sl_fail(err, SL_EFORMAT, "%s: key %s: %f is no finite number", sl_weights_path(w), spelled, v);
    *out = v;
    return SL_OK;
}

/* The terminated copy of a string. Two threads may ask at once: the first copy stays. */
static const char *text_of(sl_gguf_key *k)
{
    char *text = atomic_load(&k->text);
    if (text)
        return text;
    char *copy = sl_mem_strndup((const char *)k->value, k->n);
    if (!copy || atomic_compare_exchange_strong(&k->text, &text, copy))
        return copy;
    sl_mem_free(copy);
    return text;
}

sl_status sl_weights_get_str(const sl_weights *w, const char *key, bool required, const char **out, sl_err *err)
{
    char spelled[KEY_MAX];
    sl_gguf_key *k;
    spell_key(w, key, spelled);
    const sl_status rc = find_key(w, spelled, required, &k, err);
    if (rc || !k)
        return rc;
    if (k->type != SL_GGUF_STR)
        return wrong_type(w, spelled, k, "a string", err);
    if (memchr(k->value, 0, k->n))
        return sl_fail(err, SL_EFORMAT, "%s: key %s: the string holds a NUL byte", sl_weights_path(w), spelled);
    const char *text = text_of(k);
    if (!text)
        return sl_fail(err, SL_ENOMEM, "%s: key %s: no memory for a string of %" PRIu64 " bytes", sl_weights_path(w),
                       spelled, k->n);
    *out = text;
    return SL_OK;
}
