/* model.h - the public sl_model: a network and the texts that came with it. */
#ifndef SL_EXECUTOR_MODEL_H
#define SL_EXECUTOR_MODEL_H

#include "models/net.h"
#include "sluice/sluice.h"

struct sl_model {
    sl_net *net;
    sl_text *text;
    const char *name;
    sl_model_sampling sampling;
};

#endif
