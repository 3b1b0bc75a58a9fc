/* chat_saved.c - conversations in files: {"messages": [...]} as OpenAI's interface has them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cli/chat_in.h"
#include "cli/chat_text.h"
#include "cli/screen.h"

#define SAVED_MAX ((size_t)64 << 20)

/* ---- saving -------------------------------------------------------------------------------- */

/* False with errno. Closes the file. */
static bool write_all(int fd, const char *text)
{
    FILE *f = fdopen(fd, "w");
    if (!f) {
        close(fd);
        return false;
    }
    const bool ok = fputs(text, f) >= 0 && fputc('\n', f) >= 0 && fflush(f) == 0;
    return fclose(f) == 0 && ok;
}

/* A file of that name that nobody had. */
static bool write_new(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    if (write_all(fd, text))
        return true;
    const int why = errno;
    unlink(path);
    errno = why;
    return false;
}

/* In place of one that is there, which stays until the new one is whole. */
static bool replace(const char *path, const char *text, mode_t mode)
{
    sl_str fresh = { 0 };
    sl_str_printf(&fresh, "%s.XXXXXX", path);
    const int fd = fresh.failed ? -1 : mkostemp(fresh.data, O_CLOEXEC);
    bool ok = fd >= 0;
    if (ok) {
        ok = fchmod(fd, mode) == 0;
        ok = write_all(fd, text) && ok && rename(fresh.data, path) == 0;
        const int why = errno;
        if (!ok)
            unlink(fresh.data);
        errno = why;
    }
    sl_str_fini(&fresh);
    return ok;
}

/* Whether a file of that name may be replaced. */
static bool may_replace(sl_talk *t, const char *path, const struct stat *sb)
{
    if (!S_ISREG(sb->st_mode)) {
        sl_cli_failed("/save %s: %s", path, S_ISDIR(sb->st_mode) ? "a folder" : "no plain file");
        return false;
    }
    if (sl_session_check_output(&t->ask.session, &t->ask.args, "/save", path))
        return false;
    sl_cli_failed("%s exists", path);
    if (sl_chat_confirmed(t, "replace it? [y/N] "))
        return true;
    sl_screen_note("not saved");
    return false;
}

static void save_text(sl_talk *t, const char *path, const char *text)
{
    struct stat sb;
    const bool there = stat(path, &sb) == 0;
    if (there && !may_replace(t, path, &sb))
        return;
    if (there ? replace(path, text, sb.st_mode & 07777) : write_new(path, text))
        sl_screen_note("saved: %zu messages in %s", json_array_size(t->ask.messages), path);
    else
        sl_cli_failed("/save %s: %s", path, strerror(errno));
}

void sl_chat_save(sl_talk *t, const char *path)
{
    sl_str real = { 0 };
    json_t *object = json_pack("{s:O}", "messages", t->ask.messages);
    char *text = json_dumps(object, JSON_INDENT(2));
    sl_chat_path(path, &real);
    if (!json_array_size(t->ask.messages))
        sl_cli_failed("/save: nothing was said yet");
    else if (!text || real.failed)
        sl_cli_failed("/save %s: no memory", path);
    else
        save_text(t, real.data, text);
    free(text); /* jansson's */
    json_decref(object);
    sl_str_fini(&real);
}

/* ---- loading ------------------------------------------------------------------------------- */

/* The messages of a file, or NULL with a message. */
static json_t *read_messages(const char *path, const sl_str *text)
{
    json_error_t where;
    json_t *all = json_loadb(text->data ? text->data : "", text->len, JSON_REJECT_DUPLICATES, &where);
    if (!all) {
        sl_cli_failed("/load %s:%d:%d: %s", path, where.line, where.column, where.text);
        return NULL;
    }
    json_t *messages = json_is_array(all) ? all : json_object_get(all, "messages");
    const bool list = json_is_array(messages) && json_array_size(messages);
    size_t i = 0;
    json_t *message;
    json_incref(messages);
    json_decref(all);
    json_array_foreach(messages, i, message)
    {
        const json_t *content = json_object_get(message, "content");
        if (json_is_string(json_object_get(message, "role")) &&
            (!content || json_is_null(content) || json_is_string(content) || json_is_array(content)))
            continue;
        sl_cli_failed("/load %s: messages[%zu]: an object with a role and a content expected", path, i);
        json_decref(messages);
        return NULL;
    }
    if (list)
        return messages;
    json_decref(messages);
    sl_cli_failed("/load %s: an object with \"messages\" expected, a list that is not empty", path);
    return NULL;
}

/* The conversation is theirs, if the template takes them and the context holds them. */
static void go_on_with(sl_talk *t, const char *path, json_t *messages)
{
    sl_err err = { 0 };
    json_t *before = t->ask.messages;
    const size_t n_ctx = sl_chat_context(t), n = json_array_size(messages);
    t->ask.messages = messages;
    if (sl_ask_conversation(&t->ask, &err) || t->ask.prompt.n > n_ctx) {
        if (err.code)
            sl_cli_failed("/load %s: chat template: %s", path, err.msg);
        else
            sl_cli_failed("/load %s: %zu tokens, the context holds %zu; start again with a larger -c", path,
                          t->ask.prompt.n, n_ctx);
        t->ask.messages = before;
        json_decref(messages);
        return;
    }
    size_t last = 0;
    json_decref(before);
    t->told_full = false;
    t->n_in_context = t->ask.prompt.n;
    sl_screen_note("loaded: %zu messages, %zu of %zu positions", n, t->n_in_context, n_ctx);
    if (sl_chat_last(t, "user", &last) && last + 1 == n)
        sl_screen_note("the last message has no answer yet: /regen gives one");
}

void sl_chat_load(sl_talk *t, const char *path)
{
    sl_err err = { 0 };
    sl_str text = { 0 };
    if (sl_chat_read_file(path, SAVED_MAX, &text, &err)) {
        sl_cli_failed("/load %s", err.msg);
    } else {
        json_t *messages = read_messages(path, &text);
        if (messages)
            go_on_with(t, path, messages);
    }
    sl_str_fini(&text);
}
