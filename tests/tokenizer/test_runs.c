/* test_runs.c - texts without a break: every model of the toys ends on them, soon. With a number
 * as argument: runs of so many characters, and what each took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <cmocka.h>

#include "base/num.h"
#include "neutral_json.h"
#include "tokenizer/tokenizer.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define N_CHARS 20000
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define N_CHARS 20000
#endif
#endif
#ifndef N_CHARS
#define N_CHARS 1000000
#endif

/* Generous: it takes a hundredth of that. A quadratic step takes hours. */
#define SECONDS_MOST 60.0

static size_t n_chars = N_CHARS;
static bool report;

static double seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* a busy machine is no slower */
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void run(const sl_tokenizer *t, const char *name)
{
    static const char *const units[] = { "a",        "ab",           " ",   "\xe6\xbc\xa2", "\xcc\x81\xcc\xa3",
                                         "\xc3\xa9", "\xe2\x96\x81", "abc", "\xff",         "<s" };
    char *text = malloc(n_chars * 4 + 1);
    for (size_t u = 0; u < SL_COUNT(units); u++) {
        const size_t unit = strlen(units[u]);
        size_t len = 0, chars = 0;
        for (; chars < n_chars; len++) {
            text[len] = units[u][len % unit];
            chars += ((unsigned char)units[u][(len + 1) % unit] & 0xc0) != 0x80;
        }
        sl_ids ids = { 0 };
        sl_err err = { 0 };
        const double start = seconds();
        if (sl_tokenize(t, text, len, SL_TOK_PARSE_SPECIAL, &ids, &err) != SL_OK)
            fail_msg("%s: %s", name, err.msg);
        const double took = seconds() - start;
        struct rusage use = { 0 };
        getrusage(RUSAGE_SELF, &use);
        if (report)
            print_message("%s, \"%s\": %.2f s, %zu ids, at most %ld MiB so far\n", name, units[u], took, ids.n,
                          use.ru_maxrss / 1024);
        if (took > SECONDS_MOST)
            fail_msg("%s, \"%s\": %.1f s", name, units[u], took);
        sl_ids_fini(&ids);
    }
    free(text);
}

static sl_bytes read_file(const char *name)
{
    static char room[1 << 16];
    FILE *f = fopen(name, "rb");
    if (!f)
        fail_msg("%s cannot be opened", name);
    const size_t n = fread(room, 1, sizeof room, f);
    assert_true(n < sizeof room);
    fclose(f);
    return (sl_bytes){ room, n };
}

static void runs_without_a_break(void **state)
{
    (void)state;
    const sl_bytes table = read_file(TEST_DATA "/tokenizer/toys.jsonl.table");
    FILE *f = fopen(TEST_DATA "/tokenizer/toys.jsonl", "r");
    char *line = NULL;
    size_t cap = 0, n = 0;
    assert_non_null(f);
    while (getline(&line, &cap, f) > 0) {
        json_t *toy = json_loads(line, JSON_ALLOW_NUL, NULL);
        const char *name = json_string_value(json_object_get(toy, "name"));
        const size_t len = strlen(name);
        sl_vocab v;
        sl_tokenizer *t = NULL;
        if (strcmp(name + len - 2, " 1") == 0 && !strstr(name, "decoders")) {
            neutral_json_fill(&v, toy, table);
            assert_int_equal(sl_tokenizer_create(&t, &v, NULL), SL_OK);
            run(t, name);
            sl_tokenizer_destroy(t);
            sl_vocab_fini(&v);
            n++;
        }
        json_decref(toy);
    }
    free(line);
    fclose(f);
    assert_true(n >= 5);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        n_chars = strtoul(argv[1], NULL, 10);
        report = true;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test(runs_without_a_break) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
