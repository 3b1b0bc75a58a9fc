/* text.h - the public sl_text, and how a model gets its own. */
#ifndef SL_EXECUTOR_TEXT_H
#define SL_EXECUTOR_TEXT_H

#include "formats/weights.h"
#include "sluice/sluice.h"

/* Of a file that is open, which may be closed afterwards. SL_ENOMEM; SL_EFORMAT: a template. */
sl_status sl_text_of_weights(sl_text **out, const sl_weights *w, const sl_text_options *o, sl_err *err);

#endif
