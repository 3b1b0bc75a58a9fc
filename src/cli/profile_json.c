#include <string.h>
#include "base/num.h"
#include "cli/experts.h"
#include "cli/profile_in.h"

static json_t *number_or_null(double v)
{
    return v > 0.0 ? json_real(v) : json_null();
}

static json_t *row_json(const sl_profile_row *r, double wall_s)
{
    const bool held = r->bytes > 0.0 || r->ops > 0.0;
    return json_pack("{s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:o, s:o, s:o, s:s, s:o}", "name", r->name, "calls",
                     (json_int_t)r->calls, "seconds", r->seconds, "share", r->seconds / wall_s, "wait_s", r->wait_s,
                     "bytes", (json_int_t)r->bytes, "ops", (json_int_t)r->ops, "gb_s",
                     number_or_null(1e-9 * r->bytes / r->seconds), "gop_s", number_or_null(1e-9 * r->ops / r->seconds),
                     "peak", held ? json_string(sl_peak_name(r->peak)) : json_null(), "bound", sl_bound_name(r->bound),
                     "roof_share", number_or_null(r->roof_share));
}

/* The operations and the four other times add up to wall_s. */
static json_t *account_json(const sl_profile_account *a)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < a->n_rows; i++)
        json_array_append_new(rows, row_json(&a->rows[i], a->wall_s));
    return json_pack("{s:I, s:f, s:o, s:f, s:f, s:f, s:I, s:f}", "steps", (json_int_t)a->steps, "wall_s", a->wall_s,
                     "operations", rows, "imbalance_s", a->imbalance_s, "barrier_s", a->barrier_s, "dispatch_s",
                     a->dispatch_s, "barriers", (json_int_t)a->barriers, "tracing_s", a->traced_s);
}

static json_t *phase_json(const sl_profile *p)
{
    const double tokens = (double)(p->test.n * p->test.seqs);
    json_t *out =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:o, s:o}", "n", (json_int_t)p->test.n, "depth",
                  (json_int_t)p->test.depth, "batch", (json_int_t)p->test.seqs, "runs", (json_int_t)p->runs,
                  "steps_of_run", (json_int_t)p->steps_of_run, "steps_lost", (json_int_t)p->n_lost, "tok_s",
                  tokens / p->run_s, "roof_share", p->roof_share, "idle_share", p->idle_share, "major_faults",
                  (json_int_t)p->major_faults, "all", account_json(&p->all), "quiet", account_json(&p->quiet));
    json_t *experts = sl_cli_experts_json(&p->experts);
    if (experts)
        json_object_set_new(out, "experts", experts);
    return out;
}

static json_t *cause_json(const sl_cause *c)
{
    return json_pack("{s:s, s:s, s:s, s:f, s:o, s:s, s:f, s:b, s:b}", "cause", c->id, "phase",
                     sl_profile_phase(c->profile), "what", c->what, "share", c->share, "rate", number_or_null(c->rate),
                     "change", c->change, "gain", c->gain, "at_most", c->at_most, "costs", c->rank == SL_RANK_COSTS);
}

static json_t *limit_json(const sl_profiled *p)
{
    const sl_diagnosis *d = &p->diagnosis;
    json_t *limit = d->limit.id ? cause_json(&d->limit) : json_pack("{s:n}", "cause");
    json_object_set_new(limit, "sentence", json_string(d->sentence));
    return limit;
}

sl_exit sl_profile_print_json(const sl_profiled *p)
{
    sl_model_info m;
    sl_engine_info e;
    sl_model_describe(p->session.model, &m);
    sl_engine_describe(sl_bench_engine(p->bench), &e);
    json_t *machine = json_pack("{s:f}", "read_GBs", p->machine.read_gb_s), *causes = json_array();
    for (size_t i = 0; i < SL_PEAK_COUNT; i++)
        if (p->machine.peak_g_s[i] > 0.0)
            json_object_set_new(machine, sl_peak_key((sl_peak)i), json_real(p->machine.peak_g_s[i]));
    for (size_t i = 0; i < p->diagnosis.n; i++)
        json_array_append_new(causes, cause_json(&p->diagnosis.all[i]));
    json_t *j = json_pack("{s:o, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "model",
                          sl_cli_json_text(m.path, strlen(m.path)), "n_params", (json_int_t)m.n_params, "weights_bytes",
                          (json_int_t)m.weight_bytes, "threads", (json_int_t)e.n_threads, "isa", e.isa, "act", e.act,
                          "kv_type", e.kv_type, "mode", e.mode, "fusion", p->args->fusion ? p->args->fusion : "all",
                          "attn", e.attn, "machine", machine, "limit", limit_json(p), "causes", causes);
    for (size_t i = 0; j && i < p->n; i++)
        json_object_set_new(j, sl_profile_phase(&p->phase[i]), phase_json(&p->phase[i]));
    if (j && p->trial.before > 0.0)
        json_object_set_new(j, "try",
                            json_pack("{s:s, s:f, s:f, s:f}", "change", p->diagnosis.limit.change, "before_tok_s",
                                      p->trial.before, "after_tok_s", p->trial.after, "gain",
                                      p->trial.after / p->trial.before));
    return sl_cli_print_json(j);
}
