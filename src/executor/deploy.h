/* deploy.h - deploy files for the library itself (see sluice/deploy.h). */
#ifndef SL_EXECUTOR_DEPLOY_H
#define SL_EXECUTOR_DEPLOY_H

#include "sluice/deploy.h"

/* A file's bytes; `name` stands for its path in messages. Nothing of it but sl_deploy_check() needs a model. */
sl_status sl_deploy_parse(sl_deploy **out, const char *name, const void *bytes, size_t n, sl_err *err);

#endif
