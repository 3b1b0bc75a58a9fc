/* tokenizer_json_steps.c - tokenizer.json: what is done to a text before the model and to ids behind
 * it. Each step is named by its "type"; what it means is in the `tokenizers` library, in the
 * file of that name. */
#include "formats/tokenizer_json_in.h"

#include <string.h>
#include "base/num.h"

#define STEPS_MAX 256 /* in all, of a kind; also pieces of a template */

typedef sl_status step_fn(sl_fill *f, const sl_json *step);

typedef struct step_type {
    const char *name;
    step_fn *read;       /* NULL: refused by its name */
    const char *keys[6]; /* besides "type", the last one NULL */
} step_type;

/* ---- helpers ---------------------------------------------------------------------------- */

static sl_status only_keys(const sl_fill *f, const sl_json *step, const step_type *type)
{
    const char *all[SL_COUNT(type->keys) + 1] = { "type" };
    memcpy(all + 1, type->keys, sizeof type->keys);
    return sl_json_only(step, all, f->err);
}

static sl_status read_step(sl_fill *f, const sl_json *step, const step_type *types, size_t n)
{
    if (step->kind != SL_JSON_OBJECT)
        return sl_json_fail(f->err, SL_EFORMAT, step, "should be an object");
    const sl_json *type = sl_json_get(step, "type");
    if (!type || type->kind != SL_JSON_STRING)
        return sl_json_fail(f->err, SL_EFORMAT, step, "\"type\" is missing");
    for (size_t i = 0; i < n; i++) {
        if (!sl_json_is(type, types[i].name) || !types[i].read)
            continue;
        const sl_status rc = only_keys(f, step, &types[i]);
        return rc ? rc : types[i].read(f, step);
    }
    return sl_json_fail(f->err, SL_EUNSUPPORTED, type, "\"%.*s\" is not supported", SL_JSON_SHOWN(type));
}

static sl_status each(sl_fill *f, const sl_json *step, const char *key, step_fn *read)
{
    const sl_json *list = NULL;
    sl_status rc = sl_json_get_list(step, key, true, &list, f->err);
    const size_t n = f->v->n_norms + f->v->n_pretoks + f->v->n_decoders;
    if (!rc && list->n > STEPS_MAX - SL_MIN(n, (size_t)STEPS_MAX))
        rc = sl_json_fail(f->err, SL_EUNSUPPORTED, list, "more than %d steps", STEPS_MAX);
    for (const sl_json *m = rc ? NULL : list->first; m && !rc; m = m->next)
        rc = read(f, m);
    return rc;
}

static sl_status keep_member(sl_fill *f, const sl_json *step, const char *key, sl_bytes *out)
{
    sl_bytes text = { 0 };
    const sl_status rc = sl_json_get_str(step, key, true, &text, f->err);
    return rc ? rc : sl_fill_keep(f, text, out);
}

static sl_status keep_text(sl_fill *f, const char *text, sl_bytes *out)
{
    return sl_fill_keep(f, (sl_bytes){ text, strlen(text) }, out);
}

/* A member that is one character. */
static sl_status keep_char(sl_fill *f, const sl_json *step, const char *key, sl_bytes *out)
{
    const sl_status rc = keep_member(f, step, key, out);
    size_t n_chars = 0;
    for (size_t i = 0; !rc && i < out->len; i++)
        n_chars += ((unsigned char)out->data[i] & 0xc0) != 0x80;
    if (!rc && n_chars != 1)
        return sl_json_fail(f->err, SL_EFORMAT, sl_json_get(step, key), "should be one character");
    return rc;
}

/* {"String": ...} or {"Regex": ...} */
static sl_status keep_pattern(sl_fill *f, const sl_json *step, sl_bytes *out, bool *regex)
{
    const sl_json *pattern = NULL;
    const sl_status rc = sl_json_get_object(step, "pattern", true, &pattern, f->err);
    if (rc)
        return rc;
    const sl_json *literal = sl_json_get(pattern, "String"), *other = sl_json_get(pattern, "Regex");
    if (pattern->n != 1 || (!literal && !other))
        return sl_json_fail(f->err, SL_EFORMAT, pattern, "should be a \"String\" or a \"Regex\"");
    *regex = other != NULL;
    return keep_member(f, pattern, literal ? "String" : "Regex", out);
}

static sl_status count_member(const sl_fill *f, const sl_json *step, const char *key, bool required, size_t *out)
{
    int64_t n = (int64_t)*out;
    const sl_status rc = sl_json_get_int(step, key, required, &n, f->err);
    if (!rc && (n < 0 || n > INT32_MAX))
        return sl_json_fail(f->err, SL_EFORMAT, sl_json_get(step, key), "%lld is out of range", (long long)n);
    if (!rc)
        *out = (size_t)n;
    return rc;
}

/* ---- normalizer ------------------------------------------------------------------------- */

static step_fn read_normalizer;

static sl_status norm_sequence(sl_fill *f, const sl_json *s)
{
    return each(f, s, "normalizers", read_normalizer);
}

static sl_status add_norm(sl_fill *f, sl_norm_kind kind, sl_norm_step **out)
{
    *out = sl_vocab_add_norm(f->v, kind);
    return *out ? SL_OK : sl_fill_no_memory(f);
}

/* A step without settings. */
static sl_status norm_plain(sl_fill *f, const sl_json *s)
{
    static const struct {
        const char *name;
        sl_norm_kind kind;
    } kinds[] = { { "NFC", SL_NORM_NFC },
                  { "NFD", SL_NORM_NFD },
                  { "NFKC", SL_NORM_NFKC },
                  { "NFKD", SL_NORM_NFKD },
                  { "Lowercase", SL_NORM_LOWERCASE },
                  { "StripAccents", SL_NORM_STRIP_ACCENTS },
                  { "Nmt", SL_NORM_NMT } };
    sl_norm_step *step = NULL;
    size_t i = 0;
    while (!sl_json_is(sl_json_get(s, "type"), kinds[i].name))
        i++;
    return add_norm(f, kinds[i].kind, &step);
}

static sl_status norm_strip(sl_fill *f, const sl_json *s)
{
    sl_norm_step *step = NULL;
    sl_status rc = add_norm(f, SL_NORM_STRIP, &step);
    if (!rc)
        rc = sl_json_get_bool(s, "strip_left", true, &step->left, f->err);
    if (!rc)
        rc = sl_json_get_bool(s, "strip_right", true, &step->right, f->err);
    return rc;
}

static sl_status norm_prepend(sl_fill *f, const sl_json *s)
{
    sl_norm_step *step = NULL;
    const sl_status rc = add_norm(f, SL_NORM_PREPEND, &step);
    return rc ? rc : keep_member(f, s, "prepend", &step->text);
}

static sl_status norm_replace(sl_fill *f, const sl_json *s)
{
    sl_norm_step *step = NULL;
    sl_status rc = add_norm(f, SL_NORM_REPLACE, &step);
    if (!rc)
        rc = keep_pattern(f, s, &step->pattern, &step->regex);
    return rc ? rc : keep_member(f, s, "content", &step->text);
}

/* Base64 of SentencePiece's table. */
static sl_status norm_precompiled(sl_fill *f, const sl_json *s)
{
    sl_norm_step *step = NULL;
    sl_bytes map = { 0 };
    sl_status rc = sl_json_get_str(s, "precompiled_charsmap", true, &map, f->err);
    if (!rc)
        rc = add_norm(f, SL_NORM_CHARSMAP, &step);
    if (rc)
        return rc;
    char *raw = sl_arena_alloc(&f->v->arena, map.len, 1);
    if (!raw)
        return sl_fill_no_memory(f);
    if (map.len == 0 || !sl_fill_base64(map, raw, &step->pattern.len))
        return sl_json_fail(f->err, SL_EFORMAT, sl_json_get(s, "precompiled_charsmap"), "not a table in base64");
    step->pattern.data = raw;
    return SL_OK;
}

/* The byte alphabet. The same as a first step of the pre-tokenizer, where nothing comes in between: no further
 * step here, no added token that is looked for in the normalised text. */
static sl_status norm_byte_level(sl_fill *f, const sl_json *s)
{
    bool last = true;
    for (const sl_json *at = s; at->parent; at = at->parent)
        last &= !at->next || at->parent->kind != SL_JSON_ARRAY;
    for (size_t i = 0; i < f->v->n_added; i++)
        last &= !f->v->added[i].normalized;
    if (!last)
        return sl_json_fail(f->err, SL_EUNSUPPORTED, s,
                            "ByteLevel is supported as the last step only, without normalized added tokens");
    return sl_vocab_add_pretok(f->v, SL_PRETOK_BYTE_LEVEL) ? SL_OK : sl_fill_no_memory(f);
}

static sl_status read_normalizer(sl_fill *f, const sl_json *s)
{
    static const step_type types[] = {
        { "Sequence", norm_sequence, { "normalizers" } },
        { "NFC", norm_plain, { 0 } },
        { "NFD", norm_plain, { 0 } },
        { "NFKC", norm_plain, { 0 } },
        { "NFKD", norm_plain, { 0 } },
        { "Lowercase", norm_plain, { 0 } },
        { "StripAccents", norm_plain, { 0 } },
        { "Nmt", norm_plain, { 0 } },
        { "Strip", norm_strip, { "strip_left", "strip_right" } },
        { "Prepend", norm_prepend, { "prepend" } },
        { "Replace", norm_replace, { "pattern", "content" } },
        { "Precompiled", norm_precompiled, { "precompiled_charsmap" } },
        { "ByteLevel", norm_byte_level, { 0 } },
    };
    return read_step(f, s, types, SL_COUNT(types));
}

sl_status sl_json_normalizer(sl_fill *f, const sl_json *normalizer)
{
    return normalizer ? read_normalizer(f, normalizer) : SL_OK;
}

/* ---- pre-tokenizer ---------------------------------------------------------------------- */

static step_fn read_pretok;

static sl_status pretok_sequence(sl_fill *f, const sl_json *s)
{
    return each(f, s, "pretokenizers", read_pretok);
}

static sl_status add_pretok(sl_fill *f, sl_pretok_kind kind, sl_pretok_step **out)
{
    *out = sl_vocab_add_pretok(f->v, kind);
    return *out ? SL_OK : sl_fill_no_memory(f);
}

static sl_status add_split(sl_fill *f, const char *regex, sl_split_behavior behavior)
{
    sl_pretok_step *step = NULL;
    const sl_status rc = add_pretok(f, SL_PRETOK_SPLIT, &step);
    if (rc)
        return rc;
    step->regex = true;
    step->behavior = behavior;
    return keep_text(f, regex, &step->pattern);
}

static sl_status pretok_byte_level(sl_fill *f, const sl_json *s)
{
    bool prefix = false, split = true;
    sl_pretok_step *step = NULL;
    sl_status rc = sl_json_get_bool(s, "add_prefix_space", true, &prefix, f->err);
    if (!rc)
        rc = sl_json_get_bool(s, "use_regex", false, &split, f->err);
    if (!rc && prefix)
        rc = add_pretok(f, SL_PRETOK_PREFIX_SPACE, &step);
    if (!rc && split)
        rc = add_split(f, SL_GPT2_PATTERN, SL_SPLIT_ISOLATED);
    return rc ? rc : add_pretok(f, SL_PRETOK_BYTE_LEVEL, &step);
}

static sl_status read_behavior(const sl_fill *f, const sl_json *s, bool required, sl_split_behavior *out)
{
    static const char *const names[] = { [SL_SPLIT_REMOVED] = "Removed",
                                         [SL_SPLIT_ISOLATED] = "Isolated",
                                         [SL_SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
                                         [SL_SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
                                         [SL_SPLIT_CONTIGUOUS] = "Contiguous" };
    const sl_json *at = sl_json_get(s, "behavior");
    if (!at)
        return required ? sl_json_fail(f->err, SL_EFORMAT, s, "\"behavior\" is missing") : SL_OK;
    for (size_t i = 0; i < SL_COUNT(names); i++) {
        if (sl_json_is(at, names[i])) {
            *out = (sl_split_behavior)i;
            return SL_OK;
        }
    }
    return sl_json_fail(f->err, SL_EFORMAT, at, "no behavior of a split");
}

static sl_status pretok_split(sl_fill *f, const sl_json *s)
{
    sl_pretok_step *step = NULL;
    sl_status rc = add_pretok(f, SL_PRETOK_SPLIT, &step);
    if (!rc)
        rc = keep_pattern(f, s, &step->pattern, &step->regex);
    if (!rc)
        rc = read_behavior(f, s, true, &step->behavior);
    return rc ? rc : sl_json_get_bool(s, "invert", true, &step->invert, f->err);
}

/* These and the next go by what Rust and its crates take for numeric and so on: the rust_ properties. */
static sl_status pretok_digits(sl_fill *f, const sl_json *s)
{
    bool each_alone = false;
    const sl_status rc = sl_json_get_bool(s, "individual_digits", true, &each_alone, f->err);
    return rc ? rc : add_split(f, "\\p{rust_numeric}", each_alone ? SL_SPLIT_ISOLATED : SL_SPLIT_CONTIGUOUS);
}

static sl_status pretok_punctuation(sl_fill *f, const sl_json *s)
{
    sl_split_behavior behavior = SL_SPLIT_ISOLATED;
    const sl_status rc = read_behavior(f, s, false, &behavior);
    return rc ? rc : add_split(f, "\\p{rust_punctuation}", behavior);
}

static sl_status pretok_whitespace(sl_fill *f, const sl_json *s)
{
    (void)s;
    const sl_status rc = add_split(f, "\\p{rust_word}+|[^\\p{rust_word}\\s]+", SL_SPLIT_REMOVED);
    if (!rc)
        f->v->pretoks[f->v->n_pretoks - 1].invert = true;
    return rc;
}

static sl_status pretok_whitespace_split(sl_fill *f, const sl_json *s)
{
    (void)s;
    return add_split(f, "\\s", SL_SPLIT_REMOVED);
}

static sl_status pretok_bert(sl_fill *f, const sl_json *s)
{
    const sl_status rc = pretok_whitespace_split(f, s);
    return rc ? rc : add_split(f, "\\p{rust_punctuation}", SL_SPLIT_ISOLATED);
}

static sl_status pretok_char(sl_fill *f, const sl_json *s)
{
    sl_pretok_step *step = NULL;
    const sl_status rc = add_pretok(f, SL_PRETOK_SPLIT, &step);
    if (rc)
        return rc;
    step->behavior = SL_SPLIT_REMOVED;
    return keep_char(f, s, "delimiter", &step->pattern);
}

/* Files from before prepend_scheme say add_prefix_space, of which only true says something new: the library
 * refuses false unless the scheme is "never". */
static sl_status read_prepend(const sl_fill *f, const sl_json *s, sl_prepend *out)
{
    bool prefix = true;
    const sl_json *at = sl_json_get(s, "prepend_scheme");
    *out = SL_PREPEND_ALWAYS;
    if (sl_json_is(at, "first"))
        *out = SL_PREPEND_FIRST;
    else if (sl_json_is(at, "never"))
        *out = SL_PREPEND_NEVER;
    else if (at && !sl_json_is(at, "always"))
        return sl_json_fail(f->err, SL_EFORMAT, at, "none of \"always\", \"first\", \"never\"");
    const sl_status rc = sl_json_get_bool(s, "add_prefix_space", false, &prefix, f->err);
    if (!rc && !prefix && *out != SL_PREPEND_NEVER)
        return sl_json_fail(f->err, SL_EFORMAT, sl_json_get(s, "add_prefix_space"),
                            "false, but the prepend_scheme is not \"never\"");
    return rc;
}

static sl_status pretok_metaspace(sl_fill *f, const sl_json *s)
{
    bool split = true;
    sl_pretok_step *step = NULL;
    sl_prepend prepend = SL_PREPEND_ALWAYS;
    sl_bytes mark = { 0 };
    sl_status rc = keep_char(f, s, "replacement", &mark);
    if (!rc)
        rc = read_prepend(f, s, &prepend);
    if (!rc)
        rc = sl_json_get_bool(s, "split", false, &split, f->err);
    if (!rc)
        rc = add_pretok(f, SL_PRETOK_METASPACE, &step);
    if (rc)
        return rc;
    step->text = mark;
    step->prepend = prepend;
    if (!split)
        return SL_OK;
    rc = add_pretok(f, SL_PRETOK_SPLIT, &step);
    if (rc)
        return rc;
    step->pattern = mark;
    step->behavior = SL_SPLIT_MERGED_WITH_NEXT;
    return SL_OK;
}

static sl_status pretok_fixed(sl_fill *f, const sl_json *s)
{
    sl_pretok_step *step = NULL;
    size_t length = 5; /* the library's default */
    sl_status rc = count_member(f, s, "length", false, &length);
    if (!rc && length == 0)
        rc = sl_json_fail(f->err, SL_EFORMAT, sl_json_get(s, "length"), "pieces of 0 characters");
    if (!rc)
        rc = add_pretok(f, SL_PRETOK_CHUNKS, &step);
    if (!rc)
        step->length = length;
    return rc;
}

static sl_status read_pretok(sl_fill *f, const sl_json *s)
{
    static const step_type types[] = {
        { "Sequence", pretok_sequence, { "pretokenizers" } },
        { "ByteLevel", pretok_byte_level, { "add_prefix_space", "trim_offsets", "use_regex" } },
        { "Split", pretok_split, { "pattern", "behavior", "invert" } },
        { "Digits", pretok_digits, { "individual_digits" } },
        { "Punctuation", pretok_punctuation, { "behavior" } },
        { "Whitespace", pretok_whitespace, { 0 } },
        { "WhitespaceSplit", pretok_whitespace_split, { 0 } },
        { "BertPreTokenizer", pretok_bert, { 0 } },
        { "CharDelimiterSplit", pretok_char, { "delimiter" } },
        { "Metaspace", pretok_metaspace, { "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep" } },
        { "FixedLength", pretok_fixed, { "length" } },
    };
    return read_step(f, s, types, SL_COUNT(types));
}

sl_status sl_json_pre_tokenizer(sl_fill *f, const sl_json *pre_tokenizer)
{
    return pre_tokenizer ? read_pretok(f, pre_tokenizer) : SL_OK;
}

/* ---- decoder ---------------------------------------------------------------------------- */

static step_fn read_decoder;

static sl_status decode_sequence(sl_fill *f, const sl_json *s)
{
    return each(f, s, "decoders", read_decoder);
}

static sl_status add_decoder(sl_fill *f, sl_decode_kind kind, sl_decode_step **out)
{
    *out = sl_vocab_add_decoder(f->v, kind);
    return *out ? SL_OK : sl_fill_no_memory(f);
}

static sl_status decode_byte_level(sl_fill *f, const sl_json *s)
{
    (void)s;
    sl_decode_step *step = NULL;
    return add_decoder(f, SL_DECODE_BYTE_LEVEL, &step);
}

static sl_status decode_byte_fallback(sl_fill *f, const sl_json *s)
{
    (void)s;
    sl_decode_step *step = NULL;
    return add_decoder(f, SL_DECODE_BYTE_FALLBACK, &step);
}

static sl_status decode_fuse(sl_fill *f, const sl_json *s)
{
    (void)s;
    sl_decode_step *step = NULL;
    return add_decoder(f, SL_DECODE_FUSE, &step);
}

static sl_status decode_replace(sl_fill *f, const sl_json *s)
{
    sl_decode_step *step = NULL;
    bool regex = false;
    sl_status rc = add_decoder(f, SL_DECODE_REPLACE, &step);
    if (!rc)
        rc = keep_pattern(f, s, &step->pattern, &regex);
    if (!rc && regex)
        rc =
            sl_json_fail(f->err, SL_EUNSUPPORTED, sl_json_get(s, "pattern"), "\"Regex\" is not supported in a decoder");
    if (!rc && step->pattern.len == 0)
        rc = sl_json_fail(f->err, SL_EUNSUPPORTED, sl_json_get(s, "pattern"), "an empty pattern is not supported");
    return rc ? rc : keep_member(f, s, "content", &step->text);
}

static sl_status decode_strip(sl_fill *f, const sl_json *s)
{
    sl_decode_step *step = NULL;
    sl_status rc = add_decoder(f, SL_DECODE_STRIP, &step);
    if (!rc)
        rc = keep_char(f, s, "content", &step->pattern);
    if (!rc)
        rc = count_member(f, s, "start", true, &step->start);
    return rc ? rc : count_member(f, s, "stop", true, &step->stop);
}

static sl_status decode_metaspace(sl_fill *f, const sl_json *s)
{
    sl_decode_step *step = NULL;
    sl_prepend prepend = SL_PREPEND_ALWAYS;
    sl_status rc = add_decoder(f, SL_DECODE_METASPACE, &step);
    if (!rc)
        rc = keep_char(f, s, "replacement", &step->pattern);
    if (!rc)
        rc = read_prepend(f, s, &prepend);
    if (!rc)
        step->strip_first = prepend != SL_PREPEND_NEVER;
    return rc;
}

static sl_status read_decoder(sl_fill *f, const sl_json *s)
{
    static const step_type types[] = {
        { "Sequence", decode_sequence, { "decoders" } },
        { "ByteLevel", decode_byte_level, { "add_prefix_space", "trim_offsets", "use_regex" } },
        { "ByteFallback", decode_byte_fallback, { 0 } },
        { "Fuse", decode_fuse, { 0 } },
        { "Replace", decode_replace, { "pattern", "content" } },
        { "Strip", decode_strip, { "content", "start", "stop" } },
        { "Metaspace", decode_metaspace, { "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep" } },
    };
    return read_step(f, s, types, SL_COUNT(types));
}

/* Without a decoder the library joins tokens by spaces. In the byte alphabet that gives nothing that anyone
 * reads: such files are not made for text to come out, and are refused. */
sl_status sl_json_decoder(sl_fill *f, const sl_json *decoder)
{
    if (decoder)
        return read_decoder(f, decoder);
    if (f->v->text == SL_TEXT_ALPHABET)
        return sl_fail(f->err, SL_EUNSUPPORTED, "decoder: a byte-level tokenizer without a decoder is not supported");
    return SL_OK;
}

/* ---- post-processor --------------------------------------------------------------------- */

static step_fn read_post;

static sl_status take_ids(const sl_fill *f, const sl_json *list, int32_t *out)
{
    for (const sl_json *m = list->first; m; m = m->next) {
        int64_t id = -1;
        if (!sl_json_int(m, &id) || id < 0 || (uint64_t)id >= f->v->n_tokens)
            return sl_json_fail(f->err, SL_EFORMAT, m, "no id of the %zu tokens", f->v->n_tokens);
        *out++ = (int32_t)id;
    }
    return SL_OK;
}

/* Put n more ids at the end of *list. */
static sl_status append_ids(sl_fill *f, const sl_json *ids, int32_t **list, size_t *n)
{
    int32_t *all = sl_arena_alloc(&f->v->arena, *n + ids->n, sizeof *all);
    if (!all)
        return sl_fill_no_memory(f);
    if (*n)
        memcpy(all, *list, *n * sizeof *all);
    const sl_status rc = take_ids(f, ids, all + *n);
    *list = all;
    *n += ids->n;
    return rc;
}

/* The ids that a template's {"SpecialToken": {"id": NAME}} stands for. */
static sl_status special_ids(const sl_fill *f, const sl_json *s, const sl_json *piece, const sl_json **ids)
{
    const sl_json *name = sl_json_get(piece, "id"), *table = NULL;
    sl_status rc = sl_json_get_object(s, "special_tokens", true, &table, f->err);
    for (const sl_json *m = rc || !name ? NULL : table->first; m; m = m->next)
        if (name->kind == SL_JSON_STRING && m->key_len == name->text_len && memcmp(m->key, name->text, m->key_len) == 0)
            return sl_json_get_list(m, "ids", true, ids, f->err);
    return rc ? rc : sl_json_fail(f->err, SL_EFORMAT, piece, "not in \"special_tokens\"");
}

static sl_status post_template(sl_fill *f, const sl_json *s)
{
    const sl_json *single = NULL;
    size_t n_texts = 0;
    sl_vocab *v = f->v;
    sl_status rc = sl_json_get_list(s, "single", true, &single, f->err);
    if (!rc && single->n > STEPS_MAX)
        rc = sl_json_fail(f->err, SL_EUNSUPPORTED, single, "more than %d pieces", STEPS_MAX);
    for (const sl_json *m = rc ? NULL : single->first; m && !rc; m = m->next) {
        const sl_json *special = sl_json_get(m, "SpecialToken"), *text = sl_json_get(m, "Sequence"), *ids = NULL;
        if (text && sl_json_is(sl_json_get(text, "id"), "A"))
            n_texts++;
        else if (!special)
            rc = sl_json_fail(f->err, SL_EFORMAT, m, "neither a special token nor the text");
        else if (!(rc = special_ids(f, s, special, &ids)))
            rc = n_texts ? append_ids(f, ids, &v->suffix, &v->n_suffix) : append_ids(f, ids, &v->prefix, &v->n_prefix);
    }
    if (!rc && n_texts != 1)
        rc = sl_json_fail(f->err, SL_EUNSUPPORTED, single, "a template with the text %zu times is not supported",
                          n_texts);
    return rc;
}

/* "cls": ["<s>", 0] */
static sl_status pair_id(sl_fill *f, const sl_json *s, const char *key, int32_t **list, size_t *n)
{
    const sl_json *pair = NULL;
    int64_t id = -1;
    const sl_status rc = sl_json_get_list(s, key, true, &pair, f->err);
    if (rc)
        return rc;
    if (pair->n != 2 || !sl_json_int(pair->first->next, &id) || id < 0 || (uint64_t)id >= f->v->n_tokens)
        return sl_json_fail(f->err, SL_EFORMAT, pair, "should be a token and its id");
    const int32_t one = (int32_t)id;
    *n = 1;
    return sl_fill_ids(f, &one, 1, list);
}

static sl_status post_bert(sl_fill *f, const sl_json *s)
{
    const sl_status rc = pair_id(f, s, "cls", &f->v->prefix, &f->v->n_prefix);
    return rc ? rc : pair_id(f, s, "sep", &f->v->suffix, &f->v->n_suffix);
}

/* Concerns offsets, not ids. */
static sl_status post_byte_level(sl_fill *f, const sl_json *s)
{
    (void)f;
    (void)s;
    return SL_OK;
}

/* Only one of them may add ids: what two templates in a row do depends on the library's version. */
static sl_status post_sequence(sl_fill *f, const sl_json *s)
{
    const sl_json *list = NULL;
    size_t n_adding = 0;
    const sl_status rc = sl_json_get_list(s, "processors", true, &list, f->err);
    for (const sl_json *m = rc ? NULL : list->first; m; m = m->next)
        n_adding += !sl_json_is(sl_json_get(m, "type"), "ByteLevel");
    if (n_adding > 1)
        return sl_json_fail(f->err, SL_EUNSUPPORTED, list, "two that add tokens are not supported");
    return rc ? rc : each(f, s, "processors", read_post);
}

static sl_status read_post(sl_fill *f, const sl_json *s)
{
    static const step_type types[] = {
        { "Sequence", post_sequence, { "processors" } },
        { "ByteLevel", post_byte_level, { "add_prefix_space", "trim_offsets", "use_regex" } },
        { "TemplateProcessing", post_template, { "single", "pair", "special_tokens" } },
        { "BertProcessing", post_bert, { "sep", "cls" } },
        { "RobertaProcessing", post_bert, { "sep", "cls", "trim_offsets", "add_prefix_space" } },
    };
    return read_step(f, s, types, SL_COUNT(types));
}

sl_status sl_json_post_processor(sl_fill *f, const sl_json *post_processor)
{
    return post_processor ? read_post(f, post_processor) : SL_OK;
}
