/* run.c - `sluice run`: one answer, or a chat on a terminal. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/answer.h"
#include "cli/session.h"

typedef struct sl_talk {
    const sl_args *args;
    sl_session session;
    const sl_text *tokens;
    sl_chat *chat;     /* NULL: prompts are taken as they are */
    json_t *request;   /* {"messages": [...]} */
    sl_answer *answer; /* [n_answers] */
    size_t n_answers;
    sl_ids prompt, bias_token;
    float *bias; /* [bias_token.n] */
    uint64_t seed;
} sl_talk;

/* ---- sampling --------------------------------------------------------------------- */

/* "ID+V" or "ID-V" */
static sl_exit read_bias(sl_talk *k, const char *given, float *out)
{
    sl_err err = { 0 };
    sl_model_info info;
    int64_t id = -1;
    double value = 0.0;
    char digits[16];
    const size_t n = strspn(given, "0123456789");
    snprintf(digits, sizeof digits, "%.*s", (int)n, given);
    if (!n || n >= sizeof digits || !sl_read_int(digits, &id) || (given[n] != '+' && given[n] != '-') ||
        !sl_read_real(given + n, &value) || !isfinite((float)value))
        return sl_cli_usage("--logit-bias %s: a token id and a finite value expected, as in 15043-100 or 15043+1.5",
                            given);
    sl_model_describe(k->session.model, &info);
    if ((uint64_t)id >= info.n_vocab)
        return sl_cli_usage("--logit-bias %s: id %lld is outside the vocabulary (0 to %zu)", given, (long long)id,
                            info.n_vocab - 1);
    *out = (float)value;
    return sl_ids_push(&k->bias_token, (int32_t)id, &err) ? sl_cli_failed("%s", err.msg) : SL_EXIT_OK;
}

static sl_exit prepare_sampling(sl_talk *k)
{
    const sl_words *bias = &k->args->bias;
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
    if (k->args->seed < 0 && getrandom(&random, sizeof random, 0) != sizeof random)
        return sl_cli_failed("no random seed: %s; give one with --seed", strerror(errno));
    k->seed = k->args->seed < 0 ? random : (uint64_t)k->args->seed;
    return SL_EXIT_OK;
}

/* Above 0 as a float, too, and finite. */
static float positive(double x)
{
    return (float)SL_MIN(SL_MAX(x, (double)FLT_MIN), (double)FLT_MAX);
}

static sl_request make_request(const sl_talk *k)
{
    const sl_args *a = k->args;
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

static sl_exit load_chat(sl_talk *k)
{
    sl_err err = { 0 };
    if (k->args->no_template || !sl_text_chat_template(k->tokens, NULL)) {
        if (k->args->system)
            return sl_cli_usage("--system needs a chat template%s",
                                k->args->no_template ? "" : ", and the model has none");
        if (!k->args->no_template && !k->args->quiet)
            fprintf(stderr, "the model has no chat template: the prompt is continued as it is\n");
        return SL_EXIT_OK;
    }
    if (sl_chat_create(&k->chat, k->tokens, NULL, &err))
        return sl_cli_failed("chat template: %s (--no-template does without)", err.msg);
    k->request = json_pack("{s:[]}", "messages");
    return k->request ? SL_EXIT_OK : sl_cli_failed("no memory for the conversation");
}

static sl_exit add_message(sl_talk *k, const char *role, const char *text, size_t len)
{
    json_t *message = json_pack("{s:s, s:o}", "role", role, "content", sl_cli_json_text(text, len));
    if (json_array_append_new(json_object_get(k->request, "messages"), message))
        return sl_cli_failed("no memory for the conversation");
    return SL_EXIT_OK;
}

static sl_exit make_prompt(sl_talk *k, const char *text, size_t len)
{
    sl_err err = { 0 };
    k->prompt.n = 0;
    if (!k->chat) {
        if (sl_text_tokenize(k->tokens, text, len, SL_TEXT_ADD_SPECIAL | SL_TEXT_PARSE_SPECIAL, &k->prompt, &err))
            return sl_cli_failed("%s", err.msg);
        return k->prompt.n ? SL_EXIT_OK : sl_cli_failed("the prompt is empty");
    }
    const sl_exit code = add_message(k, "user", text, len);
    if (code)
        return code;
    char *request = json_dumps(k->request, JSON_COMPACT);
    if (!request)
        return sl_cli_failed("no memory for the conversation");
    const sl_status rc = sl_chat_tokenize(k->chat, request, strlen(request), &k->prompt, &err);
    free(request); /* jansson's */
    return rc ? sl_cli_failed("chat template: %s", err.msg) : SL_EXIT_OK;
}

/* The last message is as if it never was. */
static void take_back(sl_talk *k)
{
    json_t *messages = json_object_get(k->request, "messages");
    json_array_remove(messages, json_array_size(messages) - 1);
}

/* ---- answers ---------------------------------------------------------------------- */

/* Several cannot be streamed at once: they come one after another, each under a line with its number. */
static void write_all(const sl_talk *k)
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

/* The answers to k->prompt. */
static sl_exit answer(sl_talk *k, double asked)
{
    const sl_request request = make_request(k);
    const sl_exit code = sl_answers_run(k->answer, k->n_answers, &k->session, &request, asked);
    bool full = false;
    if (code)
        return code;
    if (!k->args->json && k->n_answers > 1)
        write_all(k);
    else if (!k->args->json)
        sl_cli_write("\n", 1);
    sl_cli_flush();
    for (size_t i = 0; i < k->n_answers; i++)
        full |= k->answer[i].context_full;
    if (full && !k->args->quiet) {
        sl_engine_info info;
        sl_engine_describe(k->session.engine, &info);
        fprintf(stderr, "the context of %zu positions is full: the answer ends here (--ctx-size makes it larger)\n",
                info.n_ctx);
    }
    if (!k->args->quiet)
        sl_answers_tell(k->answer, k->n_answers);
    return SL_EXIT_OK;
}

/* One answer is the object; several are its "choices". */
static json_t *answers_json(const sl_talk *k)
{
    if (k->n_answers == 1)
        return sl_answer_json(k->answer);
    json_t *choices = json_array();
    for (size_t i = 0; i < k->n_answers; i++) {
        json_t *choice = sl_answer_json(&k->answer[i]);
        if (json_array_append_new(choices, choice) ||
            json_object_set_new(choice, "index", json_integer((json_int_t)i))) {
            json_decref(choices);
            return NULL;
        }
    }
    return json_pack("{s:o, s:I}", "choices", choices, "generated_tokens",
                     (json_int_t)sl_answers_tokens(k->answer, k->n_answers));
}

static sl_exit print_json(const sl_talk *k)
{
    const sl_answer *a = k->answer;
    const size_t n = k->n_answers;
    json_t *all = answers_json(k);
    json_t *timings = json_pack("{s:f, s:f, s:f, s:f}", "load_s", k->session.load_s, "ttft_s", sl_answers_ttft(a, n),
                                "prompt_tok_s", sl_answers_prompt_rate(a, n), "gen_tok_s", sl_answers_rate(a, n));
    if (json_object_set_new(all, "prompt_tokens", json_integer((json_int_t)a->n_prompt)) ||
        json_object_set_new(all, "timings", timings)) {
        json_decref(all);
        all = NULL;
    }
    return sl_cli_print_json(all);
}

static sl_exit answer_once(sl_talk *k, const sl_str *text)
{
    const double asked = sl_cli_now();
    sl_exit code = make_prompt(k, text->data ? text->data : "", text->len);
    if (!code)
        code = answer(k, asked);
    if (!code && k->args->json)
        code = print_json(k);
    for (size_t i = 0; i < k->n_answers && !code; i++)
        if (k->answer[i].interrupted)
            code = SL_EXIT_INTERRUPTED;
    return code;
}

/* ---- a chat ----------------------------------------------------------------------- */

/* A line of the user and its answer. A line for which the context has no room is taken back, and
 * the chat goes on: a shorter one may fit. */
static sl_exit say(sl_talk *k, const char *line, size_t len)
{
    sl_engine_info info;
    const double asked = sl_cli_now();
    sl_exit code = make_prompt(k, line, len);
    if (code)
        return code;
    sl_engine_describe(k->session.engine, &info);
    if (k->prompt.n > info.n_ctx) {
        sl_cli_failed("with this message the chat has %zu tokens, the context holds %zu: the message is left out; "
                      "say it shorter, or start again with a larger -c",
                      k->prompt.n, info.n_ctx);
        take_back(k);
        return SL_EXIT_OK;
    }
    code = answer(k, asked);
    if (!code)
        code = add_message(k, "assistant", k->answer->text.data ? k->answer->text.data : "", k->answer->text.len);
    return code;
}

static sl_exit chat(sl_talk *k)
{
    char *line = NULL;
    size_t cap = 0;
    sl_exit code = SL_EXIT_OK;
    if (!k->args->quiet)
        fprintf(stderr, "Ctrl-C ends an answer, Ctrl-D the chat.\n");
    while (!code && sl_cli_flush()) {
        fputs("> ", stderr);
        errno = 0;
        const ssize_t n = getline(&line, &cap, stdin);
        if (n < 0) {
            fputc('\n', stderr);
            code = sl_cli_interrupted() ? SL_EXIT_INTERRUPTED : SL_EXIT_OK;
            break;
        }
        size_t len = (size_t)n;
        len -= len && line[len - 1] == '\n';
        if (!len)
            continue;
        code = say(k, line, len);
        sl_cli_interrupt_clear();
    }
    free(line); /* getline's */
    return code;
}

/* ---- the command ------------------------------------------------------------------ */

/* Where the prompt comes from. *chat: from nowhere, and there is a terminal to ask. */
static sl_exit find_prompt(const sl_args *args, sl_str *text, bool *chat_wanted)
{
    sl_err err = { 0 };
    const char *given = args->text ? args->text : args->prompt;
    *chat_wanted = false;
    if ((args->logprobs || args->top_logprobs >= 0) && !args->json)
        return sl_cli_usage("%s is shown with --json only", args->logprobs ? "--logprobs" : "--top-logprobs");
    if ((args->text != NULL) + (args->prompt != NULL) + (args->file != NULL) > 1)
        return sl_cli_usage("run takes one prompt: PROMPT, -p TEXT or -f FILE");
    if (given && strcmp(given, "-") != 0) {
        sl_str_puts(text, given);
        return text->failed ? sl_cli_failed("no memory for the prompt") : SL_EXIT_OK;
    }
    if (!given && !args->file && isatty(STDIN_FILENO)) {
        *chat_wanted = true;
        if (args->json || args->no_template || args->n_answers > 1)
            return sl_cli_usage("%s needs a prompt", args->json          ? "--json"
                                                     : args->no_template ? "--no-template"
                                                                         : "--n-answers");
        return SL_EXIT_OK;
    }
    if (sl_cli_read_file(args->file ? args->file : "-", text, &err))
        return sl_cli_failed("%s", err.msg);
    if (text->len && text->data[text->len - 1] == '\n') /* the one that editors add */
        text->data[--text->len] = '\0';
    return text->len ? SL_EXIT_OK
                     : sl_cli_usage("the prompt is empty (%s)", args->file ? args->file : "standard input");
}

static sl_exit prepare_answers(sl_talk *k)
{
    const size_t n = (size_t)k->args->n_answers;
    k->answer = sl_mem_zalloc(n, sizeof *k->answer);
    if (!k->answer)
        return sl_cli_failed("no memory for %zu answers", n);
    for (; k->n_answers < n; k->n_answers++) {
        const sl_exit code =
            sl_answer_init(&k->answer[k->n_answers], k->args, k->tokens, k->chat, k->args->json || n > 1);
        if (code)
            return code;
    }
    return SL_EXIT_OK;
}

static sl_exit prepare(sl_talk *k)
{
    const sl_args *args = k->args;
    sl_exit code = sl_session_open(&k->session, args);
    if (!code && !(k->tokens = sl_session_text(&k->session)))
        code = SL_EXIT_FAILED;
    if (!code)
        code = prepare_sampling(k);
    if (!code)
        code = load_chat(k);
    if (!code)
        code = prepare_answers(k);
    if (!code && k->chat && args->system)
        code = add_message(k, "system", args->system, strlen(args->system));
    if (!code)
        code = sl_session_start(&k->session, args, k->n_answers, k->n_answers);
    return code;
}

static sl_exit run(const sl_args *args)
{
    sl_talk k = { .args = args };
    sl_str text = { 0 };
    bool chat_wanted = false;
    sl_exit code = find_prompt(args, &text, &chat_wanted);
    if (!code)
        code = prepare(&k);
    sl_cli_interrupt_catch();
    if (!code && chat_wanted && !k.chat)
        code = sl_cli_usage("a chat needs a chat template; give a prompt to be continued");
    else if (!code)
        code = chat_wanted ? chat(&k) : answer_once(&k, &text);
    for (size_t i = 0; i < k.n_answers; i++)
        sl_answer_fini(&k.answer[i]);
    sl_mem_free(k.answer);
    sl_chat_destroy(k.chat);
    json_decref(k.request);
    sl_ids_fini(&k.prompt);
    sl_ids_fini(&k.bias_token);
    sl_mem_free(k.bias);
    sl_str_fini(&text);
    return sl_session_end(&k.session, args, code);
}

static const sl_opt own[] = {
    { "n-predict|predict", "n", "N",
      "tokens to generate at most (default -1: until the end, or until the context is full)", SL_OPT_INT,
      SL_ARG(n_predict), -1, SL_OPT_NO_MAX, NULL },
    { "prompt", "p", "TEXT", "another way to give PROMPT; stdin is not looked at beside one, - stands for it",
      SL_OPT_TEXT, SL_ARG(prompt), 0, 0, NULL },
    { "file", "f", "FILE", "read the prompt from FILE; - is stdin, which is also read when it is no terminal",
      SL_OPT_TEXT, SL_ARG(file), 0, 0, NULL },
    { "system|system-prompt", "sys", "TEXT", "the system message", SL_OPT_TEXT, SL_ARG(system), 0, 0, NULL },
    { "no-template", NULL, NULL, "continue the prompt as it is; control tokens in it are recognised", SL_OPT_FLAG,
      SL_ARG(no_template), 0, 0, NULL },
    { "stop", NULL, "TEXT", "end before TEXT would be shown; may be repeated", SL_OPT_LIST, SL_ARG(stop), 0, 0, NULL },
    { "n-answers", NULL, "N",
      "several answers to one prompt, 1 to 128 (default 1); each is what its seed gives alone: --seed, --seed + 1, ...",
      SL_OPT_INT, SL_ARG(n_answers), 1, 128, NULL },
    { "ignore-eos", NULL, NULL, "go on past the model's own end", SL_OPT_FLAG, SL_ARG(ignore_eos), 0, 0, NULL },
    { 0 },
};
static const sl_opt output[] = {
    { "json", NULL, NULL, "one JSON object on stdout", SL_OPT_FLAG, SL_ARG(json), 0, 0, NULL },
    { "logprobs", NULL, NULL,
      "log-probabilities of the tokens in --json, by the model alone: before bias, penalties and limits", SL_OPT_FLAG,
      SL_ARG(logprobs), 0, 0, NULL },
    { "top-logprobs", NULL, "N", "and those of the N likeliest at each place, 0 to 20", SL_OPT_INT,
      SL_ARG(top_logprobs), 0, SL_TOP_LOGPROBS_MAX, NULL },
    { 0 },
};
static const sl_opt_group groups[] = {
    { "Text", own },
    { "Tokenizer", sl_opts_text },
    { "Sampling", sl_opts_sampling },
    { "Context", sl_opts_context },
    { "Engine", sl_opts_engine },
    { "Output", output },
    { "Common", sl_opts_common },
    { 0 },
};

const sl_command sl_cmd_run = {
    .name = "run",
    .usage = "sluice run MODEL [PROMPT] [OPTIONS]",
    .summary = "one answer; without PROMPT on a terminal, a chat",
    .text = "The prompt becomes a user message of the model's chat template. The answer streams to stdout; its last\n"
            "line on stderr tells the time to the first token, and tokens a second of prompt and generation.\n"
            "Reasoning is dim on a terminal, else part of the text, tags included; tool calls are shown as text.\n"
            "\n"
            "  sluice run smollm2 \"Why is the sky blue?\"\n"
            "  sluice run smollm2 -f question.txt --system \"Answer in one sentence.\" --temp 0\n"
            "  sluice run model.gguf \"Once upon a time\" --no-template -n 200 --seed 7\n"
            "  sluice run smollm2 \"Name a river.\" --n-answers 3 --temp 1 --repeat-penalty 1.1\n"
            "  sluice run smollm2 \"Name three rivers.\" --json -q --top-logprobs 5\n",
    .groups = groups,
    .max_texts = 1,
    .run = run,
};
