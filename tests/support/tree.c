#include "support/tree.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

char tree_root[] = "/tmp/sluice-test-XXXXXX";

int tree_make(void **state)
{
    (void)state;
    strcpy(tree_root + strlen(tree_root) - 6, "XXXXXX");
    return mkdtemp(tree_root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
    (void)sb, (void)type, (void)ftw;
    return remove(path);
}

int tree_remove(void **state)
{
    (void)state;
    return nftw(tree_root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void tree_put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", tree_root, path);
    for (char *p = full + strlen(tree_root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

void tree_putf(const char *text, const char *path, ...)
{
    char full[256];
    va_list ap;
    va_start(ap, path);
    vsnprintf(full, sizeof full, path, ap);
    va_end(ap);
    tree_put(full, text);
}
