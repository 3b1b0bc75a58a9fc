/* test_safetensors.c - one file: what is taken, and what is refused with which words. */
#include "formats/check.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/num.h"
#include "formats/safetensors.h"
#include "support/hf_build.h"

#define T(name, dtype, shape, begin, end)                                                                              \
    "\"" name "\": {\"dtype\": \"" dtype "\", \"shape\": " shape ", \"data_offsets\": [" #begin ", " #end "]}"
#define FILE_OF(tensors) "{" tensors "}"

/* The file in memory that is exactly as long as it says. */
static sl_status parse(sl_safetensors *s, const char *header, uint64_t n_header, size_t n_data, sl_err *err)
{
    const size_t n = strlen(header);
    uint8_t *bytes = malloc(8 + n + n_data);
    assert_non_null(bytes);
    memcpy(bytes, &n_header, 8);
    memcpy(bytes + 8, header, n);
    memset(bytes + 8 + n, 0, n_data);
    const sl_status rc = sl_safetensors_parse(s, bytes, 8 + n + n_data, err);
    if (rc)
        assert_true(s->n == 0 && !s->tensors);
    free(bytes);
    return rc;
}

static void refused_as(const char *header, uint64_t n_header, size_t n_data, sl_status want, const char *says)
{
    sl_safetensors s = { 0 };
    sl_err err = { 0 };
    const sl_status rc = parse(&s, header, n_header, n_data, &err);
    if (rc != want || !strstr(err.msg, says) || strchr(err.msg, '\n'))
        fail_msg("%.300s: %s \"%s\", should be %s and say \"%s\"", header, sl_status_name(rc), err.msg,
                 sl_status_name(want), says);
    sl_safetensors_close(&s);
}

static void refused(const char *header, size_t n_data, const char *says)
{
    refused_as(header, strlen(header), n_data, SL_EFORMAT, says);
}

static void unsupported(const char *header, size_t n_data, const char *says)
{
    refused_as(header, strlen(header), n_data, SL_EUNSUPPORTED, says);
}

static void taken(sl_safetensors *s, const char *header, size_t n_data)
{
    sl_err err = { 0 };
    if (parse(s, header, strlen(header), n_data, &err))
        fail_msg("%s: %s", header, err.msg);
}

static void good_files(void **state)
{
    (void)state;
    sl_safetensors s = { 0 };
    /* Names in any order, blanks behind the header, metadata, a scalar, empty tensors, an escaped name. */
    taken(&s,
          FILE_OF(T("late", "BF16", "[2, 3]", 8, 20) ", \"__metadata__\": {\"format\": \"pt\"}, " T(
              "early", "I64", "[]", 0, 8) ", " T("none", "F32", "[0, 5]", 20,
                                                 20) ", " T("d\\u00e9j\\u00e0", "F16", "[1, 1, 2, 3]", 20, 32)) "     ",
          32);
    assert_int_equal(s.n, 4);
    assert_string_equal(s.tensors[0].name, "late");
    assert_int_equal(s.tensors[0].tensor.rows, 2);
    assert_int_equal(s.tensors[0].tensor.cols, 3);
    assert_int_equal(s.tensors[0].tensor.row_bytes, 6);
    assert_int_equal(s.tensors[0].tensor.format, SL_FORMAT_BF16);
    assert_int_equal(s.tensors[0].dims[0], 3);
    assert_int_equal((const char *)s.tensors[0].tensor.data - (const char *)s.tensors[1].tensor.data, 8);
    assert_int_equal(s.tensors[1].n_dims, 0);
    assert_int_equal(s.tensors[1].bytes, 8);
    assert_int_equal(s.tensors[1].tensor.format, SL_FORMAT_COUNT);
    assert_int_equal(s.tensors[2].bytes, 0);
    assert_string_equal(s.tensors[3].name, "d\xc3\xa9j\xc3\xa0");
    assert_int_equal(s.tensors[3].tensor.rows, 2);
    sl_safetensors_close(&s);
    taken(&s, "{}", 0);
    assert_int_equal(s.n, 0);
    sl_safetensors_close(&s);
}

static void every_dtype(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = { { "F64", 8 }, { "F32", 4 }, { "F16", 2 }, { "BF16", 2 },   { "F8_E4M3", 1 }, { "F8_E5M2", 1 },
                  { "I64", 8 }, { "I32", 4 }, { "I16", 2 }, { "I8", 1 },     { "U8", 1 },      { "BOOL", 1 },
                  { "U64", 8 }, { "U32", 4 }, { "U16", 2 }, { "F8_E8M0", 1 } };
    for (size_t i = 0; i < SL_COUNT(types); i++) {
        sl_safetensors s = { 0 };
        char header[160];
        snprintf(header, sizeof header, "{\"t\": {\"dtype\": \"%s\", \"shape\": [3, 5], \"data_offsets\": [0, %zu]}}",
                 types[i].name, 15 * types[i].bytes);
        taken(&s, header, 15 * types[i].bytes);
        assert_string_equal(s.tensors[0].type, types[i].name);
        sl_safetensors_close(&s);
    }
    unsupported(FILE_OF(T("t", "F4", "[2]", 0, 1)), 1, "tensor t: dtype \"F4\" is not known");
    unsupported(FILE_OF(T("t", "f32", "[1]", 0, 4)), 4, "tensor t: dtype \"f32\" is not known");
}

/* The length in front of the header: beyond the file, beyond 64 bits with anything added, beyond the limit. */
static void header_lengths(void **state)
{
    (void)state;
    static const uint64_t lengths[] = { UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 8, 1ull << 63, 3, 4, 1u << 30 };
    for (size_t i = 0; i < SL_COUNT(lengths); i++)
        refused_as("{}", lengths[i], 0, SL_EFORMAT, "a header of ");
    refused_as("{}", 0, 0, SL_EFORMAT, "does not begin with {");
    refused_as("{}", 1, 0, SL_EFORMAT, "header: ");
    refused_as("", 0, 0, SL_EFORMAT, "does not begin with {");
    sl_safetensors s = { 0 };
    sl_err err = { 0 };
    assert_int_equal(sl_safetensors_parse(&s, "\2\0\0\0\0\0\0", 7, &err), SL_EFORMAT);
    check_says(&err, "7 bytes");
}

/* What a header of 101 MB meets is the format's own limit, named; one of 20 MB and 200,000 tensors is read. */
static void long_headers(void **state)
{
    (void)state;
    const size_t n = 200000, room = n * 100 + 2;
    char *header = malloc(room), *at = header;
    assert_non_null(header);
    *at++ = '{';
    for (size_t i = 0; i < n; i++)
        at += snprintf(at, 100, "%s\"t.%zu\": {\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%zu,%zu]}",
                       i ? "," : "", i, i, i + 1);
    *at++ = '}';
    *at = '\0';
    sl_safetensors s = { 0 };
    taken(&s, header, n);
    assert_int_equal(s.n, n);
    sl_safetensors_close(&s);
    free(header);

    const uint64_t len = SL_SAFETENSORS_HEADER_MAX + 1;
    uint8_t *file = calloc(1, 8 + len);
    sl_err err = { 0 };
    assert_non_null(file);
    memcpy(file, &len, 8);
    file[8] = '{';
    assert_int_equal(sl_safetensors_parse(&s, file, 8 + len, &err), SL_EUNSUPPORTED);
    check_says(&err, "a header of 100000001 bytes, more than the format's limit of 100000000");
    free(file);
}

static void shapes(void **state)
{
    (void)state;
    refused(FILE_OF(T("big", "F32", "[1000, 1000]", 0, 4)), 4,
            "tensor big: shape and dtype F32 ask for 4000000 bytes, data_offsets [0, 4] hold 4");
    refused(FILE_OF(T("small", "F32", "[1]", 0, 8)), 8, "tensor small: shape and dtype F32 ask for 4 bytes");
    refused(FILE_OF(T("t", "F32", "[4611686018427387905]", 0, 4)), 4, "tensor t: shape: more bytes");
    refused(FILE_OF(T("t", "U8", "[4294967296, 4294967296]", 0, 0)), 0, "tensor t: shape: more bytes");
    refused(FILE_OF(T("t", "U8", "[4294967296, 4294967296, 0]", 0, 0)), 0, "tensor t: shape: more elements");
    refused(FILE_OF(T("t", "U8", "[18446744073709551616]", 0, 0)), 0, "tensor t: shape: dimension 0");
    refused(FILE_OF(T("t", "U8", "[2, -1]", 0, 0)), 0, "tensor t: shape: dimension 1");
    refused(FILE_OF(T("t", "U8", "[1.0]", 0, 1)), 1, "tensor t: shape: dimension 0");
    refused(FILE_OF(T("t", "U8", "[\\\"1\\\"]", 0, 1)), 1, "header: ");
    refused(FILE_OF(T("t", "U8", "[true]", 0, 1)), 1, "tensor t: shape: dimension 0");
    refused(FILE_OF(T("t", "U8", "1", 0, 1)), 1, "tensor t: t.shape: a number, should be an array");
    unsupported(FILE_OF(T("t", "U8", "[1, 1, 1, 1, 1]", 0, 1)), 1, "tensor t: shape: 5 dimensions");
}

static void offsets(void **state)
{
    (void)state;
    static const char *const pairs[] = {
        "[16, 0]",  "[-4, 4]", "[0]",        "[0, 4, 8]", "[0, 1e3]",
        "[0, 4.0]", "[]",      "[\"0\", 4]", "[null, 4]", "[0, 18446744073709551620]"
    };
    char header[200];
    for (size_t i = 0; i < SL_COUNT(pairs); i++) {
        snprintf(header, sizeof header, "{\"t\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": %s}}", pairs[i]);
        refused(header, 16, "tensor t: data_offsets: not two whole numbers");
    }
    refused("{\"t\": {\"dtype\": \"U8\", \"shape\": [4], \"data_offsets\": {\"begin\": 0}}}", 4, "should be an array");
    refused(FILE_OF(T("t", "U8", "[4]", 4, 8)), 6, "tensor t: ends at byte 8 of the data, of which the file has 6");
    refused(FILE_OF(T("t", "U8", "[4]", 9223372036854775800, 9223372036854775804)), 6, "tensor t: ends at byte");
    refused(FILE_OF(T("a", "U8", "[4]", 0, 4) "," T("b", "U8", "[4]", 2, 6)), 6,
            "tensor b: begins at byte 2 of the data, but overlaps another, which ends at 4");
    refused(FILE_OF(T("b", "U8", "[4]", 0, 4) "," T("a", "U8", "[4]", 0, 4)), 4, "overlaps another");
    refused(FILE_OF(T("a", "U8", "[4]", 0, 4) "," T("b", "U8", "[4]", 5, 9)), 9, "nothing covers the bytes from 4");
    refused(FILE_OF(T("a", "U8", "[4]", 1, 5)), 5, "nothing covers the bytes from 0");
    refused(FILE_OF(T("a", "U8", "[4]", 0, 4)), 7, "3 bytes behind the last tensor belong to none");
    refused("{}", 1, "1 bytes behind the last tensor");
}

static void headers(void **state)
{
    (void)state;
    refused("[]", 0, "does not begin with {");
    refused(" {}", 0, "does not begin with {");
    refused("{} x", 0, "header: line 1");
    refused("{}{}", 0, "header: line 1");
    refused("{\"t\"", 0, "header: ");
    refused("{\"t\": 1}", 0, "tensor t: no object");
    refused("{\"t\": null}", 0, "tensor t: no object");
    refused("{\"t\": {}}", 0, "tensor t: t: \"dtype\" is missing");
    refused("{\"t\": {\"dtype\": \"U8\", \"shape\": [0]}}", 0, "\"data_offsets\" is missing");
    refused("{\"t\": {\"dtype\": 8, \"shape\": [0], \"data_offsets\": [0, 0]}}", 0, "t.dtype: a number");
    refused(FILE_OF(T("t", "U8", "[0]", 0, 0) "," T("t", "U8", "[0]", 0, 0)), 0, "t: this key comes twice");
    refused("{\"t\": {\"dtype\": \"U8\", \"dtype\": \"F32\", \"shape\": [0], \"data_offsets\": [0, 0]}}", 0,
            "t.dtype: this key comes twice");
    unsupported("{\"t\": {\"dtype\": \"U8\", \"shape\": [0], \"data_offsets\": [0, 0], \"strides\": [1]}}", 0,
                "tensor t: key \"strides\" is not known");
    refused("{\"\": {\"dtype\": \"U8\", \"shape\": [0], \"data_offsets\": [0, 0]}}", 0, "a name that is empty");
    refused("{\"a\\u0000b\": {\"dtype\": \"U8\", \"shape\": [0], \"data_offsets\": [0, 0]}}", 0, "tensor \"a?b\"");
    refused("{\"a\\nb\": {\"dtype\": 1, \"shape\": [0], \"data_offsets\": [0, 0]}}", 0, "tensor a?b: a?b.dtype");
    refused("{\"__metadata__\": []}", 0, "__metadata__: not an object");
    refused("{\"__metadata__\": {\"n\": 1}}", 0, "__metadata__: \"n\" is no string");
    refused("{\"t\xff\": {}}", 0, "not UTF-8");
}

/* Each cut of a good file is refused, and so is each allocation that fails. */
static void cuts_and_memory(void **state)
{
    (void)state;
    static const char header[] = FILE_OF(T("a", "F32", "[2, 2]", 0, 16) "," T("b", "BF16", "[4]", 16, 24));
    const uint64_t len = sizeof header - 1;
    uint8_t file[8 + sizeof header - 1 + 24] = { 0 };
    sl_safetensors s = { 0 };
    memcpy(file, &len, 8);
    memcpy(file + 8, header, len);
    for (size_t n = 0; n < sizeof file; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        assert_non_null(cut);
        memcpy(cut, file, n);
        assert_int_equal(sl_safetensors_parse(&s, cut, n, NULL), SL_EFORMAT);
        free(cut);
    }
    sl_status rc = SL_ENOMEM;
    for (long n = 0; rc == SL_ENOMEM; n++) {
        assert_true(n < 100);
        sl_mem_fail_after(n);
        rc = sl_safetensors_parse(&s, file, sizeof file, NULL);
        sl_mem_fail_after(-1);
    }
    assert_int_equal(rc, SL_OK);
    sl_safetensors_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files),   cmocka_unit_test(every_dtype),     cmocka_unit_test(header_lengths),
        cmocka_unit_test(long_headers), cmocka_unit_test(shapes),          cmocka_unit_test(offsets),
        cmocka_unit_test(headers),      cmocka_unit_test(cuts_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
