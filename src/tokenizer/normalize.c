/* normalize.c - the steps in their order, and those that are short.
 * Source: `tokenizers`, normalizers/. */
#include "tokenizer/normalize.h"

#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/chars.h"
#include "tokenizer/normalize_in.h"
#include "tokenizer/utf8.h"

typedef struct step {
    sl_norm_step as; /* its strings are in the arena */
    sl_charsmap map;
    sl_regex *regex; /* of a pattern to be replaced; else NULL */
} step;

struct sl_norm {
    size_t n;
    step *step;
    sl_trie user; /* tokens of the user, for SENTENCEPIECE */
    sl_arena arena;
};

/* --- making ------------------------------------------------------------------------------ */

static sl_status keep_bytes(sl_norm *n, sl_bytes *s, sl_err *err)
{
    char *copy = sl_arena_memdup(&n->arena, s->data, s->len);
    if (!copy)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes of a normalizer", s->len);
    s->data = copy;
    return SL_OK;
}

static sl_status check_text(sl_bytes s, sl_err *err)
{
    size_t n_chars = 0;
    if (sl_utf8_valid(s.data, s.len, &n_chars) < s.len)
        return sl_fail(err, SL_EFORMAT, "normalizer: a text that is not UTF-8");
    return SL_OK;
}

static sl_status user_tokens(sl_norm *n, const sl_lexicon *x, sl_err *err)
{
    if (n->user.n > 0)
        return SL_OK;
    sl_bytes *text = sl_mem_zalloc(x->n, sizeof *text);
    if (!text)
        return sl_fail(err, SL_ENOMEM, "no memory for a table of %zu tokens", x->n);
    for (size_t i = 0; i < x->n; i++)
        if (sl_lexicon_kind(x, i) == SL_TOKEN_USER)
            text[i] = sl_lexicon_bytes(x, i);
    const sl_status rc = sl_trie_init(&n->user, text, x->n, err);
    sl_mem_free(text);
    return rc;
}

static sl_status make_step(sl_norm *n, step *s, const sl_norm_step *from, const sl_lexicon *x, sl_err *err)
{
    s->as = *from;
    if (from->kind == SL_NORM_CHARSMAP || from->kind == SL_NORM_SENTENCEPIECE) {
        sl_status rc = sl_charsmap_init(&s->map, from->pattern, err);
        if (rc == SL_OK && from->kind == SL_NORM_SENTENCEPIECE)
            rc = user_tokens(n, x, err);
        return rc;
    }
    sl_status rc = check_text(from->text, err);
    if (rc == SL_OK)
        rc = check_text(from->pattern, err);
    if (rc == SL_OK && from->kind == SL_NORM_REPLACE && from->regex) {
        rc = sl_regex_create(&s->regex, &(sl_regex_pattern){ .text = from->pattern }, 1, err);
        if (rc != SL_OK)
            rc = sl_fail_in(err, rc, "normalizer Replace");
    }
    if (rc == SL_OK)
        rc = keep_bytes(n, &s->as.text, err);
    return rc == SL_OK ? keep_bytes(n, &s->as.pattern, err) : rc;
}

sl_status sl_norm_create(sl_norm **out, const sl_vocab *v, const sl_lexicon *x, sl_err *err)
{
    *out = NULL;
    if (v->n_norms == 0)
        return SL_OK;
    sl_norm *n = sl_mem_zalloc(1, sizeof *n);
    if (!n)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu bytes for a normalizer", sizeof *n);
    sl_arena_init(&n->arena, 1024);
    n->step = sl_mem_zalloc(v->n_norms, sizeof *n->step);
    sl_status rc = n->step ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for %zu steps of a normalizer", v->n_norms);
    while (rc == SL_OK && n->n < v->n_norms) {
        const size_t i = n->n++; /* counted first: what is half made is freed as well */
        rc = make_step(n, &n->step[i], &v->norms[i], x, err);
    }
    if (rc != SL_OK) {
        sl_norm_destroy(n);
        return rc;
    }
    *out = n;
    return SL_OK;
}

void sl_norm_destroy(sl_norm *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->n; i++) {
        sl_charsmap_fini(&n->step[i].map);
        sl_regex_destroy(n->step[i].regex);
    }
    sl_mem_free(n->step);
    sl_trie_fini(&n->user);
    sl_arena_fini(&n->arena);
    sl_mem_free(n);
}

void sl_norm_work_fini(sl_norm_work *w)
{
    sl_str_fini(&w->text[0]);
    sl_str_fini(&w->text[1]);
    sl_mem_free(w->points);
    sl_regex_work_fini(&w->regex);
    *w = (sl_norm_work){ 0 };
}

/* --- short steps ------------------------------------------------------------------------- */

static void append_char(uint32_t c, sl_str *out)
{
    char s[4];
    sl_str_append(out, s, sl_utf8_encode(c, s));
}

static void lowercase(sl_bytes in, sl_str *out)
{
    for (size_t at = 0; at < in.len;) {
        unsigned bytes = 1;
        uint32_t lower[2];
        const unsigned n = sl_char_lower(sl_utf8_decode(in.data + at, &bytes), lower);
        for (unsigned i = 0; i < n; i++)
            append_char(lower[i], out);
        at += bytes;
    }
}

static void strip_accents(sl_bytes in, sl_str *out)
{
    for (size_t at = 0; at < in.len;) {
        unsigned bytes = 1;
        if (!sl_char_is_accent(sl_utf8_decode(in.data + at, &bytes)))
            sl_str_append(out, in.data + at, bytes);
        at += bytes;
    }
}

static void nmt(sl_bytes in, sl_str *out)
{
    for (size_t at = 0; at < in.len;) {
        unsigned bytes = 1;
        const uint32_t c = sl_utf8_decode(in.data + at, &bytes);
        const bool blank = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
                           (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff ||
                           c == 0xfffd;
        const bool gone = (c > 0 && c < 0x20) || c == 0x7f || c == 0x8f || c == 0x9f;
        if (blank)
            sl_str_append(out, " ", 1);
        else if (!gone)
            sl_str_append(out, in.data + at, bytes);
        at += bytes;
    }
}

static sl_bytes strip(const sl_norm_step *s, sl_bytes in, bool inside)
{
    unsigned bytes = 1;
    while (s->left && !inside && in.len > 0 && sl_char_is_space(sl_utf8_decode(in.data, &bytes))) {
        in.data += bytes;
        in.len -= bytes;
    }
    while (s->right && in.len > 0) {
        size_t last = in.len - 1;
        while (((unsigned char)in.data[last] & 0xc0) == 0x80)
            last--;
        if (!sl_char_is_space(sl_utf8_decode(in.data + last, &bytes)))
            break;
        in.len = last;
    }
    return in;
}

static void replace(const sl_norm_step *s, sl_bytes in, sl_str *out)
{
    while (in.len > 0) {
        const char *hit = s->pattern.len > 0 ? memmem(in.data, in.len, s->pattern.data, s->pattern.len) : NULL;
        const size_t n = hit ? (size_t)(hit - in.data) : in.len, taken = hit ? n + s->pattern.len : n;
        sl_str_append(out, in.data, n);
        if (hit)
            sl_str_append(out, s->text.data, s->text.len);
        in.data += taken;
        in.len -= taken;
    }
}

static sl_status replace_pattern(const step *s, sl_norm_work *w, sl_bytes in, sl_str *out, sl_err *err)
{
    sl_regex_scan scan;
    size_t at = 0, first = 0, end = 0;
    bool found = true;
    sl_status rc = sl_regex_scan_begin(&scan, s->regex, 0, &w->regex, in.data, in.len, err);
    while (rc == SL_OK && found) {
        rc = sl_regex_scan_next(&scan, &found, &first, &end, err);
        if (rc != SL_OK || !found)
            break;
        sl_str_append(out, in.data + at, first - at);
        sl_str_append(out, s->as.text.data, s->as.text.len);
        at = end;
    }
    sl_str_append(out, in.data + at, in.len - at);
    return rc;
}

/* --- the steps in order ------------------------------------------------------------------ */

static bool is_ascii(sl_bytes s)
{
    size_t i = 0;
    while (s.len - i >= 8 && (sl_load_le64(s.data + i) & 0x8080808080808080u) == 0)
        i += 8;
    while (i < s.len && (unsigned char)s.data[i] < 0x80)
        i++;
    return i == s.len;
}

/* Steps that leave this text alone need no copy. */
static bool no_change(const sl_norm_step *s, sl_bytes in, bool inside)
{
    switch (s->kind) {
    case SL_NORM_NFC:
    case SL_NORM_NFD:
    case SL_NORM_NFKC:
    case SL_NORM_NFKD:
    case SL_NORM_STRIP_ACCENTS:
        return is_ascii(in);
    case SL_NORM_PREPEND:
        return in.len == 0 || inside;
    default:
        return in.len == 0;
    }
}

static sl_status run_step(const sl_norm *n, const step *s, sl_norm_work *w, sl_bytes in, bool inside, sl_str *out,
                          sl_err *err)
{
    switch (s->as.kind) {
    case SL_NORM_NFC:
    case SL_NORM_NFD:
    case SL_NORM_NFKC:
    case SL_NORM_NFKD:
        return sl_norm_form(s->as.kind, w, in, out, err);
    case SL_NORM_LOWERCASE:
        lowercase(in, out);
        break;
    case SL_NORM_STRIP: /* done in place */
        break;
    case SL_NORM_STRIP_ACCENTS:
        strip_accents(in, out);
        break;
    case SL_NORM_NMT:
        nmt(in, out);
        break;
    case SL_NORM_PREPEND:
        sl_str_append(out, s->as.text.data, s->as.text.len);
        sl_str_append(out, in.data, in.len);
        break;
    case SL_NORM_REPLACE:
        if (s->regex)
            return replace_pattern(s, w, in, out, err);
        replace(&s->as, in, out);
        break;
    case SL_NORM_CHARSMAP:
        sl_norm_charsmap(&s->map, in, out);
        break;
    case SL_NORM_SENTENCEPIECE:
        sl_norm_sentencepiece(&s->as, &s->map, &n->user, in, inside, out);
        break;
    }
    return SL_OK;
}

sl_status sl_norm_apply(const sl_norm *n, sl_norm_work *w, sl_bytes text, bool inside, sl_bytes *out, sl_err *err)
{
    unsigned turn = 0;
    *out = text;
    for (size_t i = 0; n && i < n->n; i++) {
        const step *s = &n->step[i];
        if (s->as.kind == SL_NORM_STRIP) {
            *out = strip(&s->as, *out, inside);
            continue;
        }
        if (no_change(&s->as, *out, inside))
            continue;
        sl_str *to = &w->text[turn];
        turn ^= 1;
        sl_str_clear(to);
        const sl_status rc = run_step(n, s, w, *out, inside, to, err);
        if (rc != SL_OK)
            return rc;
        if (to->failed)
            return sl_fail(err, SL_ENOMEM, "no memory for normalising %zu bytes of text", text.len);
        *out = (sl_bytes){ to->data ? to->data : "", to->len };
    }
    return SL_OK;
}
