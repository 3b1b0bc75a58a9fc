/* test_attention.c - the attention operation alone, over pages written by hand: against double
 * precision, with keys that are hard to round, with windows, and with pages in disorder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "module/attention.h"

#define N_HEADS 4 /* query heads, on N_KV heads of keys and values */
#define N_KV    2
#define WIDTH   64

/* What one run is about: the last `n_query` positions of a sequence of `n` are the queries. */
typedef struct setting {
    size_t n, n_query, P, window, n_threads;
    sl_kv_type type;
    sl_kv_layout layout;
    sl_attn attn;
    sl_isa isa;
    bool sinks;
} setting;

/* One that hardly counts, one like a score, one above most, one that takes nearly all. */
static const float sinks[N_HEADS] = { -30.0f, 0.5f, 3.0f, 12.0f };

typedef struct fixture {
    sl_kernels kernels;
    sl_kv *kv;
    uint32_t *table;
    float *k, *v, *q; /* [n][N_KV][WIDTH] twice, [n_query][N_HEADS][WIDTH] */
} fixture;

static float normal(uint64_t seed, uint64_t i)
{
    float sum = 0;
    for (uint64_t j = 0; j < 12; j++)
        sum += (float)(sl_rng_u64(seed, 12 * i + j) >> 40) * 0x1p-24f;
    return sum - 6;
}

/* Keys of an amplitude of 5 with a channel of 60, as models have them; others plain. */
static void fill(fixture *f, const setting *s, bool outlier)
{
    for (size_t i = 0; i < s->n * N_KV * WIDTH; i++) {
        f->k[i] = outlier ? 5 * normal(1, i) : normal(1, i);
        if (outlier && i % WIDTH == 17)
            f->k[i] = 60 + normal(2, i);
        f->v[i] = normal(3, i);
    }
    for (size_t i = 0; i < s->n_query * N_HEADS * WIDTH; i++)
        f->q[i] = outlier && i % WIDTH == 17 ? 0.1f * normal(4, i) : normal(4, i);
}

/* Pages are taken so that neighbours of the sequence are none in memory. */
static void open_fixture(fixture *f, const setting *s, bool outlier)
{
    const size_t n_pages = sl_div_up(s->n, s->P);
    const sl_kv_shape shape = { 1, N_KV, WIDTH, s->type, s->layout, s->P, n_pages };
    sl_err err = { 0 };
    *f = (fixture){ 0 };
    sl_kernels_init(&f->kernels, s->isa);
    if (sl_kv_create(&f->kv, &shape, NULL, &err))
        fail_msg("%s", err.msg);
    f->table = sl_mem_zalloc(n_pages, sizeof *f->table);
    f->k = sl_mem_zalloc(s->n * N_KV * WIDTH, sizeof *f->k);
    f->v = sl_mem_zalloc(s->n * N_KV * WIDTH, sizeof *f->v);
    f->q = sl_mem_zalloc(s->n_query * N_HEADS * WIDTH, sizeof *f->q);
    assert_true(f->table && f->k && f->v && f->q);
    fill(f, s, outlier);
    for (size_t i = 0; i < n_pages; i++) {
        const uint32_t page = sl_kv_page_take(f->kv);
        f->table[(i * 7 + 3) % n_pages] = page; /* n_pages is no multiple of 7 */
        for (size_t h = 0; h < N_KV; h++) {     /* what no result may depend on */
            const size_t bytes = sl_kv_token_bytes(s->type, WIDTH) * s->P;
            memset(sl_kv_k(f->kv, page, 0, h).data, 0xff, bytes);
            memset(sl_kv_v(f->kv, page, 0, h).data, 0xff, bytes);
        }
    }
    for (size_t t = 0; t < s->n; t++)
        for (size_t h = 0; h < N_KV; h++) {
            const sl_kv_head k = sl_kv_k(f->kv, f->table[t / s->P], 0, h), v = sl_kv_v(f->kv, f->table[t / s->P], 0, h);
            f->kernels.kv_write_k[s->layout][s->type](&k, t % s->P, f->k + (t * N_KV + h) * WIDTH);
            f->kernels.kv_write_v[s->type](&v, t % s->P, f->v + (t * N_KV + h) * WIDTH);
        }
}

static void close_fixture(fixture *f)
{
    sl_kv_destroy(f->kv);
    sl_mem_free(f->table);
    sl_mem_free(f->k);
    sl_mem_free(f->v);
    sl_mem_free(f->q);
}

/* out [step->n][N_HEADS][WIDTH]. All threads have taken their first tiles before one runs, and the first to run gets
 * all others. */
static void run_step(const fixture *f, const setting *s, const sl_step *step, size_t n_ctx, float *out)
{
    const sl_heads heads = {
        .H = N_HEADS, .Hkv = N_KV, .C = WIDTH, .scale = 0.125f, .window = s->window, .sinks = s->sinks ? sinks : NULL
    };
    const sl_limits limits = { step->n, 1, n_ctx, s->n_threads };
    const sl_env env = { .k = &f->kernels, .attn = s->attn, .limits = limits };
    sl_graph g;
    sl_arena arena;
    sl_arena_init(&arena, 1 << 16);
    sl_graph_init(&g, &arena, &limits);
    const sl_op op = { .kind = SL_OP_ATTENTION, .in = { 0, 1 }, .out = { 2, 3 }, .heads = heads };
    float *partials = sl_mem_alloc(sl_attn_workspace(&env, &heads));
    void *scratch = sl_mem_alloc(sl_attention_impl.scratch_bytes(&g, &op, &env));
    sl_tiles *tiles = sl_mem_zalloc(1, sizeof *tiles);
    sl_lane *lane = sl_mem_zalloc(s->n_threads, sizeof *lane);
    assert_true(partials && scratch && tiles && lane);
    memset(partials, 0xff, sl_attn_workspace(&env, &heads)); /* NaN: what nobody wrote must not count */
    float *value[] = { f->q, NULL, out, partials };
    for (size_t i = 0; i < s->n_threads; i++) {
        lane[i] = (sl_lane){ .env = &env,
                             .step = step,
                             .kv = f->kv,
                             .value = value,
                             .scratch = scratch,
                             .tiles = tiles,
                             .n_threads = s->n_threads };
        sl_attention_impl.fetch(&g, &op, &lane[i]);
    }
    for (size_t i = 0; i < s->n_threads; i++)
        sl_attention_impl.run(&g, &op, &lane[i]);
    if (sl_attn_is_split(&env, &heads, step))
        for (size_t i = 0; i < step->n * N_HEADS; i++)
            sl_attn_merge(&env, &heads, step, out, partials, i / N_HEADS, i % N_HEADS, out + i * WIDTH);
    sl_mem_free(partials);
    sl_mem_free(scratch);
    sl_mem_free(tiles);
    sl_mem_free(lane);
    sl_arena_fini(&arena);
}

/* Add n tokens of a sequence, the last at end - 1, in blocks of `block`. */
static void add_tokens(sl_step *step, uint32_t *pos, uint32_t *seq, sl_query_block *blocks, uint32_t of, size_t end,
                       size_t n, size_t block)
{
    for (size_t t = 0; t < n; t++) {
        pos[step->n + t] = (uint32_t)(end - n + t);
        seq[step->n + t] = of;
    }
    for (size_t t = 0; t < n; t += block)
        blocks[step->n_blocks++] =
            (sl_query_block){ (uint32_t)(step->n + t), (uint32_t)SL_MIN(block, n - t), pos[step->n + t], of };
    step->n += n;
}

/* out [n_query][N_HEADS][WIDTH], in blocks of `block` queries. */
static void run(const fixture *f, const setting *s, size_t block, float *out)
{
    const size_t n_ctx = sl_round_up(s->n, s->P);
    sl_query_block blocks[64] = { 0 };
    uint32_t pos[64], seq[64];
    sl_step step = { .pos = pos, .seq = seq, .table = f->table, .table_ld = n_ctx / s->P, .block = blocks };
    add_tokens(&step, pos, seq, blocks, 0, s->n, s->n_query, block);
    run_step(f, s, &step, n_ctx, out);
}

/* The largest error over all outputs, against double on the keys and values as they were. */
static double worst(const fixture *f, const setting *s, const float *out)
{
    double *p = malloc(s->n * sizeof *p), most = 0;
    for (size_t i = 0; p && i < s->n_query * N_HEADS; i++) {
        const size_t pos = s->n - s->n_query + i / N_HEADS, h = i % N_HEADS / (N_HEADS / N_KV);
        const size_t first = s->window && pos + 1 > s->window ? pos + 1 - s->window : 0;
        const double sink = s->sinks ? (double)sinks[i % N_HEADS] : -HUGE_VAL;
        double max = sink, sum = 0;
        for (size_t j = first; j <= pos; j++) {
            p[j] = 0;
            for (size_t c = 0; c < WIDTH; c++)
                p[j] += 0.125 * (double)f->q[i * WIDTH + c] * (double)f->k[(j * N_KV + h) * WIDTH + c];
            max = fmax(max, p[j]);
        }
        for (size_t j = first; j <= pos; j++)
            sum += p[j] = exp(p[j] - max);
        sum += exp(sink - max);
        for (size_t c = 0; c < WIDTH; c++) {
            double want = 0;
            for (size_t j = first; j <= pos; j++)
                want += p[j] / sum * (double)f->v[(j * N_KV + h) * WIDTH + c];
            const double error = fabs(want - (double)out[i * WIDTH + c]);
            most = error <= most ? most : isnan(error) ? HUGE_VAL : error;
        }
    }
    free(p);
    return most;
}

static double error_of(const setting *s, bool outlier)
{
    fixture f;
    float *out = sl_mem_zalloc(s->n_query * N_HEADS * WIDTH, sizeof *out);
    assert_non_null(out);
    open_fixture(&f, s, outlier);
    run(&f, s, 8, out);
    const double e = worst(&f, s, out);
    close_fixture(&f);
    sl_mem_free(out);
    return e;
}

static void every_type_and_layout(void **state)
{
    static const double bound[SL_KV_COUNT] = {
        [SL_KV_F32] = 2e-6, [SL_KV_F16] = 2e-3, [SL_KV_BF16] = 2e-2, [SL_KV_INT8] = 3e-2
    };
    (void)state;
    for (size_t type = 0; type < SL_KV_COUNT; type++)
        for (size_t i = 0; i < 2 * 2 * 2 * 3; i++) {
            const setting s = { 700,
                                24,
                                48,
                                i & 4 ? 130 : 0,
                                1,
                                (sl_kv_type)type,
                                (sl_kv_layout)(i & 1),
                                i >= 16 ? SL_ATTN_PLAIN : SL_ATTN_FLASH,
                                i & 2 ? sl_cpu_isa() : SL_ISA_SCALAR,
                                i >= 8 };
            const double e = error_of(&s, false);
            if (!(e <= bound[type]))
                fail_msg("%s, layout %zu, isa %d, window %zu: error %g", sl_kv_type_name(s.type), i & 1, (int)s.isa,
                         s.window, e);
        }
}

/* One scale for a position and head: neither a channel far above the others nor the length of the
 * sequence makes the result useless. */
static void outliers_at_any_length(void **state)
{
    static const size_t length[] = { 64, 512, 4096 };
    (void)state;
    double e[3];
    for (size_t i = 0; i < 3; i++) {
        const setting s = { length[i], 8, 64, 0, 1, SL_KV_INT8, SL_KV_GROUPED, SL_ATTN_FLASH, sl_cpu_isa() };
        e[i] = error_of(&s, true);
    }
    for (size_t i = 0; i < 3; i++)
        if (!(e[i] <= 0.6) || !(e[i] <= 2 * e[0]))
            fail_msg("errors at 64, 512 and 4,096 positions: %g, %g, %g", e[0], e[1], e[2]);
}

/* One bad value shows where it can be seen, and nowhere else. */
static void a_fault_shows_where_it_is(void **state)
{
    (void)state;
    const setting s = { 300, 40, 16, 32, 1, SL_KV_INT8, SL_KV_GROUPED, SL_ATTN_FLASH, sl_cpu_isa() };
    fixture f;
    float *out = sl_mem_zalloc(s.n_query * N_HEADS * WIDTH, sizeof *out);
    assert_non_null(out);
    open_fixture(&f, &s, false);
    float bad[WIDTH];
    memcpy(bad, f.v + 265 * N_KV * WIDTH, sizeof bad);
    bad[3] = INFINITY;
    const sl_kv_head v = sl_kv_v(f.kv, f.table[265 / s.P], 0, 0);
    f.kernels.kv_write_v[s.type](&v, 265 % s.P, bad);
    run(&f, &s, 8, out);
    for (size_t i = 0; i < s.n_query * N_HEADS * WIDTH; i++) {
        const size_t pos = s.n - s.n_query + i / (N_HEADS * WIDTH);
        const bool seen = pos >= 265 && pos < 265 + s.window && i / WIDTH % N_HEADS < N_HEADS / N_KV;
        if (seen != (bool)isnan(out[i]))
            fail_msg("position %zu, head %zu: %g", pos, i / WIDTH % N_HEADS, (double)out[i]);
    }
    close_fixture(&f);
    sl_mem_free(out);
}

/* However queries are grouped, whoever computes a chunk, whichever pages: the same bits. Windows begin before, at and
 * behind a chunk's edge: what a row sees nothing of is never joined to it (bug report B149). */
static void same_bits(void **state)
{
    static const size_t windows[] = { 0, 1, 16, 255, 256, 257, 600 }, blocks[] = { 1, 3, 16 };
    (void)state;
    for (size_t type = 0; type < SL_KV_COUNT; type++)
        for (size_t w = 0; w < SL_COUNT(windows); w++) {
            setting s = { 777,           32,           48,   windows[w], 1, (sl_kv_type)type, SL_KV_GROUPED,
                          SL_ATTN_FLASH, sl_cpu_isa(), w % 2 };
            float *want = sl_mem_zalloc(s.n_query * N_HEADS * WIDTH, sizeof *want),
                  *got = sl_mem_zalloc(s.n_query * N_HEADS * WIDTH, 4);
            fixture f;
            assert_true(want && got);
            open_fixture(&f, &s, false);
            run(&f, &s, 8, want);
            if (worst(&f, &s, want) > 5e-2)
                fail_msg("%s, window %zu: error %g", sl_kv_type_name(s.type), s.window, worst(&f, &s, want));
            for (size_t b = 0; b < SL_COUNT(blocks); b++) {
                run(&f, &s, blocks[b], got);
                assert_memory_equal(got, want, s.n_query * N_HEADS * WIDTH * sizeof *got);
            }
            close_fixture(&f);
            s.P = 256;
            open_fixture(&f, &s, false);
            run(&f, &s, 16, got);
            assert_memory_equal(got, want, s.n_query * N_HEADS * WIDTH * sizeof *got);
            for (s.n_threads = 16; s.n_threads <= 64; s.n_threads *= 2) /* few queries for so many: split by chunks */
                for (size_t b = 0; b < SL_COUNT(blocks); b++) {
                    memset(got, 0, s.n_query * N_HEADS * WIDTH * sizeof *got);
                    run(&f, &s, blocks[b], got);
                    assert_memory_equal(got, want, s.n_query * N_HEADS * WIDTH * sizeof *got);
                }
            close_fixture(&f);
            sl_mem_free(want);
            sl_mem_free(got);
        }
}

/* Sequences of very different lengths in one step, some with several tokens: each has the bits that it has alone. All
 * begin alike, so that one has the pages of another; behind its last position its table names none. */
static void several_sequences(void **state)
{
    static const size_t end[] = { 1, 300, 1500, 257, 777, 1024 }, tokens[] = { 1, 1, 3, 1, 7, 2 };
    static const size_t threads[] = { 2, 7, 16, 64 }, windows[] = { 0, 40, 600 };
    enum { P = 48, PAGES = 32, SEQS = 6, TOKENS = 15 };
    (void)state;
    for (size_t i = 0; i < SL_COUNT(windows) * SL_COUNT(threads) * 3; i++) {
        const size_t block = 1 + i % 3 * 2;
        setting s = { PAGES * P,     TOKENS,       P,    windows[i / 3 % 3], 1, SL_KV_F16, SL_KV_GROUPED,
                      SL_ATTN_FLASH, sl_cpu_isa(), i % 2 };
        sl_query_block blocks[TOKENS] = { 0 };
        uint32_t pos[TOKENS], seq[TOKENS], table[SEQS][PAGES];
        float want[TOKENS * N_HEADS * WIDTH], got[TOKENS * N_HEADS * WIDTH];
        sl_step step = { .pos = pos, .seq = seq, .table = table[0], .table_ld = PAGES, .block = blocks };
        fixture f;
        open_fixture(&f, &s, false);
        memset(table, 0xff, sizeof table);
        for (size_t j = 0; j < SEQS; j++) {
            fixture one = f;
            const setting alone = { end[j], tokens[j], P, s.window, 1, s.type, s.layout, s.attn, s.isa, s.sinks };
            one.q += step.n * N_HEADS * WIDTH;
            run(&one, &alone, 1, want + step.n * N_HEADS * WIDTH);
            memcpy(table[j], f.table, sl_div_up(end[j], P) * sizeof **table);
            add_tokens(&step, pos, seq, blocks, (uint32_t)j, end[j], tokens[j], block);
        }
        assert_int_equal(step.n, TOKENS);
        s.n_threads = threads[i / 9];
        memset(got, 0, sizeof got);
        run_step(&f, &s, &step, PAGES * P, got);
        if (memcmp(got, want, sizeof got) != 0)
            fail_msg("%zu threads, window %zu, blocks of %zu: other bits", s.n_threads, s.window, block);
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_layout),     cmocka_unit_test(outliers_at_any_length),
        cmocka_unit_test(a_fault_shows_where_it_is), cmocka_unit_test(same_bits),
        cmocka_unit_test(several_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
