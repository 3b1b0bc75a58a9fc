#include "cli/ask.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/deploy.h"

/* Prompt tokens of a step in a chat, unless -ub says: Ctrl-C is heard between steps. */
#define CHAT_UBATCH 64

/* ---- sampling --------------------------------------------------------------------- */

/* "ID+V" or "ID-V" */
static sl_exit read_bias(sl_ask *k, const char *given, float *out)
{
    sl_err err = { 0 };
    sl_model_info info;
    int32_t id = 0;
    const bool good = sl_cli_read_bias(given, &id, out); /* as the option's table has checked */
    assert(good);
    (void)good;
    sl_model_describe(k->session.model, &info);
    if ((uint64_t)id >= info.n_vocab) {
        sl_fail(&err, SL_EINVAL, "--logit-bias %s: id %d is outside the vocabulary (0 to %zu)", given, id,
                info.n_vocab - 1);
        return sl_cli_fail_option(&k->args, &err);
    }
    return sl_ids_push(&k->bias_token, id, &err) ? sl_cli_failed("%s", err.msg) : SL_EXIT_OK;
}

static sl_exit prepare_sampling(sl_ask *k)
{
    const sl_words *bias = &k->args.bias;
    uint32_t random = 0;
    k->bias = sl_mem_zalloc(bias->n, sizeof *k->bias);
    if (!k->bias)
        return sl_cli_failed("no memory for %zu biases", bias->n);
    for (size_t i = 0; i < bias->n; i++) {
        const sl_exit code = read_bias(k, bias->data[i], &k->bias[i]);
        if (code)
            return code;
    }
    /* 32 bits, so that any JSON reader can give the seed back. */
    if (k->args.seed < 0 && getrandom(&random, sizeof random, 0) != sizeof random)
        return sl_cli_failed("no random seed: %s; give one with --seed", strerror(errno));
    k->seed = k->args.seed < 0 ? random : (uint64_t)k->args.seed;
    return SL_EXIT_OK;
}

/* Above 0 as a float, too, and finite. */
static float positive(double x)
{
    return (float)SL_MIN(SL_MAX(x, (double)FLT_MIN), (double)FLT_MAX);
}

static sl_request make_request(const sl_ask *k)
{
    const sl_args *a = &k->args;
    const bool penalties = a->repeat_last_n != 0;
    return (sl_request){ .prompt = k->prompt.data,
                         .n_prompt = k->prompt.n,
                         .n_predict = a->n_predict < 0 ? SL_PREDICT_UNTIL_END : (size_t)a->n_predict,
                         .ignore_eos = a->ignore_eos,
                         .repeat_penalty = penalties ? positive(a->repeat_penalty) : 1.0f,
                         .presence_penalty = penalties ? (float)a->presence_penalty : 0.0f,
                         .frequency_penalty = penalties ? (float)a->frequency_penalty : 0.0f,
                         .repeat_last_n = a->repeat_last_n < 0 ? 0 : (size_t)a->repeat_last_n,
                         .typical_p = positive(a->typical),
                         .logprobs = a->logprobs || a->top_logprobs >= 0,
                         .top_logprobs = (uint32_t)SL_MAX(a->top_logprobs, (int64_t)0),
                         .temperature = (float)a->temp,
                         .top_k = (uint32_t)SL_MIN(a->top_k, (int64_t)UINT32_MAX),
                         .top_p = (float)a->top_p,
                         .min_p = (float)a->min_p,
                         .seed = k->seed,
                         .bias_token = k->bias_token.data,
                         .bias = k->bias,
                         .n_bias = k->bias_token.n };
}

/* ---- the prompt ------------------------------------------------------------------- */

static sl_exit load_chat(sl_ask *k)
{
    sl_err err = { 0 };
    if (k->args.no_template || !sl_text_chat_template(k->tokens, NULL)) {
        if (k->args.system)
            return sl_cli_usage("--system needs a chat template%s",
                                k->args.no_template ? "" : ", and the model has none");
        if (!k->args.no_template && !k->args.quiet)
            fprintf(stderr, "the model has no chat template: the prompt is continued as it is\n");
        return SL_EXIT_OK;
    }
    if (sl_chat_create(&k->chat, k->tokens, NULL, &err))
        return sl_cli_failed("chat template: %s%s", err.msg,
                             err.code == SL_ENOMEM ? "" : " (--no-template does without)");
    k->messages = json_array();
    return k->messages ? SL_EXIT_OK : sl_cli_failed("no memory for the conversation");
}

sl_exit sl_ask_add(sl_ask *k, const char *role, const char *text, size_t len)
{
    json_t *message = json_pack("{s:s, s:o}", "role", role, "content", sl_cli_json_text(text, len));
    if (json_array_append_new(k->messages, message))
        return sl_cli_failed("no memory for the conversation");
    return SL_EXIT_OK;
}

sl_status sl_ask_conversation(sl_ask *k, sl_err *err)
{
    json_t *object = json_pack("{s:O}", "messages", k->messages);
    char *request = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    k->prompt.n = 0;
    if (!request)
        return sl_fail(err, SL_ENOMEM, "no memory for the conversation");
    const sl_status rc = sl_chat_tokenize(k->chat, request, strlen(request), &k->prompt, err);
    free(request); /* jansson's */
    return rc;
}

sl_exit sl_ask_text(sl_ask *k, const char *text, size_t len)
{
    sl_err err = { 0 };
    k->prompt.n = 0;
    if (sl_text_tokenize(k->tokens, text, len, SL_TEXT_ADD_SPECIAL | SL_TEXT_PARSE_SPECIAL, &k->prompt, &err))
        return sl_cli_failed("%s", err.msg);
    return k->prompt.n ? SL_EXIT_OK : sl_cli_failed("the prompt is empty");
}

/* ---- answers ---------------------------------------------------------------------- */

/* Several cannot be streamed at once: they come one after another, each under a line with its number. */
static void write_all(const sl_ask *k)
{
    char line[64];
    for (size_t i = 0; i < k->n_answers; i++) {
        const sl_str *text = &k->answer[i].text;
        const int n = snprintf(line, sizeof line, "%s== %zu of %zu ==\n", i ? "\n" : "", i + 1, k->n_answers);
        sl_cli_write(line, (size_t)n);
        sl_cli_write(text->data, text->len);
        sl_cli_write("\n", 1);
    }
}

/* What may be said of a context that the answer filled. */
static void tell_full(const sl_ask *k)
{
    sl_engine_info info;
    bool full = false;
    for (size_t i = 0; i < k->n_answers; i++)
        full |= k->answer[i].context_full;
    if (!full || k->args.quiet)
        return;
    sl_engine_describe(k->session.engine, &info);
    fprintf(stderr, "the context of %zu positions is full: the answer ends here (%s)\n", info.n_ctx,
            k->for_chat ? "/reset begins a new conversation; a larger -c makes room" : "--ctx-size makes it larger");
}

sl_exit sl_ask_run(sl_ask *k, double asked)
{
    const sl_request request = make_request(k);
    const sl_exit code = sl_answers_run(k->answer, k->n_answers, &k->session, &request, asked);
    if (code)
        return code;
    if (!k->args.json && k->n_answers > 1)
        write_all(k);
    else if (!k->args.json)
        sl_cli_write("\n", 1);
    sl_cli_flush();
    tell_full(k);
    if (!k->args.quiet)
        sl_answers_tell(k->answer, k->n_answers, &k->session);
    return SL_EXIT_OK;
}

/* ---- opening and closing -------------------------------------------------------------- */

static sl_exit prepare_answers(sl_ask *k, bool for_chat)
{
    const size_t n = (size_t)k->args.n_answers;
    k->answer = sl_mem_zalloc(n, sizeof *k->answer);
    if (!k->answer)
        return sl_cli_failed("no memory for %zu answers", n);
    for (; k->n_answers < n; k->n_answers++) {
        const sl_answer_look look = k->args.json || n > 1 ? SL_ANSWER_SILENT
                                    : for_chat            ? SL_ANSWER_IN_CHAT
                                                          : SL_ANSWER_ALONE;
        const sl_exit code = sl_answer_init(&k->answer[k->n_answers], &k->args, k->tokens, k->chat, look);
        if (code)
            return code;
    }
    return SL_EXIT_OK;
}

static void take_args(sl_ask *k, const sl_args *args, bool for_chat)
{
    k->args = *args;
    k->for_chat = for_chat;
    if (for_chat && !args->ubatch_size)
        k->args.ubatch_size = CHAT_UBATCH;
    if (for_chat && !args->prefix_cache)
        k->args.prefix_cache = "on";
}

sl_exit sl_ask_open(sl_ask *k, const sl_args *args, bool for_chat)
{
    take_args(k, args, for_chat);
    sl_exit code = sl_session_open(&k->session, &k->args);
    if (!code)
        sl_session_sampling(&k->session, &k->args);
    if (!code && !(k->tokens = sl_session_text(&k->session)))
        code = SL_EXIT_FAILED;
    if (!code)
        code = prepare_sampling(k);
    if (!code)
        code = load_chat(k);
    if (!code && for_chat && !k->chat)
        code = sl_cli_usage("a chat needs a chat template; give a prompt to be continued");
    if (!code)
        code = prepare_answers(k, for_chat);
    if (!code && k->chat && args->system)
        code = sl_ask_add(k, "system", args->system, strlen(args->system));
    if (!code)
        code = sl_session_start(&k->session, &k->args, k->n_answers, k->n_answers);
    return code;
}

sl_exit sl_ask_close(sl_ask *k, sl_exit code)
{
    for (size_t i = 0; i < k->n_answers; i++)
        sl_answer_fini(&k->answer[i]);
    sl_mem_free(k->answer);
    sl_chat_destroy(k->chat);
    json_decref(k->messages);
    sl_ids_fini(&k->prompt);
    sl_ids_fini(&k->bias_token);
    sl_mem_free(k->bias);
    return sl_session_end(&k->session, &k->args, code);
}
