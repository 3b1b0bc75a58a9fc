/* experts.h - settings of mixtures of experts: which layers have one, and how their router chooses. */
#ifndef SL_MODELS_EXPERTS_H
#define SL_MODELS_EXPERTS_H

#include "models/net.h"

/* Into c->router and what belongs to it; c->router holds the family's defaults, which keys of the file override.
 * Without experts in the file c->router.E stays 0. SL_EFORMAT, SL_EUNSUPPORTED; err names file and key. */
sl_status sl_experts_config(sl_config *c, const sl_weights *w, sl_err *err);
/* Whether a layer's feed-forward block is a mixture. */
bool sl_experts_in_layer(const sl_config *c, size_t layer);
/* How many experts' matrices a tensor of the checkpoint holds; 0: it is no expert's. */
size_t sl_experts_in_tensor(const sl_config *c, const char *name);

#endif
