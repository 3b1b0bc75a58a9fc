#include "module/lookahead.h"

#include "base/num.h"
#include "module/run.h"

/* Experts may have any others beside them, so that small ones are read exactly. */
#define BLOCKS_FROM ((size_t)8 << 20)

static void ask(sl_lane *lane, const void *data, size_t bytes, sl_ahead_how how)
{
    sl_lookahead *l = &lane->look;
    if (!data || !bytes)
        return;
    l->asked += sl_ahead_pieces(data, bytes);
    if (lane->thread == 0)
        sl_ahead_ask(l->ahead, data, bytes, how);
}

/* Scales lie beside the numbers. Those of rows that were cut out of others may have these between them. */
static void ask_for_scales(sl_lane *lane, const sl_tensor *w, sl_ahead_how how)
{
    const sl_scales *s = &w->scales;
    if (!s->scale || !w->rows)
        return;
    const size_t from = s->first / s->rows, to = sl_scales_row(s, w->rows - 1) / s->rows;
    const size_t last_group = s->col_bytes ? (w->cols - 1) / s->group : 0;
    ask(lane, (const char *)s->scale + from * s->row_bytes, (to - from) * s->row_bytes + last_group * s->col_bytes + 1,
        how); /* any byte of the last one */
}

/* Formats that pack rows together, whose row_bytes are 0, come as they are used. */
static void ask_for(sl_lane *lane, const sl_tensor *w, sl_ahead_how how)
{
    ask(lane, w->data, sl_tensor_extent(w), how);
    ask_for_scales(lane, w, how);
}

uint64_t sl_look_for_expert(sl_lane *lane, const sl_tensor *w)
{
    const size_t bytes = sl_tensor_extent(w);
    ask(lane, w->data, bytes, bytes >= BLOCKS_FROM ? SL_AHEAD_BLOCKS : SL_AHEAD_EXACT);
    ask_for_scales(lane, w, SL_AHEAD_EXACT);
    return lane->look.asked;
}

static void ask_for_op(const sl_graph *g, const sl_op *op, sl_lane *lane)
{
    const sl_mixture *m = op->mixture;
    if (!sl_lane_rows(lane, sl_graph_info(g, op->out[0])->rows))
        return;
    if (op->kind == SL_OP_EMBED) {
        for (size_t t = 0; t < lane->step->n; t++)
            ask(lane, (const char *)op->w[0].data + (size_t)lane->step->token[t] * op->w[0].row_bytes,
                op->w[0].row_bytes, SL_AHEAD_EXACT);
    } else if (op->kind == SL_OP_MIXTURE) {
        const sl_tensor *const known[] = { &m->route, &m->shared_mix, &m->shared_gate, &m->shared_up, &m->shared_down };
        for (size_t i = 0; i < SL_COUNT(known); i++)
            ask_for(lane, known[i], SL_AHEAD_BLOCKS);
    } else {
        for (uint32_t i = 0; i < op->n_w; i++)
            ask_for(lane, &op->w[i], SL_AHEAD_BLOCKS);
    }
}

/* Which experts a mixture reads is not known before it runs: nothing behind it goes first. */
void sl_look_ahead(const sl_graph *g, size_t from, sl_lane *lane)
{
    sl_lookahead *l = &lane->look;
    size_t end = from;
    while (end < g->n_ops && end < from + SL_LOOKAHEAD_OPS && (end == from || g->op[end - 1].kind != SL_OP_MIXTURE))
        end++;
    for (l->next = SL_MAX(l->next, from); l->next < end; l->next++) {
        ask_for_op(g, &g->op[l->next], lane);
        l->ticket[l->next % SL_LOOKAHEAD_OPS] = l->asked;
    }
    if (lane->thread == 0)
        sl_ahead_go(l->ahead);
}

void sl_look_wait(sl_lane *lane, uint64_t ticket, int32_t layer)
{
    const uint64_t begin = sl_trace_begin(lane->trace);
    if (sl_ahead_wait(lane->look.ahead, ticket))
        sl_trace_end(lane->trace, lane->thread, "disk", SL_SPAN_DISK, layer, (uint32_t)lane->step->n, begin, 0, 0);
}

void sl_look_wait_op(const sl_graph *g, size_t i, sl_lane *lane)
{
    sl_look_wait(lane, lane->look.ticket[i % SL_LOOKAHEAD_OPS], g->op[i].layer);
}
