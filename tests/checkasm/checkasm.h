/* checkasm.h - holds every kernel of every ISA against plain C, and times the same calls.
 *
 * For each ISA in turn the table is made with that ceiling; a subject tests the slots that
 * the ISA changed (CA_NEW), by cases: one body, one shape. Inside a case, buffers end at a
 * page that may not be touched and stand among canaries, a crash is caught and counts as a
 * failure, and random numbers depend on (seed, name of the case) alone.
 *
 * Learnt from dav1d's tests/checkasm; the code is our own. */
#ifndef SL_TESTS_CHECKASM_H
#define SL_TESTS_CHECKASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "kernels/kernels.h"
#include "measure/probe.h"

typedef struct ca_state ca_state;

typedef struct ca {
    sl_isa isa;
    const sl_kernels *k;      /* the table under test */
    const sl_kernels *below;  /* the table one ISA lower; for scalar: empty, so that all of it is tested */
    const sl_kernels *scalar; /* the twins */
    bool bench;               /* cases are timed: run the bench shapes only */
    ca_state *state;
} ca;

/* Has this ISA its own function in that slot? */
#define CA_NEW(c, slot) ((c)->k->slot != (c)->below->slot)

/* ---- cases ------------------------------------------------------------------- */

typedef void ca_body(ca *c, const void *arg);
/* Run body(c, arg) under the name that fmt gives. */
void ca_case(ca *c, ca_body *body, const void *arg, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The case has failed, and why; it goes on. */
void ca_fail(ca *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* got[i] within `bound` of want; NaN asks for NaN, an infinity for the same one. */
void ca_near(ca *c, const char *what, size_t i, double got, double want, double bound);
/* The same bytes. n elements of `size` bytes, so that the message can name the first wrong one. */
void ca_same(ca *c, const char *what, const void *got, const void *want, size_t n, size_t size);
/* Rows of `cols` elements, `ld` apart: what lies between them is still canary. */
void ca_gaps(ca *c, const char *what, const void *rows, size_t n_rows, size_t cols, size_t ld, size_t size);

/* ---- buffers, freed and checked at the end of the case ------------------------ */

#define CA_CANARY 0x99

/* The last byte lies right before a page that may not be touched. Filled with canaries. */
void *ca_buf(ca *c, size_t bytes);
/* Starts at a multiple of 64; after it, canaries up to the forbidden page. */
void *ca_buf64(ca *c, size_t bytes);

/* ---- inputs ------------------------------------------------------------------ */

uint64_t ca_rand(ca *c);
float ca_uniform(ca *c, float lo, float hi);

typedef enum ca_kind {
    CA_PLAIN, /* -1..1 */
    CA_MIXED, /* zeros of both signs, subnormals, 1e-20 .. 1e4 among plain ones */
    CA_HUGE,  /* magnitudes 1e15 .. 1e18: squares stay finite */
    CA_TINY,  /* magnitudes below 1e-38, subnormals among them */
    CA_KIND_COUNT
} ca_kind;
void ca_fill(ca *c, float *x, size_t n, ca_kind kind);

/* ---- time -------------------------------------------------------------------- */

/* With --bench: time fn(arg) and print a line; else nothing. Bytes moved and floating-point
 * operations of one call as the caller counts them; 0: not stated. */
void ca_time(ca *c, void (*fn)(void *arg), void *arg, double bytes, double flops);

/* What a call must read and compute at least, and by what sequence of instructions. */
typedef struct ca_roof {
    const void *data; /* aligned to 64 */
    size_t bytes;
    double ops;
    sl_peak peak;
} ca_roof;

/* As ca_time, for a kernel that has a roof: reading and the peak are timed in turn with it, on the same thread, and the
 * best of each is taken. Prints the share of the peak and of the roof, the larger of the times for bytes and for ops.
 */
void ca_time_roof(ca *c, void (*fn)(void *arg), void *arg, const ca_roof *roof);

/* ---- subjects: one file each ------------------------------------------------- */

void check_act(ca *c);
void check_attn(ca *c);
void check_forms(ca *c);
void check_kv(ca *c);
void check_linear(ca *c);
void check_norm(ca *c);
void check_quantize(ca *c);
void check_rope(ca *c);
void check_softmax(ca *c);
void check_table(ca *c);

/* Widths for kernels along a row: every tail 1..67, then real sizes; 0 ends the list. */
extern const size_t ca_widths[];
/* The sizes that --bench times; 0 ends the list. */
extern const size_t ca_bench_widths[];
/* ca_widths, or ca_bench_widths when timing. */
const size_t *ca_widths_of(const ca *c);

#endif
