/* rng.c - Philox 2x64-10 with the counter in the low word, 0 in the high one, the seed as key. */
#include "base/rng.h"

#define ROUNDS     10
#define MULTIPLIER 0xd2b74407b1ce6e93u
#define KEY_STEP   0x9e3779b97f4a7c15u

uint64_t sl_rng_u64(uint64_t seed, uint64_t counter)
{
    uint64_t left = counter, right = 0;
    for (int i = 0; i < ROUNDS; i++, seed += KEY_STEP) {
        const unsigned __int128 product = (unsigned __int128)MULTIPLIER * left;
        left = (uint64_t)(product >> 64) ^ seed ^ right;
        right = (uint64_t)product;
    }
    return left;
}

double sl_rng_uniform(uint64_t seed, uint64_t counter)
{
    return (double)(sl_rng_u64(seed, counter) >> 11) * 0x1p-53;
}
