/* engine.c - the public sl_engine: requests come in, each step runs one ragged batch of them.
 *
 * A request waits in a queue, gets a slot (its row of the block tables), has its prompt read in
 * chunks and then gives one token a step. Slots own KV pages for as many positions as they have
 * filled; the pool holds enough for every slot at full length, so no running request can fail.
 */
#include "sluice/sluice.h"

#include <assert.h>
#include <string.h>
#include "base/num.h"
#include "executor/batch.h"
#include "executor/engine.h"
#include "executor/model.h"
#include "executor/options.h"
#include "executor/report.h"
#include "executor/run.h"
#include "tokenizer/tokenizer.h"
#include "module/sampler.h"

typedef struct sl_job sl_job;
struct sl_job {
    sl_job *next; /* in the queue */
    sl_request_id id;
    sl_request request; /* prompt and bias lists point into this block */
    float *unbiased;    /* [n_bias] while a token is drawn */
    size_t fed;         /* prompt tokens in the KV cache */
    size_t generated;
    int32_t last; /* generated, not yet in the KV cache */
    bool cancelled;
};

typedef struct sl_slot {
    sl_job *job;  /* NULL: free */
    size_t n_pos; /* positions filled */
} sl_slot;

struct sl_engine {
    const sl_model *model;
    sl_settings settings;
    sl_kernels kernels;
    sl_pool *pool;
    sl_kv *kv;
    sl_arena plan_arena;
    sl_plan plan;
    void *workspace;
    size_t workspace_bytes;
    sl_memory memory;
    uint32_t *table; /* [n_seqs][pages_per_seq] */
    sl_slot *slot;   /* [n_seqs] */
    sl_batch batch;
    sl_candidate *candidates; /* [n_vocab] */
    sl_trace *trace;
    sl_job *queue, **queue_end;
    size_t n_running, first_slot; /* the slot that is served first turns from step to step */
    sl_request_id last_id;
    sl_engine_stats stats;
    sl_run_counts counts;
};

/* ---- making and ending ------------------------------------------------------- */

static sl_status plan_memory(const sl_model *m, const sl_settings *s, const sl_plan *p, sl_memory *out, sl_err *err)
{
    size_t page = 0;
    if (!sl_kv_page_bytes(&s->kv, &page) || !sl_mul_ok(page, s->kv.n_pages, &out->kv))
        return sl_fail(err, SL_EINVAL, "--ctx-size: a KV cache of %zu positions is larger than the address space",
                       s->kv.n_pages * s->kv.P);
    out->weights = m->net->weight_bytes;
    out->workspace = sl_plan_workspace(p);
    /* Program and libraries; the file's header, read through; vocabulary; room to sample. */
    out->rest = ((size_t)6 << 20) + ((size_t)sl_weights_file_bytes(m->net->weights) - m->net->weight_bytes) +
                m->net->config.n_vocab * (100 + 100 + sizeof(sl_candidate));
    return SL_OK;
}

sl_status sl_engine_estimate(const sl_model *m, const sl_engine_options *o, sl_memory *out, sl_err *err)
{
    sl_settings s;
    sl_kernels k;
    sl_arena arena;
    sl_plan plan;
    sl_status rc = sl_net_runs(m->net, err);
    if (rc || (rc = sl_settings_read(&s, m->net, o, err)))
        return rc;
    sl_kernels_init(&k, s.isa);
    s.plan.env.k = &k;
    sl_arena_init(&arena, 1 << 18);
    rc = sl_plan_build(&plan, &arena, m->net, &s.plan, err);
    if (!rc)
        rc = plan_memory(m, &s, &plan, out, err);
    sl_arena_fini(&arena);
    return rc;
}

static sl_status build_plan(sl_engine *e, sl_err *err)
{
    return sl_plan_build(&e->plan, &e->plan_arena, e->model->net, &e->settings.plan, err);
}

static sl_status set_up(sl_engine *e, const sl_engine_options *o, sl_err *err)
{
    sl_status rc = sl_net_runs(e->model->net, err);
    if (rc || (rc = sl_settings_read(&e->settings, e->model->net, o, err)))
        return rc;
    sl_settings *s = &e->settings;
    const sl_limits *l = &s->plan.env.limits;
    const sl_heads heads = { .H = e->model->net->config.H, .Hkv = e->model->net->config.Hkv };
    sl_kernels_init(&e->kernels, s->isa);
    s->plan.env.k = &e->kernels;
    if ((rc = build_plan(e, err)) || (rc = plan_memory(e->model, s, &e->plan, &e->memory, err)) ||
        (rc = sl_kv_create(&e->kv, &s->kv, err)) || (rc = sl_pool_create(&e->pool, l->n_threads, err)))
        return rc;
    if (s->trace_spans && (rc = sl_trace_create(&e->trace, l->n_threads, s->trace_spans, err)))
        return rc;
    e->workspace_bytes = sl_plan_workspace(&e->plan);
    e->workspace = sl_mem_map(e->workspace_bytes);
    e->table = sl_mem_zalloc(s->n_seqs * s->pages_per_seq, sizeof *e->table);
    e->slot = sl_mem_zalloc(s->n_seqs, sizeof *e->slot);
    e->candidates = sl_mem_zalloc(e->model->net->config.n_vocab, sizeof *e->candidates);
    if (!e->workspace || !e->table || !e->slot || !e->candidates)
        return sl_fail(err, SL_ENOMEM, "no memory for a workspace of %zu bytes", e->workspace_bytes);
    sl_plan_bind(&e->plan, e->workspace);
    return sl_batch_init(&e->batch, l, &heads, e->table, s->pages_per_seq, err);
}

sl_status sl_engine_create(sl_engine **out, const sl_model *m, const sl_engine_options *o, sl_err *err)
{
    *out = NULL;
    sl_engine *e = sl_mem_zalloc(1, sizeof *e);
    if (!e)
        return sl_fail(err, SL_ENOMEM, "no memory for the engine");
    e->model = m;
    e->queue_end = &e->queue;
    sl_arena_init(&e->plan_arena, 1 << 18);
    const sl_status rc = set_up(e, o, err);
    if (rc) {
        sl_engine_destroy(e);
        return rc;
    }
    *out = e;
    return SL_OK;
}

void sl_engine_destroy(sl_engine *e)
{
    if (!e)
        return;
    for (size_t i = 0; e->slot && i < e->settings.n_seqs; i++)
        sl_mem_free(e->slot[i].job);
    while (e->queue) {
        sl_job *next = e->queue->next;
        sl_mem_free(e->queue);
        e->queue = next;
    }
    sl_batch_fini(&e->batch);
    sl_pool_destroy(e->pool);
    sl_kv_destroy(e->kv);
    sl_trace_destroy(e->trace);
    sl_mem_unmap(e->workspace, e->workspace_bytes);
    sl_arena_fini(&e->plan_arena);
    sl_mem_free(e->table);
    sl_mem_free(e->slot);
    sl_mem_free(e->candidates);
    sl_mem_free(e);
}

/* The form of activations that some tensor really asks for: float weights take f32, whatever --act says. */
static sl_act_type act_in_use(const sl_engine *e)
{
    const sl_weights *w = e->model->net->weights;
    const sl_act_type act = e->settings.plan.env.act;
    for (size_t i = 0; i < sl_weights_count(w); i++)
        if (sl_linear_needs(&e->kernels, act, sl_weights_at(w, i)->tensor.format, 1) != SL_NEED_F32)
            return act;
    return SL_ACT_F32;
}

void sl_engine_describe(const sl_engine *e, sl_engine_info *out)
{
    const sl_settings *s = &e->settings;
    const sl_limits *l = &s->plan.env.limits;
    *out = (sl_engine_info){ .isa = sl_isa_name(e->kernels.isa),
                             .act = sl_act_name(act_in_use(e)),
                             .kv_type = sl_kv_type_name(s->kv.type),
                             .mode = sl_mode_name(s->mode),
                             .attn = sl_attn_name(s->plan.env.attn),
                             .n_threads = l->n_threads,
                             .n_ctx = s->n_ctx,
                             .n_ubatch = l->n_tokens,
                             .n_seqs = s->n_seqs,
                             .kv_page = s->kv.P,
                             .memory = e->memory };
}

/* ---- requests ---------------------------------------------------------------- */

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
    for (size_t i = 0; i < r->n_bias; i++)
        if (r->bias_token[i] < 0 || (size_t)r->bias_token[i] >= n_vocab || !(r->bias[i] - r->bias[i] == 0.0f))
            return sl_fail(err, SL_EINVAL, "logit bias %zu: id %d (vocabulary of %zu) with bias %g", i,
                           r->bias_token[i], n_vocab, (double)r->bias[i]);
    return sl_sampling_check(&(sl_sampling){ r->temperature, r->top_k, r->top_p, r->min_p, r->seed }, err);
}

/* One block: the job, its prompt, the bias list. */
static sl_job *copy_request(const sl_request *r)
{
    size_t bytes = 0, bias = 0;
    if (!sl_mul_ok(r->n_prompt, sizeof *r->prompt, &bytes) || !sl_mul_ok(r->n_bias, 3 * sizeof *r->bias, &bias))
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
    job->unbiased = bias_value + r->n_bias;
    return job;
}

sl_status sl_engine_submit(sl_engine *e, const sl_request *r, sl_request_id *id, sl_err *err)
{
    const sl_status rc = check_request(e, r, err);
    if (rc)
        return rc;
    sl_job *job = copy_request(r);
    if (!job)
        return sl_fail(err, SL_ENOMEM, "no memory for a request of %zu tokens", r->n_prompt);
    job->id = ++e->last_id;
    *e->queue_end = job;
    e->queue_end = &job->next;
    if (id)
        *id = job->id;
    return SL_OK;
}

/* The job must be out of queue and slots. */
static void end_job(sl_job *job, sl_finish finish)
{
    const sl_event event = { .kind = SL_EVENT_END, .request = job->id, .finish = finish };
    if (job->request.on_event)
        job->request.on_event(job->request.user, &event);
    sl_mem_free(job);
}

static void free_slot(sl_engine *e, sl_slot *slot, sl_finish finish)
{
    const size_t row = (size_t)(slot - e->slot) * e->settings.pages_per_seq;
    for (size_t i = 0; i < sl_div_up(slot->n_pos, e->settings.kv.P); i++)
        sl_kv_page_drop(e->kv, e->table[row + i]);
    sl_job *job = slot->job;
    *slot = (sl_slot){ 0 };
    e->n_running--;
    end_job(job, finish);
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
            end_job(job, SL_FINISH_CANCEL);
            return true;
        }
    return false;
}

bool sl_engine_busy(const sl_engine *e)
{
    return e->n_running || e->queue;
}

/* ---- one step ---------------------------------------------------------------- */

static void admit(sl_engine *e)
{
    for (size_t i = 0; i < e->settings.n_seqs; i++)
        if (e->slot[i].job && e->slot[i].job->cancelled)
            free_slot(e, &e->slot[i], SL_FINISH_CANCEL);
    for (size_t i = 0; i < e->settings.n_seqs && e->queue; i++) {
        if (e->slot[i].job)
            continue;
        e->slot[i].job = e->queue;
        e->queue = e->queue->next;
        if (!e->queue)
            e->queue_end = &e->queue;
        e->n_running++;
    }
}

static void add_tokens(sl_engine *e, sl_slot *slot, const int32_t *token, size_t n, size_t n_outputs)
{
    const size_t P = e->settings.kv.P, row = (size_t)(slot - e->slot) * e->settings.pages_per_seq;
    for (size_t page = sl_div_up(slot->n_pos, P); page < sl_div_up(slot->n_pos + n, P); page++)
        e->table[row + page] = sl_kv_page_take(e->kv);
    sl_batch_add(&e->batch, (uint32_t)(slot - e->slot), token, n, slot->n_pos, n_outputs);
    slot->n_pos += n;
}

/* As much of the prompt as the step has room for. */
static void add_prompt(sl_engine *e, sl_slot *slot)
{
    sl_job *job = slot->job;
    const sl_request *r = &job->request;
    size_t n = SL_MIN(r->n_prompt - job->fed, sl_batch_room(&e->batch)), n_outputs = 0;
    if (r->prompt_logits)
        n_outputs = n = SL_MIN(n, sl_batch_output_room(&e->batch));
    else if (job->fed + n == r->n_prompt && r->n_predict) {
        n_outputs = SL_MIN(1, sl_batch_output_room(&e->batch));
        n -= 1 - n_outputs;
    }
    if (!n)
        return;
    add_tokens(e, slot, r->prompt + job->fed, n, n_outputs);
    job->fed += n;
    e->stats.prompt_tokens += n;
}

static bool prompt_waits(const sl_slot *slot)
{
    return slot->job && slot->job->fed < slot->job->request.n_prompt;
}

/* Decoding requests first, so that a long prompt does not hold them up; but every other step
 * leaves room for a prompt that waits, so that they do not keep it out either. */
static void gather(sl_engine *e)
{
    const size_t n_seqs = e->settings.n_seqs;
    size_t keep = 0;
    for (size_t i = 0; i < n_seqs && e->stats.steps % 2; i++)
        keep |= prompt_waits(&e->slot[i]);
    sl_batch_clear(&e->batch);
    for (size_t i = 0; i < n_seqs; i++) {
        sl_slot *slot = &e->slot[(e->first_slot + i) % n_seqs];
        if (slot->job && slot->job->generated && sl_batch_room(&e->batch) > keep &&
            sl_batch_output_room(&e->batch) > keep)
            add_tokens(e, slot, &slot->job->last, 1, 1);
    }
    for (size_t i = 0; i < n_seqs; i++) {
        sl_slot *slot = &e->slot[(e->first_slot + i) % n_seqs];
        if (prompt_waits(slot) && sl_batch_room(&e->batch))
            add_prompt(e, slot);
    }
    e->first_slot = (e->first_slot + 1) % n_seqs;
    sl_batch_finish(&e->batch);
}

/* The bias is taken back, last first, since a token may stand in the list twice. */
static int32_t sample(const sl_engine *e, const sl_job *job, float *logits, size_t n_vocab, size_t position)
{
    const sl_request *r = &job->request;
    const sl_sampling how = { r->temperature, r->top_k, r->top_p, r->min_p, r->seed };
    for (size_t i = 0; i < r->n_bias; i++) {
        job->unbiased[i] = logits[r->bias_token[i]];
        logits[r->bias_token[i]] += r->bias[i];
    }
    const int32_t token = sl_sample(&how, logits, n_vocab, position, e->candidates);
    for (size_t i = r->n_bias; i-- > 0;)
        logits[r->bias_token[i]] = job->unbiased[i];
    return token;
}

/* The next token of a request whose last input gave `logits`. */
static void generate(sl_engine *e, sl_slot *slot, float *logits, size_t n_vocab)
{
    sl_job *job = slot->job;
    const sl_request *r = &job->request;
    const int32_t token = sample(e, job, logits, n_vocab, slot->n_pos);
    const sl_tokenizer *t = r->ignore_eos ? NULL : sl_text_tokenizer(e->model->text, NULL);
    if (t && sl_tokenizer_ends(t, token)) {
        free_slot(e, slot, SL_FINISH_STOP);
        return;
    }
    job->last = token;
    job->generated++;
    e->stats.generated_tokens++;
    const sl_event event = { .kind = SL_EVENT_TOKEN,
                             .request = job->id,
                             .position = slot->n_pos,
                             .token = token,
                             .logits = logits,
                             .n_vocab = n_vocab };
    if (r->on_event && !r->on_event(r->user, &event))
        free_slot(e, slot, SL_FINISH_STOP);
    else if (job->generated == r->n_predict || slot->n_pos == e->settings.n_ctx)
        free_slot(e, slot, SL_FINISH_LENGTH);
}

/* Report the logits of a prompt position; false when the request ended. */
static bool report_logits(sl_engine *e, sl_slot *slot, size_t position, const float *logits, size_t n_vocab)
{
    const sl_request *r = &slot->job->request;
    const sl_event event = {
        .kind = SL_EVENT_LOGITS, .request = slot->job->id, .position = position, .logits = logits, .n_vocab = n_vocab
    };
    if (!r->on_event || r->on_event(r->user, &event))
        return true;
    free_slot(e, slot, SL_FINISH_STOP);
    return false;
}

static void deliver(sl_engine *e)
{
    const size_t n_vocab = e->model->net->config.n_vocab;
    const sl_step *step = &e->batch.step;
    const sl_op *last = &e->plan.graph.op[e->plan.graph.n_ops - 1];
    float *logits = e->plan.value[last->out[0]];
    for (size_t i = 0; i < step->n_outputs; i++, logits += n_vocab) {
        sl_slot *slot = &e->slot[e->batch.output_seq[i]];
        if (!slot->job) /* ended by an earlier row of this step */
            continue;
        const size_t position = step->pos[step->output[i]];
        const sl_request *r = &slot->job->request;
        if (position < r->n_prompt && r->prompt_logits && !report_logits(e, slot, position, logits, n_vocab))
            continue;
        if (position + 1 >= r->n_prompt && r->n_predict)
            generate(e, slot, logits, n_vocab);
    }
    for (size_t i = 0; i < e->settings.n_seqs; i++) { /* prompts that were only to be read */
        sl_slot *slot = &e->slot[i];
        if (slot->job && !slot->job->request.n_predict && slot->job->fed == slot->job->request.n_prompt)
            free_slot(e, slot, SL_FINISH_LENGTH);
    }
}

/* Eager mode plans each step anew; first of all, so that a failure leaves every request as it was. */
static sl_status plan_step(sl_engine *e, sl_err *err)
{
    if (e->settings.mode != SL_MODE_EAGER)
        return SL_OK;
    sl_arena_reset(&e->plan_arena);
    const sl_status rc = build_plan(e, err);
    if (!rc)
        sl_plan_bind(&e->plan, e->workspace);
    return rc;
}

static void run_batch(sl_engine *e)
{
    sl_run_step(&e->plan, &e->batch.step, e->kv, e->pool, e->trace, &e->counts);
    e->stats.steps++;
}

sl_status sl_engine_step(sl_engine *e, sl_err *err)
{
    admit(e);
    if (!e->n_running)
        return SL_OK;
    const sl_status rc = plan_step(e, err);
    if (rc)
        return rc;
    gather(e);
    run_batch(e);
    deliver(e);
    return SL_OK;
}

/* ---- steps without requests ---------------------------------------------------- */

sl_status sl_engine_feed(sl_engine *e, const sl_feed *feed, size_t n_feeds, sl_err *err)
{
    assert(!sl_engine_busy(e));
    const size_t n_ctx = e->settings.n_ctx;
    size_t n = 0, n_outputs = 0;
    for (size_t i = 0; i < n_feeds; i++) {
        n += feed[i].n;
        n_outputs += feed[i].logits;
        if (e->slot[feed[i].seq].n_pos + feed[i].n > n_ctx)
            return sl_fail(err, SL_EINVAL, "%zu positions, the context holds %zu",
                           e->slot[feed[i].seq].n_pos + feed[i].n, n_ctx);
    }
    sl_batch_clear(&e->batch);
    if (n > sl_batch_room(&e->batch) || n_outputs > sl_batch_output_room(&e->batch))
        return sl_fail(err, SL_EINVAL, "%zu tokens and %zu rows of logits are more than one step takes", n, n_outputs);
    const sl_status rc = plan_step(e, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n_feeds; i++)
        add_tokens(e, &e->slot[feed[i].seq], feed[i].token, feed[i].n, feed[i].logits);
    sl_batch_finish(&e->batch);
    run_batch(e);
    return SL_OK;
}

void sl_engine_rewind(sl_engine *e, size_t seq, size_t n_pos)
{
    sl_slot *slot = &e->slot[seq];
    const size_t P = e->settings.kv.P, row = seq * e->settings.pages_per_seq;
    assert(!slot->job && n_pos <= slot->n_pos);
    for (size_t page = sl_div_up(n_pos, P); page < sl_div_up(slot->n_pos, P); page++)
        sl_kv_page_drop(e->kv, e->table[row + page]);
    slot->n_pos = n_pos;
}

void sl_engine_get_stats(const sl_engine *e, sl_engine_stats *out)
{
    *out = e->stats;
    out->barriers = e->counts.barriers;
    out->written_bytes = e->counts.written_bytes;
    out->kv_pages = e->settings.kv.n_pages;
    out->kv_pages_used = out->kv_pages - sl_kv_pages_free(e->kv);
}

/* ---- texts ------------------------------------------------------------------- */

sl_status sl_engine_plan_write(const sl_engine *e, FILE *f, sl_err *err)
{
    if (!e->plan.impl) /* eager, and the last step failed */
        return sl_fail(err, SL_ENOMEM, "no memory for a plan");
    return sl_report_plan(e->model->net, &e->plan, f, err);
}

sl_status sl_engine_trace_write(const sl_engine *e, FILE *f, sl_err *err)
{
    return e->trace ? sl_trace_write(e->trace, f, err)
                    : sl_fail(err, SL_EINVAL, "this engine was made without a trace");
}

sl_status sl_engine_trace_summary(const sl_engine *e, FILE *f, sl_err *err)
{
    return e->trace ? sl_trace_summary(e->trace, f, err)
                    : sl_fail(err, SL_EINVAL, "this engine was made without a trace");
}
