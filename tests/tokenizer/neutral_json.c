#include "neutral_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/num.h"

static const char *const kinds[] = { "normal", "control", "user", "byte", "unused", "unknown" };
static const char *const norms[] = { "nfc",           "nfd", "nfkc",    "nfkd",    "lowercase", "strip",
                                     "strip_accents", "nmt", "prepend", "replace", "charsmap",  "sentencepiece" };
static const char *const decoders[] = { "byte_level", "replace", "byte_fallback", "fuse", "strip", "metaspace" };
static const char *const spellings[] = { "alphabet", "chars", "bytes" };
static const char *const model_names[] = { "merges", "ranks", "scores", "unigram" };

static int place(const char *const *list, size_t n, const json_t *value)
{
    for (size_t i = 0; i < n; i++)
        if (json_is_string(value) && strcmp(json_string_value(value), list[i]) == 0)
            return (int)i;
    fail_msg("\"%s\" is not known", json_is_string(value) ? json_string_value(value) : "?");
    return -1;
}
#define PLACE(list, object, key) place(list, SL_COUNT(list), json_object_get(object, key))

static sl_bytes text_of(sl_vocab *v, const json_t *s)
{
    const json_t *hex = json_object_get(s, "hex");
    if (!hex)
        return (sl_bytes){ json_string_value(s) ? json_string_value(s) : "", json_string_length(s) };
    const size_t n = json_string_length(hex) / 2;
    char *bytes = sl_arena_alloc(&v->arena, n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        const char digits[3] = { json_string_value(hex)[2 * i], json_string_value(hex)[2 * i + 1], 0 };
        bytes[i] = (char)strtoul(digits, NULL, 16);
    }
    return (sl_bytes){ bytes, n };
}

static bool flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static bool in_list(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_string_value(json_array_get(list, i)), name) == 0)
            return true;
    return false;
}

static void fill_tokens(sl_vocab *v, const json_t *toy)
{
    const json_t *tokens = json_object_get(toy, "tokens"), *scores = json_object_get(toy, "scores");
    v->n_tokens = json_array_size(tokens);
    v->tokens = sl_arena_alloc(&v->arena, v->n_tokens, sizeof *v->tokens);
    v->kinds = sl_arena_alloc(&v->arena, v->n_tokens, 1);
    if (scores)
        v->scores = sl_arena_alloc(&v->arena, v->n_tokens, sizeof *v->scores);
    for (size_t i = 0; i < v->n_tokens; i++) {
        v->tokens[i] = text_of(v, json_array_get(tokens, i));
        v->kinds[i] = (uint8_t)place(kinds, SL_COUNT(kinds), json_array_get(json_object_get(toy, "kinds"), i));
        if (scores)
            v->scores[i] = json_number_value(json_array_get(scores, i));
    }
    const json_t *merges = json_object_get(toy, "merges"), *added = json_object_get(toy, "added");
    v->n_merges = json_array_size(merges);
    v->merges = sl_arena_alloc(&v->arena, v->n_merges, sizeof *v->merges);
    for (size_t i = 0; i < v->n_merges; i++)
        v->merges[i] = (struct sl_vocab_merge){ text_of(v, json_array_get(json_array_get(merges, i), 0)),
                                                text_of(v, json_array_get(json_array_get(merges, i), 1)) };
    v->n_added = json_array_size(added);
    v->added = sl_arena_alloc(&v->arena, v->n_added, sizeof *v->added);
    for (size_t i = 0; i < v->n_added; i++) {
        const json_t *a = json_array_get(added, i);
        v->added[i] = (sl_added_token){ .id = (int32_t)json_integer_value(json_object_get(a, "id")),
                                        .special = flag(a, "special"),
                                        .normalized = flag(a, "normalized"),
                                        .lstrip = flag(a, "lstrip"),
                                        .rstrip = flag(a, "rstrip"),
                                        .single_word = flag(a, "single_word") };
    }
}

void neutral_json_fill(sl_vocab *v, const json_t *toy, sl_bytes table)
{
    size_t i;
    json_t *step;
    const json_t *flags = json_object_get(toy, "flags");
    sl_vocab_init(v);
    v->text = (sl_token_text)PLACE(spellings, toy, "text");
    v->model = (sl_vocab_model)PLACE(model_names, toy, "model");
    v->unk = (int32_t)json_integer_value(json_object_get(toy, "unk"));
    v->byte_fallback = in_list(flags, "byte_fallback");
    v->fuse_unk = in_list(flags, "fuse_unk");
    v->whole_pieces = in_list(flags, "whole_pieces");
    v->double_scores = in_list(flags, "double_scores");
    fill_tokens(v, toy);
    json_array_foreach(json_object_get(toy, "norms"), i, step)
    {
        sl_norm_step *s = sl_vocab_add_norm(v, (sl_norm_kind)PLACE(norms, step, "kind"));
        s->pattern = flag(step, "table") ? table : text_of(v, json_object_get(step, "pattern"));
        s->text = text_of(v, json_object_get(step, "text"));
        s->left = flag(step, "left");
        s->right = flag(step, "right");
        s->dummy_prefix = flag(step, "dummy_prefix");
        s->remove_extra = flag(step, "remove_extra");
        s->escape_spaces = flag(step, "escape_spaces");
        s->space_suffix = flag(step, "space_suffix");
    }
    json_array_foreach(json_object_get(toy, "decoders"), i, step)
    {
        sl_decode_step *s = sl_vocab_add_decoder(v, (sl_decode_kind)PLACE(decoders, step, "kind"));
        s->pattern = text_of(v, json_object_get(step, "pattern"));
        s->text = text_of(v, json_object_get(step, "text"));
        s->start = (size_t)json_integer_value(json_object_get(step, "start"));
        s->stop = (size_t)json_integer_value(json_object_get(step, "stop"));
        s->strip_first = flag(step, "strip_first");
    }
}
