/* test_columns.c - folders of GPTQ, AWQ and FP8: what their settings and the shapes of their tensors make of a module,
 * and what is refused. Their numbers are tested in tests/quant and against published runs. */
#include "formats/check.h"

#include <stdio.h>
#include "base/num.h"
#include "formats/name_list.h"
#include "formats/weights.h"
#include "support/hf_build.h"

#define GPTQ(more)  "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 32" more "}"
#define GPTQ8(more) "{\"quant_method\": \"gptq\", \"bits\": 8, \"group_size\": 32" more "}"
#define AWQ(more)   "{\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 32, \"version\": \"gemm\"" more "}"
#define FP8(more)   "{\"quant_method\": \"fp8\"" more "}"
#define BLOCKS      ", \"weight_block_size\": [128, 128]"
#define CT_INPUTS(weights, inputs)                                                                                     \
    "{\"quant_method\": \"compressed-tensors\", \"format\": \"float-quantized\", \"config_groups\": {\"g\": "          \
    "{\"targets\": [\"Linear\"], \"weights\": {\"type\": \"float\", \"num_bits\": 8" weights                           \
    "}, \"input_activations\": {\"type\": \"float\", \"num_bits\": 8" inputs "}}}}"
#define CT(weights) CT_INPUTS(weights, ", \"dynamic\": false")
#define DYNAMIC     ", \"dynamic\": true"

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
        { FP8(", \"activation_scheme\": \"static\""), F_WEIGHT "weight_scale F32 1;input_scale F32 1;",
          SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { FP8(BLOCKS ", \"activation_scheme\": \"dynamic\", \"modules_to_not_convert\": [\"mm\"]"),
          F_WEIGHT "weight_scale_inv F32 1,1;", SL_FORMAT_F8_E4M3_128, 128, 128, 0 },
        /* inputs that are rounded in another way than in 128 columns stay as they are */
        { FP8(", \"weight_block_size\": [8, 32], \"activation_scheme\": \"dynamic\""),
          F_WEIGHT "weight_scale_inv BF16 2,2;", SL_FORMAT_F8_E4M3, 32, 8, 0 },
        { FP8(", \"weight_block_size\": [64, 128], \"activation_scheme\": \"dynamic\""),
          F_WEIGHT "weight_scale_inv F32 1,1;", SL_FORMAT_F8_E4M3_128, 128, 64, 0 },
        { FP8(", \"activation_scheme\": \"dynamic\""), F_WEIGHT "weight_scale F32 16,1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { FP8(BLOCKS ", \"activation_scheme\": \"dynamic\", \"scale_fmt\": \"ue8m0\""),
          F_WEIGHT "weight_scale_inv F32 1,1;", SL_FORMAT_F8_E4M3_UE8M0, 128, 128, 0 },
        { FP8(BLOCKS ", \"activation_scheme\": \"static\""), F_WEIGHT "weight_scale_inv F32 1,1;input_scale F32 1;",
          SL_FORMAT_F8_E4M3, 128, 128, 0 },
        { FP8(", \"modules_to_not_convert\": [\"m\"]"), "weight BF16 16,64;", SL_FORMAT_BF16, 0, 0, 0 },
        { AWQ(", \"modules_to_not_convert\": [\"visual\", \"x.m\", \"m.x\"]"), A_WEIGHT G_ZEROS G_SCALES,
          SL_FORMAT_AWQ4, 32, 1, 0 },
        { CT(", \"strategy\": \"tensor\""), F_WEIGHT "weight_scale BF16 1;input_scale BF16 1;", SL_FORMAT_F8_E4M3, 0, 1,
          0 },
        { CT(", \"strategy\": \"channel\""), F_WEIGHT "weight_scale BF16 16,1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { CT(", \"strategy\": \"block\", \"block_structure\": [8, 32]"), F_WEIGHT "weight_scale F32 2,2;",
          SL_FORMAT_F8_E4M3, 32, 8, 0 },
        { CT_INPUTS(", \"strategy\": \"channel\"", DYNAMIC ", \"strategy\": \"token\", \"symmetric\": true"),
          F_WEIGHT "weight_scale BF16 16,1;", SL_FORMAT_F8_E4M3_TOKEN, 0, 1, 0 },
        { CT_INPUTS(", \"strategy\": \"block\", \"block_structure\": [128, 128]",
                    DYNAMIC ", \"strategy\": \"group\", \"group_size\": 128"),
          F_WEIGHT "weight_scale F32 1,1;", SL_FORMAT_F8_E4M3_128, 128, 128, 0 },
        { CT_INPUTS(", \"strategy\": \"channel\"", DYNAMIC ", \"strategy\": \"group\", \"group_size\": 64"),
          F_WEIGHT "weight_scale BF16 16,1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { CT_INPUTS(", \"strategy\": \"channel\"", DYNAMIC ", \"strategy\": \"token\", \"symmetric\": false"),
          F_WEIGHT "weight_scale BF16 16,1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { CT_INPUTS(", \"strategy\": \"channel\"", ", \"dynamic\": \"local\", \"strategy\": \"token\""),
          F_WEIGHT "weight_scale BF16 16,1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
        { CT_INPUTS(", \"strategy\": \"tensor\"", DYNAMIC ", \"strategy\": \"tensor\""),
          F_WEIGHT "weight_scale BF16 1;", SL_FORMAT_F8_E4M3, 0, 1, 0 },
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
        { GPTQ(""), "qweight I32 8,4,4;" G_ZEROS G_SCALES, SL_EFORMAT, "qweight is [8, 4, 4], where [?, ?] is wanted" },
        { GPTQ(""), "qweight I32 8,15;" G_ZEROS G_SCALES, SL_EUNSUPPORTED, "outputs are supported in multiples of 8" },
        { GPTQ(""), "qweight I32 9,16;" G_ZEROS G_SCALES, SL_EFORMAT,
          "bits 4 and group_size 32 make 72 columns in 3 groups: scales is [2, 16], where [3, 16] is wanted" },
        { GPTQ(""), G_WEIGHT "qzeros I32 2,3;" G_SCALES, SL_EFORMAT, "qzeros is [2, 3], where [2, 2] is wanted" },
        { GPTQ(""), G_WEIGHT G_ZEROS "scales I32 2,16;", SL_EFORMAT, "scales is I32; scales are" },
        { GPTQ(""), G_WEIGHT G_ZEROS G_SCALES "g_idx I32 63;", SL_EFORMAT, "g_idx is [63], where [64] is wanted" },
        { GPTQ(""), G_ZEROS G_SCALES, SL_EFORMAT, "but no numbers that it belongs to" },
        { GPTQ(""), G_WEIGHT G_ZEROS G_SCALES "weight F16 16,64;", SL_EFORMAT, "m.weight is there twice" },
        { AWQ(""), A_WEIGHT G_ZEROS G_SCALES "g_idx I32 64;", SL_EFORMAT, "which AWQ does not have" },
        { AWQ(""), "qweight I32 63,2;" G_ZEROS G_SCALES, SL_EUNSUPPORTED, "63 columns in groups of 32; multiples" },
        { AWQ(""), A_WEIGHT G_SCALES, SL_EFORMAT, "qzeros is missing" },
        { FP8(", \"fmt\": \"e5m2\""), "", SL_EUNSUPPORTED, "\"e5m2\" is not supported; e4m3 and float8_e4m3fn are" },
        { FP8(", \"weight_block_size\": [128]"), "", SL_EFORMAT, "weight_block_size: should be two" },
        { FP8(", \"weight_block_size\": [128, 40]"), "", SL_EUNSUPPORTED, "blocks of 40 columns" },
        { FP8(BLOCKS), F_WEIGHT, SL_EFORMAT, "weight_scale_inv is missing: weight_block_size is given" },
        { FP8(""), F_WEIGHT "weight_scale_inv F32 1,1;", SL_EFORMAT, "weight_scale is missing" },
        { FP8(BLOCKS), F_WEIGHT "weight_scale_inv F32 1,2;", SL_EFORMAT,
          "weight_block_size [128, 128] of a weight [16, 64]: weight_scale_inv is [1, 2], where [1, 1]" },
        { FP8(BLOCKS), "weight BF16 16,64;weight_scale_inv F32 1,1;", SL_EFORMAT, "weight is BF16, but there is" },
        { FP8(""), "weight F8_E5M2 16,64;weight_scale F32 1;", SL_EFORMAT, "weight is F8_E5M2, not F8_E4M3" },
        { FP8(""), F_WEIGHT "weight_scale F32 15,1;", SL_EFORMAT, "weight_scale is [15, 1], where [16, 1] is wanted" },
        { CT(", \"strategy\": \"channel\""), F_WEIGHT, SL_EFORMAT, "weight_scale is missing" },
        /* the wrong tensor is blamed for its shape, and the settings for what they ask for */
        { GPTQ(""), "qweight I32 128;" G_ZEROS G_SCALES, SL_EFORMAT, "qweight is [128], where [?, ?] is wanted" },
        { GPTQ(""), G_WEIGHT G_ZEROS G_SCALES "g_idx I32 0;", SL_EFORMAT, "g_idx is [0], where [64] is wanted" },
        { GPTQ(""), G_WEIGHT G_ZEROS "scales F16 32;", SL_EFORMAT, "scales is [32], where [2, 16] is wanted" },
        { GPTQ8(""), G_WEIGHT G_ZEROS G_SCALES, SL_EFORMAT,
          "bits 8 and group_size 32 make 32 columns in 1 group: scales" },
        { "{\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 16}", G_WEIGHT G_ZEROS G_SCALES, SL_EFORMAT,
          "bits 4 and group_size 16 make 64 columns in 4 groups: scales is [2, 16], where [4, 16] is wanted" },
        { "{\"quant_method\": \"awq\", \"w_bit\": 4, \"q_group_size\": 64}", A_WEIGHT G_ZEROS G_SCALES, SL_EFORMAT,
          "w_bit 4 and q_group_size 64 make 64 columns in 1 group: scales" },
        { FP8(BLOCKS), "weight F8_E4M3 1024;weight_scale_inv F32 1,1;", SL_EFORMAT, "weight is [1024], where [?, ?]" },
        { "{\"quant_method\": \"awq\", \"group_size\": 32}", "", SL_EFORMAT, "\"bits\" is missing" },
        { "{\"quant_method\": \"awq\", \"w_bit\": 4}", "", SL_EFORMAT, "\"group_size\" is missing" },
        { AWQ(", \"modules_to_not_convert\": [3]"), "", SL_EFORMAT, "modules_to_not_convert[0]: should be a name" },
        { AWQ(", \"modules_to_not_convert\": [\"\"]"), "", SL_EFORMAT, "modules_to_not_convert[0]: should be a name" },
        { AWQ(", \"modules_to_not_convert\": \"lm_head\""), "", SL_EFORMAT, "should be a list of names" },
        { AWQ(", \"modules_to_not_convert\": [\"x\", \"m\"]"), A_WEIGHT G_ZEROS G_SCALES, SL_EFORMAT,
          "module m: \"modules_to_not_convert\" names it, but it is quantised" },
        { FP8(", \"modules_to_not_convert\": [\"m\"]"), F_WEIGHT "weight_scale F32 1;", SL_EFORMAT,
          "\"modules_to_not_convert\" names it" },
        { FP8(", \"ignored_layers\": [\"m\"]"), F_WEIGHT "weight_scale F32 1;", SL_EFORMAT,
          "\"ignored_layers\" names it" },
        { FP8(", \"ignored_layers\": {}"), "", SL_EFORMAT, "ignored_layers: should be a list" },
        { FP8(", \"activation_scheme\": \"x\""), "", SL_EUNSUPPORTED,
          "\"x\" is not supported; dynamic and static are" },
        { FP8(", \"activation_scheme\": 1"), "", SL_EFORMAT, "activation_scheme: should be a string" },
        { FP8(BLOCKS ", \"activation_scheme\": \"static\""), F_WEIGHT "weight_scale_inv F32 1,1;", SL_EFORMAT,
          "input_scale is missing: activation_scheme is static" },
        { FP8(", \"activation_scheme\": \"dynamic\""), F_WEIGHT "weight_scale F32 1;input_scale F32 1;", SL_EFORMAT,
          "input_scale is there: activation_scheme is dynamic" },
        /* no settings */
        { "null", G_WEIGHT G_ZEROS G_SCALES, SL_EFORMAT,
          "module m has qweight, but config.json has no quantization_config, and there is no quantize_config.json or" },
        { "null", G_SCALES "weight_packed I32 16,8;", SL_EFORMAT,
          "module m has weight_packed, but config.json has no" },
        { "null", F_WEIGHT "weight_scale_inv F32 1,1;", SL_EFORMAT, "module m has weight_scale_inv, but config.json" },
        { "null", "weight I8 16,64;weight_scale F32 16,1;", SL_EFORMAT, "module m has weight_scale, but config.json" },
        { "null", "w_blocks U8 2,2,16;w_scales U8 2,2;", SL_EFORMAT, "module m.w has blocks, but config.json" },
        { CT(", \"strategy\": \"group\""), F_WEIGHT, SL_EUNSUPPORTED, "\"group\" is not supported; tensor, channel" },
        { CT(", \"strategy\": \"block\", \"block_structure\": [8, 31]"), "", SL_EUNSUPPORTED, "block_structure" },
        { CT_INPUTS("", DYNAMIC ", \"strategy\": \"group\", \"group_size\": \"x\""), "", SL_EFORMAT, "group_size" },
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

/* Folders from before config.json had the settings. */
static void settings_beside(void **state)
{
    hf_build b = { 0 };
    (void)state;
    hf_begin(&b);
    write_config(&b, "null");
    write_parts(&b, G_WEIGHT G_ZEROS G_SCALES);
    hf_text(&b, "quantize_config.json", "{\"bits\": 4, \"group_size\": 32, \"desc_act\": false, \"sym\": true}");
    sl_weights *w = check_opens(b.dir);
    assert_int_equal(sl_weights_find(w, "m.weight")->tensor.format, SL_FORMAT_GPTQ4);
    char path[128];
    snprintf(path, sizeof path, "%s/quantize_config.json", b.dir);
    assert_true(sl_weights_has_file(w, path));
    sl_weights_close(w);
    hf_text(&b, "quantize_config.json", "{\"bits\": 3, \"group_size\": 32}");
    check_refused(b.dir, SL_EUNSUPPORTED, "/quantize_config.json: bits: numbers of 3 bits", NULL);
    hf_text(&b, "quantize_config.json", "[]");
    check_refused(b.dir, SL_EFORMAT, "/quantize_config.json: not a JSON object", NULL);
    hf_text(&b, "quantize_config.json", "{\"quant_method\": \"new\"}");
    check_refused(b.dir, SL_EUNSUPPORTED, "/quantize_config.json: quant_method: checkpoints quantised by \"new\"",
                  NULL);
    /* what config.json says counts */
    write_config(&b, GPTQ(""));
    sl_weights_close(check_opens(b.dir));
    /* and a plain folder needs neither */
    write_config(&b, "null");
    write_parts(&b, "weight F32 16,64;");
    sl_weights_close(check_opens(b.dir));

    hf_remove(&b, "quantize_config.json");
    write_parts(&b, A_WEIGHT G_ZEROS G_SCALES);
    hf_text(&b, "quant_config.json",
            "{\"zero_point\": true, \"q_group_size\": 32, \"w_bit\": 4, \"version\": \"GEMM\"}");
    w = check_opens(b.dir);
    assert_int_equal(sl_weights_find(w, "m.weight")->tensor.format, SL_FORMAT_AWQ4);
    sl_weights_close(w);
    hf_end(&b);
}

/* Whole words of a module's name, one behind the other. */
static void left_out(void **state)
{
    static const struct {
        const char *entry, *module;
        bool has;
    } cases[] = {
        { "mlp.gate", "model.layers.3.mlp.gate", true },
        { "mlp.gate", "model.layers.3.mlp.gate_proj", false },
        { "gate", "model.layers.3.mlp.up_gate", false },
        { "mlp", "model.layers.3.mlp.gate_proj", true },
        { "model.layers.3", "model.layers.3.mlp.gate", true },
        { "model.layers.3", "model.layers.30.mlp.gate", false },
        { "model.layers.*.mlp.router", "model.layers.30.mlp.router", true },
        { "model.layers.*.mlp.router", "model.layers.30.mlp.experts", false },
        { "layers.*", "layers", false },
        { "*", "lm_head", true },
        { "lm_head", "lm_head", true },
        { "lm_head.x", "lm_head", false },
        { "x.lm_head", "lm_head", false },
    };
    (void)state;
    for (size_t i = 0; i < SL_COUNT(cases); i++) {
        char text[128];
        sl_json_doc doc = { 0 };
        sl_err err = { 0 };
        const sl_json *list = NULL;
        snprintf(text, sizeof text, "{\"l\": [\"else\", \"%s\"]}", cases[i].entry);
        assert_int_equal(sl_json_parse(&doc, text, strlen(text), &err), SL_OK);
        assert_int_equal(sl_left_out_open(doc.root, "l", &list, &err), SL_OK);
        const sl_bytes module = { cases[i].module, strlen(cases[i].module) };
        if (sl_left_out_check(list, module, &err) != (cases[i].has ? SL_EFORMAT : SL_OK))
            fail_msg("%s in %s: should %sbe", cases[i].entry, cases[i].module, cases[i].has ? "" : "not ");
        sl_json_fini(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(accepted), cmocka_unit_test(refused),
                                        cmocka_unit_test(settings_beside), cmocka_unit_test(left_out) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
