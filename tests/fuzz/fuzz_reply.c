/* fuzz_reply.c - replies of any ids: the same whatever tokens spell the text, whole UTF-8, each
 * moment's events the beginning of the whole, and all of the text where nothing is taken apart.
 *
 * Byte 0 of the input chooses formats and vocabulary. Of the others, 0x0e to 0x1b are the tokens of
 * tags, 0x01 to 0x07 those of harmony's, 0x1c ends an answer, and the rest are the bytes of the reply. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "support/replies.h"

#define OPENING "<think>\n"

enum { FIRST_HARMONY_TAG = 0x01, FIRST_TAG = 0x0e, END = 0x1c };

static const char *const words[] = {
    "think",     "tool",     "_call",     "</",     "<|",         "|>",       "{\"",    "\": ",
    "\": {\"",   "name",     "arguments", "\"}}",   "{}",         "```",      "json",   "\n\n",
    "<tool_",    "function", "call>",     "_begin", "<｜to",      "sep｜>",   "\\ud83", "\xf0\x9f",
    "<think>\n", "</think>", "\\u00",     " to=",   "functions.", "analysis",
};

static sl_tokenizer *tokenizer[3]; /* with tokens for tags, without, and with those of harmony as well */

static void demand(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static void push(sl_ids *ids, int32_t id)
{
    demand(sl_ids_push(ids, id, NULL) == SL_OK, "no memory");
}

/* The longest word that the text goes on with. */
static size_t word_at(const uint8_t *s, size_t n, size_t *which)
{
    size_t best = 0;
    for (size_t w = 0; w < SL_COUNT(words); w++) {
        const size_t len = strlen(words[w]);
        if (len <= n && len > best && memcmp(s, words[w], len) == 0) {
            best = len;
            *which = w;
        }
    }
    return best;
}

/* The tag that a byte of the input stands for; replies_n_all_tags: none. */
static size_t tag_of(uint8_t b, size_t n_tags)
{
    if (b >= FIRST_TAG && b < END)
        return (size_t)(b - FIRST_TAG);
    if (b >= FIRST_HARMONY_TAG && b < FIRST_HARMONY_TAG + 7 && n_tags != replies_n_tags)
        return replies_n_tags + (size_t)(b - FIRST_HARMONY_TAG);
    return replies_n_all_tags;
}

/* n_tags: how many tags the vocabulary has as tokens; the others are spelled. */
static void spell(const uint8_t *s, size_t n, size_t n_tags, bool in_words, sl_ids *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t which = 0;
        const size_t len = in_words ? word_at(s + i, n - i, &which) : 0, tag = tag_of(s[i], n_tags);
        if (s[i] == END) {
            push(out, REPLY_EOS);
        } else if (tag < n_tags) {
            push(out, (int32_t)(257 + tag));
        } else if (tag < replies_n_all_tags) {
            const char *text = replies_all_tags[tag] + (*replies_all_tags[tag] == '+');
            spell((const uint8_t *)text, strlen(text), 0, in_words, out);
        } else if (len) {
            push(out, (int32_t)(257 + n_tags + which));
            i += len - 1;
        } else {
            push(out, s[i]);
        }
    }
}

static void make_tokenizers(void)
{
    sl_bytes w[SL_COUNT(words)];
    for (size_t i = 0; i < SL_COUNT(words); i++)
        w[i] = (sl_bytes){ words[i], strlen(words[i]) };
    tokenizer[0] = replies_tokenizer(replies_all_tags, replies_n_tags, w, SL_COUNT(words));
    tokenizer[1] = replies_tokenizer(NULL, 0, w, SL_COUNT(words));
    tokenizer[2] = replies_tokenizer(replies_all_tags, replies_n_all_tags, w, SL_COUNT(words));
}

static bool same(const sl_str *a, const sl_str *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

static bool begins(const sl_str *all, const sl_str *part)
{
    return part->len <= all->len && (part->len == 0 || memcmp(all->data, part->data, part->len) == 0);
}

static void check_beginning(const sl_reply_whole *part, const sl_reply_whole *all)
{
    demand(begins(&all->reasoning, &part->reasoning) && begins(&all->content, &part->content), "text was taken back");
    demand(part->n_calls <= all->n_calls, "a call was taken back");
    for (size_t i = 0; i < part->n_calls; i++)
        demand(same(&part->calls[i].id, &all->calls[i].id) && same(&part->calls[i].name, &all->calls[i].name) &&
                   begins(&all->calls[i].arguments, &part->calls[i].arguments),
               "a call changed");
}

/* With nothing taken apart the content is what the detokenizer says. */
static void check_all_there(const sl_reply_whole *w, const sl_reply_options *o, const sl_ids *ids)
{
    sl_str want = { 0 };
    sl_detok d;
    sl_detok_init(&d, o->tokenizer, true);
    sl_str_append(&want, o->opening.data, o->opening.len);
    for (size_t i = 0; i < ids->n; i++)
        if (ids->data[i] != REPLY_EOS)
            sl_detok_next(&d, ids->data[i], &want);
    sl_detok_flush(&d, &want);
    demand(same(&w->content, &want) && w->n_calls == 0 && w->reasoning.len == 0, "text is missing");
    sl_str_fini(&want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned tools[] = { SL_TOOLS_ALL, SL_TOOLS_NONE, SL_TOOLS_HERMES, SL_TOOLS_DEEPSEEK | SL_TOOLS_KIMI };
    sl_ids bytes = { 0 }, in_words = { 0 };
    sl_reply_whole w[3] = { 0 };
    sl_str line[2] = { 0 };
    if (!tokenizer[0])
        make_tokenizers();
    if (size == 0)
        return 0;
    const size_t which = data[0] >> 5 & 1 ? 2 : data[0] & 1;
    const size_t n_tags = which == 2 ? replies_n_all_tags : which == 1 ? 0 : replies_n_tags;
    sl_reply_options o = { .tokenizer = tokenizer[which],
                           .inline_reasoning = data[0] >> 1 & 1,
                           .tools = tools[data[0] >> 2 & 3] };
    if (data[0] >> 4 & 1)
        o.opening = (sl_bytes){ OPENING, sizeof OPENING - 1 };
    spell(data + 1, size - 1, n_tags, false, &bytes);
    spell(data + 1, size - 1, n_tags, true, &in_words);
    replies_collect(&o, bytes.data, bytes.n, true, &w[0]);
    replies_collect(&o, in_words.data, in_words.n, true, &w[1]);
    replies_collect(&o, in_words.data, in_words.n / 2, false, &w[2]);
    replies_line(&w[0], &line[0]);
    replies_line(&w[1], &line[1]);
    demand(same(&line[0], &line[1]), "other tokens of the same text make another reply");
    check_beginning(&w[2], &w[1]);
    if (o.inline_reasoning && o.tools == SL_TOOLS_NONE)
        check_all_there(&w[0], &o, &bytes);
    for (size_t i = 0; i < 3; i++)
        sl_reply_whole_fini(&w[i]);
    sl_str_fini(&line[0]);
    sl_str_fini(&line[1]);
    sl_ids_fini(&bytes);
    sl_ids_fini(&in_words);
    return 0;
}
