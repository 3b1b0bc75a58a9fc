/* deploy.h - deploy files: how a model is laid out over ranks, and the options that it runs with, in YAML.
 *
 *   sl_deploy *d = NULL;
 *   sl_deploy_open(&d, "qwen3-30b-a3b.yaml", &err);    keys, types and ranges; degrees that fit the ranks
 *   sl_deploy_check(d, model, &err);                   degrees that fit the model
 *   sl_deploy_runs(d, &err);                           whether this build can run it
 *
 * How the weights lie (parallel_config) holds for prompts and for generated tokens alike; how activations are cut is
 * said apart (prefill, decode), so that both phases share one copy of the weights. docs/deploy.md has all keys.
 *
 * What is wrong is told with FILE:LINE:COLUMN and the path of the key.
 */
#ifndef SLUICE_DEPLOY_H
#define SLUICE_DEPLOY_H

#include <stdbool.h>
#include <stddef.h>
#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sl_deploy sl_deploy;

/* SL_ENOTFOUND, SL_EIO, SL_EFORMAT, SL_EUNSUPPORTED (YAML that is not taken here: anchors, tags, ...), SL_ENOMEM. */
SL_API sl_status sl_deploy_open(sl_deploy **out, const char *path, sl_err *err);
SL_API void sl_deploy_close(sl_deploy *d); /* accepts NULL */

/* Ranks that share what one phase has to compute: attn_tp * context * data * pp of them. */
typedef struct sl_deploy_phase {
    size_t context;  /* each has a part of a prompt's positions */
    size_t data;     /* each has some of the requests */
    size_t sequence; /* norms and residuals cut over the ranks of attn_tp: as many, or 1 */
    size_t chunk;    /* prompt tokens of one step; 0: not said */
    bool overlap;    /* communicate while computing */
} sl_deploy_phase;

/* Degrees are numbers of ranks; 1: not cut. */
typedef struct sl_deploy_info {
    const char *path;
    size_t n_ranks, pp; /* pp: parts of the layers, one behind the other */
    size_t attn_tp, o_proj_tp, dense_tp, moe_tp, moe_ep, embed_tp, lmhead_tp;
    sl_deploy_phase prefill, decode;
} sl_deploy_info;
SL_API void sl_deploy_describe(const sl_deploy *d, sl_deploy_info *out);

/* Whether the model is one that the file is for, and its heads, experts, widths, vocabulary and layers can be cut so.
 * SL_EINVAL: which cannot. */
SL_API sl_status sl_deploy_check(const sl_deploy *d, const sl_model *m, sl_err *err);
/* SL_EUNSUPPORTED: more than one rank. */
SL_API sl_status sl_deploy_runs(const sl_deploy *d, sl_err *err);
/* Bytes of weights that the fullest rank would hold, if sl_deploy_check() says that the model can be cut. */
SL_API size_t sl_deploy_rank_bytes(const sl_deploy *d, const sl_model *m);

/* ---- options ------------------------------------------------------------------- */

/* What a value is as it stands there. */
typedef enum sl_deploy_kind {
    SL_DEPLOY_TEXT, /* a word, or anything in quotes */
    SL_DEPLOY_INT,
    SL_DEPLOY_REAL,
    SL_DEPLOY_BOOL, /* true, false */
    SL_DEPLOY_ODD,  /* nothing, or what readers of YAML disagree about */
} sl_deploy_kind;

/* Options are those of the program, by their names: whoever runs the file gives them their meaning. */
typedef struct sl_deploy_option {
    const char *name, *value; /* a list has an entry for each member */
    sl_deploy_kind kind;
    bool quoted, of_list;
    const char *is;      /* the kind in words: "a boolean" */
    size_t line, column; /* of the value */
    size_t key_line, key_column;
} sl_deploy_option;
SL_API bool sl_deploy_option_at(const sl_deploy *d, size_t i, sl_deploy_option *out); /* false: no more */

/* ---- keys ---------------------------------------------------------------------- */

/* All keys but the options, for documents. */
typedef struct sl_deploy_key {
    const char *section, *name;
    const char *takes;    /* "degree", "1 to 65536", "true or false" */
    const char *standard; /* where it is missing */
    const char *help;
} sl_deploy_key;
SL_API bool sl_deploy_key_at(size_t i, sl_deploy_key *out); /* false: no more */

#ifdef __cplusplus
}
#endif
#endif
