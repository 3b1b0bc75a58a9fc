#include "measure/bench.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/pool.h"
#include "base/rng.h"
#include "executor/engine.h"
#include "trace/trace.h"

#define PROBE_BYTES     ((size_t)512 << 20)
#define PROBE_BYTES_MIN ((size_t)16 << 20)
#define SEED            1

struct sl_bench {
    const sl_model *model;
    sl_engine_options options; /* n_ctx and n_seqs: of the engine that is there */
    sl_engine *engine;
    sl_engine_info info;
    size_t n_vocab;
    size_t depth, seqs; /* what the engine's sequences hold now */
    int32_t *token;     /* [n_tokens] random */
    size_t n_tokens;
    sl_feed *feed;              /* [n_seqs] */
    const sl_request *sampling; /* or NULL */
    bool fill_random;
    uint64_t drawn; /* random numbers so far */
    sl_pool *pool;  /* of the probe; parked while the engine runs */
    sl_probe *probe;
};

sl_status sl_bench_create(sl_bench **out, const sl_model *m, const sl_engine_options *o, sl_err *err)
{
    *out = NULL;
    sl_bench *b = sl_mem_zalloc(1, sizeof *b);
    if (!b)
        return sl_fail(err, SL_ENOMEM, "no memory for a benchmark");
    sl_model_info info;
    sl_model_describe(m, &info);
    b->model = m;
    b->n_vocab = info.n_vocab;
    b->options = *o;
    b->options.n_ctx = b->options.n_seqs = b->options.n_outputs = 0;
    *out = b;
    return SL_OK;
}

static void drop_engine(sl_bench *b)
{
    sl_engine_destroy(b->engine);
    sl_mem_free(b->token);
    sl_mem_free(b->feed);
    b->engine = NULL;
    b->token = NULL;
    b->feed = NULL;
    b->depth = b->seqs = 0;
}

void sl_bench_destroy(sl_bench *b)
{
    if (!b)
        return;
    drop_engine(b);
    sl_probe_destroy(b->probe);
    sl_pool_destroy(b->pool);
    sl_mem_free(b);
}

void sl_bench_sample(sl_bench *b, const sl_request *sampling)
{
    b->sampling = sampling;
}

void sl_bench_fill_random(sl_bench *b)
{
    b->fill_random = true;
}

const sl_engine *sl_bench_engine(const sl_bench *b)
{
    return b->engine;
}

/* ---- the engine ------------------------------------------------------------------- */

static sl_status make_engine(sl_bench *b, size_t n_ctx, size_t n_seqs, sl_err *err)
{
    drop_engine(b);
    b->options.n_ctx = n_ctx;
    b->options.n_seqs = n_seqs;
    const sl_status rc = sl_engine_create(&b->engine, b->model, &b->options, err);
    if (rc)
        return rc;
    sl_engine_describe(b->engine, &b->info);
    b->n_tokens = SL_MAX(b->info.n_ubatch, n_seqs);
    b->token = sl_mem_zalloc(b->n_tokens, sizeof *b->token);
    b->feed = sl_mem_zalloc(n_seqs, sizeof *b->feed);
    if (!b->token || !b->feed) {
        drop_engine(b);
        return sl_fail(err, SL_ENOMEM, "no memory for the tokens of a step");
    }
    return SL_OK;
}

/* What earlier tests needed is kept, so that tests that take turns share an engine; where memory lacks for a long
 * context and for many sequences at once, this test gets what it needs itself. */
sl_status sl_bench_prepare(sl_bench *b, const sl_bench_test *t, bool *fresh, sl_err *err)
{
    size_t n_ctx = 0;
    if (!sl_add_ok(t->depth, t->n, &n_ctx) || !t->n || !t->seqs)
        return sl_fail(err, SL_EINVAL, "a test needs at least one token and one sequence");
    const bool large_enough = b->engine && n_ctx <= b->options.n_ctx && t->seqs <= b->options.n_seqs;
    if (fresh)
        *fresh = !large_enough;
    if (large_enough)
        return SL_OK;
    const size_t most_ctx = SL_MAX(b->options.n_ctx, n_ctx), most_seqs = SL_MAX(b->options.n_seqs, t->seqs);
    sl_status rc = make_engine(b, most_ctx, most_seqs, err);
    if (rc == SL_ENOMEM && (most_ctx > n_ctx || most_seqs > t->seqs))
        rc = make_engine(b, n_ctx, t->seqs, err);
    return rc;
}

static void draw(sl_bench *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b->token[i] = (int32_t)(sl_rng_u64(SEED, b->drawn++) % b->n_vocab);
}

/* n more positions for one sequence, in steps of the ubatch; logits at the last if wanted. */
static sl_status read_prompt(sl_bench *b, size_t seq, size_t n, bool logits, sl_err *err)
{
    sl_status rc = SL_OK;
    for (size_t done = 0; done < n && !rc;) {
        const size_t chunk = SL_MIN(n - done, b->info.n_ubatch);
        draw(b, chunk);
        const sl_feed feed = {
            .seq = seq, .token = b->token, .n = chunk, .logits = logits && done + chunk == n, .sampling = b->sampling
        };
        rc = sl_engine_feed(b->engine, &feed, 1, err);
        done += chunk;
    }
    return rc;
}

static void rewind_all(sl_bench *b, size_t n_pos)
{
    for (size_t seq = 0; seq < b->seqs; seq++)
        sl_engine_rewind(b->engine, seq, n_pos);
    b->depth = n_pos;
}

/* `seqs` sequences of `depth` positions each. */
static sl_status fill(sl_bench *b, size_t depth, size_t seqs, sl_err *err)
{
    if (depth == b->depth && seqs == b->seqs)
        return SL_OK;
    sl_status rc = SL_OK;
    rewind_all(b, 0);
    b->seqs = seqs;
    for (size_t seq = 0; seq < seqs && !rc; seq++)
        if (b->fill_random)
            sl_engine_fill(b->engine, seq, depth, SEED + seq);
        else
            rc = read_prompt(b, seq, depth, false, err);
    if (rc)
        drop_engine(b); /* sequences of unequal length */
    else
        b->depth = depth;
    return rc;
}

/* ---- runs ------------------------------------------------------------------------- */

static sl_status one_step_each(sl_bench *b, sl_err *err)
{
    draw(b, b->seqs);
    for (size_t seq = 0; seq < b->seqs; seq++)
        b->feed[seq] =
            (sl_feed){ .seq = seq, .token = b->token + seq, .n = 1, .logits = true, .sampling = b->sampling };
    return sl_engine_feed(b->engine, b->feed, b->seqs, err);
}

const sl_expert_picks *sl_bench_experts(const sl_bench *b)
{
    const sl_trace *t = b->engine ? sl_engine_trace(b->engine) : NULL;
    const sl_expert_picks *p = t ? sl_trace_get_experts(t) : NULL;
    return p && p->n_experts ? p : NULL;
}

static sl_status run_once(sl_bench *b, const sl_bench_test *t, sl_bench_result *out, sl_err *err)
{
    const bool prompt = t->kind == SL_BENCH_PROMPT;
    sl_status rc = fill(b, prompt ? 0 : t->depth, prompt ? 1 : t->seqs, err);
    if (rc)
        return rc;
    sl_engine_stats before, after;
    sl_engine_get_stats(b->engine, &before);
    const uint64_t begin = sl_trace_now();
    if (prompt)
        rc = read_prompt(b, 0, t->n, true, err);
    for (size_t i = 0; !prompt && i < t->n && !rc; i++)
        rc = one_step_each(b, err);
    const uint64_t end = sl_trace_now();
    if (rc) {
        drop_engine(b);
        return rc;
    }
    sl_engine_get_stats(b->engine, &after);
    if (after.mixtures > before.mixtures)
        out->experts_hit =
            (double)(after.experts_hit - before.experts_hit) / (double)(after.mixtures - before.mixtures);
    rewind_all(b, b->depth);
    out->tokens += prompt ? t->n : t->n * t->seqs;
    out->seconds += 1e-9 * (double)(end - begin);
    out->begin_ns = begin;
    out->end_ns = end;
    out->runs++;
    return SL_OK;
}

sl_status sl_bench_run(sl_bench *b, const sl_bench_test *t, double min_s, sl_bench_result *out, sl_err *err)
{
    *out = (sl_bench_result){ 0 };
    sl_status rc = sl_bench_prepare(b, t, NULL, err);
    if (!rc && t->kind == SL_BENCH_GENERATE && t->seqs > b->info.n_ubatch)
        rc = sl_fail(err, SL_EINVAL, "%zu sequences, a step takes %zu tokens (--ubatch-size)", t->seqs,
                     b->info.n_ubatch);
    while (!rc && (out->runs == 0 || out->seconds < min_s))
        rc = run_once(b, t, out, err);
    return rc;
}

/* ---- the machine ------------------------------------------------------------------ */

static sl_status make_probe(sl_bench *b, sl_err *err)
{
    sl_cpu_info cpu;
    if (b->probe)
        return SL_OK;
    sl_cpu_describe(&cpu);
    const size_t threads = b->engine              ? b->info.n_threads
                           : b->options.n_threads ? b->options.n_threads
                                                  : sl_cpu_threads();
    size_t bytes = PROBE_BYTES;
    if (cpu.memory_bytes) /* the roofline takes three */
        bytes = SL_MAX(SL_MIN(bytes, cpu.memory_bytes / 16), PROBE_BYTES_MIN);
    const sl_status rc = b->pool ? SL_OK : sl_pool_create(&b->pool, threads, err);
    return rc ? rc : sl_probe_create(&b->probe, b->pool, bytes, err);
}

sl_status sl_bench_probe(sl_bench *b, sl_peak peak, double seconds, sl_probe_now *out, sl_err *err)
{
    const sl_status rc = make_probe(b, err);
    return rc ? rc : sl_probe_measure(b->probe, peak, seconds, out, err);
}

sl_status sl_bench_roofline(sl_bench *b, sl_roofline *out, sl_err *err)
{
    const sl_status rc = make_probe(b, err);
    return rc ? rc : sl_probe_roofline(b->probe, out, err);
}
