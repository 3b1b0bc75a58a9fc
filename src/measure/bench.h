/* bench.h - how fast a model reads prompts and generates, and how near that is to the roof.
 *
 * Two tests, those of bench/README.md:
 *   prompt    from an empty cache, n positions in steps of the engine's ubatch, logits at the last
 *   generate  `seqs` sequences that hold `depth` positions each; n steps of one token for each
 * Token ids are random; nothing is sampled unless asked for. Filling up to `depth` is not timed, and what was
 * filled is kept for the next run of the same depth and sequences.
 */
#ifndef SL_MEASURE_BENCH_H
#define SL_MEASURE_BENCH_H

#include "measure/probe.h"
#include "sluice/sluice.h"
#include "trace/experts.h"

typedef enum sl_bench_kind { SL_BENCH_PROMPT, SL_BENCH_GENERATE } sl_bench_kind;
typedef struct sl_bench_test {
    sl_bench_kind kind;
    size_t n;
    size_t depth, seqs; /* generate only; 0 and 1 for prompts */
} sl_bench_test;

typedef struct sl_bench_result {
    size_t tokens; /* of all sequences and runs */
    size_t runs;
    double seconds;            /* around the steps alone */
    uint64_t begin_ns, end_ns; /* of the last run, by the clock of trace.h */
    double experts_hit; /* in a layer's step of the last run, on average; 0: no mixtures, or expanded ones (--fusion) */
} sl_bench_result;

typedef struct sl_bench sl_bench;

/* Borrows the model. o->n_ctx, n_seqs and n_outputs are not looked at: the tests say. */
sl_status sl_bench_create(sl_bench **out, const sl_model *m, const sl_engine_options *o, sl_err *err);
void sl_bench_destroy(sl_bench *b); /* accepts NULL */

/* From now on: draw a token from each row of logits as this request would (NULL: nothing is drawn, as at first).
 * Borrowed. */
void sl_bench_sample(sl_bench *b, const sl_request *sampling);
/* From now on: fill up to a depth with random keys and values, which costs no step, not by reading random tokens. */
void sl_bench_fill_random(sl_bench *b);

/* Make the engine large enough for a test, which otherwise its first run does. `fresh` (may be
 * NULL) says whether a new one was made. Errors of sl_engine_create. */
sl_status sl_bench_prepare(sl_bench *b, const sl_bench_test *t, bool *fresh, sl_err *err);
/* NULL before the first test was prepared or run. */
const sl_engine *sl_bench_engine(const sl_bench *b);

/* The picks of all runs so far; NULL without a trace, or without experts. Borrowed until the engine is made anew. */
const sl_expert_picks *sl_bench_experts(const sl_bench *b);

/* Run the test, at least once, until its seconds add up to min_s. */
sl_status sl_bench_run(sl_bench *b, const sl_bench_test *t, double min_s, sl_bench_result *out, sl_err *err);

/* The machine at this moment, on as many threads as the engine's (sl_probe_measure), or all of
 * it. The probe's arrays are made on first use and stay. */
sl_status sl_bench_probe(sl_bench *b, sl_peak peak, double seconds, sl_probe_now *out, sl_err *err);
sl_status sl_bench_roofline(sl_bench *b, sl_roofline *out, sl_err *err);

/* ---- the roof (roof.c) ----------------------------------------------------------- */

/* What one run of a test must read and compute; a multiply-add is 2 operations. */
typedef struct sl_bench_cost {
    double bytes;              /* tensors once a step, keys and values of each sequence */
    double ops[SL_PEAK_COUNT]; /* by the sequence of instructions that bounds them */
} sl_bench_cost;

/* hit: experts that a step hits in a layer, on average, as a run of the test told; 0: as random picks would. */
sl_bench_cost sl_bench_test_cost(const sl_model *m, const sl_engine_info *e, const sl_bench_test *t, double hit);
/* The peak that most operations of a cost are held against. */
sl_peak sl_bench_main_peak(const sl_bench_cost *c);
/* max(bytes / bandwidth, sum of operations / peak), in seconds; peak_g_s in 1e9 operations a second. */
double sl_bench_roof_seconds(const sl_bench_cost *c, double read_gb_s, const double peak_g_s[SL_PEAK_COUNT]);

#endif
