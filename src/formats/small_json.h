/* small_json.h - the small JSON files of a Hugging Face folder: config.json, tokenizer_config.json and their like. */
#ifndef SL_FORMATS_SMALL_JSON_H
#define SL_FORMATS_SMALL_JSON_H

#include "formats/file.h"
#include "formats/json.h"

#define SL_PATH_MAX 4096

/* "DIR/NAME" in out; SL_EINVAL when it is too long. */
sl_status sl_path_join(char out[SL_PATH_MAX], const char *dir, const char *name, sl_err *err);

/* Not there: `root` is NULL. */
typedef struct sl_small_json {
    char path[SL_PATH_MAX];
    sl_file file;
    sl_json_doc doc;
    const sl_json *root; /* an object, or NULL */
} sl_small_json;

/* SL_EINVAL, SL_EIO, SL_EFORMAT, SL_EUNSUPPORTED (too large), SL_ENOMEM; err names the file. */
sl_status sl_small_json_open(sl_small_json *j, const char *dir, const char *name, sl_err *err);
void sl_small_json_close(sl_small_json *j); /* accepts a zeroed one */

#endif
