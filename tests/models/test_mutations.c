/* test_mutations.c MODEL - 5,000 mutations of a valid file, or the first 1,000 of them without setup `full`: opened,
 * and where that succeeds, run. Whatever a file says, it is an error or an answer; never a signal, never a large block
 * of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/rng.h"
#include "sluice/sluice.h"
#include "support/full.h"
#include "support/heapcount.h"

#define LARGE       ((size_t)16 << 20)
#define HEADER_PART 3 /* so many of 4 mutations fall into the first 24 KiB, where the header is */

typedef struct bytes {
    uint8_t *at;
    size_t n;
} bytes;

static bytes read_file(const char *path)
{
    bytes b = { 0 };
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    b.n = (size_t)ftell(f);
    rewind(f);
    b.at = malloc(b.n);
    assert_non_null(b.at);
    assert_int_equal(fread(b.at, 1, b.n, f), b.n);
    fclose(f);
    return b;
}

static void mutate(bytes *b, uint64_t seed)
{
    static const uint64_t extreme[] = {
        0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, 0x100000000, 0x7fffffffffffffff, UINT64_MAX
    };
    uint64_t draw = 0;
    const size_t n_edits = 1 + sl_rng_u64(seed, draw++) % 3;
    for (size_t i = 0; i < n_edits; i++) {
        const bool header = sl_rng_u64(seed, draw++) % 4 < HEADER_PART;
        const size_t at = sl_rng_u64(seed, draw++) % (header ? 24576 : b->n - 8), how = sl_rng_u64(seed, draw++) % 4;
        const uint64_t value = extreme[sl_rng_u64(seed, draw++) % 10];
        if (how == 0)
            b->at[at] ^= (uint8_t)(1u << sl_rng_u64(seed, draw++) % 8);
        else if (how == 1)
            memcpy(b->at + at, &value, 4);
        else if (how == 2)
            memcpy(b->at + at, &value, 8);
        else
            b->at[at] = (uint8_t)sl_rng_u64(seed, draw++);
    }
    if (sl_rng_u64(seed, draw++) % 16 == 0)
        b->n = sl_rng_u64(seed, draw++) % b->n;
}

/* True when the file opened and one step of it ran. */
static bool try_model(const char *path)
{
    const int32_t prompt[] = { 1, 2, 3 };
    sl_model *m = NULL;
    sl_engine *e = NULL;
    sl_err err = { 0 };
    const sl_request r = { .prompt = prompt, .n_prompt = 3, .n_predict = 2, .top_p = 1 };
    sl_status rc = sl_model_open(&m, path, &err);
    if (!rc)
        rc = sl_engine_create(&e, m, &(sl_engine_options){ .n_ctx = 64, .n_threads = 1, .n_ubatch = 8 }, &err);
    if (!rc)
        rc = sl_engine_submit(e, &r, NULL, &err);
    while (!rc && sl_engine_busy(e))
        rc = sl_engine_step(e, &err);
    if (rc && !err.msg[0])
        fail_msg("%s: status %s without a text", path, sl_status_name(rc));
    sl_engine_destroy(e);
    sl_model_close(m);
    return !rc;
}

static const char *fixture;

static void mutations(void **state)
{
    const size_t rounds = test_full() ? 5000 : 1000;
    const bytes good = read_file(fixture);
    uint8_t *copy = malloc(good.n);
    (void)state;
    assert_non_null(copy);
    size_t opened = 0;
    for (uint64_t seed = 0; seed < rounds; seed++) {
        char path[32];
        bytes b = { copy, good.n };
        memcpy(copy, good.at, good.n);
        mutate(&b, seed);
        const int fd = memfd_create("mutation", 0);
        assert_true(fd >= 0 && write(fd, b.at, b.n) == (ssize_t)b.n);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        heapcount_restart();
        opened += try_model(path);
        const size_t largest = heapcount_get().largest;
        close(fd);
        if (largest > LARGE)
            fail_msg("mutation %zu of %s asked for %zu bytes", (size_t)seed, fixture, largest);
    }
    print_message("%zu of %zu ran\n", opened, rounds);
    assert_true(opened > rounds / 50 && opened < rounds * 49 / 50);
    free(copy);
    free(good.at);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: test_mutations MODEL.gguf\n");
        return 2;
    }
    fixture = argv[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(mutations) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
