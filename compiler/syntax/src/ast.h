/* The syntax tree. Nothing is resolved here: names are names, types are as written. Nodes live in the arena of the call
 * and are never changed after parsing.
 *
 * Depth: an expression's `depth` is the height of its tree, bounded by LOOM_SYN_MAX_HEIGHT; the body of a `let` does
 * not count as deeper than the `let` (programs have long chains of them), so whoever walks a tree walks those in a
 * loop.
 */
#ifndef LOOM_SYNTAX_AST_H
#define LOOM_SYNTAX_AST_H

#include "token.h"

typedef struct syn_exp syn_exp;
typedef struct syn_pat syn_pat;
typedef struct syn_te syn_te;
typedef struct syn_function syn_function;

/* ---- types as written ---- */
typedef enum syn_te_kind {
    TE_NAME,  /* name, dims (sizes given to an abbreviation), items (types given to it) */
    TE_TUPLE, /* items */
    TE_RECORD,
    TE_ARRAY, /* dim or NULL, items[0] */
    TE_SEQ,   /* items[0] */
    TE_FUN,   /* items[0] -> items[1] */
} syn_te_kind;

struct syn_te {
    syn_te_kind kind;
    uint32_t depth;
    loom_span span;
    syn_name *name;
    syn_te **items;
    syn_name **names; /* TE_RECORD */
    uint32_t n_items;
    syn_exp **dims; /* TE_NAME; TE_ARRAY: one, NULL where nothing is claimed */
    uint32_t n_dims;
};

/* ---- patterns ---- */
typedef enum syn_pat_kind {
    P_NAME,
    P_WILD,
    P_TUPLE,
    P_RECORD,
    P_TYPED,
    P_LITERAL /* in a `case` only */
} syn_pat_kind;

struct syn_pat {
    syn_pat_kind kind;
    uint32_t depth;
    loom_span span;
    syn_name *name;
    syn_pat **items;  /* TUPLE, RECORD; TYPED: one */
    syn_name **names; /* RECORD */
    uint32_t n_items;
    syn_te *type;           /* TYPED */
    const syn_exp *literal; /* LITERAL: INT, FLOAT or BOOL */
};

/* ---- functions: defs, local functions and lambdas ---- */
struct syn_function {
    syn_name *name; /* NULL for a lambda */
    loom_span span; /* of the head */
    syn_name **sizes;
    loom_span *size_spans;
    uint32_t n_sizes;
    syn_name **type_params;
    uint32_t n_type_params;
    syn_pat **params;
    uint32_t n_params;
    syn_te *result; /* or NULL */
    syn_exp *body;
};

/* ---- expressions ---- */
typedef enum syn_exp_kind {
    E_INT,
    E_FLOAT,
    E_BOOL,
    E_NAME,
    E_APPLY,        /* a items... */
    E_BINARY,       /* a op b; op in name; `f` too (backtick set) */
    E_NEGATE,       /* - a */
    E_NOT,          /* ! a or ~ a */
    E_OPERATOR,     /* (+), (f32.+): qualifier in qualifier */
    E_LEFT,         /* (a +) */
    E_RIGHT,        /* (+ a) */
    E_FIELDS,       /* (.x.y): names */
    E_INDEXER,      /* (.[i, j]): index */
    E_LAMBDA,       /* function */
    E_LET,          /* pat = a in b; sizes declared in function->sizes */
    E_LET_FUN,      /* function in b */
    E_IF,           /* a b c */
    E_LOOP,         /* see syn_loop */
    E_TUPLE,        /* items */
    E_RECORD,       /* names, items */
    E_ARRAY,        /* items */
    E_RANGE,        /* a .. b (or NULL) .. c; range kind in op */
    E_INDEX,        /* a[index] */
    E_FIELD,        /* a.name */
    E_UPDATE,       /* a with [index] = b */
    E_UPDATE_FIELD, /* a with names... = b */
    E_TYPED,        /* a : type, a :> type (coerce set) */
    E_MATCH,        /* match a, cases */
    E_BOUNDARY,     /* #name */
} syn_exp_kind;

/* One place between the brackets of an index: `i`, or `from:to:step` with parts left out. */
typedef struct syn_index {
    bool slice;
    syn_exp *at; /* the index; of a slice: from, or NULL */
    syn_exp *to, *step;
    loom_span span;
} syn_index;

typedef enum syn_loop_kind {
    LOOP_WHILE,
    LOOP_FOR,
    LOOP_IN
} syn_loop_kind;

typedef struct syn_loop {
    syn_loop_kind kind;
    syn_pat *state, *variable; /* variable: of FOR (a name) and IN */
    syn_exp *initial;          /* NULL: the state's names as they are in scope */
    syn_exp *limit;            /* condition, bound or array */
    syn_exp *body;
} syn_loop;

/* `case pattern -> body` */
typedef struct syn_case {
    syn_pat *pat;
    syn_exp *body;
    loom_span span; /* from `case` to the arrow */
} syn_case;

struct syn_exp {
    syn_exp_kind kind;
    uint32_t depth;
    loom_span span;
    syn_name *name;
    syn_name *qualifier;
    loom_span name_span; /* of the operator or field */
    bool flag;           /* BOOL: its value; INT, FLOAT: a minus stands before; BINARY: backtick; TYPED: coerce */
    syn_token_kind range;
    loom_dtype suffix;
    uint64_t integer;
    double real;
    syn_exp *a, *b, *c;
    syn_exp **items;
    uint32_t n_items;
    syn_name **names;
    uint32_t n_names;
    syn_index *index;
    uint32_t n_index;
    syn_pat *pat;
    syn_function *function;
    syn_loop *loop;
    syn_te *type;
    syn_case *cases;
    uint32_t n_cases;
};

/* ---- declarations ---- */
typedef enum syn_decl_kind {
    D_DEF,
    D_ENTRY,
    D_TYPE
} syn_decl_kind;

/* lifted regular f = f_rows */
typedef enum syn_lift_kind {
    SYN_LIFT_REGULAR,
    SYN_LIFT_IRREGULAR,
    SYN_LIFTS
} syn_lift_kind;
extern const char *const loom_syn_lift_names[SYN_LIFTS];

typedef struct syn_lift {
    syn_lift_kind kind;
    uint32_t index; /* it sees declarations with smaller ones */
    syn_name *name, *version_name;
    loom_span name_span, version_span;
    struct syn_decl *version; /* found */
    bool checked;             /* with a call of its function */
    bool refused;             /* an error has been told */
} syn_lift;

typedef struct syn_decl {
    syn_decl_kind kind;
    uint32_t index; /* place in the text: a declaration sees those with smaller ones */
    loom_span span; /* of the name */
    syn_name *name;
    syn_function *function;     /* DEF, ENTRY */
    syn_te *type;               /* TYPE; its parameters are in `function` */
    struct syn_decl *shadowed;  /* the earlier declaration of the same name */
    uint32_t foreign;           /* loom_foreign: the system has a version of its own */
    syn_lift *lifts[SYN_LIFTS]; /* versions for arrays of arguments, or NULL */
    bool prelude;
    bool broken; /* did not parse: its uses are not complained about */
    bool used;   /* specialised or expanded at least once */
    uint32_t n_instances;
} syn_decl;

typedef struct syn_decls {
    syn_decl **at;
    size_t count, capacity;
    struct {
        syn_lift **at;
        size_t count, capacity;
    } lifts;
} syn_decls;

/* A stretch of tokens that belongs together, for the formatter: [first, end) of the file's tokens. */
typedef enum syn_extent_kind {
    X_DECL,
    X_BRACKET, /* first and last token are brackets */
    X_APPLY,
    X_BINARY,
    X_IF,
    X_MATCH,
    X_LET, /* without what follows `in` */
    X_LAMBDA,
    X_OTHER,
} syn_extent_kind;

typedef struct syn_extent {
    syn_extent_kind kind;
    uint32_t first, end;
    uint32_t body; /* of a LAMBDA: the first token of its body */
} syn_extent;

typedef enum syn_mark {
    MARK_PREFIX = 1, /* an operator that belongs to what follows: -x, !x, *[n]t */
    MARK_TIGHT = 2,  /* the colon of a typed name or field: (x: t), {x: t} */
    MARK_INDEX = 4,  /* the opening bracket of an index or slice */
} syn_mark;

typedef struct syn_layout {
    syn_extent *at;
    size_t count, capacity;
    uint8_t *marks; /* by token: bits of syn_mark */
} syn_layout;

/* Parses one file and adds its declarations. Errors are reported; after one, parsing goes on at the next declaration.
 * `layout` may be NULL. */
void loom_syn_parse(syn_context *context, const syn_tokens *tokens, bool prelude, syn_decls *decls, syn_layout *layout);
void loom_syn_print_decls(const syn_decls *decls, FILE *to, bool with_places);

#endif
