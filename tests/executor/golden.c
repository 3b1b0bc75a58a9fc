#include "executor/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>

static size_t read_ids(const json_t *list, int32_t *out)
{
    assert_true(json_is_array(list) && json_array_size(list) <= GOLDEN_IDS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++)
        out[i] = (int32_t)json_integer_value(json_array_get(list, i));
    return json_array_size(list);
}

void golden_load(golden *g, const char *dir)
{
    char path[512];
    json_error_t error;
    *g = (golden){ 0 };
    snprintf(path, sizeof path, "%s/golden/manifest.json", dir);
    json_t *manifest = json_load_file(path, 0, &error);
    if (!manifest)
        fail_msg("%s: %s", path, error.text);
    const json_t *prompts = json_object_get(manifest, "prompts");
    assert_true(json_array_size(prompts) >= 1 && json_array_size(prompts) <= GOLDEN_PROMPTS_MAX);
    for (g->n = 0; g->n < json_array_size(prompts); g->n++) {
        const json_t *p = json_array_get(prompts, g->n);
        golden_prompt *out = &g->prompt[g->n];
        snprintf(out->name, sizeof out->name, "%s", json_string_value(json_object_get(p, "name")));
        out->n_ids = read_ids(json_object_get(p, "ids"), out->ids);
        out->n_greedy = read_ids(json_object_get(p, "greedy"), out->greedy);
        out->greedy_min_margin = (float)json_number_value(json_object_get(p, "greedy_min_margin"));
        out->max_abs_logit = (float)json_number_value(json_object_get(p, "max_abs_logit"));
        snprintf(path, sizeof path, "%s/golden/%s", dir, json_string_value(json_object_get(p, "logits")));
        assert_true(npy_load(&out->logits, path));
        assert_int_equal(out->logits.n_dims, 2);
        assert_int_equal(out->logits.dims[0], out->n_ids);
        const char *rounded = json_string_value(json_object_get(p, "logits_actq"));
        if (!rounded)
            continue;
        snprintf(path, sizeof path, "%s/golden/%s", dir, rounded);
        assert_true(npy_load(&out->logits_actq, path));
        assert_true(out->logits_actq.count == out->logits.count);
        out->greedy_actq_min_margin = (float)json_number_value(json_object_get(p, "greedy_actq_min_margin"));
        assert_int_equal(read_ids(json_object_get(p, "greedy_actq"), out->greedy_actq), out->n_greedy);
    }
    json_decref(manifest);
}

void golden_free(golden *g)
{
    for (size_t i = 0; i < g->n; i++)
        npy_free(&g->prompt[i].logits), npy_free(&g->prompt[i].logits_actq);
}
