#include "module/route.h"

#include <assert.h>
#include <float.h>
#include <string.h>
#include "base/num.h"

/* A list of the n best of v, best first; those that came earlier stay before their equals. */
typedef struct sl_best {
    const float *v;
    int32_t *list;
    size_t n, n_found;
} sl_best;

static void offer(sl_best *b, size_t i)
{
    size_t at = b->n_found;
    while (at > 0 && b->v[i] > b->v[b->list[at - 1]])
        at--;
    if (at == b->n)
        return;
    b->n_found = SL_MIN(b->n_found + 1, b->n);
    memmove(b->list + at + 1, b->list + at, (b->n_found - 1 - at) * sizeof *b->list);
    b->list[at] = (int32_t)i;
}

static float bounded(float x)
{
    return x > -FLT_MAX ? fminf(x, FLT_MAX) : -FLT_MAX; /* a NaN compares false */
}

/* In place; as Transformers computes it, in f32. */
static void softmax(float *x, size_t n)
{
    float max = -FLT_MAX, sum = 0.0f;
    for (size_t i = 0; i < n; i++)
        max = fmaxf(max, x[i]);
    for (size_t i = 0; i < n; i++) {
        x[i] = expf(x[i] - max);
        sum += x[i];
    }
    for (size_t i = 0; i < n; i++)
        x[i] /= sum;
}

/* All experts outside the best groups become -inf: zero could still win over a negative score. */
static void mask_groups(const sl_router *r, float *choice, float *worth, int32_t *list)
{
    const size_t size = r->E / r->n_groups;
    for (size_t g = 0; g < r->n_groups; g++) {
        sl_best best = { choice, list, SL_MIN(r->n_group_best, size), 0 };
        for (size_t i = g * size; i < (g + 1) * size; i++)
            offer(&best, i);
        worth[g] = 0.0f;
        for (size_t i = 0; i < best.n_found; i++)
            worth[g] += choice[list[i]];
    }
    sl_best groups = { worth, list, r->n_groups_kept, 0 };
    for (size_t g = 0; g < r->n_groups; g++)
        offer(&groups, g);
    for (size_t g = 0; g < r->n_groups; g++) {
        bool kept = false;
        for (size_t i = 0; i < groups.n_found; i++)
            kept |= list[i] == (int32_t)g;
        for (size_t i = g * size; i < (g + 1) * size && !kept; i++)
            choice[i] = -INFINITY;
    }
}

void sl_route(const sl_router *r, const float *logits, int32_t *ids, float *weights, void *scratch)
{
    float *score = scratch, *choice = score + r->E, *worth = choice + r->E;
    assert(r->K >= 1 && r->K <= r->E);
    for (size_t e = 0; e < r->E; e++)
        score[e] = bounded(logits[e]);
    if (r->score == SL_SCORE_SOFTMAX)
        softmax(score, r->E);
    for (size_t e = 0; e < r->E && r->score == SL_SCORE_SIGMOID; e++)
        score[e] = sl_sigmoid(score[e]);
    for (size_t e = 0; e < r->E; e++)
        choice[e] = r->correction ? score[e] + r->correction[e] : score[e];
    if (r->n_groups > 1)
        mask_groups(r, choice, worth, (int32_t *)(void *)(worth + r->E));
    sl_best best = { choice, ids, r->K, 0 };
    for (size_t e = 0; e < r->E; e++)
        offer(&best, e);
    for (size_t s = 0; s < r->K; s++)
        weights[s] = score[ids[s]];
    if (r->score == SL_SCORE_PICKED)
        softmax(weights, r->K);
    float sum = 0.0f;
    for (size_t s = 0; s < r->K; s++)
        sum += weights[s];
    sum += r->renorm_eps;
    for (size_t s = 0; s < r->K; s++) {
        if (r->renorm && sum > 0.0f) /* no sum: all weights are zero, and stay so */
            weights[s] /= sum;
        weights[s] *= r->scale;
    }
}
