/* attn.c - scores and weighted sums of values: both are out[r][x] += sum over k of a[r][k] b[k][x],
 * where b is a page (keys: k = channel, x = token; values: k = token, x = channel).
 *
 * An element of `out` is one chain of FMAs over ascending k, begun at zero (scores) or at what
 * stood there (values). Tiles and row blocks choose only which chains run side by side, and
 * a chain that is put down into `out` and taken up again has lost nothing: all paths give the
 * same bits.
 *
 * Few rows (one token's query heads) are bound by memory and read the page directly. From
 * PACK_ROWS rows on, a tile of 16 x is converted to f32 once and used by all blocks of up to 6
 * rows: 12 accumulators, 2 vectors of b and 1 broadcast fill the 16 registers. Either way each step
 * over this page also fetches a line of a later one: a page is too short for the hardware to
 * see a stream in it, and between two pages memory would stand idle. */
#include "kernels/avx2/attn_in.h"

#include <assert.h>
#include "base/num.h"

enum { ROW_BLOCK = 6, PACK_ROWS = 13, PACK_K = 128, PACK_X = 16 };

/* Step `k` of the tile of 8 vecs x from x on has its turn: fetch as many bytes of the next page as it reads
 * of this one, in the order of memory. n: rows of b that a tile passes over. */
SL_ALWAYS_INLINE void fetch_next(b_kind kind, size_t vecs, const b_view *b, size_t n, size_t k, size_t x)
{
    const size_t rows = kind == B_BF16_PAIR ? n / 2 : n, row = kind == B_BF16_PAIR ? k / 2 : k;
    if (!b->next)
        return;
    const char *p = (const char *)b->next + (x * rows + row * 8 * vecs) * x_bytes(kind);
    sl_cpu_prefetch_bytes(p, 8 * vecs * x_bytes(kind));
}

/* The rows of a and out; zero: out is not read. */
typedef struct job {
    float *out;
    size_t ldo;
    const float *a;
    size_t lda;
    size_t k0, k1;
    bool zero;
} job;

SL_ALWAYS_INLINE void tile_step(b_kind kind, size_t rows, size_t vecs, __m256 acc[ROW_BLOCK][4], const job *j,
                                const b_view *b, size_t k, bool odd, size_t x, const tail_mask *m)
{
    if (!(kind == B_BF16_PAIR && odd))
        fetch_next(kind, vecs, b, j->k1, k, x);
    __m256 w[4];
    for (size_t v = 0; v < vecs; v++)
        w[v] = load8(kind, b, k, odd, x + 8 * v, m);
    for (size_t r = 0; r < rows; r++) {
        const __m256 a = _mm256_broadcast_ss(j->a + r * j->lda + k);
        for (size_t v = 0; v < vecs; v++)
            acc[r][v] = _mm256_fmadd_ps(a, w[v], acc[r][v]);
    }
}

/* out[0..rows)[x .. x + 8 vecs), all chains in registers. m: a tail, with vecs = 1. */
SL_ALWAYS_INLINE void tile(b_kind kind, size_t rows, size_t vecs, const job *j, const b_view *b, size_t x,
                           const tail_mask *m)
{
    __m256 acc[ROW_BLOCK][4];
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vecs; v++) {
            const float *o = j->out + r * j->ldo + x + 8 * v;
            acc[r][v] = j->zero ? _mm256_setzero_ps() : m ? _mm256_maskload_ps(o, m->m8) : _mm256_loadu_ps(o);
        }
    size_t k = j->k0; /* even for pairs, whose k1 is even too */
    for (; k + 2 <= j->k1; k += 2) {
        tile_step(kind, rows, vecs, acc, j, b, k, false, x, m);
        tile_step(kind, rows, vecs, acc, j, b, k + 1, true, x, m);
    }
    if (kind != B_BF16_PAIR && k < j->k1)
        tile_step(kind, rows, vecs, acc, j, b, k, false, x, m);
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vecs; v++) {
            float *o = j->out + r * j->ldo + x + 8 * v;
            if (m)
                _mm256_maskstore_ps(o, m->m8, acc[r][v]);
            else
                _mm256_storeu_ps(o, acc[r][v]);
        }
}

/* out[0..rows)[0..width). Up to 4 rows go two by two over 32 x, a whole cache line of halves. */
SL_ALWAYS_INLINE void strip(b_kind kind, size_t rows, const job *j, const b_view *b, size_t width)
{
    size_t x = 0;
    job second = *j;
    second.a += 2 * j->lda;
    second.out += 2 * j->ldo;
    const b_view fetched = { b->data, b->ld, b->block, NULL };
    for (; rows <= 4 && x + 32 <= width; x += 32) {
        tile(kind, rows < 2 ? rows : 2, 4, j, b, x, NULL);
        if (rows > 2)
            tile(kind, rows - 2, 4, &second, &fetched, x, NULL);
    }
    for (; x + 16 <= width; x += 16)
        tile(kind, rows, 2, j, b, x, NULL);
    if (x + 8 <= width) {
        tile(kind, rows, 1, j, b, x, NULL);
        x += 8;
    }
    if (x < width) {
        const tail_mask m = tail_of(width - x);
        tile(kind, rows, 1, j, b, x, &m);
    }
}

SL_ALWAYS_INLINE void block(b_kind kind, size_t rows, const job *j, const b_view *b, size_t width)
{
    switch (rows) {
    case 1:
        strip(kind, 1, j, b, width);
        break;
    case 2:
        strip(kind, 2, j, b, width);
        break;
    case 3:
        strip(kind, 3, j, b, width);
        break;
    case 4:
        strip(kind, 4, j, b, width);
        break;
    case 5:
        strip(kind, 5, j, b, width);
        break;
    default:
        strip(kind, ROW_BLOCK, j, b, width);
    }
}

/* One copy of each, since they are large and called from several places. */
typedef void block_fn(size_t rows, const job *j, const b_view *b, size_t width);
#define DEFINE_BLOCK(name, kind)                                                                                       \
    static __attribute__((noinline)) void name(size_t rows, const job *j, const b_view *b, size_t width)               \
    {                                                                                                                  \
        block(kind, rows, j, b, width);                                                                                \
    }
DEFINE_BLOCK(block_f32, B_F32)
DEFINE_BLOCK(block_f16, B_F16)
DEFINE_BLOCK(block_bf16, B_BF16)
DEFINE_BLOCK(block_bf16_pair, B_BF16_PAIR)
DEFINE_BLOCK(block_s8, B_S8)
#undef DEFINE_BLOCK

/* Up to ROW_BLOCK rows, row r only for k < n[r] (n NULL: all): together as far as all go, then
 * each on its own. A chain still sees ascending k. */
SL_ALWAYS_INLINE void block_ragged(block_fn *fn, size_t rows, const job *j, const uint32_t *n, const b_view *b,
                                   size_t width)
{
    size_t joint = j->k1;
    for (size_t r = 0; n && r < rows; r++)
        joint = SL_MIN(joint, (size_t)n[r]);
    job part = *j;
    part.k1 = joint;
    if (joint > 0)
        fn(rows, &part, b, width);
    part.k0 = joint;
    for (size_t r = 0; n && r < rows; r++) {
        part.k1 = SL_MIN(j->k1, (size_t)n[r]);
        part.out = j->out + r * j->ldo;
        part.a = j->a + r * j->lda;
        if (part.k0 < part.k1)
            fn(1, &part, b, width);
    }
}

/* Of n rows of b: buf[k - k0][0..16) = b[k][x .. x+16), lanes outside the masks zero. NULL, NULL: all lanes. */
SL_ALWAYS_INLINE void pack(b_kind kind, float buf[][PACK_X], const b_view *b, size_t n, size_t k0, size_t k1, size_t x,
                           const tail_mask *lo, const tail_mask *hi)
{
    for (size_t k = k0; k < k1; k++) {
        if (!(kind == B_BF16_PAIR && k & 1))
            fetch_next(kind, 2, b, n, k, x);
        _mm256_store_ps(buf[k - k0], load8(kind, b, k, k & 1, x, lo));
        _mm256_store_ps(buf[k - k0] + 8, load8(kind, b, k, k & 1, x + 8, hi));
    }
}

/* Where the rows of a packed tile go on: two places, three rows from each. A compiler that knew how the two hang
 * together would keep an address for each row and step, more than there are registers. */
typedef struct row_places {
    const char *lo, *hi;
    size_t ld; /* bytes from a row to the next */
} row_places;

/* One k of a packed tile: 2 vectors of b, and one number of each row. */
SL_ALWAYS_INLINE void packed_step(size_t rows, __m256 acc[ROW_BLOCK][2], row_places *a, const float *b)
{
    const __m256 w0 = _mm256_load_ps(b), w1 = _mm256_load_ps(b + 8);
    UNROLL
    for (size_t r = 0; r < rows; r++) {
        const __m256 x = _mm256_broadcast_ss((const float *)(const void *)((r < 3 ? a->lo : a->hi) + r % 3 * a->ld));
        acc[r][0] = _mm256_fmadd_ps(x, w0, acc[r][0]);
        acc[r][1] = _mm256_fmadd_ps(x, w1, acc[r][1]);
    }
    a->lo += sizeof(float);
    a->hi += sizeof(float);
    __asm__("" : "+r"(a->lo), "+r"(a->hi));
}

/* `tile` of 16 x of a packed page, where nothing but multiplying is left to do. */
SL_ALWAYS_INLINE void packed_tile(size_t rows, const job *j, const float *b)
{
    __m256 acc[ROW_BLOCK][2];
    UNROLL
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < 2; v++)
            acc[r][v] = j->zero ? _mm256_setzero_ps() : _mm256_loadu_ps(j->out + r * j->ldo + 8 * v);
    const char *first = (const char *)(j->a + j->k0);
    const size_t ld = j->lda * sizeof(float);
    row_places a = { first, rows > 3 ? first + 3 * ld : first, ld };
    const float *end = b + j->k1 * PACK_X;
    for (b += j->k0 * PACK_X; b < end; b += PACK_X)
        packed_step(rows, acc, &a, b);
    UNROLL
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < 2; v++)
            _mm256_storeu_ps(j->out + r * j->ldo + 8 * v, acc[r][v]);
}

/* A block_fn of packed pages. PACK_ROWS rows and more come in blocks of 4 to 6, and alone where one reaches further. */
static __attribute__((noinline)) void block_packed(size_t rows, const job *j, const b_view *b, size_t width)
{
    const float *packed = (const float *)(const void *)b->data;
    if (width != PACK_X) {
        block_f32(rows, j, b, width);
        return;
    }
    switch (rows) {
    case 1:
        packed_tile(1, j, packed);
        break;
    case 4:
        packed_tile(4, j, packed);
        break;
    case 5:
        packed_tile(5, j, packed);
        break;
    default:
        assert(rows == ROW_BLOCK);
        packed_tile(ROW_BLOCK, j, packed);
    }
}

SL_ALWAYS_INLINE void many_rows(b_kind kind, const job *j, size_t R, const uint32_t *n, const b_view *b, size_t width)
{
    _Alignas(64) float buf[PACK_K][PACK_X];
    const row_blocks blocks = row_blocks_of(R, ROW_BLOCK);
    for (size_t x = 0; x < width; x += PACK_X) {
        const size_t w = SL_MIN(width - x, (size_t)PACK_X);
        const tail_mask lo = tail_of(SL_MIN(w, (size_t)8)), hi = tail_of(w > 8 ? w - 8 : 0);
        for (size_t k0 = 0; k0 < j->k1; k0 += PACK_K) {
            const size_t k1 = SL_MIN(k0 + PACK_K, j->k1);
            if (w == PACK_X)
                pack(kind, buf, b, j->k1, k0, k1, x, NULL, NULL);
            else
                pack(kind, buf, b, j->k1, k0, k1, x, &lo, &hi);
            /* b[k] is buf[k - k0]: count k from k0 on */
            const b_view packed = { .data = (const uint8_t *)buf, .ld = PACK_X, .block = SL_KV_BLOCK };
            for (size_t i = 0, r = 0, rows; r < R; i++, r += rows) {
                uint32_t left[ROW_BLOCK];
                rows = rows_of_block(blocks, i);
                for (size_t l = 0; n && l < rows; l++)
                    left[l] = n[r + l] > k0 ? n[r + l] - (uint32_t)k0 : 0;
                const job part = { .out = j->out + r * j->ldo + x,
                                   .ldo = j->ldo,
                                   .a = j->a + r * j->lda + k0,
                                   .lda = j->lda,
                                   .k1 = k1 - k0,
                                   .zero = j->zero && k0 == 0 };
                block_ragged(block_packed, rows, &part, n ? left : NULL, &packed, w);
            }
        }
    }
}

SL_ALWAYS_INLINE void few_rows(block_fn *fn, const job *j, size_t R, const uint32_t *n, const b_view *b, size_t width)
{
    const row_blocks blocks = row_blocks_of(R, ROW_BLOCK);
    for (size_t i = 0, r = 0, rows; r < R; i++, r += rows) {
        rows = rows_of_block(blocks, i);
        job part = *j;
        part.out += r * j->ldo;
        part.a += r * j->lda;
        const b_view view = { b->data, b->ld, b->block, r ? NULL : b->next };
        block_ragged(fn, rows, &part, n ? n + r : NULL, &view, width);
    }
}

SL_ALWAYS_INLINE void all_rows(b_kind kind, block_fn *fn, const job *j, size_t R, const uint32_t *n, const b_view *b,
                               size_t width)
{
    if (R >= PACK_ROWS)
        many_rows(kind, j, R, n, b, width);
    else
        few_rows(fn, j, R, n, b, width);
}

SL_ALWAYS_INLINE void scores(b_kind kind, block_fn *fn, float *s, size_t lds, const sl_attn_query *q, size_t R,
                             const sl_kv_head *k, size_t at, size_t n)
{
    const size_t width = sl_round_up(n, PACK_X);
    const size_t rows = k->C / (kind == B_BF16_PAIR ? 2 : 1);
    const b_view b = { .data = (const uint8_t *)k->data + at * rows * x_bytes(kind),
                       .ld = SL_KV_BLOCK,
                       .block = rows * SL_KV_BLOCK,
                       .next = k->next };
    const job j = { .out = s, .ldo = lds, .a = q->x, .lda = q->ldx, .k1 = k->C, .zero = true };
    all_rows(kind, fn, &j, R, NULL, &b, width);
}

/* n, or NULL when all rows go to the same end: what most pages of a prompt are, and no row needs a look. */
static inline const uint32_t *ragged(const uint32_t *n, size_t R)
{
    for (size_t r = 1; r < R; r++)
        if (n[r] != n[0])
            return n;
    return NULL;
}

static inline size_t longest(const uint32_t *n, size_t R)
{
    size_t most = 0;
    for (size_t r = 0; r < R; r++)
        most = SL_MAX(most, (size_t)n[r]);
    return most;
}

SL_ALWAYS_INLINE b_view values(b_kind kind, const sl_kv_head *v, size_t at)
{
    return (b_view){
        .data = (const uint8_t *)v->data + at * v->C * x_bytes(kind), .ld = v->C, .block = SL_KV_BLOCK, .next = v->next
    };
}

SL_ALWAYS_INLINE void mix(b_kind kind, block_fn *fn, float *acc, const float *p, size_t ldp, const uint32_t *n,
                          size_t R, const sl_kv_head *v, size_t at)
{
    const b_view b = values(kind, v, at);
    const job j = { .out = acc, .ldo = v->C, .a = p, .lda = ldp, .k1 = longest(n, R) };
    all_rows(kind, fn, &j, R, ragged(n, R), &b, v->C);
}

#define DEFINE(name, key_kind, key_block, value_kind, value_block)                                                     \
    void sl_attn_scores_##name##_avx2(float *s, size_t lds, const sl_attn_query *q, size_t R, const sl_kv_head *k,     \
                                      size_t at, size_t n)                                                             \
    {                                                                                                                  \
        scores(key_kind, key_block, s, lds, q, R, k, at, n);                                                           \
    }                                                                                                                  \
    void sl_attn_mix_##name##_avx2(float *acc, const float *p, size_t ldp, const uint32_t *n, size_t R,                \
                                   const sl_kv_head *v, size_t at)                                                     \
    {                                                                                                                  \
        mix(value_kind, value_block, acc, p, ldp, n, R, v, at);                                                        \
    }
DEFINE(f32, B_F32, block_f32, B_F32, block_f32)
DEFINE(f16, B_F16, block_f16, B_F16, block_f16)
DEFINE(bf16, B_BF16_PAIR, block_bf16_pair, B_BF16, block_bf16)
#undef DEFINE

/* y[0..n) = p * scale */
static inline void scale_weights(float *y, const float *p, const float *scale, size_t n)
{
    size_t j = 0;
    for (; j + 8 <= n; j += 8)
        _mm256_storeu_ps(y + j, _mm256_mul_ps(_mm256_loadu_ps(p + j), _mm256_loadu_ps(scale + j)));
    for (; j < n; j++)
        y[j] = p[j] * scale[j];
}

/* The weights of up to MIX_ROWS rows and MIX_K tokens get the tokens' scales, and stay in L1. */
enum { MIX_ROWS = 48, MIX_K = 64 };

void sl_attn_mix_int8_avx2(float *acc, const float *p, size_t ldp, const uint32_t *n, size_t R, const sl_kv_head *v,
                           size_t at)
{
    _Alignas(64) float weight[MIX_ROWS][MIX_K];
    fetch_next_scales(v, 0, longest(n, R));
    for (size_t r0 = 0, rows; r0 < R; r0 += rows) {
        rows = SL_MIN(R - r0, (size_t)MIX_ROWS);
        const size_t end = longest(n + r0, rows);
        for (size_t k0 = 0; k0 < end; k0 += MIX_K) {
            uint32_t left[MIX_ROWS];
            for (size_t r = 0; r < rows; r++) {
                left[r] = n[r0 + r] > k0 ? SL_MIN(n[r0 + r] - (uint32_t)k0, (uint32_t)MIX_K) : 0;
                scale_weights(weight[r], p + (r0 + r) * ldp + k0, v->scale + at + k0, left[r]);
            }
            const b_view b = values(B_S8, v, at + k0);
            const job j = {
                .out = acc + r0 * v->C, .ldo = v->C, .a = weight[0], .lda = MIX_K, .k1 = SL_MIN(end - k0, (size_t)MIX_K)
            };
            all_rows(B_S8, block_s8, &j, rows, ragged(left, rows), &b, v->C);
        }
    }
}
