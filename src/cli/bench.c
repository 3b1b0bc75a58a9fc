/* bench.c - `sluice bench`: tokens a second, and how near that is to what the machine can do. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/bench_lines.h"
#include "cli/deploy.h"
#include "cli/experts.h"
#include "cli/session.h"
#include "cli/signals.h"

#define LIST_MAX  16
#define TESTS_MAX (LIST_MAX + LIST_MAX * LIST_MAX)
#define PROBE_S   0.4

typedef struct sl_size_list {
    size_t data[LIST_MAX];
    size_t n;
} sl_size_list;

/* One test, and its figures. */
typedef struct sl_measured {
    sl_bench_test test;
    double tok_s, median, min, max; /* tok_s: all runs together */
    double bytes, roof_share;       /* of one run; share 0: not measured */
    double experts_hit;             /* by a step in a layer; 0: no experts */
} sl_measured;

typedef struct sl_benching {
    const sl_args *args;
    sl_session session;
    sl_bench *bench;
    sl_measured m[TESTS_MAX];
    size_t n;
    double *seconds; /* [repeats] */
    size_t peak_rss;
    double read_gb_s, peak_g_s[SL_PEAK_COUNT];
} sl_benching;

/* ---- what to measure ---------------------------------------------------------------- */

static sl_exit read_list(const char *option, const char *given, int64_t min, sl_size_list *out)
{
    for (const char *at = given;; at++) {
        char word[24];
        int64_t v = 0;
        const size_t n = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)SL_MIN(n, sizeof word), at);
        if (!sl_read_int(word, &v) || v < min || v > 1 << 24)
            return sl_cli_usage("bench: %s %s: whole numbers from %lld to %d expected, with commas between", option,
                                given, (long long)min, 1 << 24);
        if (out->n == LIST_MAX)
            return sl_cli_usage("bench: %s %s: more than %d numbers", option, given, LIST_MAX);
        out->data[out->n++] = (size_t)v;
        at += n;
        if (!*at)
            return SL_EXIT_OK;
    }
}

static sl_exit plan_tests(sl_benching *b)
{
    const sl_args *a = b->args;
    sl_size_list prompt = { 0 }, predict = { 0 }, depth = { 0 }, seqs = { 0 };
    sl_exit code;
    if ((code = read_list("-p", a->bench_prompt, 0, &prompt)) ||
        (code = read_list("-n", a->bench_predict, 0, &predict)) ||
        (code = read_list("-d", a->bench_depth, 0, &depth)) || (code = read_list("-b", a->bench_seqs, 1, &seqs)))
        return code;
    for (size_t i = 0; i < prompt.n; i++)
        if (prompt.data[i])
            b->m[b->n++].test = (sl_bench_test){ SL_BENCH_PROMPT, prompt.data[i], 0, 1 };
    for (size_t i = 0; i < predict.n; i++)
        for (size_t d = 0; d < depth.n; d++)
            for (size_t s = 0; s < seqs.n; s++) {
                if (!predict.data[i])
                    continue;
                if (b->n == TESTS_MAX)
                    return sl_cli_usage("bench: more than %d tests", TESTS_MAX);
                b->m[b->n++].test = (sl_bench_test){ SL_BENCH_GENERATE, predict.data[i], depth.data[d], seqs.data[s] };
            }
    return b->n ? SL_EXIT_OK : sl_cli_usage("bench: nothing to measure with -p 0 and -n 0");
}

/* The least engine that can run all tests. */
static sl_bench_test largest(const sl_benching *b)
{
    sl_bench_test t = { SL_BENCH_GENERATE, 1, 0, 1 };
    for (size_t i = 0; i < b->n; i++) {
        const sl_bench_test *o = &b->m[i].test;
        t.n = SL_MAX(t.n, o->depth + o->n);
        t.seqs = SL_MAX(t.seqs, o->seqs);
    }
    return t;
}

static void name_test(const sl_bench_test *t, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s%zu", t->kind == SL_BENCH_PROMPT ? "pp" : "tg", t->n);
    if (t->depth)
        used += (size_t)snprintf(out + used, size - used, "@%zu", t->depth);
    if (t->seqs > 1)
        snprintf(out + used, size - used, "x%zu", t->seqs);
}

/* ---- measuring ---------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static sl_exit measure(sl_benching *b, sl_measured *m)
{
    sl_err err = { 0 };
    sl_bench_result r;
    const size_t n = (size_t)b->args->repeats;
    const double tokens = (double)(m->test.n * m->test.seqs);
    double total = 0.0;
    char name[64];
    name_test(&m->test, name, sizeof name);
    /* Once untimed: pages of the file come into memory, threads and caches warm up. */
    if (!b->args->no_warmup) {
        const sl_bench_test few = { m->test.kind, SL_MIN(m->test.n, (size_t)32), m->test.depth, m->test.seqs };
        if (sl_bench_run(b->bench, &few, 0.0, &r, &err))
            return sl_cli_fail(&err);
    }
    for (size_t i = 0; i < n; i++) {
        if (sl_cli_interrupted())
            return SL_EXIT_INTERRUPTED;
        if (sl_cli_progress_wanted(b->args->quiet))
            sl_cli_progress("%s: run %zu of %zu", name, i + 1, n);
        if (sl_bench_run(b->bench, &m->test, 0.0, &r, &err))
            return sl_cli_fail(&err);
        b->seconds[i] = r.seconds;
        total += r.seconds;
    }
    sl_cli_progress_end();
    qsort(b->seconds, n, sizeof *b->seconds, by_value);
    m->experts_hit = r.experts_hit;
    m->tok_s = tokens * (double)n / total;
    m->median = tokens / (0.5 * (b->seconds[n / 2] + b->seconds[(n - 1) / 2]));
    m->min = tokens / b->seconds[n - 1];
    m->max = tokens / b->seconds[0];
    return SL_EXIT_OK;
}

/* Largest resident set so far, in bytes. */
static size_t peak_rss(void)
{
    char line[128];
    size_t kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %zu kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

/* The yardsticks that these tests need, then every share. */
static sl_exit hold_against_roof(sl_benching *b)
{
    sl_err err = { 0 };
    sl_engine_info info;
    bool needed[SL_PEAK_COUNT] = { false };
    sl_engine_describe(sl_bench_engine(b->bench), &info);
    for (size_t i = 0; i < b->n; i++) {
        const sl_bench_cost c = sl_bench_test_cost(b->session.model, &info, &b->m[i].test, b->m[i].experts_hit);
        b->m[i].bytes = c.bytes;
        for (size_t p = 0; p < SL_PEAK_COUNT; p++)
            needed[p] |= c.ops[p] > 0.0;
    }
    for (size_t p = 0; p < SL_PEAK_COUNT; p++) {
        sl_probe_now now;
        if (!needed[p])
            continue;
        if (!sl_peak_present((sl_peak)p))
            return SL_EXIT_OK; /* a CPU without the yardstick: no shares */
        if (sl_bench_probe(b->bench, (sl_peak)p, PROBE_S, &now, &err))
            return sl_cli_fail(&err);
        b->read_gb_s = SL_MAX(b->read_gb_s, now.read_gb_s);
        b->peak_g_s[p] = now.peak_g_s;
    }
    for (size_t i = 0; i < b->n; i++) {
        sl_measured *m = &b->m[i];
        const sl_bench_cost c = sl_bench_test_cost(b->session.model, &info, &m->test, m->experts_hit);
        const double seconds = (double)(m->test.n * m->test.seqs) / m->median;
        m->roof_share = sl_bench_roof_seconds(&c, b->read_gb_s, b->peak_g_s) / seconds;
    }
    return SL_EXIT_OK;
}

/* ---- telling ------------------------------------------------------------------------ */

static json_t *share_json(const sl_measured *m)
{
    return m->roof_share > 0.0 ? json_real(m->roof_share) : json_null();
}

static double bytes_per_token(const sl_measured *m)
{
    return m->bytes / (double)(m->test.n * m->test.seqs);
}

static json_t *with_experts(json_t *out, const sl_measured *m)
{
    if (out && m->experts_hit > 0.0)
        json_object_set_new(out, "experts_hit", json_real(m->experts_hit));
    return out;
}

static json_t *prompt_json(const sl_measured *m)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:o}", "n", (json_int_t)m->test.n, "tok_s", m->tok_s, "median",
                     m->median, "min", m->min, "max", m->max, "roof_share", share_json(m));
}

static json_t *generate_json(const sl_measured *m)
{
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "n", (json_int_t)m->test.n, "depth",
                     (json_int_t)m->test.depth, "batch", (json_int_t)m->test.seqs, "tok_s", m->tok_s, "median",
                     m->median, "min", m->min, "max", m->max, "bytes_per_token", bytes_per_token(m), "gb_s",
                     1e-9 * bytes_per_token(m) * m->median, "roof_share", share_json(m));
}

static sl_exit print_json(const sl_benching *b, const sl_model_info *model, const sl_engine_info *e)
{
    json_t *pp = json_array(), *tg = json_array(), *roof = json_object();
    for (size_t i = 0; i < b->n; i++) {
        const bool prompt = b->m[i].test.kind == SL_BENCH_PROMPT;
        json_array_append_new(prompt ? pp : tg,
                              with_experts(prompt ? prompt_json(&b->m[i]) : generate_json(&b->m[i]), &b->m[i]));
    }
    if (b->read_gb_s > 0.0)
        json_object_set_new(roof, "read_GBs", json_real(b->read_gb_s));
    for (size_t p = 0; p < SL_PEAK_COUNT; p++)
        if (b->peak_g_s[p] > 0.0)
            json_object_set_new(roof, sl_peak_key((sl_peak)p), json_real(b->peak_g_s[p]));
    json_t *out = json_pack("{s:o, s:I, s:I, s:I, s:s, s:f, s:I, s:s, s:s, s:o, s:o, s:o}", "model",
                            sl_cli_json_text(model->path, strlen(model->path)), "n_params", (json_int_t)model->n_params,
                            "weights_bytes", (json_int_t)model->weight_bytes, "threads", (json_int_t)e->n_threads,
                            "isa", e->isa, "load_s", b->session.load_s, "peak_rss_bytes", (json_int_t)b->peak_rss,
                            "act", e->act, "kv_type", e->kv_type, "pp", pp, "tg", tg, "roof", roof);
    json_t *experts = sl_bench_experts(b->bench) ? sl_cli_experts_json(sl_bench_experts(b->bench)) : NULL;
    if (out && experts) /* with --trace */
        json_object_set_new(out, "experts", experts);
    return sl_cli_print_json(out);
}

static void print_table(const sl_benching *b, const sl_model_info *model, const sl_engine_info *e)
{
    printf("%s: %s parameters, %s, %s, %zu thread%s, activations %s, KV cache %s\n", model->name,
           sl_count_text(model->n_params).text, sl_bytes_text(model->weight_bytes).text, e->isa, e->n_threads,
           sl_cli_s(e->n_threads), e->act, e->kv_type);
    printf("loaded in %.2f s, peak memory %s, %lld run%s each\n\n", b->session.load_s, sl_bytes_text(b->peak_rss).text,
           (long long)b->args->repeats, sl_cli_s((size_t)b->args->repeats));
    printf("%-16s %10s %10s %10s %9s %9s\n", "test", "tokens/s", "min", "max", "of roof", "GB/s");
    for (size_t i = 0; i < b->n; i++) {
        const sl_measured *m = &b->m[i];
        char name[64], share[16] = "-";
        name_test(&m->test, name, sizeof name);
        if (m->roof_share > 0.0)
            snprintf(share, sizeof share, "%.0f %%", 100.0 * m->roof_share);
        printf("%-16s %10.2f %10.2f %10.2f %9s %9.2f\n", name, m->median, m->min, m->max, share,
               1e-9 * bytes_per_token(m) * m->median);
    }
    for (size_t i = 0; i < b->n && model->n_experts; i++)
        if (b->m[i].experts_hit > 0.0) {
            char name[64];
            name_test(&b->m[i].test, name, sizeof name);
            printf("%s: %.1f of %zu experts hit by a step in a layer\n", name, b->m[i].experts_hit, model->n_experts);
        }
    if (sl_bench_experts(b->bench))
        sl_cli_print_experts(sl_bench_experts(b->bench));
    printf("\npp: tokens of a prompt read; tg: tokens generated, @ at that depth, x that many sequences.\n");
    if (b->read_gb_s > 0.0)
        printf("tokens/s is the median. The roof: reading %.1f GB/s, multiplying at the peak of its instructions.\n",
               b->read_gb_s);
}

static sl_exit measure_all(sl_benching *b)
{
    sl_model_info model;
    sl_engine_info engine;
    b->seconds = sl_mem_zalloc((size_t)b->args->repeats, sizeof *b->seconds);
    if (!b->seconds)
        return sl_cli_failed("no memory for %lld figures", (long long)b->args->repeats);
    sl_exit measured = SL_EXIT_OK;
    for (size_t i = 0; i < b->n && !measured; i++) {
        measured = measure(b, &b->m[i]);
        if (measured == SL_EXIT_INTERRUPTED)
            b->n = i; /* what is whole is shown */
    }
    sl_cli_progress_end();
    if (measured && (measured != SL_EXIT_INTERRUPTED || !b->n))
        return measured;
    b->peak_rss = peak_rss(); /* before the probe takes its arrays */
    const sl_exit code = hold_against_roof(b);
    if (code)
        return code;
    sl_model_describe(b->session.model, &model);
    sl_engine_describe(sl_bench_engine(b->bench), &engine);
    if (!b->args->json)
        print_table(b, &model, &engine);
    else if (print_json(b, &model, &engine))
        return SL_EXIT_FAILED;
    return measured;
}

/* ---- the command -------------------------------------------------------------------- */

static sl_exit load(sl_benching *b)
{
    sl_err err = { 0 };
    sl_session *s = &b->session;
    sl_exit code = sl_session_open(s, b->args);
    if (code)
        return code;
    const sl_bench_test all = largest(b);
    const double begin = sl_cli_now();
    code = sl_session_options(s, b->args, all.seqs, 0);
    s->options.n_ctx = all.n;
    if (!code)
        code = sl_session_tell(s, b->args);
    if (!code &&
        (sl_bench_create(&b->bench, s->model, &s->options, &err) || sl_bench_prepare(b->bench, &all, NULL, &err)))
        code = sl_cli_fail_option(b->args, &err);
    if (!code && b->args->fill[0] == 'r')
        sl_bench_fill_random(b->bench);
    s->load_s += sl_cli_now() - begin;
    return code;
}

static sl_exit run(const sl_args *args)
{
    sl_benching b = { .args = args };
    sl_exit code = plan_tests(&b);
    if (!code)
        code = load(&b);
    if (!code && !args->serve_lines)
        sl_cli_interrupt_catch(); /* between runs; a second Ctrl-C ends one */
    if (!code)
        code = args->serve_lines ? sl_bench_serve_lines(b.bench, &b.session) : measure_all(&b);
    if (b.bench) {
        sl_session_tell_placement(&b.session, sl_bench_engine(b.bench), args);
        code = sl_session_write_trace(&b.session, sl_bench_engine(b.bench), args, code);
    }
    sl_bench_destroy(b.bench);
    sl_mem_free(b.seconds);
    return sl_session_end(&b.session, args, code);
}

static const sl_opt own[] = {
    { "prompt", "p", "N[,N]", "prompt lengths to read (default 512; 0: none)", SL_OPT_TEXT, SL_ARG(bench_prompt), 0, 0,
      NULL },
    { "n-predict|predict", "n", "N[,N]", "tokens to generate (default 128; 0: none)", SL_OPT_TEXT,
      SL_ARG(bench_predict), 0, 0, NULL },
    { "depth", "d", "N[,N]", "tokens that each sequence holds before it generates (default 0)", SL_OPT_TEXT,
      SL_ARG(bench_depth), 0, 0, NULL },
    { "batch", "b", "N[,N]", "sequences that generate together (default 1)", SL_OPT_TEXT, SL_ARG(bench_seqs), 0, 0,
      NULL },
    { "fill", NULL, "WITH", "how a depth is reached: tokens (default) are read, random keys and values are drawn",
      SL_OPT_WORD, SL_ARG(fill), 0, 0, "tokens|random" },
    { "repeats", "r", "N", "runs of each test, 1 to 10000 (default 5)", SL_OPT_INT, SL_ARG(repeats), 1, 10000, NULL },
    { "no-warmup", NULL, NULL, "time the very first run, too", SL_OPT_FLAG, SL_ARG(no_warmup), 0, 0, NULL },
    { "serve-lines", NULL, NULL, "stay loaded and answer the line protocol of bench/README.md", SL_OPT_FLAG,
      SL_ARG(serve_lines), 0, 0, NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Tests", own }, { "Engine", sl_opts_engine }, { "Output", sl_opts_json }, { "Common", sl_opts_common }, { 0 },
};

const sl_command sl_cmd_bench = {
    .name = "bench",
    .usage = "sluice bench MODEL [-p N] [-n N] [-d DEPTH] [-b SEQS] [-r REPEATS] [OPTIONS]",
    .summary = "speed of reading and generating, and its share of the machine's roof",
    .text = "Random token ids, no sampling. Tokens a second count all sequences together. Measure on an idle machine.\n"
            "\n"
            "  sluice bench smollm2\n"
            "  sluice bench model.gguf -p 128,2048 -n 64 -d 0,4096 -b 1,8 --json\n",
    .groups = groups,
    .run = run,
};
