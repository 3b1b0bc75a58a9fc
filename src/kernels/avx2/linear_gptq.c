/* linear_gptq.c - GPTQ and AWQ, which store columns together, [in][out]: what the bits mean is in quant/gptq.c and
 * quant/awq.c.
 *
 *   u4 with zero points (linear_u_in.h)  GPTQ4, AWQ4
 *   f32 (linear_f32.c)                   the same, and GPTQ4_ANY
 *
 * Eight rows are 32 bytes of a line in GPTQ, 4 bytes in AWQ. So `narrow` takes 128 rows at once and asks for columns
 * that it needs soon; a panel asks for its share of the line behind the one that it reads, which is that of a later
 * panel, and finds what an earlier one has asked for.
 *
 * Rows are read in blocks of 8 from a multiple of 8 on: what a word holds is there in any case. Where a function takes
 * a format, it is a constant: it is inlined once for each. */
#include "kernels/avx2/linear_u_in.h"

#define LINE 64

/* ---- 8 rows x 32 columns --------------------------------------------------------- */

/* Element j of a vector belongs to row j. */
typedef struct lanes {
    __m256i q[8]; /* bytes: columns 4i .. 4i+3 */
    __m256 d;     /* scale */
    __m256i z;    /* zero point, as in u_offset_group */
} lanes;

/* Where block c of 8 rows has its numbers of column k, a multiple of what a word holds. */
SL_ALWAYS_INLINE const uint8_t *words_at(const sl_tensor *w, size_t c, size_t k, sl_format f)
{
    const uint8_t *p = w->data;
    return f == SL_FORMAT_AWQ4 ? p + k * w->col_bytes + 4 * c : p + k / 8 * w->col_bytes + 32 * c;
}

/* GPTQ: a row's word is 8 columns, from the lowest bits on. */
SL_ALWAYS_INLINE void spread_gptq(__m256i q[2], __m256i words)
{
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i even = _mm256_and_si256(words, low), odd = _mm256_and_si256(_mm256_srli_epi16(words, 4), low);
    const __m256 a = _mm256_castsi256_ps(_mm256_unpacklo_epi8(even, odd)); /* rows 0, 1, 4, 5 */
    const __m256 b = _mm256_castsi256_ps(_mm256_unpackhi_epi8(even, odd));
    q[0] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(2, 0, 2, 0)));
    q[1] = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
}

/* AWQ: a column's word is rows 0, 2, 4, 6, 1, 3, 5, 7, from the lowest bits on. v: 4 columns, in both halves. */
SL_ALWAYS_INLINE __m256i spread_awq(__m256i v)
{
    const __m256i at = _mm256_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, 0, 4, 8, 12, 2, 6, 10, 14, 1, 5, 9, 13, 3, 7, 11, 15,
                                        1, 5, 9, 13, 3, 7, 11, 15);
    const __m256i bytes = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, at), _mm256_setr_epi32(0, 0, 4, 4, 0, 0, 4, 4));
    return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
}

SL_ALWAYS_INLINE void load_numbers(__m256i q[8], const sl_tensor *w, size_t c, size_t k, sl_format f)
{
    const uint8_t *p = words_at(w, c, k, f);
    const size_t ld = w->col_bytes;
    if (f != SL_FORMAT_AWQ4) {
        UNROLL
        for (size_t i = 0; i < 4; i++)
            spread_gptq(q + 2 * i, load_i(p + i * ld));
        return;
    }
    UNROLL
    for (size_t i = 0; i < 8; i++, p += 4 * ld) {
        __m128i v = _mm_cvtsi32_si128((int)sl_load_le32(p));
        v = _mm_insert_epi32(v, (int)sl_load_le32(p + ld), 1);
        v = _mm_insert_epi32(v, (int)sl_load_le32(p + 2 * ld), 2);
        v = _mm_insert_epi32(v, (int)sl_load_le32(p + 3 * ld), 3);
        q[i] = spread_awq(_mm256_broadcastsi128_si256(v));
    }
}

/* The scales of block c in group g. */
SL_ALWAYS_INLINE __m256 load_scales(const sl_scales *s, size_t c, size_t g)
{
    const uint8_t *p = (const uint8_t *)s->scale + g * s->col_bytes + 8 * c * s->row_bytes;
    if (s->type == SL_SCALE_F32)
        return _mm256_loadu_ps((const float *)(const void *)p);
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    if (s->type == SL_SCALE_F16)
        return _mm256_cvtph_ps(v);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}

/* Their zero points, as in u_offset_group. */
SL_ALWAYS_INLINE __m256i load_zeros(const sl_scales *s, size_t c, size_t g, sl_format f)
{
    const __m256i offset = _mm256_set1_epi32((int)s->offset);
    if (!s->zero)
        return zeros_twice(offset);
    const __m256i at = f == SL_FORMAT_AWQ4 ? _mm256_setr_epi32(0, 16, 4, 20, 8, 24, 12, 28)
                                           : _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i word = broadcast4((const uint8_t *)s->zero + c * s->zero_row_bytes + g * s->zero_col_bytes);
    const __m256i z = _mm256_and_si256(_mm256_srlv_epi32(word, at), _mm256_set1_epi32(15));
    return zeros_twice(_mm256_add_epi32(z, offset));
}

/* Columns k .. k+31 of block c. The scales are those of l where the columns before have the same group. */
SL_ALWAYS_INLINE void load_block(lanes *l, const sl_tensor *w, size_t c, size_t k, bool first, sl_format f)
{
    const sl_scales *s = &w->scales;
    load_numbers(l->q, w, c, k, f);
    if (!first && k % s->group != 0)
        return;
    l->d = load_scales(s, c, k / s->group);
    l->z = load_zeros(s, c, k / s->group, f);
}

/* Element i of the vectors a and b one behind the other, i from idx. */
SL_ALWAYS_INLINE __m256i pick(__m256i a, __m256i b, __m256i idx)
{
    const __m256i second = _mm256_cmpgt_epi32(idx, _mm256_set1_epi32(7));
    return _mm256_blendv_epi8(_mm256_permutevar8x32_epi32(a, idx), _mm256_permutevar8x32_epi32(b, idx), second);
}

/* Rows r .. r+n of the file, n <= 8, the last of them repeated, as element 0 .. 7. */
SL_ALWAYS_INLINE __m256i rows_of(size_t r, size_t n)
{
    const __m256i i = _mm256_min_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)n - 1));
    return _mm256_add_epi32(i, _mm256_set1_epi32((int)(r % SL_PANEL_ROWS)));
}

/* Columns k .. k+31 of rows r .. r+n of the file. */
SL_ALWAYS_INLINE void load_lanes(lanes *l, const sl_tensor *w, size_t r, size_t n, size_t k, bool first, sl_format f)
{
    if (r % SL_PANEL_ROWS == 0 && n == SL_PANEL_ROWS) {
        load_block(l, w, r / SL_PANEL_ROWS, k, first, f);
        return;
    }
    const __m256i idx = rows_of(r, n);
    lanes a = { 0 }, b;
    load_block(&a, w, r / SL_PANEL_ROWS, k, true, f);
    b = a;
    if (r % SL_PANEL_ROWS + n > SL_PANEL_ROWS)
        load_block(&b, w, r / SL_PANEL_ROWS + 1, k, true, f);
    for (size_t i = 0; i < 8; i++)
        l->q[i] = pick(a.q[i], b.q[i], idx);
    l->d = _mm256_castsi256_ps(pick(_mm256_castps_si256(a.d), _mm256_castps_si256(b.d), idx));
    l->z = pick(a.z, b.z, idx);
}

/* Ask for the panel's share of the lines behind those of columns k .. k+31: what panels share is divided among them by
 * columns. */
SL_ALWAYS_INLINE void fetch_share(const sl_tensor *w, size_t c, size_t k, sl_format f)
{
    const size_t bytes = f == SL_FORMAT_AWQ4 ? 4 : 32, sharers = LINE / bytes, rows = f == SL_FORMAT_AWQ4 ? 32 : 4;
    const uint8_t *p = words_at(w, c, k, f);
    if (k / SL_GROUP % sharers != (uintptr_t)p / bytes % sharers)
        return;
    for (size_t i = 0; i < rows; i++)
        sl_cpu_prefetch(p + i * w->col_bytes + LINE);
}

/* ---- panels ---------------------------------------------------------------------- */

SL_ALWAYS_INLINE void decode_u4(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, sl_format f)
{
    const size_t r = w->scales.first + r0, n = SL_MIN(SL_PANEL_ROWS, r1 - r0);
    u_offset_group *out = dst;
    lanes l = { 0 };
    for (size_t k = k0; k < k1; k += SL_GROUP, out++) {
        load_lanes(&l, w, r, n, k, k == k0, f);
        fetch_share(w, r / SL_PANEL_ROWS, k, f);
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out->q[i], l.q[i]);
        _mm256_storeu_ps(out->d, l.d);
        store_i(out->z, l.z);
    }
}

/* d * (byte j of q - z); j is a constant. */
SL_ALWAYS_INLINE __m256 value_of(__m256i q, size_t j, __m256 d, __m256 z)
{
    const __m256i b = _mm256_and_si256(_mm256_srli_epi32(q, (int)(8 * j)), _mm256_set1_epi32(255));
    return _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(b), z), d);
}

SL_ALWAYS_INLINE void decode_f32(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, sl_format f)
{
    const size_t r = w->scales.first + r0, n = SL_MIN(SL_PANEL_ROWS, r1 - r0);
    float *out = dst;
    lanes l = { 0 };
    for (size_t k = k0; k < k1; k += SL_GROUP) {
        load_lanes(&l, w, r, n, k, k == k0, f);
        fetch_share(w, r / SL_PANEL_ROWS, k, f);
        for (size_t i = 0; i < 8; i += 2) {
            __m256 v[8];
            UNROLL
            for (size_t j = 0; j < 8; j++)
                v[j] = value_of(l.q[i + j / 4], j % 4, l.d, zeros_as_floats(l.z));
            transpose8(v);
            UNROLL
            for (size_t j = 0; j < 8; j++, out += 8)
                _mm256_storeu_ps(out, v[j]);
        }
    }
}

/* Scales and zero points of rows r .. r+n of the file in group g. */
SL_ALWAYS_INLINE void load_any(__m256 *d, __m256i *z, const sl_scales *s, size_t r, size_t n, size_t g, sl_format f)
{
    const size_t c = r / SL_PANEL_ROWS;
    *d = load_scales(s, c, g);
    *z = load_zeros(s, c, g, f);
    if (r % SL_PANEL_ROWS == 0 && n == SL_PANEL_ROWS)
        return;
    const __m256i idx = rows_of(r, n);
    __m256 d2 = *d;
    __m256i z2 = *z;
    if (r % SL_PANEL_ROWS + n > SL_PANEL_ROWS) {
        d2 = load_scales(s, c + 1, g);
        z2 = load_zeros(s, c + 1, g, f);
    }
    *d = _mm256_castsi256_ps(pick(_mm256_castps_si256(*d), _mm256_castps_si256(d2), idx));
    *z = pick(*z, z2, idx);
}

/* Each column has a group of its own: 8 columns, a word of each row, at a time. */
static void decode_GPTQ4_ANY_f32(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1)
{
    const sl_scales *s = &w->scales;
    const size_t r = s->first + r0, n = SL_MIN(SL_PANEL_ROWS, r1 - r0);
    const size_t c = r / SL_PANEL_ROWS;
    const bool whole = r % SL_PANEL_ROWS == 0 && n == SL_PANEL_ROWS, two = r % SL_PANEL_ROWS + n > SL_PANEL_ROWS;
    float *out = dst;
    for (size_t k = k0; k < k1; k += 8) {
        __m256i words = load_i(words_at(w, c, k, SL_FORMAT_GPTQ4_ANY)), q[2];
        if (!whole)
            words = pick(words, two ? load_i(words_at(w, c + 1, k, SL_FORMAT_GPTQ4_ANY)) : words, rows_of(r, n));
        spread_gptq(q, words);
        __m256 v[8];
        UNROLL
        for (size_t j = 0; j < 8; j++) {
            __m256 d;
            __m256i z;
            const size_t g =
                s->group_of ? sl_load_le32((const uint8_t *)s->group_of + 4 * (k + j)) : (k + j) / s->group;
            load_any(&d, &z, s, r, n, g, SL_FORMAT_GPTQ4_ANY);
            v[j] = value_of(q[j / 4], j % 4, d, zeros_as_floats(z));
        }
        transpose8(v);
        UNROLL
        for (size_t j = 0; j < 8; j++, out += 8)
            _mm256_storeu_ps(out, v[j]);
    }
}

/* ---- narrow ---------------------------------------------------------------------- */

#define BLOCKS     16 /* of 8 rows, that narrow takes at once: 64 bytes of each column of AWQ */
#define NARROW_MAX 16 /* tokens: the sums of 128 rows stay in L1 */

/* The words of `n` blocks from c on in columns k .. k+31, past the last column those of the following blocks. */
SL_ALWAYS_INLINE void fetch_words(const sl_tensor *w, size_t c, size_t n, size_t k, sl_format f)
{
    const size_t bytes = n * (f == SL_FORMAT_AWQ4 ? 4 : 32), rows = f == SL_FORMAT_AWQ4 ? 32 : 4;
    const uint8_t *p = k < w->cols ? words_at(w, c, k, f) : words_at(w, c + n, k - w->cols, f);
    for (size_t i = 0; i < rows; i++, p += w->col_bytes)
        sl_cpu_prefetch_bytes(p, bytes);
}

/* Columns k .. k+31 of 16 blocks from c on: whole lines, each read once. */
SL_ALWAYS_INLINE void spread_awq_blocks(__m256i q[BLOCKS][8], const sl_tensor *w, size_t c, size_t k)
{
    const uint8_t *p = words_at(w, c, k, SL_FORMAT_AWQ4);
    for (size_t i = 0; i < 8; i++, p += 4 * w->col_bytes)
        for (size_t half = 0; half < BLOCKS; half += 8) {
            __m256i a[4], v[4];
            UNROLL
            for (size_t j = 0; j < 4; j++)
                a[j] = load_i(p + j * w->col_bytes + 4 * half);
            const __m256i b0 = _mm256_unpacklo_epi32(a[0], a[1]), b1 = _mm256_unpackhi_epi32(a[0], a[1]);
            const __m256i b2 = _mm256_unpacklo_epi32(a[2], a[3]), b3 = _mm256_unpackhi_epi32(a[2], a[3]);
            v[0] = _mm256_unpacklo_epi64(b0, b2); /* 4 columns of blocks 0 and 4 */
            v[1] = _mm256_unpackhi_epi64(b0, b2);
            v[2] = _mm256_unpacklo_epi64(b1, b3);
            v[3] = _mm256_unpackhi_epi64(b1, b3);
            UNROLL
            for (size_t j = 0; j < 4; j++) {
                q[half + j][i] = spread_awq(_mm256_permute4x64_epi64(v[j], _MM_SHUFFLE(1, 0, 1, 0)));
                q[half + j + 4][i] = spread_awq(_mm256_permute4x64_epi64(v[j], _MM_SHUFFLE(3, 2, 3, 2)));
            }
        }
}

/* Elements `from` .. `to` of v to y. */
static void store_between(float *y, __m256 v, size_t from, size_t to)
{
    float all[SL_PANEL_ROWS];
    _mm256_storeu_ps(all, v);
    memcpy(y, all + from, (to - from) * sizeof *y);
}

/* Scales and zero points of some blocks. */
typedef struct block_scales {
    __m256 d[BLOCKS];
    __m256i z[BLOCKS];
} block_scales;

SL_ALWAYS_INLINE void load_block_scales(block_scales *b, const sl_tensor *w, size_t c, size_t n, size_t g, sl_format f)
{
    for (size_t i = 0; i < n; i++) {
        b->d[i] = load_scales(&w->scales, c + i, g);
        b->z[i] = load_zeros(&w->scales, c + i, g, f);
    }
}

/* 8 rows times n tokens of one group of columns. */
SL_ALWAYS_INLINE void add_tokens(__m256 *acc, const __m256i q[8], __m256 d, __m256i zeros, const sl_act *x, size_t t,
                                 size_t n, size_t g)
{
    const u_kind kind = { .offset = U_ZEROS };
    const __m256 z = _mm256_castsi256_ps(zeros);
    for (; n >= LINEAR_TILE; n -= LINEAR_TILE, t += LINEAR_TILE, acc += LINEAR_TILE)
        add_group(acc, q, d, z, act_group(x, t, g), LINEAR_TILE, kind);
    if (n > 0)
        TILE_OF(n, add_group, (acc, q, d, z, act_group(x, t, g)), kind)
}

/* acc[i] = rows of block c + i < c + n_blocks times n tokens. */
SL_ALWAYS_INLINE void multiply_blocks(__m256 acc[BLOCKS][NARROW_MAX], const sl_tensor *w, size_t c, size_t n_blocks,
                                      const sl_act *x, size_t t, size_t n, sl_format f)
{
    const bool wide = f == SL_FORMAT_AWQ4 && n_blocks == BLOCKS;
    const size_t ahead = f == SL_FORMAT_AWQ4 ? 1 : 3; /* groups: AWQ's have 32 lines */
    block_scales scales;
    __m256i many[BLOCKS][8];
    for (size_t i = 0; i < n_blocks; i++)
        for (size_t j = 0; j < n; j++)
            acc[i][j] = _mm256_setzero_ps();
    for (size_t k = 0; k < w->cols; k += SL_GROUP) {
        if (k % w->scales.group == 0)
            load_block_scales(&scales, w, c, n_blocks, k / w->scales.group, f);
        fetch_words(w, c, n_blocks, k + ahead * SL_GROUP, f);
        if (wide)
            spread_awq_blocks(many, w, c, k);
        for (size_t i = 0; i < n_blocks; i++) {
            __m256i one[8];
            if (!wide)
                load_numbers(one, w, c + i, k, f);
            add_tokens(acc[i], wide ? many[i] : one, scales.d[i], scales.z[i], x, t, n, k / SL_GROUP);
        }
    }
}

/* Rows r0 .. r1 by blocks that hold them; what else those hold is left out at the end. n may be a constant. */
SL_ALWAYS_INLINE void narrow(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const sl_act *x, size_t t,
                             size_t n, sl_format f)
{
    const size_t from = w->scales.first + r0, to = w->scales.first + r1, end = sl_div_up(to, SL_PANEL_ROWS);
    for (size_t c = from / SL_PANEL_ROWS; c < end; c += BLOCKS) {
        __m256 acc[BLOCKS][NARROW_MAX];
        const size_t n_blocks = SL_MIN(BLOCKS, end - c);
        multiply_blocks(acc, w, c, n_blocks, x, t, n, f);
        for (size_t i = 0; i < n_blocks; i++) {
            const size_t row = (c + i) * SL_PANEL_ROWS, lo = SL_MAX(row, from), hi = SL_MIN(row + SL_PANEL_ROWS, to);
            for (size_t j = 0; j < n; j++) {
                float *at = y + j * ldy + (lo - from);
                if (hi - lo == SL_PANEL_ROWS)
                    _mm256_storeu_ps(at, acc[i][j]);
                else
                    store_between(at, acc[i][j], lo - row, hi - row);
            }
        }
    }
}

/* ---- the table ------------------------------------------------------------------- */

#define FORMAT(id)                                                                                                     \
    static DECODE_WITH(decode_##id, decode_u4, SL_FORMAT_##id)                                                         \
    static DECODE_WITH(decode_##id##_f32, decode_f32, SL_FORMAT_##id)                                                  \
    static void narrow_##id(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,          \
                            const sl_act *x, size_t t0, size_t t1)                                                     \
    {                                                                                                                  \
        (void)next;                                                                                                    \
        if (t1 - t0 == 1)                                                                                              \
            narrow(y, ldy, w, r0, r1, x, t0, 1, SL_FORMAT_##id);                                                       \
        else                                                                                                           \
            narrow(y, ldy, w, r0, r1, x, t0, t1 - t0, SL_FORMAT_##id);                                                 \
    }
FORMAT(GPTQ4)
FORMAT(AWQ4)
#undef FORMAT

static sl_panel panel(sl_panel_decode_fn *decode, sl_panel_narrow_fn *narrow_fn)
{
    sl_panel p = u_panel((u_kind){ .offset = U_ZEROS }, decode, narrow_fn, NARROW_MAX, NULL);
    p.few_panels = SL_PANELS_MAX; /* lines of the cache hold rows of several panels */
    return p;
}

void sl_linear_init_avx2_gptq(sl_kernels *k)
{
    k->panel[SL_FORMAT_GPTQ4][SL_ACT_Q8] = panel(decode_GPTQ4, narrow_GPTQ4);
    k->panel[SL_FORMAT_AWQ4][SL_ACT_Q8] = panel(decode_AWQ4, narrow_AWQ4);
    k->panel[SL_FORMAT_GPTQ4][SL_ACT_F32].decode = decode_GPTQ4_f32;
    k->panel[SL_FORMAT_AWQ4][SL_ACT_F32].decode = decode_AWQ4_f32;
    for (size_t act = 0; act < SL_ACT_COUNT; act++)
        k->panel[SL_FORMAT_GPTQ4_ANY][act].decode = decode_GPTQ4_ANY_f32;
}
