/* requests.c - requests checked, copied, queued, forked and cancelled. */
#include <string.h>
#include "base/mem.h"
#include "base/num.h"
#include "executor/engine_in.h"
#include "executor/model.h"

sl_sampling sl_request_sampling(const sl_request *r)
{
    return (sl_sampling){ .temperature = r->temperature,
                          .top_k = r->top_k,
                          .typical_p = r->typical_p,
                          .top_p = r->top_p,
                          .min_p = r->min_p,
                          .repeat_penalty = r->repeat_penalty,
                          .presence_penalty = r->presence_penalty,
                          .frequency_penalty = r->frequency_penalty,
                          .repeat_last_n = r->repeat_last_n,
                          .seed = r->seed,
                          .bias_token = r->bias_token,
                          .bias = r->bias,
                          .n_bias = r->n_bias };
}

static sl_status check_request(const sl_engine *e, const sl_request *r, sl_err *err)
{
    const size_t n_vocab = e->model->net->config.n_vocab, n_ctx = e->settings.n_ctx;
    if (!r->n_prompt)
        return sl_fail(err, SL_EINVAL, "the prompt is empty: at least one token is needed");
    if (r->n_prompt > n_ctx)
        return sl_fail(err, SL_EINVAL, "the prompt has %zu tokens, the context holds %zu (raise --ctx-size)",
                       r->n_prompt, n_ctx);
    for (size_t i = 0; i < r->n_prompt; i++)
        if (r->prompt[i] < 0 || (size_t)r->prompt[i] >= n_vocab)
            return sl_fail(err, SL_EINVAL, "prompt token %zu: id %d is outside the vocabulary of %zu", i, r->prompt[i],
                           n_vocab);
    if (r->poll && r->on_event)
        return sl_fail(err, SL_EINVAL, "a request has a callback or is polled, not both");
    if (r->top_logprobs > SL_TOP_LOGPROBS_MAX)
        return sl_fail(err, SL_EINVAL, "top_logprobs %u is above %d", r->top_logprobs, SL_TOP_LOGPROBS_MAX);
    const sl_sampling how = sl_request_sampling(r);
    return sl_sampling_check(&how, n_vocab, err);
}

/* One block: the job, its prompt, the bias list. */
static sl_job *copy_request(const sl_request *r)
{
    size_t bytes = 0, bias = 0;
    if (!sl_mul_ok(r->n_prompt, sizeof *r->prompt, &bytes) || !sl_mul_ok(r->n_bias, 2 * sizeof *r->bias, &bias))
        return NULL;
    sl_job *job = sl_mem_zalloc(1, sizeof *job + bytes + bias);
    if (!job)
        return NULL;
    int32_t *prompt = (int32_t *)(job + 1), *bias_token = prompt + r->n_prompt;
    float *bias_value = (float *)(bias_token + r->n_bias);
    memcpy(prompt, r->prompt, bytes);
    if (r->n_bias) {
        memcpy(bias_token, r->bias_token, r->n_bias * sizeof *bias_token);
        memcpy(bias_value, r->bias, r->n_bias * sizeof *bias_value);
    }
    job->request = *r;
    job->request.prompt = prompt;
    job->request.bias_token = bias_token;
    job->request.bias = bias_value;
    return job;
}

/* `relative` is NULL for a request of its own. */
static sl_status queue_request(sl_engine *e, const sl_request *r, const sl_job *relative, sl_request_id *id,
                               sl_err *err)
{
    const sl_status rc = check_request(e, r, err);
    if (rc)
        return rc;
    sl_job *job = copy_request(r);
    if (!job)
        return sl_fail(err, SL_ENOMEM, "no memory for a request of %zu tokens", r->n_prompt);
    job->id = ++e->last_id;
    job->family = relative ? relative->family : job->id;
    job->n_given = relative ? relative->n_given : r->n_prompt;
    *e->queue_end = job;
    e->queue_end = &job->next;
    if (id)
        *id = job->id;
    return SL_OK;
}

sl_status sl_engine_submit(sl_engine *e, const sl_request *r, sl_request_id *id, sl_err *err)
{
    return queue_request(e, r, NULL, id, err);
}

sl_status sl_engine_fork(sl_engine *e, sl_request_id from, const sl_request *r, sl_request_id *id, sl_err *err)
{
    sl_request again = *r;
    for (size_t i = 0; i < e->settings.n_seqs; i++)
        if (e->slot[i].job && e->slot[i].job->id == from) {
            again.prompt = e->slot[i].said;
            again.n_prompt = e->slot[i].n_said;
            return queue_request(e, &again, e->slot[i].job, id, err);
        }
    for (const sl_job *job = e->queue; job; job = job->next)
        if (job->id == from) {
            again.prompt = job->request.prompt;
            again.n_prompt = job->request.n_prompt;
            return queue_request(e, &again, job, id, err);
        }
    return sl_fail(err, SL_ENOTFOUND, "request %llu neither waits nor runs", (unsigned long long)from);
}

bool sl_engine_cancel(sl_engine *e, sl_request_id id)
{
    for (size_t i = 0; i < e->settings.n_seqs; i++)
        if (e->slot[i].job && e->slot[i].job->id == id) {
            e->slot[i].job->cancelled = true;
            return true;
        }
    for (sl_job **at = &e->queue; *at; at = &(*at)->next)
        if ((*at)->id == id) {
            sl_job *job = *at;
            *at = job->next;
            if (!*at)
                e->queue_end = at;
            sl_job_end(e, job, SL_FINISH_CANCEL, -1);
            return true;
        }
    return false;
}
