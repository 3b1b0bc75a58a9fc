/* kv.c - writing a token into a page: every byte of the page is as it should be. Quantising a head. */
#include "checkasm.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "pages.h"

typedef struct shape {
    sl_kv_type type;
    page_kind kind;
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

/* Rounding up to infinity, ties, NaN whose payload would vanish. */
static void plant_halves(float *x, size_t C)
{
    const float odd[] = { NAN,        -INFINITY,    65519.0f,
                          65520.0f,   1 + 0x1p-11f, 1 + 0x3p-11f,
                          0x1p-25f,   0x1.8p-24f,   sl_f32_from_bits(0x7f800001u),
                          0x1.ffp127f };
    memcpy(x, odd, SL_MIN(C, SL_COUNT(odd)) * sizeof *x);
}

/* Row `i` of what one scale for a head may meet. */
static void plant_bytes(float *x, size_t C, size_t i)
{
    switch (i) {
    case 0: /* d = 1: exactly between two integers */
        for (size_t c = 0; c < C; c++)
            x[c] = c ? (float)(c % 100) - 49.5f : -127.0f;
        break;
    case 1:
        memset(x, 0, C * sizeof *x);
        break;
    case 2:
        x[C - 1] = NAN;
        break;
    case 3:
        x[C / 2] = -INFINITY;
        break;
    case 4:
        for (size_t c = 0; c < C; c++) /* a scale of a few times the smallest number */
            x[c] = (float)((double)c * 6 * 0x1p-149);
        break;
    case 5:
        x[C / 2] = 3.4e38f;
        break;
    default: /* one outlier above the rest */
        for (size_t c = 0; c < C; c++)
            x[c] *= 5;
        x[C / 3] = 60;
    }
}

/* NaN has many bits; any will do. */
static void same_scales(ca *c, float *got, const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(want[i]) || !isnan(got[i]))
            ca_same(c, "scale", got + i, want + i, 1, sizeof *got);
}

static void check_shape(ca *c, const void *arg)
{
    const shape *s = arg;
    float *x = ca_buf(c, s->C * sizeof *x);
    const sl_kv_head h = page_new(c, s->type, s->P, s->C), want = page_new(c, s->type, s->P, s->C);
    sl_kv_write_fn *fn =
        s->kind == PAGE_VALUES ? c->k->kv_write_v[s->type] : c->k->kv_write_k[s->kind == PAGE_KEYS_TOKEN][s->type];
    const size_t slots[] = { 0, s->P / 2 + 1, s->P - 1 };
    for (size_t i = 0; i < (s->type == SL_KV_INT8 ? 7 : 3); i++) {
        const size_t slot = slots[i % 3];
        ca_fill(c, x, s->C, (ca_kind)(i % 3 + 1));
        if (s->type == SL_KV_INT8)
            plant_bytes(x, s->C, i);
        else if (i == 0)
            plant_halves(x, s->C);
        page_set(&want, s->type, s->kind, slot, x);
        fn(&h, slot, x);
        ca_same(c, "page", h.data, want.data, page_numbers(s->type, s->P, s->C), page_bytes(s->type));
        if (s->type == SL_KV_INT8)
            same_scales(c, h.scale, want.scale, s->P);
    }
    call a = { fn, &h, x };
    ca_time(c, run, &a, (double)s->C * (double)(4 + page_bytes(s->type)), 0);
}

typedef struct head_call {
    const ca *c;
    int8_t *q;
    const float *x;
    size_t C;
} head_call;

static void run_head(void *arg)
{
    const head_call *a = arg;
    a->c->k->quantize_head(a->q, a->x, a->C);
}

static void check_head(ca *c, const void *arg)
{
    const size_t C = *(const size_t *)arg, room = sl_round_up(C, SL_HEAD_PAD);
    float *x = ca_buf(c, C * sizeof *x);
    int8_t *q = ca_buf(c, room), *want = ca_buf(c, room);
    for (size_t i = 0; i < 7; i++) {
        ca_fill(c, x, C, (ca_kind)(i % CA_KIND_COUNT));
        plant_bytes(x, C, i);
        float d = page_scale(x, C);
        memset(want, 0, room);
        for (size_t k = 0; k < C; k++)
            want[k] = page_quantized(x[k], d);
        float got = c->k->quantize_head(q, x, C);
        same_scales(c, &got, &d, 1);
        ca_same(c, "q", q, want, room, 1);
    }
    head_call a = { c, q, x, C };
    ca_time(c, run_head, &a, (double)C * 5, 0);
}

void check_kv(ca *c)
{
    static const size_t bench_widths[] = { 64, 128, 0 };
    for (const size_t *w = c->bench ? bench_widths : ca_widths; *w; w++)
        if (CA_NEW(c, quantize_head))
            ca_case(c, check_head, w, "quantize_head C=%zu", *w);
    for (size_t type = 0; type < SL_KV_COUNT; type++)
        for (const size_t *w = c->bench ? bench_widths : ca_widths; *w; w++) {
            shape s = { (sl_kv_type)type, PAGE_KEYS, c->bench ? *w : 2 * *w, c->bench || *w % 2 ? 64 : 16 };
            for (size_t layout = 0; layout < SL_KV_LAYOUT_COUNT; layout++) {
                s.kind = layout == SL_KV_TOKEN ? PAGE_KEYS_TOKEN : PAGE_KEYS;
                if (CA_NEW(c, kv_write_k[layout][type]))
                    ca_case(c, check_shape, &s, "kv_write_k %s%s C=%zu P=%zu", page_kind_name(s.kind),
                            page_type_name(s.type), s.C, s.P);
            }
            s.kind = PAGE_VALUES;
            if (CA_NEW(c, kv_write_v[type]))
                ca_case(c, check_shape, &s, "kv_write_v %s C=%zu P=%zu", page_type_name(s.type), s.C, s.P);
        }
}
