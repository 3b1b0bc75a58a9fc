/* test_not_gguf.c - files that people give by mistake: the message says what the file is. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/num.h"

static void bytes_refused(const void *bytes, size_t n, sl_status status, const char *says)
{
    gguf_build b = { 0 };
    gb_raw(&b, bytes, n);
    check_build_refused(&b, status, says, NULL);
}

static void text_refused(const char *text, sl_status status, const char *says)
{
    bytes_refused(text, strlen(text), status, says);
}

static void what_the_file_is(void **state)
{
    (void)state;
    text_refused("", SL_EFORMAT, "an empty file");
    text_refused("{ \"architectures\": [] }\n", SL_EFORMAT, "a text file");
    text_refused("# Model card\n\nGr\xc3\xbc\xc3\x9f"
                 "e\n",
                 SL_EFORMAT, "a text file");
    text_refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", SL_EFORMAT, "git lfs pull");
    text_refused("\n <!doctype HTML>\n<html>Not found</html>", SL_EFORMAT, "an HTML page, not the file itself");
    text_refused("<html><body>Sign in</body></html>", SL_EFORMAT, "an HTML page");
    text_refused("<htm", SL_EFORMAT, "a text file");
    bytes_refused("PK\003\004\024\000\000\000", 8, SL_EUNSUPPORTED, "a zip archive");
    bytes_refused("tjgg\003\000\000\000", 8, SL_EUNSUPPORTED, "before GGUF");
    bytes_refused("\x10\0\0\0\0\0\0\0{\"a\": [1, 2, 3]}", 24, SL_EUNSUPPORTED, "a safetensors file");
    bytes_refused("\x7f"
                  "ELF\002\001",
                  6, SL_EFORMAT, "begins with the bytes 7f 45 4c 46");
    bytes_refused("\001\002", 2, SL_EFORMAT, "2 bytes, not a GGUF file");
}

/* The length in front of a safetensors header may be any 64-bit number. */
static void hostile_safetensors_lengths(void **state)
{
    (void)state;
    bytes_refused("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, SL_EFORMAT, "not a GGUF file");
    bytes_refused("\x03\0\0\0\0\0\0\0{}", 10, SL_EFORMAT, "not a GGUF file");
    bytes_refused("\x02\0\0\0\0\0\0\0", 8, SL_EFORMAT, "not a GGUF file");
}

static void versions(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        const char *says;
    } cases[] = {
        { 0, "GGUF version 0;" },     { 1, "GGUF version 1;" },     { 4, "GGUF version 4;" },
        { 0x03000000, "big-endian" }, { 0x02000000, "big-endian" }, { 0x7fffffff, "GGUF version 2147483647;" }
    };
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        gguf_build b = { 0 };
        gb_key_str(gb_begin(&b, cases[i].version), "general.architecture", "llama");
        check_build_refused(gb_finish(&b, 64), SL_EUNSUPPORTED, cases[i].says, NULL);
    }
    bytes_refused("GGUF", 4, SL_EFORMAT, "4 bytes, the header of a GGUF file has 24");
    bytes_refused("GGUF\003\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 23, SL_EFORMAT, "23 bytes, the header");
}

static void no_file_folder_pipe(void **state)
{
    (void)state;
    char dir[] = "/tmp/sluice-test-XXXXXX", pipe_path[64];
    assert_non_null(mkdtemp(dir));
    check_refused("/nowhere/model.gguf", SL_ENOTFOUND, "No such file", NULL);
    check_refused(dir, SL_ENOTFOUND, "a folder without a config.json", NULL);
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", dir);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    check_refused(pipe_path, SL_EIO, "not a regular file", NULL);
    unlink(pipe_path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_file_is),
        cmocka_unit_test(hostile_safetensors_lengths),
        cmocka_unit_test(versions),
        cmocka_unit_test(no_file_folder_pipe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
