/* unknown.h - tensors of a checkpoint that are no part of its model. */
#ifndef SL_MODELS_UNKNOWN_H
#define SL_MODELS_UNKNOWN_H

#include "models/net.h"

/* The first tensor that no row of the table names, and that would be ignored if it were not refused; NULL: none. Biases
 * beside quantised weights that are zero throughout change nothing: they may be there (AutoGPTQ writes them). */
const sl_weight_info *sl_net_unknown(const sl_net *m);
/* SL_EUNSUPPORTED: there is one; err says why it is none of the model's. */
sl_status sl_net_check_unknown(const sl_net *m, sl_err *err);

/* A weight's name as its folder has it: of a quantised module that of its numbers, "X.qweight". */
#define SL_STORED_NAME_MAX 128
const char *sl_stored_name(const sl_net *m, const sl_weight_info *info, char out[SL_STORED_NAME_MAX]);

#endif
