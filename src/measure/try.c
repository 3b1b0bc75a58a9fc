#include <stdlib.h>
#include "base/mem.h"
#include "measure/profile.h"

#define RUN_S 0.2 /* of one measurement, at least */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return 0.5 * (v[n / 2] + v[(n - 1) / 2]);
}

static sl_status make(sl_bench **out, const sl_model *m, const sl_engine_options *o, const sl_bench_test *t,
                      bool fill_random, sl_err *err)
{
    sl_engine_options untraced = *o;
    sl_bench_result r;
    untraced.trace_spans = 0;
    sl_status rc = sl_bench_create(out, m, &untraced, err);
    if (rc)
        return rc;
    if (fill_random)
        sl_bench_fill_random(*out);
    return sl_bench_run(*out, t, 0.0, &r, err); /* fills, and warms up */
}

sl_status sl_profile_try(const sl_model *m, const sl_bench_test *t, const sl_engine_options *before,
                         const sl_engine_options *after, bool fill_random, size_t rounds, sl_trial *out, sl_err *err)
{
    sl_bench *b[2] = { NULL, NULL };
    double *rate = sl_mem_zalloc(2 * rounds, sizeof *rate); /* [2][rounds] */
    sl_status rc = rate ? SL_OK : sl_fail(err, SL_ENOMEM, "no memory for %zu rounds", rounds);
    if (!rc && !(rc = make(&b[0], m, before, t, fill_random, err)))
        rc = make(&b[1], m, after, t, fill_random, err);
    for (size_t i = 0; i < 2 * rounds && !rc; i++) {
        sl_bench_result r;
        rc = sl_bench_run(b[i % 2], t, RUN_S, &r, err);
        if (!rc)
            rate[i % 2 * rounds + i / 2] = (double)r.tokens / r.seconds;
    }
    if (!rc)
        *out = (sl_trial){ median(rate, rounds), median(rate + rounds, rounds) };
    sl_bench_destroy(b[0]);
    sl_bench_destroy(b[1]);
    sl_mem_free(rate);
    return rc;
}
