/* find.h - from MODEL on the command line to a path.
 *
 *   a file, a folder          as it is; a folder of the hub's cache (models--ORG--NAME): the snapshot in it
 *   smollm2, ...              a model of sluice's own cache
 *   ORG/NAME, NAME            a model in the Hugging Face hub's cache, of its branch main; nothing is downloaded
 *
 * Source of the cache's form and its variables: the huggingface_hub library, "Understand caching" and "Environment
 * variables" of its documentation. */
#ifndef SL_CLI_FIND_H
#define SL_CLI_FIND_H

#include "cli/cli.h"

/* Names that MODEL may have without being a file or the name of one in the cache; NULL: no more of them. */
const char *sl_find_cached_name(size_t i);

/* The path of MODEL in *path. */
sl_exit sl_find_model(const char *model, sl_str *path);

#endif
