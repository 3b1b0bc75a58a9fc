/* tokenizer_json_in.h - the two halves of the reader of tokenizer.json: tokens and model, and the
 * steps around the model. */
#ifndef SL_FORMATS_TOKENIZER_JSON_IN_H
#define SL_FORMATS_TOKENIZER_JSON_IN_H

#include "formats/fill_in.h"
#include "formats/json.h"

/* Each takes the value of that key, NULL where the file has none. Tokens are read by then. */
sl_status sl_json_normalizer(sl_fill *f, const sl_json *normalizer);
sl_status sl_json_pre_tokenizer(sl_fill *f, const sl_json *pre_tokenizer);
sl_status sl_json_decoder(sl_fill *f, const sl_json *decoder);
sl_status sl_json_post_processor(sl_fill *f, const sl_json *post_processor);

#endif
