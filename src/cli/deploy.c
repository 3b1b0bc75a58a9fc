#include "cli/deploy.h"

#include <string.h>
#include "base/num.h"

/* What a file may set: the program's options about engines and sampling. */
static const sl_opt *const tables[] = { sl_opts_context, sl_opts_engine, sl_opts_sampling };
static const sl_opt_group known[] = {
    { "Context", sl_opts_context },
    { "Engine", sl_opts_engine },
    { "Sampling", sl_opts_sampling },
    { 0 },
};

#define NAME_MAX_LEN 64
#define WANTS_MAX    (32 + SL_OPT_RANGE_MAX)

/* Keys of YAML are mostly written with "_", options with "-"; both are taken. */
static const char *option_name(const char *key, char room[NAME_MAX_LEN])
{
    snprintf(room, NAME_MAX_LEN, "%s", key);
    for (char *p = room; *p; p++)
        *p = *p == '_' ? '-' : *p;
    return room;
}

/* Whether the command has the row itself, not another option of the same name. */
static bool takes(const sl_command *c, const sl_opt *row)
{
    for (const sl_opt_group *g = c->groups; g->title; g++)
        for (size_t i = 0; i < SL_COUNT(tables); i++)
            if (g->opts == tables[i])
                for (const sl_opt *o = tables[i]; o->names; o++)
                    if (o == row)
                        return true;
    return false;
}

static const sl_opt *find_row(const sl_deploy_option *o)
{
    char name[NAME_MAX_LEN];
    const sl_opt *row = sl_options_find(known, option_name(o->name, name));
    return row && strcmp(row->names, "deploy") == 0 ? NULL : row;
}

static sl_status unknown(const char *path, const sl_deploy_option *o, sl_err *err)
{
    char name[NAME_MAX_LEN], best[SL_OPT_NAME_MAX + 1];
    if (strcmp(o->name, "deploy") == 0)
        return sl_fail(err, SL_EINVAL, "%s:%zu:%zu: options.deploy: a deploy file names no other", path, o->key_line,
                       o->key_column);
    const char *near = sl_options_near(known, option_name(o->name, name), best);
    return sl_fail(err, SL_EINVAL, "%s:%zu:%zu: options.%.60s: unknown option%s%s%s", path, o->key_line, o->key_column,
                   o->name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* The kind of value that the option wants; NULL: it has it. */
static const char *wants(const sl_opt *row, const sl_deploy_option *o, char room[WANTS_MAX])
{
    char range[SL_OPT_RANGE_MAX];
    switch (row->kind) {
    case SL_OPT_FLAG:
        return o->kind == SL_DEPLOY_BOOL ? NULL : "true or false";
    case SL_OPT_INT:
        snprintf(room, WANTS_MAX, "a whole number %s", sl_options_range(row, range));
        return o->kind == SL_DEPLOY_INT ? NULL : room;
    case SL_OPT_REAL:
    case SL_OPT_ABOVE:
        snprintf(room, WANTS_MAX, "a number %s", sl_options_range(row, range));
        return o->kind == SL_DEPLOY_INT || o->kind == SL_DEPLOY_REAL ? NULL : room;
    case SL_OPT_WORD:
        return o->kind == SL_DEPLOY_TEXT ? NULL : row->words;
    case SL_OPT_TEXT:
    case SL_OPT_LIST:
        return o->kind == SL_DEPLOY_BOOL || o->kind == SL_DEPLOY_ODD ? row->arg : NULL;
    }
    return NULL;
}

static sl_status set(const char *path, const sl_deploy_option *o, const sl_opt *row, sl_args *values, sl_err *err)
{
    char place[512], room[WANTS_MAX];
    const char *want = wants(row, o, room);
    snprintf(place, sizeof place, "%.300s:%zu:%zu: options.%.60s:", path, o->line, o->column, o->name);
    if (o->of_list && row->kind != SL_OPT_LIST)
        return sl_fail(err, SL_EINVAL, "%s a list; one value expected", place);
    if (want && !*o->value && !o->quoted)
        return sl_fail(err, SL_EINVAL, "%s no value; %s expected", place, want);
    if (want)
        return sl_fail(err, SL_EINVAL, "%s \"%.60s\" is %s; %s expected", place, o->value, o->is, want);
    if (row->kind == SL_OPT_FLAG)
        return sl_options_set(row, place, strchr("tT", *o->value) ? "true" : "false", values, err);
    return sl_options_set(row, place, o->value, values, err);
}

/* Two names of one option. */
static sl_status check_once(const char *path, const sl_deploy *d, size_t i, const sl_opt *row, sl_err *err)
{
    sl_deploy_option o, earlier;
    sl_deploy_option_at(d, i, &o);
    for (size_t k = 0; k < i && sl_deploy_option_at(d, k, &earlier); k++)
        if (find_row(&earlier) == row && strcmp(earlier.name, o.name) != 0)
            return sl_fail(err, SL_EINVAL, "%s:%zu:%zu: options.%.60s: the same as %.60s in line %zu", path, o.key_line,
                           o.key_column, o.name, earlier.name, earlier.key_line);
    return SL_OK;
}

/* no-mmap is another word for one value of weights. */
static sl_status check_mapped(const char *path, const sl_deploy *d, sl_err *err)
{
    sl_deploy_option o, mapped = { 0 }, copied = { 0 };
    for (size_t i = 0; sl_deploy_option_at(d, i, &o); i++) {
        const char *name = find_row(&o)->names;
        if (strcmp(name, "weights") == 0 && strcmp(o.value, "map") == 0)
            mapped = o;
        if (strcmp(name, "no-mmap") == 0 && strchr("tT", *o.value))
            copied = o;
    }
    if (!mapped.name || !copied.name)
        return SL_OK;
    return sl_fail(err, SL_EINVAL, "%s:%zu:%zu: options.%s: %s means weights: copy, but weights is map in line %zu",
                   path, copied.line, copied.column, copied.name, copied.value, mapped.line);
}

static void free_words(sl_args *values)
{
    sl_words_fini(&values->bias);
}

sl_exit sl_cli_deploy_read(const sl_command *c, sl_args *args)
{
    sl_err err = { 0 };
    sl_args unused = sl_args_default; /* by this command: checked all the same */
    sl_deploy_info info;
    sl_deploy_option o;
    if (sl_deploy_open(&args->deploy, args->deploy_file, &err))
        return sl_cli_failed("%s", err.msg);
    sl_deploy_describe(args->deploy, &info);
    if (info.prefill.chunk)
        args->ubatch_size = (int64_t)info.prefill.chunk;
    sl_status rc = SL_OK;
    for (size_t i = 0; !rc && sl_deploy_option_at(args->deploy, i, &o); i++) {
        const sl_opt *row = find_row(&o);
        rc = row ? check_once(info.path, args->deploy, i, row, &err) : unknown(info.path, &o, &err);
        if (!rc)
            rc = set(info.path, &o, row, takes(c, row) ? args : &unused, &err);
    }
    rc = rc ? rc : check_mapped(info.path, args->deploy, &err);
    free_words(&unused);
    return rc ? sl_cli_failed("%s", err.msg) : SL_EXIT_OK;
}

/* Whether the command line gave it another value. */
static bool overridden(const sl_args *args, const sl_deploy_option *o, const sl_opt *row, const char *path)
{
    sl_args file = sl_args_default;
    sl_err err = { 0 };
    const void *a = (const char *)args + row->offset, *b = (const char *)&file + row->offset;
    if (row->kind == SL_OPT_LIST || set(path, o, row, &file, &err))
        return false;
    if (row->kind == SL_OPT_FLAG)
        return *(const bool *)a != *(const bool *)b;
    if (row->kind == SL_OPT_TEXT || row->kind == SL_OPT_WORD) {
        const char *x = *(const char *const *)a, *y = *(const char *const *)b;
        return !x || !y || strcmp(x, y) != 0;
    }
    return memcmp(a, b, sizeof(int64_t)) != 0; /* a double is as wide */
}

/* ---- faults that are found later --------------------------------------------------------------- */

/* Whether "--kv-page: ..." is about this option of the file; of a list, about this value. *rest: behind the name. */
static bool is_about(const char *text, const sl_args *args, const sl_deploy_option *o, const char *path,
                     const char **rest)
{
    const sl_opt *row = find_row(o);
    const size_t n = strcspn(row->names, "|");
    if (strncmp(text, "--", 2) != 0 || strncmp(text + 2, row->names, n) != 0 || !strchr(": ", text[2 + n]))
        return false;
    *rest = text + 2 + n + strspn(text + 2 + n, ": ");
    return row->kind == SL_OPT_LIST ? strncmp(*rest, o->value, strlen(o->value)) == 0 : !overridden(args, o, row, path);
}

sl_exit sl_cli_fail_option(const sl_args *args, const sl_err *err)
{
    static const char but[] = ", but ";
    const char *within = strstr(err->msg, ", but --"), *rest = NULL;
    const char *text = within ? within + strlen(but) : err->msg;
    sl_deploy_info i = { 0 };
    sl_deploy_option o;
    if (args->deploy)
        sl_deploy_describe(args->deploy, &i);
    for (size_t k = 0; args->deploy && sl_deploy_option_at(args->deploy, k, &o); k++)
        if (is_about(text, args, &o, i.path, &rest))
            return sl_cli_failed("%s:%zu:%zu: options.%s: %s", i.path, o.line, o.column, o.name,
                                 within ? err->msg : rest);
    return sl_cli_fail(err);
}

/* ---- sluice info ------------------------------------------------------------------------------- */

/* "attention 8, experts 16": what is cut, by how many; "" when nothing is. */
static void cuts_text(const sl_deploy_info *i, sl_str *out)
{
    const struct {
        const char *what;
        size_t by;
    } cuts[] = { { "layers (pipeline)", i->pp },         { "attention heads", i->attn_tp },
                 { "attention's output", i->o_proj_tp }, { "dense feed-forward", i->dense_tp },
                 { "experts over ranks", i->moe_ep },    { "rows of an expert", i->moe_tp },
                 { "embedding", i->embed_tp },           { "output matrix", i->lmhead_tp } };
    for (size_t k = 0; k < SL_COUNT(cuts); k++)
        if (cuts[k].by > 1)
            sl_str_printf(out, "%s%s by %zu", out->len ? ", " : "", cuts[k].what, cuts[k].by);
}

static void print_phase(const char *name, const sl_deploy_phase *p)
{
    printf("  %-13s context over %zu, requests over %zu, sequence over %zu rank%s", name, p->context, p->data,
           p->sequence, sl_cli_s(p->sequence));
    if (p->chunk)
        printf(", %zu tokens a step", p->chunk);
    printf("%s\n", p->overlap ? ", communication overlapped" : "");
}

/* The layout as it is of this model: a dense one has no experts, which would be over all ranks unless the file says
 * otherwise. */
static void describe(const sl_deploy *d, const sl_model *m, sl_deploy_info *out)
{
    sl_model_info model;
    sl_model_describe(m, &model);
    sl_deploy_describe(d, out);
    if (!model.n_experts)
        out->moe_ep = 1;
}

void sl_cli_deploy_print(const sl_args *args, const sl_model *m)
{
    sl_deploy_info i;
    sl_deploy_option o;
    sl_str cuts = { 0 };
    describe(args->deploy, m, &i);
    printf("\ndeploy %s\n", i.path);
    if (i.n_ranks == 1)
        printf("  ranks         1\n");
    else
        printf("  ranks         %zu; this build runs one: memory and execution below are those of one rank with the "
               "whole model\n",
               i.n_ranks);
    cuts_text(&i, &cuts);
    printf("  weights       %s; the fullest rank holds %s\n", cuts.len ? cuts.data : "not cut",
           sl_bytes_text(sl_deploy_rank_bytes(args->deploy, m)).text);
    print_phase("prefill", &i.prefill);
    print_phase("decode", &i.decode);
    for (size_t k = 0; sl_deploy_option_at(args->deploy, k, &o); k++) {
        const sl_opt *row = find_row(&o);
        printf("  %-13s %s: %s%s\n", k ? "" : "options", o.name, o.value,
               !takes(&sl_cmd_info, row)           ? "  (not of this command)"
               : overridden(args, &o, row, i.path) ? "  (the command line says otherwise)"
                                                   : "");
    }
    sl_str_fini(&cuts);
}

static json_t *phase_json(const sl_deploy_phase *p)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:b}", "context_parallel", (json_int_t)p->context, "data_parallel",
                     (json_int_t)p->data, "sequence_parallel", (json_int_t)p->sequence, "chunk_size",
                     (json_int_t)p->chunk, "overlap", p->overlap);
}

json_t *sl_cli_deploy_json(const sl_args *args, const sl_model *m)
{
    sl_deploy_info i;
    sl_deploy_option o;
    sl_err err = { 0 };
    describe(args->deploy, m, &i);
    json_t *options = json_object();
    for (size_t k = 0; sl_deploy_option_at(args->deploy, k, &o); k++)
        json_object_set_new(
            options, o.name,
            json_pack("{s:s, s:b}", "value", o.value, "used",
                      takes(&sl_cmd_info, find_row(&o)) && !overridden(args, &o, find_row(&o), i.path)));
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o, s:o, s:o}", "path",
                     sl_cli_json_text(i.path, strlen(i.path)), "world_size", (json_int_t)i.n_ranks, "pp_size",
                     (json_int_t)i.pp, "attn_tp_size", (json_int_t)i.attn_tp, "o_proj_tp_size", (json_int_t)i.o_proj_tp,
                     "dense_tp_size", (json_int_t)i.dense_tp, "moe_tp_size", (json_int_t)i.moe_tp, "moe_ep_size",
                     (json_int_t)i.moe_ep, "embed_tp_size", (json_int_t)i.embed_tp, "lmhead_tp_size",
                     (json_int_t)i.lmhead_tp, "rank_weights_bytes", (json_int_t)sl_deploy_rank_bytes(args->deploy, m),
                     "runs", !sl_deploy_runs(args->deploy, &err), "prefill", phase_json(&i.prefill), "decode",
                     phase_json(&i.decode), "options", options);
}
