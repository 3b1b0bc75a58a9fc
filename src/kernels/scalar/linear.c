/* scalar/linear.c - the matrix path in plain C: two panel types that hold every format, as its reference in
 * quant/ decodes it.
 *
 *   f32   the values
 *   int   groups of 32 columns: whole numbers q with w = d * q + m, for the 8-bit activations; formats that have
 *         no such groups go as f32
 *
 * Sums: f32 adds products in the order of k. int adds q * x of a group exactly as s32
 * (at most 32 * 4096 * 127), then acc += sum * (d * dx), acc += m * dsum, in the order of groups. */
#include "kernels/kernels_in.h"

#include "base/num.h"
#include "quant/blocks.h"
#include "quant/quant.h"

/* ---- f32 ---------------------------------------------------------------------- */

/* A panel is [groups][8 rows][32 columns]; of the last group, what the row has. */
static void decode_f32(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const sl_quant *quant = sl_quant_get(w->format);
    const size_t step = SL_MAX(quant->block, (size_t)SL_GROUP);
    float *out = dst;
    for (size_t k = k0; k < k1; k += step, out += step * SL_PANEL_ROWS)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++) {
            float values[SL_SUPER];
            const size_t n = SL_MIN(step, k1 - k);
            quant->decode(values, w, SL_MIN(r0 + i, r1 - 1), k, k + n);
            for (size_t j = 0; j < n; j++)
                out[(j / SL_GROUP * SL_PANEL_ROWS + i) * SL_GROUP + j % SL_GROUP] = values[j];
        }
}

/* That of row r. */
static const void *panel_of(const void *panels, size_t stride, size_t r)
{
    return (const char *)panels + r / SL_PANEL_ROWS * stride;
}

static void micro_f32(float *y, size_t ldy, const void *panels, size_t stride, size_t rows, size_t k0, size_t k1,
                      const sl_act *x, size_t t0, size_t t1, bool first)
{
    for (size_t t = t0; t < t1; t++, y += ldy) {
        const float *a = x->f32 + t * x->ldf + k0;
        for (size_t r = 0; r < rows; r++) {
            const float *b = panel_of(panels, stride, r);
            b += r % SL_PANEL_ROWS * SL_GROUP;
            float acc = first ? 0.0f : y[r];
            for (size_t i = 0; i < k1 - k0; i++)
                acc += b[i / SL_GROUP * SL_GROUP * SL_PANEL_ROWS + i % SL_GROUP] * a[i];
            y[r] = acc;
        }
    }
}

/* ---- whole numbers --------------------------------------------------------------- */

/* A panel is [groups][8 rows] of sl_quant_group. */
static void decode_groups(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const sl_quant *quant = sl_quant_get(w->format);
    sl_quant_group *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++)
        for (size_t i = 0; i < SL_PANEL_ROWS; i++)
            quant->group(out++, w, SL_MIN(r0 + i, r1 - 1), g);
}

static void micro_groups(float *y, size_t ldy, const void *panels, size_t stride, size_t rows, size_t k0, size_t k1,
                         const sl_act *x, size_t t0, size_t t1, bool first)
{
    for (size_t t = t0; t < t1; t++, y += ldy) {
        for (size_t r = 0; r < rows; r++) {
            const sl_quant_group *b = panel_of(panels, stride, r);
            b += r % SL_PANEL_ROWS;
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

void sl_linear_init_scalar(sl_kernels *k)
{
    sl_panel f32 = { .name = "f32 x8",
                     .needs = SL_NEED_F32,
                     .group_bytes = SL_PANEL_ROWS * SL_GROUP * sizeof(float),
                     .k_block = 1024,
                     .decode = decode_f32,
                     .micro = micro_f32 };
    sl_panel whole = { .name = "int x8",
                       .needs = SL_NEED_Q8,
                       .group_bytes = SL_PANEL_ROWS * sizeof(sl_quant_group),
                       .k_block = 1024,
                       .decode = decode_groups,
                       .micro = micro_groups };
    for (size_t f = 0; f < SL_FORMAT_COUNT; f++) {
        f32.needs = SL_NEED_F32;
        k->panel[f][SL_ACT_F32] = f32;
        f32.needs = sl_need_rounded((sl_format)f);
        whole.needs = sl_need_8((sl_format)f);
        k->panel[f][SL_ACT_Q8] = sl_quant_get((sl_format)f)->group ? whole : f32;
    }
}
