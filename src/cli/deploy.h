/* deploy.h - --deploy FILE: the file's options before those of the command line, and its layout in `sluice info`. */
#ifndef SL_CLI_DEPLOY_H
#define SL_CLI_DEPLOY_H

#include "cli/cli.h"
#include "sluice/deploy.h"

/* Open args->deploy_file into args->deploy, which is the caller's to close, and set what it says in *args: of a fresh
 * command line, since options given there are read after it and win. Every option of the file is checked, also those
 * that the command does not have. */
sl_exit sl_cli_deploy_read(const sl_command *c, sl_args *args);

/* A fault of an option that was found late, with the model or another option at hand: "--kv-page: ...", or "..., but
 * --memory ...". Where the value is the file's it is told with its place there. */
sl_exit sl_cli_fail_option(const sl_args *args, const sl_err *err);

/* For `sluice info`, where a file was given: layout, options, and what the command line changed of these. */
void sl_cli_deploy_print(const sl_args *args, const sl_model *m);
json_t *sl_cli_deploy_json(const sl_args *args, const sl_model *m);

#endif
