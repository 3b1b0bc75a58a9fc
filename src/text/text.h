/* text.h - what the library knows of a public sl_text beyond sluice/text.h. */
#ifndef SL_TEXT_TEXT_H
#define SL_TEXT_TEXT_H

#include "formats/weights.h"
#include "sluice/text.h"
#include "tokenizer/tokenizer.h"

/* Of a file that is open, which may be closed afterwards. SL_ENOMEM; SL_EFORMAT: a template. */
sl_status sl_text_of_weights(sl_text **out, const sl_weights *w, const sl_text_options *o, sl_err *err);

/* NULL: there is no vocabulary that can be used; *why (may be NULL) then says what is wrong with it. */
const sl_tokenizer *sl_text_tokenizer(const sl_text *t, sl_err *why);

#endif
