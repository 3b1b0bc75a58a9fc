/* rng.h - counter-based random numbers: a draw depends on (seed, counter) alone,
 * so a request samples the same text whatever runs beside it.
 * Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", Philox 2x64-10. */
#ifndef SL_BASE_RNG_H
#define SL_BASE_RNG_H

#include <stdint.h>

uint64_t sl_rng_u64(uint64_t seed, uint64_t counter);
/* Uniform in [0, 1), 53 bits. */
double sl_rng_uniform(uint64_t seed, uint64_t counter);

#endif
