/* views.h - from a tensor of a checkpoint to the matrices and vectors in it, as kernels take them. */
#ifndef SL_MODELS_VIEWS_H
#define SL_MODELS_VIEWS_H

#include "models/net.h"

/* The number that a letter of a shape stands for. */
size_t sl_shape_letter(const sl_config *c, char letter);
/* Whether a row of a tensor table names one vector, or what each expert has. */
bool sl_spec_is_vector(const sl_tensor_spec *spec);
bool sl_spec_of_experts(const sl_tensor_spec *spec);
/* How many matrices alternate in the tensor. */
size_t sl_spec_parts(const sl_tensor_spec *spec);

/* Whether the tensor has the shape that the settings ask for. SL_EFORMAT. */
sl_status sl_view_check(const sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, sl_err *err);
/* A vector as an array of floats: widened, or moved to where a float may lie, in m->arena. SL_EUNSUPPORTED, SL_ENOMEM.
 */
sl_status sl_view_vector(sl_net *m, const sl_weight_info *info, sl_tensor *t, sl_err *err);
/* Vectors of all experts, [E][rows] floats, likewise. */
sl_status sl_view_vectors(sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, sl_tensor *out,
                          sl_err *err);
/* The list of the experts' matrices, [E], in a tensor of all; none is copied. SL_ENOMEM. */
sl_status sl_view_experts(sl_net *m, const sl_tensor_spec *spec, const sl_weight_info *info, const sl_tensor **out,
                          sl_err *err);

#endif
