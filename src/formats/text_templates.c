/* text_templates.c - chat templates of a folder. As in Transformers: where there are files of their own
 * they are all there is, else tokenizer_config.json has them, as one text or a list of named ones. */
#include "formats/text_in.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"

#define MAX_BYTES     ((size_t)16 << 20)
#define MAX_TEMPLATES 64
#define SUFFIX        ".jinja"

sl_status sl_text_add_template(sl_text_files *t, sl_bytes name, sl_bytes source, const char *where, sl_err *err)
{
    if (source.len > MAX_BYTES || t->n_templates == MAX_TEMPLATES)
        return sl_fail(err, SL_EUNSUPPORTED, "%s: a chat template of %zu bytes, number %zu", where, source.len,
                       t->n_templates + 1);
    if (memchr(source.data, '\0', source.len) || memchr(name.data, '\0', name.len))
        return sl_fail(err, SL_EFORMAT, "%s: a chat template with a NUL byte", where);
    sl_text_template *all = sl_arena_alloc(&t->arena, t->n_templates + 1, sizeof *all);
    char *own_name = sl_arena_strndup(&t->arena, name.data, name.len);
    char *own_source = sl_arena_strndup(&t->arena, source.data, source.len);
    if (!all || !own_name || !own_source)
        return sl_fail(err, SL_ENOMEM, "%s: no memory for a chat template", where);
    for (size_t i = 0; i < t->n_templates; i++)
        if (strcmp(t->templates[i].name, own_name) == 0)
            return sl_fail(err, SL_EFORMAT, "%s: two chat templates \"%s\"", where, own_name);
    const bool first = strcmp(own_name, "default") == 0;
    for (size_t i = 0; i < t->n_templates; i++)
        all[i + first] = t->templates[i];
    all[first ? 0 : t->n_templates] = (sl_text_template){ own_name, own_source };
    t->templates = all;
    t->n_templates++;
    return SL_OK;
}

static sl_bytes text_bytes(const char *text)
{
    return (sl_bytes){ text, strlen(text) };
}

/* A file that may be missing. */
static sl_status add_file(sl_text_files *t, const char *dir, const char *file_name, sl_bytes name, sl_err *err)
{
    char path[SL_PATH_MAX];
    sl_file file = { 0 };
    sl_status rc = sl_path_join(path, dir, file_name, err);
    if (rc)
        return rc;
    rc = sl_file_map(&file, path, err);
    if (rc == SL_ENOTFOUND)
        return SL_OK;
    rc = rc ? sl_fail_in(err, rc, "%s", path)
            : sl_text_add_template(t, name, (sl_bytes){ file.bytes, file.n }, path, err);
    sl_file_unmap(&file);
    return rc;
}

static int is_template(const struct dirent *e)
{
    const size_t n = strlen(e->d_name), tail = sizeof SUFFIX - 1;
    return n > tail && strcmp(e->d_name + n - tail, SUFFIX) == 0;
}

/* additional_chat_templates/NAME.jinja, in the order of their names. */
static sl_status add_folder(sl_text_files *t, const char *dir, sl_err *err)
{
    char folder[SL_PATH_MAX];
    struct dirent **entries = NULL;
    sl_status rc = sl_path_join(folder, dir, "additional_chat_templates", err);
    if (rc)
        return rc;
    const int n = scandir(folder, &entries, is_template, alphasort);
    if (n < 0)
        return errno == ENOENT || errno == ENOTDIR ? SL_OK : sl_fail(err, SL_EIO, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (!rc)
            rc = add_file(t, folder, name, (sl_bytes){ name, strlen(name) - (sizeof SUFFIX - 1) }, err);
        free(entries[i]);
    }
    free(entries);
    return rc;
}

/* "chat_template": a text, or a list of {"name", "template"}. */
static sl_status add_member(sl_text_files *t, const sl_small_json *j, sl_err *err)
{
    const sl_json *m = sl_json_get(j->root, "chat_template");
    if (!m)
        return SL_OK;
    if (m->kind == SL_JSON_STRING)
        return sl_text_add_template(t, text_bytes("default"), sl_json_bytes(m), j->path, err);
    if (m->kind != SL_JSON_ARRAY)
        return sl_fail_in(err, sl_json_fail(err, SL_EFORMAT, m, "should be a text or a list"), "%s", j->path);
    sl_status rc = SL_OK;
    for (const sl_json *one = m->first; one && !rc; one = one->next) {
        sl_bytes name = { 0 }, source = { 0 };
        rc = sl_json_get_str(one, "name", true, &name, err);
        if (!rc)
            rc = sl_json_get_str(one, "template", true, &source, err);
        rc = rc ? sl_fail_in(err, rc, "%s", j->path) : sl_text_add_template(t, name, source, j->path, err);
    }
    return rc;
}

static sl_status add_from_json_file(sl_text_files *t, const char *dir, sl_err *err)
{
    sl_small_json j = { 0 };
    sl_status rc = sl_small_json_open(&j, dir, "chat_template.json", err);
    if (!rc)
        rc = add_member(t, &j, err);
    sl_small_json_close(&j);
    return rc;
}

sl_status sl_text_templates(sl_text_files *t, const char *dir, const sl_small_json *config, sl_err *err)
{
    sl_status rc = add_file(t, dir, "chat_template.jinja", text_bytes("default"), err);
    if (!rc)
        rc = add_folder(t, dir, err);
    if (!rc && t->n_templates == 0)
        rc = add_member(t, config, err);
    if (!rc && t->n_templates == 0)
        rc = add_from_json_file(t, dir, err);
    return rc;
}
