/* fuzz_template.c - chat templates: any bytes are a template, or end in an error.
 *
 * What follows a NUL byte is the context in JSON; without one there is a fixed context. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "chat/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char fixed[] =
    "{\"messages\": [{\"role\": \"system\", \"content\": \" Be nice. \"}, {\"role\": \"user\", \"content\": "
    "\"a\\u00e9\\n\"},"
    "{\"role\": \"assistant\", \"content\": \"<think>x</think>y\", \"tool_calls\": [{\"function\": {\"name\": \"f\","
    "\"arguments\": {\"a\": 1, \"b\": [2.5, null, true]}}}]}], \"tools\": [{\"function\": {\"name\": \"f\", "
    "\"parameters\":"
    "{\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}}}], \"add_generation_prompt\": true,"
    "\"bos_token\": \"<s>\", \"n\": 3, \"x\": 2.5, \"s\": \"abc def\", \"l\": [3, 1, 2]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    const size_t n = end ? (size_t)(end - data) : size;
    sl_template *t = NULL;
    sl_str out = { 0 };
    sl_err err = { 0 };
    json_t *context = end ? json_loadb((const char *)end + 1, size - n - 1, JSON_ALLOW_NUL, NULL) : NULL;
    if (!json_is_object(context)) {
        json_decref(context);
        context = json_loads(fixed, 0, NULL);
    }
    sl_status rc = sl_template_create(&t, (const char *)data, n, &err);
    if (!rc)
        rc = sl_template_render(t, context, &out, &err);
    assert(rc == SL_OK || err.msg[0]);
    sl_str_fini(&out);
    sl_template_destroy(t);
    json_decref(context);
    return 0;
}
