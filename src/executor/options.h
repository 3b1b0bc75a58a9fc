/* options.h - an engine's options, read from the words that users write. */
#ifndef SL_EXECUTOR_OPTIONS_H
#define SL_EXECUTOR_OPTIONS_H

#include "base/pages.h"
#include "executor/plan.h"
#include "sluice/sluice.h"

typedef enum sl_mode { SL_MODE_GRAPH, SL_MODE_EAGER } sl_mode;

typedef enum sl_weights_mode { SL_WEIGHTS_MAP, SL_WEIGHTS_COPY, SL_WEIGHTS_PER_NODE } sl_weights_mode;

typedef enum sl_pin { SL_PIN_AUTO, SL_PIN_OFF, SL_PIN_CORES } sl_pin;

typedef enum sl_prefetch { SL_PREFETCH_AUTO, SL_PREFETCH_OFF, SL_PREFETCH_ON } sl_prefetch;

typedef struct sl_settings {
    sl_plan_options plan; /* env.k is not set */
    sl_mode mode;
    sl_kv_shape kv;
    size_t n_ctx;               /* positions of a sequence, as asked; plan.env.limits has whole pages */
    bool choose_ctx;            /* none was asked for: n_ctx is the most that the model takes */
    size_t n_tokens, n_outputs; /* of a step, before the context bounds them */
    size_t memory_max;          /* 0: none */
    sl_weights_mode weights;
    size_t n_copies; /* of the weights; 0: mapped */
    bool repack;     /* of these, with rows interleaved */
    bool mlock;
    sl_prefetch prefetch;
    sl_pages_how pages; /* of KV cache, workspace and copies */
    sl_pin pin;
    size_t n_seqs, pages_per_seq, trace_spans;
    bool prefix_cache;
    bool round_floats; /* inputs of weights that are 8-bit floats, as their checkpoint has it */
    sl_isa isa;
    bool several_streams;
} sl_settings;

/* SL_EINVAL: which option, what was given, what is allowed. */
sl_status sl_settings_read(sl_settings *out, const sl_net *net, const sl_engine_options *o, sl_err *err);
/* The kernels that the settings ask for; plan.env.k becomes k. */
void sl_settings_kernels(sl_settings *s, sl_kernels *k);
/* Another context, and all that depends on it. */
void sl_settings_set_ctx(sl_settings *s, size_t n_ctx);

const char *sl_act_name(sl_act_type act);
const char *sl_mode_name(sl_mode mode);
const char *sl_attn_name(sl_attn attn);
const char *sl_mla_name(sl_mla mla);
const char *sl_kv_layout_name(sl_kv_layout layout);

#endif
