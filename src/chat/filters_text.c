/* filters_text.c - Jinja's filters on text. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/str_case_in.h"
#include "chat/utf8_in.h"

#define TRY        SL_JJ_TRY
#define JSON_BYTES 80u /* of a parsed value for each byte of its text, at most */

typedef const sl_jj_value *args;

static sl_status upper(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_to_str(r, v, &v));
    return sl_jj_str_map(r, v, SL_JJ_UPPER, out);
}
static sl_status lower(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_to_str(r, v, &v));
    return sl_jj_str_map(r, v, SL_JJ_LOWER, out);
}
static sl_status capitalize(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_to_str(r, v, &v));
    return sl_jj_str_capitalize(r, v, out);
}

static bool splits_words(uint32_t c)
{
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || sl_jj_is_space(c);
}

/* Words begin behind blanks, hyphens and opening brackets only: "it's" keeps its small s. */
static sl_status title(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_buf b = { 0 };
    TRY(sl_jj_to_str(r, v, &v));
    for (size_t i = 0, w = 0; i < v.len;) {
        size_t end = i;
        const bool gap = splits_words(sl_jj_utf8_get(v.u.s + i, &w));
        while (end < v.len && splits_words(sl_jj_utf8_get(v.u.s + end, &w)) == gap)
            end += w;
        const sl_jj_value word = sl_jj_str(v.u.s + i, end - i);
        const size_t first = sl_jj_utf8_width((unsigned char)word.u.s[0]);
        TRY(sl_jj_case_add(r, &b, word, 0, first, SL_JJ_UPPER));
        sl_jj_value rest = sl_jj_str(word.u.s + first, word.len - first);
        TRY(sl_jj_case_add(r, &b, rest, 0, rest.len, SL_JJ_LOWER));
        i = end;
    }
    *out = sl_jj_buf_value(&b);
    return SL_OK;
}

static sl_status trim(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    TRY(sl_jj_to_str(r, v, &v));
    return sl_jj_str_strip(r, v, arg[0], SL_JJ_BOTH, out);
}

static sl_status replace(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    int64_t count = -1;
    sl_jj_value from = { 0 }, to = { 0 };
    if (arg[2].kind != SL_JJ_NONE)
        TRY(sl_jj_arg_int(r, arg[2], -1, &count));
    TRY(sl_jj_to_str(r, v, &v));
    TRY(sl_jj_to_str(r, arg[0], &from));
    TRY(sl_jj_to_str(r, arg[1], &to));
    v.flag = 0;
    return sl_jj_str_replace(r, v, from, to, count, out);
}

static sl_status string(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_to_str(r, v, out);
}

static sl_status safe(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_to_str(r, v, out));
    out->flag = 1;
    return SL_OK;
}

static sl_status escape(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_escape(r, v, out);
}

static sl_status forceescape(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_to_str(r, v, &v));
    v.flag = 0;
    return sl_jj_escape(r, v, out);
}

static sl_status center(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    int64_t width = 80;
    TRY(sl_jj_arg_int(r, arg[0], 80, &width));
    TRY(sl_jj_to_str(r, v, &v));
    return sl_jj_str_pad(r, v, width, sl_jj_text(" "), SL_JJ_BOTH, out);
}

static sl_status join(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_value sep = sl_jj_text("");
    if (arg[0].kind != SL_JJ_MISSING)
        TRY(sl_jj_to_str(r, arg[0], &sep));
    sep.flag = 0;
    if (arg[1].kind != SL_JJ_MISSING && arg[1].kind != SL_JJ_NONE) {
        sl_jj_seq *all = NULL;
        TRY(sl_jj_collect(r, v, &all));
        for (size_t i = 0; i < all->n; i++)
            TRY(sl_jj_attr_path(r, all->items[i], arg[1], sl_jj_none(), &all->items[i]));
        v = sl_jj_seq_value(SL_JJ_LIST, all);
    }
    return sl_jj_str_join(r, sep, v, true, out);
}

static sl_status indent(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    int64_t width = 4;
    sl_jj_value by = arg[0];
    sl_jj_seq *lines = NULL;
    sl_jj_buf b = { 0 };
    const bool first = sl_jj_truth(arg[1]), blank = sl_jj_truth(arg[2]);
    if (by.kind != SL_JJ_STR) {
        TRY(sl_jj_arg_int(r, by, 4, &width));
        TRY(sl_jj_binary(r, SL_JJ_MUL, sl_jj_text(" "), sl_jj_int(width), &by));
    }
    TRY(sl_jj_binary(r, SL_JJ_ADD, v, sl_jj_text("\n"), &v)); /* fails where s is no string, as s += "\n" does */
    TRY(sl_jj_str_lines(r, v, false, &lines));
    for (size_t i = 0; i < lines->n; i++) {
        const sl_jj_value line = lines->items[i];
        if (i > 0)
            TRY(sl_jj_buf_puts(r, &b, "\n"));
        if (i == 0 ? first : blank || line.len > 0)
            TRY(sl_jj_buf_add(r, &b, by.u.s, by.len));
        TRY(sl_jj_buf_add(r, &b, line.u.s, line.len));
    }
    *out = sl_jj_buf_value(&b);
    out->flag = v.flag;
    return SL_OK;
}

static sl_status truncate(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    int64_t length = 255, leeway = 5;
    size_t n = 0, n_end = 0;
    const sl_jj_value end = arg[2].kind == SL_JJ_MISSING ? sl_jj_text("...") : arg[2];
    TRY(sl_jj_arg_int(r, arg[0], 255, &length));
    if (arg[3].kind != SL_JJ_NONE)
        TRY(sl_jj_arg_int(r, arg[3], 5, &leeway));
    TRY(sl_jj_want_str(r, "truncate", end));
    TRY(sl_jj_length(r, end, &n_end));
    TRY(sl_jj_length(r, v, &n));
    if (length < (int64_t)n_end || leeway < 0)
        return sl_jj_fail(r, SL_EFORMAT, "truncate: the length is too small");
    *out = v;
    if ((int64_t)n <= length || (int64_t)n - length <= leeway)
        return SL_OK;
    TRY(sl_jj_want_str(r, "truncate", v)); /* anything else that has a length may be short */
    sl_jj_value cut = sl_jj_str(v.u.s, sl_jj_utf8_offset(v.u.s, v.len, (size_t)length - n_end));
    const char *space = sl_jj_truth(arg[1]) ? NULL : memrchr(cut.u.s, ' ', cut.len);
    if (space)
        cut.len = (uint32_t)(space - cut.u.s);
    cut.flag = v.flag;
    return sl_jj_binary(r, SL_JJ_ADD, cut, end, out);
}

static sl_status wordcount(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    int64_t n = 0;
    bool inside = false;
    TRY(sl_jj_to_str(r, v, &v));
    TRY(sl_jj_step(r, v.len / 8));
    for (size_t i = 0, w = 0; i < v.len; i += w) {
        const bool word = sl_jj_is_word(sl_jj_utf8_get(v.u.s + i, &w));
        n += word && !inside;
        inside = word;
    }
    *out = sl_jj_int(n);
    return SL_OK;
}

static sl_status format(sl_jj_render *r, sl_jj_value v, const sl_jj_call *call, sl_jj_value *out)
{
    if (call->n_pos > 0 && call->n_kw > 0)
        return sl_jj_fail(r, SL_EFORMAT, "format: positional and keyword arguments at the same time");
    TRY(sl_jj_to_str(r, v, &v));
    if (call->n_kw > 0) {
        sl_jj_dict *d = NULL;
        TRY(sl_jj_dict_new(r, call->n_kw, &d));
        for (size_t i = 0; i < call->n_kw; i++)
            TRY(sl_jj_dict_set(r, d, call->kw[i].key, call->kw[i].value));
        return sl_jj_percent(r, v, sl_jj_dict_value(d), out);
    }
    sl_jj_seq *s = NULL;
    TRY(sl_jj_seq_new(r, call->n_pos, &s));
    for (size_t i = 0; i < call->n_pos; i++)
        TRY(sl_jj_seq_push(r, s, call->pos[i]));
    return sl_jj_percent(r, v, sl_jj_seq_value(SL_JJ_TUPLE, s), out);
}

/* Percent-encoding; `query`: the slash too, and blanks as +. */
static sl_status quote_url(sl_jj_render *r, sl_jj_buf *b, sl_jj_value v, bool query)
{
    static const char hex[] = "0123456789ABCDEF";
    TRY(sl_jj_to_str(r, v, &v));
    for (size_t i = 0; i < v.len; i++) {
        const unsigned char c = (unsigned char)v.u.s[i];
        const bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                           (c && strchr("_.-~", c)) || (c == '/' && !query);
        const char coded[3] = { '%', hex[c >> 4], hex[c & 15] };
        if (query && c == ' ')
            TRY(sl_jj_buf_puts(r, b, "+"));
        else
            TRY(plain ? sl_jj_buf_add(r, b, &v.u.s[i], 1) : sl_jj_buf_add(r, b, coded, 3));
    }
    return SL_OK;
}

static sl_status urlencode(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    sl_jj_buf b = { 0 };
    if (v.kind == SL_JJ_STR || !sl_jj_iterable(v)) {
        TRY(quote_url(r, &b, v, false));
    } else {
        sl_jj_seq *pairs = NULL;
        if (v.kind == SL_JJ_DICT)
            v = (sl_jj_value){ .kind = SL_JJ_VIEW, .flag = SL_JJ_ITEMS, .u.dict = v.u.dict };
        TRY(sl_jj_collect(r, v, &pairs));
        for (size_t i = 0; i < pairs->n; i++) {
            sl_jj_seq *pair = NULL;
            TRY(sl_jj_collect(r, pairs->items[i], &pair));
            if (pair->n != 2)
                return sl_jj_fail(r, SL_EFORMAT, "urlencode wants pairs");
            if (i > 0)
                TRY(sl_jj_buf_puts(r, &b, "&"));
            TRY(quote_url(r, &b, pair->items[0], true));
            TRY(sl_jj_buf_puts(r, &b, "="));
            TRY(quote_url(r, &b, pair->items[1], true));
        }
    }
    *out = sl_jj_buf_value(&b);
    return SL_OK;
}

static sl_status separators(sl_jj_render *r, sl_jj_value v, sl_jj_json_style *style)
{
    if (v.kind == SL_JJ_MISSING || v.kind == SL_JJ_NONE)
        return SL_OK;
    sl_jj_seq *s = NULL;
    TRY(sl_jj_collect(r, v, &s));
    if (s->n != 2 || s->items[0].kind != SL_JJ_STR || s->items[1].kind != SL_JJ_STR)
        return sl_jj_fail(r, SL_EFORMAT, "tojson: separators must be two strings");
    style->item_sep = s->items[0];
    style->key_sep = s->items[1];
    return SL_OK;
}

static sl_status tojson(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    sl_jj_buf b = { 0 };
    const sl_jj_value by = arg[1];
    sl_jj_json_style style = { .ascii = sl_jj_truth(arg[0]),
                               .sort = sl_jj_truth(arg[3]),
                               .has_indent = by.kind != SL_JJ_MISSING && by.kind != SL_JJ_NONE,
                               .item_sep = sl_jj_text(", "),
                               .key_sep = sl_jj_text(": ") };
    if (style.has_indent) {
        style.item_sep = sl_jj_text(",");
        style.indent = by;
        if (by.kind != SL_JJ_STR)
            TRY(sl_jj_binary(r, SL_JJ_MUL, sl_jj_text(" "), by, &style.indent));
    }
    TRY(separators(r, arg[2], &style));
    TRY(sl_jj_json(r, &b, v, &style));
    *out = sl_jj_buf_value(&b);
    return SL_OK;
}

/* The inverse of tojson. Transformers has no such filter; llama.cpp has, and some templates that
 * were published for it use it. */
static sl_status from_json(sl_jj_render *r, sl_jj_value v, args arg, sl_jj_value *out)
{
    (void)arg;
    json_error_t error = { 0 };
    TRY(sl_jj_want_str(r, "from_json", v));
    TRY(sl_jj_step(r, v.len));
    TRY(sl_jj_charge(r, (size_t)v.len * JSON_BYTES));
    json_t *value = json_loadb(v.u.s, v.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!value)
        return json_error_code(&error) == json_error_out_of_memory
                   ? sl_jj_fail(r, SL_ENOMEM, "no memory for %u bytes of JSON", v.len)
                   : sl_jj_fail(r, SL_EFORMAT, "from_json: %s", error.text);
    if (!r->parsed)
        r->parsed = json_array();
    if (json_array_append_new(r->parsed, value))
        return sl_jj_fail(r, SL_ENOMEM, "no memory for a value");
    return sl_jj_from_json(r, value, out);
}

static const sl_jj_builtin table[] = {
    { "upper", upper, { "", 0 }, NULL },
    { "lower", lower, { "", 0 }, NULL },
    { "capitalize", capitalize, { "", 0 }, NULL },
    { "title", title, { "", 0 }, NULL },
    { "trim", trim, { "chars", 0 }, NULL },
    { "replace", replace, { "old,new,count", 2 }, NULL },
    { "string", string, { "", 0 }, NULL },
    { "safe", safe, { "", 0 }, NULL },
    { "e", escape, { "", 0 }, NULL },
    { "escape", escape, { "", 0 }, NULL },
    { "forceescape", forceescape, { "", 0 }, NULL },
    { "center", center, { "width", 0 }, NULL },
    { "join", join, { "d,attribute", 0 }, NULL },
    { "indent", indent, { "width,first,blank", 0 }, NULL },
    { "truncate", truncate, { "length,killwords,end,leeway", 0 }, NULL },
    { "wordcount", wordcount, { "", 0 }, NULL },
    { "format", NULL, { NULL, 0 }, format },
    { "urlencode", urlencode, { "", 0 }, NULL },
    { "tojson", tojson, { "ensure_ascii,indent,separators,sort_keys", 0 }, NULL },
    { "from_json", from_json, { "", 0 }, NULL },
    { "pprint", NULL, { NULL, 0 }, NULL },
    { "striptags", NULL, { NULL, 0 }, NULL },
    { "urlize", NULL, { NULL, 0 }, NULL },
    { "wordwrap", sl_jj_wordwrap, { "width,break_long_words,wrapstring,break_on_hyphens", 0 }, NULL },
    { "xmlattr", NULL, { NULL, 0 }, NULL },
};

const sl_jj_builtin *sl_jj_text_filter_find(const char *name, size_t len)
{
    return sl_jj_table_find(table, SL_COUNT(table), name, len);
}
