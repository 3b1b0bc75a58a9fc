/* case_tab_in.h - small Unicode tables for utf8.c. */
#ifndef SL_CHAT_CASE_TAB_IN_H
#define SL_CHAT_CASE_TAB_IN_H

#include <stdint.h>

typedef struct sl_jj_span {
    uint32_t first, last;
} sl_jj_span;
typedef struct sl_jj_special {
    uint32_t from, to[3]; /* ends with a 0 if shorter */
} sl_jj_special;

#define SL_JJ_N_OTHER_DIGITS 20
extern const sl_jj_span sl_jj_other_digits[SL_JJ_N_OTHER_DIGITS];
#define SL_JJ_N_OTHER_NUMERICS 72
extern const sl_jj_span sl_jj_other_numerics[SL_JJ_N_OTHER_NUMERICS];
#define SL_JJ_N_OTHER_LOWERS 24
extern const sl_jj_span sl_jj_other_lowers[SL_JJ_N_OTHER_LOWERS];
#define SL_JJ_N_OTHER_UPPERS 5
extern const sl_jj_span sl_jj_other_uppers[SL_JJ_N_OTHER_UPPERS];
#define SL_JJ_N_SPECIAL_UPPER 102
extern const sl_jj_special sl_jj_special_upper[SL_JJ_N_SPECIAL_UPPER];
#define SL_JJ_N_SPECIAL_TITLE 48
extern const sl_jj_special sl_jj_special_title[SL_JJ_N_SPECIAL_TITLE];

#endif
