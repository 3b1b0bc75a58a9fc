/* template.h - chat templates: the Jinja that checkpoints carry, rendered as Transformers does
 * (trim_blocks, lstrip_blocks, loop controls, tojson without HTML escapes, raise_exception,
 * strftime_now). */
#ifndef SL_CHAT_TEMPLATE_H
#define SL_CHAT_TEMPLATE_H

#include <jansson.h>
#include "base/status.h"
#include "base/str.h"

typedef struct sl_template sl_template;

/* Parse. SL_EFORMAT with "line L, column C: ..." for what is no Jinja, SL_EUNSUPPORTED for what
 * this engine lacks (never a silent guess), SL_ENOMEM. */
sl_status sl_template_create(sl_template **out, const char *source, size_t len, sl_err *err);
void sl_template_destroy(sl_template *t); /* accepts NULL */

/* Append the rendering to out. `context` is a JSON object of the template's variables. Errors
 * carry line and column; SL_EINVAL is the template's own raise_exception, with its message.
 * Steps, depth, memory and output are limited, so a hostile template ends in an error; the stack
 * taken stays below 512 KiB. What a template gets wrong at run time is SL_EFORMAT, what Python
 * could do and this engine cannot SL_EUNSUPPORTED. On failure nothing is appended.
 *
 * strftime_now is the local time; an integer under that name in the context (seconds since 1970,
 * shown as UTC) pins it. */
sl_status sl_template_render(const sl_template *t, const json_t *context, sl_str *out, sl_err *err);

#endif
