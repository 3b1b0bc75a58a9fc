#include "formats/hf.h"

#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "formats/show.h"

#define CACHE_PREFIX "models--"

/* ---- what it is called ------------------------------------------------------------------------ */

/* "models--org--name" of .../models--org--name/snapshots/REVISION; NULL: not in a cache. */
static const char *cache_folder(const char *path, size_t *len)
{
    const char *snapshots = NULL, *at = path;
    while ((at = strstr(at, "/snapshots/")))
        snapshots = at++;
    const char *begin = snapshots;
    while (begin && begin > path && begin[-1] != '/')
        begin--;
    if (!begin || strncmp(begin, CACHE_PREFIX, sizeof CACHE_PREFIX - 1) != 0)
        return NULL;
    *len = (size_t)(snapshots - begin);
    return begin;
}

/* "org/name", else the folder's last part. */
static char *name_of(const char *dir)
{
    char *real = realpath(dir, NULL);
    const char *path = real ? real : dir;
    size_t len = 0;
    const char *cached = cache_folder(path, &len), *slash = strrchr(path, '/');
    char *name = NULL;
    if (!cached) {
        name = sl_mem_strdup(slash && slash[1] ? slash + 1 : path);
    } else if ((name = sl_mem_strndup(cached + sizeof CACHE_PREFIX - 1, len - (sizeof CACHE_PREFIX - 1)))) {
        char *dashes = strstr(name, "--");
        if (dashes) {
            *dashes = '/';
            memmove(dashes + 1, dashes + 2, strlen(dashes + 2) + 1);
        }
    }
    free(real);
    return name;
}

/* ---- open -------------------------------------------------------------------------------------- */

static sl_status read_arch(sl_hf *h, sl_err *err)
{
    sl_bytes name = { 0 };
    char shown[SL_SHOW_MAX];
    const sl_status rc = sl_json_get_str(h->config.root, "model_type", true, &name, err);
    if (rc)
        return rc;
    bool ok = name.len > 0 && name.len <= SL_ARCH_MAX;
    for (size_t i = 0; ok && i < name.len; i++)
        ok = name.data[i] > ' ' && name.data[i] <= '~';
    if (!ok)
        return sl_fail(err, SL_EFORMAT, "model_type: \"%s\" is no name of 1 to %d ASCII letters", sl_show(shown, name),
                       SL_ARCH_MAX);
    h->arch = sl_mem_strndup(name.data, name.len);
    return h->arch ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for a name");
}

static sl_status open_parts(sl_hf *h, const char *dir, bool stored, sl_err *err)
{
    sl_status rc = sl_small_json_open(&h->config, dir, "config.json", err);
    if (rc)
        return rc;
    if (!h->config.root)
        return sl_fail(err, SL_ENOTFOUND, "%s: a folder without a config.json; a .gguf file is given by its own name",
                       dir);
    if ((rc = read_arch(h, err)))
        return sl_fail_in(err, rc, "%s", h->config.path);
    h->name = name_of(dir);
    if (!h->name)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for a name", dir);
    if ((rc = sl_shards_open(&h->shards, dir, err)))
        return rc;
    return stored ? SL_OK : sl_quantized_open(&h->quantized, dir, &h->shards, &h->config, err);
}

sl_status sl_hf_open(sl_hf **out, const char *dir, bool stored, sl_err *err)
{
    *out = NULL;
    sl_hf *h = sl_mem_zalloc(1, sizeof *h);
    const sl_status rc =
        h ? open_parts(h, dir, stored, err) : sl_fail(err, SL_ENOMEM, "%s: no memory for the handle", dir);
    if (rc)
        sl_hf_close(h);
    else
        *out = h;
    return rc;
}

void sl_hf_close(sl_hf *h)
{
    if (!h)
        return;
    sl_quantized_close(&h->quantized);
    sl_shards_close(&h->shards);
    sl_small_json_close(&h->config);
    sl_mem_free(h->name);
    sl_mem_free(h->arch);
    sl_mem_free(h);
}

size_t sl_hf_count(const sl_hf *h)
{
    return h->quantized.method ? h->quantized.n : h->shards.n_tensors;
}

const sl_weight_info *sl_hf_at(const sl_hf *h, size_t i)
{
    return h->quantized.method ? &h->quantized.tensor[i] : h->shards.tensor[i];
}

const sl_weight_info *sl_hf_find(const sl_hf *h, const char *name)
{
    return h->quantized.method ? sl_quantized_find(&h->quantized, name) : sl_shards_find(&h->shards, name);
}

bool sl_hf_has_file(const sl_hf *h, const char *path)
{
    if (sl_file_is(&h->config.file, path))
        return true;
    for (size_t i = 0; i < h->shards.n; i++)
        if (sl_file_is(&h->shards.shard[i].file, path))
            return true;
    return sl_file_is(&h->quantized.file.file, path);
}

/* ---- generation_config.json ---------------------------------------------------------------------- */

static sl_status read_real(const sl_json *root, const char *key, double low, double high, double *out, sl_err *err)
{
    const sl_json *m = sl_json_get(root, key);
    if (!m)
        return SL_OK;
    if (!sl_json_double(m, out) || *out < low || *out > high)
        return sl_json_fail(err, SL_EFORMAT, m, "should be a number from %g to %g", low, high);
    return SL_OK;
}

static sl_status read_sampling(sl_generation *g, const sl_json *root, sl_err *err)
{
    const sl_json *top_k = sl_json_get(root, "top_k");
    sl_status rc;
    if ((rc = read_real(root, "temperature", 0.0, 100.0, &g->temperature, err)) ||
        (rc = read_real(root, "top_p", 0.0, 1.0, &g->top_p, err)) ||
        (rc = read_real(root, "min_p", 0.0, 1.0, &g->min_p, err)) ||
        (rc = read_real(root, "repetition_penalty", 1e-6, 1e6, &g->repetition_penalty, err)))
        return rc;
    if (!top_k)
        return SL_OK;
    if (!sl_json_int(top_k, &g->top_k) || g->top_k < -1 || g->top_k > UINT32_MAX)
        return sl_json_fail(err, SL_EFORMAT, top_k, "should be a whole number from 0 on, or -1");
    g->top_k = SL_MAX(g->top_k, (int64_t)0); /* -1, as vLLM has it: all */
    return SL_OK;
}

sl_status sl_generation_read(sl_generation *g, const char *dir, sl_err *err)
{
    sl_small_json j = { 0 };
    *g = (sl_generation){ -1.0, -1.0, -1.0, -1.0, -1 };
    sl_status rc = sl_small_json_open(&j, dir, "generation_config.json", err);
    if (!rc && (rc = read_sampling(g, j.root, err)))
        rc = sl_fail_in(err, rc, "%s", j.path);
    sl_small_json_close(&j);
    return rc;
}
