#include "cli/chat_complete.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/num.h"
#include "cli/chat_in.h"
#include "cli/chat_text.h"

#define LIST_MAX 100 /* candidates that are shown */

/* Names that begin alike, as they are found. */
typedef struct found {
    sl_str list;   /* one a line */
    sl_str common; /* what all begin with */
    size_t n;
} found;

static void add(found *f, const char *name)
{
    size_t same = 0;
    if (f->n++ < LIST_MAX)
        sl_str_printf(&f->list, "%s%s", f->n > 1 ? "\n" : "", name);
    if (f->n == 1) {
        sl_str_puts(&f->common, name);
        return;
    }
    while (same < f->common.len && f->common.data[same] == name[same])
        same++;
    while (same && (name[same] & 0xC0) == 0x80) /* whole letters only */
        same--;
    if (f->common.data)
        f->common.data[f->common.len = same] = '\0';
}

/* "word" from those that were found: all that is certain goes to *word, or they are listed. */
static void choose(found *f, size_t n_typed, const char *before, const char *behind, sl_str *word, sl_str *list)
{
    if (f->n == 1 || (f->n && f->common.len > n_typed))
        sl_str_printf(word, "%s%s%s", before, f->common.data, f->n == 1 ? behind : "");
    else if (f->n)
        sl_str_printf(list, "%s%s", f->list.data, f->n > LIST_MAX ? "\n..." : "");
    list->failed |= f->list.failed || f->common.failed;
    sl_str_fini(&f->list);
    sl_str_fini(&f->common);
}

/* ---- paths ----------------------------------------------------------------------------- */

static int visible(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static bool is_folder(const char *folder, const char *name)
{
    sl_str path = { 0 };
    struct stat sb;
    sl_str_printf(&path, "%s/%s", folder, name);
    const bool yes = !path.failed && stat(path.data, &sb) == 0 && S_ISDIR(sb.st_mode);
    sl_str_fini(&path);
    return yes;
}

static void find_names(const char *folder, const char *prefix, found *f)
{
    struct dirent **entry = NULL;
    const int n = scandir(folder, &entry, visible, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        if (strncmp(name, prefix, strlen(prefix)) == 0 && (*prefix || *name != '.')) {
            sl_str shown = { 0 };
            sl_str_printf(&shown, "%s%s", name, is_folder(folder, name) ? "/" : "");
            f->list.failed |= shown.failed;
            if (!shown.failed)
                add(f, shown.data);
            sl_str_fini(&shown);
        }
        free(entry[i]); /* scandir's */
    }
    free(entry);
}

/* `typed` is a path as far as it was typed, `lead` what stands in front of it: a @ or nothing. */
static void complete_path(const char *typed, const char *lead, bool quotes, sl_str *word, sl_str *list)
{
    found f = { 0 };
    sl_str folder = { 0 }, real = { 0 }, before = { 0 };
    const char *slash = strrchr(typed, '/'), *name = slash ? slash + 1 : typed;
    sl_str_append(&folder, typed, (size_t)(name - typed));
    sl_chat_path(folder.len ? folder.data : "./", &real);
    if (!real.failed)
        find_names(real.data, name, &f);
    const bool ends = f.n == 1 && f.common.len && f.common.data[f.common.len - 1] != '/';
    const bool spaces = quotes && (strchr(typed, ' ') || (f.common.len && strchr(f.common.data, ' ')));
    sl_str_printf(&before, "%s%s%s", lead, spaces ? "\"" : "", folder.len ? folder.data : "");
    list->failed |= folder.failed || real.failed || before.failed;
    if (!list->failed)
        choose(&f, strlen(name), before.data ? before.data : "", !ends ? "" : spaces ? "\" " : " ", word, list);
    sl_str_fini(&folder);
    sl_str_fini(&real);
    sl_str_fini(&before);
}

/* ---- what there is to complete ------------------------------------------------------------ */

/* The last word's beginning; a @" opens one with spaces. */
static size_t word_begin(const char *text, size_t n)
{
    size_t begin = 0;
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (quoted) {
            quoted = text[i] != '"';
        } else if (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
            begin = i + 1;
        } else if (i == begin && text[i] == '@' && text[i + 1] == '"') {
            quoted = true;
            i++;
        }
    }
    return begin;
}

static void complete_words(const char *const *words, const char *typed, sl_str *word, sl_str *list)
{
    found f = { 0 };
    for (; *words; words++)
        if (strncmp(*words, typed, strlen(typed)) == 0)
            add(&f, *words);
    choose(&f, strlen(typed), "", " ", word, list);
}

size_t sl_chat_complete(const char *text, size_t cursor, sl_str *word, sl_str *list)
{
    static const char *const thinking[] = { "show", "fold", "hide", NULL };
    const char *names[SL_CHAT_COMMANDS_MAX + 1] = { NULL };
    const size_t command = strcspn(text, " "), at = word_begin(text, cursor);
    if (text[0] == '/' && command == cursor) {
        sl_chat_command_names(names);
        complete_words(names, text, word, list);
        return cursor;
    }
    const size_t argument = command + strspn(text + command, " ");
    switch (sl_chat_command_takes(text, command)) {
    case SL_CHAT_TAKES_PATH:
        complete_path(text + argument, "", false, word, list);
        return cursor - argument;
    case SL_CHAT_TAKES_THINKING:
        complete_words(thinking, text + argument, word, list);
        return cursor - argument;
    case SL_CHAT_TAKES_TEXT:
        break;
    }
    if (text[at] != '@' || text[at + 1] == '@')
        return 0;
    complete_path(text + at + 1 + (text[at + 1] == '"'), "@", true, word, list);
    return cursor - at;
}
