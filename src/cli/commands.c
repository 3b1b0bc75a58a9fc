/* commands.c - the subcommands, in the order of the help. */
#include "cli/cli.h"

const sl_command *const sl_cli_commands[] = {
    &sl_cmd_run,      &sl_cmd_bench,  &sl_cmd_profile, &sl_cmd_perplexity, &sl_cmd_logits,
    &sl_cmd_tokenize, &sl_cmd_render, &sl_cmd_parse,   &sl_cmd_info,       NULL,
};
