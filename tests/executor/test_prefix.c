/* test_prefix.c - what an engine keeps of requests that ended: a conversation reads each turn once, to the bits of a
 * fresh engine, and nothing is mistaken for something that it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/num.h"
#include "base/rng.h"
#include "sluice/sluice.h"

#define TINY TEST_DATA "/gguf/qwen3-small-Q8_0/qwen3-small-Q8_0.gguf"
#define CTX  256
#define SAYS 12

static sl_model *model;
static size_t n_vocab;

typedef struct answer {
    int32_t token[CTX];
    uint64_t bits[CTX]; /* a fingerprint of the logits that each token was drawn from */
    size_t n, n_rows, stop_after;
    sl_finish finish;
} answer;

static bool collect(void *user, const sl_event *event)
{
    answer *a = user;
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a, a float at a time */
    if (event->kind == SL_EVENT_END) {
        a->finish = event->finish;
        return true;
    }
    if (event->kind == SL_EVENT_LOGITS) {
        a->n_rows++;
        return true;
    }
    for (size_t i = 0; i < event->n_vocab; i++)
        h = (h ^ sl_f32_bits(event->logits[i])) * 0x100000001b3u;
    a->bits[a->n] = h;
    a->token[a->n++] = event->token;
    return a->n != a->stop_after;
}

static sl_engine *make(sl_engine_options o)
{
    sl_engine *e = NULL;
    sl_err err = { 0 };
    o.n_ctx = CTX;
    o.n_threads = 1;
    if (sl_engine_create(&e, model, &o, &err))
        fail_msg("%s", err.msg);
    return e;
}

static void run(sl_engine *e)
{
    sl_err err = { 0 };
    while (sl_engine_busy(e))
        if (sl_engine_step(e, &err))
            fail_msg("%s", err.msg);
}

static sl_request asks(const int32_t *prompt, size_t n, answer *a)
{
    return (sl_request){
        .prompt = prompt, .n_prompt = n, .n_predict = SAYS, .ignore_eos = true, .on_event = collect, .user = a
    };
}

static void submit(sl_engine *e, const sl_request *r, sl_request_id *id)
{
    sl_err err = { 0 };
    if (sl_engine_submit(e, r, id, &err))
        fail_msg("%s", err.msg);
}

/* Run and compare with an engine that has seen nothing before. Returns how many prompt tokens were read. */
static uint64_t ask(sl_engine *e, const sl_request *request, answer *got)
{
    answer want = { .stop_after = got->stop_after };
    sl_engine_stats before, after;
    sl_request r = *request;
    *got = (answer){ .stop_after = got->stop_after };
    sl_engine_get_stats(e, &before);
    submit(e, &r, NULL);
    run(e);
    sl_engine_get_stats(e, &after);
    sl_engine *fresh = make((sl_engine_options){ .kv_page = 16 });
    r.user = &want;
    submit(fresh, &r, NULL);
    run(fresh);
    sl_engine_destroy(fresh);
    assert_int_equal(got->n, want.n);
    assert_int_equal(got->n_rows, want.n_rows);
    assert_int_equal(got->finish, want.finish);
    assert_memory_equal(got->token, want.token, want.n * sizeof *want.token);
    assert_memory_equal(got->bits, want.bits, want.n * sizeof *want.bits);
    assert_int_equal(after.prompt_tokens - before.prompt_tokens + after.kept_tokens - before.kept_tokens, r.n_prompt);
    return after.prompt_tokens - before.prompt_tokens;
}

static void fill(int32_t *token, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        token[i] = (int32_t)(3 + sl_rng_u64(seed, i) % (n_vocab - 3));
}

/* Each turn is what was said before and seven tokens more. */
static void a_conversation_is_read_once(void **state)
{
    (void)state;
    int32_t said[CTX];
    size_t n = 20;
    answer a = { 0 };
    sl_engine *e = make((sl_engine_options){ .kv_page = 16, .n_ubatch = 5, .prefix_cache = true });
    fill(said, CTX, 1);
    for (size_t turn = 0; n + SAYS + 7 <= CTX; turn++) {
        const sl_request r = asks(said, n, &a);
        /* The last token of an answer was never fed: it is read with the new ones. */
        assert_int_equal(ask(e, &r, &a), turn ? 7 + 1 : 20);
        memcpy(said + n, a.token, SAYS * sizeof *said);
        n += SAYS + 7;
    }
    sl_engine_destroy(e);
}

static void without_the_option_all_is_read(void **state)
{
    (void)state;
    int32_t said[40];
    answer a = { 0 };
    sl_engine *e = make((sl_engine_options){ 0 });
    sl_engine_stats s;
    fill(said, 40, 1);
    const sl_request r = asks(said, 40, &a);
    assert_int_equal(ask(e, &r, &a), 40);
    sl_engine_get_stats(e, &s);
    assert_int_equal(s.kv_pages_used, 0);
    assert_int_equal(ask(e, &r, &a), 40);
    sl_engine_destroy(e);
}

/* The same prompt, a shorter one, one that turns off in the middle of a page, at its edge, at the first token; one that
 * differs by 256 in each id only. */
static void only_what_is_the_same_is_kept(void **state)
{
    (void)state;
    int32_t said[80], other[80];
    answer a = { 0 };
    sl_engine *e = make((sl_engine_options){ .kv_page = 16, .prefix_cache = true });
    fill(said, 80, 2);
    sl_request r = asks(said, 80, &a);
    assert_int_equal(ask(e, &r, &a), 80);
    assert_int_equal(ask(e, &r, &a), 1);
    r.n_prompt = 50;
    assert_int_equal(ask(e, &r, &a), 1);
    static const size_t turns_off[] = { 49, 48, 47, 32, 1, 0 };
    for (size_t i = 0; i < SL_COUNT(turns_off); i++) {
        r = asks(said, 80, &a);
        ask(e, &r, &a);
        memcpy(other, said, sizeof said);
        other[turns_off[i]] = said[turns_off[i]] % ((int32_t)n_vocab - 4) + 3 + (said[turns_off[i]] == 3);
        assert_int_not_equal(other[turns_off[i]], said[turns_off[i]]);
        r = asks(other, 80, &a);
        assert_int_equal(ask(e, &r, &a), 80 - turns_off[i]);
    }
    for (size_t i = 0; i < 80; i++) {
        said[i] = (int32_t)(i % (n_vocab - 256));
        other[i] = said[i] + 256;
    }
    if (n_vocab > 256) {
        r = asks(said, 80, &a);
        ask(e, &r, &a);
        r = asks(other, 80, &a);
        assert_int_equal(ask(e, &r, &a), 80);
    }
    sl_engine_destroy(e);
}

/* Whatever ended it: its own end, the callback, a cancellation in the prompt or behind it, a full context. */
static void ends_of_all_kinds_leave_what_was_read(void **state)
{
    (void)state;
    int32_t said[CTX];
    answer a = { 0 };
    sl_request_id id = 0;
    sl_err err = { 0 };
    sl_engine *e = make((sl_engine_options){ .kv_page = 16, .n_ubatch = 16, .prefix_cache = true });
    fill(said, CTX, 3);
    sl_request r = asks(said, 100, &a);
    submit(e, &r, &id);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(sl_engine_step(e, &err), SL_OK);
    sl_engine_cancel(e, id);
    run(e);
    assert_int_equal(a.finish, SL_FINISH_CANCEL);
    assert_int_equal(ask(e, &r, &a), 100 - 48);
    a.stop_after = 4;
    assert_int_equal(ask(e, &r, &a), 1);
    assert_int_equal(a.finish, SL_FINISH_CALLBACK);
    a.stop_after = 0;
    r = asks(said, CTX - 2, &a);
    assert_int_equal(ask(e, &r, &a), CTX - 2 - 100);
    assert_int_equal(a.finish, SL_FINISH_CONTEXT);
    r.prompt_logits = true; /* wants the logits of all */
    r.n_prompt = 60;
    assert_int_equal(ask(e, &r, &a), 60);
    r.prompt_logits = false;
    r.n_predict = 0;
    assert_int_equal(ask(e, &r, &a), 1);
    sl_engine_destroy(e);
}

/* Forks share pages; a request that goes on in the middle of a shared one gets its own. */
static void forks_keep_their_own(void **state)
{
    (void)state;
    int32_t said[70];
    answer a[3] = { 0 };
    sl_request_id id = 0;
    sl_err err = { 0 };
    sl_engine *e = make((sl_engine_options){ .kv_page = 16, .n_seqs = 3, .prefix_cache = true });
    fill(said, 70, 4);
    for (size_t round = 0; round < 4; round++) {
        sl_request r = asks(said, 70, &a[0]);
        memset(a, 0, sizeof a);
        submit(e, &r, &id);
        for (size_t k = 1; k < 3; k++) {
            r.user = &a[k];
            r.temperature = 1.5f;
            r.seed = 10 * round + k;
            assert_int_equal(sl_engine_fork(e, id, &r, NULL, &err), SL_OK);
        }
        run(e);
        for (size_t cut = 33; cut < 50; cut += 13) { /* within a page that three hold */
            int32_t other[70];
            memcpy(other, said, sizeof said);
            fill(other + cut, 70 - cut, 100 + cut + round);
            r = asks(other, 70, &a[0]);
            assert_true(ask(e, &r, &a[0]) <= 70 - cut);
        }
        r = asks(said, 70, &a[0]);
        assert_int_equal(ask(e, &r, &a[0]), 1);
    }
    sl_engine_destroy(e);
}

/* Four conversations in two places: each goes where most of it is. */
static void slots_are_found_again(void **state)
{
    (void)state;
    int32_t said[4][60];
    answer a = { 0 };
    sl_engine *e = make((sl_engine_options){ .kv_page = 16, .n_seqs = 2, .prefix_cache = true });
    for (size_t i = 0; i < 4; i++)
        fill(said[i], 60, 20 + i);
    for (size_t i = 0; i < 2; i++) {
        const sl_request r = asks(said[i], 60, &a);
        assert_int_equal(ask(e, &r, &a), 60);
    }
    for (size_t i = 0; i < 4; i++) {
        const sl_request r = asks(said[i % 2], 60, &a);
        assert_int_equal(ask(e, &r, &a), 1);
    }
    for (size_t i = 0; i < 8; i++) {
        const sl_request r = asks(said[i % 4], 60, &a);
        ask(e, &r, &a);
    }
    sl_engine_destroy(e);
}

static int open_model(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_model_info info;
    if (sl_model_open(&model, TINY, &err))
        fail_msg("%s", err.msg);
    sl_model_describe(model, &info);
    n_vocab = info.n_vocab;
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    sl_model_close(model);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_is_read_once),   cmocka_unit_test(without_the_option_all_is_read),
        cmocka_unit_test(only_what_is_the_same_is_kept), cmocka_unit_test(ends_of_all_kinds_leave_what_was_read),
        cmocka_unit_test(forks_keep_their_own),          cmocka_unit_test(slots_are_found_again),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
