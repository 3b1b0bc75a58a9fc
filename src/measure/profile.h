/* profile.h - where the time of a test goes, held against the machine, and what would change it.
 *
 *   sl_profile_run      runs a test several times with a trace and accounts for its steps (profile.c)
 *   sl_profile_diagnose asks a table of causes what each would save, and says in one sentence which one limits
 *                       the run (causes.c)
 *
 * Two accounts are kept. `rows` and the times beside them are of all steps and add up to wall_s. Causes are judged by
 * the quiet steps alone, those that other processes disturbed least: of a prompt the quickest of all runs at each
 * place, of generated tokens the quickest quarter.
 */
#ifndef SL_MEASURE_PROFILE_H
#define SL_MEASURE_PROFILE_H

#include "executor/engine.h"
#include "measure/bench.h"
#include "trace/account.h"

/* What holds an operation up. */
typedef enum sl_bound {
    SL_BOUND_BANDWIDTH,  /* reading its bytes takes longer than its operations */
    SL_BOUND_ARITHMETIC, /* the other way round */
    SL_BOUND_BARRIER,    /* threads wait for it, or with it, longer than it takes */
    SL_BOUND_DISPATCH,   /* too little work: it takes longer to begin than to do */
    SL_BOUND_COUNT
} sl_bound;
const char *sl_bound_name(sl_bound bound); /* "bandwidth", ... */

/* An operation, all layers together. Seconds are those of the wall clock: of all threads, divided by their number. */
typedef struct sl_profile_row {
    const char *name;
    uint64_t calls; /* by one thread */
    double seconds, wait_s;
    double bytes, ops;
    sl_peak peak;              /* what ops are held against */
    double read_s, multiply_s; /* bytes at the machine's bandwidth, ops at its peak */
    double roof_share;         /* the larger of the two by seconds; 0: nothing to hold it against */
    sl_bound bound;
    bool serial;                      /* planning, sampling */
    sl_engine_op op;                  /* the first of them; name NULL for serial ones */
    uint64_t weight_bytes, n_weights; /* of one step, all of them */
} sl_profile_row;

typedef struct sl_profile_account {
    size_t steps;
    double wall_s;
    sl_profile_row *rows; /* [n_rows] most time first */
    size_t n_rows;
    double imbalance_s; /* threads that wait for another one that works */
    double barrier_s;   /* what barriers cost beside that */
    double dispatch_s;  /* between spans */
    double traced_s;    /* writing down the spans themselves, at their measured price; part of the others */
    uint64_t barriers;  /* passed by one thread */
} sl_profile_account;

typedef struct sl_profile {
    sl_bench_test test;
    size_t runs, steps_of_run;
    size_t n_lost; /* steps that the trace no longer held */
    sl_profile_account all, quiet;
    double run_s;            /* a run of quiet steps */
    double roof_share;       /* of that run */
    double experts_hit;      /* by a step in a layer, on average; 0: not known, or no experts */
    double idle_share;       /* of all threads' time in which no CPU ran them */
    uint64_t major_faults;   /* pages read from disk meanwhile */
    sl_expert_picks experts; /* of the runs; picks NULL: no experts */
} sl_profile;

/* What profiles of one engine are held against. */
typedef struct sl_profile_machine {
    double read_gb_s, peak_g_s[SL_PEAK_COUNT]; /* 0: not measured, not needed */
} sl_profile_machine;

/* The yardsticks that the engine's operations need, or would need with other activations, each measured for `seconds`;
 * those that the CPU has no instructions for stay 0. *out keeps what was better, so that it can be measured before and
 * after. SL_ENOMEM. */
sl_status sl_profile_measure(sl_bench *b, double seconds, sl_profile_machine *out, sl_err *err);

/* Run `t` `runs` times on an engine with a trace, large enough already. Nothing is held against a machine yet.
 * SL_EINVAL without a trace; else errors of sl_bench_run and SL_ENOMEM. */
sl_status sl_profile_run(sl_profile *p, sl_bench *b, const sl_bench_test *t, size_t runs, sl_err *err);
/* Roof shares and bounds. Without a measured bandwidth all of them are 0. */
void sl_profile_hold(sl_profile *p, const sl_model *m, const sl_engine *e, const sl_profile_machine *machine);
void sl_profile_fini(sl_profile *p); /* accepts one that is all zero */

/* ---- what limits it (causes.c) ------------------------------------------------------ */

#define SL_CAUSES_MAX 32 /* of all profiles of a run together */

/* What would be changed. */
typedef enum sl_cause_rank {
    SL_RANK_OFF,   /* an optimisation that is switched off */
    SL_RANK_FREE,  /* another setting, with the same answers */
    SL_RANK_COSTS, /* answers, the file or the machine */
} sl_cause_rank;

/* A cause that holds for one profile, and what is known of it. */
typedef struct sl_cause {
    const char *id; /* "fusion"; NULL: no cause stands out */
    const sl_profile *profile;
    const char *what;   /* "reading keys and values" */
    double share;       /* of the quiet time that goes there */
    double rate;        /* of the machine, that is reached there; 0: unknown */
    char change[48];    /* "--kv-type f16" */
    const char *effect; /* "would halve these bytes" */
    double saved_s;     /* of a run, by the numbers */
    double gain;        /* speed with the change by speed now, by the numbers; of this profile's test alone */
    bool at_most;       /* gain is a bound, not an estimate */
    sl_cause_rank rank;
    bool has_options; /* `options` are those of a run with the change */
    sl_engine_options options;
} sl_cause;

typedef struct sl_diagnosis {
    sl_cause limit;              /* id NULL: near the roof, or nothing stands out */
    sl_cause all[SL_CAUSES_MAX]; /* every one that would save anything, best first */
    size_t n;
    char sentence[400];
} sl_diagnosis;

/* Of at most two profiles. `options` are those that the engine was made with. */
sl_status sl_profile_diagnose(const sl_profile *p, size_t n, const sl_engine *e, const sl_engine_options *options,
                              const sl_profile_machine *machine, sl_diagnosis *out, sl_err *err);

/* ---- the change, tried (try.c) -------------------------------------------------------- */

/* Tokens a second of a test with one set of options and another, measured in turn without a trace: medians. */
typedef struct sl_trial {
    double before, after;
} sl_trial;
sl_status sl_profile_try(const sl_model *m, const sl_bench_test *t, const sl_engine_options *before,
                         const sl_engine_options *after, bool fill_random, size_t rounds, sl_trial *out, sl_err *err);

#endif
