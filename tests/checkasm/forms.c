/* forms.c - the same weights of 4 bits in all the formats that can hold them: their products are the same bits. */
#include "checkasm.h"

#include <string.h>
#include "base/num.h"
#include "quant/blocks.h"
#include "quant/interleave.h"

enum { TOKENS = 33, GROUP = SL_GROUP }; /* columns that share a scale: as many as a block of Q4_0 has */

typedef struct shape {
    size_t R, K;    /* multiples of 8 and of GROUP */
    bool symmetric; /* every zero point is 8 */
} shape;

/* w[r][k] = d[r][g] * (q[r][k] - zero[r][g]) */
typedef struct numbers {
    size_t R, K, G;
    uint8_t *q, *zero; /* [R][K], [R][G], below 16; zero points are not 0 */
    uint16_t *d;       /* [R][G] half floats */
} numbers;

static numbers draw(ca *c, const shape *s)
{
    numbers n = { .R = s->R, .K = s->K, .G = s->K / GROUP };
    n.q = ca_buf(c, n.R * n.K);
    n.zero = ca_buf(c, n.R * n.G);
    n.d = ca_buf(c, n.R * n.G * sizeof *n.d);
    for (size_t i = 0; i < n.R * n.K; i++)
        n.q[i] = ca_rand(c) % 16;
    for (size_t i = 0; i < n.R * n.G; i++) {
        n.zero[i] = s->symmetric ? 8 : 1 + ca_rand(c) % 15;
        n.d[i] = sl_f16_from_f32(ca_uniform(c, -0.1f, 0.1f));
    }
    return n;
}

static void put_word(uint8_t *p, uint32_t v)
{
    for (size_t i = 0; i < 4; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* ---- one matrix in each format ------------------------------------------------------ */

static sl_tensor as_q4_0(ca *c, const numbers *n)
{
    sl_tensor t = { .format = SL_FORMAT_Q4_0, .rows = n->R, .cols = n->K, .row_bytes = n->G * sizeof(sl_block_q4_0) };
    uint8_t *out = ca_buf(c, n->R * t.row_bytes);
    t.data = out;
    for (size_t g = 0; g < n->R * n->G; g++, out += sizeof(sl_block_q4_0)) {
        const uint8_t *q = n->q + g * GROUP;
        out[0] = (uint8_t)n->d[g], out[1] = (uint8_t)(n->d[g] >> 8);
        for (size_t i = 0; i < GROUP / 2; i++)
            out[2 + i] = (uint8_t)(q[i] | q[i + GROUP / 2] << 4);
    }
    return t;
}

static sl_tensor interleaved(ca *c, const sl_tensor *apart)
{
    sl_tensor t = *apart;
    const size_t step = SL_INTERLEAVED_ROWS * t.row_bytes;
    char *out = ca_buf(c, t.rows * t.row_bytes);
    for (size_t at = 0; at < t.rows * t.row_bytes; at += step)
        sl_interleave(out + at, (const char *)apart->data + at, apart->format, t.row_bytes);
    t.data = out;
    t.format = sl_format_interleaved(apart->format);
    return t;
}

/* Zero points less `offset` in words of 8 rows, the nibble of row j at bit at[j]: G groups of a word, or a word of each
 * group. */
static void put_zeros(ca *c, sl_scales *s, const numbers *n, const uint8_t at[8], unsigned offset, bool by_words)
{
    const size_t words = n->R / 8;
    uint8_t *out = ca_buf(c, words * n->G * 4);
    s->zero = out;
    s->zero_row_bytes = by_words ? n->G * 4 : 4;
    s->zero_col_bytes = by_words ? 4 : words * 4;
    s->offset = offset;
    for (size_t w = 0; w < words; w++)
        for (size_t g = 0; g < n->G; g++) {
            uint32_t word = 0;
            for (size_t j = 0; j < 8; j++)
                word |= (uint32_t)(n->zero[(8 * w + j) * n->G + g] - offset) << at[j];
            put_word(out + w * s->zero_row_bytes + g * s->zero_col_bytes, word);
        }
}

static const uint8_t in_order[8] = { 0, 4, 8, 12, 16, 20, 24, 28 }, by_halves[8] = { 0, 16, 4, 20, 8, 24, 12, 28 };

static sl_tensor as_int4(ca *c, const numbers *n, bool zeros)
{
    sl_tensor t = { .format = zeros ? SL_FORMAT_INT4_ZP : SL_FORMAT_INT4, .rows = n->R, .cols = n->K };
    uint8_t *out = ca_buf(c, n->R * n->K / 2);
    t.data = out;
    t.row_bytes = n->K / 2;
    for (size_t i = 0; i < n->R * n->K / 2; i++)
        out[i] = (uint8_t)(n->q[2 * i] | n->q[2 * i + 1] << 4);
    t.scales = (sl_scales){ .scale = n->d, .type = SL_SCALE_F16, .row_bytes = 2 * n->G, .col_bytes = 2, .rows = 1 };
    t.scales.group = GROUP;
    t.scales.offset = 8;
    if (zeros)
        put_zeros(c, &t.scales, n, in_order, 0, true);
    return t;
}

/* Scales of the rows of a group beside each other. */
static void scales_by_columns(ca *c, sl_tensor *t, const numbers *n)
{
    uint16_t *d = ca_buf(c, n->R * n->G * sizeof *d);
    for (size_t r = 0; r < n->R; r++)
        for (size_t g = 0; g < n->G; g++)
            d[g * n->R + r] = n->d[r * n->G + g];
    t->scales = (sl_scales){ .scale = d, .type = SL_SCALE_F16, .row_bytes = 2, .col_bytes = 2 * n->R, .rows = 1 };
    t->scales.group = GROUP;
    t->scales.offset = 8;
}

static sl_tensor as_gptq4(ca *c, const numbers *n, bool zeros, unsigned offset)
{
    sl_tensor t = { .format = SL_FORMAT_GPTQ4, .rows = n->R, .cols = n->K, .col_bytes = n->R * 4 };
    uint8_t *out = ca_buf(c, n->K / 8 * t.col_bytes);
    t.data = out;
    for (size_t k = 0; k < n->K; k += 8)
        for (size_t r = 0; r < n->R; r++) {
            uint32_t word = 0;
            for (size_t j = 0; j < 8; j++)
                word |= (uint32_t)n->q[r * n->K + k + j] << in_order[j];
            put_word(out + k / 8 * t.col_bytes + r * 4, word);
        }
    scales_by_columns(c, &t, n);
    if (zeros)
        put_zeros(c, &t.scales, n, in_order, offset, false);
    return t;
}

static sl_tensor as_awq4(ca *c, const numbers *n)
{
    sl_tensor t = { .format = SL_FORMAT_AWQ4, .rows = n->R, .cols = n->K, .col_bytes = n->R / 2 };
    uint8_t *out = ca_buf(c, n->K * t.col_bytes);
    t.data = out;
    for (size_t k = 0; k < n->K; k++)
        for (size_t r = 0; r < n->R; r += 8) {
            uint32_t word = 0;
            for (size_t j = 0; j < 8; j++)
                word |= (uint32_t)n->q[(r + j) * n->K + k] << by_halves[j];
            put_word(out + k * t.col_bytes + r / 2, word);
        }
    scales_by_columns(c, &t, n);
    put_zeros(c, &t.scales, n, by_halves, 0, false);
    return t;
}

/* ---- their products ------------------------------------------------------------------ */

static sl_act draw_act(ca *c, size_t K)
{
    sl_act x = { .T = TOKENS, .K = K, .G = K / SL_GROUP, .ldf = K };
    float *f = ca_buf(c, TOKENS * K * sizeof *f);
    ca_fill(c, f, TOKENS * K, CA_PLAIN);
    x.f32 = f;
    x.q8 = ca_buf(c, TOKENS * K);
    x.q16 = ca_buf(c, TOKENS * K * sizeof *x.q16);
    x.d = ca_buf(c, TOKENS * x.G * sizeof *x.d);
    x.half = ca_buf(c, TOKENS * x.G * 2 * sizeof *x.half);
    x.eight = ca_buf(c, TOKENS * x.G * 2 * sizeof *x.eight);
    x.dsum = ca_buf(c, TOKENS * x.G * sizeof *x.dsum);
    c->k->quantize(&x, 0, TOKENS);
    return x;
}

static void multiply(ca *c, float *y, const sl_tensor *w, const sl_act *x, size_t T, void *scratch)
{
    sl_linear(c->k, SL_ACT_Q8, y, w->rows, w, 0, w->rows, NULL, x, 0, T, scratch);
}

static void check_products(ca *c, const void *arg)
{
    const shape *s = arg;
    const numbers n = draw(c, s);
    const sl_act x = draw_act(c, s->K);
    sl_tensor form[8] = { as_int4(c, &n, true), as_gptq4(c, &n, true, 0), as_gptq4(c, &n, true, 1), as_awq4(c, &n) };
    size_t n_forms = 4;
    if (s->symmetric) {
        form[n_forms++] = as_int4(c, &n, false);
        form[n_forms++] = as_gptq4(c, &n, false, 8);
        form[n_forms++] = as_q4_0(c, &n);
        form[n_forms] = interleaved(c, &form[n_forms - 1]);
        n_forms++;
    }
    float *want = ca_buf(c, TOKENS * s->R * sizeof *want), *got = ca_buf(c, TOKENS * s->R * sizeof *got);
    void *scratch = ca_buf64(c, sl_linear_scratch(c->k, s->K));
    multiply(c, want, &form[0], &x, TOKENS, scratch);
    for (size_t i = 0; i < n_forms; i++)
        for (size_t T = 1; T <= TOKENS; T += T < 10 ? 1 : 23) {
            memset(got, CA_CANARY, TOKENS * s->R * sizeof *got);
            multiply(c, got, &form[i], &x, T, scratch);
            ca_same(c, sl_format_name(form[i].format), got, want, T * s->R, sizeof *got);
        }
}

void check_forms(ca *c)
{
    static const size_t shapes[][2] = { { 8, 32 }, { 24, 288 }, { 136, 1056 } };
    for (size_t i = 0; !c->bench && i < SL_COUNT(shapes) * 2; i++) {
        const shape s = { shapes[i / 2][0], shapes[i / 2][1], i % 2 };
        ca_case(c, check_products, &s, "forms of 4 bits%s R=%zu K=%zu", s.symmetric ? ", symmetric" : "", s.R, s.K);
    }
}
