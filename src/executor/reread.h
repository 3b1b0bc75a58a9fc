/* reread.h - mapped weights in huge pages: what the page cache has in small ones is read from disk again. */
#ifndef SL_EXECUTOR_REREAD_H
#define SL_EXECUTOR_REREAD_H

#include "formats/weights.h"
#include "sluice/sluice.h"

/* Bring all of w into the page cache, in huge pages if the file system can (sl_pages_ask_huge). True: the cache had
 * small ones before, and only who maps the files from now on has the huge ones. A model that is larger than the memory
 * that is free is left alone. */
bool sl_reread_huge(const sl_weights *w, sl_on_copy *on_read, void *user);

#endif
