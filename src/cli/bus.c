/* bus.c - from the address of a SIGBUS to the name of the file that was mapped there, by calls that a signal handler
 * may make: no heap, no stdio, no strtoull. */
#include "cli/bus.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/signals.h"

#define LINE_MAX_LEN 1024 /* of /proc/self/maps; a longer path is shown cut */

static atomic_flag taken = ATOMIC_FLAG_INIT; /* several threads may read the same hole */

/* "7f00a000-7f00b000 r--p ...": the number in front; *p moves behind it. */
static uintptr_t hexadecimal(const char **p)
{
    uintptr_t n = 0;
    for (; (**p >= '0' && **p <= '9') || (**p >= 'a' && **p <= 'f'); ++*p)
        n = n << 4 | (uintptr_t)(**p <= '9' ? **p - '0' : **p - 'a' + 10);
    return n;
}

/* The path in a line of /proc/self/maps whose range has the address; NULL: none. */
static const char *path_in(const char *line, uintptr_t address)
{
    static const char huge[] = "/anon_hugepage"; /* memory from vm.nr_hugepages, no file */
    const char *p = line;
    const uintptr_t from = hexadecimal(&p);
    p += *p == '-';
    const uintptr_t to = hexadecimal(&p);
    const char *path = address >= from && address < to ? strchr(line, '/') : NULL;
    return path && strncmp(path, huge, strlen(huge)) != 0 ? path : NULL;
}

/* Which file is mapped there, in *line. */
static const char *mapped_file(uintptr_t address, char line[LINE_MAX_LEN + 1])
{
    char block[4096];
    size_t used = 0;
    ssize_t n = 0;
    const char *path = NULL;
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && !path && (n = read(fd, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < n && !path; i++) {
            if (block[i] != '\n') {
                line[used] = block[i];
                used += used < LINE_MAX_LEN;
                continue;
            }
            line[used] = '\0';
            path = path_in(line, address);
            used = 0;
        }
    if (fd >= 0)
        close(fd);
    return path;
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(SL_EXIT_FAILED); /* nobody listens */
}

static void on_bus(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    char line[LINE_MAX_LEN + 1];
    const bool sent = info->si_code <= 0; /* by kill(), not by a read */
    if (!sent && atomic_flag_test_and_set(&taken))
        for (;;)
            pause(); /* until the first one has told */
    const char *path = sent ? NULL : mapped_file((uintptr_t)info->si_addr, line);
    if (!path) { /* the read comes again, and finds no handler */
        signal(signal_number, SIG_DFL);
        raise(signal_number);
        return;
    }
    sl_signals_give_back();
    say("sluice: ");
    say(path);
    say(": changed while it was in use: a part of the mapped file cannot be read any more (was it cut short or written "
        "anew, or did its disk fail?)\n");
    _exit(SL_EXIT_FAILED);
}

void sl_cli_bus_catch(void)
{
    struct sigaction action = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
