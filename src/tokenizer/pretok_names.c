/* pretok_names.c - the pre-tokenizers that GGUF files name (tokenizer.ggml.pre): the names that
 * llama.cpp knows, the steps of the models' own tokenizer.json. llama.cpp's src/llama-vocab.cpp is
 * where the names are; its patterns are adapted to its regex engine, ours are those it quotes as
 * the original, and Digits and Punctuation are the steps of the `tokenizers` library.
 *
 * Not here: gemma4, granite-embed-multi-311m, sarvam-moe and whitespace, whose vocabularies have
 * no byte alphabet.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "tokenizer/pretok.h"

/* A string literal as a step, what it matches a piece of its own; with another behavior. */
#define SPLIT(regex_text)                                                                                              \
    {                                                                                                                  \
        .kind = SL_PRETOK_SPLIT, .pattern = { regex_text, sizeof(regex_text) - 1 }, .regex = true,                     \
        .behavior = SL_SPLIT_ISOLATED                                                                                  \
    }
#define SPLIT_RUNS(regex_text)                                                                                         \
    {                                                                                                                  \
        .kind = SL_PRETOK_SPLIT, .pattern = { regex_text, sizeof(regex_text) - 1 }, .regex = true,                     \
        .behavior = SL_SPLIT_CONTIGUOUS                                                                                \
    }
#define DIGITS "\\p{rust_numeric}"

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES       "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
/* GPT-2 (openai/gpt-2 src/encoder.py). */
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
/* cl100k and its relatives differ in how many digits stay together. */
#define CL100K(digits) CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES
/* o200k and its relatives: words begin with a capital, or are all capitals. `letters` is what may be taken from. */
#define UPPER "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define LOWER "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define WORDS(but, suffix)                                                                                             \
    "[^\\r\\n\\p{L}\\p{N}]?[" UPPER but "]*[" LOWER but "]+" suffix "|[^\\r\\n\\p{L}\\p{N}]?[" UPPER but               \
    "]+[" LOWER but "]*" suffix
#define O200K(digits) WORDS("", CONTRACTIONS "?") "|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES
#define NOT_HAN       "&&[^\\p{Han}]"
/* DeepSeek-V3's third step: ASCII punctuation goes with the word behind it. */
#define DEEPSEEK3_WORDS                                                                                                \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"                \
    "| ?[\\p{P}\\p{S}]+"
#define CJK_KANA    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
#define CJK_BROADLY "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"

static const sl_pretok_step gpt2[] = { SPLIT(GPT2) };
static const sl_pretok_step digits_gpt2[] = { SPLIT(DIGITS), SPLIT(GPT2) };
static const sl_pretok_step cl100k_1[] = { SPLIT(CL100K("\\p{N}")) };
static const sl_pretok_step cl100k_3[] = { SPLIT(CL100K("\\p{N}{1,3}")) };
static const sl_pretok_step lines_cl100k_1[] = { SPLIT("[^\\n]+|[\\n]+"), SPLIT(CL100K("\\p{N}")) };
static const sl_pretok_step minicpm5[] = { SPLIT("\\p{N}{1,3}"), SPLIT(CL100K("\\p{N}+")) };
static const sl_pretok_step qwen35[] = { SPLIT(CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                                                            "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*" SPACES) };
static const sl_pretok_step ufakzeka[] = { SPLIT(
    "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES) };
static const sl_pretok_step seed_coder[] = { SPLIT(
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+" SPACES) };
static const sl_pretok_step jais2[] = { SPLIT(
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
                 "|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|\\s{16}(?!\\S)"
                 "|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}") };
static const sl_pretok_step bailing[] = { SPLIT(
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]"
    "|\\s+(?!\\S)|\\s+") };
static const sl_pretok_step exaone_moe[] = { SPLIT(CONTRACTIONS
                                                   "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}"
                                                   "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+") };

static const sl_pretok_step o200k_3[] = { SPLIT(O200K("\\p{N}{1,3}")) };
static const sl_pretok_step tekken[] = { SPLIT(WORDS("", "") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*" SPACES) };
static const sl_pretok_step tiny_aya[] = { SPLIT("\\d{1,3}(?=(?:\\d{3})*\\b)"), SPLIT(O200K("\\p{N}{1,3}")) };
static const sl_pretok_step youtu[] = {
    SPLIT("[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
          "\ufe30-\ufe4f]+|[\u3105-\u312f]+|" CJK_KANA),
    SPLIT(O200K("\\p{N}")),
};
static const sl_pretok_step kimi_k2[] = { {
    .kind = SL_PRETOK_SPLIT,
#define KIMI "[\\p{Han}]+|" WORDS(NOT_HAN, CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*" SPACES
    .pattern = { KIMI, sizeof KIMI - 1 },
    .regex = true,
    .rust = true,
    .behavior = SL_SPLIT_ISOLATED,
} };

/* Letters with case, as JavaScript lists them. */
static const sl_pretok_step deepseek_llm[] = {
    SPLIT("[\\r\\n]"),
    SPLIT(
        "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
        "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
        "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
        "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d"
        "\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4"
        "\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
        "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
        "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a"
        "\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
        "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943]+"),
    SPLIT("\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"),
    SPLIT("\\s+$"),
    SPLIT(CJK_BROADLY),
    SPLIT("\\p{N}+"),
};
static const sl_pretok_step deepseek_coder[] = { SPLIT("[\\r\\n]"), SPLIT("\\s?\\p{L}+"), SPLIT("\\s?\\p{P}+"),
                                                 SPLIT(CJK_BROADLY), SPLIT(DIGITS) };
static const sl_pretok_step deepseek3[] = { SPLIT("\\p{N}{1,3}"), SPLIT(CJK_KANA),
                                            SPLIT(DEEPSEEK3_WORDS "[\\r\\n]*" SPACES) };
static const sl_pretok_step spark25[] = { SPLIT("\\p{N}{1,3}"), SPLIT(CJK_KANA),
                                          SPLIT(DEEPSEEK3_WORDS "|[\\r\\n]|\\s+(?!\\S)|\\s+"), SPLIT("\\p{N}") };
static const sl_pretok_step afmoe[] = {
    SPLIT("\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))"),
    SPLIT("[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e00-\u0e7f"
          "\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+"),
    SPLIT(DEEPSEEK3_WORDS "[\\r\\n]*" SPACES),
};

static const sl_pretok_step falcon[] = {
    SPLIT_RUNS("\\p{rust_punctuation}"),
    SPLIT(GPT2),
    { .kind = SL_PRETOK_BYTE_LEVEL },
    SPLIT_RUNS(DIGITS),
    SPLIT("[0-9][0-9][0-9]"),
};
static const sl_pretok_step bloom[] = { SPLIT(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+") };
static const sl_pretok_step viking[] = { SPLIT(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"),
                                         SPLIT(DIGITS) };
static const sl_pretok_step chameleon[] = {
    SPLIT("<sentinel:[0-9]+>"),     SPLIT("(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z"),
    SPLIT("([\\t\\n]|    |  )"),    SPLIT(DIGITS),
    SPLIT("\\p{rust_punctuation}"), SPLIT(GPT2),
};
static const sl_pretok_step superbpe[] = { SPLIT("\\p{N}+"), SPLIT("(?=(\\d{3})+(?!\\d))") };
/* What llama.cpp takes for files from before the name was recorded. */
static const sl_pretok_step unnamed[] = { SPLIT("[\\p{P}\\$\\+<=>\\^~\\|]+"), SPLIT(GPT2), SPLIT("\\p{N}+"),
                                          SPLIT("[0-9][0-9][0-9]") };

#define STEPS(array) array, SL_COUNT(array)
static const sl_pretok_known known[] = {
    { "default", STEPS(unnamed), false, false },
    { "gpt-2 gpt2 phi-2 jais gigachat trillion mellum a.x-4.0 exaone4 granite-docling modern-bert jina-es "
      "jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe",
      STEPS(gpt2), false, false },
    { "mpt olmo", STEPS(gpt2), false, false, .composes = true },
    { "smollm starcoder refact codeshell exaone minerva-7b mellum2", STEPS(digits_gpt2), false, false },
    { "command-r", STEPS(digits_gpt2), false, false, .composes = true },
    { "deepseek-r1-qwen megrez stablelm2 hunyuan kormo f2llmv2 solar-open grok-2", STEPS(cl100k_1), false, false },
    { "qwen2", STEPS(cl100k_1), false, false, .composes = true },
    { "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano", STEPS(cl100k_3), true, true },
    { "dbrx smaug-bpe glm4 chatglm-bpe", STEPS(cl100k_3), false, false },
    { "deepseek-v3 deepseek-v3.1 hunyuan-dense joyai-llm hy_v4", STEPS(deepseek3), false, false },
    { "deepseek-llm", STEPS(deepseek_llm), false, false },
    { "deepseek-coder", STEPS(deepseek_coder), false, false },
    { "gpt-4o llama4 kanana2 talkie minimax-m2", STEPS(o200k_3), false, false },
    { "granite-embed-multi-97m", STEPS(o200k_3), true, false },
    { "tekken", STEPS(tekken), true, true },
    { "kimi-k2", STEPS(kimi_k2), false, false },
    { "qwen35", STEPS(qwen35), false, false, .composes = true },
    { "falcon", STEPS(falcon), false, false },
    { "bloom poro-chat gpt3-finnish", STEPS(bloom), false, false },
    { "viking", STEPS(viking), false, false },
    { "bailingmoe bailingmoe2 llada-moe", STEPS(bailing), false, false },
    { "exaone-moe", STEPS(exaone_moe), false, false },
    { "seed-coder", STEPS(seed_coder), false, false },
    { "jais-2", STEPS(jais2), false, false },
    { "minicpm5", STEPS(minicpm5), true, false },
    { "youtu", STEPS(youtu), true, false },
    { "tiny_aya cohere2moe", STEPS(tiny_aya), false, false },
    { "chameleon", STEPS(chameleon), false, true },
    { "superbpe", STEPS(superbpe), false, false },
    { "afmoe", STEPS(afmoe), false, false },
    { "spark2_5", STEPS(spark25), false, false },
    { "laguna", STEPS(lines_cl100k_1), false, false },
    { "ufakzeka", STEPS(ufakzeka), false, false },
};

static bool names_have(const char *names, const char *name)
{
    const size_t len = strlen(name);
    for (const char *at = names; *at;) {
        const size_t n = strcspn(at, " ");
        if (n == len && memcmp(at, name, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

const sl_pretok_known *sl_pretok_find(const char *name)
{
    for (size_t i = 0; i < SL_COUNT(known); i++)
        if (names_have(known[i].names, name))
            return &known[i];
    return NULL;
}

/* The first name of each list: all of them are longer than an error. */
sl_status sl_pretok_unknown(const char *name, sl_err *err)
{
    char list[400] = "";
    size_t n = 0;
    for (size_t i = 0; i < SL_COUNT(known); i++) {
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.*s", i ? " " : "", (int)strcspn(known[i].names, " "),
                              known[i].names);
        assert(n < sizeof list);
    }
    return sl_fail(err, SL_EUNSUPPORTED,
                   "pre-tokenizer \"%.40s\" is not known; known, with others that are the same: %s", name, list);
}

bool sl_vocab_pre_adds_bos(const char *pre)
{
    const sl_pretok_known *k = sl_pretok_find(pre);
    return k && k->adds_bos;
}
