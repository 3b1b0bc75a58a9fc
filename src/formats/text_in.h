/* text_in.h - the parts of text_files.h. */
#ifndef SL_FORMATS_TEXT_IN_H
#define SL_FORMATS_TEXT_IN_H

#include "formats/small_json.h"
#include "formats/text_files.h"

/* What tokenizer_config.json, special_tokens_map.json, generation_config.json and config.json say beyond the
 * vocabulary's own file. `own_specials`: that file has its full list of special tokens (tiktoken, tekken), none may be
 * added. */
sl_status sl_text_config(sl_vocab *v, const char *dir, const sl_small_json *config, bool own_specials, sl_err *err);

/* The templates of a folder. */
sl_status sl_text_templates(sl_text_files *t, const char *dir, const sl_small_json *config, sl_err *err);
/* One more; `where` is for messages. */
sl_status sl_text_add_template(sl_text_files *t, sl_bytes name, sl_bytes source, const char *where, sl_err *err);

#endif
