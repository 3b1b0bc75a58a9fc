#include "module/sampler.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "module/select.h"

/* How often a token stands in the window; all zero between calls. */
typedef struct sl_count {
    uint32_t all, generated;
} sl_count;

struct sl_sampler {
    size_t n_vocab;
    float *adjusted;         /* [n_vocab] logits with bias and penalties */
    sl_count *count;         /* [n_vocab] */
    sl_candidate *candidate; /* [n_vocab] */
};

/* ---- settings ------------------------------------------------------------------ */

static sl_status check_range(const char *name, float x, float min, float max, sl_err *err)
{
    return x >= min && x <= max
               ? SL_OK
               : sl_fail(err, SL_EINVAL, "%s %g is not within %g..%g", name, (double)x, (double)min, (double)max);
}

sl_status sl_sampling_check(const sl_sampling *s, size_t n_vocab, sl_err *err)
{
    sl_status rc;
    if ((rc = check_range("temperature", s->temperature, 0.0f, 100.0f, err)) ||
        (rc = check_range("typical_p", s->typical_p, 0.0f, 1.0f, err)) ||
        (rc = check_range("top_p", s->top_p, 0.0f, 1.0f, err)) ||
        (rc = check_range("min_p", s->min_p, 0.0f, 1.0f, err)) ||
        (rc = check_range("presence_penalty", s->presence_penalty, -2.0f, 2.0f, err)) ||
        (rc = check_range("frequency_penalty", s->frequency_penalty, -2.0f, 2.0f, err)))
        return rc;
    if (!(s->repeat_penalty >= 0.0f && isfinite(s->repeat_penalty)))
        return sl_fail(err, SL_EINVAL, "repeat_penalty %g is no finite number above 0", (double)s->repeat_penalty);
    for (size_t i = 0; i < s->n_bias; i++)
        if (s->bias_token[i] < 0 || (size_t)s->bias_token[i] >= n_vocab || !isfinite(s->bias[i]))
            return sl_fail(err, SL_EINVAL, "logit bias %zu: id %d (vocabulary of %zu) with bias %g", i,
                           s->bias_token[i], n_vocab, (double)s->bias[i]);
    return SL_OK;
}

/* ---- room ---------------------------------------------------------------------- */

size_t sl_sampler_bytes(size_t n_vocab)
{
    return n_vocab * (sizeof(float) + sizeof(sl_count) + sizeof(sl_candidate));
}

sl_status sl_sampler_create(sl_sampler **out, size_t n_vocab, sl_err *err)
{
    *out = NULL;
    sl_sampler *s = sl_mem_zalloc(1, sizeof *s);
    if (s) {
        s->n_vocab = n_vocab;
        s->adjusted = sl_mem_zalloc(n_vocab, sizeof *s->adjusted);
        s->count = sl_mem_zalloc(n_vocab, sizeof *s->count);
        s->candidate = sl_mem_zalloc(n_vocab, sizeof *s->candidate);
    }
    if (!s || !s->adjusted || !s->count || !s->candidate) {
        sl_sampler_destroy(s);
        return sl_fail(err, SL_ENOMEM, "no memory to sample from a vocabulary of %zu", n_vocab);
    }
    *out = s;
    return SL_OK;
}

void sl_sampler_destroy(sl_sampler *s)
{
    if (!s)
        return;
    sl_mem_free(s->adjusted);
    sl_mem_free(s->count);
    sl_mem_free(s->candidate);
    sl_mem_free(s);
}

/* ---- the most likely token ------------------------------------------------------- */

#define LANES   16
#define STRETCH ((size_t)1024)

/* Of independent maxima, which compilers turn into vectors; a comparison with NaN is false. */
static float largest_of(const float *x, size_t n)
{
    float lane[LANES], best = -INFINITY;
    for (size_t j = 0; j < LANES; j++)
        lane[j] = -INFINITY;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (; i < n; i++)
        best = x[i] > best ? x[i] : best;
    for (size_t j = 0; j < LANES; j++)
        best = lane[j] > best ? lane[j] : best;
    return best;
}

int32_t sl_argmax(const float *logits, size_t n)
{
    float best = -INFINITY;
    size_t first = 0; /* of the stretch that has it: only this one is looked through */
    for (size_t i = 0; i < n; i += STRETCH) {
        const float most = largest_of(logits + i, SL_MIN(STRETCH, n - i));
        if (most > best) {
            best = most;
            first = i;
        }
    }
    for (size_t i = first; i < n; i++)
        if (logits[i] == best)
            return (int32_t)i;
    return 0;
}

/* ---- bias and penalties ---------------------------------------------------------- */

static bool repeats_matter(const sl_sampling *how)
{
    return how->repeat_penalty > 0.0f && how->repeat_penalty != 1.0f;
}

/* Keskar et al. 2019, arXiv 1909.05858, section 4.1, with llama.cpp's care for the sign; OpenAI's two penalties. */
static float penalised(const sl_sampling *how, float x, const sl_count *c)
{
    if (repeats_matter(how))
        x = x > 0.0f ? x / how->repeat_penalty : x * how->repeat_penalty;
    if (c->generated)
        x -= how->presence_penalty + how->frequency_penalty * (float)c->generated;
    return x;
}

static void penalise(sl_sampler *s, const sl_sampling *how, const sl_said *said)
{
    const size_t last = how->repeat_last_n && how->repeat_last_n < said->n ? how->repeat_last_n : said->n;
    for (size_t i = said->n - last; i < said->n; i++) {
        s->count[said->token[i]].all++;
        s->count[said->token[i]].generated += i >= said->n_prompt;
    }
    for (size_t i = said->n - last; i < said->n; i++) {
        sl_count *c = &s->count[said->token[i]];
        if (c->all)
            s->adjusted[said->token[i]] = penalised(how, s->adjusted[said->token[i]], c);
        *c = (sl_count){ 0 }; /* counted, whatever comes again */
    }
}

/* The logits that the token is picked from: the given ones where nothing changes them. */
static const float *adjust(sl_sampler *s, const sl_sampling *how, const float *logits, const sl_said *said)
{
    const bool penalties =
        said->n && (repeats_matter(how) || how->presence_penalty != 0.0f || how->frequency_penalty != 0.0f);
    if (!how->n_bias && !penalties)
        return logits;
    memcpy(s->adjusted, logits, s->n_vocab * sizeof *logits);
    for (size_t i = 0; i < how->n_bias; i++)
        s->adjusted[how->bias_token[i]] += how->bias[i];
    if (penalties)
        penalise(s, how, said);
    return s->adjusted;
}

/* ---- filters --------------------------------------------------------------------- */

static sl_candidate candidate(const float *logits, size_t i)
{
    const float x = isnan(logits[i]) ? -INFINITY : logits[i];
    return (sl_candidate){ x, 1.0f, sl_select_key(x), (int32_t)i };
}

static size_t gather(sl_sampler *s, const float *logits)
{
    for (size_t i = 0; i < s->n_vocab; i++)
        s->candidate[i] = candidate(logits, i);
    return s->n_vocab;
}

#define GROUPS 1024

/* A number that at least k logits reach, k < GROUPS: the k-th of the largest logits of GROUPS groups. */
static float reached_by(sl_sampler *s, const float *logits, size_t k)
{
    float most[GROUPS];
    size_t i = 0;
    for (size_t j = 0; j < GROUPS; j++)
        most[j] = -INFINITY;
    for (; i + GROUPS <= s->n_vocab; i += GROUPS)
        for (size_t j = 0; j < GROUPS; j++)
            most[j] = logits[i + j] > most[j] ? logits[i + j] : most[j];
    for (size_t j = 0; i + j < s->n_vocab; j++)
        most[j] = logits[i + j] > most[j] ? logits[i + j] : most[j];
    for (size_t j = 0; j < GROUPS; j++)
        s->candidate[j] = candidate(most, j);
    const size_t n = sl_select(s->candidate, GROUPS, (double)k);
    float least = INFINITY;
    for (size_t j = 0; j < n; j++)
        least = SL_MIN(least, s->candidate[j].logit);
    return least;
}

#define BLOCK ((size_t)64)

/* Without a branch for each, which compilers turn into vectors. */
static bool any_reaches(const float *x, size_t n, float least)
{
    int any = 0;
    for (size_t i = 0; i < n; i++)
        any |= x[i] >= least;
    return any;
}

/* The k best. Few of a large vocabulary are even looked at. */
static size_t gather_best(sl_sampler *s, const float *logits, size_t k)
{
    size_t n = 0;
    if (k <= GROUPS / 4 && s->n_vocab >= 4 * GROUPS) {
        const float least = reached_by(s, logits, k);
        for (size_t i = 0; i < s->n_vocab; i += BLOCK) {
            const size_t end = SL_MIN(i + BLOCK, s->n_vocab);
            if (!any_reaches(logits + i, end - i, least))
                continue;
            for (size_t j = i; j < end; j++)
                if (logits[j] >= least)
                    s->candidate[n++] = candidate(logits, j);
        }
    }
    if (n < k) /* a small vocabulary, many wanted, or NaN nearly everywhere */
        n = gather(s, logits);
    return sl_select(s->candidate, n, (double)k);
}

static float largest(const sl_candidate *c, size_t n)
{
    float best = -INFINITY;
    for (size_t i = 0; i < n; i++)
        best = c[i].logit > best ? c[i].logit : best;
    return best;
}

/* p of each at a temperature, but for a common factor, the best having 1. Returns their sum. */
static double weigh(sl_candidate *c, size_t n, float temperature)
{
    const float best = largest(c, n);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        /* Equal ones apart: of two infinite ones there is no difference. */
        c[i].p = c[i].logit == best ? 1.0f : expf((c[i].logit - best) / temperature);
        sum += (double)c[i].p;
    }
    return sum;
}

/* Those whose surprise -ln p is nearest to the expected one. Meister et al. 2022, arXiv 2202.00666, section 3. */
static size_t keep_typical(sl_candidate *c, size_t n, float typical_p)
{
    const double sum = weigh(c, n, 1.0f);
    double expected = 0.0;
    for (size_t i = 0; i < n; i++)
        if (c[i].p > 0.0f)
            expected -= (double)c[i].p / sum * log((double)c[i].p / sum);
    for (size_t i = 0; i < n; i++)
        c[i].key = sl_select_key((float)-fabs(-log((double)c[i].p / sum) - expected));
    n = sl_select(c, n, (double)typical_p * sum);
    for (size_t i = 0; i < n; i++)
        c[i].key = sl_select_key(c[i].logit);
    return n;
}

static size_t keep_min_p(sl_candidate *c, size_t n, float min_p)
{
    const float best = largest(c, n);
    const double least = log((double)min_p);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (c[i].logit == best || (double)c[i].logit - (double)best >= least)
            c[kept++] = c[i];
    return kept;
}

/* What may be drawn, in s->candidate. */
static size_t filter(sl_sampler *s, const sl_sampling *how, const float *logits)
{
    const bool few = how->top_k && how->top_k < s->n_vocab;
    size_t n = few ? gather_best(s, logits, how->top_k) : gather(s, logits);
    sl_candidate *c = s->candidate;
    if (how->typical_p > 0.0f && how->typical_p < 1.0f)
        n = keep_typical(c, n, how->typical_p);
    if (how->top_p < 1.0f)
        n = sl_select(c, n, (double)how->top_p * weigh(c, n, 1.0f));
    if (how->min_p > 0.0f)
        n = keep_min_p(c, n, how->min_p);
    return n;
}

bool sl_sampler_can_pick(const float *logits, size_t n_vocab)
{
    for (size_t i = 0; i < n_vocab; i++)
        if (logits[i] > -INFINITY) /* a NaN is not */
            return true;
    return false;
}

int32_t sl_sampler_pick(sl_sampler *s, const sl_sampling *how, const float *logits, const sl_said *said,
                        uint64_t position)
{
    const float *x = adjust(s, how, logits, said);
    if (how->temperature == 0.0f || how->top_k == 1)
        return sl_argmax(x, s->n_vocab);
    const sl_candidate *c = s->candidate;
    const size_t n = filter(s, how, x);
    double left = sl_rng_uniform(how->seed, position) * weigh(s->candidate, n, how->temperature);
    int32_t token = c[0].token;
    for (size_t i = 0; i < n && left >= 0.0; i++) {
        if (c[i].p > 0.0f) /* rounding may leave a little at the end: nothing impossible is drawn then */
            token = c[i].token;
        left -= (double)c[i].p;
    }
    return token;
}

/* ---- log-probabilities ------------------------------------------------------------- */

/* ln of the sum of e^x; NaN counts for nothing. */
static double log_sum_exp(const float *x, size_t n, float best)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i]))
            sum += x[i] == best ? 1.0 : (double)expf(x[i] - best);
    return log(sum);
}

/* x, of the best x and the ln of the sum of e^(x - best) */
static float logprob(float x, float best, double log_sum)
{
    const float p = (float)((x == best ? 0.0 : (double)x - (double)best) - log_sum);
    return p >= SL_LOGPROB_LEAST ? SL_MIN(p, 0.0f) : SL_LOGPROB_LEAST; /* NaN, too */
}

static bool better(const sl_candidate *a, const sl_candidate *b)
{
    return a->key > b->key || (a->key == b->key && a->token < b->token);
}

float sl_sampler_logprobs(sl_sampler *s, const float *logits, int32_t token, size_t n_top, int32_t *top,
                          float *top_logprob)
{
    assert(n_top <= s->n_vocab);
    const float best = logits[sl_argmax(logits, s->n_vocab)];
    const double log_sum = log_sum_exp(logits, s->n_vocab, best);
    sl_candidate *c = s->candidate;
    const size_t n = n_top ? gather_best(s, logits, n_top) : 0;
    for (size_t i = 1; i < n; i++) /* few: in place */
        for (size_t j = i; j && better(&c[j], &c[j - 1]); j--) {
            const sl_candidate swap = c[j];
            c[j] = c[j - 1];
            c[j - 1] = swap;
        }
    for (size_t i = 0; i < n; i++) {
        top[i] = c[i].token;
        top_logprob[i] = logprob(c[i].logit, best, log_sum);
    }
    return logprob(logits[token], best, log_sum);
}
