#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"

#define HELP_COLUMN 30
#define HELP_WIDTH  96

void sl_words_fini(sl_words *w)
{
    sl_mem_free(w->data);
    *w = (sl_words){ 0 };
}

static sl_status add_word(sl_words *w, const char *word, sl_err *err)
{
    const char **data = sl_mem_grow(w->data, w->n * sizeof *data, (w->n + 1) * sizeof *data);
    if (!data)
        return sl_fail(err, SL_ENOMEM, "no memory for the command line");
    w->data = data;
    w->data[w->n++] = word;
    return SL_OK;
}

/* ---- numbers ------------------------------------------------------------------ */

static bool starts_number(const char *text)
{
    return *text && strchr("+-.0123456789", *text);
}

bool sl_read_int(const char *text, int64_t *out)
{
    char *end = NULL;
    if (!starts_number(text))
        return false;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno)
        return false;
    *out = v;
    return true;
}

bool sl_read_real(const char *text, double *out)
{
    char *end = NULL;
    if (!starts_number(text))
        return false;
    const double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

/* ---- names --------------------------------------------------------------------- */

/* Is name[0..len) one of the alternatives of "a|b|c"? */
static bool among(const char *list, const char *name, size_t len)
{
    while (list && *list) {
        const size_t n = strcspn(list, "|");
        if (n == len && memcmp(list, name, n) == 0)
            return true;
        list += n + (list[n] == '|');
    }
    return false;
}

const char *sl_options_near(const sl_opt_group *groups, const char *name, char best[SL_OPT_NAME_MAX + 1])
{
    size_t least = SL_MAX(strlen(name) / 3, (size_t)1) + 1;
    *best = '\0';
    for (; groups->title; groups++)
        for (const sl_opt *o = groups->opts; o->names; o++)
            for (const char *at = o->names; *at;) {
                char candidate[SL_OPT_NAME_MAX + 1];
                const size_t n = strcspn(at, "|");
                snprintf(candidate, sizeof candidate, "%.*s", (int)n, at);
                size_t distance = sl_edit_distance(name, candidate);
                if (strlen(name) >= 3 && strncmp(candidate, name, strlen(name)) == 0)
                    distance = 1; /* cut short */
                if (distance < least) {
                    least = distance;
                    memcpy(best, candidate, sizeof candidate);
                }
                at += n + (at[n] == '|');
            }
    return *best ? best : NULL;
}

static sl_status unknown(const sl_opt_group *groups, const char *given, sl_err *err)
{
    char name[2 * SL_OPT_NAME_MAX] = "", best[SL_OPT_NAME_MAX + 1];
    const char *bare = given + strspn(given, "-");
    snprintf(name, sizeof name, "%.*s", (int)SL_MIN(strcspn(bare, "="), sizeof name - 1), bare);
    const char *near = sl_options_near(groups, name, best);
    if (near)
        return sl_fail(err, SL_EINVAL, "unknown option %s (did you mean --%s?)", given, near);
    if (strchr(given, ' '))
        return sl_fail(err, SL_EINVAL, "unknown option \"%s\" (put -- before a text that begins with -)", given);
    return sl_fail(err, SL_EINVAL, "unknown option %s", given);
}

/* The row that `arg` names, and its =VALUE if it has one. */
static const sl_opt *find(const sl_opt_group *groups, const char *arg, const char **value)
{
    const bool is_long = arg[1] == '-';
    const char *name = arg + 1 + is_long;
    const size_t len = strcspn(name, "=");
    *value = name[len] ? name + len + 1 : NULL;
    for (; groups->title; groups++)
        for (const sl_opt *o = groups->opts; o->names; o++)
            if (among(is_long ? o->names : o->shorts, name, len))
                return o;
    return NULL;
}

const sl_opt *sl_options_find(const sl_opt_group *groups, const char *name)
{
    for (; groups->title; groups++)
        for (const sl_opt *o = groups->opts; o->names; o++)
            if (among(o->names, name, strlen(name)))
                return o;
    return NULL;
}

/* ---- values -------------------------------------------------------------------- */

/* "from 0 to 100", "of at least 0", "above 0 and up to 1" */
const char *sl_options_range(const sl_opt *o, char room[SL_OPT_RANGE_MAX])
{
    const size_t size = SL_OPT_RANGE_MAX;
    if (o->kind == SL_OPT_ABOVE && o->max < SL_OPT_NO_MAX)
        snprintf(room, size, "above %.9g and up to %.9g", o->min, o->max);
    else if (o->kind == SL_OPT_ABOVE)
        snprintf(room, size, "above %.9g", o->min);
    else if (o->max >= SL_OPT_NO_MAX)
        snprintf(room, size, "of at least %.9g", o->min);
    else
        snprintf(room, size, "from %.9g to %.9g", o->min, o->max);
    return room;
}

/* What a row wants beside its kind and range; NULL: the value has it. */
static const char *wants_more(const sl_opt *o, const char *value)
{
    if (o->kind == SL_OPT_TEXT && !*value && strcmp(o->arg, "FILE") == 0)
        return "the name of a file";
    return o->check && value ? o->check(value) : NULL;
}

sl_status sl_options_set(const sl_opt *o, const char *shown, const char *value, void *values, sl_err *err)
{
    void *at = (char *)values + o->offset;
    char range[SL_OPT_RANGE_MAX];
    int64_t i = 0;
    double d = 0.0;
    const char *want = wants_more(o, value);
    if (want)
        return sl_fail(err, SL_EINVAL, "%s %s: %s expected", shown, *value ? value : "\"\"", want);
    switch (o->kind) {
    case SL_OPT_FLAG:
        *(bool *)at = !value || strcmp(value, "false") != 0;
        return SL_OK;
    case SL_OPT_TEXT:
        *(const char **)at = value;
        return SL_OK;
    case SL_OPT_LIST:
        return add_word(at, value, err);
    case SL_OPT_INT:
        if (!sl_read_int(value, &i) || (double)i < o->min || (double)i > o->max)
            return sl_fail(err, SL_EINVAL, "%s %s: a whole number %s expected", shown, value,
                           sl_options_range(o, range));
        *(int64_t *)at = i;
        return SL_OK;
    case SL_OPT_REAL:
    case SL_OPT_ABOVE:
        if (!sl_read_real(value, &d) || d < o->min || d > o->max || (o->kind == SL_OPT_ABOVE && d <= o->min))
            return sl_fail(err, SL_EINVAL, "%s %s: a number %s expected", shown, value, sl_options_range(o, range));
        *(double *)at = d;
        return SL_OK;
    case SL_OPT_WORD:
        if (!among(o->words, value, strlen(value)))
            return sl_fail(err, SL_EINVAL, "%s %s: one of %s expected", shown, value, o->words);
        *(const char **)at = value;
        return SL_OK;
    }
    return SL_OK;
}

sl_status sl_options_parse(const sl_opt_group *groups, int argc, char **argv, void *values, sl_words *rest, sl_err *err)
{
    sl_status rc = SL_OK;
    bool ended = false;
    for (int i = 0; i < argc && !rc; i++) {
        const char *arg = argv[i], *value = NULL;
        if (ended || arg[0] != '-' || !arg[1]) {
            rc = add_word(rest, arg, err);
            continue;
        }
        if (strcmp(arg, "--") == 0) {
            ended = true;
            continue;
        }
        const sl_opt *o = find(groups, arg, &value);
        char shown[SL_OPT_NAME_MAX + 4];
        snprintf(shown, sizeof shown, "%.*s", (int)strcspn(arg, "="), arg);
        if (!o)
            rc = unknown(groups, arg, err);
        else if (o->kind == SL_OPT_FLAG && value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            rc = sl_fail(err, SL_EINVAL, "%s takes no value", shown);
        else if (o->kind != SL_OPT_FLAG && !value && i + 1 == argc)
            rc = sl_fail(err, SL_EINVAL, "%s needs a value: %s", shown, o->arg);
        else
            rc = sl_options_set(o, shown, o->kind == SL_OPT_FLAG || value ? value : argv[++i], values, err);
    }
    return rc;
}

/* ---- help ---------------------------------------------------------------------- */

/* Words of `text`, wrapped, each line from HELP_COLUMN on; the first line is there already. */
static void wrap(const char *text, sl_str *out)
{
    size_t column = HELP_COLUMN;
    while (*text) {
        const size_t n = strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + n > HELP_WIDTH) {
            sl_str_printf(out, "\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (column > HELP_COLUMN) {
            sl_str_puts(out, " ");
            column++;
        }
        sl_str_append(out, text, n);
        column += n;
        text += n + (text[n] == ' ');
    }
    sl_str_puts(out, "\n");
}

static void help_row(const sl_opt *o, sl_str *out)
{
    char left[128];
    const int long_len = (int)strcspn(o->names, "|");
    size_t used = 0;
    if (o->shorts)
        used = (size_t)snprintf(left, sizeof left, "  -%.*s, --%.*s", (int)strcspn(o->shorts, "|"), o->shorts, long_len,
                                o->names);
    else
        used = (size_t)snprintf(left, sizeof left, "      --%.*s", long_len, o->names);
    if (o->arg)
        used += (size_t)snprintf(left + used, sizeof left - used, " %s", o->arg);
    if (used + 1 < HELP_COLUMN)
        sl_str_printf(out, "%-*s", HELP_COLUMN, left);
    else
        sl_str_printf(out, "%s\n%*s", left, HELP_COLUMN, "");
    wrap(o->help, out);
}

void sl_options_help(const sl_opt_group *groups, sl_str *out)
{
    for (; groups->title; groups++) {
        sl_str_printf(out, "\n%s:\n", groups->title);
        for (const sl_opt *o = groups->opts; o->names; o++)
            help_row(o, out);
    }
}
