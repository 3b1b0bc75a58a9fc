/* test_gguf_mutations.c - ten thousand seeded mutations of two good files: whatever comes out is a
 * file or an error, never a signal, and never an allocation out of proportion.
 *
 *   test_gguf_mutations [N]   only mutation N, as a crash report names it */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/num.h"
#include "support/gguf_read.h"

#define N_MUTATIONS    10000
#define ALLOCATION_MAX ((size_t)16 << 20)
#define FIXTURE        TEST_DATA "/gguf/llama-small-Q4_0/llama-small-Q4_0.gguf"
#define FIXTURE_HEADER 6528 /* bytes before its tensor data */

static size_t largest_allocation;

int __real_posix_memalign(void **p, size_t align, size_t bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t bytes);
int __wrap_posix_memalign(void **p, size_t align, size_t bytes)
{
    largest_allocation = SL_MAX(largest_allocation, bytes);
    return __real_posix_memalign(p, align, bytes);
}

/* splitmix64: what is drawn depends on the mutation's number alone. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

typedef struct original {
    gguf_build file;
    size_t header_bytes;
} original;

static original originals[2];
static volatile sig_atomic_t current; /* number of the mutation at work */

/* A number that loaders have stumbled over, or one near it. */
static uint64_t extreme(uint64_t *rng, size_t file_bytes)
{
    const uint64_t list[] = { 0,
                              1,
                              2,
                              0x7f,
                              0xff,
                              0xffff,
                              0x7fffffff,
                              0x80000000,
                              0xffffffff,
                              1ull << 32,
                              1ull << 42,
                              1ull << 61,
                              1ull << 62,
                              1ull << 63,
                              UINT64_MAX,
                              UINT64_MAX - 31,
                              file_bytes,
                              file_bytes / 8,
                              file_bytes / 33,
                              SIZE_MAX / 96 };
    return list[draw(rng) % SL_COUNT(list)] + draw(rng) % 3 - 1;
}

static void put(gguf_build *m, size_t at, const void *bytes, size_t n)
{
    if (at < m->n)
        memcpy(m->bytes + at, bytes, SL_MIN(n, m->n - at));
}

static void mutate_once(gguf_build *m, const original *o, uint64_t *rng)
{
    const size_t header = SL_MIN(o->header_bytes, m->n);
    if (header == 0)
        return;
    const size_t at = draw(rng) % 16 ? draw(rng) % header : draw(rng) % m->n;
    uint64_t v = extreme(rng, m->n);
    switch (draw(rng) % 6) {
    case 0: /* flip a bit */
        m->bytes[at] ^= (uint8_t)(1u << draw(rng) % 8);
        break;
    case 1: /* an extreme number anywhere */
        put(m, at, &v, draw(rng) % 2 ? 4 : 8);
        break;
    case 2: /* a field, where they are known */
    case 3:
        if (o->file.n_fields) {
            const gb_field f = o->file.fields[draw(rng) % o->file.n_fields];
            if (draw(rng) % 2)
                v = draw(rng) % 16; /* another type, a short length */
            put(m, f.at, &v, f.bytes);
        }
        break;
    case 4: /* cut */
        m->n = draw(rng) % 4 ? at : m->n - draw(rng) % SL_MIN(m->n, 64);
        break;
    default: { /* splice: a piece of the header to another place of it */
        const size_t from = draw(rng) % header, n = draw(rng) % 256;
        memmove(m->bytes + at, m->bytes + from, SL_MIN(n, SL_MIN(header - from, m->n - at)));
    }
    }
}

static sl_status mutation(unsigned number)
{
    uint64_t rng = number;
    const original *o = &originals[number % 2];
    gguf_build *m = &(gguf_build){ 0 };
    gb_raw(m, o->file.bytes, o->file.n);
    for (uint64_t i = 0, n = 1 + draw(&rng) % 4; i < n; i++)
        mutate_once(m, o, &rng);
    current = (sig_atomic_t)number;
    const sl_status rc = gguf_read_all(m->bytes, m->n);
    if (rc != SL_OK && rc != SL_EFORMAT && rc != SL_EUNSUPPORTED)
        fail_msg("mutation %u: %s", number, sl_status_name(rc));
    if (largest_allocation > ALLOCATION_MAX)
        fail_msg("mutation %u: an allocation of %zu bytes", number, largest_allocation);
    gb_free(m);
    return rc;
}

static void say_which(int sig)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "\nmutation %d: signal %d\n", (int)current, sig);
    if (write(STDERR_FILENO, text, (size_t)n) < 0 || true)
        _exit(1);
}

static void ten_thousand(void **state)
{
    (void)state;
    size_t opened = 0;
    for (unsigned i = 0; i < N_MUTATIONS; i++)
        opened += mutation(i) == SL_OK;
    print_message("%zu of %d opened; largest allocation: %zu bytes\n", opened, N_MUTATIONS, largest_allocation);
    /* Both kinds of outcome are common, the originals are good, and the hook sees the allocations. */
    assert_true(opened > N_MUTATIONS / 20 && opened < N_MUTATIONS / 2);
    for (size_t i = 0; i < SL_COUNT(originals); i++)
        assert_int_equal(gguf_read_all(originals[i].file.bytes, originals[i].file.n), SL_OK);
    assert_true(largest_allocation > 1024);
}

static void load_fixture(original *o)
{
    static uint8_t bytes[1 << 16];
    FILE *f = fopen(FIXTURE, "rb");
    assert_non_null(f);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    gb_raw(&o->file, bytes, n);
    o->header_bytes = FIXTURE_HEADER;
}

/* A file with every kind of value, whose fields are known. */
static void build_small(original *o)
{
    static const char *const tokens[] = { "<s>", "a", "b", "ab" }, *const merges[] = { "a b" };
    gguf_build *b = &o->file;
    begin_llama(b);
    gb_key_u32(b, "llama.block_count", 1);
    gb_key_u32(b, "general.alignment", 32);
    gb_key_str(b, "tokenizer.ggml.model", "gpt2");
    gb_strs(b, "tokenizer.ggml.tokens", tokens, 4);
    gb_strs(b, "tokenizer.ggml.merges", merges, 1);
    gb_array(b, "tokenizer.ggml.token_type", SL_GGUF_I32, 4);
    for (uint32_t i = 0; i < 4; i++)
        gb_u32(b, 1);
    gb_key_u32(b, "tokenizer.ggml.bos_token_id", 0);
    gb_u8(gb_key(b, "tokenizer.ggml.add_bos_token", SL_GGUF_BOOL), 1);
    gb_u8(gb_u64(gb_u32(gb_array(b, "nested", SL_GGUF_ARRAY, 1), SL_GGUF_U8), 1), 1);
    gb_u64(gb_key(b, "wide", SL_GGUF_I64), 5);
    gb_tensor(b, "a", 0, 0, 2, DIMS(8, 4));
    gb_tensor(b, "b", 2, 128, 3, DIMS(32, 2, 2));
    gb_tensor(b, "c", 30, 224, 1, DIMS(16));
    o->header_bytes = b->n;
    gb_finish(b, 256);
}

int main(int argc, char **argv)
{
    load_fixture(&originals[0]);
    build_small(&originals[1]);
    if (argc > 1) {
        return mutation((unsigned)strtoul(argv[1], NULL, 10)) == SL_ENOMEM;
    }
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGABRT };
    for (size_t i = 0; i < SL_COUNT(signals); i++)
        signal(signals[i], say_which);
    const struct CMUnitTest tests[] = { cmocka_unit_test(ten_thousand) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < SL_COUNT(originals); i++)
        gb_free(&originals[i].file);
    return failed;
}
