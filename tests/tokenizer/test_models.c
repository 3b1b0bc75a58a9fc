/* test_models.c - toy vocabularies of every kind against what the reference libraries make of
 * them (toys.py says how). Another file of that program may be given as an argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "neutral_json.h"
#include "tokenizer/tokenizer.h"

static const char *path = TEST_DATA "/tokenizer/toys.jsonl";

static char *show(const int32_t *ids, size_t n)
{
    static char text[2][4096];
    static unsigned turn;
    char *out = text[turn ^= 1];
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && at < sizeof text[0] - 16; i++)
        at += (size_t)snprintf(out + at, sizeof text[0] - at, " %d", (int)ids[i]);
    return out;
}

static void check_ids(const sl_tokenizer *t, const char *name, size_t number, const json_t *c)
{
    const json_t *text = json_object_get(c, "text"), *want = json_object_get(c, "ids");
    int32_t expected[4096];
    const size_t n = json_array_size(want);
    sl_ids ids = { 0 };
    sl_err err = { 0 };
    assert_true(n <= 4096);
    for (size_t i = 0; i < n; i++)
        expected[i] = (int32_t)json_integer_value(json_array_get(want, i));
    if (sl_tokenize(t, json_string_value(text), json_string_length(text),
                    json_is_true(json_object_get(c, "special")) ? SL_TOK_PARSE_SPECIAL : 0, &ids, &err) != SL_OK)
        fail_msg("%s, case %zu: %s", name, number, err.msg);
    if (ids.n != n || (n > 0 && memcmp(ids.data, expected, n * sizeof *expected) != 0))
        fail_msg("%s, case %zu, \"%s\":%s, should be%s", name, number, json_dumps(text, JSON_ENCODE_ANY),
                 show(ids.data, ids.n), show(expected, n));
    sl_ids_fini(&ids);
}

static void check_text(const sl_tokenizer *t, const char *name, size_t number, const json_t *c)
{
    const json_t *ids = json_object_get(c, "ids"), *want = json_object_get(c, "decoded");
    sl_detok d;
    sl_str out = { 0 };
    sl_detok_init(&d, t, json_is_true(json_object_get(c, "special")));
    for (size_t i = 0; i < json_array_size(ids); i++)
        sl_detok_next(&d, (int32_t)json_integer_value(json_array_get(ids, i)), &out);
    sl_detok_flush(&d, &out);
    if (out.len != json_string_length(want) || (out.len && memcmp(out.data, json_string_value(want), out.len) != 0))
        fail_msg("%s, case %zu, ids %s: \"%.*s\", should be \"%s\"", name, number, json_dumps(ids, JSON_COMPACT),
                 (int)out.len, out.data, json_string_value(want));
    sl_str_fini(&out);
}

static sl_bytes read_file(const char *name)
{
    static char room[1 << 20];
    FILE *f = fopen(name, "rb");
    if (!f)
        fail_msg("%s cannot be opened", name);
    const size_t n = fread(room, 1, sizeof room, f);
    assert_true(n < sizeof room);
    fclose(f);
    return (sl_bytes){ room, n };
}

/* Calls fn for each toy of the file, with its vocabulary. */
static void for_each_toy(void (*fn)(const sl_vocab *v, const char *name, const json_t *cases))
{
    char table_path[1024];
    snprintf(table_path, sizeof table_path, "%s.table", path);
    const sl_bytes table = read_file(table_path);
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    if (!f)
        fail_msg("%s cannot be opened", path);
    while (getline(&line, &cap, f) > 0) {
        json_error_t e;
        sl_vocab v;
        json_t *toy = json_loads(line, JSON_ALLOW_NUL, &e);
        if (!toy)
            fail_msg("%s", e.text);
        neutral_json_fill(&v, toy, table);
        fn(&v, json_string_value(json_object_get(toy, "name")), json_object_get(toy, "cases"));
        sl_vocab_fini(&v);
        json_decref(toy);
    }
    free(line);
    fclose(f);
}

static size_t n_run;

static void check_toy(const sl_vocab *v, const char *name, const json_t *cases)
{
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    size_t i;
    json_t *c;
    if (sl_tokenizer_create(&t, v, &err) != SL_OK)
        fail_msg("%s: %s", name, err.msg);
    json_array_foreach((json_t *)cases, i, c)
    {
        if (json_object_get(c, "decoded"))
            check_text(t, name, i, c);
        else
            check_ids(t, name, i, c);
        n_run++;
    }
    sl_tokenizer_destroy(t);
}

static void toys_agree_with_the_references(void **state)
{
    (void)state;
    for_each_toy(check_toy);
    print_message("%zu cases\n", n_run);
    assert_true(n_run > 50);
}

/* --- no memory --------------------------------------------------------------------------- */

static sl_status encode_and_decode(const sl_vocab *v, const json_t *cases, sl_err *err)
{
    sl_tokenizer *t = NULL;
    sl_ids ids = { 0 };
    sl_str out = { 0 };
    sl_detok d;
    sl_status rc = sl_tokenizer_create(&t, v, err);
    assert_true((rc == SL_OK) == (t != NULL));
    for (size_t i = 0; i < json_array_size(cases) && rc == SL_OK; i++) {
        const json_t *text = json_object_get(json_array_get(cases, i), "text");
        if (json_is_string(text))
            rc = sl_tokenize(t, json_string_value(text), json_string_length(text), SL_TOK_PARSE_SPECIAL, &ids, err);
    }
    if (rc == SL_OK) {
        sl_detok_init(&d, t, true);
        for (int32_t id = 0; id < 16; id++)
            sl_detok_next(&d, id, &out);
        rc = out.failed ? SL_ENOMEM : SL_OK;
    }
    sl_str_fini(&out);
    sl_ids_fini(&ids);
    sl_tokenizer_destroy(t);
    return rc;
}

static size_t n_failed;

static void fail_everywhere(const sl_vocab *v, const char *name, const json_t *cases)
{
    if (name[strlen(name) - 1] > '1') /* two of each kind */
        return;
    for (long n = 0;; n++) {
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        const sl_status rc = encode_and_decode(v, cases, &err);
        sl_mem_fail_after(-1);
        if (rc == SL_OK)
            break;
        if (rc != SL_ENOMEM || n > 5000)
            fail_msg("%s, allocation %ld: %s", name, n, err.msg);
        n_failed++;
    }
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    for_each_toy(fail_everywhere);
    assert_true(n_failed > 100);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        path = argv[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(toys_agree_with_the_references),
                                        cmocka_unit_test(each_allocation_may_fail) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
