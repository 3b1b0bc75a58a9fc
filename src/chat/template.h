/* template.h - chat templates: the Jinja that checkpoints carry, rendered as Transformers does
 * (trim_blocks, lstrip_blocks, loop controls, tojson without HTML escapes, raise_exception,
 * strftime_now, {% generation %} as if it were not there), byte for byte.
 *
 * Refused when a template is loaded (SL_EUNSUPPORTED, with line and column): extends, include,
 * import, from, block, autoescape; the filters random, pprint, striptags, urlize, xmlattr. Refused
 * when they are reached: integers beyond 64 bits, complex powers, bytes (str.encode), str.translate,
 * lipsum, printing of methods and iterators (Python would print an address). A filter or test of
 * an unknown name is refused at load even where no branch reaches it. One filter is more than
 * Transformers has: from_json.
 *
 * Limits, each ending in an error within a second or two, whatever the template:
 *   source         1 MiB; 250 constructs one inside the other, 400 operations on one path of an
 *                  expression, 1000 names in a scope, 1000 keyword arguments in a call
 *   a rendering    50 million steps (about a second), 1500 nested evaluations (macros, loops,
 *                  lists), 256 MiB of values, 64 MiB of text, ranges of 100,000 items */
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
 * The stack taken stays below 512 KiB. What a template gets wrong at run time is SL_EFORMAT, what Python
 * could do and this engine cannot SL_EUNSUPPORTED. On failure nothing is appended.
 *
 * strftime_now is the local time; an integer under that name in the context (seconds since 1970,
 * shown as UTC) pins it. */
sl_status sl_template_render(const sl_template *t, const json_t *context, sl_str *out, sl_err *err);

#endif
