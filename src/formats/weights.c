/* weights.c - the neutral view of a checkpoint (weights.h) over a GGUF file in memory. */
#include "formats/weights.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/num.h"
#include "formats/file.h"
#include "formats/gguf.h"

#define ARCH_MAX 64  /* bytes of an architecture's name */
#define KEY_MAX  160 /* bytes of a key that code asks for, the architecture put in */

struct sl_weights {
    sl_gguf gguf;
    sl_file file; /* empty: its bytes are the caller's */
    char *path;
    const char *arch;
};

/* --- open -------------------------------------------------------------------------------- */

/* Name of part `no` (from 1) of a split model, by the convention PREFIX-00001-of-00003.gguf that
 * `path`, the name of part `own`, must follow; false where it does not. */
static bool part_name(char *out, size_t out_bytes, const char *path, uint64_t own, uint64_t no, uint64_t count)
{
    char tail[48];
    const int tail_len = snprintf(tail, sizeof tail, "-%05" PRIu64 "-of-%05" PRIu64 ".gguf", own, count);
    const size_t len = strlen(path);
    if (len < (size_t)tail_len || strcmp(path + len - (size_t)tail_len, tail) != 0)
        return false;
    const int n = snprintf(out, out_bytes, "%.*s-%05" PRIu64 "-of-%05" PRIu64 ".gguf", (int)(len - (size_t)tail_len),
                           path, no, count);
    return n > 0 && (size_t)n < out_bytes;
}

/* A model cut into several files: say which others belong to it and which of them is missing. */
static sl_status refuse_split(const sl_weights *w, sl_err *err)
{
    uint64_t count = 0, no = 0;
    char name[4096];
    sl_status rc = sl_weights_get_u64(w, "split.count", false, &count, err);
    if (!rc)
        rc = sl_weights_get_u64(w, "split.no", false, &no, err);
    if (rc || count <= 1)
        return rc;
    if (no >= count || count > UINT16_MAX)
        return sl_fail(err, SL_EFORMAT, "%s: key split.no: part %" PRIu64 " of %" PRIu64, w->path, no, count);
    for (uint64_t i = 1; i <= count; i++) {
        if (!part_name(name, sizeof name, w->path, no + 1, i, count))
            break;
        if (access(name, F_OK) < 0)
            return sl_fail(err, SL_EUNSUPPORTED,
                           "%s: part %" PRIu64 " of %" PRIu64
                           " of a split model; %s is missing (and parts must be merged: llama-gguf-split --merge)",
                           w->path, no + 1, count, name);
    }
    return sl_fail(err, SL_EUNSUPPORTED,
                   "%s: part %" PRIu64 " of %" PRIu64
                   " of a split model; the tensors of the other parts are missing here, merge the parts first "
                   "(llama-gguf-split --merge)",
                   w->path, no + 1, count);
}

static sl_status read_arch(sl_weights *w, sl_err *err)
{
    const sl_status rc = sl_weights_get_str(w, "general.architecture", true, &w->arch, err);
    if (rc)
        return rc;
    const size_t n = strlen(w->arch);
    char shown[SL_SHOWN_MAX];
    bool ok = n > 0 && n <= ARCH_MAX;
    for (size_t i = 0; ok && i < n; i++)
        ok = w->arch[i] > ' ' && w->arch[i] <= '~';
    return ok ? SL_OK
              : sl_fail(err, SL_EFORMAT, "%s: key general.architecture: \"%s\" is no name of 1 to %d ASCII letters",
                        w->path, sl_gguf_show(shown, (sl_bytes){ w->arch, n }), ARCH_MAX);
}

sl_status sl_weights_open_bytes(sl_weights **out, const char *path, const void *bytes, size_t n, sl_err *err)
{
    *out = NULL;
    sl_status rc = SL_OK;
    sl_weights *w = sl_mem_zalloc(1, sizeof *w);
    if (!w)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for the handle", path);
    w->path = sl_mem_strdup(path);
    if (!w->path) {
        rc = sl_fail(err, SL_ENOMEM, "%s: no memory for the handle", path);
        goto out;
    }
    rc = sl_gguf_parse(&w->gguf, bytes, n, err);
    if (rc) {
        sl_fail_in(err, rc, "%s", path);
        goto out;
    }
    rc = refuse_split(w, err);
    if (!rc)
        rc = read_arch(w, err);
    if (rc)
        goto out;
    *out = w;
    w = NULL;
out:
    sl_weights_close(w);
    return rc;
}

sl_status sl_weights_open(sl_weights **out, const char *path, sl_err *err)
{
    *out = NULL;
    sl_file file = { 0 };
    sl_status rc = sl_file_map(&file, path, err);
    if (rc)
        return sl_fail_in(err, rc, "%s", path);
    rc = sl_weights_open_bytes(out, path, file.bytes, file.n, err);
    if (rc)
        sl_file_unmap(&file);
    else
        (*out)->file = file;
    return rc;
}

void sl_weights_close(sl_weights *w)
{
    if (!w)
        return;
    sl_gguf_fini(&w->gguf);
    sl_file_unmap(&w->file);
    sl_mem_free(w->path);
    sl_mem_free(w);
}

const sl_gguf *sl_weights_gguf(const sl_weights *w)
{
    return &w->gguf;
}

const char *sl_weights_path(const sl_weights *w)
{
    return w->path;
}

const char *sl_weights_arch(const sl_weights *w)
{
    return w->arch;
}

uint64_t sl_weights_file_bytes(const sl_weights *w)
{
    return w->gguf.n_bytes;
}

/* --- tensors ----------------------------------------------------------------------------- */

size_t sl_weights_count(const sl_weights *w)
{
    return w->gguf.n_tensors;
}

const sl_weight_info *sl_weights_at(const sl_weights *w, size_t i)
{
    assert(i < w->gguf.n_tensors);
    return &w->gguf.tensors[i].info;
}

const sl_weight_info *sl_weights_find(const sl_weights *w, const char *name)
{
    const sl_gguf_tensor *t = sl_gguf_find_tensor(&w->gguf, name);
    return t ? &t->info : NULL;
}

/* --- settings ---------------------------------------------------------------------------- */

/* `key` with the architecture in place of its %s. */
static void spell_key(const sl_weights *w, const char *key, char out[KEY_MAX])
{
    const char *hole = strstr(key, "%s");
    const int n = hole ? snprintf(out, KEY_MAX, "%.*s%s%s", (int)(hole - key), key, w->arch, hole + 2)
                       : snprintf(out, KEY_MAX, "%s", key);
    assert(n > 0 && n < KEY_MAX);
    (void)n;
}

/* NULL in *out for a key that is neither there nor required. */
static sl_status find_key(const sl_weights *w, const char *spelled, bool required, sl_gguf_key **out, sl_err *err)
{
    *out = sl_gguf_find_key(&w->gguf, spelled);
    if (!*out && required)
        return sl_fail(err, SL_EFORMAT, "%s: key %s is missing", w->path, spelled);
    return SL_OK;
}

static sl_status wrong_type(const sl_weights *w, const char *spelled, const sl_gguf_key *k, const char *wanted,
                            sl_err *err)
{
    return sl_fail(err, SL_EFORMAT, "%s: key %s: of type %s, should be %s", w->path, spelled,
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
        return sl_fail(err, SL_EFORMAT, "%s: key %s: is negative", w->path, spelled);
    *out = v;
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
        return sl_fail(err, SL_EFORMAT, "%s: key %s: %f is no finite number", w->path, spelled, v);
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
        return sl_fail(err, SL_EFORMAT, "%s: key %s: the string holds a NUL byte", w->path, spelled);
    const char *text = text_of(k);
    if (!text)
        return sl_fail(err, SL_ENOMEM, "%s: key %s: no memory for a string of %" PRIu64 " bytes", w->path, spelled,
                       k->n);
    *out = text;
    return SL_OK;
}
