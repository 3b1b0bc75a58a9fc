#include "measure/profile.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "base/mem.h"
#include "base/num.h"
#include "executor/engine.h"

#define SMALL_CALL_S  5e-6 /* an operation that takes less, and far from the roof, is mostly its own beginning */
#define FAR_FROM_ROOF 0.25
#define QUIET_PART    4 /* of generated tokens: one in so many steps */
#define PRICE_SPANS   4096
#define PRICE_REPEATS 16

const char *sl_bound_name(sl_bound bound)
{
    static const char *const names[] = { "bandwidth", "arithmetic", "barrier", "dispatch" };
    return names[bound];
}

/* ---- the machine -------------------------------------------------------------------- */

/* What the operations of an account row are held against. */
static sl_peak peak_of(const sl_engine_op *op)
{
    return op->format ? sl_peak_of(op->format, op->int8) : SL_PEAK_FMA_AVX2_F32;
}

sl_status sl_profile_measure(sl_bench *b, double seconds, sl_profile_machine *out, sl_err *err)
{
    const sl_engine *e = sl_bench_engine(b);
    bool needed[SL_PEAK_COUNT] = { [SL_PEAK_FMA_AVX2_F32] = true };
    for (size_t i = 0; i < sl_engine_op_count(e); i++) {
        sl_engine_op op;
        sl_engine_describe_op(e, i, &op);
        needed[peak_of(&op)] = true;
        if (op.format)
            needed[sl_peak_of(op.format, true)] = true;
    }
    for (size_t p = 0; p < SL_PEAK_COUNT; p++) {
        sl_probe_now now;
        if (!needed[p] || !sl_peak_present((sl_peak)p))
            continue;
        const sl_status rc = sl_bench_probe(b, (sl_peak)p, seconds, &now, err);
        if (rc)
            return rc;
        out->read_gb_s = SL_MAX(out->read_gb_s, now.read_gb_s);
        out->peak_g_s[p] = SL_MAX(out->peak_g_s[p], now.peak_g_s);
    }
    return SL_OK;
}

/* Seconds that writing one span takes, at best: both readings of the clock and the ring. */
static double price_of_span(void)
{
    sl_trace *t = NULL;
    double best = 1.0;
    if (sl_trace_create(&t, 1, PRICE_SPANS, NULL))
        return 0.0;
    for (size_t r = 0; r < PRICE_REPEATS; r++) {
        const uint64_t begin = sl_trace_now();
        for (size_t i = 0; i < PRICE_SPANS; i++)
            sl_trace_end(t, 0, "price", SL_SPAN_OP, -1, 1, sl_trace_begin(t), 0, 0);
        const double ns = (double)(sl_trace_now() - begin) / PRICE_SPANS;
        best = SL_MIN(best, 1e-9 * ns);
    }
    sl_trace_destroy(t);
    return best;
}

/* ---- accounts ----------------------------------------------------------------------- */

/* The operations of the plan that have this name: the first, and the weights of all. */
static void find_ops(const sl_engine *e, sl_profile_row *row)
{
    for (size_t i = 0; i < sl_engine_op_count(e); i++) {
        sl_engine_op op;
        sl_engine_describe_op(e, i, &op);
        if (strcmp(op.name, row->name) != 0)
            continue;
        if (!row->op.name)
            row->op = op;
        row->weight_bytes += op.weight_bytes;
        row->n_weights += op.n_weights;
    }
}

static void fill_row(sl_profile_row *r, const sl_account_row *a, double scale, const sl_engine *e)
{
    *r = (sl_profile_row){ .name = a->name,
                           .calls = a->calls,
                           .seconds = scale * (double)a->ns,
                           .wait_s = scale * (double)a->wait_ns,
                           .bytes = (double)a->bytes,
                           .ops = (double)a->ops,
                           .serial = a->kind == SL_SPAN_SERIAL };
    find_ops(e, r);
    r->peak = peak_of(&r->op);
}

static sl_status account(const sl_engine *e, const sl_interval *steps, size_t n, sl_profile_account *out, sl_err *err)
{
    sl_account a;
    const sl_status rc = sl_trace_account(sl_engine_trace(e), steps, n, &a, err);
    if (rc)
        return rc;
    const double scale = 1e-9 / (double)a.n_threads;
    *out = (sl_profile_account){ .steps = n,
                                 .wall_s = 1e-9 * (double)a.wall_ns,
                                 .n_rows = a.n_rows,
                                 .imbalance_s = scale * (double)(a.imbalance_ns + a.end_ns),
                                 .barrier_s = scale * (double)(a.wait.ns - a.imbalance_ns),
                                 .dispatch_s = scale * (double)a.dispatch_ns,
                                 .traced_s = price_of_span() * (double)a.n_spans / (double)a.n_threads,
                                 .barriers = a.wait.calls };
    out->rows = sl_mem_zalloc(a.n_rows, sizeof *out->rows);
    for (size_t i = 0; out->rows && i < a.n_rows; i++)
        fill_row(&out->rows[i], &a.rows[i], scale, e);
    sl_account_fini(&a);
    return out->rows ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for the rows of a profile");
}

/* ---- quiet steps -------------------------------------------------------------------- */

typedef struct sl_placed_step {
    sl_interval step;
    size_t place; /* in its run */
} sl_placed_step;

static uint64_t length(const sl_interval *i)
{
    return i->end_ns - i->begin_ns;
}

/* By place, the quickest first. */
static int by_place(const void *a, const void *b)
{
    const sl_placed_step *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    const uint64_t m = length(&x->step), n = length(&y->step);
    return (m > n) - (m < n);
}

static int by_begin(const void *a, const void *b)
{
    const sl_interval *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The quickest part, at least one, of the steps at each place; in order of time. */
static size_t pick_quiet(sl_placed_step *s, size_t n, sl_interval *quiet)
{
    size_t kept = 0;
    qsort(s, n, sizeof *s, by_place);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && s[end].place == s[i].place; end++) {
        }
        for (size_t k = i; k < i + sl_div_up(end - i, QUIET_PART); k++)
            quiet[kept++] = s[k].step;
    }
    qsort(quiet, kept, sizeof *quiet, by_begin);
    return kept;
}

/* ---- runs --------------------------------------------------------------------------- */

typedef struct sl_steps {
    sl_interval *all, *quiet;
    sl_placed_step *placed;
    size_t n, cap;
    sl_bench_result *run; /* [runs] */
} sl_steps;

static bool make_room(sl_steps *s, size_t n, size_t runs)
{
    s->cap = n;
    s->run = sl_mem_zalloc(runs, sizeof *s->run);
    s->all = sl_mem_zalloc(n, sizeof *s->all);
    s->quiet = sl_mem_zalloc(n, sizeof *s->quiet);
    s->placed = sl_mem_zalloc(n, sizeof *s->placed);
    return s->all && s->quiet && s->placed && s->run;
}

static void free_steps(sl_steps *s)
{
    sl_mem_free(s->all);
    sl_mem_free(s->quiet);
    sl_mem_free(s->placed);
    sl_mem_free(s->run);
}

/* Steps of one run, which the trace still holds. Generated tokens are all at one place: a step more or less deep makes
 * no difference beside what disturbs it. */
static sl_status add_steps(sl_steps *s, const sl_trace *t, const sl_bench_result *run, const sl_profile *p, sl_err *err)
{
    const bool prompt = p->test.kind == SL_BENCH_PROMPT;
    sl_interval *found = NULL;
    size_t n = 0;
    const sl_status rc = sl_trace_steps(t, run->begin_ns, run->end_ns, &found, &n, NULL, err);
    for (size_t i = 0; !rc && i < n && s->n < s->cap; i++) { /* those that are gone were the first */
        s->placed[s->n] = (sl_placed_step){ found[i], prompt ? p->steps_of_run - n + i : 0 };
        s->all[s->n++] = found[i];
    }
    sl_mem_free(found);
    return rc;
}

static double cpu_seconds(const struct rusage *u)
{
    return (double)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) +
           1e-6 * (double)(u->ru_utime.tv_usec + u->ru_stime.tv_usec);
}

/* What the steps of all runs were, once they have run. */
static sl_status conclude(sl_profile *p, const sl_engine *e, sl_steps *s, sl_err *err)
{
    sl_status rc = SL_OK;
    for (size_t i = 0; i < p->runs && !rc; i++)
        rc = add_steps(s, sl_engine_trace(e), &s->run[i], p, err);
    p->n_lost = s->cap - s->n;
    if (!rc)
        rc = account(e, s->all, s->n, &p->all, err);
    if (!rc)
        rc = account(e, s->quiet, pick_quiet(s->placed, s->n, s->quiet), &p->quiet, err);
    if (!rc && p->quiet.steps)
        p->run_s = p->quiet.wall_s / (double)p->quiet.steps * (double)p->steps_of_run;
    return rc;
}

/* Adds `sign` times what the engine has counted so far. */
static sl_status add_picks(sl_profile *p, const sl_bench *b, int sign, sl_err *err)
{
    const sl_expert_picks *now = sl_bench_experts(b);
    if (!now)
        return SL_OK;
    const size_t n = now->n_layers * now->n_experts;
    if (!p->experts.picks) {
        p->experts = (sl_expert_picks){ now->n_layers, now->n_experts, sl_mem_zalloc(n, sizeof *now->picks) };
        if (!p->experts.picks)
            return sl_fail(err, SL_ENOMEM, "no memory for the picks of %zu experts", n);
    }
    for (size_t i = 0; i < n; i++) /* unsigned: what wraps at first wraps back */
        p->experts.picks[i] += sign > 0 ? now->picks[i] : -now->picks[i];
    return SL_OK;
}

sl_status sl_profile_run(sl_profile *p, sl_bench *b, const sl_bench_test *t, size_t runs, sl_err *err)
{
    const sl_engine *e = sl_bench_engine(b);
    const bool prompt = t->kind == SL_BENCH_PROMPT;
    const sl_bench_test few = { t->kind, SL_MIN(t->n, (size_t)8), t->depth, t->seqs };
    sl_steps steps = { 0 };
    sl_engine_info info;
    sl_bench_result r;
    struct rusage before = { 0 }, after = { 0 };
    double seconds = 0.0;
    *p = (sl_profile){ .test = *t, .runs = runs };
    if (!sl_engine_trace(e))
        return sl_fail(err, SL_EINVAL, "a profile needs an engine with a trace");
    sl_engine_describe(e, &info);
    p->steps_of_run = prompt ? sl_div_up(t->n, info.n_ubatch) : t->n;
    if (!make_room(&steps, runs * p->steps_of_run, runs)) {
        free_steps(&steps);
        return sl_fail(err, SL_ENOMEM, "no memory for the steps of a profile");
    }
    /* Once before it counts: pages of the file come into memory, sequences are filled. */
    sl_status rc = sl_bench_run(b, &few, 0.0, &r, err);
    if (!rc)
        rc = add_picks(p, b, -1, err);
    for (size_t i = 0; i < runs && !rc; i++) {
        getrusage(RUSAGE_SELF, &before);
        rc = sl_bench_run(b, t, 0.0, &steps.run[i], err);
        getrusage(RUSAGE_SELF, &after);
        p->major_faults += (uint64_t)(after.ru_majflt - before.ru_majflt);
        p->idle_share -= cpu_seconds(&after) - cpu_seconds(&before);
        seconds += steps.run[i].seconds;
    }
    if (!rc)
        rc = add_picks(p, b, 1, err);
    p->experts_hit = rc ? 0.0 : steps.run[runs - 1].experts_hit;
    p->idle_share = 1.0 + p->idle_share / (seconds * (double)info.n_threads);
    p->idle_share = SL_MAX(p->idle_share, 0.0);
    if (!rc)
        rc = conclude(p, e, &steps, err);
    free_steps(&steps);
    if (rc)
        sl_profile_fini(p);
    return rc;
}

/* ---- against the machine ------------------------------------------------------------ */

static sl_bound bound_of(const sl_profile_row *r)
{
    const double ideal = SL_MAX(r->read_s, r->multiply_s);
    if (r->wait_s > r->seconds)
        return SL_BOUND_BARRIER;
    if (r->serial || (ideal < FAR_FROM_ROOF * r->seconds && r->seconds < SMALL_CALL_S * (double)r->calls))
        return SL_BOUND_DISPATCH;
    return r->multiply_s > r->read_s ? SL_BOUND_ARITHMETIC : SL_BOUND_BANDWIDTH;
}

static void hold_account(sl_profile_account *a, const sl_profile_machine *m)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        sl_profile_row *r = &a->rows[i];
        r->read_s = m->read_gb_s > 0.0 ? 1e-9 * r->bytes / m->read_gb_s : 0.0;
        r->multiply_s = m->peak_g_s[r->peak] > 0.0 ? 1e-9 * r->ops / m->peak_g_s[r->peak] : 0.0;
        r->roof_share = r->seconds > 0.0 ? SL_MAX(r->read_s, r->multiply_s) / r->seconds : 0.0;
        r->bound = bound_of(r);
    }
}

void sl_profile_hold(sl_profile *p, const sl_model *m, const sl_engine *e, const sl_profile_machine *machine)
{
    sl_engine_info info;
    sl_engine_describe(e, &info);
    hold_account(&p->all, machine);
    hold_account(&p->quiet, machine);
    const sl_bench_cost cost = sl_bench_test_cost(m, &info, &p->test, p->experts_hit);
    if (p->run_s > 0.0 && machine->read_gb_s > 0.0)
        p->roof_share = sl_bench_roof_seconds(&cost, machine->read_gb_s, machine->peak_g_s) / p->run_s;
}

void sl_profile_fini(sl_profile *p)
{
    sl_mem_free(p->all.rows);
    sl_mem_free(p->quiet.rows);
    sl_mem_free(p->experts.picks);
    *p = (sl_profile){ 0 };
}
