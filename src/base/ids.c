/* ids.c - a growing list of token ids. */
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/status.h"
#include "sluice/buffer.h"

static sl_status grow(sl_ids *ids, size_t n, sl_err *err)
{
    size_t cap = SL_MAX(ids->cap ? ids->cap * 2 : 64, n);
    int32_t *grown = sl_mem_grow(ids->data, ids->n * sizeof *grown, cap * sizeof *grown);
    if (!grown)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu token ids", cap);
    ids->data = grown;
    ids->cap = cap;
    return SL_OK;
}

sl_status sl_ids_append(sl_ids *ids, const int32_t *id, size_t n, sl_err *err)
{
    if (n > ids->cap - ids->n) {
        const sl_status rc = grow(ids, ids->n + n, err);
        if (rc != SL_OK)
            return rc;
    }
    if (n > 0)
        memcpy(ids->data + ids->n, id, n * sizeof *id);
    ids->n += n;
    return SL_OK;
}

sl_status sl_ids_push(sl_ids *ids, int32_t id, sl_err *err)
{
    if (ids->n == ids->cap) {
        const sl_status rc = grow(ids, ids->n + 1, err);
        if (rc != SL_OK)
            return rc;
    }
    ids->data[ids->n++] = id;
    return SL_OK;
}

void sl_ids_fini(sl_ids *ids)
{
    sl_mem_free(ids->data);
    *ids = (sl_ids){ 0 };
}
