#include "formats/name_list.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>
#include "base/num.h"

#define PATTERN_BYTES ((size_t)1 << 12)
#define NEST_MAX      64
#define STEPS         100000 /* of one pattern and one name */
#define HEAP_KIB      1024

struct sl_name_entry {
    const sl_json *text;
    pcre2_code *code; /* NULL: a plain name */
};

static void *give(size_t n, void *user)
{
    (void)user;
    return sl_mem_alloc(n);
}

static void take_back(void *p, void *user)
{
    (void)user;
    sl_mem_free(p);
}

static bool is_pattern(const sl_json *text)
{
    return text->text_len >= 3 && memcmp(text->text, "re:", 3) == 0;
}

static sl_status compile(struct sl_name_entry *e, pcre2_compile_context *context, sl_err *err)
{
    int code = 0;
    PCRE2_SIZE place = 0;
    e->code =
        pcre2_compile((PCRE2_SPTR)e->text->text + 3, e->text->text_len - 3, PCRE2_ANCHORED, &code, &place, context);
    if (!e->code && code == PCRE2_ERROR_HEAP_FAILED)
        return sl_fail(err, SL_ENOMEM, "no memory for a pattern");
    if (!e->code) {
        char why[128] = "";
        pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
        return sl_json_fail(err, SL_EFORMAT, e->text, "no pattern: %s, at its byte %zu", why, place);
    }
    pcre2_jit_compile(e->code, PCRE2_JIT_COMPLETE); /* where it cannot, it is interpreted */
    return SL_OK;
}

static sl_status read_entries(sl_name_list *l, const sl_json *array, pcre2_compile_context *context, sl_err *err)
{
    for (const sl_json *t = array->first; t; t = t->next) {
        if (t->kind != SL_JSON_STRING)
            return sl_json_fail(err, SL_EFORMAT, t, "should be a name, or a pattern behind \"re:\"");
        struct sl_name_entry *e = &l->entry[l->n++];
        e->text = t;
        const sl_status rc = is_pattern(t) ? compile(e, context, err) : SL_OK;
        if (rc)
            return rc;
    }
    return SL_OK;
}

sl_status sl_name_list_open(sl_name_list *l, const sl_json *array, sl_err *err)
{
    *l = (sl_name_list){ 0 };
    if (!array)
        return SL_OK;
    if (array->kind != SL_JSON_ARRAY)
        return sl_json_fail(err, SL_EFORMAT, array, "should be a list of names");
    l->general = pcre2_general_context_create(give, take_back, NULL);
    pcre2_compile_context *context = l->general ? pcre2_compile_context_create(l->general) : NULL;
    l->match = l->general ? pcre2_match_data_create(1, l->general) : NULL;
    l->limits = l->general ? pcre2_match_context_create(l->general) : NULL;
    l->entry = sl_mem_zalloc(array->n, sizeof *l->entry);
    sl_status rc = context && l->match && l->limits && l->entry
                       ? SL_OK
                       : sl_fail(err, SL_ENOMEM, "no memory for a list of %u names", array->n);
    if (!rc) {
        pcre2_set_max_pattern_length(context, PATTERN_BYTES);
        pcre2_set_parens_nest_limit(context, NEST_MAX);
        pcre2_set_match_limit(l->limits, STEPS);
        pcre2_set_heap_limit(l->limits, HEAP_KIB);
        rc = read_entries(l, array, context, err);
    }
    pcre2_compile_context_free(context);
    if (rc)
        sl_name_list_close(l);
    return rc;
}

void sl_name_list_close(sl_name_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        pcre2_code_free(l->entry[i].code);
    sl_mem_free(l->entry);
    pcre2_match_data_free(l->match);
    pcre2_match_context_free(l->limits);
    pcre2_general_context_free(l->general);
    *l = (sl_name_list){ 0 };
}

sl_status sl_name_list_has(const sl_name_list *l, sl_bytes module, sl_named *out, sl_err *err)
{
    *out = SL_NAMED_NOT;
    for (size_t i = 0; i < l->n; i++) {
        const struct sl_name_entry *e = &l->entry[i];
        sl_named how = SL_NAMED_NOT;
        if (e->code) {
            const int rc = pcre2_match(e->code, (PCRE2_SPTR)module.data, module.len, 0, 0, l->match, l->limits);
            if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
                return rc == PCRE2_ERROR_NOMEMORY
                           ? sl_fail(err, SL_ENOMEM, "no memory to match a name")
                           : sl_json_fail(err, SL_EUNSUPPORTED, e->text, "this pattern needs too many steps");
            how = rc < 0 ? SL_NAMED_NOT : SL_NAMED_PATTERN;
        } else if (sl_json_is(e->text, "Linear")) {
            how = SL_NAMED_CLASS;
        } else if (e->text->text_len == module.len && memcmp(e->text->text, module.data, module.len) == 0) {
            how = SL_NAMED_EXACTLY;
        }
        *out = SL_MAX(*out, how);
    }
    return SL_OK;
}

/* ---- modules that are left as they were ----------------------------------------------------------- */

sl_status sl_left_out_open(const sl_json *config, const char *key, const sl_json **out, sl_err *err)
{
    const sl_json *list = sl_json_get(config, key);
    *out = list;
    if (list && list->kind != SL_JSON_ARRAY)
        return sl_json_fail(err, SL_EFORMAT, list, "should be a list of names");
    for (const sl_json *t = list ? list->first : NULL; t; t = t->next)
        if (t->kind != SL_JSON_STRING || t->text_len == 0)
            return sl_json_fail(err, SL_EFORMAT, t, "should be a name");
    return SL_OK;
}

/* Whether the entry's words are those of the name from its byte `at` on. */
static bool has_words(sl_bytes entry, sl_bytes name, size_t at)
{
    for (size_t i = 0; i < entry.len; i++) {
        if (entry.data[i] == '*') {
            while (at < name.len && name.data[at] != '.')
                at++;
        } else if (at == name.len || entry.data[i] != name.data[at++]) {
            return false;
        }
    }
    return at == name.len || name.data[at] == '.';
}

sl_status sl_left_out_check(const sl_json *list, sl_bytes module, sl_err *err)
{
    for (const sl_json *t = list ? list->first : NULL; t; t = t->next)
        for (size_t at = 0; at < module.len; at++)
            if ((at == 0 || module.data[at - 1] == '.') && has_words(sl_json_bytes(t), module, at))
                return sl_fail(err, SL_EFORMAT, "\"%.*s\" names it, but it is quantised", (int)list->key_len,
                               list->key);
    return SL_OK;
}
