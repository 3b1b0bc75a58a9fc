#include "module/act.h"

#include <assert.h>
#include <string.h>
#include "base/mem.h"
#include "base/num.h"

size_t sl_act_cut(sl_act *act, unsigned char *base, size_t T, size_t K, unsigned needs, bool own_f32)
{
    const size_t G = sl_div_up(K, 32);
    size_t at = 0;
    *act = (sl_act){ .T = T, .K = K, .G = G, .ldf = K };
    act->token = needs & SL_NEED_T8 && !(needs & SL_NEED_Q8);
    act->rounding = needs & SL_NEED_ROUNDED;
    act->rounding &= 0u - act->rounding; /* the first */
#define CUT(field, type, n)                                                                                            \
    do {                                                                                                               \
        act->field = base ? (type *)(void *)(base + at) : NULL;                                                        \
        at += sl_round_up((n) * sizeof(type), SL_MEM_ALIGN);                                                           \
    } while (0)
    if (own_f32 && needs & SL_NEED_F32)
        CUT(f32, float, T *K);
    if (needs & (SL_NEED_Q8 | SL_NEED_T8)) {
        CUT(q8, int8_t, T * G * 32);
        CUT(d, float, T *G);
        CUT(half, int16_t, T * G * 2);
        CUT(eight, int16_t, T * G * 2);
        CUT(dsum, float, T *G);
    }
    if (needs & SL_NEED_Q16)
        CUT(q16, int16_t, T * G * 32);
    if (act->rounding)
        CUT(rounded, float, T *K);
#undef CUT
    return at;
}

void sl_act_fill(const sl_kernels *k, const sl_act *act, size_t t0, size_t t1)
{
    const size_t group = act->rounding == SL_NEED_E4M3_TOKEN ? act->K : SL_E4M3_GROUP;
    const bool power = act->rounding == SL_NEED_E4M3_POWER;
    if (act->q8)
        k->quantize(act, t0, t1);
    for (size_t t = t0; t < t1 && act->rounded; t++)
        for (size_t at = 0; at < act->K; at += group)
            k->round_e4m3(act->rounded + t * act->K + at, act->f32 + t * act->ldf + at, SL_MIN(group, act->K - at),
                          power);
}

sl_act sl_act_row(const sl_act *act, size_t t, const float *x)
{
    return sl_act_part(act, t, 0, act->K, x);
}

sl_act sl_act_part(const sl_act *act, size_t t, size_t k0, size_t k1, const float *x)
{
    assert(k0 % 32 == 0 && k0 < k1 && k1 <= act->K && (k1 % 32 == 0 || k1 == act->K));
    assert(!act->token || k1 - k0 == act->K); /* its scale is that of all */
    const size_t g = t * act->G + k0 / 32;
    sl_act one = { .T = 1, .K = k1 - k0, .G = sl_div_up(k1 - k0, 32), .f32 = x, .ldf = k1 - k0, .token = act->token };
    one.rounded = act->rounded && one.K == act->K ? act->rounded + t * act->K : NULL;
    one.rounding = act->rounding;
    one.q8 = act->q8 ? act->q8 + g * 32 : NULL;
    one.q16 = act->q16 ? act->q16 + g * 32 : NULL;
    one.d = act->d ? act->d + g : NULL;
    one.half = act->half ? act->half + 2 * g : NULL;
    one.eight = act->eight ? act->eight + 2 * g : NULL;
    one.dsum = act->dsum ? act->dsum + g : NULL;
    return one;
}

void sl_act_copy_row(sl_act *dst, size_t to, const sl_act *src, size_t from)
{
    const size_t G = src->G, t = to * G, f = from * G;
    assert(dst->K == src->K);
    if (dst->f32 && src->f32)
        memcpy((float *)dst->f32 + to * dst->ldf, src->f32 + from * src->ldf, src->K * sizeof(float));
    if (dst->q8 && src->q8) {
        memcpy(dst->q8 + t * 32, src->q8 + f * 32, G * 32);
        memcpy(dst->d + t, src->d + f, G * sizeof *dst->d);
        memcpy(dst->half + 2 * t, src->half + 2 * f, 2 * G * sizeof *dst->half);
        memcpy(dst->eight + 2 * t, src->eight + 2 * f, 2 * G * sizeof *dst->eight);
        memcpy(dst->dsum + t, src->dsum + f, G * sizeof *dst->dsum);
    }
    if (dst->q16 && src->q16)
        memcpy(dst->q16 + t * 32, src->q16 + f * 32, G * 32 * sizeof *dst->q16);
    if (dst->rounded && src->rounded)
        memcpy(dst->rounded + to * dst->K, src->rounded + from * src->K, src->K * sizeof *dst->rounded);
}
