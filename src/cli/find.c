#include "cli/find.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/num.h"

#define REVISION_MAX 128 /* bytes */

static bool is_folder(const char *path)
{
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void put_path(sl_str *out, const char *path, const char *tail)
{
    const char *home = path[0] == '~' && (path[1] == '/' || !path[1]) ? variable("HOME") : NULL;
    sl_str_printf(out, "%s%s%s", home ? home : "", home ? path + 1 : path, tail);
}

/* The user's folder of caches. */
static void put_cache(sl_str *out, const char *tail)
{
    const char *xdg = variable("XDG_CACHE_HOME");
    if (xdg)
        put_path(out, xdg, tail);
    else
        sl_str_printf(out, "%s/.cache%s", variable("HOME") ? variable("HOME") : "", tail);
}

/* ---- sluice's own cache ---------------------------------------------------------- */

static const struct {
    const char *name, *file;
} cached[] = { { "smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf" } };

const char *sl_find_cached_name(size_t i)
{
    return i < SL_COUNT(cached) ? cached[i].name : NULL;
}

static const char *file_of(const char *model)
{
    for (size_t i = 0; i < SL_COUNT(cached); i++)
        if (strcasecmp(model, cached[i].name) == 0)
            return cached[i].file;
    return NULL;
}

/* ---- the hub's cache ---------------------------------------------------------------- */

static void put_hub(sl_str *out)
{
    const char *cache = variable("HF_HUB_CACHE");
    if (!cache)
        cache = variable("HUGGINGFACE_HUB_CACHE"); /* its older name */
    if (cache)
        put_path(out, cache, "");
    else if (variable("HF_HOME"))
        put_path(out, variable("HF_HOME"), "/hub");
    else
        put_cache(out, "/huggingface/hub");
}

/* "ORG/NAME" or "NAME" of letters, digits, '.', '_' and '-'; not "..", and no "--", which stands for the slash. */
static bool is_hub_name(const char *model)
{
    const char *slash = strchr(model, '/'), *name = slash ? slash + 1 : model;
    for (const char *c = model; *c; c++)
        if (c != slash && !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c))
            return false;
    return *name && slash != model && model[0] != '.' && name[0] != '.' && !strstr(model, "--") && !strstr(model, "..");
}

/* One word of a file: refs/main holds the revision. */
static bool read_revision(const char *path, char out[REVISION_MAX])
{
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(out, 1, REVISION_MAX - 1, f) : 0;
    if (f)
        fclose(f);
    out[n] = '\0';
    out[strcspn(out, " \t\r\n")] = '\0';
    return *out && out[0] != '.' && !strchr(out, '/');
}

/* The only snapshot; the number of them otherwise. */
static size_t only_snapshot(const char *path, char out[REVISION_MAX])
{
    DIR *d = opendir(path);
    size_t n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.' && strlen(e->d_name) < REVISION_MAX && ++n == 1)
            strcpy(out, e->d_name);
    if (d)
        closedir(d);
    return n;
}

/* From models--ORG--NAME to the snapshot of its branch main. */
static sl_exit enter_snapshot(const char *model, sl_str *path)
{
    const size_t folder = path->len;
    char revision[REVISION_MAX] = "";
    sl_str ref = { 0 };
    sl_str_printf(&ref, "%s/refs/main", path->data);
    const bool named = !ref.failed && read_revision(ref.data, revision);
    sl_str_fini(&ref);
    sl_str_puts(path, "/snapshots");
    if (path->failed)
        return sl_cli_failed("no memory for the path of %s", model);
    const size_t n = named ? 1 : only_snapshot(path->data, revision);
    if (n != 1)
        return sl_cli_failed("%s: %.*s has no branch main, and %zu snapshots: give the folder of one", model,
                             (int)folder, path->data, n);
    sl_str_printf(path, "/%s", revision);
    if (path->failed)
        return sl_cli_failed("no memory for the path of %s", model);
    return is_folder(path->data)
               ? SL_EXIT_OK
               : sl_cli_failed("%s: its branch main is %s, but there is no folder %s", model, revision, path->data);
}

/* Whether a folder is models--ORG--NAME of a cache. */
static bool is_cache_folder(const char *path)
{
    sl_str snapshots = { 0 };
    sl_str_printf(&snapshots, "%s/snapshots", path);
    const bool yes = !snapshots.failed && is_folder(snapshots.data);
    sl_str_fini(&snapshots);
    return yes;
}

/* "models--ORG--NAME" in the cache; false: not there, *path is the cache. */
static bool find_in_hub(const char *model, sl_str *path)
{
    const char *slash = strchr(model, '/');
    put_hub(path);
    const size_t hub = path->len;
    sl_str_printf(path, "/models--%.*s%s%s", slash ? (int)(slash - model) : (int)strlen(model), model,
                  slash ? "--" : "", slash ? slash + 1 : "");
    if (!path->failed && is_folder(path->data))
        return true;
    path->len = hub;
    return false;
}

/* ---- all of them ---------------------------------------------------------------------- */

static sl_exit not_found(const char *model, const char *hub, size_t n_hub)
{
    sl_str own = { 0 };
    put_cache(&own, "/sluice/models");
    const sl_exit code = sl_cli_failed("%s: neither a file nor a folder, nor a model in %s or %.*s (smollm2 can be "
                                       "fetched: `make run`)",
                                       model, own.failed ? "the cache" : own.data, (int)n_hub, hub);
    sl_str_fini(&own);
    return code;
}

/* Of sluice's own cache; *path is left empty where it is none of these. */
static sl_exit find_own(const char *model, sl_str *path)
{
    const char *file = file_of(model);
    put_cache(path, "/sluice/models");
    sl_str_printf(path, "/%s%s", file ? file : model, file ? "" : ".gguf");
    if (path->failed)
        return sl_cli_failed("no memory for the path of %s", model);
    if (access(path->data, F_OK) == 0)
        return SL_EXIT_OK;
    if (file)
        return sl_cli_failed("%s is not fetched yet (%s is missing): `make run` in sluice's source folder fetches it, "
                             "94 MB",
                             model, path->data);
    path->len = 0;
    return SL_EXIT_OK;
}

sl_exit sl_find_model(const char *model, sl_str *path)
{
    const size_t n = strlen(model);
    const bool gguf = n > 5 && strcmp(model + n - 5, ".gguf") == 0;
    const bool there = access(model, F_OK) == 0;
    if (there || gguf || !is_hub_name(model)) {
        sl_str_puts(path, model);
        if (path->failed)
            return sl_cli_failed("no memory for the path of %s", model);
        return there && is_cache_folder(model) ? enter_snapshot(model, path) : SL_EXIT_OK;
    }
    if (!strchr(model, '/')) {
        const sl_exit code = find_own(model, path);
        if (code || path->len)
            return code;
    }
    if (find_in_hub(model, path))
        return enter_snapshot(model, path);
    if (path->failed)
        return sl_cli_failed("no memory for the path of %s", model);
    return not_found(model, path->data, path->len);
}
