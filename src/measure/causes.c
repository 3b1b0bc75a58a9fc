/* causes.c - what limits a run: each cause is asked how much of the time it would save to be rid of it.
 *
 * No thresholds on shares or rates: a cause works out the time of a run without it from the spans of this run (their
 * bytes, operations and waits) and the machine's yardsticks, supposing that what stays is done at the same share of
 * its roof as now. Whoever would save most is named, what costs nothing first. A cause has a condition, so that nobody
 * is told to switch on what is on already.
 *
 * To add one: a row in CAUSES, and the function that says what it would save. */
#include "measure/profile.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/num.h"
#include "executor/engine.h"
#include "kernels/kernels.h"

#define GAIN_MIN     1.08 /* below it nothing is named: two runs differ by more */
#define USUAL_SHARE  0.5  /* of the roof, that fast kernels reach on the models of README.md */
#define SMALL_FORMAT 4.5  /* bits of a weight in Q4_0 */
#define NEAR_ROOF    0.6
#define IDLE_MUCH    0.25 /* of the threads' time without a CPU: worth a warning beside the sentence */
#define INT8_READ    0.53 /* bytes of int8 keys and values by those in 16 bits: a scale for each 64 numbers */
#define BARRIER_S    2e-6 /* that several threads take at one, at least */
#define TURNING      1.4  /* times as long as without turning rows in registers: at most so much, for one token */
#define TURNED_MAX   4    /* tokens of a step, up to which that is seen */
#define FAULTS_MIN   1.0  /* pages from disk in each step */

typedef struct sl_facts {
    const sl_profile *p;
    const sl_profile_account *q; /* the quiet steps */
    const sl_engine *e;
    const sl_engine_options *o;
    const sl_profile_machine *m;
    sl_engine_info info;
    sl_engine_size now, fused, graph; /* of the plan, and of one with that changed */
    double waits_s;                   /* at barriers and between operations */
} sl_facts;

/* Seconds of the quiet steps that would be saved, 0 where the condition does not hold; `c` gets what is known of
 * them: share (as seconds), rate, change, options. */
typedef double sl_cause_fn(const sl_facts *f, sl_cause *c);

/* A row that reads `read` times its bytes and multiplies in `multiply` times the time. Reading and multiplying are
 * taken to follow one another: kernels overlap them in part, so this promises rather less than comes. */
static double saved_of_row(const sl_profile_row *r, double read, double multiply)
{
    const double ideal = r->read_s + r->multiply_s;
    return ideal > 0.0 ? r->seconds * SL_MAX(0.0, 1.0 - (read * r->read_s + multiply * r->multiply_s) / ideal) : 0.0;
}

/* Seconds of the rows, and how near to the machine's bandwidth they are. */
static void tell_of_rows(const sl_facts *f, sl_cause *c, bool (*takes)(const sl_facts *f, const sl_profile_row *r))
{
    double read_s = 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++)
        if (takes(f, &f->q->rows[i])) {
            c->share += f->q->rows[i].seconds;
            read_s += f->q->rows[i].read_s;
        }
    c->rate = c->share > 0.0 ? read_s / c->share : 0.0;
}

/* ---- optimisations that are off ----------------------------------------------------------------------- */

/* Of a step. */
static double barriers(const sl_facts *f, const sl_engine_size *size)
{
    const bool wide = f->p->test.kind == SL_BENCH_PROMPT; /* a product of many tokens has a barrier inside */
    return (double)(size->barriers + wide * size->products);
}

/* Waits that go with barriers that a smaller plan has not. */
static double saved_barriers(const sl_facts *f, const sl_engine_size *other)
{
    const double now = barriers(f, &f->now), then = barriers(f, other);
    return now > then ? f->waits_s * (1.0 - then / now) : 0.0;
}

/* Fused, the small operations are done while their numbers are in registers; what that takes is not known. */
static double unfused(const sl_facts *f, sl_cause *c)
{
    if (f->now.ops <= f->fused.ops)
        return 0.0;
    double saved = saved_barriers(f, &f->fused);
    for (size_t i = 0; i < f->q->n_rows; i++)
        if (f->q->rows[i].op.vanishes)
            saved += f->q->rows[i].seconds;
    c->share = saved;
    c->options.fusion = NULL;
    return saved;
}

static double planned_anew(const sl_facts *f, sl_cause *c)
{
    double saved = 0.0;
    if (strcmp(f->info.mode, "eager") != 0)
        return 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++)
        if (strcmp(f->q->rows[i].name, "plan") == 0)
            saved += f->q->rows[i].seconds;
    saved += saved_barriers(f, &f->graph);
    c->share = saved;
    c->options.mode = NULL;
    return saved;
}

static bool reads_kv(const sl_facts *f, const sl_profile_row *r)
{
    (void)f;
    return r->op.reads_kv;
}

static double saved_of_kv(const sl_facts *f, sl_cause *c, double read)
{
    double saved = 0.0;
    tell_of_rows(f, c, reads_kv);
    for (size_t i = 0; i < f->q->n_rows; i++)
        if (f->q->rows[i].op.reads_kv)
            saved += saved_of_row(&f->q->rows[i], read, 1.0);
    return saved;
}

static double wide_kv(const sl_facts *f, sl_cause *c)
{
    c->options.kv_type = NULL;
    return strcmp(f->info.kv_type, "f32") == 0 ? saved_of_kv(f, c, 0.5) : 0.0;
}

/* 16 bits already: 8 bits and a scale for each head, or half of the positions. */
static double many_kv(const sl_facts *f, sl_cause *c)
{
    if (strcmp(f->info.kv_type, "f32") == 0)
        return 0.0;
    if (strcmp(f->info.kv_type, "int8") != 0) {
        c->options.kv_type = "int8";
        return saved_of_kv(f, c, INT8_READ);
    }
    if (f->p->test.depth < 2 || f->o->attn_window)
        return 0.0;
    snprintf(c->change, sizeof c->change, "--attn-window %zu", f->p->test.depth / 2);
    c->effect = "would read half of them, and give other answers";
    c->options.attn_window = f->p->test.depth / 2;
    return saved_of_kv(f, c, 0.5);
}

static double float_activations(const sl_facts *f, sl_cause *c)
{
    double saved = 0.0;
    if (!f->o->act || strcmp(f->o->act, "f32") != 0)
        return 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++) {
        const sl_profile_row *r = &f->q->rows[i];
        const sl_peak peak = r->op.format ? sl_peak_of(r->op.format, true) : r->peak;
        if (peak == r->peak || f->m->peak_g_s[peak] <= 0.0)
            continue;
        c->share += r->seconds;
        saved += saved_of_row(r, 1.0, f->m->peak_g_s[r->peak] / f->m->peak_g_s[peak]);
    }
    c->options.act = NULL;
    return saved;
}

/* A prompt in short steps reads the weights again in each. */
static double short_steps(const sl_facts *f, sl_cause *c)
{
    double saved = 0.0;
    const double wide = (double)SL_MIN(f->p->test.n, (size_t)512), ratio = (double)f->info.n_ubatch / wide;
    if (f->p->test.kind != SL_BENCH_PROMPT || ratio >= 1.0)
        return 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++)
        if (f->q->rows[i].op.format) {
            c->share += f->q->rows[i].seconds;
            saved += saved_of_row(&f->q->rows[i], ratio, 1.0);
        }
    c->options.n_ubatch = 0;
    return saved;
}

/* ---- threads ------------------------------------------------------------------------ */

static double waits(const sl_facts *f)
{
    return f->q->imbalance_s + f->q->barrier_s;
}

/* One thread has nobody to wait for, and all of the work. Where the work is bound by memory it would take less than
 * this says. Waits for a thread that had no CPU are no fault of the barriers: one thread alone would want that CPU too.
 */
static double waiting(const sl_facts *f, sl_cause *c)
{
    double alone = f->q->dispatch_s;
    if (f->info.n_threads == 1)
        return 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++)
        alone += f->q->rows[i].seconds * (f->q->rows[i].serial ? 1.0 : (double)f->info.n_threads);
    c->share = waits(f);
    c->options.n_threads = 1;
    return SL_MIN(f->q->wall_s - alone, waits(f) - f->p->idle_share * f->q->wall_s);
}

static double crowded(const sl_facts *f, sl_cause *c)
{
    const size_t cores = sl_cpu_threads();
    if (f->info.n_threads <= cores)
        return 0.0;
    snprintf(c->change, sizeof c->change, "--threads %zu", cores);
    c->share = waits(f);
    c->options.n_threads = cores;
    return c->share;
}

/* What is bound by memory gains less, where few threads come near to the bandwidth already. */
static double few_threads(const sl_facts *f, sl_cause *c)
{
    const size_t cores = sl_cpu_threads();
    if (f->info.n_threads >= cores || f->p->idle_share >= IDLE_MUCH) /* or others have the cores */
        return 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++)
        if (!f->q->rows[i].serial)
            c->share += f->q->rows[i].seconds;
    snprintf(c->change, sizeof c->change, "--threads %zu", cores);
    c->options.n_threads = cores;
    return c->share * (1.0 - (double)f->info.n_threads / (double)cores) -
           BARRIER_S * barriers(f, &f->now) * (double)f->q->steps;
}

/* ---- formats and kernels ------------------------------------------------------------ */

/* What rows would save at the usual share of their roof. */
static double saved_of_slow(const sl_facts *f, sl_cause *c, bool (*takes)(const sl_facts *f, const sl_profile_row *r))
{
    double saved = 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++) {
        const sl_profile_row *r = &f->q->rows[i];
        if (!takes(f, r))
            continue;
        c->share += r->seconds;
        saved += SL_MAX(0.0, r->seconds - SL_MAX(r->read_s, r->multiply_s) / USUAL_SHARE);
    }
    return saved;
}

static bool has_work(const sl_facts *f, const sl_profile_row *r)
{
    (void)f;
    return r->bytes > 0.0 || r->ops > 0.0;
}

static double plain_kernels(const sl_facts *f, sl_cause *c)
{
    const bool better = sl_cpu_isa() >= SL_ISA_AVX2 && strstr(sl_kernels_built(), sl_isa_name(SL_ISA_AVX2));
    return better && strcmp(f->info.isa, sl_isa_name(SL_ISA_SCALAR)) == 0 ? saved_of_slow(f, c, has_work) : 0.0;
}

static bool is_slow(const sl_facts *f, const sl_profile_row *r)
{
    (void)f;
    return r->op.slow;
}

static double slow_format(const sl_facts *f, sl_cause *c)
{
    return strcmp(f->info.isa, sl_isa_name(SL_ISA_SCALAR)) == 0 ? 0.0 : saved_of_slow(f, c, is_slow);
}

static bool can_be_repacked(const char *format)
{
    for (int i = 0; i < SL_FORMAT_COUNT; i++)
        if (strcmp(sl_format_name((sl_format)i), format) == 0)
            return sl_linear_repacked((sl_format)i) != SL_FORMAT_COUNT;
    return false;
}

/* Few tokens, whose kernels are bound by what they do to each weight and not by memory. */
static double turned_rows(const sl_facts *f, sl_cause *c)
{
    double saved = 0.0;
    const sl_bench_test *t = &f->p->test;
    const bool fast = strcmp(f->info.isa, sl_isa_name(SL_ISA_SCALAR)) != 0, whole = strcmp(f->info.act, "int8") == 0;
    if (t->kind != SL_BENCH_GENERATE || t->seqs > TURNED_MAX || f->o->repack || !fast || !whole)
        return 0.0;
    if (strcmp(f->info.prefetch, "on") == 0) /* there is no room for a copy, or none is wanted */
        return 0.0;
    for (size_t i = 0; i < f->q->n_rows; i++) {
        const sl_profile_row *r = &f->q->rows[i];
        if (!r->op.format || !can_be_repacked(r->op.format))
            continue;
        c->share += r->seconds;
        saved += SL_MAX(0.0, r->seconds - SL_MAX(r->read_s, r->seconds / TURNING));
    }
    c->options.repack = true;
    if (f->o->weights && strcmp(f->o->weights, "map") == 0)
        c->options.weights = NULL;
    return saved;
}

static bool reads_weights(const sl_facts *f, const sl_profile_row *r)
{
    (void)f;
    return r->op.format && !r->op.slow && r->read_s >= r->multiply_s;
}

static double large_weights(const sl_facts *f, sl_cause *c)
{
    double saved = 0.0;
    tell_of_rows(f, c, reads_weights);
    for (size_t i = 0; i < f->q->n_rows; i++) {
        const sl_profile_row *r = &f->q->rows[i];
        if (reads_weights(f, r) && r->weight_bytes)
            saved += saved_of_row(r, SL_MIN(1.0, SMALL_FORMAT * (double)r->n_weights / (8.0 * (double)r->weight_bytes)),
                                  1.0);
    }
    return saved;
}

/* ---- the system --------------------------------------------------------------------- */

/* Threads stood still, and pages came from the disk: the one is for the other. */
static double disk(const sl_facts *f, sl_cause *c)
{
    if ((double)f->p->major_faults < FAULTS_MIN * (double)f->p->all.steps)
        return 0.0;
    c->share = f->p->idle_share * f->q->wall_s;
    return c->share;
}

/* The same, where nothing was asked for ahead: then the disk has one thing to do at a time, and threads wait for it. */
static double unasked(const sl_facts *f, sl_cause *c)
{
    if (strcmp(f->info.prefetch, "on") == 0 || (f->o->weights && strcmp(f->o->weights, "map") != 0))
        return 0.0;
    c->options.prefetch = "on";
    return disk(f, c);
}

/* Nobody reads from disk, but threads had no CPU, and others waited for them. */
static double busy(const sl_facts *f, sl_cause *c)
{
    if (f->p->major_faults || f->p->idle_share < IDLE_MUCH || f->info.n_threads > sl_cpu_threads())
        return 0.0;
    c->share = SL_MIN(waits(f), f->p->idle_share * f->q->wall_s);
    return c->share;
}

/* ---- the table ---------------------------------------------------------------------- */

static const struct {
    const char *id, *what, *change, *effect;
    sl_cause_rank rank;
    bool is_switch, at_most;
    sl_cause_fn *saved;
} CAUSES[] = {
    { "fusion", "many small operations", "--fusion all", "makes them parts of larger ones", SL_RANK_OFF, true, true,
      unfused },
    { "mode", "planning each step anew", "--mode graph", "plans once", SL_RANK_OFF, true, false, planned_anew },
    { "kv-type", "reading keys and values", "--kv-type f16", "would halve these bytes", SL_RANK_OFF, true, false,
      wide_kv },
    { "act", "multiplying as floats", "--act auto", "multiplies weights of 8 bits or fewer as whole numbers",
      SL_RANK_OFF, true, false, float_activations },
    { "ubatch-size", "reading weights anew for few tokens", "--ubatch-size 512", "reads them once for all", SL_RANK_OFF,
      true, false, short_steps },
    { "kernels", "kernels in plain C", "without SLUICE_CPU=scalar", "those for AVX2 run", SL_RANK_OFF, false, false,
      plain_kernels },
    { "crowd", "more threads than cores", "", "gives each a core of its own", SL_RANK_FREE, true, true, crowded },
    { "threads", "too few threads", "", "shares the work among all cores", SL_RANK_FREE, true, true, few_threads },
    { "barriers", "threads waiting for each other", "--threads 1", "waits for nobody", SL_RANK_FREE, true, false,
      waiting },
    { "prefetch", "reading pages from disk as they are used", "--prefetch on", "asks for them ahead", SL_RANK_FREE,
      true, true, unasked },
    { "repack", "rows of weights that are turned in registers", "--repack", "copies them as kernels want them",
      SL_RANK_COSTS, true, true, turned_rows },
    { "disk", "reading pages from disk", "more memory, or a smaller model,", "would keep them", SL_RANK_COSTS, false,
      true, disk },
    { "busy", "threads waiting for one that has no CPU", "an idle machine", "would run them together", SL_RANK_COSTS,
      false, true, busy },
    { "format", "weights of a format without fast kernels", "the model in another format",
      "would be read as fast as others", SL_RANK_COSTS, false, false, slow_format },
    { "weights", "reading weights", "the model in Q4_0", "has fewer bytes", SL_RANK_COSTS, false, false,
      large_weights },
    { "kv", "reading keys and values", "--kv-type int8", "would halve these bytes, and round them", SL_RANK_COSTS, true,
      false, many_kv },
};
#define PROFILES_MAX 2
_Static_assert(PROFILES_MAX *SL_COUNT(CAUSES) <= SL_CAUSES_MAX, "room for each cause");

static const char *phase_name(const sl_profile *p)
{
    return p->test.kind == SL_BENCH_PROMPT ? "prefill" : "decode";
}

static void ask(const sl_facts *f, size_t i, sl_diagnosis *d)
{
    sl_cause c = { .id = CAUSES[i].id,
                   .profile = f->p,
                   .what = CAUSES[i].what,
                   .effect = CAUSES[i].effect,
                   .at_most = CAUSES[i].at_most,
                   .rank = CAUSES[i].rank,
                   .has_options = CAUSES[i].is_switch,
                   .options = *f->o };
    snprintf(c.change, sizeof c.change, "%s", CAUSES[i].change);
    const double wall = f->q->wall_s, all = CAUSES[i].saved(f, &c), saved = SL_MIN(all, 0.95 * wall);
    if (saved <= 0.0)
        return;
    c.share /= wall;
    c.gain = wall / (wall - saved);
    c.saved_s = saved / wall * f->p->run_s;
    d->all[d->n++] = c;
}

/* Of those that bring enough, by rank; then by what they save. */
static int by_worth(const void *a, const void *b)
{
    const sl_cause *x = a, *y = b;
    const bool fx = x->gain >= GAIN_MIN, fy = y->gain >= GAIN_MIN;
    if (fx != fy)
        return fx ? -1 : 1;
    if (fx && x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->saved_s < y->saved_s) - (x->saved_s > y->saved_s);
}

/* ---- the sentence ------------------------------------------------------------------- */

static void say_cause(sl_diagnosis *d)
{
    const sl_cause *c = &d->limit;
    char rate[48] = "", idle[80] = "";
    if (c->rate > 0.0)
        snprintf(rate, sizeof rate, ", %.2f of the bandwidth", c->rate);
    if (c->profile->idle_share > IDLE_MUCH && !c->profile->major_faults)
        snprintf(idle, sizeof idle, " (no CPU ran the threads for %.0f %% of their time: the machine is busy)",
                 100.0 * c->profile->idle_share);
    snprintf(d->sentence, sizeof d->sentence, "%s is limited by %s: %.0f %% of the time%s; %s %s: %s %.1fx%s",
             phase_name(c->profile), c->what, 100.0 * c->share, rate, c->change, c->effect,
             c->at_most ? "at most" : "about", c->gain, idle);
}

/* The profile with most of the time, where nothing stands out. */
static void say_no_cause(const sl_profile *p, size_t n, sl_diagnosis *d)
{
    const sl_profile *most = p;
    for (size_t i = 1; i < n; i++)
        if (p[i].run_s > most->run_s)
            most = &p[i];
    const sl_profile_row *top = most->quiet.rows;
    if (most->roof_share >= NEAR_ROOF)
        snprintf(d->sentence, sizeof d->sentence,
                 "%s is near the roof: %.2f of what this machine can do; no switch would bring more than %.2fx",
                 phase_name(most), most->roof_share, GAIN_MIN);
    else if (most->quiet.n_rows)
        snprintf(
            d->sentence, sizeof d->sentence,
            "nothing stands out: %s reaches %.2f of what this machine can do, most of the time goes to %s (%.0f %%, "
            "bound by %s), and no switch would bring more than %.2fx",
            phase_name(most), most->roof_share, top->name, 100.0 * top->seconds / most->quiet.wall_s,
            sl_bound_name(top->bound), GAIN_MIN);
}

sl_status sl_profile_diagnose(const sl_profile *p, size_t n, const sl_engine *e, const sl_engine_options *options,
                              const sl_profile_machine *machine, sl_diagnosis *out, sl_err *err)
{
    *out = (sl_diagnosis){ 0 };
    assert(n > 0 && n <= PROFILES_MAX);
    for (size_t i = 0; i < n; i++) {
        sl_facts f = { .p = &p[i], .q = &p[i].quiet, .e = e, .o = options, .m = machine };
        sl_status rc;
        sl_engine_describe(e, &f.info);
        if ((rc = sl_engine_plan_size(e, false, false, &f.now, err)) ||
            (rc = sl_engine_plan_size(e, true, false, &f.fused, err)) ||
            (rc = sl_engine_plan_size(e, false, true, &f.graph, err)))
            return rc;
        f.waits_s = f.q->imbalance_s + f.q->barrier_s + f.q->dispatch_s;
        for (size_t k = 0; f.q->wall_s > 0.0 && k < SL_COUNT(CAUSES); k++)
            ask(&f, k, out);
    }
    qsort(out->all, out->n, sizeof *out->all, by_worth);
    if (out->n && out->all[0].gain >= GAIN_MIN) {
        out->limit = out->all[0];
        say_cause(out);
    } else {
        say_no_cause(p, n, out);
    }
    return SL_OK;
}
