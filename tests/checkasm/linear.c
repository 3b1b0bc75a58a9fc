/* linear.c - the matrix path: values against double, exact integers at their worst, and the
 * same bits whatever the number of tokens, the path and the blocks.
 *
 * Stored rows and activations end at a forbidden page, as a mapped file may. */
#include "packed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"
#include "quant/interleave.h"
#include "quant/quant.h"

enum { TOKENS_MAX = 53 }; /* of the test of bits: enough for row blocks of several panels */

typedef enum data_kind {
    DATA_PLAIN,
    DATA_UNIT, /* token t is 1 at column t, else 0 (f32): the result is the weights */
    /* Token t is 0 but for 32 columns, those of group t; scales of neighbours are a hundred times apart, in groups of
     * every size, of which the last is shorter (bug reports B151, B152): the wrong scale cannot hide behind the others.
     */
    DATA_ONE_GROUP,
    DATA_LARGE, /* activations of 30,000, all equal: no sum of them fits 16 bits (B148) */
    /* Scales of 1 and weights and activations at an end of their range, whose signs are: */
    DATA_ENDS_MIXED,
    DATA_ENDS_LOW_UP, /* lowest weights, highest activations */
    DATA_ENDS_LOW_DOWN,
    DATA_ENDS_HIGH_UP,
    DATA_ENDS_HIGH_DOWN,
    DATA_KIND_COUNT
} data_kind;

typedef struct shape {
    sl_format format;
    sl_act_type act;
    size_t R, K, T;
    data_kind kind;
} shape;

/* One product: inputs, result, and the values that the stored bytes mean. */
typedef struct product {
    const shape *s;
    sl_kernels k;
    sl_tensor w;
    sl_act x;
    float *y;              /* [T][ldy] */
    float *values, *parts; /* [R][K] */
    size_t ldy;
    void *scratch;
} product;

/* ---- inputs ------------------------------------------------------------------- */

static void put16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static void fill_floats(ca *c, uint8_t *data, const shape *s)
{
    for (size_t i = 0; i < s->R * s->K; i++) {
        const float v = ca_uniform(c, -1, 1);
        if (s->format == SL_FORMAT_F32)
            memcpy(data + 4 * i, &v, sizeof v);
        else
            put16(data + 2 * i, s->format == SL_FORMAT_F16 ? sl_f16_from_f32(v) : sl_bf16_from_f32(v));
    }
}

/* The two ends of a stored byte: of one s8, of two nibbles, of two 4-bit floats. */
static uint8_t end_byte(ca *c, const shape *s)
{
    const bool bytes = s->format == SL_FORMAT_Q8_0 || (s->format >= SL_FORMAT_INT8 && s->format <= SL_FORMAT_INT8_ANY);
    const bool floats = s->format == SL_FORMAT_MXFP4 || s->format == SL_FORMAT_MXFP4_SPLIT;
    const uint8_t low = bytes ? 0x80 : floats ? 0xff : 0x00, high = bytes ? 0x7f : floats ? 0x77 : 0xff;
    switch (s->kind) {
    case DATA_ENDS_LOW_UP:
    case DATA_ENDS_LOW_DOWN:
        return low;
    case DATA_ENDS_HIGH_UP:
    case DATA_ENDS_HIGH_DOWN:
        return high;
    default:
        return ca_rand(c) & 1 ? low : high;
    }
}

static int8_t end_act(ca *c, const shape *s)
{
    switch (s->kind) {
    case DATA_ENDS_LOW_UP:
    case DATA_ENDS_HIGH_UP:
        return 127;
    case DATA_ENDS_LOW_DOWN:
    case DATA_ENDS_HIGH_DOWN:
        return -127;
    default:
        return ca_rand(c) & 1 ? 127 : -127;
    }
}

/* Where a block keeps half floats, and the bytes of its small scales; the rest are weights. */
typedef struct layout {
    sl_format format;
    size_t n_halves, half[2];
    size_t scale, n_scales;
} layout;

static const layout layouts[] = {
    { SL_FORMAT_Q8_0, 1, { 0 }, 0, 0 },     { SL_FORMAT_Q4_0, 1, { 0 }, 0, 0 },
    { SL_FORMAT_Q4_1, 2, { 0, 2 }, 0, 0 },  { SL_FORMAT_Q5_0, 1, { 0 }, 0, 0 },
    { SL_FORMAT_Q5_1, 2, { 0, 2 }, 0, 0 },  { SL_FORMAT_Q2_K, 2, { 80, 82 }, 0, 16 },
    { SL_FORMAT_Q3_K, 1, { 108 }, 96, 12 }, { SL_FORMAT_Q4_K, 2, { 0, 2 }, 4, 12 },
    { SL_FORMAT_Q5_K, 2, { 0, 2 }, 4, 12 }, { SL_FORMAT_Q6_K, 1, { 208 }, 192, 16 },
    { SL_FORMAT_IQ4_NL, 1, { 0 }, 0, 0 },   { SL_FORMAT_IQ4_XS, 1, { 0 }, 2, 6 },
    { SL_FORMAT_TQ1_0, 1, { 52 }, 0, 0 },   { SL_FORMAT_TQ2_0, 1, { 64 }, 0, 0 },
    { SL_FORMAT_MXFP4, 0, { 0 }, 0, 1 },    { SL_FORMAT_NVFP4, 0, { 0 }, 0, 4 },
};

/* One byte of small scales; at the ends of the data, at an end of its own range. */
static uint8_t scale_byte(ca *c, const shape *s)
{
    if (s->format == SL_FORMAT_MXFP4 || s->format == SL_FORMAT_MXFP4_SPLIT)
        return s->kind < DATA_ENDS_MIXED ? (uint8_t)(120 + ca_rand(c) % 6) : 128;
    if (s->format == SL_FORMAT_NVFP4)
        return (uint8_t)(ca_rand(c) % 0x30);
    if (s->kind < DATA_ENDS_MIXED)
        return (uint8_t)ca_rand(c);
    if (s->format == SL_FORMAT_Q6_K)
        return ca_rand(c) & 1 ? 0x80 : 0x7f;
    return ca_rand(c) & 1 ? 0x00 : 0xff;
}

static void fill_blocks(ca *c, uint8_t *data, const shape *s)
{
    const sl_quant *q = sl_quant_get(s->format);
    const layout *l = layouts;
    while (l->format != sl_format_apart(s->format))
        l++;
    for (size_t b = 0; b < s->R * s->K / q->block; b++, data += q->block_bytes) {
        for (size_t i = 0; i < q->block_bytes; i++) {
            const bool scale = i - l->scale < l->n_scales;
            data[i] = scale ? scale_byte(c, s) : s->kind < DATA_ENDS_MIXED ? (uint8_t)ca_rand(c) : end_byte(c, s);
        }
        for (size_t i = 0; i < l->n_halves; i++)
            put16(data + l->half[i], sl_f16_from_f32(s->kind < DATA_ENDS_MIXED ? ca_uniform(c, -0.1f, 0.1f) : 1));
    }
}

/* What the two parts of a weight are worth, d * q and the minimum: they may be larger than their sum. */
static void decode_parts(float *out, const sl_quant *q, const sl_tensor *w, size_t r)
{
    const size_t K = w->cols;
    q->decode(out, w, r, 0, K);
    for (size_t k = 0; !q->minima && k < K; k++)
        out[k] = fabsf(out[k]);
    for (size_t g = 0; q->minima && g < K / SL_GROUP; g++) {
        sl_quant_group x;
        q->group(&x, w, r, g);
        for (size_t i = 0; i < SL_GROUP; i++)
            out[g * SL_GROUP + i] = fabsf(x.d * (float)x.q[i]) + fabsf(x.m);
    }
}

/* Columns that share a scale. */
static size_t group_size(const ca *c, const shape *s, bool any)
{
    const size_t whole[] = { 32, 64, 96, 128, 256, s->K }, others[] = { 8, 24, 40, 100, 128, s->K };
    const size_t plain[] = { s->K, 160, 32, 128 }; /* the last group may be short */
    if (c->bench)
        return 32;
    if (s->kind == DATA_ONE_GROUP)
        return (any ? others : whole)[s->R % 6];
    return any ? 24 : plain[s->R % 4];
}

/* Numbers with scales beside them, laid out in one of the ways that checkpoints have. */
static void make_scales(ca *c, product *p, uint8_t *data, size_t n_bytes)
{
    const shape *s = p->s;
    const bool any = s->format == SL_FORMAT_INT4_ANY || s->format == SL_FORMAT_INT8_ANY,
               plain = s->kind < DATA_ENDS_MIXED;
    const bool bytes = s->format >= SL_FORMAT_INT8;
    const sl_scale_type type = c->bench ? SL_SCALE_BF16 : (sl_scale_type)(s->R % 3);
    const size_t size = type == SL_SCALE_F32 ? 4 : 2;
    const size_t group = group_size(c, s, any);
    const size_t G = sl_div_up(s->K, group), per_word = bytes ? 4 : 8;
    uint8_t *scale = c->bench ? data + n_bytes : ca_buf(c, s->R * G * size);
    for (size_t i = 0; i < s->R * G; i++) {
        const float near = plain ? ca_uniform(c, -0.1f, 0.1f) : 1;
        const float v = s->kind == DATA_ONE_GROUP && i % G % 2 ? near / 100 : near;
        const uint16_t h = type == SL_SCALE_F16 ? sl_f16_from_f32(v) : sl_bf16_from_f32(v);
        memcpy(scale + i * size, size == 4 ? (const void *)&v : (const void *)&h, size);
    }
    for (size_t i = 0; i < n_bytes; i++)
        data[i] = plain ? (uint8_t)ca_rand(c) : end_byte(c, s);
    p->w.scales = (sl_scales){ .scale = scale,
                               .type = type,
                               .row_bytes = G * size,
                               .col_bytes = size,
                               .rows = 1,
                               .group = group,
                               .offset = bytes ? 0 : 8 };
    if (s->format == SL_FORMAT_INT4_ZP || any) {
        uint32_t *zero = ca_buf(c, sl_div_up(s->R, per_word) * G * sizeof *zero);
        for (size_t i = 0; i < sl_div_up(s->R, per_word) * G; i++)
            zero[i] = ca_rand(c);
        p->w.scales.zero = zero;
        p->w.scales.zero_row_bytes = G * sizeof *zero;
        p->w.scales.zero_col_bytes = sizeof *zero;
        p->w.scales.offset = 0;
    }
    if (any && !(s->kind == DATA_ONE_GROUP && s->R % 2)) {
        int32_t *group_of = ca_buf(c, s->K * sizeof *group_of);
        for (size_t k = 0; k < s->K; k++)
            group_of[k] = (int32_t)(ca_rand(c) % G);
        p->w.scales.group_of = group_of;
    }
}

/* MXFP4_SPLIT: every row, or the second of every two. */
static void make_split(ca *c, product *p)
{
    const shape *s = p->s;
    const size_t G = s->K / SL_GROUP, parts = c->bench ? 1 : 1 + s->R % 2, rows = s->R * parts;
    const size_t n_bytes = rows * G * (SL_GROUP / 2);
    /* The roof reads one piece of memory. */
    uint8_t *data = c->bench ? ca_buf64(c, n_bytes + rows * G) : ca_buf(c, n_bytes);
    uint8_t *scale = c->bench ? data + n_bytes : ca_buf(c, rows * G);
    for (size_t i = 0; i < n_bytes; i++)
        data[i] = s->kind < DATA_ENDS_MIXED ? (uint8_t)ca_rand(c) : end_byte(c, s);
    for (size_t i = 0; i < rows * G; i++)
        scale[i] = s->kind == DATA_UNIT && i % 7 == 0 ? (uint8_t)(i % 2) : scale_byte(c, s);
    const sl_tensor all = { .data = data,
                            .format = s->format,
                            .rows = rows,
                            .cols = s->K,
                            .row_bytes = G * (SL_GROUP / 2),
                            .scales = { .scale = scale,
                                        .type = SL_SCALE_E8M0,
                                        .row_bytes = G,
                                        .col_bytes = 1,
                                        .rows = 1,
                                        .group = SL_GROUP } };
    p->w = sl_tensor_every(&all, parts - 1, parts);
}

static bool by_columns(sl_format f)
{
    return f == SL_FORMAT_F32_T || f == SL_FORMAT_F16_T || f == SL_FORMAT_BF16_T;
}

/* Columns one after another, of every row or of the second of every two. */
static void make_columns(ca *c, product *p)
{
    const shape *s = p->s;
    const size_t size = sl_quant_get(s->format)->block_bytes, parts = c->bench ? 2 : 1 + s->R % 2;
    uint8_t *data = (c->bench ? ca_buf64 : ca_buf)(c, s->R * s->K * parts * size);
    for (size_t i = 0; i < s->R * s->K * parts; i++) {
        const float v = ca_uniform(c, -1, 1);
        if (size == sizeof v)
            memcpy(data + i * size, &v, size);
        else
            put16(data + i * size, s->format == SL_FORMAT_F16_T ? sl_f16_from_f32(v) : sl_bf16_from_f32(v));
    }
    const size_t part = c->bench ? 0 : parts - 1; /* the roof is read from an even place */
    p->w = (sl_tensor){ .data = data + part * size, .format = s->format, .rows = s->R, .cols = s->K };
    p->w.row_bytes = parts * size;
    p->w.col_bytes = s->R * parts * size;
}

static uint8_t number_byte(ca *c, const void *arg)
{
    const shape *s = arg;
    return s->kind < DATA_ENDS_MIXED ? (uint8_t)ca_rand(c) : end_byte(c, s);
}

/* Numbers with scales beside them, or columns together. */
static bool is_scaled(sl_format f)
{
    return f >= SL_FORMAT_INT4 && !sl_format_is_interleaved(f);
}

/* data = the same rows between each other, 8 by 8. */
static void interleave(ca *c, uint8_t *data, const shape *s, size_t row_bytes)
{
    const size_t n = SL_INTERLEAVED_ROWS * row_bytes;
    uint8_t *apart = ca_buf(c, n);
    for (size_t r = 0; r < s->R; r += SL_INTERLEAVED_ROWS, data += n) {
        memcpy(apart, data, n);
        sl_interleave(data, apart, sl_format_apart(s->format), row_bytes);
    }
}

static void make_rows(ca *c, product *p)
{
    const shape *s = p->s;
    size_t row_bytes = 0;
    if (!sl_quant_row_bytes(s->format, s->K, &row_bytes))
        ca_fail(c, "the test's own shape is wrong");
    /* With room for scales behind the numbers: when time is taken, all that a product reads lies in one piece. */
    uint8_t *data = (c->bench ? ca_buf64 : ca_buf)(c, s->R * row_bytes * (c->bench && is_scaled(s->format) ? 2 : 1));
    p->w = (sl_tensor){ .data = data, .format = s->format, .rows = s->R, .cols = s->K, .row_bytes = row_bytes };
    if (is_scaled(s->format))
        make_scales(c, p, data, s->R * row_bytes);
    else if (sl_quant_get(s->format)->block == 1)
        fill_floats(c, data, s);
    else
        fill_blocks(c, data, s);
    if (sl_format_is_interleaved(s->format))
        interleave(c, data, s, row_bytes);
}

static void make_weights(ca *c, product *p)
{
    const shape *s = p->s;
    if (s->format >= SL_FORMAT_GPTQ4 && is_scaled(s->format)) {
        p->w = (sl_tensor){ .format = s->format, .rows = s->R, .cols = s->K };
        ca_packed(c, &p->w, number_byte, s, s->kind >= DATA_ENDS_MIXED);
    } else {
        (by_columns(s->format) ? make_columns : s->format == SL_FORMAT_MXFP4_SPLIT ? make_split : make_rows)(c, p);
    }
    if (c->bench)
        return;
    p->values = ca_buf(c, s->R * s->K * sizeof *p->values);
    p->parts = ca_buf(c, s->R * s->K * sizeof *p->parts);
    for (size_t r = 0; r < s->R; r++) {
        sl_quant_get(s->format)->decode(p->values + r * s->K, &p->w, r, 0, s->K);
        decode_parts(p->parts + r * s->K, sl_quant_get(s->format), &p->w, r);
    }
}

/* Whether column k is one that DATA_ONE_GROUP leaves token t. */
static bool of_group(const shape *s, size_t t, size_t k)
{
    return k / SL_GROUP == t % sl_div_up(s->K, SL_GROUP);
}

/* Only the forms that the product asks for are there. */
static void make_acts(ca *c, product *p, unsigned needs)
{
    const shape *s = p->s;
    const size_t G = sl_div_up(s->K, SL_GROUP), ldf = needs & SL_NEED_F32 ? s->K + s->K % 3 : s->K;
    sl_act *x = &p->x;
    *x = (sl_act){ .T = s->T, .K = s->K, .G = G, .ldf = ldf };
    if (needs & (SL_NEED_F32 | SL_NEED_ROUNDED)) {
        float *f = ca_buf(c, ((s->T - 1) * ldf + s->K) * sizeof *f);
        for (size_t t = 0; t < s->T; t++) {
            ca_fill(c, f + t * ldf, s->K, CA_PLAIN);
            for (size_t k = 0; k < s->K; k++) {
                float *v = &f[t * ldf + k];
                *v = s->kind == DATA_UNIT                              ? (float)(k == t)
                     : s->kind == DATA_LARGE                           ? 3e4f
                     : s->kind == DATA_ONE_GROUP && !of_group(s, t, k) ? 0.0f
                                                                       : *v;
            }
        }
        *(needs & SL_NEED_F32 ? (float **)&x->f32 : &x->rounded) = f;
    }
    if (!(needs & (SL_NEED_Q8 | SL_NEED_T8)))
        return;
    x->q8 = ca_buf(c, s->T * G * SL_GROUP);
    x->d = ca_buf(c, s->T * G * sizeof *x->d);
    x->half = ca_buf(c, s->T * G * 2 * sizeof *x->half);
    x->eight = ca_buf(c, s->T * G * 2 * sizeof *x->eight);
    x->dsum = ca_buf(c, s->T * G * sizeof *x->dsum);
    for (size_t g = 0; g < s->T * G; g++) {
        x->d[g] = s->kind == DATA_LARGE ? 3e4f / 127 : s->kind < DATA_ENDS_MIXED ? ca_uniform(c, 0, 0.01f) : 1;
        x->half[2 * g] = x->half[2 * g + 1] = x->eight[2 * g] = x->eight[2 * g + 1] = 0;
        for (size_t i = g * SL_GROUP; i < (g + 1) * SL_GROUP; i++) {
            x->q8[i] = s->kind == DATA_LARGE       ? 127
                       : s->kind < DATA_ENDS_MIXED ? (int8_t)((int)(ca_rand(c) % 255) - 127)
                                                   : end_act(c, s);
            if (s->kind == DATA_ONE_GROUP && !of_group(s, i / (G * SL_GROUP), i % (G * SL_GROUP)))
                x->q8[i] = 0;
            x->half[i / (SL_GROUP / 2)] += x->q8[i];
            x->eight[2 * g + i % 4 / 2] += 8 * x->q8[i];
        }
        x->dsum[g] = x->d[g] * (float)(x->half[2 * g] + x->half[2 * g + 1]);
    }
    if (needs & SL_NEED_Q16) {
        x->q16 = ca_buf(c, s->T * G * SL_GROUP * sizeof *x->q16);
        for (size_t i = 0; i < s->T * G * SL_GROUP; i++)
            x->q16[i] = x->q8[i];
    }
}

/* `needs`: the forms of the activations that there are. */
static product make(ca *c, const shape *s, unsigned needs)
{
    product p = { .s = s, .k = *c->k, .ldy = s->R + 3 };
    make_weights(c, &p);
    make_acts(c, &p, needs);
    p.y = ca_buf(c, ((s->T - 1) * p.ldy + s->R) * sizeof *p.y);
    p.scratch = ca_buf64(c, sl_linear_scratch(c->k, s->K));
    return p;
}

static void run(void *arg)
{
    product *p = arg;
    sl_linear(&p->k, p->s->act, p->y, p->ldy, &p->w, 0, p->s->R, NULL, &p->x, 0, p->s->T, p->scratch);
}

/* ---- values ------------------------------------------------------------------- */

/* Sum of products in double, and of their magnitudes. */
static double reference(const product *p, size_t t, size_t r, double *size)
{
    const shape *s = p->s;
    const sl_act *x = &p->x;
    const float *w = p->values + r * s->K, *parts = p->parts + r * s->K;
    const float *floats = x->f32 ? x->f32 : x->rounded;
    double sum = 0;
    *size = 0;
    for (size_t k = 0; k < s->K; k++) {
        const size_t i = t * x->G * SL_GROUP + k;
        const double a = x->q8 ? (double)x->d[i / SL_GROUP] * x->q8[i] : floats[t * x->ldf + k];
        sum += w[k] * a;
        *size += parts[k] * fabs(a);
    }
    return sum;
}

/* Each product and each addition may be off by u of what has been added so far. Scalar code
 * adds K products one by one, wider code in at least 8 lanes or by groups of 32. */
static double bound(const product *p, ca *c, double size)
{
    const double K = (double)p->s->K, steps = c->isa == SL_ISA_SCALAR && !p->x.q8 ? 2 * K : K / 8 + 8;
    return 0x1p-24 * steps * size;
}

static void check_values(ca *c, const void *arg)
{
    const shape *s = arg;
    product p = make(c, s, sl_linear_needs(c->k, s->act, s->format, s->T));
    run(&p);
    ca_gaps(c, "y", p.y, s->T, s->R, p.ldy, sizeof *p.y);
    for (size_t t = 0; t < s->T; t++)
        for (size_t r = 0; r < s->R; r++) {
            double size = 0;
            const double want = reference(&p, t, r, &size);
            ca_near(c, "y", t * s->R + r, p.y[t * p.ldy + r], want, bound(&p, c, size));
        }
}

/* The weights come out as the reference decodes them, bit for bit but for the sign of zero. */
static void check_decoded(ca *c, const void *arg)
{
    const shape *s = arg;
    product p = make(c, s, sl_linear_needs(c->k, s->act, s->format, s->T));
    run(&p);
    for (size_t t = 0; t < s->T; t++)
        for (size_t r = 0; r < s->R; r++)
            ca_near(c, "y", t * s->R + r, p.y[t * p.ldy + r], p.values[r * s->K + t], 0);
}

/* With scales of 1 every partial sum is a whole number below 2^24 up to K = 1024: exact. Super-blocks have
 * small scales too; their sums are rounded, by less than what a saturated one would be off. */
static void check_ends(ca *c, const void *arg)
{
    const shape *s = arg;
    product p = make(c, s, sl_linear_needs(c->k, s->act, s->format, s->T));
    run(&p);
    for (size_t t = 0; t < s->T; t++)
        for (size_t r = 0; r < s->R; r++) {
            double size = 0;
            const double want = reference(&p, t, r, &size);
            const bool exact = sl_quant_get(s->format)->block < SL_SUPER;
            ca_near(c, "y", t * s->R + r, p.y[t * p.ldy + r], want, exact ? 0 : bound(&p, c, size));
        }
}

/* ---- the same bits ------------------------------------------------------------ */

/* Rows r0..r1 and tokens t0..t1 alone, by the path that `k` chooses, against p->y. */
static void same_part(ca *c, const product *p, const sl_kernels *k, const char *what, size_t r0, size_t r1, size_t t0,
                      size_t t1)
{
    enum { PART_MAX = 67 * TOKENS_MAX };
    static float part[PART_MAX];
    const size_t ld = r1 - r0;
    memset(part, CA_CANARY, sizeof part);
    const void *next = r0 % 2 ? p->w.data : NULL; /* a hint, which changes nothing */
    sl_linear(k, p->s->act, part, ld, &p->w, r0, r1, next, &p->x, t0, t1, p->scratch);
    for (size_t t = t0; t < t1; t++)
        ca_same(c, what, part + (t - t0) * ld, p->y + t * p->ldy + r0, ld, sizeof *part);
}

static sl_panel_few_fn *few;
static size_t few_calls;

static void count_few(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                      const sl_lanes *lanes)
{
    few_calls++;
    few(y, ldy, w, r0, r1, next, lanes);
}

/* The lanes of a step, which are there already; rows r0..r1 of them alone, too. */
static void lanes_of_step(ca *c, const product *p, size_t r0, size_t r1)
{
    sl_kernels k = p->k;
    sl_lanes *lanes = ca_buf64(c, p->x.G * sizeof *lanes);
    product step = *p;
    step.x.T = SL_LANES;
    k.turn(lanes, &step.x, 0);
    step.x.lanes = lanes;
    k.turn = NULL;
    same_part(c, &step, &k, "lanes of the step", 0, p->s->R, 0, SL_LANES);
    same_part(c, &step, &k, "lanes of the step, some rows", r0, r1, 0, SL_LANES);
}

/* Tokens are lanes if there are just so many: those of a step whose lanes are there already, or others. */
static void same_lanes(ca *c, const product *p)
{
    const shape *s = p->s;
    sl_kernels k = p->k;
    few = k.panel[s->format][s->act].few;
    k.panel[s->format][s->act].few = count_few;
    few_calls = 0;
    same_part(c, p, &k, "fewer tokens than lanes", 0, s->R, 0, SL_LANES - 1);
    same_part(c, p, &k, "more tokens than lanes", 0, s->R, 0, SL_LANES + 1);
    if (few_calls || sl_linear_needs(&k, s->act, s->format, SL_LANES - 1) & SL_NEED_LANES)
        ca_fail(c, "more or fewer tokens are lanes");
    same_part(c, p, &k, "lanes", 0, s->R, 1, 1 + SL_LANES);
    same_part(c, p, &k, "lanes, some rows", s->R / 3, s->R - s->R / 4, 2, 2 + SL_LANES);
    if (few_calls != 2 || !(sl_linear_needs(&k, s->act, s->format, SL_LANES) & SL_NEED_LANES))
        ca_fail(c, "tokens are no lanes");
    lanes_of_step(c, p, s->R / 3, s->R - s->R / 4);
}

/* Micro over blocks of `block` columns, the driver left out. */
static void same_blocks(ca *c, const product *p, size_t block)
{
    const shape *s = p->s;
    const sl_panel *panel = &p->k.panel[s->format][s->act];
    const size_t r = s->R > 9 ? 7 : 0, ld = 2 * SL_PANEL_ROWS, rows = SL_MIN(ld, s->R - r);
    float y[TOKENS_MAX * 2 * SL_PANEL_ROWS];
    sl_act x = p->x;
    x.f32 = x.f32 ? x.f32 : x.rounded;
    memset(y, CA_CANARY, sizeof y);
    for (size_t k0 = 0; k0 < s->K; k0 += block) {
        const size_t k1 = SL_MIN(s->K, k0 + block), stride = sl_div_up(k1 - k0, SL_GROUP) * panel->group_bytes;
        for (size_t i = 0; i < rows; i += SL_PANEL_ROWS)
            panel->decode((char *)p->scratch + i / SL_PANEL_ROWS * stride, &p->w, r + i, s->R, k0, k1);
        panel->micro(y, ld, p->scratch, stride, rows, k0, k1, &x, 0, s->T, k0 == 0);
    }
    for (size_t t = 0; t < s->T; t++)
        ca_same(c, "by blocks of columns", y + t * ld, p->y + t * p->ldy + r, rows, sizeof *y);
}

static void check_bits(ca *c, const void *arg)
{
    const shape *s = arg;
    const sl_panel *panel = &c->k->panel[s->format][s->act];
    product p = make(c, s, panel->needs | panel->narrow_needs);
    run(&p);
    sl_kernels wide = p.k;
    wide.panel[s->format][s->act].narrow_max = 0;
    wide.panel[s->format][s->act].few = NULL;
    sl_kernels other = p.k; /* one stream or several */
    other.several = !other.several;

    for (size_t n = 1; n <= s->T; n += n < 20 ? 1 : 11) {
        const size_t t0 = (s->T - n) / 2;
        same_part(c, &p, &p.k, "fewer tokens", 0, s->R, t0, t0 + n);
        same_part(c, &p, &wide, "fewer tokens, panels", 0, s->R, t0, t0 + n);
        const size_t r0 = n % s->R, r1 = SL_MIN(s->R, r0 + 1 + n);
        same_part(c, &p, &other, "fewer tokens, other streams", 0, s->R, t0, t0 + n);
        same_part(c, &p, &other, "fewer tokens and rows, other streams", r0, s->R, 0, n);
        same_part(c, &p, &p.k, "fewer rows", r0, r1, 0, n);
        same_part(c, &p, &wide, "fewer rows, panels", r0, r1, s->T - n, s->T);
    }
    if (panel->few)
        same_lanes(c, &p);
    if (panel->k_block)
        for (size_t block = SL_MAX(32, sl_quant_get(s->format)->block); block <= s->K; block *= 3)
            same_blocks(c, &p, block);
}

/* Interleaved rows against the same rows apart: whole, and by eights; few tokens, many, and panels for few. */
static void check_interleaved(ca *c, const void *arg)
{
    const shape *s = arg;
    shape other = *s;
    other.format = sl_format_interleaved(s->format);
    const sl_panel *panel = &c->k->panel[s->format][s->act], *as = &c->k->panel[other.format][s->act];
    product p = make(c, s, panel->needs | panel->narrow_needs | as->needs | as->narrow_needs);
    run(&p);
    const size_t n = s->R * p.w.row_bytes;
    uint8_t *data = ca_buf(c, n);
    memcpy(data, p.w.data, n);
    interleave(c, data, &other, p.w.row_bytes);
    p.s = &other;
    p.w.data = data;
    p.w.format = other.format;
    float *values = ca_buf(c, s->K * sizeof *values);
    for (size_t r = 0; r < s->R; r++) {
        sl_quant_get(other.format)->decode(values, &p.w, r, 0, s->K);
        ca_same(c, "values", values, p.values + r * s->K, s->K, sizeof *values);
    }
    sl_kernels wide = p.k;
    wide.panel[other.format][s->act].narrow_max = 0;
    wide.panel[other.format][s->act].few = NULL;
    sl_kernels streams = p.k; /* one stream or several */
    streams.several = !streams.several;
    if (as->few)
        lanes_of_step(c, &p, 0, SL_INTERLEAVED_ROWS);
    for (size_t i = 1; i <= s->T; i += i < 20 ? 1 : 11) {
        const size_t r0 = SL_INTERLEAVED_ROWS * (i % (s->R / SL_INTERLEAVED_ROWS));
        same_part(c, &p, &p.k, "interleaved", 0, s->R, 0, i);
        same_part(c, &p, &wide, "interleaved, panels", 0, s->R, s->T - i, s->T);
        same_part(c, &p, &p.k, "interleaved, some rows", r0, s->R, s->T - i, s->T);
        same_part(c, &p, &wide, "interleaved, some rows, panels", r0, s->R, 0, i);
        same_part(c, &p, &streams, "interleaved, other streams", 0, s->R, s->T - i, s->T);
        same_part(c, &p, &streams, "interleaved, some rows, other streams", r0, s->R, 0, i);
    }
}

/* ---- time --------------------------------------------------------------------- */

/* Of the numbers, without scales beside them. */
static size_t stored_bytes(const shape *s)
{
    const sl_quant *q = sl_quant_get(s->format);
    return s->R * (s->K / q->block * q->block_bytes);
}

static void bench(ca *c, const void *arg)
{
    const shape *s = arg;
    product p = make(c, s, sl_linear_needs(c->k, s->act, s->format, s->T));
    run(&p);
    const ca_roof roof = { .data = p.w.data,
                           .bytes = stored_bytes(s),
                           .ops = 2 * (double)s->R * (double)s->K * (double)s->T,
                           .peak = sl_peak_of(sl_format_name(s->format), s->act == SL_ACT_Q8) };
    ca_time_roof(c, run, &p, &roof);
}

static void bench_format(ca *c, shape s)
{
    /* One token and eight: a matrix that the second-level cache holds, and one that no cache holds. Prompts: a
     * tile's rows, by 512 tokens. */
    static const size_t shapes[][3] = { { 256, 1024, 1 }, { 32768, 3072, 1 }, { 256, 1024, 8 }, { 32768, 3072, 8 },
                                        { 64, 576, 512 }, { 64, 1024, 512 },  { 64, 3072, 512 } };
    const size_t block = sl_quant_get(s.format)->block;
    for (size_t i = 0; i < (c->isa == SL_ISA_SCALAR ? 1 : SL_COUNT(shapes)); i++) {
        s.R = shapes[i][0], s.K = sl_round_up(shapes[i][1], block), s.T = shapes[i][2];
        ca_case(c, bench, &s, "linear %s as %s, R=%zu K=%zu T=%zu", sl_format_name(s.format),
                c->k->panel[s.format][s.act].name, s.R, s.K, s.T);
    }
}

/* ---- shapes ------------------------------------------------------------------- */

static void check_format(ca *c, shape s)
{
    char name[64];
    snprintf(name, sizeof name, "%s as %s,", sl_format_name(s.format), c->k->panel[s.format][s.act].name);
    const size_t block = sl_quant_get(s.format)->block;
    for (const size_t *w = ca_widths_of(c); *w; w++) {
        s.K = *w * (block == 1 ? 1 : *w > 67 ? 1 : SL_MAX(block, (size_t)SL_GROUP)), s.R = 1 + *w % 19;
        if (s.K % block != 0)
            continue;
        static const size_t tokens[] = { 1, 2, 3, 4, 7, 27 };
        s.T = tokens[*w % SL_COUNT(tokens)];
        ca_case(c, check_values, &s, "linear %s values R=%zu K=%zu T=%zu", name, s.R, s.K, s.T);
    }
    static const size_t large[][3] = { { 67, 1056, 6 }, { 80, 1536, 37 }, { 13, 2848, 3 },
                                       { 9, 2853, 29 }, { 72, 3072, 50 }, { 1, 8192, 1 } };
    for (size_t i = 0; i < SL_COUNT(large); i++) {
        s.R = large[i][0], s.K = sl_round_up(large[i][1], block), s.T = large[i][2];
        ca_case(c, check_values, &s, "linear %s values R=%zu K=%zu T=%zu", name, s.R, s.K, s.T);
    }

    if (s.format == SL_FORMAT_INT4_ANY || s.format == SL_FORMAT_INT8_ANY) { /* more groups than are kept at once */
        s.R = 9, s.K = 24 * 2050, s.T = 2;
        ca_case(c, check_values, &s, "linear %s values of many groups", name);
    }

    static const size_t bits[][3] = { { 29, 96, 20 },           { 17, 576, 20 },  { 3, 1024, 20 },
                                      { 67, 1056, TOKENS_MAX }, { 11, 3072, 20 }, { 12, 1035, 20 } };
    for (size_t i = 0; i < SL_COUNT(bits); i++) {
        s.R = bits[i][0], s.K = sl_round_up(bits[i][1], block), s.T = bits[i][2];
        ca_case(c, check_bits, &s, "linear %s bits R=%zu K=%zu", name, s.R, s.K);
    }

    for (size_t i = 0; i < 6 * 5; i++) {
        static const size_t T[] = { 1, 3, 4, 13, TOKENS_MAX };
        s.R = 12 + i % 6, s.K = sl_round_up(i % 2 ? 352 : 1056, block), s.T = T[i / 6], s.kind = DATA_ONE_GROUP;
        ca_case(c, check_values, &s, "linear %s one group R=%zu K=%zu T=%zu", name, s.R, s.K, s.T);
        s.kind = DATA_LARGE;
        ca_case(c, check_values, &s, "linear %s large R=%zu K=%zu T=%zu", name, s.R, s.K, s.T);
    }

    s.kind = DATA_PLAIN;
    if (sl_format_interleaved(s.format) != SL_FORMAT_COUNT)
        for (size_t i = 0; i < 5; i++) {
            static const size_t R[] = { 8, 24, 64, 40, 104 }, K[] = { 96, 1056, 2848, 512, 288 };
            s.R = R[i], s.K = sl_round_up(K[i], block), s.T = i % 2 ? 33 : 9;
            ca_case(c, check_interleaved, &s, "linear %s interleaved R=%zu K=%zu", name, s.R, s.K);
        }
    if (!sl_quant_get(s.format)->group && s.act != SL_ACT_F32)
        return;
    if (s.act == SL_ACT_F32) {
        s.R = 11, s.K = s.T = block == 1 ? 77 : sl_round_up(96, block), s.kind = DATA_UNIT;
        ca_case(c, check_decoded, &s, "linear %s decoded", name);
        return;
    }
    for (size_t kind = DATA_ENDS_MIXED; kind < DATA_KIND_COUNT; kind++)
        for (size_t T = 1; T <= 9; T++) {
            s.R = 12, s.K = T & 1 ? 1024 : SL_MAX(block, (size_t)SL_GROUP), s.T = T, s.kind = (data_kind)kind;
            ca_case(c, check_ends, &s, "linear %s ends K=%zu T=%zu kind=%zu", name, s.K, T, kind);
        }
}

/* The same functions as in another slot. */
static bool once_more(ca *c, const shape *s)
{
    const sl_panel *p = &c->k->panel[s->format][s->act];
    if (p->needs & SL_NEED_ROUNDED)
        return c->bench;
    if (sl_format_is_interleaved(s->format)) /* checked against the same rows apart */
        return !c->bench || s->act == SL_ACT_F32;
    return (s->act != SL_ACT_F32 && !sl_quant_get(s->format)->group) || s->format > SL_FORMAT_F8_E4M3;
}

void check_linear(ca *c)
{
    for (size_t f = 0; f < SL_FORMAT_COUNT; f++)
        for (size_t a = 0; a < SL_ACT_COUNT; a++) {
            const shape s = { .format = (sl_format)f, .act = (sl_act_type)a };
            if (!CA_NEW(c, panel[f][a].micro) && !CA_NEW(c, panel[f][a].decode))
                continue;
            if (once_more(c, &s))
                continue;
            if (c->bench)
                bench_format(c, s);
            else
                check_format(c, s);
        }
}
