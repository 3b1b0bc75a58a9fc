/* experts.h - how the picks of experts are told. */
#ifndef SL_CLI_EXPERTS_H
#define SL_CLI_EXPERTS_H

#include <jansson.h>
#include "measure/bench.h"

/* {"count", "layers": [{"layer", "picks", "used", "most", "most_share", "entropy_bits"}]}, layers that picked any; NULL
 * where none did. */
json_t *sl_cli_experts_json(const sl_expert_picks *p);
/* One line: how evenly experts were picked, and the layer where one had most; nothing where none was. */
void sl_cli_print_experts(const sl_expert_picks *p);

#endif
