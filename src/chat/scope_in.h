/* scope_in.h - where a template's variables live.
 *
 * Jinja compiles names to Python variables ahead of time, and its odd rules follow from that: a
 * `set` inside a loop starts each round from the outer value and is forgotten after it; a macro
 * sees later changes of the variables around it. So we do the same: each scope has numbered
 * slots, and a rule for what a slot holds when the scope is entered. */
#ifndef SL_CHAT_SCOPE_IN_H
#define SL_CHAT_SCOPE_IN_H

#include "chat/ast_in.h"

typedef enum sl_jj_load {
    SL_JJ_LOAD_NOTHING, /* stays missing until stored: `set`, macro names */
    SL_JJ_LOAD_PARAM,   /* put there by whoever enters: loop variables, macro arguments */
    SL_JJ_LOAD_CONTEXT, /* from the variables of the rendering, then the globals */
    SL_JJ_LOAD_OUTER    /* a copy of a variable further out */
} sl_jj_load;

typedef struct sl_jj_slot {
    sl_jj_value name;
    uint8_t load;      /* sl_jj_load */
    bool stored, used; /* of the analysis: was assigned here; belongs to this scope at all */
    uint32_t up, slot; /* LOAD_OUTER: scopes outwards (at least 1), and the slot there */
} sl_jj_slot;

struct sl_jj_scope {
    sl_jj_scope *parent;
    sl_jj_slot *slots;
    size_t n, cap;
    /* Slots of special parameters, SL_JJ_NO_SLOT where the body does not ask for them. */
    uint32_t loop, caller, kwargs, varargs;
};
#define SL_JJ_NO_SLOT UINT32_MAX

#endif
