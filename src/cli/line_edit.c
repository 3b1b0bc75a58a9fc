/* line_edit.c - lines by libedit (BSD licence; editline(7)), which reads through us: so signals wake it, what is pasted
 * comes in one piece, and a text can stand there to be edited. */
#include "cli/line_in.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <utf8proc.h>
#include <wchar.h>
#include "base/mem.h"
#include "base/num.h"
#include "cli/screen.h"

#define HISTORY_MAX 1000
#define PASTE_ON    "\033[?2004h" /* what is pasted comes between marks, so that its newlines send nothing */
#define PASTE_OFF   "\033[?2004l"
#define PASTE_END   "\033[201~"
#define BEGIN_KEY   L"\033[sluice~"

struct sl_editor {
    const sl_line_options *o;
    EditLine *el;
    HistoryW *history;
    FILE *out;
    wchar_t prompt[64];
    const char *begin; /* to be put into the line first */
    char ahead;        /* a byte that was read and belongs to the next character */
    bool has_ahead;
    bool cancelled, failed;
    bool history_told; /* that it cannot be written */
};

/* ---- letters ----------------------------------------------------------------------- */

static void append_utf8(const wchar_t *text, size_t n, sl_str *out)
{
    for (size_t i = 0; i < n; i++) {
        utf8proc_uint8_t bytes[4];
        const utf8proc_int32_t c =
            utf8proc_codepoint_valid((utf8proc_int32_t)text[i]) ? (utf8proc_int32_t)text[i] : 0xFFFD;
        sl_str_append(out, (const char *)bytes, (size_t)utf8proc_encode_char(c, bytes));
    }
}

/* To be freed; NULL: no memory. */
static wchar_t *to_wide(const char *text)
{
    size_t n = 0, at = 0;
    const size_t len = strlen(text);
    wchar_t *wide = sl_mem_zalloc(len + 1, sizeof *wide);
    while (wide && at < len) {
        utf8proc_int32_t c = 0;
        const utf8proc_ssize_t used =
            utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(len - at), &c);
        wide[n++] = used > 0 ? (wchar_t)c : (wchar_t)0xFFFD;
        at += used > 0 ? (size_t)used : 1;
    }
    return wide;
}

static void insert(sl_editor *e, const char *text)
{
    wchar_t *wide = to_wide(text);
    e->failed |= !wide || (*wide && el_winsertstr(e->el, wide));
    sl_mem_free(wide);
}

/* ---- keys --------------------------------------------------------------------------- */

static sl_editor *editor_of(EditLine *el)
{
    sl_editor *e = NULL;
    el_wget(el, EL_CLIENTDATA, &e);
    return e;
}

/* False: the line ends here. */
static bool take_signals(sl_editor *e)
{
    const sl_signals_seen seen = sl_signals_take();
    if (seen.redraw) {
        el_resize(e->el);
        el_wset(e->el, EL_REFRESH);
    }
    e->cancelled = seen.interrupt && !seen.end;
    return !seen.interrupt && !seen.end;
}

/* 1: a byte; 0: no more; -1: Ctrl-C. */
static int read_byte(sl_editor *e, char *out)
{
    if (e->has_ahead) {
        e->has_ahead = false;
        *out = e->ahead;
        return 1;
    }
    for (;;) {
        if (sl_line_wait() == SL_WAIT_SIGNAL) {
            if (!take_signals(e))
                return e->cancelled ? -1 : 0;
            continue;
        }
        const ssize_t n = read(STDIN_FILENO, out, 1);
        if (n >= 0 || errno != EINTR)
            return n == 1;
    }
}

/* libedit's way to the next character. A letter that another byte breaks off is U+FFFD, and that byte comes next. */
static int read_char(EditLine *el, wchar_t *out)
{
    sl_editor *e = editor_of(el);
    char bytes[4];
    utf8proc_int32_t c = 0;
    const int got = read_byte(e, bytes);
    if (got != 1)
        return got;
    const int n = SL_MAX(utf8proc_utf8class[(unsigned char)bytes[0]], 1);
    for (int i = 1; i < n && !e->has_ahead; i++) {
        if (read_byte(e, &bytes[i]) != 1)
            return e->cancelled ? -1 : 0;
        e->has_ahead = (bytes[i] & 0xC0) != 0x80;
        e->ahead = bytes[i];
    }
    *out =
        !e->has_ahead && utf8proc_iterate((const utf8proc_uint8_t *)bytes, n, &c) == n ? (wchar_t)c : (wchar_t)0xFFFD;
    return 1;
}

/* All up to PASTE_END, newlines of any kind as \n, other control characters left out. */
static bool read_paste(sl_editor *e, sl_str *out)
{
    const size_t n_end = sizeof PASTE_END - 1;
    char byte, last = 0;
    while (read_byte(e, &byte) == 1) {
        sl_str_append(out, &byte, 1);
        if (out->failed)
            return false;
        if (out->len >= n_end && memcmp(out->data + out->len - n_end, PASTE_END, n_end) == 0) {
            out->len -= n_end;
            break;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < out->len; i++) {
        byte = out->data[i];
        const bool second = byte == '\n' && last == '\r';
        last = byte;
        if (second || ((unsigned char)byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7f)
            continue;
        out->data[kept++] = byte == '\r' ? '\n' : byte;
    }
    if (out->data)
        out->data[out->len = kept] = '\0';
    return true;
}

static unsigned char paste(EditLine *el, wint_t key)
{
    (void)key;
    sl_editor *e = editor_of(el);
    sl_str text = { 0 };
    e->failed |= !read_paste(e, &text);
    if (e->o->pasted && text.len)
        e->o->pasted(&text, el_wline(el)->cursor == el_wline(el)->buffer);
    e->failed |= text.failed;
    if (text.len)
        insert(e, text.data);
    sl_str_fini(&text);
    return CC_REFRESH;
}

/* The text that stands there from the beginning: a key that nobody can press puts it there. */
static unsigned char begin(EditLine *el, wint_t key)
{
    (void)key;
    sl_editor *e = editor_of(el);
    insert(e, e->begin ? e->begin : "");
    e->begin = NULL;
    return CC_REFRESH;
}

/* Candidates in as many columns as there are. */
static void show_list(const sl_editor *e, const sl_str *list)
{
    const size_t columns = sl_screen_columns(fileno(e->out));
    size_t used = 0;
    fputc('\n', e->out);
    for (const char *at = list->data; *at;) {
        const size_t n = strcspn(at, "\n"), shown = sl_screen_fit(at, n, columns - 1);
        if (used && used + 2 + shown >= columns) {
            fputc('\n', e->out);
            used = 0;
        }
        fprintf(e->out, "%s%.*s", used ? "  " : "", (int)shown, at);
        used += (used ? 2 : 0) + shown;
        at += n + (at[n] == '\n');
    }
    fputc('\n', e->out);
}

static unsigned char complete(EditLine *el, wint_t key)
{
    (void)key;
    sl_editor *e = editor_of(el);
    const LineInfoW *line = el_wline(el);
    sl_str text = { 0 }, word = { 0 }, list = { 0 };
    unsigned char result = CC_REFRESH_BEEP;
    append_utf8(line->buffer, (size_t)(line->cursor - line->buffer), &text);
    const size_t replaced = text.len && e->o->complete ? e->o->complete(text.data, text.len, &word, &list) : 0;
    e->failed |= text.failed || word.failed || list.failed;
    if (word.len && !e->failed) {
        int n = 0;
        for (size_t i = text.len - replaced; i < text.len; i++)
            n += (text.data[i] & 0xC0) != 0x80;
        el_deletestr(el, n);
        insert(e, word.data);
        result = CC_REFRESH;
    }
    if (list.len && !e->failed) {
        show_list(e, &list);
        result = CC_REDISPLAY;
    }
    sl_str_fini(&text);
    sl_str_fini(&word);
    sl_str_fini(&list);
    return result;
}

/* ---- history ------------------------------------------------------------------------- */

/* The folders above a file. */
static bool make_folders(const char *path)
{
    sl_str folder = { 0 };
    bool ok = true;
    for (const char *at = strchr(path + 1, '/'); at && ok; at = strchr(at + 1, '/')) {
        sl_str_clear(&folder);
        sl_str_append(&folder, path, (size_t)(at - path));
        ok = !folder.failed && (mkdir(folder.data, 0700) == 0 || errno == EEXIST);
    }
    sl_str_fini(&folder);
    return ok;
}

/* A file that has grown long is written anew with what was kept of it. */
static void shorten(sl_editor *e)
{
    HistEventW event;
    sl_str fresh = { 0 };
    sl_str_printf(&fresh, "%s.new", e->o->history);
    if (!fresh.failed && history_w(e->history, &event, H_SAVE, fresh.data) >= 0 && rename(fresh.data, e->o->history))
        unlink(fresh.data);
    sl_str_fini(&fresh);
}

static void load_history(sl_editor *e)
{
    HistEventW event;
    history_w(e->history, &event, H_SETSIZE, HISTORY_MAX);
    history_w(e->history, &event, H_SETUNIQUE, 1);
    if (e->o->history && history_w(e->history, &event, H_LOAD, e->o->history) > 2 * HISTORY_MAX)
        shorten(e);
}

/* Added to the file, so that chats beside one another do not lose each other's lines. */
static bool save_line(const sl_editor *e, const wchar_t *wide)
{
    HistEventW event;
    HistoryW *one = history_winit();
    bool ok = one && make_folders(e->o->history);
    FILE *f = ok ? fopen(e->o->history, "ae") : NULL;
    ok = f && fchmod(fileno(f), 0600) == 0 && fseek(f, 0, SEEK_END) == 0 && history_w(one, &event, H_SETSIZE, 1) >= 0 &&
         history_w(one, &event, H_ENTER, wide) >= 0 && history_w(one, &event, H_SAVE_FP, f) >= 0;
    if (f && fclose(f))
        ok = false;
    if (one)
        history_wend(one);
    return ok;
}

void sl_editor_remember(sl_editor *e, const char *text)
{
    HistEventW event;
    wchar_t *wide = to_wide(text);
    if (!wide)
        return;
    history_w(e->history, &event, H_ENTER, wide);
    if (e->o->history && !e->history_told && !save_line(e, wide)) {
        e->history_told = true;
        sl_screen_note("what you write is not kept for the next chat: %s: %s", e->o->history, strerror(errno));
    }
    sl_mem_free(wide);
}

/* ---- the editor ------------------------------------------------------------------------ */

static wchar_t *show_prompt(EditLine *el)
{
    return editor_of(el)->prompt;
}

/* libedit asks the locale how wide letters are. */
static void know_utf8(void)
{
    setlocale(LC_CTYPE, "");
    if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

/* Between two lines, too, what is typed is kept key by key and not shown. libedit would have it edited by the terminal
 * until just behind its next prompt, where a Ctrl-D is lost. */
static void keep_keys(sl_editor *e)
{
    struct termios t;
    el_wset(e->el, EL_SETTY, L"-x", L"-icanon", L"-echo", NULL);
    if (tcgetattr(STDIN_FILENO, &t))
        return;
    t.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

sl_editor *sl_editor_create(const sl_line_options *o)
{
    const int screen = isatty(STDERR_FILENO) ? STDERR_FILENO : STDOUT_FILENO;
    if (!isatty(STDIN_FILENO) || !sl_screen_has_cursor(screen))
        return NULL;
    sl_editor *e = sl_mem_zalloc(1, sizeof *e);
    if (!e)
        return NULL;
    know_utf8();
    e->o = o;
    e->out = fdopen(dup(screen), "w"); /* with a buffer, which stderr has not */
    e->el = e->out ? el_init("sluice", stdin, e->out, stderr) : NULL;
    e->history = history_winit();
    if (!e->el || !e->history) {
        sl_editor_destroy(e);
        return NULL;
    }
    load_history(e);
    el_wset(e->el, EL_CLIENTDATA, e);
    el_wset(e->el, EL_PROMPT, show_prompt);
    el_wset(e->el, EL_EDITOR, L"emacs");
    el_wset(e->el, EL_HIST, history_w, e->history);
    el_wset(e->el, EL_ADDFN, L"sluice-paste", L"Take what was pasted", paste);
    el_wset(e->el, EL_ADDFN, L"sluice-begin", L"Put the text to be edited into the line", begin);
    el_wset(e->el, EL_ADDFN, L"sluice-complete", L"Complete a command or a path", complete);
    el_source(e->el, NULL); /* ~/.editrc: keys as the user has them elsewhere */
    el_wset(e->el, EL_BIND, L"\\e[200~", L"sluice-paste", NULL);
    el_wset(e->el, EL_BIND, BEGIN_KEY, L"sluice-begin", NULL);
    el_wset(e->el, EL_BIND, L"^I", L"sluice-complete", NULL);
    el_wset(e->el, EL_GETCFN, read_char);
    keep_keys(e);
    sl_signals_codes(PASTE_ON, PASTE_OFF);
    return e;
}

void sl_editor_destroy(sl_editor *e)
{
    if (!e)
        return;
    if (e->el)
        el_end(e->el);
    if (e->history)
        history_wend(e->history);
    if (e->out)
        fclose(e->out);
    sl_mem_free(e);
}

sl_line_end sl_editor_read(sl_editor *e, const char *prompt, const char *text, sl_str *out)
{
    int n = 0;
    e->cancelled = e->failed = false;
    e->begin = text && *text ? text : NULL;
    if (e->begin)
        el_wpush(e->el, BEGIN_KEY);
    swprintf(e->prompt, SL_COUNT(e->prompt), L"%s", prompt);
    el_resize(e->el);
    const wchar_t *line = el_wgets(e->el, &n);
    if (e->cancelled) {
        const LineInfoW *left = el_wline(e->el);
        append_utf8(left->buffer, (size_t)(left->lastchar - left->buffer), out);
    } else if (line && n > 0) {
        append_utf8(line, (size_t)n - (line[n - 1] == L'\n'), out);
    }
    if (!line || n <= 0)
        fputc('\n', e->out);
    fflush(e->out);
    if (e->failed || out->failed)
        return SL_LINE_FAILED;
    return e->cancelled ? SL_LINE_CANCEL : line && n > 0 ? SL_LINE_TEXT : SL_LINE_END;
}
