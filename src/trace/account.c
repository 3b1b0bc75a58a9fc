#include "trace/account.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "trace/trace_in.h"

#define NESTING_MAX 16
#define ROWS_FIRST  32

/* ---- steps -------------------------------------------------------------------------------- */

/* The end of the oldest span kept by a ring that lost some: all that was lost ended before it. */
static uint64_t complete_from(const sl_trace *t, uint64_t *n_lost)
{
    uint64_t from = 0;
    *n_lost = 0;
    for (size_t thread = 0; thread < t->n_threads; thread++)
        if (t->rings[thread].n_added > t->capacity) {
            const uint64_t end = sl_trace_span(t, thread, 0)->end_ns;
            from = SL_MAX(from, end);
            *n_lost += t->rings[thread].n_added - t->capacity;
        }
    return from;
}

static sl_interval whole_trace(const sl_trace *t, uint64_t from)
{
    sl_interval all = { UINT64_MAX, 0 };
    for (size_t thread = 0; thread < t->n_threads; thread++)
        for (size_t i = 0; i < sl_trace_kept(t, thread); i++) {
            const sl_span *s = sl_trace_span(t, thread, i);
            all.begin_ns = SL_MIN(all.begin_ns, s->begin_ns);
            all.end_ns = SL_MAX(all.end_ns, s->end_ns);
        }
    all.begin_ns = SL_MAX(all.begin_ns, from);
    return all;
}

static int by_begin(const void *a, const void *b)
{
    const sl_interval *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* In order of time, those that overlap (every thread may have added the same step) made one. */
static size_t merge_steps(sl_interval *steps, size_t n_steps)
{
    size_t n = 0;
    qsort(steps, n_steps, sizeof *steps, by_begin);
    for (size_t i = 0; i < n_steps; i++) {
        const sl_interval s = steps[i];
        if (n > 0 && s.begin_ns < steps[n - 1].end_ns)
            steps[n - 1].end_ns = SL_MAX(steps[n - 1].end_ns, s.end_ns);
        else
            steps[n++] = s;
    }
    return n;
}

sl_status sl_trace_steps(const sl_trace *t, uint64_t from_ns, uint64_t to_ns, sl_interval **steps, size_t *n_steps,
                         uint64_t *n_lost, sl_err *err)
{
    uint64_t lost = 0;
    const uint64_t complete = complete_from(t, &lost), from = SL_MAX(complete, from_ns);
    size_t n = 0, n_any = 0, cap = 0;
    for (size_t thread = 0; thread < t->n_threads; thread++)
        cap += sl_trace_kept(t, thread);
    sl_interval *found = sl_mem_zalloc(cap + 1, sizeof *found);
    if (!found)
        return sl_fail(err, SL_ENOMEM, "no memory for the steps of the trace");
    for (size_t thread = 0; thread < t->n_threads; thread++)
        for (size_t i = 0; i < sl_trace_kept(t, thread); i++) {
            const sl_span *s = sl_trace_span(t, thread, i);
            n_any += s->kind == SL_SPAN_STEP;
            if (s->kind == SL_SPAN_STEP && s->begin_ns >= from && s->end_ns <= to_ns)
                found[n++] = (sl_interval){ s->begin_ns, s->end_ns };
        }
    if (n_any == 0 && cap > 0)
        found[n++] = whole_trace(t, from);
    *n_steps = merge_steps(found, n);
    *steps = found;
    if (n_lost)
        *n_lost = lost;
    return SL_OK;
}

/* ---- rows --------------------------------------------------------------------------------- */

typedef struct sl_counted {
    sl_account_row row;
    uint64_t thread_calls; /* by the thread being read */
    size_t last_thread;
} sl_counted;

typedef struct sl_accounting {
    const sl_trace *trace;
    const sl_interval *steps;
    size_t n_steps;
    sl_counted *rows; /* rows[0] is the waiting at barriers */
    size_t n_rows, cap;
    uint64_t n_spans;
} sl_accounting;

static sl_counted *find_row(sl_accounting *a, const sl_span *s)
{
    if (s->kind == SL_SPAN_BARRIER)
        return &a->rows[0];
    for (size_t i = 1; i < a->n_rows; i++) {
        const char *name = a->rows[i].row.name;
        if (name == s->name || strcmp(name, s->name) == 0)
            return &a->rows[i];
    }
    if (a->n_rows == a->cap) {
        const size_t cap = 2 * a->cap;
        sl_counted *rows = sl_mem_grow(a->rows, a->n_rows * sizeof *rows, cap * sizeof *rows);
        if (!rows)
            return NULL;
        a->rows = rows;
        a->cap = cap;
    }
    a->rows[a->n_rows] = (sl_counted){ .row = { .name = s->name, .kind = s->kind }, .last_thread = SIZE_MAX };
    return &a->rows[a->n_rows++];
}

static void count_span(sl_counted *c, const sl_span *s, size_t thread, int64_t ns)
{
    if (c->last_thread != thread) {
        c->last_thread = thread;
        c->row.n_threads++;
        c->thread_calls = 0;
    }
    c->thread_calls++;
    c->row.calls = SL_MAX(c->row.calls, c->thread_calls);
    c->row.ns += ns;
    c->row.bytes += s->bytes;
    c->row.ops += s->ops;
}

typedef struct sl_open_span {
    size_t row;
    uint64_t begin_ns;
} sl_open_span;

/* From the newest span to the oldest, so that an enclosing one comes before those inside it, and an operation after
 * the barriers that wait for it. */
static bool count_thread(sl_accounting *a, size_t thread)
{
    sl_open_span open[NESTING_MAX];
    size_t depth = 0, step = a->n_steps;
    int64_t waited = 0; /* at barriers since the operation before them */
    for (size_t i = sl_trace_kept(a->trace, thread); i-- > 0;) {
        const sl_span *s = sl_trace_span(a->trace, thread, i);
        if (s->kind == SL_SPAN_STEP)
            continue;
        for (; step > 0 && a->steps[step - 1].begin_ns >= s->end_ns; step--)
            waited = 0;
        if (step == 0)
            break;
        /* What lies outside of the steps is not theirs. */
        const sl_interval *in = &a->steps[step - 1];
        const uint64_t begin = SL_MAX(s->begin_ns, in->begin_ns), end = SL_MIN(s->end_ns, in->end_ns);
        if (begin >= end)
            continue;
        while (depth > 0 && open[depth - 1].begin_ns >= end)
            depth--;
        if (depth == NESTING_MAX) /* too deep: its time stays with the one around it */
            continue;
        sl_counted *c = find_row(a, s);
        if (!c)
            return false;
        a->n_spans++;
        const int64_t ns = (int64_t)(end - begin);
        count_span(c, s, thread, ns);
        if (depth > 0)
            a->rows[open[depth - 1].row].row.ns -= ns;
        if (s->kind == SL_SPAN_BARRIER && depth > 0)
            a->rows[open[depth - 1].row].row.wait_ns += ns;
        else if (s->kind == SL_SPAN_BARRIER)
            waited += ns;
        else if (depth == 0) {
            c->row.wait_ns += waited;
            waited = 0;
        }
        open[depth++] = (sl_open_span){ (size_t)(c - a->rows), begin };
    }
    return true;
}

static int by_time(const void *a, const void *b)
{
    const sl_account_row *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

/* ---- waiting ------------------------------------------------------------------------------ */

/* The next span of a thread from *at on that belongs to the step; barriers only, or all but barriers and serial
 * parts. */
static const sl_span *next_of(const sl_trace *t, size_t thread, size_t *at, const sl_interval *step, bool barriers)
{
    for (; *at < sl_trace_kept(t, thread); ++*at) {
        const sl_span *s = sl_trace_span(t, thread, *at);
        if (s->end_ns > step->end_ns)
            return NULL;
        if (s->begin_ns < step->begin_ns || (barriers ? s->kind != SL_SPAN_BARRIER : s->kind == SL_SPAN_SERIAL) ||
            s->kind == SL_SPAN_STEP)
            continue;
        ++*at;
        return s;
    }
    return NULL;
}

/* All threads pass the same barriers in the same order: who came last kept the others waiting until then. */
static int64_t imbalance_of_step(const sl_trace *t, size_t *at, const sl_interval *step)
{
    int64_t imbalance = 0;
    for (;;) {
        uint64_t last = 0, sum = 0;
        for (size_t thread = 0; thread < t->n_threads; thread++) {
            const sl_span *s = next_of(t, thread, &at[thread], step, true);
            if (!s)
                return imbalance;
            last = SL_MAX(last, s->begin_ns);
            sum += s->begin_ns;
        }
        imbalance += (int64_t)(last * t->n_threads - sum);
    }
}

/* From each thread's last span until the last of them all. */
static int64_t end_of_step(const sl_trace *t, size_t *at, const sl_interval *step)
{
    uint64_t last = 0, sum = 0, n = 0;
    for (size_t thread = 0; thread < t->n_threads; thread++) {
        uint64_t end = 0;
        for (const sl_span *s; (s = next_of(t, thread, &at[thread], step, false));)
            end = SL_MAX(end, s->end_ns);
        if (!end)
            continue;
        last = SL_MAX(last, end);
        sum += end;
        n++;
    }
    return (int64_t)(last * n - sum);
}

static bool account_waits(const sl_accounting *a, sl_account *out)
{
    size_t *at = sl_mem_zalloc(2 * a->trace->n_threads, sizeof *at);
    if (!at)
        return false;
    size_t *end_at = at + a->trace->n_threads;
    for (size_t i = 0; i < a->n_steps; i++) {
        out->imbalance_ns += imbalance_of_step(a->trace, at, &a->steps[i]);
        out->end_ns += end_of_step(a->trace, end_at, &a->steps[i]);
    }
    out->imbalance_ns = SL_MIN(out->imbalance_ns, out->wait.ns);
    sl_mem_free(at);
    return true;
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* Rows without the bookkeeping; what is left of the time is waiting for the end, and dispatch. */
static bool settle(const sl_accounting *a, sl_account *out)
{
    out->rows = sl_mem_zalloc(a->n_rows, sizeof *out->rows);
    if (!out->rows)
        return false;
    out->n_rows = a->n_rows - 1;
    out->n_spans = a->n_spans + a->n_steps;
    out->wait = a->rows[0].row;
    int64_t rest = (int64_t)(out->wall_ns * out->n_threads) - out->wait.ns;
    for (size_t i = 0; i < out->n_rows; i++) {
        out->rows[i] = a->rows[i + 1].row;
        if (out->rows[i].kind == SL_SPAN_SERIAL) {
            out->rows[i].ns *= (int64_t)out->n_threads;
            out->rows[i].n_threads = out->n_threads;
        }
        rest -= out->rows[i].ns;
    }
    qsort(out->rows, out->n_rows, sizeof *out->rows, by_time);
    if (!account_waits(a, out))
        return false;
    assert(rest >= 0); /* else spans of one thread crossed */
    out->end_ns = SL_MIN(out->end_ns, rest);
    out->dispatch_ns = rest - out->end_ns;
    return true;
}

sl_status sl_trace_account(const sl_trace *t, const sl_interval *steps, size_t n_steps, sl_account *out, sl_err *err)
{
    *out = (sl_account){ .n_threads = t->n_threads, .n_steps = n_steps };
    for (size_t i = 0; i < n_steps; i++)
        out->wall_ns += steps[i].end_ns - steps[i].begin_ns;
    sl_accounting a = { .trace = t, .steps = steps, .n_steps = n_steps, .cap = ROWS_FIRST };
    a.rows = sl_mem_zalloc(a.cap, sizeof *a.rows);
    bool ok = a.rows;
    if (ok)
        a.rows[a.n_rows++] =
            (sl_counted){ .row = { .name = "barrier wait", .kind = SL_SPAN_BARRIER }, .last_thread = SIZE_MAX };
    for (size_t thread = 0; ok && thread < t->n_threads; thread++)
        ok = count_thread(&a, thread);
    ok = ok && settle(&a, out);
    sl_mem_free(a.rows);
    if (ok)
        return SL_OK;
    sl_account_fini(out);
    return sl_fail(err, SL_ENOMEM, "no memory for the account of the trace");
}

void sl_account_fini(sl_account *a)
{
    sl_mem_free(a->rows);
    *a = (sl_account){ 0 };
}
