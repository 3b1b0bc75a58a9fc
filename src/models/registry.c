#include <string.h>
#include "base/num.h"
#include "formats/hf.h"
#include "formats/show.h"
#include "models/net.h"

extern const sl_arch sl_arch_llama, sl_arch_mistral, sl_arch_qwen2, sl_arch_qwen3, sl_arch_qwen3_moe,
    sl_arch_deepseek_v3, sl_arch_kimi_k2, sl_arch_gpt_oss;

static const sl_arch *const list[] = { &sl_arch_llama,     &sl_arch_mistral,     &sl_arch_qwen2,   &sl_arch_qwen3,
                                       &sl_arch_qwen3_moe, &sl_arch_deepseek_v3, &sl_arch_kimi_k2, &sl_arch_gpt_oss };

static const char *name_in(const sl_arch *arch, sl_container container)
{
    return container == SL_CONTAINER_HF ? arch->hf : arch->gguf;
}

static sl_status unknown(const sl_weights *w, sl_err *err)
{
    char names[256] = "";
    for (size_t i = 0; i < SL_COUNT(list); i++) {
        const char *name = name_in(list[i], sl_weights_container(w));
        if (name && *names)
            strncat(names, ", ", sizeof names - strlen(names) - 1);
        if (name)
            strncat(names, name, sizeof names - strlen(names) - 1);
    }
    return sl_fail(err, SL_EUNSUPPORTED, "%s: architecture %s is not supported; known are %s", sl_weights_path(w),
                   sl_weights_arch(w), names);
}

/* "architectures" has to name the class that generates text; others of the same model_type have other heads. A file
 * without the key is taken as Transformers takes it, by its model_type. */
static sl_status check_class(const sl_arch *arch, const sl_json *root, sl_err *err)
{
    const sl_json *classes = NULL;
    char shown[SL_SHOW_MAX];
    const sl_status rc = sl_json_get_list(root, "architectures", false, &classes, err);
    if (rc || !classes || classes->n == 0)
        return rc;
    for (const sl_json *m = classes->first; m; m = m->next) {
        if (m->kind != SL_JSON_STRING)
            return sl_json_fail(err, SL_EFORMAT, m, "should be a string");
        if (sl_json_is(m, arch->hf_class) || (arch->hf_class_too && sl_json_is(m, arch->hf_class_too)))
            return SL_OK;
    }
    return sl_json_fail(err, SL_EUNSUPPORTED, classes, "\"%s\" is not supported; of model_type %s %s is",
                        sl_show(shown, sl_json_bytes(classes->first)), arch->hf, arch->hf_class);
}

sl_status sl_arch_find(const sl_arch **out, const sl_weights *w, sl_err *err)
{
    const sl_hf *folder = sl_weights_hf(w);
    *out = NULL;
    for (size_t i = 0; i < SL_COUNT(list) && !*out; i++) {
        const char *name = name_in(list[i], sl_weights_container(w));
        if (name && strcmp(name, sl_weights_arch(w)) == 0)
            *out = list[i];
    }
    if (!*out)
        return unknown(w, err);
    const sl_status rc = folder ? check_class(*out, folder->config.root, err) : SL_OK;
    return rc ? sl_fail_in(err, rc, "%s", folder->config.path) : SL_OK;
}

const char *sl_arch_name(const sl_arch *arch)
{
    return arch->hf ? arch->hf : arch->gguf;
}
