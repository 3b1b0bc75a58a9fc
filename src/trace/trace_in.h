/* trace_in.h - inside of trace/: the rings. */
#ifndef SL_TRACE_TRACE_IN_H
#define SL_TRACE_TRACE_IN_H

#include "trace/trace.h"

/* One thread's spans. A cache line of its own, so that threads do not disturb each other. */
typedef struct sl_trace_ring {
    _Alignas(64) sl_span *spans; /* [capacity] */
    size_t next;                 /* where the next one goes */
    uint64_t n_added;
} sl_trace_ring;

struct sl_trace {
    size_t n_threads, capacity;
    size_t ring_bytes;
    uint32_t step; /* the running one */
    sl_expert_picks experts;
    sl_trace_ring rings[]; /* [n_threads] */
};

static inline size_t sl_trace_kept(const sl_trace *t, size_t thread)
{
    const uint64_t n = t->rings[thread].n_added;
    return n < t->capacity ? (size_t)n : t->capacity;
}

/* Number i of those kept, 0 the oldest. */
static inline const sl_span *sl_trace_span(const sl_trace *t, size_t thread, size_t i)
{
    const sl_trace_ring *r = &t->rings[thread];
    const size_t oldest = r->n_added > t->capacity ? r->next : 0;
    const size_t at = i < t->capacity - oldest ? oldest + i : i - (t->capacity - oldest);
    return &r->spans[at];
}

#endif
