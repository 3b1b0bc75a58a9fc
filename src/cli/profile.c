/* profile.c - `sluice profile`: where the time goes, what limits it, and which one switch to change. */
#include "base/num.h"
#include "cli/deploy.h"
#include "cli/profile_in.h"
#include "cli/signals.h"

#define PROBE_S    0.3
#define TRY_ROUNDS 9
#define SPANS_MAX  ((size_t)1 << 22) /* 256 MiB, of which only what is written is taken */

const char *sl_profile_phase(const sl_profile *p)
{
    return p->test.kind == SL_BENCH_PROMPT ? "prefill" : "decode";
}

/* What `sluice run` samples with, unless it is told otherwise. */
static const sl_request sampling = { .temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f, .seed = 1 };

static sl_exit plan_tests(sl_profiled *p, sl_bench_test tests[2])
{
    const sl_args *a = p->args;
    if (a->profile_prompt)
        tests[p->n++] = (sl_bench_test){ SL_BENCH_PROMPT, (size_t)a->profile_prompt, 0, 1 };
    if (a->profile_predict)
        tests[p->n++] = (sl_bench_test){ SL_BENCH_GENERATE, (size_t)a->profile_predict, (size_t)a->profile_depth,
                                         (size_t)a->profile_seqs };
    return p->n ? SL_EXIT_OK : sl_cli_usage("profile: nothing to run with -p 0 and -n 0");
}

static bool fills_random(const sl_args *a)
{
    return a->fill[0] == 'r';
}

/* Of each thread, so that no step is lost: an unfused layer has 19 operations, each with a barrier before it and
 * perhaps one inside. */
static size_t spans_needed(const sl_model *m, const sl_bench_test *tests, size_t n, const sl_args *a)
{
    sl_model_info info;
    sl_model_describe(m, &info);
    size_t steps = 0;
    for (size_t i = 0; i < n; i++)
        steps = SL_MAX(steps, tests[i].n * (size_t)a->profile_runs);
    return SL_MAX(SL_TRACE_SPANS, SL_MIN(steps * (info.n_layers * 3 * 19 + 16), SPANS_MAX));
}

static sl_exit load(sl_profiled *p, const sl_bench_test tests[2])
{
    sl_err err = { 0 };
    sl_session *s = &p->session;
    sl_bench_test all = { SL_BENCH_GENERATE, 1, 0, 1 };
    sl_exit code = sl_session_open(s, p->args);
    if (code)
        return code;
    for (size_t i = 0; i < p->n; i++) {
        all.n = SL_MAX(all.n, tests[i].depth + tests[i].n);
        all.seqs = SL_MAX(all.seqs, tests[i].seqs);
    }
    code = sl_session_options(s, p->args, all.seqs, 0);
    s->options.n_ctx = all.n;
    s->options.trace_spans = spans_needed(s->model, tests, p->n, p->args);
    if (!code)
        code = sl_session_tell(s, p->args);
    if (!code &&
        (sl_bench_create(&p->bench, s->model, &s->options, &err) || sl_bench_prepare(p->bench, &all, NULL, &err)))
        code = sl_cli_fail_option(p->args, &err);
    if (code)
        return code;
    sl_bench_sample(p->bench, &sampling);
    if (fills_random(p->args))
        sl_bench_fill_random(p->bench);
    return SL_EXIT_OK;
}

static sl_exit run_tests(sl_profiled *p, const sl_bench_test tests[2])
{
    sl_err err = { 0 };
    for (size_t i = 0; i < p->n; i++) {
        if (sl_cli_interrupted())
            return SL_EXIT_INTERRUPTED;
        if (sl_cli_progress_wanted(p->args->quiet))
            sl_cli_progress("%s, %lld runs", tests[i].kind == SL_BENCH_PROMPT ? "prefill" : "decode",
                            (long long)p->args->profile_runs);
        if (sl_profile_run(&p->phase[i], p->bench, &tests[i], (size_t)p->args->profile_runs, &err))
            return sl_cli_fail(&err);
    }
    return SL_EXIT_OK;
}

/* The machine before and after the tests: the better figure is the yardstick. */
static sl_exit measure(sl_profiled *p, const sl_bench_test tests[2])
{
    sl_err err = { 0 };
    const sl_engine *e = sl_bench_engine(p->bench);
    if (sl_profile_measure(p->bench, PROBE_S, &p->machine, &err))
        return sl_cli_fail(&err);
    const sl_exit code = run_tests(p, tests);
    if (code)
        return code;
    if (sl_profile_measure(p->bench, PROBE_S, &p->machine, &err))
        return sl_cli_fail(&err);
    for (size_t i = 0; i < p->n; i++)
        sl_profile_hold(&p->phase[i], p->session.model, e, &p->machine);
    if (sl_profile_diagnose(p->phase, p->n, e, &p->session.options, &p->machine, &p->diagnosis, &err))
        return sl_cli_fail(&err);
    return SL_EXIT_OK;
}

/* The one switch that the diagnosis names, changed. */
static sl_exit try_change(sl_profiled *p)
{
    sl_err err = { 0 };
    const sl_cause *c = &p->diagnosis.limit;
    if (!p->args->try_change || !c->id || !c->has_options)
        return SL_EXIT_OK;
    sl_engine_options before = p->session.options, after = c->options;
    before.n_ctx = after.n_ctx = 0; /* as long as the test */
    if (sl_cli_progress_wanted(p->args->quiet))
        sl_cli_progress("trying %s", c->change);
    if (sl_profile_try(p->session.model, &c->profile->test, &before, &after, fills_random(p->args), TRY_ROUNDS,
                       &p->trial, &err))
        return sl_cli_fail(&err);
    return SL_EXIT_OK;
}

static sl_exit run(const sl_args *args)
{
    sl_profiled p = { .args = args };
    sl_bench_test tests[2] = { 0 };
    sl_exit code = plan_tests(&p, tests);
    if (!code)
        code = load(&p, tests);
    if (!code) {
        sl_cli_interrupt_catch();
        code = measure(&p, tests);
    }
    if (!code)
        code = try_change(&p);
    sl_cli_progress_end();
    if (!code && args->json)
        code = sl_profile_print_json(&p);
    else if (!code)
        sl_profile_print(&p);
    if (p.bench) {
        sl_session_tell_placement(&p.session, sl_bench_engine(p.bench), args);
        code = sl_session_write_trace(&p.session, sl_bench_engine(p.bench), args, code);
    }
    for (size_t i = 0; i < p.n; i++)
        sl_profile_fini(&p.phase[i]);
    sl_bench_destroy(p.bench);
    return sl_session_end(&p.session, args, code);
}

static const sl_opt own[] = {
    { "prompt", "p", "N", "tokens of the prompt that is read (default 512; 0: none)", SL_OPT_INT,
      SL_ARG(profile_prompt), 0, 1 << 24, NULL },
    { "n-predict|predict", "n", "N", "tokens that are generated (default 64; 0: none)", SL_OPT_INT,
      SL_ARG(profile_predict), 0, 1 << 24, NULL },
    { "depth", "d", "N", "tokens that each sequence holds before it generates (default 0)", SL_OPT_INT,
      SL_ARG(profile_depth), 0, 1 << 24, NULL },
    { "batch", "b", "N", "sequences that generate together (default 1)", SL_OPT_INT, SL_ARG(profile_seqs), 1, 4096,
      NULL },
    { "fill", NULL, "WITH",
      "what sequences hold up to their depth: tokens that are read (default), or random keys and values, at once",
      SL_OPT_WORD, SL_ARG(fill), 0, 0, "tokens|random" },
    { "repeats", "r", "N", "runs of each, 1 to 1000 (default 3)", SL_OPT_INT, SL_ARG(profile_runs), 1, 1000, NULL },
    { "try", NULL, NULL, "change the one switch that is named, and show the speed before and after", SL_OPT_FLAG,
      SL_ARG(try_change), 0, 0, NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Workload", own }, { "Engine", sl_opts_engine }, { "Output", sl_opts_json }, { "Common", sl_opts_common }, { 0 },
};

const sl_command sl_cmd_profile = {
    .name = "profile",
    .usage = "sluice profile MODEL [-p N] [-n N] [-d DEPTH] [-b SEQS] [--try] [OPTIONS]",
    .summary = "where the time goes, what limits it, and which switch to change",
    .text = "Reads a prompt and generates, with random token ids, and accounts for every nanosecond of its steps,\n"
            "beside what the machine could do. Ends with one sentence: what limits the run, and what would change\n"
            "that.\n"
            "\n"
            "  sluice profile smollm2\n"
            "  sluice profile model.gguf -p 0 -d 4096 --fill random --kv-type f32 --try\n",
    .groups = groups,
    .run = run,
};
