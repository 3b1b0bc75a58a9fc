/* test_answers.c - several answers to one prompt: forked requests share pages, and each is bit for bit what it would be
 * alone. Penalties and log-probabilities as a request gets them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/num.h"
#include "base/rng.h"
#include "module/sampler.h"
#include "sluice/sluice.h"

#define TINY   TEST_DATA "/gguf/qwen3-small-Q8_0/qwen3-small-Q8_0.gguf"
#define LONGER 120 /* more than a page, whatever its size here */
#define MOST   64

static sl_model *model;
static size_t n_vocab;
static int32_t prompt[LONGER];

/* What came of a request: tokens, and a fingerprint of every row of logits. */
typedef struct answer {
    int32_t token[MOST];
    uint64_t bits[MOST];
    size_t n, n_rows;
    sl_finish finish;
    bool ended;
    sl_request_id id;
} answer;

static uint64_t fingerprint(const float *x, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, a float at a time */
    for (size_t i = 0; i < n; i++)
        h = (h ^ sl_f32_bits(x[i])) * 0x100000001b3u;
    return h;
}

static bool collect(void *user, const sl_event *event)
{
    answer *a = user;
    if (event->kind == SL_EVENT_END) {
        assert_false(a->ended);
        a->ended = true;
        a->finish = event->finish;
    } else if (event->kind == SL_EVENT_TOKEN) {
        assert_true(a->n < MOST && event->request == a->id);
        a->bits[a->n] = fingerprint(event->logits, event->n_vocab);
        a->token[a->n++] = event->token;
    } else {
        a->n_rows++;
    }
    return true;
}

static sl_engine *make(const sl_engine_options *o)
{
    sl_engine *e = NULL;
    sl_err err = { 0 };
    if (sl_engine_create(&e, model, o, &err))
        fail_msg("%s", err.msg);
    return e;
}

static void step(sl_engine *e)
{
    sl_err err = { 0 };
    if (sl_engine_step(e, &err))
        fail_msg("%s", err.msg);
}

static void run(sl_engine *e)
{
    while (sl_engine_busy(e))
        step(e);
}

/* Settings of the k-th answer: no two alike, greedy among them. */
static sl_request setting(size_t k, size_t n_predict, answer *a)
{
    return (sl_request){ .prompt = prompt,
                         .n_prompt = LONGER,
                         .n_predict = n_predict,
                         .ignore_eos = true,
                         .temperature = k % 4 ? 0.7f + 0.2f * (float)k : 0.0f,
                         .top_k = k % 3 ? 50 : 0,
                         .top_p = k % 2 ? 0.95f : 1.0f,
                         .typical_p = k == 5 ? 0.8f : 0.0f,
                         .repeat_penalty = k % 3 == 1 ? 1.3f : 0.0f,
                         .frequency_penalty = k == 2 ? 0.5f : 0.0f,
                         .seed = 40 + k,
                         .on_event = collect,
                         .user = a };
}

static void submit(sl_engine *e, const sl_request *r)
{
    sl_err err = { 0 };
    answer *a = r->user;
    if (sl_engine_submit(e, r, &a->id, &err))
        fail_msg("%s", err.msg);
}

static void fork_of(sl_engine *e, sl_request_id from, sl_request r)
{
    sl_err err = { 0 };
    answer *a = r.user;
    r.prompt = NULL; /* not looked at */
    r.n_prompt = 0;
    if (sl_engine_fork(e, from, &r, &a->id, &err))
        fail_msg("%s", err.msg);
}

static answer alone(sl_request r)
{
    answer a = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_threads = 1, .n_ctx = 256 });
    r.user = &a;
    submit(e, &r);
    run(e);
    sl_engine_destroy(e);
    return a;
}

static void assert_same(const answer *want, const answer *got, const char *what, size_t k)
{
    if (got->n != want->n || memcmp(got->token, want->token, want->n * sizeof *want->token) != 0)
        fail_msg("%s: answer %zu has other tokens", what, k);
    if (memcmp(got->bits, want->bits, want->n * sizeof *want->bits) != 0)
        fail_msg("%s: answer %zu has other logits", what, k);
}

static sl_engine_stats stats(const sl_engine *e)
{
    sl_engine_stats s;
    sl_engine_get_stats(e, &s);
    return s;
}

/* Eight answers to one prompt, however steps and pages are cut, with as many slots as answers or fewer. */
static void each_answer_is_its_own(void **state)
{
    (void)state;
    static const sl_engine_options variants[] = {
        { .n_threads = 2, .n_seqs = 8, .kv_page = 16 },
        { .n_threads = 1, .n_seqs = 8, .kv_page = 64, .n_ubatch = 7 },
        { .n_threads = 1, .n_seqs = 8, .kv_page = 16, .n_ubatch = 1 },
        { .n_threads = 2, .n_seqs = 3, .kv_page = 48, .n_ubatch = 50 },
        { .n_threads = 1, .n_seqs = 1, .kv_page = 128 },
        { .n_threads = 2, .n_seqs = 9, .kv_page = 32, .mode = "eager" },
    };
    answer want[8];
    for (size_t k = 0; k < 8; k++)
        want[k] = alone(setting(k, 12 + k, NULL));
    for (size_t v = 0; v < SL_COUNT(variants); v++) {
        answer got[8] = { 0 };
        sl_engine_options o = variants[v];
        char what[64];
        o.n_ctx = 256;
        sl_engine *e = make(&o);
        for (size_t k = 0; k < 8; k++) {
            const sl_request r = setting(k, 12 + k, &got[k]);
            if (k)
                fork_of(e, got[k % 3 ? 0 : k - 1].id, r);
            else
                submit(e, &r);
        }
        run(e);
        snprintf(what, sizeof what, "variant %zu", v);
        for (size_t k = 0; k < 8; k++) {
            assert_true(got[k].ended && got[k].finish == SL_FINISH_LENGTH);
            assert_same(&want[k], &got[k], what, k);
        }
        assert_int_equal(stats(e).kv_pages_used, 0);
        if (o.n_seqs >= 8) /* read once; of the others only the last token, for its logits */
            assert_int_equal(stats(e).prompt_tokens, LONGER + 7);
        sl_engine_destroy(e);
    }
}

/* 120 tokens are 7 full pages of 16, and one that each has for itself. */
static void pages_are_shared(void **state)
{
    (void)state;
    answer a[4] = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 4, .kv_page = 16, .n_ctx = 256 });
    sl_request r = setting(1, 4, &a[0]);
    submit(e, &r);
    for (size_t k = 1; k < 4; k++)
        fork_of(e, a[0].id, setting(k, 4 + k, &a[k]));
    step(e);
    assert_int_equal(stats(e).kv_pages_used, 8); /* the others wait for the prompt */
    step(e);
    assert_int_equal(stats(e).kv_pages_used, 7 + 4);
    assert_true(a[0].n == 2 && a[1].n == 1 && a[3].n == 1);
    while (!a[0].ended)
        step(e);
    assert_int_equal(stats(e).kv_pages_used, 7 + 3); /* still needed */
    while (!a[2].ended)
        step(e);
    assert_int_equal(stats(e).kv_pages_used, 7 + 1);
    run(e);
    assert_int_equal(stats(e).kv_pages_used, 0);
    sl_engine_destroy(e);
}

/* Whichever is cancelled, whenever: the others go on as if nothing were, and nothing is left. */
static void cancelling_one_leaves_the_others(void **state)
{
    (void)state;
    answer want[4];
    for (size_t k = 0; k < 4; k++)
        want[k] = alone(setting(k, 20, NULL));
    for (size_t victim = 0; victim < 4; victim++)
        for (size_t after = 0; after < 12; after += 1 + after / 4) {
            answer got[4] = { 0 };
            sl_engine *e = make(&(sl_engine_options){ .n_seqs = 4, .kv_page = 16, .n_ctx = 256, .n_ubatch = 40 });
            const sl_request r = setting(0, 20, &got[0]);
            submit(e, &r);
            for (size_t k = 1; k < 4; k++)
                fork_of(e, got[0].id, setting(k, 20, &got[k]));
            for (size_t i = 0; i < after; i++)
                step(e);
            assert_true(sl_engine_cancel(e, got[victim].id));
            run(e);
            for (size_t k = 0; k < 4; k++)
                if (k == victim)
                    assert_true(got[k].ended && got[k].finish == SL_FINISH_CANCEL);
                else
                    assert_same(&want[k], &got[k], "cancelled neighbour", k);
            assert_int_equal(stats(e).kv_pages_used, 0);
            sl_engine_destroy(e);
        }
    /* All of them, and an engine that goes while they run. */
    answer got[4] = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 4, .kv_page = 16, .n_ctx = 256 });
    sl_request r = setting(0, SL_PREDICT_UNTIL_END, &got[0]);
    submit(e, &r);
    for (size_t k = 1; k < 4; k++)
        fork_of(e, got[0].id, setting(k, SL_PREDICT_UNTIL_END, &got[k]));
    for (size_t i = 0; i < 5; i++)
        step(e);
    for (size_t k = 0; k < 4; k++)
        assert_true(sl_engine_cancel(e, got[k].id));
    step(e);
    assert_false(sl_engine_busy(e));
    assert_int_equal(stats(e).kv_pages_used, 0);
    got[0] = got[1] = (answer){ 0 };
    submit(e, &r);
    fork_of(e, got[0].id, setting(1, 20, &got[1]));
    for (size_t i = 0; i < 4; i++)
        step(e);
    sl_engine_destroy(e);
}

/* A request that said something already: the fork begins behind that. */
static void forked_while_it_speaks(void **state)
{
    (void)state;
    const answer same = alone(setting(1, 40, NULL));
    for (size_t said = 1; said < 20; said += 3) {
        answer parent = { 0 }, child = { 0 };
        sl_engine *e = make(&(sl_engine_options){ .n_seqs = 3, .kv_page = 16, .n_ctx = 256 });
        sl_request r = setting(1, 40, &parent);
        submit(e, &r);
        while (parent.n < said)
            step(e);
        r = setting(3, 10, &child);
        fork_of(e, parent.id, r);
        const uint64_t read = stats(e).prompt_tokens;
        run(e);
        assert_int_equal(stats(e).prompt_tokens, read + 1);
        int32_t so_far[LONGER + 20];
        memcpy(so_far, prompt, sizeof prompt);
        memcpy(so_far + LONGER, parent.token, said * sizeof *so_far);
        r.prompt = so_far;
        r.n_prompt = LONGER + said;
        const answer want = alone(r);
        assert_same(&want, &child, "forked while it spoke", said);
        assert_same(&same, &parent, "parent", said);
        assert_int_equal(stats(e).kv_pages_used, 0);
        sl_engine_destroy(e);
    }
}

/* What the parent said counts as generated for its fork: rewarded, not punished, a word said thirty times comes again.
 */
static void words_of_a_parent_count(void **state)
{
    (void)state;
    const int32_t word = 7;
    const float force = 1000.0f;
    answer parent = { 0 }, plain = { 0 }, fond = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 3, .n_ctx = 256 });
    sl_request r = setting(0, 40, &parent);
    r.bias_token = &word;
    r.bias = &force;
    r.n_bias = 1;
    submit(e, &r);
    while (parent.n < 30)
        step(e);
    fork_of(e, parent.id, setting(0, 1, &plain));
    r = setting(0, 3, &fond);
    r.frequency_penalty = -2;
    fork_of(e, parent.id, r);
    run(e);
    assert_int_not_equal(plain.token[0], word);
    assert_true(fond.token[0] == word && fond.token[2] == word);
    sl_engine_destroy(e);
}

static void what_cannot_be_forked(void **state)
{
    (void)state;
    answer a = { 0 }, b = { 0 };
    sl_err err = { 0 };
    sl_engine *e = make(&(sl_engine_options){ .n_seqs = 2, .n_ctx = 256 });
    sl_request r = setting(0, 3, &a);
    assert_int_equal(sl_engine_fork(e, 1, &r, NULL, &err), SL_ENOTFOUND);
    submit(e, &r);
    r = setting(1, 3, &b);
    r.top_p = 2;
    assert_int_equal(sl_engine_fork(e, a.id, &r, NULL, &err), SL_EINVAL);
    assert_non_null(strstr(err.msg, "top_p"));
    r.top_p = 1;
    r.prompt_logits = true; /* all its rows, so it reads the prompt itself */
    fork_of(e, a.id, r);
    run(e);
    assert_int_equal(b.n_rows, LONGER);
    assert_int_equal(stats(e).prompt_tokens, 2 * LONGER);
    assert_int_equal(sl_engine_fork(e, a.id, &r, NULL, &err), SL_ENOTFOUND); /* has ended */
    sl_engine_destroy(e);
}

/* Any order of submitting, forking, cancelling and stepping. */
static void whatever_happens_around_them(void **state)
{
    (void)state;
    enum { N = 40 };
    for (uint64_t seed = 0; seed < 20; seed++) {
        static answer got[N];
        sl_request request[N];
        bool cancelled[N] = { false };
        size_t n = 0;
        memset(got, 0, sizeof got);
        sl_engine *e = make(&(sl_engine_options){ .n_seqs = 1 + seed % 5,
                                                  .kv_page = 16,
                                                  .n_ctx = 256,
                                                  .n_ubatch = seed % 2 ? 512 : 23,
                                                  .n_threads = 1,
                                                  .prefix_cache = seed % 4 > 1 });
        for (uint64_t i = 0; i < 120 || sl_engine_busy(e); i++) {
            const uint64_t dice = sl_rng_u64(seed, i), which = n ? (dice >> 8) % n : 0;
            if (i < 120 && n < N && dice % 8 == 0) {
                request[n] = setting(n % 8, 1 + (dice >> 32) % 30, &got[n]);
                request[n].n_prompt = 1 + (dice >> 40) % LONGER;
                submit(e, &request[n++]);
            } else if (i < 120 && n && n < N && dice % 8 < 3 && !got[which].n && !got[which].ended) {
                request[n] = setting(n % 8, 1 + (dice >> 32) % 30, &got[n]);
                request[n].n_prompt = request[which].n_prompt;
                fork_of(e, got[which].id, request[n]);
                n++;
            } else if (n && dice % 32 == 5 && !got[which].ended) {
                cancelled[which] = sl_engine_cancel(e, got[which].id);
            } else {
                step(e);
            }
        }
        assert_true(seed % 4 > 1 ? stats(e).kept_tokens > 0 : stats(e).kv_pages_used == 0);
        sl_engine_destroy(e);
        for (size_t k = 0; k < n; k++) {
            assert_true(got[k].ended);
            answer want = alone(request[k]);
            if (cancelled[k]) /* as far as it came */
                want.n = SL_MIN(want.n, got[k].n);
            assert_same(&want, &got[k], "at random", k);
        }
    }
}

/* ---- penalties and log-probabilities --------------------------------------------- */

typedef struct checked {
    sl_request request;
    int32_t said[LONGER + MOST];
    size_t n, changed;
    uint32_t n_top;
} checked;

/* The likeliest token after penalties, by their definition, in double. */
static int32_t expected(const checked *c, const float *logits, size_t vocab, double *margin)
{
    const sl_request *r = &c->request;
    double best = -INFINITY, second = -INFINITY;
    int32_t token = 0;
    for (int32_t t = 0; t < (int32_t)vocab; t++) {
        size_t all = 0, generated = 0;
        const size_t from = r->repeat_last_n && r->repeat_last_n < c->n ? c->n - r->repeat_last_n : 0;
        for (size_t i = from; i < c->n; i++)
            if (c->said[i] == t) {
                all++;
                generated += i >= r->n_prompt;
            }
        double x = (double)logits[t];
        if (all && r->repeat_penalty > 0)
            x = x > 0 ? x / (double)r->repeat_penalty : x * (double)r->repeat_penalty;
        x -= (generated ? (double)r->presence_penalty : 0.0) + (double)generated * (double)r->frequency_penalty;
        if (x > best) {
            second = best;
            best = x;
            token = t;
        } else if (x > second) {
            second = x;
        }
    }
    *margin = best - second;
    return token;
}

static bool check_token(void *user, const sl_event *event)
{
    checked *c = user;
    if (event->kind != SL_EVENT_TOKEN)
        return true;
    double margin = 0.0, sum = 0.0;
    const int32_t want = expected(c, event->logits, event->n_vocab, &margin);
    if (margin > 1e-5)
        assert_int_equal(event->token, want);
    c->changed += event->token != sl_argmax(event->logits, event->n_vocab);
    c->said[c->n++] = event->token;
    assert_int_equal(event->n_top, c->n_top);
    if (!c->request.logprobs)
        return true;
    for (size_t i = 0; i < event->n_vocab; i++)
        sum += exp((double)event->logits[i]);
    assert_true(fabs((double)event->logprob - ((double)event->logits[event->token] - log(sum))) < 1e-5);
    for (size_t i = 0; i < event->n_top; i++) {
        assert_true(fabs((double)event->top_logprob[i] - ((double)event->logits[event->top_token[i]] - log(sum))) <
                    1e-5);
        assert_true(i == 0 || event->top_logprob[i] <= event->top_logprob[i - 1]);
    }
    if (event->n_top)
        assert_int_equal(event->top_token[0], sl_argmax(event->logits, event->n_vocab));
    return true;
}

static size_t run_checked(sl_request r)
{
    static checked c;
    c = (checked){ .request = r, .n = r.n_prompt, .n_top = r.logprobs ? r.top_logprobs : 0 };
    memcpy(c.said, prompt, sizeof prompt);
    r.on_event = check_token;
    r.user = &c;
    sl_engine *e = make(&(sl_engine_options){ .n_ctx = 256 });
    sl_err err = { 0 };
    if (sl_engine_submit(e, &r, NULL, &err))
        fail_msg("%s", err.msg);
    run(e);
    assert_int_equal(c.n, r.n_prompt + r.n_predict);
    sl_engine_destroy(e);
    return c.changed;
}

static void penalties_and_log_probabilities(void **state)
{
    (void)state;
    sl_request r = { .prompt = prompt, .n_prompt = 9, .n_predict = 40, .ignore_eos = true, .top_p = 1 };
    assert_int_equal(run_checked(r), 0);
    r.repeat_penalty = 1.5f;
    assert_true(run_checked(r) > 0);
    r.repeat_last_n = 5;
    run_checked(r);
    r = (sl_request){
        .prompt = prompt, .n_prompt = 9, .n_predict = 40, .ignore_eos = true, .top_p = 1, .logprobs = true
    };
    r.presence_penalty = 2;
    r.top_logprobs = 5;
    assert_true(run_checked(r) > 0);
    r.frequency_penalty = -1;
    r.top_logprobs = SL_TOP_LOGPROBS_MAX;
    run_checked(r);
    r.repeat_penalty = 0.7f;
    r.frequency_penalty = 2;
    r.top_logprobs = 0;
    assert_true(run_checked(r) > 0);
    /* OpenAI's two leave the first token alone, whatever the prompt repeats; repetition does not. */
    r = (sl_request){ .prompt = prompt, .n_prompt = 9, .n_predict = 1, .ignore_eos = true, .top_p = 1 };
    r.presence_penalty = r.frequency_penalty = 2;
    assert_int_equal(run_checked(r), 0);
    assert_true(SL_LOGPROB_FLOOR == SL_LOGPROB_LEAST);
}

int main(void)
{
    sl_err err = { 0 };
    sl_model_info info;
    if (sl_model_open(&model, TINY, &err)) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    sl_model_describe(model, &info);
    n_vocab = info.n_vocab;
    for (size_t i = 0; i < LONGER; i++)
        prompt[i] = (int32_t)(sl_rng_u64(1, i / 2 * 2 % 30) % n_vocab); /* words come twice, and again */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_is_its_own),           cmocka_unit_test(pages_are_shared),
        cmocka_unit_test(cancelling_one_leaves_the_others), cmocka_unit_test(forked_while_it_speaks),
        cmocka_unit_test(words_of_a_parent_count),          cmocka_unit_test(what_cannot_be_forked),
        cmocka_unit_test(whatever_happens_around_them),     cmocka_unit_test(penalties_and_log_probabilities),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sl_model_close(model);
    return failed;
}
