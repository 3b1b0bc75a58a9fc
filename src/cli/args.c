/* args.c - defaults, and the option tables that several commands share. */
#include <math.h>
#include <string.h>
#include "base/num.h"
#include "cli/cli.h"

const sl_args sl_args_default = {
    .temp = SL_ARG_OPEN,
    .top_k = SL_ARG_OPEN,
    .top_p = SL_ARG_OPEN,
    .min_p = SL_ARG_OPEN,
    .typical = 1.0,
    .repeat_penalty = SL_ARG_OPEN,
    .repeat_last_n = 64,
    .seed = -1,
    .n_answers = 1,
    .top_logprobs = -1,
    .n_predict = -1,
    .bench_prompt = "512",
    .bench_predict = "128",
    .bench_depth = "0",
    .bench_seqs = "1",
    .repeats = 5,
    .profile_prompt = 512,
    .profile_predict = 64,
    .profile_seqs = 1,
    .profile_runs = 3,
    .fill = "tokens",
};

/* ---- what a value has to be beside its kind ------------------------------------------- */

static const char *check_page(const char *value)
{
    int64_t n = 0;
    return sl_read_int(value, &n) && n % 16 ? "a multiple of 16" : NULL;
}

static const char *check_fusion(const char *value)
{
    static const char *const known[] = { "all", "none", "norm", "attn", "ffn" };
    for (const char *at = value; at;) {
        const size_t n = strcspn(at, ",");
        bool found = false;
        for (size_t i = 0; i < SL_COUNT(known); i++)
            found |= strlen(known[i]) == n && memcmp(known[i], at, n) == 0;
        if (!found)
            return "all, none, or some of norm,attn,ffn";
        at = at[n] ? at + n + 1 : NULL;
    }
    return NULL;
}

static const char *check_memory(const char *value)
{
    size_t n = 0;
    return sl_read_size(value, (size_t)1 << 40, &n) && n ? NULL : "a size like 4G, 512M or 80%";
}

static const char *check_bias(const char *value)
{
    int32_t id = 0;
    float bias = 0.0f;
    return sl_cli_read_bias(value, &id, &bias) ? NULL : "a token id and a finite value, as in 15043-100 or 15043+1.5,";
}

bool sl_cli_read_bias(const char *text, int32_t *id, float *bias)
{
    int64_t n = -1;
    double value = 0.0;
    char digits[16];
    const size_t len = strspn(text, "0123456789");
    snprintf(digits, sizeof digits, "%.*s", (int)SL_MIN(len, sizeof digits), text);
    if (!len || len >= sizeof digits || !sl_read_int(digits, &n) || n > INT32_MAX ||
        (text[len] != '+' && text[len] != '-') || !sl_read_real(text + len, &value) || !isfinite((float)value))
        return false;
    *id = (int32_t)n;
    *bias = (float)value;
    return true;
}

/* ---- tables ----------------------------------------------------------------------------- */

const sl_opt sl_opts_context[] = {
    { "ctx-size|n-ctx", "c", "N",
      "positions of the context (default 0: the model's own, or as many as fit into memory)", SL_OPT_INT,
      SL_ARG(ctx_size), 0, 1 << 24, NULL },
    { 0 },
};

const sl_opt sl_opts_engine[] = {
    { "threads", "t", "N",
      "threads that compute, 1 to 1024 (default: the fast physical cores that the process may use, at most its CPU "
      "quota)",
      SL_OPT_INT, SL_ARG(threads), 1, 1024, NULL },
    { "ubatch-size", "ub", "N", "prompt tokens of one step (default 512; 1: token by token)", SL_OPT_INT,
      SL_ARG(ubatch_size), 1, 1 << 16, NULL },
    { "act", NULL, "TYPE",
      "what activations are multiplied as: auto, f32 or int8 (default auto: int8 where the weights are whole numbers "
      "of 8 bits or fewer). Floats (F32, F16, BF16, FP8), Q2_K, NVFP4 and columns in any order (ANY, of GPTQ with "
      "act-order) are always multiplied as f32, which int8 rounds to FP8 where an FP8 checkpoint asks for it",
      SL_OPT_WORD, SL_ARG(act), 0, 0, "auto|f32|int8" },
    { "kv-type", NULL, "TYPE", "how keys and values are kept: f16, f32, bf16 or int8 (default f16)", SL_OPT_WORD,
      SL_ARG(kv_type), 0, 0, "f16|f32|bf16|int8" },
    { "kv-layout", NULL, "KIND", "how keys lie in a page: grouped (default), or token, the plain way, to compare with",
      SL_OPT_WORD, SL_ARG(kv_layout), 0, 0, "grouped|token" },
    { "kv-page", NULL, "N", "positions of a page of keys and values, a multiple of 16 (default 64)", SL_OPT_INT,
      SL_ARG(kv_page), 16, 1 << 16, NULL, check_page },
    { "mode", NULL, "MODE", "graph (default) plans once and replays; eager plans every step", SL_OPT_WORD, SL_ARG(mode),
      0, 0, "graph|eager" },
    { "fusion", NULL, "LIST", "which operations are fused: all (default), none, or some of norm,attn,ffn", SL_OPT_TEXT,
      SL_ARG(fusion), 0, 0, "all|none|norm|attn|ffn", check_fusion },
    { "attn", NULL, "KIND", "flash (default), or plain, which keeps whole rows of scores", SL_OPT_WORD, SL_ARG(attn), 0,
      0, "flash|plain" },
    { "mla", NULL, "FORM",
      "latent attention of DeepSeek-V3 and its like: absorbed into queries and outputs (auto, the default), or "
      "expanded to keys and values, to compare with",
      SL_OPT_WORD, SL_ARG(mla), 0, 0, "auto|absorbed|expanded" },
    { "attn-window", NULL, "N", "let each position see only the last N (default 0: as many as the model says)",
      SL_OPT_INT, SL_ARG(attn_window), 0, SL_OPT_NO_MAX, NULL },
    { "memory", NULL, "SIZE",
      "take no more than 4G, 512M, or 80% of what the machine or its cgroup has (default: what is free)", SL_OPT_TEXT,
      SL_ARG(memory), 0, 0, NULL, check_memory },
    { "weights", NULL, "WHERE",
      "map (default): in the mapped file; copy: in memory of their own; copy-per-node: on each NUMA node", SL_OPT_WORD,
      SL_ARG(weights), 0, 0, "map|copy|copy-per-node" },
    { "no-mmap", NULL, NULL, "the same as --weights copy", SL_OPT_FLAG, SL_ARG(no_mmap), 0, 0, NULL },
    { "repack", NULL, NULL,
      "a copy of the weights with 8 rows interleaved, as kernels read them: single streams are faster, to the same "
      "bits; Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL and IQ4_XS",
      SL_OPT_FLAG, SL_ARG(repack), 0, 0, NULL },
    { "prefetch", NULL, "WHEN",
      "ask for weights before they are used: on: pages of the mapped file, experts once they are picked; auto "
      "(default): "
      "those where the weights are more than the memory; off: not even into the cache",
      SL_OPT_WORD, SL_ARG(prefetch), 0, 0, "auto|on|off" },
    { "mlock", NULL, NULL, "bring all weights into memory first, and let nothing out of it again", SL_OPT_FLAG,
      SL_ARG(mlock), 0, 0, NULL },
    { "huge-pages", NULL, "KIND",
      "thp (transparent): KV cache, workspace and weights, which are read from disk again if the page cache has them "
      "in small pages; explicit: of vm.nr_hugepages, but for mapped weights; off (default): those that come for free",
      SL_OPT_WORD, SL_ARG(huge_pages), 0, 0, "off|thp|explicit" },
    { "numa", NULL, "HOW", "spread the same over NUMA nodes: off (default) or interleave", SL_OPT_WORD, SL_ARG(numa), 0,
      0, "off|interleave" },
    { "pin", NULL, "HOW",
      "keep threads to CPUs: cores (each to its own), off, or auto (default: to the fast ones, where cores differ)",
      SL_OPT_WORD, SL_ARG(pin), 0, 0, "auto|off|cores" },
    { "deploy", NULL, "FILE",
      "take layout and options from a deploy file (YAML, see sluice-deploy(5)); options that are given here win",
      SL_OPT_TEXT, SL_ARG(deploy_file), 0, 0, NULL },
    { "check-tensors", NULL, NULL, "read all weights first and refuse values that are no finite numbers", SL_OPT_FLAG,
      SL_ARG(check_tensors), 0, 0, NULL },
    { "trace", NULL, "FILE", "write a trace for chrome://tracing or ui.perfetto.dev, and a table of where time went",
      SL_OPT_TEXT, SL_ARG(trace), 0, 0, NULL },
    { 0 },
};

const sl_opt sl_opts_sampling[] = {
    { "temp|temperature", NULL, "T",
      "0 to 100; 0 takes the most likely token (default: what generation_config.json of a folder says, for this and "
      "the "
      "options below; else 0.8)",
      SL_OPT_REAL, SL_ARG(temp), 0, 100, NULL },
    { "top-k", NULL, "K", "choose among the K most likely (default 40; 0: all)", SL_OPT_INT, SL_ARG(top_k), 0,
      SL_OPT_NO_MAX, NULL },
    { "top-p", NULL, "P",
      "choose among the fewest that hold P of the probability, 0 to 1 (default 0.95; 1: all; 0: the "
      "most likely token)",
      SL_OPT_REAL, SL_ARG(top_p), 0, 1, NULL },
    { "min-p", NULL, "P", "leave out what is less likely than P times the best, 0 to 1 (default 0.05; 0: none)",
      SL_OPT_REAL, SL_ARG(min_p), 0, 1, NULL },
    { "typical|typical-p", NULL, "P",
      "choose among those whose surprise is nearest to the expected one, which hold P of the probability, up to 1 "
      "(default 1: all)",
      SL_OPT_ABOVE, SL_ARG(typical), 0, 1, NULL },
    { "repeat-penalty|repetition-penalty", NULL, "X",
      "divide scores of tokens that the prompt or the answer has, negative ones are multiplied; above 0 (default 1: "
      "off)",
      SL_OPT_ABOVE, SL_ARG(repeat_penalty), 0, SL_OPT_NO_MAX, NULL },
    { "presence-penalty", NULL, "X", "take X from scores of tokens that the answer has, -2 to 2 (default 0)",
      SL_OPT_REAL, SL_ARG(presence_penalty), -2, 2, NULL },
    { "frequency-penalty", NULL, "X", "the same for each time that the answer has them, -2 to 2 (default 0)",
      SL_OPT_REAL, SL_ARG(frequency_penalty), -2, 2, NULL },
    { "repeat-last-n", NULL, "N",
      "the three penalties look at the last N tokens of prompt and answer (default 64; -1: all; 0: no penalty)",
      SL_OPT_INT, SL_ARG(repeat_last_n), -1, SL_OPT_NO_MAX, NULL },
    { "seed", "s", "N", "the same seed gives the same text (default -1: random)", SL_OPT_INT, SL_ARG(seed), -1,
      SL_OPT_NO_MAX, NULL },
    { "logit-bias", NULL, "ID+V|ID-V", "add V to the score of a token, as in 15043-100; may be repeated", SL_OPT_LIST,
      SL_ARG(bias), 0, 0, NULL, check_bias },
    { 0 },
};

const sl_opt sl_opts_text[] = {
    { "override-pretokenizer", NULL, "NAME", "cut texts as NAME does (qwen2, llama-bpe, ...), whatever the file says",
      SL_OPT_TEXT, SL_ARG(override_pretokenizer), 0, 0, NULL },
    { 0 },
};

const sl_opt sl_opts_common[] = {
    { "model", "m", "MODEL", "another way to give MODEL", SL_OPT_TEXT, SL_ARG(model_option), 0, 0, NULL },
    { "override-kv", NULL, "KEY=TYPE:V",
      "take V for a setting of the .gguf file; TYPE is int, float, bool or str; may be repeated", SL_OPT_LIST,
      SL_ARG(override_kv), 0, 0, NULL },
    { "quiet", "q", NULL, "nothing on stderr but errors", SL_OPT_FLAG, SL_ARG(quiet), 0, 0, NULL },
    { "help", "h", NULL, "this text", SL_OPT_FLAG, SL_ARG(help), 0, 0, NULL },
    { 0 },
};

const sl_opt sl_opts_json[] = {
    { "json", NULL, NULL, "one JSON object on stdout", SL_OPT_FLAG, SL_ARG(json), 0, 0, NULL },
    { 0 },
};
