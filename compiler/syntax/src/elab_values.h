/* Values, nodes, bodies, scopes and application: what the parts of the elaborator call of each other. Part of elab.h.
 */
#ifndef LOOM_SYNTAX_ELAB_VALUES_H
#define LOOM_SYNTAX_ELAB_VALUES_H

/* ---- errors (report.c) ---- */
/* A place inside the prelude is shown as the user's call that led there, with the prelude function's name. */
void loom_syn_error(syn_elab *e, loom_weft_error error, loom_span span, const char *hint, const char *format, ...)
    LOOM_PRINTF(5, 6);
void loom_syn_error_at(syn_elab *e, loom_weft_error error, const syn_site *site, loom_span span, const char *hint,
                       const char *format, ...) LOOM_PRINTF(6, 7);
/* What is no error, but surely not meant. Nothing where the place is not the user's. */
void loom_syn_warn(syn_elab *e, loom_weft_error error, loom_span span, const char *hint, const char *format, ...)
    LOOM_PRINTF(5, 6);
/* What helps where a text, or what a small one expands to, is too large. */
const char *loom_syn_growth_hint(const syn_elab *e);
/* The span a node is given: code expanded from the prelude stands where the user asked for it. */
loom_span loom_syn_place(const syn_elab *e, loom_span span);
/* Where a wrong argument is underlined: itself where the user's text has it, else the whole application. */
loom_span loom_syn_argument_place(const syn_elab *e, const syn_value *argument, loom_span application);
/* A sequence where operation `name` needs an array: told by the name that the user wrote, with what to write. */
/* Argument i of an operation on arrays is something else, and no sequence. form: how it is written, or NULL. */
void loom_syn_found_no_array(syn_elab *e, loom_span span, const char *form, const char *name, uint32_t argument,
                             syn_ty *found);
void loom_syn_found_seq(syn_elab *e, loom_span span, const char *name, uint32_t argument, syn_ty *found);
/* Unifies; if that fails: "<what>: expected T, found U". */
/* `hint` is for what the types alone do not tell. */
bool loom_syn_need_type_hint(syn_elab *e, loom_weft_error error, syn_ty *found, syn_ty *expected, loom_span span,
                             const char *hint, const char *format, ...) LOOM_PRINTF(7, 8);
bool loom_syn_need_type(syn_elab *e, loom_weft_error error, syn_ty *found, syn_ty *expected, loom_span span,
                        const char *format, ...) LOOM_PRINTF(6, 7);
/* Restricts to a set of scalars; if that fails: "<what> needs a number, found U". */
bool loom_syn_need_mask(syn_elab *e, loom_weft_error error, syn_ty *found, syn_mask mask, loom_span span,
                        const char *format, ...) LOOM_PRINTF(6, 7);

/* ---- nodes and bodies (node.c) ---- */
syn_node *loom_syn_node(syn_elab *e, loom_op op, syn_ty *type, uint32_t n, syn_node *const *operands, loom_span span);
syn_node *loom_syn_node0(syn_elab *e, loom_op op, syn_ty *type, loom_span span);
syn_node *loom_syn_node1(syn_elab *e, loom_op op, syn_ty *type, syn_node *a, loom_span span);
syn_node *loom_syn_node2(syn_elab *e, loom_op op, syn_ty *type, syn_node *a, syn_node *b, loom_span span);
syn_node *loom_syn_node3(syn_elab *e, loom_op op, syn_ty *type, syn_node *a, syn_node *b, syn_node *c, loom_span span);
void loom_syn_set_bodies(syn_elab *e, syn_node *n, syn_body *first, syn_body *second); /* second may be NULL */
syn_node *loom_syn_prim(syn_elab *e, loom_prim prim, syn_ty *type, uint32_t n, syn_node *const *operands,
                        loom_span span);
syn_node *loom_syn_poison(syn_elab *e, loom_span span);
syn_node *loom_syn_i64(syn_elab *e, int64_t value, loom_span span);
syn_node *loom_syn_bool(syn_elab *e, bool value, loom_span span);
syn_node *loom_syn_literal(syn_elab *e, syn_literal kind, uint64_t integer, double real, bool negative, syn_ty *type,
                           loom_span span);
syn_node *loom_syn_project(syn_elab *e, syn_node *tuple, uint32_t place, loom_span span); /* of a known tuple */
syn_node *loom_syn_tuple(syn_elab *e, uint32_t n, syn_node *const *parts, loom_span span);
/* The components of a tuple in its own order, named or not, as the type says. */
syn_node *loom_syn_tuple_of(syn_elab *e, syn_ty *type, syn_node *const *parts, loom_span span);

syn_body *loom_syn_open(syn_elab *e, syn_body_kind kind, uint32_t n_params, syn_ty *const *types, loom_span span);
/* One more parameter of a body of a function, behind the others. */
syn_node *loom_syn_add_param(syn_elab *e, syn_body *body, syn_ty *type);
void loom_syn_close(syn_elab *e, syn_body *body, syn_node *result);
/* Is this place inside a function given to an operation that may not see sequences? */
bool loom_syn_inside_operation(const syn_elab *e);

/* ---- values (value.c, apply.c) ---- */
syn_value *loom_syn_value(syn_elab *e, syn_value_kind kind);
syn_value *loom_syn_node_value(syn_elab *e, syn_node *node);
/* As a node; a function gives an error that says where it may not stand. */
syn_node *loom_syn_need_node(syn_elab *e, syn_value *v, loom_span span, const char *where);
bool loom_syn_has_function(const syn_value *v);
uint32_t loom_syn_arity(syn_elab *e, const syn_value *v); /* arguments still missing; 0 for a node */
syn_value *loom_syn_apply(syn_elab *e, syn_value *f, uint32_t n, syn_value *const *args, loom_span span);
/* Applies to nodes and needs a node: the bodies of operations. */
syn_node *loom_syn_apply_nodes(syn_elab *e, syn_value *f, uint32_t n, syn_node *const *args, loom_span span);
syn_value *loom_syn_binary(syn_elab *e, syn_name *op, syn_value *a, syn_value *b, syn_env *env, loom_span span);
syn_value *loom_syn_operator(syn_elab *e, const syn_name *op); /* a built-in operator as a function, or NULL */

syn_env *loom_syn_bind(syn_elab *e, syn_env *env, syn_name *name, syn_value *value);
syn_env *loom_syn_bind_type(syn_elab *e, syn_env *env, syn_name *name, syn_ty *type);
syn_value *loom_syn_lookup(syn_elab *e, syn_env *env, const syn_name *name); /* NULL: not there */
/* What a name stands for at top level, seen from the present declaration. */
syn_decl *loom_syn_top_level(const syn_elab *e, const syn_name *name);

/* ---- expressions (exp.c and its parts) ---- */
syn_value *loom_syn_elab(syn_elab *e, const syn_exp *exp, syn_env *env);
syn_node *loom_syn_elab_node(syn_elab *e, const syn_exp *exp, syn_env *env, const char *where);
syn_value *loom_syn_name(syn_elab *e, syn_name *name, syn_env *env, loom_span span);
syn_value *loom_syn_qualified(syn_elab *e, loom_dtype at, syn_name *name, loom_span span);
syn_value *loom_syn_field(syn_elab *e, syn_value *v, syn_name *name, loom_span span);
syn_node *loom_syn_index(syn_elab *e, syn_node *array, uint32_t n, syn_value *const *places, const syn_index *index,
                         loom_span span);
/* Of an array or a window. */
syn_node *loom_syn_index_of(syn_elab *e, syn_value *v, uint32_t n, syn_value *const *places, const syn_index *index,
                            loom_span span);
syn_value **loom_syn_index_places(syn_elab *e, const syn_exp *exp, syn_env *env);
syn_value *loom_syn_elab_loop(syn_elab *e, const syn_exp *exp, syn_env *env);
syn_value *loom_syn_elab_match(syn_elab *e, const syn_exp *exp, syn_env *env, const syn_rt *expected);
syn_value *loom_syn_elab_update(syn_elab *e, const syn_exp *exp, syn_env *env);
syn_value *loom_syn_elab_range(syn_elab *e, const syn_exp *exp, syn_env *env);
syn_value *loom_syn_complete_unflatten(syn_elab *e, syn_value *v, const syn_rt *expected, syn_env *env, loom_span span);
syn_node *loom_syn_i64_of(syn_elab *e, loom_weft_error error, syn_node *n, loom_span span, const char *what);
syn_value *loom_syn_call_named(syn_elab *e, const char *name, uint32_t n, syn_node *const *args, loom_span span);

/* ---- patterns and claims (pattern.c, claim.c) ---- */
typedef struct syn_annotation {
    const syn_pat *pat;
    syn_rt *rt;
    syn_value *value;
    bool differs; /* has been told; what it is bound to has no type, so that its uses tell nothing more */
} syn_annotation;
typedef struct syn_annotations {
    syn_annotation *at;
    size_t count, capacity;
} syn_annotations;
/* Does the value have parts for this tuple or record pattern? Reports if not. */
bool loom_syn_takes_apart(syn_elab *e, const syn_pat *pat, syn_value *value);
/* A value for part i of a pattern that fits it. */
syn_value *loom_syn_part_of(syn_elab *e, const syn_pat *pat, syn_value *value, uint32_t i);
/* First walk: takes the pattern apart against the value, unifies its annotations and lists them in order. */
void loom_syn_annotations(syn_elab *e, const syn_pat *pat, syn_value *value, syn_env *env, syn_annotations *list);
/* Second walk: applies claims (`next` counts through the list) and binds the names. */
syn_env *loom_syn_bind_pattern(syn_elab *e, const syn_pat *pat, syn_value *value, syn_env *env, syn_env *scope,
                               const syn_annotations *list, size_t *next);
/* Both, for a pattern without sizes of its own. */
syn_env *loom_syn_match(syn_elab *e, const syn_pat *pat, syn_value *value, syn_env *env);
/* [n] of a head; with `implicit` also names that only the parameters' types mention. */
syn_env *loom_syn_declare_sizes(syn_elab *e, const syn_function *f, bool implicit, syn_env *env);
/* The claims of a pattern's annotations on a node that it does not take apart (loop state). */
syn_node *loom_syn_claim_pattern(syn_elab *e, const syn_pat *pat, syn_node *node, syn_env *scope,
                                 const syn_annotations *list, size_t *next);
void loom_syn_bind_sizes(syn_elab *e, const syn_annotations *list, syn_env *scope);
syn_node *loom_syn_claim(syn_elab *e, const syn_rt *rt, syn_node *node, syn_env *scope);
syn_node *loom_syn_dim_node(syn_elab *e, const syn_dim *dim, syn_env *scope);
/* The size that a dimension names and nothing else, or NULL. */
syn_size *loom_syn_dim_size(syn_elab *e, const syn_dim *dim, syn_env *scope);

/* ---- functions (function.c, instance.c) ---- */
/* Runs a function's body on arguments (as many as it has parameters) where we are. */
syn_value *loom_syn_enter_function(syn_elab *e, const syn_function *f, syn_env *env, syn_value *const *args);
syn_value *loom_syn_call_def(syn_elab *e, syn_decl *decl, syn_value *const *args, loom_span span);
void loom_syn_elab_entry(syn_elab *e, syn_decl *decl);
void loom_syn_check_unused(syn_elab *e, syn_decl *decl);

/* ---- operations (builtin.c, op_*.c) ---- */
typedef struct syn_call {
    syn_elab *e;
    const char *name;
    uint32_t n;
    syn_value **args;
    loom_span span;
    uint32_t variant;
    loom_dtype at;
} syn_call;
typedef struct syn_builtin {
    const char *name;
    int arity; /* -1: one more than its first argument has */
    uint32_t variant;
    syn_node *(*run)(const syn_call *call);
} syn_builtin;
void loom_syn_builtins_init(syn_context *c);
const syn_builtin *loom_syn_builtin(int index);
/* "permute_seq op dest is xs", or NULL. */
const char *loom_syn_builtin_form(const char *name);
bool loom_syn_scalar_function(const char *name, loom_prim *prim); /* sin, min, popc, ... */
syn_node *loom_syn_prim_call(syn_elab *e, loom_prim prim, loom_dtype at, uint32_t n, syn_node *const *args,
                             const char *name, loom_span span);
/* == and != of tuples, records and arrays. */
syn_node *loom_syn_equal(syn_elab *e, bool negated, syn_node *a, syn_node *b, loom_span span);
syn_node *loom_syn_convert(syn_elab *e, loom_dtype to, loom_dtype from, syn_node *x, loom_span span);
syn_node *loom_syn_constant(syn_elab *e, syn_name *name, loom_dtype at, loom_span span); /* pi, inf, ...; or NULL */

syn_value *loom_syn_boundary(syn_elab *e, const syn_exp *exp);
syn_node *loom_syn_window_read(syn_elab *e, syn_window *w, uint32_t n, syn_value *const *places, const syn_index *index,
                               loom_span span);

/* ---- emission (emit.c) ---- */
void loom_syn_defaults(syn_elab *e, syn_frame *frame);
loom_body_id loom_syn_emit(syn_elab *e, syn_body *body);

#endif
