#include "cli/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "cli/cli.h"

static size_t likeliest(const float *v, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    return best;
}

/* ln of the sum of exp(v), relative to the largest, top. */
static double log_sum(const float *v, size_t n, double top)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += exp((double)v[i] - top);
    return log(sum) + top;
}

bool sl_compare_row(sl_comparison *c, const float *base, const float *ours, size_t n)
{
    double kl = 0.0, dot = 0.0, base_2 = 0.0, ours_2 = 0.0;
    const size_t base_top = likeliest(base, n), ours_top = likeliest(ours, n);
    const double base_sum = log_sum(base, n, (double)base[base_top]),
                 ours_sum = log_sum(ours, n, (double)ours[ours_top]);
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        const double b = (double)base[i], o = (double)ours[i], p = exp(b - base_sum);
        finite = finite && isfinite(b);
        kl += p * ((b - base_sum) - (o - ours_sum));
        dot += b * o;
        base_2 += b * b;
        ours_2 += o * o;
    }
    kl = kl < 0.0 ? 0.0 : kl; /* never below 0 but by rounding; a NaN stays */
    const double cosine = dot / sqrt(base_2 * ours_2);
    c->kl += kl;
    c->kl_squares += kl * kl;
    c->kl_max = c->n ? SL_MAX(c->kl_max, kl) : kl;
    c->same_top += base_top == ours_top;
    c->cosine += cosine;
    c->cosine_min = c->n ? SL_MIN(c->cosine_min, cosine) : cosine;
    c->n++;
    return finite;
}

/* Standard error of the mean. */
static double kl_error(const sl_comparison *c)
{
    const double n = (double)c->n, mean = c->kl / n;
    return c->n > 1 ? sqrt(fmax(c->kl_squares / n - mean * mean, 0.0) / (n - 1.0)) : 0.0;
}

void sl_compare_print(const sl_comparison *c, const char *base)
{
    const double n = (double)c->n;
    printf("against %s, over %zu positions\n", base, c->n);
    printf("  KL divergence    mean %.6f +- %.6f, largest %.6f\n", c->kl / n, kl_error(c), c->kl_max);
    printf("  same top token   %.3f %%\n", 100.0 * (double)c->same_top / n);
    printf("  cosine           mean %.6f, least %.6f\n", c->cosine / n, c->cosine_min);
}

json_t *sl_compare_json(const sl_comparison *c, const char *base)
{
    const double n = (double)c->n;
    return json_pack("{s:o, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "file", sl_cli_json_text(base, strlen(base)), "n",
                     (json_int_t)c->n, "kl_mean", c->kl / n, "kl_error", kl_error(c), "kl_max", c->kl_max,
                     "top1_agreement", (double)c->same_top / n, "cosine_mean", c->cosine / n, "cosine_min",
                     c->cosine_min);
}
