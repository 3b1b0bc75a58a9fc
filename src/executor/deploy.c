/* deploy.c - a deploy file read: keys, types, ranges, and degrees held against the number of ranks. */
#include "executor/deploy_in.h"

#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "formats/file.h"
#include "formats/show.h"

#define OPTIONS   "options"
#define DEGREE    "a whole number from 1 to 65536, or a list of them,"
#define HINT_SIZE 96

static sl_bytes text_of(const char *text)
{
    return (sl_bytes){ text, strlen(text) };
}

/* "yes" is ...; true or false expected */
static sl_status wants(const sl_deploy *d, const sl_yaml *v, const char *what, sl_err *err)
{
    char shown[SL_SHOW_MAX];
    if (v->kind != SL_YAML_SCALAR || sl_yaml_null(v))
        return sl_yaml_fail(&d->doc, v, err, "%s; %s expected", sl_yaml_is(v), what);
    return sl_yaml_fail(&d->doc, v, err, "\"%s\" is %s; %s expected", sl_show(shown, text_of(v->text)), sl_yaml_is(v),
                        what);
}

/* ---- values ------------------------------------------------------------------------------------ */

static sl_status read_count(const sl_deploy *d, const sl_yaml *v, int64_t max, const char *what, size_t *out,
                            sl_err *err)
{
    int64_t n = 0;
    if (!sl_yaml_int(v, &n))
        return wants(d, v, what, err);
    if (n < 1 || n > max)
        return sl_yaml_fail(&d->doc, v, err, "%s; %s expected", v->text, what);
    *out = (size_t)n;
    return SL_OK;
}

/* A number, or the product of a list with one for each level of the machine. */
static sl_status read_degree(const sl_deploy *d, const sl_yaml *v, size_t *out, sl_err *err)
{
    if (v->kind != SL_YAML_LIST)
        return read_count(d, v, SL_DEPLOY_RANKS_MAX, DEGREE, out, err);
    if (v->n < 1 || v->n > SL_DEPLOY_LEVELS_MAX)
        return sl_yaml_fail(&d->doc, v, err, "%u levels; 1 to %d expected", v->n, SL_DEPLOY_LEVELS_MAX);
    *out = 1;
    for (const sl_yaml *m = v->first; m; m = m->next) {
        size_t n = 0;
        const sl_status rc = read_count(d, m, SL_DEPLOY_RANKS_MAX, "a whole number from 1 to 65536", &n, err);
        if (rc)
            return rc;
        *out *= n; /* at most 2^16 each, and no more than one beyond that in all */
        if (*out > SL_DEPLOY_RANKS_MAX)
            return sl_yaml_fail(&d->doc, v, err, "more than %d ranks in all", SL_DEPLOY_RANKS_MAX);
    }
    return SL_OK;
}

static sl_status read_name(const sl_deploy *d, const sl_yaml *v, sl_err *err)
{
    bool flag = false;
    if (v->kind != SL_YAML_SCALAR || sl_yaml_null(v) || sl_yaml_bool(v, &flag) || !*v->text)
        return wants(d, v, "a name, or a list of names,", err);
    return SL_OK;
}

static sl_status read_value(sl_deploy *d, const sl_deploy_row *row, const sl_yaml *v, sl_err *err)
{
    void *at = (char *)&d->info + row->offset;
    sl_status rc = SL_OK;
    switch (row->type) {
    case SL_DEPLOY_DEGREE:
        return read_degree(d, v, at, err);
    case SL_DEPLOY_COUNT:
        return read_count(d, v, row->max, "a whole number from 1 to 65536", at, err);
    case SL_DEPLOY_FLAG:
        return sl_yaml_bool(v, at) ? SL_OK : wants(d, v, "true or false", err);
    case SL_DEPLOY_NAMES:
        if (v->kind != SL_YAML_LIST)
            return read_name(d, v, err);
        if (!v->n)
            return sl_yaml_fail(&d->doc, v, err, "an empty list; a name, or a list of names, expected");
        for (const sl_yaml *m = v->first; m && !rc; m = m->next)
            rc = read_name(d, m, err);
        return rc;
    }
    return rc;
}

/* ---- keys --------------------------------------------------------------------------------------- */

/* `section` "": of the whole file. */
static sl_status unknown(const sl_deploy *d, const sl_yaml *at, const char *section, sl_err *err)
{
    char room[HINT_SIZE];
    const char *hint = sl_deploy_hint(section, at->key, room, sizeof room);
    return sl_yaml_fail_key(&d->doc, at, err, "unknown %s%s%s%s", *section ? "key" : "section", hint ? " (" : "",
                            hint ? hint : "", hint ? ")" : "");
}

static sl_status read_section(sl_deploy *d, const sl_yaml *section, sl_err *err)
{
    sl_status rc = SL_OK;
    for (const sl_yaml *v = section->first; v && !rc; v = v->next) {
        size_t i = 0;
        while (i < sl_deploy_n_rows &&
               !(strcmp(sl_deploy_rows[i].section, section->key) == 0 && strcmp(sl_deploy_rows[i].name, v->key) == 0))
            i++;
        rc = i < sl_deploy_n_rows ? read_value(d, &sl_deploy_rows[i], v, err) : unknown(d, v, section->key, err);
    }
    return rc;
}

/* Two names of the program's options are one if they differ in their strokes only. */
static bool same_option(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !(strchr("_-", *a) && strchr("_-", *b)))
            return false;
    return *a == *b;
}

static sl_status check_options(const sl_deploy *d, const sl_yaml *options, sl_err *err)
{
    for (const sl_yaml *v = options->first; v; v = v->next) {
        for (const sl_yaml *u = options->first; u != v; u = u->next)
            if (same_option(u->key, v->key))
                return sl_yaml_fail_key(&d->doc, v, err, "stands in line %u already, as %s", u->line, u->key);
        if (v->kind == SL_YAML_MAP)
            return wants(d, v, "a value, or a list of values,", err);
        if (v->kind == SL_YAML_LIST && !v->n)
            return sl_yaml_fail(&d->doc, v, err, "an empty list; leave the key out");
        for (const sl_yaml *m = v->kind == SL_YAML_LIST ? v->first : NULL; m; m = m->next)
            if (m->kind != SL_YAML_SCALAR)
                return wants(d, m, "a value", err);
    }
    const sl_yaml *ubatch = sl_yaml_get(options, "ubatch-size");
    ubatch = ubatch ? ubatch : sl_yaml_get(options, "ubatch_size");
    if (d->info.prefill.chunk && ubatch)
        return sl_yaml_fail_key(&d->doc, ubatch, err, "is said by prefill.chunk_size already");
    return SL_OK;
}

static bool is_section(const char *key)
{
    for (size_t i = 0; i < sl_deploy_n_rows; i++)
        if (strcmp(sl_deploy_rows[i].section, key) == 0)
            return true;
    return strcmp(key, OPTIONS) == 0;
}

static sl_status read_sections(sl_deploy *d, sl_err *err)
{
    sl_status rc = SL_OK;
    for (const sl_yaml *v = d->doc.root->first; v && !rc; v = v->next) {
        if (!is_section(v->key))
            rc = unknown(d, v, "", err);
        else if (v->kind != SL_YAML_MAP)
            rc = wants(d, v, "a group of keys", err);
        else if (strcmp(v->key, OPTIONS) != 0)
            rc = read_section(d, v, err);
    }
    const sl_yaml *options = sl_yaml_get(d->doc.root, OPTIONS);
    return !rc && options ? check_options(d, options, err) : rc;
}

/* ---- degrees -------------------------------------------------------------------------------------- */

const sl_yaml *sl_deploy_place(const sl_deploy *d, const char *section, const char *key)
{
    const sl_yaml *s = sl_yaml_get(d->doc.root, section), *v = sl_yaml_get(s, key);
    return v ? v : s ? s : d->doc.root;
}

static size_t degree(const sl_deploy *d, const sl_deploy_row *row)
{
    size_t n = 0;
    memcpy(&n, (const char *)&d->info + row->offset, sizeof n);
    return n;
}

/* Where the number of ranks is not what someone thought. */
static const char *world_hint(const sl_deploy *d)
{
    return sl_yaml_get(sl_yaml_get(d->doc.root, "parallel_config"), "world_size")
               ? ""
               : " (parallel_config.world_size is missing, so there is one)";
}

/* A list has the levels of world_size, and cuts each of them evenly. */
static sl_status check_levels(const sl_deploy *d, const sl_yaml *v, sl_err *err)
{
    const sl_yaml *world = sl_yaml_get(sl_yaml_get(d->doc.root, "parallel_config"), "world_size");
    size_t level = 0;
    if (v->kind != SL_YAML_LIST)
        return SL_OK;
    if (!world)
        return sl_yaml_fail(&d->doc, v, err, "a list of levels; world_size, which would say them, is missing");
    if (world->kind != SL_YAML_LIST)
        return sl_yaml_fail(&d->doc, v, err, "a list of levels, but world_size is no list; a whole number expected");
    if (world->n != v->n)
        return sl_yaml_fail(&d->doc, v, err, "a list of %u level%s; world_size has %u", v->n, v->n == 1 ? "" : "s",
                            world->n);
    for (const sl_yaml *a = world->first, *b = v->first; a && b; a = a->next, b = b->next, level++) {
        int64_t all = 0, part = 1;
        sl_yaml_int(a, &all);
        sl_yaml_int(b, &part);
        if (all % part)
            return sl_yaml_fail(&d->doc, v, err, "level %zu: %lld ranks cannot be cut by %lld", level + 1,
                                (long long)all, (long long)part);
    }
    return SL_OK;
}

/* Each degree divides the ranks of one part of the layers. */
static sl_status check_degrees(const sl_deploy *d, sl_err *err)
{
    const sl_deploy_info *i = &d->info;
    if (i->n_ranks % i->pp)
        return sl_yaml_fail(&d->doc, sl_deploy_place(d, "parallel_config", "pp_size"), err,
                            "%zu rank%s cannot be cut into %zu parts of the layers%s", i->n_ranks,
                            i->n_ranks == 1 ? "" : "s", i->pp, world_hint(d));
    for (size_t k = 0; k < sl_deploy_n_rows; k++) {
        const sl_deploy_row *row = &sl_deploy_rows[k];
        const sl_yaml *v = sl_yaml_get(sl_yaml_get(d->doc.root, row->section), row->name);
        if (row->type != SL_DEPLOY_DEGREE || !v)
            continue;
        const sl_status rc = check_levels(d, v, err);
        if (rc)
            return rc;
        if (row->offset != offsetof(sl_deploy_info, n_ranks) && i->n_ranks / i->pp % degree(d, row) &&
            row->offset != offsetof(sl_deploy_info, pp))
            return sl_yaml_fail(&d->doc, v, err, "%zu does not divide the %zu rank%s%s%s", degree(d, row),
                                i->n_ranks / i->pp, i->n_ranks == i->pp ? "" : "s",
                                i->pp > 1 ? " of one part of the layers" : "", world_hint(d));
    }
    return SL_OK;
}

static sl_status check_weights(const sl_deploy *d, sl_err *err)
{
    const sl_deploy_info *i = &d->info;
    const size_t ranks = i->n_ranks / i->pp;
    if (i->moe_tp * i->moe_ep != ranks)
        return sl_yaml_fail(&d->doc, sl_deploy_place(d, "parallel_config", "moe_ep_size"), err,
                            "moe_tp_size %zu x moe_ep_size %zu = %zu, but there are %zu ranks%s", i->moe_tp, i->moe_ep,
                            i->moe_tp * i->moe_ep, ranks, i->pp > 1 ? " in one part of the layers" : "");
    if (i->o_proj_tp != i->attn_tp && i->attn_tp > 1)
        return sl_yaml_fail(&d->doc, sl_deploy_place(d, "parallel_config", "o_proj_tp_size"), err,
                            "%zu; where attn_tp_size is %zu it can only be that", i->o_proj_tp, i->attn_tp);
    return SL_OK;
}

static sl_status check_phase(const sl_deploy *d, const char *name, const sl_deploy_phase *p, sl_err *err)
{
    const sl_deploy_info *i = &d->info;
    const bool there = sl_yaml_get(d->doc.root, name);
    const size_t product = i->attn_tp * p->context * p->data * i->pp; /* each divides 2^16 at most: fits */
    if (product != i->n_ranks)
        return sl_yaml_fail(&d->doc, sl_deploy_place(d, name, "context_parallel"), err,
                            "%s%sattn_tp_size %zu x context_parallel %zu x data_parallel %zu x pp_size %zu = %zu, but "
                            "world_size is %zu",
                            there ? "" : name, there ? "" : ": ", i->attn_tp, p->context, p->data, i->pp, product,
                            i->n_ranks);
    if (p->sequence != 1 && p->sequence != i->attn_tp)
        return sl_yaml_fail(&d->doc, sl_deploy_place(d, name, "sequence_parallel"), err,
                            "%zu; 1, or as many as attn_tp_size (%zu)", p->sequence, i->attn_tp);
    if (p->chunk % p->context)
        return sl_yaml_fail(&d->doc, sl_deploy_place(d, name, "chunk_size"), err,
                            "%zu is no multiple of context_parallel %zu", p->chunk, p->context);
    return SL_OK;
}

/* What follows where nothing is said. */
static void fill_in(sl_deploy_info *i)
{
    i->o_proj_tp = i->o_proj_tp ? i->o_proj_tp : i->attn_tp;
    i->moe_ep = i->moe_ep ? i->moe_ep : SL_MAX(i->n_ranks / i->pp / i->moe_tp, (size_t)1);
}

/* ---- files ------------------------------------------------------------------------------------------ */

static sl_status read_all(sl_deploy *d, sl_err *err)
{
    static const sl_deploy_phase whole = { .context = 1, .data = 1, .sequence = 1 };
    d->info = (sl_deploy_info){ .path = d->path,
                                .n_ranks = 1,
                                .pp = 1,
                                .attn_tp = 1,
                                .dense_tp = 1,
                                .moe_tp = 1,
                                .embed_tp = 1,
                                .lmhead_tp = 1,
                                .prefill = whole,
                                .decode = whole };
    sl_status rc;
    if ((rc = read_sections(d, err)) || (rc = check_degrees(d, err)))
        return rc;
    fill_in(&d->info);
    if ((rc = check_weights(d, err)) || (rc = check_phase(d, "prefill", &d->info.prefill, err)))
        return rc;
    return check_phase(d, "decode", &d->info.decode, err);
}

sl_status sl_deploy_parse(sl_deploy **out, const char *name, const void *bytes, size_t n, sl_err *err)
{
    *out = NULL;
    sl_deploy *d = sl_mem_zalloc(1, sizeof *d);
    if (!d || !(d->path = sl_mem_strdup(name))) {
        sl_mem_free(d);
        return sl_fail(err, SL_ENOMEM, "%s: no memory to read it", name);
    }
    sl_status rc = sl_yaml_parse(&d->doc, d->path, bytes, n, err);
    if (!rc)
        rc = read_all(d, err);
    if (rc) {
        sl_deploy_close(d);
        return rc;
    }
    *out = d;
    return SL_OK;
}

sl_status sl_deploy_open(sl_deploy **out, const char *path, sl_err *err)
{
    *out = NULL;
    sl_file f = { 0 };
    sl_status rc = sl_file_map(&f, path, err);
    if (rc)
        return sl_fail_in(err, rc, "%s", path);
    rc = sl_deploy_parse(out, path, f.bytes, f.n, err);
    sl_file_unmap(&f);
    return rc;
}

void sl_deploy_close(sl_deploy *d)
{
    if (!d)
        return;
    sl_yaml_fini(&d->doc);
    sl_mem_free(d->path);
    sl_mem_free(d);
}

void sl_deploy_describe(const sl_deploy *d, sl_deploy_info *out)
{
    *out = d->info;
}

sl_status sl_deploy_runs(const sl_deploy *d, sl_err *err)
{
    if (d->info.n_ranks == 1)
        return SL_OK;
    const sl_yaml *at = sl_deploy_place(d, "parallel_config", "world_size");
    return sl_fail(err, SL_EUNSUPPORTED,
                   "%s:%u:%u: parallel_config.world_size: a layout for %zu ranks; this build runs one, in one process. "
                   "`sluice info --deploy FILE MODEL` shows what each rank would hold",
                   d->path, at->at_line, at->at_column, d->info.n_ranks);
}

/* ---- options ------------------------------------------------------------------------------------------ */

static sl_deploy_kind kind_of(const sl_yaml *v)
{
    int64_t i = 0;
    double r = 0.0;
    bool b = false;
    if (!v->plain)
        return SL_DEPLOY_TEXT;
    if (sl_yaml_null(v))
        return SL_DEPLOY_ODD;
    if (sl_yaml_bool(v, &b))
        return SL_DEPLOY_BOOL;
    if (sl_yaml_int(v, &i))
        return SL_DEPLOY_INT;
    return sl_yaml_real(v, &r) ? SL_DEPLOY_REAL : sl_yaml_odd(v) ? SL_DEPLOY_ODD : SL_DEPLOY_TEXT;
}

bool sl_deploy_option_at(const sl_deploy *d, size_t i, sl_deploy_option *out)
{
    const sl_yaml *options = sl_yaml_get(d->doc.root, OPTIONS);
    for (const sl_yaml *v = options ? options->first : NULL; v; v = v->next) {
        const bool list = v->kind == SL_YAML_LIST;
        for (const sl_yaml *m = list ? v->first : v; m; m = list ? m->next : NULL) {
            if (i--)
                continue;
            *out = (sl_deploy_option){ .name = v->key,
                                       .value = m->text,
                                       .kind = kind_of(m),
                                       .quoted = !m->plain,
                                       .of_list = list,
                                       .is = sl_yaml_is(m),
                                       .line = m->at_line,
                                       .column = m->at_column,
                                       .key_line = v->line,
                                       .key_column = v->column };
            return true;
        }
    }
    return false;
}
