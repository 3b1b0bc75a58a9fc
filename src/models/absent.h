/* absent.h - what an incomplete checkpoint lacks, in one line; and the rows of tensor tables as load.c reads them. */
#ifndef SL_MODELS_ABSENT_H
#define SL_MODELS_ABSENT_H

#include "models/net.h"

#define SL_TENSOR_NAME_MAX 128 /* of the patterns in tensor tables, a layer's number put in */

/* The row's name in the container that the model came in; NULL: it is not in that. */
const char *sl_spec_name(const sl_net *m, const sl_tensor_spec *spec);
/* Whether the tensor has to be there, and, if it is, whether it is part of the model and read. */
void sl_spec_needs(const sl_net *m, const sl_tensor_spec *spec, bool *needed, bool *known, bool *used);
bool sl_spec_in_layer(const sl_net *m, const sl_tensor_spec *spec, size_t layer);
/* The pattern with `n` in place of its first %zu. */
void sl_spec_fill_in(char out[SL_TENSOR_NAME_MAX], const char *pattern, size_t n);

/* SL_EFORMAT: the tensor `name` is missing, and what else is: whole layers by their numbers, single tensors by kind,
 * all counted. `m` has its settings and layers. */
sl_status sl_net_lacks(const sl_net *m, const sl_tensor_spec *spec, const char *name, sl_err *err);

#endif
