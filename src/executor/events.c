/* events.c - what a request tells: through its callback at once, or kept until it is polled.
 *
 * What waits to be polled is bounded by one step, since the next one does not begin before it was read: at most two
 * events for each row of logits. An END event needs no room, its job is kept in its place.
 */
#include <string.h>
#include "base/mem.h"
#include "executor/engine_in.h"

const char *sl_finish_name(sl_finish finish)
{
    switch (finish) {
    case SL_FINISH_STOP:
        return "stop";
    case SL_FINISH_LENGTH:
        return "length";
    case SL_FINISH_CONTEXT:
        return "context";
    case SL_FINISH_CALLBACK:
        return "callback";
    case SL_FINISH_CANCEL:
        return "cancel";
    case SL_FINISH_FAULT:
        return "fault";
    }
    return "?";
}

static bool call(sl_engine *e, const sl_request *r, const sl_event *event)
{
    if (!r->on_event)
        return true;
    e->in_callback++;
    const bool more = r->on_event(r->user, event);
    e->in_callback--;
    return more;
}

bool sl_report(sl_engine *e, const sl_job *job, const sl_event *event)
{
    if (!job->request.poll)
        return call(e, &job->request, event);
    sl_event *kept = &e->event[e->n_events++];
    *kept = *event;
    if (event->n_top) {
        sl_top *top = &e->top[e->n_tops++];
        memcpy(top->token, event->top_token, event->n_top * sizeof *top->token);
        memcpy(top->logprob, event->top_logprob, event->n_top * sizeof *top->logprob);
        kept->top_token = top->token;
        kept->top_logprob = top->logprob;
    }
    return true;
}

static sl_event end_event(const sl_job *job)
{
    return (sl_event){ .kind = SL_EVENT_END,
                       .request = job->id,
                       .token = job->end_token,
                       .finish = job->finish,
                       .user = job->request.user };
}

void sl_job_end(sl_engine *e, sl_job *job, sl_finish finish, int32_t token)
{
    job->finish = finish;
    job->end_token = token;
    job->next = NULL;
    if (job->request.poll) {
        *e->ended_end = job;
        e->ended_end = &job->next;
        return;
    }
    const sl_event event = end_event(job);
    call(e, &job->request, &event);
    sl_mem_free(job);
}

bool sl_engine_poll(sl_engine *e, sl_event *out)
{
    sl_job *job = e->ended;
    if (e->next_event < e->n_events) {
        *out = e->event[e->next_event++];
        return true;
    }
    if (!job)
        return false;
    e->ended = job->next;
    if (!e->ended)
        e->ended_end = &e->ended;
    *out = end_event(job);
    sl_mem_free(job);
    return true;
}

sl_status sl_events_begin_step(sl_engine *e, sl_err *err)
{
    if (e->in_callback)
        return sl_fail(err, SL_EINVAL, "sl_engine_step: called from a callback of this engine");
    if (e->next_event < e->n_events || e->ended)
        return sl_fail(err, SL_EFULL, "events wait to be polled before the next step");
    e->n_events = e->next_event = e->n_tops = 0;
    return SL_OK;
}
