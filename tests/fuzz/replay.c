/* replay.c - run a fuzz target over stored inputs: the corpus as an ordinary test.
 *
 *   replay_NAME FILE|FOLDER...
 *
 * Every file goes in as it is, then cut at 16 places, then with 64 seeded changes of a byte.
 * A fault is a signal or a sanitizer's report; what is printed first names the file. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CUTS = 16, CHANGES = 64, MAX_BYTES = 1 << 22 };

/* In a block of exactly its size, so that a sanitizer sees one byte too far. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy) {
        fprintf(stderr, "no memory for an input of %zu bytes\n", size);
        exit(1);
    }
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void run_variants(uint8_t *data, size_t size)
{
    run(data, size);
    for (size_t i = 0; i < CUTS && i < size; i++)
        run(data, size * i / CUTS);
    uint64_t seed = 0x9e3779b97f4a7c15u + size;
    for (size_t i = 0; i < CHANGES && size > 0; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        /* Half of the changes in the first kilobyte, where headers are. */
        const size_t span = i % 2 && size > 1024 ? 1024 : size;
        uint8_t *at = data + (seed >> 33) % span;
        const uint8_t was = *at;
        *at = (uint8_t)(was ^ (1u << (seed >> 61)));
        run(data, size);
        *at = was;
    }
}

static int replay_file(const char *path)
{
    static uint8_t data[MAX_BYTES];
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    const size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    run_variants(data, size);
    return 0;
}

/* Number of files replayed, or -1. */
static int replay(const char *path)
{
    struct dirent **entry = NULL;
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        return replay_file(path) == 0 ? 1 : -1;
    const int n = scandir(path, &entry, NULL, alphasort);
    if (n < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    int done = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name);
        if (done >= 0 && entry[i]->d_type == DT_REG)
            done = replay_file(file) == 0 ? done + 1 : -1;
        free(entry[i]);
    }
    free(entry);
    return done;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        const int n = replay(argv[i]);
        if (n < 0)
            return 1;
        total += n;
    }
    printf("%d files, each whole, cut and changed\n", total);
    return total > 0 ? 0 : 1;
}
