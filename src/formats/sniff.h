/* sniff.h - what a file is that is not what it was given as. */
#ifndef SL_FORMATS_SNIFF_H
#define SL_FORMATS_SNIFF_H

#include <stddef.h>
#include "base/status.h"

/* SL_EFORMAT: what a download leaves in place of the file, of whatever kind it should be: a Git LFS pointer, an HTML
 * page. The text does not name the file. */
sl_status sl_sniff_download(const void *bytes, size_t n, sl_err *err);

#endif
