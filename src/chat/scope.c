/* scope.c - give every name its place before anything runs (see scope_in.h).
 *
 * Two walks per scope. The first collects the scope's names in the order in which they are read
 * and stored, and decides what each slot holds on entry; it does not look into inner scopes. The
 * second writes scope and slot into the nodes, and then does both for the inner scopes, which see
 * the finished outer ones.
 * Source: the behaviour of Jinja2 3.1 (its idtracking); tests/chat/differential.py compares. */
#include "chat/scope_in.h"

#include <assert.h>

#include "base/mem.h"
#include "base/num.h"
#include "chat/render_in.h"

#define TRY SL_JJ_TRY

/* In one scope; look-ups are linear. */
#define MAX_NAMES 1000

typedef struct analysis {
    sl_template *t;
    sl_jj_scope *scope;
    /* What is known so far, by slot. A branch of an `if` works on a copy. */
    sl_jj_slot *known;
    size_t n, cap;
    sl_err *err;
} analysis;

static bool same_name(sl_jj_value a, sl_jj_value b)
{
    return a.len == b.len && memcmp(a.u.s, b.u.s, a.len) == 0;
}

/* The number of a name in the scope; a new one if need be. */
static sl_status slot_of(const analysis *a, sl_jj_value name, uint32_t *out)
{
    sl_jj_scope *s = a->scope;
    for (size_t i = 0; i < s->n; i++)
        if (same_name(s->slots[i].name, name)) {
            *out = (uint32_t)i;
            return SL_OK;
        }
    if (s->n == MAX_NAMES)
        return sl_jj_fail_at(a->t, (size_t)0, a->err, SL_EUNSUPPORTED, "more than %d variables in one scope",
                             MAX_NAMES);
    if (s->n == s->cap) {
        const size_t cap = s->cap ? 2 * s->cap : 8;
        sl_jj_slot *grown = NULL;
        TRY(sl_jj_template_alloc(a->t, cap, sizeof *grown, &grown, a->err));
        if (s->n > 0)
            memcpy(grown, s->slots, s->n * sizeof *grown);
        s->slots = grown;
        s->cap = cap;
    }
    s->slots[s->n].name = name;
    *out = (uint32_t)s->n++;
    return SL_OK;
}

/* What is known about a name here, valid until the next call. */
static sl_status known_of(analysis *a, sl_jj_value name, sl_jj_slot **out)
{
    uint32_t i = 0;
    TRY(slot_of(a, name, &i));
    if (i >= a->cap) {
        const size_t cap = SL_MAX((size_t)8, 2 * (size_t)(i + 1));
        sl_jj_slot *grown = sl_mem_grow(a->known, a->cap * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return sl_fail(a->err, SL_ENOMEM, "template: no memory for %zu variables", cap);
        memset(grown + a->cap, 0, (cap - a->cap) * sizeof *grown);
        a->known = grown;
        a->cap = cap;
    }
    a->n = SL_MAX(a->n, (size_t)i + 1);
    *out = &a->known[i];
    return SL_OK;
}

/* The variable as a finished scope and those around it see it. */
static bool find_outer(const sl_jj_scope *s, sl_jj_value name, uint32_t *up, uint32_t *slot)
{
    for (uint32_t depth = 0; s; s = s->parent, depth++)
        for (size_t i = 0; i < s->n; i++)
            if (s->slots[i].used && same_name(s->slots[i].name, name)) {
                *up = depth;
                *slot = (uint32_t)i;
                return true;
            }
    return false;
}

static void load_from_outer(const analysis *a, sl_jj_value name, sl_jj_load otherwise, sl_jj_slot *k)
{
    uint32_t up = 0, slot = 0;
    const bool found = find_outer(a->scope->parent, name, &up, &slot);
    k->load = found ? SL_JJ_LOAD_OUTER : (uint8_t)otherwise;
    k->up = up + 1;
    k->slot = slot;
}

static sl_status note_load(analysis *a, sl_jj_value name)
{
    uint32_t up = 0, slot = 0;
    sl_jj_slot *k = NULL;
    TRY(known_of(a, name, &k));
    if (!k->used && !find_outer(a->scope->parent, name, &up, &slot)) {
        k->used = true;
        k->load = SL_JJ_LOAD_CONTEXT;
    }
    return SL_OK;
}

static sl_status note_store(analysis *a, sl_jj_value name)
{
    sl_jj_slot *k = NULL;
    TRY(known_of(a, name, &k));
    k->stored = true;
    if (!k->used) {
        k->used = true;
        load_from_outer(a, name, SL_JJ_LOAD_NOTHING, k);
    }
    return SL_OK;
}

static sl_status note_param(analysis *a, sl_jj_value name, uint32_t *slot)
{
    sl_jj_slot *k = NULL;
    TRY(known_of(a, name, &k));
    k->used = k->stored = true;
    k->load = SL_JJ_LOAD_PARAM;
    if (slot)
        *slot = (uint32_t)(k - a->known);
    return SL_OK;
}

/* Every name in a target, as stored or as a parameter. */
static sl_status note_target(analysis *a, const sl_jj_node *n, bool param)
{
    for (size_t i = 0; i < n->list.n; i++)
        TRY(note_target(a, n->list.node[i], param));
    if (n->type == SL_JJ_NSREF)
        return note_load(a, n->value);
    if (n->type != SL_JJ_NAME)
        return SL_OK;
    return param ? note_param(a, n->value, NULL) : note_store(a, n->value);
}

static sl_status note(analysis *a, const sl_jj_node *n);

static sl_status note_all(analysis *a, const sl_jj_body *b)
{
    for (size_t i = 0; i < b->n; i++)
        TRY(note(a, b->node[i]));
    return SL_OK;
}

static sl_status branch_open(const analysis *from, analysis *to)
{
    *to = *from;
    to->known = NULL;
    to->cap = 0;
    if (from->n == 0)
        return SL_OK;
    to->known = sl_mem_zalloc(from->n, sizeof *to->known);
    if (!to->known)
        return sl_fail(from->err, SL_ENOMEM, "template: no memory for %zu variables", from->n);
    memcpy(to->known, from->known, from->n * sizeof *to->known);
    to->cap = from->n;
    return SL_OK;
}

/* What the branches learnt. A name that only they store is read from further out on entry, since
 * none of them may run. */
static sl_status branches_close(analysis *a, analysis *branch, size_t n_branches)
{
    for (size_t i = 0; i < a->scope->n; i++) {
        const sl_jj_value name = a->scope->slots[i].name;
        sl_jj_slot *k = NULL;
        TRY(known_of(a, name, &k));
        const bool stored_before = k->stored;
        for (size_t b = 0; b < n_branches; b++)
            if (i < branch[b].n && branch[b].known[i].used) {
                const bool stored = k->stored;
                *k = branch[b].known[i];
                k->stored |= stored;
            }
        if (k->stored && !stored_before)
            load_from_outer(a, name, SL_JJ_LOAD_CONTEXT, k);
    }
    return SL_OK;
}

static sl_status note_elifs(analysis *a, const sl_jj_node *n)
{
    for (size_t i = 1; i < n->list.n; i++) {
        analysis body = { 0 };
        TRY(note(a, n->list.node[i]->a));
        sl_status rc = branch_open(a, &body);
        if (!rc)
            rc = note_all(&body, &n->list.node[i]->body);
        if (!rc)
            rc = branches_close(a, &body, 1);
        sl_mem_free(body.known);
        TRY(rc);
    }
    return SL_OK;
}

static sl_status note_if(analysis *a, const sl_jj_node *n)
{
    analysis branch[3] = { 0 };
    sl_status rc = SL_OK;
    TRY(note(a, n->list.node[0]->a));
    for (size_t i = 0; !rc && i < SL_COUNT(branch); i++)
        rc = branch_open(a, &branch[i]);
    if (!rc)
        rc = note_all(&branch[0], &n->list.node[0]->body);
    if (!rc)
        rc = note_elifs(&branch[1], n);
    if (!rc)
        rc = note_all(&branch[2], &n->body2);
    if (!rc)
        rc = branches_close(a, branch, SL_COUNT(branch));
    for (size_t i = 0; i < SL_COUNT(branch); i++)
        sl_mem_free(branch[i].known);
    return rc;
}

static sl_status note_args(analysis *a, const sl_jj_args *args)
{
    if (!args)
        return SL_OK;
    TRY(note_all(a, &args->pos));
    TRY(note_all(a, &args->kw));
    TRY(note(a, args->dyn_pos));
    return note(a, args->dyn_kw);
}

/* The first walk. n may be NULL. */
static sl_status note(analysis *a, const sl_jj_node *n)
{
    if (!n)
        return SL_OK;
    switch ((sl_jj_type)n->type) {
    case SL_JJ_NAME:
        return note_load(a, n->value);
    case SL_JJ_IF:
        return note_if(a, n);
    case SL_JJ_FOR:
        return note(a, n->b);
    case SL_JJ_MACRO_DEF:
        return note_store(a, n->value);
    case SL_JJ_CALL_BLOCK:
    case SL_JJ_FILTER_BLOCK:
        return note(a, n->a);
    case SL_JJ_GENERATION:
        return SL_OK;
    case SL_JJ_SET:
        TRY(note(a, n->b));
        return note_target(a, n->a, false);
    case SL_JJ_SET_BLOCK:
        return note_target(a, n->a, false);
    case SL_JJ_WITH:
        return note_all(a, &n->list2);
    default:
        TRY(note(a, n->a));
        TRY(note(a, n->b));
        TRY(note(a, n->c));
        TRY(note(a, n->d));
        TRY(note_all(a, &n->list));
        return note_args(a, n->args);
    }
}

/* How a name is first met in a tree, in the order of Jinja's fields. */
typedef enum first_use { UNUSED, LOADED, STORED } first_use;

static first_use use_of(const sl_jj_node *n, sl_jj_value name, bool target);

static first_use use_in(const sl_jj_body *b, sl_jj_value name, bool target)
{
    first_use u = UNUSED;
    for (size_t i = 0; u == UNUSED && i < b->n; i++)
        u = use_of(b->node[i], name, target);
    return u;
}

static first_use use_in_args(const sl_jj_args *args, sl_jj_value name)
{
    first_use u = UNUSED;
    if (args && (u = use_in(&args->pos, name, false)) == UNUSED && (u = use_in(&args->kw, name, false)) == UNUSED &&
        (u = use_of(args->dyn_pos, name, false)) == UNUSED)
        u = use_of(args->dyn_kw, name, false);
    return u;
}

static first_use use_of(const sl_jj_node *n, sl_jj_value name, bool target)
{
    if (!n)
        return UNUSED;
    if (n->type == SL_JJ_NAME)
        return !same_name(n->value, name) ? UNUSED : target ? STORED : LOADED;
    const bool a_is_target = n->type == SL_JJ_FOR || n->type == SL_JJ_SET || n->type == SL_JJ_SET_BLOCK;
    const bool list_is_target =
        target || n->type == SL_JJ_WITH || n->type == SL_JJ_MACRO_DEF || n->type == SL_JJ_CALL_BLOCK;
    first_use u = use_of(n->a, name, a_is_target);
    if (u == UNUSED)
        u = use_of(n->b, name, false);
    if (u == UNUSED)
        u = use_in(&n->list, name, list_is_target);
    if (u == UNUSED)
        u = use_in(&n->list2, name, false);
    if (u == UNUSED)
        u = use_in(&n->body, name, false);
    if (u == UNUSED)
        u = use_in(&n->body2, name, false);
    if (u == UNUSED)
        u = use_of(n->c, name, false);
    if (u == UNUSED && n->type != SL_JJ_FOR)
        u = use_of(n->d, name, false);
    return u == UNUSED ? use_in_args(n->args, name) : u;
}

/* A `set loop` or `for loop` anywhere below; NULL if there is none. */
static const sl_jj_node *stores_loop(const sl_jj_node *n, bool target);

static const sl_jj_node *stores_loop_in(const sl_jj_body *b, bool target)
{
    const sl_jj_node *bad = NULL;
    for (size_t i = 0; !bad && i < b->n; i++)
        bad = stores_loop(b->node[i], target);
    return bad;
}

static const sl_jj_node *stores_loop(const sl_jj_node *n, bool target)
{
    if (!n)
        return NULL;
    if (n->type == SL_JJ_NAME)
        return target && sl_jj_str_is(n->value, "loop") ? n : NULL;
    const bool a_is_target = n->type == SL_JJ_FOR || n->type == SL_JJ_SET || n->type == SL_JJ_SET_BLOCK;
    const sl_jj_node *bad = a_is_target ? stores_loop(n->a, true) : NULL;
    if (!bad && (n->type == SL_JJ_IF || n->type == SL_JJ_TUPLE_OF))
        bad = stores_loop_in(&n->list, target);
    if (!bad)
        bad = stores_loop_in(&n->body, false);
    return bad ? bad : stores_loop_in(&n->body2, false);
}

static sl_status scope_new(sl_template *t, sl_jj_scope *parent, sl_err *err, analysis *a, sl_jj_scope **out)
{
    sl_jj_scope *s = NULL;
    TRY(sl_jj_template_alloc(t, 1, sizeof *s, &s, err));
    s->parent = parent;
    s->loop = s->caller = s->kwargs = s->varargs = SL_JJ_NO_SLOT;
    *a = (analysis){ .t = t, .scope = s, .err = err };
    *out = s;
    return SL_OK;
}

/* Keep what the first walk found. */
static void scope_finish(analysis *a)
{
    for (size_t i = 0; i < a->n; i++) {
        const sl_jj_value name = a->scope->slots[i].name;
        a->scope->slots[i] = a->known[i];
        a->scope->slots[i].name = name;
    }
    sl_mem_free(a->known);
    a->known = NULL;
}

static sl_status bind(sl_template *t, sl_jj_scope *s, sl_jj_node *n, sl_err *err);

static sl_status bind_all(sl_template *t, sl_jj_scope *s, const sl_jj_body *b, sl_err *err)
{
    for (size_t i = 0; i < b->n; i++)
        TRY(bind(t, s, b->node[i], err));
    return SL_OK;
}

static sl_status bind_args(sl_template *t, sl_jj_scope *s, const sl_jj_args *args, sl_err *err)
{
    if (!args)
        return SL_OK;
    TRY(bind_all(t, s, &args->pos, err));
    TRY(bind_all(t, s, &args->kw, err));
    TRY(bind(t, s, args->dyn_pos, err));
    return bind(t, s, args->dyn_kw, err);
}

/* A scope around n->body in which the names of `params` are parameters. */
static sl_status plain_scope(sl_template *t, sl_jj_scope *parent, sl_jj_node *n, const sl_jj_body *params, sl_err *err)
{
    analysis a = { 0 };
    sl_status rc = scope_new(t, parent, err, &a, &n->scope);
    for (size_t i = 0; !rc && params && i < params->n; i++)
        rc = note_target(&a, params->node[i], true);
    if (!rc)
        rc = note_all(&a, &n->body);
    if (!rc && n->type == SL_JJ_FILTER_BLOCK)
        rc = note(&a, n->a);
    if (!rc && n->type == SL_JJ_SET_BLOCK)
        rc = note(&a, n->b);
    if (!rc)
        scope_finish(&a);
    sl_mem_free(a.known);
    return rc ? rc : bind_all(t, n->scope, &n->body, err);
}

static sl_status special_param(analysis *a, const sl_jj_node *n, const char *name, bool *wanted, uint32_t *slot)
{
    const sl_jj_value v = sl_jj_text(name);
    *wanted = false;
    if (use_in(&n->body, v, false) != LOADED)
        return SL_OK;
    for (size_t i = 0; i < n->list.n; i++) {
        if (!same_name(n->list.node[i]->value, v))
            continue;
        /* An argument of that name: fine for two of them, and for `caller` if it has a default. */
        if (sl_jj_str_is(v, "caller") && n->list.n - i > n->list2.n)
            return sl_jj_fail_at(a->t, n->at, a->err, SL_EFORMAT, "the argument 'caller' must have a default");
        *wanted = sl_jj_str_is(v, "caller");
        return SL_OK;
    }
    *wanted = true;
    return note_param(a, v, slot);
}

static sl_status macro_scope(sl_template *t, sl_jj_scope *parent, sl_jj_node *n, sl_err *err)
{
    analysis a = { 0 };
    sl_status rc = scope_new(t, parent, err, &a, &n->scope);
    for (size_t i = 0; !rc && i < n->list.n; i++)
        rc = note_param(&a, n->list.node[i]->value, NULL);
    if (!rc)
        rc = note_all(&a, &n->list2);
    if (!rc)
        rc = note_all(&a, &n->body);
    if (!rc)
        rc = special_param(&a, n, "caller", &n->wants_caller, &n->scope->caller);
    if (!rc)
        rc = special_param(&a, n, "kwargs", &n->wants_kwargs, &n->scope->kwargs);
    if (!rc)
        rc = special_param(&a, n, "varargs", &n->wants_varargs, &n->scope->varargs);
    if (!rc)
        scope_finish(&a);
    sl_mem_free(a.known);
    TRY(rc);
    TRY(bind_all(t, n->scope, &n->list, err));
    TRY(bind_all(t, n->scope, &n->list2, err));
    return bind_all(t, n->scope, &n->body, err);
}

static sl_status for_body_scope(sl_template *t, sl_jj_scope *parent, sl_jj_node *n, sl_err *err)
{
    analysis a = { 0 };
    sl_status rc = scope_new(t, parent, err, &a, &n->scope);
    if (!rc && (n->recursive || use_in(&n->body, sl_jj_text("loop"), false) == LOADED))
        rc = note_param(&a, sl_jj_text("loop"), &n->scope->loop);
    if (!rc)
        rc = note_target(&a, n->a, true);
    if (!rc)
        rc = note_all(&a, &n->body);
    if (!rc)
        scope_finish(&a);
    sl_mem_free(a.known);
    TRY(rc);
    TRY(bind(t, n->scope, n->a, err));
    return bind_all(t, n->scope, &n->body, err);
}

static sl_status for_filter_scope(sl_template *t, sl_jj_scope *parent, sl_jj_node *n, sl_err *err)
{
    analysis a = { 0 };
    sl_status rc = scope_new(t, parent, err, &a, &n->scope3);
    if (!rc)
        rc = note_target(&a, n->d, true);
    if (!rc)
        rc = note(&a, n->c);
    if (!rc)
        scope_finish(&a);
    sl_mem_free(a.known);
    TRY(rc);
    TRY(bind(t, n->scope3, n->d, err));
    return bind(t, n->scope3, n->c, err);
}

static sl_status for_else_scope(sl_template *t, sl_jj_scope *parent, sl_jj_node *n, sl_err *err)
{
    analysis a = { 0 };
    sl_status rc = scope_new(t, parent, err, &a, &n->scope2);
    if (!rc)
        rc = note_all(&a, &n->body2);
    if (!rc)
        scope_finish(&a);
    sl_mem_free(a.known);
    return rc ? rc : bind_all(t, n->scope2, &n->body2, err);
}

static sl_status bind_for(sl_template *t, sl_jj_scope *s, sl_jj_node *n, sl_err *err)
{
    const sl_jj_node *bad = stores_loop(n, false);
    if (bad)
        return sl_jj_fail_at(t, bad->at, err, SL_EFORMAT, "cannot assign to the loop variable 'loop'");
    TRY(bind(t, s, n->b, err));
    TRY(for_body_scope(t, s, n, err));
    if (n->c)
        TRY(for_filter_scope(t, s, n, err));
    return n->body2.n > 0 ? for_else_scope(t, s, n, err) : SL_OK;
}

/* The second walk. n may be NULL. */
static sl_status bind(sl_template *t, sl_jj_scope *s, sl_jj_node *n, sl_err *err)
{
    if (!n)
        return SL_OK;
    switch ((sl_jj_type)n->type) {
    case SL_JJ_NAME:
    case SL_JJ_NSREF: {
        const bool found = find_outer(s, n->value, &n->up, &n->slot);
        assert(found);
        (void)found;
        return SL_OK;
    }
    case SL_JJ_FOR:
        return bind_for(t, s, n, err);
    case SL_JJ_MACRO_DEF: {
        const bool found = find_outer(s, n->value, &n->up, &n->slot);
        assert(found);
        (void)found;
        return macro_scope(t, s, n, err);
    }
    case SL_JJ_CALL_BLOCK:
        TRY(bind(t, s, n->a, err));
        return macro_scope(t, s, n, err);
    case SL_JJ_GENERATION:
        return macro_scope(t, s, n, err);
    case SL_JJ_FILTER_BLOCK:
        TRY(plain_scope(t, s, n, NULL, err));
        return bind(t, n->scope, n->a, err);
    case SL_JJ_SET_BLOCK:
        TRY(bind(t, s, n->a, err));
        TRY(plain_scope(t, s, n, NULL, err));
        return bind(t, n->scope, n->b, err);
    case SL_JJ_WITH:
        TRY(bind_all(t, s, &n->list2, err));
        TRY(plain_scope(t, s, n, &n->list, err));
        return bind_all(t, n->scope, &n->list, err);
    default:
        TRY(bind(t, s, n->a, err));
        TRY(bind(t, s, n->b, err));
        TRY(bind(t, s, n->c, err));
        TRY(bind(t, s, n->d, err));
        TRY(bind_all(t, s, &n->list, err));
        TRY(bind_args(t, s, n->args, err));
        TRY(bind_all(t, s, &n->body, err));
        return bind_all(t, s, &n->body2, err);
    }
}

sl_status sl_jj_resolve(sl_template *t, sl_err *err)
{
    return plain_scope(t, NULL, t->root, NULL, err);
}
