/* pretok.c - the known patterns, their compilation for class bytes, and the cutting. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pretok.h"

#include <assert.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "tokenizer/unicode_tab.h"
#include "tokenizer/utf8.h"

#define MAX_STAGES 4
#define MAX_SETS   7 /* classes in one pre-tokenizer: bits of a class byte */

/* GPT-2 (openai/gpt-2 src/encoder.py). */
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/* cl100k and its relatives differ in how many digits stay together. U+017F, the long s, is
 * what the reference engine takes for an s when case is ignored. */
#define CL100K(digits)                                                                                                 \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|'\\x{17f}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits                                     \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

static const struct pretok_spec {
    const char *names; /* the first is ours, the others are those of models with the same patterns */
    const char *patterns[MAX_STAGES];
    bool whole_pieces;
} specs[] = {
    { "gpt-2 gpt2 phi-2 mpt olmo jais gigachat trillion mellum a.x-4.0 exaone4 granite-docling", { GPT2 }, false },
    /* The reference's Digits step in front: it knows a few more digits than its \p{N}. */
    { "smollm starcoder refact command-r codeshell exaone minerva-7b", { "\\p{numeric}", GPT2 }, false },
    { "qwen2 deepseek-r1-qwen megrez stablelm2 hunyuan kormo solar-open grok-2", { CL100K("\\p{N}") }, false },
    { "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2", { CL100K("\\p{N}{1,3}") }, true },
    { "dbrx smaug-bpe glm4 chatglm-bpe", { CL100K("\\p{N}{1,3}") }, false },
    /* What GGUF means by it: files from before the name was recorded. */
    { "default", { "[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" }, false },
};

struct sl_pretok {
    const struct pretok_spec *spec;
    pcre2_code *code[MAX_STAGES]; /* NULL after the last */
    bool jit;                     /* all stages have machine code; without, pcre2 interprets */

    size_t n_sets;
    struct class_set {
        const sl_unicode_range *ranges;
        size_t n_ranges;
        sl_unicode_range one; /* where a pattern names a single character */
    } sets[MAX_SETS];
    /* Class byte of a character: block[c / 256][c % 256]. Equal blocks are stored once. */
    uint16_t block_of[SL_UNICODE_END / 256];
    uint8_t (*block)[256];
    size_t n_blocks, cap_blocks;
};

static void *regex_alloc(size_t bytes, void *unused)
{
    (void)unused;
    return sl_mem_alloc(bytes);
}

static void regex_free(void *p, void *unused)
{
    (void)unused;
    sl_mem_free(p);
}

/* --- names ------------------------------------------------------------------------------- */

static bool names_have(const char *names, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = names; *at;) {
        const size_t n = strcspn(at, " ");
        if (n == len && memcmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static sl_status unknown_name(const char *name, sl_err *err)
{
    char known[400] = "";
    size_t n = 0;
    for (size_t i = 0; i < SL_COUNT(specs); i++) {
        n += (size_t)snprintf(known + n, sizeof known - n, "%s%s", i ? " " : "", specs[i].names);
        assert(n < sizeof known);
    }
    if (!name)
        return sl_fail(err, SL_EUNSUPPORTED, "no pre-tokenizer is named; known: %s", known);
    return sl_fail(err, SL_EUNSUPPORTED, "pre-tokenizer \"%.40s\" is not known; known: %s", name, known);
}

/* --- classes ----------------------------------------------------------------------------- */

static bool set_has(const struct class_set *set, uint32_t c)
{
    for (size_t i = 0; i < set->n_ranges; i++)
        if (c >= set->ranges[i].first && c <= set->ranges[i].last)
            return true;
    return false;
}

/* The bit of a class, given out at its first use. `name` may be the x17f of a single character. */
static size_t set_bit(sl_pretok *p, const char *name, size_t len)
{
    struct class_set set = { 0 };
    if (name[0] == 'x') {
        const uint32_t c = (uint32_t)strtoul(name + 1, NULL, 16);
        set.one = (sl_unicode_range){ c, c };
        set.n_ranges = 1;
    }
    for (size_t i = 0; i < sl_unicode_n_sets; i++)
        if (strlen(sl_unicode_sets[i].name) == len && memcmp(sl_unicode_sets[i].name, name, len) == 0) {
            set.ranges = sl_unicode_sets[i].ranges;
            set.n_ranges = sl_unicode_sets[i].n_ranges;
        }
    assert(set.n_ranges > 0);
    for (size_t i = 0; i < p->n_sets; i++)
        if (set.ranges ? p->sets[i].ranges == set.ranges : p->sets[i].one.first == set.one.first)
            return i;
    assert(p->n_sets < MAX_SETS);
    p->sets[p->n_sets] = set;
    if (!set.ranges)
        p->sets[p->n_sets].ranges = &p->sets[p->n_sets].one;
    return p->n_sets++;
}

/* The members of a class (or all the others) among class bytes, for the inside of [ ]. */
static void put_members(const sl_pretok *p, size_t bit, bool negated, sl_str *out)
{
    bool member[257] = { false };
    for (unsigned b = 0; b < 256; b++)
        member[b] = (b < 0x80 ? set_has(&p->sets[bit], b) : (b >> bit & 1) != 0) != negated;
    for (unsigned b = 0, first = 0; b < 256; b++) {
        if (!member[b])
            first = b + 1;
        else if (!member[b + 1])
            sl_str_printf(out, "\\x%02x-\\x%02x", first, b);
    }
}

/* A pattern over characters to one over class bytes: \p{X}, \s, \S and \x{…} are replaced.
 * ASCII stays as it is; [^…] keeps its meaning since class bytes are all there is. */
static void rewrite(sl_pretok *p, const char *pattern, sl_str *out)
{
    bool inside = false; /* between [ and ] */
    for (const char *at = pattern; *at; at++) {
        if (*at != '\\') {
            inside = *at == '[' || (inside && *at != ']');
            sl_str_append(out, at, 1);
            continue;
        }
        const char kind = *++at;
        char name[16] = "s";
        if (kind == 'p' || kind == 'x') {
            const size_t len = strcspn(at, "}") - 2; /* p{name} */
            assert(at[1] == '{' && len + 2 < sizeof name);
            snprintf(name, sizeof name, "%s%.*s", kind == 'x' ? "x" : "", (int)len, at + 2);
            at += len + 2;
        } else if (kind != 's' && kind != 'S') {
            sl_str_append(out, at - 1, 2);
            continue;
        }
        const size_t bit = set_bit(p, name, strlen(name));
        sl_str_puts(out, inside ? "" : "[");
        put_members(p, bit, kind == 'S', out);
        sl_str_puts(out, inside ? "" : "]");
    }
}

static bool block_store(sl_pretok *p, size_t number, const uint8_t block[256])
{
    for (size_t i = p->n_blocks; i-- > 0;) /* neighbours are often alike: the newest first */
        if (memcmp(p->block[i], block, 256) == 0) {
            p->block_of[number] = (uint16_t)i;
            return true;
        }
    if (p->n_blocks == p->cap_blocks) {
        const size_t cap = p->cap_blocks + 64;
        void *grown = sl_mem_grow(p->block, p->cap_blocks * 256, cap * 256);
        if (!grown)
            return false;
        p->block = grown;
        p->cap_blocks = cap;
    }
    memcpy(p->block[p->n_blocks], block, 256);
    p->block_of[number] = (uint16_t)p->n_blocks++;
    return true;
}

static bool build_class_table(sl_pretok *p)
{
    size_t at[MAX_SETS] = { 0 }; /* first range of each set that is not behind us */
    for (uint32_t base = 0; base < SL_UNICODE_END; base += 256) {
        uint8_t block[256];
        for (uint32_t i = 0; i < 256; i++)
            block[i] = (uint8_t)(base + i < 0x80 ? base + i : 0x80);
        for (size_t s = 0; s < p->n_sets; s++) {
            const struct class_set *set = &p->sets[s];
            for (size_t r = at[s]; r < set->n_ranges && set->ranges[r].first < base + 256; r++) {
                const uint32_t from = SL_MAX(set->ranges[r].first, SL_MAX(base, 0x80u));
                for (uint32_t c = from; c <= SL_MIN(set->ranges[r].last, base + 255); c++)
                    block[c - base] |= (uint8_t)(1u << s);
            }
            while (at[s] < set->n_ranges && set->ranges[at[s]].last < base + 256)
                at[s]++;
        }
        if (!block_store(p, base / 256, block))
            return false;
    }
    return true;
}

/* --- life -------------------------------------------------------------------------------- */

static sl_status compile(sl_pretok *p, size_t stage, pcre2_compile_context *context, sl_err *err)
{
    sl_status rc = SL_OK;
    sl_str bytes = { 0 };
    int code = 0;
    PCRE2_SIZE place = 0;
    rewrite(p, p->spec->patterns[stage], &bytes);
    if (bytes.failed) {
        rc = sl_fail(err, SL_ENOMEM, "the pre-tokenizer's pattern");
        goto out;
    }
    pcre2_code *made = pcre2_compile((PCRE2_SPTR)bytes.data, bytes.len, 0, &code, &place, context);
    if (!made) {
        assert(code == PCRE2_ERROR_HEAP_FAILED); /* anything else: a pattern of ours is wrong */
        rc = sl_fail(err, SL_ENOMEM, "compiling the pre-tokenizer's pattern (pcre2 error %d)", code);
        goto out;
    }
    p->code[stage] = made;
    /* No executable memory, or pcre2 built without: it interprets, slower. */
    if (pcre2_jit_compile(made, PCRE2_JIT_COMPLETE) != 0)
        p->jit = false;
out:
    sl_str_fini(&bytes);
    return rc;
}

sl_status sl_pretok_create(sl_pretok **out, const char *name, sl_err *err)
{
    *out = NULL;
    const struct pretok_spec *spec = NULL;
    for (size_t i = 0; name && i < SL_COUNT(specs); i++)
        if (names_have(specs[i].names, name))
            spec = &specs[i];
    if (!spec)
        return unknown_name(name, err);

    sl_status rc = SL_OK;
    pcre2_general_context *general = NULL;
    pcre2_compile_context *context = NULL;
    sl_pretok *p = sl_mem_zalloc(1, sizeof *p);
    if (!p)
        return sl_fail(err, SL_ENOMEM, "%zu bytes for the pre-tokenizer", sizeof *p);
    p->spec = spec;
    p->jit = true;
    general = pcre2_general_context_create(regex_alloc, regex_free, NULL);
    context = general ? pcre2_compile_context_create(general) : NULL;
    if (!context) {
        rc = sl_fail(err, SL_ENOMEM, "pcre2's contexts");
        goto out;
    }
    for (size_t i = 0; i < MAX_STAGES && spec->patterns[i]; i++) {
        rc = compile(p, i, context, err);
        if (rc != SL_OK)
            goto out;
    }
    if (!build_class_table(p)) {
        rc = sl_fail(err, SL_ENOMEM, "the table of character classes");
        goto out;
    }
    *out = p;
    p = NULL;
out:
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    sl_pretok_destroy(p);
    return rc;
}

void sl_pretok_destroy(sl_pretok *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < MAX_STAGES; i++)
        pcre2_code_free(p->code[i]);
    sl_mem_free(p->block);
    sl_mem_free(p);
}

bool sl_pretok_whole_pieces(const sl_pretok *p)
{
    return p->spec->whole_pieces;
}

/* --- cutting ----------------------------------------------------------------------------- */

void sl_pretok_work_fini(sl_pretok_work *w)
{
    pcre2_jit_stack_free(w->stack);
    pcre2_match_context_free(w->limits);
    pcre2_match_data_free(w->match);
    pcre2_general_context_free(w->general);
    sl_mem_free(w->folded);
    *w = (sl_pretok_work){ 0 };
}

static sl_status work_prepare(const sl_pretok *p, sl_pretok_work *w, sl_err *err)
{
    if (w->limits)
        return SL_OK;
    w->general = pcre2_general_context_create(regex_alloc, regex_free, NULL);
    w->match = w->general ? pcre2_match_data_create(1, w->general) : NULL;
    if (w->match && p->jit)
        w->stack = pcre2_jit_stack_create((size_t)32 << 10, (size_t)8 << 20, w->general);
    pcre2_match_context *limits = w->match && (w->stack || !p->jit) ? pcre2_match_context_create(w->general) : NULL;
    if (!limits)
        return sl_fail(err, SL_ENOMEM, "the pre-tokenizer's work space");
    /* Our patterns never go back further than one run of characters, so time is linear; the
     * library's limits would only refuse a long run. */
    pcre2_set_match_limit(limits, UINT32_MAX);
    if (w->stack)
        pcre2_jit_stack_assign(limits, NULL, w->stack);
    w->limits = limits;
    return SL_OK;
}

static sl_status fold(const sl_pretok *p, sl_pretok_work *w, const char *text, size_t len, size_t n_chars, sl_err *err)
{
    if (w->folded_bytes < n_chars) {
        sl_mem_free(w->folded);
        w->folded_bytes = 0;
        w->folded = sl_mem_alloc(n_chars);
        if (!w->folded)
            return sl_fail(err, SL_ENOMEM, "%zu bytes for the classes of a text's characters", n_chars);
        w->folded_bytes = n_chars;
    }
    size_t n = 0;
    for (size_t i = 0; i < len;) {
        unsigned bytes = 1;
        const uint32_t c = sl_utf8_decode(text + i, &bytes);
        w->folded[n++] = (char)p->block[p->block_of[c / 256]][c % 256];
        i += bytes;
    }
    assert(n == n_chars);
    return SL_OK;
}

struct split {
    const sl_pretok *p;
    const sl_pretok_work *w;
    const char *classes; /* what the patterns see */
    const char *text;    /* the same place in the text: pieces come in order */
    bool ascii;
    sl_piece_fn *fn;
    void *arg;
    sl_err *err;
};

static sl_status emit(struct split *s, size_t n_chars)
{
    const char *piece = s->text;
    if (s->ascii)
        s->text += n_chars;
    else
        for (size_t i = 0; i < n_chars; i++)
            s->text += sl_utf8_length((unsigned char)*s->text);
    return s->fn(s->arg, piece, (size_t)(s->text - piece), s->err);
}

/* Cut classes[from..to) with pattern number `stage` and all after it. Each pattern sees one
 * piece as if it were the whole text. */
static sl_status cut(struct split *s, size_t stage, size_t from, size_t to)
{
    if (stage == MAX_STAGES || !s->p->code[stage])
        return emit(s, to - from);
    const PCRE2_SPTR subject = (PCRE2_SPTR)s->classes + from;
    const size_t len = to - from;
    for (size_t at = 0; at < len;) {
        size_t first = len, end = len;
        const int found = pcre2_match(s->p->code[stage], subject, len, at, PCRE2_NOTEMPTY, s->w->match, s->w->limits);
        if (found > 0) {
            const PCRE2_SIZE *span = pcre2_get_ovector_pointer(s->w->match);
            first = span[0];
            end = span[1];
        } else if (found != PCRE2_ERROR_NOMATCH) {
            const sl_status code = found == PCRE2_ERROR_NOMEMORY ? SL_ENOMEM : SL_EUNSUPPORTED;
            return sl_fail(s->err, code, "pre-tokenizer: pcre2 gives up on a text (error %d)", found);
        }
        sl_status rc = first > at ? cut(s, stage + 1, from + at, from + first) : SL_OK;
        if (rc == SL_OK && end > first)
            rc = cut(s, stage + 1, from + first, from + end);
        if (rc != SL_OK)
            return rc;
        at = end;
    }
    return SL_OK;
}

sl_status sl_pretok_split(const sl_pretok *p, sl_pretok_work *w, const char *text, size_t len, size_t n_chars,
                          sl_piece_fn *fn, void *arg, sl_err *err)
{
    const bool ascii = n_chars == len;
    sl_status rc = work_prepare(p, w, err);
    if (rc == SL_OK && !ascii)
        rc = fold(p, w, text, len, n_chars, err);
    if (rc != SL_OK)
        return rc;
    struct split s = { p, w, ascii ? text : w->folded, text, ascii, fn, arg, err };
    return cut(&s, 0, 0, n_chars);
}
