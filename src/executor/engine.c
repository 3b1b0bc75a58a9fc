/* engine.c - the public sl_engine: each step runs one ragged batch of the requests that are in it.
 *
 * A request waits in a queue (requests.c), gets a slot (its row of the block tables), has its prompt
 * read in chunks and then gives one token a step. Slots own KV pages for as many positions as they
 * have filled, full ones perhaps together with other slots; the pool holds enough for every slot at
 * full length, so no running request can fail.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/num.h"
#include "executor/engine.h"
#include "executor/engine_in.h"
#include "executor/fit.h"
#include "executor/model.h"
#include "executor/report.h"
#include "text/text.h"
#include "tokenizer/tokenizer.h"

/* ---- making and ending ------------------------------------------------------- */

sl_status sl_engine_estimate(const sl_model *m, const sl_engine_options *o, sl_memory *out, sl_err *err)
{
    sl_settings s;
    sl_kernels k;
    sl_status rc = sl_net_runs(m->net, err);
    if (rc || (rc = sl_settings_read(&s, m->net, o, err)))
        return rc;
    sl_settings_kernels(&s, &k);
    return sl_fit(&s, m, out, err);
}

static sl_status build_plan(sl_engine *e, sl_err *err)
{
    return sl_plan_build(&e->plan, &e->plan_arena, e->net, &e->settings.plan, err);
}

static sl_status set_up(sl_engine *e, const sl_engine_options *o, sl_err *err)
{
    sl_status rc = sl_net_runs(e->model->net, err);
    if (rc || (rc = sl_settings_read(&e->settings, e->model->net, o, err)))
        return rc;
    sl_settings *s = &e->settings;
    const sl_limits *l = &s->plan.env.limits;
    const sl_heads heads = sl_net_heads(e->model->net, s->plan.mla);
    sl_settings_kernels(s, &e->kernels);
    if ((rc = sl_fit(s, e->model, &e->memory, err)) || (rc = sl_fit_check(s, e->model, &e->memory, err)) ||
        (rc = sl_engine_place(e, o, err)) || (rc = build_plan(e, err)) ||
        (rc = sl_kv_create(&e->kv, &s->kv, &s->pages, err)) || (rc = sl_engine_start_threads(e, err)) ||
        (rc = sl_engine_read_ahead(e, err)))
        return rc;
    if (s->trace_spans && (rc = sl_trace_create(&e->trace, l->n_threads, s->trace_spans, err)))
        return rc;
    const sl_config *c = &e->net->config;
    if (e->trace && c->router.E && (rc = sl_trace_count_experts(e->trace, c->n_layers, c->router.E, err)))
        return rc;
    if ((rc = sl_pages_map(&e->workspace, sl_plan_workspace(&e->plan), &s->pages, err)))
        return sl_fail_in(err, rc, "the workspace");
    e->table = sl_mem_zalloc(s->n_seqs * s->pages_per_seq, sizeof *e->table);
    e->slot = sl_mem_zalloc(s->n_seqs, sizeof *e->slot);
    e->said_bytes = sl_said_bytes(s);
    e->said = sl_mem_map(e->said_bytes);
    if (!e->table || !e->slot || !e->said)
        return sl_fail(err, SL_ENOMEM, "no memory for %zu sequences", s->n_seqs);
    for (size_t i = 0; i < s->n_seqs; i++)
        e->slot[i].said = e->said + i * (s->n_ctx + 1);
    e->event = sl_mem_zalloc(2 * l->n_outputs, sizeof *e->event);
    e->top = sl_mem_zalloc(s->n_seqs, sizeof *e->top);
    if (!e->event || !e->top)
        return sl_fail(err, SL_ENOMEM, "no memory for the events of a step");
    if ((rc = sl_sampler_create(&e->sampler, e->model->net->config.n_vocab, err)))
        return rc;
    sl_plan_bind(&e->plan, e->workspace.data);
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
    e->ended_end = &e->ended;
    sl_arena_init(&e->plan_arena, 1 << 18);
    const sl_status rc = set_up(e, o, err);
    if (rc) {
        sl_engine_destroy(e);
        return rc;
    }
    *out = e;
    return SL_OK;
}

static void free_jobs(sl_job *job)
{
    while (job) {
        sl_job *next = job->next;
        sl_mem_free(job);
        job = next;
    }
}

void sl_engine_destroy(sl_engine *e)
{
    if (!e)
        return;
    if (e->in_callback) { /* the step that called it would go on in freed memory, in every build */
        fputs("sl_engine_destroy: called from a callback of this engine\n", stderr);
        abort();
    }
    for (size_t i = 0; e->slot && i < e->settings.n_seqs; i++)
        sl_mem_free(e->slot[i].job);
    free_jobs(e->queue);
    free_jobs(e->ended);
    sl_mem_free(e->event);
    sl_mem_free(e->top);
    sl_batch_fini(&e->batch);
    sl_pool_destroy(e->pool);
    sl_ahead_destroy(e->ahead);
    sl_kv_destroy(e->kv);
    sl_trace_destroy(e->trace);
    sl_pages_unmap(&e->workspace);
    sl_copies_fini(&e->copies);
    sl_mem_unmap(e->said, e->said_bytes);
    sl_sampler_destroy(e->sampler);
    sl_arena_fini(&e->plan_arena);
    sl_mem_free(e->table);
    sl_mem_free(e->slot);
    sl_mem_free(e);
}

/* The form of activations that some tensor really asks for: float weights take f32, whatever --act says. */
static sl_act_type act_in_use(const sl_engine *e)
{
    const sl_weights *w = e->model->net->weights;
    const sl_act_type act = e->settings.plan.env.act;
    for (size_t i = 0; i < sl_weights_count(w); i++) {
        const sl_format format = sl_weights_at(w, i)->tensor.format;
        if (format != SL_FORMAT_COUNT && sl_linear_needs(&e->kernels, act, format, 1) != SL_NEED_F32)
            return act;
    }
    return SL_ACT_F32;
}

void sl_engine_describe(const sl_engine *e, sl_engine_info *out)
{
    const sl_settings *s = &e->settings;
    const sl_limits *l = &s->plan.env.limits;
    *out = (sl_engine_info){ .isa = sl_isa_name(e->kernels.isa),
                             .act = sl_act_name(act_in_use(e)),
                             .kv_type = sl_kv_type_name(s->kv.type),
                             .kv_layout = sl_kv_layout_name(s->kv.layout),
                             .mode = sl_mode_name(s->mode),
                             .attn = sl_attn_name(s->plan.env.attn),
                             .mla = s->kv.latent ? sl_mla_name(s->plan.mla) : NULL,
                             .prefetch = e->ahead ? "on" : "off",
                             .kv_position_bytes = sl_kv_position_bytes(&s->kv),
                             .n_threads = l->n_threads,
                             .n_ctx = s->n_ctx,
                             .n_ubatch = l->n_tokens,
                             .n_seqs = s->n_seqs,
                             .kv_page = s->kv.P,
                             .repacked_bytes = e->copies.repacked,
                             .memory = e->memory };
}

/* ---- slots ---------------------------------------------------------------------- */

/* Forget all but the first n positions of a slot. The page with the last of them is its own from then on: it will be
 * written to. There is a free one for the copy, since the pool has a page for every row of every slot's table, and the
 * shared one stands in two of them. */
static void keep_positions(sl_engine *e, sl_slot *slot, size_t n)
{
    const size_t P = e->settings.kv.P;
    uint32_t *page = e->table + (size_t)(slot - e->slot) * e->settings.pages_per_seq;
    for (size_t i = sl_div_up(n, P); i < sl_div_up(slot->n_pos, P); i++)
        sl_kv_page_drop(e->kv, page[i]);
    slot->n_pos = n;
    if (n % P == 0 || !sl_kv_page_is_shared(e->kv, page[n / P]))
        return;
    const uint32_t others = page[n / P];
    page[n / P] = sl_kv_page_take(e->kv);
    sl_kv_page_copy(e->kv, page[n / P], others);
    sl_kv_page_drop(e->kv, others);
}

/* `token`: of SL_FINISH_STOP, else -1. */
static void free_slot(sl_engine *e, sl_slot *slot, sl_finish finish, int32_t token)
{
    sl_job *job = slot->job;
    if (!e->settings.prefix_cache)
        keep_positions(e, slot, 0);
    *slot = (sl_slot){ .said = slot->said, .n_pos = slot->n_pos };
    e->n_running--;
    sl_job_end(e, job, finish, token);
}

bool sl_engine_busy(const sl_engine *e)
{
    return e->n_running || e->queue;
}

/* ---- one step ---------------------------------------------------------------- */

static size_t alike(const int32_t *a, const int32_t *b, size_t n)
{
    size_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* How much of a prompt a free slot has kept: not its last token, which is fed for its logits. */
static size_t kept(const sl_engine *e, const sl_slot *slot, const sl_request *r)
{
    if (!e->settings.prefix_cache || r->prompt_logits)
        return 0;
    return alike(slot->said, r->prompt, SL_MIN(slot->n_pos, r->n_prompt - 1));
}

/* The free slot that has kept most of the prompt; of those with as much the one that loses least. NULL: none is free.
 */
static sl_slot *find_slot(const sl_engine *e, const sl_request *r)
{
    sl_slot *best = NULL;
    size_t most = 0;
    for (sl_slot *slot = e->slot; slot < e->slot + e->settings.n_seqs; slot++) {
        const size_t n = slot->job ? 0 : kept(e, slot, r);
        if (!slot->job && (!best || n > most || (n == most && slot->n_pos < best->n_pos))) {
            most = n;
            best = slot;
        }
    }
    return best;
}

static void admit(sl_engine *e)
{
    sl_slot *slot = NULL;
    for (size_t i = 0; i < e->settings.n_seqs; i++)
        if (e->slot[i].job && e->slot[i].job->cancelled)
            free_slot(e, &e->slot[i], SL_FINISH_CANCEL, -1);
    while (e->queue && (slot = find_slot(e, &e->queue->request))) {
        sl_job *job = e->queue;
        e->queue = job->next;
        if (!e->queue)
            e->queue_end = &e->queue;
        job->fed = kept(e, slot, &job->request);
        keep_positions(e, slot, job->fed);
        e->stats.kept_tokens += job->fed;
        slot->job = job;
        slot->n_said = job->request.n_prompt;
        memcpy(slot->said, job->request.prompt, job->request.n_prompt * sizeof *job->request.prompt);
        e->n_running++;
    }
}

/* ---- prompts that begin alike ------------------------------------------------------ */

/* How much of what `slot` is to read a relative has read or will read: all but the last token, which is fed for its
 * logits. */
static size_t in_common(const sl_slot *slot, const sl_slot *relative)
{
    return alike(slot->said, relative->said, SL_MIN(slot->n_said - 1, relative->n_said));
}

/* Share what the relative's n first positions fill: whole pages, and a copy of the one that both would write to. */
static void take_pages(sl_engine *e, sl_slot *slot, const sl_slot *relative, size_t n)
{
    const size_t P = e->settings.kv.P, ld = e->settings.pages_per_seq;
    uint32_t *own = e->table + (size_t)(slot - e->slot) * ld;
    const uint32_t *others = e->table + (size_t)(relative - e->slot) * ld;
    for (size_t i = 0; i < n / P; i++) {
        own[i] = others[i];
        sl_kv_page_share(e->kv, own[i]);
    }
    if (n % P) {
        own[n / P] = sl_kv_page_take(e->kv);
        sl_kv_page_copy(e->kv, own[n / P], others[n / P]);
    }
    slot->n_pos = slot->job->fed = n;
}

/* A forked request takes what its relatives have read, or waits while one of them is still reading it. The first of
 * those that have not begun never waits, so one of them reads. */
static void adopt(sl_engine *e, sl_slot *slot)
{
    const sl_slot *best = NULL;
    size_t most = 0;
    slot->waits = false;
    if (!slot->job || slot->n_pos || slot->job->request.prompt_logits)
        return;
    for (const sl_slot *o = e->slot; o < e->slot + e->settings.n_seqs; o++) {
        if (o == slot || !o->job || o->job->family != slot->job->family)
            continue;
        const size_t n = in_common(slot, o), filled = SL_MIN(n, o->n_pos);
        slot->waits |= filled < n && (o->n_pos || o->job->id < slot->job->id) && o->job->fed < o->job->request.n_prompt;
        if (filled > most) {
            most = filled;
            best = o;
        }
    }
    if (best && !slot->waits)
        take_pages(e, slot, best, most);
}

/* ---- the batch --------------------------------------------------------------------- */

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
    for (size_t i = 0; i < n_seqs; i++) /* before any slot gets positions that this step has yet to fill */
        adopt(e, &e->slot[i]);
    for (size_t i = 0; i < n_seqs; i++) {
        sl_slot *slot = &e->slot[(e->first_slot + i) % n_seqs];
        if (slot->job && slot->job->generated && sl_batch_room(&e->batch) > keep &&
            sl_batch_output_room(&e->batch) > keep)
            add_tokens(e, slot, &slot->said[slot->n_said - 1], 1, 1);
    }
    for (size_t i = 0; i < n_seqs; i++) {
        sl_slot *slot = &e->slot[(e->first_slot + i) % n_seqs];
        if (prompt_waits(slot) && !slot->waits && sl_batch_room(&e->batch))
            add_prompt(e, slot);
    }
    e->first_slot = (e->first_slot + 1) % n_seqs;
    sl_batch_finish(&e->batch);
}

static void add_logprobs(sl_engine *e, const sl_request *r, sl_event *event)
{
    event->n_top = SL_MIN((size_t)r->top_logprobs, event->n_vocab);
    event->top_token = e->newest.token;
    event->top_logprob = e->newest.logprob;
    event->logprob =
        sl_sampler_logprobs(e->sampler, event->logits, event->token, event->n_top, e->newest.token, e->newest.logprob);
}

/* The next token of a request whose last input gave `logits`. */
static void generate(sl_engine *e, sl_slot *slot, const float *logits, size_t n_vocab)
{
    sl_job *job = slot->job;
    const sl_request *r = &job->request;
    const sl_sampling how = sl_request_sampling(r);
    const sl_said said = { slot->said, slot->n_said, job->n_given };
    if (!sl_sampler_can_pick(logits, n_vocab)) { /* others go on: nothing of theirs is mixed with it */
        e->stats.faults++;
        free_slot(e, slot, SL_FINISH_FAULT, -1);
        return;
    }
    const int32_t token = sl_sampler_pick(e->sampler, &how, logits, &said, slot->n_pos);
    const sl_tokenizer *t = r->ignore_eos ? NULL : sl_text_tokenizer(e->model->text, NULL);
    if (t && sl_tokenizer_ends(t, token)) {
        free_slot(e, slot, SL_FINISH_STOP, token);
        return;
    }
    slot->said[slot->n_said++] = token;
    job->generated++;
    e->stats.generated_tokens++;
    sl_event event = { .kind = SL_EVENT_TOKEN,
                       .request = job->id,
                       .position = slot->n_pos,
                       .token = token,
                       .logits = logits,
                       .n_vocab = n_vocab,
                       .user = r->user };
    if (r->logprobs)
        add_logprobs(e, r, &event);
    if (!sl_report(e, job, &event))
        free_slot(e, slot, SL_FINISH_CALLBACK, -1);
    else if (job->generated == r->n_predict)
        free_slot(e, slot, SL_FINISH_LENGTH, -1);
    else if (slot->n_pos == e->settings.n_ctx)
        free_slot(e, slot, SL_FINISH_CONTEXT, -1);
}

/* Report the logits of a prompt position; false when the request ended. */
static bool report_logits(sl_engine *e, sl_slot *slot, size_t position, const float *logits, size_t n_vocab)
{
    const sl_event event = { .kind = SL_EVENT_LOGITS,
                             .request = slot->job->id,
                             .position = position,
                             .logits = logits,
                             .n_vocab = n_vocab,
                             .user = slot->job->request.user };
    if (sl_report(e, slot->job, &event))
        return true;
    free_slot(e, slot, SL_FINISH_CALLBACK, -1);
    return false;
}

static void deliver(sl_engine *e)
{
    const size_t n_vocab = e->model->net->config.n_vocab;
    const sl_step *step = &e->batch.step;
    const sl_op *last = &e->plan.graph.op[e->plan.graph.n_ops - 1];
    const float *logits = e->plan.value[last->out[0]];
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
            free_slot(e, slot, SL_FINISH_LENGTH, -1);
    }
}

/* Eager mode plans each step anew; first of all, so that a failure leaves every request as it was. */
static sl_status plan_step(sl_engine *e, sl_err *err)
{
    sl_trace_next_step(e->trace);
    if (e->settings.mode != SL_MODE_EAGER)
        return SL_OK;
    const uint64_t begin = sl_trace_begin(e->trace);
    sl_arena_reset(&e->plan_arena);
    const sl_status rc = build_plan(e, err);
    if (!rc)
        sl_plan_bind(&e->plan, e->workspace.data);
    sl_trace_end(e->trace, 0, "plan", SL_SPAN_SERIAL, -1, 0, begin, 0, 0);
    return rc;
}

/* The whole of a step, from its plan to its last event. */
static void end_step(const sl_engine *e, uint64_t begin)
{
    sl_trace_end(e->trace, 0, "step", SL_SPAN_STEP, -1, (uint32_t)e->batch.step.n, begin, 0, 0);
}

static void run_batch(sl_engine *e)
{
    sl_run_step(&e->plan, &e->batch.step, e->kv, e->pool, e->trace, e->ahead, &e->counts);
    e->stats.steps++;
}

sl_status sl_engine_step(sl_engine *e, sl_err *err)
{
    sl_status rc = sl_events_begin_step(e, err);
    if (rc)
        return rc;
    admit(e);
    if (!e->n_running)
        return SL_OK;
    const uint64_t begin = sl_trace_begin(e->trace);
    if ((rc = plan_step(e, err)))
        return rc;
    gather(e);
    run_batch(e);
    const uint64_t sampling = sl_trace_begin(e->trace);
    deliver(e);
    sl_trace_end(e->trace, 0, "sample", SL_SPAN_SERIAL, -1, (uint32_t)e->batch.step.n_outputs, sampling, 0, 0);
    end_step(e, begin);
    return SL_OK;
}

/* ---- steps without requests ---------------------------------------------------- */

/* What sampling costs: the tokens are not wanted. */
static void draw_fed(sl_engine *e, const sl_feed *feed, size_t n_feeds)
{
    const size_t n_vocab = e->model->net->config.n_vocab;
    const float *logits = e->plan.value[e->plan.graph.op[e->plan.graph.n_ops - 1].out[0]];
    const uint64_t begin = sl_trace_begin(e->trace);
    bool drawn = false;
    for (size_t i = 0; i < n_feeds; i++) {
        if (!feed[i].logits)
            continue;
        if (feed[i].sampling) {
            const sl_sampling how = sl_request_sampling(feed[i].sampling);
            const sl_said said = { feed[i].token, feed[i].n, feed[i].n };
            sl_sampler_pick(e->sampler, &how, logits, &said, e->slot[feed[i].seq].n_pos);
            drawn = true;
        }
        logits += n_vocab;
    }
    if (drawn)
        sl_trace_end(e->trace, 0, "sample", SL_SPAN_SERIAL, -1, (uint32_t)n_feeds, begin, 0, 0);
}

sl_status sl_engine_feed(sl_engine *e, const sl_feed *feed, size_t n_feeds, sl_err *err)
{
    assert(!sl_engine_busy(e) && !e->in_callback && !e->settings.prefix_cache);
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
    const uint64_t begin = sl_trace_begin(e->trace);
    const sl_status rc = plan_step(e, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n_feeds; i++)
        add_tokens(e, &e->slot[feed[i].seq], feed[i].token, feed[i].n, feed[i].logits);
    sl_batch_finish(&e->batch);
    run_batch(e);
    draw_fed(e, feed, n_feeds);
    end_step(e, begin);
    return SL_OK;
}

void sl_engine_rewind(sl_engine *e, size_t seq, size_t n_pos)
{
    assert(!e->slot[seq].job && n_pos <= e->slot[seq].n_pos);
    keep_positions(e, &e->slot[seq], n_pos);
}

void sl_engine_get_stats(const sl_engine *e, sl_engine_stats *out)
{
    *out = e->stats;
    out->barriers = e->counts.barriers;
    out->written_bytes = e->counts.written_bytes;
    out->mixtures = e->counts.mixtures;
    out->experts_hit = e->counts.experts_hit;
    out->kv_pages = e->settings.kv.n_pages;
    out->kv_pages_used = out->kv_pages - sl_kv_pages_free(e->kv);
}

/* ---- texts ------------------------------------------------------------------- */

sl_status sl_engine_plan_write(const sl_engine *e, FILE *f, sl_err *err)
{
    if (!e->plan.impl) /* eager, and the last step failed */
        return sl_fail(err, SL_ENOMEM, "no memory for a plan");
    return sl_report_plan(e->net, &e->plan, f, err);
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
