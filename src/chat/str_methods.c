/* str_methods.c - the methods of str. */
#include "base/num.h"
#include "chat/builtin_in.h"
#include "chat/render_in.h"
#include "chat/str_case_in.h"
#include "chat/utf8_in.h"

#define TRY SL_JJ_TRY

typedef const sl_jj_value *args;

static sl_status strip_both(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return sl_jj_str_strip(r, self, arg[0], SL_JJ_BOTH, out);
}
static sl_status strip_left(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return sl_jj_str_strip(r, self, arg[0], SL_JJ_LEFT, out);
}
static sl_status strip_right(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return sl_jj_str_strip(r, self, arg[0], SL_JJ_RIGHT, out);
}

static sl_status replace(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    int64_t count = -1;
    sl_jj_value from = arg[0], to = arg[1];
    TRY(sl_jj_want_str(r, "replace", from));
    if (self.flag)
        TRY(sl_jj_escape(r, to, &to));
    TRY(sl_jj_want_str(r, "replace", to));
    TRY(sl_jj_arg_int(r, arg[2], -1, &count));
    return sl_jj_str_replace(r, self, from, to, count, out);
}

static bool affix_is(sl_jj_value s, sl_jj_value affix, bool at_end)
{
    return affix.len <= s.len && memcmp(s.u.s + (at_end ? s.len - affix.len : 0), affix.u.s, affix.len) == 0;
}

/* s[start:end] in place: false if start lies behind the end of the string. */
static sl_status narrow(sl_jj_render *r, sl_jj_value *s, sl_jj_value start, sl_jj_value end, bool *ok, size_t *skipped)
{
    int64_t n = (int64_t)sl_jj_utf8_count(s->u.s, s->len), from = 0, to = n;
    *ok = true;
    *skipped = 0;
    if (start.kind == SL_JJ_MISSING && end.kind == SL_JJ_MISSING)
        return SL_OK;
    if (start.kind != SL_JJ_NONE)
        TRY(sl_jj_arg_int(r, start, 0, &from));
    if (end.kind != SL_JJ_NONE)
        TRY(sl_jj_arg_int(r, end, n, &to));
    to = to < 0 ? SL_MAX(to + n, (int64_t)0) : SL_MIN(to, n);
    from = from < 0 ? SL_MAX(from + n, (int64_t)0) : from;
    *ok = from <= to;
    if (!*ok)
        return SL_OK;
    const size_t first = sl_jj_utf8_offset(s->u.s, s->len, (size_t)from);
    s->len = (uint32_t)(sl_jj_utf8_offset(s->u.s, s->len, (size_t)to) - first);
    s->u.s += first;
    *skipped = (size_t)from;
    return SL_OK;
}

static sl_status has_affix(sl_jj_render *r, sl_jj_value self, args arg, bool at_end, sl_jj_value *out)
{
    size_t skipped = 0;
    bool ok = false, found = false;
    if (arg[0].kind != SL_JJ_STR && arg[0].kind != SL_JJ_TUPLE)
        return sl_jj_fail(r, SL_EFORMAT, "%s wants a string or a tuple of strings, not '%s'",
                          at_end ? "endswith" : "startswith", sl_jj_type_name(arg[0]));
    TRY(narrow(r, &self, arg[1], arg[2], &ok, &skipped));
    if (arg[0].kind == SL_JJ_STR) {
        found = ok && affix_is(self, arg[0], at_end);
    } else {
        const sl_jj_seq *s = arg[0].u.seq;
        for (size_t i = 0; !found && i < s->n; i++) {
            TRY(sl_jj_want_str(r, at_end ? "endswith" : "startswith", s->items[i]));
            found = ok && affix_is(self, s->items[i], at_end);
        }
    }
    *out = sl_jj_bool(found);
    return SL_OK;
}

static sl_status startswith(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return has_affix(r, self, arg, false, out);
}
static sl_status endswith(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return has_affix(r, self, arg, true, out);
}

static sl_status removeprefix(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    TRY(sl_jj_want_str(r, "removeprefix", arg[0]));
    *out = self;
    if (affix_is(self, arg[0], false)) {
        out->u.s += arg[0].len;
        out->len -= arg[0].len;
    }
    return SL_OK;
}
static sl_status removesuffix(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    TRY(sl_jj_want_str(r, "removesuffix", arg[0]));
    *out = self;
    if (affix_is(self, arg[0], true))
        out->len -= arg[0].len;
    return SL_OK;
}

/* Steps of a search: backwards it compares at every place. */
static size_t search_cost(sl_jj_value s, sl_jj_value what)
{
    return (size_t)s.len / 8 * (1 + (what.kind == SL_JJ_STR ? what.len / 64 : 0));
}

/* The last place of `what`, or NULL. */
static const char *find_last(sl_jj_value s, sl_jj_value what)
{
    for (size_t i = s.len - SL_MIN(what.len, s.len) + 1; what.len <= s.len && i-- > 0;)
        if (memcmp(s.u.s + i, what.u.s, what.len) == 0)
            return s.u.s + i;
    return NULL;
}

static const char *find_first(sl_jj_value s, sl_jj_value what)
{
    return what.len == 0 ? s.u.s : memmem(s.u.s, s.len, what.u.s, what.len);
}

static sl_status find_at(sl_jj_render *r, sl_jj_value self, args arg, bool last, int64_t *out)
{
    size_t skipped = 0;
    bool ok = false;
    TRY(sl_jj_want_str(r, "find", arg[0]));
    TRY(sl_jj_step(r, search_cost(self, arg[0])));
    TRY(narrow(r, &self, arg[1], arg[2], &ok, &skipped));
    const char *hit = !ok ? NULL : last ? find_last(self, arg[0]) : find_first(self, arg[0]);
    *out = hit ? (int64_t)(skipped + sl_jj_utf8_count(self.u.s, (size_t)(hit - self.u.s))) : -1;
    return SL_OK;
}

static sl_status find_or_fail(sl_jj_render *r, sl_jj_value self, args arg, bool last, bool fails, sl_jj_value *out)
{
    int64_t at = 0;
    TRY(find_at(r, self, arg, last, &at));
    if (at < 0 && fails)
        return sl_jj_fail(r, SL_EFORMAT, "substring not found");
    *out = sl_jj_int(at);
    return SL_OK;
}

static sl_status find(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return find_or_fail(r, self, arg, false, false, out);
}
static sl_status rfind(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return find_or_fail(r, self, arg, true, false, out);
}
static sl_status index_of(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return find_or_fail(r, self, arg, false, true, out);
}
static sl_status rindex_of(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return find_or_fail(r, self, arg, true, true, out);
}

static sl_status count(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    size_t skipped = 0, n = 0;
    bool ok = false;
    TRY(sl_jj_want_str(r, "count", arg[0]));
    TRY(sl_jj_step(r, self.len / 8));
    TRY(narrow(r, &self, arg[1], arg[2], &ok, &skipped));
    if (ok && arg[0].len == 0)
        n = sl_jj_utf8_count(self.u.s, self.len) + 1;
    for (const char *p = self.u.s; ok && arg[0].len > 0; n++) {
        p = memmem(p, (size_t)(self.u.s + self.len - p), arg[0].u.s, arg[0].len);
        if (!p)
            break;
        p += arg[0].len;
    }
    *out = sl_jj_int((int64_t)n);
    return SL_OK;
}

static sl_status push_part(sl_jj_render *r, sl_jj_seq *s, sl_jj_value self, size_t from, size_t to)
{
    sl_jj_value part = sl_jj_str(self.u.s + from, to - from);
    part.flag = self.flag;
    return sl_jj_seq_push(r, s, part);
}

static sl_status split_spaces(sl_jj_render *r, sl_jj_value self, int64_t max, sl_jj_seq *s)
{
    size_t i = 0, w = 0;
    for (;;) {
        while (i < self.len && sl_jj_is_space(sl_jj_utf8_get(self.u.s + i, &w)))
            i += w;
        if (i == self.len)
            return SL_OK;
        size_t end = i;
        if (max-- == 0) /* the rest, with the space at its end */
            return push_part(r, s, self, i, self.len);
        while (end < self.len && !sl_jj_is_space(sl_jj_utf8_get(self.u.s + end, &w)))
            end += w;
        TRY(push_part(r, s, self, i, end));
        i = end;
    }
}

static sl_status split_by(sl_jj_render *r, sl_jj_value self, sl_jj_value sep, int64_t max, sl_jj_seq *s)
{
    size_t from = 0;
    for (; max != 0; max--) {
        const char *hit = memmem(self.u.s + from, self.len - from, sep.u.s, sep.len);
        if (!hit)
            break;
        TRY(push_part(r, s, self, from, (size_t)(hit - self.u.s)));
        from = (size_t)(hit - self.u.s) + sep.len;
    }
    return push_part(r, s, self, from, self.len);
}

/* Parts from the end, then turned round. */
static sl_status rsplit_by(sl_jj_render *r, sl_jj_value self, sl_jj_value sep, int64_t max, sl_jj_seq *s)
{
    sl_jj_value left = self;
    for (; max != 0; max--) {
        const char *hit = find_last(left, sep);
        if (!hit)
            break;
        TRY(push_part(r, s, left, (size_t)(hit - left.u.s) + sep.len, left.len));
        left.len = (uint32_t)(hit - left.u.s);
    }
    return push_part(r, s, left, 0, left.len);
}

static sl_status rsplit_spaces(sl_jj_render *r, sl_jj_value self, int64_t max, sl_jj_seq *s)
{
    size_t end = self.len, w = 0;
    for (;;) {
        sl_jj_value left = sl_jj_str(self.u.s, end);
        TRY(sl_jj_str_strip(r, left, sl_jj_none(), SL_JJ_RIGHT, &left));
        end = left.len;
        if (end == 0)
            return SL_OK;
        if (max-- == 0)
            return push_part(r, s, self, 0, end);
        size_t from = end;
        while (from > 0) {
            const size_t last = sl_jj_utf8_last(self.u.s, from);
            if (sl_jj_is_space(sl_jj_utf8_get(self.u.s + from - last, &w)))
                break;
            from -= last;
        }
        TRY(push_part(r, s, self, from, end));
        end = from;
    }
}

static sl_status split_any(sl_jj_render *r, sl_jj_value self, args arg, bool from_right, sl_jj_value *out)
{
    int64_t max = -1;
    sl_jj_seq *s = NULL;
    const bool by_space = arg[0].kind == SL_JJ_MISSING || arg[0].kind == SL_JJ_NONE;
    TRY(sl_jj_arg_int(r, arg[1], -1, &max));
    TRY(sl_jj_step(r, search_cost(self, arg[0])));
    TRY(sl_jj_seq_new(r, 0, &s));
    if (!by_space)
        TRY(sl_jj_want_str(r, "split", arg[0]));
    if (!by_space && arg[0].len == 0)
        return sl_jj_fail(r, SL_EFORMAT, "split: empty separator");
    if (by_space)
        TRY(from_right ? rsplit_spaces(r, self, max, s) : split_spaces(r, self, max, s));
    else
        TRY(from_right ? rsplit_by(r, self, arg[0], max, s) : split_by(r, self, arg[0], max, s));
    for (size_t i = 0; from_right && i < s->n / 2; i++) {
        const sl_jj_value swap = s->items[i];
        s->items[i] = s->items[s->n - 1 - i];
        s->items[s->n - 1 - i] = swap;
    }
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

static sl_status split(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return split_any(r, self, arg, false, out);
}
static sl_status rsplit(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return split_any(r, self, arg, true, out);
}

static sl_status partition_any(sl_jj_render *r, sl_jj_value self, args arg, bool last, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    TRY(sl_jj_want_str(r, "partition", arg[0]));
    if (arg[0].len == 0)
        return sl_jj_fail(r, SL_EFORMAT, "partition: empty separator");
    TRY(sl_jj_step(r, search_cost(self, arg[0])));
    TRY(sl_jj_seq_new(r, 3, &s));
    const char *hit = last ? find_last(self, arg[0]) : find_first(self, arg[0]);
    const size_t at = hit ? (size_t)(hit - self.u.s) : last ? 0 : self.len;
    const size_t end = hit ? at + arg[0].len : at;
    TRY(push_part(r, s, self, 0, at));
    TRY(push_part(r, s, self, at, end));
    TRY(push_part(r, s, self, end, self.len));
    *out = sl_jj_seq_value(SL_JJ_TUPLE, s);
    return SL_OK;
}

static sl_status partition(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return partition_any(r, self, arg, false, out);
}
static sl_status rpartition(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return partition_any(r, self, arg, true, out);
}

static sl_status splitlines(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    sl_jj_seq *s = NULL;
    int64_t keep = 0;
    TRY(sl_jj_arg_int(r, arg[0], 0, &keep));
    TRY(sl_jj_str_lines(r, self, keep != 0, &s));
    *out = sl_jj_seq_value(SL_JJ_LIST, s);
    return SL_OK;
}

static sl_status join(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    return sl_jj_str_join(r, self, arg[0], self.flag != 0, out);
}

static sl_status ljust(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    int64_t width = 0;
    TRY(sl_jj_arg_int(r, arg[0], 0, &width));
    return sl_jj_str_pad(r, self, width, arg[1], SL_JJ_RIGHT, out);
}
static sl_status rjust(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    int64_t width = 0;
    TRY(sl_jj_arg_int(r, arg[0], 0, &width));
    return sl_jj_str_pad(r, self, width, arg[1], SL_JJ_LEFT, out);
}
static sl_status center(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    int64_t width = 0;
    TRY(sl_jj_arg_int(r, arg[0], 0, &width));
    return sl_jj_str_pad(r, self, width, arg[1], SL_JJ_BOTH, out);
}

static sl_status zfill(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    int64_t width = 0;
    TRY(sl_jj_arg_int(r, arg[0], 0, &width));
    const bool has_sign = self.len > 0 && (self.u.s[0] == '-' || self.u.s[0] == '+');
    sl_jj_value rest = sl_jj_str(self.u.s + has_sign, self.len - has_sign);
    TRY(sl_jj_str_pad(r, rest, width > INT64_MIN ? width - has_sign : width, sl_jj_text("0"), SL_JJ_LEFT, &rest));
    TRY(sl_jj_str_concat(r, sl_jj_str(self.u.s, has_sign), rest, out));
    out->flag = self.flag;
    return SL_OK;
}

static sl_status upper(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_str_map(r, self, SL_JJ_UPPER, out);
}
static sl_status lower(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_str_map(r, self, SL_JJ_LOWER, out);
}
static sl_status capitalize(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_str_capitalize(r, self, out);
}
static sl_status title(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_str_title(r, self, out);
}
static sl_status swapcase(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_str_swapcase(r, self, out);
}

static sl_status casefold(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    return sl_jj_str_map(r, self, SL_JJ_FOLD, out);
}

static sl_status expandtabs(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    int64_t size = 8, column = 0;
    sl_jj_buf b = { 0 };
    TRY(sl_jj_arg_int(r, arg[0], 8, &size));
    TRY(sl_jj_step(r, self.len / 8));
    for (size_t i = 0, w = 0; i < self.len; i += w) {
        const uint32_t c = sl_jj_utf8_get(self.u.s + i, &w);
        if (c != '\t') {
            TRY(sl_jj_buf_add(r, &b, self.u.s + i, w));
            column = c == '\n' || c == '\r' ? 0 : column + 1;
            continue;
        }
        for (int64_t n = size > 0 ? size - column % size : 0; n > 0; n--, column++) {
            TRY(sl_jj_step(r, 1));
            TRY(sl_jj_buf_puts(r, &b, " "));
        }
    }
    *out = sl_jj_buf_value(&b);
    out->flag = self.flag;
    return SL_OK;
}

static sl_status isidentifier(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    bool yes = self.len > 0 && !(self.u.s[0] >= '0' && self.u.s[0] <= '9');
    for (size_t i = 0; i < self.len; i++) {
        const unsigned char c = (unsigned char)self.u.s[i];
        if (c >= 0x80)
            return sl_jj_fail(r, SL_EUNSUPPORTED, "isidentifier beyond ASCII");
        yes &= sl_jj_is_word(c);
    }
    *out = sl_jj_bool(yes);
    return SL_OK;
}

static bool is_ascii(uint32_t c)
{
    return c < 0x80;
}

/* At least one character (unless `empty_too`), and all of them `is`. */
static sl_status all_are(sl_jj_value self, bool (*is)(uint32_t), bool empty_too, sl_jj_value *out)
{
    bool all = empty_too || self.len > 0;
    for (size_t i = 0, w = 0; all && i < self.len; i += w)
        all = is(sl_jj_utf8_get(self.u.s + i, &w));
    *out = sl_jj_bool(all);
    return SL_OK;
}

static bool is_alnum(uint32_t c)
{
    return c != '_' && sl_jj_is_word(c);
}

#define SL_JJ_ALL_ARE(name, test, empty_too)                                                                           \
    static sl_status name(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)                               \
    {                                                                                                                  \
        (void)arg;                                                                                                     \
        TRY(sl_jj_step(r, self.len / 8));                                                                              \
        return all_are(self, test, empty_too, out);                                                                    \
    }
SL_JJ_ALL_ARE(isdigit_, sl_jj_is_digit, false)
SL_JJ_ALL_ARE(isdecimal_, sl_jj_is_decimal, false)
SL_JJ_ALL_ARE(isnumeric_, sl_jj_is_numeric, false)
SL_JJ_ALL_ARE(isalpha_, sl_jj_is_alpha, false)
SL_JJ_ALL_ARE(isalnum_, is_alnum, false)
SL_JJ_ALL_ARE(isspace_, sl_jj_is_space, false)
SL_JJ_ALL_ARE(isascii_, is_ascii, true)
SL_JJ_ALL_ARE(isprintable_, sl_jj_is_printable, true)
#undef SL_JJ_ALL_ARE

static sl_status isupper_(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_step(r, self.len / 8));
    *out = sl_jj_bool(sl_jj_str_is_case(self, SL_JJ_UPPER));
    return SL_OK;
}
static sl_status islower_(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_step(r, self.len / 8));
    *out = sl_jj_bool(sl_jj_str_is_case(self, SL_JJ_LOWER));
    return SL_OK;
}
static sl_status istitle_(sl_jj_render *r, sl_jj_value self, args arg, sl_jj_value *out)
{
    (void)arg;
    TRY(sl_jj_step(r, self.len / 8));
    *out = sl_jj_bool(sl_jj_str_is_case(self, SL_JJ_TITLE));
    return SL_OK;
}

static const sl_jj_builtin table[] = {
    { "strip", strip_both, { "chars,/", 0 }, NULL },
    { "lstrip", strip_left, { "chars,/", 0 }, NULL },
    { "rstrip", strip_right, { "chars,/", 0 }, NULL },
    { "replace", replace, { "old,new,count,/", 2 }, NULL },
    { "startswith", startswith, { "prefix,start,end,/", 1 }, NULL },
    { "endswith", endswith, { "suffix,start,end,/", 1 }, NULL },
    { "removeprefix", removeprefix, { "prefix,/", 1 }, NULL },
    { "removesuffix", removesuffix, { "suffix,/", 1 }, NULL },
    { "find", find, { "sub,start,end,/", 1 }, NULL },
    { "rfind", rfind, { "sub,start,end,/", 1 }, NULL },
    { "index", index_of, { "sub,start,end,/", 1 }, NULL },
    { "rindex", rindex_of, { "sub,start,end,/", 1 }, NULL },
    { "count", count, { "sub,start,end,/", 1 }, NULL },
    { "split", split, { "sep,maxsplit", 0 }, NULL },
    { "rsplit", rsplit, { "sep,maxsplit", 0 }, NULL },
    { "partition", partition, { "sep,/", 1 }, NULL },
    { "rpartition", rpartition, { "sep,/", 1 }, NULL },
    { "splitlines", splitlines, { "keepends", 0 }, NULL },
    { "join", join, { "iterable,/", 1 }, NULL },
    { "ljust", ljust, { "width,fillchar,/", 1 }, NULL },
    { "rjust", rjust, { "width,fillchar,/", 1 }, NULL },
    { "center", center, { "width,fillchar,/", 1 }, NULL },
    { "zfill", zfill, { "width,/", 1 }, NULL },
    { "upper", upper, { "", 0 }, NULL },
    { "lower", lower, { "", 0 }, NULL },
    { "capitalize", capitalize, { "", 0 }, NULL },
    { "title", title, { "", 0 }, NULL },
    { "swapcase", swapcase, { "", 0 }, NULL },
    { "isdigit", isdigit_, { "", 0 }, NULL },
    { "isdecimal", isdecimal_, { "", 0 }, NULL },
    { "isnumeric", isnumeric_, { "", 0 }, NULL },
    { "isalpha", isalpha_, { "", 0 }, NULL },
    { "isalnum", isalnum_, { "", 0 }, NULL },
    { "isspace", isspace_, { "", 0 }, NULL },
    { "isascii", isascii_, { "", 0 }, NULL },
    { "isprintable", isprintable_, { "", 0 }, NULL },
    { "isupper", isupper_, { "", 0 }, NULL },
    { "islower", islower_, { "", 0 }, NULL },
    { "istitle", istitle_, { "", 0 }, NULL },
    { "format", NULL, { NULL, 0 }, sl_jj_str_format },
    { "format_map", sl_jj_str_format_map, { "mapping,/", 1 }, NULL },
    { "casefold", casefold, { "", 0 }, NULL },
    { "encode", NULL, { NULL, 0 }, NULL },
    { "expandtabs", expandtabs, { "tabsize", 0 }, NULL },
    { "isidentifier", isidentifier, { "", 0 }, NULL },
    { "maketrans", NULL, { NULL, 0 }, NULL },
    { "translate", NULL, { NULL, 0 }, NULL },
};

const sl_jj_builtin *sl_jj_str_method_find(const char *name, size_t len)
{
    return sl_jj_table_find(table, SL_COUNT(table), name, len);
}
