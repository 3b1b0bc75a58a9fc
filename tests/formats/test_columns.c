/* test_columns.c - folders of GPTQ, AWQ and FP8: what their settings and the shapes of their tensors make of a module,
 * and what is refused. Their numbers are tested in tests/quant and against published runs. */
#include "formats/check.h"

#include <stdio.h>
#include "base/num.h"
#include "formats/weights.h"
#include "support/hf_build.h"

#define GPTQ(more)  "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 32" more "}"
#define GPTQ8(more) "{\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": 32" more "}"
#define AWQ(more)   "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32, \"version\": \"gemm\"" more "}"
#define FP8(more)   "{\"quant_method\": \"fp8\"" more "}"
#define BLOCKS      ", \"weight_block_size\": [128, 128]"
#define CT(weights)                                                                                                    \
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"float-quantized\", \"config_groups\": {\"g\": "          \
    "{\"targets\": [\"Linear\"], \"weights\": {\"type\": \"float\", \"num_bits\": 8" weights                           \
    "}, \"input_activations\": {\"type\": \"float\", \"num_bits\": 8, \"dynamic\": false}}}}"

/* A module of 16 outputs and 64 inputs. */
#define G_WEIGHT "qweight I32 8,16;"
#define G_ZEROS  "qzeros I32 2,2;"
#define G_SCALES "scales F16 2,16;"
#define A_WEIGHT "qweight I32 64,2;"
#define F_WEIGHT "weight F8_E4M3 16,64;"

/* Parts of module m, "NAME DTYPE SHAPE;", full of zeros. */
static void write_parts(const hf_build *b, const char *parts)
{
    char header[4096] = "{";
    size_t at = 1, end = 0;
    for (const char *p = parts; *p; p = strchr(p, ';') + 1) {
        char name[32], dtype[16], shape[32];
        unsigned d[3] = { 1, 1, 1 };
        assert_int_equal(sscanf(p, "%31[^ ] %15[^ ] %31[^;]", name, dtype, shape), 3);
        sscanf(shape, "%u,%u,%u", &d[0], &d[1], &d[2]);
        const size_t size = strstr(dtype, "64") ? 8 : strstr(dtype, "32") ? 4 : strstr(dtype, "16") ? 2 : 1;
        const size_t begin = end;
        end += d[0] * d[1] * d[2] * size;
        at += (size_t)snprintf(header + at, sizeof header - at,
                               "%s\"m.%s\": {\"dtype\": \"%s\", \"shape\": [%s], \"data_offsets\": [%zu, %zu]}",
                               at > 1 ? ", " : "", name, dtype, shape, begin, end);
    }
    snprintf(header + at, sizeof header - at, "}");
    hf_safetensors(b, "model.safetensors", header, end);
}

static void write_config(const hf_build *b, const char *quantization)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"model_type\": \"llama\", \"quantization_config\": %s}", quantization);
    hf_text(b, "config.json", text);
}

/* What runs. */
static void accepted(void **state)
{
    static const struct {
        const char *config, *parts;
        sl_format format;
        size_t group, rows; /* that share a scale; 0: not looked at */
        unsigned offset;
    } cases[] = {
        { GPTQ(""), G_WEIGHT G_ZEROS G_SCALES, SL_FORMAT_GPTQ4, 32, 1, 1 },
        { GPTQ(", \"checkpoint_format\": \"gptq_v2\""), G_WEIGHT G_ZEROS G_SCALES, SL_FORMAT_GPTQ4, 32, 1, 0 },
        { GPTQ(", \"sym\": true"), G_WEIGHT "scales BF16 2,16;", SL_FORMAT_GPTQ4, 32, 1, 8 },
        { GPTQ8(""), "qweight I32 16,16;qzeros I32 2,4;" G_SCALES, SL_FORMAT_GPTQ8, 32, 1, 1 },
        { GPTQ8(", \"sym\": true"), "qweight I32 16,16;" G_SCALES, SL_FORMAT_GPTQ8, 32, 1, 128 },
        /* all columns in group 0: no order that groups of neighbours have */
        { GPTQ(", \"desc_act\": true"), G_WEIGHT G_ZEROS G_SCALES "g_idx I32 64;", SL_FORMAT_GPTQ4_ANY, 32, 1, 1 },
        { "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": -1}",
          G_WEIGHT "qzeros I32 1,2;scales F16 1,16;g_idx I32 64;", SL_FORMAT_GPTQ4, 64, 1, 1 },
        { "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 48}", G_WEIGHT G_ZEROS G_SCALES,
          SL_FORMAT_GPTQ4_ANY, 48, 1, 1 },
        { "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128}", G_WEIGHT "qzeros I32 1,2;scales F32 1,16;",
          SL_FORMAT_GPTQ4, 128, 1, 1 },
        { AWQ(""), A_WEIGHT G_ZEROS G_SCALES, SL_FORMAT_AWQ4, 32, 1, 0 },
        { "{\"quant_method\": \"awq\", \"w_bit\": 4, \"q_group_size\": 64, \"zero_point\": true}",
          A_WEIGHT "qzeros I32 1,2;scales F16 1,16;", SL_FORMAT_AWQ4, 64, 1, 0 },
        { FP8(BLOCKS), F_WEIGHT "weight_scale_inv F32 1,1;", SL_FORMAT_F8_E4M3, 128, 128, 0 },
        { FP8(", \"weight_block_size\": [8, 32]"), F_WEIGHT "weight_scale_inv BF16 2,2;", SL_FORMAT_F8_E4M3, 32, 8, 0 },
        { FP8(""), F_WEIGHT "weight_scale F32 1;input_scale F32 1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { FP8(""), F_WEIGHT "weight_scale F32 16,1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { FP8(""), "weight BF16 16,64;", SL_FORMAT_BF16, 0, 0, 0 },
        { CT(", \"strategy\": \"tensor\""), F_WEIGHT "weight_scale BF16 1;input_scale BF16 1;", SL_FORMAT_F8_E4M3, 0, 1,
          0 },
        { CT(", \"strategy\": \"channel\""), F_WEIGHT "weight_scale BF16 16,1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { CT(", \"strategy\": \"block\", \"block_structure\": [8, 32]"), F_WEIGHT "weight_scale F32 2,2;",
          SL_FORMAT_F8_E4M3, 32, 8, 0 },
    };
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        write_config(&b, cases[i].config);
        write_parts(&b, cases[i].parts);
        sl_weights *w = check_opens(b.dir);
        const sl_weight_info *t = sl_weights_find(w, "m.weight");
        assert_non_null(t);
        assert_int_equal(sl_weights_count(w), 1);
        assert_int_equal(t->tensor.format, cases[i].format);
        assert_string_equal(t->type, sl_format_name(cases[i].format));
        assert_true(t->tensor.rows == 16 && t->tensor.cols == 64 && t->dims[0] == 64 && t->dims[1] == 16);
        if (cases[i].group)
            assert_int_equal(t->tensor.scales.group, cases[i].group);
        assert_int_equal(t->tensor.scales.rows, cases[i].rows);
        assert_int_equal(t->tensor.scales.offset, cases[i].offset);
        sl_weights_close(w);
    }
    hf_end(&b);
}

static void refused(void **state)
{
    static const struct {
        const char *config, *parts;
        sl_status want;
        const char *says;
    } cases[] = {
        { "{\"quant_method\": \"gptq\"}", "", SL_EFORMAT, "bits" },
        { "{\"quant_method\": \"gptq\", \"bits\": 3, \"group_size\": 32}", "", SL_EUNSUPPORTED,
          "bits: numbers of 3 bits are not supported; those of 4 and 8 are" },
        { "{\"quant_method\": \"awq\", \"bits\": 8, \"group_size\": 32}", "", SL_EUNSUPPORTED, "those of 4 are" },
        { "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 0}", "", SL_EFORMAT, "group_size: 0 is" },
        { GPTQ(", \"checkpoint_format\": \"marlin\""), "", SL_EUNSUPPORTED, "\"marlin\" is not supported; gptq" },
        { GPTQ(", \"is_marlin_format\": true"), "", SL_EUNSUPPORTED, "is_marlin_format" },
        { GPTQ(", \"dynamic\": {\"+:x\": {\"bits\": 8}}"), "", SL_EUNSUPPORTED, "dynamic" },
        { GPTQ(", \"pack_dtype\": \"int16\""), "", SL_EUNSUPPORTED, "\"int16\" is not supported; int32 is" },
        { AWQ(", \"zero_point\": false"), "", SL_EUNSUPPORTED, "zero_point" },
        { "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32, \"version\": \"gemv\"}", "", SL_EUNSUPPORTED,
          "\"gemv\" is not supported; gemm is" },
        { GPTQ(""), G_WEIGHT G_ZEROS, SL_EFORMAT, "module m: scales is missing" },
        { GPTQ(", \"sym\": false"), G_WEIGHT G_SCALES, SL_EFORMAT, "qzeros is missing" },
        { GPTQ(", \"desc_act\": true"), G_WEIGHT G_ZEROS G_SCALES, SL_EFORMAT, "g_idx is missing" },
        { GPTQ(""), "qweight I64 8,16;" G_ZEROS G_SCALES, SL_EFORMAT, "qweight is I64, not I32" },
        { GPTQ(""), "qweight I32 8,4,4;" G_ZEROS G_SCALES, SL_EFORMAT, "qweight has 3 dimensions" },
        { GPTQ(""), "qweight I32 8,15;" G_ZEROS G_SCALES, SL_EUNSUPPORTED, "outputs are supported in multiples of 8" },
        { GPTQ(""), "qweight I32 9,16;" G_ZEROS G_SCALES, SL_EFORMAT,
          "scales has 2 dimensions and is [2, 16], where [3" },
        { GPTQ(""), G_WEIGHT "qzeros I32 2,3;" G_SCALES, SL_EFORMAT, "qzeros has 2 dimensions and is [2, 3]" },
        { GPTQ(""), G_WEIGHT G_ZEROS "scales I32 2,16;", SL_EFORMAT, "scales is I32; scales are" },
        { GPTQ(""), G_WEIGHT G_ZEROS G_SCALES "g_idx I32 63;", SL_EFORMAT, "g_idx has" },
        { GPTQ(""), G_ZEROS G_SCALES, SL_EFORMAT, "but no numbers that it belongs to" },
        { GPTQ(""), G_WEIGHT G_ZEROS G_SCALES "weight F16 16,64;", SL_EFORMAT, "m.weight is there twice" },
        { AWQ(""), A_WEIGHT G_ZEROS G_SCALES "g_idx I32 64;", SL_EFORMAT, "which AWQ does not have" },
        { AWQ(""), "qweight I32 63,2;" G_ZEROS G_SCALES, SL_EUNSUPPORTED, "63 columns in groups of 32; multiples" },
        { AWQ(""), A_WEIGHT G_SCALES, SL_EFORMAT, "qzeros is missing" },
        { FP8(", \"fmt\": \"e5m2\""), "", SL_EUNSUPPORTED, "\"e5m2\" is not supported; e4m3 is" },
        { FP8(", \"weight_block_size\": [128]"), "", SL_EFORMAT, "weight_block_size: should be two" },
        { FP8(", \"weight_block_size\": [128, 40]"), "", SL_EUNSUPPORTED, "blocks of 40 columns" },
        { FP8(BLOCKS), F_WEIGHT, SL_EFORMAT, "weight_scale_inv is missing: weight_block_size is given" },
        { FP8(""), F_WEIGHT "weight_scale_inv F32 1,1;", SL_EFORMAT, "weight_scale is missing" },
        { FP8(BLOCKS), F_WEIGHT "weight_scale_inv F32 1,2;", SL_EFORMAT, "weight_scale_inv has 2 dimensions" },
        { FP8(BLOCKS), "weight BF16 16,64;weight_scale_inv F32 1,1;", SL_EFORMAT, "weight is BF16, but there is" },
        { FP8(""), "weight F8_E5M2 16,64;weight_scale F32 1;", SL_EFORMAT, "weight is F8_E5M2, not F8_E4M3" },
        { FP8(""), F_WEIGHT "weight_scale F32 15,1;", SL_EFORMAT, "weight_scale has" },
        { CT(", \"strategy\": \"channel\""), F_WEIGHT, SL_EFORMAT, "weight_scale is missing" },
        { CT(", \"strategy\": \"group\""), F_WEIGHT, SL_EUNSUPPORTED, "\"group\" is not supported; tensor, channel" },
        { CT(", \"strategy\": \"block\", \"block_structure\": [8, 31]"), "", SL_EUNSUPPORTED, "block_structure" },
        { CT(", \"strategy\": \"channel\""), "weight I8 16,64;weight_scale F32 16,1;", SL_EFORMAT, "weight is I8" },
    };
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        write_config(&b, cases[i].config);
        write_parts(&b, *cases[i].parts ? cases[i].parts : "other F32 1;");
        check_refused(b.dir, cases[i].want, cases[i].says, NULL);
    }
    hf_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(accepted), cmocka_unit_test(refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
