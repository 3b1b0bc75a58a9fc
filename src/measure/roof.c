/* roof.c - the least time that a test can take on a machine; bench/roof.py says the same. */
#include <math.h>
#include <string.h>
#include "base/num.h"
#include "measure/bench.h"

static double elements(const sl_tensor_info *t)
{
    double n = 1.0;
    for (uint32_t d = 0; d < t->n_dims; d++)
        n *= (double)t->dims[d];
    return n;
}

typedef struct sl_bench_counts {
    double steps, tokens;           /* through the layers */
    double head_steps, head_tokens; /* through the output matrix */
    double pairs;                   /* of a query and a position, each head and layer apart */
    double loaded;                  /* positions whose keys and values are read */
} sl_bench_counts;

static sl_bench_counts count(const sl_engine_info *e, const sl_bench_test *t)
{
    const double n = (double)t->n, ubatch = (double)e->n_ubatch;
    if (t->kind == SL_BENCH_GENERATE) {
        const double seqs = (double)t->seqs, pairs = seqs * (n * (double)t->depth + n * (n + 1.0) / 2.0);
        return (sl_bench_counts){ n, n * seqs, n, n * seqs, pairs, pairs };
    }
    sl_bench_counts c = { (double)sl_div_up(t->n, e->n_ubatch), n, 1.0, 1.0, n * (n + 1.0) / 2.0, 0.0 };
    for (double i = 0.0; i < c.steps; i += 1.0)
        c.loaded += SL_MIN(n, (i + 1.0) * ubatch);
    return c;
}

static void add_tensor(sl_bench_cost *c, const sl_engine_info *e, const sl_tensor_info *t, double steps, double tokens)
{
    c->bytes += steps * (double)t->bytes;
    if (t->n_dims > 1)
        c->ops[sl_peak_of(t->format, strcmp(e->act, "int8") == 0)] += 2.0 * elements(t) * tokens;
}

/* Experts that a step of T tokens hits if each picks K of E at random: all but those that nobody picks. */
static double expected_hits(const sl_model_info *m, double tokens)
{
    const double E = (double)m->n_experts;
    return E * (1.0 - pow(1.0 - (double)m->n_experts_used / E, tokens));
}

/* Of the experts in a tensor the share that is read, and the share that a token goes through. */
static void add_experts(sl_bench_cost *c, const sl_engine_info *e, const sl_model_info *m, const sl_tensor_info *t,
                        const sl_bench_counts *n, double hit)
{
    const double E = (double)m->n_experts;
    if (hit <= 0.0)
        hit = expected_hits(m, n->tokens / n->steps);
    c->bytes += n->steps * (double)t->bytes * hit / E;
    c->ops[sl_peak_of(t->format, strcmp(e->act, "int8") == 0)] +=
        2.0 * elements(t) * n->tokens * (double)m->n_experts_used / E;
}

sl_bench_cost sl_bench_test_cost(const sl_model *m, const sl_engine_info *e, const sl_bench_test *test, double hit)
{
    const sl_bench_counts n = count(e, test);
    sl_bench_cost c = { 0 };
    sl_model_info info;
    sl_model_describe(m, &info);
    for (size_t i = 0; i < info.n_tensors; i++) {
        sl_tensor_info t;
        sl_model_tensor(m, i, &t);
        const bool embedding = strcmp(t.name, "token_embd.weight") == 0;
        if (strcmp(t.name, "output.weight") == 0 || (embedding && info.tied))
            add_tensor(&c, e, &t, n.head_steps, n.head_tokens);
        else if (embedding) /* only the rows looked up */
            c.bytes += n.tokens * (double)t.bytes / (double)t.dims[1];
        else if (t.n_experts)
            add_experts(&c, e, &info, &t, &n, hit);
        else
            add_tensor(&c, e, &t, n.steps, n.tokens);
    }
    /* A key and a value; absorbed, the latent row is both. */
    const bool absorbed = e->mla && strcmp(e->mla, "absorbed") == 0;
    const double widths = 2.0 * (double)(absorbed ? info.latent_rank + info.latent_rope : info.head_dim);
    c.bytes += n.loaded * (double)e->kv_position_bytes;
    c.ops[SL_PEAK_FMA_AVX2_F32] += n.pairs * (double)info.n_layers * (double)info.n_heads * widths * 2.0;
    return c;
}

sl_peak sl_bench_main_peak(const sl_bench_cost *c)
{
    size_t most = 0;
    for (size_t i = 1; i < SL_PEAK_COUNT; i++)
        if (c->ops[i] > c->ops[most])
            most = i;
    return (sl_peak)most;
}

double sl_bench_roof_seconds(const sl_bench_cost *c, double read_gb_s, const double peak_g_s[SL_PEAK_COUNT])
{
    double compute = 0.0;
    for (size_t i = 0; i < SL_PEAK_COUNT; i++)
        if (c->ops[i] > 0.0)
            compute += c->ops[i] / peak_g_s[i];
    return 1e-9 * SL_MAX(c->bytes / read_gb_s, compute);
}
