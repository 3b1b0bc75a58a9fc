/* weights.c - the neutral view of a checkpoint (weights.h) over a GGUF file in memory, or a Hugging Face folder. */
#include "formats/weights.h"

#include <string.h>
#include <sys/stat.h>
#include "base/num.h"
#include "formats/hf.h"
#include "formats/parts.h"
#include "quant/quant.h"

struct sl_weights {
    sl_hf *hf; /* NULL: a GGUF file */
    sl_gguf_parts parts;
    const sl_gguf *gguf; /* the part that has the settings */
    char *path;
    const char *arch;
};

/* --- open -------------------------------------------------------------------------------- */

static sl_status read_arch(sl_weights *w, sl_err *err)
{
    const sl_status rc = sl_weights_get_str(w, "general.architecture", true, &w->arch, err);
    if (rc)
        return rc;
    const size_t n = strlen(w->arch);
    char shown[SL_SHOW_MAX];
    bool ok = n > 0 && n <= SL_ARCH_MAX;
    for (size_t i = 0; ok && i < n; i++)
        ok = w->arch[i] > ' ' && w->arch[i] <= '~';
    return ok ? SL_OK
              : sl_fail(err, SL_EFORMAT, "%s: key general.architecture: \"%s\" is no name of 1 to %d ASCII letters",
                        w->path, sl_show(shown, (sl_bytes){ w->arch, n }), SL_ARCH_MAX);
}

static sl_status open_bytes(sl_weights *w, const void *bytes, size_t n, const sl_overrides *o, sl_err *err)
{
    sl_status rc = sl_gguf_parts_open(&w->parts, w->path, bytes, n, err);
    if (rc)
        return rc;
    w->gguf = &w->parts.part[0].gguf;
    for (size_t i = 0; o && i < o->n && !rc; i++)
        rc = sl_gguf_override(&w->parts.part[0].gguf, o->list[i], err);
    return rc ? rc : read_arch(w, err);
}

static sl_status open_with(sl_weights **out, const char *path, const void *bytes, size_t n, const sl_overrides *o,
                           sl_err *err)
{
    sl_weights *w = sl_mem_zalloc(1, sizeof *w);
    if (w)
        w->path = sl_mem_strdup(path);
    const sl_status rc =
        w && w->path ? open_bytes(w, bytes, n, o, err) : sl_fail(err, SL_ENOMEM, "%s: no memory for the handle", path);
    if (rc)
        sl_weights_close(w);
    else
        *out = w;
    return rc;
}

sl_status sl_weights_open_bytes(sl_weights **out, const char *path, const void *bytes, size_t n, sl_err *err)
{
    *out = NULL;
    return open_with(out, path, bytes, n, NULL, err);
}

static sl_status open_folder(sl_weights **out, const char *path, const sl_overrides *o, bool stored, sl_err *err)
{
    if (o && o->n > 0)
        return sl_fail(err, SL_EINVAL, "--override-kv %s: %s is no GGUF file", o->list[0], path);
    sl_weights *w = sl_mem_zalloc(1, sizeof *w);
    if (w)
        w->path = sl_mem_strdup(path);
    const sl_status rc = w && w->path ? sl_hf_open(&w->hf, path, stored, err)
                                      : sl_fail(err, SL_ENOMEM, "%s: no memory for the handle", path);
    if (rc) {
        sl_weights_close(w);
        return rc;
    }
    w->arch = w->hf->arch;
    *out = w;
    return SL_OK;
}

static sl_status open_path(sl_weights **out, const char *path, const sl_overrides *o, bool stored, sl_err *err)
{
    *out = NULL;
    struct stat sb;
    if (stat(path, &sb) == 0 && S_ISDIR(sb.st_mode))
        return open_folder(out, path, o, stored, err);
    sl_file file = { 0 };
    sl_status rc = sl_file_map(&file, path, err);
    if (rc)
        return sl_fail_in(err, rc, "%s", path);
    rc = open_with(out, path, file.bytes, file.n, o, err);
    if (rc)
        sl_file_unmap(&file);
    else
        (*out)->parts.part[(*out)->parts.own].file = file;
    return rc;
}

sl_status sl_weights_open_with(sl_weights **out, const char *path, const sl_overrides *o, sl_err *err)
{
    return open_path(out, path, o, false, err);
}

sl_status sl_weights_open(sl_weights **out, const char *path, sl_err *err)
{
    return open_path(out, path, NULL, false, err);
}

sl_status sl_weights_open_stored(sl_weights **out, const char *path, sl_err *err)
{
    return open_path(out, path, NULL, true, err);
}

void sl_weights_close(sl_weights *w)
{
    if (!w)
        return;
    sl_gguf_parts_close(&w->parts);
    sl_hf_close(w->hf);
    sl_mem_free(w->path);
    sl_mem_free(w);
}

sl_status sl_weights_overrides_used(const sl_weights *w, sl_err *err)
{
    for (size_t i = 0; !w->hf && i < w->gguf->n_keys; i++) {
        const sl_gguf_key *k = &w->gguf->keys[i];
        if (k->added && !k->asked)
            return sl_fail(err, SL_EINVAL, "--override-kv %.*s: the file has no such key, and nothing here reads it",
                           (int)SL_MIN(k->name.len, 80), k->name.data);
    }
    return SL_OK;
}

const sl_gguf *sl_weights_gguf(const sl_weights *w)
{
    return w->gguf;
}

const sl_hf *sl_weights_hf(const sl_weights *w)
{
    return w->hf;
}

sl_container sl_weights_container(const sl_weights *w)
{
    return w->hf ? SL_CONTAINER_HF : SL_CONTAINER_GGUF;
}

const char *sl_weights_path(const sl_weights *w)
{
    return w->path;
}

const char *sl_weights_arch(const sl_weights *w)
{
    return w->arch;
}

sl_status sl_weights_name(const sl_weights *w, const char **out, sl_err *err)
{
    *out = w->hf ? w->hf->name : w->path;
    return w->hf ? SL_OK : sl_weights_get_str(w, "general.name", false, out, err);
}

uint64_t sl_weights_file_bytes(const sl_weights *w)
{
    return w->hf ? w->hf->shards.file_bytes : w->parts.file_bytes;
}

bool sl_weights_has_file(const sl_weights *w, const char *path)
{
    if (w->hf)
        return sl_hf_has_file(w->hf, path);
    for (size_t i = 0; i < w->parts.n; i++)
        if (sl_file_is(&w->parts.part[i].file, path))
            return true;
    return false;
}

/* --- tensors ----------------------------------------------------------------------------- */

size_t sl_weights_count(const sl_weights *w)
{
    return w->hf ? sl_hf_count(w->hf) : w->parts.n_tensors;
}

const sl_weight_info *sl_weights_at(const sl_weights *w, size_t i)
{
    return w->hf ? sl_hf_at(w->hf, i) : &sl_gguf_parts_at(&w->parts, i)->info;
}

const sl_weight_info *sl_weights_find(const sl_weights *w, const char *name)
{
    if (w->hf)
        return sl_hf_find(w->hf, name);
    const sl_gguf_tensor *t = sl_gguf_parts_find(&w->parts, name);
    return t ? &t->info : NULL;
}

size_t sl_weights_stored_count(const sl_weights *w)
{
    return w->hf ? w->hf->shards.n_tensors : w->parts.n_tensors;
}

const sl_weight_info *sl_weights_stored_at(const sl_weights *w, size_t i)
{
    return w->hf ? w->hf->shards.tensor[i] : sl_weights_at(w, i);
}

void sl_weights_ranges(const sl_weights *w, void (*fn)(void *user, const void *p, size_t bytes), void *user)
{
    enum { GAP = 1 << 16 };
    const size_t n = sl_weights_stored_count(w);
    for (size_t i = 0, end = 0; i < n; i = end) {
        const char *from = sl_weights_stored_at(w, i)->tensor.data, *to = from;
        for (end = i; end < n; end++) {
            const char *at = sl_weights_stored_at(w, end)->tensor.data;
            if (end > i && (at < to || (size_t)(at - to) > GAP))
                break;
            to = at + sl_weights_stored_at(w, end)->bytes;
        }
        fn(user, from, (size_t)(to - from));
    }
}

/* Some megabytes at a time, so that `tell` is heard often enough. */
static sl_status check_tensor(const sl_weights *w, const sl_weight_info *t, sl_weights_tell *tell, void *user,
                              uint64_t done, uint64_t total, sl_err *err)
{
    enum { BYTES_AT_ONCE = 4 << 20 };
    const size_t row_cost = sl_tensor_row_cost(&t->tensor), rows_at_once = SL_MAX(BYTES_AT_ONCE / row_cost, 1);
    for (size_t r = 0; r < t->tensor.rows; r += rows_at_once) {
        size_t row = 0, col = 0;
        if (tell)
            tell(user, t->name, done + r * row_cost, total);
        if (!sl_quant_check(&t->tensor, r, SL_MIN(r + rows_at_once, t->tensor.rows), &row, &col))
            return sl_fail(err, SL_EFORMAT,
                           "%s: tensor %s (%s): row %zu, from column %zu on: a value that is no finite number, or a "
                           "broken scale; the file is damaged",
                           w->path, t->name, t->type, row, col);
    }
    return SL_OK;
}

sl_status sl_weights_check(const sl_weights *w, sl_weights_tell *tell, void *user, sl_err *err)
{
    uint64_t total = 0, done = 0;
    for (size_t i = 0; i < sl_weights_count(w); i++)
        total += sl_weights_at(w, i)->bytes;
    for (size_t i = 0; i < sl_weights_count(w); i++) {
        const sl_weight_info *t = sl_weights_at(w, i);
        const sl_status rc = t->tensor.format == SL_FORMAT_COUNT || t->bytes == 0
                                 ? SL_OK
                                 : check_tensor(w, t, tell, user, done, total, err);
        if (rc)
            return rc;
        done += t->bytes;
    }
    return SL_OK;
}
