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
    sl_mem_free(t);
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
