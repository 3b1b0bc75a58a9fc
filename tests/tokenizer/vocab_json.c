#include "vocab_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static sl_bytes string_bytes(const json_t *s)
{
    assert_true(json_is_string(s));
    return (sl_bytes){ json_string_value(s), json_string_length(s) };
}

static void load_merges(vocab_json *j, json_t *merges)
{
    j->v.n_merges = json_array_size(merges);
    j->v.merges = calloc(j->v.n_merges, sizeof *j->v.merges);
    size_t i;
    json_t *pair;
    json_array_foreach(merges, i, pair)
    {
        const sl_bytes left = string_bytes(json_array_get(pair, 0)), right = string_bytes(json_array_get(pair, 1));
        j->v.merges[i] = (struct sl_vocab_merge){ left, right };
    }
}

void vocab_json_load(vocab_json *j, const char *path, const char *pre)
{
    json_error_t e;
    j->root = json_load_file(path, 0, &e);
    if (!j->root)
        fail_msg("%s: %s", path, e.text);
    json_t *model = json_object_get(j->root, "model"), *vocab = json_object_get(model, "vocab");
    json_t *added = json_object_get(j->root, "added_tokens"), *value;
    const size_t n = json_object_size(vocab) + json_array_size(added);
    j->v = (sl_vocab){ .pre = pre, .n_tokens = n, .bos = -1, .eos = -1, .eot = -1, .unk = -1, .pad = -1 };
    j->v.tokens = calloc(n, sizeof *j->v.tokens);
    j->v.kinds = calloc(n, sizeof *j->v.kinds);
    const char *key;
    json_object_foreach(vocab, key, value)
    {
        assert_in_range(json_integer_value(value), 0, n - 1);
        j->v.tokens[json_integer_value(value)] = (sl_bytes){ key, strlen(key) };
    }
    j->v.n_added = json_array_size(added);
    j->v.added = calloc(j->v.n_added, sizeof *j->v.added);
    size_t i;
    json_array_foreach(added, i, value)
    {
        const json_int_t id = json_integer_value(json_object_get(value, "id"));
        assert_in_range(id, 0, n - 1);
        j->v.tokens[id] = string_bytes(json_object_get(value, "content"));
        j->v.kinds[id] = json_is_true(json_object_get(value, "special")) ? SL_TOKEN_CONTROL : SL_TOKEN_USER;
        j->v.added[i] = (sl_added_token){ .id = (int32_t)id, .special = j->v.kinds[id] == SL_TOKEN_CONTROL };
    }
    load_merges(j, json_object_get(model, "merges"));
}

void vocab_json_free(vocab_json *j)
{
    free(j->v.tokens);
    free(j->v.kinds);
    free(j->v.merges);
    free(j->v.added);
    json_decref(j->root);
    *j = (vocab_json){ 0 };
}
