#include <stddef.h>
#include <string.h>
#include "base/num.h"
#include "models/net.h"

extern const sl_arch sl_arch_llama, sl_arch_qwen3, sl_arch_qwen3_moe;

static const sl_arch *const list[] = { &sl_arch_llama, &sl_arch_qwen3, &sl_arch_qwen3_moe };

const sl_arch *sl_arch_find(const char *name)
{
    for (size_t i = 0; i < SL_COUNT(list); i++)
        if (strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

const char *sl_arch_names(void)
{
    return "llama, qwen3, qwen3moe";
}
