#include "formats/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/num.h"

#define PARTS_MAX    65535 /* split.count is a u16 */
#define NAME_MAX_LEN 4096

/* Name of part `no` (from 1), after `path`, the name of part `own`; false where that does not follow the convention. */
static bool part_name(char out[NAME_MAX_LEN], const char *path, uint64_t own, uint64_t no, uint64_t count)
{
    char tail[48];
    const int tail_len = snprintf(tail, sizeof tail, "-%05" PRIu64 "-of-%05" PRIu64 ".gguf", own, count);
    const size_t len = strlen(path);
    if (len < (size_t)tail_len || strcmp(path + len - (size_t)tail_len, tail) != 0)
        return false;
    const int n = snprintf(out, NAME_MAX_LEN, "%.*s-%05" PRIu64 "-of-%05" PRIu64 ".gguf", (int)(len - (size_t)tail_len),
                           path, no, count);
    return n > 0 && n < NAME_MAX_LEN;
}

/* A number of a split model; *out keeps its value where the file does not have it. */
static sl_status get_number(const sl_gguf *g, const char *name, const char *path, uint64_t *out, sl_err *err)
{
    const sl_gguf_key *k = sl_gguf_find_key(g, name);
    if (!k)
        return SL_OK;
    if (!sl_gguf_type_is_int(k->type) || !sl_gguf_load_u64(k->type, k->value, out))
        return sl_fail(err, SL_EFORMAT, "%s: key %s: not an unsigned number", path, name);
    return SL_OK;
}

/* All names can be spelt and all files are there: before anything is opened. */
static sl_status look_for_parts(const char *path, uint64_t no, uint64_t count, sl_err *err)
{
    char name[NAME_MAX_LEN];
    for (uint64_t i = 1; i <= count; i++) {
        if (!part_name(name, path, no + 1, i, count))
            return sl_fail(err, SL_EFORMAT,
                           "%s: part %" PRIu64 " of %" PRIu64 " of a split model, whose name must end in -%05" PRIu64
                           "-of-%05" PRIu64 ".gguf for the other parts to be found",
                           path, no + 1, count, no + 1, count);
        if (access(name, F_OK) < 0)
            return sl_fail(err, SL_ENOTFOUND, "%s: part %" PRIu64 " of %" PRIu64 " of a split model; %s is missing",
                           path, no + 1, count, name);
    }
    return SL_OK;
}

static sl_status open_other(sl_gguf_part *out, const char *name, uint64_t no, uint64_t count, sl_err *err)
{
    uint64_t its_no = UINT64_MAX, its_count = 0;
    sl_status rc = sl_file_map(&out->file, name, err);
    if (!rc)
        rc = sl_gguf_parse(&out->gguf, out->file.bytes, out->file.n, err);
    if (rc)
        return sl_fail_in(err, rc, "%s", name);
    if ((rc = get_number(&out->gguf, "split.no", name, &its_no, err)) ||
        (rc = get_number(&out->gguf, "split.count", name, &its_count, err)))
        return rc;
    if (its_no != no || its_count != count)
        return sl_fail(err, SL_EFORMAT,
                       "%s: its keys split.no and split.count do not say that it is part %" PRIu64 " of %" PRIu64, name,
                       no + 1, count);
    return SL_OK;
}

/* No tensor twice, and as many as the first part promises. */
static sl_status check_tensors(sl_gguf_parts *p, const char *path, sl_err *err)
{
    uint64_t promised = UINT64_MAX;
    for (size_t i = 0; i < p->n; i++) {
        const sl_gguf *g = &p->part[i].gguf;
        p->part[i].first_tensor = p->n_tensors;
        p->n_tensors += g->n_tensors;
        p->file_bytes += g->n_bytes;
        for (size_t t = 0; i > 0 && t < g->n_tensors; t++)
            for (size_t earlier = 0; earlier < i; earlier++)
                if (sl_gguf_find_tensor(&p->part[earlier].gguf, g->tensors[t].info.name))
                    return sl_fail(err, SL_EFORMAT, "%s: tensor %s is in part %zu and in part %zu", path,
                                   g->tensors[t].info.name, earlier + 1, i + 1);
    }
    const sl_status rc = get_number(&p->part[0].gguf, "split.tensors.count", path, &promised, err);
    if (rc || promised == UINT64_MAX || promised == p->n_tensors)
        return rc;
    return sl_fail(err, SL_EFORMAT, "%s: key split.tensors.count: %" PRIu64 ", but its %zu parts hold %zu tensors",
                   path, promised, p->n, p->n_tensors);
}

/* The parts around `own`, which becomes one of them. */
static sl_status open_split(sl_gguf_parts *p, const char *path, sl_gguf *own, uint64_t no, uint64_t count, sl_err *err)
{
    if (no >= count || count > PARTS_MAX)
        return sl_fail(err, SL_EFORMAT, "%s: key split.no: part %" PRIu64 " of %" PRIu64, path, no, count);
    sl_status rc = count > 1 ? look_for_parts(path, no, count, err) : SL_OK;
    if (rc)
        return rc;
    p->part = sl_mem_zalloc((size_t)count, sizeof *p->part);
    if (!p->part)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for %" PRIu64 " parts", path, count);
    p->n = (size_t)count;
    p->own = (size_t)no;
    p->part[no].gguf = *own;
    *own = (sl_gguf){ 0 };
    for (uint64_t i = 0; i < count && !rc; i++) {
        char name[NAME_MAX_LEN];
        if (i != no && part_name(name, path, no + 1, i + 1, count))
            rc = open_other(&p->part[i], name, i, count, err);
    }
    return rc ? rc : check_tensors(p, path, err);
}

sl_status sl_gguf_parts_open(sl_gguf_parts *p, const char *path, const void *bytes, size_t n, sl_err *err)
{
    uint64_t no = 0, count = 1;
    sl_gguf own;
    *p = (sl_gguf_parts){ 0 };
    sl_status rc = sl_gguf_parse(&own, bytes, n, err);
    if (rc)
        return sl_fail_in(err, rc, "%s", path);
    if (!(rc = get_number(&own, "split.count", path, &count, err)) &&
        !(rc = get_number(&own, "split.no", path, &no, err)))
        rc = open_split(p, path, &own, no, SL_MAX(count, 1), err); /* 0: some writers' word for a whole */
    sl_gguf_fini(&own);
    if (rc)
        sl_gguf_parts_close(p);
    return rc;
}

void sl_gguf_parts_close(sl_gguf_parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        sl_gguf_fini(&p->part[i].gguf);
        sl_file_unmap(&p->part[i].file);
    }
    sl_mem_free(p->part);
    *p = (sl_gguf_parts){ 0 };
}

sl_gguf_tensor *sl_gguf_parts_at(const sl_gguf_parts *p, size_t i)
{
    assert(i < p->n_tensors);
    size_t part = p->n - 1;
    while (p->part[part].first_tensor > i)
        part--;
    return &p->part[part].gguf.tensors[i - p->part[part].first_tensor];
}

sl_gguf_tensor *sl_gguf_parts_find(const sl_gguf_parts *p, const char *name)
{
    sl_gguf_tensor *t = NULL;
    for (size_t i = 0; i < p->n && !t; i++)
        t = sl_gguf_find_tensor(&p->part[i].gguf, name);
    return t;
}
