/* model.h - the public sl_model: a network and the vocabulary that came with it. */
#ifndef SL_EXECUTOR_MODEL_H
#define SL_EXECUTOR_MODEL_H

#include "models/net.h"
#include "sluice/sluice.h"
#include "tokenizer/tokenizer.h"

struct sl_model {
    sl_net *net;
    sl_tokenizer *tokenizer; /* NULL: no_vocab says why */
    sl_err no_vocab;
    const char *name, *template;
};

#endif
