/* full.h - how much a test tries: test setup `full` asks for all of it (tests/meson.build). */
#ifndef TESTS_SUPPORT_FULL_H
#define TESTS_SUPPORT_FULL_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool test_full(void)
{
    return getenv("SLUICE_TEST_FULL") != NULL;
}

#endif
