/* Types as terms: making, unifying, constraints, text (ty.c, constraint.c, resolve.c). Part of elab.h. */
#ifndef LOOM_SYNTAX_ELAB_TYPES_H
#define LOOM_SYNTAX_ELAB_TYPES_H

void loom_syn_types_init(syn_elab *e);
void loom_syn_step(syn_elab *e); /* counts work; gives up at the limit */
/* Reports and gives the text up. */
_Noreturn void loom_syn_limit(syn_elab *e, loom_weft_error error, loom_span span, const char *hint, const char *format,
                              ...) LOOM_PRINTF(5, 6);

syn_ty *loom_syn_ty_var(syn_elab *e, syn_mask mask); /* 0: any type */
syn_ty *loom_syn_ty_array(syn_elab *e, syn_ty *element);
syn_ty *loom_syn_ty_arrays(syn_elab *e, syn_ty *element, uint32_t depth);
syn_ty *loom_syn_ty_seq(syn_elab *e, syn_ty *element);
syn_ty *loom_syn_ty_tuple(syn_elab *e, uint32_t n, syn_ty **fields);
/* names and fields as written; `place[i]` (may be NULL) is where field i goes. */
syn_ty *loom_syn_ty_record(syn_elab *e, uint32_t n, syn_name **names, syn_ty **fields, uint32_t *place);
const syn_shape *loom_syn_shape(syn_elab *e, uint32_t n, syn_name **names, uint32_t *place);
syn_ty *loom_syn_ty(syn_ty *t); /* what it stands for: links followed */

/* Makes both equal; false where that cannot be. Afterwards every constraint that woke up has been looked at. */
bool loom_syn_unify(syn_elab *e, syn_ty *a, syn_ty *b);
bool loom_syn_restrict(syn_elab *e, syn_ty *t, syn_mask mask); /* to a scalar of the set */
bool loom_syn_forbid_seq(syn_elab *e, syn_ty *t);              /* false if it is one, or has one inside */
bool loom_syn_ground(syn_elab *e, syn_ty *t);
bool loom_syn_has_seq(syn_elab *e, syn_ty *t);
bool loom_syn_has_poison(syn_elab *e, syn_ty *t); /* in some part */
bool loom_syn_is_poison(syn_ty *t);
uint32_t loom_syn_rank(syn_ty *t, syn_ty **leaf); /* array levels as far as known, and what is below */
const char *loom_syn_ty_text(syn_elab *e, syn_ty *t);
const char *loom_syn_mask_text(syn_mask mask);
loom_type_id loom_syn_core_type(syn_elab *e, syn_ty *t); /* of a ground type */

/* Adds a constraint and tries it at once. */
void loom_syn_constrain(syn_elab *e, syn_constraint_kind kind, syn_ty *a, syn_ty *b, syn_name *name, loom_span span);
bool loom_syn_try_constraint(syn_elab *e, syn_constraint *c); /* true: done */
void loom_syn_watch_again(syn_elab *e, syn_constraint *c);    /* its variable was bound, and it is not done */
int loom_syn_find_field(syn_ty *tuple, const syn_name *name); /* place of a field, or -1 */
void loom_syn_unsolved(syn_elab *e, syn_constraint *c);       /* reports a constraint nothing decided */

/* Types as written, in a scope. */
syn_rt *loom_syn_resolve(syn_elab *e, const syn_te *type, syn_env *env);

#endif
