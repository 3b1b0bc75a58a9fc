#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "base/num.h"
#include "cli/cli.h"

static volatile sig_atomic_t interrupts;

/* ---- every command ----------------------------------------------------------------- */

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (interrupts++)
        _exit(SL_EXIT_INTERRUPTED);
}

static void handle(int signal_number, void (*handler)(int), int flags, struct sigaction *before)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, before);
}

void sl_cli_interrupt_catch(void)
{
    handle(SIGINT, on_interrupt, 0, NULL); /* no SA_RESTART: reading the prompt ends, too */
}

/* ---- a chat -------------------------------------------------------------------------- */

static const int caught[] = { SIGINT, SIGHUP, SIGTERM, SIGWINCH, SIGTSTP };

static volatile sig_atomic_t end_signal, redraw;
static int wake[2] = { -1, -1 }; /* a pipe: a signal may meet any thread, and a poll must not miss it */
static struct sigaction before[SL_COUNT(caught)];
static struct {
    int fd;
    struct termios found;
    bool is_known;
    const char *ours, *given_back;
} terminal;

static void put(const char *text)
{
    if (terminal.is_known && write(terminal.fd, text, strlen(text)) < 0)
        errno = 0; /* the terminal has gone: SIGHUP says so */
}

/* Stop with the terminal as the shell knows it, and go on with it as we had it. */
static void stop(void)
{
    struct termios ours;
    const bool known = terminal.is_known && tcgetattr(terminal.fd, &ours) == 0;
    put(terminal.given_back);
    if (known)
        tcsetattr(terminal.fd, TCSANOW, &terminal.found);
    raise(SIGSTOP);
    if (known)
        tcsetattr(terminal.fd, TCSANOW, &ours);
    put(terminal.ours);
    redraw = 1;
}

static void on_signal(int signal_number)
{
    const int saved = errno;
    if (signal_number == SIGINT)
        interrupts = 1;
    else if (signal_number == SIGWINCH)
        redraw = 1;
    else if (signal_number == SIGTSTP)
        stop();
    else
        end_signal = signal_number;
    if (write(wake[1], "", 1) < 0) /* full: it wakes anyway */
        errno = saved;
    errno = saved;
}

/* Those wake a write to a terminal that takes nothing (Ctrl-S); of an answer nothing may be lost by the others. */
static bool ends(int signal_number)
{
    return signal_number == SIGHUP || signal_number == SIGTERM;
}

bool sl_signals_begin(int fd)
{
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK))
        return false;
    terminal.fd = fd;
    terminal.is_known = tcgetattr(fd, &terminal.found) == 0;
    terminal.ours = terminal.given_back = "";
    for (size_t i = 0; i < SL_COUNT(caught); i++) {
        handle(caught[i], on_signal, ends(caught[i]) ? 0 : SA_RESTART, &before[i]);
        if (caught[i] == SIGHUP && before[i].sa_handler == SIG_IGN) /* nohup */
            sigaction(caught[i], &before[i], NULL);
    }
    return true;
}

void sl_signals_codes(const char *ours, const char *given_back)
{
    terminal.ours = ours;
    terminal.given_back = given_back;
    put(ours);
}

int sl_signals_fd(void)
{
    return wake[0];
}

sl_signals_seen sl_signals_take(void)
{
    char room[64];
    while (read(wake[0], room, sizeof room) > 0) {
    }
    const sl_signals_seen seen = { .interrupt = interrupts != 0, .end = end_signal != 0, .redraw = redraw != 0 };
    interrupts = redraw = 0;
    return seen;
}

void sl_signals_give_back(void)
{
    put(terminal.given_back);
    if (terminal.is_known)
        tcsetattr(terminal.fd, TCSANOW, &terminal.found);
}

void sl_signals_end(void)
{
    const int died = end_signal;
    if (wake[0] < 0)
        return;
    sl_signals_give_back();
    for (size_t i = 0; i < SL_COUNT(caught); i++)
        sigaction(caught[i], &before[i], NULL);
    close(wake[0]);
    close(wake[1]);
    wake[0] = wake[1] = -1;
    end_signal = 0;
    if (died)
        raise(died);
}

bool sl_cli_interrupted(void)
{
    return interrupts || end_signal;
}

void sl_cli_interrupt_clear(void)
{
    interrupts = 0;
}
