/* cli_tables.c - prints the program's commands and options as JSON: manual pages and completions are made from it, so
 * that no option is written down twice. Runs while the project is built and is not installed.
 *
 *   {"models": ["smollm2"], "commands": [{"name", "usage", "summary", "text", "model_optional", "max_texts",
 *    "groups": [{"title", "options": [{"names": [], "shorts": [], "arg", "help", "kind", "words": []}]}]}],
 *    "deploy": [{"section", "name", "takes", "standard", "help"}]}     the keys of deploy files
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/find.h"
#include "sluice/deploy.h"

/* All rows count: one that cannot be written is an end, not a gap. */
static void add(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value)) {
        fputs("cli_tables: a row cannot be written\n", stderr);
        exit(1);
    }
}

/* "a|b" to ["a", "b"] */
static json_t *words(const char *list)
{
    json_t *out = json_array();
    while (list && *list) {
        const size_t n = strcspn(list, "|");
        add(out, json_stringn(list, n));
        list += n + (list[n] == '|');
    }
    return out;
}

static const char *kind_name(sl_opt_kind kind)
{
    switch (kind) {
    case SL_OPT_FLAG:
        return "flag";
    case SL_OPT_LIST:
        return "list";
    case SL_OPT_WORD:
        return "word";
    case SL_OPT_TEXT:
        return "text";
    case SL_OPT_INT:
    case SL_OPT_REAL:
    case SL_OPT_ABOVE:
        return "number";
    }
    return NULL;
}

static json_t *option(const sl_opt *o)
{
    return json_pack("{s:o, s:o, s:s?, s:s, s:s, s:o}", "names", words(o->names), "shorts", words(o->shorts), "arg",
                     o->arg, "help", o->help, "kind", kind_name(o->kind), "words", words(o->words));
}

static json_t *group(const sl_opt_group *g)
{
    json_t *options = json_array();
    for (const sl_opt *o = g->opts; o->names; o++)
        add(options, option(o));
    return json_pack("{s:s, s:o}", "title", g->title, "options", options);
}

static json_t *command(const sl_command *c)
{
    json_t *groups = json_array();
    for (const sl_opt_group *g = c->groups; g->title; g++)
        add(groups, group(g));
    return json_pack("{s:s, s:s, s:s, s:s, s:b, s:i, s:o}", "name", c->name, "usage", c->usage, "summary", c->summary,
                     "text", c->text, "model_optional", c->model_optional, "max_texts", c->max_texts, "groups", groups);
}

static json_t *deploy_keys(void)
{
    json_t *keys = json_array();
    sl_deploy_key k;
    for (size_t i = 0; sl_deploy_key_at(i, &k); i++)
        add(keys, json_pack("{s:s, s:s, s:s, s:s, s:s}", "section", k.section, "name", k.name, "takes", k.takes,
                            "standard", k.standard, "help", k.help));
    return keys;
}

int main(void)
{
    json_t *commands = json_array(), *models = json_array();
    for (size_t i = 0; sl_cli_commands[i]; i++)
        add(commands, command(sl_cli_commands[i]));
    for (size_t i = 0; sl_find_cached_name(i); i++)
        add(models, json_string(sl_find_cached_name(i)));
    json_t *all = json_pack("{s:o, s:o, s:o}", "models", models, "commands", commands, "deploy", deploy_keys());
    const bool good = all && json_dumpf(all, stdout, JSON_INDENT(1)) == 0 && fflush(stdout) == 0;
    json_decref(all);
    return good ? 0 : 1;
}
