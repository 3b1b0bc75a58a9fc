/* perplexity.c - `sluice perplexity`: how well a model foresees a text.
 *
 * The text's tokens are cut into windows of --ctx tokens that do not overlap; each window is a
 * prompt of its own and scores every token after its first. ppl = exp(mean of -ln p). The logits of all
 * positions, one row for each token of all windows, can be kept and compared with those of another run.
 */
#include <math.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/compare.h"
#include "cli/npy.h"
#include "cli/session.h"
#include "cli/signals.h"

#define DEFAULT_WINDOW 512

typedef struct sl_scoring {
    const int32_t *window; /* [n] */
    size_t n;
    size_t first_row;    /* of the window */
    double nll, squares; /* sums over all scored tokens so far */
    size_t n_scored;
    sl_npy base, save; /* fd -1: not asked for */
    float *base_row;   /* [vocabulary] */
    sl_comparison comparison;
    sl_status rc; /* of what happened in a callback */
    sl_err err;
} sl_scoring;

/* -ln p(token): the log-sum-exp is taken relative to the largest logit. */
static double negative_log_p(const float *logits, size_t n, int32_t token)
{
    float best = logits[0];
    for (size_t i = 1; i < n; i++)
        best = logits[i] > best ? logits[i] : best;
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - (double)best);
    return log(sum) + (double)best - (double)logits[token];
}

/* Keep the row, and compare it. */
static void use_row(sl_scoring *z, const sl_event *event)
{
    const size_t row = z->first_row + event->position;
    if (z->save.fd >= 0)
        z->rc = sl_npy_write(&z->save, row, event->logits, &z->err);
    if (z->rc || z->base.fd < 0)
        return;
    z->rc = sl_npy_read(&z->base, row, z->base_row, &z->err);
    if (!z->rc && !sl_compare_row(&z->comparison, z->base_row, event->logits, event->n_vocab))
        z->rc = sl_fail(&z->err, SL_EFORMAT, "--base %s: row %zu holds a number that is not finite", z->base.path, row);
}

static bool on_event(void *user, const sl_event *event)
{
    sl_scoring *z = user;
    if (event->kind == SL_EVENT_LOGITS && !z->rc)
        use_row(z, event);
    if (event->kind == SL_EVENT_LOGITS && event->position + 1 < z->n) {
        const double nll = negative_log_p(event->logits, event->n_vocab, z->window[event->position + 1]);
        z->nll += nll;
        z->squares += nll * nll;
        z->n_scored++;
    }
    return !z->rc && !sl_cli_interrupted();
}

static sl_exit score_window(sl_scoring *z, sl_session *s)
{
    sl_err err = { 0 };
    const sl_request request = {
        .prompt = z->window, .n_prompt = z->n, .prompt_logits = true, .top_p = 1.0f, .on_event = on_event, .user = z
    };
    if (sl_engine_submit(s->engine, &request, NULL, &err))
        return sl_cli_fail(&err);
    while (sl_engine_busy(s->engine))
        if (sl_engine_step(s->engine, &err))
            return sl_cli_fail(&err);
    if (z->rc)
        return sl_cli_failed("%s", z->err.msg);
    return sl_cli_interrupted() ? SL_EXIT_INTERRUPTED : SL_EXIT_OK;
}

static sl_exit report(const sl_scoring *z, const sl_args *args, size_t n_tokens, size_t window, double seconds)
{
    const double n = (double)z->n_scored, mean = z->nll / n, ppl = exp(mean);
    /* Of the mean, carried over to its exponential. */
    const double error = n > 1 ? ppl * sqrt(fmax(z->squares / n - mean * mean, 0.0) / (n - 1.0)) : 0.0;
    if (!args->quiet)
        fprintf(stderr, "%zu tokens in windows of %zu, %.2f s, %.1f tokens/s\n", n_tokens, window, seconds,
                (double)n_tokens / seconds);
    if (args->json) {
        json_t *out = json_pack("{s:f, s:I, s:f, s:f, s:I, s:I, s:f}", "ppl", ppl, "n_scored", (json_int_t)z->n_scored,
                                "mean_nll", mean, "ppl_error", error, "n_tokens", (json_int_t)n_tokens, "ctx",
                                (json_int_t)window, "seconds", seconds);
        if (out && args->base)
            json_object_set_new(out, "base", sl_compare_json(&z->comparison, args->base));
        return sl_cli_print_json(out);
    }
    printf("perplexity %.5f +- %.5f over %zu tokens\n", ppl, error, z->n_scored);
    if (args->base)
        sl_compare_print(&z->comparison, args->base);
    return SL_EXIT_OK;
}

/* Rows of all windows: a last one of a single token scores nothing and is left out. */
static size_t total_rows(size_t n_tokens, size_t window)
{
    return n_tokens % window == 1 ? n_tokens - 1 : n_tokens;
}

/* The files of --base and --save-logits. */
static sl_exit open_files(sl_scoring *z, const sl_session *s, const sl_args *args, size_t rows)
{
    sl_err err = { 0 };
    sl_model_info info;
    sl_model_describe(s->model, &info);
    if (args->base) {
        if (sl_npy_open(&z->base, args->base, &err))
            return sl_cli_failed("--base %s", err.msg);
        if (z->base.rows != rows || z->base.cols != info.n_vocab)
            return sl_cli_failed("--base %s: logits of shape [%zu][%zu], this text and model give [%zu][%zu]",
                                 args->base, z->base.rows, z->base.cols, rows, info.n_vocab);
        z->base_row = sl_mem_zalloc(info.n_vocab, sizeof *z->base_row);
        if (!z->base_row)
            return sl_cli_failed("no memory for a row of %zu logits", info.n_vocab);
    }
    if (args->save_logits && sl_npy_create(&z->save, args->save_logits, rows, info.n_vocab, &err))
        return sl_cli_failed("--save-logits %s", err.msg);
    return SL_EXIT_OK;
}

/* Returns `code`, or a failure. */
static sl_exit close_files(sl_scoring *z, sl_exit code)
{
    sl_err err = { 0 };
    sl_npy_end(&z->base);
    sl_mem_free(z->base_row);
    if (z->save.fd >= 0 && sl_npy_close(&z->save, code == SL_EXIT_OK, &err))
        return sl_cli_failed("--save-logits %s", err.msg);
    return code;
}

static sl_exit score_windows(sl_scoring *z, sl_session *s, const sl_args *args, const sl_ids *ids, size_t window)
{
    const double begin = sl_cli_now();
    for (size_t at = 0; at < ids->n; at += window) {
        z->window = ids->data + at;
        z->n = SL_MIN(window, ids->n - at);
        z->first_row = at;
        if (z->n < 2)
            break;
        const sl_exit code = score_window(z, s);
        if (code)
            return code;
        if (sl_cli_progress_wanted(args->quiet))
            sl_cli_progress("%zu of %zu tokens, perplexity so far %.3f", at + z->n, ids->n,
                            exp(z->nll / (double)z->n_scored));
    }
    sl_cli_progress_end();
    if (!isfinite(z->nll))
        return sl_cli_failed("a logit is no finite number: the model or its file is broken (--check-tensors tells "
                             "whether it is the file)");
    return report(z, args, ids->n, window, sl_cli_now() - begin);
}

static sl_exit score(sl_session *s, const sl_args *args, const sl_ids *ids, size_t window)
{
    sl_scoring z = { .base = { .fd = -1 }, .save = { .fd = -1 } };
    sl_exit code = open_files(&z, s, args, total_rows(ids->n, window));
    if (!code)
        code = score_windows(&z, s, args, ids, window);
    return close_files(&z, code);
}

static sl_exit run(const sl_args *args)
{
    sl_err err = { 0 };
    sl_session s = { 0 };
    sl_str text = { 0 };
    sl_ids ids = { 0 };
    const sl_text *t = NULL;
    size_t window = args->ctx_size ? (size_t)args->ctx_size : DEFAULT_WINDOW;
    if (!args->file)
        return sl_cli_usage("perplexity needs -f FILE");
    sl_exit code = sl_session_open(&s, args);
    if (!code && args->save_logits)
        code = sl_session_check_output(&s, args, "--save-logits", args->save_logits);
    if (!code && !(t = sl_session_text(&s)))
        code = SL_EXIT_FAILED;
    if (!code && (sl_cli_read_file(args->file, &text, &err) ||
                  sl_text_tokenize(t, text.data, text.len, SL_TEXT_ADD_SPECIAL, &ids, &err)))
        code = sl_cli_failed("%s", err.msg);
    if (!code && ids.n < 2)
        code = sl_cli_failed("%s: %zu tokens; at least 2 are needed", args->file, ids.n);
    if (!code) {
        sl_args fitted = *args;
        window = SL_MIN(window, ids.n);
        fitted.ctx_size = (int64_t)window;
        const size_t ubatch = args->ubatch_size ? (size_t)args->ubatch_size : 512;
        code = sl_session_start(&s, &fitted, 1, SL_MIN(ubatch, window));
    }
    sl_cli_interrupt_catch();
    if (!code)
        code = score(&s, args, &ids, window);
    sl_ids_fini(&ids);
    sl_str_fini(&text);
    return sl_session_end(&s, args, code);
}

static const sl_opt own[] = {
    { "file", "f", "FILE", "the text, UTF-8; - for stdin", SL_OPT_TEXT, SL_ARG(file), 0, 0, NULL },
    { "ctx|ctx-size", "c", "N", "tokens of a window, 2 or more (default 512)", SL_OPT_INT, SL_ARG(ctx_size), 2, 1 << 24,
      NULL },
    { "base", NULL, "FILE", "compare with the logits of another run, as --save-logits or `sluice logits` wrote them",
      SL_OPT_TEXT, SL_ARG(base), 0, 0, NULL },
    { "save-logits", NULL, "FILE", "write all logits: .npy, f32 [tokens][vocabulary]", SL_OPT_TEXT, SL_ARG(save_logits),
      0, 0, NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Options", own },         { "Tokenizer", sl_opts_text }, { "Engine", sl_opts_engine },
    { "Output", sl_opts_json }, { "Common", sl_opts_common },  { 0 },
};

const sl_command sl_cmd_perplexity = {
    .name = "perplexity",
    .usage = "sluice perplexity MODEL -f FILE [--ctx N] [--base LOGITS.npy] [OPTIONS]",
    .summary = "how well a model foresees a text: what an option costs in quality",
    .text = "The text is cut into windows of N tokens; each scores every token after its first. Compare figures of\n"
            "the same text and the same N only. Control tokens in the text are plain text.\n"
            "\n"
            "  sluice perplexity smollm2 -f book.txt --ctx 2048\n"
            "  sluice perplexity smollm2 -f book.txt --act f32 --kv-type f32 --json\n"
            "\n"
            "Closer than perplexity: how far every position's probabilities are from those of another run.\n"
            "\n"
            "  sluice perplexity f16.gguf  -f text.txt --act f32 --save-logits base.npy\n"
            "  sluice perplexity q4_k.gguf -f text.txt --base base.npy\n",
    .groups = groups,
    .run = run,
};
