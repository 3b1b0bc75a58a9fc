#include "module/kv.h"

#include <assert.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"

struct sl_kv {
    sl_kv_shape shape;
    size_t head_bytes, page_bytes;
    sl_pages block;
    unsigned char *data; /* of the block */
    uint32_t *free_page; /* a stack */
    uint32_t *owners;    /* [n_pages] 0: free */
    size_t n_free;
};

const char *sl_kv_type_name(sl_kv_type type)
{
    static const char *const name[SL_KV_COUNT] = {
#define NAME(id, bytes, text) [SL_KV_##id] = text,
        SL_KV_TYPE_LIST(NAME)
#undef NAME
    };
    return name[type];
}

/* What a layer keeps apart: keys and values of each head, or latent rows. */
static size_t streams(const sl_kv_shape *s)
{
    return s->latent ? 1 : 2 * s->n_heads;
}

bool sl_kv_page_bytes(const sl_kv_shape *s, size_t *out)
{
    size_t n = 0;
    return sl_mul_ok(s->C, sizeof(float), &n) && sl_add_ok(n, sizeof(float), &n) && /* no type takes more */
           sl_mul_ok(sl_kv_token_bytes(s->type, s->C), s->P, &n) && sl_mul_ok(n, streams(s), &n) &&
           sl_mul_ok(n, s->n_layers, &n) && (*out = n, true);
}

size_t sl_kv_position_bytes(const sl_kv_shape *s)
{
    return sl_kv_token_bytes(s->type, s->C) * streams(s) * s->n_layers;
}

sl_status sl_kv_create(sl_kv **out, const sl_kv_shape *shape, const sl_pages_how *how, sl_err *err)
{
    *out = NULL;
    assert(shape->P && shape->P % 16 == 0);
    assert(!shape->latent || (shape->n_heads == 1 && shape->layout == SL_KV_TOKEN));
    size_t page_bytes = 0, total = 0;
    if (shape->n_pages > UINT32_MAX || !sl_kv_page_bytes(shape, &page_bytes) ||
        !sl_mul_ok(page_bytes, shape->n_pages, &total))
        return sl_fail(err, SL_EINVAL, "a KV cache of %zu pages of %zu positions is larger than the address space",
                       shape->n_pages, shape->P);
    sl_kv *kv = sl_mem_zalloc(1, sizeof *kv);
    if (!kv)
        return sl_fail(err, SL_ENOMEM, "no memory for the KV cache's table");
    kv->shape = *shape;
    kv->page_bytes = page_bytes;
    kv->head_bytes = sl_kv_token_bytes(shape->type, shape->C) * shape->P;
    kv->free_page = sl_mem_zalloc(shape->n_pages, sizeof *kv->free_page);
    kv->owners = sl_mem_zalloc(shape->n_pages, sizeof *kv->owners);
    sl_status rc = SL_OK;
    if (!kv->free_page || !kv->owners)
        rc = sl_fail(err, SL_ENOMEM, "no memory for the table of %zu pages", shape->n_pages);
    else if ((rc = sl_pages_map(&kv->block, total, how, err)))
        rc = sl_fail_in(err, rc, "the KV cache");
    if (rc) {
        sl_kv_destroy(kv);
        return rc;
    }
    kv->data = kv->block.data;
    for (size_t i = 0; i < shape->n_pages; i++)
        kv->free_page[i] = (uint32_t)(shape->n_pages - 1 - i);
    kv->n_free = shape->n_pages;
    *out = kv;
    return SL_OK;
}

void sl_kv_destroy(sl_kv *kv)
{
    if (!kv)
        return;
    sl_pages_unmap(&kv->block);
    sl_mem_free(kv->free_page);
    sl_mem_free(kv->owners);
    sl_mem_free(kv);
}

const sl_pages *sl_kv_block(const sl_kv *kv)
{
    return &kv->block;
}

const sl_kv_shape *sl_kv_get_shape(const sl_kv *kv)
{
    return &kv->shape;
}

size_t sl_kv_pages_free(const sl_kv *kv)
{
    return kv->n_free;
}

uint32_t sl_kv_page_take(sl_kv *kv)
{
    assert(kv->n_free);
    const uint32_t page = kv->free_page[--kv->n_free];
    assert(!kv->owners[page]);
    kv->owners[page] = 1;
    return page;
}

void sl_kv_page_share(sl_kv *kv, uint32_t page)
{
    assert(page < kv->shape.n_pages && kv->owners[page]);
    kv->owners[page]++;
}

bool sl_kv_page_is_shared(const sl_kv *kv, uint32_t page)
{
    assert(page < kv->shape.n_pages && kv->owners[page]);
    return kv->owners[page] > 1;
}

void sl_kv_page_drop(sl_kv *kv, uint32_t page)
{
    assert(page < kv->shape.n_pages && kv->owners[page]);
    if (!--kv->owners[page])
        kv->free_page[kv->n_free++] = page;
}

void sl_kv_page_copy(sl_kv *kv, uint32_t to, uint32_t from)
{
    assert(to != from && kv->owners[to] == 1 && kv->owners[from]);
    const size_t n = streams(&kv->shape) * kv->shape.n_layers;
    for (size_t i = 0; i < n; i++) {
        unsigned char *stream = kv->data + i * kv->shape.n_pages * kv->head_bytes;
        memcpy(stream + to * kv->head_bytes, stream + from * kv->head_bytes, kv->head_bytes);
    }
}

static sl_kv_head stream_at(const sl_kv *kv, uint32_t page, size_t layer, size_t stream)
{
    assert(page < kv->shape.n_pages && layer < kv->shape.n_layers);
    const size_t index = layer * streams(&kv->shape) + (kv->shape.latent ? 0 : stream);
    return sl_kv_head_at(kv->shape.type, kv->data + (index * kv->shape.n_pages + page) * kv->head_bytes, kv->shape.P,
                         kv->shape.C);
}

sl_kv_head sl_kv_k(const sl_kv *kv, uint32_t page, size_t layer, size_t head)
{
    return stream_at(kv, page, layer, head);
}

sl_kv_head sl_kv_v(const sl_kv *kv, uint32_t page, size_t layer, size_t head)
{
    return stream_at(kv, page, layer, kv->shape.n_heads + head);
}

void sl_kv_fetch_slot(const sl_kv *kv, const sl_kv_head *h, bool key, size_t at)
{
    const sl_kv_shape *s = &kv->shape;
    const size_t filled = sl_kv_token_bytes(s->type, s->C) - (h->scale ? sizeof *h->scale : 0);
    size_t bytes = h->scale ? s->C : filled; /* int8: one each */
    const char *from = (const char *)h->data + at * bytes;
    if (key && s->layout == SL_KV_GROUPED) {
        from = (const char *)h->data + at / SL_KV_BLOCK * SL_KV_BLOCK * filled;
        bytes = SL_KV_BLOCK * filled;
    }
    sl_cpu_prefetch_bytes(from, bytes);
    sl_cpu_prefetch(from + bytes - 1); /* the last line, if they do not begin with one */
    if (h->scale)
        sl_cpu_prefetch(h->scale + at);
}
