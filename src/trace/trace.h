/* trace.h - spans: which thread did what, when, over how many bytes and operations.
 *
 * A ring of spans for each thread, sized once; nothing is shared while running. Off is a NULL
 * pointer: one predicted branch, no clock read, no atomic. With -Dtrace=off not even that.
 */
#ifndef SL_TRACE_TRACE_H
#define SL_TRACE_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "base/status.h"
#include "trace/experts.h"

typedef struct sl_trace sl_trace;

typedef enum sl_span_kind {
    SL_SPAN_OP,
    SL_SPAN_BARRIER,
    SL_SPAN_STEP,
    SL_SPAN_DISK,   /* a thread waits for weights that were asked for ahead; inside of an operation or before it */
    SL_SPAN_SERIAL, /* a part of a step that thread 0 does alone, while the others have nothing to do */
} sl_span_kind;

/* What a step asked of the experts of one layer; told by thread 0. hit 0: no such operation. */
typedef struct sl_span_experts {
    uint32_t hit, picks;  /* experts that some token picked; picks of all tokens: their tokens together */
    uint32_t least, most; /* tokens of one of those that were hit */
    uint64_t bytes;       /* of their matrices */
} sl_span_experts;

/* `name` must outlive the trace (a literal, or text of the plan). Bytes and operations are what
 * this thread read and computed in the span. The spans of one thread follow one another or lie
 * wholly one in the other (a barrier inside an operation), and are added in the order of their ends. */
typedef struct sl_span {
    const char *name;
    sl_span_kind kind;
    int32_t layer; /* -1: none */
    uint32_t n_tokens;
    uint32_t step; /* of sl_trace_next_step; sl_trace_add sets it */
    uint64_t begin_ns, end_ns;
    uint64_t bytes, ops;
    sl_span_experts experts;
} sl_span;

/* `capacity` spans for each thread; when a ring is full the oldest go, and are counted. SL_EINVAL for
 * 0 threads or spans, SL_ENOMEM, SL_EUNSUPPORTED in a build with -Dtrace=off. */
sl_status sl_trace_create(sl_trace **out, size_t n_threads, size_t capacity, sl_err *err);
void sl_trace_destroy(sl_trace *t); /* accepts NULL */

/* Make room to count picks: none are counted before. Once. SL_ENOMEM. */
sl_status sl_trace_count_experts(sl_trace *t, size_t n_layers, size_t n_experts, sl_err *err);
/* By one thread. */
void sl_trace_add_picks(sl_trace *t, size_t layer, size_t expert, uint64_t n);
const sl_expert_picks *sl_trace_get_experts(const sl_trace *t); /* n_experts 0: not counted */

uint64_t sl_trace_now(void); /* monotonic nanoseconds */
/* Spans from now on belong to the next step, the first of which is 1. While no thread adds any; t may be NULL. */
void sl_trace_next_step(sl_trace *t);
void sl_trace_add(sl_trace *t, size_t thread, const sl_span *span);

/* After the threads have stopped. Chrome's trace format: one array, first the names of the threads, then X events, time
 * in microseconds, args with step, layer, tokens, bytes, GB/s, GFLOP/s, and of a mixture its experts; last, where
 * experts were counted, an instant event for each layer with the picks of each. */
sl_status sl_trace_write(const sl_trace *t, FILE *f, sl_err *err);
/* A table by operation: calls (the most by one thread), time, share, bytes, GB/s, GFLOP/s, then the
 * waiting at barriers and the rest. Times are summed over the threads, each without the spans inside
 * it; the column adds up to wall time of the steps x threads, to the nanosecond. Rates are those of all
 * threads that took part together; below it, of mixtures, how many experts a step hit. Steps of which spans were
 * overwritten are left out. Without a step span, all from the first begin to the last end counts as one step. SL_EIO,
 * SL_ENOMEM. */
sl_status sl_trace_summary(const sl_trace *t, FILE *f, sl_err *err);

/* For the step: the clock is read only where there is a trace. */
static inline uint64_t sl_trace_begin(const sl_trace *t)
{
#if SL_TRACE
    return __builtin_expect(t != NULL, 0) ? sl_trace_now() : 0;
#else
    (void)t;
    return 0;
#endif
}
/* experts: NULL for none. */
static inline void sl_trace_end_experts(sl_trace *t, size_t thread, const char *name, sl_span_kind kind, int32_t layer,
                                        uint32_t n_tokens, uint64_t begin_ns, uint64_t bytes, uint64_t ops,
                                        const sl_span_experts *experts)
{
#if SL_TRACE
    if (__builtin_expect(t != NULL, 0)) {
        const sl_span span = { .name = name,
                               .kind = kind,
                               .layer = layer,
                               .n_tokens = n_tokens,
                               .begin_ns = begin_ns,
                               .end_ns = sl_trace_now(),
                               .bytes = bytes,
                               .ops = ops,
                               .experts = experts ? *experts : (sl_span_experts){ 0 } };
        sl_trace_add(t, thread, &span);
    }
#else
    (void)t, (void)thread, (void)name, (void)kind, (void)layer, (void)n_tokens, (void)begin_ns, (void)bytes, (void)ops;
    (void)experts;
#endif
}
static inline void sl_trace_end(sl_trace *t, size_t thread, const char *name, sl_span_kind kind, int32_t layer,
                                uint32_t n_tokens, uint64_t begin_ns, uint64_t bytes, uint64_t ops)
{
    sl_trace_end_experts(t, thread, name, kind, layer, n_tokens, begin_ns, bytes, ops, NULL);
}

#endif
