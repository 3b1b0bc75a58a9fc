#include "executor/fit.h"

#include <pthread.h>
#include "base/num.h"
#include "base/room.h"
#include "base/str.h"
#include "module/sampler.h"

#define PROGRAM_BYTES ((size_t)6 << 20) /* code, libraries, their data */
/* Address space of libraries at work: heaps of threads, compiled patterns, a request's texts. */
#define ADDRESS_BYTES ((size_t)64 << 20)
#define ROUND_FROM    8192 /* chosen contexts from here on are whole multiples of ROUND_TO, so that */
#define ROUND_TO      1024 /* they differ less from start to start */

/* Sixteenths of what may be had that an engine may take: all when its context was asked for, a little less when it is
 * chosen, and most of the memory for the weights where they come from the disk. */
enum { ALL = 16, CHOSEN = 15, STREAMED = 4 };

typedef struct fitting {
    const sl_settings *s;
    const sl_model *m;
    sl_room room;
} fitting;

size_t sl_said_bytes(const sl_settings *s)
{
    return s->n_seqs * (s->n_ctx + 1) * sizeof(int32_t);
}

/* A sum that does not fit is more than any memory. */
static size_t sum(size_t a, size_t b)
{
    size_t out = SIZE_MAX;
    return sl_add_ok(a, b, &out) ? out : SIZE_MAX;
}

/* Of threads other than the caller's, each mapped in full when it starts. */
static size_t stacks_bytes(size_t n_threads)
{
    pthread_attr_t attr;
    size_t each = 0, out = SIZE_MAX;
    if (pthread_attr_init(&attr) == 0) {
        pthread_attr_getstacksize(&attr, &each);
        pthread_attr_destroy(&attr);
    }
    return sl_mul_ok(each, n_threads - 1, &out) ? out : SIZE_MAX;
}

static size_t resident_need(const sl_memory *n)
{
    return sum(sum(n->streamed ? 0 : n->weights, n->kv), sum(n->workspace, n->rest));
}

static size_t address_need(const fitting *f, const sl_memory *n)
{
    const size_t copies = f->s->weights == SL_WEIGHTS_MAP ? 0 : n->weights;
    const size_t stacks = stacks_bytes(f->s->plan.env.limits.n_threads);
    return sum(sum(copies, n->kv), sum(sum(n->workspace, n->rest), sum(stacks, ADDRESS_BYTES)));
}

static bool within(size_t need, size_t room, size_t parts)
{
    return need <= (parts == ALL ? room : room / ALL * parts);
}

static bool fits(const fitting *f, const sl_memory *n, size_t parts)
{
    return within(resident_need(n), f->room.resident, parts) && within(address_need(f, n), f->room.address, parts);
}

/* The limit that is nearer: it is the one to tell about. */
static void tell_limit(const fitting *f, sl_memory *n)
{
    const size_t a = resident_need(n), b = address_need(f, n);
    const bool address = f->room.address_by && (!f->room.resident_by || (double)f->room.address - (double)b <
                                                                            (double)f->room.resident - (double)a);
    n->needed = address ? b : a;
    n->available = address ? f->room.address : f->room.resident;
    n->available_by = address ? f->room.address_by : f->room.resident_by;
    n->fits = fits(f, n, ALL);
}

static sl_status count(const fitting *f, const sl_settings *s, sl_memory *out, sl_err *err)
{
    const sl_net *net = f->m->net;
    sl_arena arena;
    sl_plan plan;
    size_t page = 0;
    *out = (sl_memory){ .n_ctx = s->n_ctx };
    if (!sl_kv_page_bytes(&s->kv, &page) || !sl_mul_ok(page, s->kv.n_pages, &out->kv))
        return sl_fail(err, SL_EINVAL, "--ctx-size: a KV cache of %zu positions is larger than the address space",
                       s->kv.n_pages * s->kv.P);
    sl_arena_init(&arena, 1 << 18);
    const sl_status rc = sl_plan_build(&plan, &arena, net, &s->plan, err);
    if (!rc)
        out->workspace = sl_plan_workspace(&plan);
    sl_arena_fini(&arena);
    if (!sl_mul_ok(net->weight_bytes, SL_MAX(s->n_copies, 1u), &out->weights))
        return sl_fail(err, SL_EINVAL, "--weights: %zu copies are larger than the address space", s->n_copies);
    /* The file's header, read through; vectors as f32; vocabulary; room to sample; tables of pages; what was said. */
    out->rest = PROGRAM_BYTES + ((size_t)sl_weights_file_bytes(net->weights) - net->weight_bytes - net->unread_bytes) +
                net->widened_bytes + net->config.n_vocab * (100 + 100) + sl_sampler_bytes(net->config.n_vocab) +
                s->kv.n_pages * 3 * sizeof(uint32_t) + sl_said_bytes(s);
    return rc;
}

/* The same with another context; what is beyond the address space fits nowhere. */
static sl_status count_with(const fitting *f, size_t n_ctx, sl_memory *out, sl_err *err)
{
    sl_settings s = *f->s;
    const bool streamed = out->streamed;
    sl_settings_set_ctx(&s, n_ctx);
    const sl_status rc = count(f, &s, out, err);
    if (rc == SL_EINVAL)
        out->kv = SIZE_MAX;
    out->streamed = streamed;
    return rc == SL_EINVAL ? SL_OK : rc;
}

/* The largest context up to n_max that fits, 0 if none does; *at: what it takes. More positions never take less. */
static sl_status largest(const fitting *f, size_t n_max, bool streamed, size_t parts, size_t *out, sl_err *err)
{
    const size_t P = f->s->kv.P;
    size_t low = 0, high = n_max / P; /* in pages: `low` fits, `high + 1` does not */
    *out = 0;
    while (low < high) {
        const size_t mid = high - (high - low) / 2;
        sl_memory n = { .streamed = streamed };
        const sl_status rc = count_with(f, mid * P, &n, err);
        if (rc)
            return rc;
        if (fits(f, &n, parts))
            low = mid;
        else
            high = mid - 1;
    }
    *out = low * P < ROUND_FROM ? low * P : low * P / ROUND_TO * ROUND_TO;
    return SL_OK;
}

/* Whether mapped weights are more than all memory there is; a limit that the user set is meant. */
static sl_status find_streamed(const fitting *f, bool *out, sl_err *err)
{
    sl_memory n = { 0 };
    *out = false;
    if (f->s->weights != SL_WEIGHTS_MAP || f->s->memory_max || f->s->mlock)
        return SL_OK;
    const sl_status rc = count_with(f, SL_MIN(f->s->kv.P, f->s->n_ctx), &n, err);
    if (rc || fits(f, &n, ALL))
        return rc;
    n.streamed = true;
    *out = fits(f, &n, ALL);
    return SL_OK;
}

static fitting begin(const sl_settings *s, const sl_model *m)
{
    fitting f = { .s = s, .m = m };
    sl_room_get(&f.room);
    if (s->memory_max && s->memory_max < f.room.resident) {
        f.room.resident = s->memory_max;
        f.room.resident_by = "--memory";
    }
    return f;
}

sl_status sl_fit(sl_settings *s, const sl_model *m, sl_memory *out, sl_err *err)
{
    const fitting f = begin(s, m);
    bool streamed = false;
    sl_status rc = find_streamed(&f, &streamed, err);
    if (rc)
        return rc;
    rc = count(&f, s, out, err);
    if (rc && !(rc == SL_EINVAL && s->choose_ctx))
        return rc;
    if (rc)
        out->kv = SIZE_MAX;
    out->streamed = streamed;
    const size_t parts = streamed ? STREAMED : CHOSEN;
    if (s->choose_ctx && !fits(&f, out, parts)) {
        size_t n_ctx = 0;
        if ((rc = largest(&f, s->n_ctx, streamed, parts, &n_ctx, err)))
            return rc;
        sl_settings_set_ctx(s, SL_MAX(n_ctx, SL_MIN(s->kv.P, s->n_ctx)));
        if ((rc = count(&f, s, out, err)))
            return rc;
        out->streamed = streamed;
    }
    tell_limit(&f, out);
    return SL_OK;
}

sl_status sl_fit_check(const sl_settings *s, const sl_model *m, const sl_memory *n, sl_err *err)
{
    const fitting f = begin(s, m);
    size_t n_ctx = 0;
    char would[160], more[64] = "";
    if (n->fits)
        return SL_OK;
    const sl_status rc = largest(&f, s->n_ctx, n->streamed, ALL, &n_ctx, err);
    if (rc)
        return rc;
    if (n_ctx)
        snprintf(would, sizeof would,
                 "--ctx-size %zu would fit; fewer sequences, a narrower --kv-type and a smaller "
                 "--ubatch-size take less too",
                 n_ctx);
    else
        snprintf(would, sizeof would, "no context is small enough");
    const bool address = f.room.address_by && n->available_by == f.room.address_by;
    const size_t known = sum(sum(s->weights == SL_WEIGHTS_MAP ? 0 : n->weights, n->kv), sum(n->workspace, n->rest));
    if (address)
        snprintf(more, sizeof more, ", stacks and libraries %s",
                 sl_bytes_text(n->needed - SL_MIN(known, n->needed)).text);
    return sl_fail(err, SL_ENOMEM,
                   "a context of %zu positions x %zu sequence%s takes %s%s (weights %s%s, KV cache %s, workspace %s, "
                   "other %s%s), but %s is %s: %s",
                   n->n_ctx, s->n_seqs, s->n_seqs == 1 ? "" : "s", sl_bytes_text(n->needed).text,
                   address ? " of address space" : "", sl_bytes_text(n->weights).text,
                   n->streamed                               ? " beside it"
                   : address && s->weights == SL_WEIGHTS_MAP ? " already mapped"
                                                             : "",
                   sl_bytes_text(n->kv).text, sl_bytes_text(n->workspace).text, sl_bytes_text(n->rest).text, more,
                   n->available_by, sl_bytes_text(n->available).text, would);
}
