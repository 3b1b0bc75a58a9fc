#include "executor/copies.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/num.h"
#include "kernels/kernels.h"

#define STRIDE_OF SL_HUGE_BYTES /* copies begin on huge pages, which lie on one node */

/* A stored tensor that is read. */
typedef struct place {
    const sl_tensor *t;
    const char *from;
    size_t bytes, at; /* of the copy, from its begin */
    bool by_eights;   /* a matrix that reads it takes 8 rows at once, */
    bool otherwise;   /* another one does not */
} place;

/* In the order of their addresses. */
typedef struct places {
    size_t n;
    place *of; /* [n] */
    size_t bytes;
} places;

static int by_address(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static sl_status find_places(places *p, const sl_net *net, sl_err *err)
{
    const sl_weights *w = net->weights;
    const size_t n = sl_weights_stored_count(w);
    *p = (places){ .of = sl_mem_zalloc(n, sizeof *p->of) };
    if (!p->of)
        return sl_fail(err, SL_ENOMEM, "no memory for the places of %zu tensors", n);
    for (size_t i = 0; i < n; i++) {
        const sl_weight_info *t = sl_weights_stored_at(w, i);
        if (!sl_net_skips(net, t->name))
            p->of[p->n++] = (place){ .t = &t->tensor, .from = t->tensor.data, .bytes = (size_t)t->bytes };
    }
    qsort(p->of, p->n, sizeof *p->of, by_address);
    for (size_t i = 0; i < p->n; i++) {
        p->of[i].at = p->bytes; /* the file has them all, so the sum is no larger than it is */
        p->bytes += sl_round_up(p->of[i].bytes, SL_MEM_ALIGN);
    }
    return SL_OK;
}

/* The place that holds the byte at `data`; NULL: none does. What belongs to an expert is part of a tensor of the file.
 */
static place *place_of(const places *p, const void *data)
{
    const char *at = data;
    size_t low = 0, high = p->n; /* the last place that begins at `at` or before it is below `high` */
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (p->of[mid].from <= at)
            low = mid + 1;
        else
            high = mid;
    }
    place *t = low ? &p->of[low - 1] : NULL;
    return t && (size_t)(at - t->from) < t->bytes ? t : NULL;
}

/* ---- matrices that are read by eights of rows ------------------------------------- */

/* Who reads `t` takes its rows in pieces of `unit`; 0: in others. */
static void see(const places *p, const sl_tensor *t, size_t unit)
{
    const size_t eight = SL_PANEL_ROWS;
    place *at = t->data ? place_of(p, t->data) : NULL;
    if (!at)
        return;
    const size_t row_bytes = at->t->row_bytes, from = (size_t)((const char *)t->data - at->from);
    const bool stored = row_bytes && at->t->rows % eight == 0 && at->t->rows * row_bytes == at->bytes;
    const bool whole = unit && unit % eight == 0 && t->rows % eight == 0 && stored && from % (eight * row_bytes) == 0;
    if (whole && t->format == at->t->format && t->row_bytes == row_bytes)
        at->by_eights = true;
    else
        at->otherwise = true;
}

static void see_experts(const places *p, const sl_tensor *list, size_t E)
{
    for (size_t e = 0; list && e < E; e++)
        see(p, &list[e], SL_PANEL_ROWS);
}

/* What is multiplied with activations as the user wants them. The router and what mixes the shared expert are not, nor
 * is kv_b, which is taken apart by heads. */
static void see_layer(const places *p, const sl_layer *l, const sl_config *config)
{
    const sl_tensor *const heads[] = { &l->q, &l->k, &l->v };
    const sl_tensor *const others[] = { &l->o,    &l->q_a,         &l->kv_a,      &l->gate,       &l->up,
                                        &l->down, &l->shared_gate, &l->shared_up, &l->shared_down };
    for (size_t i = 0; i < SL_COUNT(heads); i++)
        see(p, heads[i], config->latent ? SL_PANEL_ROWS : config->C);
    for (size_t i = 0; i < SL_COUNT(others); i++)
        see(p, others[i], SL_PANEL_ROWS);
    see_experts(p, l->expert_gate, config->router.E);
    see_experts(p, l->expert_up, config->router.E);
    see_experts(p, l->expert_down, config->router.E);
    see(p, &l->kv_b, 0);
    see(p, &l->route, 0);
    see(p, &l->shared_mix, 0);
}

/* Rows of the embedding are looked up in either form. */
static void see_net(const places *p, const sl_net *net)
{
    for (size_t l = 0; l < net->config.n_layers; l++)
        see_layer(p, &net->layer[l], &net->config);
    see(p, &net->head, SL_PANEL_ROWS);
}

static bool is_repacked(const place *t)
{
    return t->by_eights && !t->otherwise && sl_linear_repacked(t->t->format) != SL_FORMAT_COUNT;
}

/* ---- copying ---------------------------------------------------------------------- */

static void let_go(const void *p, size_t bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)p & ~(page - 1);
    madvise((void *)begin, (uintptr_t)p + bytes - begin, MADV_DONTNEED);
}

static void copy_one(char *to, const place *t)
{
    if (!is_repacked(t)) {
        memcpy(to, t->from, t->bytes);
        return;
    }
    const size_t step = SL_PANEL_ROWS * t->t->row_bytes;
    for (size_t at = 0; at < t->bytes; at += step)
        sl_linear_repack(to + at, t->from + at, t->t->format, t->t->row_bytes);
}

static void copy_all(const places *p, char *to, uint64_t done, uint64_t total, sl_on_copy *on_copy, void *user)
{
    for (const place *t = p->of; t < p->of + p->n; t++) {
        if (on_copy)
            on_copy(user, done + t->at, total);
        copy_one(to + t->at, t);
        let_go(t->from, t->bytes);
    }
}

/* Where the copy of what lies at `data` is; what lies elsewhere stays. */
static const void *moved(const places *p, const char *base, const void *data)
{
    const place *t = place_of(p, data);
    return t ? base + t->at + ((const char *)data - t->from) : data;
}

static void move(const places *p, const char *base, sl_tensor *t)
{
    const place *from = place_of(p, t->data);
    if (from && is_repacked(from))
        t->format = sl_linear_repacked(t->format);
    t->data = moved(p, base, t->data);
    t->scales.scale = moved(p, base, t->scales.scale);
    t->scales.zero = moved(p, base, t->scales.zero);
    t->scales.group_of = moved(p, base, t->scales.group_of);
}

/* A list of E experts of one layer. */
static bool move_experts(sl_copies *c, const places *p, const sl_tensor **list, size_t E)
{
    if (!*list)
        return true;
    sl_tensor *own = sl_arena_alloc(&c->arena, E, sizeof *own);
    if (!own)
        return false;
    memcpy(own, *list, E * sizeof *own);
    for (size_t e = 0; e < E; e++)
        move(p, c->block.data, &own[e]);
    *list = own;
    return true;
}

static bool move_layer(sl_copies *c, const places *p, sl_layer *l)
{
    const size_t first = offsetof(sl_layer, attn_norm), last = offsetof(sl_layer, shared_mix);
    const size_t E = c->net.config.router.E;
    for (size_t at = first; at <= last; at += sizeof(sl_tensor)) /* nothing but tensors from the one to the other */
        move(p, c->block.data, (sl_tensor *)(void *)((char *)l + at));
    return move_experts(c, p, &l->expert_gate, E) && move_experts(c, p, &l->expert_up, E) &&
           move_experts(c, p, &l->expert_down, E);
}

_Static_assert((offsetof(sl_layer, shared_mix) - offsetof(sl_layer, attn_norm)) % sizeof(sl_tensor) == 0 &&
                   offsetof(sl_layer, shared_mix) + sizeof(sl_tensor) == offsetof(sl_layer, expert_gate),
               "move_layer knows where tensors are");

static sl_status move_net(sl_copies *c, const places *p, const sl_net *net, sl_err *err)
{
    c->net = *net;
    c->net.layer = c->layer;
    memcpy(c->layer, net->layer, net->config.n_layers * sizeof *net->layer);
    for (size_t l = 0; l < net->config.n_layers; l++)
        if (!move_layer(c, p, &c->layer[l]))
            return sl_fail(err, SL_ENOMEM, "no memory for the experts of layer %zu", l);
    sl_tensor *const others[] = { &c->net.embed, &c->net.out_norm, &c->net.head, &c->net.rope_divisor };
    for (size_t i = 0; i < SL_COUNT(others); i++)
        move(p, c->block.data, others[i]);
    return SL_OK;
}

static sl_status fill(sl_copies *c, const places *p, const sl_net *net, const sl_settings *s, sl_on_copy *on_copy,
                      void *user, sl_err *err)
{
    size_t total = 0;
    c->n = s->n_copies;
    c->stride = sl_round_up(p->bytes, STRIDE_OF);
    c->layer = sl_mem_zalloc(net->config.n_layers, sizeof *c->layer);
    c->offset = sl_mem_zalloc(s->plan.env.limits.n_threads, sizeof *c->offset);
    if (!c->layer || !c->offset || !sl_mul_ok(c->stride, c->n, &total))
        return sl_fail(err, SL_ENOMEM, "no memory for the table of %zu copies", c->n);
    const sl_status rc = sl_pages_map(&c->block, total, &s->pages, err);
    if (rc)
        return sl_fail_in(err, rc, "copying the weights");
    for (size_t k = 0; k < c->n; k++) {
        char *to = (char *)c->block.data + k * c->stride;
        if (s->weights == SL_WEIGHTS_PER_NODE && sl_nodes() > 1)
            sl_pages_prefer_node(to, c->stride,
                                 k); /* refused: they lie where they were first touched; measured later */
        copy_all(p, to, k * p->bytes, c->n * p->bytes, on_copy, user);
    }
    return move_net(c, p, net, err);
}

sl_status sl_copies_make(sl_copies *c, const sl_net *net, const sl_settings *s, sl_on_copy *on_copy, void *user,
                         sl_err *err)
{
    places p;
    *c = (sl_copies){ 0 };
    sl_arena_init(&c->arena, 1 << 16);
    sl_status rc = find_places(&p, net, err);
    if (!rc && s->repack)
        see_net(&p, net);
    for (size_t i = 0; i < p.n; i++)
        c->repacked += is_repacked(&p.of[i]) ? p.of[i].bytes : 0;
    if (!rc)
        rc = fill(c, &p, net, s, on_copy, user, err);
    sl_mem_free(p.of);
    return rc;
}

void sl_copies_fini(sl_copies *c)
{
    sl_pages_unmap(&c->block);
    sl_arena_fini(&c->arena);
    sl_mem_free(c->layer);
    sl_mem_free(c->offset);
    *c = (sl_copies){ 0 };
}
