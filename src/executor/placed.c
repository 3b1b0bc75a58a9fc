/* placed.c - where an engine's weights, threads and pages are, and what became of it. */
#include "base/num.h"
#include "executor/engine_in.h"
#include "executor/model.h"

#define AHEAD_THREADS 2
#define AHEAD_BYTES   ((size_t)256 << 20) /* of weights that are in memory before their use, */
#define AHEAD_PART    8                   /* and this part of what may be had */

sl_status sl_engine_place(sl_engine *e, const sl_engine_options *o, sl_err *err)
{
    const sl_settings *s = &e->settings;
    const sl_weights *w = e->model->net->weights;
    sl_status rc = SL_OK;
    e->net = e->model->net;
    if (s->n_copies) {
        rc = sl_copies_make(&e->copies, e->model->net, s, o->on_copy, o->user, err);
        e->net = &e->copies.net;
        return rc;
    }
    for (size_t i = 0; s->mlock && i < sl_weights_stored_count(w) && !rc; i++)
        rc = sl_pages_lock(sl_weights_stored_at(w, i)->tensor.data, (size_t)sl_weights_stored_at(w, i)->bytes, err);
    return rc ? sl_fail_in(err, rc, "--mlock") : SL_OK;
}

/* Cores that differ are left to the system only where the user wants more threads than there are fast ones. */
sl_status sl_engine_start_threads(sl_engine *e, sl_err *err)
{
    sl_settings *s = &e->settings;
    const size_t n = s->plan.env.limits.n_threads;
    sl_cpu_use use;
    sl_cpu_get_use(&use);
    sl_status rc = sl_pool_create(&e->pool, n, err);
    const bool each = s->pin == SL_PIN_CORES;
    if (rc || !(each || (s->pin == SL_PIN_AUTO && use.n_fast < use.n_cores && n <= use.n_fast)))
        return rc;
    for (size_t i = 0; i < n && e->copies.n > 1; i++)
        e->copies.offset[i] = sl_node_of_cpu(sl_pool_cpu_of(&use.cores, i, n)) * e->copies.stride;
    if (e->copies.n > 1)
        s->plan.env.copy_at = e->plan.options.env.copy_at = e->copies.offset;
    rc = sl_pool_pin(e->pool, &use.cores, each, err);
    return rc ? sl_fail_in(err, rc, "--pin") : SL_OK;
}

/* Where the weights stay in memory, asking for them again and again would be work for nothing. */
sl_status sl_engine_read_ahead(sl_engine *e, sl_err *err)
{
    const sl_prefetch p = e->settings.prefetch;
    if (p == SL_PREFETCH_OFF || (p == SL_PREFETCH_AUTO && !e->memory.streamed))
        return SL_OK;
    const size_t window = SL_MIN(AHEAD_BYTES, e->memory.available / AHEAD_PART);
    const sl_status rc = sl_ahead_create(&e->ahead, AHEAD_THREADS, window, err);
    return rc ? sl_fail_in(err, rc, "--prefetch") : SL_OK;
}

static void add_use(sl_page_use *out, const void *p, size_t bytes)
{
    sl_pages_use u;
    sl_pages_measure(p, bytes, &u);
    out->bytes += bytes;
    out->resident += u.resident;
    out->huge += u.huge;
    out->locked += u.locked;
    for (size_t i = 0; i < out->n_nodes; i++)
        out->node[i] += u.node[i];
}

static void add_range(void *user, const void *p, size_t bytes)
{
    add_use(user, p, bytes);
}

void sl_engine_pages(const sl_engine *e, sl_page_use *weights, sl_page_use *kv, sl_page_use *workspace)
{
    *weights = *kv = *workspace = (sl_page_use){ .n_nodes = sl_nodes() };
    if (e->copies.n)
        add_use(weights, e->copies.block.data, e->copies.block.bytes);
    else
        sl_weights_ranges(e->model->net->weights, add_range, weights);
    add_use(kv, sl_kv_block(e->kv)->data, sl_kv_block(e->kv)->bytes);
    add_use(workspace, e->workspace.data, e->workspace.bytes);
}
