/* Rings, the Chrome file and the summary, on made-up times. */
#include "trace/trace.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "trace/account.h"

#if SL_TRACE

static sl_trace *make(size_t n_threads, size_t capacity)
{
    sl_trace *t = NULL;
    assert_int_equal(sl_trace_create(&t, n_threads, capacity, NULL), SL_OK);
    return t;
}

static void add(sl_trace *t, size_t thread, const char *name, sl_span_kind kind, uint64_t begin, uint64_t end)
{
    const sl_span s = { .name = name, .kind = kind, .layer = -1, .begin_ns = begin, .end_ns = end };
    sl_trace_add(t, thread, &s);
}

typedef sl_status writer(const sl_trace *t, FILE *f, sl_err *err);

/* What a writer writes; the caller frees it. */
static char *text_of(writer *write, const sl_trace *t)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    sl_err err = { 0 };
    assert_int_equal(write(t, f, &err), SL_OK);
    fclose(f);
    return text;
}

/* ---- summary ------------------------------------------------------------------------------ */

typedef struct line {
    uint64_t calls, ns;
    bool found;
} line;

/* The line of the table that begins with `name`; names of one column each, but for the calls. */
static line find_line(const char *text, const char *name, bool has_calls)
{
    line l = { 0 };
    const size_t n = strlen(name);
    for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        uint64_t ms = 0, sub = 0;
        if (strncmp(p, name, n) != 0 || p[n] != ' ')
            continue;
        p += n;
        if (has_calls)
            l.found = sscanf(p, "%" SCNu64 " %" SCNu64 ".%" SCNu64, &l.calls, &ms, &sub) == 3;
        else
            l.found = sscanf(p, "%" SCNu64 ".%" SCNu64, &ms, &sub) == 2;
        l.ns = ms * 1000000 + sub;
        return l;
    }
    return l;
}

static void test_summary_by_hand(void **state)
{
    (void)state;
    sl_trace *t = make(2, 100);
    add(t, 0, "load", SL_SPAN_OP, 0, 500); /* before the step: not of it */
    const sl_span qkv[2] = {
        { "qkv", SL_SPAN_OP, 3, 7, 0, 1000, 3000000, 6000000, 3000000 },
        { "qkv", SL_SPAN_OP, 3, 7, 0, 1000, 2000500, 4000000, 1000500 },
    };
    sl_trace_add(t, 0, &qkv[0]);
    sl_trace_add(t, 1, &qkv[1]);
    add(t, 1, "b", SL_SPAN_BARRIER, 2000500, 3000000);
    /* An operation of one thread with a barrier inside. */
    add(t, 0, "b", SL_SPAN_BARRIER, 4000000, 4500000);
    add(t, 0, "moe", SL_SPAN_OP, 3500000, 5000000);
    add(t, 0, "step", SL_SPAN_STEP, 1000, 6001000);
    char *text = text_of(sl_trace_summary, t);
    const line rows[] = { find_line(text, "qkv", true), find_line(text, "moe", true),
                          find_line(text, "barrier wait", true), find_line(text, "other", false),
                          find_line(text, "total", false) };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(rows[i].found);
    assert_int_equal(rows[0].ns, 2999000 + 1999500);
    assert_int_equal(rows[0].calls, 1);
    assert_int_equal(rows[1].ns, 1000000);
    assert_int_equal(rows[2].ns, 999500 + 500000);
    assert_int_equal(rows[4].ns, 2 * 6000000);
    assert_int_equal(rows[0].ns + rows[1].ns + rows[2].ns + rows[3].ns, rows[4].ns);
    assert_false(find_line(text, "load", true).found);
    assert_non_null(strstr(text, "1 step, 6.000000 ms, 2 threads; times are summed over the threads\n"));
    /* 10 MB in 2.49925 ms of both threads together; 4000500 operations in the same time. */
    assert_non_null(strstr(text, "        10000000     4.00      1.60\n"));
    assert_non_null(strstr(text, " 41.7% ")); /* qkv */
    free(text);
    sl_trace_destroy(t);
}

#define CELLS 4000
#define NAMES 5
static const char *const op_names[NAMES] = { "a", "b", "c", "d", "e" };

static uint64_t draw(uint64_t *counter, uint64_t n)
{
    return sl_rng_u64(11, (*counter)++) % n;
}

/* Spans inside [begin, end) at random, each with others inside; `owner` says who has each cell. */
static void fill(sl_trace *t, size_t thread, uint64_t begin, uint64_t end, int depth, signed char *owner,
                 uint64_t *counter)
{
    while (begin + 2 < end && depth < 4) {
        const uint64_t b = begin + draw(counter, 9), e = b + draw(counter, 60) + 1;
        if (e > end)
            return;
        const uint64_t name = draw(counter, NAMES + 1); /* the last: a barrier */
        memset(owner + b, (int)name, e - b);
        fill(t, thread, b, e, depth + 1, owner, counter);
        add(t, thread, name < NAMES ? op_names[name] : "wait", name < NAMES ? SL_SPAN_OP : SL_SPAN_BARRIER, b, e);
        begin = e;
    }
}

/* Nested spans at random, against a count of every nanosecond. */
static void test_summary_adds_up(void **state)
{
    (void)state;
    uint64_t counter = 0;
    for (int round = 0; round < 30; round++) {
        enum { THREADS = 3 };
        sl_trace *t = make(THREADS, 4096);
        uint64_t want[NAMES + 2] = { 0 }, wall = 0;
        static signed char owner[THREADS][CELLS];
        memset(owner, NAMES + 1, sizeof owner);
        uint64_t begin = draw(&counter, 30);
        while (begin + 400 < CELLS) {
            const uint64_t end = begin + 100 + draw(&counter, 300);
            for (size_t thread = 0; thread < THREADS; thread++) {
                fill(t, thread, begin, end, 0, owner[thread], &counter);
                for (uint64_t c = begin; c < end; c++)
                    want[(size_t)owner[thread][c]]++;
            }
            for (size_t thread = 0; thread < (round % 2 ? THREADS : 1); thread++)
                add(t, thread, "step", SL_SPAN_STEP, begin, end);
            wall += end - begin;
            begin = end + 1 + draw(&counter, 30);
        }
        char *text = text_of(sl_trace_summary, t);
        uint64_t sum = 0;
        for (size_t i = 0; i < NAMES; i++) {
            const uint64_t ns = find_line(text, op_names[i], true).ns;
            assert_int_equal(ns, want[i]);
            sum += ns;
        }
        assert_int_equal(find_line(text, "barrier wait", true).ns, want[NAMES]);
        assert_int_equal(find_line(text, "other", false).ns, want[NAMES + 1]);
        assert_int_equal(sum + want[NAMES] + want[NAMES + 1], THREADS * wall);
        assert_int_equal(find_line(text, "total", false).ns, THREADS * wall);
        free(text);
        sl_trace_destroy(t);
    }
}

/* Three steps of four spans in a ring of nine: the first step has lost spans and is left out. */
static void test_experts(void **state)
{
    (void)state;
    sl_trace *t = make(2, 16);
    for (size_t step = 0; step < 2; step++) {
        sl_span s = { .name = "experts", .layer = 3, .begin_ns = 100 + 100 * step, .end_ns = 150 + 100 * step };
        sl_trace_add(t, 1, &s); /* only thread 0 tells */
        s.experts = step ? (sl_span_experts){ .hit = 6, .picks = 12, .least = 2, .most = 2, .bytes = 600 }
                         : (sl_span_experts){ .hit = 2, .picks = 8, .least = 1, .most = 7, .bytes = 200 };
        sl_trace_add(t, 0, &s);
        add(t, 0, "step", SL_SPAN_STEP, 90 + 100 * step, 160 + 100 * step);
    }
    char *text = text_of(sl_trace_summary, t);
    assert_non_null(strstr(
        text, "experts: 4.00 hit in a layer's step, 400 bytes of them; tokens of each: least 1, mean 2.50, most 7\n"));
    free(text);
    text = text_of(sl_trace_write, t);
    json_t *list = json_loads(text, 0, NULL);
    size_t told = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *args = json_object_get(json_array_get(list, i), "args"), *n = json_object_get(args, "experts");
        const json_t *tokens = json_object_get(args, "expert_tokens");
        if (!n)
            continue;
        told++;
        if (json_integer_value(n) != 2)
            continue;
        assert_int_equal(json_integer_value(json_object_get(tokens, "least")), 1);
        assert_int_equal(json_integer_value(json_object_get(tokens, "most")), 7);
        assert_true(json_real_value(json_object_get(tokens, "mean")) == 4.0);
        assert_int_equal(json_integer_value(json_object_get(args, "expert_bytes")), 200);
    }
    assert_int_equal(told, 2);
    json_decref(list);
    free(text);
    sl_trace_destroy(t);
}

static void test_summary_of_a_full_ring(void **state)
{
    (void)state;
    sl_trace *t = make(2, 9);
    for (uint64_t step = 0; step < 3; step++) {
        const uint64_t begin = 1000 * step;
        for (uint64_t i = 0; i < 3; i++)
            add(t, 0, "op", SL_SPAN_OP, begin + 100 * i, begin + 100 * i + 50);
        add(t, 1, "op", SL_SPAN_OP, begin, begin + 10);
        add(t, 0, "step", SL_SPAN_STEP, begin, begin + 400);
    }
    char *text = text_of(sl_trace_summary, t);
    assert_int_equal(find_line(text, "op", true).ns, 2 * 160);
    assert_int_equal(find_line(text, "op", true).calls, 2 * 3);
    assert_int_equal(find_line(text, "total", false).ns, 2 * 800);
    assert_non_null(strstr(text, "3 older spans were overwritten"));
    free(text);
    sl_trace_destroy(t);
}

static void test_summary_without_steps(void **state)
{
    (void)state;
    sl_trace *t = make(1, 10);
    char *text = text_of(sl_trace_summary, t);
    assert_true(find_line(text, "total", false).found);
    assert_int_equal(find_line(text, "total", false).ns, 0);
    free(text);
    add(t, 0, "op", SL_SPAN_OP, 50, 80);
    add(t, 0, "op", SL_SPAN_OP, 90, 150);
    text = text_of(sl_trace_summary, t);
    assert_int_equal(find_line(text, "op", true).ns, 90);
    assert_int_equal(find_line(text, "other", false).ns, 10);
    assert_int_equal(find_line(text, "total", false).ns, 100);
    free(text);
    sl_trace_destroy(t);
}

/* More names than the table begins with, and deeper nesting than is followed. */
static void test_summary_many_rows(void **state)
{
    (void)state;
    static char names[200][8];
    sl_trace *t = make(1, 1000);
    for (uint64_t i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "n%" PRIu64, i);
        add(t, 0, names[i], SL_SPAN_OP, 10 * i, 10 * i + i % 10);
    }
    for (uint64_t i = 0; i < 40; i++)
        add(t, 0, "deep", SL_SPAN_OP, 2100 - i, 2101 + i);
    char *text = text_of(sl_trace_summary, t);
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(find_line(text, names[i], true).ns, i % 10);
    assert_int_equal(find_line(text, "deep", true).ns, 79);
    free(text);
    sl_err err = { 0 };
    FILE *f = tmpfile();
    for (long n = 0; n < 4; n++) { /* rows, steps, and two times more rows */
        sl_mem_fail_after(n);
        assert_int_equal(sl_trace_summary(t, f, &err), SL_ENOMEM);
        sl_mem_fail_after(-1);
    }
    fclose(f);
    sl_trace_destroy(t);
}

/* ---- account ------------------------------------------------------------------------------ */

static const sl_account_row *find_row(const sl_account *a, const char *name)
{
    for (size_t i = 0; i < a->n_rows; i++)
        if (strcmp(a->rows[i].name, name) == 0)
            return &a->rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

/* Two threads; columns are 10 ns: p plan, A and B operations, w waiting, s sampling.
 *   thread 0  p p . A A A w B B . s .
 *   thread 1  . . . A w w w B B B . .
 * Thread 1 waits 20 ns for thread 0 and both need 10 ns to pass; at the end thread 0 waits 10 ns. */
static void add_small_step(sl_trace *t, uint64_t at)
{
    add(t, 0, "plan", SL_SPAN_SERIAL, at, at + 20);
    add(t, 0, "A", SL_SPAN_OP, at + 30, at + 60);
    add(t, 0, "barrier", SL_SPAN_BARRIER, at + 60, at + 70);
    add(t, 0, "B", SL_SPAN_OP, at + 70, at + 90);
    add(t, 1, "A", SL_SPAN_OP, at + 30, at + 40);
    add(t, 1, "barrier", SL_SPAN_BARRIER, at + 40, at + 70);
    add(t, 1, "B", SL_SPAN_OP, at + 70, at + 100);
    add(t, 0, "sample", SL_SPAN_SERIAL, at + 100, at + 110);
    add(t, 0, "step", SL_SPAN_STEP, at, at + 120);
}

static void test_account(void **state)
{
    (void)state;
    sl_trace *t = make(2, 100);
    sl_err err = { 0 };
    for (uint64_t i = 0; i < 3; i++)
        add_small_step(t, 1000 + 200 * i);
    sl_interval *steps = NULL;
    size_t n = 0;
    uint64_t n_lost = 1;
    assert_int_equal(sl_trace_steps(t, 1100, UINT64_MAX, &steps, &n, &n_lost, &err), SL_OK);
    assert_int_equal(n, 2); /* the first began earlier */
    assert_int_equal(n_lost, 0);
    const sl_interval some[] = { { 1000, 1120 }, { 1400, 1520 } }; /* the one between them is nobody's */
    sl_account a;
    assert_int_equal(sl_trace_account(t, some, 2, &a, &err), SL_OK);
    assert_int_equal(a.wall_ns, 240);
    assert_int_equal(a.n_rows, 4);
    assert_int_equal(find_row(&a, "A")->ns, 2 * 40);
    assert_int_equal(find_row(&a, "A")->wait_ns, 2 * 40);
    assert_int_equal(find_row(&a, "A")->calls, 2);
    assert_int_equal(find_row(&a, "B")->ns, 2 * 50);
    assert_int_equal(find_row(&a, "B")->wait_ns, 0);
    assert_int_equal(find_row(&a, "plan")->ns, 2 * 2 * 20); /* both threads' */
    assert_int_equal(find_row(&a, "sample")->ns, 2 * 2 * 10);
    assert_int_equal(a.wait.ns, 2 * 40);
    assert_int_equal(a.imbalance_ns, 2 * 20);
    assert_int_equal(a.end_ns, 2 * 10);
    assert_int_equal(a.dispatch_ns, 2 * 240 - 80 - 100 - 80 - 40 - 80 - 20);
    assert_int_equal(a.n_spans, 2 * 9);
    sl_account_fini(&a);
    for (long i = 0; i < 3; i++) { /* rows twice, cursors */
        sl_mem_fail_after(i);
        assert_int_equal(sl_trace_account(t, some, 2, &a, &err), SL_ENOMEM);
        sl_mem_fail_after(-1);
        assert_null(a.rows);
    }
    sl_mem_free(steps);
    sl_trace_destroy(t);
}

/* ---- file --------------------------------------------------------------------------------- */

static void test_picks(void **state)
{
    (void)state;
    sl_err err = { 0 };
    static const uint64_t none[4] = { 0 }, one[4] = { 0, 0, 7, 0 }, even[4] = { 5, 5, 5, 5 }, most[4] = { 1, 3, 1, 3 };
    sl_expert_load l = sl_expert_load_of(none, 4);
    assert_true(l.picks == 0 && l.used == 0 && l.most_share == 0.0 && l.entropy == 0.0);
    l = sl_expert_load_of(one, 4);
    assert_true(l.picks == 7 && l.used == 1 && l.most == 2 && l.most_share == 1.0 && l.entropy == 0.0);
    l = sl_expert_load_of(even, 4);
    assert_true(l.picks == 20 && l.used == 4 && l.most == 0 && l.entropy == 2.0);
    l = sl_expert_load_of(most, 4);
    assert_true(l.most == 1 && l.most_share == 0.375 && fabs(l.entropy - 1.811278) < 1e-6);

    sl_trace *t = make(1, 4);
    sl_trace_add_picks(t, 3, 1, 9); /* nobody asked to count */
    assert_int_equal(sl_trace_get_experts(t)->n_experts, 0);
    sl_mem_fail_after(0);
    assert_int_equal(sl_trace_count_experts(t, 3, 4, &err), SL_ENOMEM);
    sl_mem_fail_after(-1);
    assert_int_equal(sl_trace_count_experts(t, SIZE_MAX / 2, 4, &err), SL_ENOMEM);
    assert_int_equal(sl_trace_count_experts(t, 3, 4, &err), SL_OK);
    sl_trace_add_picks(t, 2, 3, 5);
    sl_trace_add_picks(t, 2, 3, 1);
    sl_trace_add_picks(t, 0, 1, 2);
    add(t, 0, "a", SL_SPAN_OP, 1000, 2000);
    char *text = text_of(sl_trace_write, t);
    json_t *list = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(list), 2 + 2); /* a layer without picks has no event */
    int layer = 0, picks[4] = { 0 };
    assert_int_equal(json_unpack(json_array_get(list, 3), "{s:{s:i, s:[i, i, i, i]}}", "args", "layer", &layer, "picks",
                                 &picks[0], &picks[1], &picks[2], &picks[3]),
                     0);
    assert_true(layer == 2 && picks[0] == 0 && picks[1] == 0 && picks[2] == 0 && picks[3] == 6);
    json_decref(list);
    free(text);
    sl_trace_destroy(t);
}

static void test_chrome(void **state)
{
    (void)state;
    sl_trace *t = make(2, 3);
    const sl_span spans[] = {
        { "lost", SL_SPAN_OP, 1, 1, 0, 900, 950, 0, 0 },
        { "attn \"x\\y\"\n\xff", SL_SPAN_OP, 11, 512, 0, 1000, 3500, 5000, 10000 },
        { "wait", SL_SPAN_BARRIER, -1, 1, 0, 3500, 3500, 0, 0 },
        { "step", SL_SPAN_STEP, -1, 1, 0, 1000, 2001000123, UINT32_MAX, 0 },
    };
    for (size_t i = 0; i < 4; i++)
        sl_trace_add(t, 0, &spans[i]);
    sl_trace_next_step(t);
    sl_trace_next_step(t);
    sl_trace_add(t, 1, &spans[1]);
    char *text = text_of(sl_trace_write, t);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    assert_int_equal(json_array_size(root), 2 + 4);
    for (int i = 0; i < 2; i++) { /* first the threads' names */
        const char *what = NULL, *called = NULL;
        int id = -1;
        assert_int_equal(json_unpack(json_array_get(root, (size_t)i), "{s:s,s:i,s:{s:s}}", "name", &what, "tid", &id,
                                     "args", "name", &called),
                         0);
        assert_string_equal(what, "thread_name");
        assert_int_equal(id, i);
        assert_string_equal(called, i ? "sluice 1" : "caller 0");
    }
    const char *name = NULL, *cat = NULL, *ph = NULL;
    double ts = 0, dur = 0, gb_s = 0, gflop_s = 0;
    int tid = -1, pid = -1, layer = 0, tokens = 0, bytes = 0, ops = 0;
    assert_int_equal(json_unpack(json_array_get(root, 2), "{s:s,s:s,s:s,s:F,s:F,s:i,s:i,s:{s:i,s:i,s:i,s:i,s:F,s:F}}",
                                 "name", &name, "cat", &cat, "ph", &ph, "ts", &ts, "dur", &dur, "pid", &pid, "tid",
                                 &tid, "args", "layer", &layer, "tokens", &tokens, "bytes", &bytes, "ops", &ops, "GB/s",
                                 &gb_s, "GFLOP/s", &gflop_s),
                     0);
    assert_string_equal(name, "attn \"x\\y\"??");
    assert_string_equal(cat, "op");
    assert_string_equal(ph, "X");
    assert_true(ts == 0.0 && dur == 2.5 && gb_s == 2.0 && gflop_s == 4.0);
    assert_int_equal(tid, 0);
    assert_int_equal(layer, 11);
    assert_int_equal(tokens, 512);
    assert_int_equal(bytes, 5000);
    assert_int_equal(ops, 10000);
    const json_t *wait = json_array_get(root, 3), *step = json_array_get(root, 4), *other = json_array_get(root, 5);
    assert_string_equal(json_string_value(json_object_get(wait, "cat")), "barrier");
    assert_null(json_object_get(json_object_get(wait, "args"), "layer"));
    assert_null(json_object_get(json_object_get(wait, "args"), "GB/s")); /* no time, no rate */
    assert_true(json_real_value(json_object_get(step, "dur")) == 2000999.123);
    assert_int_equal(json_integer_value(json_object_get(other, "tid")), 1);
    assert_null(json_object_get(json_object_get(step, "args"), "step")); /* before the first one */
    assert_int_equal(json_integer_value(json_object_get(json_object_get(other, "args"), "step")), 2);
    json_decref(root);
    free(text);
    sl_trace_destroy(t);
}

static void test_chrome_empty(void **state)
{
    (void)state;
    sl_trace *t = make(2, 3);
    char *text = text_of(sl_trace_write, t);
    json_t *root = json_loads(text, 0, NULL);
    assert_true(json_is_array(root) && json_array_size(root) == 2);
    json_decref(root);
    free(text);
    sl_trace_destroy(t);
}

static void test_full_disk(void **state)
{
    (void)state;
    FILE *f = fopen("/dev/full", "w");
    if (!f)
        skip();
    sl_trace *t = make(1, 3);
    add(t, 0, "op", SL_SPAN_OP, 1, 2);
    sl_err err = { 0 };
    assert_int_equal(sl_trace_write(t, f, &err), SL_EIO);
    assert_int_equal(sl_trace_summary(t, f, &err), SL_EIO);
    assert_non_null(strstr(err.msg, "No space left"));
    fclose(f);
    sl_trace_destroy(t);
}

/* ---- rings -------------------------------------------------------------------------------- */

static void test_create_errors(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_trace *t = (sl_trace *)&err;
    assert_int_equal(sl_trace_create(&t, 0, 1, &err), SL_EINVAL);
    assert_null(t);
    assert_int_equal(sl_trace_create(&t, 1, 0, &err), SL_EINVAL);
    assert_int_equal(sl_trace_create(&t, 1, SIZE_MAX / 8, &err), SL_ENOMEM);
    sl_status rc = SL_ENOMEM;
    for (long n = 0; rc != SL_OK; n++) {
        assert_true(n < 10);
        sl_mem_fail_after(n);
        rc = sl_trace_create(&t, 3, 10, &err);
        sl_mem_fail_after(-1);
        assert_true(rc == SL_OK ? n == 4 && t : rc == SL_ENOMEM && !t);
    }
    sl_trace_destroy(t);
    sl_trace_destroy(NULL);
}

static void test_begin_and_end(void **state)
{
    (void)state;
    assert_int_equal(sl_trace_begin(NULL), 0);
    sl_trace_end(NULL, 99, "nobody reads this", SL_SPAN_OP, 0, 0, 0, 0, 0);
    sl_trace *t = make(1, 4);
    const uint64_t before = sl_trace_now(), begin = sl_trace_begin(t);
    assert_true(before > 0 && begin >= before);
    sl_trace_end(t, 0, "op", SL_SPAN_OP, 5, 6, begin, 7, 8);
    char *text = text_of(sl_trace_write, t);
    assert_non_null(strstr(text, "\"layer\":5,\"tokens\":6,\"bytes\":7,\"ops\":8"));
    free(text);
    sl_trace_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary_by_hand),
        cmocka_unit_test(test_summary_adds_up),
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_picks),
        cmocka_unit_test(test_summary_of_a_full_ring),
        cmocka_unit_test(test_summary_without_steps),
        cmocka_unit_test(test_summary_many_rows),
        cmocka_unit_test(test_chrome),
        cmocka_unit_test(test_chrome_empty),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_create_errors),
        cmocka_unit_test(test_begin_and_end),
        cmocka_unit_test(test_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void test_off(void **state)
{
    (void)state;
    sl_err err = { 0 };
    sl_trace *t = (sl_trace *)&err;
    assert_int_equal(sl_trace_create(&t, 1, 1, &err), SL_EUNSUPPORTED);
    assert_null(t);
    assert_int_equal(sl_trace_begin((sl_trace *)&err), 0); /* not looked at */
    sl_trace_end((sl_trace *)&err, 0, "op", SL_SPAN_OP, 0, 0, 0, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_off) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
