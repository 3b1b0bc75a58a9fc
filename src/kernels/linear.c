/* linear.c - the one matrix path, y = x W^T, for every weight format and ISA.
 *
 * Few tokens: `narrow` streams the stored rows through registers. Many: the panels of up to
 * 64 rows are decoded once into scratch (L2), then all tokens pass over them in blocks whose
 * activations stay in L1 while the panels change:
 *
 *   for 64 rows:  for a block of columns:  decode 8 panels
 *                                          for 12 tokens:  for each panel:  micro
 *
 * Nothing here adds numbers, so the bits of an element depend on the panel type alone:
 * the block of columns is the panel's own (k_block), never a function of the tokens. */
#include "kernels/kernels.h"

#include <assert.h>
#include "base/num.h"
#include "quant/blocks.h"

#define PANELS_MAX   8             /* of one row block */
#define PANELS_BYTES (256u * 1024) /* what they may take of L2, unless a single one is larger */
#define TOKEN_BLOCK  12            /* whole register tiles of 3 and of 4 tokens */

size_t sl_linear_scratch(size_t K)
{
    return SL_MAX(PANELS_BYTES, sl_div_up(K, SL_GROUP) * SL_PANEL_GROUP_MAX);
}

unsigned sl_linear_needs(const sl_kernels *k, sl_act_type act, sl_format format, size_t T)
{
    const sl_panel *p = &k->panel[format][act];
    if (T <= p->narrow_max)
        return p->narrow_needs;
    /* A large step may still come here in small pieces: the few tokens of one expert. */
    return p->needs | (p->narrow_max ? p->narrow_needs : 0);
}

static void wide(const sl_panel *p, float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x,
                 size_t t0, size_t t1, char *scratch)
{
    const size_t block = p->k_block ? p->k_block : sl_round_up(w->cols, SL_GROUP);
    const size_t panel_bytes = SL_MIN(block, sl_round_up(w->cols, SL_GROUP)) / SL_GROUP * p->group_bytes;
    const size_t n_panels = SL_MAX(1, SL_MIN(PANELS_MAX, PANELS_BYTES / panel_bytes));

    for (size_t rb = r0; rb < r1; rb += n_panels * SL_PANEL_ROWS) {
        const size_t rb1 = SL_MIN(r1, rb + n_panels * SL_PANEL_ROWS);
        for (size_t k0 = 0; k0 < w->cols; k0 += block) {
            const size_t k1 = SL_MIN(w->cols, k0 + block);
            char *panel = scratch;
            for (size_t r = rb; r < rb1; r += SL_PANEL_ROWS, panel += panel_bytes)
                p->decode(panel, w, r, rb1, k0, k1);
            for (size_t t = t0; t < t1; t += TOKEN_BLOCK) {
                const size_t te = SL_MIN(t1, t + TOKEN_BLOCK);
                panel = scratch;
                for (size_t r = rb; r < rb1; r += SL_PANEL_ROWS, panel += panel_bytes)
                    p->micro(y + (t - t0) * ldy + (r - r0), ldy, panel, SL_MIN(SL_PANEL_ROWS, rb1 - r), k0, k1, x, t,
                             te, k0 == 0);
            }
        }
    }
}

void sl_linear(const sl_kernels *k, sl_act_type act, float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1,
               const sl_act *x, size_t t0, size_t t1, void *scratch)
{
    const sl_panel *p = &k->panel[w->format][act];
    assert(r0 <= r1 && r1 <= w->rows && t0 <= t1 && t1 <= x->T);
    assert(w->cols == x->K && ldy >= r1 - r0);
    if (r0 == r1 || t0 == t1)
        return;
    if (t1 - t0 <= p->narrow_max)
        p->narrow(y, ldy, w, r0, r1, x, t0, t1);
    else
        wide(p, y, ldy, w, r0, r1, x, t0, t1, scratch);
}
