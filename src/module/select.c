/* select.c - a radix search for the worst key that is kept: the mass of each value of the highest bits, then of the
 * next ones among those that are level so far. Sums run in the order of places, so the result is always the same. */
#include "module/select.h"

#include <assert.h>
#include "base/num.h"

#define BITS    11
#define BUCKETS ((size_t)1 << BITS)

static const unsigned shifts[] = { 21, 10, 0 }; /* 11, 11 and 10 bits; the last level reads one bit again */

uint32_t sl_select_key(float x)
{
    const uint32_t bits = sl_f32_bits(x + 0.0f);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* The bucket in which the mass from the top reaches *need, which becomes what the buckets above it leave. Rounding may
 * let the sum end just before: then it is the last one that is not empty. */
static size_t crossing(const double *mass, const uint32_t *count, double *need)
{
    size_t last = BUCKETS;
    double left = *need;
    for (size_t b = BUCKETS; b-- > 0;) {
        if (!count[b])
            continue;
        last = b;
        *need = left;
        if (mass[b] >= left)
            break;
        left -= mass[b];
    }
    assert(last < BUCKETS);
    return last;
}

size_t sl_select(sl_candidate *c, size_t n, double target)
{
    uint32_t level = 0, known = 0; /* the bits of the key found so far, and which those are */
    double need = target;
    for (size_t l = 0; l < SL_COUNT(shifts); l++) {
        double mass[BUCKETS] = { 0 };
        uint32_t count[BUCKETS] = { 0 };
        for (size_t i = 0; i < n; i++)
            if ((c[i].key & known) == level) {
                const size_t b = (c[i].key >> shifts[l]) & (BUCKETS - 1);
                mass[b] += (double)c[i].p;
                count[b]++;
            }
        level |= (uint32_t)crossing(mass, count, &need) << shifts[l];
        known |= (uint32_t)(BUCKETS - 1) << shifts[l];
    }
    size_t kept = 0, ties = 0;
    for (size_t i = 0; i < n; i++) {
        if (c[i].key < level || (c[i].key == level && ties && need <= 0.0))
            continue;
        if (c[i].key == level) {
            need -= (double)c[i].p;
            ties++;
        }
        c[kept++] = c[i];
    }
    return kept;
}
