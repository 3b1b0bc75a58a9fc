/* trace.c - the rings and the clock. */
#include "trace/trace.h"
#include "trace/trace_in.h"

#include <assert.h>
#include <time.h>

#include "base/mem.h"
#include "base/num.h"

sl_status sl_trace_create(sl_trace **out, size_t n_threads, size_t capacity, sl_err *err)
{
    *out = NULL;
#if !SL_TRACE
    return sl_fail(err, SL_EUNSUPPORTED, "this build has no tracing (-Dtrace=off)");
#endif
    if (n_threads == 0 || capacity == 0)
        return sl_fail(err, SL_EINVAL, "trace: %zu threads, %zu spans each, expected at least 1", n_threads, capacity);
    size_t head_bytes = 0, ring_bytes = 0;
    sl_trace *t = NULL;
    if (sl_mul_ok(n_threads, sizeof(sl_trace_ring), &head_bytes) && sl_add_ok(head_bytes, sizeof *t, &head_bytes) &&
        sl_mul_ok(capacity, sizeof(sl_span), &ring_bytes))
        t = sl_mem_zalloc(1, head_bytes);
    if (!t)
        return sl_fail(err, SL_ENOMEM, "trace: no memory for %zu threads, %zu spans each", n_threads, capacity);
    t->capacity = capacity;
    t->ring_bytes = ring_bytes;
    for (; t->n_threads < n_threads; t->n_threads++) {
        /* Pages, not heap: the thread that writes them brings them in, on its own node. */
        sl_span *spans = sl_mem_map(ring_bytes);
        if (!spans) {
            sl_trace_destroy(t);
            return sl_fail(err, SL_ENOMEM, "trace: no memory for %zu threads, %zu spans each", n_threads, capacity);
        }
        t->rings[t->n_threads].spans = spans;
    }
    *out = t;
    return SL_OK;
}

void sl_trace_destroy(sl_trace *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n_threads; i++)
        sl_mem_unmap(t->rings[i].spans, t->ring_bytes);
    sl_mem_free(t->experts.picks);
    sl_mem_free(t);
}

sl_status sl_trace_count_experts(sl_trace *t, size_t n_layers, size_t n_experts, sl_err *err)
{
    size_t n = 0;
    assert(!t->experts.picks);
    uint64_t *picks = sl_mul_ok(n_layers, n_experts, &n) ? sl_mem_zalloc(n, sizeof *picks) : NULL;
    if (!picks)
        return sl_fail(err, SL_ENOMEM, "trace: no memory to count %zu experts of %zu layers", n_experts, n_layers);
    t->experts = (sl_expert_picks){ n_layers, n_experts, picks };
    return SL_OK;
}

void sl_trace_add_picks(sl_trace *t, size_t layer, size_t expert, uint64_t n)
{
    if (!t->experts.picks)
        return;
    assert(layer < t->experts.n_layers && expert < t->experts.n_experts);
    t->experts.picks[layer * t->experts.n_experts + expert] += n;
}

const sl_expert_picks *sl_trace_get_experts(const sl_trace *t)
{
    return &t->experts;
}

uint64_t sl_trace_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void sl_trace_next_step(sl_trace *t)
{
    if (t)
        t->step++;
}

void sl_trace_add(sl_trace *t, size_t thread, const sl_span *span)
{
    assert(thread < t->n_threads && span->begin_ns <= span->end_ns);
    sl_trace_ring *r = &t->rings[thread];
    r->spans[r->next] = *span;
    r->spans[r->next].step = t->step;
    r->next = r->next + 1 < t->capacity ? r->next + 1 : 0;
    r->n_added++;
}
