/* session.h - a model and an engine opened as the options say, and told about. */
#ifndef SL_CLI_SESSION_H
#define SL_CLI_SESSION_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include "cli/cli.h"
#include "sluice/sluice.h"

#define SL_TRACE_SPANS ((size_t)1 << 18) /* of each thread: about 20 seconds of a small model's decoding */

typedef struct sl_session {
    sl_str path;     /* of MODEL; empty: it was not found */
    sl_model *model; /* NULL: only its texts are open */
    sl_text *text;   /* NULL: those of the model */
    sl_engine *engine;
    sl_engine_options options;
    bool any_ranks; /* set by the caller: a layout for several ranks is shown, not run, and no reason to stop */
    double load_s;  /* model and engine */
    FILE *trace;
    bool trace_is_new; /* made by this run, and taken away if nothing is written */
    dev_t model_dev;   /* the model's file, which stays mapped */
    ino_t model_ino;
} sl_session;

/* Find MODEL (find.h) and open it. */
sl_exit sl_session_open(sl_session *s, const sl_args *args);
/* The same for commands that need no weights: of a folder the tokenizer and its configuration are enough. */
sl_exit sl_session_open_text(sl_session *s, const sl_args *args);

/* Refuse to write to the model's file, or to a file that this command reads. To be called before `path` is
 * opened, which would empty it; `option` names it. */
sl_exit sl_session_check_output(const sl_session *s, const sl_args *args, const char *option, const char *path);

/* What the options ask for; --trace opens its file. */
sl_exit sl_session_options(sl_session *s, const sl_args *args, size_t n_seqs, size_t n_outputs);
/* Whether they ask for copies of the weights. */
bool sl_session_copies(const sl_session *s);
/* The model and the memory that an engine with s->options will take, on stderr unless quiet; a context that was left to
 * choose is the one that was told. */
sl_exit sl_session_tell(sl_session *s, const sl_args *args);
/* Both, then make the engine. */
sl_exit sl_session_start(sl_session *s, const sl_args *args, size_t n_seqs, size_t n_outputs);

/* Sampling options that were not given, as the model says. */
void sl_session_sampling(const sl_session *s, sl_args *args);

/* The model's texts. NULL, with a message, when there is no vocabulary. */
const sl_text *sl_session_text(const sl_session *s);

/* Every id of *ids within the vocabulary (of the model, if it is open); `what` names their origin. */
sl_exit sl_session_check_ids(const sl_session *s, const sl_ids *ids, const char *what);

/* What became of the options that only ask, where the system or the model may have done less, on stderr unless quiet.
 * Of s->engine sl_session_end() says so. */
void sl_session_tell_placement(const sl_session *s, const sl_engine *e, const sl_args *args);
/* With --trace: its file, and its table on stderr unless quiet. Returns `code`, or a failure. */
sl_exit sl_session_write_trace(sl_session *s, const sl_engine *e, const sl_args *args, sl_exit code);
/* Write the trace of s->engine if one was asked for, free all. Returns `code`, or a failure of its own. */
sl_exit sl_session_end(sl_session *s, const sl_args *args, sl_exit code);

/* "F16, GPTQ4_ANY": formats of matrices in this model that are multiplied with f32 activations as they are, whatever
 * --act says: floats, and ANY, whose columns have scales in no order. "": none. */
#define SL_FORMATS_TEXT_MAX 128
void sl_session_f32_formats(const sl_model *m, char out[SL_FORMATS_TEXT_MAX]);
/* Likewise those with f32 activations that --act int8 rounds to 8-bit floats, as their checkpoint has it. */
void sl_session_rounded_formats(const sl_model *m, char out[SL_FORMATS_TEXT_MAX]);
/* "Q4_1 + F32 + Q8_0": formats of the tensors, those with most bytes first. */
void sl_session_formats(const sl_model *m, sl_str *out);

#endif
