/* test_quantized.c - folders of compressed-tensors: what comes out of their tensors, number by number, and what is
 * refused. */
#include "formats/check.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/num.h"
#include "formats/weights.h"
#include "quant/quant.h"
#include "support/hf_build.h"

/* ---- a file of tensors -------------------------------------------------------------------- */

typedef struct file {
    char header[16384];
    unsigned char data[1 << 17];
    size_t n_header, n_data;
} file;

static void put(file *f, const char *name, const char *dtype, const char *shape, const void *bytes, size_t n)
{
    assert_true(f->n_data + n <= sizeof f->data);
    memcpy(f->data + f->n_data, bytes, n);
    f->n_header += (size_t)snprintf(f->header + f->n_header, sizeof f->header - f->n_header,
                                    "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [%s], \"data_offsets\": [%zu, %zu]}",
                                    f->n_header ? ", " : "{", name, dtype, shape, f->n_data, f->n_data + n);
    f->n_data += n;
}

static void save(file *f, const hf_build *b)
{
    f->n_header += (size_t)snprintf(f->header + f->n_header, sizeof f->header - f->n_header, "}");
    assert_true(f->n_header < sizeof f->header);
    const uint64_t len = f->n_header;
    unsigned char *all = malloc(8 + f->n_header + f->n_data);
    assert_non_null(all);
    memcpy(all, &len, 8);
    memcpy(all + 8, f->header, f->n_header);
    memcpy(all + 8 + f->n_header, f->data, f->n_data);
    hf_write(b, "model.safetensors", all, 8 + f->n_header + f->n_data);
    free(all);
}

static void config(const hf_build *b, const char *quantization)
{
    char text[4096];
    snprintf(text, sizeof text, "{\"model_type\": \"llama\", \"quantization_config\": %s}", quantization);
    hf_text(b, "config.json", text);
}

/* ---- numbers ------------------------------------------------------------------------------- */

typedef struct kind {
    unsigned bits;
    size_t rows, cols, group; /* group 0: one scale for a row, SIZE_MAX: one for all */
    const char *scale;        /* dtype */
    const char *shape;        /* dtype of weight_shape; NULL: none */
    bool zeros, shuffled, plain, flat;
    sl_format format;
} kind;

#define ROWS_MAX 24
#define COLS_MAX 320

typedef struct numbers {
    int q[ROWS_MAX][COLS_MAX], zero[ROWS_MAX][COLS_MAX], of[COLS_MAX];
    float d[ROWS_MAX][COLS_MAX];
    size_t groups;
} numbers;

static unsigned draw(void)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* As stored, with its value in `d`. */
static void put_scale(unsigned char *at, const char *dtype, float *d)
{
    const float v = (float)(draw() % 1000 + 1) / 3000.0f;
    const uint16_t h = dtype[0] == 'B' ? sl_bf16_from_f32(v) : sl_f16_from_f32(v);
    *d = dtype[1] == '3' ? v : dtype[0] == 'B' ? sl_f32_from_bf16(h) : sl_f32_from_f16(h);
    if (dtype[1] == '3')
        memcpy(at, &v, 4);
    else
        memcpy(at, &h, 2);
}

static void put_numbers(file *f, const kind *k, const numbers *x)
{
    static unsigned char bytes[ROWS_MAX * COLS_MAX];
    char shape[64];
    const size_t in_word = 32 / k->bits, words = sl_div_up(k->cols, in_word);
    memset(bytes, 0, sizeof bytes);
    for (size_t r = 0; r < k->rows; r++)
        for (size_t c = 0; c < k->cols; c++) {
            if (k->plain) {
                bytes[r * k->cols + c] = (unsigned char)(x->q[r][c] - 128);
                continue;
            }
            uint32_t word;
            unsigned char *at = bytes + 4 * (r * words + c / in_word);
            memcpy(&word, at, 4);
            word |= (uint32_t)x->q[r][c] << k->bits * (c % in_word);
            memcpy(at, &word, 4);
        }
    snprintf(shape, sizeof shape, "%zu, %zu", k->rows, k->plain ? k->cols : words);
    if (k->plain)
        put(f, "m.weight", "I8", shape, bytes, k->rows * k->cols);
    else
        put(f, "m.weight_packed", "I32", shape, bytes, k->rows * words * 4);
}

static void put_zeros(file *f, const kind *k, const numbers *x)
{
    uint32_t word[ROWS_MAX][COLS_MAX] = { 0 };
    char shape[64];
    const size_t in_word = 32 / k->bits, rows = sl_div_up(k->rows, in_word);
    unsigned char *at = (unsigned char *)word;
    for (size_t r = 0; r < k->rows; r++)
        for (size_t g = 0; g < x->groups; g++)
            word[r / in_word][g] |= (uint32_t)x->zero[r][g] << k->bits * (r % in_word);
    for (size_t r = 0; r < rows; r++)
        memmove(at + 4 * r * x->groups, word[r], 4 * x->groups);
    snprintf(shape, sizeof shape, "%zu, %zu", rows, x->groups);
    put(f, "m.weight_zero_point", "I32", shape, word, 4 * rows * x->groups);
}

static void put_scales(file *f, const kind *k, numbers *x)
{
    unsigned char bytes[ROWS_MAX * COLS_MAX];
    const size_t size = k->scale[1] == '3' ? 4 : 2, rows = k->group == SIZE_MAX ? 1 : k->rows;
    char shape[64];
    for (size_t i = 0; i < rows * x->groups; i++)
        put_scale(bytes + i * size, k->scale, &x->d[i / x->groups][i % x->groups]);
    for (size_t r = 1; r < k->rows && rows == 1; r++)
        x->d[r][0] = x->d[0][0];
    if (k->flat)
        snprintf(shape, sizeof shape, "%zu", rows);
    else
        snprintf(shape, sizeof shape, "%zu, %zu", rows, x->groups);
    put(f, "m.weight_scale", k->scale, shape, bytes, rows * x->groups * size);
}

static void make(file *f, const kind *k, numbers *x)
{
    *f = (file){ 0 };
    x->groups = k->group == 0 || k->group == SIZE_MAX ? 1 : sl_div_up(k->cols, k->group);
    for (size_t c = 0; c < k->cols; c++)
        x->of[c] = (int)(k->shuffled ? draw() % x->groups : x->groups == 1 ? 0 : c / k->group);
    for (size_t r = 0; r < k->rows; r++)
        for (size_t c = 0; c < k->cols; c++) {
            x->q[r][c] = (int)(draw() % (1u << k->bits));
            x->zero[r][c] = k->zeros ? (int)(draw() % (1u << k->bits)) : 1 << (k->bits - 1);
        }
    put(f, "norm.weight", "F32", "1", "\0\0\0", 4);
    put_numbers(f, k, x);
    put_scales(f, k, x);
    if (k->zeros)
        put_zeros(f, k, x);
    if (k->shuffled)
        put(f, "m.weight_g_idx", "I32", k->cols == 64 ? "64" : "320", x->of, 4 * k->cols);
    const int64_t wide[2] = { (int64_t)k->rows, (int64_t)k->cols };
    const int32_t small[2] = { (int32_t)k->rows, (int32_t)k->cols };
    if (k->shape)
        put(f, "m.weight_shape", k->shape, "2", k->shape[1] == '6' ? (const void *)wide : (const void *)small,
            k->shape[1] == '6' ? 16 : 8);
}

static void settings_of(const kind *k, char *out, size_t size)
{
    char group[32] = "null";
    if (k->group && k->group != SIZE_MAX)
        snprintf(group, sizeof group, "%zu", k->group);
    snprintf(out, size,
             "{\"quant_method\": \"compressed-tensors\", \"format\": \"%s\", \"config_groups\": {\"group_0\": {"
             "\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": %u, \"type\": \"int\", \"symmetric\": %s, "
             "\"strategy\": \"%s\", \"group_size\": %s, \"actorder\": %s}}}}",
             k->plain ? "int-quantized" : "pack-quantized", k->bits, k->zeros ? "false" : "true",
             k->group == SIZE_MAX ? "tensor"
             : k->group           ? "group"
                                  : "channel",
             group, k->shuffled ? "\"group\"" : "null");
}

static void same(const kind *k, const numbers *x, const sl_tensor *t, size_t first)
{
    float row[COLS_MAX];
    for (size_t r = 0; r < t->rows; r++) {
        sl_quant_get(t->format)->decode(row, t, r, 0, k->cols);
        for (size_t c = 0; c < k->cols; c++) {
            const size_t at = first + r, g = (size_t)x->of[c];
            const float want = x->d[at][g] * (float)(x->q[at][c] - x->zero[at][g]);
            if (row[c] != want)
                fail_msg("%u bits, group %zu: [%zu][%zu] is %g, should be %g", k->bits, k->group, at, c, (double)row[c],
                         (double)want);
        }
    }
}

static const kind kinds[] = {
    { .bits = 4, .rows = 5, .cols = 64, .group = 32, .scale = "BF16", .shape = "I32", .format = SL_FORMAT_INT4 },
    { .bits = 4, .rows = 24, .cols = 320, .group = 64, .scale = "F16", .shape = "I64", .format = SL_FORMAT_INT4 },
    { .bits = 4, .rows = 9, .cols = 320, .group = 160, .scale = "F32", .format = SL_FORMAT_INT4 },
    { .bits = 4, .rows = 9, .cols = 320, .group = 192, .scale = "BF16", .format = SL_FORMAT_INT4 },
    { .bits = 4, .rows = 9, .cols = 96, .scale = "F16", .shape = "I64", .format = SL_FORMAT_INT4 },
    { .bits = 4, .rows = 9, .cols = 96, .scale = "F16", .flat = true, .format = SL_FORMAT_INT4 },
    { .bits = 4, .rows = 3, .cols = 96, .group = SIZE_MAX, .scale = "BF16", .flat = true, .format = SL_FORMAT_INT4 },
    { .bits = 4, .rows = 3, .cols = 77, .scale = "F32", .shape = "I64", .format = SL_FORMAT_INT4_ANY },
    { .bits = 4, .rows = 19, .cols = 72, .group = 24, .scale = "F16", .format = SL_FORMAT_INT4_ANY },
    { .bits = 4, .rows = 19, .cols = 128, .group = 32, .scale = "BF16", .zeros = true, .format = SL_FORMAT_INT4_ZP },
    { .bits = 4, .rows = 16, .cols = 128, .scale = "F16", .zeros = true, .format = SL_FORMAT_INT4_ZP },
    { .bits = 4,
      .rows = 11,
      .cols = 64,
      .group = 16,
      .scale = "F16",
      .zeros = true,
      .shape = "I32",
      .format = SL_FORMAT_INT4_ANY },
    { .bits = 4, .rows = 7, .cols = 320, .group = 32, .scale = "F16", .shuffled = true, .format = SL_FORMAT_INT4_ANY },
    { .bits = 4,
      .rows = 10,
      .cols = 64,
      .group = 32,
      .scale = "BF16",
      .shuffled = true,
      .zeros = true,
      .shape = "I64",
      .format = SL_FORMAT_INT4_ANY },
    { .bits = 8, .rows = 6, .cols = 64, .group = 32, .scale = "BF16", .shape = "I64", .format = SL_FORMAT_INT8 },
    { .bits = 8, .rows = 6, .cols = 62, .scale = "F16", .shape = "I64", .format = SL_FORMAT_INT8_ANY },
    { .bits = 8, .rows = 6, .cols = 64, .group = 32, .scale = "F32", .zeros = true, .format = SL_FORMAT_INT8_ANY },
    { .bits = 8, .rows = 4, .cols = 96, .scale = "BF16", .plain = true, .format = SL_FORMAT_INT8 },
    { .bits = 8, .rows = 4, .cols = 96, .group = 48, .scale = "F32", .plain = true, .format = SL_FORMAT_INT8_ANY },
    { .bits = 8, .rows = 4, .cols = 50, .scale = "F16", .plain = true, .flat = true, .format = SL_FORMAT_INT8_ANY },
};

static void each_kind(void **state)
{
    static file f;
    static numbers x;
    (void)state;
    for (size_t i = 0; i < SL_COUNT(kinds); i++) {
        const kind *k = &kinds[i];
        char settings[1024];
        hf_build b = { 0 };
        hf_begin(&b);
        make(&f, k, &x);
        save(&f, &b);
        settings_of(k, settings, sizeof settings);
        config(&b, settings);
        sl_weights *w = check_opens(b.dir);
        const sl_weight_info *m = sl_weights_find(w, "m.weight");
        assert_non_null(m);
        assert_int_equal(sl_weights_count(w), 2);
        assert_int_equal(sl_weights_stored_count(w), 3 + k->zeros + k->shuffled + (k->shape != NULL));
        assert_string_equal(m->type, sl_format_name(k->format));
        assert_true(m->tensor.rows == k->rows && m->tensor.cols == k->cols && m->n_dims == 2);
        assert_true(m->dims[0] == k->cols && m->dims[1] == k->rows);
        assert_int_equal(m->bytes, f.n_data - 4); /* all but the norm */
        same(k, &x, &m->tensor, 0);
        sl_tensor cut = sl_tensor_rows(&m->tensor, 1, k->rows);
        cut = sl_tensor_rows(&cut, 1, cut.rows);
        same(k, &x, &cut, 2);
        const sl_tensor odd = sl_tensor_every(&m->tensor, 1, 2);
        assert_int_equal(odd.rows, k->rows / 2);
        float a[COLS_MAX], c[COLS_MAX];
        sl_quant_get(k->format)->decode(a, &m->tensor, 3, 0, k->cols);
        if (odd.rows > 1) {
            sl_quant_get(k->format)->decode(c, &odd, 1, 0, k->cols);
            assert_memory_equal(a, c, k->cols * sizeof *a);
        }
        sl_weights_close(w);
        hf_end(&b);
    }
}

/* ---- settings ------------------------------------------------------------------------------- */

#define CT(more, weights, group)                                                                                       \
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\"" more                                   \
    ", \"config_groups\": {\"g\": {\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": 4, \"group_size\": "         \
    "32" weights "}" group "}}}"
#define INT8(inputs)                                                                                                   \
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"int-quantized\", \"config_groups\": {\"g\": {"           \
    "\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": 8, \"strategy\": \"channel\"}, "                           \
    "\"input_activations\": " inputs "}}}"

/* A module of 4 x 64 numbers of 4 bits in groups of 32. */
static void make_plain(file *f)
{
    static numbers x;
    make(f, &kinds[0], &x);
}

static void settings(void **state)
{
    static file f;
    static const struct {
        const char *text;
        sl_status want;
        const char *says;
    } bads[] = {
        { "[]", SL_EFORMAT, "quantization_config: should be an object" },
        { "{\"quant_method\": \"bitsandbytes\"}", SL_EUNSUPPORTED, "\"bitsandbytes\" are not supported; those by" },
        { "{\"quant_method\": 1}", SL_EFORMAT, "quant_method" },
        { "{\"quant_method\": \"compressed-tensors\"}", SL_EFORMAT, "config_groups" },
        { CT(", \"sparsity_config\": {\"format\": \"sparse-24-bitmask\"}", "", ""), SL_EUNSUPPORTED,
          "sparsity_config" },
        { CT(", \"kv_cache_scheme\": {\"num_bits\": 8}", "", ""), SL_EUNSUPPORTED, "kv_cache_scheme" },
        { CT(", \"transform_config\": {\"r\": 1}", "", ""), SL_EUNSUPPORTED, "transform_config" },
        { CT(", \"quantization_status\": \"calibration\"", "", ""), SL_EUNSUPPORTED,
          "\"calibration\" is not supported" },
        { CT(", \"ignore\": \"lm_head\"", "", ""), SL_EFORMAT, "ignore: should be a list of names" },
        { CT(", \"ignore\": [1]", "", ""), SL_EFORMAT, "ignore[0]: should be a name" },
        { CT(", \"ignore\": [\"re:a(\"]", "", ""), SL_EFORMAT, "ignore[0]: no pattern: " },
        { CT(", \"ignore\": [\"re:.\"]", "", ""), SL_EFORMAT, "module m: \"ignore\" names it" },
        { CT("", ", \"num_bits_\": 3", ""), SL_EUNSUPPORTED, "num_bits_" },
        { CT("", ", \"strategy\": \"tensor_group\"", ""), SL_EUNSUPPORTED,
          "strategy: \"tensor_group\" is not supported" },
        { CT("", ", \"strategy\": \"channel\"", ""), SL_EFORMAT, "group_size 32 does not go with strategy channel" },
        { CT("", ", \"type\": \"float\"", ""), SL_EUNSUPPORTED, "type: \"float\" is not supported" },
        { CT("", ", \"symmetric\": \"yes\"", ""), SL_EFORMAT, "symmetric" },
        { CT("", ", \"symmetric\": false", ""), SL_EFORMAT, "weight_zero_point is missing" },
        { CT("", ", \"dynamic\": true", ""), SL_EUNSUPPORTED, "dynamic" },
        { CT("", ", \"actorder\": \"sideways\"", ""), SL_EUNSUPPORTED, "actorder: \"sideways\"" },
        { CT("", "", ", \"format\": \"marlin-24\""), SL_EUNSUPPORTED, "g.format: \"marlin-24\" is not supported" },
        { CT("", "", ", \"format\": \"int-quantized\""), SL_EUNSUPPORTED,
          "num_bits: \"4\" is not supported; 8 bits are, where numbers are not packed" },
        { CT("", "", ", \"format\": \"float-quantized\""), SL_EFORMAT, "weights: type is int, but format float" },
        { INT8("null"), SL_EFORMAT, "it has weight_packed, but its settings say int" },
        { "{\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"g\": {\"targets\": [\"Linear\"], "
          "\"weights\": {\"num_bits\": 4, \"group_size\": 32}}}}",
          SL_EFORMAT, "config_groups.g: \"format\" is missing" },
        { "{\"quant_method\": \"compressed-tensors\", \"format\": \"mixed-precision\", \"config_groups\": {\"g\": {"
          "\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": 4, \"group_size\": 32}}}}",
          SL_EFORMAT, "config_groups.g: \"format\" is missing" },
        { CT("", "", ", \"input_activations\": {\"num_bits\": 8, \"dynamic\": true}"), SL_EUNSUPPORTED,
          "input_activations: is not supported; packed" },
        { CT("", "", ", \"output_activations\": {\"num_bits\": 8}"), SL_EUNSUPPORTED, "output_activations" },
        { CT("", "", ", \"more\": 1"), SL_EUNSUPPORTED, "more" },
        { INT8("{\"num_bits\": 8, \"dynamic\": false}"), SL_EUNSUPPORTED, "static scales of inputs" },
        { INT8("{\"num_bits\": 8}"), SL_EUNSUPPORTED, "static scales of inputs" },
        { INT8("{\"num_bits\": 8, \"dynamic\": true, \"symmetric\": false}"), SL_EUNSUPPORTED,
          "inputs with zero points" },
        { INT8("{\"num_bits\": 4, \"dynamic\": true}"), SL_EUNSUPPORTED,
          "num_bits: \"4\" is not supported; 8 bits are" },
        { INT8("{\"num_bits\": 8, \"dynamic\": true, \"strategy\": \"group\"}"), SL_EUNSUPPORTED,
          "strategy: \"group\"" },
        { INT8("true"), SL_EFORMAT, "input_activations: should be an object" },
        { "{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\", \"config_groups\": {\"g\": "
          "{\"targets\": "
          "[\"re:.*other\"], \"weights\": {\"num_bits\": 4, \"group_size\": 32}}}}",
          SL_EFORMAT, "module m: it is quantised, but none of config_groups" },
        { "{\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"g\": {\"targets\": [\"Linear\"], "
          "\"weights\": "
          "{\"num_bits\": 3, \"group_size\": 32}}}}",
          SL_EUNSUPPORTED, "num_bits: \"3\" is not supported; 4 and 8 bits are" },
        { "{\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"g\": {\"weights\": {\"num_bits\": 4}}}}",
          SL_EFORMAT, "\"targets\" is missing" },
    };
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    make_plain(&f);
    save(&f, &b);
    for (size_t i = 0; i < SL_COUNT(bads); i++) {
        config(&b, bads[i].text);
        check_refused(b.dir, bads[i].want, bads[i].says, NULL);
    }
    static const char *const goods[] = {
        CT("", "", ""),
        CT(", \"ignore\": [\"lm_head\", \"re:.*self_attn.*\"], \"kv_cache_scheme\": null, \"version\": \"0.12\"",
           ", \"actorder\": false, \"strategy\": \"group\", \"dynamic\": false", ", \"input_activations\": null"),
        CT(", \"sparsity_config\": {\"format\": \"dense\"}", ", \"actorder\": \"static\"", ""),
        CT(", \"sparsity_config\": {}, \"transform_config\": {}, \"quantization_status\": \"frozen\"", "", ""),
    };
    for (size_t i = 0; i < SL_COUNT(goods); i++) {
        config(&b, goods[i]);
        sl_weights_close(check_opens(b.dir));
    }
    hf_text(&b, "config.json",
            "{\"model_type\": \"llama\", \"quantization_config\": null, \"compression_config\": {\"format\": "
            "\"pack-quantized\","
            " \"config_groups\": {\"g\": {\"targets\": [\"Linear\"], \"weights\": {\"num_bits\": 4, \"group_size\": "
            "32}}}}}");
    sl_weights *w = check_opens(b.dir);
    assert_non_null(sl_weights_find(w, "m.weight"));
    sl_weights_close(w);
    hf_end(&b);
}

/* The group whose target is the most exact one; a pattern matches from the beginning of a name. */
static void targets(void **state)
{
    static const kind eight = { .bits = 8, .rows = 6, .cols = 64, .group = 32, .scale = "BF16", .shape = "I64" };
    static file f;
    static numbers x;
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    make(&f, &eight, &x); /* which only one of the groups says */
    save(&f, &b);
#define GROUP(name, target, bits)                                                                                      \
    "\"" name "\": {\"targets\": [\"" target "\"], \"weights\": {\"num_bits\": " bits ", \"group_size\": 32}}"
#define GROUPS(list)                                                                                                   \
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"pack-quantized\", \"config_groups\": {" list "}}"
    static const char *const goods[] = {
        GROUPS(GROUP("a", "Linear", "4") ", " GROUP("b", "re:m$", "8")),
        GROUPS(GROUP("a", "re:.*", "4") ", " GROUP("b", "m", "8")),
        GROUPS(GROUP("a", "m", "8") ", " GROUP("b", "re:m", "4")),
        GROUPS(GROUP("a", "Linear", "8") ", " GROUP("b", "re:^weight", "4")),
        GROUPS(GROUP("a", "Linear", "8") ", " GROUP("b", "Linear", "4")),
    };
    for (size_t i = 0; i < SL_COUNT(goods); i++) {
        config(&b, goods[i]);
        sl_weights *w = check_opens(b.dir);
        assert_int_equal(sl_weights_find(w, "m.weight")->tensor.format, SL_FORMAT_INT8);
        sl_weights_close(w);
    }
    config(&b, GROUPS(GROUP("a", "re:(m*)*(m*)*(m*)*(m*)*(m*)*$.x", "8")));
    check_refused(b.dir, SL_EFORMAT, "none of config_groups", NULL);
    hf_end(&b);
}

/* ---- tensors ---------------------------------------------------------------------------------- */

/* One part in place of what make_plain puts, or one more. */
typedef struct change {
    const char *name, *dtype, *shape;
    size_t bytes;
    uint32_t fill; /* each word */
    sl_status want;
    const char *says;
} change;

static void apply(file *f, const change *c)
{
    static uint32_t zero[4096];
    file old = *f;
    *f = (file){ 0 };
    /* the parts of kinds[0] again, without the one that is to be another */
    static const struct {
        const char *name, *dtype, *shape;
        size_t at, n;
    } parts[] = { { "m.weight_packed", "I32", "5, 8", 4, 160 },
                  { "m.weight_scale", "BF16", "5, 2", 164, 20 },
                  { "m.weight_shape", "I32", "2", 184, 8 } };
    for (size_t i = 0; i < SL_COUNT(parts); i++)
        if (strcmp(parts[i].name, c->name) != 0)
            put(f, parts[i].name, parts[i].dtype, parts[i].shape, old.data + parts[i].at, parts[i].n);
    for (size_t i = 0; i < SL_COUNT(zero); i++)
        zero[i] = c->fill;
    if (c->dtype)
        put(f, c->name, c->dtype, c->shape, zero, c->bytes);
}

static void tensors(void **state)
{
    static file f;
    static const change changes[] = {
        { "m.weight_packed", "I64", "5, 8", 320, 0, SL_EFORMAT, "weight_packed is I64, not I32" },
        { "m.weight_packed", "I32", "5, 4, 2", 160, 0, SL_EFORMAT,
          "weight_packed is [5, 4, 2], where [?, ?] is wanted" },
        { "m.weight_packed", "I32", "5, 9", 180, 0, SL_EFORMAT, "weight_shape [5, 64] does not fit 5 rows of 9 words" },
        { "m.weight_packed", "I32", "5, 7", 140, 0, SL_EFORMAT, "does not fit 5 rows of 7 words" },
        { "m.weight_packed", "I32", "6, 8", 192, 0, SL_EFORMAT, "does not fit 6 rows" },
        { "m.weight_packed", NULL, NULL, 0, 0, SL_EFORMAT, "but no numbers that it belongs to" },
        { "m.weight", "BF16", "5, 64", 640, 0, SL_EFORMAT, "has both" },
        { "m.weight_scale", NULL, NULL, 0, 0, SL_EFORMAT, "module m: weight_scale is missing" },
        { "m.weight_scale", "BF16", "5, 3", 30, 0, SL_EFORMAT,
          "num_bits 4 and group_size 32 make 64 columns in 2 groups: weight_scale is [5, 3], where [5, 2] is wanted" },
        { "m.weight_scale", "BF16", "2, 5", 20, 0, SL_EFORMAT, "[5, 2] is wanted" },
        { "m.weight_scale", "BF16", "10", 20, 0, SL_EFORMAT, "weight_scale is [10], where [5, 2] is wanted" },
        { "m.weight_scale", "F8_E4M3", "5, 2", 10, 0, SL_EFORMAT, "weight_scale is F8_E4M3; scales are" },
        { "m.weight_shape", "I32", "3", 12, 0, SL_EFORMAT, "weight_shape" },
        { "m.weight_shape", "F32", "2", 8, 0, SL_EFORMAT, "weight_shape is F32" },
        { "m.weight_shape", "I64", "2", 16, UINT32_MAX, SL_EFORMAT, "weight_shape [-1, -1] does not fit" },
        { "m.weight_shape", "I32", "2", 8, (uint32_t)-64, SL_EFORMAT, "weight_shape [-64, -64] does not fit" },
        { "m.weight_packed", "I32", "40", 160, 0, SL_EFORMAT, "weight_packed is [40], where [?, ?] is wanted" },
        { "m.weight_shape", "I32", "2", 8, 0, SL_EFORMAT, "weight_shape [0, 0] does not fit" },
        { "m.weight_shape", "I32", "2", 8, 64, SL_EFORMAT, "weight_shape [64, 64] does not fit" },
        { "m.weight_g_idx", "I32", "64", 256, 2, SL_EFORMAT, "weight_g_idx: column 0 is in group 2 of 2" },
        { "m.weight_g_idx", "I32", "64", 256, 0x80000000u, SL_EFORMAT,
          "weight_g_idx: column 0 is in group -2147483648" },
        { "m.weight_g_idx", "I32", "63", 252, 0, SL_EFORMAT, "weight_g_idx is [63], where [64] is wanted" },
        { "m.weight_g_idx", "I64", "64", 512, 0, SL_EFORMAT, "weight_g_idx is I64" },
        { "m.weight_zero_point", "I32", "1, 2", 8, 0x00078888u, SL_EFORMAT,
          "weight_zero_point has zero points, but \"symmetric\" is true" },
        { "m.weight_zero_point", "I32", "1, 2", 8, 0x00008888u, SL_EFORMAT, "has zero points, but" },
        { "m.weight_zero_point", "I32", "2, 1", 8, 0x88888888u, SL_EFORMAT, "has zero points, but" },
        { "m.weight_zero_point", "I8", "5, 2", 10, 50, SL_EFORMAT, "has zero points, but" },
        { "m.input_scale", "F32", "1", 4, 0, SL_EUNSUPPORTED, "static scales of inputs (input_scale)" },
        { "n.weight_scale", "F32", "1", 4, 0, SL_EFORMAT, "module n has weight_scale, but no numbers" },
        /* and what is fine */
        { "m.weight_shape", NULL, NULL, 0, 0, SL_OK, NULL },
        { "m.weight_g_idx", "I32", "64", 256, UINT32_MAX, SL_OK, NULL },
        { "m.weight_g_idx", "I32", "64", 256, 1, SL_OK, NULL },
        /* beside symmetric numbers: what says nothing */
        { "m.weight_zero_point", "I32", "1, 2", 8, 0, SL_OK, NULL },
        { "m.weight_zero_point", "I32", "1, 2", 8, 0x88888888u, SL_OK, NULL },
        { "m.weight_zero_point", "I32", "1, 2", 8, 0x00088888u, SL_OK, NULL },
        { "m.weight_zero_point", "I8", "5, 2", 10, 0, SL_OK, NULL },
        { "m.bias", "F32", "5", 20, 0, SL_OK, NULL },
    };
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    config(&b, CT("", "", ""));
    for (size_t i = 0; i < SL_COUNT(changes); i++) {
        make_plain(&f);
        apply(&f, &changes[i]);
        save(&f, &b);
        if (changes[i].want)
            check_refused(b.dir, changes[i].want, changes[i].says, "module ");
        else
            sl_weights_close(check_opens(b.dir));
    }
    hf_end(&b);
}

/* A scale that is no number is found by a check of all weights, with its place. */
static void broken_scale(void **state)
{
    static file f;
    static const change none = { "m.weight_scale", NULL, NULL, 0, 0, SL_OK, NULL };
    uint16_t scales[10] = { 0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x7fc0, 0x3f80, 0x3f80 };
    hf_build b = { 0 };
    sl_err err = { 0 };
    (void)state;
    hf_begin(&b);
    config(&b, CT("", "", ""));
    make_plain(&f);
    apply(&f, &none);
    put(&f, "m.weight_scale", "BF16", "5, 2", scales, sizeof scales);
    save(&f, &b);
    sl_weights *w = check_opens(b.dir);
    assert_int_equal(sl_weights_check(w, NULL, NULL, &err), SL_EFORMAT);
    check_says(&err, "tensor m.weight (INT4): row 3, from column 32 on");
    sl_weights_close(w);
    hf_end(&b);
}

/* W8A8 that calls itself symmetric. */
static void zero_points_of_bytes(void **state)
{
    static const signed char zero[2][4] = { { 0 }, { 0, 0, 50, 0 } };
    static file f;
    static numbers x;
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    config(&b, INT8("null"));
    for (size_t i = 0; i < 2; i++) {
        static const kind bytes = { .bits = 8, .rows = 4, .cols = 96, .scale = "BF16", .plain = true };
        make(&f, &bytes, &x);
        put(&f, "m.weight_zero_point", "I8", "4, 1", zero[i], 4);
        save(&f, &b);
        if (i)
            check_refused(b.dir, SL_EFORMAT, "weight_zero_point has zero points, but \"symmetric\" is true",
                          "module m");
        else
            sl_weights_close(check_opens(b.dir));
    }
    hf_end(&b);
}

/* A list that is sound but for one column. */
static void half_a_list(void **state)
{
    static file f;
    static const change none = { "m.weight_g_idx", NULL, NULL, 0, 0, SL_OK, NULL };
    int32_t list[64] = { -1, 1 };
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    config(&b, CT("", "", ""));
    make_plain(&f);
    apply(&f, &none);
    put(&f, "m.weight_g_idx", "I32", "64", list, sizeof list);
    save(&f, &b);
    check_refused(b.dir, SL_EFORMAT, "weight_g_idx: column ", "in group -1 of 2");
    hf_end(&b);
}

static void no_memory(void **state)
{
    static file f;
    hf_build b = { 0 };
    long n = 0;
    (void)state;
    hf_begin(&b);
    config(&b, CT(", \"ignore\": [\"re:.*x\"]", "", ""));
    make_plain(&f);
    save(&f, &b);
    for (sl_status rc = SL_ENOMEM; rc; n++) {
        sl_weights *w = NULL;
        sl_err err = { 0 };
        sl_mem_fail_after(n);
        rc = sl_weights_open(&w, b.dir, &err);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_OK || rc == SL_ENOMEM);
        sl_weights_close(w);
    }
    assert_true(n > 10);
    hf_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_kind),
                                        cmocka_unit_test(settings),
                                        cmocka_unit_test(targets),
                                        cmocka_unit_test(tensors),
                                        cmocka_unit_test(half_a_list),
                                        cmocka_unit_test(no_memory),
                                        cmocka_unit_test(zero_points_of_bytes),
                                        cmocka_unit_test(broken_scale) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
