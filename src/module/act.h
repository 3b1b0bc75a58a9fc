/* act.h - the input of matrix products in the forms that the weights ask for: cut out of memory, row by row. */
#ifndef SL_MODULE_ACT_H
#define SL_MODULE_ACT_H

#include "kernels/kernels.h"

/* Cut the arrays of `act` for T rows of K elements out of memory at `base`, or only count the bytes when that is NULL.
 * needs: SL_NEED_*; the f32 form only with own_f32 (else the caller points it at the rows that are there). */
size_t sl_act_cut(sl_act *act, unsigned char *base, size_t T, size_t K, unsigned needs, bool own_f32);
/* Fill the forms that were cut for rows t0..t1 from their f32 form. */
void sl_act_fill(const sl_kernels *k, const sl_act *act, size_t t0, size_t t1);
/* Whether a form of a row can be filled only once all of the row is known. */
static inline bool sl_act_by_rows(const sl_act *act)
{
    return act->token || act->rounded;
}
/* Row t alone, with its f32 form at x. */
sl_act sl_act_row(const sl_act *act, size_t t, const float *x);
/* Elements k0..k1 of row t alone, to be quantised: k0 is a multiple of 32, and so is k1 unless it is K. x: their f32
 * form. Of a part there is no form that is rounded to floats. */
sl_act sl_act_part(const sl_act *act, size_t t, size_t k0, size_t k1, const float *x);
/* Row `to` of dst becomes row `from` of src, in every form that both have; K is the same. */
void sl_act_copy_row(sl_act *dst, size_t to, const sl_act *src, size_t from);

#endif
