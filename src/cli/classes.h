/* classes.h - tensors of a checkpoint by classes: those of the same name but for layer and expert, and the same format.
 */
#ifndef SL_CLI_CLASSES_H
#define SL_CLI_CLASSES_H

#include "sluice/sluice.h"

#define SL_CLASSES_MAX 64

typedef struct sl_class {
    char name[64], format[24];
    bool supported;
    size_t count;
    uint64_t bytes;
} sl_class;

typedef struct sl_classes {
    sl_class of[SL_CLASSES_MAX];
    size_t n;
    sl_class others; /* of which there was no room for a class of their own */
} sl_classes;

void sl_classes_add(sl_classes *c, const sl_tensor_info *t);
void sl_classes_print(const sl_classes *c); /* a line each */

#endif
