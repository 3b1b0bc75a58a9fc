/* linear.c - the one matrix path, y = x W^T, for every weight format and ISA.
 *
 * One token or a tile of them: `narrow` streams the stored rows through registers. SL_LANES, where there is `few`: the
 * tokens are turned, so that those of a group lie side by side. Else panels are decoded into scratch and all tokens
 * pass over them in blocks:
 *
 *   for 8, 16 or 64 rows:  for a block of columns:  decode 1, 2 or 8 panels
 *                                                   for 12 or 24 tokens:  micro
 *
 * As few panels as the type takes at once (few_panels: 1, or 2 for one broadcast of activations) stay in L1, and while
 * they are decoded the stored bytes of the next ones are fetched: up to some dozens of tokens memory is what limits.
 * With many tokens the activations no longer fit L2, and 8 panels there share each pass over them.
 *
 * Nothing here adds numbers, so the bits of an element depend on the panel type alone:
 * the block of columns is the panel's own (k_block), never a function of the tokens. */
#include "kernels/kernels.h"

#include <assert.h>
#include "base/num.h"
#include "quant/blocks.h"
#include "quant/interleave.h"

#define TOKENS_FEW  48  /* up to here as few panels at a time as the type allows */
#define TOKEN_BLOCK 12  /* whole register tiles of 3 and of 4; twice as many where a panel has all columns */
#define PIECE       256 /* columns of one decode */

size_t sl_linear_scratch(const sl_kernels *k, size_t K)
{
    static_assert(sizeof(sl_lanes) <= SL_PANEL_GROUP_MAX, "lanes lie where panels do");
    return SL_MAX(k->panels_bytes, sl_div_up(K, SL_GROUP) * SL_PANEL_GROUP_MAX);
}

static bool is_few(const sl_panel *p, size_t T)
{
    return p->few && T == SL_LANES;
}

unsigned sl_linear_needs(const sl_kernels *k, sl_act_type act, sl_format format, size_t T)
{
    const sl_panel *p = &k->panel[format][act];
    if (T <= p->narrow_max && !is_few(p, T))
        return p->narrow_needs;
    /* A large step may still come here in small pieces: the few tokens of one expert. */
    return p->needs | (p->narrow_max ? p->narrow_needs : 0) | (is_few(p, T) ? SL_NEED_LANES : 0);
}

/* How `wide` cuts a product: row blocks of `panels` x 8 rows, column blocks of `cols`, token blocks. */
typedef struct blocks {
    size_t panels, cols, tokens, panel_bytes;
} blocks;

static blocks choose_blocks(const sl_kernels *k, const sl_panel *p, size_t K, size_t T)
{
    const size_t all = sl_round_up(K, SL_GROUP);
    blocks b = { .cols = p->k_block ? SL_MIN(p->k_block, all) : all,
                 .tokens = p->k_block ? TOKEN_BLOCK : 2 * TOKEN_BLOCK };
    b.panel_bytes = b.cols / SL_GROUP * p->group_bytes;
    const size_t most = T > TOKENS_FEW ? SL_PANELS_MAX : SL_MAX(p->few_panels, 1);
    b.panels = SL_MAX(1, SL_MIN(most, k->panels_bytes / b.panel_bytes));
    return b;
}

/* Decode one panel in pieces, and after each ask for as much of 8 rows, which lie in one piece and begin `by` further
 * on: so the bus is busy throughout, and memory is read in its order. */
static void decode_ahead(const sl_panel *p, char *panel, const sl_tensor *w, size_t r, size_t r1, size_t by,
                         const void *next, size_t k0, size_t k1)
{
    const char *ahead = (const char *)w->data + (r + by) * w->row_bytes;
    if (next && r + by >= r1)
        ahead = (const char *)next + (r + by - r1) * w->row_bytes;
    for (size_t k = k0; k < k1; k += PIECE) {
        const size_t end = SL_MIN(k1, k + PIECE);
        p->decode(panel + (k - k0) / SL_GROUP * p->group_bytes, w, r, r1, k, end);
        /* exact, as k and end are whole blocks of the format */
        const size_t from = SL_PANEL_ROWS * (w->row_bytes * k / w->cols);
        sl_cpu_prefetch_bytes(ahead + from, SL_PANEL_ROWS * (w->row_bytes * end / w->cols) - from);
    }
}

static void wide(const sl_kernels *k, const sl_panel *p, float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1,
                 const void *next, const sl_act *x, size_t t0, size_t t1, char *scratch)
{
    const blocks b = choose_blocks(k, p, w->cols, t1 - t0);
    const size_t rows = SL_MIN(b.panels * SL_PANEL_ROWS, r1 - r0);
    for (size_t rb = r0; rb < r1; rb += rows) {
        const size_t rb1 = SL_MIN(r1, rb + rows);
        for (size_t k0 = 0; k0 < w->cols; k0 += b.cols) {
            const size_t k1 = SL_MIN(w->cols, k0 + b.cols);
            char *panel = scratch;
            for (size_t r = rb; r < rb1; r += SL_PANEL_ROWS, panel += b.panel_bytes)
                decode_ahead(p, panel, w, r, r1, rows, next, k0, k1);
            for (size_t t = t0; t < t1; t += b.tokens) {
                const size_t te = SL_MIN(t1, t + b.tokens);
                p->micro(y + (t - t0) * ldy + (rb - r0), ldy, scratch, b.panel_bytes, rb1 - rb, k0, k1, x, t, te,
                         k0 == 0);
            }
        }
    }
}

/* ---- several streams ------------------------------------------------------------- */

/* Rows that are read side by side lie a part of all rows from each other. So each of them begins a stream through
 * memory, the next row of which follows when it is through, and the CPU's own prefetchers run ahead in all at once.
 * Where rows are interleaved, what is said of rows goes for panels. */

#define NARROW_MOST 16 /* tokens */

const char sl_nothing_next[1] = "";

/* Rows that lie together in memory. */
static size_t together(const sl_tensor *w)
{
    return sl_format_is_interleaved(w->format) ? SL_PANEL_ROWS : 1;
}

static bool in_streams(const sl_kernels *k, const sl_panel *p, const sl_tensor *w, size_t n_rows, size_t T)
{
    const size_t most = SL_MIN(p->narrow_max, together(w) > 1 ? 1 : (size_t)NARROW_MOST);
    return k->several && p->streams && n_rows >= 2 * p->streams * together(w) && T <= most && !is_few(p, T);
}

/* Rows of each stream, of n rows. */
static size_t part_of(const sl_panel *p, const sl_tensor *w, size_t n)
{
    return n / (p->streams * together(w)) * together(w);
}

/* The beginnings of the streams of n rows like those of w, before which no prefetcher knows them. */
static void fetch_streams(const sl_panel *p, const sl_tensor *w, const char *rows, size_t n)
{
    const size_t part = part_of(p, w, n);
    for (size_t i = 0; i < p->streams; i++)
        sl_cpu_prefetch_bytes(rows + i * part * w->row_bytes, SL_BYTES_AHEAD / SL_PANEL_ROWS);
}

static void narrow_streams(const sl_panel *p, float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1,
                           const void *next, const sl_act *x, size_t t0, size_t t1)
{
    const size_t unit = together(w), n = p->streams * unit, part = part_of(p, w, r1 - r0);
    const char *rows = (const char *)w->data + r0 * w->row_bytes;
    float some[NARROW_MOST * SL_PANEL_ROWS];
    sl_tensor spread = *w; /* its rows, or panels, are row r, r + part, r + 2 * part ... */
    spread.rows = n;
    spread.row_bytes = part * w->row_bytes / unit;
    assert((t1 - t0) * n <= sizeof some / sizeof *some);
    for (size_t r = 0; r < part; r += unit) {
        spread.data = rows + r * w->row_bytes;
        if (r + unit == part) /* what lies there is most often as many rows of the same length */
            fetch_streams(p, w, next ? next : rows + (r1 - r0) * w->row_bytes, r1 - r0);
        p->narrow(some, n, &spread, 0, n, sl_nothing_next, x, t0, t1);
        for (size_t t = 0; t < t1 - t0; t++)
            for (size_t i = 0; i < n; i++)
                y[t * ldy + r + i / unit * part + i % unit] = some[t * n + i];
    }
    if (p->streams * part < r1 - r0)
        p->narrow(y + p->streams * part, ldy, w, r0 + p->streams * part, r1, next, x, t0, t1);
}

void sl_linear_fetch(const sl_kernels *k, sl_act_type act, const sl_tensor *w, const void *rows, size_t n, size_t T)
{
    const sl_panel *p = &k->panel[w->format][act];
    if (in_streams(k, p, w, n, T))
        fetch_streams(p, w, rows, n);
    else
        sl_cpu_prefetch_bytes(rows, sl_linear_ahead(w, SL_PANEL_ROWS));
}

/* ---- the choice ------------------------------------------------------------------ */

/* Tokens from t0 on as lanes: those of the step, or made here. */
static void few(const sl_kernels *k, const sl_panel *p, float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1,
                const void *next, const sl_act *x, size_t t0, sl_lanes *scratch)
{
    assert(!x->lanes || x->T == SL_LANES);
    if (!x->lanes)
        k->turn(scratch, x, t0);
    p->few(y, ldy, w, r0, r1, next, x->lanes ? x->lanes : scratch);
}

void sl_linear(const sl_kernels *k, sl_act_type act, float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1,
               const void *next, const sl_act *x, size_t t0, size_t t1, void *scratch)
{
    const sl_panel *p = &k->panel[w->format][act];
    assert(r0 <= r1 && r1 <= w->rows && t0 <= t1 && t1 <= x->T);
    assert(w->cols == x->K && ldy >= r1 - r0);
    if (r0 == r1 || t0 == t1)
        return;
    sl_act rounded = *x; /* which f32 panels read as any rows of f32 */
    if (p->needs & SL_NEED_ROUNDED) {
        rounded.f32 = x->rounded;
        rounded.ldf = x->K;
        x = &rounded;
    }
    if (is_few(p, t1 - t0))
        few(k, p, y, ldy, w, r0, r1, next, x, t0, scratch);
    else if (in_streams(k, p, w, r1 - r0, t1 - t0))
        narrow_streams(p, y, ldy, w, r0, r1, next, x, t0, t1);
    else if (t1 - t0 <= p->narrow_max)
        p->narrow(y, ldy, w, r0, r1, next, x, t0, t1);
    else
        wide(k, p, y, ldy, w, r0, r1, next, x, t0, t1, scratch);
}

/* ---- repacking ------------------------------------------------------------------ */

static_assert(SL_INTERLEAVED_ROWS == SL_PANEL_ROWS, "a panel is rows that are interleaved");

sl_format sl_linear_repacked(sl_format f)
{
    return sl_format_interleaved(f);
}

void sl_linear_repack(void *dst, const void *src, sl_format f, size_t row_bytes)
{
    sl_interleave(dst, src, f, row_bytes);
}
