/* profile_in.h - what `sluice profile` found, and the two ways to print it. */
#ifndef SL_CLI_PROFILE_IN_H
#define SL_CLI_PROFILE_IN_H

#include "cli/session.h"
#include "measure/profile.h"

typedef struct sl_profiled {
    const sl_args *args;
    sl_session session;
    sl_bench *bench;
    sl_profile_machine machine;
    sl_profile phase[2]; /* prefill and decode, as far as they were asked for */
    size_t n;
    sl_diagnosis diagnosis;
    sl_trial trial; /* with --try; before 0: nothing to try */
} sl_profiled;

void sl_profile_print(const sl_profiled *p);         /* profile_table.c */
sl_exit sl_profile_print_json(const sl_profiled *p); /* profile_json.c */

const char *sl_profile_phase(const sl_profile *p); /* "prefill", "decode" */

#endif
