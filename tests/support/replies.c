#include "support/replies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

const char *const replies_all_tags[] = {
    "+<think>",
    "+</think>",
    "+<tool_call>",
    "+</tool_call>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<|start|>",
    "<|channel|>",
    "<|constrain|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "<|return|>",
};
const size_t replies_n_all_tags = SL_COUNT(replies_all_tags), replies_n_tags = SL_COUNT(replies_all_tags) - 7;

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* GPT-2's alphabet: what prints stands for itself, the rest is numbered from U+0100. */
static void spell(const char *s, size_t n, sl_str *out)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned b = (unsigned char)s[i];
        unsigned c = 0x100;
        for (unsigned k = 0; k <= b; k++) {
            const bool prints = (k > ' ' && k < 127) || (k > 160 && k != 173);
            if (k == b)
                c = prints ? b : c;
            else
                c += !prints;
        }
        if (c < 0x80)
            sl_str_printf(out, "%c", (int)c);
        else
            sl_str_printf(out, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    }
}

sl_tokenizer *replies_tokenizer(const char *const *tags, size_t n_tags, const sl_bytes *words, size_t n_words)
{
    static sl_bytes tokens[REPLY_MAX_TOKENS];
    static sl_str spelled[REPLY_MAX_TOKENS];
    uint8_t kinds[REPLY_MAX_TOKENS] = { 0 };
    sl_added_token added[64] = { 0 };
    sl_tokenizer *t = NULL;
    sl_err err = { 0 };
    sl_vocab v;
    sl_vocab_init(&v);
    v.n_tokens = 257 + n_tags + n_words;
    need(v.n_tokens <= REPLY_MAX_TOKENS && n_tags < SL_COUNT(added), "too many tokens for a test");
    for (size_t i = 0; i < v.n_tokens; i++) {
        sl_str_clear(&spelled[i]);
        if (i < 256)
            spell((const char[]){ (char)i }, 1, &spelled[i]);
        if (i >= 257 + n_tags)
            spell(words[i - 257 - n_tags].data, words[i - 257 - n_tags].len, &spelled[i]);
        tokens[i] = (sl_bytes){ spelled[i].data, spelled[i].len };
    }
    for (size_t i = 0; i <= n_tags; i++) {
        const char *tag = i ? tags[i - 1] : "</s>";
        const bool user = *tag == '+';
        tokens[256 + i] = (sl_bytes){ tag + user, strlen(tag + user) };
        kinds[256 + i] = user ? SL_TOKEN_USER : SL_TOKEN_CONTROL;
        added[v.n_added++] = (sl_added_token){ .id = (int32_t)(256 + i), .special = !user };
    }
    v.pre = "gpt-2";
    v.tokens = tokens;
    v.kinds = kinds;
    v.added = added;
    v.eos = REPLY_EOS;
    const sl_status rc = sl_tokenizer_create(&t, &v, &err);
    need(!rc, err.msg);
    for (size_t i = 0; i < v.n_tokens; i++)
        sl_str_fini(&spelled[i]);
    sl_vocab_fini(&v);
    return t;
}

void replies_ids(const sl_tokenizer *t, const char *text, size_t len, sl_ids *out)
{
    for (size_t i = 0; i < len; i++) {
        int32_t id = (unsigned char)text[i];
        if (text[i] == *T) {
            if (sl_tokenizer_next_special(t, text, len, i + 1, &id) != i + 1)
                continue;
            i += sl_token_bytes(t, id, true).len;
        }
        need(!sl_ids_push(out, id, NULL), "no memory");
    }
}

void replies_line(const sl_reply_whole *w, sl_str *out)
{
    need(!w->failed, "no memory for the reply");
    sl_str_puts(out, "{");
    sl_str_append(out, w->reasoning.data, w->reasoning.len);
    sl_str_puts(out, "}{");
    sl_str_append(out, w->content.data, w->content.len);
    sl_str_puts(out, "}");
    for (size_t i = 0; i < w->n_calls; i++) {
        const sl_reply_call *c = &w->calls[i];
        const bool made_up = strncmp(c->id.data, "call_", 5) == 0;
        sl_str_printf(out, "[%s %s ", c->name.data, made_up ? "-" : c->id.data);
        sl_str_append(out, c->arguments.data, c->arguments.len);
        sl_str_puts(out, "]");
    }
}

bool replies_is_utf8(const char *s, size_t n)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    for (size_t i = 0; i < n;) {
        const unsigned char lead = (unsigned char)s[i];
        const size_t len = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
        uint32_t c = len == 1 ? lead : lead & (0x7fu >> len);
        if (len == 0 || len > n - i)
            return false;
        for (size_t k = 1; k < len; k++) {
            if (((unsigned char)s[i + k] & 0xc0) != 0x80)
                return false;
            c = c << 6 | ((unsigned char)s[i + k] & 0x3f);
        }
        if (c < least[len] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
            return false;
        i += len;
    }
    return true;
}

typedef struct run {
    sl_reply_whole whole;
    size_t n_calls;
} run;

static void on_event(void *user, const sl_reply_event *e)
{
    run *r = user;
    if (e->kind == SL_REPLY_CALL) {
        need(e->call == r->n_calls++, "calls are not numbered in order");
        need(e->name.len && e->id.len, "a call without a name or an id");
        need(replies_is_utf8(e->name.data, e->name.len), "a name is no UTF-8");
    } else {
        need(e->text.len, "an empty event");
        need(replies_is_utf8(e->text.data, e->text.len), "an event is no UTF-8");
        need(e->kind != SL_REPLY_ARGUMENTS || e->call + 1 == r->n_calls, "arguments of an earlier call");
    }
    sl_reply_collect(&r->whole, e);
}

void replies_collect(const sl_reply_options *given, const int32_t *ids, size_t n, bool ended, sl_reply_whole *out)
{
    run state = { 0 };
    sl_reply *r = NULL;
    sl_reply_options o = *given;
    o.on_event = on_event;
    o.user = &state;
    need(!sl_reply_create(&r, &o, NULL), "no reply");
    for (size_t i = 0; i < n; i++)
        need(!sl_reply_feed(r, ids[i], NULL), "no memory");
    need(!ended || !sl_reply_end(r, NULL), "no memory");
    need(sl_reply_n_calls(r) == state.n_calls, "another number of calls");
    sl_reply_destroy(r);
    *out = state.whole;
}

char *replies_run(const sl_reply_options *o, const int32_t *ids, size_t n)
{
    sl_reply_whole whole = { 0 };
    sl_str line = { 0 };
    replies_collect(o, ids, n, true, &whole);
    replies_line(&whole, &line);
    sl_reply_whole_fini(&whole);
    char *out = strndup(line.data, line.len); /* without NULs: a test compares strings */
    sl_str_fini(&line);
    need(out != NULL, "no memory");
    return out;
}
