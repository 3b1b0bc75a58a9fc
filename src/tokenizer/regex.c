/* regex.c - patterns compiled over classes of characters, and their matches. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/regex.h"

#include <assert.h>
#include <pcre2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "tokenizer/regex_in.h"
#include "tokenizer/utf8.h"

#define NO_CLASS UINT16_MAX
/* Rounds of loops and the like that pcre2 may take for one text: patterns of tokenizers take few,
 * one with nested repeats may take 2^n. pcre2 does not say how many it took, so a search begins with
 * a small limit, and one that reaches it is repeated with a larger. */
#define STEPS          ((uint64_t)20000000)
#define STEPS_PER_CHAR 64
#define STEPS_FIRST    4096
#define STEPS_GROWTH   8
#define STACK_BYTES    ((size_t)64 << 20)    /* of machine code, at most; taken as it is used */
#define HEAP_KIB       ((uint32_t)256 << 10) /* of the interpreter */

/* Two shortcuts of pcre2 10.42 give wrong answers: `(?>\s*k|\s)k` finds " k" in "  k" (machine code that looks
 * for the first character), and `[ks]*(?:x)?+\S` does not find "s" (a loop made possessive, as if what follows
 * could not be empty). */
#define NO_SHORTCUTS (PCRE2_NO_START_OPTIMIZE | PCRE2_NO_AUTO_POSSESS)

struct sl_regex {
    size_t n;
    pcre2_code **code; /* [n] */
    bool jit;          /* all patterns have machine code; without, pcre2 interprets */
    /* Class byte of a character: block[block_of[c / 256]][c % 256]. Equal blocks are stored once. */
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

/* --- classes ----------------------------------------------------------------------------- */

/* Unicode above ASCII, cut where any set begins or ends. */
typedef struct partition {
    uint32_t *begin;  /* [n] */
    uint16_t *number; /* [n] class of each stretch */
    size_t n;
} partition;

static int by_value(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static bool partition_init(partition *p, const sl_regex_sets *sets)
{
    const size_t cap = 2 * sets->n_ranges + 1;
    p->begin = sl_mem_zalloc(cap, sizeof *p->begin);
    p->number = sl_mem_zalloc(cap, sizeof *p->number);
    if (!p->begin || !p->number)
        return false;
    size_t n = 0;
    p->begin[n++] = 0x80;
    for (size_t s = 0; s < sets->n; s++)
        for (size_t i = 0; i < sets->set[s].n; i++) {
            const sl_unicode_range r = sets->set[s].range[i];
            if (r.first > 0x80)
                p->begin[n++] = r.first;
            if (r.last >= 0x80 && r.last + 1 < SL_UNICODE_END)
                p->begin[n++] = r.last + 1;
        }
    qsort(p->begin, n, sizeof *p->begin, by_value);
    p->n = 1;
    for (size_t i = 1; i < n; i++)
        if (p->begin[i] != p->begin[p->n - 1])
            p->begin[p->n++] = p->begin[i];
    return true;
}

/* Give each class that `set` cuts in two a new number for the part inside. The number of classes. */
static size_t refine(partition *p, const sl_charset *set, size_t n_classes, uint16_t *inside, size_t *outside)
{
    for (size_t i = 0; i < n_classes; i++) {
        inside[i] = NO_CLASS;
        outside[i] = 0;
    }
    for (size_t i = 0; i < p->n; i++)
        outside[p->number[i]] += !sl_charset_has(set, p->begin[i]);
    for (size_t i = 0; i < p->n; i++) {
        const uint16_t was = p->number[i];
        if (outside[was] == 0 || !sl_charset_has(set, p->begin[i]))
            continue;
        if (inside[was] == NO_CLASS)
            inside[was] = (uint16_t)n_classes++;
        p->number[i] = inside[was];
    }
    return n_classes;
}

static sl_status find_classes(partition *p, const sl_regex_sets *sets, sl_regex_alphabet *alphabet, sl_err *err)
{
    uint16_t inside[SL_COUNT(alphabet->sample)];
    size_t outside[SL_COUNT(alphabet->sample)];
    size_t n = 1;
    if (!partition_init(p, sets))
        return sl_fail(err, SL_ENOMEM, "no memory for the classes of %zu ranges of characters", sets->n_ranges);
    for (size_t s = 0; s < sets->n; s++) {
        n = refine(p, &sets->set[s], n, inside, outside);
        if (n > SL_COUNT(alphabet->sample))
            return sl_fail(err, SL_EUNSUPPORTED, "more than %zu classes of characters beyond ASCII are told apart",
                           SL_COUNT(alphabet->sample));
    }
    alphabet->n = n;
    for (size_t i = p->n; i-- > 0;)
        alphabet->sample[p->number[i]] = p->begin[i];
    return SL_OK;
}

static bool block_store(sl_regex *r, size_t number, const uint8_t block[256])
{
    for (size_t i = r->n_blocks; i-- > 0;) /* neighbours are often alike: the newest first */
        if (memcmp(r->block[i], block, 256) == 0) {
            r->block_of[number] = (uint16_t)i;
            return true;
        }
    if (r->n_blocks == r->cap_blocks) {
        const size_t cap = r->cap_blocks + 64;
        void *grown = sl_mem_grow(r->block, r->cap_blocks * 256, cap * 256);
        if (!grown)
            return false;
        r->block = grown;
        r->cap_blocks = cap;
    }
    memcpy(r->block[r->n_blocks], block, 256);
    r->block_of[number] = (uint16_t)r->n_blocks++;
    return true;
}

static bool build_class_table(sl_regex *r, const partition *p)
{
    size_t at = 0; /* the stretch that a block begins in */
    for (uint32_t base = 0; base < SL_UNICODE_END; base += 256) {
        uint8_t block[256];
        while (at + 1 < p->n && p->begin[at + 1] <= base)
            at++;
        memset(block, 0x80 + p->number[at], sizeof block);
        for (size_t i = at + 1; i < p->n && p->begin[i] < base + 256; i++)
            memset(block + (p->begin[i] - base), 0x80 + p->number[i], 256 - (p->begin[i] - base));
        for (uint32_t c = 0; base == 0 && c < 0x80; c++)
            block[c] = (uint8_t)c;
        if (!block_store(r, base / 256, block))
            return false;
    }
    return true;
}

/* --- compiling --------------------------------------------------------------------------- */

static sl_status read_pattern(const sl_regex_pattern *pattern, sl_arena *arena, sl_regex_sets *sets,
                              sl_regex_node **tree, sl_err *err)
{
    size_t n = 0;
    const size_t len = pattern->text.len;
    if (sl_utf8_valid(pattern->text.data, len, &n) != len)
        return sl_fail(err, SL_EFORMAT, "column %zu: no UTF-8", n + 1);
    if (n > SL_REGEX_MAX_CHARS)
        return sl_fail(err, SL_EUNSUPPORTED, "a pattern of %zu characters is longer than %d", n, SL_REGEX_MAX_CHARS);
    uint32_t *c = sl_arena_alloc(arena, n + 1, sizeof *c);
    if (!c)
        return sl_fail(err, SL_ENOMEM, "no memory for a pattern of %zu characters", n);
    n = 0;
    for (size_t i = 0; i < len;) {
        unsigned bytes = 1;
        c[n++] = sl_utf8_decode(pattern->text.data + i, &bytes);
        i += bytes;
    }
    sl_regex_reader reader = { .c = c, .n = n, .rust = pattern->rust, .arena = arena, .sets = sets, .err = err };
    *tree = pattern->literal ? sl_regex_read_literal(&reader) : sl_regex_read(&reader);
    assert(*tree || reader.status != SL_OK);
    return reader.status;
}

static sl_status compile(sl_regex *r, size_t number, const sl_str *bytes, pcre2_compile_context *context, sl_err *err)
{
    int code = 0;
    PCRE2_SIZE place = 0;
    r->code[number] = pcre2_compile((PCRE2_SPTR)bytes->data, bytes->len, NO_SHORTCUTS, &code, &place, context);
    if (!r->code[number]) {
        char text[128] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
        return sl_fail(err, code == PCRE2_ERROR_HEAP_FAILED ? SL_ENOMEM : SL_EUNSUPPORTED, "pcre2: %s", text);
    }
    /* No executable memory, or pcre2 built without: it interprets, slower. */
    if (pcre2_jit_compile(r->code[number], PCRE2_JIT_COMPLETE) != 0)
        r->jit = false;
    return SL_OK;
}

static sl_status compile_all(sl_regex *r, sl_regex_node *const *tree, const sl_regex_sets *sets,
                             const sl_regex_alphabet *alphabet, sl_err *err)
{
    sl_status rc = SL_OK;
    sl_str bytes = { 0 };
    pcre2_general_context *general = pcre2_general_context_create(regex_alloc, regex_free, NULL);
    pcre2_compile_context *context = general ? pcre2_compile_context_create(general) : NULL;
    if (!context) {
        rc = sl_fail(err, SL_ENOMEM, "no memory for pcre2's contexts");
        goto out;
    }
    pcre2_set_parens_nest_limit(context, 16 * SL_REGEX_MAX_DEPTH);
    for (size_t i = 0; i < r->n && rc == SL_OK; i++) {
        sl_str_clear(&bytes);
        sl_regex_emit(tree[i], sets, alphabet, &bytes);
        if (bytes.len == 0)
            sl_str_puts(&bytes, "(?:)"); /* pcre2 wants a string */
        rc = bytes.failed ? sl_fail(err, SL_ENOMEM, "no memory for a pattern for pcre2")
                          : compile(r, i, &bytes, context, err);
        if (rc != SL_OK && r->n > 1)
            sl_fail_in(err, rc, "pattern %zu", i + 1);
    }
out:
    sl_str_fini(&bytes);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    return rc;
}

sl_status sl_regex_create(sl_regex **out, const sl_regex_pattern *patterns, size_t n, sl_err *err)
{
    *out = NULL;
    sl_status rc = SL_OK;
    sl_arena arena;
    partition parts = { 0 };
    sl_regex_alphabet alphabet = { 0 };
    sl_arena_init(&arena, (size_t)16 << 10);
    sl_regex *r = sl_mem_zalloc(1, sizeof *r);
    sl_regex_sets *sets = sl_mem_zalloc(1, sizeof *sets);
    sl_regex_node **tree = sl_arena_alloc(&arena, n, sizeof(sl_regex_node *));
    if (!r || !sets || !tree || !(r->code = sl_mem_zalloc(n, sizeof *r->code))) {
        rc = sl_fail(err, SL_ENOMEM, "no memory for %zu patterns", n);
        goto out;
    }
    r->n = n;
    r->jit = true;
    for (size_t i = 0; i < n && rc == SL_OK; i++) {
        rc = read_pattern(&patterns[i], &arena, sets, &tree[i], err);
        if (rc != SL_OK && n > 1)
            sl_fail_in(err, rc, "pattern %zu", i + 1);
    }
    if (rc == SL_OK)
        rc = find_classes(&parts, sets, &alphabet, err);
    if (rc == SL_OK && !build_class_table(r, &parts))
        rc = sl_fail(err, SL_ENOMEM, "no memory for the table of character classes");
    if (rc == SL_OK)
        rc = compile_all(r, tree, sets, &alphabet, err);
    if (rc == SL_OK) {
        *out = r;
        r = NULL;
    }
out:
    sl_mem_free(parts.begin);
    sl_mem_free(parts.number);
    if (sets)
        sl_regex_sets_fini(sets);
    sl_mem_free(sets);
    sl_arena_fini(&arena);
    sl_regex_destroy(r);
    return rc;
}

void sl_regex_destroy(sl_regex *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        pcre2_code_free(r->code[i]);
    sl_mem_free(r->code);
    sl_mem_free(r->block);
    sl_mem_free(r);
}

/* --- matching ---------------------------------------------------------------------------- */

void sl_regex_work_fini(sl_regex_work *w)
{
    pcre2_jit_stack_free(w->stack);
    pcre2_match_context_free(w->limits);
    pcre2_match_data_free(w->match);
    pcre2_general_context_free(w->general);
    sl_mem_free(w->classes);
    *w = (sl_regex_work){ 0 };
}

static sl_status work_prepare(sl_regex_work *w, sl_err *err)
{
    if (!w->general)
        w->general = pcre2_general_context_create(regex_alloc, regex_free, NULL);
    if (w->general && !w->match)
        w->match = pcre2_match_data_create(1, w->general);
    if (w->match && !w->stack)
        w->stack = pcre2_jit_stack_create((size_t)32 << 10, STACK_BYTES, w->general);
    if (w->stack && !w->limits)
        w->limits = pcre2_match_context_create(w->general);
    if (!w->limits)
        return sl_fail(err, SL_ENOMEM, "no memory for the work space of a pattern");
    pcre2_set_heap_limit(w->limits, HEAP_KIB);
    pcre2_jit_stack_assign(w->limits, NULL, w->stack);
    return SL_OK;
}

unsigned char sl_regex_class(const sl_regex *r, uint32_t c)
{
    return r->block[r->block_of[c / 256]][c % 256];
}

void sl_regex_classes(const sl_regex *r, const char *text, size_t len, char *out)
{
    for (size_t i = 0; i < len;) {
        unsigned bytes = 1;
        *out++ = (char)sl_regex_class(r, sl_utf8_decode(text + i, &bytes));
        i += bytes;
    }
}

void sl_regex_work_begin(sl_regex_work *w, size_t n_chars)
{
    w->steps = STEPS + STEPS_PER_CHAR * (uint64_t)n_chars;
}

/* pcre2_match, with what is left of the text's steps. */
static int match(const pcre2_code *code, sl_regex_work *w, const char *classes, size_t n, size_t from)
{
    for (uint64_t limit = STEPS_FIRST;; limit *= STEPS_GROWTH) {
        limit = SL_MIN(SL_MIN(limit, w->steps), (uint64_t)UINT32_MAX);
        pcre2_set_match_limit(w->limits, (uint32_t)limit);
        const int rc = pcre2_match(code, (PCRE2_SPTR)classes, n, from, 0, w->match, w->limits);
        if (rc != PCRE2_ERROR_MATCHLIMIT || limit == w->steps)
            return rc;
        w->steps -= limit;
    }
}

sl_status sl_regex_find(const sl_regex *r, size_t number, sl_regex_work *w, const char *classes, size_t n, size_t from,
                        bool *found, size_t *first, size_t *end, sl_err *err)
{
    assert(number < r->n && from <= n);
    if (!w->limits) {
        const sl_status rc = work_prepare(w, err);
        if (rc != SL_OK)
            return rc;
    }
    const int rc = match(r->code[number], w, classes, n, from);
    *found = rc > 0;
    if (rc > 0) {
        const PCRE2_SIZE *span = pcre2_get_ovector_pointer(w->match);
        *first = span[0];
        *end = span[1];
    } else if (rc == PCRE2_ERROR_NOMEMORY) {
        return sl_fail(err, SL_ENOMEM, "no memory for matching a pattern");
    } else if (rc != PCRE2_ERROR_NOMATCH) {
        return sl_fail(err, SL_EUNSUPPORTED,
                       "pattern %zu needs too many steps or too much memory on this text (pcre2 error %d)", number + 1,
                       rc);
    }
    return SL_OK;
}

/* --- all matches ------------------------------------------------------------------------- */

sl_status sl_regex_scan_begin(sl_regex_scan *s, const sl_regex *r, size_t number, sl_regex_work *w, const char *text,
                              size_t len, sl_err *err)
{
    size_t n_chars = 0;
    const size_t whole = sl_utf8_valid(text, len, &n_chars);
    assert(whole == len);
    (void)whole;
    sl_regex_work_begin(w, n_chars);
    *s = (sl_regex_scan){ .regex = r,
                          .work = w,
                          .number = number,
                          .text = text,
                          .len = len,
                          .classes = text,
                          .n_chars = n_chars,
                          .last_end = SIZE_MAX };
    if (n_chars == len)
        return SL_OK;
    if (w->classes_bytes < n_chars) {
        sl_mem_free(w->classes);
        w->classes_bytes = 0;
        w->classes = sl_mem_alloc(n_chars);
        if (!w->classes)
            return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes for the classes of a text's characters", n_chars);
        w->classes_bytes = n_chars;
    }
    sl_regex_classes(r, text, len, w->classes);
    s->classes = w->classes;
    return SL_OK;
}

static size_t bytes_until(sl_regex_scan *s, size_t n_chars)
{
    if (s->n_chars == s->len)
        return n_chars;
    for (; s->char_at < n_chars; s->char_at++)
        s->byte_at += sl_utf8_length((unsigned char)s->text[s->byte_at]);
    return s->byte_at;
}

sl_status sl_regex_scan_next(sl_regex_scan *s, bool *found, size_t *first, size_t *end, sl_err *err)
{
    for (;;) {
        size_t from = 0, to = 0;
        *found = false;
        if (s->at > s->n_chars)
            return SL_OK;
        const sl_status rc =
            sl_regex_find(s->regex, s->number, s->work, s->classes, s->n_chars, s->at, found, &from, &to, err);
        if (rc != SL_OK || !*found) {
            s->at = s->n_chars + 1;
            return rc;
        }
        if (from == to && to == s->last_end) {
            s->at = to + 1;
            continue;
        }
        s->at = s->last_end = to;
        *first = bytes_until(s, from);
        *end = bytes_until(s, to);
        return SL_OK;
    }
}
