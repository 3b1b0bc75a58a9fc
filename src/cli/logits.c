/* logits.c - `sluice logits`: what a model says after each position, as a .npy file. */
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/npy.h"
#include "cli/session.h"
#include "cli/signals.h"

typedef struct sl_rows sl_rows;
/* One prompt of the batch, and where its rows go. */
typedef struct sl_prompt_rows {
    sl_rows *all;
    sl_ids ids;
    size_t first_row;
} sl_prompt_rows;

struct sl_rows {
    sl_prompt_rows *prompt; /* [n] */
    size_t n, total, longest;
    size_t n_broken, first_broken; /* rows with a number that is not finite */
    sl_npy file;
    sl_status rc;
    sl_err err;
};

static void count_broken(sl_rows *all, size_t row, const float *logits, size_t n_vocab)
{
    size_t i = 0;
    while (i < n_vocab && isfinite(logits[i]))
        i++;
    if (i == n_vocab)
        return;
    all->first_broken = all->n_broken++ ? SL_MIN(all->first_broken, row) : row;
}

static bool on_event(void *user, const sl_event *event)
{
    const sl_prompt_rows *p = user;
    sl_rows *all = p->all;
    if (event->kind == SL_EVENT_LOGITS && !all->rc) {
        count_broken(all, p->first_row + event->position, event->logits, event->n_vocab);
        all->rc = sl_npy_write(&all->file, p->first_row + event->position, event->logits, &all->err);
    }
    return !all->rc && !sl_cli_interrupted();
}

/* Ids as they are, or the name of a file that holds them. */
static sl_exit read_prompt(const char *given, sl_prompt_rows *p, const sl_session *s)
{
    sl_err err = { 0 };
    sl_str text = { 0 };
    sl_exit code = SL_EXIT_OK;
    if (sl_cli_is_ids(given)) {
        sl_str_puts(&text, given);
    } else if (sl_cli_read_file(given, &text, &err)) {
        code = sl_cli_failed("--tokens: %s", err.msg);
        goto out;
    }
    if (sl_cli_read_ids(text.data, text.len, &p->ids, &err))
        code = sl_cli_usage("--tokens %s: %s", given, err.msg);
    else if (!p->ids.n)
        code = sl_cli_usage("--tokens %s: no token ids", given);
    else
        code = sl_session_check_ids(s, &p->ids, "--tokens");
out:
    sl_str_fini(&text);
    return code;
}

static sl_exit read_prompts(sl_rows *r, const sl_args *args, const sl_session *s)
{
    r->prompt = sl_mem_zalloc(args->tokens.n, sizeof *r->prompt);
    if (!r->prompt)
        return sl_cli_failed("no memory for %zu prompts", args->tokens.n);
    r->n = args->tokens.n;
    size_t from_stdin = 0;
    for (size_t i = 0; i < r->n; i++)
        from_stdin += strcmp(args->tokens.data[i], "-") == 0;
    if (from_stdin > 1)
        return sl_cli_usage("--tokens -: standard input can be read once only");
    for (size_t i = 0; i < r->n; i++) {
        r->prompt[i] = (sl_prompt_rows){ .all = r, .first_row = r->total };
        const sl_exit code = read_prompt(args->tokens.data[i], &r->prompt[i], s);
        if (code)
            return code;
        r->total += r->prompt[i].ids.n;
        r->longest = SL_MAX(r->longest, r->prompt[i].ids.n);
    }
    return SL_EXIT_OK;
}

static sl_exit run_prompts(sl_rows *r, sl_session *s)
{
    sl_err err = { 0 };
    for (size_t i = 0; i < r->n; i++) {
        const sl_request request = { .prompt = r->prompt[i].ids.data,
                                     .n_prompt = r->prompt[i].ids.n,
                                     .prompt_logits = true,
                                     .top_p = 1.0f,
                                     .on_event = on_event,
                                     .user = &r->prompt[i] };
        if (sl_engine_submit(s->engine, &request, NULL, &err))
            return sl_cli_fail(&err);
    }
    while (sl_engine_busy(s->engine))
        if (sl_engine_step(s->engine, &err))
            return sl_cli_fail(&err);
    if (r->rc)
        return sl_cli_failed("%s", r->err.msg);
    return sl_cli_interrupted() ? SL_EXIT_INTERRUPTED : SL_EXIT_OK;
}

static sl_exit write_rows(sl_rows *r, sl_session *s, const sl_args *args)
{
    sl_err err = { 0 };
    sl_model_info info;
    sl_engine_info engine;
    sl_model_describe(s->model, &info);
    sl_engine_describe(s->engine, &engine);
    if (r->longest > engine.n_ctx)
        return sl_cli_usage("--tokens: %zu ids in one prompt, the context holds %zu (--ctx-size)", r->longest,
                            engine.n_ctx);
    if (sl_npy_create(&r->file, args->output, r->total, info.n_vocab, &err))
        return sl_cli_failed("%s", err.msg);
    const double begin = sl_cli_now();
    sl_exit code = run_prompts(r, s);
    const double seconds = sl_cli_now() - begin;
    if (sl_npy_close(&r->file, code == SL_EXIT_OK, &err))
        return sl_cli_failed("%s", err.msg);
    if (code == SL_EXIT_OK && !args->quiet)
        fprintf(stderr, "%s: f32 [%zu][%zu], %.2f s, %.1f tokens/s\n", args->output, r->total, info.n_vocab, seconds,
                (double)r->total / seconds);
    if (code == SL_EXIT_OK && r->n_broken) /* written all the same: to look at */
        code = sl_cli_failed("%s: of %zu row%s %zu with logits that are no finite numbers, row %zu first "
                             "(--check-tensors tells whether the file is broken)",
                             args->output, r->total, sl_cli_s(r->total), r->n_broken, r->first_broken);
    return code;
}

static sl_exit run(const sl_args *args)
{
    sl_session s = { 0 };
    sl_rows r = { 0 };
    if (!args->tokens.n)
        return sl_cli_usage("logits needs --tokens IDS|FILE");
    if (!args->output)
        return sl_cli_usage("logits needs -o OUT.npy");
    sl_exit code = sl_session_open(&s, args);
    if (!code)
        code = sl_session_check_output(&s, args, "-o", args->output);
    if (!code)
        code = read_prompts(&r, args, &s);
    if (!code) {
        /* A row for every token of a step, so that chunks are as long as --ubatch-size says. */
        const size_t ubatch = args->ubatch_size ? (size_t)args->ubatch_size : 512;
        sl_args fitted = *args;
        if (!fitted.ctx_size)
            fitted.ctx_size = (int64_t)r.longest;
        code = sl_session_start(&s, &fitted, r.n, SL_MIN(ubatch, r.total));
    }
    sl_cli_interrupt_catch();
    if (!code)
        code = write_rows(&r, &s, args);
    for (size_t i = 0; i < r.n; i++)
        sl_ids_fini(&r.prompt[i].ids);
    sl_mem_free(r.prompt);
    return sl_session_end(&s, args, code);
}

static const sl_opt own[] = {
    { "tokens", NULL, "IDS|FILE",
      "token ids by comma or white space, or a file of them (- for stdin); may be repeated: all prompts run "
      "as one batch, their rows follow one another",
      SL_OPT_LIST, SL_ARG(tokens), 0, 0, NULL },
    { "output", "o", "FILE", "where to write: .npy, f32 [tokens][vocabulary]", SL_OPT_TEXT, SL_ARG(output), 0, 0,
      NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Options", own },
    { "Context", sl_opts_context },
    { "Engine", sl_opts_engine },
    { "Common", sl_opts_common },
    { 0 },
};

const sl_command sl_cmd_logits = {
    .name = "logits",
    .usage = "sluice logits MODEL --tokens IDS|FILE -o OUT.npy [OPTIONS]",
    .summary = "the scores of all tokens after each position, as .npy",
    .text = "Row i holds the logits after token i; nothing is put in front of the ids. Works without a vocabulary.\n"
            "`--act f32 --kv-type f32` is the exact path.\n"
            "\n"
            "  sluice logits model.gguf --tokens 1,450,338 -o out.npy\n"
            "  sluice logits model.gguf --tokens a.txt --tokens b.txt -o both.npy -ub 1\n",
    .groups = groups,
    .run = run,
};
