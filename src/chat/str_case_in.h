/* str_case_in.h - upper and lower case of whole strings. */
#ifndef SL_CHAT_STR_CASE_IN_H
#define SL_CHAT_STR_CASE_IN_H

#include "chat/render_in.h"
#include "chat/utf8_in.h"

sl_status sl_jj_str_map(sl_jj_render *r, sl_jj_value s, sl_jj_case to, sl_jj_value *out);
sl_status sl_jj_str_capitalize(sl_jj_render *r, sl_jj_value s, sl_jj_value *out);
sl_status sl_jj_str_title(sl_jj_render *r, sl_jj_value s, sl_jj_value *out); /* the method, not Jinja's filter */
sl_status sl_jj_str_swapcase(sl_jj_render *r, sl_jj_value s, sl_jj_value *out);
/* str.isupper, islower, istitle */
bool sl_jj_str_is_case(sl_jj_value s, sl_jj_case which);
/* Characters from..to of s in the given case, appended to b. */
sl_status sl_jj_case_add(sl_jj_render *r, sl_jj_buf *b, sl_jj_value s, size_t from, size_t to, sl_jj_case which);

#endif
