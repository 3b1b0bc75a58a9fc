#include "formats/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/num.h"
#include "formats/show.h"
#include "formats/small_json.h"

#define SINGLE      "model.safetensors"
#define INDEX       "model.safetensors.index.json"
#define CHUNK_BYTES ((size_t)16 << 10)

/* What the index says: key i of the weight map is in shard[i]. */
typedef struct map {
    sl_small_json json;
    const sl_json *table; /* NULL: no index */
    sl_bytes *key;        /* [n] */
    uint32_t *shard;      /* [n] */
    bool *found;          /* [n] the shard has it */
    size_t n;
    sl_names by_key;
} map;

static void map_close(map *m)
{
    sl_names_fini(&m->by_key);
    sl_mem_free(m->key);
    sl_mem_free(m->shard);
    sl_mem_free(m->found);
    sl_small_json_close(&m->json);
}

static sl_status no_memory(const char *dir, size_t n, sl_err *err)
{
    return sl_fail(err, SL_ENOMEM, "%s: no memory for the names of %zu tensors", dir, n);
}

/* ---- the index ------------------------------------------------------------------------------ */

/* A name in this folder, no path: an index must not open files elsewhere. */
static bool plain_file(sl_bytes name)
{
    return name.len > 0 && name.data[0] != '.' && !memchr(name.data, '/', name.len) && !memchr(name.data, 0, name.len);
}

static sl_status check_table(map *m, sl_err *err)
{
    sl_status rc = sl_json_get_object(m->json.root, "weight_map", true, &m->table, err);
    if (rc)
        return rc;
    if (m->table->n == 0)
        return sl_json_fail(err, SL_EFORMAT, m->table, "names no tensor");
    for (const sl_json *t = m->table->first; t; t = t->next) {
        char shown[SL_SHOW_MAX];
        if (t->kind != SL_JSON_STRING)
            return sl_json_fail(err, SL_EFORMAT, t, "should be the name of a file");
        if (!plain_file(sl_json_bytes(t)))
            return sl_json_fail(err, SL_EFORMAT, t, "\"%s\" is no plain name of a file in this folder",
                                sl_show(shown, sl_json_bytes(t)));
    }
    return SL_OK;
}

static int by_text(const void *a, const void *b)
{
    const sl_json *x = *(const sl_json *const *)a, *y = *(const sl_json *const *)b;
    const int order = memcmp(x->text, y->text, SL_MIN(x->text_len, y->text_len));
    return order ? order : (x->text_len > y->text_len) - (x->text_len < y->text_len);
}

/* Each file once, by name. */
static sl_status list_files(sl_shards *s, const map *m, const char *dir, sl_err *err)
{
    const sl_json **list = sl_mem_zalloc(m->table->n, sizeof *list);
    s->file = sl_arena_alloc(&s->arena, m->table->n, sizeof *s->file);
    sl_status rc = list && s->file ? SL_OK : no_memory(dir, m->table->n, err);
    size_t n = 0;
    for (const sl_json *t = rc ? NULL : m->table->first; t; t = t->next)
        list[n++] = t;
    if (!rc)
        qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n && !rc; i++) {
        if (i > 0 && by_text(&list[i - 1], &list[i]) == 0)
            continue;
        s->file[s->n] = sl_arena_strndup(&s->arena, list[i]->text, list[i]->text_len);
        rc = s->file[s->n++] ? SL_OK : no_memory(dir, n, err);
    }
    sl_mem_free(list);
    return rc;
}

static size_t file_at(const sl_shards *s, const sl_json *name)
{
    size_t low = 0, high = s->n;
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        const sl_json at = { .text = s->file[middle], .text_len = (uint32_t)strlen(s->file[middle]) };
        const sl_json *a = &at;
        if (by_text(&a, &name) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static sl_status read_index(map *m, sl_shards *s, const char *dir, sl_err *err)
{
    sl_status rc = check_table(m, err);
    if (rc)
        return sl_fail_in(err, rc, "%s", m->json.path);
    if ((rc = list_files(s, m, dir, err)))
        return rc;
    m->key = sl_mem_zalloc(m->table->n, sizeof *m->key);
    m->shard = sl_mem_zalloc(m->table->n, sizeof *m->shard);
    m->found = sl_mem_zalloc(m->table->n, sizeof *m->found);
    if (!m->key || !m->shard || !m->found)
        return no_memory(dir, m->table->n, err);
    for (const sl_json *t = m->table->first; t; t = t->next) {
        m->key[m->n] = (sl_bytes){ t->key, t->key_len };
        m->shard[m->n++] = (uint32_t)file_at(s, t);
    }
    return sl_names_init(&m->by_key, m->key, m->n, NULL) ? no_memory(dir, m->n, err) : SL_OK;
}

/* ---- the files -------------------------------------------------------------------------------- */

static bool has(const char *dir, const char *name)
{
    char path[SL_PATH_MAX];
    return sl_path_join(path, dir, name, NULL) == SL_OK && access(path, F_OK) == 0;
}

static sl_status no_weights(const char *dir, sl_err *err)
{
    if (has(dir, "pytorch_model.bin") || has(dir, "pytorch_model.bin.index.json"))
        return sl_fail(err, SL_EUNSUPPORTED, "%s: weights in PyTorch's own form only; " SINGLE " is needed", dir);
    if (has(dir, "adapter_model.safetensors"))
        return sl_fail(err, SL_EUNSUPPORTED, "%s: an adapter, no model of its own", dir);
    return sl_fail(err, SL_ENOTFOUND, "%s: neither " SINGLE " nor " INDEX " in this folder", dir);
}

/* File i is not there; of many that are missing the first is named and the rest counted. */
static sl_status no_file(const sl_shards *s, size_t i, const char *path, const char *dir, sl_err *err)
{
    size_t n = 0;
    for (size_t k = i + 1; k < s->n; k++)
        n += !has(dir, s->file[k]);
    if (n)
        return sl_fail(err, SL_ENOTFOUND, "%s: missing; " INDEX " names it, and %zu more of its %zu files are missing",
                       path, n, s->n);
    return sl_fail(err, SL_ENOTFOUND, "%s: missing; " INDEX " names it", path);
}

static sl_status open_files(sl_shards *s, const char *dir, bool indexed, sl_err *err)
{
    s->shard = sl_arena_alloc(&s->arena, s->n, sizeof *s->shard);
    if (!s->shard)
        return no_memory(dir, s->n, err);
    for (size_t i = 0; i < s->n; i++) {
        char path[SL_PATH_MAX];
        sl_status rc = sl_path_join(path, dir, s->file[i], err);
        if (!rc)
            rc = sl_safetensors_open(&s->shard[i], path, err);
        if (rc == SL_ENOTFOUND)
            return indexed ? no_file(s, i, path, dir, err) : no_weights(dir, err);
        if (rc)
            return rc;
        s->file_bytes += s->shard[i].file.n;
        s->n_tensors += s->shard[i].n;
    }
    return SL_OK;
}

/* Whether the tensor is to be taken from this shard. */
static bool is_chosen(map *m, const sl_bytes name, size_t shard)
{
    const size_t at = m->table ? sl_names_find(&m->by_key, name) : SIZE_MAX;
    if (at == SIZE_MAX)
        return true;
    if (m->shard[at] != shard)
        return false;
    m->found[at] = true;
    return true;
}

/* Of a tensor that is not where the index says: the shard that has it, or NULL. */
static const char *elsewhere(const sl_shards *s, sl_bytes name)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->shard[i].n; k++)
            if (strlen(s->shard[i].tensors[k].name) == name.len &&
                memcmp(s->shard[i].tensors[k].name, name.data, name.len) == 0)
                return s->file[i];
    return NULL;
}

static sl_status check_found(const sl_shards *s, const map *m, sl_err *err)
{
    char shown[SL_SHOW_MAX];
    for (size_t i = 0; i < m->n; i++) {
        if (m->found[i])
            continue;
        const char *other = elsewhere(s, m->key[i]);
        return sl_fail(err, SL_EFORMAT, "%s: tensor %s should be in %s, which does not have it%s%s", m->json.path,
                       sl_show(shown, m->key[i]), s->file[m->shard[i]], other ? "; it is in " : "", other ? other : "");
    }
    return SL_OK;
}

static sl_status gather(sl_shards *s, map *m, const char *dir, sl_err *err)
{
    const size_t room = s->n_tensors;
    size_t twice = SIZE_MAX;
    s->tensor = sl_arena_alloc(&s->arena, room, sizeof *s->tensor);
    s->name = sl_arena_alloc(&s->arena, room, sizeof *s->name);
    if (!s->tensor || !s->name)
        return no_memory(dir, room, err);
    s->n_tensors = 0;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->shard[i].n; k++) {
            const sl_weight_info *t = &s->shard[i].tensors[k];
            const sl_bytes name = { t->name, strlen(t->name) };
            if (!is_chosen(m, name, i))
                continue;
            s->name[s->n_tensors] = name;
            s->tensor[s->n_tensors++] = t;
        }
    const sl_status rc = check_found(s, m, err);
    if (rc)
        return rc;
    if (sl_names_init(&s->by_name, s->name, s->n_tensors, &twice))
        return no_memory(dir, s->n_tensors, err);
    return twice == SIZE_MAX ? SL_OK
                             : sl_fail(err, SL_EFORMAT, "%s: tensor %s is in two files, and " INDEX " names neither",
                                       dir, s->tensor[twice]->name);
}

static sl_status open_all(sl_shards *s, map *m, const char *dir, sl_err *err)
{
    static const char *single[] = { SINGLE };
    sl_status rc = sl_small_json_open(&m->json, dir, INDEX, err);
    if (rc)
        return rc;
    if (m->json.root) {
        rc = read_index(m, s, dir, err);
    } else {
        s->file = single;
        s->n = 1;
    }
    if (!rc)
        rc = open_files(s, dir, m->json.root, err);
    return rc ? rc : gather(s, m, dir, err);
}

sl_status sl_shards_open(sl_shards *s, const char *dir, sl_err *err)
{
    map m = { 0 };
    *s = (sl_shards){ 0 };
    sl_arena_init(&s->arena, CHUNK_BYTES);
    const sl_status rc = open_all(s, &m, dir, err);
    map_close(&m);
    if (rc)
        sl_shards_close(s);
    return rc;
}

void sl_shards_close(sl_shards *s)
{
    for (size_t i = 0; s->shard && i < s->n; i++)
        sl_safetensors_close(&s->shard[i]);
    sl_names_fini(&s->by_name);
    sl_arena_fini(&s->arena);
    *s = (sl_shards){ 0 };
}

const sl_weight_info *sl_shards_find(const sl_shards *s, const char *name)
{
    const size_t at = sl_names_find(&s->by_name, (sl_bytes){ name, strlen(name) });
    return at == SIZE_MAX ? NULL : s->tensor[at];
}
