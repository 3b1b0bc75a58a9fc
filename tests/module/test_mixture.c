/* test_mixture.c - a mixture of experts against its meaning in plain C, and the same bits however it is run: fused or
 * expanded, with any number of threads, many tokens together or one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "base/num.h"
#include "base/rng.h"
#include "executor/run.h"
#include "models/net.h"
#include "module/basic.h"
#include "module/mixture.h"
#include "module/route.h"

#define N_VOCAB 64 /* rows of the table that tokens pick their inputs from */

typedef struct shape {
    size_t D, E, K, F, S; /* S: width of the shared expert; 0: none */
    size_t T;
    sl_format format; /* of gate and up; down */
    sl_format down;
    sl_score score;
    bool renorm, correction, shared_mix;
    bool biases; /* of the router and of the experts */
    sl_glu glu;
    bool one_token; /* all tokens are the same: some experts get all, the others none */
    size_t n_groups;
} shape;

/* The layer as a model of its own: the table of inputs, then the mixture. */
typedef struct model {
    sl_net net; /* first: build() gets its address */
    const shape *s;
    sl_tensor table;
    sl_mixture mixture;
    sl_norm norm;
    float *norm_weight, *correction, *bias; /* bias: [E] of the router, then the experts' */
    sl_tensor *list;                        /* [3][E] */
    void *block[32];
    size_t n_blocks;
    uint64_t draws;
} model;

static double normal(model *m)
{
    double sum = -6.0;
    for (size_t i = 0; i < 12; i++)
        sum += (double)(sl_rng_u64(7, m->draws++) >> 40) * 0x1p-24;
    return sum;
}

static void *keep(model *m, size_t bytes)
{
    assert_true(m->n_blocks < SL_COUNT(m->block));
    return m->block[m->n_blocks++] = calloc(1, bytes);
}

/* rows x cols of random numbers of deviation 1 / sqrt(cols) as stored. */
static sl_tensor tensor(model *m, sl_format format, size_t rows, size_t cols)
{
    static const struct {
        sl_format format;
        size_t block, bytes;
    } sizes[] = { { SL_FORMAT_F32, 1, 4 },           { SL_FORMAT_BF16, 1, 2 },         { SL_FORMAT_Q8_0, 32, 34 },
                  { SL_FORMAT_Q4_0, 32, 18 },        { SL_FORMAT_INT8_TOKEN, 32, 32 }, { SL_FORMAT_F8_E4M3_128, 1, 1 },
                  { SL_FORMAT_F8_E4M3_UE8M0, 1, 1 }, { SL_FORMAT_F8_E4M3_TOKEN, 1, 1 } };
    const bool e4m3 = format >= SL_FORMAT_F8_E4M3;
    sl_tensor t = { .format = format, .rows = rows, .cols = cols };
    for (size_t i = 0; i < SL_COUNT(sizes); i++)
        if (sizes[i].format == format)
            t.row_bytes = cols / sizes[i].block * sizes[i].bytes;
    assert_true(t.row_bytes);
    unsigned char *data = keep(m, rows * t.row_bytes);
    const double std = 1.0 / sqrt((double)cols);
    for (size_t i = 0; i < rows * cols; i++) {
        const float x = (float)(normal(m) * std);
        if (format == SL_FORMAT_F32) {
            memcpy(data + 4 * i, &x, 4);
        } else if (format == SL_FORMAT_BF16) {
            const uint16_t h = sl_bf16_from_f32(x);
            memcpy(data + 2 * i, &h, 2);
        } else if (e4m3) {
            data[i] = (unsigned char)(sl_rng_u64(8, m->draws++) & 0xbf); /* below 2 */
        } else if (format == SL_FORMAT_INT8_TOKEN) {
            data[i] = (unsigned char)sl_rng_u64(8, m->draws++);
        } else {
            const size_t bytes = format == SL_FORMAT_Q8_0 ? 34 : 18;
            unsigned char *block = data + i / 32 * bytes;
            const uint16_t d = sl_f16_from_f32((float)(std / (format == SL_FORMAT_Q8_0 ? 40 : 3)));
            memcpy(block, &d, 2);
            block[2 + i % 32 % (bytes - 2)] = (unsigned char)sl_rng_u64(8, m->draws++);
        }
    }
    t.data = data;
    if (e4m3 || format == SL_FORMAT_INT8_TOKEN) { /* a scale for each row */
        float *scale = keep(m, rows * sizeof *scale);
        for (size_t r = 0; r < rows; r++)
            scale[r] = (float)(std / (e4m3 ? 0.5 : 40) * (1.0 + (double)(r % 3)));
        t.scales =
            (sl_scales){ .scale = scale, .type = SL_SCALE_F32, .row_bytes = sizeof *scale, .rows = 1, .group = cols };
    }
    return t;
}

static void cut(sl_tensor *list, const sl_tensor *all, size_t E)
{
    for (size_t e = 0; e < E; e++)
        list[e] = sl_tensor_rows(all, e * (all->rows / E), (e + 1) * (all->rows / E));
}

static void make(model *m, const shape *s)
{
    *m = (model){ .s = s };
    m->table = tensor(m, SL_FORMAT_F32, N_VOCAB, s->D);
    m->norm_weight = keep(m, s->D * sizeof(float));
    for (size_t i = 0; i < s->D; i++)
        m->norm_weight[i] = 1.0f + 0.1f * (float)normal(m);
    m->norm = (sl_norm){ m->norm_weight, 1e-6f };
    m->list = keep(m, 3 * s->E * sizeof *m->list);
    m->correction = keep(m, s->E * sizeof(float));
    for (size_t e = 0; e < s->E; e++)
        m->correction[e] = 0.3f * (float)normal(m);
    const sl_tensor gate = tensor(m, s->format, s->E * s->F, s->D), up = tensor(m, s->format, s->E * s->F, s->D);
    const sl_tensor down = tensor(m, s->down, s->E * s->D, s->F);
    cut(m->list, &gate, s->E);
    cut(m->list + s->E, &up, s->E);
    cut(m->list + 2 * s->E, &down, s->E);
    m->mixture = (sl_mixture){
        .router = { .E = s->E,
                    .K = s->K,
                    .score = s->score,
                    .correction = s->correction ? m->correction : NULL,
                    .n_groups = s->n_groups,
                    .n_groups_kept = (s->n_groups + 1) / 2,
                    .n_group_best = 2,
                    .renorm = s->renorm,
                    .renorm_eps = 1e-20f,
                    .scale = s->correction ? 2.5f : 1.0f },
        .route = tensor(m, SL_FORMAT_F32, s->E, s->D),
        .F = s->F,
        .gate = m->list,
        .up = m->list + s->E,
        .down = m->list + 2 * s->E,
    };
    m->mixture.glu = s->glu;
    if (s->biases) {
        const size_t n = s->E * (1 + 2 * s->F + s->D);
        m->bias = keep(m, n * sizeof(float));
        for (size_t i = 0; i < n; i++)
            m->bias[i] = (float)normal(m);
        m->mixture.route_bias = m->bias;
        m->mixture.gate_bias = m->bias + s->E;
        m->mixture.up_bias = m->mixture.gate_bias + s->E * s->F;
        m->mixture.down_bias = m->mixture.up_bias + s->E * s->F;
    }
    if (s->S) {
        m->mixture.shared_gate = tensor(m, s->format, s->S, s->D);
        m->mixture.shared_up = tensor(m, s->format, s->S, s->D);
        m->mixture.shared_down = tensor(m, s->down, s->D, s->S);
    }
    if (s->shared_mix)
        m->mixture.shared_mix = tensor(m, SL_FORMAT_F32, 1, s->D);
}

static void drop(model *m)
{
    for (size_t i = 0; i < m->n_blocks; i++)
        free(m->block[i]);
}

static void build(const sl_net *net, sl_graph *g)
{
    const model *m = (const model *)net;
    sl_norm_mixture(g, 0, sl_embed(g, &m->table), &m->norm, &m->mixture);
}

static int32_t token_of(const shape *s, size_t t)
{
    return s->one_token ? 5 : (int32_t)(sl_rng_u64(3, t) % N_VOCAB);
}

typedef struct how {
    sl_isa isa;
    sl_act_type act;
    unsigned fuse;
    size_t n_threads, n_together;
} how;

/* out [T][D]. */
static void run(model *m, const how *h, float *out)
{
    static const sl_arch arch = { .gguf = "test", .build = build };
    const size_t T = m->s->T, D = m->s->D;
    sl_kernels k;
    sl_arena arena;
    sl_plan plan;
    sl_pool *pool = NULL;
    sl_err err = { 0 };
    int32_t *token = malloc(T * sizeof *token);
    assert_non_null(token);
    for (size_t t = 0; t < T; t++)
        token[t] = token_of(m->s, t);
    m->net.arch = &arch;
    sl_kernels_init(&k, h->isa);
    sl_arena_init(&arena, 1 << 16);
    const sl_plan_options options = {
        .env = { .k = &k, .act = h->act, .limits = { h->n_together, 1, 64, h->n_threads } }, .fuse = h->fuse
    };
    if (sl_plan_build(&plan, &arena, &m->net, &options, &err) || sl_pool_create(&pool, h->n_threads, &err))
        fail_msg("%s", err.msg);
    const size_t bytes = sl_plan_workspace(&plan);
    void *workspace = sl_mem_map(bytes);
    assert_non_null(workspace);
    memset(workspace, 0xff, bytes); /* NaN, should anything be read that was not written */
    sl_plan_bind(&plan, workspace);
    const sl_op *last = &plan.graph.op[plan.graph.n_ops - 1];
    for (size_t t = 0; t < T; t += h->n_together) {
        sl_run_counts counts = { 0 };
        const sl_step step = { .n = SL_MIN(h->n_together, T - t), .token = token + t };
        sl_run_step(&plan, &step, NULL, pool, NULL, NULL, &counts);
        memcpy(out + t * D, plan.value[last->out[0]], step.n * D * sizeof *out);
    }
    sl_pool_destroy(pool);
    sl_mem_unmap(workspace, bytes);
    sl_arena_fini(&arena);
    free(token);
}

/* ---- the meaning ----------------------------------------------------------------- */

static double dot(const sl_tensor *w, size_t row, const double *x)
{
    double sum = 0.0;
    float *v = malloc(w->cols * sizeof *v);
    assert_non_null(v);
    for (size_t c = 0; c < w->cols; c++) {
        const unsigned char *at = (const unsigned char *)w->data + row * w->row_bytes;
        if (w->format == SL_FORMAT_F32)
            memcpy(&v[c], at + 4 * c, 4);
        else
            v[c] = sl_f32_from_bf16(sl_load_le16(at + 2 * c));
        sum += (double)v[c] * x[c];
    }
    free(v);
    return sum;
}

static double joined(const sl_glu *glu, double gate, double up)
{
    if (glu->limit <= 0.0f)
        return gate / (1.0 + exp(-gate)) * up;
    const double limit = (double)glu->limit, g = fmin(gate, limit), u = fmax(fmin(up, limit), -limit);
    return g / (1.0 + exp(-(double)glu->alpha * g)) * (u + 1.0);
}

static double bias_of(const float *bias, size_t expert, size_t width, size_t i)
{
    return bias && expert != SIZE_MAX ? (double)bias[expert * width + i] : 0.0;
}

/* expert: SIZE_MAX is the shared one. */
static void add_expert(double *out, double weight, const double *x, const sl_mixture *m, size_t expert,
                       const sl_tensor *gate, const sl_tensor *up, const sl_tensor *down)
{
    double *inner = calloc(gate->rows, sizeof *inner);
    assert_non_null(inner);
    for (size_t f = 0; f < gate->rows; f++) {
        const double g = dot(gate, f, x) + bias_of(m->gate_bias, expert, gate->rows, f);
        inner[f] = joined(&m->glu, g, dot(up, f, x) + bias_of(m->up_bias, expert, gate->rows, f));
    }
    for (size_t d = 0; d < down->rows; d++)
        out[d] += weight * (dot(down, d, inner) + bias_of(m->down_bias, expert, down->rows, d));
    free(inner);
}

static void meaning(const model *m, size_t t, double *out)
{
    const shape *s = m->s;
    const sl_mixture *mix = &m->mixture;
    const float *in = (const float *)m->table.data + (size_t)token_of(s, t) * s->D;
    double *x = calloc(s->D, sizeof *x), squares = 0.0;
    float *logits = calloc(s->E, sizeof *logits), *weights = calloc(s->K, sizeof *weights);
    int32_t *ids = calloc(s->K, sizeof *ids);
    void *scratch = malloc(sl_route_scratch(&mix->router));
    assert_true(x && logits && weights && ids && scratch);
    for (size_t d = 0; d < s->D; d++)
        squares += (double)in[d] * (double)in[d];
    for (size_t d = 0; d < s->D; d++)
        x[d] = (double)in[d] * (double)m->norm_weight[d] / sqrt(squares / (double)s->D + 1e-6);
    for (size_t e = 0; e < s->E; e++)
        logits[e] = (float)(dot(&mix->route, e, x) + bias_of(mix->route_bias, e, 1, 0));
    sl_route(&mix->router, logits, ids, weights, scratch); /* its own meaning is in test_route.c */
    for (size_t d = 0; d < s->D; d++)
        out[d] = (double)in[d];
    for (size_t i = 0; i < s->K; i++)
        add_expert(out, (double)weights[i], x, mix, (size_t)ids[i], &mix->gate[ids[i]], &mix->up[ids[i]],
                   &mix->down[ids[i]]);
    if (s->S)
        add_expert(out, s->shared_mix ? 1.0 / (1.0 + exp(-dot(&mix->shared_mix, 0, x))) : 1.0, x, mix, SIZE_MAX,
                   &mix->shared_gate, &mix->shared_up, &mix->shared_down);
    free(x);
    free(logits);
    free(weights);
    free(ids);
    free(scratch);
}

static void assert_means(const model *m, const float *got, const char *what)
{
    const size_t D = m->s->D;
    double *want = calloc(D, sizeof *want);
    assert_non_null(want);
    for (size_t t = 0; t<m->s->T; t += m->s->T> 40 ? 37 : 1) {
        meaning(m, t, want);
        for (size_t d = 0; d < D; d++)
            if (!(fabs((double)got[t * D + d] - want[d]) < 1e-4))
                fail_msg("%s: out[%zu][%zu] is %g, should be %g", what, t, d, (double)got[t * D + d], want[d]);
    }
    free(want);
}

static const shape shapes[] = {
    { .D = 64, .E = 6, .K = 2, .F = 32, .T = 33, .renorm = true },
    { .D = 72, .E = 5, .K = 3, .F = 40, .T = 17 }, /* widths that are no multiples of 32 */
    { .D = 48, .E = 1, .K = 1, .F = 33, .T = 9 },
    { .D = 48, .E = 4, .K = 4, .F = 64, .T = 20, .renorm = true },                                /* all experts */
    { .D = 64, .E = 16, .K = 2, .F = 48, .T = 1, .score = SL_SCORE_SIGMOID, .correction = true }, /* most get nothing */
    { .D = 33, .E = 8, .K = 1, .F = 70, .T = 512, .one_token = true },                            /* one gets all */
    { .D = 64,
      .E = 8,
      .K = 3,
      .F = 24,
      .S = 56,
      .T = 70,
      .score = SL_SCORE_SIGMOID,
      .renorm = true,
      .correction = true },
    { .D = 64, .E = 8, .K = 2, .F = 32, .S = 40, .T = 29, .shared_mix = true },
    { .D = 64,
      .E = 16,
      .K = 4,
      .F = 32,
      .S = 32,
      .T = 50,
      .score = SL_SCORE_SIGMOID,
      .correction = true,
      .n_groups = 4 },
    { .D = 64, .E = 8, .K = 2, .F = 32, .T = 40, .score = SL_SCORE_PICKED },
    /* of gpt-oss; the narrow limit is met often */
    { .D = 72, .E = 6, .K = 2, .F = 40, .T = 37, .score = SL_SCORE_PICKED, .biases = true, .glu = { 7.0f, 1.702f } },
    { .D = 64, .E = 20, .K = 4, .F = 33, .T = 90, .score = SL_SCORE_PICKED, .biases = true, .glu = { 0.5f, 1.702f } },
    { .D = 64,
      .E = 4,
      .K = 2,
      .F = 32,
      .S = 32,
      .T = 21,
      .biases = true,
      .format = SL_FORMAT_Q8_0,
      .down = SL_FORMAT_Q8_0 },
    { .D = 40, .E = 24, .K = 20, .F = 33, .S = 16, .T = 800 }, /* tokens of a down tile in blocks */
    { .D = 64, .E = 4, .K = 2, .F = 64, .T = 300, .format = SL_FORMAT_BF16, .down = SL_FORMAT_F32 },
    { .D = 64, .E = 9, .K = 3, .F = 96, .S = 64, .T = 67, .format = SL_FORMAT_Q4_0, .down = SL_FORMAT_Q8_0 },
    { .D = 160,
      .E = 3,
      .K = 2,
      .F = 32,
      .T = 150,
      .format = SL_FORMAT_Q8_0,
      .down = SL_FORMAT_Q4_0,
      .shared_mix = true,
      .S = 32 },
    /* inputs with one scale for a row, of which several tiles make parts */
    { .D = 96,
      .E = 6,
      .K = 2,
      .F = 160,
      .S = 64,
      .T = 45,
      .format = SL_FORMAT_INT8_TOKEN,
      .down = SL_FORMAT_INT8_TOKEN },
    { .D = 64, .E = 4, .K = 2, .F = 192, .T = 30, .format = SL_FORMAT_Q8_0, .down = SL_FORMAT_INT8_TOKEN },
    { .D = 160,
      .E = 6,
      .K = 2,
      .F = 144,
      .S = 144,
      .T = 45,
      .format = SL_FORMAT_F8_E4M3_128,
      .down = SL_FORMAT_F8_E4M3_128 },
    { .D = 70, .E = 4, .K = 2, .F = 161, .T = 30, .format = SL_FORMAT_F8_E4M3_TOKEN, .down = SL_FORMAT_F8_E4M3_TOKEN },
    { .D = 64, .E = 4, .K = 2, .F = 130, .T = 9, .format = SL_FORMAT_F8_E4M3_UE8M0, .down = SL_FORMAT_F8_E4M3_UE8M0 },
    { .D = 64, .E = 4, .K = 2, .F = 160, .T = 30, .format = SL_FORMAT_Q8_0, .down = SL_FORMAT_F8_E4M3_128 },
    { .D = 160, .E = 4, .K = 3, .F = 96, .T = 30, .format = SL_FORMAT_F8_E4M3_128, .down = SL_FORMAT_Q8_0 },
};

static void one_meaning_the_same_bits(void **state)
{
    (void)state;
    static const how hows[] = {
        { .fuse = SL_FUSE_ALL, .n_threads = 1, .n_together = 1 },
        { .fuse = SL_FUSE_ALL, .n_threads = 2, .n_together = 4 },
        { .fuse = SL_FUSE_ALL, .n_threads = 3, .n_together = 7 },
        { .fuse = SL_FUSE_ALL, .n_threads = 2, .n_together = 1000 },
        { .fuse = SL_FUSE_FFN, .n_threads = 1, .n_together = 5 },
        { .fuse = SL_FUSE_FFN, .n_threads = 2, .n_together = 2 },
        { .fuse = SL_FUSE_NORM, .n_threads = 2, .n_together = 64 },
        { .fuse = 0, .n_threads = 1, .n_together = 3 },
    };
    for (size_t i = 0; i < SL_COUNT(shapes); i++)
        for (int isa = SL_ISA_SCALAR; isa <= SL_MIN((int)sl_cpu_isa(), SL_ISA_AVX2); isa++)
            for (int act = 0; act < SL_ACT_COUNT; act++) {
                const shape *s = &shapes[i];
                const size_t n = s->T * s->D;
                float *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
                char what[96];
                model m;
                assert_true(want && got);
                make(&m, s);
                run(&m, &(how){ (sl_isa)isa, (sl_act_type)act, SL_FUSE_ALL, 1, s->T }, want);
                snprintf(what, sizeof what, "shape %zu isa %d act %d", i, isa, act);
                const bool floats = s->format <= SL_FORMAT_BF16 && s->down <= SL_FORMAT_BF16;
                if (floats)
                    assert_means(&m, want, what);
                for (size_t h = 0; h < SL_COUNT(hows) && (s->T < 100 || h % 3 == 0); h++) {
                    how other = hows[h];
                    other.isa = (sl_isa)isa;
                    other.act = (sl_act_type)act;
                    memset(got, 0, n * sizeof *got);
                    run(&m, &other, got);
                    if (memcmp(want, got, n * sizeof *want) != 0)
                        fail_msg("%s, way %zu: other bits", what, h);
                }
                drop(&m);
                free(want);
                free(got);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(one_meaning_the_same_bits) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
