#include "executor/batch.h"

#include <assert.h>
#include "base/mem.h"
#include "base/num.h"
#include "module/attention.h"

sl_status sl_batch_init(sl_batch *b, const sl_limits *l, const sl_heads *heads, const uint32_t *table, size_t table_ld,
                        sl_err *err)
{
    *b = (sl_batch){ .cap_tokens = l->n_tokens, .cap_outputs = l->n_outputs };
    b->token = sl_mem_zalloc(l->n_tokens, sizeof *b->token);
    b->pos = sl_mem_zalloc(l->n_tokens, sizeof *b->pos);
    b->seq = sl_mem_zalloc(l->n_tokens, sizeof *b->seq);
    b->block = sl_mem_zalloc(l->n_tokens, sizeof *b->block);
    b->output = sl_mem_zalloc(l->n_outputs, sizeof *b->output);
    b->output_seq = sl_mem_zalloc(l->n_outputs, sizeof *b->output_seq);
    b->step = (sl_step){ .token = b->token,
                         .pos = b->pos,
                         .seq = b->seq,
                         .block = b->block,
                         .output = b->output,
                         .table = table,
                         .table_ld = table_ld };
    b->cap_block_tokens = sl_attn_block_tokens(heads);
    /* Enough blocks that each thread gets several, before they get as large as they may. */
    b->min_blocks = sl_div_up(4 * l->n_threads, heads->Hkv);
    if (b->token && b->pos && b->seq && b->block && b->output && b->output_seq)
        return SL_OK;
    sl_batch_fini(b);
    return sl_fail(err, SL_ENOMEM, "no memory for a step of %zu tokens", l->n_tokens);
}

void sl_batch_fini(sl_batch *b)
{
    sl_mem_free(b->token);
    sl_mem_free(b->pos);
    sl_mem_free(b->seq);
    sl_mem_free(b->block);
    sl_mem_free(b->output);
    sl_mem_free(b->output_seq);
    *b = (sl_batch){ 0 };
}

void sl_batch_clear(sl_batch *b)
{
    b->step.n = b->step.n_outputs = b->step.n_blocks = 0;
}

void sl_batch_add(sl_batch *b, uint32_t seq, const int32_t *token, size_t n, size_t pos, size_t n_outputs)
{
    assert(n <= sl_batch_room(b) && n_outputs <= n && n_outputs <= sl_batch_output_room(b));
    sl_step *s = &b->step;
    for (size_t i = 0; i < n; i++) {
        b->token[s->n] = token[i];
        b->pos[s->n] = (uint32_t)(pos + i);
        b->seq[s->n] = seq;
        if (i + n_outputs >= n) {
            b->output[s->n_outputs] = (uint32_t)s->n;
            b->output_seq[s->n_outputs++] = seq;
        }
        s->n++;
    }
}

void sl_batch_finish(sl_batch *b)
{
    sl_step *s = &b->step;
    const size_t even = sl_div_up(s->n, b->min_blocks), most = SL_MAX(SL_MIN(even, b->cap_block_tokens), 1);
    for (size_t t = 0; t < s->n;) {
        size_t n = 1;
        while (n < most && t + n < s->n && b->seq[t + n] == b->seq[t])
            n++;
        b->block[s->n_blocks++] = (sl_query_block){ (uint32_t)t, (uint32_t)n, b->pos[t], b->seq[t] };
        t += n;
    }
}
