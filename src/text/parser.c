/* parser.c - the public sl_parser: the reply parser of chat/reply.h, set up by what a chat knows of replies. */
#include <string.h>
#include "base/mem.h"
#include "chat/reply.h"
#include "text/chat_in.h"
#include "text/parser_in.h"
#include "text/text.h"

/* ---- parts ------------------------------------------------------------------------ */

static const sl_part_kind kinds[] = {
    [SL_REPLY_REASONING] = SL_PART_REASONING,
    [SL_REPLY_CONTENT] = SL_PART_CONTENT,
    [SL_REPLY_CALL] = SL_PART_CALL,
    [SL_REPLY_ARGUMENTS] = SL_PART_ARGUMENTS,
};

static void on_reply(void *user, const sl_reply_event *e)
{
    sl_parser *p = user;
    const sl_part part = { kinds[e->kind], e->call, e->id, e->name, e->text };
    if (p->keep)
        sl_reply_collect(&p->whole, e);
    if (p->on_part)
        p->on_part(p->user, &part);
}

/* ---- life ------------------------------------------------------------------------- */

/* The stop strings of the caller, in their order, and behind them the turn's end where it is text. */
static sl_status make_stops(sl_parser *p, const sl_parser_options *o, const sl_turn_end *end, sl_err *err)
{
    const bool by_text = end && end->text.len;
    const char **stops = sl_mem_zalloc(o->n_stop + 1, sizeof *stops);
    if (!stops)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu stop strings", o->n_stop);
    for (size_t i = 0; i < o->n_stop; i++)
        stops[i] = o->stop[i];
    if (by_text)
        stops[o->n_stop] = end->text.data;
    const sl_status rc = sl_stop_create(&p->stop, stops, o->n_stop + by_text, err);
    sl_mem_free(stops);
    p->n_stop = o->n_stop;
    return rc;
}

static sl_status find_opening(const sl_tokenizer *t, const sl_parser_options *o, sl_str *opening, sl_err *err)
{
    static const char think[] = "<think>";
    sl_status rc = SL_OK;
    if (o->thinking == SL_THINKING_CLOSED)
        return SL_OK;
    if (o->thinking == SL_THINKING_OPEN)
        sl_str_puts(opening, think);
    else if (o->n_prompt)
        rc = sl_reply_opening_ids(t, o->prompt, o->n_prompt, opening, err);
    else if (o->chat && o->chat->opening.len)
        sl_str_append(opening, o->chat->opening.data, o->chat->opening.len);
    else if (!o->inline_reasoning && sl_reply_closes_only(t, o->reply, o->n_reply))
        sl_str_puts(opening, think);
    if (!rc && opening->failed)
        rc = sl_fail(err, SL_ENOMEM, "no memory for the end of a prompt");
    return rc;
}

static sl_status find_formats(const sl_tokenizer *t, const sl_text *text, const sl_parser_options *o, unsigned *out,
                              sl_err *err)
{
    int named = 0;
    if (!o->tools || strcmp(o->tools, "auto") == 0)
        *out = o->chat ? o->chat->formats : sl_reply_tools(t, sl_chat_source_for_tools(text));
    else if ((named = sl_reply_tools_named(o->tools)) < 0)
        return sl_fail(err, SL_EINVAL, "tools \"%s\": auto, none, hermes, deepseek, kimi and harmony are known",
                       o->tools);
    else
        *out = (unsigned)named;
    return SL_OK;
}

static sl_status set_up(sl_parser *p, const sl_text *text, const sl_parser_options *o, sl_err *err)
{
    sl_err why = { 0 };
    const sl_tokenizer *t = sl_text_tokenizer(text, &why);
    const sl_turn_end *end = o->chat && !o->ignore_turn_end ? &o->chat->turn_end : NULL;
    sl_str opening = { 0 };
    unsigned formats = 0;
    if (!t)
        return sl_fail(err, why.code, "%s", why.msg);
    p->end_id = end ? end->id : -1;
    sl_status rc = make_stops(p, o, end, err);
    if (!rc)
        rc = find_formats(t, text, o, &formats, err);
    if (!rc)
        rc = find_opening(t, o, &opening, err);
    if (!rc)
        rc = sl_reply_create(&p->reply,
                             &(sl_reply_options){ .tokenizer = t,
                                                  .tools = formats,
                                                  .inline_reasoning = o->inline_reasoning,
                                                  .opening = { opening.data, opening.len },
                                                  .stop = p->stop,
                                                  .seed = o->seed,
                                                  .on_event = on_reply,
                                                  .user = p },
                             err);
    if (!rc)
        sl_reply_prompt(p->reply, o->prompt, o->n_prompt);
    sl_str_fini(&opening);
    return rc;
}

sl_status sl_parser_create(sl_parser **out, const sl_text *t, const sl_parser_options *given, sl_err *err)
{
    static const sl_parser_options none = { 0 };
    const sl_parser_options *o = given ? given : &none;
    *out = NULL;
    sl_parser *p = sl_mem_zalloc(1, sizeof *p);
    if (!p)
        return sl_fail(err, SL_ENOMEM, "no memory for a reply");
    p->keep = o->keep;
    p->on_part = o->on_part;
    p->user = o->user;
    const sl_status rc = set_up(p, t, o, err);
    if (rc) {
        sl_parser_destroy(p);
        return rc;
    }
    *out = p;
    return SL_OK;
}

void sl_parser_destroy(sl_parser *p)
{
    if (!p)
        return;
    sl_reply_destroy(p->reply);
    sl_stop_destroy(p->stop);
    sl_reply_whole_fini(&p->whole);
    sl_mem_free(p);
}

/* ---- ids -------------------------------------------------------------------------- */

/* After the reply took something. */
static sl_status took(sl_parser *p, sl_status rc, sl_err *err)
{
    const int met = sl_reply_stop_met(p->reply);
    if (p->state == SL_PARSER_OPEN && met >= 0)
        p->state = (size_t)met < p->n_stop ? SL_PARSER_STOP : SL_PARSER_TURN_TEXT;
    if (!rc && p->whole.failed)
        rc = sl_fail(err, SL_ENOMEM, "no memory for the reply");
    return rc;
}

sl_status sl_parser_feed(sl_parser *p, int32_t id, sl_err *err)
{
    if (p->state != SL_PARSER_OPEN)
        return SL_OK;
    if (id >= 0 && id == p->end_id) {
        p->state = SL_PARSER_TURN_END;
        return SL_OK;
    }
    return took(p, sl_reply_feed(p->reply, id, err), err);
}

sl_status sl_parser_end(sl_parser *p, sl_err *err)
{
    return took(p, sl_reply_end(p->reply, err), err);
}

sl_parser_state sl_parser_get_state(const sl_parser *p)
{
    return p->state;
}

size_t sl_parser_stop_met(const sl_parser *p)
{
    const int met = sl_reply_stop_met(p->reply);
    return met < 0 ? p->n_stop : (size_t)met;
}
