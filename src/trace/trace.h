/* trace.h - spans: which thread did what, when, over how many bytes and operations.
 *
 * A ring of spans for each thread, sized once; nothing is shared while running. Off is a NULL
 * pointer: one predicted branch, no clock read, no atomic. With -Dtrace=off not even that.
 */
#ifndef SL_TRACE_TRACE_H
#define SL_TRACE_TRACE_H

#include <stdint.h>
#include <stdio.h>
#include "base/status.h"

typedef struct sl_trace sl_trace;

typedef enum sl_span_kind { SL_SPAN_OP, SL_SPAN_BARRIER, SL_SPAN_STEP } sl_span_kind;

/* `name` must outlive the trace (a literal, or text of the plan). Bytes and operations are what
 * this thread read and computed in the span. */
typedef struct sl_span {
    const char *name;
    sl_span_kind kind;
    int32_t layer; /* -1: none */
    uint32_t n_tokens;
    uint64_t begin_ns, end_ns;
    uint64_t bytes, ops;
} sl_span;

/* `capacity` spans for each thread; when a ring is full the oldest go, and are counted. */
sl_status sl_trace_create(sl_trace **out, size_t n_threads, size_t capacity, sl_err *err);
void sl_trace_destroy(sl_trace *t); /* accepts NULL */

uint64_t sl_trace_now(void); /* monotonic nanoseconds */
void sl_trace_add(sl_trace *t, size_t thread, const sl_span *span);

/* After the threads have stopped. Chrome's trace format: one array of X events, time in
 * microseconds, args with layer, tokens, bytes, GB/s, GFLOP/s. */
sl_status sl_trace_write(const sl_trace *t, FILE *f, sl_err *err);
/* A table by operation: calls, time, share of wall time, bytes, GB/s, GFLOP/s, and the waiting
 * at barriers; its rows and the idle rest add up to the wall time of the steps. */
sl_status sl_trace_summary(const sl_trace *t, FILE *f, sl_err *err);

#endif
