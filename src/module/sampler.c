#include "module/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "base/num.h"
#include "base/rng.h"

sl_status sl_sampling_check(const sl_sampling *s, sl_err *err)
{
    if (!(s->temperature >= 0.0f && s->temperature <= 100.0f))
        return sl_fail(err, SL_EINVAL, "temperature %g is not within 0..100", (double)s->temperature);
    if (!(s->top_p >= 0.0f && s->top_p <= 1.0f))
        return sl_fail(err, SL_EINVAL, "top_p %g is not within 0..1", (double)s->top_p);
    if (!(s->min_p >= 0.0f && s->min_p <= 1.0f))
        return sl_fail(err, SL_EINVAL, "min_p %g is not within 0..1", (double)s->min_p);
    return SL_OK;
}

#define LANES 16

int32_t sl_argmax(const float *logits, size_t n)
{
    /* Independent maxima, which compilers turn into vectors; a comparison with NaN is false. */
    float lane[LANES], best = -INFINITY;
    for (size_t j = 0; j < LANES; j++)
        lane[j] = -INFINITY;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lane[j] = logits[i + j] > lane[j] ? logits[i + j] : lane[j];
    for (; i < n; i++)
        best = logits[i] > best ? logits[i] : best;
    for (size_t j = 0; j < LANES; j++)
        best = lane[j] > best ? lane[j] : best;
    for (i = 0; i < n; i++)
        if (logits[i] == best)
            return (int32_t)i;
    return 0;
}

/* Better first; equal logits in the order of ids. */
static bool before(const sl_candidate *a, const sl_candidate *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->token < b->token);
}

/* Heap with the worst candidate on top. */
static void sift_down(sl_candidate *heap, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&heap[child], &heap[child + 1]))
            child++;
        if (!before(&heap[i], &heap[child]))
            return;
        const sl_candidate swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
    }
}

/* The k best of the logits, best first, in room[0..k). NaN counts as minus infinity. */
static void best_of(const float *logits, size_t n, size_t k, sl_candidate *room)
{
    for (size_t i = 0; i < n; i++) {
        const sl_candidate c = { isnan(logits[i]) ? -INFINITY : logits[i], 0.0f, (int32_t)i };
        if (i < k) {
            room[i] = c;
            if (i + 1 == k)
                for (size_t j = k / 2; j-- > 0;)
                    sift_down(room, k, j);
        } else if (before(&c, &room[0])) {
            room[0] = c;
            sift_down(room, k, 0);
        }
    }
    for (size_t end = k; end-- > 1;) { /* the worst goes to the back, one after another */
        const sl_candidate worst = room[0];
        room[0] = room[end];
        room[end] = worst;
        sift_down(room, end, 0);
    }
}

/* p of each candidate at a temperature; the first is the most likely. */
static void probabilities(sl_candidate *c, size_t n, float temperature)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)c[i].logit - (double)c[0].logit;
        c[i].p = c[i].logit == c[0].logit ? 1.0f : (float)exp(d / (double)temperature);
        sum += (double)c[i].p;
    }
    for (size_t i = 0; i < n; i++)
        c[i].p = (float)((double)c[i].p / sum);
}

int32_t sl_sample(const sl_sampling *s, const float *logits, size_t n, uint64_t position, sl_candidate *room)
{
    if (s->temperature == 0.0f || s->top_k == 1)
        return sl_argmax(logits, n);
    size_t k = s->top_k && s->top_k < n ? s->top_k : n;
    best_of(logits, n, k, room);
    probabilities(room, k, 1.0f);
    double total = 0.0;
    size_t kept = 0;
    while (kept < k && (kept == 0 || total < (double)s->top_p || s->top_p >= 1.0f))
        total += (double)room[kept++].p;
    while (kept > 1 && room[kept - 1].p < s->min_p * room[0].p)
        kept--;
    probabilities(room, kept, s->temperature);
    double left = sl_rng_uniform(s->seed, position);
    for (size_t i = 0; i + 1 < kept; i++) {
        left -= (double)room[i].p;
        if (left < 0.0)
            return room[i].token;
    }
    return room[kept - 1].token;
}
