/* packed.c - weights that are stored by columns, GPTQ and AWQ, and FP8, whose scales may be those of blocks. */
#include "packed.h"

#include <string.h>
#include "base/num.h"

static void *buffer(ca *c, size_t bytes)
{
    return c->bench ? ca_buf64(c, bytes) : ca_buf(c, bytes);
}

/* n scales in a type that depends on the shape. */
static void *make_scales(ca *c, sl_tensor *w, size_t n, bool ones)
{
    static const sl_scale_type types[] = { SL_SCALE_F16, SL_SCALE_BF16, SL_SCALE_F32 };
    w->scales.type = c->bench ? SL_SCALE_F16 : types[w->rows % SL_COUNT(types)];
    const size_t size = w->scales.type == SL_SCALE_F32 ? 4 : 2;
    uint8_t *scale = buffer(c, n * size);
    for (size_t i = 0; i < n; i++) {
        const float v = ones ? 1 : ca_uniform(c, -0.1f, 0.1f);
        const uint16_t h = w->scales.type == SL_SCALE_F16 ? sl_f16_from_f32(v) : sl_bf16_from_f32(v);
        memcpy(scale + i * size, size == 4 ? (const void *)&v : (const void *)&h, size);
    }
    return scale;
}

static void *make_bytes(ca *c, size_t n, ca_byte_fn *byte, const void *arg)
{
    uint8_t *data = buffer(c, n);
    for (size_t i = 0; i < n; i++)
        data[i] = byte(c, arg);
    return data;
}

static uint8_t any_byte(ca *c, const void *arg)
{
    (void)arg;
    return (uint8_t)ca_rand(c);
}

/* Rows before the first one of a matrix that was cut out. */
static size_t rows_before(const ca *c, const sl_tensor *w)
{
    static const size_t rows[] = { 0, 8, 0, 5 };
    return c->bench ? 0 : rows[w->rows % SL_COUNT(rows)];
}

static void make_order(ca *c, sl_tensor *w, size_t n_groups)
{
    int32_t *group_of = buffer(c, w->cols * sizeof *group_of);
    for (size_t k = 0; k < w->cols; k++)
        group_of[k] = (int32_t)(ca_rand(c) % n_groups);
    w->scales.group_of = group_of;
}

static void make_packed(ca *c, sl_tensor *w, ca_byte_fn *byte, const void *arg, bool ones)
{
    const bool any = w->format == SL_FORMAT_GPTQ4_ANY || w->format == SL_FORMAT_GPTQ8_ANY;
    const bool eight = w->format == SL_FORMAT_GPTQ8 || w->format == SL_FORMAT_GPTQ8_ANY;
    const size_t K = w->cols, first = rows_before(c, w), R = sl_round_up(first + w->rows, 8), in_word = eight ? 4 : 8;
    const size_t group = c->bench ? 128 : any ? 24 : w->rows % 4 == 0 ? K : K % 128 == 0 && w->rows % 2 ? 128 : 32;
    const size_t G = sl_div_up(K, group);
    sl_scales *s = &w->scales;
    w->data = make_bytes(c, R * K / (eight ? 1 : 2), byte, arg);
    w->row_bytes = 0;
    w->col_bytes = w->format == SL_FORMAT_AWQ4 ? R / 2 : R * 4;
    s->scale = make_scales(c, w, R * G, ones);
    s->row_bytes = s->type == SL_SCALE_F32 ? 4 : 2;
    s->col_bytes = R * s->row_bytes;
    s->rows = 1;
    s->group = group;
    s->first = first;
    s->offset = w->format != SL_FORMAT_AWQ4 && w->rows % 2;
    if (w->format == SL_FORMAT_AWQ4 || w->rows % 5 != 0) {
        s->zero = make_bytes(c, R / in_word * 4 * G, any_byte, NULL);
        s->zero_row_bytes = 4;
        s->zero_col_bytes = R / in_word * 4;
    }
    if (any && w->rows % 7 != 0)
        make_order(c, w, G);
}

/* Numbers only. */
static uint8_t e4m3(ca *c, const void *arg)
{
    (void)arg;
    const uint8_t v = (uint8_t)ca_rand(c);
    return (v & 0x7f) == 0x7f ? v ^ 1 : v;
}

/* One scale for all, one for each row, or one for each block of 128 x 128. */
static void make_f8(ca *c, sl_tensor *w, bool ones)
{
    const size_t kind = c->bench ? 2 : w->rows % 3, R = w->rows + rows_before(c, w);
    const size_t G = kind == 2 ? sl_div_up(w->cols, 128) : 1;
    sl_scales *s = &w->scales;
    w->row_bytes = w->cols;
    w->data = (uint8_t *)make_bytes(c, R * w->cols, e4m3, NULL) + (R - w->rows) * w->cols;
    s->first = R - w->rows;
    s->rows = kind == 2 ? 128 : 1;
    s->group = kind == 2 ? 128 : SIZE_MAX;
    s->scale = make_scales(c, w, sl_div_up(R, s->rows) * G, ones);
    s->col_bytes = kind == 2 ? s->type == SL_SCALE_F32 ? 4 : 2 : 0;
    s->row_bytes = kind == 0 ? 0 : kind == 1 ? s->type == SL_SCALE_F32 ? 4 : 2 : G * s->col_bytes;
}

void ca_packed(ca *c, sl_tensor *w, ca_byte_fn *byte, const void *arg, bool ones)
{
    if (w->format >= SL_FORMAT_F8_E4M3)
        make_f8(c, w, ones);
    else
        make_packed(c, w, byte, arg, ones);
}
