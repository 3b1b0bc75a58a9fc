/* unigram.c - forward over the characters, back along the best path. */
#include "tokenizer/unigram.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/num.h"
#include "tokenizer/utf8.h"

#define UNKNOWN_PENALTY 10.0
#define FLUSH_FROM      1024 /* bytes of a path that are written at once */
#define NOWHERE         UINT32_MAX

/* --- making ------------------------------------------------------------------------------ */

static sl_status copy_scores(sl_unigram *u, const sl_vocab *v, sl_err *err)
{
    double least = u->as_double ? DBL_MAX : FLT_MAX;
    if (!v->scores)
        return sl_fail(err, SL_EFORMAT, "vocabulary: no scores");
    u->score = sl_mem_alloc(v->n_tokens * sizeof *u->score);
    if (!u->score)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu scores", v->n_tokens);
    for (size_t i = 0; i < v->n_tokens; i++) {
        const sl_token_kind kind = sl_lexicon_kind(u->lexicon, i);
        if (isnan(v->scores[i]))
            return sl_fail(err, SL_EFORMAT, "vocabulary: the score of token %zu is not a number", i);
        u->score[i] = u->as_double ? v->scores[i] : (double)(float)v->scores[i];
        if (kind == SL_TOKEN_NORMAL || (u->as_double && kind != SL_TOKEN_UNUSED))
            least = SL_MIN(least, u->score[i]);
    }
    u->unknown = least - UNKNOWN_PENALTY;
    if (!u->as_double)
        u->unknown = (double)(float)u->unknown;
    return SL_OK;
}

static sl_status make_trie(sl_unigram *u, sl_err *err)
{
    const sl_lexicon *x = u->lexicon;
    sl_bytes *text = sl_mem_zalloc(x->n, sizeof *text);
    if (!text)
        return sl_fail(err, SL_ENOMEM, "no memory for a table of %zu tokens", x->n);
    for (size_t i = 0; i < x->n; i++)
        if (!(x->kind[i] & SL_LEXICON_VERBATIM))
            text[i] = sl_lexicon_bytes(x, i);
    const sl_status rc = sl_trie_init(&u->trie, text, x->n, err);
    sl_mem_free(text);
    return rc;
}

sl_status sl_unigram_init(sl_unigram *u, const sl_lexicon *x, const sl_vocab *v, sl_err *err)
{
    *u = (sl_unigram){ .lexicon = x,
                       .as_double = v->double_scores,
                       .byte_fallback = v->byte_fallback,
                       .fuse_unk = v->fuse_unk,
                       .unk = v->unk };
    for (unsigned byte = 0; byte < 256; byte++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", byte);
        u->byte_id[byte] = sl_lexicon_find(x, name, 6);
    }
    sl_status rc = copy_scores(u, v, err);
    if (rc == SL_OK)
        rc = make_trie(u, err);
    if (rc != SL_OK)
        sl_unigram_fini(u);
    return rc;
}

void sl_unigram_fini(sl_unigram *u)
{
    sl_mem_free(u->score);
    sl_trie_fini(&u->trie);
    *u = (sl_unigram){ 0 };
}

void sl_unigram_work_fini(sl_unigram_work *w)
{
    sl_mem_free(w->nodes);
    *w = (sl_unigram_work){ 0 };
}

/* --- the best path ----------------------------------------------------------------------- */

typedef struct node {
    double sum;    /* of the best path that ends here */
    int32_t id;    /* its last token; -1: unknown */
    uint32_t from; /* where that begins; on the way back, where the next one ends */
} node;

static inline void offer(const sl_unigram *u, node *end, double sum, int32_t id, uint32_t from)
{
    if (!u->as_double)
        sum = (double)(float)sum; /* of two floats: the same as adding floats */
    if (end->from == NOWHERE || sum > end->sum)
        *end = (node){ sum, id, from };
}

static double worth(const sl_unigram *u, int32_t id, size_t len)
{
    if (!u->as_double && sl_lexicon_kind(u->lexicon, (size_t)id) == SL_TOKEN_USER)
        return (double)((float)(len - 1) * 0.1f); /* sentencepiece 0.2.3, so that it is chosen */
    return u->score[id];
}

/* Places of a text from `origin` on, as far as tokens have reached. */
typedef struct window {
    node *at; /* at[k] is the place origin + k */
    size_t n; /* room */
    size_t origin, reach;
} window;

/* Nothing has arrived yet at the places up to `end`. */
static bool extend(sl_unigram_work *w, window *win, size_t end)
{
    if (end <= win->reach)
        return true;
    const size_t need = end - win->origin + 1;
    if (need > win->n) {
        const size_t n = SL_MAX(need, win->n * 2);
        node *grown = sl_mem_grow(win->at, (win->reach - win->origin + 1) * sizeof *grown, n * sizeof *grown);
        if (!grown)
            return false;
        w->nodes = win->at = grown;
        w->n_nodes = win->n = n;
    }
    for (size_t i = win->reach + 1; i <= end; i++)
        win->at[i - win->origin].from = NOWHERE;
    win->reach = end;
    return true;
}

/* Tokens that begin at text[i]. */
static bool forward(const sl_unigram *u, sl_unigram_work *w, window *win, const char *text, size_t len, size_t i)
{
    const sl_trie *t = &u->trie;
    const uint32_t from = (uint32_t)(i - win->origin);
    const double sum = win->at[from].sum;
    const size_t one = sl_utf8_length((unsigned char)text[i]);
    bool known = false;
    uint32_t place = 0;
    for (size_t k = i; t->n > 0 && k < len; k++) {
        place = sl_trie_step(t, place, (unsigned char)text[k]);
        if (place == 0)
            break;
        const int32_t id = t->node[place].value;
        if (id < 0)
            continue;
        if (!extend(w, win, k + 1))
            return false;
        known = known || k + 1 - i == one;
        offer(u, &win->at[k + 1 - win->origin], worth(u, id, k + 1 - i) + sum, id == u->unk ? -1 : id, from);
    }
    if (!known) {
        if (!extend(w, win, i + one))
            return false;
        offer(u, &win->at[i + one - win->origin], u->unknown + sum, -1, from);
    }
    return true;
}

/* Turns the links of the path round; the first token's end. */
static uint32_t turn(node *at, uint32_t end)
{
    uint32_t next = NOWHERE;
    while (end > 0) {
        const uint32_t from = at[end].from;
        at[end].from = next;
        next = end;
        end = from;
    }
    return next;
}

static sl_status emit_unknown(const sl_unigram *u, const char *text, size_t len, sl_ids *ids, sl_err *err)
{
    bool bytes = u->byte_fallback;
    for (size_t i = 0; i < len && bytes; i++)
        bytes = u->byte_id[(unsigned char)text[i]] >= 0;
    sl_status rc = SL_OK;
    const int32_t written = u->as_double ? sl_lexicon_find_bytes(u->lexicon, text, len) : -1;
    if (written >= 0) /* the unknown token's own name */
        return sl_ids_push(ids, written, err);
    for (size_t i = 0; i < len && bytes && rc == SL_OK; i++)
        rc = sl_ids_push(ids, u->byte_id[(unsigned char)text[i]], err);
    return bytes || u->unk < 0 ? rc : sl_ids_push(ids, u->unk, err);
}

/* The ids of the best path to at[end]. */
static sl_status emit_path(const sl_unigram *u, node *at, const char *text, uint32_t last, sl_ids *ids, sl_err *err)
{
    sl_status rc = SL_OK;
    for (uint32_t start = 0, end = turn(at, last); end != NOWHERE && rc == SL_OK;) {
        uint32_t next = at[end].from;
        if (at[end].id >= 0) {
            rc = sl_ids_push(ids, at[end].id, err);
        } else {
            for (; u->fuse_unk && next != NOWHERE && at[next].id < 0; next = at[next].from)
                end = next;
            rc = emit_unknown(u, text + start, end - start, ids, err);
        }
        start = end;
        end = next;
    }
    return rc;
}

sl_status sl_unigram_encode(const sl_unigram *u, sl_unigram_work *w, const char *text, size_t len, sl_ids *ids,
                            sl_err *err)
{
    sl_status rc = SL_OK;
    if (len > INT32_MAX)
        return sl_fail(err, SL_EINVAL, "%zu bytes of text without a break", len);
    if (!w->nodes) {
        w->nodes = sl_mem_alloc(2 * FLUSH_FROM * sizeof(node));
        if (!w->nodes)
            return sl_fail(err, SL_ENOMEM, "no memory for cutting a text into tokens");
        w->n_nodes = (size_t)2 * FLUSH_FROM;
    }
    window win = { .at = w->nodes, .n = w->n_nodes };
    win.at[0] = (node){ 0.0, -1, 0 };
    for (size_t i = 0; i < len && rc == SL_OK; i += sl_utf8_length((unsigned char)text[i])) {
        /* No token reaches over this place: the best path leads through it. An unknown one may go
         * on behind it, though. */
        const node *here = &win.at[i - win.origin];
        if (i == win.reach && i - win.origin >= FLUSH_FROM && here->id >= 0) {
            const double sum = here->sum;
            rc = emit_path(u, win.at, text + win.origin, (uint32_t)(i - win.origin), ids, err);
            win.origin = i;
            win.at[0] = (node){ sum, -1, 0 };
        }
        if (rc == SL_OK && !forward(u, w, &win, text, len, i))
            rc = sl_fail(err, SL_ENOMEM, "no memory for cutting %zu bytes of text without a break", len);
    }
    if (rc == SL_OK && len > win.origin)
        rc = emit_path(u, win.at, text + win.origin, (uint32_t)(len - win.origin), ids, err);
    return rc;
}

sl_status sl_unigram_encode_byte(const sl_unigram *u, unsigned char byte, sl_ids *ids, sl_err *err)
{
    const int32_t id = u->byte_id[byte] >= 0 ? u->byte_id[byte] : u->unk;
    return id >= 0 ? sl_ids_push(ids, id, err) : SL_OK;
}
