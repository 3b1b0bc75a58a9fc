/* attention_basic.c - what attention is made of, where it is not fused: three operations, score rows in the workspace.
 */
#include "module/attention_in.h"

#include <math.h>
#include <string.h>
#include "base/num.h"

static void run_scores(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_heads *h = &op->heads;
    const sl_kernels *k = lane->env->k;
    const sl_step *step = lane->step;
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    const size_t G = h->H / h->Hkv, ctx = lane->env->limits.n_ctx;
    sl_attn_query q = { 0 };
    sl_attn_cut_query(&q, lane->scratch, G, h->C);
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < step->n * h->Hkv;) {
        const size_t t = i / h->Hkv, head = i % h->Hkv, n = step->pos[t] + 1;
        memcpy(q.x, lane->value[op->in[0]] + (t * h->H + head * G) * h->C, G * h->C * sizeof(float));
        if (shape->type == SL_KV_INT8)
            sl_attn_quantize_queries(k, &q, G, h->C);
        float *s = lane->value[op->out[0]] + (t * h->H + head * G) * ctx;
        const size_t first = sl_attn_first_seen(lane->env, h, n - 1) / shape->P * shape->P;
        for (size_t j = first; j < n; j += shape->P) {
            const sl_kv_head kh =
                sl_kv_k(lane->kv, sl_step_page(step, step->seq[t], j, shape->P), (size_t)op->layer, head);
            k->attn_scores[shape->layout][shape->type](s + j, ctx, &q, G, &kh, 0, SL_MIN(shape->P, n - j));
        }
        for (size_t r = 0; r < G; r++)
            k->scale(s + r * ctx + first, s + r * ctx + first, h->scale, n - first);
        lane->written_bytes += G * (n - first) * sizeof(float);
        lane->read_bytes += (n - first) * sl_kv_token_bytes(shape->type, h->C);
        lane->ops += 2 * G * (n - first) * h->C;
    }
}

static void run_softmax(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const size_t ctx = lane->env->limits.n_ctx, H = op->heads.H;
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < lane->step->n * H;) {
        const size_t pos = lane->step->pos[i / H], first = sl_attn_first_seen(lane->env, &op->heads, pos);
        const float *s = lane->value[op->in[0]] + i * ctx;
        float *p = lane->value[op->out[0]] + i * ctx, max = 0.0f, sum = 0.0f;
        for (size_t j = 0; j < first; j++)
            p[j] = -INFINITY;
        memcpy(p + first, s + first, (pos + 1 - first) * sizeof(float));
        lane->env->k->attn_softmax(p, pos + 1, &max, &sum);
        lane->env->k->scale(p, p, sl_attn_closing(&op->heads, i % H, max, sum), pos + 1);
        lane->written_bytes += (pos + 1) * sizeof(float);
    }
}

static void run_weighted_sum(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    (void)g;
    const sl_heads *h = &op->heads;
    const sl_step *step = lane->step;
    const sl_kv_shape *shape = sl_kv_get_shape(lane->kv);
    const size_t G = h->H / h->Hkv, ctx = lane->env->limits.n_ctx;
    uint32_t *rows = lane->scratch;
    for (size_t i; (i = sl_tiles_take(&lane->tiles[0])) < step->n * h->Hkv;) {
        const size_t t = i / h->Hkv, head = i % h->Hkv, n = step->pos[t] + 1;
        const float *p = lane->value[op->in[0]] + (t * h->H + head * G) * ctx;
        float *out = lane->value[op->out[0]] + (t * h->H + head * G) * h->C;
        memset(out, 0, G * h->C * sizeof(float));
        const size_t first = sl_attn_first_seen(lane->env, h, n - 1);
        for (size_t j = first, count; j < n; j += count) { /* j: inside a page only at the first */
            const sl_kv_head vh =
                sl_kv_v(lane->kv, sl_step_page(step, step->seq[t], j, shape->P), (size_t)op->layer, head);
            count = SL_MIN(shape->P - j % shape->P, n - j);
            for (size_t r = 0; r < G; r++)
                rows[r] = (uint32_t)count;
            lane->env->k->attn_mix[shape->type](out, p + j, ctx, rows, G, &vh, j % shape->P);
        }
        lane->written_bytes += G * h->C * sizeof(float);
        lane->read_bytes += (n - first) * sl_kv_token_bytes(shape->type, h->C);
        lane->ops += 2 * G * (n - first) * h->C;
    }
}

static size_t scores_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    (void)env;
    sl_attn_query q = { 0 };
    return sl_attn_cut_query(&q, NULL, op->heads.H / op->heads.Hkv, op->heads.C);
}

static size_t sum_scratch(const sl_graph *g, const sl_op *op, const sl_env *env)
{
    (void)g;
    (void)env;
    return op->heads.H * sizeof(uint32_t);
}

const sl_op_impl sl_scores_impl = { run_scores, NULL, scores_scratch };
const sl_op_impl sl_softmax_impl = { run_softmax, NULL, NULL };
const sl_op_impl sl_weighted_sum_impl = { run_weighted_sum, NULL, sum_scratch };
