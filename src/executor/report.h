/* report.h - a plan explained to a person. */
#ifndef SL_EXECUTOR_REPORT_H
#define SL_EXECUTOR_REPORT_H

#include <stdio.h>
#include "executor/plan.h"

/* Builds the same plan without fusion beside it, to show the difference. SL_ENOMEM, SL_EIO. */
sl_status sl_report_plan(const sl_net *net, const sl_plan *p, FILE *f, sl_err *err);

#endif
