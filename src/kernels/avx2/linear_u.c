/* linear_u.c - panel types u4 and u5 (see linear_u_in.h): micro for all of them; Q4_0, Q4_1,
 * Q5_0 and Q5_1. The K-quants are in linear_k.c. */
#include "kernels/avx2/linear_few_in.h"

/* Nibbles of the blocks at `at` of 8 rows: q[0..4) the low ones, k = 0..15, q[4..8) the high ones. */
SL_ALWAYS_INLINE void nibbles(__m256i q[8], const stored_rows *rows, size_t at, bool five)
{
    const __m256i low = _mm256_set1_epi8(15);
    __m256i v[4];
    load_dwords(v, rows, at);
    if (!five)
        keep(v, 4);
    UNROLL
    for (size_t i = 0; i < 4; i++) {
        q[i] = _mm256_and_si256(v[i], low);
        q[i + 4] = _mm256_and_si256(_mm256_srli_epi16(v[i], 4), low);
    }
}

/* ---- stored blocks -------------------------------------------------------------- */

/* Where a function takes a format, it is a constant: it is inlined once for each. */

SL_ALWAYS_INLINE u_kind kind_of(sl_format f)
{
    const sl_format a = sl_format_apart(f);
    return (u_kind){ .five = a == SL_FORMAT_Q5_0 || a == SL_FORMAT_Q5_1,
                     .offset = a == SL_FORMAT_Q4_1 || a == SL_FORMAT_Q5_1 ? U_MINIMA : U_MIDDLE };
}

SL_ALWAYS_INLINE bool has_minima(sl_format f)
{
    return kind_of(f).offset == U_MINIMA;
}

/* d, then m, then 32 fifth bits, then the nibbles. */
SL_ALWAYS_INLINE size_t offset_of_q(sl_format f)
{
    return sizeof(uint16_t) * (has_minima(f) ? 2 : 1) + (kind_of(f).five ? sizeof(uint32_t) : 0);
}

SL_ALWAYS_INLINE size_t block_bytes(sl_format f)
{
    return offset_of_q(f) + SL_GROUP / 2;
}

/* q[i] |= 16 where bit 4i + j of a row's word is set, for its byte j. */
SL_ALWAYS_INLINE void fifth_bits(__m256i q[8], __m256i words)
{
    UNROLL
    for (size_t i = 0; i < 8; i++) {
        const int byte = (int)i / 2, shift = i % 2 ? 4 : 0;
        const __m256i spread = _mm256_add_epi8(_mm256_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0,
                                                                0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12),
                                               _mm256_set1_epi8((char)byte));
        const __m256i bit = _mm256_set1_epi32((int)(0x08040201u << shift));
        const __m256i bytes = _mm256_shuffle_epi8(words, spread);
        const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
        q[i] = _mm256_or_si256(q[i], _mm256_and_si256(set, _mm256_set1_epi8(16)));
    }
}

/* The blocks at `at` of 8 rows. */
SL_ALWAYS_INLINE void load_group(__m256i q[8], __m256 *d, __m256 *m, const stored_rows *rows, size_t at, sl_format f)
{
    nibbles(q, rows, at + offset_of_q(f), kind_of(f).five);
    if (kind_of(f).five)
        fifth_bits(q, load_dword(rows, at + offset_of_q(f) - sizeof(uint32_t)));
    if (has_minima(f)) {
        load_2_halves(d, m, rows, at);
    } else {
        *d = load_halves(rows, at);
        *m = _mm256_setzero_ps();
    }
}

/* ---- decode and micro ---------------------------------------------------------- */

SL_ALWAYS_INLINE void decode(void *dst, const sl_tensor *w, size_t r0, size_t r1, size_t k0, size_t k1, sl_format f)
{
    const stored_rows rows = rows_stored(w, r0, r1, sl_format_is_interleaved(f));
    uint8_t *out = dst;
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++) {
        __m256i q[8];
        __m256 d, m;
        load_group(q, &d, &m, &rows, g * block_bytes(f), f);
        UNROLL
        for (size_t i = 0; i < 8; i++)
            store_i(out + offsetof(u_offset_group, q[i]), q[i]);
        _mm256_storeu_ps((float *)(void *)(out + offsetof(u_offset_group, d)), d);
        if (has_minima(f))
            _mm256_storeu_ps((float *)(void *)(out + offsetof(u_offset_group, m)), m);
        out += has_minima(f) ? sizeof(u_offset_group) : sizeof(u_group);
    }
}

/* n tokens x `rows` rows of one panel, or of two, the second behind the first. */
SL_ALWAYS_INLINE void micro_tile(float *y, size_t ldy, const uint8_t *panel, size_t rows, size_t k0, size_t k1,
                                 const sl_act *x, size_t t, bool first, size_t n, size_t stride, size_t panels,
                                 u_kind kind)
{
    const size_t bytes = kind.offset != U_MIDDLE ? sizeof(u_offset_group) : sizeof(u_group);
    __m256 acc[LINEAR_TILE_MAX];
    UNROLL
    for (size_t p = 0; p < panels; p++)
        load_tile(acc + p * n, y + p * SL_PANEL_ROWS, ldy, SL_MIN(SL_PANEL_ROWS, rows - p * SL_PANEL_ROWS), n, first);
    for (size_t g = k0 / SL_GROUP; g < k1 / SL_GROUP; g++, panel += bytes) {
        const __m256i *q[2];
        __m256 d[2], m[2];
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            const uint8_t *at = panel + p * stride;
            q[p] = (const __m256i *)(const void *)at;
            d[p] = _mm256_loadu_ps((const float *)(const void *)(at + offsetof(u_offset_group, d)));
            m[p] = kind.offset != U_MIDDLE
                       ? _mm256_loadu_ps((const float *)(const void *)(at + offsetof(u_offset_group, m)))
                       : _mm256_setzero_ps();
        }
        add_groups(acc, q, d, m, panels, act_group(x, t, g), n, kind);
    }
    UNROLL
    for (size_t p = 0; p < panels; p++)
        store_tile(y + p * SL_PANEL_ROWS, ldy, acc + p * n, SL_MIN(SL_PANEL_ROWS, rows - p * SL_PANEL_ROWS), n);
}

#define KIND(is_five, from) ((u_kind){ .five = is_five, .offset = from })
MICRO_BY_PAIRS(sl_micro_u4_avx2, micro_tile, KIND(false, U_MIDDLE))
MICRO_BY_PAIRS(sl_micro_u4_mins_avx2, micro_tile, KIND(false, U_MINIMA))
MICRO_BY_PAIRS(sl_micro_u4_zeros_avx2, micro_tile, KIND(false, U_ZEROS))
MICRO_BY_PAIRS(sl_micro_u5_avx2, micro_tile, KIND(true, U_MIDDLE))
MICRO_BY_PAIRS(sl_micro_u5_mins_avx2, micro_tile, KIND(true, U_MINIMA))
#undef KIND

/* ---- narrow -------------------------------------------------------------------- */

/* n tokens x 8 rows each of `panels`, asking for later ones on the way. lanes: as in act_of. */
SL_ALWAYS_INLINE void narrow_tile(float *y, size_t ldy, const sl_tensor *w, size_t r0, size_t r1, const void *next,
                                  const sl_act *x, size_t t, size_t n, const sl_lanes *lanes, sl_format f,
                                  size_t panels)
{
    stored_rows rows[SIDE_PANELS];
    panels_stored(rows, w, r0, r1, sl_format_is_interleaved(f), panels);
    const onward ahead = onward_rows(rows[0].row[0], w, r1, next);
    __m256 acc[LINEAR_TILE_MAX];
    zero_tile(acc, n * panels);
    for (size_t g = 0, at = 0; g < w->cols / SL_GROUP; g++, at += block_bytes(f)) {
        UNROLL
        for (size_t p = 0; p < panels; p++) {
            __m256i q[8];
            __m256 d, m;
            load_group(q, &d, &m, &rows[p], at, f);
            add_group(acc + p * n, q, d, m, act_of(x, t, n, lanes, g), n, kind_of(f));
        }
        fetch_onward(&ahead, SL_PANEL_ROWS * at, SL_PANEL_ROWS * block_bytes(f));
    }
    store_panels(y, ldy, acc, r1 - r0, n, panels);
}

/* ---- few ----------------------------------------------------------------------- */

/* The two half-floats at `at` of each row. Pairs are loads alone, single ones would be inserted one by one. */
SL_ALWAYS_INLINE void two_halves(__m256 *first, __m256 *second, const uint8_t *const row[SL_PANEL_ROWS], size_t at)
{
    __m128i v[8];
    UNROLL
    for (size_t i = 0; i < 8; i++)
        v[i] = _mm_cvtsi32_si128((int)sl_load_le32(row[i] + at));
    UNROLL
    for (size_t i = 0; i < 4; i++) /* two rows: first, first, second, second */
        v[i] = _mm_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    const __m128i a = _mm_unpacklo_epi32(v[0], v[1]), b = _mm_unpacklo_epi32(v[2], v[3]);
    *first = _mm256_cvtph_ps(_mm_unpacklo_epi64(a, b));
    *second = _mm256_cvtph_ps(_mm_unpackhi_epi64(a, b));
}

/* 16 where bit k of the word is set, for byte k. */
SL_ALWAYS_INLINE __m256i sixteens(__m256i word)
{
    const __m256i spread = _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3,
                                            3, 3, 3, 3, 3, 3, 3);
    const __m256i bit = _mm256_set1_epi64x((int64_t)0x8040201008040201);
    const __m256i bytes = _mm256_and_si256(_mm256_shuffle_epi8(word, spread), bit);
    return _mm256_and_si256(_mm256_cmpeq_epi8(bytes, bit), _mm256_set1_epi8(16));
}

/* A row's block; its only group is i. */
SL_ALWAYS_INLINE void load_row(uint8_t q[SL_GROUP], const uint8_t *block, size_t i, sl_format f)
{
    const __m256i shift = _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4), low = _mm256_set1_epi8(15);
    const uint8_t *stored = block + offset_of_q(f);
    const __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)stored));
    __m256i v = _mm256_and_si256(_mm256_srlv_epi32(both, shift), low);
    (void)i;
    if (kind_of(f).five)
        v = _mm256_or_si256(v, sixteens(broadcast4(stored - sizeof(uint32_t))));
    store_i(q, v);
}

SL_ALWAYS_INLINE void load_scales(few_weights *out, const stored_rows *rows, size_t at, sl_format f)
{
    __m256 d, second;
    two_halves(&d, &second, rows->row, at);
    _mm256_storeu_ps(out->d, d);
    if (has_minima(f))
        _mm256_storeu_ps(out->m, second);
}

/* ---- the table ----------------------------------------------------------------- */

#define PLAIN(id)                                                                                                      \
    static DECODE_WITH(decode_##id, decode, SL_FORMAT_##id)                                                            \
    static NARROW_BY_ROWS(narrow_##id, narrow_tile, NULL, SL_FORMAT_##id, 1)                                           \
    static FEW_BY_ROWS(few_##id, load_row, load_scales, kind_of(SL_FORMAT_##id), 1, block_bytes(SL_FORMAT_##id),       \
                       SL_FORMAT_##id)
#define R8(id)                                                                                                         \
    static DECODE_WITH(decode_##id##_R8, decode, SL_FORMAT_##id##_R8)                                                  \
    static FEW_BY_TILES(few_##id##_R8, narrow_tile, SL_FORMAT_##id##_R8, 1)
#define U_FORMATS(X) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1)
U_FORMATS(PLAIN)
U_FORMATS(R8)
#undef PLAIN
#undef R8

/* With 5 bits, what limits is their decoding. */
NARROW_BY_PANELS(narrow_Q4_0_R8, narrow_tile, NULL, SL_FORMAT_Q4_0_R8)
NARROW_BY_PANELS(narrow_Q4_1_R8, narrow_tile, NULL, SL_FORMAT_Q4_1_R8)
static NARROW_BY_ROWS(narrow_Q5_0_R8, narrow_tile, NULL, SL_FORMAT_Q5_0_R8, 1)
static NARROW_BY_ROWS(narrow_Q5_1_R8, narrow_tile, NULL, SL_FORMAT_Q5_1_R8, 1)

void sl_linear_init_avx2_u(sl_kernels *k)
{
/* Interleaved rows are read twice for 5 to 7 tokens, rather than made panels. */
#define SLOT(id, most)                                                                                                 \
    k->panel[SL_FORMAT_##id][SL_ACT_Q8] = u_panel(kind_of(SL_FORMAT_##id), decode_##id, narrow_##id, most, few_##id);
#define SLOTS(id) SLOT(id, LINEAR_TILE) SLOT(id##_R8, SL_LANES)
    U_FORMATS(SLOTS)
#undef SLOTS
#undef SLOT
    k->panel[SL_FORMAT_Q4_0_R8][SL_ACT_Q8].streams = k->panel[SL_FORMAT_Q4_1_R8][SL_ACT_Q8].streams = SIDE_PANELS;
}
