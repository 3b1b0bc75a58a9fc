/* reply_tags.c - the tags of all formats, and which of them a vocabulary has as tokens. */
#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "chat/reply_in.h"

#define TAG(text, role, format)                                                                                        \
    {                                                                                                                  \
        text, sizeof(text) - 1, role, format                                                                           \
    }
#define DS(words) "<\uff5ctool\u2581" words "\uff5c>"
static const sl_tag tags[] = {
    TAG("<think>", SL_TAG_THINK, 0),
    TAG("</think>", SL_TAG_THINK_END, 0),
    TAG("<tool_call>", SL_TAG_CALL, SL_TOOLS_HERMES),
    TAG("</tool_call>", SL_TAG_CALL_END, SL_TOOLS_HERMES),
    TAG(DS("calls\u2581begin"), SL_TAG_SECTION, SL_TOOLS_DEEPSEEK),
    TAG(DS("call\u2581begin"), SL_TAG_CALL, SL_TOOLS_DEEPSEEK),
    TAG(DS("sep"), SL_TAG_ARG, SL_TOOLS_DEEPSEEK),
    TAG(DS("call\u2581end"), SL_TAG_CALL_END, SL_TOOLS_DEEPSEEK),
    TAG(DS("calls\u2581end"), SL_TAG_SECTION_END, SL_TOOLS_DEEPSEEK),
    TAG("<|tool_calls_section_begin|>", SL_TAG_SECTION, SL_TOOLS_KIMI),
    TAG("<|tool_call_begin|>", SL_TAG_CALL, SL_TOOLS_KIMI),
    TAG("<|tool_call_argument_begin|>", SL_TAG_ARG, SL_TOOLS_KIMI),
    TAG("<|tool_call_end|>", SL_TAG_CALL_END, SL_TOOLS_KIMI),
    TAG("<|tool_calls_section_end|>", SL_TAG_SECTION_END, SL_TOOLS_KIMI),
    TAG("<|start|>", SL_TAG_START, SL_TOOLS_HARMONY),
    TAG("<|channel|>", SL_TAG_CHANNEL, SL_TOOLS_HARMONY),
    TAG("<|constrain|>", SL_TAG_CONSTRAIN, SL_TOOLS_HARMONY),
    TAG("<|message|>", SL_TAG_MESSAGE, SL_TOOLS_HARMONY),
    TAG("<|end|>", SL_TAG_CALL_END, SL_TOOLS_HARMONY),
    TAG("<|call|>", SL_TAG_CALL_END, SL_TOOLS_HARMONY),
    TAG("<|return|>", SL_TAG_CALL_END, SL_TOOLS_HARMONY),
    /* The model misspells its own tokens at times. */
    TAG("<|tool_call_section_begin|>", SL_TAG_SECTION, SL_TOOLS_KIMI),
    TAG("<|tool_call_section_end|>", SL_TAG_SECTION_END, SL_TOOLS_KIMI),
};
static_assert(SL_COUNT(tags) <= SL_TAGS_MAX, "room in sl_tags");

static const struct {
    const char *name;
    int tools;
} names[] = {
    { "none", SL_TOOLS_NONE },         { "hermes", SL_TOOLS_HERMES },        { "qwen", SL_TOOLS_HERMES },
    { "deepseek", SL_TOOLS_DEEPSEEK }, { "deepseek_v3", SL_TOOLS_DEEPSEEK }, { "deepseek_v31", SL_TOOLS_DEEPSEEK },
    { "kimi", SL_TOOLS_KIMI },         { "kimi_k2", SL_TOOLS_KIMI },         { "harmony", SL_TOOLS_HARMONY },
    { "gpt-oss", SL_TOOLS_HARMONY },   { "openai", SL_TOOLS_HARMONY },
};

int sl_reply_tools_named(const char *name)
{
    for (size_t i = 0; i < SL_COUNT(names); i++)
        if (strcmp(names[i].name, name) == 0)
            return names[i].tools;
    return -1;
}

int32_t sl_tags_special(const sl_tokenizer *t, const char *text, size_t len)
{
    int32_t id = -1;
    if (sl_tokenizer_next_special(t, text, len, 0, &id) != 0 || id < 0)
        return -1;
    return sl_token_written(t, id).len == len ? id : -1;
}

static bool opens_calls(const sl_tag *tag)
{
    return tag->format && (tag->role == SL_TAG_SECTION || tag->role == SL_TAG_CALL);
}

bool sl_tags_harmony(const sl_tokenizer *t)
{
    bool all = true;
    for (size_t i = 0; i < SL_COUNT(tags); i++)
        if (tags[i].format == SL_TOOLS_HARMONY)
            all = all && sl_tags_special(t, tags[i].text, tags[i].len) >= 0;
    return all;
}

unsigned sl_reply_tools(const sl_tokenizer *t, const char *chat_template)
{
    unsigned found = sl_tags_harmony(t) ? SL_TOOLS_HARMONY : 0;
    for (size_t i = 0; i < SL_COUNT(tags); i++)
        if (opens_calls(&tags[i]) && (sl_tags_special(t, tags[i].text, tags[i].len) >= 0 ||
                                      (chat_template && strstr(chat_template, tags[i].text))))
            found |= tags[i].format;
    return found ? found : SL_TOOLS_ALL;
}

void sl_tags_init(sl_tags *g, const sl_tokenizer *t, unsigned formats)
{
    *g = (sl_tags){ .harmony = sl_tags_harmony(t) };
    for (size_t i = 0; i < SL_COUNT(tags); i++) {
        assert(tags[i].len <= SL_TAG_LEN_MAX);
        if (tags[i].format == SL_TOOLS_HARMONY && !g->harmony)
            continue;
        const int32_t id = sl_tags_special(t, tags[i].text, tags[i].len);
        if (id >= 0) {
            g->token[g->n_tokens].id = id;
            g->token[g->n_tokens++].tag = &tags[i];
        } else if (!tags[i].format || (tags[i].format & formats)) {
            g->text[g->n_texts++] = &tags[i];
        }
    }
}

const sl_tag *sl_tags_of_token(const sl_tags *g, int32_t id)
{
    for (size_t i = 0; i < g->n_tokens; i++)
        if (g->token[i].id == id)
            return g->token[i].tag;
    return NULL;
}
