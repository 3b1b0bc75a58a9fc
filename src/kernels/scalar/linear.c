/* scalar/linear.c - the matrix path in plain C: two panel types that hold every format.
 *
 *   f32   the values, [8 rows][columns]; any format, decoded by its reference in quant/
 *   int8  groups of 32 columns: whole numbers q with w = d * q + m, for the 8-bit activations
 *
 * Sums: f32 adds products in the order of k. int8 adds q * x of a group exactly as s32
 * (at most 32 * 128 * 127), then acc += sum * (d * dx), acc += m * dsum, in the order of groups. */
#include "kernels/kernels_in.h"

#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"
#include "quant/quant.h"

static const uint8_t *row_at(const sl_tensor *w, size_t r, size_t r1)
{
    return (const uint8_t *)w->data + SL_MIN(r, r1 - 1) * w->row_bytes;
}

/* ---- f32 ---------------------------------------------------------------------- */

static void decode_f32(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const sl_quant *quant = sl_quant_get(w->format);
    float *out = dst;
    for (size_t i = 0; i < SL_PANEL_ROWS; i++, out += k1 - k0)
        quant->decode_row(out, row_at(w, r0 + i, r1) + k0 / quant->block * quant->block_bytes, k1 - k0);
}

static void micro_f32(float *y, size_t ldy, const void *panel, size_t rows, size_t k0, size_t k1, const sl_act *x,
                      size_t t0, size_t t1, bool first)
{
    for (size_t t = t0; t < t1; t++, y += ldy) {
        const float *a = x->f32 + t * x->ldf + k0;
        for (size_t r = 0; r < rows; r++) {
            const float *b = (const float *)panel + r * (k1 - k0);
            float acc = first ? 0.0f : y[r];
            for (size_t i = 0; i < k1 - k0; i++)
                acc += b[i] * a[i];
            y[r] = acc;
        }
    }
}

/* ---- int8 --------------------------------------------------------------------- */

/* One group of one row; a panel is [groups][8 rows] of them. */
typedef struct int8_group {
    int8_t q[SL_GROUP];
    float d, m;
} int8_group;

static void unpack_q8_0(int8_group *out, const uint8_t *row, size_t g)
{
    sl_block_q8_0 b;
    memcpy(&b, row + g * sizeof b, sizeof b);
    memcpy(out->q, b.q, SL_GROUP);
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}

static void unpack_q4_0(int8_group *out, const uint8_t *row, size_t g)
{
    sl_block_q4_0 b;
    memcpy(&b, row + g * sizeof b, sizeof b);
    for (size_t j = 0; j < SL_GROUP / 2; j++) {
        out->q[j] = (int8_t)((b.q[j] & 15) - 8);
        out->q[j + SL_GROUP / 2] = (int8_t)((b.q[j] >> 4) - 8);
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = 0.0f;
}

static void unpack_q4_1(int8_group *out, const uint8_t *row, size_t g)
{
    sl_block_q4_1 b;
    memcpy(&b, row + g * sizeof b, sizeof b);
    for (size_t j = 0; j < SL_GROUP / 2; j++) {
        out->q[j] = (int8_t)(b.q[j] & 15);
        out->q[j + SL_GROUP / 2] = (int8_t)(b.q[j] >> 4);
    }
    out->d = sl_f32_from_f16(b.d);
    out->m = sl_f32_from_f16(b.m);
}

static void decode_int8(int8_group *dst, void (*unpack)(int8_group *, const uint8_t *, size_t), const sl_tensor *w,
                        size_t r0, size_t r1, size_t k0, size_t k1)
{
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++)
            unpack(dst++, row_at(w, r0 + i, r1), g);
}

static void decode_q8_0(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode_int8(dst, unpack_q8_0, w, r0, r1, k0, k1);
}

static void decode_q4_0(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode_int8(dst, unpack_q4_0, w, r0, r1, k0, k1);
}

static void decode_q4_1(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    decode_int8(dst, unpack_q4_1, w, r0, r1, k0, k1);
}

static void micro_int8(float *y, size_t ldy, const void *panel, size_t rows, size_t k0, size_t k1, const sl_act *x,
                       size_t t0, size_t t1, bool first)
{
    for (size_t t = t0; t < t1; t++, y += ldy) {
        for (size_t r = 0; r < rows; r++) {
            const int8_group *b = (const int8_group *)panel + r;
            float acc = first ? 0.0f : y[r];
            for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, b += SL_PANEL_ROWS) {
                const int8_t *a = x->q8 + (t * x->G + g) * SL_GROUP;
                int32_t sum = 0;
                for (size_t j = 0; j < SL_GROUP; j++)
                    sum += b->q[j] * a[j];
                acc += (float)sum * (b->d * x->d[t * x->G + g]);
                acc += b->m * x->dsum[t * x->G + g];
            }
            y[r] = acc;
        }
    }
}

/* ---- the table ---------------------------------------------------------------- */

static sl_panel panel_int8(sl_panel_decode_fn *decode)
{
    return (sl_panel){ .name = "int8 x8",
                       .needs = SL_NEED_Q8,
                       .group_bytes = SL_PANEL_ROWS * sizeof(int8_group),
                       .k_block = 1024,
                       .decode = decode,
                       .micro = micro_int8 };
}

void sl_linear_init_scalar(sl_kernels *k)
{
    const sl_panel f32 = { .name = "f32 x8",
                           .needs = SL_NEED_F32,
                           .group_bytes = SL_PANEL_ROWS * SL_GROUP * sizeof(float),
                           .k_block = 1024,
                           .decode = decode_f32,
                           .micro = micro_f32 };
    for (size_t f = 0; f < SL_FORMAT_COUNT; f++)
        for (size_t a = 0; a < SL_ACT_COUNT; a++)
            k->panel[f][a] = f32;
    k->panel[SL_FORMAT_Q8_0][SL_ACT_Q8] = panel_int8(decode_q8_0);
    k->panel[SL_FORMAT_Q4_0][SL_ACT_Q8] = panel_int8(decode_q4_0);
    k->panel[SL_FORMAT_Q4_1][SL_ACT_Q8] = panel_int8(decode_q4_1);
}
