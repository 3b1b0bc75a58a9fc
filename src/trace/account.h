/* account.h - where the time of some steps went: every nanosecond of (wall time) x (threads) in exactly one place.
 *
 *   an operation   the innermost span that covers the nanosecond, in each thread
 *   serial         spans of thread 0 alone while all others wait (planning, sampling): counted for every thread
 *   wait           barriers; imbalance_ns of it for a thread that still worked, the rest is what barriers cost
 *   end            threads done with the step that wait for the last one: imbalance too
 *   dispatch       the rest: from one span to the next, waking the threads, gathering the batch
 */
#ifndef SL_TRACE_ACCOUNT_H
#define SL_TRACE_ACCOUNT_H

#include "trace/trace.h"

typedef struct sl_interval {
    uint64_t begin_ns, end_ns;
} sl_interval;

typedef struct sl_account_row {
    const char *name; /* the spans' */
    sl_span_kind kind;
    uint64_t calls;   /* the most by one thread */
    size_t n_threads; /* how many took part */
    int64_t ns;       /* over all threads, nested spans taken off */
    int64_t wait_ns;  /* at barriers behind it or inside it, over all threads; part of the account's `wait` */
    uint64_t bytes, ops;
} sl_account_row;

typedef struct sl_account {
    size_t n_threads, n_steps;
    uint64_t wall_ns;
    uint64_t n_spans;     /* counted, the steps' own included */
    sl_account_row *rows; /* [n_rows] operations and serial parts, most time first */
    size_t n_rows;
    sl_account_row wait;
    int64_t imbalance_ns; /* of wait.ns */
    int64_t end_ns, dispatch_ns;
} sl_account;

/* The steps that lie in from_ns .. to_ns and of which every span is kept, in order of time; those that overlap are
 * one. Without any step span, all from the first begin to the last end is one step. *steps is for sl_mem_free;
 * *n_lost (may be NULL) gets the spans that were overwritten. SL_ENOMEM. */
sl_status sl_trace_steps(const sl_trace *t, uint64_t from_ns, uint64_t to_ns, sl_interval **steps, size_t *n_steps,
                         uint64_t *n_lost, sl_err *err);
/* Account for `steps`, some of those that sl_trace_steps gave, in their order. SL_ENOMEM. */
sl_status sl_trace_account(const sl_trace *t, const sl_interval *steps, size_t n_steps, sl_account *out, sl_err *err);
void sl_account_fini(sl_account *a); /* accepts one that is all zero */

#endif
