/* tiktoken.c - tokens in base64 and their ranks, a line each. The file says neither how a text is cut nor which
 * special tokens there are: that is part of the code around it, and here a table of the families.
 *
 * Sources: meta-llama/llama-models, models/llama3/tokenizer.py and llama4/tokenizer.py; QwenLM's
 * tokenization_qwen.py; Moonshot's tokenization_kimi.py; openai/tiktoken, tiktoken_ext/openai_public.py. */
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "formats/fill_in.h"
#include "formats/vocab_files.h"

/* ---- families --------------------------------------------------------------------------------- */

/* Special tokens of consecutive ids: names with a number in the place of '#', or one without. */
typedef struct special_run {
    const char *name; /* NULL: ids without a name */
    unsigned first, n;
} special_run;

typedef struct family {
    const char *name;
    size_t n_base; /* ranks, by which a file is told; 0: any */
    const char *pattern;
    bool nfc, chopped; /* by the wrapper: at 400,000 characters, and in runs of 25,000 */
    const char *bos, *eos, *pad;
    const char *ends[3]; /* further ones */
    special_run specials[48];
} family;

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER        "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER        "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define O200K                                                                                                          \
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]*[" LOWER "]+" CONTRACTIONS "?|[^\\r\\n\\p{L}\\p{N}]?[" UPPER "]+[" LOWER        \
    "]*" CONTRACTIONS "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define KIMI                                                                                                           \
    "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?[" UPPER "&&[^\\p{Han}]]*[" LOWER "&&[^\\p{Han}]]+" CONTRACTIONS                \
    "?|[^\\r\\n\\p{L}\\p{N}]?[" UPPER "&&[^\\p{Han}]]+[" LOWER "&&[^\\p{Han}]]*" CONTRACTIONS                          \
    "?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const family llama3 = {
    .name = "Llama 3",
    .n_base = 128000,
    .pattern = CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                            "\\s+(?!\\S)|\\s+",
    .chopped = true,
    .bos = "<|begin_of_text|>",
    .eos = "<|end_of_text|>",
    .pad = "<|finetune_right_pad_id|>",
    .ends = { "<|eom_id|>", "<|eot_id|>" },
    .specials = { { "<|begin_of_text|>", 0, 1 },
                  { "<|end_of_text|>", 0, 1 },
                  { "<|reserved_special_token_#|>", 0, 2 },
                  { "<|finetune_right_pad_id|>", 0, 1 },
                  { "<|step_id|>", 0, 1 },
                  { "<|start_header_id|>", 0, 1 },
                  { "<|end_header_id|>", 0, 1 },
                  { "<|eom_id|>", 0, 1 },
                  { "<|eot_id|>", 0, 1 },
                  { "<|python_tag|>", 0, 1 },
                  { "<|image|>", 0, 1 },
                  { "<|reserved_special_token_#|>", 2, 244 } },
};

static const family llama4 = {
    .name = "Llama 4",
    .n_base = 200000,
    .pattern = O200K,
    .chopped = true,
    .bos = "<|begin_of_text|>",
    .eos = "<|end_of_text|>",
    .pad = "<|finetune_right_pad|>",
    .ends = { "<|eom|>", "<|eot|>" },
    .specials = { { "<|begin_of_text|>", 0, 1 },
                  { "<|end_of_text|>", 0, 1 },
                  { "<|fim_prefix|>", 0, 1 },
                  { "<|fim_middle|>", 0, 1 },
                  { "<|fim_suffix|>", 0, 1 },
                  { "<|header_start|>", 0, 1 },
                  { "<|header_end|>", 0, 1 },
                  { "<|eom|>", 0, 1 },
                  { "<|eot|>", 0, 1 },
                  { "<|step|>", 0, 1 },
                  { "<|text_post_train_reserved_special_token_#|>", 0, 6 },
                  { "<|python_start|>", 0, 1 },
                  { "<|python_end|>", 0, 1 },
                  { "<|finetune_right_pad|>", 0, 1 },
                  { "<|text_post_train_reserved_special_token_#|>", 8, 61 },
                  { "<|image_start|>", 0, 1 },
                  { "<|image_end|>", 0, 1 },
                  { "<|vision_reserved_special_token_#|>", 0, 2 },
                  { "<|tile_x_separator|>", 0, 1 },
                  { "<|tile_y_separator|>", 0, 1 },
                  { "<|vision_reserved_special_token_#|>", 2, 4 },
                  { "<|image|>", 0, 1 },
                  { "<|vision_reserved_special_token_#|>", 6, 1 },
                  { "<|patch|>", 0, 1 },
                  { "<|vision_reserved_special_token_#|>", 7, 1041 },
                  { "<|reasoning_reserved_special_token_#|>", 0, 8 },
                  { "<|reasoning_thinking_start|>", 0, 1 },
                  { "<|reasoning_thinking_end|>", 0, 1 },
                  { "<|reserved_special_token_#|>", 0, 2048 - 1144 } },
};

static const family qwen = {
    .name = "Qwen",
    .n_base = 151643,
    .pattern = CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
                            "\\s+(?!\\S)|\\s+",
    .nfc = true,
    .eos = "<|endoftext|>",
    .pad = "<|endoftext|>",
    .ends = { "<|im_end|>" },
    .specials = { { "<|endoftext|>", 0, 1 },
                  { "<|im_start|>", 0, 1 },
                  { "<|im_end|>", 0, 1 },
                  { "<|extra_#|>", 0, 205 } },
};

static const family cl100k = {
    .name = "cl100k_base",
    .n_base = 100256,
    .pattern = "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|"
               "\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s",
    .eos = "<|endoftext|>",
    .specials = { { NULL, 0, 1 },
                  { "<|endoftext|>", 0, 1 },
                  { "<|fim_prefix|>", 0, 1 },
                  { "<|fim_middle|>", 0, 1 },
                  { "<|fim_suffix|>", 0, 1 },
                  { NULL, 0, 15 },
                  { "<|endofprompt|>", 0, 1 } },
};

static const family o200k = {
    .name = "o200k_base",
    .n_base = 199998,
    .pattern = O200K,
    .eos = "<|endoftext|>",
    .specials = { { NULL, 0, 1 }, { "<|endoftext|>", 0, 1 }, { NULL, 0, 18 }, { "<|endofprompt|>", 0, 1 } },
};

/* Its special tokens are those of the configuration, the rest reserved. */
static const family kimi = {
    .name = "Kimi",
    .pattern = KIMI,
    .chopped = true,
    .specials = { { "<|reserved_token_#|>", 0, 256 } },
};
#define KIMI_MORE 2 /* ids behind the 256 that the code knows too, and no model has rows for */

static bool names_class(const sl_json *config, const char *class, const char *module)
{
    const sl_json *map = sl_json_get(sl_json_get(config, "auto_map"), "AutoTokenizer");
    if (map && map->kind == SL_JSON_ARRAY)
        map = map->first;
    if (!sl_json_is(sl_json_get(config, "tokenizer_class"), class))
        return false;
    return !module || (map && map->kind == SL_JSON_STRING && memmem(map->text, map->text_len, module, strlen(module)));
}

static const family *find_family(const char *file_name, const sl_json *config, size_t n_base)
{
    if (names_class(config, "TikTokenTokenizer", "tokenization_kimi.") ||
        names_class(config, "TikTokenTokenizer", "tokenization_moonshot."))
        return &kimi;
    if (names_class(config, "QWenTokenizer", NULL))
        return &qwen;
    if (strcmp(file_name, "tokenizer.model") == 0)
        return n_base == llama3.n_base ? &llama3 : n_base == llama4.n_base ? &llama4 : NULL;
    if (strcmp(file_name, "cl100k_base.tiktoken") == 0)
        return &cl100k;
    return strcmp(file_name, "o200k_base.tiktoken") == 0 ? &o200k : NULL;
}

/* ---- lines ------------------------------------------------------------------------------------ */

typedef struct lines {
    const char *at, *end;
    size_t number;
} lines;

/* The next line that is not empty. */
static bool next_line(lines *l, sl_bytes *line)
{
    while (l->at < l->end) {
        const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
        *line = (sl_bytes){ l->at, (size_t)((stop ? stop : l->end) - l->at) };
        l->at = stop ? stop + 1 : l->end;
        l->number++;
        if (line->len > 0 && line->data[line->len - 1] == '\r')
            line->len--;
        if (line->len > 0)
            return true;
    }
    return false;
}

static sl_status read_line(sl_fill *f, const lines *l, sl_bytes line, size_t n_base)
{
    sl_vocab *v = f->v;
    const char *seam = memchr(line.data, ' ', line.len);
    const sl_bytes text = { line.data, seam ? (size_t)(seam - line.data) : 0 };
    size_t rank = 0;
    bool ok = seam && text.len > 0 && seam + 1 < line.data + line.len;
    for (const char *p = ok ? seam + 1 : NULL; ok && p < line.data + line.len; p++) {
        ok = *p >= '0' && *p <= '9' && rank < n_base;
        rank = rank * 10 + (size_t)(*p - '0');
    }
    if (!ok || rank >= n_base)
        return sl_fail(f->err, SL_EFORMAT, "line %zu: no token in base64 and its rank below %zu", l->number, n_base);
    if (v->kinds[rank] != SL_TOKEN_UNUSED)
        return sl_fail(f->err, SL_EFORMAT, "line %zu: rank %zu comes twice", l->number, rank);
    char *raw = NULL;
    const sl_status rc = sl_fill_room(f, text.len, &raw);
    if (rc)
        return rc;
    if (!sl_fill_base64(text, raw, &v->tokens[rank].len) || v->tokens[rank].len == 0)
        return sl_fail(f->err, SL_EFORMAT, "line %zu: \"%.*s\" is no base64", l->number,
                       (int)SL_MIN(text.len, (size_t)60), text.data);
    v->tokens[rank].data = raw;
    v->kinds[rank] = SL_TOKEN_NORMAL;
    return SL_OK;
}

/* ---- special tokens ----------------------------------------------------------------------------- */

static sl_status name_special(sl_fill *f, const special_run *run, unsigned number, size_t id)
{
    char text[100];
    const char *gap = strchr(run->name, '#');
    const int n = gap ? snprintf(text, sizeof text, "%.*s%u%s", (int)(gap - run->name), run->name, number, gap + 1)
                      : snprintf(text, sizeof text, "%s", run->name);
    f->v->kinds[id] = SL_TOKEN_CONTROL;
    return sl_fill_keep(f, (sl_bytes){ text, (size_t)n }, &f->v->tokens[id]);
}

static size_t count_specials(const family *y)
{
    size_t n = 0;
    for (size_t i = 0; i < SL_COUNT(y->specials); i++)
        n += y->specials[i].n;
    return n;
}

static sl_status add_specials(sl_fill *f, const family *y, size_t n_base)
{
    sl_status rc = SL_OK;
    size_t id = n_base;
    for (size_t i = 0; i < SL_COUNT(y->specials); i++)
        for (unsigned k = 0; k < y->specials[i].n && !rc; k++, id++)
            if (y->specials[i].name)
                rc = name_special(f, &y->specials[i], y == &kimi ? (unsigned)id : y->specials[i].first + k, id);
    return rc;
}

/* Kimi's names: "added_tokens_decoder": {"163584": {"content": "[BOS]", ...}}. */
static sl_status name_added(sl_fill *f, const sl_json *config, size_t n_base)
{
    const sl_json *table = NULL;
    sl_status rc = sl_json_get_object(config, "added_tokens_decoder", true, &table, f->err);
    for (const sl_json *m = rc ? NULL : table->first; m && !rc; m = m->next) {
        const sl_json number = { .kind = SL_JSON_NUMBER, .text = m->key, .text_len = m->key_len };
        int64_t id = -1;
        sl_bytes text = { 0 };
        if (m->key_len == 0 || !sl_json_int(&number, &id) || id < (int64_t)n_base ||
            id >= (int64_t)f->v->n_tokens + KIMI_MORE)
            return sl_json_fail(f->err, SL_EFORMAT, m, "no id of a special token, which are %zu to %zu", n_base,
                                f->v->n_tokens - 1);
        rc = sl_json_get_str(m, "content", true, &text, f->err);
        if (!rc && text.len == 0)
            rc = sl_json_fail(f->err, SL_EFORMAT, m, "\"content\" is empty");
        if (!rc && id < (int64_t)f->v->n_tokens)
            rc = sl_fill_keep(f, text, &f->v->tokens[id]);
    }
    return rc;
}

static int32_t special_id(const sl_vocab *v, size_t n_base, const char *name)
{
    for (size_t i = n_base; name && i < v->n_tokens; i++)
        if (v->tokens[i].len == strlen(name) && memcmp(v->tokens[i].data, name, v->tokens[i].len) == 0)
            return (int32_t)i;
    return -1;
}

static sl_status list_specials(sl_fill *f, const family *y, size_t n_base)
{
    sl_vocab *v = f->v;
    int32_t ends[SL_COUNT(y->ends)];
    v->bos = special_id(v, n_base, y->bos);
    v->eos = special_id(v, n_base, y->eos);
    v->pad = special_id(v, n_base, y->pad);
    for (size_t i = 0; i < SL_COUNT(y->ends); i++)
        if (y->ends[i])
            ends[v->n_ends++] = special_id(v, n_base, y->ends[i]);
    return sl_fill_ids(f, ends, v->n_ends, &v->ends);
}

/* ---- all of it ---------------------------------------------------------------------------------- */

static sl_status add_steps(sl_fill *f, const family *y)
{
    sl_vocab *v = f->v;
    v->text = SL_TEXT_BYTES;
    v->model = SL_MODEL_RANKS;
    v->max_chars = y->chopped ? 400000 : 0;
    v->max_run = y->chopped ? 25000 : 0;
    sl_pretok_step *split = sl_vocab_add_split(v, y->pattern);
    if (!split || (y->nfc && !sl_vocab_add_norm(v, SL_NORM_NFC)))
        return sl_fill_no_memory(f);
    split->rust = true;
    return SL_OK;
}

static sl_status read_ranks(sl_fill *f, const char *bytes, size_t n, size_t n_base)
{
    lines l = { bytes, bytes + n, 0 };
    sl_bytes line = { 0 };
    sl_status rc = SL_OK;
    while (!rc && next_line(&l, &line))
        rc = read_line(f, &l, line, n_base);
    return rc ? rc : sl_fill_check_ranks(f, 0, n_base);
}

static sl_status read_all(sl_fill *f, const char *bytes, size_t n, const char *file_name, const sl_json *config)
{
    lines l = { bytes, bytes + n, 0 };
    sl_bytes line = { 0 };
    size_t n_base = 0;
    while (next_line(&l, &line))
        n_base++;
    const family *y = find_family(file_name, config, n_base);
    if (!y)
        return sl_fail(f->err, SL_EUNSUPPORTED,
                       "%zu ranks of a family that is not known: wanted is a tokenizer_config.json of Kimi "
                       "(tokenization_kimi or tokenization_moonshot) or Qwen (QWenTokenizer) beside the file, Llama's "
                       "tokenizer.model of 128000 or 200000 ranks, or the name cl100k_base.tiktoken or "
                       "o200k_base.tiktoken",
                       n_base);
    if (y->n_base ? n_base != y->n_base : n_base < 256)
        return sl_fail(f->err, SL_EFORMAT, "%zu ranks, but %s has %zu", n_base, y->name, y->n_base ? y->n_base : 256);
    sl_status rc = sl_fill_tokens(f, n_base + count_specials(y), false);
    if (!rc)
        rc = read_ranks(f, bytes, n, n_base);
    if (!rc)
        rc = add_specials(f, y, n_base);
    if (!rc && y == &kimi)
        rc = name_added(f, config, n_base);
    if (!rc)
        rc = sl_fill_add_controls(f);
    if (!rc)
        rc = list_specials(f, y, n_base);
    return rc ? rc : add_steps(f, y);
}

sl_status sl_vocab_read_tiktoken(sl_vocab *out, const void *bytes, size_t n, const char *file_name,
                                 const sl_json *config, sl_err *err)
{
    sl_fill f = { .v = out, .err = err };
    sl_vocab_init(out);
    const sl_status rc = read_all(&f, bytes, n, file_name, config);
    if (rc)
        sl_vocab_fini(out);
    return rc;
}
