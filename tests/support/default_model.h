/* default_model.h - where `make run` and `make test` keep SmolLM2-135M-Instruct. */
#ifndef TESTS_SUPPORT_DEFAULT_MODEL_H
#define TESTS_SUPPORT_DEFAULT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXIT_SKIPPED 77

/* False, with the reason on stdout, when the file is not there. */
static inline bool default_model(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *name = "sluice/models/SmolLM2-135M-Instruct.Q4_1.gguf";
    if (cache && *cache)
        snprintf(path, size, "%s/%s", cache, name);
    else
        snprintf(path, size, "%s/.cache/%s", home ? home : "", name);
    if (access(path, R_OK) == 0)
        return true;
    printf("SKIPPED: %s is not there (make test fetches it)\n", path);
    return false;
}

#endif
