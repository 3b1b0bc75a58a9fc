/* fit.h - what an engine will take, held against what may be had; the context that fits.
 *
 * Counted is what is needed when every position is filled. Weights in a mapped file count too: the kernel could drop
 * their pages, but each token reads all of them. Only where they alone are more than the memory, so that no context
 * would help, they are left out (`streamed`): the model then runs at the speed of the disk. */
#ifndef SL_EXECUTOR_FIT_H
#define SL_EXECUTOR_FIT_H

#include "executor/model.h"
#include "executor/options.h"

/* Tokens that slots have said. Far less than the KV cache of as many positions, so it fits where that does. */
size_t sl_said_bytes(const sl_settings *s);

/* Fill *out, whether it fits or not; where no context was asked for, choose one: the model's own, or what leaves a
 * sixteenth of the memory free. s->plan.env.k must be set. SL_ENOMEM; SL_EINVAL: sizes beyond the address space. */
sl_status sl_fit(sl_settings *s, const sl_model *m, sl_memory *out, sl_err *err);

/* SL_ENOMEM for a *memory of sl_fit that does not fit, with the numbers and what would help. */
sl_status sl_fit_check(const sl_settings *s, const sl_model *m, const sl_memory *memory, sl_err *err);

#endif
