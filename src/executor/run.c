#include "executor/run.h"

typedef struct sl_walk {
    sl_plan *plan;
    const sl_step *step;
    sl_kv *kv;
    sl_pool *pool;
    sl_trace *trace;
    sl_ahead *ahead;
    uint64_t asked; /* of `ahead`, when the step began */
    uint64_t barriers, mixtures, experts_hit;
} sl_walk;

/* That of the next operation from `from` on that hands out tiles in advance. */
static sl_first_run first_run(const sl_plan *p, size_t from, const sl_lane *lane)
{
    size_t i = from;
    while (i < p->graph.n_ops && !p->impl[i]->begin)
        i++;
    return i < p->graph.n_ops ? p->impl[i]->begin(&p->graph, &p->graph.op[i], lane, p->tiles + i * SL_OP_PHASES)
                              : (sl_first_run){ 0 };
}

static void run_thread(void *arg, size_t thread)
{
    sl_walk *w = arg;
    sl_plan *p = w->plan;
    sl_lane lane = { .env = &p->options.env,
                     .step = w->step,
                     .kv = w->kv,
                     .value = p->value,
                     .scratch = p->scratch + thread * p->scratch_bytes,
                     .pool = w->pool,
                     .thread = thread,
                     .n_threads = sl_pool_threads(w->pool),
                     .trace = w->trace,
                     .look = { .ahead = w->ahead, .asked = w->asked } };
    lane.then = first_run(p, 0, &lane);
    for (size_t i = 0; i < p->graph.n_ops; i++) {
        const sl_op *op = &p->graph.op[i];
        if (w->ahead)
            sl_look_ahead(&p->graph, i, &lane);
        lane.shared = p->shared[i];
        lane.tiles = p->tiles + i * SL_OP_PHASES;
        if (p->impl[i]->begin) {
            lane.runs = lane.then.runs;
            lane.first = lane.then.first;
            lane.end = lane.then.end;
            lane.then = first_run(p, i + 1, &lane);
        }
        if (p->impl[i]->fetch)
            p->impl[i]->fetch(&p->graph, op, &lane);
        if (p->barrier[i])
            sl_lane_barrier(&lane, op);
        if (w->ahead)
            sl_look_wait_op(&p->graph, i, &lane);
        lane.read_bytes = lane.ops = 0;
        lane.experts = (sl_span_experts){ 0 };
        const uint64_t begin = sl_trace_begin(w->trace);
        p->impl[i]->run(&p->graph, op, &lane);
        sl_trace_end_experts(w->trace, thread, op->name, SL_SPAN_OP, op->layer, (uint32_t)w->step->n, begin,
                             lane.read_bytes, lane.ops, &lane.experts);
        if (thread == 0 && lane.experts.hit) {
            w->mixtures++;
            w->experts_hit += lane.experts.hit;
        }
    }
    p->written[thread * 8] = lane.written_bytes;
    if (thread == 0)
        w->barriers = lane.barriers;
}

void sl_run_step(sl_plan *p, const sl_step *step, sl_kv *kv, sl_pool *pool, sl_trace *trace, sl_ahead *ahead,
                 sl_run_counts *counts)
{
    sl_walk walk = { .plan = p, .step = step, .kv = kv, .pool = pool, .trace = trace, .ahead = ahead };
    walk.asked = ahead ? sl_ahead_asked(ahead) : 0;
    for (size_t i = 0; i < p->graph.n_ops * SL_OP_PHASES; i++)
        sl_tiles_reset(&p->tiles[i]);
    sl_pool_run(pool, run_thread, &walk);
    counts->barriers += walk.barriers;
    counts->mixtures += walk.mixtures;
    counts->experts_hit += walk.experts_hit;
    for (size_t t = 0; t < sl_pool_threads(pool); t++)
        counts->written_bytes += p->written[t * 8];
}
