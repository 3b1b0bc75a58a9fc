/* summary.c - where the time of the steps went, as a table that adds up: the account, printed. */
#include "trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "trace/account.h"
#include "trace/trace_in.h"

#define NAME_WIDTH 24

static void print_time(FILE *f, const char *name, const char *calls, int64_t ns, double total_ns)
{
    fprintf(f, "%-*s %9s %9" PRId64 ".%06u %6.1f%%", NAME_WIDTH, name, calls, ns / 1000000, (unsigned)(ns % 1000000),
            total_ns > 0 ? 100.0 * (double)ns / total_ns : 0.0);
}

static void print_row(FILE *f, const sl_account_row *r, double total_ns)
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

static void print_table(const sl_account *a, uint64_t n_lost, FILE *f)
{
    const int64_t total = (int64_t)(a->wall_ns * a->n_threads);
    fprintf(f, "%zu step%s, %" PRIu64 ".%06u ms, %zu thread%s; times are summed over the threads\n", a->n_steps,
            a->n_steps == 1 ? "" : "s", a->wall_ns / 1000000, (unsigned)(a->wall_ns % 1000000), a->n_threads,
            a->n_threads == 1 ? "" : "s");
    if (n_lost > 0)
        fprintf(f, "%" PRIu64 " older spans were overwritten: only steps with all of theirs are counted\n", n_lost);
    fprintf(f, "%-*s %9s %16s %7s %15s %8s %9s\n", NAME_WIDTH, "operation", "calls", "time ms", "share", "bytes",
            "GB/s", "GFLOP/s");
    for (size_t i = 0; i < a->n_rows; i++)
        print_row(f, &a->rows[i], (double)total);
    print_row(f, &a->wait, (double)total);
    print_time(f, "other", "", a->end_ns + a->dispatch_ns, (double)total);
    fputc('\n', f);
    print_time(f, "total", "", total, (double)total);
    fputc('\n', f);
}

/* What the mixtures of these steps asked of their experts; thread 0 has told it. */
static void print_experts(const sl_trace *t, const sl_interval *steps, size_t n_steps, FILE *f)
{
    uint64_t n = 0, hit = 0, picks = 0, bytes = 0;
    uint32_t least = UINT32_MAX, most = 0;
    size_t step = 0;
    for (size_t i = 0; i < sl_trace_kept(t, 0); i++) {
        const sl_span *s = sl_trace_span(t, 0, i);
        while (step < n_steps && steps[step].end_ns < s->end_ns)
            step++;
        if (step == n_steps || !s->experts.hit || s->begin_ns < steps[step].begin_ns)
            continue;
        n++;
        hit += s->experts.hit;
        picks += s->experts.picks;
        bytes += s->experts.bytes;
        least = SL_MIN(least, s->experts.least);
        most = SL_MAX(most, s->experts.most);
    }
    if (n > 0)
        fprintf(f,
                "experts: %.2f hit in a layer's step, %" PRIu64 " bytes of them; tokens of each: least %" PRIu32
                ", mean %.2f, most %" PRIu32 "\n",
                (double)hit / (double)n, bytes / n, least, (double)picks / (double)hit, most);
}

sl_status sl_trace_summary(const sl_trace *t, FILE *f, sl_err *err)
{
    sl_interval *steps = NULL;
    size_t n_steps = 0;
    uint64_t n_lost = 0;
    sl_account a = { 0 };
    sl_status rc = sl_trace_steps(t, 0, UINT64_MAX, &steps, &n_steps, &n_lost, err);
    if (!rc)
        rc = sl_trace_account(t, steps, n_steps, &a, err);
    if (!rc) {
        print_table(&a, n_lost, f);
        print_experts(t, steps, n_steps, f);
        if (fflush(f) != 0 || ferror(f))
            rc = sl_fail(err, SL_EIO, "writing the summary: %s", strerror(errno));
    }
    sl_mem_free(steps);
    sl_account_fini(&a);
    return rc;
}
