#include "base/num.h"
#include "cli/experts.h"
#include "cli/profile_in.h"

#define NAME_WIDTH 22
#define IDLE_NOTE  0.10 /* of the threads' time without a CPU, worth a line */

static void print_time(const char *name, const char *calls, double seconds, double wall_s)
{
    printf("%-*s %8s %11.3f %6.1f%%", NAME_WIDTH, name, calls, 1e3 * seconds,
           wall_s > 0.0 ? 100.0 * seconds / wall_s : 0.0);
}

static void print_row(const sl_profile_row *r, double wall_s)
{
    char calls[24];
    snprintf(calls, sizeof calls, "%llu", (unsigned long long)r->calls);
    print_time(r->name, calls, r->seconds, wall_s);
    if (r->bytes > 0.0 || r->ops > 0.0)
        printf(" %9s %9s %7.2f %8.2f  %-10s %5.2f", sl_bytes_text((size_t)r->bytes).text,
               sl_count_text((size_t)r->ops).text, 1e-9 * r->bytes / r->seconds, 1e-9 * r->ops / r->seconds,
               sl_bound_name(r->bound), r->roof_share);
    else if (!r->serial)
        printf(" %9s %9s %7s %8s  %-10s %5s", "-", "-", "-", "-", sl_bound_name(r->bound), "-");
    putchar('\n');
}

static void print_line(const char *name, double seconds, double wall_s)
{
    print_time(name, "", seconds, wall_s);
    putchar('\n');
}

static void print_phase(const sl_profile *p)
{
    const sl_profile_account *a = &p->all;
    const double tokens = (double)(p->test.n * p->test.seqs), step_s = a->wall_s / (double)a->steps;
    printf("\n%s: %zu token%s", sl_profile_phase(p), p->test.n, sl_cli_s(p->test.n));
    if (p->test.depth)
        printf(" at depth %zu", p->test.depth);
    if (p->test.seqs > 1)
        printf(" of %zu sequences", p->test.seqs);
    printf(", %zu run%s of %zu step%s; %.1f tokens/s, %.1f by the quiet steps: %.2f of the roof\n", p->runs,
           sl_cli_s(p->runs), p->steps_of_run, sl_cli_s(p->steps_of_run), tokens / (step_s * (double)p->steps_of_run),
           tokens / p->run_s, p->roof_share);
    printf("%-*s %8s %11s %7s %9s %9s %7s %8s  %-10s %5s\n", NAME_WIDTH, "operation", "calls", "time ms", "share",
           "bytes", "ops", "GB/s", "GOP/s", "bound", "roof");
    for (size_t i = 0; i < a->n_rows; i++)
        print_row(&a->rows[i], a->wall_s);
    print_line("waiting for a thread", a->imbalance_s, a->wall_s);
    print_line("barriers themselves", a->barrier_s, a->wall_s);
    print_line("dispatch", a->dispatch_s, a->wall_s);
    print_line("total", a->wall_s, a->wall_s);
    printf("Of that, writing these spans down: %.1f %%.\n", 100.0 * a->traced_s / a->wall_s);
    sl_cli_print_experts(&p->experts);
    if (p->n_lost)
        printf("The first %zu steps are left out: the trace no longer held them.\n", p->n_lost);
    if (p->major_faults)
        printf("%llu pages were read from disk.\n", (unsigned long long)p->major_faults);
    if (p->idle_share > IDLE_NOTE)
        printf("%.0f %% of the threads' time no CPU ran them: causes are judged by the %zu quietest of %zu steps.\n",
               100.0 * p->idle_share, p->quiet.steps, a->steps);
}

static void print_machine(const sl_profiled *p)
{
    printf("machine: reads %.1f GB/s", p->machine.read_gb_s);
    for (size_t i = 0; i < SL_PEAK_COUNT; i++)
        if (p->machine.peak_g_s[i] > 0.0)
            printf(", %s %.0f GOP/s", sl_peak_name((sl_peak)i), p->machine.peak_g_s[i]);
    putchar('\n');
}

void sl_profile_print(const sl_profiled *p)
{
    sl_model_info m;
    sl_engine_info e;
    const sl_cause *c = &p->diagnosis.limit;
    sl_model_describe(p->session.model, &m);
    sl_engine_describe(sl_bench_engine(p->bench), &e);
    printf("%s: %s parameters, %s, %s, %zu thread%s, activations %s, KV cache %s, mode %s, fusion %s\n", m.name,
           sl_count_text(m.n_params).text, sl_bytes_text(m.weight_bytes).text, e.isa, e.n_threads,
           sl_cli_s(e.n_threads), e.act, e.kv_type, e.mode, p->args->fusion ? p->args->fusion : "all");
    print_machine(p);
    for (size_t i = 0; i < p->n; i++)
        print_phase(&p->phase[i]);
    printf("\n%s\n", p->diagnosis.sentence);
    if (p->trial.before > 0.0)
        printf("Tried: %.1f tokens/s before, %.1f with %s: %.2fx\n", p->trial.before, p->trial.after, c->change,
               p->trial.after / p->trial.before);
    else if (p->args->try_change)
        printf("Nothing to try: no switch of this command was named.\n");
}
