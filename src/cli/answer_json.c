/* answer_json.c - an answer as one JSON object, log-probabilities in OpenAI's form. */
#include <string.h>
#include "cli/answer.h"

/* A token by itself: text in which half a character is U+FFFD, its id, and the bytes as they are. */
static json_t *token_json(const sl_text *t, int32_t id, float logprob)
{
    const sl_bytes text = sl_text_token(t, id, true);
    json_t *bytes = json_array();
    for (size_t i = 0; i < text.len; i++)
        json_array_append_new(bytes, json_integer((unsigned char)text.data[i]));
    return json_pack("{s:o, s:I, s:f, s:o}", "token", sl_cli_json_text(text.data, text.len), "id", (json_int_t)id,
                     "logprob", (double)logprob, "bytes", bytes);
}

json_t *sl_answer_logprob_json(const sl_text *t, const sl_event *event)
{
    json_t *top = json_array(), *token = token_json(t, event->token, event->logprob);
    for (size_t i = 0; i < event->n_top; i++)
        json_array_append_new(top, token_json(t, event->top_token[i], event->top_logprob[i]));
    if (json_object_set_new(token, "top_logprobs", top)) {
        json_decref(token);
        return NULL;
    }
    return token;
}

/* The stop string of the user that ended the answer; NULL: none. */
static const char *stop_met(const sl_answer *a)
{
    const bool met = a->parser && sl_parser_get_state(a->parser) == SL_PARSER_STOP;
    return met ? a->args->stop.data[sl_parser_stop_met(a->parser)] : NULL;
}

static const char *finish_name(const sl_answer *a)
{
    if (a->interrupted)
        return "cancel";
    /* The callback ends an answer where the template or a stop string does. */
    return a->finish == SL_FINISH_STOP || a->finish == SL_FINISH_CALLBACK ? "stop" : "length";
}

json_t *sl_answer_json(const sl_answer *a)
{
    const char *met = stop_met(a);
    json_t *tokens = json_array();
    for (size_t i = 0; i < a->ids.n; i++)
        json_array_append_new(tokens, json_integer(a->ids.data[i]));
    json_t *answer =
        json_pack("{s:o, s:o, s:s, s:b, s:o, s:I, s:I}", "text", sl_cli_json_text(a->text.data, a->text.len), "tokens",
                  tokens, "finish_reason", finish_name(a), "context_full", a->context_full, "stop",
                  met ? sl_cli_json_text(met, strlen(met)) : json_null(), "generated_tokens", (json_int_t)a->ids.n,
                  "seed", (json_int_t)a->seed);
    if (a->logprobs && json_object_set_new(answer, "logprobs", json_pack("{s:O}", "content", a->logprobs))) {
        json_decref(answer);
        return NULL;
    }
    return answer;
}
