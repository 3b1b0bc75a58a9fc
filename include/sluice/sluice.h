/* sluice.h - the public interface: open a model, make an engine, submit requests, step.
 *
 *   sl_model  *m;  sl_model_open(&m, "model.gguf", &err);
 *   sl_engine *e;  sl_engine_create(&e, m, &(sl_engine_options){ 0 }, &err);
 *   sl_engine_submit(e, &request, &id, &err);
 *   while (sl_engine_busy(e) && !sl_engine_step(e, &err)) {}  // events arrive through callbacks
 *
 * Threads: a model changes nothing after it was opened and may be shared; an engine belongs to one thread at a time
 * (its worker threads are its own affair). Callbacks run on the thread that calls sl_engine_step or sl_engine_cancel;
 * they may submit, fork and cancel. A step from inside one is refused, and to destroy the engine there ends the
 * program. Borrowed pointers hold until the object they came from goes, those of an event until the callback returns.
 *
 * Options and requests are structs to be zeroed first: zero is each field's default unless it says otherwise.
 * docs/api.md has a tour, docs/abi.md says how these structs may grow.
 */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "sluice/buffer.h"
#include "sluice/chat.h"
#include "sluice/status.h"
#include "sluice/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models ------------------------------------------------------------------ */

typedef struct sl_model sl_model;

/* Map a .gguf file (or any part of a split model) or a Hugging Face folder (config.json, safetensors), check it, read
 * its vocabulary if it has one. Weights themselves are not read. SL_ENOTFOUND, SL_EIO, SL_EFORMAT, SL_EUNSUPPORTED,
 * SL_ENOMEM; the text names file and tensor or key. */
SL_API sl_status sl_model_open(sl_model **out, const char *path, sl_err *err);
/* Hears of each tensor before it is checked, with the bytes done so far and in all. */
typedef void sl_on_check(void *user, const char *tensor, uint64_t done, uint64_t total);
typedef void sl_on_copy(void *user, uint64_t done, uint64_t total); /* bytes of weights */

typedef struct sl_model_options {
    sl_text_options text;  /* its overrides hold for all settings of the file */
    bool check_tensors;    /* read every weight; one that is no finite number: SL_EFORMAT */
    sl_on_check *on_check; /* or NULL */
    void *user;
    bool huge_pages;     /* weights that the page cache has in small pages are read from disk again, in huge ones */
    sl_on_copy *on_read; /* hears how far that is; or NULL */
} sl_model_options;
/* The same with choices; `o` may be NULL. */
SL_API sl_status sl_model_open_with(sl_model **out, const char *path, const sl_model_options *o, sl_err *err);
SL_API void sl_model_close(sl_model *m); /* accepts NULL; after every engine of it */
/* Whether path names a file that the model is read from, which must not be written to. */
SL_API bool sl_model_has_file(const sl_model *m, const char *path);

typedef struct sl_model_info {
    const char *path, *arch, *name; /* name: general.name, or that of the file or folder */
    size_t n_layers, n_vocab, n_ctx_train;
    size_t d_model, d_ff, n_heads, n_kv_heads, head_dim;
    size_t window;                    /* positions that attention sees in layers that have a window; 0: none has */
    size_t n_window_layers;           /* how many have */
    bool attention_sinks;             /* each head has a score of its own in the softmax, without a value */
    size_t latent_rank, latent_rope;  /* of latent attention: numbers that a position keeps for all heads; 0: none */
    size_t n_params, n_active;        /* n_active: those that one token goes through; its row of the embedding */
    size_t active_bytes;              /* of the tensors, for one token */
    size_t n_experts, n_experts_used; /* of a layer, and by one token of them; 0: no mixtures of experts */
    size_t d_expert;                  /* width of one */
    bool experts_renorm;              /* the weights of those that are used are divided by their sum */
    size_t file_bytes, weight_bytes;
    bool tied; /* the output matrix is the embedding */
    size_t n_tensors;
    const char *unsupported; /* the first tensor of a type that cannot be run: no engine; NULL: none */
} sl_model_info;
SL_API void sl_model_describe(const sl_model *m, sl_model_info *out);

typedef struct sl_tensor_info {
    const char *name, *format; /* format: as the file calls it, "Q4_K" */
    bool supported;
    uint32_t n_dims;
    uint64_t dims[4]; /* innermost first */
    uint64_t bytes;
    size_t n_experts; /* whose matrices it holds; 0: all tokens go through it */
} sl_tensor_info;
SL_API void sl_model_tensor(const sl_model *m, size_t i, sl_tensor_info *out); /* i < n_tensors, file order */

/* What lies in the files of a checkpoint, as it is stored, also of one that sl_model_open() refuses. on_tensor hears of
 * each tensor, in file order; what it gets holds until it returns, and `supported` says whether the form is known
 * alone (of a folder, where several tensors may be one weight, it says nothing and is true). `arch` is the file's own
 * word for its architecture. Errors as of sl_model_open(), about the files themselves only. */
typedef struct sl_stored_info {
    char arch[65];
    size_t n_tensors, file_bytes;
} sl_stored_info;
typedef void sl_on_tensor(void *user, const sl_tensor_info *t);
SL_API sl_status sl_stored_list(sl_stored_info *out, const char *path, sl_on_tensor *on_tensor, void *user,
                                sl_err *err);

/* How to sample from a model where the user says nothing: what its publisher recommends (generation_config.json of a
 * folder), each value that is missing there as everywhere else: 0.8, 40, 0.95, 0.05, 1. For the fields of an sl_request
 * of the same names. */
typedef struct sl_model_sampling {
    float temperature;
    uint32_t top_k;
    float top_p, min_p, repeat_penalty;
    bool recommended; /* some of them by the publisher */
} sl_model_sampling;
SL_API void sl_model_get_sampling(const sl_model *m, sl_model_sampling *out);

SL_API const sl_text *sl_model_text(const sl_model *m); /* never NULL; lives as long as the model */

/* ---- engines ----------------------------------------------------------------- */

typedef struct sl_engine sl_engine;

/* Zero is each field's default. */
typedef struct sl_engine_options {
    size_t n_threads;      /* 0: what the process may use */
    size_t n_ctx;          /* positions of a sequence; 0: the model's, or what fits into memory */
    size_t n_ubatch;       /* tokens of a step; 0: 512 */
    size_t n_seqs;         /* requests that run together; 0: 1 */
    size_t n_outputs;      /* logits rows of a step at most; at least n_seqs */
    size_t kv_page;        /* positions of a page, a multiple of 16; 0: 64 */
    const char *kv_type;   /* "f16", "f32", "bf16", "int8" (a scale for each position and head); NULL: "f16" */
    const char *kv_layout; /* of keys in a page: "grouped", "token" (plain, to compare with); NULL: "grouped" */
    const char *act;       /* "auto", "f32", "int8" */
    const char *mode;      /* "graph", "eager" */
    const char *fusion;    /* "all", "none", or a list of norm,attn,ffn */
    const char *attn;      /* "flash", "plain" */
    const char *mla;       /* form of latent attention (DeepSeek-V3): "absorbed", "expanded", "auto": absorbed */
    size_t attn_window;    /* positions that a query sees, if fewer than the model's own; 0: those */
    size_t trace_spans;    /* ring of each thread; 0: no trace */
    bool prefix_cache;     /* keep what an ended request has read and said until its place is needed: a later request
                              that begins with the same tokens reads only the rest, to the same bits */
    size_t memory_max;     /* bytes that the engine may take at most; 0: what this process may still have */
    /* Where things lie (docs/memory.md); what the system does not allow is SL_EUNSUPPORTED. */
    const char *weights;    /* "map": in the mapped file; "copy"; "copy-per-node": on each NUMA node, threads pinned */
    const char *huge_pages; /* of KV cache, workspace and copies: "off", "thp", "explicit" */
    const char *numa;       /* of the same: "off": where a thread first writes; "interleave": over all nodes */
    const char *pin;        /* "auto": to the fast cores where cores differ; "off"; "cores": a thread to each core */
    const char *prefetch;   /* ask for weights before they are used: "on": pages of the mapped file, "auto": those where
                               they are more than the memory, "off": not even lines into the cache */
    bool repack;            /* copies have 8 rows interleaved, as kernels want them, where formats of GGUF files can:
                               single streams are faster, to the same bits; weights NULL is "copy" then */
    bool mlock;             /* weights into memory now, and nothing out of it again */
    sl_on_copy *on_copy;    /* hears how far the copies are; or NULL */
    void *user;             /* of on_copy */
} sl_engine_options;

/* Bytes that an engine will take, before it takes them; and what may be had. docs/memory.md says how that is counted.
 */
typedef struct sl_memory {
    size_t weights; /* mapped from the file, shared with the page cache; or all copies of them */
    size_t kv;      /* when every position is filled */
    size_t workspace;
    size_t rest;              /* program, vocabulary, tables */
    size_t n_ctx;             /* positions of a sequence: as asked, or what was chosen */
    size_t needed, available; /* of what the nearest limit is about: pages in memory, or address space */
    const char *available_by; /* "what the cgroup's limit leaves"; NULL: no limit is known */
    bool fits;                /* else no engine is made */
    bool streamed; /* the weights alone are more than the memory: they are not counted in `needed`, and read from the
                      file again and again */
} sl_memory;

/* Takes nothing. What does not fit is no error here. */
SL_API sl_status sl_engine_estimate(const sl_model *m, const sl_engine_options *o, sl_memory *out, sl_err *err);
/* SL_EINVAL names the option that is wrong; SL_EUNSUPPORTED a tensor whose type cannot be run; SL_ENOMEM: what does not
 * fit, refused before it is taken, with the numbers and what would fit. */
SL_API sl_status sl_engine_create(sl_engine **out, const sl_model *m, const sl_engine_options *o, sl_err *err);
SL_API void sl_engine_destroy(sl_engine *e); /* accepts NULL; running requests end without an event */

/* What became of the options. */
typedef struct sl_engine_info {
    const char *isa, *act, *kv_type, *kv_layout, *mode, *attn;
    const char *mla;          /* "absorbed", "expanded"; NULL: the model has no latent attention */
    const char *prefetch;     /* "on", "off" */
    size_t kv_position_bytes; /* of one position in the KV cache, all layers */
    size_t n_threads, n_ctx, n_ubatch, n_seqs, kv_page;
    size_t repacked_bytes; /* of the weights, if `repack` is set */
    sl_memory memory;
} sl_engine_info;
SL_API void sl_engine_describe(const sl_engine *e, sl_engine_info *out);

/* What became of the pages, measured now: bytes in memory, of these in huge pages and locked, and on each NUMA node. */
typedef struct sl_page_use {
    size_t bytes; /* set aside */
    size_t resident, huge, locked;
    size_t n_nodes; /* of the machine, at most 16 */
    size_t node[16];
} sl_page_use;
SL_API void sl_engine_pages(const sl_engine *e, sl_page_use *weights, sl_page_use *kv, sl_page_use *workspace);

/* The plan as text: operations, barriers, bytes written, attention workspace, with and without fusion. */
SL_API sl_status sl_engine_plan_write(const sl_engine *e, FILE *f, sl_err *err);

/* ---- requests ---------------------------------------------------------------- */

typedef uint64_t sl_request_id;

typedef enum sl_event_kind {
    SL_EVENT_LOGITS, /* of one prompt position, in order; when asked for */
    SL_EVENT_TOKEN,  /* a generated token */
    SL_EVENT_END,    /* the last event of a request */
} sl_event_kind;

typedef enum sl_finish {
    SL_FINISH_STOP,     /* a token that ends answers; it has no TOKEN event, END has it */
    SL_FINISH_LENGTH,   /* n_predict tokens, or the prompt is read where that is 0 */
    SL_FINISH_CONTEXT,  /* the context is full */
    SL_FINISH_CALLBACK, /* the callback returned false */
    SL_FINISH_CANCEL,   /* sl_engine_cancel */
    SL_FINISH_FAULT,    /* nothing could be picked: no logit is a number above -inf (broken weights, an overflow) */
} sl_finish;
SL_API const char *sl_finish_name(sl_finish finish); /* "stop", "length", ...; never NULL */

typedef struct sl_event {
    sl_event_kind kind;
    sl_request_id request;
    size_t position;     /* LOGITS: of the prompt token; TOKEN: where the token will stand */
    int32_t token;       /* TOKEN; END with SL_FINISH_STOP, else -1 there */
    const float *logits; /* LOGITS, TOKEN: [n_vocab], before bias, penalties and sampling */
    size_t n_vocab;
    /* TOKEN, when asked for: ln of the token's probability and the likeliest tokens with theirs, best first, [n_top].
     * They are the model's own, those of `logits`; what is as good as impossible has SL_LOGPROB_FLOOR. */
    float logprob;
    const int32_t *top_token;
    const float *top_logprob;
    size_t n_top;
    sl_finish finish; /* END */
    void *user;       /* of the request */
} sl_event;

#define SL_LOGPROB_FLOOR    (-9999.0f) /* finite, for JSON */
#define SL_TOP_LOGPROBS_MAX 20

/* Return true to go on, false to end the request (its END event follows with SL_FINISH_CALLBACK). What END returns does
 * not matter. */
typedef bool sl_on_event(void *user, const sl_event *event);

#define SL_PREDICT_UNTIL_END SIZE_MAX

typedef struct sl_request {
    const int32_t *prompt; /* copied */
    size_t n_prompt;
    size_t n_predict; /* tokens to generate at most; 0: only read the prompt */
    bool ignore_eos;
    bool prompt_logits; /* LOGITS events for all prompt positions */
    /* How a token is picked, in this order: bias, penalties, top_k, typical_p, top_p, min_p, temperature, one draw. */
    const int32_t *bias_token; /* [n_bias] added to logits, finite; copied with the values */
    const float *bias;
    size_t n_bias;
    float repeat_penalty;    /* above 0; divides logits of tokens in the window (multiplies negative ones); 0, 1: off */
    float presence_penalty;  /* -2..2, taken from logits of generated tokens in the window; 0: off */
    float frequency_penalty; /* -2..2, the same for each time that they stand there; 0: off */
    size_t repeat_last_n;    /* the window: the last tokens of prompt and answer; 0: all of them */
    uint32_t top_k;          /* keep the K likeliest; 0, or more than there are: off */
    float typical_p;         /* up to 1: keep the most typical that hold P of the probability; 0, 1: off */
    float top_p;             /* 0..1: keep the likeliest that hold P of the probability; 1: off, 0: the likeliest */
    float min_p;             /* 0..1: keep those of at least P times the likeliest's probability; 0: off */
    float temperature;       /* 0..100; 0: the likeliest token after bias and penalties, whatever the filters say */
    uint64_t seed;           /* a draw depends on it, the position and the logits alone */
    bool logprobs;           /* TOKEN events have log-probabilities */
    uint32_t top_logprobs;   /* and so many of the likeliest tokens, up to SL_TOP_LOGPROBS_MAX */
    sl_on_event *on_event;   /* NULL: nobody hears of it, or it is polled */
    void *user;
    bool poll; /* events are kept for sl_engine_poll, in place of a callback */
} sl_request;

/* Queue a request. SL_EINVAL: an empty prompt, an id outside the vocabulary, a setting out of
 * range, or a prompt longer than the context (the text has both numbers); SL_ENOMEM. */
SL_API sl_status sl_engine_submit(sl_engine *e, const sl_request *r, sl_request_id *id, sl_err *err);
/* Another answer to what request `from`, which waits or runs, has read and said so far: a request whose prompt is all
 * of its tokens up to now (r's own prompt is not looked at). Forked right after it was submitted, n requests are n
 * answers to one prompt. They share its pages of keys and values, read once; only a page that both write to is copied.
 * Each is as if it ran alone: it has its own settings, seed and end, and what it says is bit for bit the same.
 * Generated tokens of `from` count as generated for penalties, not for n_predict. With prompt_logits the prompt is read
 * again. Errors as of sl_engine_submit; SL_ENOTFOUND: no such request. */
SL_API sl_status sl_engine_fork(sl_engine *e, sl_request_id from, const sl_request *r, sl_request_id *id, sl_err *err);
/* Ends at the next step, or at once when it still waits; false: no such request. */
SL_API bool sl_engine_cancel(sl_engine *e, sl_request_id id);
SL_API bool sl_engine_busy(const sl_engine *e); /* requests wait or run */
/* One step: admit, run one batch of prompt chunks and single tokens, sample, report. After an error every request is as
 * it was, and the step can be tried again. SL_ENOMEM (eager mode); SL_EINVAL from inside a callback; SL_EFULL while
 * events wait to be polled. */
SL_API sl_status sl_engine_step(sl_engine *e, sl_err *err);
/* The next event of the requests with `poll` set, in order; false: none is left until the next step or cancellation.
 * Its pointers hold until the next step. while (sl_engine_busy(e) && !sl_engine_step(e, &err)) while (sl_engine_poll(e,
 * &event)) ...
 */
SL_API bool sl_engine_poll(sl_engine *e, sl_event *out);

/* Since the engine was made. */
typedef struct sl_engine_stats {
    uint64_t steps, prompt_tokens, generated_tokens;
    uint64_t kept_tokens;   /* of prompts, found in the cache (prefix_cache); prompt_tokens are those that were read */
    uint64_t barriers;      /* executed */
    uint64_t written_bytes; /* to the workspace */
    uint64_t mixtures;      /* of experts that ran fused, one for each layer and step that has one */
    uint64_t experts_hit;   /* in them: experts that some token of the step picked */
    uint64_t faults;        /* requests that ended with SL_FINISH_FAULT */
    size_t kv_pages_used, kv_pages;
} sl_engine_stats;
SL_API void sl_engine_get_stats(const sl_engine *e, sl_engine_stats *out);

/* With trace_spans: the spans for a Chrome-trace reader, and a table by operation. */
SL_API sl_status sl_engine_trace_write(const sl_engine *e, FILE *f, sl_err *err);
SL_API sl_status sl_engine_trace_summary(const sl_engine *e, FILE *f, sl_err *err);

#ifdef __cplusplus
}
#endif
#endif
