/* show.h - a name from a file, fit for a message. */
#ifndef SL_FORMATS_SHOW_H
#define SL_FORMATS_SHOW_H

#include "tokenizer/vocab.h"

/* Unprintable bytes become '?', long names are cut. */
#define SL_SHOW_MAX 84
const char *sl_show(char out[SL_SHOW_MAX], sl_bytes name);

#endif
