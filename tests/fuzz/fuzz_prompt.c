/* fuzz_prompt.c - requests: any JSON is a conversation, or ends in an error.
 *
 * The input is a request; what follows a NUL byte is a template. Without one there is a fixed
 * template that shows everything as it is: then the ids must spell the text, and hold the control
 * tokens of the template alone. */
#undef NDEBUG /* the assertions are what this file is for */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "chat/prompt.h"
#include "tokenizer/toy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char fixed[] =
    "{% for m in messages %}<s>{{ m.role }}{{ m.content }}{{ m.thinking }}{% if m.tool_calls is sequence %}"
    "{% for c in m.tool_calls %}{{ c.function.arguments }}{% endfor %}{% endif %}</s>{% endfor %}";

static void check(const sl_template *t, const sl_tokenizer *tokenizer, const json_t *request, bool plain)
{
    sl_str text = { 0 }, spelt = { 0 };
    sl_ids ids = { 0 };
    sl_err err = { 0 };
    size_t control = 0;
    const sl_status rc = sl_prompt_text(t, tokenizer, request, &text, &err);
    assert(rc == SL_OK || err.msg[0]);
    const bool ok = sl_prompt_ids(t, tokenizer, request, &ids, &err) == SL_OK;
    assert(ok || err.msg[0]);
    for (size_t i = 0; plain && rc == SL_OK && ok && i < ids.n; i++) {
        const sl_bytes bytes = sl_token_bytes(tokenizer, ids.data[i], true);
        sl_str_append(&spelt, bytes.data, bytes.len);
        control += ids.data[i] >= TOY_BOS && ids.data[i] <= TOY_IM_LONG;
    }
    if (plain && rc == SL_OK && ok) {
        assert(spelt.len == text.len && (text.len == 0 || memcmp(spelt.data, text.data, text.len) == 0));
        assert(control == 2 * json_array_size(json_object_get(request, "messages")));
    }
    sl_str_fini(&text);
    sl_str_fini(&spelt);
    sl_ids_fini(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static toy y;
    static sl_tokenizer *tokenizer; /* made once: that takes longer than a run */
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    const size_t n = end ? (size_t)(end - data) : size;
    const char *source = end ? (const char *)end + 1 : fixed;
    sl_template *t = NULL;
    json_t *request = json_loadb((const char *)data, n, JSON_ALLOW_NUL, NULL);
    if (!tokenizer) {
        toy_fill(&y, "gpt-2");
        if (sl_tokenizer_create(&tokenizer, &y.v, NULL))
            abort();
    }
    if (request && sl_template_create(&t, source, end ? size - n - 1 : strlen(source), NULL) == SL_OK)
        check(t, tokenizer, request, !end && !json_object_get(request, "chat_template_kwargs"));
    sl_template_destroy(t);
    json_decref(request);
    return 0;
}
