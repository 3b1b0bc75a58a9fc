/* text_files.c - which file is the vocabulary, and what it is by its content. */
#include "formats/text_in.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/num.h"
#include "formats/vocab_files.h"

#define CHUNK_BYTES ((size_t)16 << 10)

/* ---- vocabulary files ---------------------------------------------------------------------- */

typedef enum vocab_form { NO_FORM, TOKENIZER_JSON, TEKKEN, SENTENCEPIECE, TIKTOKEN } vocab_form;

static bool ends_with(const char *name, const char *tail)
{
    const size_t n = strlen(name), k = strlen(tail);
    return n >= k && strcmp(name + n - k, tail) == 0;
}

/* By content, and where two are alike by name: JSON is an object; SentencePiece's first field has number 1 and a
 * length. */
static vocab_form form_of(const sl_file *f, const char *name)
{
    size_t i = 0;
    while (i < f->n && f->bytes[i] && strchr(" \t\r\n", f->bytes[i]))
        i++;
    if (i < f->n && f->bytes[i] == '{')
        return strstr(name, "tekken") ? TEKKEN : TOKENIZER_JSON;
    if (f->n > 0 && f->bytes[0] == '\n')
        return SENTENCEPIECE;
    return ends_with(name, ".tiktoken") || ends_with(name, "tiktoken.model") || strcmp(name, "tokenizer.model") == 0
               ? TIKTOKEN
               : NO_FORM;
}

static sl_status read_form(vocab_form form, sl_vocab *v, const sl_file *f, const char *name, const sl_json *config,
                           sl_err *err)
{
    switch (form) {
    case TEKKEN:
        return sl_vocab_read_tekken(v, f->bytes, f->n, err);
    case SENTENCEPIECE:
        return sl_vocab_read_sentencepiece(v, f->bytes, f->n, err);
    case TIKTOKEN:
        return sl_vocab_read_tiktoken(v, f->bytes, f->n, name, config, err);
    default:
        return sl_vocab_read_tokenizer_json(v, f->bytes, f->n, err);
    }
}

static int is_tiktoken(const struct dirent *e)
{
    return ends_with(e->d_name, ".tiktoken");
}

/* The first *.tiktoken of a folder; "" if there is none. */
static void find_tiktoken(const char *dir, char name[NAME_MAX + 1])
{
    struct dirent **entries = NULL;
    const int n = scandir(dir, &entries, is_tiktoken, alphasort);
    name[0] = '\0';
    if (n > 0)
        snprintf(name, NAME_MAX + 1, "%s", entries[0]->d_name);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    if (n >= 0)
        free(entries);
}

/* SL_ENOTFOUND: there is no such file. */
static sl_status read_file_of(sl_vocab *v, const char *dir, const char *name, const sl_json *config, bool *own_specials,
                              sl_err *err)
{
    char path[SL_PATH_MAX];
    sl_file file = { 0 };
    sl_status rc = sl_path_join(path, dir, name, err);
    if (!rc)
        rc = sl_file_map(&file, path, err);
    if (rc == SL_ENOTFOUND)
        return rc;
    const vocab_form form = rc ? NO_FORM : form_of(&file, name);
    *own_specials = form == TIKTOKEN || form == TEKKEN;
    if (!rc)
        rc = read_form(form, v, &file, name, config, err);
    sl_file_unmap(&file);
    return rc ? sl_fail_in(err, rc, "%s", path) : SL_OK;
}

static sl_status read_vocab_of(sl_vocab *v, const char *dir, const sl_json *config, bool *own_specials, sl_err *err)
{
    char found[NAME_MAX + 1];
    find_tiktoken(dir, found);
    const char *const names[] = { "tokenizer.json", "tiktoken.model", found, "tokenizer.model", "tekken.json" };
    sl_status rc = SL_ENOTFOUND;
    for (size_t i = 0; i < SL_COUNT(names) && rc == SL_ENOTFOUND; i++)
        if (*names[i])
            rc = read_file_of(v, dir, names[i], config, own_specials, err);
    return rc == SL_ENOTFOUND
               ? sl_fail(err, SL_ENOTFOUND,
                         "%s: no tokenizer.json, tokenizer.model, *.tiktoken or tekken.json in this folder", dir)
               : rc;
}

void sl_text_files_drop_vocab(sl_text_files *t)
{
    sl_vocab_fini(&t->vocab);
    sl_weights_close(t->weights);
    t->weights = NULL;
}

static void no_vocab(sl_text_files *t, sl_status rc)
{
    t->no_vocab = rc;
    sl_vocab_fini(&t->vocab);
}

static sl_status open_folder(sl_text_files *t, const char *dir, sl_err *err)
{
    sl_small_json config = { 0 };
    bool own_specials = false;
    sl_status rc = sl_small_json_open(&config, dir, "tokenizer_config.json", err);
    if (rc)
        return rc;
    sl_status vocab_rc = read_vocab_of(&t->vocab, dir, config.root, &own_specials, &t->why);
    if (!vocab_rc)
        vocab_rc = sl_text_config(&t->vocab, dir, &config, own_specials, &t->why);
    if (vocab_rc)
        no_vocab(t, vocab_rc);
    rc = sl_text_templates(t, dir, &config, err);
    sl_small_json_close(&config);
    return rc;
}

/* ---- GGUF ----------------------------------------------------------------------------------- */

static bool plain_name(sl_bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", name.data[i]) || !name.data[i])
            return false;
    return name.len > 0 && name.len <= 64;
}

/* tokenizer.chat_template, and tokenizer.chat_template.NAME for each of tokenizer.chat_templates. */
static sl_status add_templates_of(sl_text_files *t, const sl_weights *w, sl_err *err)
{
    static const char key[] = "tokenizer.chat_template";
    const char *source = NULL;
    sl_bytes *names = NULL;
    size_t n = 0;
    sl_status rc = sl_weights_get_str(w, key, false, &source, err);
    if (!rc && source)
        rc = sl_text_add_template(t, (sl_bytes){ "default", 7 }, (sl_bytes){ source, strlen(source) },
                                  sl_weights_path(w), err);
    if (!rc)
        rc = sl_weights_get_strs(w, "tokenizer.chat_templates", &t->arena, &names, &n, err);
    for (size_t i = 0; i < n && !rc; i++) {
        char of_name[120];
        if (!plain_name(names[i]))
            return sl_fail(err, SL_EFORMAT, "%s: key tokenizer.chat_templates: name %zu is no word of letters",
                           sl_weights_path(w), i);
        snprintf(of_name, sizeof of_name, "%s.%.*s", key, (int)names[i].len, names[i].data);
        source = NULL;
        if (names[i].len != 7 || memcmp(names[i].data, "default", 7) != 0)
            rc = sl_weights_get_str(w, of_name, false, &source, err);
        if (!rc && source)
            rc = sl_text_add_template(t, names[i], (sl_bytes){ source, strlen(source) }, sl_weights_path(w), err);
    }
    return rc;
}

static sl_status read_weights(sl_text_files *t, const sl_weights *w, sl_err *err)
{
    const sl_status rc = sl_weights_vocab(w, &t->vocab, &t->why);
    if (rc)
        no_vocab(t, rc);
    return add_templates_of(t, w, err);
}

/* ---- one file ----------------------------------------------------------------------------- */

static sl_status open_gguf(sl_text_files *t, const char *path, const sl_overrides *o, sl_err *err)
{
    sl_status rc = sl_weights_open_with(&t->weights, path, o, err);
    if (!rc)
        rc = read_weights(t, t->weights, err);
    return rc ? rc : sl_weights_overrides_used(t->weights, err);
}

/* The configuration in the folder of a file. */
static sl_status open_beside(sl_small_json *config, const char *path, const char *slash, sl_err *err)
{
    char dir[SL_PATH_MAX];
    const int n =
        slash ? snprintf(dir, sizeof dir, "%.*s", (int)(slash - path + 1), path) : snprintf(dir, sizeof dir, "./");
    if (n < 0 || (size_t)n >= sizeof dir)
        return sl_fail(err, SL_EINVAL, "%s: a path too long", path);
    return sl_small_json_open(config, dir, "tokenizer_config.json", err);
}

/* Only a GGUF file has settings that an override can take the place of. */
static sl_status no_overrides(const char *path, const sl_overrides *o, sl_err *err)
{
    return o && o->n > 0 ? sl_fail(err, SL_EINVAL, "--override-kv %s: %s is no GGUF file", o->list[0], path) : SL_OK;
}

static sl_status open_file(sl_text_files *t, const char *path, const sl_overrides *o, sl_err *err)
{
    sl_file f = { 0 };
    sl_status rc = sl_file_map(&f, path, err);
    if (rc)
        return sl_fail_in(err, rc, "%s", path);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const vocab_form form = form_of(&f, name);
    if (form == NO_FORM) {
        sl_file_unmap(&f);
        return open_gguf(t, path, o, err); /* which also says what else a file is */
    }
    sl_small_json config = { 0 };
    rc = no_overrides(path, o, err);
    if (!rc && form == TIKTOKEN)
        rc = open_beside(&config, path, slash, err);
    if (!rc) {
        rc = read_form(form, &t->vocab, &f, name, config.root, &t->why);
        if (rc)
            no_vocab(t, sl_fail_in(&t->why, rc, "%s", path));
        rc = SL_OK;
    }
    sl_small_json_close(&config);
    sl_file_unmap(&f);
    return rc;
}

/* ---- open ---------------------------------------------------------------------------------- */

static void begin(sl_text_files *t)
{
    *t = (sl_text_files){ 0 };
    sl_vocab_init(&t->vocab);
    sl_arena_init(&t->arena, CHUNK_BYTES);
}

/* Out of memory is an error of its own wherever it happens. */
static sl_status end(sl_text_files *t, sl_status rc, sl_err *err)
{
    if (!rc && t->no_vocab == SL_ENOMEM)
        rc = sl_fail(err, SL_ENOMEM, "%s", t->why.msg);
    if (rc)
        sl_text_files_fini(t);
    return rc;
}

sl_status sl_text_files_of_weights(sl_text_files *out, const sl_weights *w, sl_err *err)
{
    begin(out);
    const bool folder = sl_weights_container(w) == SL_CONTAINER_HF;
    return end(out, folder ? open_folder(out, sl_weights_path(w), err) : read_weights(out, w, err), err);
}

sl_status sl_text_files_open(sl_text_files *out, const char *path, const sl_overrides *o, sl_err *err)
{
    struct stat sb;
    begin(out);
    if (stat(path, &sb) < 0)
        return end(out, sl_fail(err, errno == ENOENT ? SL_ENOTFOUND : SL_EIO, "%s: %s", path, strerror(errno)), err);
    sl_status rc = SL_OK;
    if (!S_ISDIR(sb.st_mode))
        rc = open_file(out, path, o, err);
    else if (!(rc = no_overrides(path, o, err)))
        rc = open_folder(out, path, err);
    return end(out, rc, err);
}

void sl_text_files_fini(sl_text_files *t)
{
    sl_text_files_drop_vocab(t);
    sl_arena_fini(&t->arena);
    t->templates = NULL;
    t->n_templates = 0;
}
