/* reply_harmony.c - gpt-oss: a reply of several messages, each with a header.
 *
 *   <|channel|>analysis<|message|>REASONING<|end|>
 *   <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{...}<|call|>
 *   <|start|>assistant<|channel|>final<|message|>CONTENT<|return|>
 *
 * The prompt has written "<|start|>assistant"; the recipient may stand before the channel or
 * behind it. Source: the harmony format's description (OpenAI, openai-harmony). Its tags are
 * always tokens, and headers are read even where no calls are wanted: they say what is reasoning. */
#include <string.h>

#include "base/num.h"
#include "chat/reply_in.h"

#define HEADER_MAX ((size_t)1024)
#define RECIPIENT  "to="
#define FUNCTIONS  "functions."

enum {
    HEADER,
    FIRST, /* the first header: may be no header but a text, if nothing says otherwise */
    ARGUMENTS,
};

static bool in_string(const sl_reply *r)
{
    (void)r;
    return false;
}

/* The next word of the header from *at on; empty: no more. */
static sl_bytes next_word(const sl_str *header, size_t *at)
{
    size_t begin = *at;
    while (begin < header->len && sl_reply_is_space(header->data[begin]))
        begin++;
    size_t end = begin;
    while (end < header->len && !sl_reply_is_space(header->data[end]))
        end++;
    *at = end;
    return (sl_bytes){ end > begin ? header->data + begin : "", end - begin };
}

static bool starts_with(sl_bytes s, const char *with)
{
    return s.len >= strlen(with) && memcmp(s.data, with, strlen(with)) == 0;
}

/* The function that the header names goes to c->name. */
static bool find_recipient(sl_call *c)
{
    sl_str_clear(&c->name);
    sl_bytes word = { NULL, 0 };
    for (size_t at = 0; (word = next_word(&c->header, &at)).len;) {
        size_t skip = strlen(RECIPIENT);
        if (!starts_with(word, RECIPIENT))
            continue;
        if (starts_with((sl_bytes){ word.data + skip, word.len - skip }, FUNCTIONS))
            skip += strlen(FUNCTIONS);
        sl_str_append(&c->name, word.data + skip, word.len - skip);
        return word.len > skip;
    }
    return false;
}

static bool is_reasoning(const sl_call *c)
{
    size_t at = SL_MIN(c->channel_at, c->header.len);
    const sl_bytes channel = next_word(&c->header, &at);
    return channel.len == 8 && memcmp(channel.data, "analysis", 8) == 0;
}

/* The header is whole. */
static void message_begins(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    const bool call = find_recipient(c), reasoning = is_reasoning(c);
    if (call && (r->o.tools & SL_TOOLS_HARMONY)) {
        sl_call_commit(r);
        c->state = ARGUMENTS;
        return;
    }
    sl_call_keep(r, tag->text, tag->len);
    sl_reply_message(r, reasoning && !call);
    if (call || r->o.inline_reasoning) /* shown as it stands */
        sl_call_give_back(r);
    else
        sl_call_leave(r);
}

static void begin(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    c->state = HEADER;
    sl_call_keep(r, tag->text, tag->len);
    c->channel_at = tag->role == SL_TAG_CHANNEL ? 0 : SIZE_MAX;
}

void sl_harmony_start(sl_reply *r)
{
    r->call.format = &sl_call_harmony;
    r->call.tools = SL_TOOLS_HARMONY;
    r->call.state = FIRST;
    r->call.channel_at = SIZE_MAX;
}

static bool fails(sl_reply *r)
{
    sl_call_give_back(r);
    return false;
}

static bool byte(sl_reply *r, char b)
{
    static const char first[] = " " RECIPIENT;
    sl_call *c = &r->call;
    if (c->state == ARGUMENTS) {
        sl_call_argument(r, b);
        return true;
    }
    const size_t n = c->header.len;
    if (n == HEADER_MAX || (c->state == FIRST && n < sizeof first - 1 && b != first[n]))
        return fails(r);
    sl_call_keep(r, &b, 1);
    sl_str_append(&c->header, &b, 1);
    r->failed |= c->header.failed;
    return true;
}

static bool header_tag(sl_reply *r, const sl_tag *tag)
{
    sl_call *c = &r->call;
    if (tag->role == SL_TAG_MESSAGE) {
        message_begins(r, tag);
        return true;
    }
    if (tag->role != SL_TAG_CHANNEL && tag->role != SL_TAG_CONSTRAIN)
        return fails(r);
    c->state = HEADER;
    sl_call_keep(r, tag->text, tag->len);
    sl_str_puts(&c->header, " "); /* a tag parts words */
    if (tag->role == SL_TAG_CHANNEL)
        c->channel_at = c->header.len;
    return true;
}

static bool tag(sl_reply *r, const sl_tag *tag)
{
    if (tag->format != SL_TOOLS_HARMONY && r->call.state != ARGUMENTS)
        return fails(r);
    if (r->call.state != ARGUMENTS)
        return header_tag(r, tag);
    if (tag->role == SL_TAG_CALL_END || tag->role == SL_TAG_START) {
        sl_call_arguments_end(r, true);
        sl_call_leave(r);
        return tag->role == SL_TAG_CALL_END;
    }
    for (size_t i = 0; i < tag->len; i++)
        sl_call_argument(r, tag->text[i]);
    return true;
}

/* A header that was cut off is text in the middle of one only. */
static void end(sl_reply *r)
{
    if (r->call.state == FIRST || (r->call.state == HEADER && (!r->fresh || r->o.inline_reasoning))) {
        fails(r);
        return;
    }
    if (r->call.state == ARGUMENTS)
        sl_call_arguments_end(r, false);
    sl_call_leave(r);
}

const sl_call_format sl_call_harmony = { .begin = begin, .byte = byte, .tag = tag, .end = end, .in_string = in_string };
