/* cli.h - what the subcommands of `sluice` share: their values, exit codes, and how they talk.
 *
 * Results go to stdout, all else to stderr. A command returns an exit code; SL_EXIT_FAILED and
 * SL_EXIT_USAGE only after it said why through sl_cli_fail.
 */
#ifndef SL_CLI_CLI_H
#define SL_CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "base/status.h"
#include "base/str.h"
#include "cli/options.h"
#include "sluice/buffer.h"

typedef enum sl_exit { SL_EXIT_OK = 0, SL_EXIT_FAILED = 1, SL_EXIT_USAGE = 2, SL_EXIT_INTERRUPTED = 130 } sl_exit;

/* Of sampling options: not given, the model decides (sl_session_sampling). */
#define SL_ARG_OPEN (-1)

/* The values of all options of all commands, defaults in args.c. */
typedef struct sl_args {
    const char *model, *model_option; /* the first argument, or -m FILE */
    const char *text;                 /* the argument after it */
    bool help, quiet, json;
    const char *override_pretokenizer;
    sl_words override_kv;
    bool check_tensors;
    /* engine */
    int64_t threads, ctx_size, ubatch_size, kv_page, attn_window;
    const char *act, *kv_type, *kv_layout, *mode, *fusion, *attn, *mla, *prefetch, *trace, *memory;
    const char *weights, *huge_pages, *numa, *pin;
    bool no_mmap, repack, mlock;
    const char *deploy_file;
    struct sl_deploy *deploy; /* what it holds; NULL: none was given */
    /* sampling */
    double temp, top_p, min_p, typical, repeat_penalty, presence_penalty, frequency_penalty;
    int64_t top_k, repeat_last_n, seed; /* repeat_last_n -1: all; seed -1: random */
    sl_words bias;
    /* run */
    int64_t n_predict; /* -1: until the end */
    const char *prompt, *file, *system;
    sl_words stop;
    bool no_template, ignore_eos, logprobs;
    int64_t n_answers, top_logprobs; /* top_logprobs -1: not given */
    const char *prefix_cache;        /* "on", "off"; NULL: on in a chat */
    /* perplexity */
    const char *base, *save_logits;
    /* logits */
    sl_words tokens;
    const char *output;
    /* tokenize, render */
    bool detokenize, jsonl, ids, no_special, no_parse_special, stream;
    const char *request, *template, *context;
    /* parse */
    const char *reasoning_format, *tool_parser, *prompt_tokens, *thinking; /* thinking: also of run, with other words */
    /* info */
    bool plan, tensors;
    /* bench */
    const char *bench_prompt, *bench_predict, *bench_depth, *bench_seqs;
    int64_t repeats;
    bool no_warmup, serve_lines;
    /* profile */
    int64_t profile_prompt, profile_predict, profile_depth, profile_seqs, profile_runs;
    const char *fill;
    bool try_change;
} sl_args;

typedef struct sl_command {
    const char *name, *usage, *summary;
    const char *text; /* help between usage and options: what it does, examples */
    const sl_opt_group *groups;
    bool model_optional;
    int max_texts; /* arguments after MODEL */
    sl_exit (*run)(const sl_args *args);
} sl_command;

extern const sl_command sl_cmd_run, sl_cmd_bench, sl_cmd_profile, sl_cmd_perplexity, sl_cmd_logits, sl_cmd_tokenize,
    sl_cmd_render, sl_cmd_parse, sl_cmd_info;
extern const sl_command *const sl_cli_commands[]; /* all of them, then NULL */

/* Option tables that several commands take. */
extern const sl_opt sl_opts_context[], sl_opts_engine[], sl_opts_sampling[], sl_opts_text[], sl_opts_common[],
    sl_opts_json[];
#define SL_ARG(field) offsetof(sl_args, field)

extern const sl_args sl_args_default;

/* "ID+V" or "ID-V", as --logit-bias takes it: an id that a vocabulary may have, a finite value. */
bool sl_cli_read_bias(const char *text, int32_t *id, float *bias);

/* "sluice: where: text" on stderr; returns SL_EXIT_USAGE for SL_EINVAL, else SL_EXIT_FAILED. */
sl_exit sl_cli_fail(const sl_err *err);
sl_exit sl_cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
sl_exit sl_cli_failed(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- talking (talk.c) ---------------------------------------------------------- */

/* First of all: no file that is opened later gets the number of a standard stream that the caller
 * closed. False, with a message if there is where to put it, when that cannot be had. */
bool sl_cli_keep_standard_fds(void);

/* Write to stdout now. False, once and for all, when stdout cannot take it (reader gone, disk
 * full); sl_cli_stdout_end then says so. */
bool sl_cli_write(const char *bytes, size_t n);
void sl_cli_write_ids(const sl_ids *ids); /* "[1, 2]" and a newline */
bool sl_cli_flush(void);
/* Flush; SL_EXIT_FAILED with a message when anything could not be written, else `code`, where a failure after Ctrl-C
 * is SL_EXIT_INTERRUPTED. */
sl_exit sl_cli_stdout_end(sl_exit code);

/* One JSON value and a newline. Takes the reference; NULL (no memory) fails. */
sl_exit sl_cli_print_json(json_t *value);
/* What is no UTF-8 becomes U+FFFD; `text` may be NULL when len is 0. */
json_t *sl_cli_json_text(const char *text, size_t len);

bool sl_cli_progress_wanted(bool quiet); /* stderr is a terminal that knows how */
/* A line that overwrites itself, cut where the screen ends. */
void sl_cli_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void sl_cli_progress_end(void);

const char *sl_cli_s(size_t n); /* of a plural: "" for 1 */
double sl_cli_now(void);        /* monotonic seconds */

/* The whole of a file, or of stdin for "-"; 1 GiB at most. SL_EIO, SL_ENOTFOUND, SL_ENOMEM, SL_EUNSUPPORTED. */
sl_status sl_cli_read_file(const char *path, sl_str *out, sl_err *err);

/* Whether an argument is ids, not the name of a file of them. */
bool sl_cli_is_ids(const char *given);
/* Ids by comma or white space, a pair of brackets allowed around them; appended. SL_EINVAL: "line L, column C: ...". */
sl_status sl_cli_read_ids(const char *text, size_t len, sl_ids *out, sl_err *err);

#endif
