/* fuzz_regex.c - any pattern on any text: an error or pieces, and these together are the text. The
 * first byte says the dialect and what becomes of a match; a NUL byte ends the pattern. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/pretok.h"
#include "tokenizer/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

/* Where the next piece has to begin. */
static sl_status follow(void *arg, const char *piece, size_t len, sl_err *err)
{
    (void)err;
    const char **at = arg;
    demand(len > 0 && piece == *at, "a piece is not where the one before ended");
    *at += len;
    return SL_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const sl_split_behavior kept[] = { SL_SPLIT_ISOLATED, SL_SPLIT_MERGED_WITH_PREVIOUS,
                                              SL_SPLIT_MERGED_WITH_NEXT, SL_SPLIT_CONTIGUOUS };
    if (size < 2)
        return 0;
    const char *pattern = (const char *)data + 1;
    const char *end = memchr(pattern, '\0', size - 1);
    const size_t n = end ? (size_t)(end - pattern) : size - 1;
    const char *text = end ? end + 1 : "";
    size_t n_chars = 0;
    const size_t len = sl_utf8_valid(text, end ? size - n - 2 : 0, &n_chars);
    sl_pretok_step step = { .kind = SL_PRETOK_SPLIT,
                            .pattern = { pattern, n },
                            .regex = !(data[0] & 16),
                            .rust = data[0] & 1,
                            .behavior = kept[data[0] >> 1 & 3],
                            .invert = data[0] & 8 };
    sl_pretok *p = NULL;
    sl_pretok_work w = { 0 };
    sl_err err = { 0 };
    const char *at = text;
    sl_status rc = sl_pretok_create(&p, &(sl_vocab){ .pretoks = &step, .n_pretoks = 1 }, &err);
    if (rc == SL_OK) {
        rc = sl_pretok_split(p, &w, text, len, n_chars, true, follow, &at, &err);
        demand(rc == SL_EUNSUPPORTED || at == text + len, "the pieces are not the whole text");
    }
    demand(rc == SL_OK || (err.msg[0] && (rc == SL_EUNSUPPORTED || rc == SL_EFORMAT)), "an error of another kind");
    sl_pretok_work_fini(&w);
    sl_pretok_destroy(p);
    return 0;
}
