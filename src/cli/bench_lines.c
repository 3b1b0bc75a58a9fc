#include "cli/bench_lines.h"

#include <stdlib.h>
#include <string.h>
#include "cli/version.h"

#define LIMIT_N ((json_int_t)1 << 24)

typedef struct sl_bench_line {
    const json_t *command;
    sl_bench *bench;
    sl_err err;
} sl_bench_line;

/* Answers are built with json_pack; NULL: line->err says why. */

static bool get_size(sl_bench_line *l, const char *key, json_int_t fallback, json_int_t min, size_t *out)
{
    const json_t *v = json_object_get(l->command, key);
    const json_int_t n = v ? json_integer_value(v) : fallback;
    if ((v && !json_is_integer(v)) || n < min || n > LIMIT_N) {
        sl_fail(&l->err, SL_EINVAL, "%s: an integer from %lld to %lld expected", key, (long long)min,
                (long long)LIMIT_N);
        return false;
    }
    *out = (size_t)n;
    return true;
}

static bool get_seconds(sl_bench_line *l, const char *key, double fallback, double *out)
{
    const json_t *v = json_object_get(l->command, key);
    *out = v ? json_number_value(v) : fallback;
    if ((!v || json_is_number(v)) && *out >= 0.0 && *out <= 3600.0)
        return true;
    sl_fail(&l->err, SL_EINVAL, "%s: seconds from 0 to 3600 expected", key);
    return false;
}

static json_t *answer_run(sl_bench_line *l, const char *name, sl_bench_kind kind)
{
    sl_bench_test t = { .kind = kind, .seqs = 1 };
    sl_bench_result r;
    double min_s = 0.0;
    const bool generate = kind == SL_BENCH_GENERATE;
    if (!get_size(l, "n", generate ? 64 : 512, 1, &t.n) || !get_seconds(l, "min_s", 0.0, &min_s) ||
        (generate && (!get_size(l, "depth", 0, 0, &t.depth) || !get_size(l, "seqs", 1, 1, &t.seqs))) ||
        sl_bench_run(l->bench, &t, min_s, &r, &l->err))
        return NULL;
    return json_pack("{s:s, s:I, s:f, s:I, s:f}", "test", name, "tokens", (json_int_t)r.tokens, "seconds", r.seconds,
                     "runs", (json_int_t)r.runs, "tok_s", (double)r.tokens / r.seconds);
}

static json_t *answer_probe(sl_bench_line *l)
{
    const char *name = json_string_value(json_object_get(l->command, "peak"));
    sl_peak peak;
    double seconds = 0.2;
    sl_probe_now now;
    if (!name || !sl_peak_by_name(name, &peak)) {
        sl_fail(&l->err, SL_EINVAL, "peak: the name of a peak expected, as \"int8_avx2_madd16\"");
        return NULL;
    }
    if (!get_seconds(l, "seconds", 0.2, &seconds) || sl_bench_probe(l->bench, peak, seconds, &now, &l->err))
        return NULL;
    return json_pack("{s:s, s:s, s:f, s:f}", "test", "probe", "peak", name, "read_GBs", now.read_gb_s, "peak_Gs",
                     now.peak_g_s);
}

static json_t *answer_roofline(sl_bench_line *l)
{
    sl_roofline r;
    sl_str text = { 0 };
    json_t *answer = NULL;
    if (sl_bench_roofline(l->bench, &r, &l->err))
        return NULL;
    sl_roofline_json(&text, &r);
    if (!text.failed)
        answer = json_loads(text.data, 0, NULL);
    if (answer)
        json_object_set_new(answer, "test", json_string("roofline"));
    sl_str_fini(&text);
    return answer;
}

static json_t *answer_command(sl_bench_line *l)
{
    const char *test = json_string_value(json_object_get(l->command, "test"));
    if (!test) {
        sl_fail(&l->err, SL_EINVAL, "an object with \"test\" expected");
        return NULL;
    }
    if (strcmp(test, "pp") == 0)
        return answer_run(l, test, SL_BENCH_PROMPT);
    if (strcmp(test, "tg") == 0)
        return answer_run(l, test, SL_BENCH_GENERATE);
    if (strcmp(test, "probe") == 0)
        return answer_probe(l);
    if (strcmp(test, "roofline") == 0)
        return answer_roofline(l);
    sl_fail(&l->err, SL_EINVAL, "test %s: pp, tg, probe, roofline or quit expected", test);
    return NULL;
}

static bool quits(const json_t *command)
{
    const char *test = json_string_value(json_object_get(command, "test"));
    return test && strcmp(test, "quit") == 0;
}

/* Answer one line; *quit ends the talk. */
static sl_exit answer_line(sl_bench *b, const char *text, size_t len, bool *quit)
{
    json_error_t error;
    sl_bench_line l = { .bench = b };
    json_t *command = json_loadb(text, len, 0, &error), *answer = NULL;
    *quit = quits(command);
    if (!command)
        sl_fail(&l.err, SL_EINVAL, "no JSON: %s", error.text);
    l.command = command;
    if (command && !*quit)
        answer = answer_command(&l);
    json_decref(command);
    if (*quit)
        return SL_EXIT_OK;
    if (!answer)
        answer = json_pack("{s:o}", "error", sl_cli_json_text(l.err.msg, strlen(l.err.msg)));
    return sl_cli_print_json(answer);
}

static sl_exit say_hello(const sl_bench *b, const sl_session *s)
{
    sl_model_info model;
    sl_engine_info e;
    sl_model_describe(s->model, &model);
    sl_engine_describe(sl_bench_engine(b), &e);
    return sl_cli_print_json(json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:s, s:s, s:I, s:f}", "engine", "sluice", "version", sl_cli_version(), "isa", e.isa,
        "model", sl_cli_json_text(model.path, strlen(model.path)), "threads", (json_int_t)e.n_threads, "kv", e.kv_type,
        "act", e.act, "ubatch", (json_int_t)e.n_ubatch, "load_s", s->load_s));
}

sl_exit sl_bench_serve_lines(sl_bench *b, const sl_session *s)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    bool quit = false;
    sl_exit code = say_hello(b, s);
    while (!code && !quit && (n = getline(&line, &cap, stdin)) >= 0)
        if (line[strspn(line, " \t\r\n")])
            code = answer_line(b, line, (size_t)n, &quit);
    free(line); /* getline's */
    return code;
}
