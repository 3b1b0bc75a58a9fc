/* summary.c - where the time of the steps went, as a table that adds up.
 *
 * Every nanosecond of (wall time of the steps) x (threads) is in exactly one line: the innermost
 * operation or barrier span that covers it, or "other" (idle, or code without a span). */
#include "trace/trace.h"
#include "trace/trace_in.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

#define NESTING_MAX 16

typedef struct interval {
    uint64_t begin_ns, end_ns;
} interval;

typedef struct row {
    const char *name;
    uint64_t calls, thread_calls;  /* the most by one thread; by the thread being read */
    size_t n_threads, last_thread; /* how many took part */
    int64_t ns;                    /* over all threads, nested spans taken off */
    uint64_t bytes, ops;
} row;

typedef struct table {
    interval *steps;
    size_t n_steps;
    row *rows; /* rows[0] is the waiting at barriers */
    size_t n_rows, rows_cap;
    uint64_t wall_ns, n_lost;
} table;

/* ---- steps -------------------------------------------------------------------------------- */

/* The end of the oldest span kept by a ring that lost some: all that was lost ended before it. */
static uint64_t complete_from(const sl_trace *t)
{
    uint64_t from = 0;
    for (size_t thread = 0; thread < t->n_threads; thread++)
        if (t->rings[thread].n_added > t->capacity) {
            const uint64_t end = sl_trace_span(t, thread, 0)->end_ns;
            from = SL_MAX(from, end);
        }
    return from;
}

static interval whole_trace(const sl_trace *t, uint64_t from)
{
    interval all = { UINT64_MAX, 0 };
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
    const interval *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* In order of time, those that overlap (every thread may have added the same step) made one. */
static void merge_steps(table *tab)
{
    qsort(tab->steps, tab->n_steps, sizeof *tab->steps, by_begin);
    size_t n = 0;
    for (size_t i = 0; i < tab->n_steps; i++) {
        const interval s = tab->steps[i];
        if (n > 0 && s.begin_ns < tab->steps[n - 1].end_ns)
            tab->steps[n - 1].end_ns = SL_MAX(tab->steps[n - 1].end_ns, s.end_ns);
        else
            tab->steps[n++] = s;
    }
    tab->n_steps = n;
    for (size_t i = 0; i < n; i++)
        tab->wall_ns += tab->steps[i].end_ns - tab->steps[i].begin_ns;
}

/* The steps of which every span is kept. */
static bool find_steps(table *tab, const sl_trace *t)
{
    const uint64_t from = complete_from(t);
    size_t n_any = 0, cap = 0;
    for (size_t thread = 0; thread < t->n_threads; thread++) {
        cap += sl_trace_kept(t, thread);
        const uint64_t n_added = t->rings[thread].n_added;
        tab->n_lost += n_added > t->capacity ? n_added - t->capacity : 0;
    }
    tab->steps = sl_mem_zalloc(cap + 1, sizeof *tab->steps);
    if (!tab->steps)
        return false;
    for (size_t thread = 0; thread < t->n_threads; thread++)
        for (size_t i = 0; i < sl_trace_kept(t, thread); i++) {
            const sl_span *s = sl_trace_span(t, thread, i);
            n_any += s->kind == SL_SPAN_STEP;
            if (s->kind == SL_SPAN_STEP && s->begin_ns >= from)
                tab->steps[tab->n_steps++] = (interval){ s->begin_ns, s->end_ns };
        }
    if (n_any == 0 && cap > 0)
        tab->steps[tab->n_steps++] = whole_trace(t, from);
    merge_steps(tab);
    return true;
}

/* ---- rows --------------------------------------------------------------------------------- */

static row *find_row(table *tab, const sl_span *s)
{
    if (s->kind == SL_SPAN_BARRIER)
        return &tab->rows[0];
    for (size_t i = 1; i < tab->n_rows; i++)
        if (tab->rows[i].name == s->name || strcmp(tab->rows[i].name, s->name) == 0)
            return &tab->rows[i];
    if (tab->n_rows == tab->rows_cap) {
        const size_t cap = 2 * tab->rows_cap;
        row *rows = sl_mem_grow(tab->rows, tab->n_rows * sizeof *rows, cap * sizeof *rows);
        if (!rows)
            return NULL;
        tab->rows = rows;
        tab->rows_cap = cap;
    }
    tab->rows[tab->n_rows] = (row){ .name = s->name, .last_thread = SIZE_MAX };
    return &tab->rows[tab->n_rows++];
}

static void count_span(row *r, const sl_span *s, size_t thread, uint64_t ns)
{
    if (r->last_thread != thread) {
        r->last_thread = thread;
        r->n_threads++;
        r->thread_calls = 0;
    }
    r->thread_calls++;
    r->calls = SL_MAX(r->calls, r->thread_calls);
    r->ns += (int64_t)ns;
    r->bytes += s->bytes;
    r->ops += s->ops;
}

typedef struct open_span {
    size_t row;
    uint64_t begin_ns;
} open_span;

/* From the newest span to the oldest, so that an enclosing one comes before those inside it. */
static bool count_thread(table *tab, const sl_trace *t, size_t thread)
{
    open_span open[NESTING_MAX];
    size_t depth = 0, step = tab->n_steps;
    for (size_t i = sl_trace_kept(t, thread); i-- > 0;) {
        const sl_span *s = sl_trace_span(t, thread, i);
        if (s->kind == SL_SPAN_STEP)
            continue;
        while (step > 0 && tab->steps[step - 1].begin_ns >= s->end_ns)
            step--;
        if (step == 0)
            break;
        /* What lies outside of the steps is not theirs. */
        const interval *in = &tab->steps[step - 1];
        const uint64_t begin = SL_MAX(s->begin_ns, in->begin_ns), end = SL_MIN(s->end_ns, in->end_ns);
        if (begin >= end)
            continue;
        while (depth > 0 && open[depth - 1].begin_ns >= end)
            depth--;
        if (depth == NESTING_MAX) /* too deep: its time stays with the one around it */
            continue;
        row *r = find_row(tab, s);
        if (!r)
            return false;
        count_span(r, s, thread, end - begin);
        if (depth > 0)
            tab->rows[open[depth - 1].row].ns -= (int64_t)(end - begin);
        open[depth++] = (open_span){ (size_t)(r - tab->rows), begin };
    }
    return true;
}

static int by_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

/* ---- print -------------------------------------------------------------------------------- */

#define NAME_WIDTH 24

static void print_time(FILE *f, const char *name, const char *calls, int64_t ns, double total_ns)
{
    fprintf(f, "%-*s %9s %9" PRId64 ".%06u %6.1f%%", NAME_WIDTH, name, calls, ns / 1000000, (unsigned)(ns % 1000000),
            total_ns > 0 ? 100.0 * (double)ns / total_ns : 0.0);
}

static void print_row(FILE *f, const row *r, double total_ns)
{
    char calls[32];
    snprintf(calls, sizeof calls, "%" PRIu64, r->calls);
    print_time(f, r->name, calls, r->ns, total_ns);
    const double ns = r->n_threads ? (double)r->ns / (double)r->n_threads : 0; /* all that took part, side by side */
    if (r->bytes > 0 && ns > 0)
        fprintf(f, " %15" PRIu64 " %8.2f", r->bytes, (double)r->bytes / ns);
    else if (r->ops > 0)
        fprintf(f, " %15s %8s", "-", "-");
    if (r->ops > 0 && ns > 0)
        fprintf(f, " %9.2f", (double)r->ops / ns);
    fputc('\n', f);
}

static void print_table(const table *tab, const sl_trace *t, FILE *f)
{
    const int64_t total = (int64_t)(tab->wall_ns * t->n_threads);
    int64_t rest = total;
    fprintf(f, "%zu step%s, %" PRIu64 ".%06u ms, %zu thread%s; times are summed over the threads\n", tab->n_steps,
            tab->n_steps == 1 ? "" : "s", tab->wall_ns / 1000000, (unsigned)(tab->wall_ns % 1000000), t->n_threads,
            t->n_threads == 1 ? "" : "s");
    if (tab->n_lost > 0)
        fprintf(f, "%" PRIu64 " older spans were overwritten: only steps with all of theirs are counted\n",
                tab->n_lost);
    fprintf(f, "%-*s %9s %16s %7s %15s %8s %9s\n", NAME_WIDTH, "operation", "calls", "time ms", "share", "bytes",
            "GB/s", "GFLOP/s");
    for (size_t i = 1; i < tab->n_rows; i++)
        print_row(f, &tab->rows[i], (double)total);
    print_row(f, &tab->rows[0], (double)total);
    for (size_t i = 0; i < tab->n_rows; i++)
        rest -= tab->rows[i].ns;
    assert(rest >= 0); /* else spans of one thread crossed */
    print_time(f, "other", "", rest, (double)total);
    fputc('\n', f);
    print_time(f, "total", "", total, (double)total);
    fputc('\n', f);
}

sl_status sl_trace_summary(const sl_trace *t, FILE *f, sl_err *err)
{
    sl_status rc = SL_OK;
    table tab = { .rows_cap = 32 };
    tab.rows = sl_mem_zalloc(tab.rows_cap, sizeof *tab.rows);
    bool ok = tab.rows && find_steps(&tab, t);
    if (ok)
        tab.rows[tab.n_rows++] = (row){ .name = "barrier wait", .last_thread = SIZE_MAX };
    for (size_t thread = 0; ok && thread < t->n_threads; thread++)
        ok = count_thread(&tab, t, thread);
    if (!ok) {
        rc = sl_fail(err, SL_ENOMEM, "the summary of the trace");
        goto out;
    }
    qsort(tab.rows + 1, tab.n_rows - 1, sizeof *tab.rows, by_time);
    print_table(&tab, t, f);
    if (fflush(f) != 0 || ferror(f))
        rc = sl_fail(err, SL_EIO, "writing the summary: %s", strerror(errno));
out:
    sl_mem_free(tab.steps);
    sl_mem_free(tab.rows);
    return rc;
}
