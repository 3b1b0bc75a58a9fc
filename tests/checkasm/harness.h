/* harness.h - the inside of a run, shared by harness.c and checkasm.c. */
#ifndef SL_TESTS_CHECKASM_HARNESS_H
#define SL_TESTS_CHECKASM_HARNESS_H

#include "checkasm.h"

enum { CA_BUFS_MAX = 64 };

typedef struct ca_buffer {
    uint8_t *map; /* a forbidden page, `inner` bytes, a forbidden page */
    size_t inner;
    uint8_t *start;
    size_t bytes;
} ca_buffer;

struct ca_state {
    const char *filter; /* part of a case's name; NULL: all */
    uint64_t seed;
    bool verbose;
    bool quiet; /* failures are counted, not told */

    char name[160]; /* of the case that runs */
    uint64_t rng;
    size_t n_messages;
    ca_buffer bufs[CA_BUFS_MAX];
    size_t n_bufs;

    size_t passed, failed;
};

void ca_catch_crashes(void);
bool ca_self_test(void);

#endif
