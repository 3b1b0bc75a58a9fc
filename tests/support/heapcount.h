/* heapcount.h - what this program takes from the heap, counted in malloc itself.
 *
 * Link heapcount_dep (tests/support/meson.build) into a test program: malloc and its
 * relatives are then the counting ones for all of the program, the library and libc.
 * Counting takes a few atomics per call and no heap. Threads may call at any time.
 *
 * Sanitizers and valgrind bring a malloc of their own; under them heapcount_works() is
 * false, everything reads 0, and a test skips (exit status 77, saying why).
 */
#ifndef SL_TESTS_HEAPCOUNT_H
#define SL_TESTS_HEAPCOUNT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct heapcount {
    size_t calls;      /* blocks asked for (malloc, calloc, realloc, aligned ones), failed ones too */
    size_t frees;      /* blocks given back, by free or realloc */
    size_t live_bytes; /* usable bytes of the blocks held now (malloc_usable_size) */
    size_t peak_bytes; /* highest live_bytes */
    size_t largest;    /* largest number of bytes asked for in one call, failed ones too */
} heapcount;

bool heapcount_works(void);
heapcount heapcount_get(void);
/* Begin anew: calls, frees and largest are 0, peak_bytes is what is live now. */
void heapcount_restart(void);

#endif
