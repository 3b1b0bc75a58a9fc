/* kernels.h - hot code behind one table: every function type with its contract.
 *
 * A kernel is pure: no allocation, threads, log or error; all that could be wrong was
 * checked when the plan was built. One call works on one tile, on one thread.
 * scalar/ fills every slot and says what it means; an ISA folder overwrites what pays.
 *
 * Same bits for any number of tokens: within one ISA, an output element is made by the
 * same sequence of floating-point operations whatever T, the row range or the tile
 * around it (docs/numerics.md). Integer sums are exact, so they may be formed in any way.
 *
 * Letters: T tokens, R rows, K columns (the summed dimension), C head width,
 * P page size in tokens, G groups = ceil(K / 32).
 */
#ifndef SL_KERNELS_KERNELS_H
#define SL_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cpu.h"
#include "base/tensor.h"

/* ---- activations ------------------------------------------------------------- */

/* How a linear operation sees its input. */
typedef enum sl_act_type { SL_ACT_F32, SL_ACT_Q8, SL_ACT_COUNT } sl_act_type;

/* Forms of the same input; a weight format asks for some of them (sl_panel.needs): as it is; in 8 bits with a scale for
 * each group of 32, in 8 bits with one scale for each row, those 8 bits widened; rounded to 8-bit floats with a scale
 * for each SL_E4M3_GROUP columns, with one that is a power of two, or with one for each row. Of the two forms in 8 bits
 * there is one, and so of the three that are rounded; where several are asked for, the first serves all. Lanes are made
 * of the 8 bits, and may be missing (sl_act.lanes). */
enum {
    SL_NEED_F32 = 1,
    SL_NEED_Q8 = 2,
    SL_NEED_Q16 = 4,
    SL_NEED_T8 = 8,
    SL_NEED_E4M3 = 16,
    SL_NEED_E4M3_POWER = 32,
    SL_NEED_E4M3_TOKEN = 64,
    SL_NEED_LANES = 128,
    SL_NEED_ROUNDED = SL_NEED_E4M3 | SL_NEED_E4M3_POWER | SL_NEED_E4M3_TOKEN,
};

/* One group of SL_LANES rows of 8-bit activations, turned: row t is lane t. 8 elements of 4 rows lie together: those of
 * 0, 1, 4 and 5, then those of 2, 3, 6 and 7. */
#define SL_LANES 8
typedef struct sl_lanes {
    int8_t q[4][2][4][8]; /* row t: q[i][t / 2 % 2][t / 4 * 2 + t % 2] are elements 8i .. 8i+7 of the group */
    int16_t eight[SL_LANES][2];
    float d[SL_LANES], dsum[SL_LANES];
} sl_lanes;

/* T rows of activations in the forms that were asked for; the rest is NULL.
 * Group g of a row holds elements 32g .. 32g+31: x is about d * q.
 * Rows of q8 and q16 have 32 * G elements, padded with zeros, so K needs no multiple. */
typedef struct sl_act {
    size_t T, K, G;
    const float *f32;      /* [T][ldf] */
    size_t ldf;            /* row stride of f32 in elements */
    int8_t *q8;            /* [T][32 G], within -127..127 */
    int16_t *q16;          /* the same numbers, widened */
    float *d;              /* [T][G] scale: absmax / 127 of the group */
    bool token;            /* all groups of a row have its scale: absmax of the row / 127 */
    int16_t *half;         /* [T][G][2] sums of the q of a group's two halves */
    int16_t *eight;        /* [T][G][2] 8 times the sum of the q at k % 4 < 2, and of the others */
    float *dsum;           /* [T][G] d * sum of the group's q */
    float *rounded;        /* [T][K] f32 after sl_round_e4m3_fn */
    unsigned rounding;     /* which of SL_NEED_ROUNDED that is */
    const sl_lanes *lanes; /* [G] of all rows, if T is SL_LANES; NULL: sl_linear makes them where it wants them */
} sl_act;

/* Fill q8, d, half, eight, dsum (and q16 unless NULL) for rows t0..t1 of act->f32.
 * q = round half to even of x / d; a group of zeros has d = 0. Not finite: the group's d
 * is NaN and its q 0, so that the fault shows in the result. With `token`: likewise of whole rows. */
typedef void sl_quantize_fn(const sl_act *act, size_t t0, size_t t1);

/* Round x [n], a group, to numbers e of E4M3 times a scale d, and multiply again: y[i] = d * e. d = absmax / 448, with
 * `power` the smallest power of two from that on; e = x[i] / d to nearest, ties to even, at most 448, also below 2^-6,
 * in steps of 2^-9; its sign is that of x. Where d is 0 all are 0; not finite: all are NaN. y may be x.
 * Sources: act_quant in DeepSeek-V3's inference/kernel.py, whose groups of zeros are NaN, or have a least d;
 * Micikevicius et al. 2022, arXiv 2209.05433, section 3. */
typedef void sl_round_e4m3_fn(float *y, const float *x, size_t n, bool power);

/* lanes [G] = SL_LANES rows, which are quantised; row t0 is lane 0. */
typedef void sl_turn_fn(sl_lanes *lanes, const sl_act *act, size_t t0);

/* ---- linear: y = x W^T ------------------------------------------------------- */

/* Weights as stored, decoded into the canonical form that `micro` multiplies. */
#define SL_PANEL_ROWS      8
#define SL_PANEL_GROUP_MAX 1024 /* 8 rows x 32 columns of f32 */
#define SL_PANELS_MAX      8    /* that are decoded before they are multiplied */

/* dst: the panel of rows r0..r0+8 (rows at or past `r1` repeat row r1 - 1) and columns
 * k0..k1, k0 and k1 multiples of 32 and of the format's block except k1 = K. Nothing outside rows r0..r1 is read.
 * A panel is one piece of group_bytes for each 32 columns, so that it may be decoded in parts; it is aligned to 32
 * bytes. */
typedef void sl_panel_decode_fn(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1);

/* y[t][0..rows) += panels of columns k0..k1, `stride` bytes from one to the next, times x rows t0..t1; y[t] starts at
 * y + (t - t0) * ldy. With first set, y is not read but begins at zero. */
typedef void sl_panel_micro_fn(float *y, size_t ldy, const void *panels, size_t stride, size_t rows, size_t k0,
                               size_t k1, const sl_act *x, size_t t0, size_t t1, bool first);

/* The same product for few tokens, straight from the stored rows r0..r1, all K; no panel is
 * written. y[t][r - r0]. The bits are those of decode + micro. `next` as for sl_linear, or sl_nothing_next: then
 * nothing is asked for. */
typedef void sl_panel_narrow_fn(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                const sl_act *x, size_t t0, size_t t1);
extern const char sl_nothing_next[1];

/* The same product for SL_LANES tokens, which are too few to pay for panels. y[lane][r - r0], bits as
 * above. lanes [ceil(w->cols / 32)] */
typedef void sl_panel_few_fn(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                             const sl_lanes *lanes);

typedef struct sl_panel {
    const char *name;      /* "u4 x8": for info, trace and bench */
    unsigned needs;        /* SL_NEED_* of micro */
    unsigned narrow_needs; /* SL_NEED_* of narrow */
    size_t group_bytes;    /* panel bytes per 32 columns, at most SL_PANEL_GROUP_MAX */
    size_t k_block;        /* columns of one decode and micro, a multiple of 256; 0: only all K at once,
                            * since the partial sums of this panel type do not fit y */
    sl_panel_decode_fn *decode;
    sl_panel_micro_fn *micro;
    sl_panel_narrow_fn *narrow; /* optional */
    size_t narrow_max;          /* largest T for narrow, where `few` does not take it; 0 without one */
    size_t streams;             /* rows that narrow reads side by side, which may lie far apart, or, of interleaved rows
                                 * and for one token, panels; 0: they may not */
    sl_panel_few_fn *few;       /* optional */
    size_t few_panels;          /* that are decoded before they are multiplied, however few the tokens; 0: one */
} sl_panel;

/* ---- rows -------------------------------------------------------------------- */

/* y[t][i] = x[t][i] * w[i] / sqrt(mean_i(x[t][i]^2) + eps); y may be x.
 * x, y [T][K], row strides ldx, ldy; w [K]. Source: Zhang & Sennrich 2019, arXiv 1910.07467. */
typedef void sl_rms_norm_fn(float *y, size_t ldy, const float *x, size_t ldx, const float *w, size_t T, size_t K,
                            float eps);
/* y[i] = a[i] + b[i]; y may be a or b. */
typedef void sl_add_fn(float *y, const float *a, const float *b, size_t n);
/* y[i] = a[i] * b[i]; y may be a or b. */
typedef void sl_mul_fn(float *y, const float *a, const float *b, size_t n);
/* y[i] = x[i] / (1 + exp(-x[i])); y may be x. */
typedef void sl_silu_fn(float *y, const float *x, size_t n);
/* y[i] = g / (1 + exp(-alpha * g)) * (u + 1), where g = min(gate[i], limit) and u = up[i] cut to -limit..limit; a NaN
 * stays one. y may be gate or up. */
typedef void sl_clamped_glu_fn(float *y, const float *gate, const float *up, size_t n, float limit, float alpha);
/* Rotate one head in place. cs [C/2][2]: cosine, sine.
 * half: pairs (i, i + C/2); adjacent: pairs (2i, 2i + 1). C is the rotated width, even. */
typedef void sl_rope_fn(float *x, const float *cs, size_t C);

/* ---- KV pages ---------------------------------------------------------------- */

/* name, bytes of a number, word of --kv-type */
#define SL_KV_TYPE_LIST(X) X(F32, 4, "f32") X(F16, 2, "f16") X(BF16, 2, "bf16") X(INT8, 1, "int8")
typedef enum sl_kv_type {
#define SL_KV_ENUM(name, bytes, text) SL_KV_##name,
    SL_KV_TYPE_LIST(SL_KV_ENUM)
#undef SL_KV_ENUM
        SL_KV_COUNT
} sl_kv_type;

/* How the keys of a head lie. */
typedef enum sl_kv_layout {
    SL_KV_GROUPED, /* [P/8][C/g][8][g] */
    SL_KV_TOKEN,   /* [P][C], as one would write it down; kept to compare with */
    SL_KV_LAYOUT_COUNT
} sl_kv_layout;

/* Numbers of a key that lie side by side in a grouped page. */
static inline size_t sl_kv_group(sl_kv_type type)
{
    return type == SL_KV_INT8 ? 4 : type == SL_KV_BF16 ? 2 : 1;
}

/* Tokens of a grouped page that lie in one piece: a key that is written, and few that are read, touch few lines. */
#define SL_KV_BLOCK 8

/* One head of one page.
 *   K  [P/8][C/g][8][g]  so that scores of neighbouring tokens are neighbouring sums;
 *                        g = 1 (f32, f16), 2 (bf16, the ISA's pair) or 4 (int8; C/g is rounded up, and what a token's
 *                        key lacks there is zero); or [P][C] in the token layout. C is even
 *   V  [P][C]
 * int8: a number x is about scale[token] * q, q within -127..127; the scales [P] lie right behind
 * the P * C numbers (C rounded up to 4), so that a load may read on past the last of them.
 * P is a multiple of 16. Slots that hold no token yet may contain anything. */
typedef struct sl_kv_head {
    void *data;
    float *scale; /* NULL for all types but int8 */
    size_t P, C;
    const void *next; /* data of a head that is read soon, which is fetched meanwhile; NULL: unknown */
} sl_kv_head;

/* Bytes of one token in one head: numbers and scale. A head takes P times as many. */
static inline size_t sl_kv_token_bytes(sl_kv_type type, size_t C)
{
    static const size_t bytes[SL_KV_COUNT] = {
#define SL_KV_BYTES(name, bytes, text) [SL_KV_##name] = bytes,
        SL_KV_TYPE_LIST(SL_KV_BYTES)
#undef SL_KV_BYTES
    };
    return type == SL_KV_INT8 ? (C + 3) / 4 * 4 + sizeof(float) : bytes[type] * C;
}

/* The head that lies at `data`. */
static inline sl_kv_head sl_kv_head_at(sl_kv_type type, void *data, size_t P, size_t C)
{
    float *scale = type == SL_KV_INT8 ? (float *)(void *)((char *)data + (C + 3) / 4 * 4 * P) : NULL;
    return (sl_kv_head){ data, scale, P, C, NULL };
}

/* Store one token's head at slot `at` < P, rounded to nearest even; int8 with the scale of
 * sl_quantize_head_fn. x [C]. */
typedef void sl_kv_write_fn(const sl_kv_head *h, size_t at, const float *x);

/* One head to 8 bits with one scale, which is returned: q = round half to even of x / d,
 * d = absmax / 127; a head of zeros has d = 0. Not finite: d is NaN and q 0, so that the fault shows.
 * x [C]; q has room for C rounded up to SL_HEAD_PAD, zeros beyond C. */
#define SL_HEAD_PAD 32
typedef float sl_quantize_head_fn(int8_t *q, const float *x, size_t C);

/* Query rows as scores read them: x for keys of a float type; q and d for int8 keys. */
typedef struct sl_attn_query {
    float *x; /* [R][ldx] */
    size_t ldx;
    int8_t *q; /* [R][ldq], made by quantize_head; ldq a multiple of SL_HEAD_PAD */
    size_t ldq;
    float *d; /* [R] */
} sl_attn_query;

/* s[r][j] = sum over c of q[r][c] * K[at + j][c], for j in 0..n. In a grouped page each sum is in
 * the order of c, in the token layout in an order that is the ISA's. int8: the sum of whole numbers,
 * exact, times the key's scale, then times d[r].
 * s row stride lds, with room for n rounded up to 16 (what lies beyond n is undefined). at is a
 * multiple of 16, at + n <= P. */
typedef void sl_attn_scores_fn(float *s, size_t lds, const sl_attn_query *q, size_t R, const sl_kv_head *k, size_t at,
                               size_t n);

/* Softmax of one chunk, without the division: *max = max of s[0..n), s[j] = exp(s[j] - *max),
 * *sum = their sum. n in 1..256. Element j goes to the same partial sum whatever n. What is below 2^-126 may be 0. */
typedef void sl_attn_softmax_fn(float *s, size_t n, float *max, float *sum);

/* acc[r][c] += sum over j in 0..n[r] of p[r][j] * V[at + j][c], in the order of j; int8: the value's
 * scale is multiplied into p[r][j] first.
 * acc [R][C] dense; p row stride ldp. V beyond a row's own n[r] is not multiplied for that row. */
typedef void sl_attn_mix_fn(float *acc, const float *p, size_t ldp, const uint32_t *n, size_t R, const sl_kv_head *v,
                            size_t at);

/* Join a further chunk (m2, l2, a2) to the running (m, l, a): m = max, l and a rescaled to
 * the new maximum and added. a, a2 [C]. A running m of -INFINITY with l = 0 and a = 0 is empty. A factor below 2^-126
 * may be 0. */
typedef void sl_attn_fold_fn(float *m, float *l, float *a, float m2, float l2, const float *a2, size_t C);

/* y[i] = a[i] * s; y may be a. */
typedef void sl_scale_fn(float *y, const float *a, float s, size_t n);
/* y[i] += a[i] * s, the product rounded before it is added. */
typedef void sl_add_scaled_fn(float *y, const float *a, float s, size_t n);

/* ---- the table --------------------------------------------------------------- */

typedef struct sl_kernels {
    sl_isa isa;          /* highest folder that wrote a slot */
    size_t panels_bytes; /* that decoded panels of one product may take of the second-level cache */
    bool several;        /* narrow reads several streams, where the panel type can (sl_cpu_several_streams) */
    sl_quantize_fn *quantize;
    sl_turn_fn *turn;
    sl_panel panel[SL_FORMAT_COUNT][SL_ACT_COUNT]; /* float formats ignore the activation type: F32 */
    sl_rms_norm_fn *rms_norm;
    sl_add_fn *add;
    sl_mul_fn *mul;
    sl_scale_fn *scale;
    sl_add_scaled_fn *add_scaled;
    sl_silu_fn *silu;
    sl_clamped_glu_fn *clamped_glu;
    sl_rope_fn *rope_half, *rope_adjacent;
    sl_round_e4m3_fn *round_e4m3;
    sl_quantize_head_fn *quantize_head;
    sl_kv_write_fn *kv_write_k[SL_KV_LAYOUT_COUNT][SL_KV_COUNT], *kv_write_v[SL_KV_COUNT];
    sl_attn_scores_fn *attn_scores[SL_KV_LAYOUT_COUNT][SL_KV_COUNT];
    sl_attn_softmax_fn *attn_softmax;
    sl_attn_mix_fn *attn_mix[SL_KV_COUNT];
    sl_attn_fold_fn *attn_fold;
} sl_kernels;

/* Scalar everywhere, then each folder up to `ceiling` that this build has. Sets every slot. */
void sl_kernels_init(sl_kernels *k, sl_isa ceiling);
/* From here on weights that are 8-bit floats have their inputs in f32 as they are with SL_ACT_Q8 too: the same
 * products, and nothing rounded. */
void sl_kernels_keep_floats(sl_kernels *k);
/* Kernel folders in this build, as a list for --version: "scalar avx2". */
const char *sl_kernels_built(void);

/* Scratch that sl_linear needs for a matrix of K columns, whatever its rows. */
size_t sl_linear_scratch(const sl_kernels *k, size_t K);

/* y[t - t0][r - r0] for rows r0..r1 of w and tokens t0..t1 of x: chooses narrow or
 * decode + micro and blocks for the caches. y row stride ldy >= r1 - r0. `act` as planned;
 * x holds the forms that sl_linear_needs names. scratch: 64-byte aligned.
 * While rows are multiplied, later ones are asked for into the cache, and as much of what lies at `next`: that is where
 * the thread goes on behind row r1. NULL: with what lies there; formats that pack rows together always do. */
void sl_linear(const sl_kernels *k, sl_act_type act, float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1,
               const void *next, const sl_act *x, size_t t0, size_t t1, void *scratch);

/* Ask for what sl_linear reads first of the n rows at `rows`, of w or a copy of it, for T tokens. */
void sl_linear_fetch(const sl_kernels *k, sl_act_type act, const sl_tensor *w, const void *rows, size_t n, size_t T);

/* Memory takes that long to answer: who reads a core's share of it should ask so many bytes before. */
#define SL_BYTES_AHEAD 5120

/* How far ahead of a product's reading its asking is, in bytes of w: n_rows are read side by side and asked for one
 * after another, as memory answers fastest, so that the last row's bytes are asked for n_rows - 1 rows later than in
 * the order of their use. */
static inline size_t sl_linear_ahead(const sl_tensor *w, size_t n_rows)
{
    return SL_BYTES_AHEAD + (n_rows - 1) * w->row_bytes;
}
/* The form of a format that few tokens are multiplied with fastest, SL_PANEL_ROWS rows laid out anew; SL_FORMAT_COUNT:
 * there is no other. A matrix of that form is cut at multiples of SL_PANEL_ROWS rows only. */
sl_format sl_linear_repacked(sl_format f);
/* dst = the SL_PANEL_ROWS rows at src of such a format, in that form; as many bytes. */
void sl_linear_repack(void *dst, const void *src, sl_format f, size_t row_bytes);

/* SL_NEED_* of that product for a step of T tokens. */
unsigned sl_linear_needs(const sl_kernels *k, sl_act_type act, sl_format format, size_t T);

#endif
