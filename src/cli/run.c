/* run.c - `sluice run`: one answer; the chat is in chat.c. */
#include <string.h>
#include <unistd.h>
#include "cli/ask.h"
#include "cli/chat.h"
#include "cli/signals.h"

/* ---- one answer ---------------------------------------------------------------------- */

/* One answer is the object; several are its "choices". */
static json_t *answers_json(const sl_ask *k)
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

static sl_exit print_json(const sl_ask *k)
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

static sl_exit answer_once(sl_ask *k, const sl_str *text)
{
    sl_err err = { 0 };
    const double asked = sl_cli_now();
    const char *prompt = text->data ? text->data : "";
    sl_exit code = k->chat ? sl_ask_add(k, "user", prompt, text->len) : sl_ask_text(k, prompt, text->len);
    if (!code && k->chat && sl_ask_conversation(k, &err))
        code = sl_cli_failed("chat template: %s", err.msg);
    if (!code)
        code = sl_ask_run(k, asked);
    if (!code && k->args.json)
        code = print_json(k);
    for (size_t i = 0; i < k->n_answers && !code; i++)
        if (k->answer[i].interrupted)
            code = SL_EXIT_INTERRUPTED;
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

static sl_exit run(const sl_args *args)
{
    sl_ask k = { 0 };
    sl_str text = { 0 };
    bool chat_wanted = false;
    sl_exit code = find_prompt(args, &text, &chat_wanted);
    if (!code && chat_wanted) {
        code = sl_chat_on_terminal(args);
    } else if (!code) {
        code = sl_ask_open(&k, args, false);
        sl_cli_interrupt_catch();
        if (!code)
            code = answer_once(&k, &text);
        code = sl_ask_close(&k, code);
    }
    sl_str_fini(&text);
    return code;
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
    { "thinking", NULL, "HOW",
      "reasoning of the model: show it (default), fold it to a line with its length and time, or hide it", SL_OPT_WORD,
      SL_ARG(thinking), 0, 0, "show|fold|hide" },
    { "prefix-cache", NULL, "on|off",
      "keep what was read and said, so that the next message of a chat is all that it reads (default: on in a chat); "
      "the "
      "same bits either way",
      SL_OPT_WORD, SL_ARG(prefix_cache), 0, 0, "on|off" },
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
            "Without PROMPT on a terminal a chat begins; /help there tells what it knows.\n"
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
