/* check.h - what the tests of this folder ask of an error: its class and what its text names. */
#ifndef TESTS_FORMATS_CHECK_H
#define TESTS_FORMATS_CHECK_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "formats/weights.h"
#include "support/gguf_build.h"

static inline void check_says(const sl_err *err, const char *part)
{
    if (part && !strstr(err->msg, part))
        fail_msg("\"%s\" does not say \"%s\"", err->msg, part);
}

/* The file at path is refused with this status, and the message names the file and both parts
 * (NULL: none), on one line. */
static inline void check_refused(const char *path, sl_status want, const char *part, const char *other)
{
    sl_err err = { 0 };
    sl_weights *w = (sl_weights *)&err;
    const sl_status rc = sl_weights_open(&w, path, &err);
    if (rc != want)
        fail_msg("%s: status %s (%s), should be %s", path, sl_status_name(rc), err.msg, sl_status_name(want));
    assert_null(w);
    assert_int_equal(err.code, want);
    assert_null(strchr(err.msg, '\n'));
    assert_int_equal(strncmp(err.msg, path, strlen(path)), 0);
    check_says(&err, part);
    check_says(&err, other);
    assert_int_equal(sl_weights_open(&w, path, NULL), want); /* the text is not obligatory */
}

/* The same for what was built; frees it. */
static inline void check_build_refused(gguf_build *b, sl_status want, const char *part, const char *other)
{
    check_refused(gb_path(b), want, part, other);
    gb_free(b);
}

static inline sl_weights *check_opens(const char *path)
{
    sl_err err = { 0 };
    sl_weights *w = NULL;
    if (sl_weights_open(&w, path, &err))
        fail_msg("%s", err.msg);
    return w;
}

/* A file with the one key that every file needs. */
static inline gguf_build *begin_llama(gguf_build *b)
{
    return gb_key_str(gb_begin(b, 3), "general.architecture", "llama");
}

#define DIMS(...) ((const uint64_t[]){ __VA_ARGS__ })

#endif
