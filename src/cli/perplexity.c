/* perplexity.c - `sluice perplexity`: how well a model foresees a text.
 *
 * The text's tokens are cut into windows of --ctx tokens that do not overlap; each window is a
 * prompt of its own and scores every token after its first. ppl = exp(mean of -ln p).
 */
#include <math.h>
#include "base/num.h"
#include "cli/session.h"

#define DEFAULT_WINDOW 512

typedef struct sl_scoring {
    const int32_t *window; /* [n] */
    size_t n;
    double nll, squares; /* sums over all scored tokens so far */
    size_t n_scored;
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

static bool on_event(void *user, const sl_event *event)
{
    sl_scoring *z = user;
    if (event->kind == SL_EVENT_LOGITS && event->position + 1 < z->n) {
        const double nll = negative_log_p(event->logits, event->n_vocab, z->window[event->position + 1]);
        z->nll += nll;
        z->squares += nll * nll;
        z->n_scored++;
    }
    return !sl_cli_interrupted();
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
    if (args->json)
        return sl_cli_print_json(json_pack("{s:f, s:I, s:f, s:f, s:I, s:I, s:f}", "ppl", ppl, "n_scored",
                                           (json_int_t)z->n_scored, "mean_nll", mean, "ppl_error", error, "n_tokens",
                                           (json_int_t)n_tokens, "ctx", (json_int_t)window, "seconds", seconds));
    printf("perplexity %.5f +- %.5f over %zu tokens\n", ppl, error, z->n_scored);
    return SL_EXIT_OK;
}

static sl_exit score(sl_session *s, const sl_args *args, const sl_ids *ids, size_t window)
{
    sl_scoring z = { 0 };
    const double begin = sl_cli_now();
    for (size_t at = 0; at < ids->n; at += window) {
        z.window = ids->data + at;
        z.n = SL_MIN(window, ids->n - at);
        if (z.n < 2)
            break;
        const sl_exit code = score_window(&z, s);
        if (code)
            return code;
        if (sl_cli_progress_wanted(args->quiet))
            sl_cli_progress("%zu of %zu tokens, perplexity so far %.3f", at + z.n, ids->n,
                            exp(z.nll / (double)z.n_scored));
    }
    sl_cli_progress_end();
    if (!isfinite(z.nll))
        return sl_cli_failed("a logit is no finite number: the model or its file is broken");
    return report(&z, args, ids->n, window, sl_cli_now() - begin);
}

static sl_exit run(const sl_args *args)
{
    sl_err err = { 0 };
    sl_session s = { 0 };
    sl_str text = { 0 };
    sl_ids ids = { 0 };
    const sl_tokenizer *t = NULL;
    size_t window = args->ctx_size ? (size_t)args->ctx_size : DEFAULT_WINDOW;
    if (!args->file)
        return sl_cli_usage("perplexity needs -f TEXT");
    sl_exit code = sl_session_open(&s, args);
    if (!code && !(t = sl_session_tokenizer(&s)))
        code = SL_EXIT_FAILED;
    if (!code && (sl_cli_read_file(args->file, &text, &err) ||
                  sl_tokenize(t, text.data, text.len, SL_TOK_ADD_SPECIAL, &ids, &err)))
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
    { "file", "f", "TEXT", "the text, UTF-8; - for stdin", SL_OPT_TEXT, SL_ARG(file), 0, 0, NULL },
    { "ctx|ctx-size", "c", "N", "tokens of a window, 2 or more (default 512)", SL_OPT_INT, SL_ARG(ctx_size), 2, 1 << 24,
      NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Options", own },           { "Tokenizer", sl_opts_text },
    { "Engine", sl_opts_engine }, { "Output", sl_opts_quiet_json },
    { "Common", sl_opts_common }, { 0 },
};

const sl_command sl_cmd_perplexity = {
    .name = "perplexity",
    .usage = "sluice perplexity MODEL -f TEXT [--ctx N] [OPTIONS]",
    .summary = "how well a model foresees a text: what an option costs in quality",
    .text = "The text is cut into windows of N tokens; each scores every token after its first. Compare figures of\n"
            "the same text and the same N only. Control tokens in the text are plain text.\n"
            "\n"
            "  sluice perplexity smollm2 -f book.txt --ctx 2048\n"
            "  sluice perplexity smollm2 -f book.txt --act f32 --kv-type f32 --json\n",
    .groups = groups,
    .run = run,
};
