/* scales.h - scales and zero points that are tensors of their own (sl_scales). */
#ifndef SL_QUANT_SCALES_H
#define SL_QUANT_SCALES_H

#include "quant/quant.h"

/* The group of column c. */
size_t sl_scales_group(const sl_scales *s, size_t c);
/* The scale of row r, group g. */
float sl_scales_at(const sl_scales *s, size_t r, size_t g);
/* What is taken from a stored number of so many bits (4 or 8) in row r, group g: its zero point, or the offset that all
 * have. */
int sl_scales_zero(const sl_scales *s, size_t r, size_t g, unsigned bits);

/* out[0 .. k1 - k0) = scale * (q - zero) for columns k0 .. k1 of row r. q: the stored numbers of these columns. */
void sl_scales_apply(float *out, const sl_scales *s, size_t r, size_t k0, size_t k1, const int16_t *q, unsigned bits);

/* q[0 .. n) = the stored numbers of columns k0 .. k0 + n of row r. */
typedef void sl_numbers_fn(int16_t *q, const sl_tensor *t, size_t r, size_t k0, size_t n, unsigned bits);
/* out[0 .. k1 - k0) = the values of these columns. */
void sl_scales_decode(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1, sl_numbers_fn *numbers,
                      unsigned bits);
/* Columns 32g .. 32g+31 of row r, which have one scale, as whole numbers: q - zero, at most 256 either way. */
void sl_scales_take_group(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g, sl_numbers_fn *numbers,
                          unsigned bits);

#endif
