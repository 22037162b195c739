/* Elaboration: from the syntax tree to typed core, one function of the result at a time.
 *
 * How it works. An entry, and each def for each set of argument types it is called with (an *instance*), is checked and
 * translated in one walk over its tree:
 *   - A value is known at compile time to be a *node* (a run-time value with a type) or a *function* (a piece of tree
 * with its environment, an operation, a partial application). Functions are expanded where they are applied, so none is
 *     left in the result. An operation such as `map f xs` opens a body, applies f to the body's parameters, closes it.
 *   - Nodes are provisional: their types are terms with variables (ty.c). Literals, overloaded operators and fields of
 *     unknown records put constraints on variables. When the walk of the instance is done, what is still free is given
 *     its default, and the nodes are copied into the program (emit.c).
 *   - A call of a def whose arguments are nodes of fully known types becomes a CALL of an instance, made on demand and
 *     remembered. With function arguments, or with types not known yet, the def's body is expanded in place instead.
 *     Prelude functions always are. A def
 *     sees only what stands before it, so neither can go on for ever.
 *   - An error makes a *poisoned* node whose type agrees with everything, so that one mistake gives one message.
 * Cost: linear in the size of what is produced, which the limits below bound.
 */
#ifndef LOOM_SYNTAX_ELAB_H
#define LOOM_SYNTAX_ELAB_H

#include "ast.h"
#include "compiler/ir/prim.h"
#include <setjmp.h>

typedef struct syn_ty syn_ty;
typedef struct syn_node syn_node;
typedef struct syn_body syn_body;
typedef struct syn_size syn_size;
typedef struct syn_value syn_value;
typedef struct syn_env syn_env;
typedef struct syn_rt syn_rt;
typedef struct syn_site syn_site;
typedef struct syn_frame syn_frame;
typedef struct syn_instance syn_instance;
typedef struct syn_constraint syn_constraint;

/* Limits. Each is named in the message of the error it gives; tests in test/limits.c. */
#define LOOM_SYN_MAX_STEPS       4000000u /* of checking: about a second; a program of a thousand lines takes 100 000 */
#define LOOM_SYN_MAX_PROVISIONAL 1000000u /* nodes before emission: 200 MB; expansion can multiply a small text */
#define LOOM_SYN_MAX_RECURSION   1500u    /* nested expressions through all expansions: 1 KB of stack each */
#define LOOM_SYN_MAX_EXPANSION   100u     /* defs expanded inside each other */
#define LOOM_SYN_MAX_INSTANCES   10000u   /* specialised functions: each is compiled */
#define LOOM_SYN_MAX_LEAVES      4096u    /* scalars in one type: each becomes a column */
#define LOOM_SYN_MAX_BODIES      (LOOM_MAX_BODY_NESTING - 8u)

/* ---- types as terms ---- */
typedef enum syn_ty_kind {
    TY_VAR,
    TY_SCALAR,
    TY_TUPLE,
    TY_ARRAY,
    TY_SEQ,
    TY_POISON
} syn_ty_kind;

/* The names of a record, in the order of the text's first record of these names: {x, y} and {y, x} are one type. */
typedef struct syn_shape {
    uint32_t n, hash;
    syn_name **names;
    struct syn_shape *next;
} syn_shape;

typedef uint32_t syn_mask; /* set of scalar types */
#define SYN_BIT(dtype) (1u << (dtype))
#define SYN_SIGNED     (SYN_BIT(LOOM_I8) | SYN_BIT(LOOM_I16) | SYN_BIT(LOOM_I32) | SYN_BIT(LOOM_I64))
#define SYN_UNSIGNED   (SYN_BIT(LOOM_U8) | SYN_BIT(LOOM_U16) | SYN_BIT(LOOM_U32) | SYN_BIT(LOOM_U64))
#define SYN_INTEGERS   (SYN_SIGNED | SYN_UNSIGNED)
#define SYN_FLOATS     (SYN_BIT(LOOM_F32) | SYN_BIT(LOOM_F64))
#define SYN_COMPLEX    (SYN_BIT(LOOM_C64) | SYN_BIT(LOOM_C128))
#define SYN_NUMBERS    (SYN_INTEGERS | SYN_FLOATS | SYN_COMPLEX)
#define SYN_REALS      (SYN_INTEGERS | SYN_FLOATS)
#define SYN_SCALARS    (SYN_NUMBERS | SYN_BIT(LOOM_BOOL))

struct syn_ty {
    syn_ty_kind kind;
    loom_dtype dtype;
    uint32_t n, leaves, height;
    syn_ty *element;
    syn_ty **fields;
    const syn_shape *shape; /* of a record */
    /* variables */
    syn_ty *link;
    syn_mask mask;                      /* scalar types it may be; 0: any type */
    bool no_seq;                        /* may not become a sequence */
    uint8_t literal;                    /* 1: an integer literal has this type, 2: a float literal */
    bool counter;                       /* a loop's counter has it: i64 where nothing else decides */
    syn_constraint *watch, **watch_end; /* constraints to look at again when it is bound */
};

typedef enum syn_constraint_kind {
    C_FIELD,     /* a.name has type b */
    C_REAL,      /* a is complex, b the float type of its parts */
    C_ABS,       /* b is the type of |a| */
    C_TRANSFORM, /* a is an array, at any depth, of complex numbers */
    C_KEY        /* a has an order: a real number, a truth value, or a tuple of those */
} syn_constraint_kind;

struct syn_constraint {
    syn_constraint_kind kind;
    syn_ty *a, *b;
    syn_name *name;
    loom_span span;
    syn_site *site;
    bool done, queued;
    syn_ty *on; /* the variable in whose list it is */
    syn_constraint *next_watch, *next_ready;
};

/* ---- provisional nodes ---- */
typedef enum syn_body_kind {
    B_FUNCTION,
    B_ARRAY,  /* given to an array operation: no sequences inside */
    B_STREAM, /* given to a sequence operation: likewise */
    B_GROUP,  /* of group_seq: sequences allowed */
    B_BRANCH, /* of an if */
    B_LOOP,
} syn_body_kind;

struct syn_body {
    syn_body_kind kind;
    syn_body *outer;
    uint32_t depth;
    syn_node **params;
    uint32_t n_params;
    LOOM_VEC(syn_node *) nodes;
    LOOM_VEC(syn_size *) of_element; /* sizes that are bound here, and by each element of a sequence anew */
    syn_node *result;
    loom_span span;
    loom_body_id id;
};

typedef enum syn_literal {
    LIT_NONE,
    LIT_INT,
    LIT_FLOAT,
    LIT_CONSTANT /* inf, nan, pi, e, by field */
} syn_literal;

struct syn_node {
    uint16_t op, prim;
    bool used, negative;
    uint8_t literal;
    uint32_t aux;
    loom_span span;
    syn_ty *type;
    syn_node **operands;
    uint32_t n_operands;
    syn_body **bodies;
    uint32_t n_bodies;
    syn_name *field; /* PROJECT whose place is found when types are known; or the name of a constant */
    uint64_t integer;
    double real;
    loom_node_id id;
};

/* ---- values and scopes ---- */
typedef enum syn_value_kind {
    V_NODE,
    V_FUNCTION, /* local function or lambda, with its environment */
    V_DEF,
    V_BUILTIN,
    V_PRIM,    /* a scalar primitive or operator */
    V_CONVERT, /* T as a function */
    V_LEFT,    /* (a +): one argument missing on the right */
    V_RIGHT,   /* (+ a) */
    V_FIELDS,
    V_INDEXER,
    V_TUPLE,    /* a tuple or record with functions in it */
    V_SIZE,     /* a size name */
    V_BOUNDARY, /* #clamp; #constant has its value as an argument */
    V_WINDOW,   /* what the function of a stencil reads */
    V_FOREVER,  /* how many groups an endless sequence has */
} syn_value_kind;

typedef enum syn_boundary {
    SYN_CLAMP,
    SYN_MIRROR,
    SYN_WRAP,
    SYN_CONSTANT
} syn_boundary;
typedef struct syn_window syn_window; /* op_stencil.c */
#define LOOM_SYN_MAX_WINDOW 3         /* axes: those of a generate */

/* A size name of a function. */
struct syn_size {
    syn_name *name;
    loom_span span;
    syn_node *node;       /* its value, once bound */
    const syn_rt *binder; /* the array level that binds it */
    bool per_element;     /* occurs in one sequence's element type only */
    const void *sequence; /* which one */
    bool in_two;
};

struct syn_value {
    syn_value_kind kind;
    syn_node *node;
    const syn_function *function;
    syn_env *env;
    syn_decl *decl;
    int builtin;
    loom_prim prim;
    loom_dtype at;    /* the T of T.f, or LOOM_DTYPES; of a CONVERT: what it converts from */
    loom_dtype to;    /* of a CONVERT */
    syn_value **args; /* given so far; the fields of a TUPLE; the operand of a section; the indices of an INDEXER */
    uint32_t n_args;
    const syn_shape *shape;  /* of a TUPLE that is a record */
    const syn_exp *exp;      /* FIELDS, INDEXER */
    syn_value **places;      /* INDEXER: its indices, evaluated */
    uint32_t limit_decl;     /* FUNCTION: what its text sees of the top level */
    const syn_rt *signature; /* the function type it was given, or NULL */
    loom_span place;         /* of an argument as the text gives it; else line 0 */
    syn_size *size;
    syn_boundary boundary;
    syn_window *window;
};

struct syn_env {
    syn_name *name;
    syn_value *value; /* or */
    syn_ty *type;     /* a type parameter */
    syn_env *next;
};

/* ---- types as written, resolved: a term with its size claims beside it ---- */
typedef struct syn_dimenv {
    syn_name *name;
    struct syn_dim *dim;
    const struct syn_dimenv *next;
} syn_dimenv;

typedef struct syn_dim {
    const syn_exp *exp; /* NULL: no claim */
    bool abbreviation;  /* written in a type's definition, which sees its own sizes and the top level only */
    const syn_dimenv *env;
} syn_dim;

struct syn_rt {
    enum {
        RT_PLAIN,
        RT_TUPLE,
        RT_ARRAY,
        RT_SEQ,
        RT_FUNCTION
    } kind;
    syn_ty *ty; /* NULL for functions */
    syn_rt **items;
    uint32_t n_items;
    syn_dim dim;
    bool has_dims; /* a size stands somewhere inside */
    loom_span span;
};

/* ---- where we are ---- */
/* A chain of uses: the def being expanded or specialised, and the place that asked for it. */
struct syn_site {
    syn_decl *decl;
    loom_span call;
    syn_site *outer;
    uint32_t depth;
    bool instance; /* specialised, not expanded: its nodes are in a function of their own */
};

typedef struct syn_nullary {
    syn_decl *decl;
    syn_node *node;
    syn_body *body;
    struct syn_nullary *next;
} syn_nullary;

/* One instance being made. */
struct syn_frame {
    syn_decl *decl;
    bool open;     /* checked without known argument types: only to find mistakes */
    bool uses_seq; /* has sequence operations, so may not be called from the body of an array operation */
    LOOM_VEC(syn_node *) literals; /* in order of creation: their types get defaults, their values are checked */
    LOOM_VEC(syn_constraint *) constraints;
    syn_nullary *nullary;
};

struct syn_instance {
    syn_decl *decl;
    uint32_t n_params;
    loom_type_id *params;
    uint32_t hash;
    enum {
        INSTANCE_BUSY,
        INSTANCE_CALL,
        INSTANCE_INLINE,
        INSTANCE_FAILED
    } state;
    uint32_t function; /* of the program */
    syn_ty *result;
    syn_node *constant; /* a result that is a scalar constant */
    bool uses_seq;
    syn_instance *next;
};

typedef struct syn_elab {
    syn_context *c;
    loom_arena *arena;
    loom_program *program;
    const syn_decls *decls;
    const syn_name *i64_name;
    /* types */
    syn_ty *scalars[LOOM_DTYPES];
    syn_ty *poison;
    syn_shape *shapes[64];
    syn_constraint *ready, **ready_end;
    bool draining;
    /* place */
    syn_frame *frame;
    syn_body *body;
    syn_site *site;
    loom_span at; /* of the expression or type being looked at: where a limit is met that has no place of its own */
    const syn_rt *expected; /* the annotation on the expression that comes next, for `unflatten xs` */
    uint32_t limit_decl;    /* names of top level are visible below this index */
    /* bookkeeping */
    const syn_exp *covering; /* a `match` whose cases are being checked, or NULL */
    uint32_t steps, n_nodes, depth, type_depth, n_instances, errors;
    jmp_buf *give_up; /* where an exceeded limit lands */
    syn_instance *instances[1024];
} syn_elab;

#include "elab_types.h"
#include "elab_values.h"

#endif
