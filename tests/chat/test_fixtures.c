/* test_fixtures.c - templates whose rendering Python's jinja2 has given: see tests/data/README.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "chat/template.h"

static void check(const char *name, const json_t *source, const json_t *context, const json_t *want)
{
    sl_template *t = NULL;
    sl_str got = { 0 };
    sl_err err = { 0 };
    sl_status rc = sl_template_create(&t, json_string_value(source), json_string_length(source), &err);
    if (!rc)
        rc = sl_template_render(t, context, &got, &err);
    if (rc || got.len != json_string_length(want) || memcmp(got.data, json_string_value(want), got.len) != 0)
        fail_msg("%s: %s\nwant: %s\ngot:  %s", name, err.msg, json_string_value(want), got.data ? got.data : "");
    sl_str_fini(&got);
    sl_template_destroy(t);
}

/* Calls each for every line of a file; the number of lines. */
static int each_line(const char *path, void (*each)(int number, const json_t *line))
{
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = 0;
    int count = 0;
    assert_non_null(f);
    while ((n = getline(&line, &cap, f)) > 0) {
        json_t *row = json_loadb(line, (size_t)n, 0, NULL);
        assert_non_null(row);
        each(++count, row);
        json_decref(row);
    }
    free(line);
    fclose(f);
    return count;
}

static void jinja_row(int number, const json_t *row)
{
    char name[32] = "";
    snprintf(name, sizeof name, "jinja.jsonl:%d", number);
    check(name, json_object_get(row, "template"), json_object_get(row, "context"), json_object_get(row, "rendered"));
}

static void test_language(void **state)
{
    (void)state;
    assert_int_equal(each_line(TEST_DATA "/chat/jinja.jsonl", jinja_row), 58);
}

static json_t *model; /* chat_template.json: the template and the special tokens */

static void chat_row(int number, const json_t *row)
{
    (void)number;
    json_t *context = json_copy(model);
    json_object_set(context, "messages", json_object_get(row, "messages"));
    json_object_set(context, "tools", json_object_get(row, "tools"));
    json_object_set_new(context, "add_generation_prompt", json_false());
    json_object_update(context, json_object_get(row, "kwargs"));
    check(json_string_value(json_object_get(row, "name")), json_object_get(model, "chat_template"), context,
          json_object_get(row, "rendered"));
    json_decref(context);
}

static void test_smollm2(void **state)
{
    (void)state;
    model = json_load_file(TEST_DATA "/chat/chat_template.json", 0, NULL);
    assert_non_null(model);
    assert_int_equal(each_line(TEST_DATA "/chat/chat.jsonl", chat_row), 19);
    json_decref(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_language), cmocka_unit_test(test_smollm2) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
