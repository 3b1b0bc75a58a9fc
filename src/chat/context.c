/* context.c - the variables of a rendering: JSON -> values. Strings stay where they are. */
#include "chat/render_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

static sl_status from_string(sl_jj_render *r, const char *s, size_t n, sl_jj_value *out)
{
    size_t bad = 0;
    if (n > SL_JJ_MAX_OUTPUT)
        return sl_jj_fail(r, SL_EFORMAT, "a string of %zu bytes in the context", n);
    if (!sl_jj_utf8_valid(s, n, &bad))
        return sl_jj_fail(r, SL_EFORMAT, "a string in the context is not UTF-8");
    *out = sl_jj_str(s, n);
    return SL_OK;
}

static sl_status from_object(sl_jj_render *r, const json_t *json, sl_jj_value *out)
{
    /* jansson's iterators want a mutable object, but only read it. */
    json_t *object = (json_t *)(uintptr_t)json;
    sl_jj_dict *d = NULL;
    TRY(sl_jj_dict_new(r, json_object_size(json), &d));
    for (void *it = json_object_iter(object); it; it = json_object_iter_next(object, it)) {
        const char *key = json_object_iter_key(it);
        sl_jj_value k = { 0 }, v = { 0 };
        TRY(from_string(r, key, strlen(key), &k));
        TRY(sl_jj_from_json(r, json_object_iter_value(it), &v));
        TRY(sl_jj_dict_set(r, d, k, v));
    }
    *out = sl_jj_dict_value(d);
    return SL_OK;
}

static sl_status from_array(sl_jj_render *r, const json_t *json, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    TRY(sl_jj_seq_new(r, json_array_size(json), &s));
    for (size_t i = 0; i < json_array_size(json); i++) {
        sl_jj_value v = { 0 };
        TRY(sl_jj_from_json(r, json_array_get(json, i), &v));
        TRY(sl_jj_seq_push(r, s, v));
    }
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

sl_status sl_jj_from_json(sl_jj_render *r, const json_t *json, sl_jj_value *out)
{
    sl_status rc = SL_OK;
    TRY(sl_jj_enter(r));
    TRY(sl_jj_step(r, 1));
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        rc = from_object(r, json, out);
        break;
    case JSON_ARRAY:
        rc = from_array(r, json, out);
        break;
    case JSON_STRING:
        rc = from_string(r, json_string_value(json), json_string_length(json), out);
        break;
    case JSON_INTEGER:
        *out = sl_jj_int(json_integer_value(json));
        break;
    case JSON_REAL:
        *out = sl_jj_float(json_real_value(json));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = sl_jj_bool(json_is_true(json));
        break;
    case JSON_NULL:
        *out = sl_jj_none();
        break;
    }
    sl_jj_leave(r);
    return rc;
}
