/* test_models.c - toy vocabularies of every kind against what the reference libraries make of
 * them (toys.py says how). Another file of that program may be given as an argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

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

static void toys_agree_with_the_references(void **state)
{
    (void)state;
    char table_path[1024];
    snprintf(table_path, sizeof table_path, "%s.table", path);
    const sl_bytes table = read_file(table_path);
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0, run = 0;
    if (!f)
        fail_msg("%s cannot be opened", path);
    while (getline(&line, &cap, f) > 0) {
        json_error_t e;
        sl_vocab v;
        sl_tokenizer *t = NULL;
        sl_err err = { 0 };
        json_t *toy = json_loads(line, JSON_ALLOW_NUL, &e), *c;
        if (!toy)
            fail_msg("%s", e.text);
        const char *name = json_string_value(json_object_get(toy, "name"));
        neutral_json_fill(&v, toy, table);
        if (sl_tokenizer_create(&t, &v, &err) != SL_OK)
            fail_msg("%s: %s", name, err.msg);
        size_t i;
        json_array_foreach(json_object_get(toy, "cases"), i, c)
        {
            if (json_object_get(c, "decoded"))
                check_text(t, name, i, c);
            else
                check_ids(t, name, i, c);
            run++;
        }
        sl_tokenizer_destroy(t);
        sl_vocab_fini(&v);
        json_decref(toy);
    }
    free(line);
    fclose(f);
    print_message("%zu cases\n", run);
    assert_true(run > 50);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        path = argv[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(toys_agree_with_the_references) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
