/* text_in.h - the parts of text_files.h: the small files of a folder. */
#ifndef SL_FORMATS_TEXT_IN_H
#define SL_FORMATS_TEXT_IN_H

#include "formats/file.h"
#include "formats/json.h"
#include "formats/text_files.h"

#define SL_TEXT_PATH_MAX 4096

/* A small JSON file of a folder. Not there: both stay empty. */
typedef struct sl_small_json {
    char path[SL_TEXT_PATH_MAX];
    sl_file file;
    sl_json_doc doc;
    const sl_json *root; /* an object, or NULL */
} sl_small_json;

/* "DIR/NAME" in out; SL_EINVAL when it is too long. */
sl_status sl_text_path(char out[SL_TEXT_PATH_MAX], const char *dir, const char *name, sl_err *err);
sl_status sl_small_json_open(sl_small_json *j, const char *dir, const char *name, sl_err *err);
void sl_small_json_close(sl_small_json *j);

/* What tokenizer_config.json, special_tokens_map.json and generation_config.json say beyond the vocabulary's own
 * file. `own_specials`: that file has its full list of special tokens (tiktoken, tekken), none may be added. */
sl_status sl_text_config(sl_vocab *v, const char *dir, const sl_small_json *config, bool own_specials, sl_err *err);

/* The templates of a folder. */
sl_status sl_text_templates(sl_text_files *t, const char *dir, const sl_small_json *config, sl_err *err);
/* One more; `where` is for messages. */
sl_status sl_text_add_template(sl_text_files *t, sl_bytes name, sl_bytes source, const char *where, sl_err *err);

#endif
