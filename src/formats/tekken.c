/* tekken.c - Mistral's tekken.json: ranks as in tiktoken's files, with their pattern, behind a number of
 * special tokens. Source: mistralai/mistral-common, tokens/tokenizers/tekken.py. */
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "formats/fill_in.h"
#include "formats/json.h"
#include "formats/vocab_files.h"

#define SPECIALS_MAX 100000
#define TOKENS_MAX   ((int64_t)1 << 24)

/* Of files from before version 8, which do not list them. */
static const char *const old_specials[] = { "<unk>",
                                            "<s>",
                                            "</s>",
                                            "[INST]",
                                            "[/INST]",
                                            "[AVAILABLE_TOOLS]",
                                            "[/AVAILABLE_TOOLS]",
                                            "[TOOL_RESULTS]",
                                            "[/TOOL_RESULTS]",
                                            "[TOOL_CALLS]",
                                            "[IMG]",
                                            "<pad>",
                                            "[IMG_BREAK]",
                                            "[IMG_END]",
                                            "[PREFIX]",
                                            "[MIDDLE]",
                                            "[SUFFIX]",
                                            "[SYSTEM_PROMPT]",
                                            "[/SYSTEM_PROMPT]",
                                            "[TOOL_CONTENT]" };
#define LAST_OLD_VERSION 7

typedef struct tekken {
    sl_fill f;
    const sl_json *root, *config, *vocab, *specials;
    int64_t n_tokens, n_specials;
} tekken;

static sl_status read_config(tekken *t)
{
    sl_err *err = t->f.err;
    sl_status rc = sl_json_get_object(t->root, "config", true, &t->config, err);
    if (!rc)
        rc = sl_json_get_list(t->root, "vocab", true, &t->vocab, err);
    if (!rc)
        rc = sl_json_get_list(t->root, "special_tokens", false, &t->specials, err);
    if (!rc)
        rc = sl_json_get_int(t->config, "default_vocab_size", true, &t->n_tokens, err);
    if (!rc)
        rc = sl_json_get_int(t->config, "default_num_special_tokens", true, &t->n_specials, err);
    if (!rc && (t->n_specials < 0 || t->n_specials > SPECIALS_MAX || t->n_tokens > TOKENS_MAX ||
                t->n_tokens <= t->n_specials || t->n_tokens - t->n_specials > (int64_t)t->vocab->n))
        rc = sl_json_fail(err, SL_EFORMAT, t->config, "%lld tokens, %lld of them special, but %u in \"vocab\"",
                          (long long)t->n_tokens, (long long)t->n_specials, t->vocab->n);
    return rc;
}

/* "v3", "v7m1" */
static int64_t version_of(const tekken *t)
{
    const sl_json *m = sl_json_get(t->config, "version");
    int64_t version = -1;
    for (size_t i = 1; m && m->kind == SL_JSON_STRING && m->text[0] == 'v' && i < m->text_len && i < 4; i++) {
        if (m->text[i] < '0' || m->text[i] > '9')
            break;
        version = SL_MAX(version, 0) * 10 + (m->text[i] - '0');
    }
    return version;
}

static sl_status read_token(tekken *t, const sl_json *m, int64_t rank)
{
    sl_vocab *v = t->f.v;
    sl_bytes text = { 0 };
    int64_t said = -1;
    const size_t id = (size_t)(rank + t->n_specials);
    sl_status rc = sl_json_get_int(m, "rank", true, &said, t->f.err);
    if (!rc && said != rank)
        rc = sl_json_fail(t->f.err, SL_EFORMAT, m, "rank %lld in the place of %lld", (long long)said, (long long)rank);
    if (!rc)
        rc = sl_json_get_str(m, "token_bytes", true, &text, t->f.err);
    char *raw = NULL;
    if (!rc)
        rc = sl_fill_room(&t->f, text.len, &raw);
    if (rc)
        return rc;
    if (!sl_fill_base64(text, raw, &v->tokens[id].len) || v->tokens[id].len == 0)
        return sl_json_fail(t->f.err, SL_EFORMAT, m, "\"token_bytes\" is no base64");
    v->tokens[id].data = raw;
    v->kinds[id] = SL_TOKEN_NORMAL;
    return SL_OK;
}

static sl_status name_special(tekken *t, size_t id, sl_bytes text, bool control)
{
    t->f.v->kinds[id] = control ? SL_TOKEN_CONTROL : SL_TOKEN_USER;
    return sl_fill_keep(&t->f, text, &t->f.v->tokens[id]);
}

static sl_status read_special(tekken *t, const sl_json *m)
{
    sl_err *err = t->f.err;
    int64_t rank = -1;
    bool control = true;
    sl_bytes text = { 0 };
    sl_status rc = sl_json_get_int(m, "rank", true, &rank, err);
    if (!rc)
        rc = sl_json_get_str(m, "token_str", true, &text, err);
    if (!rc)
        rc = sl_json_get_bool(m, "is_control", true, &control, err);
    if (!rc && (rank < 0 || rank >= t->n_specials || t->f.v->kinds[rank] != SL_TOKEN_UNUSED || text.len == 0))
        rc = sl_json_fail(err, SL_EFORMAT, m, "rank %lld: no special token, or there is one already", (long long)rank);
    return rc ? rc : name_special(t, (size_t)rank, text, control);
}

/* Those that the file lists, or the old ones; the rest have numbers for names. */
static sl_status read_specials(tekken *t)
{
    sl_status rc = SL_OK;
    if (!t->specials && (version_of(t) < 0 || version_of(t) > LAST_OLD_VERSION))
        return sl_json_fail(t->f.err, SL_EFORMAT, t->root, "\"special_tokens\" is missing");
    for (const sl_json *m = t->specials ? t->specials->first : NULL; m && !rc; m = m->next)
        rc = read_special(t, m);
    for (size_t i = 0; !t->specials && i < SL_COUNT(old_specials) && i < (size_t)t->n_specials && !rc; i++)
        rc = name_special(t, i, (sl_bytes){ old_specials[i], strlen(old_specials[i]) }, true);
    for (size_t i = 0; i < (size_t)t->n_specials && !rc; i++) {
        char text[32];
        const int n = snprintf(text, sizeof text, "<SPECIAL_%zu>", i);
        if (t->f.v->kinds[i] == SL_TOKEN_UNUSED)
            rc = name_special(t, i, (sl_bytes){ text, (size_t)n }, true);
    }
    return rc ? rc : sl_fill_add_controls(&t->f);
}

static int32_t find_special(const tekken *t, const char *name)
{
    const sl_vocab *v = t->f.v;
    for (size_t i = 0; i < (size_t)t->n_specials; i++)
        if (v->tokens[i].len == strlen(name) && memcmp(v->tokens[i].data, name, v->tokens[i].len) == 0)
            return (int32_t)i;
    return -1;
}

static sl_status add_steps(tekken *t)
{
    sl_vocab *v = t->f.v;
    sl_bytes pattern = { 0 };
    sl_status rc = sl_json_get_str(t->config, "pattern", true, &pattern, t->f.err);
    if (rc)
        return rc;
    sl_pretok_step *split = sl_vocab_add_split(v, "");
    if (!split)
        return sl_fill_no_memory(&t->f);
    split->rust = true;
    v->text = SL_TEXT_BYTES;
    v->model = SL_MODEL_RANKS;
    v->unk = find_special(t, "<unk>");
    v->bos = find_special(t, "<s>");
    v->eos = find_special(t, "</s>");
    v->pad = find_special(t, "<pad>");
    return sl_fill_keep(&t->f, pattern, &split->pattern);
}

static sl_status read_all(tekken *t)
{
    if (t->root->kind != SL_JSON_OBJECT)
        return sl_fail(t->f.err, SL_EFORMAT, "not an object, and so no tekken.json");
    sl_status rc = read_config(t);
    if (!rc)
        rc = sl_fill_tokens(&t->f, (size_t)t->n_tokens, false);
    int64_t rank = 0;
    for (const sl_json *m = rc ? NULL : t->vocab->first; m && !rc && rank < t->n_tokens - t->n_specials; m = m->next)
        rc = read_token(t, m, rank++);
    if (!rc)
        rc = sl_fill_check_ranks(&t->f, (size_t)t->n_specials, (size_t)t->n_tokens);
    if (!rc)
        rc = read_specials(t);
    return rc ? rc : add_steps(t);
}

sl_status sl_vocab_read_tekken(sl_vocab *out, const void *bytes, size_t n, sl_err *err)
{
    sl_json_doc doc = { 0 };
    sl_vocab_init(out);
    sl_status rc = sl_json_parse(&doc, bytes, n, err);
    if (!rc) {
        tekken t = { .f = { .v = out, .err = err }, .root = doc.root };
        rc = read_all(&t);
    }
    sl_json_fini(&doc);
    if (rc)
        sl_vocab_fini(out);
    return rc;
}
