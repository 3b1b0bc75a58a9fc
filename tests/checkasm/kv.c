/* kv.c - writing a token into a page: every byte of the page is as it should be. */
#include "checkasm.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "pages.h"

typedef struct shape {
    sl_kv_type type;
    bool key;
    size_t C, P;
} shape;

typedef struct call {
    sl_kv_write_fn *fn;
    const sl_kv_head *h;
    const float *x;
} call;

static void run(void *arg)
{
    const call *a = arg;
    a->fn(a->h, a->h->P / 2, a->x);
}

static void check_shape(ca *c, const void *arg)
{
    const shape *s = arg;
    const size_t bytes = s->C * s->P * page_bytes(s->type);
    float *x = ca_buf(c, s->C * sizeof *x);
    const sl_kv_head h = { ca_buf(c, bytes), s->P, s->C }, want = { ca_buf(c, bytes), s->P, s->C };
    sl_kv_write_fn *fn = s->key ? c->k->kv_write_k[s->type] : c->k->kv_write_v[s->type];

    const size_t slots[] = { 0, s->P / 2 + 1, s->P - 1 };
    for (size_t i = 0; i < 3; i++) {
        ca_fill(c, x, s->C, (ca_kind)(i + 1));
        if (i == 0) { /* rounding up to infinity, ties, NaN whose payload would vanish */
            const float odd[] = { NAN,        -INFINITY,    65519.0f,
                                  65520.0f,   1 + 0x1p-11f, 1 + 0x3p-11f,
                                  0x1p-25f,   0x1.8p-24f,   sl_f32_from_bits(0x7f800001u),
                                  0x1.ffp127f };
            for (size_t k = 0; k < s->C; k++)
                x[k] = k < sizeof odd / sizeof *odd ? odd[k] : x[k];
        }
        for (size_t k = 0; k < s->C; k++)
            page_set(&want, s->type, s->key, slots[i], k, x[k]);
        fn(&h, slots[i], x);
        ca_same(c, "page", h.data, want.data, bytes / page_bytes(s->type), page_bytes(s->type));
    }
    call a = { fn, &h, x };
    ca_time(c, run, &a, (double)s->C * (double)(4 + page_bytes(s->type)), 0);
}

void check_kv(ca *c)
{
    static const size_t bench_widths[] = { 64, 128, 0 };
    for (size_t type = 0; type < SL_KV_COUNT; type++)
        for (const size_t *w = c->bench ? bench_widths : ca_widths; *w; w++) {
            shape s = { (sl_kv_type)type, true, c->bench ? *w : 2 * *w, c->bench || *w % 2 ? 64 : 16 };
            if (CA_NEW(c, kv_write_k[type]))
                ca_case(c, check_shape, &s, "kv_write_k %s C=%zu P=%zu", page_type_name(s.type), s.C, s.P);
            s.key = false;
            if (CA_NEW(c, kv_write_v[type]))
                ca_case(c, check_shape, &s, "kv_write_v %s C=%zu P=%zu", page_type_name(s.type), s.C, s.P);
        }
}
