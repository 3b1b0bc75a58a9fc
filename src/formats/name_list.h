/* name_list.h - lists of module names in the settings of a quantised checkpoint, "targets" and "ignore": names, and
 * patterns behind "re:", which match from the beginning of a name on (Python's re.match). */
#ifndef SL_FORMATS_NAME_LIST_H
#define SL_FORMATS_NAME_LIST_H

#include "formats/json.h"

typedef struct sl_name_list {
    struct sl_name_entry *entry; /* [n] */
    size_t n;
    void *match, *limits, *general; /* pcre2's objects; NULL without a pattern */
} sl_name_list;

/* An array of strings (NULL: an empty list), which stays. SL_EFORMAT: no such array, a pattern that is none; err says
 * where. After a failure l is empty. */
sl_status sl_name_list_open(sl_name_list *l, const sl_json *array, sl_err *err);
void sl_name_list_close(sl_name_list *l); /* accepts a zeroed one */

/* How an entry names a module: by its name, by a pattern, as every "Linear". */
typedef enum sl_named { SL_NAMED_NOT, SL_NAMED_CLASS, SL_NAMED_PATTERN, SL_NAMED_EXACTLY } sl_named;
/* The most exact way in which the list names it. SL_EUNSUPPORTED: a pattern that needs too many steps. */
sl_status sl_name_list_has(const sl_name_list *l, sl_bytes module, sl_named *out, sl_err *err);

/* ---- modules that are left as they were ---------------------------------------------------------- */

/* Lists like "modules_to_not_convert": names, or parts of them from dot to dot, where * is any one word:
 * "model.layers.*.mlp" and "mlp.gate" have model.layers.3.mlp.gate. *out: the array, NULL where there is none.
 * SL_EFORMAT: no list of names. */
sl_status sl_left_out_open(const sl_json *config, const char *key, const sl_json **out, sl_err *err);
/* SL_EFORMAT if the list (NULL: an empty one) has the module. */
sl_status sl_left_out_check(const sl_json *list, sl_bytes module, sl_err *err);

#endif
