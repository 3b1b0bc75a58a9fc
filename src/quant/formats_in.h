/* formats_in.h - what each format's file defines, for the list in quant.c. */
#ifndef SL_QUANT_FORMATS_IN_H
#define SL_QUANT_FORMATS_IN_H

#include <stddef.h>
#include "quant/quant.h"

/* Formats that are groups of whole numbers (see sl_quant.group), and whether they have minima; their
 * values follow from the groups. */
#define SL_GROUPED_LIST(X)                                                                                             \
    X(Q8_0, false)                                                                                                     \
    X(Q4_0, false)                                                                                                     \
    X(Q4_1, true)                                                                                                      \
    X(Q5_0, false)                                                                                                     \
    X(Q5_1, true)                                                                                                      \
    X(Q3_K, false)                                                                                                     \
    X(Q4_K, true)                                                                                                      \
    X(Q5_K, true)                                                                                                      \
    X(Q6_K, false)                                                                                                     \
    X(IQ4_NL, false)                                                                                                   \
    X(IQ4_XS, false)                                                                                                   \
    X(TQ1_0, false)                                                                                                    \
    X(TQ2_0, false)                                                                                                    \
    X(MXFP4, false)

/* The others decode rows themselves, from their blocks, */
#define SL_UNGROUPED_LIST(X) X(F32) X(F16) X(BF16) X(Q2_K) X(NVFP4)

#define SL_GROUPED(name, minima) void sl_group_##name(sl_quant_group *out, const void *src, size_t g);
SL_GROUPED_LIST(SL_GROUPED)
#undef SL_GROUPED
#define SL_UNGROUPED(name) void sl_decode_row_##name(float *out, const void *src, size_t n);
SL_UNGROUPED_LIST(SL_UNGROUPED)
#undef SL_UNGROUPED

bool sl_scale_ok_MXFP4(const void *block);
bool sl_scale_ok_NVFP4(const void *block);
bool sl_scale_ok_MXFP4_SPLIT(const sl_tensor *t, size_t r, size_t k);

/* or from what lies in several places, scales beside the numbers or columns; some as groups too: name, group, minima.
 */
#define SL_SCALED_LIST(X)                                                                                              \
    X(INT4, sl_group_INT4, false)                                                                                      \
    X(INT4_ZP, sl_group_INT4, false)                                                                                   \
    X(INT4_ANY, NULL, false)                                                                                           \
    X(INT8, sl_group_INT8, false)                                                                                      \
    X(INT8_TOKEN, sl_group_INT8, false)                                                                                \
    X(INT8_ANY, NULL, false)                                                                                           \
    X(MXFP4_SPLIT, sl_group_MXFP4_SPLIT, false)                                                                        \
    X(F32_T, NULL, false)                                                                                              \
    X(F16_T, NULL, false)                                                                                              \
    X(BF16_T, NULL, false)                                                                                             \
    X(GPTQ4, sl_group_GPTQ4, false)                                                                                    \
    X(GPTQ4_ANY, NULL, false)                                                                                          \
    X(GPTQ8, sl_group_GPTQ8, false)                                                                                    \
    X(GPTQ8_ANY, NULL, false)                                                                                          \
    X(AWQ4, sl_group_AWQ4, false)                                                                                      \
    X(F8_E4M3, NULL, false)                                                                                            \
    X(F8_E4M3_128, NULL, false)                                                                                        \
    X(F8_E4M3_UE8M0, NULL, false)                                                                                      \
    X(F8_E4M3_TOKEN, NULL, false)
#define SL_SCALED(name, group, minima)                                                                                 \
    void sl_decode_##name(float *out, const sl_tensor *t, size_t r, size_t k0, size_t k1);
SL_SCALED_LIST(SL_SCALED)
#undef SL_SCALED
void sl_group_INT4(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g);
void sl_group_INT8(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g);
void sl_group_MXFP4_SPLIT(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g);
void sl_group_GPTQ4(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g);
void sl_group_GPTQ8(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g);
void sl_group_AWQ4(sl_quant_group *out, const sl_tensor *t, size_t r, size_t g);

/* What a code of 4 bits stands for in IQ4_NL and IQ4_XS; in MXFP4 and NVFP4, doubled. */
extern const int8_t sl_iq4_values[16], sl_e2m1_values[16];

/* The 6-bit scale and minimum of group g < 8 that Q4_K and Q5_K pack into 12 bytes. */
void sl_k_scale(const uint8_t packed[12], size_t g, unsigned *scale, unsigned *minimum);

#endif
